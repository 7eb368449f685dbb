"""PID control: one law, for wheel speeds of robots and for speed and lateral offset of cars.

`pid_step` is the law with `Gains` and a `Form`, which lists what a controller has besides the
three actions and therefore which memory it needs. With `upstream` in a form it reproduces MVSim,
whose filtered derivative is actually the filtered error.

`command` and `policy` control speed and lateral offset by acceleration and steering rate, as
commonroad-control does: the error is the reference minus the measurement, the integral is a sum
that includes the current error, the derivative a difference over one step. Limits and anti-windup
are additions and off by default. The derivative starts with the second error; upstream assumes an
error of zero before the first step, which causes a kick (`compat="upstream"`). `PIDControl` and
`PIDLongLat` are the same laws with internal memory and the method names of commonroad-control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.checks import finite
from ..core.files import brief_repr
from ..core.policy import Policy
from ..core.record import made_once
from ..errors import InvalidValue
from ..ops import exp, where
from ..units import (
    N,
    Nm,
    Unit,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    per_m,
    per_m_s,
    per_s,
    positive,
    rad_s,
    s,
)
from ..vehicles.parts.actuators import limited
from .car import Car, after, car_of, deviation, upstream
from .reference import Point

Nm_s_m = Annotated[float, Unit("N·m/(m/s)", length=1, mass=1, time=-1)]
kg_m = Annotated[float, Unit("N·m/(m/s²)", length=1, mass=1)]

LEAST_KP: Nm_s_m = 1e-12
"""Proportional gain below which anti-windup is off, as it divides by the gain."""


class Gains(NamedTuple):
    """Gains and limits of a speed controller; torques are positive forward."""

    KP: Nm_s_m = 10.0
    """Torque per speed error."""
    KI: N = 0.0
    """Growth rate of the torque per speed error, N·m/s per m/s: a force in SI."""
    KD: kg_m = 0.0
    """Torque per time derivative of the speed error."""
    N: Annotated[per_s, non_negative] = 0.0
    """Bandwidth of the filtered derivative."""
    max_torque: Annotated[Nm, non_negative] = 100.0
    """Largest torque in either direction; 0 means no limit."""
    reference_filter_tau: Annotated[s, positive] = 0.1
    """Time constant of the filter of the speed set-point."""
    feedforward_gain: one = 1.0
    """Share of the slope force that is compensated by feed-forward."""
    zero_threshold: Annotated[m_s, non_negative] = 1e-3
    """Speed set-point below which the vehicle is to stop."""
    stop_threshold: Annotated[m_s, non_negative] = 0.05
    """Speed below which a vehicle that is to stop counts as stopped."""


@dataclass(frozen=True)
class Form:
    """Structure of a PID controller: the features it has besides its gains."""

    filtered_derivative: bool = False
    """Whether the derivative is low-pass filtered with bandwidth N; else a difference."""
    anti_windup: bool = False
    """Whether the integral is limited while the torque is at its limit."""
    reference_order: int = 0
    """Number of first-order filters of the speed set-point: 0, 1 or 2."""
    feed_forward: bool = False
    """Whether the slope force is compensated."""
    upstream: bool = False
    """Whether to reproduce MVSim.

    The filtered "derivative" is then the low-pass filtered error, and the feed-forward has the
    sign of the pitch angle.
    """

    def __post_init__(self) -> None:
        if self.reference_order not in (0, 1, 2):
            raise InvalidValue(
                f"reference_order = {self.reference_order} is unknown; allowed are 0, 1, 2"
            )


_MEMORY: dict[str, tuple[Any, str]] = {
    "integral": (Nm, "Torque that the integral action has gathered."),
    "error": (m_s, "Speed error of the last step."),
    "started": (one, "1 once there is a last step, else 0."),
    "filtered": (Nm, "KD times the low-pass filtered error, over the filter's time constant."),
    "reference_1": (m_s, "Speed set-point after the first filter."),
    "reference_2": (m_s, "Speed set-point after the second filter."),
}


def memory_type(form: Form) -> Any:
    """Record class of the memory of a controller of this form; all zero at the start."""
    derivative = ("filtered",) if form.filtered_derivative else ("error", "started")
    references = ("reference_1", "reference_2")[: form.reference_order]
    return _memory_type(("integral", *derivative, *references))


@made_once
def _memory_type(names: tuple[str, ...]) -> Any:
    hints = {name: _MEMORY[name][0] for name in names}
    docs = {name: _MEMORY[name][1] for name in names}
    doc = "Memory of a speed controller."
    return record.define("PidMemory", hints, dict.fromkeys(names, 0.0), docs, doc)


class Step(NamedTuple):
    """Result of one controller step."""

    torque: Nm
    memory: Any
    reference: m_s
    """Speed set-point after the filters."""
    unlimited: Nm
    """Torque before its limit."""
    gain: Nm_s_m
    """Decrease of the unlimited torque per increase of the vehicle's speed."""


