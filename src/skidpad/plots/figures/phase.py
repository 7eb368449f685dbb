"""The phase portrait of a vehicle: where motions in a plane go, and which of them come back."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ..numbers.fixed_points import FixedPoint, fixed_points
from ..numbers.phase_plane import Plane
from ..numbers.streamlines import followed, streams
from ..panels import DEGREES
from .names import axis_label
from .sheet import Arrows, Axis, Cell, Curve, Diagram, Dots, Mark, Sheet

Range = tuple[float, float] | None
_NAMES = {"stable": "stable", "saddle": "saddle", "unstable": "unstable"}
_SYMBOLS = {"stable": "circle", "saddle": "cross", "unstable": "ring"}
_COLOURS = {"stable": "#009E73", "saddle": "#D55E00", "unstable": "#D55E00"}
_LINE = "#7A9DB8"
_BOUNDARY = "#D55E00"
_NUDGE = 1e-3
"""How far beside a saddle its boundary begins, as a share of the picture."""


def default_range(plane: Plane, name: str) -> tuple[float, float]:
    """What is worth looking at: slip angles of 30°, and yaw rates that a car can have."""
    most = {
        "beta": np.deg2rad(30.0),
        "v_y": 0.5 * plane.speed,
        "omega": max(0.5, 2.5 * 9.81 / plane.speed),
    }.get(name)
    if most is None:
        raise InvalidValue(f"say which range of {name!r} to show: x_range= or y_range=")
    return -float(most), float(most)


def phase_sheet(plane: Plane, x_range: Range, y_range: Range, title: str) -> Sheet:
    """Streamlines, fixed points by kind, and the boundary of what comes back to a stable one."""
    ranges = [
        _checked(name, default_range(plane, name) if given is None else given)
        for name, given in zip(plane.names, (x_range, y_range), strict=True)
    ]
    low, high = np.array([r[0] for r in ranges]), np.array([r[1] for r in ranges])
    by = np.array([_factor(plane, name) for name in plane.names])
    flow = streams(plane.rates, low, high)
    points = fixed_points(plane.rates, low, high)
    marks: list[Mark] = [_joined(flow.lines, by, "", _LINE, 1.0)]
    marks.append(Arrows(*(flow.heads * by).T, *(flow.directions * by).T, colour=_LINE, size=8.0))
    borders = [line for point in points for line in boundary(plane, point, low, high)]
    if borders:
        marks.append(_joined(borders, by, "stability boundary", _BOUNDARY, 1.8))
    for kind in _NAMES:
        found = np.array([point.at for point in points if point.kind == kind]).reshape(-1, 2) * by
        if len(found):
            marks.append(
                Dots(*found.T, _NAMES[kind], _COLOURS[kind], _SYMBOLS[kind], 8.0)  # type: ignore[arg-type]
            )
    axes = [
        Axis(_label(plane, name), low=float(a * f), high=float(b * f))
        for name, a, b, f in zip(plane.names, low, high, by, strict=True)
    ]
    diagram = Diagram(tuple(marks), x=axes[0], y=axes[1], grid=False)
    return Sheet((Cell(diagram, 0, 0),), (5.6,), (4.6,), title=title)


def boundary(plane: Plane, point: FixedPoint, low: Array, high: Array) -> list[Array]:
    """The motions that end in a saddle: on one side of them the car comes back, on the other not.

    They are followed backwards in time from beside the saddle, along its stable direction.
    """
    if point.kind != "saddle":
        return []
    span = high - low
    values, vectors = np.linalg.eig(point.jacobian)
    inwards = np.real(vectors[:, int(np.argmin(np.real(values)))]) / span
    inwards /= np.hypot(*inwards)
    at = (point.at - low) / span
    starts = np.array([at + _NUDGE * inwards, at - _NUDGE * inwards])
    lines = followed(lambda p: plane.rates(low + span * p) / span, starts, -1.0)
    return [low + span * np.vstack([at, line]) for line in lines]


def _joined(lines: list[Array], by: Array, label: str, colour: str, width: float) -> Curve:
    """Many lines as one curve, broken between them."""
    broken = [np.vstack([line * by, [[np.nan, np.nan]]]) for line in lines]
    points = np.concatenate(broken)[:-1] if broken else np.empty((0, 2))
    return Curve(points[:, 0], points[:, 1], label, colour, width=width)


def _checked(name: str, given: tuple[float, float]) -> tuple[float, float]:
    low, high = given
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidValue(f"range of {name} = {given} must be two numbers, the lower one first")
    return float(low), float(high)


def _factor(plane: Plane, name: str) -> float:
    return float(np.rad2deg(1.0)) if plane.unit(name) in DEGREES else 1.0


def _label(plane: Plane, name: str) -> str:
    unit = plane.unit(name)
    return axis_label(name, DEGREES.get(unit, unit))
