"""Topics of the robots of a world: motion, transforms, collisions, sensors, the map, and markers.

`numbers_of` computes the motion of all robots as tables with a row for each; a `FleetTopic` fills
in the messages of all robots together and writes them one by one. Each robot has its own topics,
prefixed with its name if there are several. Frames have the same names for each robot and differ in
the topic, `ROBOT/tf`, as for Nav2; in one shared tree on `/tf` they are prefixed with the robot's
name.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import cos, isnan, sin
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array, Mask
from ...geometry.maps.map import cells_under
from ...geometry.maps.occupancy import Grid
from ...geometry.polygon import enclosed, ring_edges
from ...geometry.pose import points_to_world
from ...units import m, rad, s
from ...view.recording.messages import quaternion, quaternions
from ...view.solids import ORIGIN, Polyline, planar
from ...view.stage import wheel_corners
from ...world import scene as specs
from ...world.contact.solids import standing_solids
from ...world.scene import OccupancyGrid, Pose, Scene
from ...world.world import World
from ..dds import LATCHED, TF, Qos
from ..messages.types import Prepared, PreparedMany, message
from ..node import SECOND, Node
from .common import (
    ORIENTATION,
    POSITION,
    STAMP,
    TRANSFORM,
    HotTopic,
    Rigid,
    Stream,
    header,
    inside,
    marker,
    tf_message,
)

_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class Numbers(NamedTuple):
    """The motion of all vehicles of a world at one time, a row for each in their order."""

    truth: Array
    """Position x, y, z, quaternion x, y, z, w, then v_x, v_y and omega along the vehicle."""
    odometry: Array
    """Position x, y, quaternion z, w, then v_x and omega."""
    correction: Array
    """Pose of the frame `odom` on the map: position x, y, z, quaternion x, y, z, w."""


def numbers_of(world: World, *, corrected: bool) -> Numbers:
    """Current motion of all vehicles; if not `corrected`, `odom` is at the origin of the map."""
    motion, odometry = world.motion(in_world=False), world.odometry()
    count, yaw = len(motion), motion[:, 2]
    truth = np.zeros((count, 10))
    truth[:, :2], truth[:, 7:] = motion[:, :2], motion[:, 3:]
    if world.uneven:
        z, pitch, roll = world.attitudes().T
        truth[:, 2], truth[:, 3:7] = z, quaternions(yaw, pitch, roll)
    else:
        truth[:, 5], truth[:, 6] = np.sin(0.5 * yaw), np.cos(0.5 * yaw)
    half = 0.5 * odometry[:, 2]
    reckoned = np.empty((count, 6))
    reckoned[:, :2], reckoned[:, 4:] = odometry[:, :2], odometry[:, 3:]
    reckoned[:, 2], reckoned[:, 3] = np.sin(half), np.cos(half)
    if not corrected:
        at = np.tile(_ORIGIN, (count, 1))
    elif world.uneven:
        at = _correction(truth, reckoned)
    else:
        # The same correction as `_correction`, for vehicles without roll and pitch.
        x, y, z, w = reckoned.T[:4]
        q_z, q_w = truth[:, 5] * w - truth[:, 6] * z, truth[:, 6] * w + truth[:, 5] * z
        cosine, sine = q_w * q_w - q_z * q_z, 2.0 * q_z * q_w
        at = np.zeros((count, 7))
        at[:, 0] = truth[:, 0] - (cosine * x - sine * y)
        at[:, 1] = truth[:, 1] - (sine * x + cosine * y)
        at[:, 5], at[:, 6] = q_z, q_w
    return Numbers(truth, reckoned, at)


def _correction(truth: Array, reckoned: Array) -> Array:
    """Pose of `odom` on the map that makes odometry agree with the true pose."""
    x, y, z, w = reckoned.T[:4]
    q_x, q_y, q_z, q_w = truth[:, 3:7].T
    # Rotation of the vehicle, relative to the odometry's rotation about z.
    a, b = q_x * w - q_y * z, q_y * w + q_x * z
    c, d = q_z * w - q_w * z, q_w * w + q_z * z
    moved = (
        (1.0 - 2.0 * (b * b + c * c)) * x + 2.0 * (a * b - c * d) * y,
        2.0 * (a * b + c * d) * x + (1.0 - 2.0 * (a * a + c * c)) * y,
        2.0 * (a * c - b * d) * x + 2.0 * (b * c + a * d) * y,
    )
    return np.column_stack([truth[:, :3] - np.column_stack(moved), a, b, c, d])


MAP = "map"
AHEAD: s = 0.05
"""Time by which the stamp of the transform from map to `odom` lies ahead, so that no reader waits
for it."""


@dataclass(frozen=True)
class RobotNames:
    vehicle: str
    """Name of the vehicle in the world."""
    prefix: str
    """Prefix of topics: empty, or the name and a slash."""
    frame_prefix: str
    tf: str
    """Topic of the robot's moving frames."""
    tf_static: str

    @classmethod
    def of(cls, vehicle: str, *, spaced: bool, shared: bool) -> RobotNames:
        """Names of a robot's topics and frames.

        With `spaced`, topics are prefixed with its name; with `shared`, all robots have one tree of
        frames.
        """
        name = legal(vehicle)
        prefix = f"{name}/" if spaced else ""
        if shared:
            return cls(vehicle, prefix, f"{name}/", "/tf", "/tf_static")
        return cls(vehicle, prefix, "", f"{prefix}tf", f"{prefix}tf_static")

    def topic(self, name: str) -> str:
        return f"{self.prefix}{legal(name)}"

    def frame(self, name: str) -> str:
        return f"{self.frame_prefix}{legal(name)}"


