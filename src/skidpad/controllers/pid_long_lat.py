"""Speed and lateral offset by two PID controllers, which command acceleration and steering rate.

The laws are those of commonroad-control: the error is the reference minus the measurement, the
integral is a sum that includes the present error, the derivative a difference over one step. Limits
and anti-windup are ours and off by default, and the derivative starts with the second error;
upstream takes the error before the first one to be zero, which kicks (`compat="upstream"`).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from ..policy import Policy
from ..units import Unit, m, m_s, m_s2, non_negative, one, per_m, per_m_s, per_s, rad_s, s
from . import pid
from .car import Car, after, car_of
from .line import deviation
from .reference import Point
from .state_conversion import upstream

__all__ = [
    "Command",
    "Gains",
    "Memory",
    "OffsetGains",
    "OffsetMemory",
    "PolicyParams",
    "SpeedGains",
    "SpeedMemory",
    "answer",
    "at_start",
    "command",
    "policy",
]

per_s2 = Annotated[float, Unit("1/s²", time=-2)]
per_m_s2 = Annotated[float, Unit("1/(m·s²)", length=-1, time=-2)]


class SpeedGains(NamedTuple):
    """From speed to acceleration; the defaults are upstream's."""

    k_p: per_s = 1.0
    """Acceleration per speed error."""
    k_i: per_s2 = 0.0
    """Growth of the acceleration per second and speed error."""
    k_d: one = 0.0
    """Acceleration per rate of the speed error."""
    limit: Annotated[m_s2, non_negative] = 0.0
    """Largest acceleration, either sign; 0 means no limit."""


class OffsetGains(NamedTuple):
    """From lateral offset to steering rate; the defaults are upstream's."""

    k_p: per_m_s = 0.05
    """Steering rate per offset."""
    k_i: per_m_s2 = 0.0
    """Growth of the steering rate per second and offset."""
    k_d: per_m = 0.1
    """Steering rate per rate of the offset."""
    limit: Annotated[rad_s, non_negative] = 0.0
    """Largest steering rate, either side; 0 means no limit."""


class SpeedMemory(NamedTuple):
    """What the speed controller remembers."""

    integral: m_s2 = 0.0
    """Acceleration that the integral action has gathered."""
    error: m_s = 0.0
    """Error of the last step."""
    started: one = 0.0
    """1 once there is a last step, else 0."""


class OffsetMemory(NamedTuple):
    """What the offset controller remembers."""

    integral: rad_s = 0.0
    """Steering rate that the integral action has gathered."""
    error: m = 0.0
    """Error of the last step."""
    started: one = 0.0
    """1 once there is a last step, else 0."""


class Memory(NamedTuple):
    """What both controllers remember."""

    longitudinal: SpeedMemory = SpeedMemory()
    lateral: OffsetMemory = OffsetMemory()


class Gains(NamedTuple):
    """Gains of both controllers."""

    longitudinal: SpeedGains = SpeedGains()
    lateral: OffsetGains = OffsetGains()


class Command(NamedTuple):
    """What the two controllers ask for."""

    a: m_s2
    """Acceleration along the car."""
    steer_rate: rad_s
    """Rate of the steering angle, positive to the left."""


def answer(
    p: Any,
    memory: Any,
    measured: Any,
    reference: Any,
    dt: s,
    *,
    anti_windup: bool = False,
    feed_forward: Any = 0.0,
) -> tuple[Any, Any]:
    """One PID step with gains `k_p`, `k_i`, `k_d` and a `limit`: the output and the memory after.

    Gains and memory are those of either controller here, or of the same field names.
    """
    gains = pid.Gains(KP=p.k_p, KI=p.k_i, KD=p.k_d, max_torque=p.limit)
    form = pid.Form(anti_windup=anti_windup)
    output = pid.answer(gains, form, memory, reference, measured, dt, feed_forward)
    return output.torque, output.memory


def command(
    p: Gains,
    memory: Memory,
    v: m_s,
    v_reference: m_s,
    offset: m,
    offset_reference: m,
    dt: s,
    *,
    anti_windup: bool = False,
) -> tuple[Command, Memory]:
    """Acceleration and steering rate for the coming dt, and what to remember.

    Offsets are positive to the left of the line.
    """
    along, across = memory
    a, along = answer(p.longitudinal, along, v, v_reference, dt, anti_windup=anti_windup)
    rate, across = answer(p.lateral, across, offset, offset_reference, dt, anti_windup=anti_windup)
    return Command(a, rate), Memory(along, across)


def at_start(compat: str | None = None) -> Memory:
    """The memory before the first step; upstream's has a last error, of zero."""
    started = 1.0 if upstream(compat) else 0.0
    return Memory(SpeedMemory(started=started), OffsetMemory(started=started))


class PolicyParams(NamedTuple):
    """Parameters of the policy."""

    gains: Gains = Gains()
    t_ahead: Annotated[s, non_negative] = 0.5
    """How far ahead in time the offset is measured; upstream's default."""


def policy(
    vehicle: Any,
    gains: Any = None,
    *,
    t_ahead: s = 0.5,
    anti_windup: bool = False,
    car: Car | None = None,
) -> Policy:
    """The two controllers as a policy for a car with inputs `a` and `steer_rate`.

    Its references are `Point` records with the line a time `t_ahead` ahead of the step:
    `reference.rows(steps, dt, ahead=t_ahead)`. The offset is that of the place where the car will
    then be if it goes straight on: steering by the offset here and now is not stable. Between
    errors of two steps lies one step of steering, so gains that are good at one dt may be too high
    at a longer one.
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

    params = PolicyParams(record.build(Gains, gains), t_ahead)
    return Policy(act, Memory, Point, PolicyParams, params, name="pid_long_lat")
