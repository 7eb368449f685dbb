"""Trailers of a stage: bodies whose pose follows from the rows of the vehicles that tow them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from .description import Body
from .layout import POSE, Rows
from .shapes import BodyShape, drawn_wheels


class _Towed(NamedTuple):
    by: Body
    shape: BodyShape


class Trailers:
    """What some vehicles tow. Their channels come behind those that there are."""

    def __init__(self, vehicles: Sequence[tuple[Body, BodyShape]], rows: Rows) -> None:
        towed = [_Towed(body, shape) for body, shape in vehicles if shape.hitch in body.channels]
        self.bodies = [_body(one, rows) for one in towed]
        # A row each for x, y, yaw and the angle of the hitch, a column for each vehicle.
        self._places = (
            np.array([(b.x, b.y, b.yaw, b.channels[s.hitch]) for b, s in towed], int)
            .reshape(-1, 4)
            .T
        )
        self._hitch_x = np.array([one.shape.hitch_x for one in towed])
        self._drawbar = np.array([one.shape.drawbar for one in towed])

    def added(self, rows: Array) -> Array:
        """Rows (T, channels) of everything, from those without the trailers."""
        if not self.bodies:
            return rows
        x, y, yaw, angle = (rows[:, places] for places in self._places)
        heading = yaw + angle
        x = x + self._hitch_x * np.cos(yaw) - self._drawbar * np.cos(heading)
        y = y + self._hitch_x * np.sin(yaw) - self._drawbar * np.sin(heading)
        poses: Any = np.stack([x, y, heading], axis=-1)
        return np.hstack([rows, poses.reshape(len(rows), -1)])


def _body(towed: _Towed, rows: Rows) -> Body:
    shape = towed.shape.trailer or BodyShape(())
    name = f"{towed.by.name} trailer"
    places = rows.add(name, POSE)
    at = (places[field.name] for field in POSE)
    wheels = drawn_wheels(shape.wheels, {})
    return Body(name, "trailer", shape.outlines, *at, wheels=wheels, channels=places)
