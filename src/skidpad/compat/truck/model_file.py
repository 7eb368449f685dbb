"""Upstream's `model.yaml` and the sensors that it describes: lidar, IMU, noise, contacts and clock.

The keys are those of the package `model` of robotics-laboratory/truck; angles in the file are in
degrees. Upstream's checks are disabled in its release builds; here they always apply. The records
that an engine reports (`EngineState` and its parts) are here too.

The sensors work as upstream's documents specify them. States are those of the centre of the rear
axle. The forms of the upstream program are in `engine`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import must_be
from ...core.files import brief_repr, reading, yaml_of
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...geometry.collision import Checker, Footprint
from ...geometry.maps.map import Map
from ...geometry.raycast.fan import fan
from ...geometry.raycast.scene import Scene
from ...random.streams import key_of, normals
from ...sensors.motion import Motion, Mounting, pose_in_world
from ...sensors.navigation import Imu
from ...units import Allowed, m, m_s, m_s2, non_negative, per_s, rad, rad_s, s
from ...vehicles.parts.kinematics import Twist, WheelSpin, following
from ...vehicles.truck import Actuation, Params, State


class Section:
    """A mapping within a file; errors name the file and the dotted key."""

    def __init__(self, name: str, content: Any, path: str = "") -> None:
        self.name, self.path = name, path
        if not isinstance(content, Mapping):
            what = f"{path} = {content!r}" if path else f"what it holds ({type(content).__name__})"
            raise InvalidValue(f"{name}: {what} must be a mapping of keys to values")
        self._content: Mapping[Any, Any] = content

    def _key(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def only(self, *keys: str) -> None:
        """Raise InvalidValue if the section has any key not in `keys`."""
        for key in self._content:
            if key not in keys:
                where = f"{self.name}: {self.path}" if self.path else self.name
                raise InvalidValue(unknown_name(where, key, keys, "key"))

    def value(self, key: str) -> Any:
        if key not in self._content:
            raise InvalidValue(f"{self.name}: {self._key(key)} is missing")
        return self._content[key]

    def section(self, key: str, *keys: str) -> Section:
        """A nested mapping with these keys only."""
        return self._inner(self.value(key), self._key(key), keys)

    def sections(self, key: str, *keys: str) -> list[Section]:
        """A list of mappings with these keys only."""
        listed = self.value(key)
        self.must(isinstance(listed, list), key, repr(listed), "a list")
        return [self._inner(v, f"{self._key(key)}[{k}]", keys) for k, v in enumerate(listed)]

    def _inner(self, content: Any, path: str, keys: tuple[str, ...]) -> Section:
        inner = Section(self.name, content, path)
        inner.only(*keys)
        return inner

    def must(self, holds: bool, key: str, value: Any, allowed: str) -> None:
        """Raise InvalidValue, naming the value and what is allowed, unless `holds`."""
        if not holds:
            raise InvalidValue(f"{self.name}: {self._key(key)} = {value} must be {allowed}")

    def number(self, key: str) -> float:
        """A finite number."""
        value = self.value(key)
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        self.must(fits and math.isfinite(value), key, repr(value), "a finite number")
        return float(value)

    def positive(self, *keys: str) -> Iterator[float]:
        """Finite numbers above 0."""
        for key in keys:
            value = self.number(key)
            self.must(value > 0.0, key, value, "greater than 0")
            yield value

    def whole(self, key: str) -> int:
        """An integer."""
        value = self.value(key)
        fits = isinstance(value, int) and not isinstance(value, bool)
        self.must(fits, key, repr(value), "a whole number")
        return value

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self.value(key)
        self.must(isinstance(value, str) and bool(value), key, repr(value), "a name")
        return value


@dataclass(frozen=True)
class Transform:
    """Pose of a frame in its parent."""

    rotation: Array
    """Matrix (3, 3) that takes a vector from the axes of the frame to those of the parent."""
    translation: Array
    """Origin of the frame in the parent, (3,) in m."""

    @staticmethod
    def of(translation: Iterable[float], quaternion: Iterable[float] = (0, 0, 0, 1)) -> Transform:
        """Transform from an origin and a quaternion (x, y, z, w), which is normalised."""
        q = np.array(list(quaternion), dtype=float)
        x, y, z, w = q / np.linalg.norm(q)
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        return Transform(rotation, np.array(list(translation), dtype=float))

    def then(self, inner: Transform) -> Transform:
        """Compose: pose of a child frame of this one in the parent of this one."""
        return Transform(
            self.rotation @ inner.rotation, self.rotation @ inner.translation + self.translation
        )

    @property
    def inverse(self) -> Transform:
        """Inverse: pose of the parent in the frame."""
        return Transform(self.rotation.T, -self.rotation.T @ self.translation)


class Link(NamedTuple):
    """A fixed transform between two frames."""

    parent: str
    child: str
    pose: Transform
    """Pose of the child in the parent."""


@dataclass(frozen=True)
class Frames:
    """A tree of fixed frames; every frame but the root has one parent."""

    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for link in self.links:
            if link.child in seen:
                raise InvalidValue(f"frame {link.child!r} has two parents; allowed is one")
            seen.add(link.child)
        for link in self.links:
            self._to_root(link.child)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for link in self.links for name in link[:2]))

    def moved(self, child: str, pose: Transform) -> Frames:
        """Copy of the frames in which the frame `child`, if it exists, has another pose."""
        return Frames(
            tuple(link._replace(pose=pose) if link.child == child else link for link in self.links)
        )

    def pose(self, of: str, seen_from: str) -> Transform:
        """Pose of the frame `of` in the frame `seen_from`; raises InvalidValue if they are not
        connected."""
        for name in (of, seen_from):
            if name not in self.names:
                raise InvalidValue(unknown_name("tf_static", name, self.names, "frame"))
        (top, here), (other_top, there) = self._to_root(of), self._to_root(seen_from)
        if top != other_top:
            raise InvalidValue(
                f"tf_static does not connect the frames {of!r} (under {top!r}) and "
                f"{seen_from!r} (under {other_top!r})"
            )
        return there.inverse.then(here)

    def _to_root(self, name: str) -> tuple[str, Transform]:
        """Root frame above a frame, and the pose of the frame in it."""
        parents: dict[str, Any] = {link.child: link for link in self.links}
        pose = Transform.of((0.0, 0.0, 0.0))
        passed = {name}
        while name in parents:
            link = parents[name]
            pose, name = link.pose.then(pose), link.parent
            if name in passed:
                raise InvalidValue(f"frame {name!r} is its own ancestor; frames must form a tree")
            passed.add(name)
        return name, pose


MOST_RAYS = 100_000
_ROUNDING = 1e-9
"""Deviation of the field of view from an integer number of increments that counts as
rounding."""


@dataclass(frozen=True)
class LidarModel:
    """Directions and ranges of the rays of the lidar."""

    angle_min: rad
    """Angle of the first ray from the lidar's x axis, counter-clockwise."""
    angle_max: rad
    angle_increment: rad
    range_min: m
    range_max: m

    @property
    def spans(self) -> float:
        """Number of increments in the field of view."""
        return (self.angle_max - self.angle_min) / self.angle_increment