def pid_step(
    p: Gains, form: Form, memory: Any, setpoint: m_s, actual: m_s, dt: s, feed_forward: Nm = 0.0
) -> Step:
    """Torque for the coming dt, the memory after it, and the slope of the torque over speed."""
    changed: dict[str, Any] = {}
    reference = setpoint
    if form.reference_order:
        kept = exp(-dt / p.reference_filter_tau)
        for name in ("reference_1", "reference_2")[: form.reference_order]:
            reference = kept * getattr(memory, name) + (1.0 - kept) * reference
            changed[name] = reference
    error = reference - actual
    integral = memory.integral + p.KI * error * dt
    rest = p.KP * error + _derivative(p, form, memory, error, dt, changed) + feed_forward
    torque = within(rest + integral, p)
    if form.anti_windup:
        active = where(p.KP > LEAST_KP, where(p.max_torque > 0.0, 1.0, 0.0), 0.0)
        back = active * p.KI * (1.0 / where(p.KP > LEAST_KP, p.KP, 1.0)) * dt
        integral = integral + back * (torque - (rest + integral))
        torque = within(rest + integral, p)
    after = memory._replace(integral=integral, **changed)
    by_rate = p.N if form.filtered_derivative else memory.started * (1.0 / dt)
    gain = p.KP + p.KI * dt + p.KD * by_rate
    return Step(torque, after, reference, rest + integral, gain)


def within(torque: Nm, p: Gains) -> Nm:
    """Torque limited to its maximum, if there is one."""
    return where(p.max_torque > 0.0, limited(torque, p.max_torque), torque)


def _derivative(
    p: Gains, form: Form, memory: Any, error: m_s, dt: s, changed: dict[str, Any]
) -> Nm:
    if form.filtered_derivative:
        rate = p.N * (p.KD * error - memory.filtered)
        changed["filtered"] = filtered = memory.filtered + dt * rate
        return filtered if form.upstream else rate
    changed |= {"error": error, "started": 1.0}
    return p.KD * memory.started * (error - memory.error) * (1.0 / dt)


def reset_where(memory: Any, when: Any) -> Any:
    """Memory of a controller, reset to its initial values where a condition holds."""
    return type(memory)(*(where(when, 0.0, value) for value in memory))


per_s2 = Annotated[float, Unit("1/s²", time=-2)]
per_m_s2 = Annotated[float, Unit("1/(m·s²)", length=-1, time=-2)]


class SpeedGains(NamedTuple):
    """Gains from speed error to acceleration; the defaults are upstream's."""

    k_p: per_s = 1.0
    """Acceleration per speed error."""
    k_i: per_s2 = 0.0
    """Growth rate of the acceleration per speed error."""
    k_d: one = 0.0
    """Acceleration per time derivative of the speed error."""
    limit: Annotated[m_s2, non_negative] = 0.0
    """Largest acceleration of either sign; 0 means no limit."""


class OffsetGains(NamedTuple):
    """Gains from lateral offset to steering rate; the defaults are upstream's."""

    k_p: per_m_s = 0.05
    """Steering rate per offset error."""
    k_i: per_m_s2 = 0.0
    """Growth rate of the steering rate per offset error."""
    k_d: per_m = 0.1
    """Steering rate per time derivative of the offset error."""
    limit: Annotated[rad_s, non_negative] = 0.0
    """Largest steering rate in either direction; 0 means no limit."""


