"""What is left of a road once the plane under the four wheels is taken off: what shakes a car.

A body on springs is told from the plane under its wheels (`on_road.py`), which tilts and rises as
it goes along. Heights are measured from that plane, velocities off it are those over ground. So
what the plane does comes in by its rates alone, and no road needs a curvature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ops import sqrt
from ..plane.pose import turned_back
from ..road.contact import PlaneMotion, RoadPlane, WheelContact
from ..units import m, m_s, one, rad, rad_s

__all__ = ["Unevenness", "unevenness"]


class Unevenness(NamedTuple):
    """A road against the plane under four wheels (fl, fr, rl, rr), off that plane."""

    heights: tuple[m, ...]
    """How high the road is under each wheel, in m."""
    rates: tuple[m_s, ...]
    """How fast the road under each wheel rises as it goes along, in m/s."""
    slopes: tuple[tuple[one, one], ...]
    """How much steeper the road is under each wheel, forward and to the left."""
    rise: m_s
    """How fast the plane at the centre of mass rises."""
    tilt: rad_s
    """How fast the plane turns its front up."""
    lean: rad_s
    """How fast the plane turns its left side up."""

    def rise_at(self, forward: m, left: m) -> m_s:
        """How fast the plane rises at a place of the car."""
        return self.rise + forward * self.tilt + left * self.lean


def unevenness(
    contacts: Sequence[WheelContact],
    places: Sequence[tuple[m, m]],
    plane: RoadPlane,
    over_ground: PlaneMotion,
    yaw: tuple[one, one],
) -> Unevenness:
    """The road under wheels at places (forward, left), seen from the plane under them.

    `yaw` is the cosine and sine of the heading.
    """
    by_n = 1.0 / sqrt(1.0 + plane.slope * plane.slope + plane.bank * plane.bank)
    ahead, aside = turned_back(*yaw, over_ground.x, over_ground.y)
    middle = 0.5 * (places[0][0] + places[2][0])
    heights: list[m] = []
    rates: list[m_s] = []
    slopes: list[tuple[one, one]] = []
    for contact, (forward, left) in zip(contacts, places, strict=True):
        flush = plane.z + plane.slope * (forward - middle) + plane.bank * left
        along, across = contact.slope - plane.slope, contact.bank - plane.bank
        v_x, v_y = ahead - left * over_ground.yaw, aside + forward * over_ground.yaw
        heights.append((contact.z - flush) * by_n)
        rates.append((along * v_x + across * v_y) * by_n)
        slopes.append((along, across))
    rise, tilt, lean = _fitted(rates, places)
    return Unevenness(
        tuple(heights),
        tuple(rates),
        tuple(slopes),
        rise - middle * tilt,
        tilt,
        lean,
    )


def _fitted(values: Sequence[m_s], places: Sequence[tuple[m, m]]) -> tuple[m_s, rad_s, rad]:
    """Mean, slope forward and slope to the left through four values, as `plane_under` has them."""
    (forward, left), (_, right), (back, rear_left), (_, rear_right) = places
    fl, fr, rl, rr = values
    front, rear = 0.5 * (fl + fr), 0.5 * (rl + rr)
    front_bank = (fl - fr) * (1.0 / (left - right))
    bank = 0.5 * (front_bank + (rl - rr) * (1.0 / (rear_left - rear_right)))
    return 0.5 * (front + rear), (front - rear) * (1.0 / (forward - back)), bank
