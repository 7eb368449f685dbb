"""Comparison of vehicles with recorded runs, and the choice of a model.

`compare` replays the same free-run windows of the logs by every vehicle and reports the errors by
channel and by the time since the start of a window. Which model the data support is a paired
question: all vehicles replay the same windows, so an easy or a difficult stretch of road counts
alike for all of them, and the ratio of two vehicles' errors, window by window, has a much narrower
interval than either error. The verdict names the simplest vehicle, the one with the fewest
parameters, whose error is close to the smallest and not certainly larger; see `Pair`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from ...core import record
from ...core.checks import positive
from ...core.files import brief_repr, counted, listed
from ...core.model import Vehicle
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...run.monte_carlo import mean_bounds
from ...units import m, s
from ...view.plots.comparison import horizon_figure, replay_figure
from .drives import Drives, calibration_of, prepare_logs, vehicle_named
from .replay import HORIZONS, LEAD, LONGEST_STEP, Guess, Replay, calibration_guess
from .window_errors import (
    WHOLE,
    Error,
    ReplayedLog,
    errors_by_horizon,
    replayed_channels,
    replayed_log,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..logs.preparation import Line, Prepared
    from .fitting import Fit

Candidate: TypeAlias = "Vehicle | str | Fit"
"""A vehicle, its name (also with a file, `single_track:sports:mine.yaml`), or a fit."""
WINDOWS: tuple[s, ...] = (10.0, 5.0, 2.0, 1.0)
"""Lengths of windows that are tried in turn, until the logs have `ENOUGH` of them."""
STRIDE: s = 1.0
"""Usual time from the start of a window to that of the next."""
MOST_WINDOWS = 200
"""Number of windows above which starts are further apart."""


@dataclass(frozen=True)
class Comparison:
    """Errors of vehicles that replay the same windows of the same logs."""

    vehicles: Mapping[str, Vehicle]
    """Vehicles by name, from the smallest to the largest number of parameters."""
    logs: tuple[str, ...]
    window: s
    """Length of the longest window."""
    windows: int
    """Number of windows of all logs together."""
    errors: tuple[Error, ...]
    """By vehicle, channel and horizon, of which the first is 0: all samples of the windows."""
    pairs: tuple[Pair, ...]
    """Every other vehicle against the one with the smallest error, in all common channels."""
    verdict: str
    """Which model the data support, and why; empty for one vehicle."""
    replays: tuple[ReplayedLog, ...]
    noise: Mapping[str, float]
    """Standard deviation of the noise of the channels, where the preparation estimates it."""
    fits: Mapping[str, Fit] = field(default_factory=dict[str, "Fit"])
    """`Fit` of each vehicle to the training part of the logs, if the comparison made them."""
    notes: tuple[str, ...] = ()
    preparation: Mapping[str, tuple[Line, ...]] = field(
        default_factory=dict[str, "tuple[Line, ...]"]
    )
    """What the preparation of each log changed and found, by the name of the log."""

    __repr__ = brief_repr

    @property
    def channels(self) -> dict[str, str]:
        """Unit of every compared channel."""
        return {e.channel: e.unit for e in self.errors}

    @property
    def horizons(self) -> tuple[s, ...]:
        """Times since the start of a window at which there are errors, and 0 for all samples."""
        return tuple(sorted({e.horizon for e in self.errors}))

    def error(self, channel: str, horizon: s = WHOLE, vehicle: str = "") -> Error:
        """Error of a channel at a horizon in s, by default over all samples and of the first
        vehicle."""
        name = vehicle or next(iter(self.vehicles))
        if name not in self.vehicles:
            raise InvalidValue(unknown_name("the comparison", name, [*self.vehicles], "vehicle"))
        known = {(e.channel, e.horizon): e for e in self.errors if e.vehicle == name}
        if (channel, horizon) not in known:
            listed = ", ".join(dict.fromkeys(c for c, _ in known))
            times = ", ".join(f"{h:g}" for h in self.horizons)
            raise InvalidValue(
                f"{name} has no error of {channel!r} at {horizon:g} s; there are errors of "
                f"{listed} at {times} s"
            )
        return known[channel, horizon]

    def plot(self, path: str | os.PathLike[str] | None = None, log: str = "") -> Figure:
        """Plot measured and replayed channels of one log, by default the first, with the errors
        below; save the figure if `path` is given."""
        log = log or self.logs[0]
        if log not in self.logs:
            raise InvalidValue(unknown_name("the comparison", log, self.logs, "log"))
        runs = [run for run in self.replays if run.log == log]
        return replay_figure(f"{log} replayed", replayed_channels(runs), path)

    def plot_horizons(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Plot the errors of all vehicles over the time since the start of a window; save the
        figure if `path` is given."""
        rows = [(e.channel, e.unit, e.vehicle, e.horizon, e.rmse) for e in self.errors if e.horizon]
        return horizon_figure(", ".join(self.logs), rows, path)

    def report(self, path: str | os.PathLike[str], *, date: str = "") -> Path:
        """Write the report, one HTML page; `date` is printed below its title."""
        from ...view.pages.identification_report import comparison_report

        comparison_report(self, path, date=date)
        return Path(path)


