"""In how many parts a step is made, so that nothing gets past anything or into it."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

from ...units import m, s
from .solver_bodies import SolverBody, is_close

MOST_PARTS = 1000
"""In which one step is made."""
IN_SIGHT: m = 0.1
"""How far away the solver knows what a body may meet next."""
NEARLY: m = 0.005
"""How far a body moves in one part of a step in which it meets something."""


def parts_of_step(dt: s, moving: Iterable[SolverBody], *, careful: bool) -> int:
    """In how many parts a step is made, so that nothing gets past anything in between.

    Box2D's own continuous collision does not notice skins as thin as ours.
    """
    most = 1.0
    for kept in moving:
        stride = min(kept.stride, IN_SIGHT) if careful else kept.stride
        most = max(most, kept.way(dt) / stride)
    return min(ceil(most - 1e-6), MOST_PARTS)


def parts_before_contact(box2d: Any, dt: s, moving: Iterable[SolverBody]) -> int:
    """In how many parts a step is made, so that what meets something stops at it.

    Box2D notices what touches at the end of a step: all the way of one may lie inside, and one
    corner of two may be held alone.
    """
    most = 1.0
    for kept in moving:
        way = kept.way(dt)
        if way > most * NEARLY and is_close(box2d, kept.body, way):
            most = way / NEARLY
    return ceil(min(most, IN_SIGHT / NEARLY) - 1e-6)
