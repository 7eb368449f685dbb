"""Topics of a recording: its messages and their layout.

Sensors other than lidars come first, with their mounting poses: a reading is a row of numbers with
the time at which it was taken, and `COLUMNS` lists the numbers of each kind. The kind is also the
role of the sensor's topics. Then the solids of bodies and fixed objects as scenes, and `Topics`,
which makes all messages of a stage.

The topics are listed in `docs/recording.md`. All messages that change with the samples, except
`/NAME/state`, are derived from the state for viewers, so their rate is limited to what screens
show. Constant messages come at the beginning and once a minute: viewers that seek look for the
latest message of each topic, and an excerpt of a file still contains them.
"""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import cos, sin
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.record import unknown_name
from ...errors import InvalidValue
from ..solids import (
    ORIGIN,
    UPRIGHT,
    Box,
    Cylinder,
    Entity,
    Mesh,
    Polyline,
    Solid,
    body_entities,
    still_entities,
)
from ..stage import Body, Stage
from . import messages as pb
from .mcap import libraries, with_checksum
from .messages import cells

if TYPE_CHECKING:
    from mcap.records import Channel, Schema

SensorKind = Literal["imu", "gnss", "odometry", "bumper"]
KINDS: Mapping[SensorKind, str] = {
    "imu": "skidpad.Imu",
    "gnss": "foxglove.LocationFix",
    "odometry": "skidpad.Odometry",
    "bumper": "skidpad.Bumper",
}
"""Message types by kind of sensor."""
COLUMNS: Mapping[SensorKind, tuple[tuple[str, str], ...]] = {
    "imu": (
        *((f"omega_{axis}", "rad/s") for axis in "xyz"),
        *((f"f_{axis}", "m/s²") for axis in "xyz"),
    ),
    "gnss": (("latitude", "deg"), ("longitude", "deg"), ("altitude", "m")),
    "odometry": (("x", "m"), ("y", "m"), ("yaw", "rad"), ("v_x", "m/s"), ("omega", "rad/s")),
    "bumper": (("touching", "1"),),
}
"""Names and units of a reading's numbers, by kind of sensor."""
_DIAGONAL_KNOWN = 2
"""Kind of a covariance with a known diagonal."""
ORIENTATION = tuple((f"orientation_{axis}", "1") for axis in "xyzw")
"""Additional numbers of an inertial unit with orientation: a quaternion."""


class SensorMount(NamedTuple):
    """Kind and mounting pose of a sensor on a body."""

    name: str
    body: str
    kind: SensorKind = "imu"
    x: float = 0.0
    """Position in the frame of the body, in m."""
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    """Mounting angles roll, pitch and yaw, in rad."""
    pitch: float = 0.0
    yaw: float = 0.0
    oriented: bool = False
    """Whether an inertial unit also measures orientation."""
    deviations: tuple[float, float] = (0.0, 0.0)
    """Horizontal and vertical standard deviation of a GNSS receiver, in m."""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and units of a reading's numbers."""
        return COLUMNS[self.kind] + (ORIENTATION if self.oriented else ())


def sensor_numbers(mount: SensorMount, number: int = 0) -> pb.Template:
    """End of a sensor's message: the numbers of a reading."""
    width = len(mount.columns)
    own = cells("reading", range(number * width, (number + 1) * width))
    match mount.kind:
        case "imu":
            return pb.encode("Imu", None, None, own[6:] or None, own[:3], own[3:6])
        case "gnss":
            return pb.encode("LocationFix", *own)
        case "odometry":
            return pb.encode("Odometry", None, None, None, *own)
        case "bumper":
            return pb.encode("Bumper", touching=pb.Cell("flag", 0))


