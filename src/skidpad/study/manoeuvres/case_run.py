"""What was driven: signals over time of all variants of a vehicle, and what they tell.

Motion is that of the centre of mass, whatever point the vehicle's state is about. Signals have the
shape (T, V): samples and variants. A measured log becomes a run with V = 1 (`from_columns`).

Look here for the response to a step, times at which signals pass a level, and the settings that a
log was driven with: from which speed and how hard it braked, how and to which side it steered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import m_s, m_s2, one, rad, s
from ..identify.log import how_to_name, nearest
from .driver import Memory

OK = "done"
"""How a drive ended that nothing went wrong in."""
SPUN: rad = np.deg2rad(60.0)
"""Sideslip from which on a vehicle counts as spun."""
MOVING: m_s = 2.0
"""Speed below which sideslip means nothing."""
MOST_NAMED = 4
"""Drives that a note names."""
MOST_COLUMNS = 12
"""Columns that a message names."""
TIPPED: s = 0.3
"""Time with both wheels of a side in the air from which on it counts as rolled over."""


class Source(NamedTuple):
    """What is known of the signals of a log, apart from their values."""

    steady: frozenset[str] = frozenset()
    """Signals that are right while nothing changes, and unknown when something does."""
    unused: tuple[str, ...] = ()
    """Columns of the log that are no signals."""

    @property
    def listed(self) -> str:
        """The columns that are not used, for messages."""
        more = len(self.unused) - MOST_COLUMNS
        return ", ".join(self.unused[:MOST_COLUMNS]) + (f" and {more} more" if more > 0 else "")


NOTHING = Source()


@dataclass(frozen=True, eq=False)
class CaseRun:
    """Signals of one case."""

    label: str
    t: Array
    """Times in s, (T,); negative during the run-in."""
    signals: Mapping[str, Array]
    """By name, each (T, V); see `docs/proving_ground.md` for their names and signs."""
    states: Array | None = None
    """Of the vehicle, (T, V, nx); None of a log."""
    inputs: Array | None = None
    """Of the vehicle, (T, V, nu); None of a log."""
    source: Source = NOTHING
    """Of a log; empty of a simulated drive."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.signals:
            known = ", ".join(sorted(self.signals))
            raise InvalidValue(f"{self.label} has no signal {name!r}; there are {known}")
        return self.signals[name]

    def __contains__(self, name: str) -> bool:
        return name in self.signals

    def changing(self, name: str) -> Array:
        """A signal for what changes in it, (T, V): NaN if it is right in a steady state alone."""
        values = self[name]
        return np.full(values.shape, np.nan) if name in self.source.steady else values

    @property
    def variants(self) -> int:
        """How many vehicles drove it."""
        return next(iter(self.signals.values())).shape[1]

    def since(self, begin: s, end: s = np.inf) -> CaseRun:
        """The part between two times."""
        first = int(np.searchsorted(self.t, begin - 1e-9))
        rows = slice(first, int(np.searchsorted(self.t, end + 1e-9, side="right")))
        return self._cut(self.t[rows], np.s_[rows])

    def variant(self, k: int) -> CaseRun:
        """One of the vehicles alone."""
        return self._cut(self.t, np.s_[:, k : k + 1])

    def _cut(self, t: Array, part: Any) -> CaseRun:
        signals = {name: values[part] for name, values in self.signals.items()}
        states, inputs = (
            None if rows is None else rows[part] for rows in (self.states, self.inputs)
        )
        return CaseRun(self.label, t, signals, states, inputs, self.source)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """How it ended for each variant: "done", "diverged", "rolled over" or "spun"."""
        diverged: Any = ~np.isfinite(self["v_x"]).all(axis=0)
        moving = np.hypot(self["v_x"], self["v_y"]) > MOVING
        spun: Any = (moving & (np.abs(self["sideslip"]) > SPUN)).any(axis=0)
        happened = {"diverged": diverged, "rolled over": self._rolled_over(), "spun": spun}
        return tuple(
            next((name for name, those in happened.items() if those[k]), OK)
            for k in range(self.variants)
        )

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which variants came through, (V,)."""
        return np.array([outcome == OK for outcome in self.outcomes])

    def _rolled_over(self) -> NDArray[np.bool_]:
        sides = [("F_z_fl", "F_z_rl"), ("F_z_fr", "F_z_rr")]
        if any(name not in self for side in sides for name in side):
            return np.zeros(self.variants, dtype=bool)
        samples = max(int(TIPPED / (self.t[1] - self.t[0])), 1)
        rolled = np.zeros(self.variants, dtype=bool)
        for side in sides:
            air = np.logical_and.reduce([self[name] <= 1.0 for name in side])
            count = np.cumsum(air, axis=0)
            rolled |= (count[samples:] - count[:-samples] >= samples).any(axis=0)
        return rolled


def all_done(runs: Sequence[CaseRun]) -> NDArray[np.bool_]:
    """Which variants came through all of several runs, (V,)."""
    return np.logical_and.reduce([run.done for run in runs])


def endings(runs: Sequence[CaseRun]) -> list[str]:
    """How runs ended in which something went wrong for the first variant: a note for each kind."""
    kinds: dict[str, list[str]] = {}
    for run in runs:
        if run.outcomes[0] != OK:
            kinds.setdefault(run.outcomes[0], []).append(run.label)
    return [
        f"{kind}: {'; '.join(labels[:MOST_NAMED])}"
        + (f" and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else "")
        for kind, labels in kinds.items()
    ]


def pick(runs: Sequence[CaseRun], which: Any) -> CaseRun:
    """One run in which each variant drives that of its number in `which`, (V,), of several runs
    that are as long."""
    first, column = runs[int(which[0])], np.arange(len(which))

    def each(parts: Sequence[Any]) -> Array:
        return np.stack(parts)[which, :, column].swapaxes(0, 1)

    signals = {name: each([run[name] for run in runs]) for name in first.signals}
    states = None if first.states is None else each([run.states for run in runs])
    inputs = None if first.inputs is None else each([run.inputs for run in runs])
    return CaseRun(first.label, first.t, signals, states, inputs, first.source)


def from_columns(
    label: str, t: Any, columns: Mapping[str, Any], source: Source = NOTHING
) -> CaseRun:
    """A measured log: times in s, (T,), and signals by the names of `CaseRun`, each (T,)."""
    times = np.asarray(t, dtype=float)
    signals = {name: np.asarray(values, dtype=float)[:, None] for name, values in columns.items()}
    for name, values in signals.items():
        if len(values) != len(times):
            raise InvalidValue(f"{name} has {len(values)} samples; expected {len(times)}, as t")
    return CaseRun(label, times, signals, source=source)


WHEEL_FIELDS = ("F_x", "F_y", "F_z", "spin")
"""Of each wheel that tells them: `F_z_fl` and so on, in N, and rad/s."""
ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Outputs that are accelerations along and across a vehicle."""
POSTURE = ("roll", "pitch", "heave", "a_z")
"""States or outputs that tell how the body sits, and its acceleration off the road."""


