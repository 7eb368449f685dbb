"""What the models have in common: rolling, a lagging drive, a lagging steering, reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...components.actuator import lag, limited, servo_rate
from ...components.runge_kutta import rk4
from ...components.single_track import rolling, yaw_rate
from ...model import Model, NoDisturbance
from ...ops import maximum
from ...units import m, m_s, m_s2, rad, rad_s, s
from .body import car
from .records import Report, State
from .rules import Rules

DEAD_TIMES = {
    "velocity": "vel_time_delay",
    "acceleration": "acc_time_delay",
    "accel": "accel_time_delay",
    "brake": "brake_time_delay",
    "steer": "steer_time_delay",
}
"""Parameters by the input that they delay."""


class Moving(NamedTuple):
    """What changes in continuous time within an update."""

    x: m
    y: m
    yaw: rad
    v_x: m_s
    steer: rad
    a_x: m_s2


def time_constant(t: s, p: Any) -> s:
    """A time constant as it is used: never below the least one."""
    return maximum(t, p.least_time_constant)


def towards(target: rad, x: Any, p: Any) -> rad_s:
    """Rate of steering from the measured angle at the start of the update to a `target`."""
    error = x.steer + p.steer_bias - target
    return servo_rate(error, time_constant(p.steer_time_constant, p), p.steer_rate_lim)


def driven(
    x: Any,
    dt: s,
    p: Any,
    target: Callable[[m_s], m_s2],
    t: s,
    steer_rate: Callable[[Moving], rad_s],
) -> Moving:
    """The car after `dt`, its acceleration lagging behind `target` with the time constant `t`.

    `target` is a function of the velocity, `steer_rate` of everything that moves; both are
    evaluated at every stage of a Runge-Kutta step. Velocity and acceleration act within their
    limits and are kept without them.
    """

    def rates(at: Moving) -> Moving:
        v_x, a_x = limited(at.v_x, p.vel_lim), limited(at.a_x, p.vel_rate_lim)
        pose = rolling(at.yaw, v_x, at.steer, p.wheel_base)
        return Moving(*pose, a_x, steer_rate(at), lag(a_x, target(v_x), t))

    return rk4(rates, Moving(x.x, x.y, x.yaw, x.v_x, x.steer, x.a_x), dt)


def report(x: Any, a_x: m_s2, p: Any) -> Report:
    """The report of a car whose steering has a bias."""
    omega = yaw_rate(x.v_x, x.steer, p.wheel_base)
    return Report(x.v_x, 0.0, a_x, omega, x.steer + p.steer_bias)


def reported(x: Any, u: Any, w: NoDisturbance, p: Any) -> Report:
    """The report of a car whose acceleration is a state."""
    return report(x, x.a_x, p)


def reported_with_stop(x: Any, u: Any, w: NoDisturbance, p: Any) -> Report:
    """The same, with the acceleration that stops a car whose gear does not let it move."""
    return report(x, x.a_x + x.a_stop, p)


def command_model(
    name: str,
    summary: str,
    Params: type,
    rules: Rules,
    Input: Any,
    *,
    ideal: bool = False,
    steering: Callable[[Any, rad, Any], Any] | None = None,
    keeps: tuple[str, ...] = (),
    **parts: Any,
) -> Model:
    """A model with this input; see `body.car` for `ideal` and `steering`.

    Unless it is ideal its commands have dead times. `keeps` are fields of the state that upstream
    does not reset. `parts` are further fields of the model.
    """
    delayed = {} if ideal else {n: DEAD_TIMES[n] for n in Input._fields if n in DEAD_TIMES}
    kept = keeps if ideal else (*keeps, "pending")
    usual: dict[str, Any] = {"State": State, "outputs": reported}
    return Model(
        name=name,
        summary=summary,
        Params=Params,
        Input=Input,
        body=car(Input, ideal=ideal, steering=steering),
        Outputs=Report,
        dead_times=delayed,
        dead_time_rule=rules.dead_time if delayed else "at_least",
        reset_keeps=kept if rules.upstream else (),
        reproduces=rules.reproduces,
        **usual | parts,
    )
