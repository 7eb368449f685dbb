"""Traffic in a grid of lanes: where robots go next, and who may cross.

Streets run along x and y and meet in crossings. Everybody keeps to the right. A crossing belongs to
one robot at a time, who takes it only when there is room behind it: nobody stops in a crossing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..units import m

Crossing = tuple[int, int]
"""Numbers of its column and row."""


class Grid(NamedTuple):
    """Streets: their places, and how far right of the middle one drives."""

    xs: tuple[m, ...]
    """Of the streets along y."""
    ys: tuple[m, ...]
    """Of the streets along x."""
    beside_x: m
    """Of the lanes of streets along x, from the middle."""
    beside_y: m

    def place(self, at: Crossing) -> tuple[m, m]:
        """Where a crossing is."""
        return self.xs[at[0]], self.ys[at[1]]

    def next_to(self, at: Crossing) -> list[Crossing]:
        """Crossings one street away."""
        i, j = at
        around = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        return [c for c in around if 0 <= c[0] < len(self.xs) and 0 <= c[1] < len(self.ys)]

    def lane(self, a: Crossing, b: Crossing) -> tuple[tuple[m, m], tuple[m, m]]:
        """Ends of the lane from one crossing to the next."""
        (x, y), (x_b, y_b) = self.place(a), self.place(b)
        if a[1] == b[1]:
            right = -self.beside_x if x_b > x else self.beside_x
            return (x, y + right), (x_b, y_b + right)
        right = self.beside_y if y_b > y else -self.beside_y
        return (x + right, y), (x_b + right, y_b)

    def corner(self, a: Crossing, b: Crossing, c: Crossing) -> tuple[m, m]:
        """Where one turns at b on the way from a to c."""
        arriving, leaving = self.lane(a, b)[1], self.lane(b, c)[0]
        along_x = a[1] == b[1]
        straight = along_x == (b[1] == c[1])
        if straight:
            return leaving
        return (leaving[0], arriving[1]) if along_x else (arriving[0], leaving[1])


@dataclass
class Route:
    """A walk without end over a grid: the crossing behind, the one ahead, the one after."""

    grid: Grid
    rng: np.random.Generator
    behind: Crossing
    ahead: Crossing
    after: Crossing = field(init=False)

    def __post_init__(self) -> None:
        self.after = self._chosen(self.behind, self.ahead)

    def _chosen(self, behind: Crossing, ahead: Crossing) -> Crossing:
        """Any way but back; into the aisles rather than along the corridors."""
        ways = [c for c in self.grid.next_to(ahead) if c != behind]
        weight = np.array([2.0 if c[1] == ahead[1] else 1.0 for c in ways])
        return ways[int(self.rng.choice(len(ways), p=weight / weight.sum()))]

    def pass_on(self) -> None:
        """The crossing ahead is passed."""
        self.behind, self.ahead = self.ahead, self.after
        self.after = self._chosen(self.behind, self.ahead)


class Crossings:
    """Who has which crossing."""

    def __init__(self) -> None:
        self.owner: dict[Crossing, str] = {}

    def take(self, at: Crossing, who: str) -> bool:
        """Whether a robot has a crossing now."""
        return self.owner.setdefault(at, who) == who

    def leave(self, at: Crossing, who: str) -> None:
        """Give a crossing free."""
        if self.owner.get(at) == who:
            del self.owner[at]
