"""Scene: the content of a world file before anything moves, and its errors and warnings.

Everything here is plain data, complete and checked, in SI units and radians, with its position in
the source files. Readers of files (`world.xml`) make a `Scene`; the world runs one. Names and
defaults are upstream's (MVSim 1.2.0).

Fields that a file can set carry a `Tag` in their annotation, as in `mass: Annotated[kg, READ,
positive] = 2.0`: their tag, range and unit. From this a record can be read automatically (see
`xml.fields`), and pages and tests can list the fields. Angles are degrees in files and radians in
records.
"""

from __future__ import annotations

import typing
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, pi
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.body import Outline, Point
from ..core.files import brief_repr, first_repeated, listed
from ..core.model import Vehicle
from ..core.record import unknown_name
from ..errors import InvalidValue, MissingFile
from ..geometry.maps.occupancy import Grid
from ..road.road import Road
from ..units import Allowed, kg, m, m_s, m_s2, non_negative, one, per_s, positive, rad, rad_s, s
from ..vehicles.wheeled.description import Description

Kind = Literal["number", "integer", "size", "switch", "text", "numbers", "colour"]
_KINDS: dict[type, Kind] = {bool: "switch", int: "integer", float: "number", str: "text"}


class Source(NamedTuple):
    """Position in a source file."""

    file: str = ""
    line: int = 0
    """Line, counted from 1."""
    column: int = 0
    """Column, counted from 1."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


NOWHERE = Source()
"""Source of data that was not read from a file."""


class WorldError(InvalidValue):
    """Error in a world file; the message begins with file, line, column and element."""

    def __init__(self, message: str, source: Source | None = None, element: str = "") -> None:
        place = f"{source}: " if source is not None else ""
        super().__init__(f"{place}{f'<{element}>: ' if element else ''}{message}")
        self.message = message
        """The message without the source position."""
        self.source = source
        """Position in the files; None for errors without a position."""
        self.element = element
        """Tag of the faulty element."""

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.source, self.element)


class MissingWorld(WorldError, MissingFile):
    """Error: a world file does not exist."""


class WorldWarning(UserWarning):
    """Parts of a world that are not simulated, or not understood."""


def warn(text: str, *, stacklevel: int) -> None:
    warnings.warn(WorldWarning(text), stacklevel=stacklevel + 1)


def warn_of(names: Sequence[str], text: str, *, stacklevel: int) -> None:
    """Warn with a text that ends with names, if there are any."""
    if names:
        warn(f"{text}: {listed(names, 12)}", stacklevel=stacklevel + 1)


def first_of(names: Sequence[str], separator: str = ", ", most: int = 12) -> str:
    """Text with the first few names and the number of further names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


T = TypeVar("T")


class Inventory(dict[str, T]):
    """Dictionary of named objects of one kind, such as vehicles; unknown names raise a helpful
    error.
    """

    def __init__(self, kind: str, things: Mapping[str, T] | None = None) -> None:
        super().__init__(things or {})
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise InvalidValue(unknown_name("this world", name, sorted(self), self.kind))


@dataclass(frozen=True)
class Tag:
    """Marks a field that a file can set."""

    name: str | None = None
    """Tag or attribute in the file; None for the field's own name."""
    degrees: bool = False
    """Whether the file has degrees and the record radians."""
    aliases: tuple[str, ...] = ()
    """Older tags that are still read."""
    kind: Kind | None = None
    """Kind of the value; None if the field's type implies it."""


READ = Tag()
"""A field that is read under its own name."""
COLOUR = Tag(kind="colour")
"""A colour field, `#RRGGBB` or `#RRGGBBAA`."""


class Written(NamedTuple):
    """File representation of a field."""

    tags: tuple[str, ...]
    """Its tags or attributes; the first is the usual one."""
    kind: Kind
    degrees: bool
    allowed: Allowed | None
    """Allowed range, in the record's unit."""


@cache
def written(record: type) -> dict[str, Written]:
    """Fields of a record that a file can set, by name."""
    settable: dict[str, Written] = {}
    for name, (base, marks) in _annotations(record).items():
        tag = next((mark for mark in marks if isinstance(mark, Tag)), None)
        if tag is not None:
            # The type may be optional: `float | None`.
            otherwise = "numbers" if typing.get_origin(base) is tuple else "number"
            kind = tag.kind or _KINDS.get(base, otherwise)
            tags = (tag.name or name, *tag.aliases)
            settable[name] = Written(tags, kind, tag.degrees, _allowed(marks))
    return settable


