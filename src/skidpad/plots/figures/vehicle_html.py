"""What a notebook shows of a vehicle: it from above, and its parameters."""

from __future__ import annotations

import numpy as np

from ... import record
from ...model import Vehicle
from ...stage import BodyShape, shape_of
from ..numbers.bodies import moved
from .html_parts import beside, folded, heading, page, short, table
from .paint_svg import drawing
from .sheet import INK, Areas, Axis, Cell, Diagram, Mark, Sheet, room

_FILL, _WHEEL = "#7FA3C2", "#555555"
_GEOMETRY = ({"l_f", "l_r"}, {"a", "b"}, {"wheel_base"}, {"l_wb"})
"""Parameters that say where the axles are; without them a drawing would be made up."""
MOST_ROWS = 14
"""Parameters that are shown without being asked for."""


def vehicle_html(vehicle: Vehicle) -> str:
    """The page of a vehicle."""
    model = vehicle.model
    about = [f"{record.size(model.State)} states", f"{record.size(model.Input)} inputs"]
    if record.size(model.Outputs):
        about.append(f"{record.size(model.Outputs)} outputs")
    note = f"{model.summary}. " if model.summary else ""
    return page(
        heading(vehicle.name, note + ", ".join(about)),
        beside(_drawing(vehicle), _parameters(vehicle)),
        folded("states, inputs and outputs", _fields(vehicle)),
    )


def _parameters(vehicle: Vehicle) -> str:
    values = record.flatten(vehicle.params)
    rows = [
        (leaf.name, short(float(value)), _unit(leaf.unit.symbol), _first_line(leaf.doc))
        for leaf, value in zip(record.fields(vehicle.model.Params), values, strict=True)
    ]
    head = ("parameter", "value", "unit", "meaning")
    if len(rows) <= MOST_ROWS:
        return table(head, rows, [1])
    first, others = rows[:MOST_ROWS], rows[MOST_ROWS:]
    rest = folded(f"{len(others)} more parameters", table(head, others, [1]))
    return table(head, first, [1]) + rest


def _fields(vehicle: Vehicle) -> str:
    kinds = (("state", vehicle.State), ("input", vehicle.Input), ("output", vehicle.model.Outputs))
    rows = [
        (kind, leaf.name, _unit(leaf.unit.symbol), _first_line(leaf.doc))
        for kind, fields in kinds
        for leaf in record.fields(fields)
    ]
    return table(("", "name", "unit", "meaning"), rows)


def _unit(symbol: str) -> str:
    return "" if symbol == "1" else symbol


def _first_line(doc: str) -> str:
    """The first sentence of a description, on one line."""
    text = " ".join(doc.split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def _drawing(vehicle: Vehicle) -> str:
    names = set(record.names(vehicle.model.Params))
    if not any(known <= names for known in _GEOMETRY):
        return ""
    return drawing(shape_sheet(shape_of(vehicle), vehicle.name))


def shape_sheet(shape: BodyShape, title: str = "") -> Sheet:
    """A vehicle from above, pointing to the right, with the axes of its own frame in m."""
    marks = _shape_marks(shape, 0.0)
    if shape.trailer is not None:
        marks += _shape_marks(shape.trailer, shape.hitch_x - shape.drawbar)
    points = np.vstack([o for mark in marks if isinstance(mark, Areas) for o in mark.outlines])
    x, y = room([points[:, 0]], 0.08), room([points[:, 1]], 0.15)
    diagram = Diagram(
        tuple(marks),
        x=Axis("x [m]", low=x[0], high=x[1]),
        y=Axis("y [m]", low=y[0], high=y[1]),
        equal=True,
        legend="none",
    )
    span = [float(np.ptp(points[:, k])) for k in (0, 1)]
    height = float(np.clip(3.6 * 1.3 * span[1] / span[0] + 0.8, 1.8, 3.2))
    return Sheet((Cell(diagram, 0, 0),), (4.2,), (height,), title=title)


def _shape_marks(shape: BodyShape, x: float) -> list[Mark]:
    bodies = tuple(moved(np.asarray(outline), x, 0.0, 0.0) for outline in shape.outlines)
    wheels: list[np.ndarray] = []
    for wheel in shape.wheels:
        half = 0.5 * np.array([wheel.length, wheel.width])
        corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]) * half
        wheels.append(moved(corners, x + wheel.x, wheel.y, wheel.yaw))
    marks: list[Mark] = [Areas(bodies, fill=_FILL, edge=INK, opacity=0.55)]
    return [*marks, Areas(tuple(wheels), fill=_WHEEL, edge=INK)] if wheels else marks
