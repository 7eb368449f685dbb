"""Rooms with obstacles, and the places in them from which a robot can reach every other one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from ...brief import brief_repr
from ...errors import InvalidValue
from ...plane.maps.track import Track
from ...plane.outline import rectangle
from ...plane.polygon import stacked_edges
from ...random.shares import names_as_words, shares
from ...units import m, rad

SIZES: tuple[m, m] = (0.3, 1.0)
"""Radii of posts and half edges of boxes."""
MARGIN: m = 0.1
"""Between a robot and an obstacle at the start, at least."""
CELL: m = 1.0
"""Edge of the cells that places are sought in."""
SIDES = 12
"""Of a round obstacle, whose corners lie on its circle."""
_LINE_WIDTH: m = 0.001
"""Of the loop, which nobody has to keep to: pictures do not show it."""
_FEWEST = 16
_Cell = tuple[int, int]


class Room(NamedTuple):
    """A square room with round obstacles, posts, and square ones, boxes."""

    edge: m
    posts: Array
    """x, y and radius of the round ones, (n, 3)."""
    boxes: Array
    """x, y, half an edge and the angle of the square ones, (n, 4)."""

    __repr__ = brief_repr

    @property
    def walls(self) -> Array:
        """Its own and those of all obstacles, (k, 4)."""
        half = 0.5 * self.edge
        rings = [np.array(rectangle(-half, half, -half, half))]
        rings += [_polygon(x, y, radius, SIDES, 0.0) for x, y, radius in self.posts.tolist()]
        rings += [
            _polygon(x, y, np.sqrt(2.0) * size, 4, angle + 0.25 * np.pi)
            for x, y, size, angle in self.boxes.tolist()
        ]
        return stacked_edges(rings)

    def clearance(self, points: Array) -> Array:
        """Distance in m of points (n, 2) from what is nearest, (n,); circles about the boxes."""
        boxes = self.boxes[:, :3] * [1.0, 1.0, np.sqrt(2.0)]
        round_ones = np.concatenate([self.posts, boxes])
        gaps = 0.5 * self.edge - np.abs(points).max(axis=1)
        for x, y, radius in round_ones.tolist():
            gaps = np.minimum(gaps, np.hypot(points[:, 0] - x, points[:, 1] - y) - radius)
        return gaps


def random_room(seed: int, number: int, obstacles: int, edge: m) -> Room:
    """A room with posts and boxes anywhere; the same for the same numbers on every machine."""
    words = names_as_words(("kind", "x", "y", "size", "angle"))
    counters = np.arange(obstacles, dtype=np.uint64) + np.uint64(number << 16)
    drawn = shares("learn.room", np.full(obstacles, seed, np.uint64), counters, words)
    kind, x, y, size, angle = drawn.T
    size = SIZES[0] + size * (SIZES[1] - SIZES[0])
    rows = np.column_stack([(x - 0.5) * edge, (y - 0.5) * edge, size, np.pi * angle])
    return Room(edge, rows[kind < 0.5, :3], rows[kind >= 0.5])


def room_track(room: Room, radius: m, number: int) -> Track:
    """A room as a track whose line is a loop through all free places that a robot of a radius can
    reach from each other: it can stand anywhere on it, whichever way it points."""
    half = CELL * np.floor(0.5 * room.edge / CELL)
    axis = np.arange(-half, half + 0.5 * CELL, CELL)
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    # The loop leaves a cell in the middle of an edge, a quarter of it aside.
    needed = radius + MARGIN + CELL * np.hypot(0.5, 0.25)
    free = room.clearance(cells.reshape(-1, 2)).reshape(cells.shape[:2]) >= needed
    loop = loop_through(free)
    if len(loop) < _FEWEST:
        raise InvalidValue(
            f"room {number} has {len(loop) // 4} cells of {CELL:g} m for a robot of {radius:.2f} m "
            f"radius that can be reached from each other; at least {_FEWEST // 4} are needed: "
            "fewer obstacles, or a larger edge"
        )
    centre = axis[0] + CELL * (0.5 * loop - 0.25)
    width = np.full(len(loop), _LINE_WIDTH)
    return Track(centre, width, width, walls=room.walls, name=f"room {number}")


def loop_through(free: Mask) -> NDArray[np.int64]:
    """A closed loop through the quarters of all cells of the largest connected part of a lattice,
    their numbers along both axes, (n, 2); n = 0 if no cell is free.

    It goes round a tree that spans the cells (Gabriely and Rimon, 2001): the loops round two cells
    that the tree joins become one.
    """
    after: dict[_Cell, _Cell] = {}
    tree = _largest_tree(free)
    for cell, _ in tree:
        a, b, c, d = (_quarter(cell, *side) for side in ((0, 0), (1, 0), (1, 1), (0, 1)))
        after |= {a: b, b: c, c: d, d: a}
    for cell, parent in tree:
        if parent is None:
            continue
        low, high = sorted((cell, parent))
        along = high[0] > low[0]
        leaving, beside = ((1, 0), (1, 1)) if along else ((1, 1), (0, 1))
        begin, end = ((0, 0), (0, 1)) if along else ((1, 0), (0, 0))
        after[_quarter(low, *leaving)] = _quarter(high, *begin)
        after[_quarter(high, *end)] = _quarter(low, *beside)
    loop: list[_Cell] = [next(iter(after))] if after else []
    while loop and after[loop[-1]] != loop[0]:
        loop.append(after[loop[-1]])
    return np.array(loop, dtype=np.int64).reshape(-1, 2)


def _quarter(cell: _Cell, i: int, j: int) -> _Cell:
    return 2 * cell[0] + i, 2 * cell[1] + j


def _largest_tree(free: Mask) -> list[tuple[_Cell, _Cell | None]]:
    """The cells of the largest connected part, each with the one that it was reached from."""
    left: dict[_Cell, None] = dict.fromkeys((i, j) for i, j in np.argwhere(free).tolist())
    largest: list[tuple[_Cell, _Cell | None]] = []
    while left:
        root, _ = left.popitem()
        tree: list[tuple[_Cell, _Cell | None]] = [(root, None)]
        for (i, j), _ in tree:
            for near in ((i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)):
                if near in left:
                    del left[near]
                    tree.append((near, (i, j)))
        largest = tree if len(tree) > len(largest) else largest
    return largest


def _polygon(x: m, y: m, radius: m, corners: int, angle: rad) -> Array:
    turn = angle + 2.0 * np.pi * np.arange(corners) / corners
    return np.column_stack([x + radius * np.cos(turn), y + radius * np.sin(turn)])