def compare(
    vehicles: Candidate | Sequence[Candidate] | Mapping[str, Candidate],
    logs: Drives,
    *,
    names: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    window: s | None = None,
    stride: s | None = None,
    horizons: Sequence[s] = HORIZONS,
    channels: Sequence[str] | None = None,
    steer: str = "auto",
    speed: str = "auto",
    dt: s = LONGEST_STEP,
    at: str | tuple[m, m] = "auto",
    calibration: Mapping[str, float | Mapping[str, float]] | None = None,
    dbc: str | os.PathLike[str] | None = None,
    fit: Sequence[str] | None = None,
    hold_out: float = 0.3,
) -> Comparison:
    """Replay recorded runs by one or more vehicles, and report which model the data support.

    Args:
        vehicles: vehicles, their names as in "two_track:sports", or results of `fit`, with their
            calibration; a mapping gives the names under which the results have them.
        logs: recorded runs, see `prepare_logs`; the errors are those over all of them. A model that
            was fitted to logs should be compared on others.
        names, without, dbc: how to read and prepare the logs, see `prepare_logs`.
        window: length in s of the windows, which all vehicles start from the same measured state.
            By default the longest of 10, 5, 2 and 1 s that the logs contain eight times.
        stride: time from the start of a window to that of the next in s; 1 s by default, more in
            long logs.
        horizons: times in s since the start of a window at which errors are reported.
        channels: channels to compare; by default all of the log that do not drive the vehicles.
        steer, speed: how the log drives the vehicles: "auto", "commanded", "prescribed", and for
            the steering "demanded", for the speed "tracked".
        dt: longest step in s.
        at: point of the vehicles that the logs describe, see `Replay`.
        calibration: parameters of the sensors, with the prefix `log.`, and delays of channels and
            commands in s, with the prefix `delay.`: `{"log.steer_ratio": 1 / 15.3}`; those of one
            vehicle under its name.
        fit: parameters that are fitted for each vehicle before the comparison, as in `fit`; those
            that a vehicle lacks are left out, with a note. The fit takes the first part of each log
            and the comparison the rest.
        hold_out: share of each log, at its end, that a fit leaves to the comparison.
    """
    for name, value in (("window", window), ("stride", stride), ("dt", dt)):
        if value is not None:
            positive(name, value, "s")
    times = tuple(sorted({positive("horizon", horizon, "s") for horizon in horizons}))
    candidates = _named(vehicles)
    cars = {n: one if isinstance(one, Vehicle) else one.vehicle for n, one in candidates.items()}
    cars = dict(sorted(cars.items(), key=lambda item: record.size(item[1].model.Params)))
    guesses = {name: _guess(name, cars, calibration or {}) for name in cars}
    for name, one in candidates.items():
        if not isinstance(one, Vehicle):
            own = guesses[name]
            guesses[name] = Guess(
                {**one.guess.params, **own.params}, {**one.guess.delays, **own.delays}
            )
    drives = prepare_logs(logs, names, without, dbc=dbc)
    if not cars or not drives:
        raise InvalidValue("a comparison needs at least one vehicle and one log")
    how = {"channels": channels, "steer": steer, "speed": speed, "at": at, "dt": dt}
    fits: dict[str, Fit] = {}
    more: list[str] = []
    spans: list[tuple[s, s] | None] = [None] * len(drives)
    if fit is not None:
        if not 0.0 < hold_out < 1.0:
            raise InvalidValue(f"hold_out = {hold_out:g} must be between 0 and 1")
        # Unfiltered: filters smear a step, which a fit would take for a slower vehicle.
        raw = prepare_logs(logs, names, (*without, "filter"), dbc=dbc)
        fit_options: dict[str, Any] = {n: value for n, value in how.items() if n != "dt"}
        for name, car in cars.items():
            known = guesses[name]
            fit_options["calibration"] = {
                **known.params,
                **{f"delay.{channel}": late for channel, late in known.delays.items()},
            }
            fits[name], lacks = _fit(name, car, raw, fit, hold_out, fit_options)
            more += [lacks] * bool(lacks) + [f"{name}: {note}" for note in fits[name].notes]
        cars = {name: one.vehicle for name, one in fits.items()}
        guesses = {name: one.guess for name, one in fits.items()}
        spans = [(float(d.t[-1] - hold_out * (d.t[-1] - d.t[0])), float(d.t[-1])) for d in drives]
    parts = list(zip(drives, spans, strict=True))
    runs, notes = _replays(cars, parts, guesses, window, stride, how)
    pairs, verdict = choose(tuple(cars), runs)
    return Comparison(
        cars,
        tuple(drive.name for drive in drives),
        max(float(run.t[0, -1] - run.t[0, 0]) for run in runs),
        sum(len(run.t) for run in runs) // len(cars),
        tuple(errors_by_horizon(cars, runs, times)),
        pairs,
        verdict,
        tuple(runs),
        _noise(drives),
        fits,
        (*notes, *more),
        {drive.name: drive.lines for drive in drives},
    )


