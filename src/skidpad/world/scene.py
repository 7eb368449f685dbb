"""What a world file describes: the scene before anything moves, and what may be wrong with it.

Everything here is plain data, whole and checked, in SI units and radians, with the place in the
files it comes from. Readers of files (`world.xml`) make a `Scene`; the world runs one. Names and
defaults are upstream's (MVSim 1.2.0).

Fields that a file can set carry a `Tag` in their annotation, as in `mass: Annotated[kg, READ,
positive] = 2.0`: their tag, range and unit. A record then reads itself (see `xml.fields`), and
pages and tests can list what there is. Angles are degrees in files and radians in records.
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
from ..geometry.maps.grid import Grid
from ..road.road import Road
from ..units import Allowed, kg, m, m_s, m_s2, non_negative, one, per_s, positive, rad, rad_s, s
from ..vehicles.wheeled.description import Description

Kind = Literal["number", "integer", "size", "switch", "text", "numbers", "colour"]
_KINDS: dict[type, Kind] = {bool: "switch", int: "integer", float: "number", str: "text"}


class Source(NamedTuple):
    """Where in the files something is written."""

    file: str = ""
    line: int = 0
    """Counted from 1."""
    column: int = 0
    """Counted from 1."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


NOWHERE = Source()
"""The place of what was not read from a file."""


class WorldError(InvalidValue):
    """A world file that cannot be used; the message begins with file, line, column and element."""

    def __init__(self, message: str, *, source: Source | None = None, element: str = "") -> None:
        place = f"{source}: " if source is not None else ""
        super().__init__(f"{place}{f'<{element}>: ' if element else ''}{message}")
        self.message = message
        """The message without its place."""
        self.source = source
        """Where in the files; None: nowhere in particular."""
        self.element = element
        """Tag of the element that is wrong."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.message, self.source, self.element)


class MissingWorld(WorldError, MissingFile):
    """A world file that does not exist."""


class WorldWarning(UserWarning):
    """Parts of a world that are not simulated, or that were not understood."""


def warn_of(names: Sequence[str], text: str, *, stacklevel: int) -> None:
    """Warn with a text that ends with names, if there are any."""
    if names:
        warnings.warn(WorldWarning(f"{text}: {listed(names, 12)}"), stacklevel=stacklevel + 1)


def _restored(kind: Any, message: str, source: Source | None, element: str) -> WorldError:
    return kind(message, source=source, element=element)


T = TypeVar("T")


class Inventory(dict[str, T]):
    """A dictionary of things of one kind, such as vehicles."""

    def __init__(self, kind: str, things: Mapping[str, T] | None = None) -> None:
        super().__init__(things or {})
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise InvalidValue(unknown_name("this world", name, sorted(self), self.kind))


@dataclass(frozen=True)
class Tag:
    """Marks a field that a file can set."""

    name: str | None = None
    """Tag or attribute, where it is not the field's own name."""
    degrees: bool = False
    """Whether the file has degrees where the record has radians."""
    aliases: tuple[str, ...] = ()
    """Older tags that are still understood."""
    kind: Kind | None = None
    """Kind of the value, where the field's type does not say it."""


READ = Tag()
"""A field under its own name."""
COLOUR = Tag(kind="colour")
"""A field with `#RRGGBB` or `#RRGGBBAA`."""


class Written(NamedTuple):
    """How a field is written in a file."""

    tags: tuple[str, ...]
    """Its tag or attribute; the first is the usual one."""
    kind: Kind
    degrees: bool
    allowed: Allowed | None
    """In the record's unit."""


@cache
def written(record: type) -> dict[str, Written]:
    """The fields of a record that a file can set, by name."""
    settable: dict[str, Written] = {}
    for name, (base, marks) in _annotations(record).items():
        tag = next((mark for mark in marks if isinstance(mark, Tag)), None)
        if tag is not None:
            # A number may be missing: `float | None`.
            otherwise = "numbers" if typing.get_origin(base) is tuple else "number"
            kind = tag.kind or _KINDS.get(base, otherwise)
            tags = (tag.name or name, *tag.aliases)
            settable[name] = Written(tags, kind, tag.degrees, _allowed(marks))
    return settable


