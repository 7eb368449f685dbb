"""Designs brought about without a campaign: rounds in a loop, runs as a function of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skidpad.core.arrays import AnyArray, Array
from skidpad.random.streams import normal_of
from skidpad.study.designs import Design


class Conducted(NamedTuple):
    """What came of a design."""

    found: dict[str, Any]
    rounds: list[Array]
    """Points of each round."""

    @property
    def points(self) -> Array:
        return np.concatenate(self.rounds)


def conducted(
    design: Design, factors: int, seed: int, column: Callable[[Array], AnyArray] | None = None
) -> Conducted:
    """All rounds of a design whose one column `y` is a function of points."""
    choosing, rounds = design.rounds(factors, seed), list[Array]()
    try:
        asked = next(choosing)
        while True:
            points = asked.points(np.arange(asked.size))
            assert points.shape == (asked.size, factors)
            assert set(asked.reads) <= set(design.reads())
            rounds.append(points)
            read = {name: column(points) for name in asked.reads} if column is not None else {}
            asked = choosing.send(read)
    except StopIteration as end:
        assert sum(map(len, rounds)) <= design.runs
        return Conducted(dict(end.value), rounds)


def standard_normal(points: Array) -> Array:
    """Points of the unit cube as standard normal factors."""
    return normal_of(points.ravel()).reshape(points.shape)
