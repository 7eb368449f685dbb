"""Upstream's `model.yaml`: the truck, its lidar and its fixed frames, read and checked.

The keys are those of the package `model` of robotics-laboratory/truck; angles in the file are in
degrees. Upstream's checks are disabled in its release builds; here they always apply. The records
that an engine reports (`EngineState` and its parts) are here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, reading, yaml_of
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, per_s, rad, rad_s, s
from ...vehicles.parts.kinematics import Twist, WheelSpin
from ...vehicles.truck import Params


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
        """Raise InvalidValue if there is any other key."""
        for key in self._content:
            if key not in keys:
                where = f"{self.name}: {self.path}" if self.path else self.name
                raise InvalidValue(unknown_name(where, key, keys, "key"))

    def value(self, key: str) -> Any:
        """Value of a key; raises InvalidValue if it is missing."""
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
        """The same frames with another pose of one of them, if it exists."""
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

        Upstream's file has it ahead of the base.
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
    """State of the truck at one time; the base point is what upstream calls the model centre."""

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
