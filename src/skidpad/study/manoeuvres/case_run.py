"""Runs of cases: signals over time of all variants of a vehicle, and their evaluation.

Motion signals describe the centre of mass, whatever reference point the vehicle's state has.
Signals have the shape (T, V): samples and variants. A measured log becomes a run with V = 1
(`from_columns`).

Look here for step responses, times at which signals cross a level, and the settings of a measured
log: its speed, its deceleration, and how and to which side it was steered.
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
from ..logs.units import how_to_name, nearest
from .case import Memory

OK = "done"
"""Outcome of a run in which nothing went wrong."""
SPUN: rad = np.deg2rad(60.0)
"""Sideslip above which a vehicle counts as spun."""
MOVING: m_s = 2.0
"""Speed below which sideslip is not meaningful."""
MOST_NAMED = 4
"""Largest number of runs named in a note."""
MOST_COLUMNS = 12
"""Largest number of columns named in a message."""
TIPPED: s = 0.3
"""A vehicle counts as rolled over when both wheels of a side are off the ground for this
long."""


class Source(NamedTuple):
    """Data on the signals of a log: signals valid only in a steady state, and unused columns."""

    steady: frozenset[str] = frozenset()
    """Signals that are valid in a steady state only."""
    unused: tuple[str, ...] = ()
    """Columns of the log that are not used as signals."""

    @property
    def listed(self) -> str:
        """List of the unused columns as text, for messages."""
        more = len(self.unused) - MOST_COLUMNS
        return ", ".join(self.unused[:MOST_COLUMNS]) + (f" and {more} more" if more > 0 else "")


NOTHING = Source()


SLOWER: one = 0.95
"""Share of the initial speed below which a vehicle certainly slows down."""
CRUISING: one = 0.99
"""Share of the initial speed above which a vehicle does not slow down yet."""
STARTED: m_s = 0.5
"""Speed at which a vehicle counts as started from rest."""
BEFORE: s = 2.0
"""Time span for the speed before a change."""
LEAST_LOSS: one = 0.05
"""Least loss of speed, as a share of the speed, that allows a deceleration to be determined."""
LOCKED: one = 0.5
"""A wheel counts as locked if its rolling speed is below this share of the vehicle's speed."""
LEAST_TURN: m_s2 = 0.3
"""Least lateral acceleration of a log of a turn."""
ALIKE: one = 0.95
"""Least correlation between the steering angles of a log and of the test."""
SIDES: Mapping[str, one] = {"left": 1.0, "right": -1.0}
BEGINNINGS: Mapping[str, one] = {"left first": 1.0, "right first": -1.0}
"""Side to which a manoeuvre is first steered, with its sign."""
FOLLOWS = {"a_y": ("omega", "yaw")}
"""For each signal, columns of which one suffices to derive it, in addition to `v_x`."""
CHANGING = {"a_y": ("v_y", "sideslip")}
"""For each signal, columns of which one is needed as well for transients."""
SAMPLE: s = 0.01
"""Durations of tests are multiples of this."""
SHORTLY: s = 0.5
"""Time span before the test from which its initial speed is determined."""


class Slowdown(NamedTuple):
    """A run that brakes or coasts down: speed, time and deceleration."""

    v: m_s
    """Speed before slowing down."""
    when: s
    """Time at which the vehicle first falls below 0.95 of that speed."""
    deceleration: m_s2
    """Mean deceleration from then on to 0.1 of the speed, or to the lowest speed."""


class Steering(NamedTuple):
    """A run in which the wheels are steered: speed, time, side and angle."""

    v: m_s
    """Speed before steering."""
    when: s
    """Time at which the wheels first reach half of their largest angle."""
    side: one
    """1 to the left, -1 to the right."""
    angle: rad
    """Largest angle, without its sign."""

    def named(self, sides: Mapping[str, one]) -> tuple[str]:
        """Name of the side to which the wheels are steered, among `sides` with their signs."""
        return (next(name for name, sign in sides.items() if sign == self.side),)