@dataclass(frozen=True)
class TruckModel:
    """The content of a model file."""

    params: Params
    """Dimensions and limits."""
    lidar: LidarModel
    frames: Frames
    servo_home_angles: tuple[rad, rad]
    """Angles of the left and the right servo at which the wheels are straight; not used."""

    __repr__ = brief_repr

    @cached_property
    def placed_frames(self) -> Frames:
        """Frames with `rear_axle` behind the base, by the dimensions of the truck.

        Upstream's file has `rear_axle` ahead of the base.
        """
        return self.frames.moved("rear_axle", Transform.of((-self.params.base_to_rear, 0.0, 0.0)))


def truck_model(source: str | Path | Mapping[str, Any] | TruckModel | None = None) -> TruckModel:
    """Read the truck model in a YAML file or a mapping with the same keys; None for the default
    truck."""
    if source is None:
        return _read(Section("the default model", DEFAULT))
    if isinstance(source, TruckModel):
        return source
    if isinstance(source, Mapping):
        return _read(Section("model", source))
    if not isinstance(source, (str, Path)):
        raise InvalidValue(
            f"model = {source!r} must be the path of a YAML file, a mapping with the same keys, "
            "or None"
        )
    with reading(source, "is not a model of the truck"):
        return _read(Section(str(source), yaml_of(source)))


def _read(file: Section) -> TruckModel:
    file.only(
        *("shape", "wheel_base", "wheel", "lidar", "limits", "gear_ratio"),
        *("servo_home_angles", "tf_static"),
    )
    servo = file.section("servo_home_angles", "left", "right")
    return TruckModel(
        _params(file),
        _lidar(file.section("lidar", *LidarModel.__dataclass_fields__)),
        _frames(file),
        (math.radians(servo.number("left")), math.radians(servo.number("right"))),
    )