def legal(name: str) -> str:
    """Replace characters that are not allowed in topic names by underscores."""
    changed = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{changed}" if changed[:1].isdigit() or not changed else changed


class FleetTopic:
    """Topic that every robot has, with the same message type.

    Args:
        node: the node.
        robots: names of the robots.
        topic: function that returns the topic of a robot.
        type_name: type of the messages.
        qos: quality of service.
        record: function that returns the initial message of a robot.
        paths: numeric fields that `publish` sets, as dotted paths.
    """

    def __init__(
        self,
        node: Node,
        robots: Sequence[RobotNames],
        topic: Callable[[RobotNames], str],
        type_name: str,
        qos: Qos,
        record: Callable[[RobotNames], Any],
        paths: Sequence[str],
    ) -> None:
        self.topics = [Stream(node.publisher(topic(names), type_name, qos)) for names in robots]
        alike: dict[int, list[int]] = {}
        for k, names in enumerate(robots):
            alike.setdefault(len(names.frame_prefix), []).append(k)
        self._parts: list[tuple[Any, list[Any]]] = []
        self._data: dict[int, memoryview] = {}
        for numbers in alike.values():
            many = PreparedMany(self.topics[0].topic.type, [record(robots[k]) for k in numbers])
            rows = slice(None) if len(alike) == 1 else np.array(numbers)
            self._parts.append((rows, [many.column(path) for path in paths]))
            self._data |= zip(numbers, many.rows, strict=True)

    def publish(self, *values: float | Array) -> None:
        """Write the messages of all topics that have subscribers.

        There is one value per path: a number for all robots, or an array with a number per robot.
        """
        if not any(one.wanted for one in self.topics):
            return
        for rows, columns in self._parts:
            for column, value in zip(columns, values, strict=True):
                column[:] = value[rows] if isinstance(value, np.ndarray) else value
        for k, one in enumerate(self.topics):
            if one.wanted:
                one.topic.write(self._data[k])


_POSE = (*POSITION, *ORIENTATION)
_TWIST = ("twist.twist.linear.x", "twist.twist.linear.y", "twist.twist.angular.z")


