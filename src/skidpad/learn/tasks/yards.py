"""Places to manoeuvre in: a yard with a bay, a room with obstacles; tracks of walls.

The centre line of such a track is a straight line through it, which nobody has to follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...body import Point
from ...plane.outline import rectangle
from ...plane.polygon import line_edges, stacked_edges
from ...plane.track import Track
from ...units import m, rad
from ..shape import Unit

GAP: m = 0.5
"""Between the end wall of a bay and the tail of what is parked."""
DEPTH = 0.75
"""Of a bay, over the length of the last unit."""
YARD = 2.5
"""Depth of the yard before the bay, and its width, over the length of the whole vehicle."""
_LINE_POINTS = 32


class Bay(NamedTuple):
    """A bay in a yard, in its own frame: from the middle of its end wall, x out of it."""

    depth: m
    """From the end wall to the yard."""
    half_width: m
    reach: m
    """Depth of the yard, and its width."""
    goal: m
    """Where the axle of the last unit is to stand."""
    nearest: m
    """Where that axle may be in the yard, whichever way the unit points."""

    @classmethod
    def of(cls, units: Sequence[Unit], room: m) -> Bay:
        """For a vehicle, with so much room beside it."""
        corners = [np.concatenate([np.array(part) for part in unit.parts]) for unit in units]
        last, tail = corners[-1], -float(corners[-1][:, 0].min())
        half = max(float(np.abs(each[:, 1]).max()) for each in corners)
        depth = DEPTH * float(np.ptp(last[:, 0]))
        reach = YARD * sum(float(np.ptp(each[:, 0])) for each in corners)
        nearest = depth + GAP + float(np.hypot(tail, half))
        return cls(depth, half + 0.5 * room, reach, GAP + tail, nearest)

    def track(self) -> Track:
        """Its walls and those of the yard; the line leads from the end wall straight out."""
        far, b, y = self.depth + self.reach, self.half_width, 0.5 * self.reach
        border: list[Point] = [
            (0.0, -b), (self.depth, -b), (self.depth, -y), (far, -y),
            (far, y), (self.depth, y), (self.depth, b), (0.0, b), (0.0, -b),
        ]  # fmt: skip
        return track_of_walls(line_edges(np.array(border)), (0.0, 0.0), (far, 0.0), b, "bay")


class Room(NamedTuple):
    """A square room with round obstacles, posts, and square ones, boxes."""

    edge: m
    posts: Array
    """x, y and radius of the round ones, (n, 3)."""
    boxes: Array
    """x, y, half an edge and the angle of the square ones, (n, 4)."""

    def track(self, name: str) -> Track:
        """Walls of all; a round one has as many sides as differ from the circle by 1%."""
        half = 0.5 * self.edge
        rings = [np.array(rectangle(-half, half, -half, half))]
        rings += [_polygon(x, y, radius, 24, 0.0) for x, y, radius in self.posts.tolist()]
        rings += [
            _polygon(x, y, np.sqrt(2.0) * size, 4, angle + 0.25 * np.pi)
            for x, y, size, angle in self.boxes.tolist()
        ]
        ends = (-half, 0.0), (half, 0.0)
        return track_of_walls(stacked_edges(rings), *ends, half, name)

    def clearance(self, points: Array) -> Array:
        """Distance in m of points (n, 2) from what is nearest, (n,); circles about the boxes."""
        boxes = self.boxes[:, :3] * [1.0, 1.0, np.sqrt(2.0)]
        round_ones = np.concatenate([self.posts, boxes])
        gaps = 0.5 * self.edge - np.abs(points).max(axis=1)
        for x, y, radius in round_ones.tolist():
            gaps = np.minimum(gaps, np.hypot(points[:, 0] - x, points[:, 1] - y) - radius)
        return gaps


def track_of_walls(walls: Array, begin: Point, end: Point, half_width: m, name: str) -> Track:
    """A track of walls (k, 4), with a straight line through it."""
    centre = np.linspace(begin, end, _LINE_POINTS)
    width = np.full(_LINE_POINTS, half_width)
    return Track(centre, width, width, closed=False, walls=walls, name=name)


def _polygon(x: m, y: m, radius: m, corners: int, angle: rad) -> Array:
    turn = angle + 2.0 * np.pi * np.arange(corners) / corners
    return np.column_stack([x + radius * np.cos(turn), y + radius * np.sin(turn)])
