"""What a vehicle can do, as far as its driver has to know, from the names of its parameters."""

from __future__ import annotations

from math import atan, inf
from typing import Any, NamedTuple

from ... import record
from ...model import Vehicle
from ...units import Nm, kg, m, m_s, m_s2, one, rad, rad_s

_GRAVITY: m_s2 = 9.81
_MU: one = 0.8
"""Friction of a vehicle whose parameters do not tell."""
_DRIVE_SHARE, _BRAKE_SHARE, _TURN_SHARE = 0.55, 0.75, 0.85
"""Of the friction. What drive and brake leave is there to turn with; a driver with keys who turns
harder than this loses the formula_student car when the turn goes the other way."""
_TORQUE_SHARE: one = 0.4
"""Of the torque of the motors, for driving."""
_TIME_TO_SPEED, _TIME_TO_STOP = 1.5, 0.7
"""Seconds to the speed of a robot and back, where neither torque nor friction is the limit."""
_SPEED_PER_SIZE = 5.0
"""Speed in m/s that a metre of wheelbase makes one want."""
_FASTEST: m_s = 60.0


class Abilities(NamedTuple):
    """How fast, how hard and how tight a vehicle goes under keys."""

    v_max: m_s
    v_back: m_s
    """Largest speed in reverse."""
    a_drive: m_s2
    a_brake: m_s2
    a_back: m_s2
    """Acceleration in reverse."""
    a_coast: m_s2
    """How it slows down by itself, added to what its model does."""
    a_turn: m_s2
    """Across the vehicle, about what its tyres hold."""
    wheel_base: m
    steer_max: rad
    """0 of one that does not steer but turns on the spot."""
    omega_max: rad_s
    """Of one that turns on the spot."""
    torque: Nm
    """At each motor, for 1 m/s²."""
    tau_max: Nm
    hand_torque: Nm
    """Of the handbrake at each rear wheel: about what makes the tyre slide."""


def abilities_of(vehicle: Vehicle) -> Abilities:
    """Of a vehicle with its present parameters; a heavier one later is still driven alike."""
    p = dict(zip(record.names(type(vehicle.params)), record.flatten(vehicle.params), strict=True))
    names = frozenset(record.names(vehicle.Input))
    base = _wheel_base(p)
    torque, tau_max = _torque(p, names)
    grip = _first(p, ("tyre.D", "friction.mu"), _MU) * _first(p, ("g",), _GRAVITY)
    steers = names & {"steer", "curvature", "steer_rate"} or "steer_max" in p
    v_max = _top_speed(p, base, torque > 0.0 and "body.com_x" not in p)
    small = v_max < 5.0
    a_drive = min(_DRIVE_SHARE * grip, v_max / _TIME_TO_SPEED if small else grip)
    a_brake = min(_BRAKE_SHARE * grip, v_max / _TIME_TO_STOP if small else grip)
    if tau_max < inf:
        a_drive = min(a_drive, _TORQUE_SHARE * tau_max / torque)
        a_brake = min(a_brake, tau_max / torque)
    a_drive, a_brake = _within(p, a_drive, ("a_max",)), _within(p, a_brake, ("d_max", "a_max"))
    rear = {"tau_rl", "tau_rr"} <= names
    return Abilities(
        v_max=v_max,
        v_back=min(-_first(p, ("v_min",), -0.4 * v_max), 6.0),
        a_drive=a_drive,
        a_brake=a_brake,
        a_back=0.6 * a_drive,
        a_coast=0.0 if {"C_r0", "C_r1"} <= p.keys() else 0.15 * a_brake,
        a_turn=_TURN_SHARE * grip,
        wheel_base=base,
        steer_max=_steer_max(p, base) if steers else 0.0,
        omega_max=min(3.0, v_max / base),
        torque=torque,
        tau_max=tau_max,
        hand_torque=min(tau_max, grip * torque) if rear else 0.0,
    )


def _wheel_base(p: dict[str, Any]) -> m:
    """Between the axles, or between the wheels of a robot without axles."""
    if "l_f" in p:
        return p["l_f"] + p["l_r"]
    if "wheel_fl.x" in p and "steer_max" in p:
        return max(abs(p["wheel_fl.x"] - p["wheel_rl.x"]), 0.1)
    for a, b in (("wheel_left.y", "wheel_right.y"), ("wheel_rl.y", "wheel_rr.y")):
        if a in p:
            return max(abs(p[a] - p[b]), 0.1)
    return _first(p, ("wheel_base",), 2.7)


def _torque(p: dict[str, Any], names: frozenset[str]) -> tuple[Nm, Nm]:
    """Torque of each motor for 1 m/s², and its limit."""
    motors = [name for name in names if name.startswith("tau")]
    if not motors:
        return 0.0, inf
    if "C_m0" in p:
        return p["m"] / (len(motors) * p["C_m0"]), p["tau_max"]
    wheels = [name.partition(".")[0] for name in p if name.endswith(".radius")]
    driven = [w for w in wheels if w != "wheel_caster"]
    # A torque of one side goes to each of its wheels; one motor has them all to itself.
    count = len(driven) if "tau_left" in names else len(motors)
    radius = p[f"{driven[0]}.radius"] if driven else 0.3
    return _mass(p, wheels) * radius / count, inf


def _mass(p: dict[str, Any], wheels: list[str]) -> kg:
    return _first(p, ("m", "body.chassis_mass"), 1000.0) + sum(
        p.get(f"{wheel}.mass", 0.0) for wheel in wheels
    )


def _top_speed(p: dict[str, Any], base: m, strong: bool) -> m_s:
    """As the parameters say; of a car with motors its resistance is the limit; else by size."""
    if strong:
        return _FASTEST
    return min(_first(p, ("v_max", "vel_lim"), min(max(_SPEED_PER_SIZE * base, 1.0), 20.0)), 20.0)


def _steer_max(p: dict[str, Any], base: m) -> rad:
    if "curvature_max" in p:
        return atan(p["curvature_max"] * base)
    return min(_first(p, ("steer_max", "steer_lim"), 0.5), 1.0)


def _first(p: dict[str, Any], names: tuple[str, ...], default: float) -> float:
    return next((float(p[name]) for name in names if p.get(name)), default)


def _within(p: dict[str, Any], value: float, limits: tuple[str, ...]) -> float:
    return min(value, _first(p, limits, value))
