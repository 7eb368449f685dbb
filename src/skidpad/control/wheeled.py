"""Controllers of wheeled robots: from set-points to wheel torques and a steering angle.

Each is a `Controller`: the records it uses and a pure function `act(seen, u, memory, p, dt)`, which
returns a `Command`. What it sees is the motion that the wheels tell, not the true one. Torques are
positive forward, angles and yaw rates positive to the left.

A vehicle that is to stop (all set-points near zero) and hardly moves gets a fresh memory and no
torque but the one that holds it on a slope; while it still moves, the torque may brake but not
drive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    """Velocity asked for along the vehicle, forward positive."""
    omega: rad_s = 0.0
    """Yaw rate asked for, positive to the left."""


class FrontSteerInput(NamedTuple):
    """Set-points of a controller of speed and steering."""

    v: m_s = 0.0
    """Velocity asked for along the vehicle, forward positive."""
    steer: rad = 0.0
    """Angle asked for of a wheel in the middle of the front axle, positive to the left."""


class SideTorques(NamedTuple):
    """Torques of a vehicle with differential drive."""

    tau_left: Nm = 0.0
    """Torque at each driven wheel on the left, positive drives forward."""
    tau_right: Nm = 0.0
    """Torque at each driven wheel on the right, positive drives forward."""


class FrontTorques(NamedTuple):
    """Torques and steering of a vehicle driven by its front wheels."""

    tau_fl: Nm = 0.0
    """Torque at the front left wheel, positive drives forward."""
    tau_fr: Nm = 0.0
    """Torque at the front right wheel, positive drives forward."""
    steer: rad = 0.0
    """Angle of a wheel in the middle of the front axle, positive to the left."""


class MotorTorque(NamedTuple):
    """Torque and steering of a vehicle with a drivetrain."""

    tau: Nm = 0.0
    """Torque of the motor, positive drives forward."""
    steer: rad = 0.0
    """Angle of a wheel in the middle of the front axle, positive to the left."""


class NoGains(NamedTuple):
    """The parameters of a controller that has none."""


class NoMemory(NamedTuple):
    """The memory of a controller that has none."""


@dataclass(frozen=True)
class Seen:
    """What a controller knows of its vehicle, besides the set-points."""

    odometry: Twist
    """Motion as the wheels tell it."""
    track: m
    """Distance between the wheels that odometry listens to."""
    slope_torque: Nm = 0.0
    """Torque at each driven wheel, or of the motor, that balances the weight along the slope."""
    wheel_base: m = 0.0
    """Distance between the axles."""
    steer_max: rad = 0.0
    """Largest steering angle."""
    front: tuple[Place, ...] = ()
    """Front wheels left and right, from the point whose twist is meant."""
    angles: tuple[rad, ...] = ()
    """Angles that the front wheels have."""
    angles_of: Callable[[rad], FrontWheels] = lambda steer: FrontWheels(steer, steer)
    """Angles that the front wheels take at a steering angle."""


class Command(NamedTuple):
    """What a controller wants."""

    torques: tuple[Nm, ...]
    """Left and right, or of the one motor; positive drives forward."""
    memory: Any
    steer: rad = 0.0
    twist: Twist | None = None
    """The motion to impose on the vehicle, if any."""
    loops: tuple[SpeedLoop, ...] = ()
    """How each torque follows the speed that it is controlled by, per m/s; empty: it is as it is
    for the whole step."""


class SpeedTorques(NamedTuple):
    """Torques that speeds are controlled with."""

    torques: tuple[Nm, ...]
    memory: Any
    loops: tuple[SpeedLoop, ...]


Act = Callable[[Seen, Any, Any, Any, s], Command]


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
) -> SpeedTorques:
    """Torque for each of some speeds, with the rule for stopping, and the memory."""
    ff = p.feedforward_gain * seen.slope_torque if form.feed_forward else 0.0
    # Upstream lets go, and needs no brake: its slopes do not pull at wheels that grip.
    holding = 0.0 if form.upstream else pid.within(seen.slope_torque, p)
    stops: Any = _all([abs(v) < p.zero_threshold for v in asked])
    stopped = logical_and(stops, _all([abs(v) < p.stop_threshold for v in actual]))
    torques: list[Nm] = []
    memories: list[Any] = []
    loops: list[SpeedLoop] = []
    for target, v, before in zip(asked, actual, memory, strict=True):
        answer = pid.loop_step(p, form, before, target, v, dt, ff)

        def limit(torque: Nm, v: m_s = v) -> Nm:
            most = pid.within(torque, p)
            return where(stopped, torque, where(stops, _braking(most, v), most))

        torque = where(stops, _braking(answer.torque, v), answer.torque)
        torques.append(where(stopped, holding, torque))
        memories.append(pid.reset_where(answer.memory, stopped))
        wanted, gain = where(stopped, holding, answer.wanted), where(stopped, 0.0, answer.gain)
        loops.append(SpeedLoop(wanted, gain, limit))
    return SpeedTorques(tuple(torques), type(memory)(*memories), tuple(loops))


def _braking(torque: Nm, v: m_s) -> Nm:
    """The torque as far as it opposes the motion."""
    return where(v > 0.0, minimum(torque, 0.0), where(v < 0.0, maximum(torque, 0.0), torque))


def _all(conditions: Sequence[Any]) -> Any:
    first, *rest = conditions
    for condition in rest:
        first = logical_and(first, condition)
    return first


@made_once
def _memories(form: Form, count: int) -> Any:
    """Memory of one controller, or of those left and right."""
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
    """On the spot there is no angle that fits; one that grows with the yaw rate is shown."""
    moving = abs(u.v) > 1e-3
    by_twist = steer_of_twist(where(moving, u.v, 1.0), u.omega, seen.wheel_base)
    on_the_spot = u.omega * seen.wheel_base
    steer = clip(where(moving, by_twist, on_the_spot), -seen.steer_max, seen.steer_max)
    return Command((0.0, 0.0), memory, steer, Twist(u.v, u.omega))


def _by_side(twist: Twist, track: m) -> tuple[m_s, m_s]:
    """Speeds of the wheels left and right."""
    half = 0.5 * track * twist.omega
    return twist.v - half, twist.v + half


def _differential_twist(form: Form) -> Act:
    def act(seen: Seen, u: TwistInput, memory: Any, p: Gains, dt: s) -> Command:
        asked = _by_side(Twist(u.v, u.omega), seen.track)
        actual = _by_side(seen.odometry, seen.track)
        demand = speed_torques(seen, asked, actual, memory, p, form, dt)
        loops = () if form.upstream else demand.loops
        return Command(demand.torques, demand.memory, loops=loops)

    return act


def _along(twist: Twist, place: Place, angle: rad) -> m_s:
    """Speed of a wheel at a place of the body along the direction it points to."""
    v_x, v_y = twist.v - twist.omega * place.y, twist.omega * place.x
    return unrotated(v_x, v_y, angle)[0]


def _front_torques(
    seen: Seen, twist: Twist, steer: rad, memory: Any, p: Gains, form: Form, dt: s
) -> SpeedTorques:
    """Torques of the front wheels; each follows its own speed in the turn.

    The speed comes from the rear wheels, whatever the driven ones do: there is no loop over these.
    """
    angles = seen.angles_of(steer)
    asked = [_along(twist, *wheel) for wheel in zip(seen.front, angles, strict=True)]
    actual = [_along(seen.odometry, *wheel) for wheel in zip(seen.front, seen.angles, strict=True)]
    return speed_torques(seen, asked, actual, memory, p, form, dt)._replace(loops=())


def _motor_torque(
    seen: Seen, twist: Twist, steer: rad, memory: Any, p: Gains, form: Form, dt: s
) -> SpeedTorques:
    """Torque of the one motor, by the speed of the vehicle."""
    return speed_torques(seen, [twist.v], [seen.odometry.v], memory, p, form, dt)


def _twist_front_steer(form: Form, torques: Callable[..., Any]) -> Act:
    def act(seen: Seen, u: TwistInput, memory: Any, p: Gains, dt: s) -> Command:
        asked = steer_of_twist(u.v, u.omega, seen.wheel_base)
        steer = _possible(asked, seen, form)
        reached = abs(asked) <= seen.steer_max
        omega = u.omega if form.upstream else where(reached, u.omega, _yaw_rate(u.v, steer, seen))
        demand = torques(seen, Twist(u.v, omega), steer, memory, p, form, dt)
        return _steered(demand, steer, form)

    return act


def _front_steer(form: Form, torques: Callable[..., Any]) -> Act:
    def act(seen: Seen, u: FrontSteerInput, memory: Any, p: Gains, dt: s) -> Command:
        steer = _possible(u.steer, seen, form)
        twist = Twist(u.v, _yaw_rate(u.v, steer, seen))
        demand = torques(seen, twist, steer, memory, p, form, dt)
        return _steered(demand, steer, form)

    return act


def _possible(steer: rad, seen: Seen, form: Form) -> rad:
    """The angle that the front wheels can reach: the wheels' speeds are those of that turn.

    Upstream's are those of the turn asked for, so that a car at full lock is too fast.
    """
    return steer if form.upstream else limited(steer, seen.steer_max)


def _yaw_rate(v: m_s, steer: rad, seen: Seen) -> rad_s:
    return v * tan(steer) * (1.0 / seen.wheel_base)


def _steered(demand: SpeedTorques, steer: rad, form: Form) -> Command:
    loops = () if form.upstream else demand.loops
    return Command(demand.torques, demand.memory, steer, loops=loops)


DIFFERENTIAL = ("raw", "twist_pid", "twist_ideal")
ACKERMANN = ("raw", "twist_front_steer_pid", "front_steer_pid", "twist_ideal")
DRIVETRAIN = ("raw", "twist_front_steer_pid", "front_steer_pid")


def differential_controller(kind: str, form: Form) -> Controller:
    """The controller of this kind for a vehicle with differential drive."""
    if kind == "raw":
        return Controller(SideTorques, _raw(2, steered=False))
    if kind == "twist_ideal":
        return Controller(TwistInput, _twist_ideal, ideal=True)
    return Controller(TwistInput, _differential_twist(form), Gains, _memories(form, 2))


def ackermann_controller(kind: str, form: Form) -> Controller:
    """The controller of this kind for a vehicle driven and steered by its front wheels."""
    if kind == "raw":
        return Controller(FrontTorques, _raw(2, steered=True))
    if kind == "twist_ideal":
        return Controller(TwistInput, _ackermann_ideal, ideal=True)
    return _steering_pid(kind, form, _front_torques, 2)


def drivetrain_controller(kind: str, form: Form) -> Controller:
    """The controller of this kind for a vehicle with one motor and a drivetrain."""
    if kind == "raw":
        return Controller(MotorTorque, _raw(1, steered=True))
    return _steering_pid(kind, form, _motor_torque, 1)


def _steering_pid(kind: str, form: Form, torques: Callable[..., Any], count: int) -> Controller:
    memory = _memories(form, count)
    if kind == "front_steer_pid":
        return Controller(FrontSteerInput, _front_steer(form, torques), Gains, memory)
    return Controller(TwistInput, _twist_front_steer(form, torques), Gains, memory)
