"""Frame: no place and no direction of the world is special to a vehicle on a plane."""

from __future__ import annotations

import numpy as np

from .. import record
from ..arrays import Array
from ..plane.pose import rotated
from .names import headings, position_pairs
from .subject import NotApplicable, Point, Subject, differences

TOLERANCE = 1e-9
SHIFT = (37.0, -81.0)
"""Metres by which the world is moved."""
TURN = 2.1
"""Angle by which the world is turned, in rad; not near a multiple of a quarter turn."""


def frame(subject: Subject) -> list[str]:
    """Moves and turns the world: rates of position turn with it, everything else stays."""
    model = subject.model
    if not position_pairs(model.State) and not headings(model.State):
        raise NotApplicable("the state has no position x, y and no yaw")
    points = subject.calm_points
    moved = [point._replace(x=_moved(point.x)) for point in points]
    rates = subject.rates(points)
    faults = differences(
        "in a turned world",
        model.State,
        subject.rates(moved),
        _turned(model.State, rates),
        TOLERANCE,
        points,
    )
    placed = [_moved_row(model.Outputs, row) for row in subject.outputs(points)]
    return faults + differences(
        "in a turned world",
        model.Outputs,
        subject.outputs(moved),
        np.array(placed).reshape(len(points), -1),
        TOLERANCE,
        points,
    )


def _turned(kind: type, table: Array) -> Array:
    """Vectors in the world turned, such as rates of position."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = table.copy()
    for pair in position_pairs(kind):
        x, y = (index[name] for name in pair)
        result[:, x], result[:, y] = rotated(table[:, x], table[:, y], TURN)
    return result


def _moved_row(kind: type, row: Array) -> Array:
    """Positions turned and moved, headings turned, all else as it is."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = _turned(kind, row[np.newaxis])[0]
    for pair in position_pairs(kind):
        for name, shift in zip(pair, SHIFT, strict=True):
            result[index[name]] += shift
    for name in headings(kind):
        result[index[name]] += TURN
    return result


def _moved(x: Point) -> Point:
    row = _moved_row(type(x), np.array(record.flatten(x), dtype=float))
    return record.unflatten(type(x), row.tolist())
