"""The driver of all manoeuvres: one policy, so that a vehicle needs one kernel for all of them.

Its input at each step is an angle, a speed or an acceleration, and it may follow a path. What it
does with them is a matter of parameters, which differ between the vehicles of a fleet.

No driver can be in the loop of a vehicle with dead time. Such a vehicle gets the commands that the
driver would give at the start (`driven_open`): those that are commanded a speed hold it, others
keep the one they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...control.car import Motion, advance, car_of, deviation, push
from ...control.path_following import Params as Return
from ...control.path_following import steer as steer_back
from ...control.pid import SpeedGains, SpeedMemory, pid_control
from ...core import record
from ...core.arrays import Array
from ...core.body import Body, Demand, Velocity
from ...core.model import Model, Vehicle
from ...core.policy import Policy
from ...geometry.line import LinePoint
from ...ops import abs, clip, maximum, minimum, sqrt, tan, where
from ...run.fleet import Fleet
from ...units import Unit, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from ...vehicles.parts.actuators import limited
from .case import Case, Path, path_point, straight

rad_s2_m = Annotated[float, Unit("rad·s²/m", length=-1, time=2)]

WHEELS = ("fl", "fr", "rl", "rr")
HOLDING = SpeedGains(k_p=2.0, k_i=0.5, limit=5.0)
"""How the driver holds a speed."""
STANDING: m_s = 0.3
"""Speed below which a demanded deceleration fades: brakes stop a vehicle and do not reverse it.
One that slides backwards is braked as hard."""
V_0: m_s = 1.0
"""Speed by which the driver measures slip at rest. With a larger one, motors that can just break a
tyre loose do so at the start."""
K_P, K_I = 3.0, 10.0
"""Gains of the slip control in s/m and 1/m."""
T_TORQUE: s = 0.005
"""Time constant to which the slip control shortens the lag of wheel torques."""


class Told(NamedTuple):
    """Input of the driver at a step."""

    steer: rad = 0.0
    """Angle of the front wheels, added to that of the path, positive to the left; times
    `Driving.steer_gain`."""
    v: m_s = 0.0
    """Speed to hold, added to that of the path."""
    a: m_s2 = 0.0
    """Acceleration along the vehicle, added to that which holds the speed, or alone. A negative one
    is that of brakes: it goes against the motion and ends where the vehicle stands."""
    hold: one = 1.0
    """1 to hold the speed, 0 to ask for the acceleration alone."""
    omega: rad_s = 0.0
    """Yaw rate, of a vehicle that turns on the spot."""
    handbrake: one = 0.0
    """How far it is pulled, 0 to 1."""
    coast: one = 0.0
    """1 to let go of drive and brakes."""


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
    """Which longitudinal slip the drive holds; none by default.

    Each wheel gets a share of the torque that is asked for, by a PI law of its sliding speed:

        e = slip (|v| + V_0) - (R spin - v)
        share = feedforward (1 + K_P e + K_I ∫ e dt), within 0 and 1

    At a share of 1 the integral does not grow: it would let a wheel that is spun up overshoot.
    The error is a speed and not a slip, so that the loop is as fast at all speeds. A car with one
    pedal for all wheels gets the smallest share of the four.
    """

    slip: Annotated[one, non_negative] = 0.0
    """Slip to hold; 0 to leave the drive alone."""
    radius_f: Annotated[m, positive] = 1.0
    """Rolling radius of the front wheels."""
    radius_r: Annotated[m, positive] = 1.0
    """Rolling radius of the rear wheels."""
    feedforward: Annotated[one, positive] = 1.0
    """Share of the torque at which the tyres are about at their peak."""
    lag: Annotated[s, non_negative] = 0.0
    """Time constant of the wheel torques, which the driver compensates."""


class Memory(NamedTuple):
    """What the driver remembers."""

    progress: m = 0.0
    """Distance along the path to the vehicle."""
    speed: SpeedMemory = SpeedMemory()
    traction: SlipMemory = SlipMemory()


class Driving(NamedTuple):
    """How the driver drives."""

    path: Path
    """The path to follow."""
    follow: one = 0.0
    """1 to follow the path, 0 to steer by the input alone."""
    steer_gain: one = 1.0
    """Factor on the angle of the input."""
    settling: Annotated[s, positive] = 0.5
    """Time over which a deviation from the path dies out."""
    settling_least: Annotated[m, positive] = 3.0
    """Least distance over which it does."""
    damping: Annotated[one, positive] = 0.9
    """Damping ratio of the return to the path."""
    ahead: Annotated[s, non_negative] = 0.15
    """How much earlier than a bend the driver turns the wheel."""
    understeer: rad_s2_m = 0.0
    """Angle that the driver adds to the kinematic one per lateral acceleration."""
    v_gain: one = 1.0
    """Factor on the speed of the path."""
    hold_until: m = 1.0e9
    """Distance along the path from which on no speed is held."""
    speed: SpeedGains = HOLDING
    """How a speed is held."""
    traction: SlipControl = SlipControl()
    """Which slip of the driven wheels is held."""


def driver(vehicle: Vehicle) -> Policy:
    """The driver of a vehicle. Its parameters are `car`, what it knows of the vehicle, and
    `drive`, a `Driving`."""
    car = car_of(vehicle)
    Params = _params(type(car.geometry))
    params = Params(car.geometry, Driving(straight()))
    act = _Act(vehicle.model, tuple(moved != 0.0 for moved in push(car, vehicle.State)))
    return Policy(act, Memory, Told, Params, params, name="driver")


@dataclass(frozen=True)
class _Act:
    """What the driver of vehicles of a model does; an object that can be pickled, and not a
    function within another, so that what is traced of it is kept on disk."""

    model: Model
    pushes: tuple[bool, ...]
    """Of each input whether an acceleration that is asked for moves it."""

    @property
    def _body(self) -> Body:
        assert self.model.body is not None  # `car_of` has asked for it
        return self.model.body

    def __call__(self, x: Any, m: Memory, r: Told, p: Any, dt: s) -> tuple[Any, Memory]:
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
        if by_wheel:
            u = _with_shares(x, u, shares, p.drive.traction, dt)
        pairs = zip(record.flatten(u), self._released(x, angle, r.handbrake, own), strict=True)
        eased = [value + r.coast * (other - value) for value, other in pairs]
        return record.unflatten(self.model.Input, eased), Memory(progress, speed, traction)

    def _released(self, x: Any, steer: rad, handbrake: one, own: Any) -> list[Any]:
        """The input of a driver who steers and pulls the handbrake, and nothing else."""
        body = self._body
        idle = record.flatten(record.build(self.model.Input))
        # At rest nothing is braked for the way that it rolls.
        still = body.placed(x, body.pose(x, own), Velocity(0.0, 0.0, 0.0), own)
        told = record.flatten(body.command(still, Demand(steer, handbrake=handbrake), own))
        return [
            rest if push else value
            for value, rest, push in zip(told, idle, self.pushes, strict=True)
        ]


@cache
def _params(Geometry: type) -> Any:
    hints = {"car": Geometry, "drive": Driving}
    return record.define("Params", hints, doc="What the driver knows and how it drives.")


def _along_path(motion: Motion, progress: m, p: Any) -> tuple[rad, m_s, m]:
    """Angle and speed that the path asks for, and how far along it the vehicle is."""
    before, _ = path_point(p.drive.path, progress)
    here = progress + advance(deviation(motion, before), before.curvature)
    point, _ = path_point(p.drive.path, here)
    speed = sqrt(motion.v_x * motion.v_x + motion.v_y * motion.v_y)
    coming, v_path = path_point(p.drive.path, here + p.drive.ahead * speed)
    settling = maximum(p.drive.settling * speed, p.drive.settling_least)
    back = Return(p.car.l_f, p.car.l_r, p.car.steer_max, settling, p.drive.damping)
    angle = steer_back(back, deviation(motion, LinePoint(*point)), speed, coming.curvature)
    return (
        angle + p.drive.understeer * (speed * speed) * coming.curvature,
        p.drive.v_gain * v_path,
        here,
    )


def _pace(
    v: m_s, goal: m_s, memory: SpeedMemory, r: Told, drive: Driving, dt: s
) -> tuple[m_s2, SpeedMemory]:
    """Acceleration that holds the speed, or that of the input."""
    # Without an error nothing gathers while the acceleration alone is asked for.
    seen = goal + r.hold * (v - goal)
    held, memory = pid_control(drive.speed, memory, seen, goal, dt, anti_windup=True)
    stopping = minimum(r.a, 0.0) * clip(v * (1.0 / STANDING), -1.0, 1.0)
    return r.hold * held + maximum(r.a, 0.0) + stopping, memory


def _slip_shares(
    x: Any, v: m_s, memory: SlipMemory, p: SlipControl, dt: s
) -> tuple[list[one], SlipMemory]:
    """Share of the torque for each wheel; none of a vehicle whose state has no spins."""
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


def _with_shares(x: Any, u: Any, shares: list[one], p: SlipControl, dt: s) -> Any:
    """The input with its share of the torque for each wheel, asked for ahead of its lag."""
    lead = maximum(p.lag / maximum(T_TORQUE, 2.0 * dt), 1.0)
    torques: dict[str, Any] = {}
    for wheel, share in zip(WHEELS, shares, strict=True):
        name = f"tau_{wheel}"
        full, now = getattr(u, name), getattr(x, name)
        ahead = clip(now + lead * (share * full - now), -abs(full), abs(full))
        torques[name] = where(p.slip > 0.0, ahead, full)
    return u._replace(**torques)


def is_open(vehicle: Vehicle) -> bool:
    """Whether a vehicle has to be driven so."""
    return bool(vehicle.model.dead_times)


def driven_open(
    fleet: Fleet, case: Case, t: Array, start: Array, p: Any, every: int
) -> tuple[Array, Array, type]:
    """States (T, V, nx), and outputs (T, V, ...) with the record that names them; `p` has
    parameters that are numbers or (V,)."""
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
    """Inputs at each step, (T, V, nu)."""
    x = record.unflatten(vehicle.State, list(start.T))
    base, most = vehicle.geometry.wheel_base, vehicle.limits.steer_max
    signals = {
        "steer": case.steer,
        "a": case.a,
        "v": case.speed,
        "omega": case.omega,
        "handbrake": case.handbrake,
    }
    told = {name: case.over(signal, t)[:, None] for name, signal in signals.items()}
    steer = np.clip(told["steer"] * np.asarray(case.amplitude, dtype=float), -most, most)
    turning = told["v"] * np.tan(steer) / base + told["omega"]
    demand: Any = steer, told["a"], told["v"], turning, told["handbrake"]
    u = vehicle.body.command(x, Demand(*demand), p)
    shape = len(t), len(start)
    return np.stack([np.broadcast_to(leaf, shape) for leaf in record.flatten(u)], axis=-1)