def _params(file: Section) -> Params:
    shape = file.section("shape", "length", "width", "base_to_rear", "circles_count")
    base = file.section("wheel_base", "length", "width", "base_to_rear")
    wheel = file.section("wheel", "radius", "width")
    sizes = ("length", "width", "base_to_rear")
    names = (
        *("length", "width", "base_to_tail", "wheel_base", "track", "base_to_rear"),
        *("wheel_radius", "wheel_width", "gear_ratio"),
    )
    rest = wheel.positive("radius", "width"), file.positive("gear_ratio")
    numbers = chain(shape.positive(*sizes), base.positive(*sizes), *rest)
    p = Params(**dict(zip(names, numbers, strict=True)), **_limits(file))
    lengths = (shape, p.length, p.base_to_tail), (base, p.wheel_base, p.base_to_rear)
    for section, length, rear in lengths:
        section.must(length > rear, "base_to_rear", rear, f"below the length of {length} m")
    circles = shape.whole("circles_count")
    covered = circles >= 1 and circles * p.width >= p.length
    shape.must(covered, "circles_count", circles, "enough to cover the length with circles")
    return p


def _limits(file: Section) -> dict[str, float]:
    limits = file.section(
        *("limits", "steering", "max_abs_curvature", "steering_velocity", "velocity"),
        *("max_acceleration", "max_deceleration"),
    )
    steering = limits.section("steering", "inner", "outer")
    wheels: dict[str, float] = {}
    for name in ("inner", "outer"):
        angle = steering.number(name)
        steering.must(0.0 <= angle < 90.0, name, angle, "from 0 to below 90 degrees")
        wheels[f"{name}_max"] = math.radians(angle)
    velocity = limits.section("velocity", "min", "max")
    v_min, v_max = velocity.number("min"), velocity.number("max")
    velocity.must(v_min <= 0.0, "min", v_min, "at most 0")
    velocity.must(v_max > 0.0, "max", v_max, "greater than 0")
    keys = ("max_abs_curvature", "steering_velocity", "max_acceleration", "max_deceleration")
    names = ("curvature_max", "steer_rate_max", "a_max", "d_max")
    rest = dict(zip(names, limits.positive(*keys), strict=True))
    return {**wheels, "v_min": v_min, "v_max": v_max, **rest}


def _lidar(section: Section) -> LidarModel:
    low, high = section.number("angle_min"), section.number("angle_max")
    (step,) = section.positive("angle_increment")
    section.must(low >= 0.0, "angle_min", low, "at least 0 degrees")
    section.must(low < high <= low + 360.0, "angle_max", high, "above angle_min by 360 at most")
    rays = (high - low) / step
    fine = 1.0 - _ROUNDING <= rays <= MOST_RAYS
    section.must(fine, "angle_increment", step, f"such that there are 1 to {MOST_RAYS} rays")
    nearest, farthest = section.number("range_min"), section.number("range_max")
    section.must(nearest >= 0.0, "range_min", nearest, "at least 0")
    section.must(farthest > nearest, "range_max", farthest, f"above range_min = {nearest}")
    first, last, between = (math.radians(angle) for angle in (low, high, step))
    return LidarModel(first, last, between, nearest, farthest)


def _frames(file: Section) -> Frames:
    links: list[Link] = []
    keys = ("frame_id", "child_frame_id", "translation", "rotation")
    for entry in file.sections("tf_static", *keys):
        at, turned = entry.section("translation", *"xyz"), entry.section("rotation", *"xyzw")
        quaternion = [turned.number(axis) for axis in "xyzw"]
        size = math.hypot(*quaternion)
        entry.must(abs(size - 1.0) < 1e-3, "rotation", quaternion, "a quaternion of length 1")
        pose = Transform.of([at.number(axis) for axis in "xyz"], quaternion)
        links.append(Link(entry.text("frame_id"), entry.text("child_frame_id"), pose))
    try:
        return Frames(tuple(links))
    except InvalidValue as error:
        raise InvalidValue(f"{file.name}: tf_static: {error}") from None


def _link(parent: str, child: str, at: tuple[float, ...], turned: tuple[float, ...]) -> Any:
    pose = {"translation": dict(zip("xyz", at, strict=True))}
    pose["rotation"] = dict(zip("xyzw", turned, strict=True))
    return {"frame_id": parent, "child_frame_id": child, **pose}