class SensorLog(NamedTuple):
    """Readings of a sensor other than a lidar."""

    mount: SensorMount
    """Kind, name, body and mounting pose of the sensor."""
    times: Array
    """Measurement times (n,) in s."""
    values: Array
    """Readings (n, columns) in the order of `columns`."""

    __repr__ = brief_repr

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and units of a reading's numbers.

        For an inertial unit: rates, specific forces along its own axes, and with orientation the
        quaternion of its body.
        """
        return self.mount.columns

    def column(self, name: str) -> Array:
        """One number of all readings, (n,)."""
        names = [known for known, _ in self.columns]
        if name not in names:
            raise InvalidValue(unknown_name(self.mount.name, name, names, "column"))
        return self.values[:, names.index(name)]


_SHADES = {0: (255, 255, 255, 0), 255: (40, 42, 46, 255)}
"""Red, green, blue and opacity of free and occupied cells."""
_UNSURE = (150, 152, 156, 90)


def scene(entities: Iterable[Entity]) -> pb.Template:
    """SceneUpdate of entities, which are attached to their frames and do not expire."""
    updates: list[pb.Template] = []
    for frame, name, own in entities:
        head = pb.encode(
            "SceneEntity", timestamp=pb.NOW, frame_id=frame, id=name, frame_locked=True
        )
        whole = pb.join_templates([head, *map(_primitive, own)])
        updates.append(pb.encode("SceneUpdate", entities=whole))
    return pb.join_templates(updates)


def _primitive(solid: Solid) -> pb.Template:
    """Solid as a part of a SceneEntity."""
    match solid:
        case Mesh(points, corners, colour):
            indices = np.array(corners, "<u4").tobytes()
            mesh = (ORIGIN, [*points], colour, None, indices)
            return pb.encode("SceneEntity", triangles=mesh)
        case Box():
            return pb.encode("SceneEntity", cubes=tuple(solid))
        case Cylinder(placement, size, colour, top):
            return pb.encode("SceneEntity", cylinders=(placement, size, 1.0, top, colour))
        case Polyline(points, colour, closed, width, placement):
            line = (closed, placement, width, None, [*points], colour)
            return pb.encode("SceneEntity", lines=line)


FORMAT = 1
"""Version of the recording's layout; readers refuse newer ones."""
RECORDING = "skidpad.recording"
"""Name of the metadata record that identifies a recording: format, program, stage."""
NOTES = "skidpad.notes"
"""Name of the metadata records with notes on the run, as JSON."""
LOST = "lost_samples"
"""Note of a failed recording: number of lost samples, and first and last time in s."""
ROLE, BODY, NUMBER, UNITS = "role", "body", "number", "units"
"""Keys in the metadata of channels: role of the topic, its body, index of the lidar or sensor
in the recording, and the units of its fields as JSON."""
_Place = tuple[tuple[pb.Cell | None, ...], tuple[pb.Cell | None, ...]]
"""Cells of a position and of a quaternion."""
SENSOR = "sensor"
"""Key in the metadata of sensor channels: their `SensorMount` as JSON."""
MOST_TOPICS = 65535
CROWD = 20
"""Number of vehicles above which poses share a topic: hundreds of topics help no viewer, and
each message costs more than the pose in it."""


