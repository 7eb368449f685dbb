"""`lap`: fast laps of the Formula Student car on a track of cones.

The track is generated from the seed. The racing line is the line of least curvature within the
track, and the speeds are the fastest that the grip limits of the driver allow. The driver follows
both: steering by `control.path_following`, torques by `control.speed` around the feedforward that
the plan requires.
"""

from __future__ import annotations

from math import hypot
from pathlib import Path

from .. import vehicles
from ..control import path_following, speed
from ..control.car import Motion, advance, deviation
from ..control.speed import Course, Grip, least_curvature
from ..core.arrays import Array
from ..geometry.line import LinePoint, smooth_loop
from ..units import Nm, m, m_s, m_s2, s
from ..vehicles.twin_track.body import standing_radii
from ..vehicles.twin_track.records import Input, State
from ..vehicles.twin_track.records import Params as Car
from ..view import plots
from ..view.recording.reading import Recording
from ..view.stage import Line, as_points
from .laps import SPACING, StartLine, Track, cones, lane, random_track, start_mark
from .shows import Driver, TrajectoryShow, driving_show


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
        # After the start it is far slower than a flying lap, which may brake there.
        tau += self._needed(here.v, here.a if v > here.v - BEHIND else GRIP.a_drive)
        least, most = self._needed(v, -GRIP.a_brake), self._needed(v, GRIP.a_drive)
        tau = min(max(tau, least), most)
        # A car that brakes its rear wheels as much as the front ones loses its rear in a bend.
        share = self.car.brake_front if tau < 0.0 else 0.5
        front, rear = 2.0 * share * tau, 2.0 * (1.0 - share) * tau
        return Input(steer, front, front, rear, rear)

    def _needed(self, v: m_s, rate: m_s2) -> Nm:
        """Torque of each wheel in N·m to accelerate car and wheels against the resistance."""
        p, radius = self.car, self.radius
        load = p.m * p.g + 0.5 * p.C_down * v * v
        against = 0.5 * p.C_drag * v * v + p.tyres.tyre.carcass.rolling * load
        return 0.25 * radius * ((p.m + 4.0 * p.I_w / radius**2) * rate + against)


def show(seed: int) -> TrajectoryShow:
    """A standing start and two laps."""
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