def signals_of(
    vehicle: Vehicle,
    t: Array,
    states: Array,
    memory: Array,
    outputs: Array,
    Outputs: type,
    params: Mapping[str, Array],
) -> CaseRun:
    """The signals of a drive: states (T, V, nx), memory and outputs of the driven vehicle."""
    names = record.names(Outputs)
    commands = [k for k, name in enumerate(names) if name.startswith("command.")]
    inputs = outputs[..., commands[0] : commands[-1] + 1]  # side by side, so no copy
    told = {name.removeprefix("own."): outputs[..., k] for k, name in enumerate(names)}
    x = record.unflatten(vehicle.State, list(np.moveaxis(states, -1, 0)))
    u = record.unflatten(vehicle.Input, list(np.moveaxis(inputs, -1, 0)))
    fields = dict(zip(record.names(vehicle.State), np.moveaxis(states, -1, 0), strict=True)) | told
    signals = _motion(vehicle, t, x, u, params_of(vehicle, params), told)
    remembered = record.unflatten(Memory, list(np.moveaxis(memory, -1, 0)))
    signals["progress"] = remembered.progress
    for wheel in vehicle.geometry.wheels:
        for kind in WHEEL_FIELDS:
            field = getattr(wheel, kind)
            if field in fields:
                signals[f"{kind}_{wheel.name}"] = fields[field]
    signals |= {name: fields[name] for name in POSTURE if name in fields}
    wide = {name: np.broadcast_to(row, states.shape[:2]) for name, row in signals.items()}
    return CaseRun("", t, wide, states, inputs)


def params_of(vehicle: Vehicle, changes: Mapping[str, Array]) -> Any:
    """Parameters of all variants, each a number or (V,)."""
    pairs = zip(record.names(vehicle.model.Params), record.flatten(vehicle.params), strict=True)
    return record.unflatten(
        vehicle.model.Params, [changes.get(name, value) for name, value in pairs]
    )


