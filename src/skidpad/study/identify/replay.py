"""A log as a model sees it, and its replay: commands and measurements on one grid of time.

`recording` makes the grid. Commands are held between their samples; measurements are linear between
theirs, yaw unwrapped. A log with even times is taken row by row as it is.

`Replay` gives every vehicle of a fleet the commands of a window of the log. A window starts from
the measured state, so that drift of the position stays that of its length. Ahead of the first
window lies the longest dead time: the commands of that stretch are still to act when the window
begins, so no command from before the log is ever needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.model import Model, Vehicle
from ...errors import InvalidValue
from ...run.fleet import Fleet
from .log import Log, Series, check_columns, how_to_name, known_samples, same_unit, unread_notes

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
    """Notes about the log for the reader of a result."""
    lost: tuple[str, ...] = field(default=())
    """Those of the notes that are about values the log lacks or that could not be read."""
    command_series: tuple[Series | None, ...] = field(default=())
    """The commands with their own times, in the order of `commands`; None for one at its default.
    Empty for a log with even times, whose rows they are."""
    whole: tuple[bool, ...] = field(default=())
    """Which of these are numbers of something, such as gears."""
    samples: dict[str, Series] = field(default_factory=dict[str, Series])
    """The measurements with their own times; empty for a log with even times."""

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
    commands, measured, states = _select(log, model)
    inputs = [name for name in record.names(model.Input) if name not in CHANNELS]
    lost = unread_notes(log, [*CHANNELS, *(f"u_{name}" for name in inputs), "u_steer", *inputs])
    for group in (commands, measured, states):
        for name, series in group.items():
            group[name], note = known_samples(log.name, name, series, held=group is commands)
            lost += [note] * bool(note)
    rare = {f"u_{name}" for name in OPTIONAL_INPUTS}
    used = {**commands, **measured, **states}
    for name, series in used.items():
        least = 1 if name in rare else LEAST_ROWS
        if len(series.t) < least:
            raise InvalidValue(
                f"{log.name}: {name} has {len(series.t)} rows; at least {least} are needed"
            )
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


def _select(
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
    """Error text for missing columns: which they are, what the log has, how to map names."""

    def why_not(name: str) -> str:
        return f"; it is there, but {log.unread[name]}" if name in log.unread else ""

    listed = "; ".join(f"{name} ({meaning}{why_not(name)})" for name, meaning in missing)
    free = tuple(name for name in log.series if name not in dict(missing))
    there = ", ".join(free) or "no numbers"
    others = [f"{name}: {why}" for name, why in log.unread.items() if name not in dict(missing)]
    there += f" (and what cannot be used: {'; '.join(others)})" if others else ""
    return (
        f"{log.name} lacks columns that {model} needs: {listed}. It has {there}. If one of them is "
        f"meant, {how_to_name(missing[0][0], free)}"
    )


def _check_unit(where: str, name: str, unit: str, expected: str) -> None:
    """Raise for a column that says it has another unit; silence and "1" say nothing."""
    if unit not in ("", "1") and not same_unit(unit, expected):
        raise InvalidValue(
            f"{where}: {name} is in {unit}; it must be in {expected}, the unit of every log here"
        )


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


_MOST_NUMBERS = 8_000_000
"""Numbers in one rollout; more candidates are run one part after the other."""
_POSE = ("x", "y", "yaw")
"""Channels that are states; the others are reports."""
_REVERSE = (20.0, 21.0)


class Curve(NamedTuple):
    """One channel over time, window by window."""

    t: Array
    recorded: Array
    replayed: Array
    error: Array

    __repr__ = brief_repr


class Replay:
    """A model that replays the windows of a recording.

    Args:
        vehicle: the model; its parameters are those of every candidate unless others are given.
        recorded: commands and measurements.
        period: longest step in s; the model makes several within a period of a slower log.
        window: length of the windows in s; None for the whole log.
        longest: longest dead time of any candidate in s; what the vehicle has if None.

    With a `period` much shorter than that of the log commands act at the times they were given at,
    to that period, and dead times may be as fine.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        recorded: Recording,
        period: float,
        window: float | None = None,
        longest: float | None = None,
    ) -> None:
        self.vehicle, self.recorded = vehicle, recorded
        # A hundredth, so that a log with a period of 25.01 ms is not replayed at half of it.
        self.split = max(1, ceil(recorded.dt / period - 0.01))
        self.dt = recorded.dt / self.split
        self.fleet = Fleet(vehicle, self.dt, on_diverge="mask")
        own = [getattr(vehicle.params, name) for name in vehicle.model.dead_times.values()]
        self._lead = (
            ceil(max(own, default=0.0) / recorded.dt - 1e-6)
            if longest is None
            else (ceil(longest / recorded.dt - 1e-6) if own else 0)
        )
        self.begins, self.steps = self._windows(window)
        rows = self.begins[None, :] + np.arange(self.steps + 1)[:, None]
        self.rows: NDArray[np.int64] = rows
        """Rows of the recording (steps + 1, windows)."""
        self.measured = {name: values[rows] for name, values in recorded.measured.items()}
        self._places = self._own_times(rows)
        self.start = self._starts()
        """Start states (windows, nx); measured, so steering has its bias still in it."""
        self._commands = recorded.split(rows[:-1], self.split)
        before = self.begins[None, :] + np.arange(-self._lead, 0)[:, None]
        self._pending = recorded.split(before, self.split) if self._lead else None
        led_there = np.maximum(rows - 1, 0)
        self._reporting = recorded.commands[led_there]

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.begins)

    def _windows(self, length: float | None) -> tuple[NDArray[np.int64], int]:
        """Rows at which windows begin and their length in rows; those with a gap are left out."""
        recorded, last = self.recorded, len(self.recorded) - 1
        whole = last - self._lead
        if whole < LEAST_ROWS:
            raise InvalidValue(
                f"{recorded.name} is {last * recorded.dt:.3g} s long; dead times of "
                f"{self._lead * recorded.dt:.3g} s need their commands ahead of the replay and at "
                f"least {LEAST_ROWS} rows after that"
            )
        rows = whole if length is None else max(LEAST_ROWS, round(length / recorded.dt))
        count = max(1, round(whole / rows))
        steps = whole // count
        begins = self._lead + steps * np.arange(count)
        if length is None:
            return begins, steps
        t = recorded.t
        fine = [
            not any(a < t[b + steps] and z > t[b - self._lead] for a, z in recorded.gaps)
            for b in begins
        ]
        if not any(fine):
            raise InvalidValue(
                f"{recorded.name} has a gap without samples in every window of "
                f"{steps * recorded.dt:.3g} s; take shorter windows or a part of the log"
            )
        return begins[fine], steps

    def _own_times(self, rows: NDArray[np.int64]) -> dict[str, Array]:
        """Where samples with uneven times lie, in steps after the begin of their window.

        These are compared with what the replay has at their own times. Between rows of the log it
        would be too coarse, so steps as long as those take samples put on even times instead.
        """
        places: dict[str, Array] = {}
        if self.split > 1:
            for name in self.recorded.samples:
                values, times = self.recorded.nearest(name, rows)
                self.measured[name] = values
                steps = (times - self.recorded.dt * self.begins) / self.dt
                places[name] = np.clip(steps, 0.0, float(self.steps * self.split))
        return places

    def _starts(self) -> Array:
        """The measured state at the begin of each window; what was not measured is guessed."""
        model, recorded = self.vehicle.model, self.recorded
        table = np.tile(np.array(record.flatten(record.build(model.State))), (self.windows, 1))
        inputs = dict(zip(record.names(model.Input), recorded.commands.T, strict=True))
        for k, name in enumerate(record.names(model.State)):
            if name in recorded.states:
                source = recorded.states[name]
            elif name in recorded.measured:
                source = recorded.measured[name]
            elif name == "pedal":
                source = _pedal(recorded.measured, inputs)
            else:
                source = self._delayed({"a_x": "acceleration"}.get(name, name), inputs)
            if source is not None:
                table[:, k] = source[self.begins]
        return table

    def _delayed(self, name: str, inputs: Mapping[str, Array]) -> Array | None:
        """The command that acts at each row, for a state that follows it; None without one."""
        if name not in inputs:
            return None
        model = self.vehicle.model
        delay = getattr(self.vehicle.params, model.dead_times.get(name, ""), 0.0)
        late = min(round(delay / self.recorded.dt), self._lead)
        return np.roll(inputs[name], late)

    @property
    def start_has_bias(self) -> bool:
        """Whether the steering angle of the start states is the measured one."""
        return "steer_bias" in record.names(self.vehicle.model.Params)

    def run(
        self, params: Mapping[str, Array] | None = None, offsets: Array | None = None
    ) -> dict[str, Array]:
        """Channels (steps + 1, candidates, windows) for parameters (candidates,) by name.

        `offsets` (candidates or 1, windows, nx) are added to the start states. Candidates that
        diverge are NaN.
        """
        candidates = {name: np.atleast_1d(values) for name, values in (params or {}).items()}
        count = max((len(v) for v in candidates.values()), default=1)
        count = max(count, 1 if offsets is None else len(offsets))
        candidates = {name: np.broadcast_to(values, count) for name, values in candidates.items()}
        numbers = len(self._commands) * self.windows * self.start.shape[1]
        many = max(1, _MOST_NUMBERS // max(numbers, 1))
        parts: list[dict[str, Array]] = []
        for begin in range(0, count, many):
            part = slice(begin, begin + many)
            own_offsets = offsets if offsets is None or len(offsets) == 1 else offsets[part]
            parts.append(self._part({n: v[part] for n, v in candidates.items()}, own_offsets))
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([p[name] for p in parts], axis=1) for name in parts[0]}

    def _part(self, params: Mapping[str, Array], offsets: Array | None) -> dict[str, Array]:
        count = max((len(v) for v in params.values()), default=1)
        count = max(count, 1 if offsets is None else len(offsets))
        x0 = np.repeat(self.start[None], count, axis=0)
        if offsets is not None:
            x0 = x0 + offsets
        if self.start_has_bias:
            bias = params.get("steer_bias", np.array([self.vehicle.params.steer_bias]))
            x0[:, :, record.names(self.vehicle.State).index("steer")] -= bias[:, None]
        vehicles = count * self.windows
        per_vehicle = {name: np.repeat(v, self.windows) for name, v in params.items()}
        more: dict[str, Any] = {"params": per_vehicle} if per_vehicle else {}
        late = None if self._pending is None else np.tile(self._pending, (1, count, 1))
        states = self.fleet.rollout(
            x0.reshape(vehicles, -1),
            np.tile(self._commands, (1, count, 1)),
            every=1 if self._places else self.split,
            pending=late,
            **more,
        )
        reporting = self._reporting
        if self._places:
            reporting = np.concatenate([reporting[:1], self._commands])
        reports = self.fleet.outputs(states, np.tile(reporting, (1, count, 1)), **more)
        shape = (len(states), count, self.windows)
        fields = record.names(self.vehicle.State), record.names(self.vehicle.model.Outputs)
        channels = {
            name: (
                states[..., fields[0].index(name)]
                if name in _POSE
                else reports[..., fields[1].index(name)]
            ).reshape(shape)
            for name in CHANNELS
            if name in self.measured
        }
        return {name: self._at_samples(name, values) for name, values in channels.items()}

    def _at_samples(self, name: str, values: Array) -> Array:
        """A channel (steps, candidates, windows) at the rows of the log, or at its own times."""
        if name not in self._places:
            return values
        places = self._places[name]
        low = np.minimum(places.astype(int), len(values) - 2)
        share = (places - low)[:, None]
        window = np.arange(self.windows)[None]
        ends = (values[row, :, window].transpose(0, 2, 1) for row in (low, low + 1))
        before, after = ends
        return before + share * (after - before)


def _pedal(measured: Mapping[str, Array], inputs: Mapping[str, Array]) -> Array:
    """Pedal that explains the measured acceleration; the commanded one without it."""
    if "a_x" not in measured:
        return inputs["acceleration"]
    by_pedal = measured["a_x"] - inputs["slope"]
    return np.where(np.isin(inputs["gear"], _REVERSE), -by_pedal, by_pedal)


def error(name: str, replayed: Array, measured: Array) -> Array:
    """Replayed minus measured; of yaw the turn that is less than half."""
    difference = replayed - measured
    return np.arctan2(np.sin(difference), np.cos(difference)) if name == "yaw" else difference