class Robots:
    """Odometry, ground truth and localisation of all robots.

    Args:
        node: the node.
        names: names of the robots.
        qos: quality of service of topics that are not latched.
        localised: whether poses on the map are published, as by localisation.
        upstream: whether messages have upstream's errors.
    """

    def __init__(
        self, node: Node, names: Sequence[RobotNames], qos: Qos, *, localised: bool, upstream: bool
    ) -> None:
        self._upstream = upstream

        def frame(robot: RobotNames) -> str:
            # Upstream gives "odom" as the frame of positions on the map.
            return robot.frame("odom") if upstream else MAP

        def topic(name: str, kind: str, record: Any, paths: Any, qos: Qos = qos) -> FleetTopic:
            filled, paths = lambda robot: message(kind, *record(robot)), (*STAMP, *paths)
            return FleetTopic(node, names, lambda it: it.topic(name), kind, qos, filled, paths)

        self._odometry = topic(
            "odom",
            "nav_msgs/msg/Odometry",
            lambda robot: (header(robot.frame("odom")), robot.frame("base_link")),
            (*inside("pose.pose", *POSITION[:2], *ORIENTATION[2:]), _TWIST[0], _TWIST[2]),
        )
        self._truth = topic(
            "base_pose_ground_truth",
            "nav_msgs/msg/Odometry",
            lambda robot: (header(frame(robot)), robot.frame("base_link")),
            (*inside("pose.pose", *_POSE), *_TWIST),
        )
        self._localisation: list[FleetTopic] = []
        if localised:
            kind, paths = "geometry_msgs/msg/PoseWithCovarianceStamped", inside("pose.pose", *_POSE)
            estimate = topic("amcl_pose", kind, lambda it: (header(frame(it)),), paths, LATCHED)
            kind, paths = "geometry_msgs/msg/PoseArray", inside("poses[0]", *_POSE)
            cloud = topic(
                "particlecloud", kind, lambda _: (header(MAP), [()]), paths, qos._replace(depth=1)
            )
            self._localisation = [estimate, cloud]

    @property
    def audiences(self) -> list[Stream]:
        topics = (self._odometry, self._truth, *self._localisation)
        return [one for topic in topics for one in topic.topics]

    def publish(self, stamp: Sequence[int], numbers: Numbers) -> None:
        truth, reckoned = numbers.truth.T, numbers.odometry.T
        # Upstream's odometry lacks the velocities that Nav2 needs.
        speeds = (0.0, 0.0) if self._upstream else reckoned[4:]
        self._odometry.publish(*stamp, *reckoned[:4], *speeds)
        self._truth.publish(*stamp, *truth)
        for topic in self._localisation:
            topic.publish(*stamp, *truth[:7])


class OwnTrees:
    """The moving frames of every robot on a topic of its own.

    Args:
        node: the node.
        names: names of the robots.
        localised: whether the frame `odom` on the map is published.
        reckoned: whether the frame `base_link` in `odom` is published.
    """

    def __init__(
        self, node: Node, names: Sequence[RobotNames], localised: bool, reckoned: bool
    ) -> None:
        self._parts = localised, reckoned

        def record(robot: RobotNames) -> Any:
            return tf_message([(*pair, Rigid()) for pair in _pairs(robot, *self._parts)])

        paths, kind = _paths(0, *self._parts), "tf2_msgs/msg/TFMessage"
        self._topic = FleetTopic(node, names, lambda it: it.tf, kind, TF, record, paths)
        self.audiences = self._topic.topics

    def publish(self, stamp: Sequence[int], ahead: Sequence[int], numbers: Numbers) -> None:
        """Publish the frames; `ahead` is the stamp of those on the map."""
        localised, reckoned = self._parts
        on_map = (*ahead, *numbers.correction.T) if localised else ()
        in_odom = (*stamp, *numbers.odometry.T[:4]) if reckoned else ()
        if on_map or in_odom:
            self._topic.publish(*on_map, *in_odom)


