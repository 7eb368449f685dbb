"""The fastest speeds along a closed line that a car with limited grip can hold.

First what each bend allows alone, v² = a_lateral / |curvature|. Then what the car can reach from
the point before and brake from for the point after: v dv/ds = a, with as much of a as the ellipse
of grip leaves beside cornering. Two rounds make it periodic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..units import m, m_s, m_s2


class Grip(NamedTuple):
    """What the driver asks of the car."""

    a_lateral: m_s2
    a_drive: m_s2
    a_brake: m_s2
    v_max: m_s


def speed_profile(curvature: Array, spacing: m, grip: Grip) -> Array:
    """Speeds (n,) at the points of a closed line, `spacing` apart."""
    bend = np.abs(curvature)
    v = np.minimum(grip.v_max, np.sqrt(grip.a_lateral / np.maximum(bend, 1e-9)))
    v = _reached(v, bend, spacing, grip.a_lateral, grip.a_drive)
    # Braking is driving the other way in a film that runs backwards.
    return _reached(v[::-1], bend[::-1], spacing, grip.a_lateral, grip.a_brake)[::-1]


def _reached(v: Array, bend: Array, spacing: m, a_lateral: m_s2, a_along: m_s2) -> Array:
    speeds, bends = v.tolist(), bend.tolist()
    count = len(speeds)
    for k in range(2 * count):
        now, after = k % count, (k + 1) % count
        share = min(speeds[now] ** 2 * bends[now] / a_lateral, 1.0)
        a = a_along * (1.0 - share * share) ** 0.5
        speeds[after] = min(speeds[after], (speeds[now] ** 2 + 2.0 * a * spacing) ** 0.5)
    return np.array(speeds)
