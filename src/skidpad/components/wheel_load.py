"""Loads on any number of wheels, from the weight and the forces with which they push.

The wheels stand on equal springs under a rigid body, so that their loads are an affine function of
where they are: with three wheels or more the only such loads that balance the weight and both
overturning moments, with two wheels side by side those that balance the weight and the moment about
the length axis, as if something held the body level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..ops import maximum
from ..units import N, kg, m, m_s2, one, per_m

__all__ = ["LoadShare", "Place", "dynamic_loads", "grounded", "load_shares", "static_loads"]

LEAST_LOAD: one = 1e-9
"""Part of its weight that a vehicle is taken to press on the ground with at least."""


class Place(NamedTuple):
    """Where a wheel stands, seen from the centre of mass: x forward, y left."""

    x: m
    y: m


class LoadShare(NamedTuple):
    """Load of a wheel over that of the vehicle."""

    rest: one
    """With the weight acting at the centre of mass."""
    per_x: per_m
    """Added per metre that the weight acts further ahead."""
    per_y: per_m
    """Added per metre that the weight acts further to the left."""


def load_shares(places: Sequence[Place]) -> list[LoadShare]:
    """Shares of the wheels at these places, three that are not in line or two side by side.

    They sum to one wherever the weight acts.
    """
    mean_x, mean_y = _mean(place.x for place in places), _mean(place.y for place in places)
    around = [Place(place.x - mean_x, place.y - mean_y) for place in places]
    slopes = _side_by_side(around) if len(places) == 2 else _in_the_plane(around)
    equal = 1.0 / len(places)
    return [
        LoadShare(equal - per_x * mean_x - per_y * mean_y, per_x, per_y) for per_x, per_y in slopes
    ]


def _side_by_side(around: Sequence[Place]) -> list[tuple[per_m, per_m]]:
    by_s_yy = 1.0 / _total(at.y * at.y for at in around)
    return [(0.0 * at.x * by_s_yy, at.y * by_s_yy) for at in around]


def _in_the_plane(around: Sequence[Place]) -> list[tuple[per_m, per_m]]:
    s_xx = _total(at.x * at.x for at in around)
    s_xy = _total(at.x * at.y for at in around)
    s_yy = _total(at.y * at.y for at in around)
    by_determinant = 1.0 / (s_xx * s_yy - s_xy * s_xy)
    return [
        (
            (s_yy * at.x - s_xy * at.y) * by_determinant,
            (s_xx * at.y - s_xy * at.x) * by_determinant,
        )
        for at in around
    ]


def static_loads(shares: Sequence[LoadShare], weight: N) -> list[N]:
    """Loads of a vehicle that stands on level ground."""
    return grounded([weight * share.rest for share in shares], weight)


def dynamic_loads(
    shares: Sequence[LoadShare], weight: N, mass: kg, height: m, a_x: m_s2, a_y: m_s2
) -> list[N]:
    """Loads while the wheels push with `mass` times (a_x, a_y), in body axes.

    They push on the ground, `height` below the centre of mass: forward acceleration moves load to
    the rear, acceleration to the left moves it to the right.
    """
    leaning = mass * height
    return grounded(
        [
            weight * share.rest - leaning * (share.per_x * a_x + share.per_y * a_y)
            for share in shares
        ],
        weight,
    )


def grounded(loads: Sequence[N], weight: N) -> list[N]:
    """The loads without those of lifted wheels, which would be negative; they sum to `weight`."""
    pressing: list[Any] = [maximum(load, 0.0) for load in loads]
    scale = weight / maximum(_total(pressing), LEAST_LOAD * weight)
    return [load * scale for load in pressing]


def _mean(values: Iterable[Any]) -> Any:
    terms = list(values)
    return _total(terms) * (1.0 / len(terms))


def _total(values: Iterable[Any]) -> Any:
    first, *rest = values
    total: Any = first
    for value in rest:
        total = total + value
    return total