def _motion(
    vehicle: Vehicle, t: Array, x: Any, u: Any, p: Any, outputs: Mapping[str, Array]
) -> dict[str, Array]:
    """Motion of the centre of mass."""
    body, com = vehicle.body, vehicle.geometry.centre_of_mass
    pose, now = body.pose(x, p), body.velocity(x, u, p)
    c, s = np.cos(pose.yaw), np.sin(pose.yaw)
    v_x, v_y = now.v_x - com[1] * now.omega, now.v_y + com[0] * now.omega
    wide: Any = np.broadcast_to
    shape = np.shape(pose.x)
    signals: dict[str, Any] = {
        "x": pose.x + com[0] * c - com[1] * s,
        "y": pose.y + com[0] * s + com[1] * c,
        "yaw": pose.yaw,
        "v_x": v_x,
        "v_y": v_y,
        "omega": wide(now.omega, shape),
        "speed": np.hypot(v_x, v_y),
        "sideslip": np.arctan2(v_y, v_x),
    }
    if body.steer is not None:
        signals["steer"] = wide(body.steer(x, u, p), shape)
    pair = next((pair for pair in ACCELERATIONS if set(pair) <= set(outputs)), ("a_x", "a_y"))
    # Told is better than a difference of samples; a model may tell one of the two.
    rates = zip((v_x, v_y), (-v_y * now.omega, v_x * now.omega), strict=True)
    a_x, a_y = (
        outputs[name] if name in outputs else np.gradient(wide(v, shape), t, axis=0) + turn
        for name, (v, turn) in zip(pair, rates, strict=True)
    )
    return signals | {"a_x": wide(a_x, shape), "a_y": wide(a_y, shape)}


AVERAGED: s = 0.5
"""At the end of a run, over which the steady value is averaged."""
LEAST_PEAK = 5e-4
"""Overshoot below which an answer has no peak: the highest sample of one that creeps up is any."""


class StepResponse(NamedTuple):
    """Each (V,)."""

    steady: Array
    """Mean at the end, without its sign; all others are NaN of a signal that is right in a steady
    state alone."""
    rise: Array
    """From the step to 90 % of it, in s."""
    peak_time: Array
    """From the step to the peak, in s; NaN where it only creeps up, and has none."""
    overshoot: Array
    """Peak over steady value, less one; 0 where it only creeps up."""


def step_response(run: CaseRun, name: str, at: s) -> StepResponse:
    """Of a signal to a step at a time."""
    steady = run.since(run.t[-1] - AVERAGED)[name].mean(axis=0)
    kept = run.since(0.0)
    answer = kept.changing(name) / np.where(steady == 0.0, 1.0, steady)
    rise = first_time(kept.t, answer, 0.9) - at
    peak_time, peak = peak_of(kept.t, answer)
    peaks = peak > 1.0 + LEAST_PEAK
    peak_time = np.where(peaks, peak_time - at, np.nan)
    overshoot = np.where(peaks | np.isnan(peak), peak - 1.0, 0.0)
    return StepResponse(np.abs(steady), rise, peak_time, overshoot)


def first_time(t: Array, values: Array, level: float) -> Array:
    """When each column (T, V) first reaches a level, linear between samples; NaN if never."""
    above = values >= level
    k = np.argmax(above, axis=0)
    column = np.arange(values.shape[1])
    before = np.maximum(k - 1, 0)
    low, high = values[before, column], values[k, column]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(k > 0, (level - low) / (high - low), 0.0)
    return np.where(above.any(axis=0), t[before] + share * (t[k] - t[before]), np.nan)


def cubic_at(t: Array, values: Array, at: Array) -> Array:
    """Each column (T, V) at a time of its own, (V,), by a cubic through the four nearest samples;
    NaN at a time that is NaN."""
    step, column = t[1] - t[0], np.arange(values.shape[1])
    place = (np.nan_to_num(at) - t[0]) / step
    k = np.clip(np.floor(place).astype(int), 1, len(t) - 3)
    z = np.where(np.isfinite(at), place - k, np.nan)
    weights = (
        -z * (z - 1.0) * (z - 2.0) / 6.0,
        (z + 1.0) * (z - 1.0) * (z - 2.0) / 2.0,
        -(z + 1.0) * z * (z - 2.0) / 2.0,
        (z + 1.0) * z * (z - 1.0) / 6.0,
    )
    return sum((w * values[k + d, column] for d, w in enumerate(weights, -1)), 0.0 * z)


def passing_time(t: Array, values: Array, rates: Array, level: float) -> Array:
    """When each column (T, V) first reaches a level, by a cubic between samples, so that the
    sampling does not show; `rates` are those of the columns. NaN if never."""
    at = first_time(t, values, level)
    for _ in range(4):  # Newton's method, from a start that is wrong by less than a sample
        at = at - (cubic_at(t, values, at) - level) / cubic_at(t, rates, at)
    return at


