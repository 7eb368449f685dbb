"""Parameters of a vehicle from recorded runs, with intervals and what the data cannot tell.

`fit` estimates any parameters of any vehicle from several logs at once, see `problem` for how and
`uncertainty` for the intervals. The logs are cut into windows that start from the measured state
and run freely, because an error then means what it means to a user: how far a prediction of that
length is off. Short windows come first, whose errors are nearly linear in the parameters; a start
far from the truth would otherwise diverge or end elsewhere. Every fit is repeated from random
starts, and judged on a part of each log that was left out.

Dead times and latencies are delays of the log's channels. Those of commands are found by a grid,
with a ladder of time constants, and then by derivatives like other parameters.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import one_of, positive
from ...core.files import brief_repr, counted, listed, replacing, target_of
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import one, s
from ...vehicles.command_driven import assembled
from ...vehicles.command_driven.parameters import gather, period, write
from ...vehicles.command_driven.records import PARAMETERS
from ...vehicles.registry import COMMAND_DRIVEN
from ...view.plots.comparison import replay_figure
from .drives import Drives, calibration_of, prepare_logs, vehicle_named
from .observed import CHANNELS, Sensors
from .problem import (
    LOSSES,
    PARTS,
    SHORTEST_WINDOW,
    ErrorRow,
    Point,
    Problem,
    Solution,
    Training,
    solve,
)
from .replay import HORIZONS, Guess, Replay, calibration_guess
from .uncertainty import (
    CHI_SQUARE_95,
    LEAST_PIECES,
    Spread,
    Untold,
    advice,
    correlations,
    spread,
    untold,
)
from .unknowns import Unknown, unknowns_of, usual_names
from .window_errors import replayed_channels, replayed_log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..logs.preparation import Line

LONGEST_WINDOW: s = 5.0
"""Default length of the windows; shorter in logs that would have fewer than `ENOUGH` of them."""
LONGEST: s = 1.0
"""Default of the longest delay of a command that is tried."""
HOLD_OUT: one = 0.3
"""Default share of each log that is held out."""
ENOUGH = 12
"""Number of windows from which intervals are estimated well."""
CONTINUOUS: s = 0.005
"""Steps that represent a car that does not move in steps of a simulator."""
_LADDER: tuple[s, ...] = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Time constants tried with each dead time."""
_VAGUE = 2.0
"""Standard deviation, in changes that matter, above which nothing is fitted by default."""
_UNKNOWN = 100.0
"""Interval that says nothing: this factor either way of a positive unknown, or this many changes
that matter."""
_DRAWS = 4
"""Random points of which a start is the best."""
_OFF = 0.2
"""Mean error of a channel, in standard deviations of its errors, that is taken for a bias."""
_SAME = 0.05
"""Largest difference of two solutions, in changes that matter, that counts as equal."""


class Estimate(NamedTuple):
    """Estimate of one unknown."""

    name: str
    unit: str
    start: float
    value: float
    low: float
    """Lower end of the 95 % interval; minus infinity if the data do not tell the unknown."""
    high: float
    """Upper end of the 95 % interval; infinity if the data do not tell the unknown."""
    at_bound: str = ""
    """ "low" or "high" if the estimate is at this end of its allowed range."""

    __repr__ = brief_repr


