"""`skidpad run VEHICLE`: any car that skidpad can steer, on a track that fits its size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import record, vehicles
from ..arrays import Array
from ..checks import positive
from ..controllers.course import Course
from ..controllers.speed_profile import Grip
from ..errors import InvalidValue
from ..model import Vehicle
from ..plane.line import smooth_loop
from ..plane.maps import Map
from ..plane.maps.cones import CONE_RADII
from ..runs import Driver, StartLine, TrajectoryShow, driven
from ..stage import Disc, Line
from ..units import m, m_s, m_s2, s
from ..vehicles.autoware import NAMES as COMMAND_DRIVEN
from .follower import Follower, readable
from .lane_change import path
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
STEP: s = 4e-4
"""Longest step of the integrator: the wheels of some models need it."""
TRACKS = ("circuit", "lane_change")
CONTROLLER = "path_follower"
A_LATERAL: m_s2 = 4.0
"""In bends; the speed is chosen for it."""
A_ALONG: m_s2 = 2.5
V_MAX: m_s = 20.0
V_LATE: m_s = 6.0
"""The same of vehicles whose commands arrive late."""
CONE_COLOURS = {"blue": BLUE, "yellow": YELLOW, "orange": ORANGE}
WHEEL_BASE: m = 1.57
"""Of the Formula Student car, for which the tracks are made; they grow with that of others."""


def named(name: str) -> Vehicle:
    """The vehicle of a name as `skidpad models` lists them."""
    return vehicles.autoware(name) if name in COMMAND_DRIVEN else vehicles.get(name)()


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
        vehicle: what drives.
        seed: of the circuit.
        controller: one of `follower.STEERING`.
        track: one of `TRACKS`, or a file that `Map.load` reads and that has a centre line.
        speed: fastest, in m/s.
    """
    car = readable(vehicle)
    size = (car.geometry.l_f + car.geometry.l_r) / WHEEL_BASE
    fastest = _fastest(vehicle, speed)
    if (track or TRACKS[0]) == "circuit":
        plan, shown = _circuit(random_track(seed), size, fastest)
    elif track == "lane_change":
        plan, shown = _lane_change(size, fastest)
    elif Path(str(track)).is_file():
        plan, shown = _from_map(Map.load(str(track)), fastest)
    else:
        known = (*TRACKS, "or the file of a centre line")
        raise InvalidValue(record.unknown_name("skidpad", str(track), known, "track"))
    driver = Follower(vehicle, plan, DT, controller or CONTROLLER)
    return driven(
        {vehicle.name: Driver(vehicle, driver, _start(vehicle, plan))},
        dt=DT,
        integrator="rk4",
        substeps=round(DT / STEP) if vehicle.model.continuous else None,
        title=f"{vehicle.name} with {controller or CONTROLLER}",
        **shown,
    )


def _fastest(vehicle: Vehicle, speed: m_s | None) -> m_s:
    if speed is None:
        usual = V_LATE if vehicle.model.dead_times else V_MAX
        return min(usual, 0.9 * float(getattr(vehicle.params, "v_max", usual)))
    return positive("speed", speed, "m/s")


def _circuit(track: Track, size: float, v_max: m_s) -> tuple[Course, dict[str, Any]]:
    track = Track(size * track.centre, size * track.half_width)
    plan = _around(smooth_loop(track.centre, size * track.spacing), v_max)
    return plan, _lap(plan, track) | {"discs": cones(track)}


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


def _lane_change(size: float, v_max: m_s) -> tuple[Course, dict[str, Any]]:
    # The path is made for cars of 2.8 m wheelbase.
    line = path() * min(size * WHEEL_BASE / 2.8, 1.0)
    plan = Course.of(line, min(v_max, 15.0), closed=False)
    return plan, {"duration": round(plan.time, 1), "lines": (Line(as_points(line), "reference"),)}


def _start(vehicle: Vehicle, plan: Course) -> dict[str, float]:
    """On the line, at its speed, with the wheels rolling."""
    names, here = record.names(vehicle.State), plan.at(0.0)
    start = {"x": here.x, "y": here.y, "yaw": here.heading}
    start["v" if "v" in names else "v_x"] = here.v
    radius = float(getattr(vehicle.params, "R_w", 0.0))
    spins = [name for name in names if name.startswith("omega_") and radius > 0.0]
    return start | {name: here.v / radius for name in spins}
