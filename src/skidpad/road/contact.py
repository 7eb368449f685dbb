"""Road under wheels and bodies: height, slopes, gravity along the road, and grip.

Axes here are those of a vehicle with a given yaw: forward, to the left, and up. On a road
that rises by `slope` forward and by `bank` to the left, per horizontal distance, the axes in the
road are `e_1`, along the wheels' direction, `e_2`, to the left of it at a right angle, and the
normal `n`:

    e_1 = (1, 0, slope) / E                       E² = 1 + slope²
    e_2 = (-slope bank, E², bank) / (N E)         N² = 1 + slope² + bank²
    n = (-slope, -bank, 1) / N

`wheel_contact` evaluates the road at one wheel; `plane_under` (four wheels) and `fitted_plane` (any
number) compute the plane on which they stand, the input of `plane_motion`, `standing_pull` and
`fitted_pull`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..geometry.pose import turned, turned_back
from ..ops import cos, sin, sqrt
from ..units import m, m_s, m_s2, one, per_m, rad, rad_s


class Direction(NamedTuple):
    """A unit vector, or a share of gravity."""

    x: one
    """Component forward."""
    y: one
    """Component to the left."""
    z: one
    """Component upwards."""


class WheelContact(NamedTuple):
    """The road at one wheel, for a given yaw."""

    z: m
    """Height of the road."""
    slope: one
    """Rise of the road forward per horizontal distance."""
    bank: one
    """Rise of the road to the left per horizontal distance."""
    normal: Direction
    """Normal of the road, in the axes of the yaw: forward, to the left and up."""
    down: Direction
    """Direction of gravity in the axes of the road: forward, to the left, and along the
    normal."""
    grip: one
    """Grip of the road relative to that on which the tyre was measured."""


class SlopeChange(NamedTuple):
    """Change of the slope under a vehicle with its pose, in the horizontal plane."""

    ahead: per_m
    """Change of the slope per distance ahead."""
    aside: per_m
    """Change of the slope per distance to the left."""
    turn: one
    """Change of the slope per rad of turning to the left; for a plane, its bank."""


class RoadPlane(NamedTuple):
    """The plane on which the wheels of a vehicle stand."""

    z: m
    """Height at the centre of the wheels."""
    slope: one
    """Rise forward per horizontal distance."""
    bank: one
    """Rise to the left per horizontal distance."""
    down: Direction
    """Direction of gravity in the axes of the plane."""
    change: SlopeChange
    """Change of the slope as the vehicle moves."""


class PlaneMotion(NamedTuple):
    """Motion over the ground of a body that stays on a plane."""

    x: m_s
    """Velocity in the world."""
    y: m_s
    yaw: rad_s
    """Rate of the heading in the horizontal plane."""
    lift: m_s2
    """Acceleration along the normal: negative on a crest, positive in a dip."""


class StandingPull(NamedTuple):
    """Gravity along the road on a body that stands on its wheels, divided by its mass."""

    x: m_s2
    """Component forward, in the axes of the plane under the wheels."""
    y: m_s2
    """Component to the left."""
    turn: float
    """Yaw moment divided by the mass, in m²/s², where the road is steeper under some wheels."""


def wheel_contact(road: Any, x: m, y: m, yaw: rad) -> WheelContact:
    """Evaluate a road (its record) at a position, for a wheel or a body with heading `yaw`."""
    point = road.surface.at(x, y)
    slope, bank = turned_back(cos(yaw), sin(yaw), point.z_x, point.z_y)
    by_n = 1.0 / sqrt(1.0 + slope * slope + bank * bank)
    normal = Direction(-slope * by_n, -bank * by_n, by_n)
    return WheelContact(point.z, slope, bank, normal, down(slope, bank), road.grip.at(x, y))


def down(slope: one, bank: one) -> Direction:
    """Direction of gravity in the axes of a road with a slope forward and a bank to the left."""
    by_e = 1.0 / sqrt(1.0 + slope * slope)
    by_n = 1.0 / sqrt(1.0 + slope * slope + bank * bank)
    return Direction(-slope * by_e, -bank * (by_e * by_n), -by_n)


def plane_under(contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]) -> RoadPlane:
    """Plane under four wheels (fl, fr, rl, rr) at positions (forward, left) of a body.

    Its slope is that from the midpoint of the rear wheels to the midpoint of the front ones, its
    bank the mean of those of both axles. So waves shorter than the vehicle hardly tilt it.
    """
    (forward, left), (_, right), (back, rear_left), (_, rear_right) = places
    by_wheelbase = 1.0 / (forward - back)
    fl, fr, rl, rr = (contact.z for contact in contacts)
    front, rear = 0.5 * (fl + fr), 0.5 * (rl + rr)
    slope = (front - rear) * by_wheelbase
    front_bank = (fl - fr) * (1.0 / (left - right))
    bank = 0.5 * (front_bank + (rl - rr) * (1.0 / (rear_left - rear_right)))
    changes = (
        (0.5 * by_wheelbase) * ((fl + fr) - (rl + rr))
        for fl, fr, rl, rr in _rises(contacts, places)
    )
    return RoadPlane(0.5 * (front + rear), slope, bank, down(slope, bank), SlopeChange(*changes))


def plane_motion(plane: RoadPlane, yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> PlaneMotion:
    """Motion over the ground of a body with velocity and yaw rate in the axes of a plane.

    `omega` is about the normal, so on a banked curve the horizontal heading turns faster;
    a change of slope on a bank turns it as well. From e_1' e_2 = omega, which is
    yaw' / N + slope' bank / (N E²), and lift = v_x e_1' n.
    """
    slope, bank = plane.slope, plane.bank
    e_2 = 1.0 + slope * slope
    e, n = sqrt(e_2), sqrt(e_2 + bank * bank)
    ahead = v_x * (1.0 / e) - v_y * (slope * bank * (1.0 / (n * e)))
    aside = v_y * (e * (1.0 / n))
    drift = plane.change.ahead * ahead + plane.change.aside * aside
    by_e = bank * (1.0 / e_2)
    rate = (n * omega - by_e * drift) * (1.0 / (1.0 + by_e * plane.change.turn))
    slope_rate = drift + plane.change.turn * rate
    lift = v_x * (slope_rate - rate * bank) * (1.0 / (n * e))
    return PlaneMotion(*turned(cos(yaw), sin(yaw), ahead, aside), rate, lift)


def standing_pull(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]], plane: RoadPlane, g: m_s2
) -> StandingPull:
    """Gravity along an uneven road on a body carried by its wheels (fl, fr, rl, rr).

    Its centre of mass rises with the wheels, weighted by the loads they carry. The pull does the
    work of this rise for any motion in `plane_motion`: a car that coasts over hills and through
    banked bends conserves its energy.
    """
    forward, back = places[0][0], places[2][0]
    by_wheelbase = 0.5 / (forward - back)
    front, rear = -back * by_wheelbase, forward * by_wheelbase
    ahead, aside, turn = (
        front * (fl + fr) + rear * (rl + rr) for fl, fr, rl, rr in _rises(contacts, places)
    )
    return _pull_of_rise(ahead, aside, turn, plane, g)


def _pull_of_rise(ahead: one, aside: one, turn: m, plane: RoadPlane, g: m_s2) -> StandingPull:
    """Gravity that does the work of a body's rise, which is given per distance ahead and to the
    left and per turn, in the horizontal plane."""
    slope, bank, change = plane.slope, plane.bank, plane.change
    e_2 = 1.0 + slope * slope
    e, n = sqrt(e_2), sqrt(e_2 + bank * bank)
    by_e = bank * (1.0 / e_2)
    turn = turn * (1.0 / (1.0 + by_e * change.turn))
    ahead, aside = ahead - turn * by_e * change.ahead, aside - turn * by_e * change.aside
    across = aside * (e * (1.0 / n)) - ahead * (slope * bank * (1.0 / (n * e)))
    return StandingPull(-g * (ahead * (1.0 / e)), -g * across, -g * (n * turn))


def fitted_plane(contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]) -> RoadPlane:
    """Least-squares plane through the road at positions (forward, left) of a body.

    Under four wheels at the corners of a rectangle it is that of `plane_under`.
    """
    along, across = _weights(places)
    slope = _weighted(along, [contact.z for contact in contacts])
    bank = _weighted(across, [contact.z for contact in contacts])
    change = SlopeChange(*(_weighted(along, rises) for rises in _rises(contacts, places)))
    mean = _sum([contact.z for contact in contacts]) * (1.0 / len(contacts))
    return RoadPlane(mean, slope, bank, down(slope, bank), change)


def fitted_pull(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]], plane: RoadPlane, g: m_s2
) -> StandingPull:
    """Gravity along an uneven road on a body whose height is that of the fitted plane at its
    reference point.

    The pull does the work of this point's rise for any motion in `plane_motion`. The weight
    along the plane does not: in a bend the front wheels take another path than the rear wheels,
    and a coasting car would gain or lose energy.
    """
    along, across = _weights(places)
    by_count = 1.0 / len(places)
    middle_x, middle_y = (_sum(values) * by_count for values in zip(*places, strict=True))
    shares = [
        by_count - middle_x * by_x - middle_y * by_y
        for by_x, by_y in zip(along, across, strict=True)
    ]
    ahead, aside, turn = (
        _sum([share * rise for share, rise in zip(shares, rises, strict=True)])
        for rises in _rises(contacts, places)
    )
    return _pull_of_rise(ahead, aside, turn, plane, g)


def _rises(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]
) -> tuple[list[one], list[one], list[m]]:
    """Rise of the road under each wheel per distance ahead, to the left, and per turn of the
    body."""
    turns = [
        ahead * contact.bank - aside * contact.slope
        for contact, (ahead, aside) in zip(contacts, places, strict=True)
    ]
    return [c.slope for c in contacts], [c.bank for c in contacts], turns


def _weights(places: Sequence[tuple[m, m]]) -> tuple[list[Any], list[Any]]:
    """Weights of heights in the slope forward and in that to the left."""
    by_count = 1.0 / len(places)
    middle_x, middle_y = (_sum(values) * by_count for values in zip(*places, strict=True))
    from_middle = [(x - middle_x, y - middle_y) for x, y in places]
    xx, xy, yy = (_sum([a[j] * a[k] for a in from_middle]) for j, k in ((0, 0), (0, 1), (1, 1)))
    by_det = 1.0 / (xx * yy - xy * xy)
    along = [(yy * x - xy * y) * by_det for x, y in from_middle]
    return along, [(xx * y - xy * x) * by_det for x, y in from_middle]


def _weighted(weights: Sequence[Any], values: Sequence[Any]) -> one:
    # Differences to the first value, so that level ground is level to the last bit.
    products = zip(weights[1:], values[1:], strict=True)
    return _sum([weight * (value - values[0]) for weight, value in products])


def _sum(values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total