class Start(NamedTuple):
    """Result of a fit from one set of initial values."""

    begin: tuple[float, ...]
    """Initial values, in the order of the estimates."""
    values: tuple[float, ...]
    loss: float
    """Twice the negative log likelihood, above that of the best."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Fit:
    """Estimated parameters of a vehicle, their uncertainty and the errors that remain."""

    vehicle: Vehicle
    """The vehicle with the estimates."""
    logs: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    correlations: Array
    """Correlation of each pair of estimates."""
    untold: tuple[Untold, ...]
    """What the data cannot tell, the vaguest first."""
    errors: tuple[ErrorRow, ...]
    starts: tuple[Start, ...]
    """Results from several initial values, that of the vehicle first."""
    window: s
    """Longest window that was fitted."""
    windows: int
    """Number of windows that were fitted."""
    guess: Guess
    """The estimates as replays take them, for `replay.run([Guess(), fit.guess])`."""
    replays: tuple[Replay, ...]
    """Replays of the training parts of the logs by the initial vehicle."""
    held_out: tuple[Replay, ...]
    """Replays of the parts that were left out of the fit."""
    notes: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """All parameters of an Autoware vehicle and its simulator, with the estimates."""
    named: str = ""
    """Vehicle with its parameter set, as in single_track:sports; empty if it is not known."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Estimate:
        """The estimate of an unknown."""
        for e in self.estimates:
            if e.name == name:
                return e
        raise InvalidValue(record.unknown_name("the fit", name, [*self.names], "estimate"))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        return tuple(e.name for e in self.estimates)

    def error(self, channel: str, horizon: s = 0.0, part: str = "training") -> ErrorRow:
        """Error of a channel at a horizon, by default over all of the windows."""
        for row in self.errors:
            if (row.channel, row.horizon, row.part) == (channel, horizon, part):
                return row
        raise InvalidValue(f"the fit has no {part} error of {channel!r} at {horizon:g} s")

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the parameters to a YAML file.

        The file of an Autoware vehicle is the one that Autoware reads. That of any other has all
        parameters that differ from their defaults, by name, as `--params` reads them, with those of
        sensors (`log.`) and delays (`delay.`), which `skidpad compare` and `estimate` use and other
        commands leave out.
        """
        target = target_of(path)
        if self.source:
            write(target, self.source, self.vehicle.name)
            return target
        kind = self.vehicle.model.Params
        own = dict(zip(record.names(kind), record.flatten(self.vehicle.params), strict=True))
        lines = [f"# {self.title}, fitted to {', '.join(self.logs)}"]
        if self.named:
            lines.append(f"# To use it: {self.named}:{target.name}, or {self.named} --params FILE")
        for e in self.estimates:
            interval = f"{e.low:.6g} to {e.high:.6g}" if isfinite(e.high - e.low) else "unknown"
            text = f"{e.name} = {e.value:.6g} {e.unit} ({interval})"
            lines.append(f"# {text}")
        usual = {leaf.name: leaf.default for leaf in record.fields(kind)}
        fitted = [name for name in self.guess.params if name in own]
        others = [name for name in own if own[name] != usual[name] and name not in fitted]
        lines += [f"{name}: {float(own[name])!r}" for name in (*fitted, *others)]
        calibration = {n: v for n, v in self.guess.params.items() if n.startswith("log.")}
        calibration |= {f"delay.{n}": v for n, v in self.guess.delays.items()}
        lines += [f"{name}: {float(value)!r}" for name, value in calibration.items()]
        with replacing(target) as temporary:
            temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return target

    @property
    def title(self) -> str:
        """Vehicle with its parameter set, or the name of the model if the set is not known."""
        return self.named or self.vehicle.name

    @property
    def preparation(self) -> dict[str, tuple[Line, ...]]:
        """What the preparation of each log changed and found, by the name of the log."""
        return {r.drive.name: r.drive.lines for r in (*self.replays, *self.held_out)}

    def error_window(self, part: str = "training") -> s:
        """Length of the windows over which errors are measured: 10 s, or a shorter part."""
        longest = max((row.horizon for row in self.errors if row.part == part), default=0.0)
        if longest == max(HORIZONS):
            return longest
        replays = self.held_out if part == PARTS[1] else self.replays
        return max((r.steps * r.drive.dt for r in replays), default=0.0)

    def plot(self, path: str | os.PathLike[str] | None = None, log: str = "") -> Figure:
        """Plot measured and replayed channels before and after the fit, with the errors below.

        The part of a log, by default the first, that was held out, or all of it if none was; the
        figure is saved if `path` is given.
        """
        replays = [
            r for r in self.held_out or self.replays if r.drive.name == (log or r.drive.name)
        ]
        if not replays:
            known = [r.drive.name for r in self.held_out or self.replays]
            raise InvalidValue(record.unknown_name("the fit", log, known, "log"))
        sides = {"before": Guess(), "after": self.guess}
        every = np.ones(replays[0].windows, dtype=bool)
        runs = [replayed_log(side, replays[0], own, every) for side, own in sides.items()]
        return replay_figure(f"{replays[0].drive.name} replayed", replayed_channels(runs), path)

    def report(self, path: str | os.PathLike[str], *, date: str = "") -> Path:
        """Write the report, one HTML page; `date` is printed below its title."""
        from ...view.pages.identification_report import fit_report

        fit_report(self, path, date=date)
        return Path(path)


def fit(
    vehicle: Vehicle | str,
    logs: Drives,
    free: Sequence[str] | None = None,
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    hold_out: float | Drives = HOLD_OUT,
    window: s | None = None,
    starts: int = 3,
    loss: str = "huber",
    longest: s = LONGEST,
    params: Any = None,
    compat: str | None = None,
    names: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    dbc: str | os.PathLike[str] | None = None,
    calibration: Mapping[str, float] | None = None,
    seed: int = 0,
    **options: Any,
) -> Fit:
    """Estimate parameters of a vehicle from one or more recorded runs.

    Args:
        vehicle: the vehicle with initial parameters, or its name.
        logs: recorded runs, see `prepare_logs`.
        free: what to estimate: parameters of the vehicle by dotted name; a pattern such as
            `tyres.*.lateral.mu` is one common factor on all parameters that match; `log.NAME`, a
            parameter of `Sensors`; `delay.NAME`, the delay of a command or channel of the log in s.
            By default dead times, time constants, bias and factors of an Autoware vehicle; of a
            car its yaw inertia, its tyres' stiffness and friction and the zero of the steering, as
            far as the logs tell them.
        bounds: lowest and highest value by name, within what the record of the parameters allows.
        priors: mean and standard deviation by name of what is known beforehand.
        hold_out: share of each log, at its end, that is not fitted but judges the fit; or logs that
            do.
        window: length in s of the windows of the fit. By default a twelfth of the fitted time, from
            1.5 to 5 s.
        starts: number of initial values, the vehicle's own and random ones.
        loss: "huber", which outliers hardly change, or "squares".
        longest: longest delay in s that is tried.
        params: parameter files of an Autoware vehicle given by name, see `vehicles.autoware`.
        compat: "upstream" for an Autoware vehicle with the errors of the upstream program.
        names, without, dbc: how to read and prepare the logs, see `prepare_logs`.
        calibration: parameters of the sensors (`log.steer_ratio`) and delays (`delay.sideslip`) in
            s, from which the fit starts, or which hold if they are not among `free`.
        seed: seed of the random starts.
        options: `at`, `steer`, `speed`, `channels`, `sensors`, `lead`, `integrator` of `Replay`.

    Raises InvalidValue, naming them, for parameters that do not show in the logs at all.
    """
    for what, value in (("window", window), ("longest", longest)):
        if value is not None:
            positive(what, value, "s")
    one_of("loss", loss, tuple(LOSSES))
    known = calibration_guess({**calibration_of(vehicle), **(calibration or {})})
    if known.params:
        if isinstance(options.get("sensors"), Sensors):
            raise InvalidValue("give either sensors or calibration with parameters log.")
        options = {**options, "sensors": {n[4:]: v for n, v in known.params.items()}}
    if known.delays:
        options = {**options, "delays": known.delays}
    car, source = _vehicle(vehicle, params, compat)
    raw = tuple(dict.fromkeys((*without, "filter")))
    prepared = prepare_logs(logs, names, raw, dbc=dbc)
    fitted = [(drive, None) for drive in prepared]
    if isinstance(hold_out, float | int):
        setup = Training(car, fitted, [], longest, loss, options).with_ends_held_out(hold_out)
    else:
        held = [(drive, None) for drive in prepare_logs(hold_out, names, raw, dbc=dbc)]
        setup = Training(car, fitted, held, longest, loss, options)
    if "filter" not in without:
        setup = setup.with_smooth_sources()
    probe = setup.problem((), LONGEST_WINDOW).replays
    # The ratio of a hand wheel is found once, from the first log.
    setup = replace(setup, options={**options, "sensors": probe[0].observed.params.log})
    wanted = usual_names(car, probe) if free is None else list(free)
    unknowns = unknowns_of(car, probe, wanted, bounds or {}, priors or {}, longest)
    if window is None:
        whole = sum(replay.windows * replay.steps * replay.drive.dt for replay in probe)
        window = float(np.clip(whole / ENOUGH, SHORTEST_WINDOW, LONGEST_WINDOW))
    notes: list[str] = list(setup.notes)
    if free is None:
        unknowns = _identifiable(setup, unknowns, window, notes)
    runs = _fits_from_starts(setup, unknowns, window, starts, seed)
    best = runs[0]
    sure = spread(best.problem, best.solution)
    unseen = _not_shown(best, sure)
    _refuse(unseen, best, setup)
    ways = [(best.problem, best.solution, sure)]
    if source and car.model.derivative is None:
        ways = _in_steps(setup, best, window, period(source), compat, notes)
    problem, solution, sure = ways[0]
    dt = max(replay.dt for replay in problem.replays)
    guess = problem.guess(solution.point.values)
    guess = Guess({**known.params, **guess.params}, {**known.delays, **guess.delays})
    replays, held_out = (setup.replays(part, dt) for part in PARTS)
    for replay in (*replays, *held_out):
        replay.follow_speed(guess)
    notes += _notes(setup, runs, sure, problem.replays, guess)
    values = {n: v for n, v in guess.params.items() if not n.startswith("log.")}
    dead = {name: f"u_{command}" for command, name in car.model.dead_times.items()}
    values |= {n: guess.delays[u] for n, u in dead.items() if u in guess.delays}
    estimates = _estimates(ways, setup)
    unknown = [e.name for e in estimates if not isfinite(e.high - e.low)]
    return Fit(
        vehicle=car.with_params(values),
        logs=setup.logs,
        estimates=estimates,
        correlations=correlations(sure.covariance),
        untold=untold(problem.unknowns, sure.covariance, unknown),
        errors=tuple(row for part in PARTS for row in setup.errors(part, guess, dt)),
        starts=tuple(
            Start(
                run.begin,
                tuple(run.solution.point.values.tolist()),
                run.solution.loss - best.solution.loss,
            )
            for run in sorted(runs, key=lambda run: run.number)
        ),
        windows=sum(replay.windows for replay in problem.replays),
        window=max(replay.steps * replay.drive.dt for replay in problem.replays),
        guess=guess,
        replays=replays,
        held_out=held_out,
        notes=tuple(notes),
        source={**source, **values} if source else {},
        named=vehicle if isinstance(vehicle, str) else "",
    )


def _vehicle(
    given: Vehicle | str, params: Any, compat: str | None
) -> tuple[Vehicle, dict[str, Any]]:
    """The vehicle and, if it is one of Autoware's, all parameters of it and its simulator."""
    if isinstance(given, str) and given in COMMAND_DRIVEN:
        gathered = gather(params, given, compat)
        return assembled(given, gathered, compat), gathered
    car = vehicle_named(given)
    if params is not None or compat is not None:
        raise InvalidValue(
            f"params and compat are for Autoware's vehicles by name ({listed(COMMAND_DRIVEN)}); "
            "give another vehicle its parameters when making it"
        )
    if car.name not in COMMAND_DRIVEN:
        return car, {}
    own = dict(zip(record.names(car.Params), record.flatten(car.params), strict=True))
    known = {n: own[n] for n in own if n in PARAMETERS}
    flags = {n: bool(v) for n, v in known.items() if isinstance(PARAMETERS[n].default, bool)}
    return car, {**{n: p.default for n, p in PARAMETERS.items()}, **known, **flags}


