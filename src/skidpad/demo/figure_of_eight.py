"""The line of the skidpad: two circles that touch, driven in turn as a figure of eight.

The line starts where the circles touch, heading along the world x axis. Distance along it runs on
from lap to lap; a lap is both circles.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..controllers.line import LinePoint
from ..ops import cos, floor, minimum, sin, where
from ..units import m, one, per_m, positive, rad

# Formula Student Rules, dynamic events, layout of the skidpad track: two pairs of circles of
# 15.25 m inner and 21.25 m outer diameter with their centres 18.25 m apart. The middles of the two
# lanes between them are circles of 18.25 m diameter, which therefore touch.
CENTRES_APART: m = 18.25
"""Distance of the centres of the two circles."""
LANE_WIDTH: m = 3.0
"""Width of the lane around the line."""


class Eight(NamedTuple):
    """A figure of eight; the defaults are the Formula Student skidpad."""

    radius: Annotated[m, positive] = CENTRES_APART / 2.0
    """Radius of both circles."""
    first: one = -1.0
    """Side of the first circle: -1 right, as the rules have it, or 1 left."""


SKIDPAD = Eight()
"""The line in the middle of the lanes of the Formula Student skidpad."""


def lap_length(eight: Eight) -> m:
    """Length of both circles together."""
    return 4.0 * math.pi * eight.radius


def heading(s: m, eight: Eight) -> rad:
    """Direction of the line at distance s: a full turn to one side, then back to the other."""
    lap = lap_length(eight)
    u = s - lap * floor(s / lap)
    return eight.first * minimum(u, lap - u) / eight.radius


def point(s: m, eight: Eight) -> LinePoint:
    """The line at distance s from its start."""
    lap = lap_length(eight)
    u = s - lap * floor(s / lap)
    side = eight.first * where(u < 0.5 * lap, 1.0, -1.0)
    angle = u / eight.radius
    return LinePoint(
        eight.radius * sin(angle),
        side * eight.radius * (1.0 - cos(angle)),
        heading(s, eight),
        side / eight.radius,
    )


def mean_curvature(begin: m, length: m, eight: Eight) -> per_m:
    """Mean curvature of the line over a length from `begin`: the change of heading over it.

    Where the circles touch, the curvature jumps from one sign to the other; its mean is a ramp.
    """
    return (heading(begin + length, eight) - heading(begin, eight)) / length


def distance(x: Any, y: Any, eight: Eight) -> Any:
    """Distance in m from points in the world frame to the nearer circle; arrays allowed."""
    to_centres = [np.hypot(x, y - side * eight.radius) for side in (-1.0, 1.0)]
    return np.minimum(*(np.abs(d - eight.radius) for d in to_centres))
