"""Monte Carlo: many runs of one vehicle with random disturbances, and their statistics.

`Fleet.monte_carlo` runs them; see docs/uncertainty.md. `Experiment` simulates the runs one step at
a time, `Tally` updates their statistics on the way, so that no states are stored, and `MonteCarlo`
is the result; the functions below it check the arguments. `proportion`, `mean_bounds` and
`quantile_ranks` are the confidence intervals.

The random numbers of a run depend only on the seed, the run number and the step, and a fleet
computes the same bits for a vehicle in any batch. A run therefore gives the same result alone as
among any other runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.cpu import RolloutArrays
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array, Mask
from ..core.checks import between, check_room, finite, positive, steps_in, whole
from ..core.files import counted, shortened, shown
from ..core.policy import Policy
from ..core.progress import Choice, watching
from ..errors import InvalidValue, SimulationDiverged
from ..random.model import NoUncertainty, UncertaintyModel, checked_model, draw_sample
from ..random.streams import Draw, of_run
from . import arguments as batch
from . import delay
from .arguments import consistent_rows, consistent_states
from .runner import Runner
from .trajectory import Trajectory
from .trajectory_table import Column


class Probability(NamedTuple):
    """A probability estimated from runs, with its confidence interval."""

    value: float
    """Fraction of the runs in which the event happened, from 0 to 1."""
    low: float
    """Lower end of the confidence interval."""
    high: float
    """Upper end of the confidence interval."""
    happened: int
    """Number of runs in which the event happened."""
    runs: int
    """Number of runs in total."""
    level: float
    """Confidence level of the interval, such as 0.95."""

    def __str__(self) -> str:
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.happened} of {self.runs} runs)"


def proportion(happened: int, runs: int, level: float = 0.95) -> Probability:
    """The probability of an event that happened in `happened` of `runs` independent runs.

    The interval is that of C. J. Clopper and E. S. Pearson (Biometrika 26, 1934): it contains the
    true value with at least the confidence `level`, even if the event never happened.
    """
    tail = _tail(level)
    if runs < 1 or not 0 <= happened <= runs:
        raise InvalidValue(
            f"happened = {happened} of runs = {runs}: at least 1 run is needed, and no more can "
            "happen than there are"
        )
    whole("runs", runs)
    never, always = happened == 0, happened == runs
    inverse = _special().betaincinv
    low = 0.0 if never else float(inverse(happened, runs - happened + 1, tail))
    high = 1.0 if always else float(inverse(happened + 1, runs - happened, 1.0 - tail))
    return Probability(happened / runs, low, high, happened, runs, level)


def mean_bounds(mean: Array, std: Array, runs: Any, level: float) -> tuple[Array, Array]:
    """Ends of the confidence intervals of means of independent runs, by Student's distribution.

    Exact for normal values, and more accurate for others the more runs there are. Infinite for one
    run.
    """
    tail, count = _tail(level), np.maximum(runs, 1)
    some = count > 1
    quantile = _special().stdtrit(np.where(some, count - 1, 1), 1.0 - tail)
    reach = np.where(some, quantile * std / np.sqrt(count), np.inf)
    return mean - reach, mean + reach


def quantile_ranks(runs: int, quantile: float, level: float) -> tuple[int, int]:
    """Ranks (low, high) of the ordered values between which a quantile lies, for any distribution.

    The number of runs below a quantile is binomial, so the interval from the `low`-th to the
    `high`-th smallest value, counted from 1, contains it with at least the confidence `level`, with
    at most half of the remaining probability in each tail. 0 and runs + 1 mean that there is no
    such value: too few runs for such an extreme quantile.
    """
    tail = _tail(level)
    low, high = (_lower_rank(runs, q, tail) for q in (quantile, 1.0 - quantile))
    return low, runs + 1 - high


def _lower_rank(runs: int, quantile: float, tail: float) -> int:
    """Rank of the lower interval end: the largest one with at most probability `tail` that fewer
    values lie below the quantile.
    """
    below = _special().bdtr
    low, high = 0, runs + 1
    while high - low > 1:
        rank = (low + high) // 2
        if below(rank - 1, runs, quantile) <= tail:
            low = rank
        else:
            high = rank
    return low


def _tail(level: float) -> float:
    """Tail probability beyond either end of an interval with confidence `level`."""
    return (1.0 - between("level", level, 0.0, 1.0, hint=", such as 0.95")) / 2.0


def _special() -> Any:
    # SciPy takes a tenth of a second to import, which `import skidpad` should not pay.
    from scipy import special

    return special


Runs = NDArray[np.int64]


class Moment(NamedTuple):
    """States, inputs and disturbances of all runs at one time."""

    step: int
    states: Array
    """(nx, runs): the vehicle's states, then the policy's memory; NaN for diverged runs."""
    inputs: Array | None
    """Inputs (1 or runs, nu) of the next step; None after the last."""
    disturbances: Array | None
    """Disturbances (runs, nw) of the next step; None after the last."""


@dataclass(frozen=True)
class Experiment:
    """Runner, start states, inputs and distributions of a Monte Carlo simulation."""

    runner: Runner
    """Runner of the vehicle, or of the closed loop of vehicle and policy."""
    vehicle_states: int
    """Number of states of the vehicle itself; the states after them are the policy's memory."""
    steps: int
    seed: int
    start: Array | UncertaintyModel
    """Start states (1 or runs, number of vehicle states), or their distribution."""
    memory: Array
    """Memory of the policy at the start, (nm,)."""
    inputs: Array
    """Controls or references of the policy, (1 or steps, 1 or runs, nu)."""
    params: Mapping[str, Any]
    """Parameters by name: (1,), (runs,), or their distribution."""
    disturbance: UncertaintyModel
    noise: UncertaintyModel | None
    """Noise on the state passed to the policy; its numbers are appended to `inputs`."""

    @property
    def dt(self) -> float:
        """Step in s."""
        return self.runner.settings.dt

    def moments(self, runs: Runs) -> Iterator[Moment]:
        """Simulate the runs; yields the start and the moment after every step."""
        pending, named = None, self.parameters(runs)
        params = None if named is None else self.runner.parameters(named)
        x = self._start_states(runs, params)
        self._check(x, named, params)
        disturbance_memory, noise_memory = self.disturbance.start(len(runs)), None
        if self.noise is not None:
            noise_memory = self.noise.start(len(runs))
        shown = x[: self.vehicle_states].T
        for step in range(self.steps):
            # Uncertainty models that read states get the last finite states of diverged runs.
            alive: Mask = np.asarray(np.isfinite(x).all(axis=0))
            shown = np.where(alive[:, None], x[: self.vehicle_states].T, shown)
            draw = self.draw("disturbance", runs, step)
            w, disturbance_memory = draw_sample(self.disturbance, draw, disturbance_memory, shown)
            u = _of(self.inputs, step, runs)
            if self.noise is not None:
                draw = self.draw("noise", runs, step)
                errors, noise_memory = draw_sample(self.noise, draw, noise_memory, shown)
                u = np.concatenate([np.broadcast_to(u, (len(runs), u.shape[1])), errors], axis=1)
            yield Moment(step, x, u, w)
            try:
                x, pending = self._advanced(x, u, w, params, pending)
            except SimulationDiverged as error:
                raise self._named(error, runs, step) from error
        yield Moment(self.steps, x, None, None)

    def _check(self, x: Array, named: Mapping[str, Array] | None, params: AnyArray | None) -> None:
        p = self.runner.own_params if params is None else params
        arrays = RolloutArrays(x.T[None], self.inputs, np.empty((1, 1, 0)), p)
        own = named is None or all(name.startswith("policy.") for name in named)
        self.runner.plausible.check(arrays, own_params=own)

    def draw(self, channel: str, runs: Runs, step: int) -> Draw:
        """Random numbers of a channel for one step of these runs."""
        return Draw(self.seed, channel, runs, step, self.dt)

    def _start_states(self, runs: Runs, params: AnyArray | None) -> Array:
        drawing = isinstance(self.start, UncertaintyModel)
        if isinstance(self.start, UncertaintyModel):
            draw = self.draw("start", runs, 0)
            own, _ = draw_sample(self.start, draw, self.start.start(len(runs)))
        else:
            own = _of(self.start[None], 0, runs)
        own = np.broadcast_to(own, (len(runs), own.shape[1]))
        memory = np.broadcast_to(self.memory, (len(runs), self.memory.size))
        rows = np.concatenate([own, memory], axis=1)
        if drawing:
            p = self.runner.own_params if params is None else params
            rows = consistent_rows(self.runner.plant, rows, p)
        return np.ascontiguousarray(rows.T)

    def parameters(self, runs: Runs) -> dict[str, Array] | None:
        """Parameters of these runs by name; None for the vehicle's own."""
        columns: dict[str, Array] = {}
        for name, source in self.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(f"params.{name}", runs, 0)
                columns[name] = draw_sample(source, draw, source.start(len(runs)))[0][:, 0]
            else:
                values = np.atleast_1d(source)
                columns[name] = values if len(values) == 1 else values[runs]
        return columns or None

    def _advanced(
        self, x: Array, u: Array, w: Array, params: AnyArray | None, pending: Array | None
    ) -> tuple[Array, Array | None]:
        """The states (nx, runs) after a step, and the pending commands (rows, runs or 1, nu).

        Runs that diverged before stay NaN.
        """
        alive: Mask = np.asarray(np.isfinite(x).all(axis=0))
        if not alive.any():
            return x, pending
        rows = slice(None) if alive.all() else np.flatnonzero(alive)
        arguments = self.runner.arguments(
            x[:, rows],
            (u if len(u) == 1 else u[rows]).T,
            None,
            w[rows].T if w.shape[1] else None,
            "soa",
        )
        if params is not None:
            some = params.shape[1] > 1 and not isinstance(rows, slice)
            own = params[:, self.runner.space.xp.asarray(rows)] if some else params
            arguments = arguments._replace(p=own)
        if pending is not None and pending.shape[1] > 1:
            pending = pending[:, rows]
        queue = self.runner.queue(arguments, pending)
        after = batch.on_host(self.runner.samples(arguments, 1, 1, "soa", queue)[-1]).T
        if queue is not None:
            left = delay.pending_after(arguments.u, queue, 1, self.runner.space)
            pending = _among(batch.on_host(left), alive)
        return _among(after, alive), pending

    def _named(self, error: SimulationDiverged, runs: Runs, step: int) -> SimulationDiverged:
        """Add the seeds of the failed runs to an error, so that they can be repeated."""
        lost = [int(runs[v]) for v in error.vehicles]
        seeds = ", ".join(str(of_run(self.seed, k)) for k in lost[:4])
        seeds += ", ..." if len(lost) > 4 else ""
        time = step * self.dt + error.time
        return SimulationDiverged(
            f"{len(lost)} of {len(runs)} runs diverged after t = {time:g} s (seeds {seeds}); "
            'a fleet with on_diverge="mask" continues without them',
            time=time,
            last_state=error.last_state,
            vehicles=tuple(lost),
        )


