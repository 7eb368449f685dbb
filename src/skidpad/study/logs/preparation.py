"""Preparation of a raw log: cleaning, alignment and correction, with a report of every change.

`prepare` applies the steps of `STEPS` in order. Each can be left out by `without=("spikes", ...)`,
and each says in a `Line` what it changed, in which channel, how much and why.

| step | what it does |
|---|---|
| `stamps` | of samples with one stamp, or out of order, one is kept; a clock set back runs on |
| `repeats` | rows that repeat the last value of a slower sensor are left out |
| `gaps` | missing and infinite values are interpolated; longer stretches become NaN |
| `frozen` | stretches over which a sensor hangs while the vehicle moves become NaN |
| `spikes` | isolated peaks, and positions that jump away and back, are left out |
| `gnss` | latitude and longitude become `x` to the east and `y` to the north |
| `axes` | accelerometers that are mounted a quarter turn round are turned back |
| `latency` | each channel is moved earlier by the time it is late, by kinematics |
| `filter` | a low-pass filter without delay smooths for later steps; speed and steering for good |
| `wheels` | wheel speeds become `v_x`, by their ratio to the speed over ground |
| `derive` | `omega` from `yaw`, `v_x` and `v_y` from positions, `v_x` from `speed` |
| `consistency` | channels that contradict each other raise InvalidValue; doubts become lines |
| `bank` | if asked for, the bank of the road becomes a channel |
| `gravity` | gravity is taken out of accelerations by `roll` and `pitch` |
| `imu` | bias of the gyro; offsets, mounting angle, place and latency of accelerometers |

The order follows from what a step needs. Stamps come first, since every later step relies on time.
Repeated rows have to go before gaps, frozen sensors and spikes are judged by numbers of samples.
Latencies are found in unfiltered channels at their own rates, since a common grid or a filter would
blur them; filters work at these rates too, before samples of a fast channel are lost to the grid.
All that compares several channels row by row follows on the common grid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr, listed
from ...errors import InvalidValue
from ...units import m, one, s
from . import cleaning
from .cleaning import Mask, low_pass, on_grid, period, stretches
from .consistency import check_columns
from .imu import (
    Correction,
    correct_imu,
    local_axes,
    missing_channels,
    quarter_turn,
    remove_gravity,
    road_bank,
    speed_of_wheels,
)
from .latency import Latency, find_latencies
from .log import Channel, Log

_WHEELS = ("fl", "fr", "rl", "rr")
MOTION = (
    *("x", "y", "yaw", "v_x", "v_y", "speed", "sideslip", "omega", "a_x", "a_y", "a_z"),
    *("roll", "pitch", "steer", "steering_wheel", "wheel_speed", "latitude", "longitude"),
    *(f"{kind}_{wheel}" for kind in ("wheel_speed", "spin") for wheel in _WHEELS),
)
"""Measured channels that vary continuously, which are filtered and searched for faults."""
_ACTUATED = ("steer", "steering_wheel")
"""Channels of the motion that may stay constant, or change in steps, on purpose."""
_ANGLES = ("yaw", "course")
"""Channels whose values jump by a turn."""
_ACCELERATIONS = ("a_x", "a_y", "a_z")
DRIVING = frozenset(
    {"v_x", "speed", "steer", "steering_wheel", "wheel_speed"}
    | {f"{kind}_{wheel}" for kind in ("wheel_speed", "spin") for wheel in _WHEELS}
)
"""Channels that drive a replay, in which noise would become forces. Others are compared with a
simulation, which is not filtered either."""
_MAIN = ("omega", "yaw", "v_x", "a_y", "x", "latitude", "speed")
"""Channels of which the fastest sets the period of the grid."""
LONGEST_GAP: s = 0.5
"""Longest stretch without a value that is interpolated, unless samples are rarer."""
SHORTEST_PERIOD: s = 0.01
"""Shortest period of the grid unless one is given: motion of vehicles is slower than 10 Hz."""
_ENDS: s = 1.0
"""Longest stretch at the ends of a log that is left out because some channel lacks it."""
_EVEN: one = 0.01
"""Largest deviation of stamps from even ones, as a share of the period."""
_LEAST_ROWS = 10
_SLOWEST_CUTOFF = 2.0
"""Lowest cutoff in Hz that is chosen automatically; the yaw of a car is as fast."""
_WORTH: one = 0.5
"""Mean square error over that without a filter, above which a channel is not filtered."""


class Line(NamedTuple):
    """One line of the report of a preparation."""

    step: str
    """Name of the step, as in `STEPS`, or `grid`."""
    channel: str
    """Channel, or several separated by commas."""
    text: str
    """What was done, how much and why."""
    share: one = 0.0
    """Share of the samples that were changed or left out."""

    def __str__(self) -> str:
        return f"{self.step}: {self.channel}: {self.text}"


@dataclass(frozen=True)
class Prepared:
    """The channels of a log on one even grid, in SI and ISO 8855."""

    name: str
    t: Array
    """Times in s, (n,), as in the log."""
    dt: s
    """Period of the grid."""
    channels: Mapping[str, Array]
    """Values by name, each (n,); NaN where nothing is known."""
    commands: Mapping[str, Channel]
    """Commands (`u_steer`) with their own times; each value holds until the next."""
    noise: Mapping[str, float]
    """Standard deviation of the noise of each measured channel, before filtering."""
    latency: Mapping[str, Latency]
    """Latencies of channels; significant ones are corrected unless the step is left out."""
    gaps: tuple[tuple[s, s], ...]
    """Begin and end of the stretches over which most channels of the motion are unknown."""
    lines: tuple[Line, ...]
    """Changes and remarks, in the order of the steps."""
    derived: tuple[str, ...] = ()
    """Channels that were computed from others, and contain no more than their sources."""

    __repr__ = brief_repr

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __getitem__(self, name: str) -> Array:
        if name not in self.channels:
            raise InvalidValue(
                f"{self.name} has no channel {name!r}. It has {', '.join(self.channels) or 'none'}"
            )
        return self.channels[name]


@dataclass
class _Work:
    """The state of a log between the steps, and the arguments of `prepare`."""

    log: Log
    without: frozenset[str]
    period: s | None
    reference: str
    gap: s
    imu: tuple[m, m] | None
    antenna: tuple[m, m]
    wheel_radius: m | None
    cutoff: float | None
    bank: bool
    channels: dict[str, Channel] = field(init=False)
    """Channels, including commands, with their own times."""
    lines: list[Line] = field(default_factory=list[Line])
    latency: dict[str, Latency] = field(default_factory=dict[str, Latency])
    noise: dict[str, float] = field(default_factory=dict[str, float])
    t: Array = field(default_factory=lambda: np.empty(0))
    """Times of the grid, empty before it is made."""
    dt: s = 0.0
    rows: dict[str, Array] = field(default_factory=dict[str, Array])
    """Channels on the grid."""
    unfiltered: dict[str, Channel] = field(default_factory=dict[str, Channel])
    """Channels that are filtered for the steps that follow only."""
    noise_rows: dict[str, Array] = field(default_factory=dict[str, Array])
    """What the filter took out of them, on the grid."""
    derived: list[str] = field(default_factory=list[str])
    """Channels that were computed from others."""

    def __post_init__(self) -> None:
        self.name = self.log.name
        # In a recording of a simulation, the states have the plain names.
        known = self.log.channels
        reported = {k.removeprefix("out_"): v for k, v in known.items() if k[:4] == "out_"}
        self.channels = {k: v for k, v in known.items() if k[:4] != "out_"} | reported

    def say(self, step: str, channel: str | Iterable[str], text: str, share: float = 0.0) -> None:
        label = channel if isinstance(channel, str) else listed(list(channel), 12)
        self.lines.append(Line(step, label, text, float(share)))

    def by_clock(self) -> list[list[str]]:
        """Names of the channels that share their times."""
        groups: dict[int, list[str]] = {}
        for name, channel in self.channels.items():
            groups.setdefault(id(channel.t), []).append(name)
        return list(groups.values())

    def known(self, name: str) -> Channel:
        """The samples of a channel that have a value, without jumps of a turn."""
        channel = self.channels[name]
        known = np.isfinite(channel.values)
        values = channel.values[known]
        values = np.unwrap(values) if name in _ANGLES else values
        return channel._replace(t=channel.t[known], values=values)


def prepare(
    log: Log,
    *,
    period: s | None = None,
    without: Collection[str] = (),
    reference: str = "omega",
    gap: s = LONGEST_GAP,
    imu: tuple[m, m] | None = None,
    antenna: tuple[m, m] = (0.0, 0.0),
    wheel_radius: m | None = None,
    cutoff: float | None = None,
    bank: bool = False,
) -> Prepared:
    """Clean, align, correct and resample the channels of a log; the log itself stays as it is.

    Args:
        log: the log, from `read_log`.
        period: period of the grid in s. By default that of the fastest of yaw rate, heading, speed,
            lateral acceleration and position, but at least 0.01 s.
        without: names of steps to leave out, see `STEPS`.
        reference: channel whose times are right; the others are moved to it.
        gap: longest stretch without samples that is interpolated, in s; in a channel with rarer
            samples, five of its periods.
        imu: place of the accelerometers in m, forward and to the left of the point that `v_x` and
            `v_y` belong to. Estimated by default, if the log has the lateral velocity.
        antenna: place of the GNSS antenna in m relative to the same point.
        wheel_radius: rolling radius of the wheels in m, for wheel speeds in rad/s. Estimated by
            default, if the log has a speed over ground.
        cutoff: frequency of the low-pass filter in Hz. By default one for each channel, where its
            motion sinks into its noise, and at least 2 Hz.
        bank: add the bank of the road as a channel, from the difference of the lateral acceleration
            from speed times yaw rate; for accelerometers on banked tracks, whose cars a replay
            would otherwise give too much tyre force.

    Raises:
        InvalidValue: if the log has too few samples, or channels that contradict each other.
    """
    unknown = [name for name in without if name not in STEPS]
    if unknown:
        raise InvalidValue(f"without = {unknown[0]!r}: allowed are {', '.join(STEPS)}")
    for label, value, unit in (
        *(("period", period, "s"), ("gap", gap, "s")),
        *(("wheel_radius", wheel_radius, "m"), ("cutoff", cutoff, "Hz")),
    ):
        if value is not None:
            positive(label, value, unit)
    left_out = frozenset(without)
    work = _Work(log, left_out, period, reference, gap, imu, antenna, wheel_radius, cutoff, bank)
    for name, step in STEPS.items():
        if name == "filter":
            measured = [each for each in MOTION if each in work.channels]
            work.noise = {each: cleaning.noise_level(work.known(each).values) for each in measured}
        if name == "wheels":
            _grid(work)
        if name not in left_out:
            for each in step(work) or ():
                work.say(name, each.channel, each.text, each.share)
                if each.latency is not None:
                    value, half = each.latency
                    work.latency[each.channel] = Latency(value, value - half, value + half)
    for name, noise in work.noise_rows.items():
        work.rows[name] = work.rows[name] + noise
    unknown_rows = [np.isnan(work.rows[each]) for each in MOTION if each in work.rows]
    lost = np.mean(unknown_rows, axis=0) > 0.5
    gaps = [(float(work.t[a]), float(work.t[b - 1])) for a, b in stretches(cast("Mask", lost))]
    commands = {k: work.known(k) for k in work.channels if k.startswith("u_")}
    return Prepared(
        *(work.name, work.t, work.dt, work.rows, commands),
        *(work.noise, work.latency, tuple(gaps), tuple(work.lines), tuple(work.derived)),
    )


STEPS: dict[str, Callable[[_Work], Iterator[Correction] | None]] = {}
"""The steps of a preparation by name, in their order; the common grid is made before `wheels`."""
T = TypeVar("T", bound="Callable[[_Work], Iterator[Correction] | None]")


def _step(function: T) -> T:
    """Make a function the next step, under its name."""
    STEPS[function.__name__.removeprefix("_")] = function
    return function


@_step
def _stamps(work: _Work) -> None:
    for names in work.by_clock():
        t = work.channels[names[0]].t
        if np.isfinite(t).all() and (np.diff(t) > 0.0).all():
            continue
        mended = cleaning.repair_stamps(t)
        for name in names:
            own = work.channels[name]
            work.channels[name] = own._replace(t=mended.t, values=own.values[mended.rows])
        for count, why in (
            (mended.repeated, "repeat that of another"),
            (mended.backward, "are out of order or no numbers"),
        ):
            if count:
                text = f"{count} of {len(t)} samples left out, whose stamps {why}"
                work.say("stamps", names, text, count / len(t))
        for at, back in mended.jumps:
            text = f"the clock was set back by {back:.6g} s at t = {at:.6g} s; later stamps are "
            text += "moved, so that time continues"
            work.say("stamps", names, text, float(np.mean(mended.t > at)))


@_step
def _repeats(work: _Work) -> None:
    sensed = [name for name in MOTION if name not in _ACTUATED]
    for names in work.by_clock():
        t = work.channels[names[0]].t
        columns = {n: work.channels[n].values for n in names if not n.startswith("u_")}
        for clock in cleaning.slower_clocks(columns, period(t), sensed):
            for name in clock.columns:
                own = work.channels[name]
                work.channels[name] = own._replace(t=t[clock.ticks], values=own.values[clock.ticks])
            text = f"a clock of {1.0 / period(t[clock.ticks]):.3g} Hz in {1.0 / period(t):.3g} "
            text += "rows a second: rows that repeat the last value left out"
            work.say("repeats", clock.columns, text, 1.0 - clock.ticks.mean())


@_step
def _gaps(work: _Work) -> None:
    found: dict[tuple[str, float], list[str]] = {}
    for name, channel in work.channels.items():
        known = work.known(name)
        lost = ~np.isfinite(channel.values)
        limit = cleaning.allowed_gap(known.t, work.gap)
        steps = np.diff(known.t)
        wide, short = np.flatnonzero(steps > limit), steps[steps <= limit]
        parts: list[str] = []
        if lost.any():
            text = f"no value in {int(lost.sum())} of {len(lost)} samples"
            infinite = int(np.isinf(channel.values).sum())
            text += f" ({infinite} of them infinite)" if infinite else ""
            text += f", the first at t = {channel.t[int(lost.argmax())]:.6g} s: "
            text += "the last value is held" if name.startswith("u_") else "interpolated"
            parts.append(text + (f", over {short.max():.3g} s at most" if len(short) else ""))
            if len(known.t) and (lost[0] or lost[-1]):
                ends = [f"before {known.t[0]:.6g} s"] * bool(lost[0])
                ends += [f"after {known.t[-1]:.6g} s"] * bool(lost[-1])
                parts.append(f"it has none {' and '.join(ends)}")
        if len(wide) and not name.startswith("u_"):
            text = f"no value from t = {known.t[wide[0]]:.6g} to {known.t[wide[0] + 1]:.6g} s"
            text += f", and {len(wide) - 1} more such gaps" if len(wide) > 1 else ""
            parts.append(f"{text}: left unknown, as gaps up to {limit:.3g} s are interpolated")
        if parts:
            found.setdefault(("; ".join(parts), float(lost.mean())), []).append(name)
    for (text, share), names in found.items():
        work.say("gaps", names, text, share)


@_step
def _frozen(work: _Work) -> None:
    for name in (n for n in MOTION if n in work.channels and n not in _ACTUATED):
        own = work.known(name)
        if name in ("v_y", "sideslip") and len(own.t) and not np.ptp(own.values):
            turns = cleaning.moves(work.channels, own.t[0], own.t[-1], ("omega", "yaw", "a_y"))
            if turns and not cleaning.rolls_along(work.channels):
                del work.channels[name]
                text = (
                    f"exactly {own.values[0]:.6g} throughout, also in turns: left out, as it is no "
                )
                text += "measurement, or that of an axle that cannot slide"
                work.say("frozen", name, text, 1.0)
            continue
        others = [n for n in MOTION if n in work.channels and n not in (name, *_ACTUATED)]
        found = [
            (a, b)
            for a, b in cleaning.frozen_stretches(own)
            if cleaning.moves(work.channels, own.t[a], own.t[b - 1], others)
        ]
        if not found:
            continue
        values = own.values.copy()
        for a, b in found:
            values[a + 1 : b] = np.nan
        work.channels[name] = own._replace(values=values)
        a, b = max(found, key=lambda ab: ab[1] - ab[0])
        count = sum(b - a - 1 for a, b in found)
        text = f"exactly {own.values[a]:.6g} from t = {own.t[a]:.6g} to {own.t[b - 1]:.6g} s while "
        text += f"the vehicle moves: {count} of {len(values)} samples made unknown"
        work.say("frozen", name, text, count / len(values))


@_step
def _spikes(work: _Work) -> None:
    names = [name for name in MOTION if name in work.channels]
    _jumps(work)
    known = {name: work.known(name) for name in names}
    marked = {
        name: cleaning.spikes(own.values, 2.0 if name in _ACCELERATIONS else 1.0)
        for name, own in known.items()
    }
    for name, own in known.items():
        wrong = marked[name]
        if name in _ACCELERATIONS:
            # Accelerations that peak together, and nothing else, are those of an impact.
            times = {n: own.t[marked[n]] for n, own in known.items() if n != name}
            peaks = [t for n, t in times.items() if n in _ACCELERATIONS]
            rest = [t for n, t in times.items() if n not in _ACCELERATIONS]
            hits = np.setdiff1d(np.concatenate([*peaks, []]), np.concatenate([*rest, []]))
            impact = wrong & np.isin(own.t, hits)
            if impact.any():
                wrong = wrong & ~impact
                text = f"{int(impact.sum())} peaks kept, the first at t = {own.t[impact][0]:.6g} "
                text += "s: another acceleration peaks with them, as in an impact"
                work.say("spikes", name, text)
        if wrong.any():
            largest = int(np.argmax(np.abs(own.values - np.median(own.values)) * wrong))
            work.channels[name] = own._replace(t=own.t[~wrong], values=own.values[~wrong])
            text = f"{int(wrong.sum())} of {len(wrong)} samples left out, which leave the signal "
            text += f"and return at once, as {own.values[largest]:.4g} at t = "
            work.say("spikes", name, f"{text}{own.t[largest]:.6g} s", wrong.mean())


def _jumps(work: _Work) -> None:
    """Leave out positions that jump away and back, as of a camera that saw something else."""
    if not {"x", "y"} <= work.channels.keys():
        return
    x, y = work.channels["x"], work.channels["y"]
    known = np.isfinite(x.values)
    if not np.array_equal(x.t, y.t) or not np.array_equal(known, np.isfinite(y.values)):
        return
    speeds = [work.known(n).values for n in ("v_x", "speed", "wheel_speed") if n in work.channels]
    fastest = 3.0 * max((float(np.abs(v).max(initial=0.0)) for v in speeds), default=0.0)
    t = x.t[known]
    wrong = cleaning.jumps(t, x.values[known], y.values[known], fastest or cleaning.FASTEST)
    if not wrong.any():
        return
    gone = t[wrong]
    names = [n for n in ("x", "y", "yaw")
             if n in work.channels and np.array_equal(work.channels[n].t, x.t)]  # fmt: skip
    for name in names:
        own = work.channels[name]
        stays = ~np.isin(own.t, gone)
        work.channels[name] = own._replace(t=own.t[stays], values=own.values[stays])
    text = f"{len(gone)} of {len(t)} samples left out, the first at t = {gone[0]:.6g} s: the "
    work.say("spikes", names, f"{text}position jumps away and back", len(gone) / len(t))


@_step
def _gnss(work: _Work) -> None:
    if not {"latitude", "longitude"} <= work.channels.keys() or "x" in work.channels:
        return
    used = {n: work.known(n) for n in ("latitude", "longitude", "height") if n in work.channels}
    made, text = local_axes(work.name, used)
    work.channels |= made
    work.say("gnss", made, text)


@_step
def _axes(work: _Work) -> None:
    speed = next((n for n in ("v_x", "wheel_speed", "speed") if n in work.channels), "")
    if not speed or not {"a_x", "a_y", "omega"} <= work.channels.keys():
        return
    used = {new: work.known(old) for new, old in
            (("v_x", speed), ("omega", "omega"), ("a_x", "a_x"), ("a_y", "a_y"))}  # fmt: skip
    if min(len(own.t) for own in used.values()) < _LEAST_ROWS:
        return
    dt = max(period(own.t) for own in used.values())
    begin, end = max(own.t[0] for own in used.values()), min(own.t[-1] for own in used.values())
    t: Array = np.arange(begin, end, dt)
    rows = {name: on_grid(own, t, work.gap) for name, own in used.items()}
    turn, alike = quarter_turn(rows, dt)
    if turn:
        a_x, a_y = work.channels["a_x"], work.channels["a_y"]
        work.channels["a_x"] = a_y._replace(values=-turn * a_y.values)
        work.channels["a_y"] = a_x._replace(values=turn * a_x.values)
        side = "left" if turn > 0 else "right"
        text = f"the sensor is mounted a quarter turn to the {side}, as the rates of v_x and yaw "
        work.say("axes", ("a_x", "a_y"), f"{text}show (correlation {alike:.2f}): turned back", 1.0)


@_step
def _latency(work: _Work) -> None:
    clean = {n: work.known(n) for n in work.channels if not n.startswith("u_")}
    usable = {name: own for name, own in clean.items() if len(own.t) >= _LEAST_ROWS}
    found = find_latencies(usable, reference=work.reference, gap=work.gap)
    said: dict[str, list[str]] = {}
    for name, each in found.items():
        value, low, high = each.latency
        if not each.doubt:
            work.latency[name] = each.latency
        if not each.matters:
            continue
        low, high = sorted((abs(low), abs(high)))
        text = f"{abs(value):.4f} s ({low:.4f} to {high:.4f} s) "
        text += f"{'ahead of' if value < 0.0 else 'behind'} {each.against}"
        if each.doubt:
            text += f"; {each.doubt}, so its times stay"
        else:
            own = work.channels[name]
            work.channels[name] = own._replace(t=own.t - value)
            text += f": moved {'later' if value < 0.0 else 'earlier'}"
        said.setdefault(text, []).append(name)
    for text, names in said.items():
        work.say("latency", names, text, float(text.endswith("lier") or text.endswith("later")))


@_step
def _filter(work: _Work) -> None:
    for_good: dict[str, float] = {}
    for_steps: dict[str, float] = {}
    for name in (n for n in MOTION if n in work.channels):
        own = work.known(name)
        if len(own.t) < 4 * _LEAST_ROWS:
            continue
        even, dt = _even(own, work.gap)
        asked = work.cutoff
        cutoff = _best_cutoff(even.values, work.noise[name], dt) if asked is None else asked
        if cutoff is None or cutoff >= 0.45 / dt:
            continue
        values = low_pass(even.values, cutoff, dt)
        known = np.isfinite(values)
        passing = asked is None and name not in DRIVING
        if passing:
            work.unfiltered[name] = own
        work.channels[name] = own._replace(t=even.t[known], values=values[known])
        (for_steps if passing else for_good)[name] = cutoff
    texts: list[str] = []
    for cutoffs, suffix in (
        (for_good, ""),
        (for_steps, " for the steps below, while the result keeps the noise"),
    ):
        at: dict[str, list[str]] = {}
        for name, cutoff in cutoffs.items():
            at.setdefault(f"{cutoff:.3g} Hz", []).append(name)
        parts = [f"at {cutoff} ({', '.join(names)})" for cutoff, names in at.items()]
        texts += [f"{', '.join(parts)}{suffix}"] * bool(parts)
    if texts:
        text = f"low-pass filter {'; '.join(texts)}"
        work.say("filter", ", ".join((*for_good, *for_steps)), text, 1.0)


def _even(own: Channel, gap: s) -> tuple[Channel, s]:
    """A channel at even times with its own period."""
    dt = period(own.t)
    count = int((own.t[-1] - own.t[0]) / dt + 1e-6) + 1
    t: Array = own.t[0] + dt * np.arange(count, dtype=float)
    return own._replace(t=t, values=on_grid(own, t, gap)), dt


def _best_cutoff(values: Array, noise: float, dt: s) -> float | None:
    """Cutoff with the least mean square error, of noise that passes and of motion that does not.

    None if a filter hardly helps.
    """
    from scipy.signal import welch

    begin, end = max(stretches(np.isfinite(values)), key=lambda ab: ab[1] - ab[0], default=(0, 0))
    if end - begin < 4 * _LEAST_ROWS or not noise > 0.0 or dt * _SLOWEST_CUTOFF > 0.4:
        return None
    segment = min(end - begin, max(int(8.0 / dt), (end - begin) // 8))
    frequencies, power = welch(values[begin:end], 1.0 / dt, nperseg=segment)
    floor = 2.0 * noise**2 * dt
    motion = np.maximum(power - floor, 0.0)
    cutoffs = np.geomspace(_SLOWEST_CUTOFF, 0.45 / dt, 60)
    passed = _gain(frequencies, cutoffs[:, None])
    errors = ((1.0 - passed) ** 2 * motion + passed**2 * floor).sum(axis=1)
    best = int(errors.argmin())
    return float(cutoffs[best]) if errors[best] < _WORTH * len(frequencies) * floor else None


def _gain(frequencies: Array, cutoff: Array | float) -> Array:
    """Gain of the filter, which passes twice."""
    return 1.0 / (1.0 + (frequencies / cutoff) ** 4)


def _grid(work: _Work) -> None:
    """Interpolate all channels to common even times."""
    channels = {n: own for n in work.channels if not n.startswith("u_")
                and len((own := work.known(n)).t) > 1}  # fmt: skip
    main = {name: channels[name] for name in MOTION if name in channels}
    if not main:
        raise InvalidValue(
            f"{work.name} has no channel of a motion, such as v_x, omega, or x and y. It has "
            f"{', '.join(work.channels) or 'none'}"
        )
    timing = min(
        (main[n] for n in (_MAIN if main.keys() & set(_MAIN) else main) if n in main),
        key=lambda own: period(own.t),
    )
    dt = work.period or max(period(timing.t), SHORTEST_PERIOD)
    begin, end = _span(work, list(main.values()))
    steps = np.diff(timing.t)
    if work.period is None and dt < 1.5 * period(timing.t):
        even = np.abs(steps - dt).max() < _EVEN * dt
        # The mean period of even stamps, so that the grid does not drift away from them.
        dt = float(f"{steps.mean():.9g}" if even else f"{dt:.3g}")
        begin = float(timing.t[0]) - dt * np.floor((timing.t[0] - begin) / dt + _EVEN)
    count = int(np.floor((end - begin) / dt + 1e-6)) + 1
    if count < _LEAST_ROWS:
        raise InvalidValue(
            f"{work.name} has {max(count, 0)} samples in steps of {dt:.4g} s; at least "
            f"{_LEAST_ROWS} are needed"
        )
    work.t, work.dt = begin + dt * np.arange(count, dtype=float), dt
    gap = 1e300 if "gaps" in work.without else work.gap
    faster: dict[str, list[str]] = {}
    for name, own in channels.items():
        if name in MOTION and period(own.t) < 0.75 * dt:
            # Without the frequencies that the grid cannot hold.
            even, own_dt = _even(own, gap)
            values = low_pass(even.values, 0.4 / dt, own_dt)
            known = np.isfinite(values)
            own = even._replace(t=even.t[known], values=values[known])
            faster.setdefault(f"{1.0 / own_dt:.4g}", []).append(name)
        work.rows[name] = on_grid(own, work.t, gap)
        if name in work.unfiltered:
            raw = on_grid(work.unfiltered[name], work.t, gap)
            work.noise_rows[name] = raw - work.rows[name]
    for rate, names in faster.items():
        work.say("grid", names, f"{rate} samples a second averaged to {1.0 / dt:.4g}", 1.0)


def _span(work: _Work, channels: list[Channel]) -> tuple[s, s]:
    """Begin and end of the grid: without short stretches at the ends that a channel lacks."""
    first, last = ([float(own.t[k]) for own in channels] for k in (0, -1))
    begin = max(t for t in first if t < min(first) + _ENDS)
    end = min(t for t in last if t > max(last) - _ENDS)
    cut = begin - min(first), max(last) - end
    if max(cut) > SHORTEST_PERIOD:
        text = f"the first {cut[0]:.3g} s and the last {cut[1]:.3g} s left out, which some "
        work.say("grid", "t", f"{text}channels lack", sum(cut) / (max(last) - min(first)))
    return begin, end


@_step
def _wheels(work: _Work) -> Iterator[Correction]:
    return speed_of_wheels(work.rows, work.dt, work.wheel_radius)


@_step
def _derive(work: _Work) -> Iterator[Correction]:
    before = set(work.rows)
    yield from missing_channels(work.rows, work.dt, work.antenna)
    work.derived += sorted(work.rows.keys() - before)


@_step
def _consistency(work: _Work) -> Iterator[Correction]:
    checked = ("v_x", "v_y", "omega", "yaw", "a_x", "a_y", "sideslip", "x", "y", "roll", "pitch")
    rows = {n: work.rows[n] for n in (*checked, "steer", "steering_wheel") if n in work.rows}
    rows = {name: values for name, values in rows.items() if np.isfinite(values).mean() > 0.5}
    if "v_x" not in rows:
        return
    known = cast("Mask", np.isfinite(np.array(list(rows.values()))).all(axis=0))
    begin, end = max(stretches(known), key=lambda ab: ab[1] - ab[0], default=(0, 0))
    if end - begin >= 2 * _LEAST_ROWS:
        part = {name: values[begin:end] for name, values in rows.items()}
        for note in check_columns(work.name, work.t[begin:end], part):
            yield Correction(listed(list(rows), 12), note, 0.0)


@_step
def _bank(work: _Work) -> Iterator[Correction]:
    if work.bank:
        work.rows["bank"], text = road_bank(work.name, work.rows, work.dt)
        work.derived.append("bank")
        yield Correction("bank", text, 0.0)


@_step
def _gravity(work: _Work) -> Iterator[Correction]:
    return remove_gravity(work.rows, work.dt)


@_step
def _imu(work: _Work) -> Iterator[Correction]:
    return correct_imu(work.rows, work.dt, work.imu)
