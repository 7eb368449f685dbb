"""From keys to the inputs of a vehicle, whatever these are.

Keys, a stick or a path follower say what they want (`Wish`); what that means for the inputs of a
vehicle follows from their names (`inputs_for`). All functions are pure.
"""

from __future__ import annotations

from math import atan, atan2, copysign, tan
from typing import NamedTuple

from ...components.gear import Gear
from ...units import m_s, m_s2, one, rad, rad_s, s
from .abilities import Abilities

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
STEER_TIME: s = 0.08
"""In which a commanded steering rate reaches the angle."""
LEAD: one = 0.3
"""How far a set-point of speed may be ahead of the vehicle, as a share of its largest speed."""

_DRIVES = (
    *({"v"}, {"velocity"}, {"acceleration"}, {"a"}, {"accel", "brake"}, {"tau"}),
    *({"tau_left", "tau_right"}, {"tau_fl", "tau_fr"}),
)
_TURNS = ({"steer"}, {"omega"}, {"curvature"}, {"steer_rate"}, {"tau_left", "tau_right"})


class Axes(NamedTuple):
    """How keys, stick or pedals are held."""

    ahead: one = 0.0
    """From -1 to 1."""
    left: one = 0.0
    """From -1 to 1."""
    handbrake: bool = False


class Motion(NamedTuple):
    """How a vehicle moves."""

    v_x: m_s
    v_y: m_s = 0.0
    omega: rad_s = 0.0
    steer: rad = 0.0


class Held(NamedTuple):
    """What is remembered from step to step."""

    ahead: one = 0.0
    left: one = 0.0
    """Where the axes are that follow the keys."""
    v: m_s = 0.0
    """Set-point of a vehicle that is commanded a speed."""


class Wish(NamedTuple):
    """How a vehicle is to move."""

    a: m_s2
    """Along the vehicle, forward positive."""
    v: m_s
    """The speed to have, for vehicles that are commanded one."""
    steer: rad
    """Angle of the front wheels, positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left, for vehicles that are commanded one."""
    handbrake: bool = False


def drivable(names: frozenset[str]) -> bool:
    """Whether inputs of these names can be driven with keys."""
    return any(one <= names for one in _DRIVES) and any(one <= names for one in _TURNS)


def keyed(axes: Axes, held: Held, now: Motion, can: Abilities, dt: s) -> tuple[Wish, Held]:
    """What keys ask for in the step that begins, and what to remember."""
    ahead = _towards(held.ahead, axes.ahead, dt / AHEAD_TIME)
    left = _towards(held.left, axes.left, dt / LEFT_TIME)
    braking = axes.handbrake or ahead * held.v < 0.0
    v = _near(held.v, now.v_x, can, braking)
    a, a_set = pedalled(ahead, now.v_x, can), pedalled(ahead, v, can)
    if axes.handbrake and can.hand_torque == 0.0:
        a, a_set = braked(now.v_x, can.a_brake), braked(v, can.a_brake)
    after = Held(ahead, left, _moved(v, a_set, dt, at_rest=ahead == 0.0))
    return _wish(a, after, now, can, axes.handbrake), after


def stopped(held: Held, now: Motion, can: Abilities, dt: s) -> tuple[Wish, Held]:
    """What brings a vehicle that nobody drives to a stop, and what to remember."""
    left = _towards(held.left, 0.0, dt / LEFT_TIME)
    v = _near(held.v, now.v_x, can, braking=True)
    strength = STOP_SHARE * can.a_brake
    after = Held(0.0, left, _moved(v, braked(v, strength), dt, at_rest=True))
    return _wish(braked(now.v_x, strength), after, now, can), after


def pedalled(ahead: one, v: m_s, can: Abilities) -> m_s2:
    """Acceleration of a vehicle at a speed: drive, brake, reverse or coast."""
    way = copysign(1.0, ahead)
    along = way * v
    if ahead == 0.0:
        return -can.a_coast * _clip(v / CREEP)
    # Against the motion it is a brake, down to the speed at which it becomes a drive.
    share = _clip(-along / CREEP, 0.0, 1.0)
    drive, most = (can.a_drive, can.v_max) if way > 0.0 else (can.a_back, can.v_back)
    fading = _clip((most - along) / (0.1 * most), 0.0, 1.0)
    return ahead * (share * can.a_brake + (1.0 - share) * drive * fading)