class SpeedMemory(NamedTuple):
    """Memory of the speed controller."""

    integral: m_s2 = 0.0
    """Acceleration accumulated by the integral action."""
    error: m_s = 0.0
    """Error of the previous step."""
    started: one = 0.0
    """1 after the first step, else 0."""


class OffsetMemory(NamedTuple):
    """Memory of the offset controller."""

    integral: rad_s = 0.0
    """Steering rate accumulated by the integral action."""
    error: m = 0.0
    """Error of the previous step."""
    started: one = 0.0
    """1 after the first step, else 0."""


class Memory(NamedTuple):
    """Memory of the speed and the offset controller."""

    longitudinal: SpeedMemory = SpeedMemory()
    lateral: OffsetMemory = OffsetMemory()


class PidLongLatGains(NamedTuple):
    """Gains of the speed and the offset controller."""

    longitudinal: SpeedGains = SpeedGains()
    lateral: OffsetGains = OffsetGains()


class Command(NamedTuple):
    """Command of the speed and the offset controller."""

    a: m_s2
    """Acceleration along the car."""
    steer_rate: rad_s
    """Rate of the steering angle, positive to the left."""


def pid_control(
    p: Any,
    memory: Any,
    measured: Any,
    reference: Any,
    dt: s,
    *,
    anti_windup: bool = False,
    feed_forward: Any = 0.0,
) -> tuple[Any, Any]:
    """One PID step with gains `k_p`, `k_i`, `k_d` and a `limit`: the output and the memory after
    it.

    Gains and memory are those of either controller here, or records with the same field names.
    """
    gains = Gains(KP=p.k_p, KI=p.k_i, KD=p.k_d, max_torque=p.limit)
    form = Form(anti_windup=anti_windup)
    output = pid_step(gains, form, memory, reference, measured, dt, feed_forward)
    return output.torque, output.memory


def command(
    p: PidLongLatGains,
    memory: Memory,
    v: m_s,
    v_reference: m_s,
    offset: m,
    offset_reference: m,
    dt: s,
    *,
    anti_windup: bool = False,
) -> tuple[Command, Memory]:
    """Acceleration and steering rate for the coming dt, and the memory after it.

    Offsets are positive to the left of the line.
    """
    along, across = memory
    a, along = pid_control(p.longitudinal, along, v, v_reference, dt, anti_windup=anti_windup)
    rate, across = pid_control(
        p.lateral, across, offset, offset_reference, dt, anti_windup=anti_windup
    )
    return Command(a, rate), Memory(along, across)


def at_start(compat: str | None = None) -> Memory:
    """Memory before the first step; under compat="upstream" with a previous error of zero."""
    started = 1.0 if upstream(compat) else 0.0
    return Memory(SpeedMemory(started=started), OffsetMemory(started=started))


class PolicyParams(NamedTuple):
    """Parameters of the speed and offset policy."""

    gains: PidLongLatGains = PidLongLatGains()
    t_ahead: Annotated[s, non_negative] = 0.5
    """Preview time of the offset; upstream's default."""


def policy(
    vehicle: Any,
    gains: Any = None,
    *,
    t_ahead: s = 0.5,
    anti_windup: bool = False,
    car: Car | None = None,
) -> Policy:
    """Speed and lateral offset control as a policy for a car with inputs `a` and `steer_rate`.

    Its references are `Point` records of the line a time `t_ahead` ahead of the step:
    `reference.rows(steps, dt, ahead=t_ahead)`. The offset is that of the car's position
    extrapolated straight ahead to that time, as steering by the current offset is unstable. The
    derivative is a difference over one step of steering, so gains that suit one dt may be too high
    at a longer dt.
    """
    known = car or car_of(vehicle)
    names = set(record.names(vehicle.Input))
    if names != {"a", "steer_rate"}:
        raise InvalidValue(
            f"{vehicle.name!r} has the inputs {', '.join(sorted(names))}; this controller commands "
            "a and steer_rate"
        )

    def act(x: Any, m: Memory, r: Point, p: PolicyParams, dt: s) -> tuple[Any, Memory]:
        motion = known.motion(x, known.geometry)
        coming = after(motion, p.t_ahead)
        left = deviation(coming, r).left  # type: ignore[arg-type]
        asked, memory = command(
            p.gains, m, known.speed(x), r.v, left, 0.0, dt, anti_windup=anti_windup
        )
        return vehicle.Input(a=asked.a, steer_rate=asked.steer_rate), memory

    params = PolicyParams(record.build(PidLongLatGains, gains), t_ahead)
    return Policy(act, Memory, Point, PolicyParams, params, name="pid_long_lat")


