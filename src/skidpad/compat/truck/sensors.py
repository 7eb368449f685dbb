"""Lidar, IMU, noise, contacts and clock of the truck, as the documents specify them.

States are those of the centre of the rear axle. The forms of the upstream program are in `engine`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import must_be
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...geometry.collision.checker import Checker, Footprint
from ...geometry.maps.map import Map
from ...geometry.raycast.fan import fan
from ...geometry.raycast.scene import Scene
from ...random.streams import key_of, normals
from ...sensors.imu import Imu
from ...sensors.motion import Motion, Mounting, pose_in_world
from ...units import Allowed, m, non_negative, s
from ...vehicles.parts.kinematics import Twist, following
from ...vehicles.truck import Actuation, Params, State
from .model_file import AngularVelocity, SpecificForce, TruckModel


class Noise(NamedTuple):
    """Normal noise of one sensor, independent in each axis or ray, in the unit of the sensor."""

    mean: float = 0.0
    std: float = 0.0
    """Standard deviation; upstream calls it variance but uses it as a standard deviation."""


class SensorNoise(NamedTuple):
    accel: Noise = Noise()
    """Noise of the accelerometer, in m/s²."""
    gyro: Noise = Noise()
    """Noise of the gyroscope, in rad/s."""
    lidar: Noise = Noise()
    """Noise of the ranges, in m."""


def sensor_noise(noises: Any) -> SensorNoise:
    """Noise from a mapping of sensors to standard deviations or `Noise`; zero for None."""
    if noises is None:
        return SensorNoise()
    if isinstance(noises, SensorNoise):
        noises = noises._asdict()
    if not isinstance(noises, Mapping):
        raise InvalidValue(
            f"noise = {noises!r} must be a mapping such as {{'lidar': 0.01, 'gyro': Noise(0, 0.1)}}"
        )
    for name in noises:
        if name not in SensorNoise._fields:
            raise InvalidValue(unknown_name("noise", name, SensorNoise._fields, "sensor"))
    return SensorNoise(**{name: _noise(name, value) for name, value in noises.items()})


def _noise(name: str, noise: Any) -> Noise:
    if isinstance(noise, Mapping):
        for key in noise:
            if key not in Noise._fields:
                raise InvalidValue(unknown_name(f"noise[{name!r}]", key, Noise._fields, "key"))
        noise = Noise(**noise)
    mean, std = noise if isinstance(noise, tuple) and len(noise) == 2 else (0.0, noise)
    return Noise(
        must_be(f"noise {name} mean", mean, Allowed()),
        must_be(f"noise {name} std", std, non_negative),
    )


class NoiseSource:
    """Draws the noise of successive readings, the same for the same seed.

    The noise of one sensor does not depend on the others.
    """

    def __init__(self, noise: SensorNoise, seed: int) -> None:
        key_of(seed, "")
        self._noise, self._seed = noise, seed
        self.reading = 0
        """Number of the next reading."""

    def added(self, sensor: str, values: NDArray[Any]) -> NDArray[Any]:
        """Values of a sensor (n,) plus the noise of this reading, in their own precision."""
        noise: Noise = getattr(self._noise, sensor)
        if noise.std == 0.0:
            return values if noise.mean == 0.0 else values + values.dtype.type(noise.mean)
        drawn = normals(self._seed, f"engine.{sensor}", self.reading, width=values.size)
        return (values + (noise.mean + noise.std * drawn.ravel())).astype(values.dtype)


LIDAR = "lidar_link"
IMU = "camera_imu_optical_frame"
BASE = "base"
_LEVEL = 1e-6
"""Sine of the largest tilt at which a lidar counts as level."""


def mounting_of(model: TruckModel, frame: str) -> Mounting:
    """Pose of a frame on the truck, relative to the centre of the rear axle."""
    pose = model.placed_frames.pose(frame, seen_from=BASE)
    x, y, z = pose.translation.tolist()
    r = pose.rotation
    pitch = -math.asin(max(-1.0, min(1.0, float(r[2, 0]))))
    roll, yaw = math.atan2(r[2, 1], r[2, 2]), math.atan2(r[1, 0], r[0, 0])
    if math.hypot(r[0, 0], r[1, 0]) < 1e-12:
        # Straight up or down, where roll and yaw turn about one axis: all of it is yaw.
        roll, yaw = 0.0, math.atan2(-r[0, 1], r[1, 1])
    return Mounting(model.params.base_to_rear + x, y, z, roll, pitch, yaw)


Reading = Callable[[State, Twist, Actuation], tuple[AngularVelocity, SpecificForce]]
"""Function for the IMU reading at a state, from the twist and the actuation of the rear
axle."""


def imu(model: TruckModel) -> Reading:
    """IMU reading by rigid-body motion, in the frame of the model file."""
    unit = Imu(mounting=mounting_of(model, IMU))
    wheel_base = model.params.wheel_base

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        a_x = act.v_x.rate
        turning = following(x.v_x, a_x, x.steer, act.steer.rate, wheel_base).omega_rate
        # The rear axle does not move sideways, so all of its lateral acceleration is centripetal.
        motion = Motion(
            v_x=x.v_x, omega=rear.omega, a_x=a_x, a_y=x.v_x * rear.omega, omega_rate=turning
        )
        shown = unit.measure(motion)
        return (
            AngularVelocity(shown.omega_x, shown.omega_y, shown.omega_z),
            SpecificForce(shown.f_x, shown.f_y, shown.f_z),
        )

    return reading


class ExactSurroundings:
    """Exact ray casting, and contacts of the whole body, also between two states."""

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        self._scene = Scene.of(map)
        self._mounting = mounting_of(model, LIDAR)
        up = model.placed_frames.pose(LIDAR, seen_from=BASE).rotation[:, 2]
        if np.hypot(up[0], up[1]) > _LEVEL or up[2] < 0.0:
            raise InvalidValue(
                f"tf_static: the z axis of {LIDAR!r} points along {np.round(up, 6).tolist()} of "
                "the base; the lidar must be level, upright"
            )
        lidar = self._lidar = model.lidar
        self._rays = fan(lidar.angle_min + lidar.angle_increment * np.arange(round(lidar.spans)))
        self._checker = Checker(map)
        self._footprint = footprint(model.params)
        self._room = Room(map, self._footprint.radius)

    def scan(self, x: State) -> NDArray[Any]:
        """True ranges in m; inf for rays without an obstacle within the largest range."""
        pose = pose_in_world(self._mounting, x.x, x.y, x.yaw)
        farthest = self._lidar.range_max
        return self._scene.scan([pose], self._rays, max_range=farthest, threads=1)[0]

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """Ranges with inf above the largest and -inf below the least range, as in REP 117 of
        ROS."""
        ranges[ranges > self._lidar.range_max] = np.inf
        ranges[ranges < self._lidar.range_min] = -np.inf
        return ranges

    def touches(self, x: State) -> bool:
        """Whether the body touches an obstacle, is within one or stands over one."""
        return bool(self._checker.hits(self._footprint, np.array([x[:3]]))[0])

    def first_contact(self, path: Array) -> int | None:
        """Index of the first step along states (n + 1, 5) in which the moving body touches an
        obstacle; None without a contact."""
        if self._room.has(path[:, :2]):
            return None
        met = self._checker.first_contact_along(self._footprint, path[:, :3])
        return None if met is None else max(math.ceil(met) - 1, 0)


class Room:
    """A cheap test that no obstacle is near a moving body.

    The distance to the nearest obstacle changes by no more than the body moves, so one lookup stays
    valid for a while: it shows that there is room, or that a new lookup would not help.
    """

    def __init__(self, map: Map, radius: m) -> None:
        self._map, self._radius = map, radius
        self._x = self._y = self._distance = math.inf
        """Position and result of the last lookup; infinite before the first."""

    def has(self, places: Array) -> bool:
        """Whether no obstacle can touch a body that passes through these positions (n, 2)."""
        x, y = places[:, 0], places[:, 1]
        if math.isfinite(self._x):
            if np.hypot(x - self._x, y - self._y).max() + self._radius < self._distance:
                return True
            most = self._distance + math.hypot(x[0] - self._x, y[0] - self._y)
        else:
            most = math.inf
        needed = float(np.hypot(x - x[0], y - y[0]).max()) + self._radius
        if needed >= most:
            return False
        self._x, self._y = float(x[0]), float(y[0])
        self._distance = float(self._map.distance(places[:1])[0])
        return needed < self._distance


def footprint(p: Params) -> Footprint:
    """Outline of the body, relative to the centre of the rear axle."""
    return Footprint.rectangle(length=p.length, width=p.width, rear=p.base_to_tail - p.base_to_rear)


_SLACK = 1e-9
"""Share of a step by which an integer number of steps may be missed because of rounding."""


class CarryingClock:
    """Carries the remainder of a step over to the next advance, so that no time is lost."""

    def __init__(self, step: s) -> None:
        self._step = step
        self._steps, self._left = 0, 0.0

    @property
    def time_ns(self) -> int:
        """Time in ns: that of the state plus the remainder of a step."""
        return round((self._steps * self._step + self._left) * 1e9)

    def steps_in(self, seconds: s) -> int:
        """Complete steps in the remainder and this advance."""
        return math.floor((self._left + seconds) / self._step + _SLACK)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """Add the time of an advance that took `done` of `steps` steps; after a collision, only up
        to the end of its step."""
        self._steps += done
        self._left = self._left + seconds - steps * self._step if done == steps else 0.0