def _among(array: Array, alive: Mask) -> Array:
    """Expand an array (n, running runs or 1, ...) to all runs, NaN for the others.

    A shared array is returned unchanged.
    """
    if alive.all() or array.shape[1] == 1 < alive.sum():
        return array
    shape = [*array.shape]
    shape[1] = len(alive)
    out = np.full(shape, np.nan, array.dtype)
    out[:, alive] = array
    return out


def _of(series: Array, step: int, runs: Runs) -> Array:
    """Rows (1 or runs, n) at one step of a series (1 or steps, 1 or runs, n)."""
    rows = series[0 if len(series) == 1 else step]
    return rows if len(rows) == 1 else rows[runs]


def input_rows(runner: Runner, kind: type, values: Any) -> Array:
    """Convert controls or references to (1 or steps, 1 or runs, n); a table (steps, n) is for all
    runs.
    """
    space = batch.Space.of("cpu", runner.settings.precision)
    if not isinstance(values, (Mapping, kind)) and values is not None and np.ndim(values) == 2:
        values = np.asarray(values)[:, None]
    what = "controls" if kind is runner.plant.Input else "references"
    return batch.series(kind, what, values, space, "aos")


Quantity = Callable[[Any], Any]
"""A function of the state record whose fields are arrays with one number per run."""

