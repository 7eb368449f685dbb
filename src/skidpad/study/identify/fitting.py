"""Parameters of a command-driven model from a recorded run, with their 95 % intervals.

`Problem` holds the weighted errors of all channels and their derivatives. Unknown in addition to
the parameters is the state in which each window starts: it was measured once, with noise. A start
influences only its own window, so it is eliminated there.

`solve` finds the maximum likelihood at fixed dead times by damped Gauss-Newton; the noise is
estimated on the way. Dead times, which only whole steps of the replay can distinguish, are found by
`DeadTimes`: first by a grid over each dead time and its time constant, one rollout of the fleet,
then by the likelihood profile, where at each number of steps everything else is fitted anew.

`spread` gives intervals from the covariance, corrected for errors that are not white; `untold`
finds parameters that the log cannot determine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr, target_of
from ...core.model import Model, Vehicle
from ...core.record import names as field_names
from ...errors import InvalidValue
from ...run.trajectory import Trajectory
from ...vehicles.command_driven.parameters import period, write
from ...vehicles.command_driven.records import PARAMETERS
from .comparison import Comparison, compare_replay, prepare
from .log import Log, read_log
from .replay import Recording, Replay, error, recording

_TURNING = ("omega", "yaw", "y")
"""Channels that tell the true steering angle from the measured one."""


class Free(NamedTuple):
    """A parameter to be estimated."""

    name: str
    unit: str
    start: float
    low: float
    high: float
    scale: float
    """A change of this size is a large one."""


def default_names(model: Model, recorded: Recording) -> tuple[str, ...]:
    """Dead times, time constants, the bias of steering and the scaling factors of a model.

    Without a channel that shows how the car turns, there is no telling the bias.
    """
    turns = any(name in recorded.measured for name in _TURNING)
    return tuple(
        name
        for name in record.names(model.Params)
        if name in PARAMETERS
        and (
            name in model.dead_times.values()
            or name.endswith("_time_constant")
            or name.endswith("_scaling_factor")
            or (name == "steer_bias" and turns)
        )
    )


def split_names(vehicle: Vehicle, names: Sequence[str]) -> tuple[list[str], list[Free]]:
    """Dead times, and the other parameters as free ones, among the names."""
    model = vehicle.model
    allowed = tuple(n for n in record.names(model.Params) if n in PARAMETERS)
    for name in names:
        if name not in allowed:
            raise InvalidValue(record.unknown_name(model.name, name, allowed, "parameter to fit"))
        if list(names).count(name) > 1:
            raise InvalidValue(f"{name} is named twice among the parameters to fit")
    if not names:
        raise InvalidValue(
            f"{model.name} has no dead time, time constant, bias or factor to fit; name others of "
            f"{', '.join(allowed)}"
        )
    late = [name for name in names if name in model.dead_times.values()]
    return late, [_free(vehicle, name) for name in names if name not in late]


def _free(vehicle: Vehicle, name: str) -> Free:
    kind = vehicle.model.Params
    leaf = record.fields(kind)[record.names(kind).index(name)]
    value = float(record.flatten(vehicle.params)[record.names(kind).index(name)])
    low, high = (-inf, inf) if leaf.allowed is None else (leaf.allowed.low, leaf.allowed.high)
    if name.endswith("_time_constant"):
        low = vehicle.params.least_time_constant
        value = max(value, low)
    elif name.endswith("_scaling_factor"):
        low = 0.0
    elif leaf.allowed is not None and leaf.allowed.open_low:
        low = 1e-3 * value
    scale = 0.1 if leaf.unit.symbol in ("s", "rad") else max(abs(value), 0.1)
    return Free(name, leaf.unit.symbol, value, low, high, scale)


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
            for value in (high, low):
                values = point.values.copy()
                values[k] = value
                points.append(point._replace(values=values))
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
        # Orthonormal columns that span what the starts can do, (windows, rows, fields); 0 beyond.
        steps = np.array([_START_STEPS[name] for name in fields])
        u, s, _ = np.linalg.svd(by_start * steps, full_matrices=False)
        basis = u * (s > _RANK * s.max(axis=1, keepdims=True))[:, None, :]
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


_MOST_STEPS = 30
_SETTLED = 1e-2
"""Change of twice the log likelihood that no longer matters: intervals are where it changes by
about 4."""
_LEAST_SIGMA = 1e-7
"""Noise of a channel as part of its range that counts as none, so that weights stay finite."""
_DAMPING = 1e-3


class Solution(NamedTuple):
    """The best guess for some dead times."""

    point: Point
    sigma: Array
    """Standard deviation of each channel's error, in its unit."""
    loss: float
    """Twice the negative log likelihood, up to a constant."""
    linear: Linear


