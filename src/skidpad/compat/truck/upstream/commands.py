"""Upstream's commands: kept as they were turned into rear-axle ones at the moment they came."""

from __future__ import annotations

import math

from ....components.ackermann import curvature_of, rear_curvature_limit, rear_ratio
from ....units import m_s, m_s2, per_m, rad
from ....vehicles.ackermann_truck import Params, RearCommand, State, curvature_limit


def stored_command(
    velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params
) -> RearCommand:
    """The command as upstream stores it, floored where a maximum was meant.

    The acceleration becomes at least the limit of the manoeuvre that the truck is in when the
    command comes; if it is in none, what was given is stored, and 0 if nothing was. It is not
    looked at again when the manoeuvre changes.
    """
    if acceleration is None:
        acceleration = _selected(velocity, curvature, x, p)
    most = curvature_limit(p)
    curvature = max(-most, min(most, curvature))
    ratio = rear_ratio(curvature, p.base_to_rear)
    rear_velocity = max(p.v_min, min(p.v_max, velocity)) * ratio
    floor = _limit(_manoeuvre(rear_velocity, x, p), p)
    stored = ratio * max(acceleration, floor)
    return RearCommand(rear_velocity, min(stored, p.a_max), min(stored, p.d_max), curvature / ratio)


def _selected(velocity: m_s, curvature: per_m, x: State, p: Params) -> m_s2:
    """The acceleration of a command without one, from what was asked for before any limit."""
    if abs(curvature) * p.base_to_rear > 1.0:
        return 0.0  # the program gets NaN here, which no comparison holds for
    rear = velocity * rear_ratio(curvature, p.base_to_rear)
    return _limit(_manoeuvre(rear, x, p), p)


def _manoeuvre(velocity: m_s, x: State, p: Params) -> int:
    """1 to gain speed, -1 to lose it, 0 to keep it."""
    signs = _sign(velocity, p.v_tolerance) * _sign(x.v_x, p.v_tolerance)
    goal = 0.0 if signs < 0 else velocity
    return _sign(abs(goal) - abs(x.v_x), p.v_tolerance)


def _limit(manoeuvre: int, p: Params) -> m_s2:
    return {1: p.a_max, -1: p.d_max, 0: 0.0}[manoeuvre]


def _sign(value: float, tolerance: float) -> int:
    return int(value > tolerance) - int(value < -tolerance)


def rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    """Rear-axle speed after a reset: the rear axle's curvature is taken for the base point's."""
    sine = curvature_of(steer, p.wheel_base) * p.base_to_rear
    return velocity * math.sqrt(1.0 - sine * sine) if abs(sine) <= 1.0 else math.nan


def reported_steer_limit(p: Params) -> rad:
    """The middle steering limit that upstream's model tells; its engine does not use it.

    It takes the angle of a curvature and a length, where the angle of their product was meant.
    """
    rear = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return math.atan2(rear, p.wheel_base)