def braked(v: m_s, strength: m_s2) -> m_s2:
    """Acceleration that stops a vehicle and does not drive it backwards."""
    return -strength * _clip(v / CREEP)


def steering(left: one, now: Motion, can: Abilities) -> rad:
    """Angle for an axis: at most what the tyres hold at the speed, and further against a slide."""
    v2 = max(now.v_x * now.v_x + now.v_y * now.v_y, 1e-6)
    most = atan(can.wheel_base * can.a_turn / v2)
    slide = atan2(now.v_y, now.v_x) if now.v_x > CREEP else 0.0
    against = max(copysign(1.0, left) * slide, 0.0)
    return left * min(most + against, can.steer_max)


def inputs_for(names: frozenset[str], wish: Wish, now: Motion, can: Abilities) -> dict[str, float]:
    """Values of the inputs of these names."""
    given = {
        "steer": wish.steer,
        "curvature": tan(wish.steer) / can.wheel_base,
        "steer_rate": (wish.steer - now.steer) / STEER_TIME,
        "omega": wish.omega,
        "v": wish.v,
        "velocity": wish.v,
        "a": wish.a,
        # With a velocity it is the limit on the way there.
        "acceleration": can.a_brake if "velocity" in names else wish.a,
    }
    if "gear" in names:
        given |= _geared(names, wish, now, can)
    given |= _torques(names, wish, now, can)
    return {name: value for name, value in given.items() if name in names}


def _geared(names: frozenset[str], wish: Wish, now: Motion, can: Abilities) -> dict[str, float]:
    back = now.v_x < -STILL or (now.v_x < STILL and wish.a < 0.0)
    along = -wish.a if back else wish.a
    given = {
        "gear": float(Gear.REVERSE if back else Gear.DRIVE),
        "accel": max(along, 0.0) / can.a_drive,
        "brake": max(-along, 0.0) / can.a_brake,
    }
    # A pedal drives in the direction of the gear, an acceleration is forward in every gear.
    return given | ({"acceleration": along} if "slope" in names else {})


def _torques(names: frozenset[str], wish: Wish, now: Motion, can: Abilities) -> dict[str, float]:
    tau = _clip(can.torque * wish.a, -can.tau_max, can.tau_max)
    if "tau_left" in names:
        # Turning on the spot: as fast as it gets to speed, half the track away from its middle.
        turn = 0.5 * can.torque * can.wheel_base * (wish.omega - now.omega) / 0.2
        return {"tau_left": tau - turn, "tau_right": tau + turn}
    hand = can.hand_torque * _clip(now.v_x / CREEP) if wish.handbrake else 0.0
    rear = _clip(tau - hand, -can.tau_max, can.tau_max)
    return {"tau": tau, "tau_fl": tau, "tau_fr": tau, "tau_rl": rear, "tau_rr": rear}


def _wish(a: m_s2, held: Held, now: Motion, can: Abilities, handbrake: bool = False) -> Wish:
    """On the spot one turns by the axis alone, else by speed and angle."""
    if can.steer_max == 0.0:
        return Wish(a, held.v, 0.0, held.left * can.omega_max, handbrake)
    steer = steering(held.left, now, can)
    return Wish(a, held.v, steer, held.v * tan(steer) / can.wheel_base, handbrake)


def _near(v: m_s, actual: m_s, can: Abilities, braking: bool) -> m_s:
    """A set-point that has not run away from a vehicle that is held up or lags behind.

    Braking begins at the speed that the vehicle has.
    """
    lead = max(LEAD * can.v_max, CREEP)
    low, high = actual - lead, actual + lead
    if braking:
        low, high = (low, max(actual, 0.0)) if v > 0.0 else (min(actual, 0.0), high)
    return _clip(v, low, high)


def _moved(v: m_s, a: m_s2, dt: s, *, at_rest: bool) -> m_s:
    after = v + a * dt
    return 0.0 if at_rest and abs(after) < STILL else after


def _towards(value: float, target: float, most: float) -> float:
    return value + _clip(target - value, -most, most)


def _clip(value: float, low: float = -1.0, high: float = 1.0) -> float:
    return min(max(value, low), high)
