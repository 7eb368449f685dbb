"""What the models have in common: rolling, a lagging drive, a lagging steering, reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...components.actuator import lag, limited
from ...components.runge_kutta import rk4
from ...components.single_track import rolling, yaw_rate
from ...ops import maximum
from ...units import m, m_s, m_s2, rad, rad_s, s
from .records import Report


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