@dataclass(frozen=True, eq=False)
class CaseRun:
    """Signals of one run of a case, simulated or measured."""

    label: str
    t: Array
    """Times in s, (T,); negative during the run-in."""
    signals: Mapping[str, Array]
    """Signals by name, each (T, V); see `docs/proving_ground.md` for their names and signs."""
    states: Array | None = None
    """States of the vehicle, (T, V, nx); None for a log."""
    inputs: Array | None = None
    """Inputs of the vehicle, (T, V, nu); None for a log."""
    source: Source = NOTHING
    """Origin of the signals of a log; empty for a simulated run."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.signals:
            known = ", ".join(sorted(self.signals))
            raise InvalidValue(f"{self.label} has no signal {name!r}; there are {known}")
        return self.signals[name]

    def __contains__(self, name: str) -> bool:
        return name in self.signals

    def changing(self, name: str) -> Array:
        """Signal for the evaluation of transients, (T, V); NaN if the signal is valid only in a
        steady state.
        """
        values = self[name]
        return np.full(values.shape, np.nan) if name in self.source.steady else values

    @property
    def variants(self) -> int:
        return next(iter(self.signals.values())).shape[1]

    def since(self, begin: s, end: s = np.inf) -> CaseRun:
        first = int(np.searchsorted(self.t, begin - 1e-9))
        rows = slice(first, int(np.searchsorted(self.t, end + 1e-9, side="right")))
        return self.cut(self.t[rows], np.s_[rows])

    def variant(self, k: int) -> CaseRun:
        return self.cut(self.t, np.s_[:, k : k + 1])

    def cut(self, t: Array, part: Any) -> CaseRun:
        signals = {name: values[part] for name, values in self.signals.items()}
        states, inputs = (
            rows if rows is None else rows[part] for rows in (self.states, self.inputs)
        )
        return CaseRun(self.label, t, signals, states, inputs, self.source)

    @property
    def outcomes(self) -> tuple[str, ...]:
        """Outcome for each variant: "done", "diverged", "rolled over" or "spun"."""
        diverged: Any = ~np.isfinite(self["v_x"]).all(axis=0)
        moving = np.hypot(self["v_x"], self["v_y"]) > MOVING
        spun: Any = (moving & (np.abs(self["sideslip"]) > SPUN)).any(axis=0)
        happened = {"diverged": diverged, "rolled over": self._rolled_over(), "spun": spun}
        kinds = range(self.variants)
        return tuple(next((name for name, own in happened.items() if own[k]), OK) for k in kinds)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether each variant completed the run, (V,)."""
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

    # The following methods read the settings of a test from the first variant of a run, as from a
    # log.

    def require_signal(self, name: str, why: str, *, changing: bool = False) -> None:
        """Raise InvalidValue unless a signal has numbers, with `changing` also in transients.

        The error names the available columns.
        """
        others = FOLLOWS.get(name, ())
        if name in self and np.isfinite(self[name]).all():
            if not (changing and name in self.source.steady):
                return
            others = CHANGING[name]
        text, free = f"{self.label} has no column {name}", self.source.unused
        if others:
            text += f", nor {' or '.join(others)} to make it from"
        if free:
            meant = next((one for one in (name, *others) if nearest(one, free)), name)
            why += f". Columns that are not used: {self.source.listed}; {how_to_name(meant, free)}"
        raise InvalidValue(f"{text}: {why}")

    def require_turning(self, a_y: m_s2, when: str, least: m_s2 = LEAST_TURN) -> None:
        """Raise InvalidValue unless the lateral acceleration is at least `least`."""
        if not a_y > least:
            raise InvalidValue(
                f"{self.label} turns with {a_y:.2f} m/s² {when}; at least {least:g} m/s² are needed"
            )

    def require_steering(self, angle: Array, reference: Array, what: str) -> None:
        """Raise InvalidValue unless the steering angle is proportional to the angle of the test."""
        if not np.corrcoef(reference, angle)[0, 1] > ALIKE:
            raise InvalidValue(f"{self.label} has no {what}: its wheels are steered differently")

    def require_duration(self, end: s, least: s, form: str = ".2f") -> None:
        """Raise InvalidValue unless the run lasts long enough after the wheels are steered."""
        if end < least:
            needed = f"{least:{form}} s are needed"
            raise InvalidValue(
                f"{self.label} ends {end:.2f} s after the wheels are turned; {needed}"
            )

    def comparable_duration(self, most: s, begin: s) -> s:
        """Duration, in whole samples, over which a test can be compared from `begin` on."""
        return min(most, SAMPLE * int((float(self.t[-1]) - begin) / SAMPLE + 1e-6))

    def _fastest(self) -> tuple[int, m_s]:
        """Index of the sample from which the vehicle slows down, and the speed there."""
        v = _smooth(self.t, self["v_x"][:, 0])
        return int(np.argmax(v)), v.max()

    def _before(self, change: s) -> m_s:
        """Mean speed before the sample `change`."""
        v = self.since(change - BEFORE, change)["v_x"][:, 0]
        return float(v.mean()) if len(v) else float(self["v_x"][0, 0])

    def slowdown(self) -> Slowdown:
        """Speed, time and deceleration with which the vehicle slows down.

        The deceleration is counted from the highest speed or from the beginning of the run.
        """
        t, v = self.t, self["v_x"][:, 0]
        top, fastest = self._fastest()
        when = _first(t[top:], -v[top:], -SLOWER * fastest)
        if not np.isfinite(when) or fastest <= STARTED:
            raise InvalidValue(
                f"{self.label} does not slow down from {fastest:.1f} m/s: it contains no braking"
            )
        v_0 = self._cruise(when, float(fastest))
        when = _first(t[top:], -v[top:], -SLOWER * v_0)
        later = t >= when
        slowest = max(0.1 * v_0, float(_smooth(t, v)[later].min()))
        end = _first(t[later], -v[later], -slowest)
        if not SLOWER * v_0 - slowest > LEAST_LOSS * v_0:
            raise InvalidValue(
                f"{self.label} slows down from {v_0:.1f} m/s to {slowest:.1f} m/s only: too little "
                f"to determine its deceleration"
            )
        lost = SLOWER * v_0 - float(np.interp(end, t, v))
        return Slowdown(v_0, when, lost / (end - when))

    def _cruise(self, when: s, fastest: m_s) -> m_s:
        """Median speed before the vehicle slows down, or the highest speed."""
        t, v = self.t, self["v_x"][:, 0]
        cruise = v[(t < when) & (t > when - BEFORE) & (v > CRUISING * fastest)]
        return float(np.median(cruise)) if len(cruise) else fastest

    def start_time(self) -> s:
        """Time at which the vehicle started from rest; NaN if it never does."""
        return _first(self.t, self["v_x"][:, 0], STARTED)

    def steering(self) -> Steering:
        """Speed before the steering input, and its time, side and largest angle."""
        self.require_signal("steer", "how it was steered is unknown")
        angle = self["steer"][:, 0]
        most = np.abs(angle).max()
        if most == 0.0:
            raise InvalidValue(f"{self.label} goes straight on: its wheels are never turned")
        when = _first(self.t, np.abs(angle), 0.5 * most)
        side = float(np.sign(np.interp(when, self.t, angle))) or 1.0
        return Steering(self._before(when), when, side, float(most))

    def locks(self) -> bool:
        """Whether any wheel is locked while the vehicle moves; False if wheel spins are unknown."""
        v = self["v_x"][:, 0]
        fast, moving = v > 0.9 * v.max(), v > 3.0
        for spin in (rows[:, 0] for name, rows in self.signals.items() if name.startswith("spin_")):
            rolling = float(np.median(spin[fast] / v[fast]))
            if (moving & (spin < LOCKED * rolling * v)).sum() > 0.1 * moving.sum():
                return True
        return False


