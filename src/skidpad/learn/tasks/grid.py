"""A starting grid: places one behind the other, to the left and to the right in turn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...body import Pose
from ...errors import InvalidValue
from ...model import Vehicle
from ...ops import floor
from ...plane.line import Line
from ...plane.maps.track import Track
from ...plane.outline import rectangle
from ...units import m
from ..course import Course
from ..others import touch_each_other
from ..shape import units_of

MARGIN: m = 0.15
"""Around each vehicle at the start."""
_STEP: m = 0.1
"""Between the places of the grid that are looked at."""


class Grid(NamedTuple):
    """Where some vehicles start."""

    agents: int
    gap: m
    """Along the line from one to the next."""
    side: m
    """From the line, to the left of the first."""

    @classmethod
    def of(cls, vehicle: Vehicle, tracks: Sequence[Track], agents: int, gap: m | None) -> Grid:
        """For vehicles of a kind; raises if two of them could touch at a start."""
        corners = np.concatenate([np.array(part) for part in units_of(vehicle)[0].parts])
        low, high = corners.min(axis=0) - MARGIN, corners.max(axis=0) + MARGIN
        least = min(float(np.minimum(track.left, track.right).min()) for track in tracks)
        side = max(0.0, 0.5 * (least - float(high[1])))
        grid = cls(agents, 1.5 * float(high[0] - low[0]) if gap is None else gap, side)
        box = rectangle(low[0], high[0], low[1], high[1])
        for number, track in enumerate(tracks):
            grid.check(track, number, box)
        return grid

    def check(self, track: Track, number: int, box: tuple[tuple[m, m], ...]) -> None:
        """Raise if boxes could touch on a track."""
        line = Line.through(track.centre, closed=track.closed)
        span = self.agents * self.gap
        if span > line.length:
            raise InvalidValue(
                f"tracks[{number}] ({track.name}) is {line.length:.1f} m long; {self.agents} "
                f"vehicles with a gap of {self.gap:.2f} m need {span:.1f} m"
            )
        begin = 0.0 if track.closed else span - self.gap
        first = np.arange(begin, line.length, _STEP)
        poses = [self._poses(line, first, slot) for slot in range(self.agents)]
        for a, b in combinations(poses, 2):
            hits = np.flatnonzero(np.asarray(touch_each_other(a, b, (box,))) > 0.5)
            if hits.size:
                x, y = float(a.x[hits[0]]), float(a.y[hits[0]])
                raise InvalidValue(
                    f"gap = {self.gap:g} m is too short: on tracks[{number}] ({track.name}) "
                    f"vehicles could start in contact near ({x:.1f}, {y:.1f}) m"
                )

    def _poses(self, line: Line, first: Array, slot: int) -> Any:
        at = line.at((first - slot * self.gap) % line.length)
        n = float(self.offset(float(slot)))
        return Pose(at.x - n * np.sin(at.heading), at.y + n * np.cos(at.heading), at.heading)

    def slot(self, agent: Any, share: Any) -> Any:
        """The place of an agent, from 0, the front: all move on by as many as a share says."""
        moved = agent + floor(share * float(self.agents))
        return moved - float(self.agents) * floor((moved + 0.5) / float(self.agents))

    def front(self, course: Course, share: Any) -> m:
        """Where the front of the grid is along the line."""
        back = (self.agents - 1) * self.gap * (1.0 - course.closed)
        return back + share * (course.length - back)

    def offset(self, slot: Any) -> m:
        """Of a place from the line, positive to the left."""
        return self.side * (1.0 - 2.0 * (slot - 2.0 * floor(0.5 * slot + 0.25)))
