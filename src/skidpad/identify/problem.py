"""The least-squares problem: weighted errors of all channels, and their derivatives.

Unknown besides the parameters is the state in which each window starts: it was measured once, with
noise. A start influences only its own window, so it is eliminated there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from .free import Free
from .replay import Replay, error

_START_STEPS = {
    "x": 1e-4,
    "y": 1e-4,
    "yaw": 1e-5,
    "v_x": 1e-4,
    "steer": 1e-5,
    "a_x": 1e-4,
    "pedal": 1e-4,
}
"""Fields of a start state that are estimated, and their steps for differences."""
_RELATIVE_STEP = 1e-4
_RANK = 1e-7
"""Singular values of a start's derivatives below this part of the largest one count as 0."""


class Point(NamedTuple):
    """A guess of everything unknown."""

    late: dict[str, float]
    """Dead times in s."""
    values: Array
    """The other parameters."""
    starts: Array
    """Corrections of the start states (windows, nx)."""


class Linear(NamedTuple):
    """The errors of one guess and how they change, window by window.

    Rows are samples of all channels, one channel after the other, each over its sigma.
    """

    errors: Array
    """(windows, rows)."""
    slopes: Array
    """Derivatives by the parameters with the starts eliminated, (windows, rows, parameters)."""
    by_start: Array
    """Derivatives by the corrections of the starts, (windows, rows, fields)."""
    by_value: Array
    """Derivatives by the parameters at fixed starts."""


@dataclass(frozen=True)
class Problem:
    """Errors of candidates over the windows of a replay."""

    replay: Replay
    free: tuple[Free, ...]

    @property
    def channels(self) -> tuple[str, ...]:
        """What is compared, in the order of the rows."""
        return tuple(self.replay.measured)

    def finer(self, period: float, window: float, ahead: float) -> Problem:
        """The same with steps of at most a period in s."""
        own = self.replay
        return Problem(Replay(own.vehicle, own.recorded, period, window, ahead), self.free)

    def first(self, late: Mapping[str, float]) -> Point:
        """The guess that the user starts from."""
        values = np.array([f.start for f in self.free])
        return Point(dict(late), values, np.zeros_like(self.replay.start))

    def errors(self, points: list[Point]) -> Array:
        """Errors in the channels' own units, (candidates, channels, windows, samples)."""
        named: dict[str, Array] = {
            name: np.array([p.late[name] for p in points]) for name in points[0].late
        }
        for k, f in enumerate(self.free):
            named[f.name] = np.array([p.values[k] for p in points])
        outputs = self.replay.run(named, np.stack([p.starts for p in points]))
        each = [error(n, outputs[n], self.replay.measured[n][:, None]) for n in self.channels]
        return np.stack(each).transpose(2, 0, 3, 1)

    def linear(self, point: Point, sigma: Array) -> Linear:
        """Errors and derivatives at a guess, all from one rollout."""
        points, spans = [point], list[float]()
        for k, f in enumerate(self.free):
            step = _RELATIVE_STEP * f.scale
            # At a bound the difference is one-sided.
            high = min(point.values[k] + step, f.high)
            low = max(point.values[k] - step, f.low)
            spans.append(high - low)
            points += [point._replace(values=_with(point.values, k, v)) for v in (high, low)]
        fields = [n for n in record.names(self.replay.vehicle.State) if n in _START_STEPS]
        for name in fields:
            place = record.names(self.replay.vehicle.State).index(name)
            spans.append(2.0 * _START_STEPS[name])
            for sign in (1.0, -1.0):
                starts = point.starts.copy()
                starts[:, place] += sign * _START_STEPS[name]
                points.append(point._replace(starts=starts))
        table = self.errors(points) / sigma[None, :, None, None]
        if not np.isfinite(table).all():
            raise InvalidValue(
                f"{self.replay.vehicle.name} is at the edge of diverging when it replays "
                f"{self.replay.recorded.name}; start from other parameters"
            )
        table = table.transpose(2, 0, 1, 3).reshape(self.replay.windows, len(points), -1)
        ups, downs = table[:, 1::2], table[:, 2::2]
        slopes = ((ups - downs) / np.array(spans)[None, :, None]).transpose(0, 2, 1)
        by_value, by_start = slopes[..., : len(self.free)], slopes[..., len(self.free) :]
        basis = _basis(by_start, np.array([_START_STEPS[name] for name in fields]))
        left = by_value - basis @ (basis.transpose(0, 2, 1) @ by_value)
        return Linear(table[:, 0], left, by_start, by_value)

    def moved(self, point: Point, linear: Linear, step: Array) -> Point:
        """The guess after a step of the parameters, its starts following as they fit best."""
        values = np.array(
            [
                min(max(v, f.low), f.high)
                for v, f in zip(point.values + step, self.free, strict=True)
            ]
        )
        rest = linear.errors + linear.by_value @ (values - point.values)
        names = record.names(self.replay.vehicle.State)
        places = [k for k, name in enumerate(names) if name in _START_STEPS]
        weights = np.array([_START_STEPS[names[k]] for k in places])
        starts = point.starts.copy()
        for window, (j, r) in enumerate(zip(linear.by_start, rest, strict=True)):
            steps = np.linalg.lstsq(j * weights, -r, rcond=_RANK)[0]
            starts[window, places] += weights * steps
        return Point(point.late, values, starts)


def _basis(by_start: Array, weights: Array) -> Array:
    """Orthonormal columns that span what the starts can do, (windows, rows, fields); 0 beyond."""
    u, s, _ = np.linalg.svd(by_start * weights, full_matrices=False)
    return u * (s > _RANK * s.max(axis=1, keepdims=True))[:, None, :]


def _with(values: Array, k: int, value: float) -> Array:
    changed = values.copy()
    changed[k] = value
    return changed