@cache
def ranges(record: type) -> dict[str, Allowed | None]:
    """Fields of a numeric record by name, with their allowed ranges."""
    return {name: _allowed(marks) for name, (_, marks) in _annotations(record).items()}


def _annotations(record: type) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Type of each field without its annotations, and the annotations."""
    taken: dict[str, tuple[Any, tuple[Any, ...]]] = {}
    for name, hint in typing.get_type_hints(record, include_extras=True).items():
        base, marks = hint, ()
        while typing.get_origin(base) is typing.Annotated:
            base, *more = typing.get_args(base)
            marks += tuple(more)
        taken[name] = base, marks
    return taken


def _allowed(marks: tuple[Any, ...]) -> Allowed | None:
    return next((mark for mark in marks if isinstance(mark, Allowed)), None)


class Pose(NamedTuple):
    """Position and attitude: rotate by roll about x, pitch about y, yaw about z, then translate."""

    x: m = 0.0
    y: m = 0.0
    z: m = 0.0
    yaw: rad = 0.0
    pitch: rad = 0.0
    """Positive with the nose down, as in upstream (rotation about the axis to the left)."""
    roll: rad = 0.0


ORIGIN = Pose()
"""Identity pose."""


class Velocity(NamedTuple):
    """Initial velocity of an object's reference point."""

    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0
    frame: Literal["body", "world"] = "body"
    """Axes of `v_x` and `v_y`; upstream reads them in world axes."""


AT_REST = Velocity()


@dataclass(frozen=True)
class Geometry:
    """A simple solid, from `<geometry>`."""

    kind: Literal["box", "cylinder", "sphere", "semi_cylinder_bump", "ramp"]
    l_x: m = 0.0
    """Length along x, of boxes, bumps and ramps."""
    l_y: m = 0.0
    l_z: m = 0.0
    radius: m = 0.0
    length: m = 0.0
    """Height of a cylinder."""
    vertices: int = 10
    """Number of corners of the outline of a cylinder or sphere."""


@dataclass(frozen=True)
class Shape:
    """Outline of an object from above, and its vertical extent."""

    outline: Outline
    """Corners, counter-clockwise, no three collinear."""
    parts: tuple[Outline, ...]
    """Convex pieces of the outline, counter-clockwise."""
    z_min: m
    z_max: m
    made_from: Literal["shape", "geometry", "mesh", "stand-in", "default"] = "default"
    """Where the outline comes from; a stand-in replaces a mesh that could not be read."""

    __repr__ = brief_repr

    @property
    def radius(self) -> m:
        """Largest distance of a corner from the reference point."""
        return max((x * x + y * y) ** 0.5 for x, y in self.outline)


@dataclass(frozen=True)
class Visual:
    """A 3-D model for renderers."""

    uri: Annotated[str, Tag("model_uri")] = ""
    scale: Annotated[float, Tag("model_scale"), positive] = 1.0
    pose: Pose = ORIGIN
    """Pose of the model in the object's frame."""
    name: Annotated[str, READ] = "group"
    enabled: bool = True
    source: Source = field(default=NOWHERE, compare=False)


class Keyframe(NamedTuple):
    """Pose of an animated object at a time, relative to its initial pose."""

    time: s
    pose: Pose


@dataclass(frozen=True)
class Publish:
    """Topics on which upstream would publish poses; retained for bridges."""

    enabled: bool = True
    pose_topic: Annotated[str, Tag("publish_pose_topic")] = ""
    pose_period: Annotated[s, Tag("publish_pose_period")] = 0.1
    relative_topic: Annotated[str, Tag("publish_relative_pose_topic")] = ""
    relative_objects: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """A map of square cells that vehicles and blocks collide with and lidars see."""

    grid: Grid
    restitution: Annotated[one, READ, non_negative] = 0.01
    lateral_friction: Annotated[one, READ, non_negative] = 0.5
    source: Source = NOWHERE


