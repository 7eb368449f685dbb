"""Errors of a vehicle over the windows of several logs, and the unknowns that make them small.

`Problem` holds the replays of the logs and the unknowns of a fit; `solve` finds the most likely
values. Every window of every log is a vehicle of a fleet that starts from its own measured state.
That state was measured with noise, so corrections of it are unknown, too. A correction affects its
own window only: it is eliminated there (variable projection), and it is held by the noise of the
sensors, so that a start cannot explain what the model does wrong.

The objective is twice the negative logarithm of a likelihood that is normal near its middle and has
heavier tails (Huber, Robust Statistics, 1981). The scale of each channel's errors is estimated with
the parameters, so no weights are needed. A run that diverges counts as a large constant error.

Steps are Gauss-Newton steps from exact derivatives, with several dampings (Levenberg and Marquardt)
in one call of the fleet, and corrected for the curvature of the errors along them, because
parameters of vehicles trade off along curved valleys (geodesic acceleration; Transtrum and Sethna,
arXiv:1201.5885, 2012). Positive parameters are moved by their logarithms, in which products of
parameters, the usual cause of such valleys, are straight lines.

`Training` says which parts of which logs are fitted and which are held out, and makes problems of
them. Compared channels are taken as they were measured. The filters of a preparation have no delay,
so they smear a step forwards and backwards, which a fit would take for a slower vehicle. Channels
that drive the vehicle are filtered: noise of an input shows in the replay and not in the
measurement, which a fit would take for a weaker response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import erf, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import s
from ..logs.log import Channel, Log
from ..logs.preparation import STEPS, Prepared, prepare
from .replay import HORIZONS, LEAD, LONGEST_STEP, Direction, Guess, Replay
from .unknowns import LATEST, Unknown
from .window_errors import errors_by_horizon, replayed_log

LOSSES = {"huber": 1.345, "squares": inf}
"""Losses by name, each with the error in standard deviations above which it grows linearly."""
START_NOISE = {
    "x": 0.1,
    "y": 0.1,
    "yaw": 0.05,
    "v": 0.5,
    "v_x": 0.5,
    "v_y": 0.5,
    "beta": 0.05,
    "omega": 0.2,
    "steer": 0.02,
    "a_x": 0.5,
    "pedal": 0.5,
}
"""Fields of a start state that are corrected, with the standard deviations in SI units that apply
to fields that the log does not contain."""
_LOST = 10.0
"""Largest error that counts, also that of a diverged run, in ranges of the channel,
and at least that in SI units."""
_LEAST_SIGMA = 1e-7
"""Noise of a channel that counts as zero, as part of its range; keeps weights finite."""
_MOST_STEPS = 40
_SETTLED = 0.05
"""Negligible decrease of the objective; at the ends of a 95 % interval it is 4 above the least."""
_SETTLE = (1.0, 0.3, 0.05)
"""Share of the change of the start states in the first step from a point, and in further trials if
that does not make the errors smaller."""
_STUCK = 1.0
"""Predicted decrease of the objective from which a point that no step improves is no optimum."""
_DAMPINGS = (0.02, 0.2, 1.0, 5.0, 100.0)
"""Multiples of the last damping that are tried in one call."""
_LARGEST_STEP = 0.7
"""Largest change of an unknown in one step: of its logarithm, or in changes that matter."""
_PROBE = 0.1
"""Share of a step at which the curvature of the errors is measured."""
_MOST_NUMBERS = 16_000_000
"""Largest number of values in one rollout or table."""


class Point(NamedTuple):
    """Values of all unknowns."""

    values: Array
    """(unknowns,)."""
    starts: tuple[Array, ...]
    """Corrections of the start states of each replay, (windows, nx)."""


class Linear(NamedTuple):
    """Errors of one replay at a point and their derivatives, divided by the channels' sigma.

    The rows of a window are its samples, one channel after the other.
    """

    errors: Array
    """(windows, rows)."""
    weights: Array
    """Robust weights, (windows, rows); 0 for samples that are missing or diverged."""
    eliminated: Array
    """Derivatives by the unknowns in their sizes, with the starts eliminated, (windows, rows,
    unknowns)."""
    start: Array
    """Best change of the starts at fixed values, (windows, fields), in their noise."""
    start_by_value: Array
    """Derivative of the best change of the starts, (windows, fields, unknowns)."""
    normal: Array
    """Information on the unknowns in their sizes, (windows, unknowns, unknowns)."""
    push: Array
    """Half the negative slope of the objective, (windows, unknowns)."""


class Solution(NamedTuple):
    """Best point found."""

    point: Point
    loss: float
    """Objective: twice the negative logarithm of the likelihood, up to a constant."""
    sigma: Array
    """Standard deviation of each channel's errors, in its unit."""
    converged: bool = True
    """Whether the last steps changed the objective little, as the derivatives predict."""