@cache
def ranges(record: type) -> dict[str, Allowed | None]:
    """The fields of a record of numbers, by name, with what each may be."""
    return {name: _allowed(marks) for name, (_, marks) in _annotations(record).items()}


def _annotations(record: type) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """The type of each field without its marks, and the marks."""
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
    """Position and attitude: rotate by roll about x, pitch about y, yaw about z, then move."""

    x: m = 0.0
    y: m = 0.0
    z: m = 0.0
    yaw: rad = 0.0
    pitch: rad = 0.0
    """Positive with the nose down, as upstream has it (rotation about the axis to the left)."""
    roll: rad = 0.0


ORIGIN = Pose()
"""At the origin, along the axes."""


class Velocity(NamedTuple):
    """Velocity of an object's reference point at the start."""

    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0
    frame: Literal["body", "world"] = "body"
    """Axes of `v_x` and `v_y`; upstream takes them for the world's."""


AT_REST = Velocity()
"""No velocity."""


@dataclass(frozen=True)
class Geometry:
    """A simple solid: what `<geometry>` says."""

    kind: Literal["box", "cylinder", "sphere", "semi_cylinder_bump", "ramp"]
    l_x: m = 0.0
    """Length along x: of box, bump and ramp."""
    l_y: m = 0.0
    l_z: m = 0.0
    radius: m = 0.0
    length: m = 0.0
    """Height of a cylinder."""
    vertices: int = 10
    """Corners of the outline of a cylinder or sphere."""


@dataclass(frozen=True)
class Shape:
    """The outline of an object seen from above, and how high it reaches."""

    outline: Outline
    """Corners, counter-clockwise, no three on a line."""
    parts: tuple[Outline, ...]
    """Convex pieces that make up the outline, counter-clockwise."""
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
    """A 3-D model that a renderer would show."""

    uri: Annotated[str, Tag("model_uri")] = ""
    scale: Annotated[float, Tag("model_scale"), positive] = 1.0
    pose: Pose = ORIGIN
    """Pose of the model in the object's frame."""
    name: Annotated[str, READ] = "group"
    enabled: bool = True
    source: Source = field(default=NOWHERE, compare=False)


class Keyframe(NamedTuple):
    """Where an animated object is at a time, relative to its initial pose."""

    time: s
    pose: Pose


@dataclass(frozen=True)
class Publish:
    """Topics on which upstream would publish poses; kept for bridges."""

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
    """In m, shape (along x, along y), at least 2 x 2, read-only."""
    resolution: m = 1.0
    """Distance of the points of the lattice."""
    corner: Point = (0.0, 0.0)
    """Least x and y."""
    source: Source = NOWHERE

    __repr__ = brief_repr

    @property
    def road(self) -> Road:
        """The same heights as a road, which beyond the map is as high as its border."""
        return Road.grid(self.heights, self.corner, self.resolution)


@dataclass(frozen=True, eq=False)
class RoadGround:
    """A road that everything stands on: its heights are the ground, its grip is under wheels."""

    road: Road
    source: Source = NOWHERE

    __repr__ = brief_repr