CONFIDENCES = (0.9, 0.95, 0.99)
"""Default confidence levels of the intervals of quantiles."""


class Tally:
    """Statistics of some quantities and events over all runs, updated step by step.

    Args:
        State: the record that quantities and events are functions of.
        quantities: functions of the state, by name.
        events: functions of the state that return whether an event happens, by name.
        levels: levels of the quantiles, from 0 to 1.
        samples: number of times.
        runs: number of runs.
        confidences: levels of the confidence intervals of quantiles, between 0 and 1.
    """

    def __init__(
        self,
        State: type,
        quantities: Mapping[str, Quantity],
        events: Mapping[str, Quantity],
        levels: Array,
        samples: int,
        runs: int,
        confidences: Sequence[float] = CONFIDENCES,
    ) -> None:
        self._State, self._quantities, self._events = State, quantities, events
        self.levels, self.confidences = levels, np.array(confidences)
        self.counted = np.zeros(samples, np.int64)
        """Number of runs that have not diverged, by sample."""
        shape = (samples, len(levels), len(self.confidences), 2)
        self._known_ranks = (0, np.empty(shape[1:], np.int64))
        self.intervals = {n: np.full(shape, np.nan) for n in quantities}
        self.quantiles = {n: np.full((samples, len(levels)), np.nan) for n in quantities}
        self.mean = {n: np.full(samples, np.nan) for n in quantities}
        self.std = {n: np.full(samples, np.nan) for n in quantities}
        self.highest = {n: Extreme(runs, 1.0) for n in quantities}
        self.lowest = {n: Extreme(runs, -1.0) for n in quantities}
        self.happened = {n: np.zeros(runs, bool) for n in events}
        self.share = {n: np.full(samples, np.nan) for n in events}

    def take(self, sample: int, states: Array) -> None:
        """Add the states (fields, runs) of one time; no event happens in runs that are NaN."""
        alive: NDArray[np.bool_] = np.asarray(np.isfinite(states).all(axis=0))
        self.counted[sample] = alive.sum()
        if alive.any():
            x = record.unflatten(self._State, list(states))
            for name, quantity in self._quantities.items():
                self._take_quantity(name, sample, _numbers(name, quantity, x, len(alive)), alive)
            for name, event in self._events.items():
                self.happened[name] |= _truths(name, event, x, len(alive)) & alive
        for name, happened in self.happened.items():
            self.share[name][sample] = happened.mean()

    def along(self, name: str, run: Trajectory) -> Array:
        """A quantity at each sample of a trajectory with the states among its columns."""
        x = record.unflatten(self._State, [run[leaf] for leaf in record.names(self._State)])
        return _numbers(name, self._quantities[name], x, len(run))

    def unit(self, name: str) -> str:
        """Unit symbol of a quantity that is a state; empty for others."""
        leaves = record.fields(self._State)
        return next((leaf.unit.symbol for leaf in leaves if leaf.name == name), "")

    def _take_quantity(self, name: str, sample: int, values: Array, alive: Any) -> None:
        self.highest[name].take(sample, values)
        self.lowest[name].take(sample, values)
        counted = values if alive.all() else values[alive]
        ordered = np.sort(counted)
        self.quantiles[name][sample] = _quantiles(ordered, self.levels)
        if not np.isnan(ordered[-1]):  # NaN is sorted last; with a NaN, ranks are unknown
            ends = np.concatenate([[-np.inf], ordered, [np.inf]])
            self.intervals[name][sample] = ends[self._ranks(len(ordered))]
        # Values of a diverging run may be infinite or overflow when squared.
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean[name][sample] = counted.mean()
            self.std[name][sample] = counted.std(ddof=1) if counted.size > 1 else 0.0

    def _ranks(self, runs: int) -> NDArray[np.int64]:
        """Ranks of the ends of confidence intervals (levels, confidences, 2).

        The ranks for the last number of runs are cached.
        """
        if self._known_ranks[0] != runs:
            pairs = [
                [quantile_ranks(runs, level, sure) for sure in self.confidences.tolist()]
                for level in self.levels.tolist()
            ]
            self._known_ranks = (runs, np.array(pairs))
        return self._known_ranks[1]


