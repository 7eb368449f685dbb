"""`eight`: the figure of eight of the skidpad, at 1.1 g.

A driver written in Python steers one car along two touching circles, one after the other. The same
function, compiled together with the car, then drives a fleet of cars with decreasing grip round one
figure.

The line starts where the circles touch, heading along the world x axis. Distance along it increases
from lap to lap; a lap is both circles.
"""

from __future__ import annotations

import math
import time
from math import cos as eight_cos
from math import hypot, pi
from math import sin as eight_sin
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import vehicles
from ..control import path_following, speed
from ..control.car import Motion, advance, deviation
from ..core import record
from ..core.arrays import Array
from ..core.model import Vehicle
from ..core.policy import Policy
from ..geometry.line import LinePoint
from ..ops import cos, floor, minimum, sin, smooth_hypot, sqrt, where
from ..run.fleet import Fleet
from ..units import m, m_s, m_s2, one, per_m, per_s, positive, rad, s
from ..vehicles.twin_track.records import Input, State
from ..vehicles.twin_track.records import Params as Car
from ..view.colours import CONES
from ..view.stage import Disc
from .shows import Driver, StartLine, TrajectoryShow, driving_show

# Formula Student Rules, dynamic events, layout of the skidpad track: two pairs of circles of
# 15.25 m inner and 21.25 m outer diameter with their centres 18.25 m apart. The middles of the two
# lanes between them are circles of 18.25 m diameter, which therefore touch.
CENTRES_APART: m = 18.25
"""Distance between the centres of the two circles, in m."""
LANE_WIDTH: m = 3.0
"""Width of the lane around the line, in m."""


class Eight(NamedTuple):
    """A figure of eight; the defaults are the Formula Student skidpad."""

    radius: Annotated[m, positive] = CENTRES_APART / 2.0
    """Radius of both circles, in m."""
    first: one = -1.0
    """Side of the first circle: -1 right, as in the rules, or 1 left."""


SKIDPAD = Eight()
"""Centre line of the lanes of the Formula Student skidpad."""


def lap_length(eight: Eight) -> m:
    """Length of both circles together, in m."""
    return 4.0 * math.pi * eight.radius


def heading(s: m, eight: Eight) -> rad:
    """Direction of the line at distance `s`: a full turn to one side, then back to the other."""
    lap = lap_length(eight)
    u = s - lap * floor(s / lap)
    return eight.first * minimum(u, lap - u) / eight.radius


def point(s: m, eight: Eight) -> LinePoint:
    """Point of the line at distance `s` from its start."""
    lap = lap_length(eight)
    u = s - lap * floor(s / lap)
    side = eight.first * where(u < 0.5 * lap, 1.0, -1.0)
    angle = u / eight.radius
    return LinePoint(
        eight.radius * sin(angle),
        side * eight.radius * (1.0 - cos(angle)),
        heading(s, eight),
        side / eight.radius,
    )


def mean_curvature(begin: m, length: m, eight: Eight) -> per_m:
    """Mean curvature in 1/m of the line from `begin` over `length`: change of heading divided by
    length.

    Where the circles touch, the curvature jumps from one sign to the other; its mean is a ramp.
    """
    return (heading(begin + length, eight) - heading(begin, eight)) / length


def distance(x: Any, y: Any, eight: Eight) -> Any:
    """Distance in m from points in the world frame to the nearer circle; arrays allowed."""
    to_centres = [np.hypot(x, y - side * eight.radius) for side in (-1.0, 1.0)]
    return np.minimum(*(np.abs(d - eight.radius) for d in to_centres))


SPEED_WIDTH: m_s = 0.01
"""Width in m/s of the rounding of the speed at standstill, where its gradient would be
undefined."""

LAUNCH: s = 2.0
"""Time in s added for the standing start, rounded up."""


class Params(NamedTuple):
    """Parameters of the figure-of-eight driver."""

    steering: path_following.Params
    throttle: speed.Params
    eight: Eight = SKIDPAD
    v_target: Annotated[m_s, positive] = 10.0
    """Constant target speed, in m/s."""
    t_reaction: Annotated[s, positive] = 0.08
    """Delay in s from a steering target to the yaw response: actuator lag, tyres and yaw
    inertia."""
    t_window: Annotated[s, positive] = 0.3
    """Time in s over which the curvature ahead is averaged; about as long as the steering takes
    from one circle to the other at its largest rate."""


class Memory(NamedTuple):
    """Memory of the figure-of-eight driver between steps."""

    progress: m = 0.0
    """Distance along the line in m, summed over the laps."""
    throttle: speed.Memory = speed.Memory()


def driver_of(car: Car, a_lateral: m_s2, eight: Eight = SKIDPAD) -> Params:
    """Parameters of a driver whose constant speed gives lateral acceleration `a_lateral` on the
    circles.
    """
    return Params(
        steering=path_following.Params(l_f=car.l_f, l_r=car.l_r, steer_max=car.steer_max),
        # A torque of 90 N·m per wheel launches the car at 0.7 g and leaves the tyres grip to turn.
        throttle=speed.Params(k_p=40.0, k_i=40.0, tau_min=-60.0, tau_max=90.0),
        eight=eight,
        v_target=sqrt(a_lateral * eight.radius),
    )


def duration(p: Params, laps: int) -> s:
    """Time in s that the laps take from standstill, with a small margin."""
    return laps * lap_length(p.eight) / p.v_target + LAUNCH