class Settings(NamedTuple):
    """Settings of a PID controller for an error and an output of any unit."""

    kp: one
    """Output per error."""
    ki: per_s
    """Growth rate of the output per error."""
    kd: s
    """Output per time derivative of the error."""
    delta_t: Annotated[s, positive]
    """Time between two calls."""
    limit: Annotated[one, non_negative] = 0.0
    """Largest output of either sign; 0 means no limit."""


class PIDControl:
    """A PID controller with internal memory and the interface of commonroad-control."""

    def __init__(
        self,
        kp: float,
        ki: float,
        kd: float,
        delta_t: float,
        *,
        limit: float = 0.0,
        anti_windup: bool = False,
        compat: str | None = None,
    ) -> None:
        self._settings = record.build(Settings, kp=kp, ki=ki, kd=kd, delta_t=delta_t, limit=limit)
        self._anti_windup = anti_windup
        self._start = at_start(compat).longitudinal
        self._memory: Any = self._start

    def __repr__(self) -> str:
        return f"PIDControl{tuple(self._settings)[:4]}"

    @property
    def kp(self) -> float:
        """Output per error."""
        return self._settings.kp

    @property
    def ki(self) -> float:
        """Growth rate of the output per error, in 1/s."""
        return self._settings.ki

    @property
    def kd(self) -> float:
        """Output per time derivative of the error, in s."""
        return self._settings.kd

    @property
    def delta_t(self) -> float:
        """Time between two calls in s."""
        return self._settings.delta_t

    def compute_control_input(self, measured_output: float, reference_output: float) -> float:
        """Output for the coming step; updates the memory."""
        p = self._settings
        acceleration, self._memory = pid_control(
            SpeedGains(p.kp, p.ki, p.kd, p.limit),
            self._memory,
            finite("measured_output", measured_output),
            finite("reference_output", reference_output),
            p.delta_t,
            anti_windup=self._anti_windup,
        )
        return acceleration

    def reset(self) -> None:
        """Reset the memory."""
        self._memory = self._start


class PIDLongLat:
    """Two PID controllers for speed and lateral offset, with commonroad-control's interface."""

    __repr__ = brief_repr

    def __init__(
        self,
        kp_long: float,
        ki_long: float,
        kd_long: float,
        kp_lat: float,
        ki_lat: float,
        kd_lat: float,
        delta_t: float,
        *,
        compat: str | None = None,
    ) -> None:
        self.longitudinal_pid = PIDControl(kp_long, ki_long, kd_long, delta_t, compat=compat)
        """Controller from speed to acceleration."""
        self.lateral_pid = PIDControl(kp_lat, ki_lat, kd_lat, delta_t, compat=compat)
        """Controller from lateral offset to steering rate."""

    @property
    def delta_t(self) -> float:
        """Time between two calls in s."""
        return self.longitudinal_pid.delta_t

    def compute_control_input(
        self,
        measured_v_long: float,
        reference_v_long: float,
        measured_lat_offset: float,
        reference_lat_offset: float = 0.0,
    ) -> tuple[float, float]:
        """Acceleration in m/s² and steering rate in rad/s for the coming step."""
        return (
            self.longitudinal_pid.compute_control_input(measured_v_long, reference_v_long),
            self.lateral_pid.compute_control_input(measured_lat_offset, reference_lat_offset),
        )

    def reset(self) -> None:
        """Reset the memory of both controllers."""
        self.longitudinal_pid.reset()
        self.lateral_pid.reset()
