"""Trailers of a stage: bodies whose pose follows from the rows of the vehicles that tow them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..plane.pose import towed
from .description import Body
from .layout import POSE, Rows
from .shapes import BodyShape, drawn_wheels


class _Towed(NamedTuple):
    """A unit that tows: a vehicle, or a trailer behind it."""

    by: Body
    """The vehicle at the head."""
    shape: BodyShape
    """Of the unit that tows."""
    unit: int
    """Its number among those of its row of the chain."""


class _Row:
    """The trailers that are the first behind their vehicles, or the second and so on."""

    def __init__(self, towed: Sequence[_Towed]) -> None:
        self.units = [one.unit for one in towed]
        self.angles = [one.by.channels[one.shape.hitch] for one in towed]
        self._hitch_x = np.array([one.shape.hitch_x for one in towed])
        self._drawbar = np.array([one.shape.drawbar for one in towed])

    def behind(self, poses: Array, angles: Array) -> Array:
        """Poses (T, n, 3) of the trailers behind units at poses (T, n, 3), at angles (T, n)."""
        behind = towed(np.moveaxis(poses, -1, 0), self._hitch_x, self._drawbar, angles)
        return np.stack(behind, axis=-1)


class Trailers:
    """What some vehicles tow. Their channels come behind those that there are."""

    def __init__(self, vehicles: Sequence[tuple[Body, BodyShape]], rows: Rows) -> None:
        self.bodies: list[Body] = []
        self._rows: list[_Row] = []
        self._poses = [(body.x, body.y, body.yaw) for body, _ in vehicles]
        units = [_Towed(body, shape, k) for k, (body, shape) in enumerate(vehicles)]
        while towed := [one for one in units if one.shape.hitch in one.by.channels]:
            self._rows.append(_Row(towed))
            number = f" {len(self._rows)}" if len(self._rows) > 1 else ""
            self.bodies += [_body(one, f"{one.by.name} trailer{number}", rows) for one in towed]
            units = [
                _Towed(one.by, one.shape.trailer or BodyShape(()), k) for k, one in enumerate(towed)
            ]

    def added(self, rows: Array) -> Array:
        """Rows (T, channels) of everything, from those without the trailers."""
        if not self.bodies:
            return rows
        poses, added = rows[:, np.array(self._poses, int)], [rows]
        for row in self._rows:
            poses = row.behind(poses[:, row.units], rows[:, row.angles])
            added.append(poses.reshape(len(rows), -1))
        return np.hstack(added)


def _body(towed: _Towed, name: str, rows: Rows) -> Body:
    shape = towed.shape.trailer or BodyShape(())
    places = rows.add(name, POSE)
    at = (places[field.name] for field in POSE)
    wheels = drawn_wheels(shape.wheels, {})
    return Body(name, "trailer", shape.outlines, *at, wheels=wheels, channels=places)
