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
from ..checks import not_negative, number, positive
from ..errors import InvalidValue
from ..plane.line import Line
from ..units import Allowed, m_s, m_s2, non_negative
from ..units import positive as above_zero

__all__ = ["Grip", "speed_profile"]


class Grip(NamedTuple):
    """What the driver asks of the car."""

    a_lateral: m_s2
    """Greater than 0."""
    a_drive: m_s2
    """At least 0."""
    a_brake: m_s2
    """At least 0: how much slower, not an acceleration with its sign."""
    v_max: m_s
    """Greater than 0; may be infinite."""


def speed_profile(line: Line, grip: Grip, *, v_end: m_s = inf) -> Array:
    """Speeds at the points of a line, shape (n,); at the end of an open one at most `v_end`."""
    grip, v_end = _checked(grip), _in("v_end", v_end, non_negative)
    bend, spacing = np.abs(line.curvature), np.diff(line.s)
    v = np.minimum(grip.v_max, np.sqrt(grip.a_lateral / np.maximum(bend, 1e-9)))
    if not line.closed:
        v[-1] = min(v[-1], v_end)
    v = _reached(v, bend, spacing, grip.a_lateral, grip.a_drive, line.closed)
    # Braking is driving the other way in a film that runs backwards.
    back = _reached(v[::-1], bend[::-1], spacing[::-1], grip.a_lateral, grip.a_brake, line.closed)
    return back[::-1]


def _checked(grip: Grip) -> Grip:
    """As floats; raises InvalidValue for what no car can do."""
    return Grip(
        positive("grip.a_lateral", grip.a_lateral, "m/s²"),
        not_negative("grip.a_drive", grip.a_drive, "m/s²"),
        not_negative("grip.a_brake", grip.a_brake, "m/s²"),
        _in("grip.v_max", grip.v_max, above_zero),
    )


def _in(name: str, value: m_s, allowed: Allowed) -> m_s:
    """A speed in a range, of which infinity is a part."""
    v = number(name, value, "m/s")
    if v not in allowed:
        raise InvalidValue(f"{name} = {v:g} m/s must be {allowed}")
    return v


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