class _Run(NamedTuple):
    """A fit from one set of initial values."""

    number: int
    begin: tuple[float, ...]
    problem: Problem
    solution: Solution


def _fits_from_starts(
    setup: Training, unknowns: tuple[Unknown, ...], window: s, starts: int, seed: int
) -> list[_Run]:
    """Fits from several initial values, the best first."""
    rng = np.random.default_rng(seed)
    rough = setup.problem(unknowns, min(SHORTEST_WINDOW, window))
    final = setup.problem(unknowns, window)
    runs: list[_Run] = []
    reached: list[Solution] = []
    for number in range(max(starts, 1)):
        point = rough.at() if number == 0 else _random(rough, rng)
        if number == 0 and rough.lost(point) > 0.5:
            raise InvalidValue(
                f"{setup.vehicle.name} diverges with the parameters that the fit starts from when "
                f"it replays {listed(setup.logs)}"
            )
        begin = tuple(point.values.tolist())
        near = solve(rough, _with_delays(rough, point))
        same = [k for k, other in enumerate(reached) if _apart(rough, near, other) < _SAME]
        reached.append(near)
        if number == 0:  # the same for all starts, whose results are compared
            final.follow_speed(near.point.values)
        solution = runs[same[0]].solution if same else solve(final, final.at(near.point.values))
        runs.append(_Run(number, begin, final, solution))
    return sorted(runs, key=lambda run: run.solution.loss)


