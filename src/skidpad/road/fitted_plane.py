"""The plane under any number of wheels: the one that fits best the heights at some points, and what
it pulls along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..units import m, m_s2, one
from .contact import RoadPlane, SlopeChange, StandingPull, WheelContact, down, pull_of_rise

__all__ = ["fitted_plane", "fitted_pull"]


def fitted_plane(contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]) -> RoadPlane:
    """The plane of least squares through the road at places (forward, left) of a body.

    Under four wheels at the corners of a rectangle it is that of `plane_under`.
    """
    along, across = _weights(places)
    slope = _weighted(along, [contact.z for contact in contacts])
    bank = _weighted(across, [contact.z for contact in contacts])
    turns = [
        ahead * contact.bank - aside * contact.slope
        for contact, (ahead, aside) in zip(contacts, places, strict=True)
    ]
    change = SlopeChange(
        _weighted(along, [contact.slope for contact in contacts]),
        _weighted(along, [contact.bank for contact in contacts]),
        _weighted(along, turns),
    )
    mean = _sum([contact.z for contact in contacts]) * (1.0 / len(contacts))
    return RoadPlane(mean, slope, bank, down(slope, bank), change)


def fitted_pull(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]], plane: RoadPlane, g: m_s2
) -> StandingPull:
    """Gravity along a road that is no plane, on a body that is as high as the fitted plane at its
    reference point.

    The pull is that of which the work is the rise of this point, whatever the motion in
    `plane_motion`. The weight along the plane itself is not: round a bend the wheels in front go
    another way than those behind, and a car that coasts would gain or lose height for nothing.
    """
    along, across = _weights(places)
    by_count = 1.0 / len(places)
    middle_x, middle_y = (_sum(values) * by_count for values in zip(*places, strict=True))
    shares = [
        by_count - middle_x * by_x - middle_y * by_y
        for by_x, by_y in zip(along, across, strict=True)
    ]
    turns = [
        ahead * contact.bank - aside * contact.slope
        for contact, (ahead, aside) in zip(contacts, places, strict=True)
    ]
    ahead, aside, turn = (
        _sum([share * value for share, value in zip(shares, values, strict=True)])
        for values in ([c.slope for c in contacts], [c.bank for c in contacts], turns)
    )
    return pull_of_rise(ahead, aside, turn, plane, g)


def _weights(places: Sequence[tuple[m, m]]) -> tuple[list[Any], list[Any]]:
    """What a height counts for the rise forward and for that to the left."""
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
