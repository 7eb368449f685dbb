"""Parameters of a command-driven model from a recorded run, with their 95 % intervals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..brief import brief_repr
from ..checks import positive
from ..errors import InvalidValue
from ..files import target_of
from ..model import Model
from ..record import names as field_names
from ..trajectory.trajectory import Trajectory
from ..vehicles.autoware.parameters import period, write
from .comparison import Comparison, compared, prepared
from .dead_times import DeadTimes
from .free import chosen, default_names
from .intervals import CHI_SQUARE_95, listed, spread, untold
from .least_squares import Solution
from .log import Log, read_log
from .problem import Problem
from .recording import Recording, recording
from .replay import Replay

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
        check_target(path)
        write(path, self.parameters, self.model)


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise unless a file can be put there."""
    target_of(path)


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
    vehicle, gathered = prepared(model, params, compat)
    recorded = recording(read_log(log, names), vehicle.model)
    late, others = chosen(
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
        ways = _likely(ways[0], (fine, fine.settle(best.point)))
    (search, best), *_ = ways
    problem = search.problem
    _refuse_unknown(untold(problem, best), [*late, *(f.name for f in others)], recorded.name)
    starts = {**own, **{f.name: f.start for f in others}}
    estimates = _together([_estimates(*way, starts, way[0].dt < replay.dt) for way in ways])
    notes = (*recorded.notes, *_step_notes(ways, replay.dt))
    fitted = {e.name: e.value for e in estimates}
    order = {name: k for k, name in enumerate(field_names(vehicle.model.Params))}
    return Fit(
        recorded.name,
        model,
        tuple(sorted(estimates, key=lambda e: order[e.name])),
        compared(replay),
        compared(problem.replay, fitted),
        replay.windows,
        recorded.dt,
        {**gathered, **fitted},
        notes,
    )


Way = tuple[DeadTimes, Solution]
"""Steps in which the log was replayed, and the best that was found with them."""


def _likely(own: Way, fine: Way) -> list[Way]:
    """Whether the car moves in steps of the simulator or without, as the log tells; both if it
    does not, the simulator's first.

    Samples with uneven times are compared at those times by the fine steps only.
    """
    (search, best), (_, other) = own, fine
    if search.problem.replay.recorded.samples:
        return [fine]
    least = CHI_SQUARE_95 * spread(search.problem, best).excess
    better = best.loss - other.loss
    return [fine] if better > least else [own] if better < -least else [own, fine]


def _together(fits: list[list[Estimate]]) -> list[Estimate]:
    """The first estimates, with intervals that hold what each of the fits gives."""
    return [
        each[0]._replace(low=min(e.low for e in each), high=max(e.high for e in each))
        for each in zip(*fits, strict=True)
    ]


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
