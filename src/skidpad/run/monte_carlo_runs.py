"""The runs of a Monte Carlo simulation, one step at a time, and statistics updated on the way.

The random numbers of a run depend on the seed, its number and the step alone, and a fleet gives a
vehicle the same bits in any batch. So a run is the same in any selection, and alone. Bands,
extremes and events of the runs are stored (`Tally`), not every state; `proportion`, `mean_bounds`
and `quantile_ranks` are the confidence intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.cpu import RolloutArrays
from ..core import record
from ..core.arrays import AnyArray, Array, Mask
from ..core.checks import between, whole
from ..errors import InvalidValue, SimulationDiverged
from ..random.model import UncertaintyModel, draw_sample
from ..random.streams import Draw, of_run
from . import arguments as batch
from . import delay
from .arguments import consistent_rows
from .runner import Runner
from .trajectory import Trajectory


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
    """Largest rank with at most probability `tail` that fewer values are below the quantile."""
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
    """Probability beyond either end of an interval with this confidence."""
    return (1.0 - between("level", level, 0.0, 1.0, hint=", such as 0.95")) / 2.0


def _special() -> Any:
    # SciPy takes a tenth of a second to import, which `import skidpad` should not pay.
    from scipy import special

    return special


Runs = NDArray[np.int64]


class Moment(NamedTuple):
    """States and inputs of all runs at one time."""

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
    """Number of states of the vehicle itself; those after them are the policy's memory."""
    steps: int
    seed: int
    start: Array | UncertaintyModel
    """Start states (1 or runs, states of the vehicle), or their distribution."""
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
            # Models that look at states are shown the last ones of runs that diverged.
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
        """The error with the seeds of the runs, so that they can be repeated."""
        lost = [int(runs[v]) for v in error.vehicles]
        seeds = ", ".join(str(of_run(self.seed, k)) for k in lost[:4])
        seeds += ", ..." if len(lost) > 4 else ""
        time = step * self.dt + error.time
        return SimulationDiverged(
            f"{len(lost)} of {len(runs)} runs diverged after t = {time:g} s (seeds {seeds}); "
            'a fleet with on_diverge="mask" goes on without them',
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
    """The rows (1 or runs, n) of a series (1 or steps, 1 or runs, n) at a step."""
    rows = series[0 if len(series) == 1 else step]
    return rows if len(rows) == 1 else rows[runs]


def input_rows(runner: Runner, kind: type, values: Any) -> Array:
    """Controls or references as (1 or steps, 1 or runs, n); a table (steps, n) is for all runs."""
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
        if not np.isnan(ordered[-1]):  # NaN is the last in order; nothing is known of its place
            ends = np.concatenate([[-np.inf], ordered, [np.inf]])
            self.intervals[name][sample] = ends[self._ranks(len(ordered))]
        # A run on its way to infinity may be too large to be squared, or there.
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean[name][sample] = counted.mean()
            self.std[name][sample] = counted.std(ddof=1) if counted.size > 1 else 0.0

    def _ranks(self, runs: int) -> NDArray[np.int64]:
        """Ranks of the ends of confidence intervals (levels, confidences, 2).

        Those of the last number of runs are cached.
        """
        if self._known_ranks[0] != runs:
            pairs = [
                [quantile_ranks(runs, level, sure) for sure in self.confidences.tolist()]
                for level in self.levels.tolist()
            ]
            self._known_ranks = (runs, np.array(pairs))
        return self._known_ranks[1]


class Extreme:
    """The largest value of each run and its sample, -1 where there was no number at all.

    With a sign of -1 it is the smallest value.
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

    Between two values that are infinite it is the nearer one, without interpolation.
    """
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(ordered, levels)
    nearest = np.rint(levels * (len(ordered) - 1)).astype(int)
    unknown = np.isnan(ordered[-1])  # NaN is the last in order
    return quantiles if unknown else np.where(np.isnan(quantiles), ordered[nearest], quantiles)


def _truths(name: str, event: Quantity, x: Any, runs: int) -> NDArray[np.bool_]:
    """Whether an event happens at a state of each run.

    Raises for a number, as any but 0 would count as true.
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
