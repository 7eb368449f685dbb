"""`trailers`: trucks back semitrailers into docks while a road train drives a figure of eight.

A world with contacts: trailers have wheels of their own and are attached by hinges, so they cut
corners, push back and would jackknife if the truck did not prevent it. Trailers are not steered.

A trailer that is pushed can be regarded as a vehicle that drives towards its rear: pure pursuit
gives the curvature that leads its axle onto the path. Its yaw rate depends on the hitch angle,
which the truck controls. With the speed v of the truck's rear axle, its yaw rate ω, the hitch M
behind that axle, the trailer's axle L behind the hitch, and φ the truck's heading minus the
trailer's, the trailer's yaw rate is

    ω_t = (v sin φ - M ω cos φ) / L,

so that φ' = ω - ω_t. In a steady turn sin φ ≈ ω_t (L + M) / v. The truck's yaw rate is chosen such
that φ approaches this angle as exp(-k t); without control, a pushed trailer would jackknife.
"""

from __future__ import annotations

from math import asin, atan2, cos, hypot, pi, sin
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from ..control.pure_pursuit import arc
from ..core.arrays import Array
from ..core.body import Pose
from ..geometry.line import Line
from ..geometry.pose import to_body
from ..units import m, m_s, one, per_s, rad_s, s
from ..world.vehicle import WorldVehicle
from ..world.world import World
from .eight import Eight, lap_length, point
from .shows import StartLine, WorldShow


class Hitch(NamedTuple):
    """Geometry of a hitch, and the control of its angle."""

    M: m
    """Distance from the truck's rear axle back to the hitch, in m; negative in front of the
    axle."""
    L: m
    """Distance from the hitch back to the trailer's axle, in m."""
    k: per_s = 1.2
    """Rate in 1/s at which the hitch angle approaches its target."""
    ahead: m = 5.0
    """Look-ahead distance of the trailer along the path, in m."""
    sin_max: one = 0.75
    """Largest sine of the target hitch angle."""


def turning(hitch: Hitch, truck: Pose, trailer: Pose, goal: tuple[m, m], v: m_s) -> rad_s:
    """Truck yaw rate in rad/s that backs the trailer towards `goal` at the speed `v` (negative)."""
    rear = trailer._replace(yaw=trailer.yaw + pi)
    yaw_rate = arc(*to_body(rear, *goal), 0.5 * hitch.ahead) * -v
    phi = atan2(sin(truck.yaw - trailer.yaw), cos(truck.yaw - trailer.yaw))
    sine = max(-hitch.sin_max, min(hitch.sin_max, yaw_rate * (hitch.L + hitch.M) / v))
    pull = v * sin(phi) / hitch.L + hitch.k * (asin(sine) - phi)
    return pull / (1.0 + hitch.M * cos(phi) / hitch.L)


class Path:
    """A path that is followed once, and the progress along it."""

    def __init__(self, points: Array) -> None:
        self.line = Line.through(points)
        self.progress: m = 0.0

    @property
    def left(self) -> m:
        """Remaining distance to the end of the path, in m."""
        return self.line.length - self.progress

    def goal(self, x: m, y: m, ahead: m) -> tuple[m, m]:
        """Point of the path at a distance `ahead` beyond the nearest one.

        The nearest point is searched from that of the previous call onwards.
        """
        self.progress = self.line.nearest_vertex(x, y, self.progress, self.progress + 4.0)
        return self.line.at(self.progress + ahead)[:2]


FILE = FilePath(__file__).parent / "worlds" / "yard.world.xml"
PERIOD: s = 0.05
"""Control period of a driver, in s."""
HITCH = Hitch(M=-0.4, L=6.6)
"""Hitch of the world file."""
LANE: m = 5.0
DOCK: m = -19.0
"""y coordinate in m where the axle of a trailer stops, on the negative side."""
BEND: m = 10.0
TURN: m = 27.0
"""Distance in m that the truck drives before it backs up."""
TRAIN = Eight(radius=12.0, first=1.0)
MIDDLE: m = -42.0
"""x coordinate in m of the figure that the train drives."""


