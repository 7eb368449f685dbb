"""Models that do at once what they are told: IDEAL_STEER_VEL, _ACC and _ACC_GEARED.

What they report of a command is the present one, also while they are not updated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...components.gear import forbids
from ...components.runge_kutta import rk4
from ...components.single_track import rolling, yaw_rate
from ...model import Model, NoDisturbance
from ...ops import maximum, where
from ...units import m, m_s, m_s2, rad, s
from .drive import command_model
from .records import AccelerationInput, GearedInput, Report, State, VelocityInput
from .rules import Rules


class _Pose(NamedTuple):
    x: m
    y: m
    yaw: rad


class _Rolling(NamedTuple):
    x: m
    y: m
    yaw: rad
    v_x: m_s


def _rolled(x: State, a_x: m_s2, steer: rad, dt: s, p: Any) -> _Rolling:
    """The car after `dt` under an acceleration, its steering constant."""

    def rates(at: _Rolling) -> _Rolling:
        return _Rolling(*rolling(at.yaw, at.v_x, steer, p.wheel_base), a_x)

    return rk4(rates, _Rolling(x.x, x.y, x.yaw, x.v_x), dt)


def steer_vel(Params: type, rules: Rules) -> Model:
    """IDEAL_STEER_VEL: velocity and steering angle are those commanded."""

    def update(x: State, u: VelocityInput, w: NoDisturbance, p: Any, dt: s) -> State:
        def rates(at: _Pose) -> _Pose:
            return _Pose(*rolling(at.yaw, u.velocity, u.steer, p.wheel_base))

        pose = rk4(rates, _Pose(x.x, x.y, x.yaw), dt)
        a_x = rules.velocity_change(x.v_x, u.velocity, dt, p, x.a_x)
        return State(*pose, u.velocity, u.steer, a_x)

    def outputs(x: State, u: VelocityInput, w: NoDisturbance, p: Any) -> Report:
        omega = yaw_rate(u.velocity, u.steer, p.wheel_base)
        return Report(u.velocity, 0.0, x.a_x, omega, u.steer)

    return command_model(
        "IDEAL_STEER_VEL",
        "Rolls with the commanded velocity and steering angle",
        Params,
        rules,
        VelocityInput,
        ideal=True,
        update=update,
        outputs=outputs,
        keeps=("v_x", "a_x"),
    )


def steer_acc(Params: type, rules: Rules) -> Model:
    """IDEAL_STEER_ACC: acceleration and steering angle are those commanded."""

    def update(x: State, u: AccelerationInput, w: NoDisturbance, p: Any, dt: s) -> State:
        after = _rolled(x, u.acceleration, u.steer, dt, p)
        return State(*after, u.steer, u.acceleration)

    def outputs(x: State, u: AccelerationInput, w: NoDisturbance, p: Any) -> Report:
        return Report(x.v_x, 0.0, u.acceleration, yaw_rate(x.v_x, u.steer, p.wheel_base), u.steer)

    return command_model(
        "IDEAL_STEER_ACC",
        "Rolls with the commanded acceleration and steering angle",
        Params,
        rules,
        AccelerationInput,
        ideal=True,
        update=update,
        outputs=outputs,
    )


def steer_acc_geared(Params: type, rules: Rules) -> Model:
    """IDEAL_STEER_ACC_GEARED: the same, moving only as its gear allows."""

    def update(x: State, u: GearedInput, w: NoDisturbance, p: Any, dt: s) -> State:
        after = _rolled(x, u.acceleration, u.steer, dt, p)
        stops = forbids(u.gear, after.v_x)
        v_x = where(stops, 0.0, after.v_x)
        return State(
            where(stops, x.x, after.x),
            where(stops, x.y, after.y),
            where(stops, x.yaw, after.yaw),
            v_x,
            u.steer,
            (v_x - x.v_x) * (1.0 / maximum(dt, p.least_dt)),
        )

    def outputs(x: State, u: GearedInput, w: NoDisturbance, p: Any) -> Report:
        return Report(x.v_x, 0.0, x.a_x, yaw_rate(x.v_x, u.steer, p.wheel_base), u.steer)

    return command_model(
        "IDEAL_STEER_ACC_GEARED",
        "Rolls with the commanded acceleration and steering angle as the gear allows",
        Params,
        rules,
        GearedInput,
        ideal=True,
        update=update,
        outputs=outputs,
        keeps=("a_x",),
    )