def noise(problem: Problem, errors: Array) -> Array:
    """Size (..., channels) of errors (..., channels, windows, rows): root mean square."""
    spans = [np.ptp(problem.replay.measured[name]) for name in problem.channels]
    least = np.maximum(_LEAST_SIGMA * np.array(spans), 1e-12)
    with np.errstate(over="ignore"):  # a candidate that goes wild has an infinite error
        return np.maximum(np.sqrt(np.mean(errors**2, axis=(-2, -1))), least)


def loss_of(problem: Problem, errors: Array) -> Array:
    """Twice the negative log likelihood with the noise that makes it greatest.

    Candidates whose replay diverged have an infinite one.
    """
    many = errors.shape[-1] * errors.shape[-2]
    loss = 2.0 * many * np.log(noise(problem, errors)).sum(axis=-1)
    return np.where(np.isfinite(loss), loss, np.inf)


def solve(problem: Problem, start: Point) -> Solution:
    """The most likely parameters and starts, from a guess."""
    point = start
    errors = problem.errors([point])[0]
    loss, damping = float(loss_of(problem, errors)), _DAMPING
    if not np.isfinite(loss):
        raise InvalidValue(
            f"{problem.replay.vehicle.name} diverges with the parameters that the fit starts from "
            f"when it replays {problem.replay.recorded.name}"
        )
    sigma = noise(problem, errors)
    linear = problem.linear(point, sigma)
    for _ in range(_MOST_STEPS):
        step = _step(problem, linear, point, damping)
        trial = problem.moved(point, linear, step)
        errors = problem.errors([trial])[0]
        trial_loss = float(loss_of(problem, errors))
        if trial_loss < loss:
            gain, point, loss = loss - trial_loss, trial, trial_loss
            sigma = noise(problem, errors)
            linear = problem.linear(point, sigma)
            damping = max(0.1 * damping, 1e-9)
            if gain < _SETTLED:
                break
        else:
            damping *= 30.0
            if damping > 1e9:
                break
    return Solution(point, sigma, loss, linear)


def _step(problem: Problem, linear: Linear, point: Point, damping: float) -> Array:
    """The damped step; parameters at a bound stay there unless they want to leave it."""
    scale = np.array([f.scale for f in problem.free])
    slopes = linear.slopes.reshape(linear.errors.size, len(problem.free)) * scale
    normal, push = slopes.T @ slopes, -slopes.T @ linear.errors.ravel()
    bounds = [(f.low, f.high) for f in problem.free]
    inside = np.array(
        [
            not ((v <= low and g <= 0.0) or (v >= high and g >= 0.0))
            for v, g, (low, high) in zip(point.values, push, bounds, strict=True)
        ],
        dtype=bool,
    )
    step = np.zeros(len(problem.free))
    if inside.any():
        block = np.ix_(inside, inside)
        ridge = damping * (np.diag(np.diag(normal[block])) + 1e-12 * np.eye(int(inside.sum())))
        step[inside] = np.linalg.lstsq(normal[block] + ridge, push[inside], rcond=None)[0]
    # No more than a large change at once: the slopes hold only nearby.
    return scale * np.clip(step, -3.0, 3.0)


