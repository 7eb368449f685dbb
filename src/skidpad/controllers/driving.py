"""From keys to what a vehicle is wished to do, whatever it is.

Two axes, ahead and left, follow the keys; what they ask for is a `Wish`, which the body of the
vehicle turns into its input. All functions are pure: what is remembered comes in and goes out. They
take numbers and symbols for all but the abilities, so that a page can be given them as a Program.
"""

from __future__ import annotations

from typing import NamedTuple

from ..body import Velocity, Wish
from ..ops import abs as size_of
from ..ops import atan, atan2, clip, equal, logical_and, logical_or, maximum, minimum, tan, where
from ..units import m_s, m_s2, one, rad, s
from .abilities import Abilities

__all__ = [
    "Axes",
    "Memory",
    "brake_acceleration",
    "pedal_acceleration",
    "steering",
    "wish_of_keys",
    "wish_to_stop",
]

AHEAD_TIME: s = 0.1
"""In which a key goes from nothing to full drive, and back."""
LEFT_TIME: s = 0.12
"""In which a key goes from straight to full steering, and back."""
CREEP: m_s = 0.6
"""Speed below which braking turns into reversing."""
STILL: m_s = 0.02
"""Set-points below it are 0 when no key is held."""
STOP_SHARE: one = 0.6
"""Of full braking, when nobody drives."""
LEAD: s = 1.0
"""How far a set-point of speed may be ahead of the vehicle: by what it gains in this time."""


class Axes(NamedTuple):
    """How keys, stick or pedals are held."""

    ahead: one = 0.0
    """From -1 to 1."""
    left: one = 0.0
    """From -1 to 1."""
    handbrake: bool = False


class Memory(NamedTuple):
    """What is remembered from step to step."""

    ahead: one = 0.0
    left: one = 0.0
    """Where the axes are that follow the keys."""
    v: m_s = 0.0
    """Set-point of a vehicle that is commanded a speed."""


def wish_of_keys(
    axes: Axes, memory: Memory, now: Velocity, can: Abilities, dt: s
) -> tuple[Wish, Memory]:
    """What keys ask for in the step that begins, and what to remember."""
    ahead = _closer(memory.ahead, axes.ahead, dt / AHEAD_TIME)
    left = _closer(memory.left, axes.left, dt / LEFT_TIME)
    pulled = axes.handbrake > 0.5
    v = _set_point_near(memory.v, now.v_x, can, logical_or(pulled, ahead * memory.v < 0.0))
    a, a_set = pedal_acceleration(ahead, now.v_x, can), pedal_acceleration(ahead, v, can)
    if not can.handbrake:
        a = where(pulled, brake_acceleration(now.v_x, can.a_brake), a)
        a_set = where(pulled, brake_acceleration(v, can.a_brake), a_set)
    after = Memory(ahead, left, _next_set_point(v, a_set, dt, equal(ahead, 0.0)))
    return _wish(a, after, now, can, can.handbrake * axes.handbrake), after


def wish_to_stop(memory: Memory, now: Velocity, can: Abilities, dt: s) -> tuple[Wish, Memory]:
    """What brings a vehicle that nobody drives to a stop, and what to remember."""
    left = _closer(memory.left, 0.0, dt / LEFT_TIME)
    v = _set_point_near(memory.v, now.v_x, can, braking=True)
    strength = STOP_SHARE * can.a_brake
    after = Memory(0.0, left, _next_set_point(v, brake_acceleration(v, strength), dt, at_rest=True))
    return _wish(brake_acceleration(now.v_x, strength), after, now, can), after


def pedal_acceleration(ahead: one, v: m_s, can: Abilities) -> m_s2:
    """Acceleration of a vehicle at a speed: drive, brake, reverse or coast."""
    way = where(ahead < 0.0, -1.0, 1.0)
    along = way * v
    # Against the motion it is a brake, down to the speed at which it becomes a drive.
    share = clip(-along / CREEP, 0.0, 1.0)
    drive = where(way > 0.0, can.a_drive, can.a_back)
    most = where(way > 0.0, can.v_max, can.v_back)
    fading = clip((most - along) / maximum(0.1 * most, STILL), 0.0, 1.0)
    driven = ahead * (share * can.a_brake + (1.0 - share) * drive * fading)
    return where(equal(ahead, 0.0), -can.a_coast * _unit(v / CREEP), driven)


def brake_acceleration(v: m_s, strength: m_s2) -> m_s2:
    """Acceleration that stops a vehicle and does not drive it backwards."""
    return -strength * _unit(v / CREEP)


def steering(left: one, now: Velocity, can: Abilities) -> rad:
    """Angle for an axis: at most what the tyres hold at the speed, and further against a slide."""
    v2 = maximum(now.v_x * now.v_x + now.v_y * now.v_y, 1e-6)
    most = atan(can.wheel_base * can.a_turn / v2)
    slide = where(now.v_x > CREEP, atan2(now.v_y, now.v_x), 0.0)
    against = maximum(where(left < 0.0, -slide, slide), 0.0)
    return left * minimum(most + against, can.steer_max)


def _wish(a: m_s2, memory: Memory, now: Velocity, can: Abilities, handbrake: one = 0.0) -> Wish:
    """On the spot one turns by the axis alone, else by speed and angle."""
    if can.steer_max == 0.0:
        return Wish(a=a, v=memory.v, omega=memory.left * can.omega_max, handbrake=handbrake)
    steer = steering(memory.left, now, can)
    return Wish(steer, a, memory.v, memory.v * tan(steer) / can.wheel_base, handbrake)


def _set_point_near(v: m_s, actual: m_s, can: Abilities, braking: bool) -> m_s:
    """A set-point that has not run away from a vehicle that is held up or lags behind.

    Braking begins at the speed that the vehicle has.
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
