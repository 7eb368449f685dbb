"""Models driven by pedals: ACTUATION_CMD; with other steering _VGR, _STEER_MAP and _MECHANICAL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...components.actuator import limited
from ...components.gear import driven_acceleration
from ...components.gear_ratio import tyre_target
from ...components.mechanical_steering import limited_target, steered
from ...components.table import NoTable, at_column, at_row
from ...model import Model, NoDisturbance
from ...ops import abs, where
from ...units import m_s, m_s2, rad, rad_s, s
from .body import by_steering_map, by_steering_wheel
from .drive import Moving, command_model, driven, reported_with_stop, time_constant, towards
from .records import ActuationInput, GearedState, MechanicalState
from .rules import Rules, guarded

SteerRate = Callable[[Moving], rad_s]
"""Rate of steering as a function of what moves."""


def pedal_acceleration(u: ActuationInput, p: Any) -> Callable[[m_s], m_s2]:
    """Acceleration the pedals ask for, as a function of velocity; the accelerator goes first.

    Without a map for what is pressed, it is the accelerator's number itself.
    """
    by_brake = _looked_up(u.brake, p.brake_map, lambda v_x: u.accel)
    return _looked_up(u.accel, p.accel_map, by_brake)


def _looked_up(pedal: Any, table: Any, otherwise: Callable[[m_s], m_s2]) -> Callable[[m_s], m_s2]:
    if isinstance(table, NoTable):
        return otherwise
    curve = at_row(pedal, table)
    return lambda v_x: where(pedal > 0.0, at_column(v_x, curve), otherwise(v_x))


def _driven(x: Any, u: ActuationInput, p: Any, dt: s, steer_rate: SteerRate) -> Moving:
    asked = pedal_acceleration(u, p)

    def target(v_x: m_s) -> m_s2:
        return driven_acceleration(limited(asked(v_x), p.vel_rate_lim), u.gear, u.slope)

    accel, brake = (time_constant(t, p) for t in (p.accel_time_constant, p.brake_time_constant))
    return driven(x, dt, p, target, where(u.accel > 0.0, accel, brake), steer_rate)


def _limited(after: Moving, p: Any) -> Moving:
    return after._replace(
        v_x=limited(after.v_x, p.vel_lim), steer=limited(after.steer, p.steer_lim)
    )


def plain(x: Any, u: ActuationInput, p: Any, rules: Rules) -> SteerRate:
    """The command is a tyre angle."""
    rate = towards(u.steer, x, p)
    return lambda at: rate


def geared_wheel(x: Any, u: ActuationInput, p: Any, rules: Rules) -> SteerRate:
    """The command is a steering wheel angle, with a gear ratio that varies."""

    def rate(at: Moving) -> rad_s:
        target = tyre_target(at.v_x, at.steer, u.steer, p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
        return towards(target, x, p)

    return rate


def mapped(x: Any, u: ActuationInput, p: Any, rules: Rules) -> SteerRate:
    """The command is a coordinate of a map of steering rates; there is no feedback."""
    curve = at_row(u.steer, p.steer_map)
    by_t = 1.0 / time_constant(p.steer_time_constant, p)

    def rate(at: Moving) -> rad_s:
        column = rules.steer_map_column(at.v_x, at.steer)
        return limited(at_column(column, curve) * by_t, p.steer_rate_lim)

    return rate


def _pedal_model(
    name: str, summary: str, Params: type, rules: Rules, steering: Any, **parts: Any
) -> Model:
    return command_model(
        name,
        summary,
        Params,
        rules,
        ActuationInput,
        steering=steering,
        outputs=reported_with_stop,
        **parts,
    )


def _servo_model(
    name: str,
    summary: str,
    Params: type,
    rules: Rules,
    steering: Callable[[Any, ActuationInput, Any, Rules], SteerRate],
    command: Callable[[Any, rad, Any], Any] | None = None,
) -> Model:
    """A model whose steering moves by a rate; `command` gives the input for a tyre angle."""

    def update(x: GearedState, u: ActuationInput, w: NoDisturbance, p: Any, dt: s) -> GearedState:
        after = _limited(_driven(x, u, p, dt, steering(x, u, p, rules)), p)
        return guarded(x, GearedState(*after), u.gear, dt, p, rules)

    return _pedal_model(name, summary, Params, rules, command, State=GearedState, update=update)


def plain_cmd(Params: type, rules: Rules) -> Model:
    """ACTUATION_CMD."""
    summary = "Pedals through maps; the steering command is a tyre angle"
    return _servo_model("ACTUATION_CMD", summary, Params, rules, plain)


def vgr(Params: type, rules: Rules) -> Model:
    """ACTUATION_CMD_VGR."""
    summary = "Pedals through maps; the steering command is a wheel angle, its gear ratio varies"
    model = "ACTUATION_CMD_VGR"
    return _servo_model(model, summary, Params, rules, geared_wheel, by_steering_wheel)


def steer_map(Params: type, rules: Rules) -> Model:
    """ACTUATION_CMD_STEER_MAP."""
    summary = "Pedals through maps; steering rate through a map"
    model = "ACTUATION_CMD_STEER_MAP"
    return _servo_model(model, summary, Params, rules, mapped, by_steering_map)


def mechanical(Params: type, rules: Rules) -> Model:
    """ACTUATION_CMD_MECHANICAL: the steering column moves after the car has, in the same update."""

    def update(
        x: MechanicalState, u: ActuationInput, w: NoDisturbance, p: Any, dt: s
    ) -> MechanicalState:
        after = _driven(x, u, p, dt, lambda at: 0.0)
        asked = tyre_target(after.v_x, x.steer, u.steer, p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
        target = limited_target(asked, x.steer_target, dt, p.mechanical_params)
        steer, column = steered(
            x.steer,
            target,
            abs(after.v_x),
            x.column,
            dt,
            p.mechanical_params,
            queued=rules.upstream,
        )
        after = _limited(after._replace(steer=steer), p)
        state = MechanicalState(*after)._replace(steer_target=asked, column=column)
        return guarded(x, state, u.gear, dt, p, rules)

    return _pedal_model(
        "ACTUATION_CMD_MECHANICAL",
        "Pedals through maps; the steering command turns a column with inertia and friction",
        Params,
        rules,
        by_steering_wheel,
        State=MechanicalState,
        update=update,
        keeps=("steer_target",),
        mirror_odd=dict.fromkeys(("column.rate", "column.integral", "column.error"), True),
    )