class SharedTree:
    """The moving frames of all robots in one message; arguments as for `OwnTrees`."""

    def __init__(
        self, node: Node, names: Sequence[RobotNames], localised: bool, reckoned: bool
    ) -> None:
        self._stream = Stream(node.publisher("/tf", "tf2_msgs/msg/TFMessage", TF))
        self.audiences = [self._stream]
        self._parts = localised, reckoned
        pairs = [pair for robot in names for pair in _pairs(robot, *self._parts)]
        message = tf_message([(*pair, Rigid()) for pair in pairs])
        self._message = Prepared(self._stream.topic.type, message)
        each = sum(self._parts)
        paths = [_paths(k * each, *self._parts) for k in range(len(names))] if each else []
        self._puts = [self._message.patcher(*own) for own in paths]

    def publish(self, stamp: Sequence[int], ahead: Sequence[int], numbers: Numbers) -> None:
        """Publish the frames; `ahead` is the stamp of those on the map."""
        if not (self._stream.wanted and self._puts):
            return
        localised, reckoned = self._parts
        places = zip(numbers.correction.tolist(), numbers.odometry.tolist(), strict=True)
        for put, (on_map, in_odom) in zip(self._puts, places, strict=True):
            own = [*ahead, *on_map] if localised else []
            put(*own, *([*stamp, *in_odom[:4]] if reckoned else ()))
        self._stream.topic.write(self._message.data)


def _pairs(robot: RobotNames, localised: bool, reckoned: bool) -> list[tuple[str, str]]:
    """Pairs of parent and child frame."""
    odom, base = robot.frame("odom"), robot.frame("base_link")
    return [(MAP, odom)] * localised + [(odom, base)] * reckoned


def _paths(first: int, localised: bool, reckoned: bool) -> list[str]:
    """Field paths of the frames of one robot, which begin at index `first` in the message."""
    kinds = [TRANSFORM] * localised + [(*TRANSFORM[:4], *TRANSFORM[7:])] * reckoned
    return [*chain(*(inside(f"transforms[{first + k}]", *kind) for k, kind in enumerate(kinds)))]


NEAREST = 0.02
"""Range in m below which readings are invalid for upstream."""
_NOT_MEASURED = -1.0
"""First entry of a covariance that means "no estimate"."""
_FIX, _GPS = 0, 1
_DIAGONAL_KNOWN = 2


def rigid_of(pose: Pose) -> Rigid:
    """Pose of a sensor on its vehicle, as a frame."""
    return Rigid((pose.x, pose.y, pose.z), quaternion(pose.yaw, pose.pitch, pose.roll))


class SensorTopic(ABC):
    """The topic of a sensor.

    Args:
        node: the node.
        names: names of the robot.
        spec: the sensor.
        qos: quality of service.
        type_name: type of the messages.
        paths: fields of the numbers that change.
        **fields: constant values of other fields.
    """

    def __init__(
        self,
        node: Node,
        names: RobotNames,
        spec: specs.Sensor,
        qos: Qos,
        type_name: str,
        paths: Sequence[str] = (),
        **fields: Any,
    ) -> None:
        fields["header"] = header(names.frame(spec.name))
        topic = names.topic(spec.name)
        self.stream = HotTopic(node, topic, type_name, (*STAMP, *paths), qos, **fields)

    @abstractmethod
    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        """Send a reading with its time stamp in s and ns."""


class LaserTopic(SensorTopic):
    def __init__(
        self, node: Node, names: RobotNames, spec: specs.Laser, qos: Qos, upstream: bool
    ) -> None:
        step = spec.fov / (spec.nrays - 1) if spec.nrays > 1 else 0.0
        first = -0.5 * spec.fov if spec.nrays > 1 else 0.0
        super().__init__(
            *(node, names, spec, qos, "sensor_msgs/msg/LaserScan"),
            angle_min=first,
            angle_max=-first,
            angle_increment=step,
            scan_time=0.0 if upstream else spec.period,
            range_min=NEAREST,
            range_max=spec.max_range,
            ranges=np.zeros(spec.nrays, np.float32),
        )
        self._ranges = self.stream.message.array("ranges")
        # Upstream reports the largest range for rays without an obstacle.
        self._farthest = spec.max_range if upstream else np.inf

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        np.minimum(reading.ranges, self._farthest, out=self._ranges, casting="same_kind")
        self.stream.send(*stamp)