_STRAIGHT = (0.0, 0.0, 0.0, 1.0)
_OPTICAL = (-0.5, 0.5, -0.5, 0.5)
DEFAULT: Mapping[str, Any] = {
    "shape": {"length": 0.505, "width": 0.313, "base_to_rear": 0.2525, "circles_count": 5},
    "wheel_base": {"length": 0.405, "width": 0.213, "base_to_rear": 0.2025},
    "wheel": {"radius": 0.0525, "width": 0.058},
    "lidar": {
        "angle_min": 0.0,
        "angle_max": 360.0,
        "angle_increment": 0.1125,
        "range_min": 0.0,
        "range_max": 25.0,
    },
    "limits": {
        "steering": {"inner": 40.0, "outer": 40.0},
        "max_abs_curvature": 2.0,
        "steering_velocity": 2.0,
        "velocity": {"min": -0.5, "max": 0.8},
        "max_acceleration": 1.0,
        "max_deceleration": 2.0,
    },
    "gear_ratio": 0.08421,
    "servo_home_angles": {"left": 89, "right": 96},
    "tf_static": [
        _link("base", "lidar_link", (0.0, 0.0, 0.0), _STRAIGHT),
        _link("base", "rear_axle", (0.2025, 0.0, 0.0), _STRAIGHT),
        _link("base", "camera_link", (0.25, 0.05, -0.04), _STRAIGHT),
        _link("camera_link", "camera_gyro_frame", (-0.01602, -0.03022, 0.0074), _STRAIGHT),
        _link("camera_gyro_frame", "camera_gyro_optical_frame", (0.0, 0.0, 0.0), _OPTICAL),
        _link("camera_gyro_optical_frame", "camera_imu_optical_frame", (0.0, 0.0, 0.0), _STRAIGHT),
    ],
}
"""Upstream's default truck, with the keys and units of its file."""


class Status(IntEnum):
    """Whether the truck can move, with upstream's numbers."""

    IN_PROGRESS = 0
    OK = 1
    """Never reported, neither here nor upstream."""
    COLLISION = 2
    """The body touched an obstacle; only a reset ends it."""


class Pose(NamedTuple):
    """Position and heading in the world frame."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""


class Steering(NamedTuple):
    """Steering angles from straight ahead, positive to the left."""

    middle: rad
    """Angle of a virtual wheel at the centre of the front axle."""
    left: rad
    right: rad


class Velocity(NamedTuple):
    """Velocity in the world frame."""

    x: m_s
    y: m_s


class AngularVelocity(NamedTuple):
    """Angular velocity in the axes of the IMU."""

    x: rad_s
    y: rad_s
    z: rad_s


class SpecificForce(NamedTuple):
    """Accelerometer reading in the axes of the IMU; at rest it points up."""

    x: m_s2
    y: m_s2
    z: m_s2


class EngineState(NamedTuple):
    """State of the truck at one time; its base point is upstream's model centre."""

    status: Status
    time: s
    """Simulated time since the engine was created."""
    time_ns: int
    """Simulated time as an integer number of nanoseconds."""
    odom_base_pose: Pose
    """Pose of the base point."""
    current_steering: Steering
    target_steering: Steering
    """Steering that the last command moves towards."""
    base_twist: Twist
    """Curvature of the base point's path and speed along it, negative in reverse."""
    odom_base_linear_velocity: Velocity
    """Velocity of the base point in the world frame.

    It is along the path of that point, which deviates from the heading in a turn; under
    compat="upstream" it is along the heading.
    """
    base_angular_velocity: rad_s
    """Yaw rate, positive to the left."""
    wheel_velocity: WheelSpin
    """Spin of the wheels about their axles, positive when they roll forward."""
    current_motor_rps: per_s
    """Revolutions of the motor per second, from the speed of the base point."""
    target_motor_rps: per_s
    """Revolutions of the motor per second at the commanded speed."""
    lidar_ranges: NDArray[Any]
    """Distance to the nearest obstacle along each ray in m, counter-clockwise from the first; inf
    without an obstacle in range, -inf for one nearer than the least range. Under compat="upstream"
    float32 without range limits; 3.4028e38 without an obstacle."""
    gyro_angular_velocity: AngularVelocity
    """Reading of the gyroscope, with its noise."""
    accel_linear_acceleration: SpecificForce
    """Reading of the accelerometer, with its noise."""

    __repr__ = brief_repr


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
    """Source of the noise of successive sensor readings; the same seed gives the same noise.

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
        # At a pitch of ±90° roll and yaw turn about the same axis; the whole rotation is taken as
        # yaw.
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
        """Whether a body passing through these positions (n, 2) certainly touches no obstacle."""
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
    """Clock that carries the remainder of a step over to the next advance, losing no time."""

    def __init__(self, step: s) -> None:
        self._step = step
        self._steps, self._left = 0, 0.0

    @property
    def time_ns(self) -> int:
        """Time in ns: the time of the state plus the remainder of a step."""
        return round((self._steps * self._step + self._left) * 1e9)

    def steps_in(self, seconds: s) -> int:
        """Complete steps in the remainder and this advance."""
        return math.floor((self._left + seconds) / self._step + _SLACK)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """Clock after an advance that took `done` of `steps` steps; after a collision, only up to
        the end of the colliding step.
        """
        self._steps += done
        self._left = self._left + seconds - steps * self._step if done == steps else 0.0