def _apart(problem: Problem, one: Solution, other: Solution) -> float:
    """Largest difference of two solutions, in changes that matter."""
    matters = np.array([u.matters for u in problem.unknowns])
    return float(np.abs((one.point.values - other.point.values) / matters).max())


def _random(problem: Problem, rng: np.random.Generator) -> Point:
    """A random point: within the bounds if they are given, from the prior, or around the start.

    The best of a few, as many cars with random parameters spin.
    """
    points: list[Point] = []
    for _ in range(_DRAWS):
        values: list[float] = []
        for u in problem.unknowns:
            if u.prior is not None:
                value = float(rng.normal(*u.prior))
            elif u.delay:
                value = u.start + float(rng.uniform(-0.05, 0.05))
            elif u.high - u.low <= 4.0 * u.matters:
                value = float(rng.uniform(u.low, u.high))
            elif u.low > 0.0:
                value = u.start * float(np.exp(rng.uniform(-0.5, 0.5)))
            else:
                value = u.start + u.matters * float(rng.uniform(-1.0, 1.0))
            values.append(min(max(value, u.low), u.high))
        points.append(problem.at(values))
    return points[int(np.argmin(problem.losses(points)))]


def _with_delays(problem: Problem, point: Point) -> Point:
    """Best point of grids over the delay of each command in turn, with its time constant."""
    names = [u.name for u in problem.unknowns]
    delayed = [k for k, u in enumerate(problem.unknowns) if u.delay]
    for k in delayed * min(len(delayed), 2):
        u = problem.unknowns[k]
        step = max(problem.replays[0].drive.dt, 0.02)
        constant = u.name.replace("_time_delay", "_time_constant")
        place = names.index(constant) if constant in names and constant != u.name else None
        points: list[Point] = []
        for delay in np.arange(u.low, u.high + 0.5 * step, step):
            for value in (None, *_LADDER) if place is not None else (None,):
                values = point.values.copy()
                values[k] = min(delay, u.high)
                if place is not None and value is not None:
                    values[place] = max(value, problem.unknowns[place].low)
                points.append(point._replace(values=values))
        point = points[int(np.argmin(problem.losses(points)))]
    return point