class ImuTopic(SensorTopic):
    """Readings of an IMU, with an attitude estimate relative to east and north."""

    def __init__(self, node: Node, names: RobotNames, spec: specs.Imu, qos: Qos, east: rad) -> None:
        deviations = (
            spec.orientation_std_noise if spec.measure_orientation else 0.0,
            spec.angular_velocity_white_noise,
            spec.linear_acceleration_white_noise,
        )
        orientation, rates, forces = (_diagonal(*[std**2] * 3) for std in deviations)
        if not spec.measure_orientation:
            orientation[0] = _NOT_MEASURED
        vectors = inside("angular_velocity", *"xyz"), inside("linear_acceleration", *"xyz")
        super().__init__(
            *(node, names, spec, qos, "sensor_msgs/msg/Imu", (*chain(*vectors), *ORIENTATION)),
            orientation_covariance=orientation,
            angular_velocity_covariance=rates,
            linear_acceleration_covariance=forces,
        )
        self._east = Rigid.planar(0.0, 0.0, east)
        self._mounting = rigid_of(spec.pose)

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        turn = (0.0, 0.0, 0.0, 1.0)
        if not isnan(reading.yaw):
            vehicle = rigid_of(Pose(0.0, 0.0, 0.0, reading.yaw, reading.pitch, reading.roll))
            turn = (self._east @ vehicle @ self._mounting).rotation
        self.stream.send(*stamp, *reading[3:6], *reading[:3], *turn)


class GnssTopic(SensorTopic):
    def __init__(self, node: Node, names: RobotNames, spec: specs.Gnss, qos: Qos) -> None:
        across, up = spec.horizontal_std_noise**2, spec.vertical_std_noise**2
        place = ("latitude", "longitude", "altitude")
        super().__init__(
            *(node, names, spec, qos, "sensor_msgs/msg/NavSatFix", place),
            status=(_FIX, _GPS),
            position_covariance=_diagonal(across, across, up),
            position_covariance_type=_DIAGONAL_KNOWN,
        )

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        self.stream.send(*stamp, reading.latitude, reading.longitude, reading.altitude)


def _diagonal(*variances: float) -> list[float]:
    return np.diag(variances).ravel().tolist()


MARGIN: m = 1.0
"""Width of the free cells around a map."""
MOST_CELLS = 16_000_000
"""Largest number of cells of a map; a larger world gets larger cells."""
FREE, OCCUPIED, UNKNOWN = 0, 100, -1
_CHASSIS_COLOUR = (0.9, 0.9, 0.9, 0.9)
_WHEEL_COLOUR = (0.196, 0.196, 0.196, 1.0)


def map_of(scene: Scene, resolution: m) -> Grid | None:
    """Occupancy grid of all static obstacles that covers the starts of the robots.

    None if there are no obstacles. An occupancy grid that is the only obstacle is returned as is.
    """
    grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
    outlines = [
        points_to_world(pose[:3], np.array(part.outline, dtype=float))
        for parts, pose in standing_solids(scene)
        for part in parts
    ]
    if len(grids) == 1 and not outlines:
        return grids[0]
    corners = [*outlines, *(grid.corners for grid in grids)]
    if not corners:
        return None
    robots = [[vehicle.pose[:2]] for vehicle in scene.vehicles]
    ends = np.concatenate([*corners, *robots])
    bounds = (*ends.min(axis=0).tolist(), *ends.max(axis=0).tolist())
    cells = _cells(bounds, min([resolution, *(grid.resolution for grid in grids)]))
    occupied = np.zeros(cells.shape, dtype=np.bool_)
    for grid in grids:
        occupied |= grid.at(cells.centres().reshape(-1, 2)).reshape(cells.shape)
    for outline in outlines:
        _draw(occupied, cells.to_grid(outline) / cells.resolution)
    return Grid(occupied, cells.resolution, cells.origin)