@dataclass(frozen=True, eq=False)
class TimedDrive(CaseRun):
    """Log of a test that is known to begin at time zero."""

    @property
    def speed_at_zero(self) -> m_s:
        """Speed at time zero, by a straight line through the samples just before, which averages
        noise."""
        v = self["v_x"][:, 0]
        just = (self.t >= -SHORTLY) & (self.t <= 0.0)
        if just.sum() < 5:
            return float(np.interp(0.0, self.t, v))
        return float(np.polyfit(self.t[just], v[just], 1)[1])

    def _fastest(self) -> tuple[int, m_s]:
        return int(np.searchsorted(self.t, 0.0)), self.speed_at_zero

    def _before(self, change: s) -> m_s:
        return self.speed_at_zero

    def _cruise(self, when: s, fastest: m_s) -> m_s:
        return fastest


def all_done(runs: Sequence[CaseRun]) -> NDArray[np.bool_]:
    """Whether each variant completed all of the runs, (V,)."""
    return np.logical_and.reduce([run.done for run in runs])


def endings(runs: Sequence[CaseRun]) -> list[str]:
    """Notes on runs that failed for the first variant, one for each outcome."""
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
    """Combined run with variant v taken from the run with index `which[v]`, (V,); all runs have the
    same length.
    """
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
    """A measured log as a run: times in s, (T,), and signals by the names of `CaseRun`, each
    (T,)."""
    times = np.asarray(t, dtype=float)
    signals = {name: np.asarray(values, dtype=float)[:, None] for name, values in columns.items()}
    for name, values in signals.items():
        if len(values) != len(times):
            raise InvalidValue(f"{name} has {len(values)} samples; expected {len(times)}, as t")
    return CaseRun(label, times, signals, source=source)