@dataclass(frozen=True, eq=False)
class ElevationMap:
    """Heights of the ground on a square lattice."""

    heights: NDArray[np.float64]
    """Heights in m, shape (along x, along y), at least 2 x 2, read-only."""
    resolution: m = 1.0
    """Spacing of the lattice."""
    corner: Point = (0.0, 0.0)
    """Corner of least x and y."""
    source: Source = NOWHERE

    __repr__ = brief_repr

    @property
    def road(self) -> Road:
        """The same heights as a road, extended beyond the map at the height of its border."""
        return Road.grid(self.heights, self.corner, self.resolution)


@dataclass(frozen=True, eq=False)
class RoadGround:
    """Ground of a world made of a road: its heights are the ground, its grip acts on wheels."""

    road: Road
    source: Source = NOWHERE

    __repr__ = brief_repr


@dataclass(frozen=True)
class HorizontalPlane:
    """A rectangle of flat ground, which may move like a lift."""

    x_min: Annotated[m, READ] = -10.0
    x_max: Annotated[m, READ] = 10.0
    y_min: Annotated[m, READ] = -10.0
    y_max: Annotated[m, READ] = 10.0
    z: Annotated[m, READ] = 0.0
    pose: Pose = ORIGIN
    """Pose of the rectangle."""
    animation: tuple[Keyframe, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Opening:
    """A gap in a vertical plane."""

    kind: Literal["door", "window"]
    """Vehicles can pass a door but not a window."""
    position: Annotated[one, READ] = 0.0
    """Position of its centre along the wall, 0 at the start, 1 at the end."""
    width: Annotated[m, READ, positive] = 1.0
    z_min: Annotated[m, READ] = 0.0
    z_max: Annotated[m, READ] = 2.1
    name: str = ""


@dataclass(frozen=True)
class VerticalPlane:
    """A wall from one point to another, with doors and windows."""

    x0: Annotated[m, READ] = -10.0
    y0: Annotated[m, READ] = -10.0
    x1: Annotated[m, READ] = -10.0
    y1: Annotated[m, READ] = 10.0
    z: Annotated[m, READ] = 0.0
    height: Annotated[m, READ, positive] = 3.0
    thickness: Annotated[m, READ, positive] = 0.02
    restitution: Annotated[one, READ, non_negative] = 0.01
    openings: tuple[Opening, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class PropertyRegion:
    """A box in which a property has a value: friction_mu, friction_C_rr, gps_no_coverage, ..."""

    name: str
    value: float | bool | str
    x_min: Annotated[m, READ] = -inf
    x_max: Annotated[m, READ] = inf
    y_min: Annotated[m, READ] = -inf
    y_max: Annotated[m, READ] = inf
    z_min: Annotated[m, READ] = -inf
    z_max: Annotated[m, READ] = inf
    source: Source = field(default=NOWHERE, compare=False)

    def __contains__(self, point: tuple[m, m, m]) -> bool:
        """Whether a point of the world lies in the box or on its faces."""
        x, y, z = point
        return (
            self.x_min <= x <= self.x_max
            and self.y_min <= y <= self.y_max
            and self.z_min <= z <= self.z_max
        )


Element = (
    OccupancyGrid | ElevationMap | RoadGround | HorizontalPlane | VerticalPlane | PropertyRegion
)
"""Kinds of `<element>` of a world file."""


@dataclass(frozen=True)
class WallSpec:
    """A straight piece of `<walls>`: a fixed box."""

    name: str
    start: Point
    end: Point
    """Ends as in the file."""
    outline: Outline
    """Corners in the world, counter-clockwise; extended where the piece joins another."""
    height: Annotated[m, Tag("wallHeight"), positive] = 2.0
    thickness: Annotated[m, Tag("wallThickness", kind="size")] = 0.1
    source: Source = field(default=NOWHERE, compare=False)


CAMERA_POSE = Pose(0.0, 0.0, 0.5, pi / 2.0, 0.0, pi / 2.0)
COLOUR_POSE = Pose(0.0, 0.0, 0.0, -pi / 2.0, 0.0, -pi / 2.0)
"""Default pose of the colour camera of an `RgbdCamera`, relative to its depth camera."""
OWN_SENSORS = ("odometry", "bumper")
"""Sensors of every vehicle, unless its file uses the name for another; upstream lacks them."""
_COUNT = Allowed(1, 1_000_000)
"""Allowed number of rays, or of pixels along a line."""


@dataclass(frozen=True)
class Sensor:
    """Base of all sensors of a scene."""

    name: str
    pose: Pose = ORIGIN
    """Pose in the frame of the vehicle, or in the world for a sensor that is fixed in the world."""
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


_NOISE_OF_RATE, _NOISE_OF_FORCE = (
    Tag(f"{what}_white_noise_std_noise", aliases=(f"{what}_std_noise",))
    for what in ("angular_velocity", "linear_acceleration")
)
_WALK_OF_RATE = Tag("angular_velocity_random_walk_std_noise")
_WALK_OF_FORCE = Tag("linear_acceleration_random_walk_std_noise")


@dataclass(frozen=True)
class Imu(Sensor):
    """Gyroscope and accelerometer."""

    angular_velocity_white_noise: Annotated[rad_s, _NOISE_OF_RATE, non_negative] = 2e-4
    linear_acceleration_white_noise: Annotated[m_s2, _NOISE_OF_FORCE, non_negative] = 0.017
    angular_velocity_random_walk: Annotated[float, _WALK_OF_RATE, non_negative] = 0.0
    """Random walk of the angular rate's bias, in rad/s per square root of s."""
    linear_acceleration_random_walk: Annotated[float, _WALK_OF_FORCE, non_negative] = 0.0
    """Random walk of the specific force's bias, in m/s² per square root of s."""
    measure_orientation: Annotated[bool, READ] = False
    orientation_std_noise: Annotated[rad, READ, non_negative] = 0.005


@dataclass(frozen=True)
class Gnss(Sensor):
    """Satellite positioning; has no readings without a georeference."""

    horizontal_std_noise: Annotated[m, READ, non_negative] = 2.0
    vertical_std_noise: Annotated[m, READ, non_negative] = 4.0


@dataclass(frozen=True)
class Lidar3d(Sensor):
    """A 3-D lidar; upstream renders it."""

    min_range: Annotated[m, READ, non_negative] = 0.01
    max_range: Annotated[m, READ, positive] = 80.0
    range_std_noise: Annotated[m, READ, non_negative] = 0.01
    vert_fov: Annotated[rad, Tag("vert_fov_degrees", degrees=True), positive] = pi / 6.0
    vertical_ray_angles: Annotated[tuple[rad, ...], Tag(degrees=True)] = ()
    """Angles of the rays, replacing equal steps over `vert_fov`."""
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
    """Principal point in pixels; None: the centre."""
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
    """Pose of the colour camera relative to the depth camera
    (`relativePoseIntensityWRTDepth`)."""


@dataclass(frozen=True)
class OwnSensor(Sensor):
    """One of skidpad's own sensors: `<sensor class="skidpad:NAME">`."""

    kind: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """All other children and attributes in the file, as texts."""


SENSORS: Mapping[str, type[Sensor]] = MappingProxyType(
    {"laser": Laser, "imu": Imu, "gnss": Gnss}
    | {"lidar3d": Lidar3d, "camera": Camera, "rgbd_camera": RgbdCamera}
)
"""Sensor classes by their names in files."""


@dataclass(frozen=True)
class OwnDynamics:
    """One of skidpad's own vehicles: `<dynamics class="skidpad:NAME">`."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    """Parameters that differ from the defaults, by dotted name."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Odometry:
    """Scale factors on the increments of the odometry pose; None: drawn from N(1, 0.02²)."""

    x_multiplier: Annotated[one | None, READ] = None
    y_multiplier: Annotated[one | None, READ] = None
    yaw_multiplier: Annotated[one | None, READ] = None


class TimedPoint(NamedTuple):
    """A position with the time to be there."""

    time: s
    x: m
    y: m


@dataclass(frozen=True)
class TimedPath:
    """A timed path that a vehicle follows by itself: `<controller class="trajectory">`."""

    points: tuple[TimedPoint, ...]
    """Two or more points, in order of time."""
    loop: Annotated[bool, READ] = True
    """Whether the path repeats after its last point; otherwise the vehicle stops there."""
    lookahead: Annotated[m, Tag("lookahead_distance"), positive] = 0.5
    """Look-ahead distance along the path, from the point of the current time."""
    omega_max: Annotated[rad_s, Tag("max_angular_speed"), non_negative] = 2.0
    """Largest yaw rate, which limits the speed; 0 for no limit."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class VehicleSpec:
    """A vehicle of a scene."""

    name: str
    pose: Pose
    dynamics: Description | OwnDynamics | Vehicle
    """Dynamics: a description (wheels, friction, drivetrain and controller), a vehicle of
    skidpad's own by name, or any vehicle with a body."""
    shape: Shape | None = None
    """Outline of the chassis for contacts; None to use the outline of the vehicle model."""
    velocity: Velocity = AT_REST
    sensors: tuple[Sensor, ...] = ()
    odometry: Odometry = Odometry()
    visuals: tuple[Visual, ...] = ()
    animation: tuple[Keyframe, ...] = ()
    publish: Publish | None = None
    skip_elevation_adjust: bool = False
    log_path: Annotated[str, READ] = ""
    auto_start_recording: Annotated[bool, READ] = False
    class_name: str = ""
    """Name of the `vehicle:class` of the vehicle; empty if it has no class."""
    path: TimedPath | None = None
    """Path that the vehicle follows; None for a vehicle that takes commands."""
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Settings:
    """Step and solver settings of a world."""

    gravity: Annotated[m_s2, READ, positive] = 9.81
    timestep: Annotated[s, Tag("simul_timestep"), non_negative] = 0.0
    """Step size; 0: 5 ms, or the shortest period of a sensor if that is shorter
    (`Scene.timestep`)."""
    velocity_iterations: Annotated[int, Tag("b2d_vel_iters"), Allowed(1, 1000)] = 8
    position_iterations: Annotated[int, Tag("b2d_pos_iters"), Allowed(1, 1000)] = 3
    collision_threshold: Annotated[m, READ, non_negative] = 0.03
    """Gap below which two shapes count as in collision."""
    joystick_enabled: Annotated[bool, READ] = False
    server_address: Annotated[str, READ] = "localhost"
    save_to_rawlog: Annotated[str, READ] = ""
    rawlog_odometry_rate: Annotated[per_s, READ, positive] = 10.0
    save_ground_truth_trajectory: Annotated[str, READ] = ""
    ground_truth_rate: Annotated[per_s, READ, positive] = 50.0
    max_slope_to_collide: Annotated[one, READ] = 0.3
    """No effect, also in upstream."""
    min_slope_to_collide: Annotated[one, READ] = -100.0


@dataclass(frozen=True)
class Georeference:
    """Geographic position of the world's origin."""

    latitude: Annotated[float, READ, Allowed(-90.0, 90.0)] = 0.0
    """Latitude in degrees, WGS 84."""
    longitude: Annotated[float, READ, Allowed(-180.0, 180.0)] = 0.0
    """Longitude in degrees, WGS 84."""
    height: Annotated[m, READ] = 0.0
    """Height above the ellipsoid."""
    world_to_enu_rotation: Annotated[rad, Tag("world_to_enu_rotation_deg", degrees=True)] = 0.0
    """Angle from east to the world's x axis."""
    world_is_utm: Annotated[bool, READ] = False
    """Whether x and y of the world are UTM coordinates."""
    utm_zone: Annotated[int, READ] = 0


@dataclass(frozen=True)
class BlockSpec:
    """An obstacle, movable or fixed."""

    name: str
    pose: Pose
    shape: Shape
    mass: Annotated[kg, READ, positive] = 30.0
    restitution: Annotated[one, READ, non_negative] = 0.01
    lateral_friction: Annotated[one, READ, non_negative] = 0.5
    """Friction coefficient of contacts with the block."""
    ground_friction: Annotated[one, READ, non_negative] = 0.5
    linear_damping: Annotated[per_s, READ, non_negative] = 0.1
    angular_damping: Annotated[per_s, READ, non_negative] = 0.1
    static: Annotated[bool, READ] = False
    intangible: Annotated[bool, READ] = False
    """Whether it has no collision body."""
    color: Annotated[str, COLOUR] = "#0000FF"
    velocity: Velocity = AT_REST
    geometry: Geometry | None = None
    """Solid of ramps and bumps, which vehicles can climb."""
    visuals: tuple[Visual, ...] = ()
    animation: tuple[Keyframe, ...] = ()
    publish: Publish | None = None
    skip_elevation_adjust: bool = False
    class_name: str = ""
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Waypoint:
    pose: Pose
    pause: s = 0.0
    """Time that the actor stays there."""
    animation: Literal["", "walk", "run", "idle"] = ""
    """Gait to the waypoint; `run` is faster, `idle` stands still."""


@dataclass(frozen=True)
class ActorSpec:
    """Pedestrian that follows waypoints and does not react to other objects."""

    name: str
    pose: Pose
    walking_speed: Annotated[m_s, READ, positive] = 1.4
    running_speed: Annotated[m_s, READ, positive] = 3.5
    height: Annotated[m, READ, positive] = 1.75
    collision_radius: Annotated[m, READ, positive] = 0.3
    collision_height: Annotated[m, READ, positive] = 1.7
    animation_idle: Annotated[str, READ] = "idle"
    animation_walk: Annotated[str, READ] = "walk"
    animation_run: Annotated[str, READ] = "run"
    path: tuple[Waypoint, ...] = ()
    loop: bool = True
    """Whether the path repeats after its last waypoint."""
    animation: tuple[Keyframe, ...] = ()
    visuals: tuple[Visual, ...] = ()
    class_name: str = ""
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class JointSpec:
    """A rope or a hinge between two bodies."""

    kind: Literal["distance", "revolute"]
    body_a: str
    body_b: str
    anchor_a: Point
    """Anchor in the frame of `body_a`."""
    anchor_b: Point
    min_length: Annotated[m, READ, non_negative] = 0.0
    max_length: Annotated[m, READ, positive] = 0.0
    """Largest length of a rope; 0 is rejected."""
    stiffness: Annotated[float, READ, non_negative] = 0.0
    """Stiffness in N/m; 0: the rope is rigid at its limits."""
    damping: Annotated[float, READ, non_negative] = 0.0
    """Damping in N·s/m."""
    enable_limit: Annotated[bool, READ] = False
    lower_angle: Annotated[rad, Tag("lower_angle_deg", degrees=True)] = 0.0
    """Least angle of `body_b` relative to `body_a`, from the initial angle."""
    upper_angle: Annotated[rad, Tag("upper_angle_deg", degrees=True)] = 0.0
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Scene:
    """Complete content of a world file with all its includes."""

    settings: Settings = Settings()
    vehicles: tuple[VehicleSpec, ...] = ()
    blocks: tuple[BlockSpec, ...] = ()
    walls: tuple[WallSpec, ...] = ()
    elements: tuple[Element, ...] = ()
    """Elements in file order; where regions overlap, the first one counts."""
    joints: tuple[JointSpec, ...] = ()
    actors: tuple[ActorSpec, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    """Sensors fixed in the world."""
    georeference: Georeference | None = None
    gui: Mapping[str, str] = field(default_factory=dict)
    """Options of upstream's window, as texts."""
    lights: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """World variables at the end of the file."""
    warnings: tuple[str, ...] = ()
    """Parts that are not simulated, or not understood."""
    compat: Literal["upstream"] | None = None
    file: str = ""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for kind in ("vehicles", "blocks", "actors"):
            twice = first_repeated(spec.name for spec in getattr(self, kind))
            if twice is not None:
                raise InvalidValue(f"two {kind} are named {twice!r}; names must differ")
        roads = [e for e in self.elements if isinstance(e, RoadGround)]
        if len(roads) > 1:
            raise InvalidValue(f"elements has {len(roads)} roads; at most one is allowed")

    @property
    def road(self) -> Road | None:
        """Road under all bodies, or None."""
        return next((e.road for e in self.elements if isinstance(e, RoadGround)), None)

    def on_road(self, road: Road) -> Scene:
        """Copy of the scene on this road, which replaces any other road."""
        if not isinstance(road, Road):
            raise InvalidValue(f"road must be a Road, got {road!r}; Road.load reads a .crg file")
        others = (e for e in self.elements if not isinstance(e, RoadGround))
        return replace(self, elements=(*others, RoadGround(road)))

    @property
    def timestep(self) -> s:
        """Step size: as the file sets it, otherwise 5 ms or the shortest period of a sensor."""
        if self.settings.timestep > 0.0:
            return self.settings.timestep
        sensors = [*self.sensors, *(one for v in self.vehicles for one in v.sensors)]
        return min([5e-3, *(sensor.period for sensor in sensors if sensor.period > 0.0)])