def _cells(bounds: tuple[m, m, m, m], resolution: m) -> Grid:
    """Free cells over `bounds`, larger ones if there would be too many."""
    x0, y0, x1, y1 = bounds
    area = (x1 - x0 + 2.0 * MARGIN) * (y1 - y0 + 2.0 * MARGIN)
    return Grid.over(bounds, max(resolution, (area / MOST_CELLS) ** 0.5), MARGIN)


def _draw(occupied: Mask, ring: Array) -> None:
    """Mark the cells that an outline, in units of cells, touches or contains."""
    edges = ring_edges(ring)
    (left, low), (right, high) = (np.floor(end).astype(int) for end in (ring.min(0), ring.max(0)))
    part = occupied[max(low - 1, 0) : high + 2, max(left - 1, 0) : right + 2]
    corner = np.array([max(left - 1, 0), max(low - 1, 0)], dtype=float)
    part |= cells_under(edges - np.tile(corner, 2), part.shape)
    rows, columns = np.indices(part.shape)
    middles = np.stack([columns, rows], axis=-1, dtype=np.float64).reshape(-1, 2) + 0.5 + corner
    part |= enclosed(middles, ring).reshape(part.shape)


def map_message(grid: Grid, stamp: Any) -> Any:
    """Make a `nav_msgs/OccupancyGrid`."""
    cells = np.where(grid.occupied, np.int8(OCCUPIED), np.int8(FREE))
    if grid.unknown is not None:
        cells = np.where(grid.unknown, np.int8(UNKNOWN), cells)
    rows, columns = grid.shape
    info = (stamp, grid.resolution, columns, rows, planar(*grid.origin))
    return message("nav_msgs/msg/OccupancyGrid", (stamp, MAP), info, cells.ravel())


PERIOD: s = 0.1
"""Least time between two messages."""


class Markers:
    """The topic `chassis_markers` of one robot: published when its wheels turn."""

    def __init__(self, node: Node, names: RobotNames, number: int, world: World) -> None:
        self._name, self._world = names.vehicle, world
        vehicle = world.vehicles[names.vehicle]
        topic, qos = names.topic("chassis_markers"), LATCHED._replace(depth=5)
        self._topic = node.publisher(topic, "visualization_msgs/msg/MarkerArray", qos)
        # Outlines of the chassis, then of the wheels.
        geometry, space = vehicle.built.geometry, "mvsim.chassis_shape"
        wheels = geometry.wheels
        outlines = [(space, geometry.outlines[0], ORIGIN, _CHASSIS_COLOUR)]
        outlines += [
            (f"{space}.wheel{k}", wheel_corners(w), planar(w.x, w.y, w.yaw), _WHEEL_COLOUR)
            for k, w in enumerate(wheels)
        ]
        markers: list[Any] = []
        for own, outline, placement, colour in outlines:
            points = [(x, y, 0.0) for x, y in outline]
            line = Polyline(points, colour, closed=True, width=0.05, placement=placement)
            markers.append(marker(names.frame("base_link"), own, number, line, frame_locked=True))
        self._message = Prepared(self._topic.type, message(self._topic.type, markers))
        steered = [(k, wheel.steer) for k, wheel in enumerate(wheels) if wheel.steer]
        self._fields = [field for _, field in steered]
        paths = [f"markers[{1 + k}].pose.orientation.{axis}" for k, _ in steered for axis in "zw"]
        self._put = self._message.patcher(*paths) if paths else None
        self._shown: list[float] = []
        self.restart()

    def restart(self) -> None:
        """Publish at the next chance, as at the start."""
        self._next = 0
        self._topic.write(self._message.data)

    def publish(self, now: int) -> None:
        """Publish if the wheels have turned; `now` is in ns."""
        if self._put is None or now < self._next:
            return
        vehicle = self._world.vehicles[self._name]
        bodies = vehicle.bodies
        (angles,) = bodies.fields(self._fields, [vehicle.row], bodies.group.state)
        if angles == self._shown:
            return
        self._shown, self._next = angles, now + round(PERIOD * SECOND)
        self._put(*(part for angle in angles for part in (sin(0.5 * angle), cos(0.5 * angle))))
        self._topic.write(self._message.data)
