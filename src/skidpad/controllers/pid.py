"""A speed controller with proportional, integral and derivative action, as wheeled robots have one.

What a controller has besides the three actions is its `Form`: it decides which memory it needs.
`upstream` in a form repeats the program MVSim, where the filtered derivative is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from .. import record
from ..components.actuator import limited
from ..errors import InvalidValue
from ..ops import exp, where
from ..recipes import made_once
from ..units import N, Nm, Unit, m_s, non_negative, one, per_s, positive, s

__all__ = [
    "Answer",
    "Form",
    "Gains",
    "LoopAnswer",
    "answer",
    "forgotten",
    "loop_answer",
    "memory_type",
    "within",
]

Nm_s_m = Annotated[float, Unit("N·m/(m/s)", length=1, mass=1, time=-1)]
kg_m = Annotated[float, Unit("N·m/(m/s²)", length=1, mass=1)]

LEAST_KP: Nm_s_m = 1e-12
"""Proportional gain below which there is no anti-windup, which divides by it."""


class Gains(NamedTuple):
    """Gains and limits. Torques are positive forward."""

    KP: Nm_s_m = 10.0
    """Torque per speed error."""
    KI: N = 0.0
    """Growth of the torque per second and speed error, N·m/s per m/s: a force in SI."""
    KD: kg_m = 0.0
    """Torque per rate of the speed error."""
    N: Annotated[per_s, non_negative] = 0.0
    """Bandwidth of the filtered derivative."""
    max_torque: Annotated[Nm, non_negative] = 100.0
    """Largest torque, either direction; 0 means no limit."""
    reference_filter_tau: Annotated[s, positive] = 0.1
    """Time constant of the filter of the speed asked for."""
    feedforward_gain: one = 1.0
    """Share of the weight along a slope that is balanced without waiting for an error."""
    zero_threshold: Annotated[m_s, non_negative] = 1e-3
    """Speed below which a speed asked for means to stop."""
    stop_threshold: Annotated[m_s, non_negative] = 0.05
    """Speed below which a vehicle that is to stop has stopped."""


@dataclass(frozen=True)
class Form:
    """What a controller has besides gains."""

    filtered_derivative: bool = False
    """The derivative is low-pass filtered with the bandwidth N; else a difference."""
    anti_windup: bool = False
    """The integral lets go while the torque is at its limit; else it has no limit."""
    reference_order: int = 0
    """Number of first-order filters that the speed asked for goes through: 0, 1 or 2."""
    feed_forward: bool = False
    """The weight along a slope is balanced."""
    upstream: bool = False
    """The filtered "derivative" is the low-pass filtered error, and the feed-forward has the sign
    of the pitch angle."""

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
    "reference_1": (m_s, "Speed asked for after the first filter."),
    "reference_2": (m_s, "Speed asked for after the second filter."),
}


def memory_type(form: Form) -> Any:
    """The one record class of what a controller of this form remembers; all zero at the start."""
    derivative = ("filtered",) if form.filtered_derivative else ("error", "started")
    references = ("reference_1", "reference_2")[: form.reference_order]
    return _memory_type(("integral", *derivative, *references))


@made_once
def _memory_type(names: tuple[str, ...]) -> Any:
    hints = {name: _MEMORY[name][0] for name in names}
    docs = {name: _MEMORY[name][1] for name in names}
    doc = "What a speed controller remembers."
    return record.define("PidMemory", hints, dict.fromkeys(names, 0.0), docs, doc)


class Answer(NamedTuple):
    """What a controller does in a step."""

    torque: Nm
    memory: Any
    reference: m_s
    """The speed that it steered to: the one asked for after the filters."""


class LoopAnswer(NamedTuple):
    """The same for one who solves for the speed at the end of the step."""

    torque: Nm
    memory: Any
    reference: m_s
    wanted: Nm
    """The torque before its limit."""
    gain: Nm_s_m
    """How much less it would be per speed that the vehicle had more."""


def answer(
    p: Gains, form: Form, memory: Any, asked: m_s, actual: m_s, dt: s, feed_forward: Nm = 0.0
) -> Answer:
    """Torque for the coming dt and the memory after it."""
    return Answer(*loop_answer(p, form, memory, asked, actual, dt, feed_forward)[:3])


def loop_answer(
    p: Gains, form: Form, memory: Any, asked: m_s, actual: m_s, dt: s, feed_forward: Nm = 0.0
) -> LoopAnswer:
    """`answer`, and how the torque depends on the speed."""
    changed: dict[str, Any] = {}
    reference = _filtered_reference(p, form, memory, asked, dt, changed)
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
    return LoopAnswer(torque, after, reference, rest + integral, _gain(p, form, memory, dt))


def _gain(p: Gains, form: Form, memory: Any, dt: s) -> Nm_s_m:
    """Slope of the torque over the speed, of all actions together."""
    by_rate = p.N if form.filtered_derivative else memory.started * (1.0 / dt)
    return p.KP + p.KI * dt + p.KD * by_rate


def within(torque: Nm, p: Gains) -> Nm:
    """The torque within its limit, if it has one."""
    return where(p.max_torque > 0.0, limited(torque, p.max_torque), torque)


def _filtered_reference(
    p: Gains, form: Form, memory: Any, asked: m_s, dt: s, changed: dict[str, Any]
) -> m_s:
    if not form.reference_order:
        return asked
    value = asked
    kept = exp(-dt / p.reference_filter_tau)
    for name in ("reference_1", "reference_2")[: form.reference_order]:
        value = kept * getattr(memory, name) + (1.0 - kept) * value
        changed[name] = value
    return value


def _derivative(
    p: Gains, form: Form, memory: Any, error: m_s, dt: s, changed: dict[str, Any]
) -> Nm:
    """Torque by the rate of the error."""
    if form.filtered_derivative:
        rate = p.N * (p.KD * error - memory.filtered)
        changed["filtered"] = filtered = memory.filtered + dt * rate
        return filtered if form.upstream else rate
    changed |= {"error": error, "started": 1.0}
    return p.KD * memory.started * (error - memory.error) * (1.0 / dt)


def forgotten(memory: Any, when: Any) -> Any:
    """The memory as at the start where a condition holds."""
    return type(memory)(*(where(when, 0.0, value) for value in memory))
