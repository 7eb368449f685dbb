"""Models whose drive and steering lag: DELAY_STEER_VEL, _ACC, _ACC_GEARED, _MAP_ACC_GEARED.

Steering goes by forward Euler: its rate is that at the start of the update, while the yaw angle is
integrated with the tyre angle as it grows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...components.actuator import limited, limited_lag, outside_dead_band, servo_rate
from ...components.runge_kutta import rk4
from ...components.single_track import rolling
from ...components.table import NoTable, at_column, at_row
from ...model import Model, NoDisturbance
from ...ops import maximum
from ...units import m, m_s, m_s2, rad, rad_s, s
from .drive import command_model, driven, reported_with_stop, time_constant, towards
from .records import AccelerationInput, GearedInput, GearedState, State, VelocityInput
from .rules import Rules, guarded


def steer_rate(x: Any, target: rad, p: Any) -> rad_s:
    """Rate of steering towards a `target` for the measured angle, outside the dead band."""
    error = outside_dead_band(x.steer + p.steer_bias - target, p.steer_dead_band)
    return servo_rate(error, time_constant(p.steer_time_constant, p), p.steer_rate_lim)


def scaled_steer(command: rad, p: Any) -> rad:
    """Tyre angle that a command stands for: scaled after it is limited."""
    return limited(command, p.steer_lim) * maximum(p.debug_steer_scaling_factor, 0.0)


def scaled_acceleration(command: m_s2, p: Any) -> m_s2:
    """Acceleration that a command stands for: scaled after it is limited."""
    return limited(command, p.vel_rate_lim) * maximum(p.debug_acc_scaling_factor, 0.0)


class _Rolling(NamedTuple):
    x: m
    y: m
    yaw: rad
    v_x: m_s
    steer: rad


def steer_vel(Params: type, rules: Rules) -> Model:
    """DELAY_STEER_VEL: velocity and steering angle lag behind the commands."""

    def update(x: State, u: VelocityInput, w: NoDisturbance, p: Any, dt: s) -> State:
        rate = steer_rate(x, limited(u.steer, p.steer_lim), p)
        t = time_constant(p.vel_time_constant, p)

        def rates(at: _Rolling) -> _Rolling:
            v_x, steer = limited(at.v_x, p.vel_lim), limited(at.steer, p.steer_lim)
            a_x = limited(limited_lag(v_x, u.velocity, t, p.vel_lim), p.vel_rate_lim)
            return _Rolling(*rolling(at.yaw, v_x, steer, p.wheel_base), a_x, rate)

        after = rk4(rates, _Rolling(x.x, x.y, x.yaw, x.v_x, x.steer), dt)
        return State(*after, rules.velocity_change(x.v_x, after.v_x, dt, p, x.a_x))

    return command_model(
        "DELAY_STEER_VEL",
        "Velocity and steering angle lag behind the commands",
        Params,
        rules,
        VelocityInput,
        update=update,
        keeps=("a_x",),
    )


def steer_acc(Params: type, rules: Rules) -> Model:
    """DELAY_STEER_ACC: acceleration and steering angle lag behind the commands."""

    def update(x: State, u: AccelerationInput, w: NoDisturbance, p: Any, dt: s) -> State:
        return State(*_driven(x, u, p, dt))

    summary = "Acceleration and steering angle lag behind the commands"
    name = "DELAY_STEER_ACC"
    return command_model(name, summary, Params, rules, AccelerationInput, update=update)


def steer_acc_geared(Params: type, rules: Rules) -> Model:
    """DELAY_STEER_ACC_GEARED: the same, moving only as its gear allows."""

    def update(x: GearedState, u: GearedInput, w: NoDisturbance, p: Any, dt: s) -> GearedState:
        return guarded(x, GearedState(*_driven(x, u, p, dt)), u.gear, dt, p, rules)

    summary = "Acceleration and steering angle lag behind the commands; moves as the gear allows"
    return _geared("DELAY_STEER_ACC_GEARED", summary, Params, rules, update)


def steer_map_acc_geared(Params: type, rules: Rules) -> Model:
    """DELAY_STEER_MAP_ACC_GEARED: acceleration lags behind what a map makes of the command."""

    def update(x: GearedState, u: GearedInput, w: NoDisturbance, p: Any, dt: s) -> GearedState:
        after = _mapped(x, u, p, dt)
        return guarded(x, GearedState(*after), u.gear, dt, p, rules)

    summary = "Acceleration lags behind what a map of command and velocity says"
    return _geared("DELAY_STEER_MAP_ACC_GEARED", summary, Params, rules, update)


def _driven(x: Any, u: Any, p: Any, dt: s) -> tuple[Any, ...]:
    """The moving part of the state after `dt`; velocity is limited, acceleration is not."""
    target = scaled_acceleration(u.acceleration, p)
    rate = steer_rate(x, scaled_steer(u.steer, p), p)
    t = time_constant(p.acc_time_constant, p)
    after = driven(x, dt, p, lambda v_x: target, t, lambda at: rate)
    return after._replace(v_x=limited(after.v_x, p.vel_lim))


def _mapped(x: Any, u: Any, p: Any, dt: s) -> tuple[Any, ...]:
    """As `_driven`, with a map in place of the factors and without a dead band."""
    command = limited(u.acceleration, p.vel_rate_lim)
    rate = towards(limited(u.steer, p.steer_lim), x, p)
    t = time_constant(p.acc_time_constant, p)
    if isinstance(p.acceleration_map, NoTable):
        after = driven(x, dt, p, lambda v_x: command, t, lambda at: rate)
    else:
        curve = at_row(command, p.acceleration_map)
        after = driven(x, dt, p, lambda v_x: at_column(v_x, curve), t, lambda at: rate)
    return after._replace(v_x=limited(after.v_x, p.vel_lim))


def _geared(name: str, summary: str, Params: type, rules: Rules, update: Any) -> Model:
    parts: dict[str, Any] = {"State": GearedState, "update": update, "outputs": reported_with_stop}
    return command_model(name, summary, Params, rules, GearedInput, **parts)