Found = tuple[Problem, Solution, Spread]
"""A problem, its solution and the uncertainty of that."""


def _in_steps(
    setup: Training, best: _Run, window: s, dt: s, compat: str | None, notes: list[str]
) -> list[Found]:
    """Solve with the simulator's steps and with fine ones; return the more likely solution, or both
    if the logs do not decide.

    Autoware's models move in steps of their simulator, and real cars do not. In the simulator's
    steps a dead time is a whole number of steps.
    """
    unknowns, values = best.problem.unknowns, best.solution.point.values

    def solved(problem: Problem) -> Found:
        solution = solve(problem, problem.at(values))
        return problem, solution, spread(problem, solution)

    own = setup.problem(unknowns, window, dt)
    if any(u.delay for u in unknowns):
        near, step = solve(own, own.at(values)).point.values, own.replays[0].dt
        whole = [
            u._replace(low=round(round(v / step) * step, 9)) if u.delay else u
            for u, v in zip(unknowns, near.tolist(), strict=True)
        ]
        fixed = [u._replace(high=u.low, start=u.low) if u.delay else u for u in whole]
        values = np.array(
            [u.low if u.delay else v for u, v in zip(fixed, near.tolist(), strict=True)]
        )
        own = replace(own, unknowns=tuple(fixed))
    stepped = solved(own)
    stepped = (replace(own, unknowns=unknowns), *stepped[1:])
    if compat is not None or own.replays[0].dt <= CONTINUOUS:
        return [stepped]
    fine = solved(setup.problem(unknowns, window, CONTINUOUS))
    margin = CHI_SQUARE_95 * max(stepped[2].excess, 1.0)
    better = stepped[1].loss - fine[1].loss
    if better > margin:
        notes.append(
            f"replayed in steps of {1e3 * fine[0].replays[0].dt:.3g} ms: the parameters are those "
            f"of a car that does not move in the simulator's steps of {1e3 * dt:.3g} ms"
        )
        return [fine]
    if better < -margin:
        return [stepped]
    notes.append(
        "the log does not tell whether the car moves in steps of the simulator or without; the "
        "intervals hold for either"
    )
    return [stepped, fine]


