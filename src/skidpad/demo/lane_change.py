"""`lane_change`: the effect of the steering's dead time on a lane change.

Three cars as in Autoware's planning simulator (DELAY_STEER_ACC_GEARED) change lanes on separate,
parallel roads. Planner and controller are the same; the steering commands are delayed by 0, 0.24
and 0.5 s. The longer the delay, the more the car overshoots its lane.

`Follower` drives any vehicle with a body from Python. The steering laws and the cruise control are
those of `control`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import vehicles
from ..control import path_following, pure_pursuit, stanley
from ..control.car import Deviation, Motion, car_of, deviation, front_axle, rear_axle
from ..control.path_following import CRUISE, View, cruise, demand_of, locate_along
from ..control.pid import SpeedGains, SpeedMemory
from ..control.speed import Course
from ..core.arrays import Array
from ..core.model import Vehicle
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..geometry.line import LinePoint
from ..ops import hypot
from ..units import m, m_s, rad, s
from ..view.stage import Line, Polygon, as_points
from .shows import Driver, TrajectoryShow, driving_show

PREVIEW: s = 0.1
"""Preview time in s of the curvature that the spring law steers for."""


class Steering(NamedTuple):
    place: Callable[[Motion, Any], tuple[m, m]]
    """Function that returns the point of the car that should be on the line."""
    angle: Callable[[Any, View], rad]


def _centre(motion: Motion, g: Any) -> tuple[m, m]:
    return motion.x, motion.y


def _spring(g: Any, view: View) -> rad:
    law = path_following.Params(g.l_f, g.l_r, g.steer_max, settling=2.5 * (g.l_f + g.l_r))
    motion, seen = view.motion, view.seen
    v: m_s = hypot(motion.v_x, motion.v_y)
    across = deviation(motion, LinePoint(motion.x, motion.y, seen.heading, seen.curvature)).v_left
    ahead = view.goal(PREVIEW * v).curvature
    return path_following.steer(law, Deviation(0.0, seen.left, across), v, ahead)


def pursuit(t_ahead: s) -> Steering:
    """Pure pursuit with a look-ahead time in s."""

    def angle(g: Any, view: View) -> rad:
        law = pure_pursuit.LookAhead(t_ahead=t_ahead, l_least=1.5 * (g.l_f + g.l_r))
        return pure_pursuit.steer(law, g, view)

    return Steering(rear_axle, angle)


STEERING: dict[str, Steering] = {
    "path_follower": Steering(_centre, _spring),
    "pure_pursuit": pursuit(0.7),
    "stanley": Steering(front_axle, lambda g, view: stanley.steer(stanley.Gains(), g, view)),
}
"""Steering laws by name, for `skidpad run VEHICLE --controller NAME`."""


class Follower:
    """Driver that follows a plan; called once per step with the time and the state.

    Args:
        vehicle: the vehicle.
        plan: path and speeds to follow.
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
        """Input for the coming step."""
        g = self.car.geometry
        motion = self.car.motion(x, g)
        seen, here = locate_along(self.plan.at, self.progress, *self.law.place(motion, g))
        self.progress = here
        view = View(motion, self.car.omega(x, g), seen, lambda ahead: self.plan.at(here + ahead))
        a, self.memory = cruise(self.speed, self.memory, self.car.speed(x), seen, self.dt)
        return self.car.command(x, demand_of(self.law.angle(g, view), a, seen.v, g), g)


DT: s = 0.02
SAMPLE = {"wheel_base": 2.79, "steer_time_constant": 0.27, "acc_time_constant": 0.1}
"""Parameters of Autoware's sample vehicle."""
DELAYS: tuple[s, ...] = (0.0, 0.24, 0.5)
SPEED: m_s = 11.0
LANE: m = 3.5
ROAD: m = 8.5
"""Distance between neighbouring roads, in m."""
BEGIN: m = 15.0
LENGTH: m = 28.0
"""Length of the lane change along the road in m, starting at `BEGIN`."""
END: m = 120.0
AHEAD: s = 1.27
"""Look-ahead time of the cars in s: long enough for the second, too short for the third."""


def path() -> Array:
    """Lane change to the left along a quintic with continuous curvature; points (n, 2) in m."""
    x = np.arange(0.0, END, 0.5)
    u = np.clip((x - BEGIN) / LENGTH, 0.0, 1.0)
    return np.column_stack([x, LANE * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)])


def road(y: m) -> tuple[list[Polygon], list[Line]]:
    """Polygons and lines of a road of two lanes; the centre of the right lane is at `y`."""
    low, middle, high = y - 0.5 * LANE, y + 0.5 * LANE, y + 1.5 * LANE
    corners = ((-6.0, low), (END, low), (END, high), (-6.0, high))
    edges = [Line(((-6.0, edge), (END, edge)), "boundary") for edge in (low, high)]
    dashes = [
        Line(((begin, middle), (begin + 3.0, middle)), "boundary")
        for begin in np.arange(-6.0, END - 3.0, 9.0).tolist()
    ]
    return [Polygon(corners, "lane")], [*edges, *dashes]


def show(seed: int) -> TrajectoryShow:
    """The three cars on their roads; the seed has no effect."""
    drivers: dict[str, Driver] = {}
    polygons: list[Polygon] = []
    lines: list[Line] = []
    for k, delay in enumerate(DELAYS):
        y = -ROAD * k
        car = vehicles.autoware("DELAY_STEER_ACC_GEARED", SAMPLE | {"steer_time_delay": delay})
        line = path() + np.array([0.0, y])
        driver = Follower(car, Course.of(line, SPEED, closed=False), DT, pursuit(AHEAD))
        drivers[f"{delay:g} s late"] = Driver(car, driver, {"y": y, "v_x": SPEED})
        lane, marks = road(y)
        polygons, lines = polygons + lane, [*lines, *marks, Line(as_points(line), "reference")]
    return driving_show(
        drivers,
        dt=DT,
        integrator="rk4",
        title="Lane change with late steering",
        duration=(END - 10.0) / SPEED,
        polygons=tuple(polygons),
        lines=tuple(lines),
    )
