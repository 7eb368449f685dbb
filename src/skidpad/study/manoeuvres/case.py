"""Specification of one run of a manoeuvre (start, path, ground, duration), and the driver.

A `Path` is a line on the ground, stored as a record of grids over the distance along it, which the
driver follows. All paths have the same number of points, so that vehicles of one fleet, each on a
path of its own, share one kernel: the arrays are parameters.

All manoeuvres have one driver: one policy, so that a vehicle needs one kernel for all of them. Its
input at each step is an angle, a speed or an acceleration, and it may follow a path. Its behaviour
is set by parameters, which differ between the vehicles of a fleet.

No driver can close the loop of a vehicle with dead time. Such a vehicle gets the commands that the
driver would give at the start (`simulate_open_loop`): vehicles with a commanded speed hold it,
others keep their initial speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, lru_cache
from math import ceil
from typing import Annotated, Any, NamedTuple

import numpy as np

from ... import ops
from ...control.car import Motion, advance, car_of, deviation, push
from ...control.path_following import Params as Return
from ...control.path_following import steer as steer_back
from ...control.pid import SpeedGains, SpeedMemory, pid_control
from ...core import record
from ...core.arrays import Array
from ...core.body import Body, Demand, Pose, Velocity
from ...core.files import brief_repr
from ...core.model import Model, Vehicle
from ...core.policy import Policy
from ...geometry.line import Line, LinePoint
from ...ops import Grid1, abs, clip, cos, grid, interpolate, maximum, minimum, sin, sqrt, tan, where
from ...road.road import Road
from ...run.fleet import Fleet
from ...units import Unit, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from ...vehicles.parts.actuators import limited

POINTS = 4096
"""Number of points of every path."""
G: m_s2 = 9.81
"""Gravity."""
KM_H: m_s = 1.0 / 3.6
"""A speed of 1 km/h."""


class Path(NamedTuple):
    """A line on the ground: position, heading, curvature and speed over the distance along it."""

    x: Grid1
    """Position in m."""
    y: Grid1
    """Position in m."""
    heading: Grid1
    """Heading in rad, not wrapped."""
    curvature: Grid1
    """Curvature in 1/m, positive in a left turn."""
    v: Grid1
    """Speed in m/s, added to the reference speed of the driver."""

    @property
    def length(self) -> m:
        """Length of the path."""
        return self.x.step_0 * (self.x.count_0 - 1.0)


def path_along(points: Any, v: Any = 0.0, *, closed: bool = False) -> Path:
    """Path through points (n, 2) in m; the speed `v` in m/s is one number or one per point."""
    line = Line.through(points, closed=closed)
    s = np.linspace(0.0, line.length, POINTS)
    at = line.at(s)
    speeds = np.broadcast_to(np.asarray(v, dtype=float), len(np.asarray(points)))
    speeds = np.append(speeds, speeds[0]) if closed and len(line.s) > len(speeds) else speeds
    return _path(s, at.x, at.y, at.heading, at.curvature, np.interp(s, line.s, speeds))


@cache
def straight(length: m = 1.0e4) -> Path:
    """Path along the x axis; cached, so that its arrays outlive every fleet that drives along
    it."""
    s = np.linspace(0.0, length, POINTS)
    zero = np.zeros(POINTS)
    return _path(s, s, zero, zero, zero, zero)


def circle(radius: m, lead: m = 0.0, turns: float = 3.0, clothoid: m = 0.0) -> Path:
    """A straight of length `lead` from the origin along x, then a left turn with this radius.

    The curvature grows linearly from zero over the length `clothoid`. A negative radius turns
    right.
    """
    total = lead + clothoid + turns * 2.0 * np.pi * abs(radius)
    s = np.linspace(0.0, total, POINTS)
    begun = np.clip((s - lead) / max(clothoid, 1e-9), 0.0, 1.0)
    return path_of_curvature(s, begun / radius)


def path_of_curvature(s: Array, curvature: Array, v: Any = 0.0) -> Path:
    """Path from the origin along x with given curvature in 1/m at equidistant distances `s` in
    m."""
    step = np.diff(s, prepend=s[0])
    before = np.concatenate([curvature[:1], curvature[:-1]])
    heading = np.cumsum(step * 0.5 * (curvature + before))
    middle = heading - 0.5 * step * 0.5 * (curvature + before)
    x, y = np.cumsum(step * np.cos(middle)), np.cumsum(step * np.sin(middle))
    return _path(s, x, y, heading, curvature, np.broadcast_to(v, s.shape))


def _path(s: Array, *columns: Any) -> Path:
    at = np.linspace(s[0], s[-1], POINTS)
    step = float(at[1] - at[0])
    return Path(*(grid(np.interp(at, s, column), start=s[0], step=step) for column in columns))


def path_point(path: Path, s: Any) -> tuple[LinePoint, m_s]:
    """Point of a path at the distance `s`, and its speed; both ends are extended by straight
    lines."""
    end = path.x.step_0 * (path.x.count_0 - 1.0)
    inside = ops.clip(s, 0.0, end)
    beyond = s - inside
    x, y, heading, curvature, v = (interpolate(column, inside) for column in path)
    bend = where(beyond == 0.0, curvature, 0.0)
    return LinePoint(x + beyond * cos(heading), y + beyond * sin(heading), heading, bend), v


Signal = Callable[[Array], Array] | float
"""A constant, or a function that maps times in s, (T,), to values, (T,). Times before zero
belong to the run-in."""


@dataclass(frozen=True)
class Case:
    """One run of a manoeuvre as specified; all variants of a vehicle drive the same case.

    Values that may differ between variants are scalars or (V,).
    """

    label: str
    """Name that is unique among the cases of its manoeuvre, such as "80 km/h left"."""
    duration: s
    """Duration from time zero on."""
    v: Any = 0.0
    """Speed at the start in m/s, a number or (V,)."""
    _: KW_ONLY
    steer: Signal = 0.0
    """Steering angle of the front wheels in rad, positive to the left; multiplied by
    `amplitude`."""
    amplitude: Any = 1.0
    """Factor on the steering angle, a number or (V,)."""
    speed: Signal | None = None
    """Speed to hold in m/s, added to the speed of the path."""
    hold: Signal | None = None
    """1 to hold `speed`, 0 to apply `a` alone; None to hold if there is a speed or a path."""
    a: Signal = 0.0
    """Demanded acceleration in m/s²; multiplied by `a_gain`."""
    a_gain: Any = 1.0
    """Factor on the demanded acceleration, a number or (V,)."""
    omega: Signal = 0.0
    """Demanded yaw rate in rad/s, for a vehicle that turns on the spot."""
    handbrake: Signal = 0.0
    """Handbrake position, 0 to 1."""
    coast: Signal = 0.0
    """1 to release drive and brakes, else 0."""
    path: Path | None = None
    """Path to follow from its beginning; None to steer with `steer` alone."""
    pose: Pose | None = None
    """Start pose; if None, the beginning of the path, or the origin if there is no path."""
    driving: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `Driving` that differ from their defaults, each a number or (V,)."""
    disturbance: Mapping[str, Signal] = field(default_factory=dict[str, Signal])
    """Fields of the vehicle's disturbance, such as the grip under each wheel."""
    road: Road | None = None
    """Road to drive on; None for level ground."""
    rests: bool = False
    """Whether the vehicle starts from rest or comes to rest.

    If so, an integrator for stiff motion is used, which wheels need at walking pace.
    """
    run_in: s = 1.0
    """Time before zero in which the vehicle settles at its speed."""
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the start state other than pose and speed."""

    __repr__ = brief_repr

    @property
    def holding(self) -> Signal:
        """Signal that is 1 where the speed is held, else 0."""
        if self.hold is None:
            return 0.0 if self.speed is None and self.path is None else 1.0
        return self.hold

    def over(self, signal: Signal | None, t: Array) -> Array:
        """Evaluate a signal at times (T,)."""
        if signal is None:
            return np.zeros(t.shape)
        return np.broadcast_to(signal(t) if callable(signal) else float(signal), t.shape)


def step(at: s = 0.0, rise: s = 0.0) -> Callable[[Array], Array]:
    """Step from 0 to 1 at the time `at`, with a rise over the time `rise`."""
    return lambda t: np.clip((t - at) / max(rise, 1e-12) + (0.0 if rise else 0.5), 0.0, 1.0)


def ramp(rate: float, at: s = 0.0, most: float = np.inf) -> Callable[[Array], Array]:
    """Zero until the time `at`, then growing by `rate` per second up to `most`."""
    return lambda t: np.clip(rate * (t - at), 0.0, most)


def steered(label: str, duration: s, v: m_s, steer: Signal, angle: Any, run_in: s = 1.0) -> Case:
    """Case at constant speed with a steering signal of a given shape, times the amplitude
    `angle`."""
    return Case(label, duration, v, speed=v, steer=steer, amplitude=angle, run_in=run_in)


def before(t: Array) -> Array:
    """Signal that is 1 before time zero and 0 afterwards, at times t."""
    return (t < 0.0).astype(float)


rad_s2_m = Annotated[float, Unit("rad·s²/m", length=-1, time=2)]

WHEELS = ("fl", "fr", "rl", "rr")
HOLDING = SpeedGains(k_p=2.0, k_i=0.5, limit=5.0)
"""Gains with which the driver holds a speed."""
STANDING: m_s = 0.3
"""Speed below which a demanded deceleration fades: brakes stop a vehicle and do not reverse it.

