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
from ..view.stage import Disc, Line
from .lane_change import Follower, path
from .laps import StartLine
from .shows import Driver, TrajectoryShow, driving_show
from .track import (
    BLUE,
    ORANGE,
    SPACING,
    YELLOW,
    Track,
    as_points,
    cones,
    lane,
    random_track,
    start_mark,
)

DT: s = 0.01
STEP: s = 3.8e-4
"""Longest step of the integrator: the wheels of some models need it."""
TRACKS = ("circuit", "lane_change")
CONTROLLER = "path_follower"
A_LATERAL: m_s2 = 4.0
"""In bends; the speed is chosen for it."""
A_ALONG: m_s2 = 2.5
V_MAX: m_s = 20.0
V_LATE: m_s = 5.4
"""Largest speed of vehicles whose commands arrive late."""
CONE_COLOURS = {"blue": BLUE, "yellow": YELLOW, "orange": ORANGE}
WHEEL_BASE: m = 1.57
"""Wheelbase of the Formula Student car, for which the tracks are made; they grow with that of
others."""


def show(
    vehicle: Vehicle,
    seed: int,
    *,
    controller: str | None = None,
    track: str | None = None,
    speed: m_s | None = None,
) -> TrajectoryShow:
    """One vehicle with a controller on a track.

    Args:
        vehicle: what drives; any that has a body.
        seed: of the circuit.
        controller: one of `lane_change.STEERING`.
        track: one of `TRACKS`, or a file that `Map.load` reads and that has a centre line; the
            circuit if None, and the lane change for what does not turn.
        speed: fastest, in m/s.
    """
    body_of(vehicle, "a run")
    size, fastest = vehicle.geometry.wheel_base / WHEEL_BASE, _fastest(vehicle, speed)
    track = track or TRACKS[0 if _turns(vehicle) else 1]
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
    """A closed line at the speeds that its bends allow."""
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
    """Along the centre line of a map, which has to be closed."""
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


def _turns(vehicle: Vehicle) -> bool:
    """Whether it can head elsewhere than along the world's x axis."""
    return bool(_placed(vehicle, Pose(0.0, 0.0, 1.0), 0.0)[1].yaw == 1.0)


def _start(vehicle: Vehicle, plan: Course) -> Any:
    """On the line, at its speed, with the wheels rolling."""
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
    """A state at a pose and a speed, and the pose that it has."""
    body, p = vehicle.body, vehicle.params
    state = body.placed(record.build(vehicle.State), pose, Velocity(v, 0.0, 0.0), p)
    return state, body.pose(state, p)
