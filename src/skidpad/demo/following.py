"""Vehicles with a body that follow a line: the demo `lane_change`, and `skidpad run VEHICLE`.

`lane_change` shows the effect of the steering's dead time. Three cars as in Autoware's planning
simulator (DELAY_STEER_ACC_GEARED) change lanes on separate, parallel roads. Planner and controller
are the same; the steering commands are delayed by 0, 0.24 and 0.5 s. The longer the delay, the more
the car overshoots its lane.

`vehicle_show` drives any vehicle with a body on a track that fits its size. `Follower` is the
driver of both; the steering laws and the cruise control are those of `control`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import vehicles
from ..control import path_following, pure_pursuit, stanley
from ..control.car import Deviation, Motion, car_of, deviation, front_axle, rear_axle
from ..control.path_following import CRUISE, View, cruise, demand_of, locate_along
from ..control.pid import SpeedGains, SpeedMemory
from ..control.speed import Course, Grip
from ..core import record
from ..core.arrays import Array
from ..core.body import Pose, Velocity, body_of
from ..core.checks import positive
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.line import LinePoint, smooth_loop
from ..geometry.maps.cones import CONE_RADII
from ..geometry.maps.map import Map
from ..ops import hypot
from ..units import m, m_s, m_s2, rad, s
from ..view.colours import CONES
from ..view.stage import Disc, Line, Polygon, as_points
from .lap import SPACING, Track, cones, lane, random_track, start_mark
from .shows import Driver, StartLine, TrajectoryShow, driving_show

PREVIEW: s = 0.1
"""Preview time in s of the curvature that the spring law steers for."""


class Steering(NamedTuple):
    """A steering law and the point of the car that it keeps on the line."""

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
    """Steering law: pure pursuit with a look-ahead time in s."""

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
                raise InvalidValue(
                    record.unknown_name("skidpad", steering, list(STEERING), "controller")
                )
            steering = STEERING[steering]
        self.plan, self.dt, self.law, self.speed = plan, dt, steering, speed
        self.car = car_of(vehicle)
        self.progress = begin
        self.memory = SpeedMemory()

    def __call__(self, t: s, x: Any) -> Any:
        g = self.car.geometry
        motion = self.car.motion(x, g)
        seen, here = locate_along(self.plan.at, self.progress, *self.law.place(motion, g))
        self.progress = here
        view = View(motion, self.car.omega(x, g), seen, lambda ahead: self.plan.at(here + ahead))
        a, self.memory = cruise(self.speed, self.memory, self.car.speed(x), seen, self.dt)
        return self.car.command(x, demand_of(self.law.angle(g, view), a, seen.v, g), g)


LANE_CHANGE_DT: s = 0.02
SAMPLE = {"wheel_base": 2.79, "steer_time_constant": 0.27, "acc_time_constant": 0.1}
"""Parameters of Autoware's sample vehicle."""
DELAYS: tuple[s, ...] = (0.0, 0.24, 0.5)
LANE_CHANGE_SPEED: m_s = 11.0
LANE: m = 3.5
ROAD: m = 8.5
"""Distance between neighbouring roads, in m."""
BEGIN: m = 15.0
LENGTH: m = 28.0
"""Length of the lane change along the road in m, starting at `BEGIN`."""
END: m = 120.0
AHEAD: s = 1.27
"""Look-ahead time of the cars in s: long enough for the second, too short for the third."""


def lane_change_path() -> Array:
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
    """Show of the three cars on their roads; the seed has no effect."""
    drivers: dict[str, Driver] = {}
    polygons: list[Polygon] = []
    lines: list[Line] = []
    for k, delay in enumerate(DELAYS):
        y = -ROAD * k
        car = vehicles.autoware("DELAY_STEER_ACC_GEARED", SAMPLE | {"steer_time_delay": delay})
        line = lane_change_path() + np.array([0.0, y])
        driver = Follower(
            car, Course.of(line, LANE_CHANGE_SPEED, closed=False), LANE_CHANGE_DT, pursuit(AHEAD)
        )
        drivers[f"{delay:g} s late"] = Driver(car, driver, {"y": y, "v_x": LANE_CHANGE_SPEED})
        lane, marks = road(y)
        polygons, lines = polygons + lane, [*lines, *marks, Line(as_points(line), "reference")]
    return driving_show(
        drivers,
        dt=LANE_CHANGE_DT,
        integrator="rk4",
        title="Lane change with late steering",
        duration=(END - 10.0) / LANE_CHANGE_SPEED,
        polygons=tuple(polygons),
        lines=tuple(lines),
    )


DT: s = 0.01
STEP: s = 3.8e-4
"""Largest step of the integrator in s, which the wheels of some models need."""
TRACKS = ("circuit", "lane_change")
CONTROLLER = "path_follower"
A_LATERAL: m_s2 = 4.0
"""Lateral acceleration in bends in m/s², which determines the speed."""
A_ALONG: m_s2 = 2.5
V_MAX: m_s = 20.0
V_LATE: m_s = 5.4
"""Largest speed in m/s of vehicles with delayed commands."""
WHEEL_BASE: m = 1.57
"""Wheelbase in m of the Formula Student car, for which the tracks are made; they scale with the
wheelbase."""


