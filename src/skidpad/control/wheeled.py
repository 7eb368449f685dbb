"""Controllers of wheeled robots: from set-points to wheel torques and a steering angle.

Each is a `Controller`: its records and a pure function `act(seen, u, memory, p, dt)`, which
returns a `Command`. The measured motion is that of wheel odometry, not the true one. Torques are
positive forward, angles and yaw rates positive to the left.

If all set-points are near zero, the torques may brake but not drive. Once the vehicle hardly moves,
the memory is reset, and the only torque left is the one that holds the vehicle on a slope.
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
    """Measurements and vehicle data available to a controller, in addition to the set-points."""

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
    """Whether the controller imposes the motion instead of driving the wheels."""


def speed_torques(
    seen: Seen,
    asked: Sequence[m_s],
    actual: Sequence[m_s],
    memory: Any,
    p: Gains,
    form: Form,
    dt: s,
) -> Command:
    """Torques for several speeds, with the rule for stopping, and the memory after the step."""
    ff = p.feedforward_gain * seen.slope_torque if form.feed_forward else 0.0
    # Upstream releases the wheels and needs no brake, since slopes do not act on its gripping
    # wheels.
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
    """Wheel torque if it brakes; 0 if it would drive."""
    return where(v > 0.0, minimum(torque, 0.0), where(v < 0.0, maximum(torque, 0.0), torque))


@made_once
def _memories(form: Form, count: int) -> Any:
    """Memory record class of one controller, or of a left and a right controller."""
    inner = pid.memory_type(form)
    if count == 1:
        return record.define("MotorMemory", {"motor": inner})
    return record.define("SideMemory", {"left": inner, "right": inner})


def _ideal(drive: str) -> Act:
    """Control law that imposes the demanded motion; the front wheels show the angle of the turn.

    No steering angle corresponds to turning on the spot; it then grows with the yaw rate.
    """

    def act(seen: Seen, u: TwistInput, memory: NoMemory, p: NoGains, dt: s) -> Command:
        command = Command((0.0, 0.0), memory, twist=Twist(u.v, u.omega))
        if drive == "differential":
            return command
        moving = abs(u.v) > 1e-3
        by_twist = steer_of_twist(where(moving, u.v, 1.0), u.omega, seen.wheel_base)
        on_the_spot = u.omega * seen.wheel_base
        steer = clip(where(moving, by_twist, on_the_spot), -seen.steer_max, seen.steer_max)
        return command._replace(steer=steer)

    return act


def _by_side(twist: Twist, track: m) -> tuple[m_s, m_s]:
    """Speeds of the left and right wheels in m/s for a twist and a track width."""
    half = 0.5 * track * twist.omega
    return twist.v - half, twist.v + half


def _along_wheels(twist: Twist, places: Sequence[Place], angles: Sequence[rad]) -> list[m_s]:
    """Speeds along the front wheels; each follows its own speed in the turn."""
    return [
        unrotated(twist.v - twist.omega * place.y, twist.omega * place.x, angle)[0]
        for place, angle in zip(places, angles, strict=True)
    ]


def _speeds(drive: str, seen: Seen, twist: Twist, steer: rad) -> Speeds:
    """Demanded and actual speeds of the controlled wheels, or of the vehicle for its motor.

    The speeds of the front wheels are measured at the rear wheels, so there is no feedback loop
    over the driven wheels.
    """
    if drive == "differential":
        return _by_side(twist, seen.track), _by_side(seen.odometry, seen.track)
    if drive == "drivetrain":
        return [twist.v], [seen.odometry.v]
    demanded = _along_wheels(twist, seen.front, seen.angles_of(steer))
    return demanded, _along_wheels(seen.odometry, seen.front, seen.angles)


def _demand(kind: str, seen: Seen, u: Any, form: Form) -> tuple[Twist, rad]:
    """Demanded motion and steering angle according to the set-points.

    The steering angle is limited to the reach of the front wheels, and the wheel speeds are for
    that turn. In upstream they are for the demanded turn, so a car at full lock is too fast.
    """
    if kind == "twist_pid":
        return Twist(u.v, u.omega), 0.0
    by_angle = kind == "front_steer_pid"
    asked = u.steer if by_angle else steer_of_twist(u.v, u.omega, seen.wheel_base)
    steer = asked if form.upstream else limited(asked, seen.steer_max)
    if not by_angle and form.upstream:
        return Twist(u.v, u.omega), steer
    omega = u.v * tan(steer) * (1.0 / seen.wheel_base)
    if not by_angle:
        omega = where(abs(asked) <= seen.steer_max, u.omega, omega)
    return Twist(u.v, omega), steer


def _controller(kind: str, drive: str, Raw: type, form: Form) -> Controller:
    """Controller of a kind for a drive; `Raw` are the inputs without control."""
    count = 1 if drive == "drivetrain" else 2
    if kind == "raw":

        def pass_on(seen: Seen, u: Any, memory: NoMemory, p: NoGains, dt: s) -> Command:
            steer = 0.0 if drive == "differential" else u.steer
            return Command(tuple(u[:count]), memory, steer)

        return Controller(Raw, pass_on)
    if kind == "twist_ideal":
        return Controller(TwistInput, _ideal(drive), ideal=True)

    def act(seen: Seen, u: Any, memory: Any, p: Gains, dt: s) -> Command:
        twist, steer = _demand(kind, seen, u, form)
        command = speed_torques(seen, *_speeds(drive, seen, twist, steer), memory, p, form, dt)
        no_loops = form.upstream or drive == "ackermann"
        return command._replace(steer=steer, loops=() if no_loops else command.loops)

    Input = FrontSteerInput if kind == "front_steer_pid" else TwistInput
    return Controller(Input, act, Gains, _memories(form, count))


DIFFERENTIAL = ("raw", "twist_pid", "twist_ideal")
ACKERMANN = ("raw", "twist_front_steer_pid", "front_steer_pid", "twist_ideal")
DRIVETRAIN = ("raw", "twist_front_steer_pid", "front_steer_pid")


def differential_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle with differential drive."""
    return _controller(kind, "differential", SideTorques, form)


def ackermann_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle driven and steered by its front wheels."""
    return _controller(kind, "ackermann", FrontTorques, form)


def drivetrain_controller(kind: str, form: Form) -> Controller:
    """Controller of this kind for a vehicle with one motor and a drivetrain."""
    return _controller(kind, "drivetrain", MotorTorque, form)
