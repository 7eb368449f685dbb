"""What a world file describes: the scene before anything moves.

Everything here is plain data, whole and checked, in SI units and radians, with the place in the
files it comes from. Readers of files (`world.xml`) make a `Scene`; the world runs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from ...body import Outline, Point
from ...brief import brief_repr
from ...errors import InvalidValue
from ...files import first_repeated
from ...road.road import Road
from ...units import Allowed, kg, m, m_s, m_s2, non_negative, one, per_s, positive, rad, s
from .elements import (
    Element,
    ElevationMap,
    HorizontalPlane,
    OccupancyGrid,
    Opening,
    PropertyRegion,
    RoadGround,
    VerticalPlane,
    WallSpec,
)
from .fields import COLOUR, NOWHERE, READ, Source, Tag
from .sensors import Camera, Gnss, Imu, Laser, Lidar3d, OwnSensor, RgbdCamera, Sensor
from .shapes import (
    AT_REST,
    Geometry,
    Keyframe,
    Pose,
    Publish,
    Shape,
    Velocity,
    Visual,
)
from .vehicle import Odometry, OwnDynamics, TimedPath, TimedPoint, VehicleSpec

__all__ = [
    "ActorSpec",
    "BlockSpec",
    "Camera",
    "Element",
    "ElevationMap",
    "Geometry",
    "Georeference",
    "Gnss",
    "HorizontalPlane",
    "Imu",
    "JointSpec",
    "Keyframe",
    "Laser",
    "Lidar3d",
    "OccupancyGrid",
    "Odometry",
    "Opening",
    "Outline",
    "OwnDynamics",
    "OwnSensor",
    "Point",
    "Pose",
    "PropertyRegion",
    "Publish",
    "RgbdCamera",
    "RoadGround",
    "Scene",
    "Sensor",
    "Settings",
    "Shape",
    "Source",
    "TimedPath",
    "TimedPoint",
    "VehicleSpec",
    "Velocity",
    "VerticalPlane",
    "Visual",
    "WallSpec",
    "Waypoint",
]


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
    """Of ramps and bumps, which vehicles can climb."""
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
    """Somebody who walks along waypoints whatever happens."""

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
    """Of a rope, which has to be given."""
    stiffness: Annotated[float, READ, non_negative] = 0.0
    """In N/m; 0: the rope is rigid at its limits."""
    damping: Annotated[float, READ, non_negative] = 0.0
    """In N·s/m."""
    enable_limit: Annotated[bool, READ] = False
    lower_angle: Annotated[rad, Tag("lower_angle_deg", degrees=True)] = 0.0
    """Of `body_b` seen from `body_a`, from the initial angle."""
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
    """What was read but is not simulated, and what was not understood."""
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
        """What everything stands on, if that is a road."""
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
