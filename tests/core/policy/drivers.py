"""Policies for the tests, written as a user would write them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from skidpad.control import speed
from skidpad.core.policy import Policy
from skidpad.ops import clip
from skidpad.units import m, m_s, non_negative, one, per_m, rad, s
from skidpad.vehicles.formula import Input, State


class Reference(NamedTuple):
    """A speed and a line parallel to the world x axis."""

    v: m_s = 10.0
    y: m = 0.0


class Params(NamedTuple):
    """Gains."""

    throttle: speed.Params = speed.Params(k_p=40.0, k_i=30.0, tau_min=-80.0, tau_max=80.0)
    k_y: Annotated[per_m, non_negative] = 0.05
    k_yaw: Annotated[one, non_negative] = 0.5
    steer_max: rad = 0.3


def follow(
    x: State, m: speed.Memory, r: Reference, p: Params, dt: float
) -> tuple[Input, speed.Memory]:
    """PI control of speed, proportional steering back to the line."""
    tau, memory = speed.torque(p.throttle, m, x.v_x, r.v, dt)
    steer = clip(p.k_y * (r.y - x.y) - p.k_yaw * x.yaw, -p.steer_max, p.steer_max)
    return Input(steer, tau, tau, tau, tau), memory


FOLLOW = Policy(follow, speed.Memory, Reference, Params, name="follow")
PASS_ON = Policy(lambda r: r, Reference=Input, name="pass_on")
"""Commands what it is told: the closed loop is the open one."""


class Clock(NamedTuple):
    """How often a policy was asked, and the steps that it was told."""

    calls: one = 0.0
    elapsed: s = 0.0


def tick(x: State, m: Clock, dt: Any) -> tuple[Input, Clock]:
    """Steer by the time."""
    return Input(steer=0.1 * m.elapsed), Clock(m.calls + 1.0, m.elapsed + dt)


CLOCK = Policy(tick, Memory=Clock, name="clock")
