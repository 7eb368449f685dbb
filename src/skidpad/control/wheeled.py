"""Controllers of wheeled robots: from set-points to wheel torques and a steering angle.

Each is a `Controller`: its records and a pure function `act(seen, u, memory, p, dt)`, which
returns a `Command`. The measured motion is that of wheel odometry, not the true one. Torques are
positive forward, angles and yaw rates positive to the left.

A vehicle that is to stop (all set-points near zero) and hardly moves gets a fresh memory and no
torque but the torque that holds it on a slope; while it still moves, the torque may brake but not
drive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

from ..core import record
from ..core.record import made_once
from ..geometry.pose import unrotated
from ..ops import abs, clip, logical_and, maximum, minimum, tan, where
from ..units import Nm, m, m_s, rad, rad_s, s
from ..vehicles.parts.actuators import limited
from ..vehicles.parts.kinematics import FrontWheels
from ..vehicles.parts.load_transfer import Place
from ..vehicles.parts.steering import steer_of_twist
from ..vehicles.parts.wheel_friction import SpeedLoop, Twist
from . import pid
from .pid import Form, Gains


class TwistInput(NamedTuple):
    """Set-points of a twist controller."""

    v: m_s = 0.0
    """Demanded velocity along the vehicle, forward positive."""
    omega: rad_s = 0.0
    """Demanded yaw rate, positive to the left."""


class FrontSteerInput(NamedTuple):
    """Set-points of a speed and steering controller."""

    v: m_s = 0.0
    """Demanded velocity along the vehicle, forward positive."""
    steer: rad = 0.0
    """Demanded angle of a wheel in the middle of the front axle, positive to the left."""


class SideTorques(NamedTuple):
    """Wheel torques of a vehicle with differential drive."""

    tau_left: Nm = 0.0
    """Torque at each driven wheel on the left, positive drives forward."""
    tau_right: Nm = 0.0
    """Torque at each driven wheel on the right, positive drives forward."""


class FrontTorques(NamedTuple):
    """Wheel torques and steering of a vehicle driven by its front wheels."""

    tau_fl: Nm = 0.0
    """Torque at the front left wheel, positive drives forward."""
    tau_fr: Nm = 0.0
    """Torque at the front right wheel, positive drives forward."""
    steer: rad = 0.0
    """Angle of a wheel in the middle of the front axle, positive to the left."""


class MotorTorque(NamedTuple):
    """Motor torque and steering of a vehicle with a drivetrain."""

    tau: Nm = 0.0
    """Torque of the motor, positive drives forward."""
    steer: rad = 0.0
    """Angle of a wheel in the middle of the front axle, positive to the left."""


class NoGains(NamedTuple):
    """Empty parameters, for a controller without gains."""


class NoMemory(NamedTuple):
    """Empty memory, for a controller without memory."""


@dataclass(frozen=True)
class Seen:
    """Measurements and vehicle data available to a controller, besides the set-points."""

    odometry: Twist
    """Motion from wheel odometry."""
    track: m
    """Distance between the wheels used for odometry."""
    slope_torque: Nm = 0.0
    """Torque at each driven wheel, or of the motor, that balances the slope force."""
    wheel_base: m = 0.0
    """Distance between the axles."""
    steer_max: rad = 0.0
    """Largest steering angle."""
    front: tuple[Place, ...] = ()
    """Positions of the front wheels, left and right, from the controlled point."""
    angles: tuple[rad, ...] = ()
    """Current angles of the front wheels."""
    angles_of: Callable[[rad], FrontWheels] = lambda steer: FrontWheels(steer, steer)
    """Function for the angles of the front wheels at a steering angle."""


class Command(NamedTuple):
    """Output of a controller."""

    torques: tuple[Nm, ...]
    """Torques on the left and right, or of the single motor; positive drives forward."""
    memory: Any
    steer: rad = 0.0
    twist: Twist | None = None
    """Motion imposed on the vehicle, or None."""
    loops: tuple[SpeedLoop, ...] = ()
    """Dependence of each torque on its speed, per m/s; if empty, torques stay constant."""


Act = Callable[[Seen, Any, Any, Any, s], Command]
Speeds = tuple[Sequence[m_s], Sequence[m_s]]
"""Demanded and actual speeds of the controlled wheels."""


@dataclass(frozen=True)
class Controller:
    """A control law and its records."""

    Input: type
    act: Act
    Params: type = NoGains
    Memory: type = NoMemory
    ideal: bool = False
    """Whether it imposes the motion instead of driving the wheels."""


def speed_torques(
    seen: Seen,
    asked: Sequence[m_s],
    actual: Sequence[m_s],
    memory: Any,
    p: Gains,
    form: Form,
    dt: s,
) -> Command:
    """Torque for each of several speeds, with the rule for stopping, and the memory."""
    ff = p.feedforward_gain * seen.slope_torque if form.feed_forward else 0.0
    # Upstream lets go, and needs no brake: its slopes do not pull at wheels that grip.
    holding = 0.0 if form.upstream else pid.within(seen.slope_torque, p)
    stops: Any = reduce(logical_and, [abs(v) < p.zero_threshold for v in asked])
    slow = reduce(logical_and, [abs(v) < p.stop_threshold for v in actual])
    stopped = logical_and(stops, slow)
    torques: list[Nm] = []
    memories: list[Any] = []
    loops: list[SpeedLoop] = []
    for target, v, before in zip(asked, actual, memory, strict=True):
        step = pid.pid_step(p, form, before, target, v, dt, ff)

        def limit(torque: Nm, v: m_s = v) -> Nm:
            most = pid.within(torque, p)
            return where(stopped, torque, where(stops, _braking(most, v), most))

        torque = where(stops, _braking(step.torque, v), step.torque)
        torques.append(where(stopped, holding, torque))
        memories.append(pid.reset_where(step.memory, stopped))
        free, gain = where(stopped, holding, step.unlimited), where(stopped, 0.0, step.gain)
        loops.append(SpeedLoop(free, gain, limit))
    return Command(tuple(torques), type(memory)(*memories), loops=tuple(loops))


def _braking(torque: Nm, v: m_s) -> Nm:
    """Torque, restricted to its braking part: 0 if it would drive."""
    return where(v > 0.0, minimum(torque, 0.0), where(v < 0.0, maximum(torque, 0.0), torque))


@made_once
def _memories(form: Form, count: int) -> Any:
    """Memory of one controller, or of two for left and right."""
    inner = pid.memory_type(form)
    if count == 1:
        return record.define("MotorMemory", {"motor": inner})
    return record.define("SideMemory", {"left": inner, "right": inner})


def _raw(count: int, steered: bool) -> Act:
    def act(seen: Seen, u: Any, memory: NoMemory, p: NoGains, dt: s) -> Command:
        return Command(tuple(u[:count]), memory, u.steer if steered else 0.0)

    return act


def _twist_ideal(seen: Seen, u: TwistInput, memory: NoMemory, p: NoGains, dt: s) -> Command:
    return Command((0.0, 0.0), memory, twist=Twist(u.v, u.omega))


def _ackermann_ideal(seen: Seen, u: TwistInput, memory: NoMemory, p: NoGains, dt: s) -> Command:
    """Ideal Ackermann command; for turning on the spot, an angle that grows with the yaw rate.

    No steering angle corresponds to turning on the spot.
    """
    moving = abs(u.v) > 1e-3
    by_twist = steer_of_twist(where(moving, u.v, 1.0), u.omega, seen.wheel_base)
    on_the_spot = u.omega * seen.wheel_base
    steer = clip(where(moving, by_twist, on_the_spot), -seen.steer_max, seen.steer_max)
    return Command((0.0, 0.0), memory, steer, Twist(u.v, u.omega))


def _by_side(twist: Twist, track: m) -> tuple[m_s, m_s]:
    """Speeds of the left and right wheels."""
    half = 0.5 * track * twist.omega
    return twist.v - half, twist.v + half


def _side_speeds(seen: Seen, twist: Twist, steer: rad) -> Speeds:
    """Demanded and actual speeds of the left and right wheels."""
    return _by_side(twist, seen.track), _by_side(seen.odometry, seen.track)


def _front_speeds(seen: Seen, twist: Twist, steer: rad) -> Speeds:
    """Demanded and actual speeds of the front wheels; each follows its own speed in the turn.

    The measured speed comes from the rear wheels, so there is no feedback loop over the driven
    ones.
    """

    def along(twist: Twist, angles: Sequence[rad]) -> list[m_s]:
        return [
            unrotated(twist.v - twist.omega * place.y, twist.omega * place.x, angle)[0]
            for place, angle in zip(seen.front, angles, strict=True)
        ]

    return along(twist, seen.angles_of(steer)), along(seen.odometry, seen.angles)


def _motor_speed(seen: Seen, twist: Twist, steer: rad) -> Speeds:
    """Demanded and actual speed of the vehicle, which the single motor controls."""
    return [twist.v], [seen.odometry.v]


def _plain_twist(seen: Seen, u: TwistInput, form: Form) -> tuple[Twist, rad]:
    return Twist(u.v, u.omega), 0.0


def _twist_front_steer(seen: Seen, u: TwistInput, form: Form) -> tuple[Twist, rad]:
    asked = steer_of_twist(u.v, u.omega, seen.wheel_base)
    steer = _possible(asked, seen, form)
    reached = abs(asked) <= seen.steer_max
    omega = u.omega if form.upstream else where(reached, u.omega, _yaw_rate(u.v, steer, seen))
    return Twist(u.v, omega), steer


def _front_steer(seen: Seen, u: FrontSteerInput, form: Form) -> tuple[Twist, rad]:
    steer = _possible(u.steer, seen, form)
    return Twist(u.v, _yaw_rate(u.v, steer, seen)), steer


def _possible(steer: rad, seen: Seen, form: Form) -> rad:
    """Steering angle limited to the reach of the front wheels; the wheel speeds are for that turn.

    In upstream they are for the demanded turn, so a car at full lock is too fast.
    """
    return steer if form.upstream else limited(steer, seen.steer_max)


def _yaw_rate(v: m_s, steer: rad, seen: Seen) -> rad_s:
    return v * tan(steer) * (1.0 / seen.wheel_base)


def _pid(
    Input: type,
    demand_of: Callable[..., tuple[Twist, rad]],
    speeds: Callable[..., Speeds],
    form: Form,
    count: int,
) -> Controller:
    """Controller of wheel speeds, which follow a demanded twist and steering angle."""

    def act(seen: Seen, u: Any, memory: Any, p: Gains, dt: s) -> Command:
        twist, steer = demand_of(seen, u, form)
        command = speed_torques(seen, *speeds(seen, twist, steer), memory, p, form, dt)
        no_loops = form.upstream or speeds is _front_speeds
        return command._replace(steer=steer, loops=() if no_loops else command.loops)

    return Controller(Input, act, Gains, _memories(form, count))


DIFFERENTIAL = ("raw", "twist_pid", "twist_ideal")
ACKERMANN = ("raw", "twist_front_steer_pid", "front_steer_pid", "twist_ideal")
DRIVETRAIN = ("raw", "twist_front_steer_pid", "front_steer_pid")


def differential_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle with differential drive."""
    if kind == "raw":
        return Controller(SideTorques, _raw(2, steered=False))
    if kind == "twist_ideal":
        return Controller(TwistInput, _twist_ideal, ideal=True)
    return _pid(TwistInput, _plain_twist, _side_speeds, form, 2)


def ackermann_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle driven and steered by its front wheels."""
    if kind == "raw":
        return Controller(FrontTorques, _raw(2, steered=True))
    if kind == "twist_ideal":
        return Controller(TwistInput, _ackermann_ideal, ideal=True)
    return _steering_pid(kind, _front_speeds, form, 2)


def drivetrain_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle with one motor and a drivetrain."""
    if kind == "raw":
        return Controller(MotorTorque, _raw(1, steered=True))
    return _steering_pid(kind, _motor_speed, form, 1)


def _steering_pid(kind: str, speeds: Callable[..., Speeds], form: Form, count: int) -> Controller:
    if kind == "front_steer_pid":
        return _pid(FrontSteerInput, _front_steer, speeds, form, count)
    return _pid(TwistInput, _twist_front_steer, speeds, form, count)