def _estimates(ways: Sequence[Found], setup: Training) -> tuple[Estimate, ...]:
    """Estimates of the first solution, with intervals that include those of all solutions."""
    first, best, _ = ways[0]
    low, high = first.bounds
    lows, highs = np.full(len(low), inf), np.full(len(low), -inf)
    for problem, solution, sure in ways:
        values = solution.point.values
        size, logs = problem.sizes(values)
        half, step = sure.half.copy(), problem.replays[0].dt
        for k, u in enumerate(problem.unknowns):
            if u.name.endswith("_time_constant") and step <= CONTINUOUS:
                half[k] += step / size[k]
            if u.delay.startswith("u_"):
                # A command logged at one sample was given since the one before.
                half[k] += setup.fitted[0][0].dt / size[k]
        with np.errstate(over="ignore"):
            lows = np.minimum(lows, np.where(logs, values * np.exp(-half), values - half * size))
            highs = np.maximum(highs, np.where(logs, values * np.exp(half), values + half * size))
    found: list[Estimate] = []
    for k, (u, value) in enumerate(zip(first.unknowns, best.point.values.tolist(), strict=True)):
        near = 1e-6 * u.matters
        bound = "low" if value <= low[k] + near else "high" if value >= high[k] - near else ""
        wide = highs[k] - lows[k] > 2.0 * _UNKNOWN * u.matters
        if u.low > 0.0:
            wide = lows[k] <= 0.0 or highs[k] > _UNKNOWN**2 * lows[k]
        ends = max(float(lows[k]), u.low), min(float(highs[k]), u.high)
        if wide and not isfinite(u.high - u.low):
            ends = -inf, inf
        found.append(Estimate(u.name, u.unit, u.start, value, *ends, bound))
    return tuple(found)


def _identifiable(
    setup: Training, unknowns: tuple[Unknown, ...], window: s, notes: list[str]
) -> tuple[Unknown, ...]:
    """Leave out, one after the other, the unknowns that the logs do not determine."""
    left_out: list[str] = []
    while len(unknowns) > 1:
        (run,) = _fits_from_starts(setup, unknowns, window, 1, 0)
        sure = spread(run.problem, run.solution)
        vague = _not_shown(run, sure)
        variances = np.diag(sure.covariance)
        if not vague and variances.max() > _VAGUE**2:
            vague = [unknowns[int(np.argmax(variances))]]
        if not vague or len(vague) == len(unknowns):
            break
        left_out += [u.name for u in vague]
        unknowns = tuple(u for u in unknowns if u not in vague)
    if left_out:
        notes.append(f"not fitted, as the logs do not tell: {listed(left_out)}")
    return unknowns


def _not_shown(run: _Run, sure: Spread) -> list[Unknown]:
    """Unknowns that the logs do not show even if all others are known.

    They show neither at the solution nor at the start of the fit: the limit of grip, for example,
    shows nowhere once an estimate of it is far too high, and that is a wide interval.
    """
    problem, solution = run.problem, run.solution
    alone = sure.alone
    if (alone > 1.0).any():
        first = spread(problem, solution._replace(point=problem.at(run.begin)))
        alone = np.minimum(alone, first.alone)
    known = zip(problem.unknowns, alone.tolist(), strict=True)
    return [u for u, own in known if own > 1.0 and u.prior is None]


def _refuse(unseen: Sequence[Unknown], best: _Run, setup: Training) -> None:
    """Raise InvalidValue for unknowns that the logs do not show."""
    unknowns = best.problem.unknowns
    for u, value in zip(unknowns, best.solution.point.values.tolist(), strict=True):
        if (
            u.delay.startswith("u_")
            and u not in unseen
            and value >= u.high - 1e-9
            and u.high == setup.longest
        ):
            raise InvalidValue(
                f"{u.name} seems to be {u.high:.3g} s or more, the longest dead time that was "
                "tried; try longer ones with --longest (longest=)"
            )
    if not unseen:
        return
    constant = [
        u.delay
        for u in unseen
        if u.delay.startswith("u_")
        and all(
            np.ptp(d.commands[u.delay].values) == 0.0
            for d, _ in setup.fitted
            if u.delay in d.commands
        )
    ]
    why = f"{listed(constant)} never changes; " if constant else ""
    logs = listed(setup.logs)
    verb = "does" if len(setup.logs) == 1 else "do"
    names = "; ".join(u.name for u in unseen)
    rest = [u.name for u in unknowns if u not in unseen]
    hint = "Fit the others with " + " ".join(f"--free {name}" for name in rest)
    how = ". ".join(dict.fromkeys(advice(u) for u in unseen))
    raise InvalidValue(
        f"{why}{logs} {verb} not tell {names}: a large change of it would not show. {how}. "
        + (hint if rest else "Record a run in which the commands change")
    )