def peak_of(t: Array, values: Array) -> tuple[Array, Array]:
    """Time and height of the peak of each column, by a parabola through the highest samples; the
    height is NaN of a column without numbers."""
    k = np.clip(np.argmax(np.nan_to_num(values, nan=-np.inf), axis=0), 1, len(t) - 2)
    column = np.arange(values.shape[1])
    a, b, c = (values[k + d, column] for d in (-1, 0, 1))
    bend = a - 2.0 * b + c
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(bend < 0.0, 0.5 * (a - c) / bend, 0.0)
    shift = np.clip(shift, -0.5, 0.5)
    return t[k] + shift * (t[1] - t[0]), b - 0.25 * (a - c) * shift


SLOWER: one = 0.95
"""Share of its speed at which a vehicle certainly slows down."""
CRUISING: one = 0.99
"""Share of the speed down to which it did not yet."""
STARTED: m_s = 0.5
"""Speed at which a vehicle that stood has started."""
BEFORE: s = 2.0
"""Over which the speed before a change is looked at."""
LEAST_LOSS: one = 0.05
"""Of the speed after that, without which a deceleration is not told."""
LOCKED: one = 0.5
"""Share of the speed of a rolling wheel below which one counts as locked."""
LEAST_TURN: m_s2 = 0.3
"""Lateral acceleration that a log of a turn needs."""
ALIKE: one = 0.95
"""Correlation with the angle of a test from which on a log is one of it."""
SIDES: Mapping[str, one] = {"left": 1.0, "right": -1.0}
BEGINNINGS: Mapping[str, one] = {"left first": 1.0, "right first": -1.0}
"""Sides to which manoeuvres are driven or begin, with their signs."""
FOLLOWS = {"a_y": ("omega", "yaw")}
"""Columns of which one is enough for a signal, in addition to `v_x`."""
CHANGING = {"a_y": ("v_y", "sideslip")}
"""Columns of which one is also needed where the signal changes."""
SAMPLE: s = 0.01
"""Of which durations of tests are multiples."""
SHORTLY: s = 0.5
"""Time before the test from which the speed at its beginning is found."""


@dataclass(frozen=True, eq=False)
class TimedDrive(CaseRun):
    """A log of which it is known that the test in it begins at zero."""

    @property
    def speed_at_zero(self) -> m_s:
        """By a straight line through what is shortly before, for noise."""
        v = self["v_x"][:, 0]
        just = (self.t >= -SHORTLY) & (self.t <= 0.0)
        if just.sum() < 5:
            return float(np.interp(0.0, self.t, v))
        return float(np.polyfit(self.t[just], v[just], 1)[1])


def lasting(most: s, drive: CaseRun, begin: s) -> s:
    """How long a test can be compared with a drive from a time on, in whole samples."""
    return min(most, SAMPLE * int((float(drive.t[-1]) - begin) / SAMPLE + 1e-6))


class Slowing(NamedTuple):
    """A drive that brakes or rolls out."""

    v: m_s
    """Before."""
    when: s
    """When it is first slower than 0.95 of that."""
    deceleration: m_s2
    """Mean from there to 0.1 of the speed, or as far as it goes."""


class Steering(NamedTuple):
    """A drive in which the wheels are turned."""

    v: m_s
    """Before."""
    when: s
    """When they first have half of their largest angle."""
    side: one
    """1 if that is to the left, -1 to the right."""
    angle: rad
    """The largest, without its sign."""

    def named(self, sides: Mapping[str, one]) -> tuple[str]:
        """The side to which the wheels are turned, of sides with their signs."""
        return (next(name for name, sign in sides.items() if sign == self.side),)


def must_tell(drive: CaseRun, name: str, why: str, *, changing: bool = False) -> None:
    """Raise InvalidValue unless a signal of a log has numbers, also where it changes if that is
    needed; the error names the columns that are there instead."""
    others = FOLLOWS.get(name, ())
    if name in drive and np.isfinite(drive[name]).all():
        if not (changing and name in drive.source.steady):
            return
        others = CHANGING[name]
    lacks = " or ".join(others)
    text = f"{drive.label} has no column {name}" + (
        f", nor {lacks} to make it from" if lacks else ""
    )
    free = drive.source.unused
    if free:
        meant = next((one for one in (name, *others) if nearest(one, free)), name)
        why += f". Columns that are not used: {drive.source.listed}; {how_to_name(meant, free)}"
    raise InvalidValue(f"{text}: {why}")


