"""Engine: the truck, its lidar, its IMU and a map behind one small interface.

The interface is that of the `simulator_2d` package of robotics-laboratory/truck, in Python's
words. By default the truck does what the documents promise; compat="upstream" does what the
program does.

The truck in motion: compiled inner steps under a command that is held.

Where the engine and the program it follows part: each repair beside what it repairs.

docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any, overload

import numpy as np

from ... import integrate
from ...compile.plant import Plant
from ...core import record
from ...core.arrays import AnyArray
from ...core.checks import must_be, one_of
from ...core.files import brief_repr
from ...core.model import Model, Vehicle
from ...errors import InvalidValue
from ...geometry.maps.map import Map
from ...geometry.pose import rotated
from ...run.settings import Settings
from ...run.simulator import CompiledStepper
from ...units import Allowed, m_s, m_s2, non_negative, per_m, positive, rad, s
from ...vehicles.parts.kinematics import (
    Twist,
    curvature_of,
    front_wheels,
    motor_rate,
    speed_ratio,
    steer_of,
    twist_at,
    wheel_spin,
)
from ...vehicles.truck import (
    REAR_MODEL,
    SUMMED_MODEL,
    Input,
    Params,
    RearCommand,
    State,
    actuation,
    body_point,
    curvature_limit,
    rear_command,
    steer_command,
    steer_limit,
)
from . import sensors, upstream
from .model_file import (
    AngularVelocity,
    EngineState,
    Pose,
    SpecificForce,
    Status,
    Steering,
    TruckModel,
    Velocity,
    truck_model,
)
from .sensors import (
    CarryingClock,
    Clock,
    NoiseSource,
    Reading,
    SensorNoise,
    Surroundings,
    sensor_noise,
)

BLOCK = 1000
"""Steps computed at a time; their states are kept to look along the way."""


class Drive:
    """Steps one truck. The state is that of the middle of its rear axle."""

    def __init__(self, model: Model, params: Params, step: s) -> None:
        method = integrate.get("rk4")
        plant = Plant.of(Vehicle(model, params), method)
        self._stepper = CompiledStepper(plant, Settings(step, method))
        self._commands = np.zeros((BLOCK, record.size(model.Input)))
        self.put(State())

    @property
    def state(self) -> State:
        """The present state."""
        return self._stepper.state

    def put(self, state: Any) -> None:
        """Go on from this state, a record or a row of numbers."""
        self._stepper.reset(tuple(state), 0.0)

    def hold(self, command: tuple[float, ...]) -> None:
        """Let an input of the model act from now on."""
        self._commands[:] = command

    def run(self, steps: int) -> AnyArray:
        """Take up to `BLOCK` steps; the states after each (steps, nx). One that fails raises."""
        states, error = self._stepper.drive(self._commands[:steps])
        if error is not None:
            raise error
        return states


@dataclass(frozen=True)
class Rules:
    """The points on which the two modes differ."""

    clock: Callable[[s], Clock]
    """Time and inner steps, from the length of a step."""
    model: Model
    """How the truck moves under its input."""
    held: Callable[[RearCommand, Params], tuple[float, ...]]
    """That input, from what the rear axle is asked."""
    nothing: Any
    """The command before the first one."""
    kept: Callable[[m_s, m_s2 | None, per_m, State, Params], Any]
    """A command of the base point as it is kept; no acceleration: one is selected."""
    rear: Callable[[Any, Params], RearCommand]
    """What a kept command asks of the rear axle."""
    steer_limit: Callable[[Params], rad]
    """Largest middle steering angle, as it is told."""
    target_speed: Callable[[Any, Params], m_s]
    """Speed commanded, as the motor is said to turn for it."""
    rear_speed: Callable[[m_s, rad, Params], m_s]
    """Speed of the rear axle for one of the base point at a steering angle, after a reset."""
    base_velocity: Callable[[State, Twist, Params], Velocity]
    """Velocity of the base point in the world, from its twist."""
    imu: Callable[[TruckModel], Reading]
    load: Callable[[str | Path], Map]
    """The map in a file."""
    surroundings: Callable[[Map, TruckModel, float], Surroundings]
    """What lidar and body meet, from map, truck and tolerance."""
    empties_map: bool
    """Whether a map file that cannot be read takes the present map away."""
    along_the_way: bool
    """Whether the body is checked at every inner step, or only where an advance ends."""
    checks_starts: bool
    """Whether a reset beyond the limits of steering and speed is an error."""
    precision: float
    """Difference from its goal within which speed or steering stays, in m/s and rad; by default."""


def _kept(velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params) -> Input:
    """As given: the limits of the manoeuvre are looked up at every inner step."""
    if acceleration is None:
        return Input(velocity, curvature=curvature)
    return Input(velocity, acceleration, curvature)


def _commanded_speed(u: Input, p: Params) -> m_s:
    return max(p.v_min, min(p.v_max, u.velocity))


def _rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    curvature = curvature_of(steer, p.wheel_base)
    return velocity / speed_ratio(curvature, p.base_to_rear, 0.0)


def _velocity(x: State, base: Twist, p: Params) -> Velocity:
    """Of the point itself, which swings out as the truck turns."""
    across = base.omega * p.base_to_rear
    return Velocity(*rotated(x.v_x, across, x.yaw))


def _upstream_velocity(x: State, base: Twist, p: Params) -> Velocity:
    """The speed of the point, along the heading of the truck."""
    return Velocity(cos(x.yaw) * base.velocity, sin(x.yaw) * base.velocity)


REPAIRED = Rules(
    clock=CarryingClock,
    model=REAR_MODEL,
    held=lambda c, p: c,
    nothing=Input(),
    kept=_kept,
    rear=rear_command,
    steer_limit=steer_limit,
    target_speed=_commanded_speed,
    rear_speed=_rear_speed,
    base_velocity=_velocity,
    imu=sensors.imu,
    load=Map.load,
    surroundings=sensors.ExactSurroundings,
    empties_map=False,
    along_the_way=True,
    checks_starts=True,
    precision=0.0,
)
UPSTREAM = Rules(
    clock=upstream.TruncatingClock,
    model=SUMMED_MODEL,
    held=steer_command,
    nothing=RearCommand(),
    kept=upstream.stored_command,
    rear=lambda u, p: u,
    steer_limit=upstream.reported_steer_limit,
    target_speed=lambda u, p: u.velocity,
    rear_speed=upstream.rear_speed,
    base_velocity=_upstream_velocity,
    imu=upstream.imu,
    load=upstream.load,
    surroundings=upstream.UpstreamSurroundings,
    empties_map=True,
    along_the_way=False,
    checks_starts=False,
    precision=1e-8,
)

_FINITE = Allowed()
_NO_MAP = Map(name="no map")
_ROUNDING = 1e-9
"""Angle in rad by which a reset may exceed the steering limit."""


class Engine:
    """A truck under commands, with what it sees and feels.

    Args:
        model: upstream's `model.yaml` by its path, a mapping with the same keys, or None for the
            default truck.
        map: a file that `skidpad.geometry.maps` reads, a `Map`, or None for no obstacles.
        compat: None for the repaired engine, "upstream" to reproduce the program.
        integration_step: inner step in s.
        precision: difference from its goal within which speed (m/s) and steering (rad) stay; under
            compat="upstream" also the tolerance of its geometry, and 1e-8 by default. Otherwise 0.
        noise: of the sensors, by name: `{"lidar": 0.01, "gyro": Noise(mean=0.1, std=0.02)}`.
        seed: of the noise.

    The base point stands at the origin at first, at rest and with straight wheels. A rejected call
    raises `InvalidValue` and changes nothing.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        model: str | Path | Mapping[str, Any] | TruckModel | None = None,
        map: str | Path | Map | None = None,
        *,
        compat: str | None = None,
        integration_step: s = 1e-3,
        precision: float | None = None,
        noise: Mapping[str, Any] | SensorNoise | None = None,
        seed: int = 0,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self.compat = compat
        self._rules = UPSTREAM if compat else REPAIRED
        near = self._rules.precision if precision is None else precision
        self.precision = must_be("precision", near, positive if compat else non_negative)
        self.integration_step = must_be("integration_step", integration_step, positive, "s")
        self.model = truck_model(model)
        """What the model file says."""
        self.params: Params = self.model.params._replace(
            v_tolerance=self.precision, steer_tolerance=self.precision
        )
        """Parameters of the truck."""
        self._drive = Drive(self._rules.model, self.params, self.integration_step)
        self._noise = NoiseSource(sensor_noise(noise), seed)
        self._imu = self._rules.imu(self.model)
        self._status = Status.IN_PROGRESS
        self._use(_NO_MAP if map is None else self._loaded(map))
        self.reset()

    @property
    def map(self) -> Map:
        """The obstacles; without a map an empty one."""
        return self._map

    @property
    def status(self) -> Status:
        """Whether the truck can go on."""
        return self._status

    @property
    def time(self) -> s:
        """Simulated time in s."""
        return self._clock.time_ns / 1e9

    @property
    def rear(self) -> State:
        """Pose, steering and speed of the middle of the rear axle."""
        return self._drive.state

    @property
    def command(self) -> Any:
        """The command that acts, as it is kept: of the base point; upstream's, of the rear axle."""
        return self._command

    @property
    def curvature_limit(self) -> per_m:
        """Largest curvature of the base point's path, either side: what commands are cut to."""
        return curvature_limit(self.params)

    @property
    def middle_steering_limit(self) -> rad:
        """Largest angle of a wheel in the middle of the front axle, either side."""
        return self._rules.steer_limit(self.params)

    def reset(self) -> None:
        """Start again: clock at 0, no command, base point at the origin, at rest; the map stays."""
        self._clock = self._rules.clock(self.integration_step)
        self._noise.reading = 0
        self._keep(self._rules.nothing)
        self.reset_base()

    def reset_base(
        self, pose: Any = (0.0, 0.0, 0.0), middle_steering: rad = 0.0, linear_velocity: m_s = 0.0
    ) -> None:
        """Put the base point at a pose (x, y, yaw); clock, command and map stay as they are.

        `middle_steering` is the angle of a wheel in the middle of the front axle, positive to the
        left; `linear_velocity` the speed of the base point, negative in reverse.
        """
        at = _pose(pose)
        steer = must_be("middle_steering", middle_steering, _FINITE, "rad")
        velocity = must_be("linear_velocity", linear_velocity, _FINITE, "m/s")
        p, most = self.params, steer_limit(self.params)
        if self._rules.checks_starts and abs(steer) > most + _ROUNDING:
            raise InvalidValue(
                f"middle_steering = {steer} rad must be within {most:.6g} rad to either side: "
                "the wheels turn no further"
            )
        if self._rules.checks_starts and not (
            p.v_min - _ROUNDING <= velocity <= p.v_max + _ROUNDING
        ):
            raise InvalidValue(
                f"linear_velocity = {velocity} m/s must be from {p.v_min:g} to {p.v_max:g} m/s"
            )
        v_x = must_be(
            "speed of the rear axle", self._rules.rear_speed(velocity, steer, p), _FINITE, "m/s"
        )
        place = body_point(State(*at), -p.base_to_rear, 0.0)
        self._drive.put(State(place.x, place.y, at.yaw, steer, v_x))
        self._look()

    def reset_map(self, map: str | Path | Map) -> None:
        """Exchange the obstacles; pose, speed, clock and command stay as they are.

        A file that cannot be read leaves the map that was there; upstream's program is then left
        with none.
        """
        try:
            scene = self._loaded(map)
        except InvalidValue:
            if self._rules.empties_map:
                self._use(_NO_MAP)
            raise
        self._use(scene)
        self._look()

    def erase_map(self) -> None:
        """Take all obstacles away."""
        self._use(_NO_MAP)
        self._status = Status.IN_PROGRESS

    @overload
    def set_base_control(self, velocity: m_s, curvature: per_m, /) -> None: ...
    @overload
    def set_base_control(
        self, velocity: m_s, acceleration: m_s2 | None, curvature: per_m
    ) -> None: ...
    @overload
    def set_base_control(
        self, velocity: m_s, *, curvature: per_m, acceleration: m_s2 | None = None
    ) -> None: ...

    def set_base_control(self, velocity: m_s, *rest: Any, **named: Any) -> None:
        """Command the base point; the command acts until the next one, also after a reset.

        `set_base_control(velocity, acceleration, curvature)`, or without the acceleration, which is
        then what the limits allow. Speed and curvature are cut to the limits of the truck, and so
        is the acceleration, a magnitude: of speeding up or slowing down, whichever it takes.
        """
        acceleration, curvature = _unpacked(rest, named)
        v = must_be("velocity", velocity, _FINITE, "m/s")
        kappa = must_be("curvature", curvature, _FINITE, "1/m")
        if acceleration is not None:
            acceleration = must_be("acceleration", acceleration, non_negative, "m/s²")
        self._keep(self._rules.kept(v, acceleration, kappa, self.rear, self.params))

    def advance(self, seconds: s = 1.0) -> None:
        """Let time pass. After a collision nothing moves, the clock included, until a reset."""
        duration = must_be("seconds", seconds, positive, "s")
        if self._status is not Status.IN_PROGRESS:
            return
        steps = self._clock.steps_in(duration)
        made_steps = self._run(steps)
        self._clock.advanced(duration, steps, made_steps)

    def _run(self, steps: int) -> int:
        """Take inner steps until all are taken or the body meets an obstacle; how many it took."""
        start, count = self.rear, 0
        try:
            while count < steps:
                before = self.rear
                states = self._drive.run(min(BLOCK, steps - count))
                count += len(states)
                if self._rules.along_the_way or count == steps:
                    hit = self._first_contact(before, states)
                    if hit is not None:
                        self._drive.put(states[hit].tolist())
                        self._status = Status.COLLISION
                        return count - len(states) + hit + 1
        except Exception:
            self._drive.put(start)
            raise
        if not steps and not self._rules.along_the_way:
            self._look()
        return count

    def _first_contact(self, before: State, states: Any) -> int | None:
        if self._map.empty:
            return None
        return self._surroundings.first_contact(np.vstack([np.array([before]), states]))

    def state(self) -> EngineState:
        """The truck as it is, and what its sensors show; each call draws noise anew."""
        x, p, rules = self.rear, self.params, self._rules
        rear = Twist(curvature_of(x.steer, p.wheel_base), x.v_x)
        base = twist_at(rear, p.base_to_rear, 0.0)
        asked = self._asked
        act = actuation(x, asked, p, self.integration_step)
        accel, gyro, ranges = self._measured(x, rear, act)
        return EngineState(
            status=self._status,
            time=self.time,
            time_ns=self._clock.time_ns,
            odom_base_pose=Pose(*body_point(x, p.base_to_rear, 0.0), x.yaw),
            current_steering=self._steering(rear.curvature),
            target_steering=self._steering(asked.curvature),
            base_twist=base,
            odom_base_linear_velocity=rules.base_velocity(x, base, p),
            base_angular_velocity=rear.omega,
            wheel_velocity=wheel_spin(rear, p.wheel_base, p.track, p.wheel_radius),
            current_motor_rps=motor_rate(base.velocity, p.wheel_radius, p.gear_ratio),
            target_motor_rps=motor_rate(
                rules.target_speed(self._command, p), p.wheel_radius, p.gear_ratio
            ),
            lidar_ranges=ranges,
            gyro_angular_velocity=gyro,
            accel_linear_acceleration=accel,
        )

    def _measured(
        self, x: State, rear: Twist, act: Any
    ) -> tuple[SpecificForce, AngularVelocity, Any]:
        gyro, accel = self._imu(x, rear, act)
        noise = self._noise
        force = noise.added("accel", np.array(accel))
        rate = noise.added("gyro", np.array(gyro))
        seen = noise.added("lidar", self._surroundings.scan(x))
        ranges = self._surroundings.shown(seen)
        noise.reading += 1
        return SpecificForce(*force.tolist()), AngularVelocity(*rate.tolist()), ranges

    def _steering(self, curvature: per_m) -> Steering:
        p = self.params
        return Steering(
            steer_of(curvature, p.wheel_base), *front_wheels(curvature, p.wheel_base, p.track)
        )

    def _keep(self, command: Any) -> None:
        self._command = command
        self._asked = self._rules.rear(command, self.params)
        self._drive.hold(self._rules.held(self._asked, self.params))

    def _loaded(self, map: str | Path | Map) -> Map:
        if isinstance(map, Map):
            return map
        if not isinstance(map, (str, Path)):
            raise InvalidValue(f"map = {map!r} must be the path of a map file or a Map")
        return self._rules.load(map)

    def _use(self, map: Map) -> None:
        self._surroundings = self._rules.surroundings(map, self.model, self.precision)
        self._map = map

    def _look(self) -> None:
        """Find out whether the truck can go on from where it is."""
        hit = not self._map.empty and self._surroundings.touches(self.rear)
        self._status = Status.COLLISION if hit else Status.IN_PROGRESS


def _pose(pose: Any) -> Pose:
    try:
        numbers = tuple(pose)
    except TypeError:
        numbers = ()
    if len(numbers) != 3:
        raise InvalidValue(f"pose = {pose!r} must be three numbers: x in m, y in m, yaw in rad")
    units = zip(Pose._fields, numbers, ("m", "m", "rad"), strict=True)
    return Pose(*(must_be(f"pose.{name}", value, _FINITE, unit) for name, value, unit in units))


def _unpacked(rest: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    """Acceleration, or None, and curvature of a call of `set_base_control`."""
    order = ("curvature",) if len(rest) == 1 and "curvature" not in named else _BOTH
    demands = dict(zip(order, rest, strict=False)) | named
    twice = [name for name in named if name in order[: len(rest)]]
    if len(rest) > len(order) or twice or set(demands) - set(_BOTH) or "curvature" not in demands:
        raise TypeError(
            "set_base_control takes (velocity, curvature) or (velocity, acceleration, curvature)"
        )
    return demands.get("acceleration"), demands["curvature"]


_BOTH = ("acceleration", "curvature")