def backwards(side: float) -> Array:
    """Path from the lane into the dock: straight, a quarter circle, straight; (n, 2) in m."""
    lane, middle = -LANE, -LANE - BEND
    angle = np.linspace(0.0, 0.5 * np.pi, 40)
    bend = np.column_stack([BEND - BEND * np.sin(angle), middle + BEND * np.cos(angle)])
    first = [(x, lane) for x in np.arange(TURN, BEND, -0.4).tolist()]
    last = [(0.0, y) for y in np.arange(middle - 0.4, DOCK, -0.4).tolist()]
    return np.vstack([first, bend, last]) * np.array([1.0, -side])


class DockingDriver:
    """Driver that passes the dock, waits, and backs the trailer in."""

    def __init__(self, truck: WorldVehicle, trailer: WorldVehicle, side: float, wait: s) -> None:
        self.truck, self.trailer, self.side = truck, trailer, side
        self.path, self.wait = Path(backwards(side)), wait
        self.backing = False

    def __call__(self, t: s) -> None:
        if t < self.wait:
            return
        truck = self.truck.truth
        if not self.backing:
            self._ahead(Pose(truck.x, truck.y, truck.yaw))
            self.backing = truck.x > TURN and truck.v_x < 0.1
            return
        trailer = self.trailer.truth
        goal = self.path.goal(trailer.x, trailer.y, HITCH.ahead)
        v = -min(2.2, 0.2 + 0.5 * self.path.left)
        if self.path.left < 0.3:
            self.truck.command(v=0.0, omega=0.0)
            return
        here = Pose(truck.x, truck.y, truck.yaw)
        omega = turning(HITCH, here, Pose(trailer.x, trailer.y, trailer.yaw), goal, v)
        most = abs(v) / 4.5
        self.truck.command(v=v, omega=max(-most, min(most, omega)))

    def _ahead(self, pose: Pose) -> None:
        """Drive along the lane, to a stop a little beyond the turning point."""
        v = max(0.0, min(5.0, 0.7 * (TURN + 1.0 - pose.x)))
        self.truck.command(v=v, omega=pursuit_yaw_rate(pose, (pose.x + 8.0, self.side * LANE), v))


class TrainDriver:
    """Driver of the road train in a figure of eight."""

    def __init__(self, truck: WorldVehicle, v: m_s) -> None:
        self.truck, self.v, self.progress = truck, v, 0.0

    def __call__(self, t: s) -> None:
        x, y, _, yaw, *_ = self.truck.truth
        # Search the nearest point only within the next few metres, since the figure crosses itself.
        near = self.progress + np.arange(0.0, 3.0, 0.25)
        places = [point(one, TRAIN) for one in near.tolist()]
        gaps = [hypot(p.x + MIDDLE - x, p.y - y) for p in places]
        self.progress = float(near[int(np.argmin(gaps))])
        ahead = point(self.progress + 5.0, TRAIN)
        omega = pursuit_yaw_rate(Pose(x, y, yaw), (ahead.x + MIDDLE, ahead.y), self.v)
        self.truck.command(v=min(self.v, 0.8 * t), omega=omega)


def pursuit_yaw_rate(pose: Pose, goal: tuple[m, m], v: m_s) -> rad_s:
    """Yaw rate in rad/s on the arc from a pose to a goal at a speed in m/s."""
    return v * arc(*to_body(pose, *goal), 0.0)


def show(seed: int) -> WorldShow:
    """Show of the yard; the seed has no effect."""
    world = World.load(FILE, seed=seed)
    of = world.vehicles
    drivers = (
        DockingDriver(of["truck_1"], of["trailer_1"], -1.0, wait=0.0),
        DockingDriver(of["truck_2"], of["trailer_2"], 1.0, wait=3.0),
        TrainDriver(of["train"], v=3.6),
    )

    def direct(world: World) -> None:
        for driver in drivers:
            driver(world.time)

    return WorldShow(
        world,
        direct=direct,
        period=PERIOD,
        title="Trucks and trailers in the yard",
        duration=round(lap_length(TRAIN) / 3.6 + 6.0),
        start_lines={"train": StartLine(MIDDLE, 0.0, 0.0, 4.0)},
    )