def _fit(
    name: str,
    car: Vehicle,
    drives: Sequence[Prepared],
    wanted: Sequence[str],
    hold_out: float,
    how: Mapping[str, Any],
) -> tuple[Fit, str]:
    """The fit of one vehicle to the first part of each log, and a note on what it lacks."""
    from .fitting import fit

    leaves = record.names(car.Params)
    free = [
        n
        for n in wanted
        if n.startswith(("log.", "delay.")) or any(fnmatchcase(p, n) for p in leaves)
    ]
    lacks = [n for n in wanted if n not in free]
    if not free:
        raise InvalidValue(f"{name} has none of the parameters to fit: {', '.join(wanted)}")
    found = fit(car, list(drives), free, hold_out=hold_out, **how)
    return found, f"{name} has no {', '.join(lacks)} to fit" if lacks else ""


def _replays(
    vehicles: Mapping[str, Vehicle],
    parts: Sequence[tuple[Prepared, tuple[s, s] | None]],
    guesses: Mapping[str, Guess],
    window: s | None,
    stride: s | None,
    how: Mapping[str, Any],
) -> tuple[list[ReplayedLog], list[str]]:
    """Parts of logs replayed by every vehicle over the same windows, and notes on them."""
    slides = any("v_y" in record.names(car.State) for car in vehicles.values())
    lead = LEAD if slides else 0.0
    late = [getattr(v.params, n) for v in vehicles.values() for n in v.model.dead_times.values()]
    late += [delay for guess in guesses.values() for delay in guess.delays.values()]
    longest = max(late, default=0.0)
    lengths = [_length(*part, max(lead, longest)) for part in parts]
    if window is None:
        enough = (w for w in WINDOWS if sum(length // w for length in lengths) >= ENOUGH)
        window = next(enough, WINDOWS[-1])
    if stride is None:
        stride = min(max(STRIDE, sum(lengths) / MOST_WINDOWS), window)
    more: dict[str, Any] = {"window": window, "stride": stride, "lead": lead, "longest": longest}
    runs: list[ReplayedLog] = []
    notes: list[str] = []
    for drive, span in parts:
        own = {name: Replay(car, drive, span=span, **more, **how) for name, car in vehicles.items()}
        if how["at"] == "auto" and len({one.way.uses_commands for one in own.values()}) > 1:
            notes.append(
                f"{drive.name}: vehicles with commands are compared at their body point, the "
                "others at their centre of mass; say with at= (--at) which point the log describes"
            )
        notes += {one.about_heading for one in own.values() if one.about_heading}
        begins = [set(replay.begins.tolist()) for replay in own.values()]
        shared = np.array(sorted(set.intersection(*begins)), dtype=int)
        if not len(shared):
            raise InvalidValue(f"{drive.name} has no window that every vehicle can replay")
        if left_out := len(set.union(*begins)) - len(shared):
            notes.append(
                f"{drive.name}: {counted(left_out, 'window')} left out, which only some of the "
                "vehicles can replay"
            )
        for name, replay in own.items():
            runs.append(replayed_log(name, replay, guesses[name], np.isin(replay.begins, shared)))
    return runs, notes


def _guess(
    vehicle: str,
    vehicles: Collection[str],
    calibration: Mapping[str, float | Mapping[str, float]],
) -> Guess:
    """Parameters of sensors and delays of one vehicle: common ones, and those under its name."""
    values: dict[str, Any] = {n: v for n, v in calibration.items() if n not in vehicles}
    values |= cast("Mapping[str, Any]", calibration.get(vehicle, {}))
    return calibration_guess(values, ", or be the name of a vehicle of the comparison")


class _Calibrated(NamedTuple):
    """Vehicle of a parameter file with a calibration."""

    vehicle: Vehicle
    guess: Guess


def _named(
    given: Candidate | Sequence[Candidate] | Mapping[str, Candidate],
) -> dict[str, Vehicle | Fit]:
    """Vehicles and fits by name; of several with the same name the later ones are numbered."""

    def known(one: Any) -> Any:
        if hasattr(one, "guess"):
            return one
        car, calibration = vehicle_named(one), calibration_of(one)
        return _Calibrated(car, calibration_guess(calibration)) if calibration else car

    if isinstance(given, Mapping):
        return {name: known(one) for name, one in given.items()}
    found: dict[str, Vehicle | Fit] = {}
    several = cast("Sequence[Candidate]", given if isinstance(given, list | tuple) else [given])
    for one in several:
        car = known(one)
        label = car.name if isinstance(car, Vehicle) else car.vehicle.name
        label = one if isinstance(one, str) else label
        same = sum(name.partition(" ")[0] == label for name in found)
        found[f"{label} {same + 1}" if same else label] = car
    return found


def _noise(drives: Sequence[Prepared]) -> dict[str, float]:
    """Root mean square of the noise of each channel over the logs that have it."""
    names = dict.fromkeys(name for drive in drives for name in drive.noise)
    own = {name: [d.noise[name] for d in drives if name in d.noise] for name in names}
    return {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in own.items()}


def _length(drive: Prepared, span: tuple[s, s] | None, ahead: s) -> s:
    """Time that can be replayed after the run-in."""
    begin, end = span or (-np.inf, np.inf)
    whole = min(end, float(drive.t[-1])) - max(begin, float(drive.t[0]))
    return max(whole - ahead, 0.0)


ENOUGH = 8
"""Number of windows that decide between two vehicles."""
LEVEL: float = 0.95
"""Confidence of the intervals."""
CLOSE: float = 1.25
"""Largest error, as a multiple of the smallest, for which a simpler vehicle may be preferred."""
_MOST_DEPENDENT: float = 0.9
"""Largest correlation of neighbouring stretches that is taken into account."""
_NEGLIGIBLE: float = 0.01
"""Smallest error of a window that counts, as a share of the mean error of the best vehicle."""


class Pair(NamedTuple):
    """Difference of two vehicles over the same windows, relative to the error of the second.

    The error of a window is the root mean square over its channels, each divided by the smallest
    error that any vehicle has in it. Windows that overlap count as one. The interval is that of
    Student's distribution for the mean logarithm of the ratio of the two errors, because errors
    grow with the motion and their ratio hardly does; neighbouring windows that are alike count
    less.
    """

    vehicle: str
    other: str
    """The vehicle with the smallest error."""
    difference: float
    """Typical (geometric mean) ratio of the errors of a window, minus 1."""
    low: float
    """Lower end of the 95 % interval; minus infinity if the windows are too few."""
    high: float
    """Upper end of the 95 % interval."""
    windows: int
    mean_ratio: float
    """Mean error over the mean error of `other`; one difficult window can make it large."""

    @property
    def is_certain(self) -> bool:
        """Whether the first vehicle is worse than the second in 95 of 100 such recordings."""
        return self.low > 0.0

    __repr__ = brief_repr


def choose(vehicles: Sequence[str], replays: Sequence[ReplayedLog]) -> tuple[tuple[Pair, ...], str]:
    """Compare all vehicles with the one with the smallest error, and name the supported model.

    Args:
        vehicles: names, from the simplest to the most detailed vehicle.
        replays: every log replayed by every vehicle, over the same windows.

    Returns:
        The comparisons with the best vehicle, without vehicles that diverge, and the verdict in
        sentences; for one vehicle only whether it diverges.
    """
    pairs = _pairs(vehicles, replays) if len(vehicles) > 1 else []
    return tuple(pairs), _verdict(vehicles, pairs, replays)


def _pairs(vehicles: Sequence[str], replays: Sequence[ReplayedLog]) -> list[Pair]:
    """Every vehicle against the one with the smallest error, without those that diverge.

    Errors are those in the channels that all vehicles have, in separate stretches of the logs: a
    stretch holds the windows that begin within the length of one, which overlap.
    """
    by_vehicle = {v: [run for run in replays if run.vehicle == v] for v in vehicles}
    common = [
        name
        for name in replays[0].compared
        if all(name in run.compared for runs in by_vehicle.values() for run in runs)
    ]
    if not common:
        raise InvalidValue("the vehicles have no channel in common to be compared in")
    runs = by_vehicle[replays[0].vehicle]
    # Mean squares by vehicle, channel and window; NaN where nothing was measured.
    squares = np.full((len(vehicles), len(common), sum(len(run.t) for run in runs)), np.nan)
    for v, own in enumerate(by_vehicle.values()):
        for c, name in enumerate(common):
            begin = 0
            for run in own:
                errors, known = run.error(name)
                total, counts = np.where(known, errors**2, 0.0).sum(axis=1), known.sum(axis=1)
                mean = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
                squares[v, c, begin : begin + len(mean)] = mean
                begin += len(mean)
    finite = np.isfinite(squares)
    means = np.where(finite, squares, 0.0).sum(axis=2) / np.maximum(finite.sum(axis=2), 1)
    least = np.where(finite.any(axis=2), means, np.inf).min(axis=0)
    # An error of zero, as of a vehicle that replays its own simulation, is no scale.
    scales = np.maximum(least, np.maximum(1e-12 * means.max(axis=0), np.finfo(float).tiny))
    measured = ~np.isnan(squares[0])
    shares = np.where(measured, squares / scales[:, None], 0.0)
    errors = np.sqrt(shares.sum(axis=1) / np.maximum(measured.sum(axis=0), 1))
    known = measured.any(axis=0)
    labels = np.array(
        [
            (k, int((begin - run.t[0, 0]) / (run.t[0, -1] - run.t[0, 0]) + 1e-6))
            for k, run in enumerate(runs)
            for begin in run.t[:, 0]
        ]
    )
    labels, rows = np.unique(labels[known], axis=0, return_inverse=True)
    counts, log = np.bincount(rows.ravel()), labels[:, 0]
    scores = [np.bincount(rows.ravel(), own[known]) / counts for own in errors]
    named = zip(vehicles, scores, strict=True)
    sound = {name: own for name, own in named if np.isfinite(own).all()}
    if not sound:
        return []
    best = min(sound, key=lambda name: float(sound[name].mean()))
    smallest = max(float(sound[best].mean()), np.finfo(float).tiny)
    logs = {name: np.log(np.maximum(own, _NEGLIGIBLE * smallest)) for name, own in sound.items()}
    found: list[Pair] = []
    for name, own in sound.items():
        if name == best:
            continue
        apart = logs[name] - logs[best]
        count, mean = len(apart), float(apart.mean())
        std = float(np.std(apart, ddof=1)) if count > 1 else 0.0
        # Neighbouring stretches of one log may be alike. Their correlation, of a sequence in which
        # each value depends on the one before it, is estimated with a correction for short ones.
        off = apart - np.array([apart[log == each].mean() for each in log])
        square = float(np.sum(off**2))
        if count > 2 and square > 0.0:
            alike = float(np.sum((off[1:] * off[:-1])[log[1:] == log[:-1]])) / square + 1.0 / count
            alike = min(max(alike, 0.0), _MOST_DEPENDENT)
            std *= float(np.sqrt((1.0 + alike) / (1.0 - alike)))
        ends = mean_bounds(np.asarray(mean), np.asarray(std), count, LEVEL)
        with np.errstate(over="ignore"):
            low, high = (float(np.expm1(end)) if np.isfinite(end) else float(end) for end in ends)
        ratio = float(own.mean()) / smallest
        found.append(Pair(name, best, float(np.expm1(mean)), low, high, count, ratio))
    return found


def _verdict(vehicles: Sequence[str], pairs: Sequence[Pair], replays: Sequence[ReplayedLog]) -> str:
    lost: list[str] = []
    sound: list[str] = []
    for name in vehicles:
        runs = [run for run in replays if run.vehicle == name]
        count = sum(int((~np.isfinite(run.replayed)).any(axis=(0, 2)).sum()) for run in runs)
        if count:
            of = counted(sum(len(run.t) for run in runs), "window")
            left_out = " and is left out of the choice" if len(vehicles) > 1 else ""
            lost.append(f"{name} diverges in {count} of {of}{left_out}.")
        else:
            sound.append(name)
    if len(sound) < 2:
        only = [f"The logs support {name}." for name in sound if len(vehicles) > 1]
        return " ".join([*only, *lost])
    by_name = {pair.vehicle: pair for pair in pairs}
    best = pairs[0].other
    uncertain = [name for name in sound if name != best and not by_name[name].is_certain]
    ratios = {name: max(1.0 + pair.difference, pair.mean_ratio) for name, pair in by_name.items()}
    near = [name for name in uncertain if ratios[name] <= CLOSE]
    chosen = next(name for name in sound if name == best or name in near)
    # A simpler vehicle with a much larger error is no choice, even where the windows are too few or
    # too different to be certain.
    unclear = [n for n in uncertain if n not in near and sound.index(n) < sound.index(chosen)]
    if unclear:
        sentences = [f"The logs cannot tell {chosen} from {listed(unclear)}."]
        if chosen == best:
            sentences.append(f"The error of {chosen} is the smallest.")
    else:
        sentences = [f"The logs support {chosen}."]
        if chosen == best:
            sentences.append("Its error is the smallest.")
    if chosen != best:
        sentences.append(
            f"{best} has the smallest error, and it is not certain that the error of {chosen} is "
            f"larger: {_times(by_name[chosen])}."
        )
    for name in sound:
        if name in (best, chosen):
            continue
        certain = "certainly larger" if by_name[name].is_certain else "not certainly larger"
        sentences.append(f"That of {name} is {certain}: {_times(by_name[name])}.")
    if pairs[0].windows < ENOUGH:
        sentences.append(
            f"{counted(pairs[0].windows, 'window')} that do not overlap are few: a longer log or "
            "shorter windows would tell more."
        )
    return " ".join([*sentences, *lost])


def _times(pair: Pair) -> str:
    """Typical error relative to the smallest one, with its interval, as text."""
    typical = 1.0 + pair.difference
    text = f"{typical:.3g} times that of {pair.other}"
    if not np.isfinite(pair.low):
        return f"{text}, from one window"
    text += f" ({1.0 + pair.low:.3g} to {1.0 + pair.high:.3g})"
    if not typical / CLOSE <= pair.mean_ratio <= typical * CLOSE:
        text += f" in a typical window, {pair.mean_ratio:.3g} times on average"
    return text