class Extreme:
    """Largest value of each run and its sample index, -1 for runs without any number.

    With a sign of -1 the smallest value is recorded instead.
    """

    def __init__(self, runs: int, sign: float) -> None:
        self._sign = sign
        self._most = np.full(runs, -np.inf)
        self.sample = np.full(runs, -1, np.int64)
        self._unset = True

    def take(self, sample: int, values: Array) -> None:
        signed = values if self._sign > 0.0 else -values
        further = signed > self._most
        if self._unset:
            further |= (self.sample < 0) & ~np.isnan(signed)
        np.copyto(self._most, signed, where=further)
        np.copyto(self.sample, sample, where=further)
        self._unset = self._unset and bool((self.sample < 0).any())

    @property
    def value(self) -> Array:
        """The extreme value of each run, (runs,)."""
        return self._sign * self._most


def _quantiles(ordered: Array, levels: Array) -> Array:
    """Quantiles of ordered values.

    Between two infinite values the nearer one is taken, without interpolation.
    """
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(ordered, levels)
    nearest = np.rint(levels * (len(ordered) - 1)).astype(int)
    unknown = np.isnan(ordered[-1])  # NaN is sorted last
    return quantiles if unknown else np.where(np.isnan(quantiles), ordered[nearest], quantiles)


def _truths(name: str, event: Quantity, x: Any, runs: int) -> NDArray[np.bool_]:
    """Whether an event happens at a state of each run.

    Raises for numbers, since any number other than 0 would count as true.
    """
    values = _per_run("event", name, event, x, runs)
    if values.dtype != np.bool_:
        raise InvalidValue(
            f"event {name!r} must say True or False, as `lambda x: abs(x.y) > 0.3` does; it gave "
            f"{_shown(values)}"
        )
    return values


def _numbers(name: str, quantity: Quantity, x: Any, runs: int) -> Array:
    values = _per_run("quantity", name, quantity, x, runs)
    if values.dtype.kind not in "biuf":
        raise InvalidValue(
            f"quantity {name!r} must give a number per run; it gave {_shown(values)}"
        )
    return values.astype(float, copy=False)


def _per_run(what: str, name: str, function: Quantity, x: Any, runs: int) -> AnyArray:
    try:
        values = np.asarray(function(x))
    except ValueError as error:
        if "truth value" not in str(error):
            raise
        raise InvalidValue(
            f"{what} {name!r} branches in Python (`if`, `and`, `or`, `min`, `max`) on fields that "
            "have a number per run; write (a) & (b), (a) | (b), or skidpad.ops.where, minimum, "
            "maximum"
        ) from error
    if values.shape != (runs,) and values.shape != ():
        raise InvalidValue(
            f"{what} {name!r} must give one number per run, {runs} of them; it gave shape "
            f"{values.shape}"
        )
    return np.broadcast_to(values, (runs,))


def _shown(values: AnyArray) -> str:
    first = values[0] if values.dtype == object else values.dtype
    return "None: a `return` may be missing" if first is None else f"{first}"