WHEEL_FIELDS = ("F_x", "F_y", "F_z", "spin")
"""Signals of each wheel whose model reports them: `F_z_fl` and so on, in N, and rad/s."""
ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Names of longitudinal and lateral acceleration among the outputs."""
POSTURE = ("roll", "pitch", "heave", "a_z")
"""States or outputs for the attitude of the body, and its acceleration normal to the road."""


def signals_of(
    vehicle: Vehicle,
    t: Array,
    states: Array,
    memory: Array,
    outputs: Array,
    Outputs: type,
    params: Mapping[str, Array],
) -> CaseRun:
    """Signals of a simulated run from states (T, V, nx), memory and outputs of vehicle and
    driver."""
    names = record.names(Outputs)
    commands = [k for k, name in enumerate(names) if name.startswith("command.")]
    inputs = outputs[..., commands[0] : commands[-1] + 1]  # adjacent columns, so no copy is needed
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


def params_of(vehicle: Vehicle, changes: Mapping[str, Array], zero: Array | None = None) -> Any:
    """Parameters of all variants, each a number or (V,); all have the shape of `zero`, if given."""
    kind, values = vehicle.model.Params, record.flatten(vehicle.params)
    wide = values if zero is None else [zero + value for value in values]
    pairs = zip(record.names(kind), wide, strict=True)
    return record.unflatten(kind, [changes.get(name, value) for name, value in pairs])


def _motion(
    vehicle: Vehicle, t: Array, x: Any, u: Any, p: Any, outputs: Mapping[str, Array]
) -> dict[str, Array]:
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
    # Prefer the model's outputs to differences of samples; a model may have only one of the two
    # accelerations.
    rates = zip((v_x, v_y), (-v_y * now.omega, v_x * now.omega), strict=True)
    a_x, a_y = (
        outputs[name] if name in outputs else np.gradient(wide(v, shape), t, axis=0) + turn
        for name, (v, turn) in zip(pair, rates, strict=True)
    )
    return signals | {"a_x": wide(a_x, shape), "a_y": wide(a_y, shape)}


AVERAGED: s = 0.5
"""Time at the end of a run over which the steady value is averaged."""
LEAST_PEAK = 5e-4
"""Overshoot below which a response has no peak: the highest sample of a creeping response is
arbitrary."""


class StepResponse(NamedTuple):
    """Steady value, rise time, peak time and overshoot of a step response, each (V,)."""

    steady: Array
    """Magnitude of the mean at the end. All other fields are NaN for a signal that is valid in
    a steady state only."""
    rise: Array
    """Time from the step to 90 % of the steady value, in s."""
    peak_time: Array
    """Time from the step to the peak, in s; NaN without a peak."""
    overshoot: Array
    """Peak over steady value, less one; 0 without a peak."""


def step_response(run: CaseRun, name: str, at: s) -> StepResponse:
    """Response of the signal `name` to a step at the time `at`."""
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
    """Time at which each column (T, V) first reaches a level, by linear interpolation; NaN if
    never."""
    above = values >= level
    k = np.argmax(above, axis=0)
    column = np.arange(values.shape[1])
    before = np.maximum(k - 1, 0)
    low, high = values[before, column], values[k, column]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(k > 0, (level - low) / (high - low), 0.0)
    return np.where(above.any(axis=0), t[before] + share * (t[k] - t[before]), np.nan)


def values_at(t: Array, values: Array, times: Any, beyond: float | None = None) -> Array:
    """Values of columns (T, V) at one time for each column, (V,), by linear interpolation.

    `beyond` is the value after the last sample; if None, the last sample holds.
    """
    pairs = zip(times, values.T, strict=True)
    return np.array([np.interp(time, t, column, right=beyond) for time, column in pairs])


def cumulative_integral(t: Array, rate: Array) -> Array:
    """Integral of each column from the first sample on, (T, V), by the trapezoidal rule."""
    parts = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(parts, axis=0)])


def cubic_at(t: Array, values: Array, at: Array) -> Array:
    """Values of columns (T, V) at one time for each column, by a cubic through four samples.

    NaN at a time that is NaN.
    """
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
    """Time at which each column (T, V) first reaches a level, by cubic interpolation; NaN if never.

    The cubic keeps the sampling from affecting the result; `rates` are the derivatives of the
    columns.
    """
    at = first_time(t, values, level)
    for _ in range(4):  # Newton's method, the initial guess is wrong by less than a sample
        at = at - (cubic_at(t, values, at) - level) / cubic_at(t, rates, at)
    return at


def peak_of(t: Array, values: Array) -> tuple[Array, Array]:
    """Time and height of the peak of each column, by a parabola through the highest samples.

    The height is NaN for a column without numbers.
    """
    k = np.clip(np.argmax(np.nan_to_num(values, nan=-np.inf), axis=0), 1, len(t) - 2)
    column = np.arange(values.shape[1])
    a, b, c = (values[k + d, column] for d in (-1, 0, 1))
    bend = a - 2.0 * b + c
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(bend < 0.0, 0.5 * (a - c) / bend, 0.0)
    shift = np.clip(shift, -0.5, 0.5)
    return t[k] + shift * (t[1] - t[0]), b - 0.25 * (a - c) * shift


def _smooth(t: Array, values: Array, over: s = 0.2) -> Array:
    count = min(max(int(over / (t[1] - t[0])), 1), len(values)) | 1
    padded = np.pad(values, count // 2, mode="edge")
    return np.convolve(padded, np.full(count, 1.0 / count), mode="valid")


def _first(t: Array, values: Array, level: float) -> s:
    return float(first_time(t, values[:, None], level)[0])
