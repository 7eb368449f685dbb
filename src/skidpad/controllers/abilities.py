"""What a driver asks of a vehicle at most, from its limits and its geometry."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from ..body import body_of
from ..model import Vehicle
from ..units import m, m_s, m_s2, one, rad, rad_s

__all__ = ["Abilities", "abilities_of"]

_GRIP: m_s2 = 0.8 * 9.81
"""Of a vehicle whose model sets no limit."""
_DRIVE_SHARE, _BRAKE_SHARE, _TURN_SHARE = 0.55, 0.75, 0.85
"""Of the grip. What drive and brake leave is there to turn with; a driver with keys who turns
harder than this loses the formula_student car when the turn goes the other way."""
_COAST_SHARE: one = 0.1
"""Of full braking."""
_SLOW: m_s = 5.0
_TIME_TO_SPEED, _TIME_TO_STOP = 1.5, 0.7
"""Seconds to the speed of a slow vehicle and back."""
_SPEED_PER_SIZE = 5.0
"""Speed in m/s that a metre of wheelbase makes one want."""
_FASTEST, _FASTEST_BY_SIZE = 60.0, 20.0
_FASTEST_BACK: m_s = 6.0
_STEER: rad = 0.5
"""Largest angle of a vehicle whose model sets no limit."""


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
    """How it slows down when no key is held, added to what its model does."""
    a_turn: m_s2
    """Across the vehicle, about what its tyres hold."""
    wheel_base: m
    steer_max: rad
    """0 of one that does not steer but turns on the spot."""
    omega_max: rad_s
    """Of one that turns on the spot."""
    handbrake: one
    """How far it is pulled: about what makes tyres slide. 0 of one that has none."""


def abilities_of(vehicle: Vehicle) -> Abilities:
    """Of a vehicle with its present parameters; a heavier one later is still driven alike."""
    body_of(vehicle, "a driver")
    limits, base = vehicle.limits, max(vehicle.geometry.wheel_base, 0.1)
    grip = limits.grip if limits.grip < inf else _GRIP
    by_size = min(max(_SPEED_PER_SIZE * base, 1.0), _FASTEST_BY_SIZE)
    # What says how hard it drives is driven to its limits; of others one wants what fits them.
    v_max = min(limits.v_max, _FASTEST if limits.a_max < inf else by_size)
    slow = v_max < _SLOW
    a_drive = min(_DRIVE_SHARE * grip, limits.a_max, v_max / _TIME_TO_SPEED if slow else inf)
    a_brake = min(_BRAKE_SHARE * grip, -limits.a_min, v_max / _TIME_TO_STOP if slow else inf)
    return Abilities(
        v_max=v_max,
        v_back=min(-limits.v_min if limits.v_min > -inf else 0.4 * v_max, _FASTEST_BACK),
        a_drive=a_drive,
        a_brake=a_brake,
        a_back=0.6 * a_drive,
        a_coast=_COAST_SHARE * a_brake,
        a_turn=_TURN_SHARE * grip,
        wheel_base=base,
        steer_max=min(limits.steer_max, 1.0) if limits.steer_max < inf else _STEER,
        omega_max=min(limits.omega_max or inf, 3.0, v_max / base),
        handbrake=min(1.0, grip / limits.a_max) if limits.handbrake else 0.0,
    )