def _notes(
    setup: Training, runs: Sequence[_Run], sure: Spread, replays: Sequence[Replay], guess: Guess
) -> list[str]:
    """Notes on starts that ended elsewhere, few windows, biases and speeds that were not fitted."""
    best, notes = runs[0], list[str]()
    if not best.solution.converged:
        begin = np.array(best.begin)
        still = np.allclose(best.solution.point.values, begin, rtol=1e-9, atol=1e-12)
        what = "the estimates are the initial values" if still else "better estimates may exist"
        notes.append(
            f"the fit has not converged, {what}: its last steps did not make the errors as small "
            "as their derivatives promise. Try shorter windows (--window, window=), more starts "
            "(--starts, starts=), fewer parameters, or other initial values (--set)"
        )
    matters = np.array([u.matters for u in best.problem.unknowns])
    half = np.maximum(2.0 * np.sqrt(np.diag(sure.covariance)), _SAME)
    worse: list[float] = []
    for run in runs[1:]:
        apart = np.abs(run.solution.point.values - best.solution.point.values) / matters
        if (apart > half).any():
            worse.append(run.solution.loss - best.solution.loss)
    if worse:
        notes.append(
            f"{counted(len(worse), 'start')} of {len(runs)} ended at other values, which fit the "
            f"logs worse (twice the negative log likelihood is at least {min(worse):.3g} larger); "
            "the best fit is used"
        )
    if any(loss < CHI_SQUARE_95 * max(sure.excess, 1.0) for loss in worse):
        notes.append(
            "values that are far apart explain the data equally well (see starts): fix some of the "
            "parameters, or give priors"
        )
    if (windows := sum(replay.windows for replay in replays)) < LEAST_PIECES:
        notes.append(
            f"the intervals rest on {counted(windows, 'window')} and may be too narrow; give "
            "longer logs or a shorter window"
        )
    notes += dict.fromkeys(r.about_heading for r in replays if r.about_heading)
    for channel in ("a_y", "a_x", "omega"):
        parts = [
            replay.errors(replay.run([guess]))[0][replay.channels.index(channel)].ravel()
            for replay in replays
            if channel in replay.channels and not replay.way.uses_commands
        ]
        errors = np.concatenate([*parts, []])
        errors = errors[np.isfinite(errors)]
        mean, bias = (float(np.mean(errors)) if len(errors) else 0.0), f"log.{channel}_bias"
        if bias not in guess.params and mean and abs(mean) > _OFF * float(np.std(errors)):
            notes.append(
                f"{channel} of the log is {-mean:.3g} {CHANNELS[channel]} off on average, which "
                f"other estimates had to explain: add {bias} to the free parameters"
            )
    speeds: list[Array] = []
    for part in (setup.fitted, setup.held):
        driven = [np.empty(0)]
        for drive, span in part:
            begin, end = span or (-inf, inf)
            name = "v_x" if "v_x" in drive.channels else "speed"
            values = drive.channels.get(name, np.full(len(drive.t), np.nan))
            driven.append(np.abs(values[(drive.t >= begin) & (drive.t <= end)]))
        speeds.append(np.concatenate(driven))
    fitted, held = (values[np.isfinite(values) & (values > 1.0)] for values in speeds)
    if len(fitted) and len(held):
        low, high = np.percentile(fitted, (5.0, 95.0))
        usual = float(np.median(held))
        if not 0.9 * low <= usual <= 1.1 * high:
            notes.append(
                f"the fitted parts were driven at {low:.3g} to {high:.3g} m/s and the others at "
                f"{usual:.3g} m/s: the errors held out are those at another speed. If they are "
                "large, fit logs of several speeds, or give the measured steering ratio"
            )
    return notes
