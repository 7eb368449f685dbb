"""The driver of the demo: follows the figure of eight at a steady target speed."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..controllers import path_follower, speed
from ..controllers.line import Motion, advance, deviation
from ..ops import smooth_hypot, sqrt
from ..policy import Policy
from ..units import m, m_s, m_s2, positive, s
from ..vehicles.two_track_records import Input, State
from ..vehicles.two_track_records import Params as Car
from .figure_of_eight import SKIDPAD, Eight, lap_length, mean_curvature, point

__all__ = ["Memory", "Params", "drive", "driven_by", "driver_of", "duration"]

SPEED_WIDTH: m_s = 0.01
"""Rounds the corner of the speed at standstill, where its gradient would be undefined."""

LAUNCH: s = 2.0
"""Time that standstill at the start adds to the laps, rounded up."""


class Params(NamedTuple):
    """How the driver drives."""

    steering: path_follower.Params
    throttle: speed.Params
    eight: Eight = SKIDPAD
    v_target: Annotated[m_s, positive] = 10.0
    """Speed held all the way."""
    t_reaction: Annotated[s, positive] = 0.08
    """Time from a steering target to the turn of the car: actuator lag, tyres and yaw inertia."""
    t_window: Annotated[s, positive] = 0.3
    """Time over which the curvature ahead is averaged; about as long as the
    steering takes from one circle to the other at its largest rate."""


class Memory(NamedTuple):
    """What the driver remembers."""

    progress: m = 0.0
    """Distance along the line, laps included."""
    throttle: speed.Memory = speed.Memory()


def driver_of(car: Car, a_lateral: m_s2, eight: Eight = SKIDPAD) -> Params:
    """A driver for this car who holds the speed that takes `a_lateral` on the circles."""
    return Params(
        steering=path_follower.Params(l_f=car.l_f, l_r=car.l_r, steer_max=car.steer_max),
        # Four times 90 N·m launch the car at 0.7 g and leave the tyres grip to turn.
        throttle=speed.Params(k_p=40.0, k_i=40.0, tau_min=-60.0, tau_max=90.0),
        eight=eight,
        v_target=sqrt(a_lateral * eight.radius),
    )


def duration(p: Params, laps: int) -> s:
    """Time in which the driver completes so many laps from standstill, with a little to spare."""
    return laps * lap_length(p.eight) / p.v_target + LAUNCH


def drive(p: Params, memory: Memory, x: State, dt: s) -> tuple[Input, Memory]:
    """Targets of the actuators for the coming `dt`, and what to remember."""
    here = point(memory.progress, p.eight)
    motion = Motion(x.x, x.y, x.yaw, x.v_x, x.v_y)
    progress = memory.progress + advance(deviation(motion, here), here.curvature)
    v = smooth_hypot(x.v_x, x.v_y, SPEED_WIDTH)
    ahead = mean_curvature(
        progress + v * (p.t_reaction - 0.5 * p.t_window), v * p.t_window, p.eight
    )
    seen = deviation(motion, point(progress, p.eight))
    steer = path_follower.steer(p.steering, seen, v, ahead)
    tau, throttle = speed.torque(p.throttle, memory.throttle, x.v_x, p.v_target, dt)
    return Input(steer, tau, tau, tau, tau), Memory(progress, throttle)


def driven_by(params: Params) -> Policy:
    """The driver with these parameters as a policy, which a fleet compiles with its cars.

    `Simulator.run` takes its `controller`.
    """

    def act(x: State, m: Memory, p: Params, dt: s) -> tuple[Input, Memory]:
        return drive(p, m, x, dt)

    return Policy(act, Memory=Memory, Params=Params, params=params, name="driver")
