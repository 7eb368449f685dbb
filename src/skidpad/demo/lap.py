"""`lap`: fast laps of the Formula Student car on a track of cones.

The track is generated from the seed. The racing line is the line of least curvature within the
track, and the speeds are the fastest that the grip limits of the driver allow. The driver follows
both: steering by `control.path_following`, torques by `control.speed` around the feedforward that
the plan requires.

Tracks are the smoothed border of some cells of a Voronoi diagram, similar to those of Formula
Student: a lap of 200 to 500 m, a lane of at least 3 m, blue cones on the left, yellow ones on the
right (Formula Student Rules, dynamic events, trackdrive).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot
from pathlib import Path

import numpy as np

from .. import vehicles
from ..control import path_following, speed
from ..control.car import Motion, advance, deviation
from ..control.speed import Course, Grip, least_curvature
from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.line import Line as PlaneLine
from ..geometry.line import LinePoint, blurred, directions, divided, lengths, smooth_loop
from ..geometry.pose import to_world
from ..random.race_track import POINTS, border_of_cells, from_the_straight, least_gap
from ..units import Nm, m, m_s, m_s2, s
from ..vehicles.twin_track.body import standing_radii
from ..vehicles.twin_track.records import Input, State
from ..vehicles.twin_track.records import Params as Car
from ..view import plots
from ..view.colours import CONES
from ..view.recording.reading import Recording
from ..view.stage import Disc, Line, Polygon, as_points
from .shows import Driver, StartLine, TrajectoryShow, driving_show

PITCH: m = 22.0
"""Distance between the random points, in m."""
CELLS = 7
SPACING: m = 0.5
"""Approximate distance between points of the centre line, in m."""
LENGTHS: tuple[m, m] = (220.0, 380.0)
TIGHTEST: m = 5.0
"""Smallest radius of the centre line, in m."""
CLEARANCE: m = 8.0
"""Smallest distance in m between parts of the centre line that do not follow each other."""


@dataclass(frozen=True, eq=False)
class Track:
    """A closed track of constant width."""

    centre: Array
    """Points of the centre line (n, 2) in m at equal distances, counter-clockwise. The last is
    followed by the first, where the start line lies."""
    half_width: m = 1.9

    __repr__ = brief_repr

    @cached_property
    def line(self) -> PlaneLine:
        """Centre line as a closed line."""
        return PlaneLine.through(self.centre, closed=True)

    @property
    def spacing(self) -> m:
        """Distance between two points of the centre line, in m."""
        return self.line.length / len(self.centre)


def random_track(seed: int = 0) -> Track:
    """Generate a random track from a seed."""
    rng = np.random.default_rng(seed)
    for _ in range(10_000):
        scatter = rng.standard_normal((POINTS, 2))
        corners = border_of_cells(scatter, rng.random, CELLS, PITCH)
        centre = None if corners is None else _smooth(corners)
        if centre is not None and least_gap(centre, SPACING, CLEARANCE, every=4) > CLEARANCE:
            return Track(from_the_straight(centre, round(25.0 / SPACING)))
    raise InvalidValue(f"no track was found for seed = {seed}; try another")


def cones(track: Track) -> tuple[Disc, ...]:
    """Cones along both sides, closer in turns, with two large orange ones at each end of the start
    line."""
    discs: list[Disc] = []
    apart = np.clip(0.6 / np.maximum(np.abs(track.line.curvature[:-1]), 1e-9), 2.0, 4.5)
    for side, colour in ((1.0, CONES["blue"]), (-1.0, CONES["yellow"])):
        edge = track.line.beside(side * track.half_width)
        # Place a cone wherever the accumulated number of gaps passes an integer.
        gaps = np.cumsum(lengths(np.vstack([edge, edge[:1]])) / apart)
        at = np.flatnonzero(np.diff(np.floor(gaps * np.floor(gaps[-1]) / gaps[-1])) > 0)
        discs += [Disc(x, y, 0.114, "cone", colour) for x, y in as_points(edge[at[at > 2]])]
    start = track.line.at(0.0)[:3]
    for left in (track.half_width + 0.15, -track.half_width - 0.15):
        for ahead in (-0.25, 0.25):
            discs.append(Disc(*to_world(start, ahead, left), 0.1425, "cone", CONES["orange"]))
    return tuple(discs)


def lane(track: Track) -> Polygon:
    """Polygon of the lane: along one edge, and back along the other."""
    left, right = (track.line.beside(side * track.half_width) for side in (1.0, -1.0))
    ring = np.vstack([right, right[:1], left[:1], left[::-1]])
    return Polygon(as_points(ring), "lane")


def start_mark(track: Track) -> Line:
    """Mark of the start line, for drawing."""
    ends = [track.line.beside(side * track.half_width)[0] for side in (1.0, -1.0)]
    return Line(as_points(np.stack(ends)), "reference", CONES["orange"])


def _smooth(corners: Array) -> Array | None:
    """Smoothed closed line; None if it would be too tight, too short or too long."""
    ring = np.vstack([corners, corners[:1]])
    edges = divided(ring, round(lengths(ring).sum() / SPACING))[:-1]
    width = 4.0
    while width < 9.0:
        line = smooth_loop(blurred(edges, SPACING, width), SPACING)
        length = SPACING * len(line)
        if not LENGTHS[0] < length < LENGTHS[1]:
            return None
        if np.abs(directions(line, closed=True)[1]).max() * TIGHTEST < 1.0:
            return line
        width *= 1.15
    return None


def racing_line(track: Track, margin: m) -> Array:
    """Racing line: points (n, 2) at equal distances, all at least `margin` from the edges, in m."""
    room = max(track.half_width - margin, 1e-3)
    return smooth_loop(track.line.beside(least_curvature(track.line, room)), SPACING)


G: m_s2 = 9.81
DT: s = 0.01
LAPS = 2
GRIP = Grip(a_lateral=1.35 * G, a_drive=0.7 * G, a_brake=1.0 * G, v_max=25.0)
"""Accelerations that the driver uses; the tyres allow 1.7 g, plus downforce."""
MARGIN: m = 1.2
"""Distance in m between the racing line and the edges of the track; the car is 1.4 m wide."""
RUN_UP: m = 6.0
"""Distance in m of the car from the start line at the start."""
BEHIND: m_s = 2.0
"""Speed deficit in m/s above which the car accelerates as hard as the limits allow."""
PREVIEW: s = 0.1
"""Preview time of the driver in s: the response time of steering and tyres."""


def plan(track: Track, grip: Grip = GRIP, margin: m = MARGIN) -> Course:
    return Course.fastest(racing_line(track, margin), grip, closed=True)


class RacingDriver:
    """Driver that follows a plan; called once per step with the time and the state of the car."""

    def __init__(self, plan: Course, car: Car, dt: s) -> None:
        self.plan, self.car, self.dt = plan, car, dt
        self.steering = path_following.Params(car.l_f, car.l_r, car.steer_max, settling=3.0)
        self.throttle = speed.Params(k_p=60.0, k_i=20.0, tau_min=-100.0, tau_max=100.0)
        self.memory = speed.Memory()
        self.radius: m = standing_radii(car)[0]
        self.progress: m = -RUN_UP

    def __call__(self, t: s, x: State) -> Input:
        motion = Motion(x.x, x.y, x.yaw, x.v_x, x.v_y)
        before = self.plan.at(self.progress)
        self.progress += advance(deviation(motion, LinePoint(*before[:4])), before.curvature)
        here, v = self.plan.at(self.progress), hypot(x.v_x, x.v_y)
        ahead = self.plan.at(self.progress + PREVIEW * v)
        seen = deviation(motion, LinePoint(*here[:4]))
        steer = path_following.steer(self.steering, seen, v, ahead.curvature)
        tau, self.memory = speed.torque(self.throttle, self.memory, x.v_x, here.v, self.dt)
        # After the standing start the car is far below the speeds of the flying lap, so it ignores
        # the braking that the plan has there.
        tau += self._needed(here.v, here.a if v > here.v - BEHIND else GRIP.a_drive)
        least, most = self._needed(v, -GRIP.a_brake), self._needed(v, GRIP.a_drive)
        tau = min(max(tau, least), most)
        # With equal brake torques front and rear, the rear axle would slide out in a bend.
        share = self.car.brake_front if tau < 0.0 else 0.5
        front, rear = 2.0 * share * tau, 2.0 * (1.0 - share) * tau
        return Input(steer, front, front, rear, rear)

    def _needed(self, v: m_s, rate: m_s2) -> Nm:
        """Wheel torque in N·m that accelerates car and wheels at `rate` against the driving
        resistance.
        """
        p, radius = self.car, self.radius
        load = p.m * p.g + 0.5 * p.C_down * v * v
        against = 0.5 * p.C_drag * v * v + p.tyres.tyre.carcass.rolling * load
        return 0.25 * radius * ((p.m + 4.0 * p.I_w / radius**2) * rate + against)


def show(seed: int) -> TrajectoryShow:
    """Show of two laps from a standing start, on the track of the seed."""
    track = random_track(seed)
    car, ideal = vehicles.formula_student(), plan(track)
    here, at_line = ideal.at(-RUN_UP), ideal.at(0.0)
    start = {"x": here.x, "y": here.y, "yaw": here.heading}

    def picture(recording: Recording, path: Path) -> None:
        lap = recording.trajectory("car")
        plots.trajectory(
            lap, car, map=recording.stage, count=40, path=path, title=recording.stage.title
        )

    return driving_show(
        {"car": Driver(car, RacingDriver(ideal, car.params, DT), start)},
        dt=DT,
        title=f"Formula Student lap, track {seed}",
        duration=round(LAPS * ideal.time + 3.0, 1),
        remarks=(f"planned for a flying lap: {ideal.time:.2f} s",),
        start_line=StartLine(at_line.x, at_line.y, at_line.heading, 2.0 * track.half_width),
        discs=cones(track),
        picture=picture,
        polygons=(lane(track),),
        lines=(start_mark(track), Line(as_points(ideal.line.points), "centre")),
    )
