"""Driving with keys: set-points of a vehicle's own inputs, or demands on any vehicle.

`pressed` changes set-points by a fixed step per key press: w and s faster and slower, a and d to
the left and right, space to stop; holding no key changes nothing. The records of the controllers of
wheeled robots have rules of their own, which are upstream's. Other inputs are selected by name: w
and s change `velocity`, or `acceleration` without it, or all torques `tau_...`; a and d change
`steer` or `curvature`; space sets to 0 what w and s change.

`demand_of_keys` makes a `Demand`, which the body of the vehicle turns into its input, from two
axes, ahead and left, that follow the keys. Its functions are pure: memory is an argument and a
result. They take numbers and symbols for all but the abilities, so that a web page can run them as
a Program.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, pi
from typing import Any, NamedTuple

from ..core.body import Demand, Velocity
from ..errors import InvalidValue
from ..ops import abs as size_of
from ..ops import atan, atan2, clip, equal, logical_and, logical_or, maximum, minimum, tan, where
from ..units import Nm, m_s, m_s2, one, per_m, rad, rad_s, s
from .car import Abilities
from .wheeled import FrontSteerInput, SideTorques, TwistInput

KEYS = ("w", "s", "a", "d", " ")
DEGREE: rad = pi / 180.0


@dataclass(frozen=True)
class Steps:
    """Changes of the set-points per key press."""

    v: m_s = 0.1
    omega: rad_s = 2.0 * DEGREE
    steer: rad = DEGREE
    torque: Nm = 1.0
    acceleration: m_s2 = 0.1
    curvature: per_m = 0.02


OWN = Steps(torque=5.0)
"""Steps for vehicles that are not in MVSim."""


def steps_of(kind: str, controller: str) -> Steps:
    """Steps that MVSim uses for a kind of vehicle and its controller; `OWN` for others."""
    if not kind.startswith(("differential", "ackermann")):
        return OWN
    if kind.startswith("differential"):
        return Steps(torque=0.05)
    return Steps() if controller == "twist_ideal" else Steps(omega=DEGREE)


def pressed(set_point: Any, key: str, steps: Steps | None = None, steer_max: float = inf) -> Any:
    """Set-points after a key press.

    `steer_max` limits the steering angle in rad, or the curvature in 1/m if that is commanded.
    """
    if key.lower() not in KEYS:
        raise InvalidValue(f"key {key!r} is unknown; allowed are {', '.join(map(repr, KEYS))}")
    key, by = key.lower(), steps or Steps()
    ahead = {"w": 1.0, "s": -1.0}.get(key, 0.0)
    left = {"a": 1.0, "d": -1.0}.get(key, 0.0)
    new: dict[str, float] = {}
    for name, (forward, leftward, step) in _moves(set_point).items():
        value, size = getattr(set_point, name), getattr(by, step)
        if name not in STEERING:
            moved = value + (ahead * forward + left * leftward) * size
            new[name] = 0.0 if key == " " else moved
        elif left:
            new[name] = max(-steer_max, min(steer_max, value + left * size))
    return set_point._replace(**new)


Moves = dict[str, tuple[float, float, str]]
"""For each field: factor per key ahead, factor per key to the left, and the name of its step in
`Steps`."""
STEERING = ("steer", "curvature")
_MOVES: dict[type, Moves] = {
    TwistInput: {"v": (1.0, 0.0, "v"), "omega": (0.0, 1.0, "omega")},
    FrontSteerInput: {"v": (1.0, 0.0, "v"), "steer": (0.0, 1.0, "steer")},
    SideTorques: {"tau_left": (1.0, -1.0, "torque"), "tau_right": (1.0, 1.0, "torque")},
}


def _moves(set_point: Any) -> Moves:
    """Changes of each field per key, from the class of the record or the names of its fields."""
    if type(set_point) in _MOVES:
        return _MOVES[type(set_point)]
    fields: tuple[str, ...] = getattr(set_point, "_fields", ())
    torques = tuple(name for name in fields if name.startswith("tau_") or name == "tau")
    known = (("velocity",), "v"), (("acceleration",), "acceleration"), (torques, "torque")
    for names, step in known:
        if names and set(names) <= set(fields):
            steering = {name: (0.0, 1.0, name) for name in STEERING if name in fields}
            return {name: (1.0, 0.0, step) for name in names} | steering
    has = f": it has {', '.join(fields)}" if fields else ""
    raise InvalidValue(f"{type(set_point).__name__} has no keys{has}")


AHEAD_TIME: s = 0.1
"""Time from zero to full drive when a key is held, and back."""
LEFT_TIME: s = 0.12
"""Time from straight to full steering when a key is held, and back."""
CREEP: m_s = 0.6
"""Speed below which braking turns into reversing."""
STILL: m_s = 0.02
"""Speed below which set-points become 0 when no key is held."""
STOP_SHARE: one = 0.6
"""Share of full braking used to stop a vehicle without a driver."""
LEAD: s = 1.0
"""Largest lead of a speed set-point over the actual speed, as time of full drive."""


class Axes(NamedTuple):
    """Positions of keys, stick or pedals."""

    ahead: one = 0.0
    """Drive (positive) or brake and reverse (negative), from -1 to 1."""
    left: one = 0.0
    """Steering from -1 to 1, positive to the left."""
    handbrake: bool = False


class Memory(NamedTuple):
    """Memory of a driver with keys from step to step."""

    ahead: one = 0.0
    left: one = 0.0
    """Axes `ahead` and `left`, which follow the keys at a limited rate."""
    v: m_s = 0.0
    """Speed set-point, for a vehicle that is commanded by speed."""


def demand_of_keys(
    axes: Axes, memory: Memory, now: Velocity, can: Abilities, dt: s
) -> tuple[Demand, Memory]:
    """Demand of the keys for the coming step, and the memory after it."""
    ahead = _closer(memory.ahead, axes.ahead, dt / AHEAD_TIME)
    left = _closer(memory.left, axes.left, dt / LEFT_TIME)
    pulled = axes.handbrake > 0.5
    v = _set_point_near(memory.v, now.v_x, can, logical_or(pulled, ahead * memory.v < 0.0))
    a, a_set = pedal_acceleration(ahead, now.v_x, can), pedal_acceleration(ahead, v, can)
    if not can.handbrake:
        a = where(pulled, brake_acceleration(now.v_x, can.a_brake), a)
        a_set = where(pulled, brake_acceleration(v, can.a_brake), a_set)
    after = Memory(ahead, left, _next_set_point(v, a_set, dt, equal(ahead, 0.0)))
    return _demand(a, after, now, can, can.handbrake * axes.handbrake), after


def demand_to_stop(memory: Memory, now: Velocity, can: Abilities, dt: s) -> tuple[Demand, Memory]:
    """Demand that brings a vehicle without a driver to rest, and the updated memory."""
    left = _closer(memory.left, 0.0, dt / LEFT_TIME)
    v = _set_point_near(memory.v, now.v_x, can, braking=True)
    strength = STOP_SHARE * can.a_brake
    after = Memory(0.0, left, _next_set_point(v, brake_acceleration(v, strength), dt, at_rest=True))
    return _demand(brake_acceleration(now.v_x, strength), after, now, can), after


def pedal_acceleration(ahead: one, v: m_s, can: Abilities) -> m_s2:
    """Acceleration demanded at a speed: drive, brake, reverse or coast."""
    way = where(ahead < 0.0, -1.0, 1.0)
    along = way * v
    # A demand against the motion brakes, down to the speed at which it becomes a drive.
    share = clip(-along / CREEP, 0.0, 1.0)
    drive = where(way > 0.0, can.a_drive, can.a_back)
    most = where(way > 0.0, can.v_max, can.v_back)
    fading = clip((most - along) / maximum(0.1 * most, STILL), 0.0, 1.0)
    driven = ahead * (share * can.a_brake + (1.0 - share) * drive * fading)
    return where(equal(ahead, 0.0), -can.a_coast * _unit(v / CREEP), driven)


def brake_acceleration(v: m_s, strength: m_s2) -> m_s2:
    """Braking acceleration that stops a vehicle without driving it backwards."""
    return -strength * _unit(v / CREEP)


def steering(left: one, now: Velocity, can: Abilities) -> rad:
    """Steering angle in rad for a position of the steering axis, limited to the tyres' grip; larger
    when steering against a slide.
    """
    v2 = maximum(now.v_x * now.v_x + now.v_y * now.v_y, 1e-6)
    most = atan(can.wheel_base * can.a_turn / v2)
    slide = where(now.v_x > CREEP, atan2(now.v_y, now.v_x), 0.0)
    against = maximum(where(left < 0.0, -slide, slide), 0.0)
    return left * minimum(most + against, can.steer_max)


def _demand(a: m_s2, memory: Memory, now: Velocity, can: Abilities, handbrake: one = 0.0) -> Demand:
    """Demand of the driver from an acceleration `a`, the memory and the handbrake.

    The yaw rate follows from speed and steering angle; a vehicle that turns on the spot takes it
    from the steering axis.
    """
    if can.steer_max == 0.0:
        return Demand(a=a, v=memory.v, omega=memory.left * can.omega_max, handbrake=handbrake)
    steer = steering(memory.left, now, can)
    return Demand(steer, a, memory.v, memory.v * tan(steer) / can.wheel_base, handbrake)


def _set_point_near(v: m_s, actual: m_s, can: Abilities, braking: bool) -> m_s:
    """Set-point limited to the neighbourhood of the actual speed.

    The set-point thus cannot run away from a vehicle that is blocked or lags behind. Braking starts
    at the actual speed.
    """
    lead = max(LEAD * can.a_drive, CREEP)
    low, high = actual - lead, actual + lead
    forward = v > 0.0
    braked_low = where(forward, low, minimum(actual, 0.0))
    braked_high = where(forward, maximum(actual, 0.0), high)
    return clip(v, where(braking, braked_low, low), where(braking, braked_high, high))


def _next_set_point(v: m_s, a: m_s2, dt: s, at_rest: bool) -> m_s:
    after = v + a * dt
    return where(logical_and(at_rest, size_of(after) < STILL), 0.0, after)


def _closer(value: float, target: float, most: float) -> float:
    return value + clip(target - value, -most, most)


def _unit(value: float) -> float:
    return clip(value, -1.0, 1.0)
