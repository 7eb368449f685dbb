"""A log as a model sees it: commands and measurements on one grid of time.

Commands are held between their samples; measurements are linear between theirs, yaw unwrapped. A
log with even times is taken row by row as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Model
from .log import Log, Series, how_to_name, known_samples, unread_notes
from .log_consistency import check_columns
from .unit_spelling import same_unit

CHANNELS = {
    "x": ("m", "position in the world"),
    "y": ("m", "position in the world"),
    "yaw": ("rad", "heading"),
    "v_x": ("m/s", "velocity along the car"),
    "a_x": ("m/s²", "acceleration along the car"),
    "omega": ("rad/s", "yaw rate"),
    "steer": ("rad", "measured tyre angle"),
}
"""What can be compared: unit and meaning."""
NEEDED = ("v_x",)
"""Without these nothing can be replayed."""
OPTIONAL_INPUTS = ("gear", "slope")
"""Inputs that keep their default, DRIVE and level road, if the log has none."""
LEAST_ROWS = 10
_EVEN = 1e-6
"""Part of a period by which times may differ and still count as even: their rounding."""
_JITTER = 0.1
"""Part of a period by which times may usually differ without a note."""
_GAP = 5.0
"""Periods without a sample that are a gap."""


@dataclass(frozen=True)
class Recording:
    """A log on a grid."""

    name: str
    t0: float
    """Time of the first row in s."""
    dt: float
    """Period of the rows in s."""
    commands: Array
    """(rows, inputs), in the order of the model's Input record."""
    measured: dict[str, Array]
    """By channel, as reported; yaw is continuous."""
    states: dict[str, Array]
    """Fields of the model's state that the log has as such, besides the measured ones."""
    jitter: float = 0.0
    """By how much the times of samples usually differ from even ones at most, in s."""
    gaps: tuple[tuple[float, float], ...] = ()
    """Begin and end of stretches without samples, in s."""
    notes: tuple[str, ...] = field(default=())
    """What the reader of a result should know about the log."""
    lost: tuple[str, ...] = field(default=())
    """Those of the notes that are about values the log lacks or that could not be read."""
    command_series: tuple[Series | None, ...] = field(default=())
    """The commands with their own times, in the order of `commands`; None for one at its default.
    Nothing at all for a log with even times, whose rows they are."""
    whole: tuple[bool, ...] = field(default=())
    """Which of these are numbers of something, such as gears."""
    samples: dict[str, Series] = field(default_factory=dict[str, Series])
    """The measurements with their own times; none for a log with even times."""

    def __len__(self) -> int:
        return len(self.commands)

    def nearest(self, name: str, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """The sample of a channel nearest to each of some rows, and its time in s after row 0."""
        series = self.samples[name]
        values = np.unwrap(series.values) if name == "yaw" else series.values
        times = self.t0 + self.dt * rows
        after = np.clip(np.searchsorted(series.t, times), 1, len(series.t) - 1)
        before = times - series.t[after - 1] < series.t[after] - times
        sample = np.where(before, after - 1, after)
        return values[sample], series.t[sample] - self.t0

    def split(self, rows: NDArray[np.int64], parts: int) -> Array:
        """Commands (parts len(rows), ..., inputs) in equal parts of the periods after some rows.

        Each is the mean of what was given over its part, by the commands' own times: a lag that
        gets the mean ends where it would with the command itself, to second order. Gears, which
        have no mean, are those that were given last.
        """
        table = np.repeat(self.commands[rows], parts, axis=0)
        if parts == 1 or not self.command_series:
            return table
        shares = np.arange(parts).reshape(1, parts, *[1] * (rows.ndim - 1)) / parts
        times = self.t0 + self.dt * (rows[:, None] + shares).reshape(-1, *rows.shape[1:])
        for k, (series, whole) in enumerate(zip(self.command_series, self.whole, strict=True)):
            if series is not None:
                part = 0.0 if whole else self.dt / parts
                table[..., k] = _mean(series, times, part)
        return table

    @property
    def t(self) -> Array:
        """Times of the rows in s."""
        return self.t0 + self.dt * np.arange(len(self), dtype=float)


def recording(log: Log, model: Model) -> Recording:
    """What a model needs of a log, checked and on one grid."""
    commands, measured, states = _chosen(log, model)
    inputs = [name for name in record.names(model.Input) if name not in CHANNELS]
    lost = unread_notes(log, [*CHANNELS, *(f"u_{name}" for name in inputs), "u_steer", *inputs])
    for group in (commands, measured, states):
        for name, series in group.items():
            group[name], note = known_samples(log.name, name, series, held=group is commands)
            lost += [note] * bool(note)
    rare = {f"u_{name}" for name in OPTIONAL_INPUTS}
    used = {**commands, **measured, **states}
    for name, series in used.items():
        _check(log.name, name, series, 1 if name in rare else LEAST_ROWS)
    # A gear may be logged only when it changes: it says nothing about the times of the log.
    steady = {name: series for name, series in used.items() if name not in rare}
    times, even = _grid(log.name, steady.values())
    notes, jitter, gaps = _quality(steady)
    channels = {name: _linear(name, s, times, even) for name, s in measured.items()}
    notes = [*lost, *check_columns(log.name, times, channels), *notes]
    absent = [n for n in record.names(model.Input) if f"u_{n}" not in commands]
    defaults = record.build(model.Input)
    if absent:
        listed = ", ".join(f"{n} = {getattr(defaults, n):g}" for n in absent)
        notes.append(f"not in the log, taken as the default: {listed}")
    table = np.tile(np.array(record.flatten(defaults), dtype=float), (len(times), 1))
    for k, name in enumerate(record.names(model.Input)):
        if name not in absent:
            table[:, k] = _held(commands[f"u_{name}"], times, even)
    _check_ranges(log.name, model, table, times)
    return Recording(
        log.name,
        float(times[0]),
        float(times[-1] - times[0]) / (len(times) - 1),
        table,
        channels,
        {name: _linear(name, s, times, even) for name, s in states.items()},
        0.0 if even else jitter,
        tuple(gaps),
        tuple(notes),
        tuple(lost),
        () if even else tuple(commands.get(f"u_{n}") for n in record.names(model.Input)),
        tuple(n == "gear" for n in record.names(model.Input)),
        {} if even else measured,
    )


def _chosen(
    log: Log, model: Model
) -> tuple[dict[str, Series], dict[str, Series], dict[str, Series]]:
    """Commands, measurements and states among the series, or an error that says what is missing."""
    commands: dict[str, Series] = {}
    missing: list[tuple[str, str]] = []
    for leaf in record.fields(model.Input):
        full = f"u_{leaf.name}"
        if full in log:
            commands[full] = log.series[full]
        elif leaf.name in log and leaf.name not in CHANNELS:
            commands[full] = log.series[leaf.name]
        elif leaf.name not in OPTIONAL_INPUTS:
            missing.append((full, f"command {leaf.name}, {leaf.unit}"))
        if full in commands and leaf.unit.symbol != "1":
            _check_unit(log.name, full, commands[full].unit, leaf.unit.symbol)
    measured: dict[str, Series] = {}
    for name, (unit, meaning) in CHANNELS.items():
        # In a Trajectory the state has the plain name and what is reported has the prefix.
        column = f"out_{name}" if f"out_{name}" in log else name
        if column in log:
            measured[name] = log.series[column]
            _check_unit(log.name, column, log.series[column].unit, unit)
        elif name in NEEDED:
            missing.append((name, f"{meaning}, {unit}"))
    if missing:
        raise InvalidValue(_lacking(log, model.name, missing))
    # Not the true steering angle: a start has the measured one less the bias of the parameters.
    states = {
        name: log.series[name]
        for name in record.names(model.State)
        if name in log and name != "steer" and (name not in CHANNELS or f"out_{name}" in log)
    }
    return commands, measured, states


def _lacking(log: Log, model: str, missing: list[tuple[str, str]]) -> str:
    """The sentence about missing columns: which, what there is, how to give names."""
    listed = "; ".join(f"{name} ({meaning}{_why_not(log, name)})" for name, meaning in missing)
    free = tuple(name for name in log.series if name not in dict(missing))
    there = ", ".join(free) or "no numbers"
    others = [f"{name}: {why}" for name, why in log.unread.items() if name not in dict(missing)]
    there += f" (and what cannot be used: {'; '.join(others)})" if others else ""
    return (
        f"{log.name} lacks columns that {model} needs: {listed}. It has {there}. If one of them is "
        f"meant, {how_to_name(missing[0][0], free)}"
    )


def _why_not(log: Log, name: str) -> str:
    return f"; it is there, but {log.unread[name]}" if name in log.unread else ""


def _check_unit(where: str, name: str, unit: str, expected: str) -> None:
    """Raise for a column that says it has another unit; silence and "1" say nothing."""
    if unit not in ("", "1") and not same_unit(unit, expected):
        raise InvalidValue(
            f"{where}: {name} is in {unit}; it must be in {expected}, the unit of every log here"
        )


def _check(where: str, name: str, series: Series, least: int) -> None:
    if len(series.t) < least:
        raise InvalidValue(f"{where}: {name} has {len(series.t)} rows; at least {least} are needed")


def _check_ranges(where: str, model: Model, table: Array, times: Array) -> None:
    for k, leaf in enumerate(record.fields(model.Input)):
        bad = [i for i, v in enumerate(table[:, k]) if leaf.allowed and v not in leaf.allowed]
        if bad:
            raise InvalidValue(
                f"{where}: u_{leaf.name} = {table[bad[0], k]:g} at t = {times[bad[0]]:.9g} s; "
                f"it must be {leaf.allowed}"
            )


def _grid(where: str, used: Iterable[Series]) -> tuple[Array, bool]:
    """Times of the rows, and whether they are those of the log itself."""
    series = list(used)
    finest = min(series, key=lambda s: float(np.median(np.diff(s.t))))
    begin, end = max(s.t[0] for s in series), min(s.t[-1] for s in series)
    dt = float(np.median(np.diff(finest.t)))
    shared = all(s.t is finest.t or np.array_equal(s.t, finest.t) for s in series)
    steps = np.diff(finest.t)
    rounding = _EVEN * dt + 4.0 * np.spacing(np.abs(end))
    if shared and np.abs(steps - dt).max() <= rounding:
        return finest.t, True
    count = int(np.floor((end - begin) / dt * (1.0 + _EVEN))) + 1
    if count < LEAST_ROWS:
        raise InvalidValue(
            f"{where}: its columns have {max(end - begin, 0.0):.3g} s in common, less than "
            f"{LEAST_ROWS} periods of {dt:.3g} s"
        )
    return begin + dt * np.arange(count), all(_on_grid(s.t, begin, dt, rounding) for s in series)


def _on_grid(times: Array, begin: float, dt: float, rounding: float) -> bool:
    """Whether times are some of an even grid, one after the other, such as those of the messages
    of one loop: commands begin before what comes of them."""
    steps = (times - begin) / dt
    return bool(
        np.abs(np.diff(times) - dt).max() <= rounding
        and np.abs(steps - np.round(steps)).max() * dt <= len(times) * rounding
    )


def _held(series: Series, times: Array, even: bool) -> Array:
    if even and len(series.t) == len(times):
        return series.values
    # A grid of medians drifts off the samples by its rounding; a sample that close is there.
    slack = _EVEN * (times[1] - times[0])
    rows = np.searchsorted(series.t, times + slack, side="right") - 1
    return series.values[np.maximum(rows, 0)]


def _mean(series: Series, times: Array, part: float) -> Array:
    """The mean of a held series over the parts after some times; its value there if they are 0."""
    if part == 0.0:
        last = np.searchsorted(series.t, times, side="right") - 1
        return series.values[np.maximum(last, 0)]
    total = np.concatenate([[0.0], np.cumsum(series.values[:-1] * np.diff(series.t))])

    def up_to(t: Array) -> Array:
        before = (t - series.t[0]) * series.values[0]
        after = total[-1] + (t - series.t[-1]) * series.values[-1]
        inside = np.interp(t, series.t, total)
        return np.where(t < series.t[0], before, np.where(t > series.t[-1], after, inside))

    return (up_to(times + part) - up_to(times)) / part


def _linear(name: str, series: Series, times: Array, even: bool) -> Array:
    values = np.unwrap(series.values) if name == "yaw" else series.values
    return values if even and len(values) == len(times) else np.interp(times, series.t, values)


def _quality(used: dict[str, Series]) -> tuple[list[str], float, list[tuple[float, float]]]:
    """Notes on uneven times, how uneven they are in s, and the gaps of any series."""
    notes: list[str] = []
    jitter = 0.0
    gaps: set[tuple[float, float]] = set()
    by_time = {id(s.t): (name, s.t) for name, s in used.items()}
    for name, t in by_time.values():
        steps = np.diff(t)
        dt = float(np.median(steps))
        spread = float(np.quantile(np.abs(steps - dt), 0.95)) / dt
        jitter = max(jitter, spread * dt)
        if spread > _JITTER:
            label = "times" if len(by_time) == 1 else f"times of {name}"
            notes.append(
                f"{label} jitter by {100.0 * spread:.0f} % of the period of {1e3 * dt:.3g} ms; "
                "the log was resampled, and dead times are that much less certain"
            )
        for i in np.flatnonzero(steps > _GAP * dt):
            gaps.add((float(t[i]), float(t[i + 1])))
    if gaps:
        begin, end = max(gaps, key=lambda gap: gap[1] - gap[0])
        notes.append(
            f"{len(gaps)} gap{'s' * (len(gaps) > 1)} without samples, the longest of "
            f"{end - begin:.3g} s at t = {begin:.6g} s"
        )
    return notes, jitter, sorted(gaps)
