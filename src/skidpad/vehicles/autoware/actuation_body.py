"""Bodies of the models driven by pedals: what their steering command is, and what pedals give.

The maps are not inverted here: pedals pushed down are taken to give an acceleration, and a steering
map to give more the further one asks. `CommandConverter` does it as Autoware does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...body import Body, Limits, Wish
from ...components.actuator import limited
from ...components.gear_ratio import gear_ratio, wheel_angle
from ...components.table import NoTable
from ...ops import clip, maximum, where
from ...units import m_s2, rad
from .body import backwards, car_driven_by, gear, limits
from .records import ActuationInput

PEDAL_DRIVE: m_s2 = 4.0
PEDAL_BRAKE: m_s2 = 6.0
"""Accelerations that pedals pushed down are taken to give."""
ALL_OF_THE_MAP: rad = 0.1
"""Error of the angle for which a steering map is used to its end."""

Steering = Callable[[Any, rad, Any], Any]
"""The steering command for an angle of the tyres, from state and parameters."""


def by_angle(x: Any, steer: rad, p: Any) -> rad:
    """The command is the angle itself."""
    return steer


def by_wheel(x: Any, steer: rad, p: Any) -> rad:
    """The command is the angle of the steering wheel."""
    ratio = p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c
    return steer * gear_ratio(x.v_x, wheel_angle(x.v_x, x.steer, *ratio), *ratio)


def by_map(x: Any, steer: rad, p: Any) -> Any:
    """The command is a row of a map of rates: the further, the more the angle is off."""
    rows, _ = type(p.steer_map).size
    least, most = p.steer_map[0], p.steer_map[rows - 1]
    return clip((steer - x.steer) * (most * (1.0 / ALL_OF_THE_MAP)), least, most)


def pedal_car(steering: Steering, steer_rate: Callable[[Any], Any]) -> Body:
    """The body of a model whose angle moves at this rate at most."""

    def command(x: Any, wish: Wish, p: Any) -> ActuationInput:
        back = backwards(x, wish)
        along = where(back, -wish.a, wish.a)
        accel, brake = maximum(along, 0.0) * (1.0 / PEDAL_DRIVE), maximum(-along, 0.0)
        # Without its map a model takes the accelerator's number for an acceleration.
        if isinstance(p.accel_map, NoTable):
            accel = along if isinstance(p.brake_map, NoTable) else maximum(along, 0.0)
        steer = steering(x, limited(wish.steer, p.steer_lim), p)
        return ActuationInput(accel, brake * (1.0 / PEDAL_BRAKE), steer, gear(back))

    def limits_of(p: Any) -> Limits:
        # Pedals and steering are in units of their maps.
        return replace(limits(p, steer_rate(p)), inputs={})

    return car_driven_by(command, limits_of)