def replay_run(experiment: Experiment, run: int, seed: int) -> Trajectory:
    """States, inputs, outputs and disturbances (`w_...`) of one run; it ends where it diverged."""
    runner, dt = experiment.runner, experiment.dt
    plant = runner.plant
    moments = list(experiment.moments(np.array([run])))
    good = [m for m in moments if np.isfinite(m.states).all()]
    states = np.array([m.states[:, 0] for m in good])
    # The last sample starts no step, so it repeats the input of the step before.
    acted = [m for m in moments if m.inputs is not None and m.disturbances is not None]
    acted = [acted[min(k, len(acted) - 1)] for k in range(len(good))]
    inputs = np.array([m.inputs[0] for m in acted if m.inputs is not None])
    w = np.array([m.disturbances[0] for m in acted if m.disturbances is not None])
    own = experiment.parameters(np.array([run]))
    traj = Trajectory.from_arrays(
        dt * np.arange(len(good)),
        states=(plant.State, states),
        inputs=(plant.Input, inputs),
        outputs=(plant.Outputs, runner.outputs(states, inputs, None, own, w)),
        name=plant.name,
        meta={"seed": seed, "dt": dt},
    )
    leaves = record.fields(plant.Disturbance)
    disturbances = tuple(
        Column(f"w_{leaf.name}", leaf.unit, "disturbance", w[:, k]) for k, leaf in enumerate(leaves)
    )
    return Trajectory(
        traj.t, (*traj.columns, *disturbances), traj.name, traj.meta, None, plant.State
    )


class Case(NamedTuple):
    """A run selected for an extreme value of a quantity."""

    seed: int
    """Seed of the run, for `replay`; also a seed of `skidpad.Simulation`."""
    run: int
    """Number of the run."""
    value: float
    """Extreme value of the quantity."""
    time: float
    """Time of the extreme value in s."""


