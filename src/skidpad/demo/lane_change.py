"""`lane_change`: what the dead time of the steering does to a lane change.

Three cars as in Autoware's planning simulator (DELAY_STEER_ACC_GEARED) change lanes side by side,
each on a road of its own. Planner and controller are the same; the commands to the steering take
0, 0.24 and 0.5 s to arrive. The later they come, the wider the car swings past its lane.
"""

from __future__ import annotations

import numpy as np

from .. import vehicles
from ..arrays import Array
from ..controllers.course import Course
from ..runs import Driver, TrajectoryShow, driven
from ..stage import Line, Polygon
from ..units import m, m_s, s
from .follower import Follower, pursuit
from .track import as_points

DT: s = 0.02
SAMPLE = {"wheel_base": 2.79, "steer_time_constant": 0.27, "acc_time_constant": 0.1}
"""Autoware's sample vehicle."""
DELAYS: tuple[s, ...] = (0.0, 0.24, 0.5)
SPEED: m_s = 11.0
LANE: m = 3.5
ROAD: m = 8.5
"""From one road to the next."""
BEGIN: m = 15.0
LENGTH: m = 28.0
"""The change begins and ends there along the road."""
END: m = 120.0
AHEAD: s = 1.27
"""How far ahead the cars look: far enough for the second, too near for the third."""


def path() -> Array:
    """One lane to the left on a quintic, which has no jump in curvature; points (n, 2)."""
    x = np.arange(0.0, END, 0.5)
    u = np.clip((x - BEGIN) / LENGTH, 0.0, 1.0)
    return np.column_stack([x, LANE * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)])


def road(y: m) -> tuple[list[Polygon], list[Line]]:
    """A road of two lanes whose right one has its middle at y."""
    low, middle, high = y - 0.5 * LANE, y + 0.5 * LANE, y + 1.5 * LANE
    corners = ((-6.0, low), (END, low), (END, high), (-6.0, high))
    edges = [Line(((-6.0, edge), (END, edge)), "boundary") for edge in (low, high)]
    dashes = [
        Line(((begin, middle), (begin + 3.0, middle)), "boundary")
        for begin in np.arange(-6.0, END - 3.0, 9.0).tolist()
    ]
    return [Polygon(corners, "lane")], [*edges, *dashes]


def show(seed: int) -> TrajectoryShow:
    """The cars on their roads; nothing is random here."""
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
    return driven(
        drivers,
        dt=DT,
        integrator="rk4",
        title="Lane change with late steering",
        duration=(END - 10.0) / SPEED,
        polygons=tuple(polygons),
        lines=tuple(lines),
    )
