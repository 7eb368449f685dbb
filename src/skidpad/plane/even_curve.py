"""Smooth curves through points, as points at equal distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..units import m
from .line import arc_length, lengths

_EVEN = 1e-9
"""Share of a step by which steps may differ."""
_MOST_ROUNDS = 200


class EvenCurve(NamedTuple):
    """Points at equal distances along a smooth curve."""

    points: Array
    """In m, shape (n, 2); of a closed curve the first is not repeated."""
    knots: Array
    """Where each of them is between the points that the curve goes through: 3.25 is a quarter of
    the way from the fourth to the fifth, along the chord; shape (n,)."""

    def between(self, values: Array) -> Array:
        """Values at the points that the curve goes through, linear between them."""
        # A closed curve ends on the way back to its first point.
        around = np.append(values, values[0])
        return np.interp(self.knots, np.arange(len(around)), around)


def even_curve(points: Array, spacing: m, *, closed: bool, least: int = 4) -> EvenCurve:
    """The smooth curve through points (n, 2), n at least 4, in steps of about `spacing`.

    All its steps are of one length, unless it turns in less than a step; there are at least `least`
    of them.
    """
    from scipy.interpolate import CubicSpline

    through = np.vstack([points, points[:1]]) if closed else points
    at = arc_length(through)
    curve = CubicSpline(at, through, bc_type="periodic" if closed else "not-a-knot")
    fine = np.linspace(0.0, at[-1], 16 * len(through))
    steps = max(least, round(float(lengths(curve(fine)).sum()) / spacing))
    marks = np.linspace(0.0, at[-1], steps + 1)
    for _ in range(_MOST_ROUNDS):
        reached = arc_length(curve(marks))
        step = reached[-1] / steps
        if np.abs(np.diff(reached) - step).max() <= _EVEN * step:
            break
        marks = np.interp(step * np.arange(steps + 1), reached, marks)
        marks[-1] = at[-1]
    knots = np.interp(marks, at, np.arange(len(through), dtype=float))
    return EvenCurve(curve(marks)[: steps + (not closed)], knots[: steps + (not closed)])


def blurred(points: Array, spacing: m, width: m, *, closed: bool = True) -> Array:
    """Points at equal distances along a line, averaged along it with a Gaussian of this width.

    An open line keeps its ends.
    """
    if not closed:
        # Without the straight from end to end both ends are 0, and the line goes on as its
        # opposite, which is the same backwards: so averages there are 0 too.
        share = np.linspace(0.0, 1.0, len(points))[:, None]
        straight = points[0] + share * (points[-1] - points[0])
        beside = points - straight
        around = np.vstack([beside, -beside[-2:0:-1]])
        return straight + blurred(around, spacing, width)[: len(points)]
    frequency = np.fft.rfftfreq(len(points), spacing)
    gain = np.exp(-2.0 * (np.pi * frequency * width) ** 2)
    return np.fft.irfft(np.fft.rfft(points, axis=0) * gain[:, None], len(points), axis=0)