class MonteCarlo:
    """Bands, probabilities and worst cases of many runs of one vehicle.

    `Fleet.monte_carlo` returns it. Arrays over time have a row per step and one for the start.
    """

    def __init__(self, experiment: Experiment, runs: NDArray[np.int64], tally: Tally) -> None:
        # Values that the caller supplies per run must cover all runs.
        counts = {"inputs": experiment.inputs.shape[1]}
        if not isinstance(experiment.start, UncertaintyModel):
            counts["x0"] = len(experiment.start)
        for name, value in experiment.params.items():
            if not isinstance(value, UncertaintyModel):
                counts[f"params[{name!r}]"] = np.size(value)
        last = int(runs.max())
        for name, count in counts.items():
            if count != 1 and count <= last:
                raise InvalidValue(f"{name}: {count} runs are given, but run {last} is requested")
        self._experiment, self._tally, self._runs = experiment, tally, runs
        self.final: Array = np.empty((len(runs), 0))
        """The last state of every run, (runs, nx); NaN for runs that diverged."""

    def run(self, progress: Choice = None) -> MonteCarlo:
        """Simulate all runs and compute the statistics; returns this object."""
        own, steps = self._experiment.vehicle_states, self._experiment.steps
        states = np.empty((own, 0))
        with watching(steps * self.runs, "steps", "Monte Carlo", progress) as watch:
            for moment in self._experiment.moments(self._runs):
                states = moment.states[:own]
                self._tally.take(moment.step, states)
                if moment.step:
                    watch.advance(self.runs)
        self.final = np.ascontiguousarray(states.T)
        return self

    @property
    def t(self) -> Array:
        """Time of each sample in s, (samples,)."""
        steps = np.arange(self._experiment.steps + 1, dtype=np.float64)
        return self._experiment.dt * steps

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self._runs)

    @property
    def seed(self) -> int:
        """Seed of the whole simulation; `case.seed` and `seed_of` return seeds of single runs."""
        return self._experiment.seed

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities with bands and worst cases."""
        return tuple(self._tally.quantiles)

    @property
    def events(self) -> tuple[str, ...]:
        """Names of the events with probabilities."""
        return tuple(self._tally.happened)

    @property
    def levels(self) -> tuple[float, ...]:
        """Recorded quantile levels, increasing."""
        return tuple(self._tally.levels.tolist())

    @property
    def numbers(self) -> tuple[int, ...]:
        """Run numbers, in order, (runs,)."""
        return tuple(self._runs.tolist())

    @property
    def counted(self) -> NDArray[np.int64]:
        """Number of runs that have not diverged up to each time, (T + 1,).

        Means, deviations, quantiles and their intervals are over these runs.
        """
        return self._tally.counted

    @property
    def diverged(self) -> tuple[int, ...]:
        """Numbers of the runs in which the vehicle diverged.

        Diverged runs do not contribute to quantities from then on; events that happened before are
        counted.
        """
        lost = ~np.isfinite(self.final).all(axis=1)
        return tuple(self._runs[lost].tolist())

    def mean(self, name: str) -> Array:
        """Mean of a quantity over time, (T + 1,)."""
        return self._of(self._tally.mean, name, "quantity")

    def std(self, name: str) -> Array:
        """Standard deviation of a quantity over time, (T + 1,)."""
        return self._of(self._tally.std, name, "quantity")

    def quantile(self, name: str, level: float) -> Array:
        """A quantile of a quantity over time, (T + 1,), at one of the recorded levels."""
        at = _place("level", level, self._tally.levels, "quantiles")
        return self._of(self._tally.quantiles, name, "quantity")[:, at]

    def band(self, name: str, share: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper end of the middle `share` of the runs over time, (T + 1,) each."""
        tail = (1.0 - finite("share", share)) / 2.0
        return self.quantile(name, tail), self.quantile(name, 1.0 - tail)

    def mean_interval(self, name: str, level: float = 0.95) -> tuple[Array, Array]:
        """Confidence interval of the mean over time: lower and upper end, (T + 1,) each.

        By Student's distribution, the interval contains the true mean with the confidence `level`
        at any one time, exactly for normal values and nearly for others with some dozens of runs.
        Infinite for a single run.
        """
        mean = self._of(self._tally.mean, name, "quantity")
        return mean_bounds(mean, self._tally.std[name], self.counted, level)

    def quantile_interval(
        self, name: str, quantile: float, level: float = 0.95
    ) -> tuple[Array, Array]:
        """Confidence interval of a quantile over time: lower and upper end, (T + 1,) each.

        The ends are two of the values of the runs, for any distribution; the interval contains the
        true quantile with at least the confidence `level` at any one time. Infinite if there are
        too few runs for an extreme quantile. Both `quantile` and `level` are among the recorded
        ones.
        """
        ends = self._of(self._tally.intervals, name, "quantity")
        at = _place("quantile", quantile, self._tally.levels, "quantiles")
        sure = _place("level", level, self._tally.confidences, "confidence")
        return ends[:, at, sure, 0], ends[:, at, sure, 1]

    def unit(self, name: str) -> str:
        """Unit symbol of a quantity that is a state; empty for other functions."""
        self._of(self._tally.mean, name, "quantity")
        return self._tally.unit(name)

    def along(self, name: str, run: Trajectory) -> Array:
        """A quantity along a replayed run, (samples,)."""
        self._of(self._tally.mean, name, "quantity")
        return self._tally.along(name, run)

    def probability(self, event: str, level: float = 0.95) -> Probability:
        """Probability that an event happens at any time of a run, with its confidence interval.

        All runs count; a diverged run counts with the events before its divergence.
        """
        happened = self._of(self._tally.happened, event, "event")
        return proportion(int(happened.sum()), self.runs, level)

    def share(self, event: str) -> Array:
        """Fraction of all runs in which an event has happened up to each time, (T + 1,).

        It never decreases, and its last value is that of `probability`.
        """
        return self._of(self._tally.share, event, "event")

    def happened(self, event: str) -> tuple[int, ...]:
        """Seeds of the runs in which an event happened."""
        runs = self._runs[self._of(self._tally.happened, event, "event")]
        return tuple(self.seed_of(run) for run in runs.tolist())

    def worst(self, name: str, count: int = 5, *, lowest: bool = False) -> tuple[Case, ...]:
        """Runs with the highest (or lowest) value of a quantity at any time, worst first.

        Runs in which the quantity was always NaN are omitted.
        """
        count = whole("count", count, "not negative", least=0)
        side = self._tally.lowest if lowest else self._tally.highest
        extreme: Extreme = self._of(side, name, "quantity")
        value = extreme.value
        order = np.argsort(value if lowest else -value, kind="stable")
        order = order[extreme.sample[order] >= 0][:count]
        return tuple(
            Case(
                self.seed_of(int(self._runs[i])),
                int(self._runs[i]),
                float(value[i]),
                float(self.t[extreme.sample[i]]),
            )
            for i in order.tolist()
        )

    def seed_of(self, run: int) -> int:
        """The seed of one run by its number."""
        return of_run(self.seed, run)

    def replay(self, seed: int | Case) -> Trajectory:
        """Repeat one run, with the same bits, as a trajectory with its inputs and disturbances.

        Takes a seed of this simulation or a case of `worst`. Inputs are the controls, or the
        references of the policy; its commands are outputs (`command.steer`). Disturbances are
        columns (`w_v_x`).
        """
        wanted = seed.seed if isinstance(seed, Case) else whole("seed", seed, least=None)
        number = wanted - of_run(self.seed, 0)
        if number not in self._runs:
            raise InvalidValue(
                f"seed = {wanted} is not one of this Monte Carlo; its runs have the seeds "
                f"{self.seed_of(int(self._runs.min()))} to {self.seed_of(int(self._runs.max()))}"
            )
        return replay_run(self._experiment, number, wanted)

    def plot(self, *quantities: str, **options: Any) -> Any:
        """Draw fans of some quantities, by default all.

        The options are those of `skidpad.view.plots.fan`.
        """
        from ..view.plots.comparison import fan

        return fan(self, quantities or self.quantities, **options)

    def _repr_html_(self) -> str:
        from ..view.plots.notebook import monte_carlo_html

        return monte_carlo_html(self)

    def _of(self, kept: Mapping[str, Any], name: str, noun: str) -> Any:
        if name not in kept:
            raise InvalidValue(record.unknown_name("Monte Carlo", name, tuple(kept), noun))
        return kept[name]

    def __repr__(self) -> str:
        lines = [f"Monte Carlo: {counted(self.runs, 'run')} of {self.t[-1]:g} s, seed {self.seed}"]
        for name in self.quantities:
            low, high = self._tally.quantiles[name][-1][[0, -1]]
            lines.append(f"{name}: {low:.4g} to {high:.4g} at the end")
        lines += [f"{name}: {self.probability(name)}" for name in self.events]
        if self.diverged:
            lines.append(f"{counted(len(self.diverged), 'run')} diverged")
        return shortened(f"<{'; '.join(lines)}>")


