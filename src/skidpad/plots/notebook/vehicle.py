"""What a notebook shows of a vehicle: it from above, and its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...body import Wheel
from ...model import Vehicle
from ..figures.scenery import draw_areas
from ..layout import equal_axes, new_figure, room
from ..numbers.bodies import box_corners, moved
from ..style import INK
from .drawing import drawing
from .html_parts import beside, folded, heading, page, short, table

_FILL, _WHEEL = "#7FA3C2", "#555555"
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
    """The vehicle from above, pointing to the right, straight, with the axes of its own frame."""
    if vehicle.model.body is None:
        return ""
    shape = vehicle.geometry
    outlines = [np.array(outline) for outline in shape.outlines]
    wheels = [_corners(wheel) for wheel in shape.wheels]
    back = np.zeros(2)
    for trailer in shape.trailers:
        back = back + np.array([trailer.hitch_x - trailer.drawbar, 0.0])
        outlines += [np.array(outline) + back for outline in trailer.outlines]
        wheels += [_corners(wheel) + back for wheel in trailer.wheels]
    points = np.vstack(outlines + wheels)
    length, width = np.ptp(points, axis=0)
    height = float(np.clip(3.6 * 1.3 * width / length + 0.8, 1.8, 3.2))

    def draw(figure: Any, grid: Any) -> None:
        axes = figure.add_subplot(grid[0, 0])
        draw_areas(axes, outlines, facecolor=_FILL, edgecolor=INK, alpha=0.55)
        draw_areas(axes, wheels, facecolor=_WHEEL, edgecolor=INK)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        equal_axes(axes, room([points[:, 0]], 0.08), room([points[:, 1]], 0.15))

    return drawing(vehicle.name, new_figure((4.2,), (height,)), draw)


def _corners(wheel: Wheel) -> Array:
    return moved(box_corners(2.0 * wheel.radius, wheel.width), wheel.x, wheel.y, wheel.yaw)
