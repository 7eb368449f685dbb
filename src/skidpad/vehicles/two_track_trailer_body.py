"""The trailers of `two_track` as bodies: their shape, and what a slope does to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..body import Down, Geometry, Outline, Trailer, Wheel, box
from ..components.towing import trailer_motions
from ..components.trailer_records import SIDES
from ..plane.pose import turned_back
from ..units import m, m_s2, one
from .two_track_trailers import standing_radius, towing

BAR: one = 0.05
"""Width of a drawbar over that of its trailer."""
WHEEL_WIDTH: one = 0.6
"""Over the radius."""


def with_trailers(shape: Geometry, p: Any) -> Geometry:
    """The shape of the car with what hangs behind it.

    A world pushes it as one body with the mass of all and the radius of gyration of the car.
    """
    behind: Trailer | None = None
    for k in reversed(range(len(p.trailers) if towing(p) else 0)):
        axle = -p.l_r if k == 0 else 0.0
        behind = _trailer(k, axle - p.trailers[k].behind, behind, p)
    if behind is None:
        return shape
    mass = shape.mass + sum(trailer.m for trailer in p.trailers)
    share = mass / shape.mass
    tallest = max(shape.height, *(trailer.height for trailer in p.trailers))
    return replace(shape, trailer=behind, mass=mass, inertia=share * shape.inertia, height=tallest)


def _trailer(k: int, hitch_x: m, behind: Trailer | None, p: Any) -> Trailer:
    own = p.trailers[k]
    radius = float(standing_radius(own, p))
    front = own.length - own.tail
    outlines: list[Outline] = [box(-own.tail, front, own.width)]
    if front < own.l_axle:
        outlines.append(box(front, own.l_axle, BAR * own.width))
    wheels = tuple(
        Wheel(
            f"{side}_{k + 1}",
            0.0,
            sign * 0.5 * own.track,
            radius,
            WHEEL_WIDTH * radius,
            spin=f"spin_{side}_{k + 1}",
            F_x=f"F_x_{side}_{k + 1}",
            F_y=f"F_y_{side}_{k + 1}",
            F_z=f"F_z_{side}_{k + 1}",
        )
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
    )
    return Trailer(hitch_x, own.l_axle, f"hitch_{k + 1}", tuple(outlines), wheels, behind)


def trailers_on_slope(x: Any, g: m_s2, down: Down, p: Any) -> dict[str, Any]:
    """Gravity on each trailer as disturbances, where the ground slopes as under the car."""
    changes: dict[str, Any] = {}
    for k, at in enumerate(trailer_motions(x, p) if towing(p) else (), 1):
        weight = p.trailers[k - 1].m * g
        F_x, F_y = turned_back(at.hitch.c, at.hitch.s, weight * down.x, weight * down.y)
        changes |= {f"F_x_{k}": F_x, f"F_y_{k}": F_y}
    return changes