def _place(name: str, value: Any, kept: Array, argument: str) -> int:
    """Index of a level among the recorded levels; raises if it was not recorded."""
    number = finite(name, value)
    at = np.flatnonzero(np.isclose(kept, number, rtol=0.0, atol=1e-12))
    if not at.size:
        raise InvalidValue(
            f"{name} = {number} was not recorded; there are "
            f"{', '.join(f'{q:g}' for q in kept)} (argument `{argument}` of monte_carlo)"
        )
    return int(at[0])


NOISE = "noise"
"""Field of the reference that holds the noise of a step, one number per state of the vehicle."""
TOLD = "told"
"""Field of the reference that holds the policy's own reference."""


def noisy(policy: Policy, State: type) -> Policy:
    """Wrap a policy so that it receives the state plus noise; the noise is part of its reference.

    The new reference record has the policy's own reference (`told`), unless that is empty, followed
    by the noise of the step in the units of the state (`noise`).
    """
    leaves = [leaf.name.replace(".", "_") for leaf in record.fields(State)]
    kinds = {TOLD: policy.Reference} if record.size(policy.Reference) else {}
    kinds[NOISE] = record.define("Noise", dict.fromkeys(leaves, float), dict.fromkeys(leaves, 0.0))
    Reference = record.define("NoisyReference", kinds, doc="What a policy is told, and the noise.")

    def act(**arguments: Any) -> Any:
        noise = record.flatten(getattr(arguments["r"], NOISE))
        pairs = zip(record.flatten(arguments["x"]), noise, strict=True)
        seen = record.unflatten(State, [value + error for value, error in pairs])
        arguments = {**arguments, "x": seen, "r": getattr(arguments["r"], TOLD, None)}
        return policy.act(**{name: arguments[name] for name in policy.arguments})

    # The argument names of the policy's function determine which values it receives.
    names = dict.fromkeys(("x", "r", *policy.arguments))
    keyword = inspect.Parameter.KEYWORD_ONLY
    act.__signature__ = inspect.Signature([inspect.Parameter(n, keyword) for n in names])
    return replace(policy, act=act, Reference=Reference)


def run_numbers(runs: int | Sequence[int]) -> NDArray[np.int64]:
    """Numbers of the runs: 0 to `runs` - 1, or those listed."""
    if np.ndim(runs) == 0:
        count = whole("runs", runs, "at least 1")
        check_room("runs", count)
        return np.arange(count)
    numbers = np.asarray(runs)
    if not np.issubdtype(numbers.dtype, np.integer) or numbers.ndim != 1 or not numbers.size:
        raise InvalidValue("runs must be the number of runs, or a list of run numbers")
    if numbers.min() < 0 or numbers.max() >= 2**32 or len(np.unique(numbers)) < len(numbers):
        raise InvalidValue(f"numbers of runs must differ and lie between 0 and {2**32 - 1}")
    return numbers.astype(np.int64)


def start_of(runner: Runner, x0: Any) -> Array | UncertaintyModel:
    """Convert the argument `x0` to start states (1 or runs, nx) or their distribution."""
    State = runner.plant.State
    if isinstance(x0, UncertaintyModel):
        return checked_model("x0", x0, record.names(State), "the state")
    # The start state is consistent with the vehicle's own parameters; those that differ between
    # runs are drawn later.
    start = consistent_states(runner.plant, x0, runner.own_params)
    return batch.states(State, start, batch.Space.of("cpu", runner.settings.precision), "aos")[0]