class Topics:
    """Topics and message templates of a stage; `rotations` computes the quaternion table of
    rows."""

    def __init__(
        self, stage: Stage, sensors: Sequence[Sequence[SensorMount]] = (), *, contacts: bool = False
    ) -> None:
        self._stage, self._mounts = stage, sensors
        self.schemas: list[Schema] = []
        self.channels: list[Channel] = []
        self._names: set[str] = set()
        frames = unique([pb.WORLD, *(body.name for body in stage.bodies)])[1:]
        self._bodies = dict(zip(frames, stage.bodies, strict=True))
        self._frames = {body.name: frame for frame, body in self._bodies.items()}
        steered = sum(w.steer is not None for body in stage.bodies for w in body.wheels)
        self.rotations = pb.Rotations(steered + sum(_tilt(body) is None for body in stage.bodies))
        self.states = list(self._state_messages())
        """Messages of every sample."""
        self.motion = list(self._motion_messages())
        """Messages of the samples at the rate of viewers."""
        self.sensors = [*self._lidar_messages(), *self._sensor_messages()]
        """Messages of each lidar in the order of the stage, then of each group of sensors
        that are read together."""
        self.contacts = self._topic("/contacts", "skidpad.Contact", "contacts") if contacts else 0
        """Channel number of contacts; 0 without contacts."""
        self.still = list(self._still_messages())
        """Constant messages, written at the beginning and repeated."""
        if len(self.channels) > MOST_TOPICS:
            raise InvalidValue(
                f"a recording has at most {MOST_TOPICS} topics; this stage needs "
                f"{len(self.channels)}"
            )

    def _frame(self, body: str) -> str:
        return self._frames.get(body, pb.WORLD)

    def _topic(
        self,
        topic: str,
        kind: str,
        role: str,
        notes: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> int:
        """Add a topic; returns its channel number. `fields` are those of a state."""
        schema = next((schema for schema in self.schemas if schema.name == kind), None)
        if schema is None:
            state = fields is not None
            data = pb.state_descriptor(kind, fields) if state else pb.descriptor_set(kind)
            schema = libraries.records.Schema(len(self.schemas) + 1, data, "protobuf", kind)
            self.schemas.append(schema)
        while topic in self._names:
            topic += "_"
        self._names.add(topic)
        metadata = with_checksum(topic, {ROLE: role, **(notes or {})})
        number = len(self.channels) + 1
        channel = libraries.records.Channel(number, topic, "protobuf", metadata, schema.id)
        self.channels.append(channel)
        return number

    def _state_messages(self) -> Iterator[pb.Message]:
        kinds: dict[tuple[tuple[str, str], ...], str] = {}
        models = {body.name: body.model or body.kind for body in self._stage.bodies}
        for body, columns in channels_by_body(self._stage).items():
            if len(columns) > pb.MOST_CHANNELS:
                raise InvalidValue(
                    f"{body} has {len(columns)} channels; a recording takes at most "
                    f"{pb.MOST_CHANNELS} of one body"
                )
            channels = [self._stage.channels[k] for k in columns]
            kind = tuple((c.name, c.unit) for c in channels)
            if kind not in kinds:
                others = [name.rpartition(".")[2] for name in kinds.values()]
                model = identifier(models.get(body, "clock"))
                kinds[kind] = f"skidpad.{unique([*others, model])[-1]}"
            fields = unique(["t", *(identifier(c.name) for c in channels)])[1:]
            units = {field: c.unit for field, c in zip(fields, channels, strict=True)}
            notes = {BODY: body, UNITS: json.dumps({"t": "s", **units}, ensure_ascii=False)}
            topic = f"/{self._frames.get(body) or identifier(body)}/state"
            number = self._topic(topic, kinds[kind], "state", notes, fields)
            yield number, pb.state(columns)

    def _motion_messages(self) -> Iterator[pb.Message]:
        places = {frame: self._place(body) for frame, body in self._bodies.items()}
        if not places:
            return
        transforms: list[tuple[Any, ...]] = [
            (pb.NOW, pb.WORLD, frame, *place) for frame, place in places.items()
        ]
        for frame, body in self._bodies.items():
            for wheel in body.wheels:
                if wheel.steer is not None:
                    rotation = self.rotations.upright(wheel.steer, wheel.yaw)
                    at, name = (wheel.x, wheel.y, 0.0), f"{frame}/{wheel.name}"
                    transforms.append((pb.NOW, frame, name, at, rotation))
        number = self._topic("/tf", "foxglove.FrameTransforms", "transforms")
        yield number, pb.encode("FrameTransforms", transforms=transforms)
        vehicles = [f for f, body in self._bodies.items() if body.kind == "vehicle"]
        yield from self._pose_messages({frame: places[frame] for frame in vehicles})
        for frame in vehicles:
            yield from self._true_imu_messages(frame, self._bodies[frame])

    def _pose_messages(self, places: Mapping[str, _Place]) -> Iterator[pb.Message]:
        """Pose messages of each vehicle, or of all together."""
        if len(places) > CROWD:
            number = self._topic("/poses", "foxglove.PosesInFrame", "poses")
            yield number, pb.encode("PosesInFrame", pb.NOW, pb.WORLD, [*places.values()])
            return
        for frame, place in places.items():
            number = self._topic(f"/{frame}/pose", "foxglove.PoseInFrame", "pose")
            yield number, pb.encode("PoseInFrame", pb.NOW, pb.WORLD, place)

    def _true_imu_messages(self, frame: str, body: Body) -> Iterator[pb.Message]:
        """Ideal IMU messages of a vehicle on level ground that has no inertial unit.

        Its accelerations must be outputs or measured: those that are states are the memory of a
        model, often smoothed, not the motion.
        """
        omega = body.channels.get("omega")
        units = (one for group in self._mounts for one in group if one.kind == "imu")
        if omega is None or _tilt(body) or any(unit.body == body.name for unit in units):
            return
        roles = {n: self._stage.channels[k].role for n, k in body.channels.items()}
        a_x, a_y = (
            f"out_{name}" if roles.get(f"out_{name}") == "measured" else name
            for name in ("a_x", "a_y")
        )
        if {roles.get(a_x), roles.get(a_y)} <= {"output", "measured"}:
            number = self._topic(f"/{frame}/imu", "skidpad.Imu", "true imu")
            rate = pb.cells("row", (None, None, omega))
            forces = pb.cells("row", (body.channels[a_x], body.channels[a_y]))
            yield (
                number,
                pb.encode("Imu", pb.NOW, frame, None, rate, (*forces, pb.STANDARD_GRAVITY)),
            )

    def _place(self, body: Body) -> _Place:
        tilt, turned = _tilt(body), self.rotations
        rotation = turned.tilted(body.yaw, *tilt) if tilt else turned.upright(body.yaw)
        return cells("row", (body.x, body.y, body.channels.get("z"))), rotation

    def _lidar_messages(self) -> Iterator[list[pb.Message]]:
        for k, scan in enumerate(self._stage.scans):
            frame = self._frame(scan.body)
            topic, notes = f"/{frame}/{identifier(scan.name)}", {BODY: scan.body, NUMBER: str(k)}
            number = self._topic(topic, "foxglove.LaserScan", "scan", notes)
            pose = (scan.x, scan.y, 0.0), (0.0, 0.0, sin(0.5 * scan.yaw), cos(0.5 * scan.yaw))
            angles = scan.first_angle, scan.first_angle + scan.step * (scan.count - 1)
            head = pb.encode("LaserScan", pb.NOW, frame, pose, *angles)
            yield [(number, pb.join_templates([head, pb.laser_ranges(scan.count)]))]

    def _sensor_messages(self) -> Iterator[list[pb.Message]]:
        numbers = itertools.count()
        for group in self._mounts:
            unknown = [one.kind for one in group if one.kind not in KINDS]
            if unknown:
                raise InvalidValue(f"kind = {unknown[0]!r} of a sensor is not one of {[*KINDS]}")
            if len(group) != 1 and {one.kind for one in group} != {"odometry"}:
                raise InvalidValue("sensors that are read together must be odometries")
            yield [self._sensor_message(one, next(numbers), k) for k, one in enumerate(group)]

    def _sensor_message(self, one: SensorMount, number: int, k: int) -> pb.Message:
        body = self._frame(one.body)
        frame = f"{body}/{identifier(one.name)}"
        notes = {BODY: one.body, NUMBER: str(number), SENSOR: json.dumps(one._asdict())}
        channel = self._topic(f"/{frame}", KINDS[one.kind], one.kind, notes)
        match one.kind:
            case "imu":
                head = pb.encode("Imu", pb.NOW, frame)
            case "gnss":
                across, up = (deviation * deviation for deviation in one.deviations)
                matrix = struct.pack("<9d", across, 0.0, 0.0, 0.0, across, 0.0, 0.0, 0.0, up)
                known = {"position_covariance": matrix, "position_covariance_type": _DIAGONAL_KNOWN}
                head = pb.encode("LocationFix", timestamp=pb.NOW, frame_id=frame, **known)
            case "odometry":
                head = pb.encode("Odometry", pb.NOW, f"{body}/odom", body)
            case "bumper":
                head = pb.encode("Bumper", pb.NOW, body)
        return channel, pb.join_templates([head, sensor_numbers(one, k)])

    def _still_messages(self) -> Iterator[pb.Message]:
        bodies = (body_entities(frame, body) for frame, body in self._bodies.items())
        scenes = {
            "/bodies": scene(itertools.chain(*bodies)),
            "/still": scene(still_entities(self._stage, pb.WORLD)),
        }
        for topic, template in scenes.items():
            if template.data:
                yield self._topic(topic, "foxglove.SceneUpdate", "scene"), template
        for k, grid in enumerate(self._stage.grids):
            number = self._topic(f"/grid/{k}", "foxglove.Grid", "grid")
            shades = np.full((256, 4), _UNSURE, np.uint8)
            for level, shade in _SHADES.items():
                shades[level] = shade
            pose, size = ((grid.x, grid.y, 0.0), UPRIGHT), (grid.resolution, grid.resolution)
            fields = [(name, n, 1) for n, name in enumerate(("red", "green", "blue", "alpha"))]
            cells = shades[np.frombuffer(grid.cells, np.uint8)].tobytes()
            layout = (grid.width, size, 4 * grid.width, 4, fields)
            yield number, pb.encode("Grid", pb.NOW, pb.WORLD, pose, *layout, cells)
        mounts: list[tuple[Any, ...]] = []
        placed = (one for group in self._mounts for one in group if one.kind in ("imu", "gnss"))
        for unit in placed:
            parent, rotation = (
                self._frame(unit.body),
                pb.quaternion(unit.yaw, unit.pitch, unit.roll),
            )
            child, at = f"{parent}/{identifier(unit.name)}", (unit.x, unit.y, unit.z)
            mounts.append((pb.NOW, parent, child, at, rotation))
        if mounts:
            number = self._topic("/tf_static", "foxglove.FrameTransforms", "transforms")
            yield number, pb.encode("FrameTransforms", transforms=mounts)


def _tilt(body: Body) -> tuple[int, int] | None:
    """Channels of pitch and roll; None for an upright body."""
    pitch, roll = (body.channels.get(name) for name in ("pitch", "roll"))
    return None if pitch is None or roll is None else (pitch, roll)


def channels_by_body(stage: Stage) -> dict[str, list[int]]:
    """Channel indices by body; a stage without channels has a body "clock"."""
    channels: dict[str, list[int]] = {}
    for k, channel in enumerate(stage.channels):
        channels.setdefault(channel.body, []).append(k)
    return channels or {"clock": []}


def identifier(name: str) -> str:
    """Identifier of letters, digits and underscores that does not begin with a digit."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    return f"_{plain}" if plain[0].isdigit() else plain


def unique(names: Sequence[str]) -> list[str]:
    """Unique names for frames, topics and fields; duplicates get a number."""
    chosen: dict[str, None] = {}
    for name in names:
        plain = candidate = "_".join(name.split()) or "_"
        count = 2
        while candidate in chosen:
            candidate, count = f"{plain}_{count}", count + 1
        chosen[candidate] = None
    return list(chosen)