@dataclass(frozen=True)
class HorizontalPlane:
    """A rectangle of flat ground, which may move as a lift does."""

    x_min: Annotated[m, READ] = -10.0
    x_max: Annotated[m, READ] = 10.0
    y_min: Annotated[m, READ] = -10.0
    y_max: Annotated[m, READ] = 10.0
    z: Annotated[m, READ] = 0.0
    pose: Pose = ORIGIN
    """Moves the rectangle."""
    animation: tuple[Keyframe, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Opening:
    """A gap in a vertical plane."""

    kind: Literal["door", "window"]
    """One can pass a door; a window keeps vehicles out."""
    position: Annotated[one, READ] = 0.0
    """Place of its middle along the wall, 0 at the start, 1 at the end."""
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
        """Whether a point of the world lies in the box; its faces belong to it."""
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
    """A straight piece of `<walls>`: a box that stands still."""

    name: str
    start: Point
    end: Point
    """Ends as the file has them."""
    outline: Outline
    """Corners in the world, counter-clockwise; longer than the piece where it meets another."""
    height: Annotated[m, Tag("wallHeight"), positive] = 2.0
    thickness: Annotated[m, Tag("wallThickness", kind="size")] = 0.1
    source: Source = field(default=NOWHERE, compare=False)


CAMERA_POSE = Pose(0.0, 0.0, 0.5, pi / 2.0, 0.0, pi / 2.0)
"""Default pose of a camera."""
COLOUR_POSE = Pose(0.0, 0.0, 0.0, -pi / 2.0, 0.0, -pi / 2.0)
"""Default pose of the colour camera of an `RgbdCamera`, seen from its depth camera."""
_COUNT = Allowed(1, 1_000_000)
"""Rays or pixels of one line."""


@dataclass(frozen=True)
class Sensor:
    """Base of all sensors of a scene."""

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
    """Pose of the colour camera, seen from the depth camera (`relativePoseIntensityWRTDepth`)."""


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


@dataclass(frozen=True)
class OwnDynamics:
    """One of skidpad's own vehicles: `<dynamics class="skidpad:NAME">`."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    """Parameters that differ from the defaults, by dotted name."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Odometry:
    """Factors on the increments of the odometry pose; None: drawn from N(1, 0.02²)."""

    x_multiplier: Annotated[one | None, READ] = None
    y_multiplier: Annotated[one | None, READ] = None
    yaw_multiplier: Annotated[one | None, READ] = None


class TimedPoint(NamedTuple):
    """Where to be at a time."""

    time: s
    x: m
    y: m


@dataclass(frozen=True)
class TimedPath:
    """A path in time that a vehicle follows by itself: `<controller class="trajectory">`."""

    points: tuple[TimedPoint, ...]
    """Two or more, by time."""
    loop: Annotated[bool, READ] = True
    """Whether it starts again after its last point; if not, the vehicle stops there."""
    lookahead: Annotated[m, Tag("lookahead_distance"), positive] = 0.5
    """How far along the path, beyond the point of the time, the vehicle steers for."""
    omega_max: Annotated[rad_s, Tag("max_angular_speed"), non_negative] = 2.0
    """Largest yaw rate, for which the vehicle slows down; 0: none."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class VehicleSpec:
    """A vehicle of a scene."""

    name: str
    pose: Pose
    dynamics: Description | OwnDynamics | Vehicle
    """What moves it: wheels, friction, drivetrain and controller, a vehicle of skidpad's own by its
    name, or any vehicle with a body."""
    shape: Shape | None = None
    """Outline of its chassis for contacts; None: the file says nothing, and its own will do."""
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
    """Its `vehicle:class`; empty without one."""
    path: TimedPath | None = None
    """Path that it follows instead of commands; None for a vehicle that is commanded."""
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Settings:
    """How the world is stepped."""

    gravity: Annotated[m_s2, READ, positive] = 9.81
    timestep: Annotated[s, Tag("simul_timestep"), non_negative] = 0.0
    """0: 5 ms, or the shortest period of a sensor if that is shorter (`Scene.timestep`)."""
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
    """Without effect, also upstream."""
    min_slope_to_collide: Annotated[one, READ] = -100.0


@dataclass(frozen=True)
class Georeference:
    """Where on Earth the origin of the world lies."""

    latitude: Annotated[float, READ, Allowed(-90.0, 90.0)] = 0.0
    """In degrees, WGS 84."""
    longitude: Annotated[float, READ, Allowed(-180.0, 180.0)] = 0.0
    """In degrees."""
    height: Annotated[m, READ] = 0.0
    """Above the ellipsoid."""
    world_to_enu_rotation: Annotated[rad, Tag("world_to_enu_rotation_deg", degrees=True)] = 0.0
    """Angle from the east to the world's x axis."""
    world_is_utm: Annotated[bool, READ] = False
    """Whether x and y of the world are UTM coordinates."""
    utm_zone: Annotated[int, READ] = 0


@dataclass(frozen=True)
class BlockSpec:
    """An obstacle: something to push, or that stands still."""

    name: str
    pose: Pose
    shape: Shape
    mass: Annotated[kg, READ, positive] = 30.0
    restitution: Annotated[one, READ, non_negative] = 0.01
    lateral_friction: Annotated[one, READ, non_negative] = 0.5
    """Between blocks and what touches them."""
    ground_friction: Annotated[one, READ, non_negative] = 0.5
    linear_damping: Annotated[per_s, READ, non_negative] = 0.1
    angular_damping: Annotated[per_s, READ, non_negative] = 0.1
    static: Annotated[bool, READ] = False
    intangible: Annotated[bool, READ] = False
    """Whether it has no body at all."""
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
    """A place on the path of an actor."""

    pose: Pose
    pause: s = 0.0
    """How long the actor stays there."""
    animation: Literal["", "walk", "run", "idle"] = ""
    """How it goes there; `run` is faster, `idle` stands still."""


@dataclass(frozen=True)
class ActorSpec:
    """A pedestrian on a path of waypoints, who does not react to anything."""

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
    """Whether the path starts again after its last waypoint."""
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
    """In the frame of `body_a`."""
    anchor_b: Point
    min_length: Annotated[m, READ, non_negative] = 0.0
    max_length: Annotated[m, READ, positive] = 0.0
    """Largest length of a rope; 0 is refused."""
    stiffness: Annotated[float, READ, non_negative] = 0.0
    """In N/m; 0: the rope is rigid at its limits."""
    damping: Annotated[float, READ, non_negative] = 0.0
    """In N·s/m."""
    enable_limit: Annotated[bool, READ] = False
    lower_angle: Annotated[rad, Tag("lower_angle_deg", degrees=True)] = 0.0
    """Least angle of `body_b` seen from `body_a`, from the initial angle."""
    upper_angle: Annotated[rad, Tag("upper_angle_deg", degrees=True)] = 0.0
    source: Source = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Scene:
    """A whole world file with all it includes."""

    settings: Settings = Settings()
    vehicles: tuple[VehicleSpec, ...] = ()
    blocks: tuple[BlockSpec, ...] = ()
    walls: tuple[WallSpec, ...] = ()
    elements: tuple[Element, ...] = ()
    """In the order of the file: of regions that overlap, the first counts."""
    joints: tuple[JointSpec, ...] = ()
    actors: tuple[ActorSpec, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    """Sensors that stand in the world."""
    georeference: Georeference | None = None
    gui: Mapping[str, str] = field(default_factory=dict)
    """Options of upstream's window, as texts."""
    lights: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    """World variables at the end of the file."""
    warnings: tuple[str, ...] = ()
    """Parts that are not simulated, or were not understood."""
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
            raise InvalidValue(f"elements has {len(roads)} roads; a world stands on one")

    @property
    def road(self) -> Road | None:
        """The road that everything stands on, or None."""
        return next((e.road for e in self.elements if isinstance(e, RoadGround)), None)

    def on_road(self, road: Road) -> Scene:
        """The same on a road, in place of the one that it was on."""
        if not isinstance(road, Road):
            raise InvalidValue(f"road must be a Road, got {road!r}; Road.load reads a .crg file")
        others = (e for e in self.elements if not isinstance(e, RoadGround))
        return replace(self, elements=(*others, RoadGround(road)))

    @property
    def timestep(self) -> s:
        """Length of a step: as set, else 5 ms or the shortest period of a sensor."""
        if self.settings.timestep > 0.0:
            return self.settings.timestep
        sensors = [*self.sensors, *(one for v in self.vehicles for one in v.sensors)]
        return min([5e-3, *(sensor.period for sensor in sensors if sensor.period > 0.0)])