def parameters_of(
    plant: Plant, params: Any, policy: Policy | None, policy_params: Any
) -> dict[str, Any]:
    """Convert parameters by name to distributions, or to numbers, () or (runs,).

    Parameters of the policy are named `policy.name` and are complete, as policies that differ in
    parameters only share their loop.
    """
    columns = _columns("params", plant.Params, params)
    if policy is not None:
        own = zip(record.names(policy.Params), record.flatten(policy.params), strict=True)
        others = {**dict(own), **_columns("policy_params", policy.Params, policy_params)}
        columns.update({f"policy.{name}": value for name, value in others.items()})
    elif policy_params is not None:
        raise InvalidValue("policy_params need policy=")
    return columns


def _columns(what: str, Params: type, params: Any) -> dict[str, Any]:
    if not isinstance(params or {}, Mapping):
        raise InvalidValue(f"{what} = {params!r} must be numbers, arrays or models by name")
    columns: dict[str, Any] = {}
    for name, source in (params or {}).items():
        if name not in record.names(Params):
            raise InvalidValue(record.unknown_name(what, name, record.names(Params)))
        place = f"{what}[{name!r}]"
        if isinstance(source, UncertaintyModel):
            columns[name] = checked_model(place, source, (name,), "a parameter")
            continue
        columns[name] = values = batch.numbers(place, source, batch.Space.of("cpu", "float64"))
        if values.ndim > 1:
            raise InvalidValue(f"{place} has shape {values.shape}; expected a number or (runs,)")
    return columns


def disturbance_of(plant: Plant, model: UncertaintyModel | None) -> UncertaintyModel:
    """Distribution of a plant's Disturbance record; its neutral values if None."""
    neutral = record.flatten(record.build(plant.Disturbance))
    if model is None:
        return NoUncertainty(len(neutral), nominal_value=np.array(neutral))
    if not neutral:
        raise InvalidValue(
            f"{plant.name!r} takes no disturbance; `skidpad.with_disturbance(vehicle)` makes "
            "a vehicle that takes one on the rate of every state"
        )
    names = record.names(plant.Disturbance)
    checked_model("disturbance", model, names, f"the disturbance of {plant.name!r}")
    model.check_state(plant.State)
    return model


def noise_of(plant: Plant, model: UncertaintyModel | None) -> UncertaintyModel | None:
    """Check the distribution of the noise on the state."""
    if model is not None:
        checked_model("noise", model, record.names(plant.State), "the state")
        model.check_state(plant.State)
    return model


def step_count(dt: float, steps: int | None, duration: float | None, inputs: Array) -> int:
    """The number of steps, in which `steps`, `duration` in s and a table must agree."""
    counts = {len(inputs)} if len(inputs) > 1 else set[int]()
    if duration is not None:
        counts.add(steps_in(positive("duration", duration, "s"), dt))
    if steps is not None:
        counts.add(whole("steps", steps, "at least 1"))
    if len(counts) != 1:
        listed = " and ".join(map(str, sorted(counts))) or "none given"
        raise InvalidValue(
            f"number of steps: {listed}; give one with steps=, duration= in s, or a table of inputs"
        )
    return counts.pop()


def quantities_of(State: type, quantities: Any) -> dict[str, Quantity]:
    """Functions of the state by name, from names of states or functions; all states for None."""
    names = record.names(State)
    if quantities is None:
        quantities = names
    if isinstance(quantities, str):
        quantities = (quantities,)
    if not isinstance(quantities, Iterable):
        raise InvalidValue(
            f"quantities = {quantities!r} must be names of states, or functions by name"
        )
    if not isinstance(quantities, Mapping):
        quantities = {name: name for name in quantities}
    functions: dict[str, Callable[[Any], Any]] = {}
    for name, quantity in quantities.items():
        if not callable(quantity) and quantity not in names:
            raise InvalidValue(record.unknown_name("State", str(quantity), names, "quantity"))
        functions[name] = quantity if callable(quantity) else attrgetter(quantity)
    return functions


def events_of(events: Any) -> dict[str, Quantity]:
    """Check the event functions of the state by name."""
    if not isinstance(events or {}, Mapping):
        raise InvalidValue(
            f"events = {events!r} must be functions of the state by name, as in "
            "{'left the lane': lambda x: abs(x.y) > 0.3}"
        )
    for name, event in (events or {}).items():
        if not callable(event):
            raise InvalidValue(f"event {name!r} must be a function of the state, got {event!r}")
    return dict(events or {})


def levels_of(name: str, values: Any) -> Array:
    """Levels in increasing order, each once: quantiles from 0 to 1, confidences between them."""
    try:
        levels = np.unique(np.asarray(values, dtype=float))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} = {shown(values)} must be numbers from 0 to 1") from error
    if name == "confidence" and not (levels.size and ((levels > 0.0) & (levels < 1.0)).all()):
        raise InvalidValue(
            f"confidence = {values!r} must be between 0 and 1, such as 0.95 or (0.9, 0.99)"
        )
    if not levels.size or not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise InvalidValue(f"quantiles = {values!r} must lie between 0 and 1")
    return levels
