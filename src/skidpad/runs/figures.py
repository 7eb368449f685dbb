"""What each vehicle did during a run, in a few numbers.

* distance: length of the path of its reference point;
* accelerations: the largest change of velocity in a step, by the length of the step, along and
  across the vehicle as it stood before the step;
* effort: how much was steered and pressed. The way that each input went (the sum of its changes),
  in units of its whole span, summed over the inputs: 1 is one input once from one end to the other.
  The span is what the vehicle's limits allow; where they do not say, what the inputs of that
  name and model went through in this run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..brief import brief_repr
from ..plane.pose import unrotated
from ..units import m, m_s, m_s2, one, s
from .laps import Laps
from .show import Segment, Show


class Figures(NamedTuple):
    """The numbers of one vehicle."""

    name: str
    distance: m
    lap_times: tuple[s, ...] | None
    """Of the laps that were completed; None for a vehicle without a start line."""
    top_speed: m_s
    a_along: m_s2
    """Largest acceleration along the vehicle, either way."""
    a_across: m_s2
    """Largest acceleration across it, either side."""
    collisions: int | None
    """Contacts that began; None where there is nothing to touch."""
    effort: one
    pose: tuple[float, float, float]
    """At the end: x and y in m, yaw in rad."""

    __repr__ = brief_repr


class Tally:
    """Sums and extremes of a run; arrays have one number per vehicle, in the order of the show."""

    __repr__ = brief_repr

    def __init__(self, show: Show, first: Segment) -> None:
        count = len(show.vehicles)
        self._show = show
        self.steps = 0
        """Steps that were counted."""
        self.distance, self.top_speed = np.zeros(count), np.zeros(count)
        self.a_along, self.a_across = np.zeros(count), np.zeros(count)
        self.collisions: NDArray[np.int64] = np.zeros(count, np.int64)
        self.laps = Laps(show.vehicles, show.start_lines)
        self._t, self._motion = first.t[-1:], first.motion[-1:]
        self.laps.start(float(self._t[0]), self._motion[0, :, :2])
        self._see_speed(self._motion)
        self._inputs: Array | None = None
        inputs = len(show.inputs)
        self._way = np.zeros(inputs)
        self._low, self._high = np.full(inputs, np.inf), np.full(inputs, -np.inf)

    def add(self, segment: Segment) -> None:
        """Count what happened next."""
        if not len(segment.t):
            return
        t = np.concatenate([self._t, segment.t])
        motion = np.concatenate([self._motion, segment.motion])
        moved = np.diff(motion, axis=0)
        self.distance += np.hypot(moved[..., 0], moved[..., 1]).sum(axis=0)
        self._see_speed(segment.motion)
        self._see_accelerations(motion[:-1, :, 2], moved[..., 3:5] / np.diff(t)[:, None, None])
        self._see_inputs(segment.inputs)
        self.laps.add(t, motion[..., :2])
        self.collisions += segment.collisions
        self._t, self._motion = t[-1:], motion[-1:]
        self.steps += len(segment.t)

    def _see_speed(self, motion: Array) -> None:
        speed = np.hypot(motion[..., 3], motion[..., 4])
        self.top_speed = np.maximum(self.top_speed, speed.max(axis=0))

    def _see_accelerations(self, yaw: Array, change: Array) -> None:
        along, across = unrotated(change[..., 0], change[..., 1], yaw)
        self.a_along = np.maximum(self.a_along, np.abs(along).max(axis=0))
        self.a_across = np.maximum(self.a_across, np.abs(across).max(axis=0))

    def _see_inputs(self, inputs: Array) -> None:
        known = inputs if self._inputs is None else np.concatenate([self._inputs, inputs])
        self._way += np.abs(np.diff(known, axis=0)).sum(axis=0)
        self._low = np.minimum(self._low, inputs.min(axis=0))
        self._high = np.maximum(self._high, inputs.max(axis=0))
        self._inputs = inputs[-1:]

    @property
    def effort(self) -> Array:
        """Control effort of each vehicle; see the module text."""
        seen: dict[tuple[str, str], tuple[float, float]] = {}
        columns = self._show.inputs
        for k, column in enumerate(columns):
            low, high = seen.get((column.model, column.name), (np.inf, -np.inf))
            seen[column.model, column.name] = min(low, self._low[k]), max(high, self._high[k])
        effort = np.zeros(len(self._show.vehicles))
        for k, column in enumerate(columns):
            low, high = seen[column.model, column.name]
            span = high - low if column.span is None else column.span
            if self._way[k] > 0.0 and span > 0.0:
                effort[column.vehicle] += self._way[k] / span
        return effort

    def figures(self) -> list[Figures]:
        """The numbers of every vehicle so far."""
        effort, show = self.effort, self._show
        return [
            Figures(
                name=name,
                distance=float(self.distance[k]),
                lap_times=self.laps.times(k) if self.laps.counted(k) else None,
                top_speed=float(self.top_speed[k]),
                a_along=float(self.a_along[k]),
                a_across=float(self.a_across[k]),
                collisions=int(self.collisions[k]) if show.meets else None,
                effort=float(effort[k]),
                pose=tuple(self._motion[0, k, :3].tolist()),
            )
            for k, name in enumerate(show.vehicles)
        ]