def must_turn(drive: CaseRun, a_y: m_s2, when: str, least: m_s2 = LEAST_TURN) -> None:
    """Raise InvalidValue unless the lateral acceleration of a log is large enough."""
    if not a_y > least:
        raise InvalidValue(
            f"{drive.label} turns with {a_y:.2f} m/s² {when}; at least {least:g} m/s² are needed"
        )


def must_follow(drive: CaseRun, angle: Array, reference: Array, what: str) -> None:
    """Raise InvalidValue unless the angle of a log is that of the test, up to a factor."""
    if not np.corrcoef(reference, angle)[0, 1] > ALIKE:
        raise InvalidValue(f"{drive.label} has no {what}: its wheels are turned otherwise")


def must_last(drive: CaseRun, end: s, least: s, form: str = ".2f") -> None:
    """Raise InvalidValue unless a log lasts long enough after the wheels are turned."""
    if end < least:
        raise InvalidValue(
            f"{drive.label} ends {end:.2f} s after the wheels are turned; {least:{form}} s are "
            "needed"
        )


def slowing_of(drive: CaseRun) -> Slowing:
    """How a drive slows down from its highest speed, or from where it begins, of its first
    variant."""
    t, v = drive.t, drive["v_x"][:, 0]
    if isinstance(drive, TimedDrive):
        top, fastest = int(np.searchsorted(t, 0.0)), drive.speed_at_zero
    else:
        top = int(np.argmax(_smooth(t, v)))
        fastest = _smooth(t, v)[top]
    when = _first(t[top:], -v[top:], -SLOWER * fastest)
    if not np.isfinite(when) or fastest <= STARTED:
        raise InvalidValue(
            f"{drive.label} does not slow down from {fastest:.1f} m/s: nothing brakes in it"
        )
    cruise = v[(t < when) & (t > when - BEFORE) & (v > CRUISING * fastest)]
    told = len(cruise) == 0 or isinstance(drive, TimedDrive)
    v_0 = float(fastest if told else np.median(cruise))
    when = _first(t[top:], -v[top:], -SLOWER * v_0)
    later = t >= when
    slowest = max(0.1 * v_0, float(_smooth(t, v)[later].min()))
    end = _first(t[later], -v[later], -slowest)
    if not SLOWER * v_0 - slowest > LEAST_LOSS * v_0:
        raise InvalidValue(
            f"{drive.label} slows down from {v_0:.1f} m/s to {slowest:.1f} m/s only: too little to "
            f"tell how hard it brakes"
        )
    lost = SLOWER * v_0 - float(np.interp(end, t, v))
    return Slowing(v_0, when, lost / (end - when))


def started_at(drive: CaseRun) -> s:
    """When a vehicle that stood has started; NaN if it never does."""
    return _first(drive.t, drive["v_x"][:, 0], STARTED)


def steering_of(drive: CaseRun) -> Steering:
    """How a drive is steered, of its first variant."""
    must_tell(drive, "steer", "how it was steered is not told")
    angle = drive["steer"][:, 0]
    most = np.abs(angle).max()
    if most == 0.0:
        raise InvalidValue(f"{drive.label} goes straight on: its wheels are never turned")
    when = _first(drive.t, np.abs(angle), 0.5 * most)
    side = float(np.sign(np.interp(when, drive.t, angle))) or 1.0
    if isinstance(drive, TimedDrive):
        return Steering(drive.speed_at_zero, when, side, float(most))
    before = drive.since(when - BEFORE, when)["v_x"][:, 0]
    v = float(before.mean()) if len(before) else float(drive["v_x"][0, 0])
    return Steering(v, when, side, float(most))


def locked_in(drive: CaseRun) -> bool:
    """Whether a wheel stands while the vehicle moves; False where wheels tell nothing."""
    v = drive["v_x"][:, 0]
    fast = v > 0.9 * v.max()
    moving = v > 3.0
    for name in (name for name in drive.signals if name.startswith("spin_")):
        spin = drive[name][:, 0]
        rolling = float(np.median(spin[fast] / v[fast]))
        if (moving & (spin < LOCKED * rolling * v)).sum() > 0.1 * moving.sum():
            return True
    return False


def _smooth(t: Array, values: Array, over: s = 0.2) -> Array:
    """Moving mean, for noise."""
    count = min(max(int(over / (t[1] - t[0])), 1), len(values)) | 1
    padded = np.pad(values, count // 2, mode="edge")
    return np.convolve(padded, np.full(count, 1.0 / count), mode="valid")


def _first(t: Array, values: Array, level: float) -> s:
    return float(first_time(t, values[:, None], level)[0])