_LADDER = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Time constants in s tried with each dead time."""
_MOST_ROUNDS = 4


class DeadTimes:
    """The search over numbers of steps, with a cache of solutions."""

    def __init__(self, problem: Problem, names: list[str], longest: float) -> None:
        self.problem, self.names = problem, names
        self.dt = problem.replay.dt
        self.most = floor(longest / self.dt + 1e-6)
        """Largest number of steps that is tried."""
        self._solved: dict[tuple[int, ...], Solution] = {}

    def rough(self, point: Point) -> Point:
        """The best point of the grids, one dead time after the other, twice."""
        for _ in range(2 if len(self.names) > 1 else 1):
            for name in self.names:
                grid = self._grid(point, name)
                losses = loss_of(self.problem, self.problem.errors(grid))
                point = grid[int(np.argmin(losses))]
        return point

    def _grid(self, point: Point, name: str) -> list[Point]:
        """All numbers of steps, each with a ladder of the time constant if that is free too."""
        delays = self.dt * np.arange(self.most + 1)
        constant_name = name.replace("_time_delay", "_time_constant")
        free = [f.name for f in self.problem.free]
        ladder = [point.values]
        if constant_name in free:
            k = free.index(constant_name)
            for constant in (*_LADDER, point.values[k]):
                ladder.append(point.values.copy())
                ladder[-1][k] = constant
        return [
            point._replace(late={**point.late, name: float(d)}, values=values)
            for d in delays
            for values in ladder
        ]

    def settle(self, point: Point) -> Solution:
        """From a rough guess to the most likely number of steps of every dead time."""
        best = self.at(self._steps(point), point)
        for _ in range(_MOST_ROUNDS):
            before = best.loss
            for k in range(len(self.names)):
                best = self._descend(best, k)
            if best.loss >= before:
                break
        return best

    def _descend(self, best: Solution, k: int) -> Solution:
        """Along one dead time as long as it gets better, looking one step over small humps."""
        for sign in (1, -1):
            misses = 0
            steps = self._steps(best.point)
            while misses < 2:
                steps = _moved(steps, k, sign)
                if not 0 <= steps[k] <= self.most:
                    break
                trial = self.at(steps, best.point)
                if trial.loss < best.loss:
                    best, misses = trial, 0
                else:
                    misses += 1
        return best

    def accepted(self, best: Solution, k: int, threshold: float) -> list[tuple[int, Solution]]:
        """Numbers of steps of one dead time whose loss is within the threshold of the best."""
        middle = self._steps(best.point)
        kept = [(middle[k], best)]
        for sign in (1, -1):
            steps, guess = middle, best
            while 0 <= (steps := _moved(steps, k, sign))[k] <= self.most:
                guess = self.at(steps, guess.point)
                if guess.loss - best.loss > threshold:
                    break
                kept.append((steps[k], guess))
        return sorted(kept, key=lambda pair: pair[0])

    def at(self, steps: tuple[int, ...], guess: Point) -> Solution:
        """The solution at these numbers of steps."""
        if steps not in self._solved:
            late = dict(guess.late)
            # Rounded, as files show these numbers: 0.15 s and not 0.15000000000000002 s.
            late |= {name: round(n * self.dt, 9) for name, n in zip(self.names, steps, strict=True)}
            self._solved[steps] = solve(self.problem, guess._replace(late=late))
        return self._solved[steps]

    def _steps(self, point: Point) -> tuple[int, ...]:
        return tuple(round(point.late[name] / self.dt) for name in self.names)


def _moved(steps: tuple[int, ...], k: int, by: int) -> tuple[int, ...]:
    return (*steps[:k], steps[k] + by, *steps[k + 1 :])


NORMAL_95 = 1.959964
"""Half width of a 95 % interval in standard deviations."""
CHI_SQUARE_95 = 3.841459
"""Drop of twice the log likelihood of one parameter at the ends of its 95 % interval."""
_SINGULAR = 1e-7
"""Singular values below this part of the largest one are rounding."""
_LONGEST_S = 1.0
"""Errors further apart than this are taken as independent."""
_SHARE = 0.3
"""Part of a direction that makes a parameter one of those it names."""


class Spread(NamedTuple):
    """Uncertainty of the parameters of a solution."""

    half: Array
    """Half widths of the 95 % intervals."""
    excess: float
    """Variance over that of white errors of the same size; 1 if they are white."""


def spread(problem: Problem, solution: Solution) -> Spread:
    """Intervals from the slopes, wider where errors follow each other.

    Errors of a real car are no white noise, which makes the usual covariance too small. Its
    corrected form has the autocorrelation of the errors between the slopes (Morelli and Klein,
    Journal of Aircraft 34(2), 1997), here with Bartlett weights, and never makes it smaller.
    """
    scale = np.array([f.scale for f in problem.free])
    slopes = solution.linear.slopes * scale
    windows, rows, count = slopes.shape
    if count == 0:
        return Spread(np.zeros(0), 1.0)
    normal = np.einsum("wrp,wrq->pq", slopes, slopes)
    inverse = np.linalg.pinv(normal, rcond=_SINGULAR**2, hermitian=True)
    known = windows * rows
    taken = count + windows * solution.linear.by_start.shape[2]
    white = np.diag(inverse) * known / max(known - taken, 1)
    middle = normal + _correlated(problem, solution, slopes)
    coloured = np.maximum(np.diag(inverse @ middle @ inverse), white)
    measured = white > 0.0
    excess = float(np.mean(coloured[measured] / white[measured])) if measured.any() else 1.0
    return Spread(NORMAL_95 * scale * np.sqrt(coloured), excess)


def _correlated(problem: Problem, solution: Solution, slopes: Array) -> Array:
    """Sum over lags of the autocorrelation of the errors between slopes that far apart."""
    windows, _, count = slopes.shape
    shape = (windows, len(problem.channels), -1)
    errors = solution.linear.errors.reshape(shape)
    by_channel = slopes.reshape(*shape, count)
    samples = errors.shape[2]
    lags = min(samples // 4, round(_LONGEST_S / problem.replay.recorded.dt))
    # Correlations that noise alone would show are left out.
    least = 2.0 / np.sqrt(windows * samples)
    total = np.zeros((count, count))
    for lag in range(1, lags + 1):
        between = np.mean(errors[:, :, lag:] * errors[:, :, :-lag], axis=(0, 2))
        weight = np.where(np.abs(between) > least, between, 0.0) * (1.0 - lag / (lags + 1))
        if weight.any():
            ahead = by_channel[:, :, lag:] * weight[None, :, None, None]
            part = np.einsum("wcsp,wcsq->pq", ahead, by_channel[:, :, :-lag])
            total += part + part.T
    return total


def untold(problem: Problem, solution: Solution) -> list[tuple[str, ...]]:
    """Groups of parameters that the log cannot tell: alone, or only together.

    A direction is unknown if the log does not change along it at all, or if its standard deviation
    is a large change of the parameters.
    """
    names = [f.name for f in problem.free]
    if not names:
        return []
    scale = np.array([f.scale for f in problem.free])
    slopes = solution.linear.slopes.reshape(-1, len(names)) * scale
    _, s, directions = np.linalg.svd(slopes, full_matrices=False)
    unknown = (s < 1.0) | (s < _SINGULAR * s.max(initial=1e-300))
    return [
        tuple(n for n, part in zip(names, direction, strict=True) if abs(part) > _SHARE)
        for direction in directions[unknown]
    ]


def listed(groups: Sequence[tuple[str, ...]]) -> str:
    """The groups in words."""
    return "; ".join(
        group[0] if len(group) == 1 else f"{', '.join(group)} (only together)" for group in groups
    )


WINDOW = 10.0
"""Length of the windows in s, unless the user says otherwise."""
LONGEST = 1.0
"""Longest dead time that is tried, in s, unless the user says otherwise."""
CONTINUOUS = 0.005
"""Step in s in which a car is replayed that does not move in steps of the simulator."""
_UNKNOWN_SPAN = 0.5
"""Part of the tried dead times that an interval may have; one that is wider says nothing."""


class Estimate(NamedTuple):
    """One parameter."""

    name: str
    unit: str
    start: float
    value: float
    low: float
    """The 95 % interval."""
    high: float


@dataclass(frozen=True)
class Fit:
    """Estimated parameters, and how well the model follows the log before and after."""

    log: str
    model: str
    estimates: tuple[Estimate, ...]
    before: Comparison
    after: Comparison
    windows: int
    """Windows that were replayed, each from its own start."""
    resolution: float
    """Period of the log in s: dead times are known to one of it at best."""
    parameters: Mapping[str, Any]
    """All parameters of the model and the simulator, the estimated ones in their place."""
    notes: tuple[str, ...]

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of a parameter."""
        return next(e for e in self.estimates if e.name == name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a parameter file that `vehicles.autoware` and Autoware read."""
        target_of(path)
        write(path, self.parameters, self.model)


def fit(
    log: str | os.PathLike[str] | Trajectory | Log,
    model: str,
    params: Any = None,
    *,
    free: Sequence[str] | None = None,
    compat: str | None = None,
    names: Mapping[str, str] | None = None,
    window: float = WINDOW,
    longest: float = LONGEST,
) -> Fit:
    """Estimate dead times, time constants, bias and scale from a recorded run.

    Args:
        log, model, params, compat, names: as in `compare`; `params` is where the fit starts.
        free: names of the parameters to estimate; by default every dead time, time constant, bias
            and scaling factor that the model has.
        window: length in s of the pieces the log is cut into; each starts from its own state.
        longest: longest dead time to try, in s.

    Raises InvalidValue for a log that does not tell the parameters, and says which.
    """
    for what, value in (("window", window), ("longest", longest)):
        positive(what, value, "s")
    vehicle, gathered = prepare(model, params, compat)
    recorded = recording(read_log(log, names), vehicle.model)
    late, others = split_names(
        vehicle, default_names(vehicle.model, recorded) if free is None else list(free)
    )
    own = {name: float(getattr(vehicle.params, name)) for name in vehicle.model.dead_times.values()}
    ahead = max([longest] * bool(late) + [*own.values(), 0.0])
    replay = Replay(vehicle, recorded, period(gathered), window, ahead)
    problem = Problem(replay, tuple(others))
    search = DeadTimes(problem, late, longest)
    _refuse_constant(vehicle.model, recorded, late, [f.name for f in others])
    best = search.settle(search.rough(problem.first(own)))
    ways = [(search, best)]
    if compat is None and replay.dt > CONTINUOUS:
        fine = DeadTimes(problem.finer(CONTINUOUS, window, ahead), late, longest)
        ways = _likelier(ways[0], (fine, fine.settle(best.point)))
    (search, best), *_ = ways
    problem = search.problem
    _refuse_unknown(untold(problem, best), [*late, *(f.name for f in others)], recorded.name)
    starts = {**own, **{f.name: f.start for f in others}}
    each = [_estimates(*way, starts, way[0].dt < replay.dt) for way in ways]
    # The first estimates, with intervals that hold what each of the fits gives.
    estimates = [
        same[0]._replace(low=min(e.low for e in same), high=max(e.high for e in same))
        for same in zip(*each, strict=True)
    ]
    notes = (*recorded.notes, *_step_notes(ways, replay.dt))
    fitted = {e.name: e.value for e in estimates}
    order = {name: k for k, name in enumerate(field_names(vehicle.model.Params))}
    return Fit(
        recorded.name,
        model,
        tuple(sorted(estimates, key=lambda e: order[e.name])),
        compare_replay(replay),
        compare_replay(problem.replay, fitted),
        replay.windows,
        recorded.dt,
        {**gathered, **fitted},
        notes,
    )


Way = tuple[DeadTimes, Solution]
"""Steps in which the log was replayed, and the best that was found with them."""


def _likelier(own: Way, fine: Way) -> list[Way]:
    """The likelier of the replays in steps of the simulator and in fine ones; both if the log does
    not tell, the simulator's first.

    Samples with uneven times are compared at those times by the fine steps only.
    """
    (search, best), (_, other) = own, fine
    if search.problem.replay.recorded.samples:
        return [fine]
    least = CHI_SQUARE_95 * spread(search.problem, best).excess
    better = best.loss - other.loss
    return [fine] if better > least else [own] if better < -least else [own, fine]


def _step_notes(ways: list[Way], own: float) -> list[str]:
    """What the steps of the replay mean for the parameters, if they are not the simulator's."""
    if len(ways) > 1:
        return [
            "the log does not tell whether the car moves in steps of the simulator or without; the "
            "intervals hold for either"
        ]
    if ways[0][0].dt == own:
        return []
    return [
        f"replayed in steps of {1e3 * ways[0][0].dt:.3g} ms: the parameters are those of a car "
        f"that does not move in the simulator's steps of {1e3 * own:.3g} ms"
    ]


def _estimates(
    search: DeadTimes, best: Solution, starts: Mapping[str, float], fine: bool
) -> list[Estimate]:
    """Values with intervals: of dead times by profile, of the others by covariance.

    Where several numbers of steps are likely, the intervals of the others cover what each gives.
    `fine` says that the steps stand for a car without any.
    """
    problem = search.problem
    sure = spread(problem, best)
    recorded = problem.replay.recorded
    step, estimates, likely = recorded.dt + recorded.jitter, list[Estimate](), [best]
    for k, name in enumerate(search.names):
        kept = search.accepted(best, k, CHI_SQUARE_95 * sure.excess)
        _refuse_vague(name, [n for n, _ in kept], search)
        likely += [solution for _, solution in kept]
        # A command logged at one sample was given since the one before, and what it does shows
        # at the next: a sampled log tells a dead time to a step on either side.
        low, high = kept[0][0] * search.dt - step, kept[-1][0] * search.dt + step
        value = best.point.late[name]
        estimates.append(Estimate(name, "s", starts[name], value, max(low, 0.0), high))
    spreads = [spread(problem, solution).half for solution in likely]
    # Euler's steps of h have a time constant that is up to h / 2 off that of a car without steps,
    # and what a dead time in whole steps leaves over, up to h / 2, is taken up by it.
    rounding = search.dt if fine else 0.0
    for k, f in enumerate(problem.free):
        if f.name.endswith("_time_constant"):
            for half in spreads:
                half[k] += rounding
        lows = [s.point.values[k] - h[k] for s, h in zip(likely, spreads, strict=True)]
        highs = [s.point.values[k] + h[k] for s, h in zip(likely, spreads, strict=True)]
        value = float(best.point.values[k])
        low, high = max(float(min(lows)), f.low), min(float(max(highs)), f.high)
        estimates.append(Estimate(f.name, f.unit, starts[f.name], value, low, high))
    return estimates


def _refuse_constant(model: Model, recorded: Recording, late: list[str], others: list[str]) -> None:
    """Raise for a dead time of a command that never changes: no replay can tell it."""
    constant = [
        (model.dead_times[name], name)
        for name, values in zip(field_names(model.Input), recorded.commands.T, strict=True)
        if model.dead_times.get(name) in late and np.ptp(values) == 0.0
    ]
    if constant:
        inputs = ", ".join(f"u_{name}" for _, name in constant)
        groups = [(delay,) for delay, _ in constant]
        constants = [d.replace("_time_delay", "_time_constant") for d, _ in constant]
        groups += [(name,) for name in constants if name in others]
        _refuse_unknown(groups, [*late, *others], recorded.name, f"{inputs} never changes; ")


def _refuse_unknown(
    groups: Sequence[tuple[str, ...]], names: Sequence[str], log: str, why: str = ""
) -> None:
    if not groups:
        return
    unknown = {group[0] if len(group) == 1 else name for group in groups for name in group}
    rest = [name for name in names if name not in unknown]
    hint = " ".join(f"--free {name}" for name in rest)
    raise InvalidValue(
        f"{why}{log} does not tell {listed(groups)}: a large change of it would not show. "
        + (f"Fit the others with {hint}" if rest else "Record a run in which the commands change")
    )


def _refuse_vague(name: str, steps: list[int], search: DeadTimes) -> None:
    """Raise if the profile of a dead time is flat, or falls towards the longest one tried."""
    span = steps[-1] - steps[0]
    if span > max(2.0, _UNKNOWN_SPAN * search.most):
        others = [n for n in search.names if n != name]
        others += [f.name for f in search.problem.free]
        _refuse_unknown([(name,)], [name, *others], search.problem.replay.recorded.name)
    if steps[-1] >= search.most and search.most > 0:
        raise InvalidValue(
            f"{name} seems to be {search.most * search.dt:.3g} s or more, the longest dead time "
            "that was tried; try longer ones with --longest (longest=)"
        )
