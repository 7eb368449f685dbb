"""The fastest speeds along a line that a car with limited grip can hold.

First what each bend allows alone, v² = a_lateral / |curvature|. Then what the car can reach from
the point before and brake from for the point after: v dv/ds = a, with as much of a as the ellipse
of grip leaves beside cornering. Round a closed line, two rounds make it periodic.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..plane.line import Line
from ..units import m_s, m_s2

__all__ = ["Grip", "speed_profile"]


class Grip(NamedTuple):
    """What the driver asks of the car."""

    a_lateral: m_s2
    a_drive: m_s2
    a_brake: m_s2
    v_max: m_s


def speed_profile(line: Line, grip: Grip, *, v_end: m_s = inf) -> Array:
    """Speeds at the points of a line, shape (n,); at the end of an open one at most `v_end`."""
    bend, spacing = np.abs(line.curvature), np.diff(line.s)
    v = np.minimum(grip.v_max, np.sqrt(grip.a_lateral / np.maximum(bend, 1e-9)))
    if not line.closed:
        v[-1] = min(v[-1], v_end)
    v = _reached(v, bend, spacing, grip.a_lateral, grip.a_drive, line.closed)
    # Braking is driving the other way in a film that runs backwards.
    back = _reached(v[::-1], bend[::-1], spacing[::-1], grip.a_lateral, grip.a_brake, line.closed)
    return back[::-1]


def _reached(
    v: Array, bend: Array, spacing: Array, a_lateral: m_s2, a_along: m_s2, closed: bool
) -> Array:
    speeds, bends, steps = v.tolist(), bend.tolist(), spacing.tolist()
    for _ in range(2 if closed else 1):
        for k, step in enumerate(steps):
            share = min(speeds[k] ** 2 * bends[k] / a_lateral, 1.0)
            a = a_along * sqrt(1.0 - share * share)
            speeds[k + 1] = min(speeds[k + 1], sqrt(speeds[k] ** 2 + 2.0 * a * step))
        if closed:
            speeds[0] = min(speeds[0], speeds[-1])
    return np.array(speeds)
