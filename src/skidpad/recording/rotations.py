"""Quaternions of everything that turns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array

Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""


class Rotation(NamedTuple):
    """Columns of a quaternion in the table; x and y are None of what stays upright."""

    x: int | None
    y: int | None
    z: int
    w: int


class Rotations:
    """A table with the quaternions of what turns.

    Args:
        upright: how many things turn in the plane only.
    """

    def __init__(self, upright: int) -> None:
        self._count = upright
        self._upright: list[tuple[int, float]] = []
        self._tilted: list[tuple[int, int, int]] = []

    @property
    def upright_angles(self) -> tuple[tuple[int, float], ...]:
        """Of what turns in the plane: the channel of its angle, and what adds to it. Their sines
        are the first columns of the table, their cosines the next."""
        return tuple(self._upright)

    @property
    def tilted_angles(self) -> tuple[tuple[int, int, int], ...]:
        """Of what tilts: channels of yaw, pitch and roll; four columns each behind the others."""
        return tuple(self._tilted)

    def upright(self, yaw: int, fixed: float = 0.0) -> Rotation:
        """Of something that turns in the plane: the channel of its angle, and what adds to it."""
        k = len(self._upright)
        self._upright.append((yaw, fixed))
        return Rotation(None, None, k, self._count + k)

    def tilted(self, yaw: int, pitch: int, roll: int) -> Rotation:
        """Of something that also pitches and rolls, from the channels of its angles."""
        begin = 2 * self._count + 4 * len(self._tilted)
        self._tilted.append((yaw, pitch, roll))
        return Rotation(*range(begin, begin + 4))

    def of(self, rows: Array) -> Array:
        """The table (T, columns) of rows (T, channels): sines, cosines, then what tilts."""
        n, count = self._count, len(rows)
        table = np.empty((count, 2 * n + 4 * len(self._tilted)))
        if n:
            columns, fixed = zip(*self._upright, strict=True)
            halves = rows.take(columns, 1)
            if any(fixed):
                halves += fixed
            halves *= 0.5
            np.sin(halves, out=table[:, :n])
            np.cos(halves, out=table[:, n : 2 * n])
        if self._tilted:
            yaw, pitch, roll = np.moveaxis(rows[:, np.array(self._tilted)], -1, 0)
            table[:, 2 * n :] = quaternions(yaw, pitch, roll).reshape(count, -1)
        return table


def quaternion(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Quaternion:
    """Of a body turned by yaw, then pitch, then roll, about its own axes, in rad."""
    x, y, z, w = quaternions(*(np.array([angle]) for angle in (yaw, pitch, roll)))[0].tolist()
    return x, y, z, w


def quaternions(yaw: Array, pitch: Array, roll: Array) -> Array:
    """Quaternions x, y, z, w in a last axis, for angles of any shape in rad."""
    (cy, sy), (cp, sp), (cr, sr) = (
        (np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in (yaw, pitch, roll)
    )
    return np.stack(
        [
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
            cy * cp * cr + sy * sp * sr,
        ],
        axis=-1,
    )