A vehicle that slides backwards is braked as hard.
"""
V_0: m_s = 1.0
"""Speed added to the vehicle's speed in the driver's measure of slip.

With a larger value, motors that are barely strong enough to spin a tyre do so at the start.
"""
K_P, K_I = 3.0, 10.0
"""Gains of the slip control in s/m and 1/m."""
T_TORQUE: s = 0.005
"""Time constant to which the slip control shortens the lag of wheel torques."""


class DriverInput(NamedTuple):
    """Reference input of the driver at a step."""

    steer: rad = 0.0
    """Angle of the front wheels, added to the angle for the path, positive to the left; times
    `Driving.steer_gain`."""
    v: m_s = 0.0
    """Speed to hold, added to that of the path."""
    a: m_s2 = 0.0
    """Longitudinal acceleration, added to the acceleration that holds the speed, if any.

    A negative value is a brake demand: it acts against the motion and ends where the vehicle
    stands.
    """
    hold: one = 1.0
    """1 to hold the speed, 0 to apply the acceleration alone."""
    omega: rad_s = 0.0
    """Yaw rate, for a vehicle that turns on the spot."""
    handbrake: one = 0.0
    """Handbrake position, 0 to 1."""
    coast: one = 0.0
    """1 to release drive and brakes."""


class SlipMemory(NamedTuple):
    """Integral part of the slip control of each wheel."""

    fl: one = 1.0
    """Front left."""
    fr: one = 1.0
    """Front right."""
    rl: one = 1.0
    """Rear left."""
    rr: one = 1.0
    """Rear right."""


class SlipControl(NamedTuple):
    """Longitudinal slip that the driver holds; inactive by default.

    The demanded torque of each wheel is multiplied by a share from a PI law of its sliding speed:

        e = slip (|v| + V_0) - (R spin - v)
        share = feedforward (1 + K_P e + K_I ∫ e dt), within 0 and 1

    At a share of 1 the integral does not grow, which would let a wheel that spins up overshoot. The
    error is a speed and not a slip, so that the loop is equally fast at all speeds. A car with one
    pedal for all wheels gets the smallest share of the four.
    """

    slip: Annotated[one, non_negative] = 0.0
    """Slip to hold; 0 to switch the control off."""
    radius_f: Annotated[m, positive] = 1.0
    """Rolling radius of the front wheels."""
    radius_r: Annotated[m, positive] = 1.0
    """Rolling radius of the rear wheels."""
    feedforward: Annotated[one, positive] = 1.0
    """Share of the torque at which the tyres are near their peak."""
    lag: Annotated[s, non_negative] = 0.0
    """Time constant of the wheel torques, which the driver compensates."""


class Memory(NamedTuple):
    """Memory of the manoeuvre driver."""

    progress: m = 0.0
    """Position of the vehicle along the path."""
    speed: SpeedMemory = SpeedMemory()
    traction: SlipMemory = SlipMemory()


class Driving(NamedTuple):
    """Parameters of the manoeuvre driver."""

    path: Path
    """The path to follow."""
    follow: one = 0.0
    """1 to follow the path, 0 to steer with the input alone."""
    steer_gain: one = 1.0
    """Factor on the angle of the input."""
    settling: Annotated[s, positive] = 0.5
    """Time in which a deviation from the path decays."""
    settling_least: Annotated[m, positive] = 3.0
    """Least distance over which a deviation decays."""
    damping: Annotated[one, positive] = 0.9
    """Damping ratio of the return to the path."""
    ahead: Annotated[s, non_negative] = 0.15
    """Preview time: how much earlier than a bend the driver steers."""
    understeer: rad_s2_m = 0.0
    """Understeer gradient: additional angle per lateral acceleration, beyond the kinematic
    angle."""
    v_gain: one = 1.0
    """Factor on the speed of the path."""
    hold_until: m = 1.0e9
    """Distance along the path beyond which the speed is no longer held."""
    speed: SpeedGains = HOLDING
    """Gains of the speed control."""
    traction: SlipControl = SlipControl()
    """Slip control of the driven wheels."""


@lru_cache(maxsize=256)
def driver(vehicle: Vehicle) -> Policy:
    """Manoeuvre driver of a vehicle, as a policy.

    The policy's parameters are `car`, the vehicle data known to the driver, and `drive`, a
    `Driving`.
    """
    car = car_of(vehicle)
    Params = _params(type(car.geometry))
    params = Params(car.geometry, Driving(straight()))
    act = _Act(vehicle.model, tuple(moved != 0.0 for moved in push(car, vehicle.State)))
    return Policy(act, Memory, DriverInput, Params, params, name="driver")


@dataclass(frozen=True)
class _Act:
    """Control law of the driver for vehicles of a model.

    The law is an object that can be pickled rather than a nested function, so that its trace is
    cached on disk.
    """

    model: Model
    pushes: tuple[bool, ...]
    """For each input, whether a demanded acceleration affects it."""

    @property
    def _body(self) -> Body:
        assert self.model.body is not None  # checked by `car_of`
        return self.model.body

    def __call__(self, x: Any, m: Memory, r: DriverInput, p: Any, dt: s) -> tuple[Any, Memory]:
        body, rest, own = self._body, record.build(self.model.Input), p.car.vehicle
        now, v = body.velocity(x, rest, own), body.speed_of(x, rest, own)
        motion = Motion(*body.pose(x, own), now.v_x, now.v_y)
        angle, v_path, progress = _along_path(motion, m.progress, p)
        angle = limited(p.drive.follow * angle + p.drive.steer_gain * r.steer, p.car.steer_max)
        pace = r._replace(hold=where(progress < p.drive.hold_until, r.hold, 0.0))
        asked, speed = _pace(v, r.v + v_path, m.speed, pace, p.drive, dt)
        shares, traction = _slip_shares(x, v, m.traction, p.drive.traction, dt)
        by_wheel = bool(shares) and {f"tau_{w}" for w in WHEELS} <= set(self.model.Input._fields)
        if shares and not by_wheel:  # one pedal for all wheels
            fl, fr, rl, rr = shares
            asked = asked * minimum(minimum(fl, fr), minimum(rl, rr))
        v_held, g = r.v + v_path, p.car
        turning = v_held * tan(angle) * (1.0 / (g.l_f + g.l_r)) + r.omega
        u = body.command(x, Demand(angle, asked, v_held, turning, r.handbrake), own)
        if by_wheel:  # the lag of the torque actuators is compensated
            control: SlipControl = p.drive.traction
            lead = maximum(control.lag / maximum(T_TORQUE, 2.0 * dt), 1.0)
            torques: dict[str, Any] = {}
            for name, share in zip((f"tau_{wheel}" for wheel in WHEELS), shares, strict=True):
                full, torque = getattr(u, name), getattr(x, name)
                ahead = clip(torque + lead * (share * full - torque), -abs(full), abs(full))
                torques[name] = where(control.slip > 0.0, ahead, full)
            u = u._replace(**torques)
        pairs = zip(record.flatten(u), self._released(x, angle, r.handbrake, own), strict=True)
        eased = [value + r.coast * (other - value) for value, other in pairs]
        return record.unflatten(self.model.Input, eased), Memory(progress, speed, traction)

    def _released(self, x: Any, steer: rad, handbrake: one, own: Any) -> list[Any]:
        """Input of a driver who steers and pulls the handbrake, and does nothing else."""
        body = self._body
        idle = record.flatten(record.build(self.model.Input))
        # The command is evaluated at zero speed, so that it contains no brake demand against
        # rolling.
        still = body.placed(x, body.pose(x, own), Velocity(0.0, 0.0, 0.0), own)
        told = record.flatten(body.command(still, Demand(steer, handbrake=handbrake), own))
        each = zip(told, idle, self.pushes, strict=True)
        return [rest if push else value for value, rest, push in each]


@cache
def _params(Geometry: type) -> Any:
    hints = {"car": Geometry, "drive": Driving}
    return record.define("Params", hints, doc="What the driver knows and how it drives.")


def _along_path(motion: Motion, progress: m, p: Any) -> tuple[rad, m_s, m]:
    """Steering angle and speed demanded by the path, and the position along it."""
    before, _ = path_point(p.drive.path, progress)
    here = progress + advance(deviation(motion, before), before.curvature)
    point, _ = path_point(p.drive.path, here)
    speed = sqrt(motion.v_x * motion.v_x + motion.v_y * motion.v_y)
    coming, v_path = path_point(p.drive.path, here + p.drive.ahead * speed)
    settling = maximum(p.drive.settling * speed, p.drive.settling_least)
    back = Return(p.car.l_f, p.car.l_r, p.car.steer_max, settling, p.drive.damping)
    angle = steer_back(back, deviation(motion, LinePoint(*point)), speed, coming.curvature)
    angle = angle + p.drive.understeer * (speed * speed) * coming.curvature
    return angle, p.drive.v_gain * v_path, here


def _pace(
    v: m_s, goal: m_s, memory: SpeedMemory, r: DriverInput, drive: Driving, dt: s
) -> tuple[m_s2, SpeedMemory]:
    """Acceleration that holds the speed, or the acceleration of the input."""
    # With a zero error the integral stays constant while only an acceleration is demanded.
    seen = goal + r.hold * (v - goal)
    held, memory = pid_control(drive.speed, memory, seen, goal, dt, anti_windup=True)
    stopping = minimum(r.a, 0.0) * clip(v * (1.0 / STANDING), -1.0, 1.0)
    return r.hold * held + maximum(r.a, 0.0) + stopping, memory


def _slip_shares(
    x: Any, v: m_s, memory: SlipMemory, p: SlipControl, dt: s
) -> tuple[list[one], SlipMemory]:
    """Share of the torque for each wheel, and the memory; no shares if the state has no wheel
    spins."""
    if not {f"spin_{w}" for w in WHEELS} <= set(x._fields):
        return [], memory
    goal, most = v + p.slip * (abs(v) + V_0), 1.0 / p.feedforward
    radii = (p.radius_f, p.radius_f, p.radius_r, p.radius_r)
    shares, integrals = list[one](), list[one]()
    for wheel, radius, integral in zip(WHEELS, radii, memory, strict=True):
        error = goal - radius * getattr(x, f"spin_{wheel}")
        asked = integral + K_P * error
        shares.append(where(p.slip > 0.0, clip(p.feedforward * asked, 0.0, 1.0), 1.0))
        gained = where(asked < most, error, minimum(error, 0.0))
        integrals.append(clip(integral + (K_I * dt) * gained, 0.0, most))
    return shares, SlipMemory(*integrals)


def is_open(vehicle: Vehicle) -> bool:
    """Whether a vehicle has dead times and so is driven in open loop."""
    return bool(vehicle.model.dead_times)


def simulate_open_loop(
    fleet: Fleet, case: Case, t: Array, start: Array, p: Any, every: int
) -> tuple[Array, Array, type]:
    """Simulate a case in open loop: states (T, V, nx), outputs (T, V, ...) and their record class.

    `p` holds parameters that are numbers or (V,).
    """
    vehicle = fleet.vehicle
    u = _commands(vehicle, case, t, start, p)
    latest = max(np.max(getattr(p, name)) for name in vehicle.model.dead_times.values())
    rows = ceil(latest / fleet.dt) + 1
    before = np.repeat(u[:1], rows, axis=0)
    names = record.names(vehicle.model.Params)
    values = zip(names, record.flatten(p), strict=True)
    own = {name: value for name, value in values if np.ndim(value)} or None
    states = fleet.rollout(start, u, every=every, params=own, pending=before)
    at = np.minimum(np.arange(0, len(t) + 1, every), len(t) - 1)
    told = fleet.outputs(states, u[at], params=own)
    hints = {"command": vehicle.Input, "own": vehicle.model.Outputs}
    Outputs = record.define("Outputs", hints, doc="Commands and outputs of a vehicle.")
    return states, np.concatenate([u[at], told], axis=-1), Outputs


def _commands(vehicle: Vehicle, case: Case, t: Array, start: Array, p: Any) -> Array:
    """Input at each step, (T, V, nu)."""
    x = record.unflatten(vehicle.State, list(start.T))
    base, most = vehicle.geometry.wheel_base, vehicle.limits.steer_max
    signals = case.steer, case.a, case.speed, case.omega, case.handbrake
    steer, a, v, omega, handbrake = (case.over(signal, t)[:, None] for signal in signals)
    steer = np.clip(steer * np.asarray(case.amplitude, dtype=float), -most, most)
    demand: Any = steer, a, v, v * np.tan(steer) / base + omega, handbrake
    u = vehicle.body.command(x, Demand(*demand), p)
    shape = len(t), len(start)
    return np.stack([np.broadcast_to(leaf, shape) for leaf in record.flatten(u)], axis=-1)