def drive(p: Params, memory: Memory, x: State, dt: s) -> tuple[Input, Memory]:
    """Control law: actuator targets for the coming `dt`, and the updated memory."""
    here = point(memory.progress, p.eight)
    motion = Motion(x.x, x.y, x.yaw, x.v_x, x.v_y)
    progress = memory.progress + advance(deviation(motion, here), here.curvature)
    v = smooth_hypot(x.v_x, x.v_y, SPEED_WIDTH)
    ahead = mean_curvature(
        progress + v * (p.t_reaction - 0.5 * p.t_window), v * p.t_window, p.eight
    )
    seen = deviation(motion, point(progress, p.eight))
    steer = path_following.steer(p.steering, seen, v, ahead)
    tau, throttle = speed.torque(p.throttle, memory.throttle, x.v_x, p.v_target, dt)
    return Input(steer, tau, tau, tau, tau), Memory(progress, throttle)


def driven_by(params: Params) -> Policy:
    """Policy of the driver with these parameters, which a fleet compiles with its cars.

    For `Simulator.run`, use its `controller`.
    """

    def act(x: State, m: Memory, p: Params, dt: s) -> tuple[Input, Memory]:
        return drive(p, m, x, dt)

    return Policy(act, Memory=Memory, Params=Params, params=params, name="driver")


SWEEP_DT: s = 0.004
"""Step of the fleet in s, with an explicit method."""
WAYS = ("lateral", "longitudinal")
SAMPLES_EVERY = 12
"""Steps between the states at which the wheels are checked."""


class Sweep(NamedTuple):
    """Results of cars with different grip over a lap."""

    grip: Array
    """Friction of each car relative to the standard tyre's."""
    kept: NDArray[np.bool_]
    """Whether all wheels of each car stayed in the lane."""
    duration: s
    """Simulated time of each car, in s."""
    rate: per_s
    """Steps of all cars per second of wall time, evaluations of the drivers included."""

    def sentence(self) -> str:
        """Sentence with the number of cars that stayed in the lane, and the speed of the
        simulation."""
        low, high = 100.0 * self.grip.min(), 100.0 * self.grip.max()
        count = int(self.kept.sum())
        who = {0: "none", len(self.kept): "all"}.get(count, f"{count}")
        if 0 < count < len(self.kept):
            who += f", all of those above {100.0 * float(self.grip[~self.kept].max()):.0f} %,"
        return (
            f"of {len(self.grip)} cars with {low:.0f} to {high:.0f} % grip {who} kept their lane "
            f"({self.rate / 1e6:.1f} million steps/s)"
        )


def gripping(car: Vehicle, grip: Array) -> dict[str, Array]:
    """Tyre parameters of cars with these fractions of the standard friction, longitudinal and
    lateral."""
    laws = {f"tyres.tyre.{way}.D": getattr(car.params.tyres.tyre, way) for way in WAYS}
    return {name: grip * law.D for name, law in laws.items()}


def sweep(cars: int, least_grip: float, a_lateral: m_s2, car: Vehicle | None = None) -> Sweep:
    """Simulate a lap of `cars` cars with friction from `least_grip` to 1 times the standard."""
    car = vehicles.formula_student() if car is None else car
    params = driver_of(car.params, a_lateral)
    # A car that slides off and then diverges counts as having left its lane.
    fleet = Fleet(car, SWEEP_DT, "rk4", on_diverge="mask")
    policy = driven_by(params)
    standing = np.zeros((cars, record.size(car.State)))
    fleet.rollout(standing[:1], steps=1, policy=policy)  # compiles
    grip = np.linspace(least_grip, 1.0, cars)
    samples = round(duration(params, laps=1) / (SWEEP_DT * SAMPLES_EVERY))
    steps = samples * SAMPLES_EVERY
    begin = time.perf_counter()
    states = fleet.rollout(
        standing, policy=policy, steps=steps, every=SAMPLES_EVERY, params=gripping(car, grip)
    )
    wall_time = time.perf_counter() - begin
    x, y = (states[..., record.names(car.State).index(name)] for name in ("x", "y"))
    room = 0.5 * (LANE_WIDTH - car.params.track_f)
    kept = (distance(x, y, params.eight) <= room).all(axis=0)
    return Sweep(grip, kept, steps * SWEEP_DT, cars * steps / wall_time)


DT: s = 0.01
LAPS = 4
"""Number of figures; each is two laps of the rules, one on each circle."""
A_LATERAL: m_s2 = 1.1 * 9.81
"""Target lateral acceleration on the circles in m/s²; the tyres allow 1.7 g."""
CARS, LEAST_GRIP = 256, 0.5


def show(seed: int) -> TrajectoryShow:
    """Show of a car that drives the figure of eight from standstill; the seed has no effect."""
    car = vehicles.formula_student()
    params = driver_of(car.params, A_LATERAL)
    swept = sweep(CARS, LEAST_GRIP, A_LATERAL, car)
    return driving_show(
        {"car": Driver(car, driven_by(params).controller(DT))},
        dt=DT,
        title="Figure of eight at 1.1 g",
        duration=duration(params, LAPS),
        start_line=StartLine(0.0, 0.0, 0.0, LANE_WIDTH),
        discs=cones(),
        remarks=(swept.sentence(),),
    )


def cones() -> tuple[Disc, ...]:
    """Cones along both sides of the lanes, except where the circles meet."""
    r, half = SKIDPAD.radius, 0.5 * LANE_WIDTH
    discs: list[Disc] = []
    for side in (1.0, -1.0):
        for radius, count, colour in ((r - half, 16, "blue"), (r + half, 24, "yellow")):
            for k in range(count):
                angle = 2.0 * pi * (k + 0.5) / count
                x, y = radius * eight_cos(angle), side * r + radius * eight_sin(angle)
                if hypot(x, y + side * r) > r + half - 0.1:
                    discs.append(Disc(x, y, 0.114, "cone", CONES[colour]))
    return tuple(discs)
