"""A driver in Python for any vehicle with a body.

The steering laws are those of `controllers`; the speed is held by their cruise control.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..controllers import path_follower, pure_pursuit, stanley
from ..controllers.car import car_of, front_axle, rear_axle
from ..controllers.course import Course
from ..controllers.following import CRUISE, View, cruise, progressed, wish_of
from ..controllers.line import Deviation, LinePoint, Motion, deviation
from ..controllers.pid_long_lat import SpeedGains, SpeedMemory
from ..errors import InvalidValue
from ..model import Vehicle
from ..ops import hypot
from ..record import unknown_name
from ..units import m, m_s, rad, s

PREVIEW: s = 0.1
"""How far ahead the curvature is taken that a spring steers for."""


class Steering(NamedTuple):
    """A steering law that a driver may use."""

    place: Callable[[Motion, Any], tuple[m, m]]
    """The point of the car that is to be on the line."""
    angle: Callable[[Any, View], rad]


def _centre(motion: Motion, g: Any) -> tuple[m, m]:
    return motion.x, motion.y


def _spring(g: Any, view: View) -> rad:
    law = path_follower.Params(g.l_f, g.l_r, g.steer_max, settling=2.5 * (g.l_f + g.l_r))
    motion, seen = view.motion, view.seen
    v: m_s = hypot(motion.v_x, motion.v_y)
    across = deviation(motion, LinePoint(motion.x, motion.y, seen.heading, seen.curvature)).v_left
    ahead = view.goal(PREVIEW * v).curvature
    return path_follower.steer(law, Deviation(0.0, seen.left, across), v, ahead)


def pursuit(t_ahead: s) -> Steering:
    """Pure pursuit that looks so far ahead, in s."""

    def angle(g: Any, view: View) -> rad:
        law = pure_pursuit.LookAhead(t_ahead=t_ahead, l_least=1.5 * (g.l_f + g.l_r))
        return pure_pursuit.steer(law, g, view)

    return Steering(rear_axle, angle)


STEERING: dict[str, Steering] = {
    "path_follower": Steering(_centre, _spring),
    "pure_pursuit": pursuit(0.7),
    "stanley": Steering(front_axle, lambda g, view: stanley.steer(stanley.Gains(), g, view)),
}
"""The controllers of `skidpad run VEHICLE --controller NAME`."""


class Follower:
    """Drives a car along a plan; called once per step with the time and the state.

    Args:
        vehicle: what is driven.
        plan: where to and how fast.
        dt: time between calls, in s.
        steering: one of `STEERING`.
        begin: distance along the plan at the start, in m.
        speed: gains of the cruise control.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        plan: Course,
        dt: s,
        steering: str | Steering = "pure_pursuit",
        begin: m = 0.0,
        speed: SpeedGains = CRUISE,
    ) -> None:
        if isinstance(steering, str):
            if steering not in STEERING:
                raise InvalidValue(unknown_name("skidpad", steering, list(STEERING), "controller"))
            steering = STEERING[steering]
        self.plan, self.dt, self.law, self.speed = plan, dt, steering, speed
        self.car = car_of(vehicle)
        self.progress = begin
        self.memory = SpeedMemory()

    def __call__(self, t: s, x: Any) -> Any:
        """The input of the coming step."""
        g = self.car.geometry
        motion = self.car.motion(x, g)
        seen, here = progressed(self.plan.at, self.progress, *self.law.place(motion, g))
        self.progress = here
        view = View(motion, self.car.omega(x, g), seen, lambda ahead: self.plan.at(here + ahead))
        a, self.memory = cruise(self.speed, self.memory, self.car.speed(x), seen, self.dt)
        return self.car.command(x, wish_of(self.law.angle(g, view), a, seen.v, g), g)
