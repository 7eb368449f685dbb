"""DELAY_STEER_ACC_GEARED_WO_FALL_GUARD: pedal, slope and gear, and nothing that holds the car.

It goes by forward Euler. The brake works against the motion whatever the gear; PARK cuts off the
engine and does not brake.
"""

from __future__ import annotations

from typing import Any

from ...components.actuator import lag, limited
from ...components.gear import driven_acceleration, is_neutral
from ...components.single_track import rolling
from ...model import Model, NoDisturbance
from ...ops import abs, logical_and, where
from ...units import m_s, m_s2, one, s
from .delay import scaled_acceleration, scaled_steer, steer_rate
from .drive import command_model, time_constant
from .records import PedalInput, PedalState
from .rules import Rules


def acceleration(pedal: m_s2, v_x: m_s, gear: one, slope: m_s2) -> m_s2:
    """Acceleration along the car from its pedal, its gear and the slope."""
    engine = where(is_neutral(gear), slope, driven_acceleration(pedal, gear, slope))
    brake = where(v_x > 0.0, pedal + slope, slope - pedal)
    standing = where(-pedal >= abs(slope), 0.0, slope)
    braked = where(v_x == 0.0, standing, brake)
    return where(pedal >= 0.0, engine, braked)


def steer_acc_geared_wo_fall_guard(Params: type, rules: Rules) -> Model:
    """DELAY_STEER_ACC_GEARED_WO_FALL_GUARD."""

    def update(x: PedalState, u: PedalInput, w: NoDisturbance, p: Any, dt: s) -> PedalState:
        v_x, pedal = limited(x.v_x, p.vel_lim), limited(x.pedal, p.vel_rate_lim)
        pose = rolling(x.yaw, v_x, x.steer, p.wheel_base)
        target = scaled_acceleration(u.acceleration, p)
        next_pedal = x.pedal + dt * lag(pedal, target, time_constant(p.acc_time_constant, p))
        next_v = limited(x.v_x + dt * acceleration(pedal, v_x, u.gear, u.slope), p.vel_lim)
        holds = logical_and(x.v_x * next_v <= 0.0, -next_pedal >= abs(u.slope))
        next_v = where(holds, 0.0, next_v)
        return x._replace(
            x=x.x + dt * pose.x,
            y=x.y + dt * pose.y,
            yaw=x.yaw + dt * pose.yaw,
            v_x=next_v,
            steer=x.steer + dt * steer_rate(x, scaled_steer(u.steer, p), p),
            a_x=rules.velocity_change(x.v_x, next_v, dt, p, x.a_x),
            pedal=next_pedal,
        )

    return command_model(
        "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
        "Pedal and steering angle lag behind the commands; the car may roll back",
        Params,
        rules,
        PedalInput,
        State=PedalState,
        update=update,
    )
