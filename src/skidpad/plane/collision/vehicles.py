"""Vehicles against each other: which of them touch at their poses, or first along their motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...brief import brief_repr
from ...errors import InvalidValue
from .footprint import Footprint, poses_of

TOLERANCE = 1e-6
"""Moving vehicles count as in contact when nearer than this part of the way they make at most."""


class Contacts(NamedTuple):
    """Pairs of vehicles that touch, in order of their numbers."""

    pairs: NDArray[np.int64]
    """Numbers i < j of the two, shape (P, 2)."""
    fractions: Array
    """Where in the motion, 0 to 1, each pair first touches, shape (P,)."""

    __repr__ = brief_repr


class _Shapes(NamedTuple):
    """The footprints of all vehicles in flat arrays; vehicle b has the parts from owner[b] on."""

    corners: Array
    parts: NDArray[np.int64]
    owner: NDArray[np.int64]
    radii: Array


def between(footprints: Footprint | Sequence[Footprint], poses: Any) -> NDArray[np.int64]:
    """The pairs i < j of vehicles in contact at these poses (B, 3), shape (P, 2), in order.

    One footprint is that of all; a list has one for each. Contact is having a point in common:
    touching counts, and so does one vehicle wholly inside another.
    """
    from . import overlap

    places = poses_of("poses", poses)
    shapes = _shapes(footprints, len(places))
    near = _near(places, places, shapes.radii)
    hit = np.zeros(len(near), dtype=np.bool_)
    overlap.mark_pairs(near, places, shapes.corners, shapes.parts, shapes.owner, hit)
    return near[hit]


def first_contacts(
    footprints: Footprint | Sequence[Footprint], before: Any, after: Any
) -> Contacts:
    """The pairs of vehicles that touch while all move from one pose to the next, and when.

    Each motion has a constant twist as in `Checker.first_contact`, and all take the same time. A
    contact is never reported late, and early by the time it takes to cover the last millionth of
    the way that both make at most: 1e-6 of the motion for two that drive at each other. Those that
    pass each other nearer than that are reported too.
    """
    from . import swept

    start, end = poses_of("before", before), poses_of("after", after)
    if start.shape != end.shape:
        raise InvalidValue(f"before has {len(start)} poses, but after has {len(end)}")
    shapes = _shapes(footprints, len(start))
    near = _near(start, end, shapes.radii)
    fractions = np.full(len(near), np.inf)
    swept.meet_pairs(
        near,
        start,
        end,
        shapes.corners,
        shapes.parts,
        shapes.owner,
        shapes.radii,
        TOLERANCE,
        fractions,
    )
    met = np.isfinite(fractions)
    return Contacts(near[met], fractions[met])


def _shapes(footprints: Footprint | Sequence[Footprint], count: int) -> _Shapes:
    listed = [footprints] * count if isinstance(footprints, Footprint) else list(footprints)
    if len(listed) != count:
        raise InvalidValue(f"{len(listed)} footprints are given for {count} poses")
    for k, footprint in enumerate(listed):
        if not isinstance(footprint, Footprint):
            raise InvalidValue(f"footprints[{k}] is a {type(footprint).__name__}, not a Footprint")
    parts = [part for footprint in listed for part in footprint.parts]
    return _Shapes(
        np.concatenate(parts) if parts else np.empty((0, 2)),
        np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64),
        np.cumsum([0, *(len(footprint.parts) for footprint in listed)], dtype=np.int64),
        np.array([footprint.radius for footprint in listed]),
    )


def _near(before: Array, after: Array, radii: Array) -> NDArray[np.int64]:
    """Pairs i < j whose boxes around their motions overlap, in order."""
    from . import overlap

    if len(before) < 2:
        return np.empty((0, 2), dtype=np.int64)
    turn = np.abs(after[:, 2] - before[:, 2])
    turn = np.abs(turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi)))
    chord = np.hypot(*(after - before)[:, :2].T)
    reach = (radii + 0.5 * chord * np.tan(0.25 * turn))[:, None]
    low = np.minimum(before[:, :2], after[:, :2]) - reach
    high = np.maximum(before[:, :2], after[:, :2]) + reach
    boxes = np.hstack([low, high])
    order = np.argsort(boxes[:, 0], kind="stable")
    count = overlap.list_pairs(boxes, order, np.empty((0, 2), dtype=np.int64))
    pairs = np.empty((count, 2), dtype=np.int64)
    overlap.list_pairs(boxes, order, pairs)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
