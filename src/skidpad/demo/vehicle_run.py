"""`skidpad run VEHICLE`: any vehicle with a body, on a track that fits its size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..control.speed import Course, Grip
from ..core import record
from ..core.arrays import Array
from ..core.body import Pose, Velocity, body_of
from ..core.checks import positive
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.line import smooth_loop
from ..geometry.maps.cones import CONE_RADII
from ..geometry.maps.map import Map
from ..units import m, m_s, m_s2, s
from ..view.stage import Disc, Line, as_points
from .lane_change import Follower, path
from .laps import (
    BLUE,
    ORANGE,
    SPACING,
    YELLOW,
    StartLine,
    Track,
    cones,
    lane,
    random_track,
    start_mark,
)
from .shows import Driver, TrajectoryShow, driving_show

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
CONE_COLOURS = {"blue": BLUE, "yellow": YELLOW, "orange": ORANGE}
WHEEL_BASE: m = 1.57
"""Wheelbase in m of the Formula Student car, for which the tracks are made; they scale with the
wheelbase."""


def show(
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
        controller: one of `lane_change.STEERING`.
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
        shown = _lap(plan, grown) | {"discs": cones(grown)}
    elif track == "lane_change":
        # The path is made for cars of 2.8 m wheelbase.
        line = path() * min(size * WHEEL_BASE / 2.8, 1.0)
        plan = Course.of(line, min(fastest, 15.0), closed=False)
        marks = (Line(as_points(line), "reference"),)
        shown = {"duration": round(plan.time, 1), "lines": marks}
    elif Path(track).is_file():
        plan, shown = _from_map(Map.load(track), fastest)
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
    """Course along a closed line at the speeds that its bends allow."""
    return Course.fastest(line, Grip(A_LATERAL, A_ALONG, A_ALONG, v_max), closed=True)


def _lap(plan: Course, track: Track) -> dict[str, Any]:
    here = plan.at(0.0)
    return {
        "duration": round(1.05 * plan.time + 1.0, 1),
        "start_line": StartLine(here.x, here.y, here.heading, 2.0 * track.half_width),
        "polygons": (lane(track),),
        "lines": (start_mark(track), Line(as_points(plan.line.points), "centre")),
    }


def _from_map(ground: Map, v_max: m_s) -> tuple[Course, dict[str, Any]]:
    """Course along the centre line of a map, which has to be closed."""
    rows = ground.centre_line
    if rows is None:
        raise InvalidValue(f"the map {ground.name!r} has no centre line to drive along")
    if np.hypot(*(rows[-1, 1:3] - rows[0, 1:3])) > 1e-3:
        raise InvalidValue(f"the centre line of {ground.name!r} is not closed")
    track = Track(smooth_loop(rows[:-1, 1:3], SPACING), float(rows[:, 5].mean()))
    plan = _around(track.centre, v_max)
    places = zip(as_points(ground.cones), ground.colours, strict=True)
    discs = [Disc(x, y, CONE_RADII[c], "cone", CONE_COLOURS[c]) for (x, y), c in places]
    return plan, _lap(plan, track) | {"discs": tuple(discs)}


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
    """State at a pose and a speed, and the pose that the state actually has."""
    body, p = vehicle.body, vehicle.params
    state = body.placed(record.build(vehicle.State), pose, Velocity(v, 0.0, 0.0), p)
    return state, body.pose(state, p)
