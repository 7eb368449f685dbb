"""Wheels that leave the ground: over an edge they fall until they touch again.

Each of the points on which a vehicle stands rides on the ground, or falls freely with the vertical
velocity with which it left. The vehicle lies on the plane through them: with all points in the air
it is in free flight, with constant rates of pitch and roll. With some of them in the air this is a
body whose dynamic index k²/(l_f l_r) is 1 in pitch and in roll, so that one end falls as if the
other were not there.

A point leaves the ground where the ground falls away from its free fall by more than tyre and
suspension extend (`GIVE`), or more steeply than 45°. It lands without a rebound: the normal
velocity is lost, the horizontal one stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...units import m, m_s2, s

GIVE = 0.1
"""Distance in radii by which the ground may fall away below a wheel that stays on it."""
_EDGE: m = 2e-3
"""Distance beyond a slope of 45° that the ground may fall in a step without being an edge."""

Flags = NDArray[np.bool_]


class Ride(NamedTuple):
    """Motion of the points of vehicles on and above the ground; arrays (B, n) unless noted."""

    heights: Array
    """Heights of the points, in m."""
    free: Array
    """Heights in free fall since the ground was last touched; those of `heights` in the air."""
    rates: Array
    """Rates of `free`, in m/s."""
    in_air: Flags
    loose: Flags
    """Whether a vehicle left the ground with a point and may still lie across an edge, (B,)."""
    velocity: Array
    """Velocity v_x, v_y, omega in world axes of vehicles in free flight, (B, 3)."""

    @property
    def flying(self) -> Flags:
        """Whether all points of a vehicle are in the air, (B,)."""
        return np.logical_and.reduce(self.in_air, axis=1)

    def part(self, rows: slice) -> Ride:
        """The ride of some of the vehicles."""
        return Ride._make(values[rows] for values in self)


def standing(heights: Array) -> Ride:
    """The ride of vehicles at rest on ground of these heights (B, n)."""
    count = len(heights)
    none = np.zeros(heights.shape, dtype=bool)
    return Ride(
        heights,
        heights,
        np.zeros(heights.shape),
        none,
        np.zeros(count, dtype=bool),
        np.zeros((count, 3)),
    )


def advance(ride: Ride, ground: Array, give: Array, speeds: Array, g: m_s2, dt: s) -> Ride:
    """The ride one step later.

    Args:
        ride: at the beginning of the step.
        ground: heights of the ground under the points at its end, (B, n).
        give: distance by which the ground may fall away below points that stay on it, (B, n),
            in m.
        speeds: of the vehicles, (B,), in m/s.
        g: gravity in m/s².
        dt: length of the step in s.
    """
    free = ride.free + (ride.rates - 0.5 * g * dt) * dt
    way = speeds[:, None] * dt
    rise = ground - ride.heights
    # What rises more steeply than 45° is a step, which a wheel gets onto without being thrown up.
    on_ground = np.where(rise > way, 0.0, rise / dt)
    touches = free <= ground
    if touches.all() and not ride.loose.any():
        return ride._replace(
            heights=ground, free=ground, rates=on_ground, in_air=np.zeros_like(touches)
        )
    falls = ride.rates - g * dt
    gap = free - ground
    edge = (gap > give) | (gap - (ride.free - ride.heights) > way + _EDGE)
    leaves = ~ride.in_air & ~touches & edge
    in_air = (ride.in_air & ~touches) | leaves
    # A point that leaves the ground falls from its place on it.
    free = np.where(leaves, ride.heights + (ride.rates - 0.5 * g * dt) * dt, free)
    # After that fall the ground may still be above it.
    in_air &= free > ground
    touches |= leaves & ~in_air
    return ride._replace(
        heights=np.where(in_air, free, ground),
        free=np.where(touches, ground, free),
        rates=np.where(touches, on_ground, falls),
        in_air=in_air,
        loose=ride.loose | in_air.any(axis=1),
    )


def local_slopes(ground: Array, around: Any, reach: m) -> tuple[Array, Array]:
    """Slopes of the ground under single points, along two directions.

    Args:
        ground: heights under the points.
        around: heights at the distance `reach` ahead, behind, to the left and to the right.
        reach: this distance, in m.

    Returns:
        Slopes ahead and to the left. Of the two one-sided differences the smaller one counts: an
        edge next to a point is not a slope under it.
    """
    ahead, behind, left, right = around
    return (
        _smaller((ahead - ground) / reach, (ground - behind) / reach),
        _smaller((left - ground) / reach, (ground - right) / reach),
    )


def _smaller(a: Array, b: Array) -> Array:
    return np.where(np.abs(a) <= np.abs(b), a, b)