@dataclass(frozen=True)
class Problem:
    """The replays of some logs by one vehicle, and the unknowns of its fit."""

    replays: tuple[Replay, ...]
    unknowns: tuple[Unknown, ...]
    loss: str = "huber"

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels that any replay compares."""
        return tuple(dict.fromkeys(name for r in self.replays for name in r.channels))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lowest and highest values of the unknowns."""
        low, high = (np.array([getattr(u, e) for u in self.unknowns]) for e in ("low", "high"))
        return low, high

    def sizes(self, values: Array) -> tuple[Array, Array]:
        """Size of each unknown, and whether its logarithm is moved: its size is its value then."""
        logs = np.array([u.low > 0.0 for u in self.unknowns], dtype=bool)
        return np.where(logs, values, [u.matters for u in self.unknowns]), logs

    def prior(self, values: Array) -> tuple[Array, Array]:
        """Precision of what is known beforehand, in sizes, and its push, (unknowns,)."""
        size, _ = self.sizes(values)
        given = [(v, inf) if u.prior is None else u.prior
                 for u, v in zip(self.unknowns, values.tolist(), strict=True)]  # fmt: skip
        mean, sd = np.array(given).T
        return (size / sd) ** 2, (mean - values) * size / sd**2

    def at(self, values: Sequence[float] | Array | None = None) -> Point:
        """Point with these values, by default the initial ones, and measured start states."""
        own = [u.start for u in self.unknowns] if values is None else values
        return Point(
            np.array(own, dtype=float), tuple(np.zeros_like(r.starts) for r in self.replays)
        )

    def guess(self, values: Array, starts: Array | float = 0.0) -> Guess:
        """Values of the unknowns as a replay takes them."""
        params: dict[str, float] = {}
        delays: dict[str, float] = {}
        for u, value in zip(self.unknowns, values.tolist(), strict=True):
            params |= {name: size * value for name, size in u.leaves.items()}
            delays |= {u.delay: value} if u.delay else {}
        return Guess(params, delays, starts)

    def follow_speed(self, values: Array) -> None:
        """Let all replays follow their logged speed as runs with these values show."""
        for replay in self.replays:
            replay.follow_speed(self.guess(values))

    def fields(self, replay: Replay) -> list[int]:
        """Places of the corrected fields among the start states of a replay."""
        given = {*replay.prescribed, *({"v_x", "v"} if replay.way.speed == "tracked" else ())}
        names = record.names(replay.vehicle.State)
        return [k for k, name in enumerate(names) if name in START_NOISE and name not in given]

    def noise(self, sigma: Array | None) -> list[Array]:
        """Standard deviations of the start states of each replay, (fields,).

        Those of measured fields are at most the errors of their channels, `sigma`.
        """
        found: list[Array] = []
        for replay in self.replays:
            known = dict(replay.drive.noise)
            if sigma is not None:
                known |= {n: float(sigma[self.channels.index(n)]) for n in replay.channels}
            names = record.names(replay.vehicle.State)
            fields = [names[k] for k in self.fields(replay)]
            found.append(np.array([known.get(n) or START_NOISE[n] for n in fields]))
        return found

    def errors(self, points: Sequence[Point]) -> list[Array]:
        """Errors of each replay, (points, channels, windows, rows), in the channels' units."""
        return [
            replay.errors(replay.run([self.guess(p.values, p.starts[k]) for p in points]))
            for k, replay in enumerate(self.replays)
        ]

    def judge(
        self, points: Sequence[Point], errors: Sequence[Array], noise: Sequence[Array]
    ) -> tuple[Array, Array]:
        """Objective (points,) and scale (points, channels) of the errors of some points.

        Args:
            points: the points.
            errors: their errors, from `errors`.
            noise: standard deviations of the start states of each replay, (fields,).
        """
        k, loss = LOSSES[self.loss], np.zeros(len(points))
        sigmas = np.empty((len(points), len(self.channels)))
        for c, name in enumerate(self.channels):
            parts: list[Array] = []
            span = 0.0
            for replay, table in zip(self.replays, errors, strict=True):
                if name in replay.channels:
                    place = replay.channels.index(name)
                    known = np.isfinite(replay.measured[place])
                    parts.append(table[:, place][:, known])
                    span = max(span, float(np.ptp(replay.measured[place][known], axis=None)))
            rows = np.abs(np.concatenate(parts, axis=1))
            most = _LOST * max(span, 1.0)
            rows = np.where(rows < most, rows, most)
            sigma = _scale(rows, k, max(_LEAST_SIGMA * span, 1e-12))
            size = rows / sigma[:, None]
            near = np.minimum(size, k)
            loss += 2.0 * _share_inside(k) * rows.shape[1] * np.log(sigma)
            loss += (near * (2.0 * size - near)).sum(axis=1)
            sigmas[:, c] = sigma
        for i, point in enumerate(points):
            for replay, starts, sd in zip(self.replays, point.starts, noise, strict=True):
                loss[i] += ((starts[:, self.fields(replay)] / sd) ** 2).sum()
            for u, value in zip(self.unknowns, point.values.tolist(), strict=True):
                loss[i] += 0.0 if u.prior is None else ((value - u.prior[0]) / u.prior[1]) ** 2
        return np.where(np.isfinite(loss), loss, inf), sigmas

    def losses(self, points: Sequence[Point]) -> Array:
        """Objective of many points with measured starts, (points,)."""
        numbers = sum(r.measured.size * (1.0 + r.lead / r.steps) for r in self.replays)
        many = max(1, int(_MOST_NUMBERS / numbers))
        parts = (points[k : k + many] for k in range(0, len(points), many))
        noise = self.noise(None)
        return np.concatenate([self.judge(part, self.errors(part), noise)[0] for part in parts])

    def lost(self, point: Point) -> float:
        """Share of the samples whose run diverged."""
        tables = self.errors([point])
        known = [np.isfinite(r.measured) for r in self.replays]
        bad = sum(int((~np.isfinite(t[0]) & k).sum()) for t, k in zip(tables, known, strict=True))
        return bad / max(sum(int(k.sum()) for k in known), 1)

    def linear(self, point: Point, sigma: Array) -> tuple[Linear, ...]:
        """Errors and derivatives of each replay at a point."""
        noise = self.noise(sigma)
        return tuple(self._linear(k, point, sigma, noise[k]) for k in range(len(self.replays)))

    def _linear(self, k: int, point: Point, sigma: Array, sd: Array) -> Linear:
        replay, fields = self.replays[k], self.fields(self.replays[k])
        names, count = record.names(replay.vehicle.State), len(self.unknowns)
        directions = [Direction(params=u.leaves, delay=u.delay) for u in self.unknowns]
        directions += [Direction(state=names[f]) for f in fields]
        rows = replay.windows * (replay.lead + replay.steps) * replay.split
        many = max(1, _MOST_NUMBERS // (2 * record.size(replay.observed.Input) * rows))
        guess = self.guess(point.values, point.starts[k])
        parts = [
            replay.slopes(guess, directions[i : i + many]) for i in range(0, len(directions), many)
        ]
        own = np.array([sigma[self.channels.index(name)] for name in replay.channels])
        errors = replay.errors(parts[0].channels) / own[:, None, None]
        slopes = np.concatenate([p.by for p in parts]) / own[:, None, None]
        good = np.isfinite(errors) & np.isfinite(slopes).all(axis=0)
        errors, by_row = (
            np.where(good, table, 0.0)
            .swapaxes(-3, -2)
            .reshape(*table.shape[:-3], replay.windows, -1)
            for table in (errors, slopes)
        )
        weights = np.minimum(1.0, LOSSES[self.loss] / np.maximum(np.abs(errors), 1e-300))
        weights = weights * good.swapaxes(0, 1).reshape(errors.shape)
        by_row = by_row.transpose(1, 2, 0)
        by_value, by_start = (
            by_row[..., :count] * self.sizes(point.values)[0],
            by_row[..., count:] * sd,
        )
        heavy = by_start.swapaxes(1, 2) * weights[:, None, :]
        starts = (point.starts[k][:, fields] / sd)[..., None]
        right = np.concatenate([heavy @ by_value, heavy @ errors[..., None] + starts], axis=2)
        inner = heavy @ by_start + np.eye(len(fields))
        solved: Array = np.asarray(np.linalg.solve(inner, right), dtype=float)
        by, change = solved[..., :count], solved[..., count]
        eliminated = by_value - by_start @ by
        heavy = (eliminated * weights[..., None]).swapaxes(1, 2)
        push = -heavy @ errors[..., None] + by.swapaxes(1, 2) @ starts
        return Linear(errors, weights, eliminated, -change, -by, heavy @ by_value, push[..., 0])

    def moved(
        self,
        point: Point,
        linear: Sequence[Linear],
        step: Array,
        noise: Sequence[Array],
        settle: float = 1.0,
    ) -> Point:
        """Point after a step of the unknowns in their sizes, with the starts that fit it best.

        `settle` is the share of the change that the starts need even without a step.
        """
        size, logs = self.sizes(point.values)
        values = np.where(logs, point.values * np.exp(step), point.values + size * step)
        starts: list[Array] = []
        for replay, own, one, sd in zip(self.replays, point.starts, linear, noise, strict=True):
            new = own.copy()
            new[:, self.fields(replay)] += sd * (settle * one.start + one.start_by_value @ step)
            starts.append(new)
        return Point(np.clip(values, *self.bounds), tuple(starts))


def _share_inside(k: float) -> float:
    """Share of normal errors within k standard deviations; makes the scale that of normal noise."""
    return erf(k / sqrt(2.0))


def _scale(rows: Array, k: float, least: float) -> Array:
    """Scale (points,) of the sizes of errors (points, rows), by Huber's second proposal."""
    many = max(rows.shape[1], 1)
    sigma = np.maximum(np.sqrt((rows**2).sum(axis=1) / many), least)
    for _ in range(30 if k < inf else 0):
        inside = (rows * np.minimum(rows, k * sigma[:, None])).sum(axis=1)
        before = sigma
        sigma = np.maximum(np.sqrt(inside / many / _share_inside(k)), least)
        if (np.abs(sigma - before) <= 1e-4 * before).all():
            break
    return sigma


def solve(problem: Problem, point: Point, most: int = _MOST_STEPS) -> Solution:
    """The most likely values near a point."""
    errors = problem.errors([point])
    sigma = problem.judge([point], errors, problem.noise(None))[1][0]
    damping, failures = 1e-2, 0
    noise, linear = problem.noise(sigma), problem.linear(point, sigma)
    loss = float(problem.judge([point], errors, noise)[0][0])
    converged = False
    for _ in range(most):
        tried = [damping * factor for factor in _DAMPINGS]
        trials = _trials(problem, point, linear, sigma, tried, _SETTLE[failures])
        found = problem.errors(trials)
        losses, sigmas = problem.judge(trials, found, noise)
        best = int(np.argmin(losses))
        gain = loss - float(losses[best])
        if gain > 0.0:
            point, sigma, failures = trials[best], sigmas[best], 0
            damping = min(max(tried[best // 2], 1e-10), 1e6)
            # The noise of the starts follows the errors, so the objective changes with them.
            noise, errors = problem.noise(sigma), [table[best : best + 1] for table in found]
            loss = float(problem.judge([point], errors, noise)[0][0])
        else:
            damping, failures = damping * 1e4, failures + 1
        if failures == 3 or 0.0 < gain < _SETTLED:
            converged = gain > 0.0 or _predicted_gain(problem, point, linear) < _STUCK
            break
        if gain > 0.0:
            linear = problem.linear(point, sigma)
    return Solution(point, loss, sigma, converged)


def _predicted_gain(problem: Problem, point: Point, linear: Sequence[Linear]) -> float:
    """Decrease of the objective by a full step, if the errors were linear."""
    push, block, free = _normal_equations(problem, point, linear)
    step = np.linalg.lstsq(block + 1e-9 * np.eye(len(block)), push[free], rcond=None)[0]
    return float(push[free] @ step)


def _normal_equations(
    problem: Problem, point: Point, linear: Sequence[Linear]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Push (unknowns,), information on the free unknowns, and which unknowns are free.

    Unknowns at a bound stay there unless the step leads inwards.
    """
    precision, pull = problem.prior(point.values)
    normal = sum((one.normal.sum(axis=0) for one in linear), np.diag(precision))
    push = sum((one.push.sum(axis=0) for one in linear), pull)
    low, high = problem.bounds
    free: NDArray[np.bool_] = ~(
        (point.values <= low) & (push <= 0.0) | (point.values >= high) & (push >= 0.0)
    )
    return push, normal[np.ix_(free, free)], free


def _trials(
    problem: Problem,
    point: Point,
    linear: Sequence[Linear],
    sigma: Array,
    dampings: Sequence[float],
    settle: float,
) -> list[Point]:
    """Points after damped Gauss-Newton steps, each without and with its correction.

    `settle` is the share of the change that the starts need even without a step.
    """
    noise = problem.noise(sigma)
    push, block, free = _normal_equations(problem, point, linear)

    def step(push: Array, damping: float) -> Array:
        found = np.zeros(len(push))
        ridge = damping * np.diag(np.diag(block)) + 1e-9 * np.eye(len(block))
        found[free] = np.linalg.lstsq(block + ridge, push[free], rcond=None)[0]
        # The derivatives hold only nearby.
        return found * min(1.0, _LARGEST_STEP / max(float(np.abs(found).max(initial=0.0)), 1e-300))

    steps = [step(push, damping) for damping in dampings]
    probes = [problem.moved(point, linear, _PROBE * one, noise, 0.0) for one in steps]
    bends = [np.zeros(len(push)) for _ in steps]
    for tables, own, replay in zip(problem.errors(probes), linear, problem.replays, strict=True):
        unit = np.array([sigma[problem.channels.index(name)] for name in replay.channels])
        for bend, one, table in zip(bends, steps, tables, strict=True):
            rows = (table / unit[:, None, None]).swapaxes(0, 1).reshape(own.errors.shape)
            rows = rows - own.errors - _PROBE * own.eliminated @ one
            curved = np.where(np.isfinite(rows), 2.0 / _PROBE**2 * rows, 0.0) * own.weights
            bend -= np.einsum("wrp,wr->p", own.eliminated, curved)
    trials: list[Point] = []
    for damping, one, bend in zip(dampings, steps, bends, strict=True):
        more = 0.5 * step(bend, damping)
        more *= min(1.0, 0.75 * float(np.linalg.norm(one) / max(np.linalg.norm(more), 1e-300)))
        trials += [problem.moved(point, linear, s, noise, settle) for s in (one, one + more)]
    return trials


PARTS = ("training", "held out")
"""Parts of the logs of a fit."""
Span = tuple[s, s] | None
"""Begin and end of a part of a log; None for all of it."""
SHORTEST_WINDOW: s = 1.5
"""Length of the windows that a fit begins with, and of the shortest it chooses."""
LEAST_HELD: s = 1.5
"""Shortest part of a log that is held out, besides the run-in and the time for delays."""


class ErrorRow(NamedTuple):
    """Error of a channel before and after the fit, in free runs from the measured state."""

    channel: str
    unit: str
    horizon: s
    """Time since the start of the windows; 0 for all of the windows."""
    part: str
    """ "training" or "held out"."""
    before: float
    """Root mean square with the initial parameters; infinite if a run diverges."""
    after: float

    __repr__ = brief_repr


@dataclass(frozen=True)
class Training:
    """The logs of a fit and how they are replayed."""

    vehicle: Vehicle
    fitted: Sequence[tuple[Prepared, Span]]
    """Logs that are fitted, each with the part of it that is."""
    held: Sequence[tuple[Prepared, Span]]
    """Logs that are held out."""
    longest: s
    """Longest delay of a command that is tried."""
    loss: str
    options: Mapping[str, Any]
    """Further arguments of `Replay`."""
    notes: tuple[str, ...] = ()

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the logs that are fitted."""
        return tuple(dict.fromkeys(drive.name for drive, _ in self.fitted))

    def with_ends_held_out(self, share: float) -> Training:
        """Hold out a share of each log, at its end."""
        if not 0.0 <= share < 1.0:
            raise InvalidValue(f"hold_out = {share:g} must be from 0 to below 1, or logs")
        fitted: list[tuple[Prepared, Span]] = []
        held: list[tuple[Prepared, Span]] = []
        notes: list[str] = []
        for drive, _ in self.fitted if share else ():
            begin, end = float(drive.t[0]), float(drive.t[-1])
            cut = end - share * (end - begin)
            if end - cut < self._ahead + LEAD + LEAST_HELD:
                fitted.append((drive, None))
                notes.append(f"{drive.name} is too short to hold out {share:.0%} of it")
            else:
                fitted.append((drive, (begin, cut)))
                held.append((drive, (cut, end)))
        return replace(self, fitted=fitted, held=held, notes=tuple(notes)) if share else self

    def with_smooth_sources(self) -> Training:
        """Filter the measured motion that drives the vehicle."""
        known: dict[int, Prepared] = {}
        for drive, span in (*self.fitted, *self.held):
            (replay,) = self._replays([(drive, span)], SHORTEST_WINDOW)
            own = {n: drive.channels[n] for n in replay.sources}
            if own and id(drive) not in known:
                log = Log(drive.name, {n: Channel(drive.t, values) for n, values in own.items()})
                fine = prepare(log, period=drive.dt, without=[n for n in STEPS if n != "filter"])
                smooth = {n: np.interp(drive.t, fine.t, fine[n]) for n in own}
                smooth = {n: np.where(np.isfinite(own[n]), v, np.nan) for n, v in smooth.items()}
                known[id(drive)] = replace(drive, channels={**drive.channels, **smooth})
        fitted, held = (
            [(known.get(id(drive), drive), span) for drive, span in part]
            for part in (self.fitted, self.held)
        )
        return replace(self, fitted=fitted, held=held)

    @property
    def _ahead(self) -> s:
        """Time before the first window in which commands act in it."""
        return self.longest if self.vehicle.model.dead_times else 0.0

    def _replays(
        self, parts: Sequence[tuple[Prepared, Span]], window: s, **more: Any
    ) -> tuple[Replay, ...]:
        more = {"longest": self._ahead, **self.options, **more}
        return tuple(
            Replay(self.vehicle, drive, window=window, span=span, **more) for drive, span in parts
        )

    def problem(self, unknowns: Sequence[Unknown], window: s, dt: s = LONGEST_STEP) -> Problem:
        """What is fitted in windows of some length, and what is unknown of it."""
        more: dict[str, Any] = {"dt": dt}
        delayed = [*(u.delay for u in unknowns), *(self.options.get("delays") or {})]
        if any(name and not name.startswith("u_") for name in delayed):
            more["lead"] = max(self.options.get("lead") or LEAD, LATEST)
        return Problem(self._replays(self.fitted, window, **more), tuple(unknowns), self.loss)

    def replays(self, part: str, dt: s, **more: Any) -> tuple[Replay, ...]:
        """Replays in long windows of one of the `PARTS` of the logs."""
        parts = self.fitted if part == PARTS[0] else self.held
        return self._replays(parts, max(HORIZONS), dt=dt, **more)

    def errors(self, part: str, guess: Guess, dt: s) -> list[ErrorRow]:
        """Errors before and after a fit, by channel and horizon."""
        sides = {"before": Guess(), "after": guess}
        runs = [
            replayed_log(side, replay, one_guess, np.ones(replay.windows, dtype=bool))
            for replay in self.replays(part, dt, stride=1.0)
            for side, one_guess in sides.items()
        ]
        found = errors_by_horizon(list(sides), runs, HORIZONS)
        half = len(found) // 2
        return [
            ErrorRow(before.channel, before.unit, before.horizon, part, before.rmse, after.rmse)
            for before, after in zip(found[:half], found[half:], strict=True)
        ]
