"""What a world file says about sensors. Names and defaults are upstream's (MVSim 1.2.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import pi
from types import MappingProxyType
from typing import Annotated

from ...units import Allowed, m, m_s2, non_negative, positive, rad, rad_s, s
from .fields import NOWHERE, READ, Source, Tag
from .shapes import ORIGIN, Pose

CAMERA_POSE = Pose(0.0, 0.0, 0.5, pi / 2.0, 0.0, pi / 2.0)
"""Pose of a camera that says none."""
COLOUR_POSE = Pose(0.0, 0.0, 0.0, -pi / 2.0, 0.0, -pi / 2.0)
"""Of the colour camera of an `RgbdCamera` that says none, seen from its depth camera."""
_COUNT = Allowed(1, 1_000_000)
"""Rays or pixels of one line."""


@dataclass(frozen=True)
class Sensor:
    """What all sensors have."""

    name: str
    pose: Pose = ORIGIN
    """In the frame of the vehicle; of a sensor that stands in the world, in the world's."""
    period: Annotated[s, Tag("sensor_period"), non_negative] = 0.1
    publish_topic: str = ""
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Laser(Sensor):
    """A 2-D lidar; its rays go from right to left in equal steps."""

    fov: Annotated[rad, Tag("fov_degrees", degrees=True), Allowed(0.0, 2.0 * pi, open_low=True)] = (
        pi
    )
    nrays: Annotated[int, READ, _COUNT] = 181
    max_range: Annotated[m, READ, positive] = 80.0
    range_std_noise: Annotated[m, READ, non_negative] = 0.01
    angle_std_noise: Annotated[rad, Tag("angle_std_noise_deg", degrees=True), non_negative] = (
        0.01 * pi / 180.0
    )
    bodies_visible: Annotated[bool, READ] = True
    raytrace_3d: Annotated[bool, READ] = False
    """Whether upstream would render it in 3-D."""
    ignore_parent_body: Annotated[bool, READ] = False


@dataclass(frozen=True)
class Imu(Sensor):
    """Gyroscope and accelerometer."""

    angular_velocity_white_noise: Annotated[
        rad_s,
        Tag("angular_velocity_white_noise_std_noise", aliases=("angular_velocity_std_noise",)),
        non_negative,
    ] = 2e-4
    linear_acceleration_white_noise: Annotated[
        m_s2,
        Tag(
            "linear_acceleration_white_noise_std_noise", aliases=("linear_acceleration_std_noise",)
        ),
        non_negative,
    ] = 0.017
    angular_velocity_random_walk: Annotated[
        float, Tag("angular_velocity_random_walk_std_noise"), non_negative
    ] = 0.0
    """In rad/s per square root of s."""
    linear_acceleration_random_walk: Annotated[
        float, Tag("linear_acceleration_random_walk_std_noise"), non_negative
    ] = 0.0
    """In m/s² per square root of s."""
    measure_orientation: Annotated[bool, READ] = False
    orientation_std_noise: Annotated[rad, READ, non_negative] = 0.005


@dataclass(frozen=True)
class Gnss(Sensor):
    """Satellite positions; silent without a georeference."""

    horizontal_std_noise: Annotated[m, READ, non_negative] = 2.0
    vertical_std_noise: Annotated[m, READ, non_negative] = 4.0


@dataclass(frozen=True)
class Lidar3d(Sensor):
    """A 3-D lidar, which upstream renders."""

    min_range: Annotated[m, READ, non_negative] = 0.01
    max_range: Annotated[m, READ, positive] = 80.0
    range_std_noise: Annotated[m, READ, non_negative] = 0.01
    vert_fov: Annotated[rad, Tag("vert_fov_degrees", degrees=True), positive] = pi / 6.0
    vertical_ray_angles: Annotated[tuple[rad, ...], Tag(degrees=True)] = ()
    """Instead of equal steps over `vert_fov`."""
    vert_nrays: Annotated[int, READ, _COUNT] = 16
    horz_nrays: Annotated[int, READ, _COUNT] = 180
    horz_resolution_factor: Annotated[float, READ, positive] = 1.0
    vert_resolution_factor: Annotated[float, READ, positive] = 1.0
    max_vert_relative_depth_to_interpolate: Annotated[float, READ, non_negative] = 0.3
    max_horz_relative_depth_to_interpolate: Annotated[float, READ, non_negative] = 0.1
    ignore_parent_body: Annotated[bool, READ] = False
    generate_intensity: Annotated[bool, READ] = False


@dataclass(frozen=True)
class Camera(Sensor):
    """A camera; z of its pose looks forward."""

    ncols: Annotated[int, READ, _COUNT] = 640
    nrows: Annotated[int, READ, _COUNT] = 480
    cx: Annotated[float | None, READ] = None
    """Principal point in pixels; None: the middle."""
    cy: Annotated[float | None, READ] = None
    fx: Annotated[float, READ, positive] = 500.0
    fy: Annotated[float, READ, positive] = 500.0
    clip_min: Annotated[m, READ, positive] = 0.01
    clip_max: Annotated[m, READ, positive] = 1e4


@dataclass(frozen=True)
class RgbdCamera(Sensor):
    """A camera that also measures depth."""

    depth_ncols: Annotated[int, READ, _COUNT] = 640
    depth_nrows: Annotated[int, READ, _COUNT] = 480
    depth_cx: Annotated[float | None, READ] = None
    depth_cy: Annotated[float | None, READ] = None
    depth_fx: Annotated[float, READ, positive] = 500.0
    depth_fy: Annotated[float, READ, positive] = 500.0
    depth_clip_min: Annotated[m, READ, positive] = 0.1
    depth_clip_max: Annotated[m, READ, positive] = 15.0
    depth_resolution: Annotated[m, READ, positive] = 1e-3
    depth_noise_sigma: Annotated[m, READ, non_negative] = 1e-3
    rgb_ncols: Annotated[int, READ, _COUNT] = 640
    rgb_nrows: Annotated[int, READ, _COUNT] = 480
    rgb_cx: Annotated[float | None, READ] = None
    rgb_cy: Annotated[float | None, READ] = None
    rgb_fx: Annotated[float, READ, positive] = 500.0
    rgb_fy: Annotated[float, READ, positive] = 500.0
    rgb_clip_min: Annotated[m, READ, positive] = 0.01
    rgb_clip_max: Annotated[m, READ, positive] = 1e4
    sense_depth: Annotated[bool, READ] = True
    sense_rgb: Annotated[bool, READ] = True
    rgb_pose: Pose = COLOUR_POSE
    """Of the colour camera, seen from the depth camera (`relativePoseIntensityWRTDepth`)."""


@dataclass(frozen=True)
class OwnSensor(Sensor):
    """One of skidpad's own sensors: `<sensor class="skidpad:NAME">`."""

    kind: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Everything else the file says, as texts."""


SENSORS: Mapping[str, type[Sensor]] = MappingProxyType(
    {
        "laser": Laser,
        "imu": Imu,
        "gnss": Gnss,
        "lidar3d": Lidar3d,
        "camera": Camera,
        "rgbd_camera": RgbdCamera,
    }
)
"""Classes of sensors by the names files use."""