def vehicle_show(
    vehicle: Vehicle,
    seed: int,
    *,
    controller: str | None = None,
    track: str | None = None,
    speed: m_s | None = None,
) -> TrajectoryShow:
    """Show of one vehicle with a controller on a track.

    Args:
        vehicle: any vehicle with a body.
        seed: seed of the circuit.
        controller: one of `STEERING`.
        track: one of `TRACKS`, or a file with a centre line that `Map.load` reads. If None, the
            circuit, or the lane change for a vehicle that does not turn.
        speed: largest speed, in m/s.
    """
    body_of(vehicle, "a run")
    size, fastest = vehicle.geometry.wheel_base / WHEEL_BASE, _fastest(vehicle, speed)
    turns = _placed(vehicle, Pose(0.0, 0.0, 1.0), 0.0)[1].yaw == 1.0
    track = track or TRACKS[0 if turns else 1]
    if track == "circuit":
        made = random_track(seed)
        grown = Track(size * made.centre, size * made.half_width)
        plan = _around(smooth_loop(grown.centre, size * grown.spacing), fastest)
        shown = _lap_stage(plan, grown) | {"discs": cones(grown)}
    elif track == "lane_change":
        # The path is made for cars of 2.8 m wheelbase.
        line = lane_change_path() * min(size * WHEEL_BASE / 2.8, 1.0)
        plan = Course.of(line, min(fastest, 15.0), closed=False)
        marks = (Line(as_points(line), "reference"),)
        shown = {"duration": round(plan.time, 1), "lines": marks}
    elif Path(track).is_file():
        ground = Map.load(track)
        rows = ground.centre_line
        if rows is None:
            raise InvalidValue(f"the map {ground.name!r} has no centre line to drive along")
        if np.hypot(*(rows[-1, 1:3] - rows[0, 1:3])) > 1e-3:
            raise InvalidValue(f"the centre line of {ground.name!r} is not closed")
        lines = Track(smooth_loop(rows[:-1, 1:3], SPACING), float(rows[:, 5].mean()))
        plan = _around(lines.centre, fastest)
        places = zip(as_points(ground.cones), ground.colours, strict=True)
        discs = [Disc(x, y, CONE_RADII[c], "cone", CONES[c]) for (x, y), c in places]
        shown = _lap_stage(plan, lines) | {"discs": tuple(discs)}
    else:
        known = (*TRACKS, "or the file of a centre line")
        raise InvalidValue(record.unknown_name("skidpad", track, known, "track"))
    start = _start(vehicle, plan)
    driver = Follower(vehicle, plan, DT, controller or CONTROLLER)
    return driving_show(
        {vehicle.name: Driver(vehicle, driver, start)},
        dt=DT,
        integrator="rk4",
        substeps=round(DT / STEP) if vehicle.model.continuous else None,
        title=f"{vehicle.name} with {controller or CONTROLLER}",
        **shown,
    )


def _fastest(vehicle: Vehicle, speed: m_s | None) -> m_s:
    if speed is None:
        limit = vehicle.limits.v_max
        usual = V_LATE if vehicle.model.dead_times else V_MAX
        return min(usual, 0.9 * (limit if np.isfinite(limit) else V_MAX))
    return positive("speed", speed, "m/s")


def _around(line: Array, v_max: m_s) -> Course:
    """Course along a closed line, at the highest speeds that its bends allow."""
    return Course.fastest(line, Grip(A_LATERAL, A_ALONG, A_ALONG, v_max), closed=True)


def _lap_stage(plan: Course, track: Track) -> dict[str, Any]:
    here = plan.at(0.0)
    return {
        "duration": round(1.05 * plan.time + 1.0, 1),
        "start_line": StartLine(here.x, here.y, here.heading, 2.0 * track.half_width),
        "polygons": (lane(track),),
        "lines": (start_mark(track), Line(as_points(plan.line.points), "centre")),
    }


def _start(vehicle: Vehicle, plan: Course) -> Any:
    here = plan.at(0.0)
    state, pose = _placed(vehicle, Pose(here.x, here.y, here.heading), here.v)
    if pose.yaw != here.heading:
        raise InvalidValue(
            f"{vehicle.name!r} does not turn, and the track begins at a heading of "
            f"{here.heading:g} rad; the track lane_change goes straight ahead"
        )
    wheels = vehicle.geometry.wheels
    return state._replace(**{w.spin: here.v / w.radius for w in wheels if w.spin})


def _placed(vehicle: Vehicle, pose: Pose, v: m_s) -> tuple[Any, Pose]:
    """State of a vehicle at a pose and a speed, and the pose that the vehicle's state can
    represent.
    """
    body, p = vehicle.body, vehicle.params
    state = body.placed(record.build(vehicle.State), pose, Velocity(v, 0.0, 0.0), p)
    return state, body.pose(state, p)
