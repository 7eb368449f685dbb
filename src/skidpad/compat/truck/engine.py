"""`Engine`: a small truck, its lidar, its IMU and a map behind one interface.

The interface is that of the package `simulator_2d` of robotics-laboratory/truck, in Python's words.
By default the truck does what the documents promise; compat="upstream" does what the program does.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from ...run.settings import Settings
from ...run.simulator import CompiledStepper
from ...units import Allowed, m_s, m_s2, non_negative, per_m, positive, rad, s
from ...vehicles.parts.kinematics import (
    Twist,
    curvature_of,
    front_wheels,
    motor_rate,
    steer_of,
    twist_at,
    wheel_spin,
)
from ...vehicles.truck import (
    Params,
    State,
    actuation,
    body_point,
    curvature_limit,
    steer_limit,
)
from . import quirks
from .model_file import (
    AngularVelocity,
    EngineState,
    Pose,
    SpecificForce,
    Status,
    Steering,
    TruckModel,
    truck_model,
)
from .sensors import NoiseSource, SensorNoise, sensor_noise

BLOCK = 1000
"""Steps computed at a time; their states are stored to find contacts between."""


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
        """Continue from this state, a record or a row of numbers."""
        self._stepper.reset(tuple(state), 0.0)

    def hold(self, command: tuple[float, ...]) -> None:
        """Apply an input of the model from now on."""
        self._commands[:] = command

    def run(self, steps: int) -> AnyArray:
        """Take up to `BLOCK` steps; returns the states after each, (steps, nx)."""
        states, error = self._stepper.drive(self._commands[:steps])
        if error is not None:
            raise error
        return states


_FINITE = Allowed()
_BOTH = ("acceleration", "curvature")
_NO_MAP = Map(name="no map")
_ROUNDING = 1e-9
"""Angle in rad by which a reset may exceed the steering limit."""


class Engine:
    """A truck under commands, with its lidar and IMU.

    Args:
        model: upstream's `model.yaml` by its path, a mapping with the same keys, or None for the
            default truck.
        map: a file that `skidpad.geometry.maps` reads, a `Map`, or None for no obstacles.
        compat: None for the repaired engine, "upstream" to reproduce the program.
        integration_step: inner step in s.
        precision: tolerance within which speed (m/s) and steering (rad) count as reached, by
            default 0; under compat="upstream" also the tolerance of the geometry, by default 1e-8.
        noise: noise of the sensors by name: `{"lidar": 0.01, "gyro": Noise(mean=0.1, std=0.02)}`.
        seed: seed of the noise.

    At first the base point is at the origin, at rest and with straight wheels. A rejected call
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
        near = quirks.PRECISION.choose(compat) if precision is None else precision
        self.precision = must_be("precision", near, positive if compat else non_negative)
        self.integration_step = must_be("integration_step", integration_step, positive, "s")
        self.model = truck_model(model)
        """The content of the model file."""
        self.params: Params = self.model.params._replace(
            v_tolerance=self.precision, steer_tolerance=self.precision
        )
        """Parameters of the truck."""
        self._drive = Drive(quirks.MODEL.choose(compat), self.params, self.integration_step)
        self._noise = NoiseSource(sensor_noise(noise), seed)
        self._imu = quirks.IMU_READING.choose(compat)(self.model)
        self._status = Status.IN_PROGRESS
        self._use(_NO_MAP if map is None else self._loaded(map))
        self.reset()

    @property
    def map(self) -> Map:
        """The obstacles; an empty map if there are none."""
        return self._map

    @property
    def status(self) -> Status:
        """Whether the truck can move or has collided."""
        return self._status

    @property
    def time(self) -> s:
        """Simulated time in s."""
        return self._clock.time_ns / 1e9

    @property
    def rear(self) -> State:
        """State of the middle of the rear axle: pose, steering, speed."""
        return self._drive.state

    @property
    def command(self) -> Any:
        """The active command as it is stored: of the base point, or of the rear axle under
        compat="upstream"."""
        return self._command

    @property
    def curvature_limit(self) -> per_m:
        """Largest curvature of the base point's path to either side; commands are cut to it."""
        return curvature_limit(self.params)

    @property
    def middle_steering_limit(self) -> rad:
        """Largest angle of a wheel in the middle of the front axle, to either side."""
        return quirks.STEER_LIMIT.choose(self.compat)(self.params)

    def reset(self) -> None:
        """Start again: clock at 0, no command, base point at the origin, at rest; the map stays."""
        self._clock = quirks.CLOCK.choose(self.compat)(self.integration_step)
        self._noise.reading = 0
        self._store(quirks.NO_COMMAND.choose(self.compat))
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
        if quirks.CHECKS_STARTS.choose(self.compat):
            if abs(steer) > most + _ROUNDING:
                raise InvalidValue(
                    f"middle_steering = {steer} rad must be within {most:.6g} rad to either side: "
                    "the wheels turn no further"
                )
            if not p.v_min - _ROUNDING <= velocity <= p.v_max + _ROUNDING:
                raise InvalidValue(
                    f"linear_velocity = {velocity} m/s must be from {p.v_min:g} to {p.v_max:g} m/s"
                )
        v_x = quirks.REAR_SPEED.choose(self.compat)(velocity, steer, p)
        must_be("speed of the rear axle", v_x, _FINITE, "m/s")
        place = body_point(State(*at), -p.base_to_rear, 0.0)
        self._drive.put(State(place.x, place.y, at.yaw, steer, v_x))
        self._look()

    def reset_map(self, map: str | Path | Map) -> None:
        """Exchange the obstacles; pose, speed, clock and command stay as they are.

        If a file cannot be read, the present map stays; under compat="upstream" it is removed.
        """
        try:
            scene = self._loaded(map)
        except InvalidValue:
            if quirks.DROPS_MAP.choose(self.compat):
                self._use(_NO_MAP)
            raise
        self._use(scene)
        self._look()

    def erase_map(self) -> None:
        """Remove all obstacles."""
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
        """Command the base point until the next command, also across a reset of its pose.

        `set_base_control(velocity, acceleration, curvature)`; without an acceleration, the limits
        of the truck apply. Speed, curvature and acceleration are cut to the limits; the
        acceleration is a magnitude, of speeding up or slowing down as the velocity requires.
        """
        order = ("curvature",) if len(rest) == 1 and "curvature" not in named else _BOTH
        demands = dict(zip(order, rest, strict=False)) | named
        twice = set(named) & set(order[: len(rest)])
        unknown = set(demands) - set(_BOTH)
        if len(rest) > len(order) or twice or unknown or "curvature" not in demands:
            raise TypeError(
                "set_base_control takes (velocity, curvature) or (velocity, acceleration, "
                "curvature)"
            )
        acceleration = demands.get("acceleration")
        v = must_be("velocity", velocity, _FINITE, "m/s")
        kappa = must_be("curvature", demands["curvature"], _FINITE, "1/m")
        if acceleration is not None:
            acceleration = must_be("acceleration", acceleration, non_negative, "m/s²")
        store = quirks.STORE.choose(self.compat)
        self._store(store(v, acceleration, kappa, self.rear, self.params))

    def advance(self, seconds: s = 1.0) -> None:
        """Simulate some time, in s; after a collision nothing changes, not even the clock, until a
        reset."""
        duration = must_be("seconds", seconds, positive, "s")
        if self._status is not Status.IN_PROGRESS:
            return
        steps = self._clock.steps_in(duration)
        self._clock.advanced(duration, steps, self._run(steps))

    def _run(self, steps: int) -> int:
        """Take inner steps until the body meets an obstacle; returns how many it took."""
        start, count = self.rear, 0
        every_step = quirks.CHECKS_EVERY_STEP.choose(self.compat)
        try:
            while count < steps:
                before = self.rear
                states = self._drive.run(min(BLOCK, steps - count))
                count += len(states)
                if (every_step or count == steps) and not self._map.empty:
                    path = np.vstack([np.array([before]), states])
                    hit = self._surroundings.first_contact(path)
                    if hit is not None:
                        self._drive.put(states[hit].tolist())
                        self._status = Status.COLLISION
                        return count - len(states) + hit + 1
        except Exception:
            self._drive.put(start)
            raise
        if not steps and not every_step:
            self._look()
        return count

    def state(self) -> EngineState:
        """The present state and the readings of the sensors; each call draws new noise."""
        x, p, noise = self.rear, self.params, self._noise
        rear = Twist(curvature_of(x.steer, p.wheel_base), x.v_x)
        base = twist_at(rear, p.base_to_rear, 0.0)
        target_speed = quirks.TARGET_SPEED.choose(self.compat)(self._command, p)
        act = actuation(x, self._rear_command, p, self.integration_step)
        gyro, accel = self._imu(x, rear, act)
        force = noise.added("accel", np.array(accel))
        rate = noise.added("gyro", np.array(gyro))
        ranges = noise.added("lidar", self._surroundings.scan(x))
        noise.reading += 1
        return EngineState(
            status=self._status,
            time=self.time,
            time_ns=self._clock.time_ns,
            odom_base_pose=Pose(*body_point(x, p.base_to_rear, 0.0), x.yaw),
            current_steering=self._steering(rear.curvature),
            target_steering=self._steering(self._rear_command.curvature),
            base_twist=base,
            odom_base_linear_velocity=quirks.BASE_VELOCITY.choose(self.compat)(x, base, p),
            base_angular_velocity=rear.omega,
            wheel_velocity=wheel_spin(rear, p.wheel_base, p.track, p.wheel_radius),
            current_motor_rps=motor_rate(base.velocity, p.wheel_radius, p.gear_ratio),
            target_motor_rps=motor_rate(target_speed, p.wheel_radius, p.gear_ratio),
            lidar_ranges=self._surroundings.shown(ranges),
            gyro_angular_velocity=AngularVelocity(*rate.tolist()),
            accel_linear_acceleration=SpecificForce(*force.tolist()),
        )

    def _steering(self, curvature: per_m) -> Steering:
        p = self.params
        return Steering(
            steer_of(curvature, p.wheel_base), *front_wheels(curvature, p.wheel_base, p.track)
        )

    def _store(self, command: Any) -> None:
        self._command = command
        self._rear_command = quirks.REAR.choose(self.compat)(command, self.params)
        self._drive.hold(quirks.MODEL_INPUT.choose(self.compat)(self._rear_command, self.params))

    def _loaded(self, map: str | Path | Map) -> Map:
        if isinstance(map, Map):
            return map
        if not isinstance(map, (str, Path)):
            raise InvalidValue(f"map = {map!r} must be the path of a map file or a Map")
        return quirks.LOAD.choose(self.compat)(map)

    def _use(self, map: Map) -> None:
        surroundings = quirks.SURROUNDINGS.choose(self.compat)
        self._surroundings = surroundings(map, self.model, self.precision)
        self._map = map

    def _look(self) -> None:
        """Check for a contact at the present state."""
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
