"""Upstream's `model.yaml`: the truck, its lidar and its fixed frames, read and checked.

The keys are those of the `model` package of robotics-laboratory/truck. Angles in the file are in
degrees. Upstream's own checks are left out of its release builds; here they always hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...brief import brief_repr
from ...errors import InvalidValue
from ...files import reading, yaml_of
from ...units import m, rad
from ...vehicles.ackermann_truck import Params
from .frames import Frames, Link, Transform
from .sections import Section

MOST_RAYS = 100_000
"""Rays of one scan."""
_ROUNDING = 1e-9
"""Part of a ray by which the field of view may miss a whole number of increments."""


@dataclass(frozen=True)
class LidarModel:
    """Where the rays of the lidar point, and how far they reach."""

    angle_min: rad
    """Of the first ray from the lidar's x axis, counter-clockwise."""
    angle_max: rad
    angle_increment: rad
    range_min: m
    range_max: m

    @property
    def spans(self) -> float:
        """Increments in the field of view."""
        return (self.angle_max - self.angle_min) / self.angle_increment


@dataclass(frozen=True)
class TruckModel:
    """All that a model file says."""

    params: Params
    """Sizes and limits."""
    lidar: LidarModel
    frames: Frames
    servo_home_angles: tuple[rad, rad]
    """Angles of the left and the right servo at which the wheels are straight; not used."""

    __repr__ = brief_repr

    @cached_property
    def placed_frames(self) -> Frames:
        """The frames with `rear_axle` where the sizes put it: behind the base.

        Upstream's file has it ahead of the base.
        """
        return self.frames.moved("rear_axle", Transform.of((-self.params.base_to_rear, 0.0, 0.0)))


def truck_model(source: str | Path | Mapping[str, Any] | TruckModel | None = None) -> TruckModel:
    """The model in a YAML file or a mapping with the same keys; the default truck if None."""
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
    p = Params(
        length=shape.positive("length"),
        width=shape.positive("width"),
        base_to_tail=shape.positive("base_to_rear"),
        wheel_base=base.positive("length"),
        track=base.positive("width"),
        base_to_rear=base.positive("base_to_rear"),
        wheel_radius=wheel.positive("radius"),
        wheel_width=wheel.positive("width"),
        gear_ratio=file.positive("gear_ratio"),
        **_limits(file),
    )
    for section, length, rear in (
        (shape, p.length, p.base_to_tail),
        (base, p.wheel_base, p.base_to_rear),
    ):
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
    wheels = {name: steering.number(name) for name in ("inner", "outer")}
    for name, angle in wheels.items():
        steering.must(0.0 <= angle < 90.0, name, angle, "from 0 to below 90 degrees")
    velocity = limits.section("velocity", "min", "max")
    v_min, v_max = velocity.number("min"), velocity.number("max")
    velocity.must(v_min <= 0.0, "min", v_min, "at most 0")
    velocity.must(v_max > 0.0, "max", v_max, "greater than 0")
    return {
        "inner_max": math.radians(wheels["inner"]),
        "outer_max": math.radians(wheels["outer"]),
        "curvature_max": limits.positive("max_abs_curvature"),
        "steer_rate_max": limits.positive("steering_velocity"),
        "v_min": v_min,
        "v_max": v_max,
        "a_max": limits.positive("max_acceleration"),
        "d_max": limits.positive("max_deceleration"),
    }


def _lidar(section: Section) -> LidarModel:
    low, high = section.number("angle_min"), section.number("angle_max")
    step = section.positive("angle_increment")
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
    return {
        "frame_id": parent,
        "child_frame_id": child,
        "translation": dict(zip("xyz", at, strict=True)),
        "rotation": dict(zip("xyzw", turned, strict=True)),
    }


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
"""Upstream's default truck, as its file has it."""
