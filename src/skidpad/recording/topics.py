"""From a stage to topics: which messages there are (a list is in `docs/recording.md`), and what
they look like.

Everything that changes with the samples except `/NAME/state` is for viewers and follows from it, so
it comes no more often than they can show. What does not change comes at the beginning and once a
minute: viewers that jump look for the latest message of each topic, and a part cut out of a file
still has it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import InvalidValue
from ..stage import Body, Stage
from . import libraries, messages, scene, schemas
from .checksums import with_checksum
from .message_rows import Message
from .messages import WORLD, Place
from .protobuf import Template, joined
from .rotations import Rotations, quaternion
from .sensors import KINDS, SensorMount

if TYPE_CHECKING:
    from mcap.records import Channel, Schema

FORMAT = 1
"""Version of the layout of a recording; readers refuse newer ones."""
RECORDING = "skidpad.recording"
"""Name of the metadata record that makes an MCAP file a recording: format, program, stage."""
NOTES = "skidpad.notes"
"""Name of the metadata records with what people and programs noted about the run, as JSON."""
LOST = "lost_samples"
"""The note that a recording failed: their count, and from when to when in s they were taken."""
ROLE, BODY, NUMBER, UNITS = "role", "body", "number", "units"
"""Keys in the metadata of channels: what a topic is, of which body, which lidar or unit of the
recording, and the units of its fields as JSON."""
SENSOR = "sensor"
"""Key in the metadata of the channels of sensors: their `SensorMount` as JSON."""
MOST_TOPICS = 65535
CROWD = 20
"""Vehicles beyond which their poses share a topic: nobody looks at hundreds of topics, and each
message costs more than the pose in it."""


class Topics:
    """The topics of a stage; `rotations` gives the table that goes with rows."""

    def __init__(
        self,
        stage: Stage,
        sensors: Sequence[Sequence[SensorMount]] = (),
        *,
        contacts: bool = False,
    ) -> None:
        self._stage, self._mounts = stage, sensors
        self.schemas: list[Schema] = []
        self.channels: list[Channel] = []
        self._names: set[str] = set()
        frames = unique([WORLD, *(body.name for body in stage.bodies)])[1:]
        self._bodies = dict(zip(frames, stage.bodies, strict=True))
        self._frames = {body.name: frame for frame, body in self._bodies.items()}
        self._outputs = {
            (c.body, c.name) for c in stage.channels if c.role in ("output", "measured")
        }
        steered = sum(w.steer is not None for body in stage.bodies for w in body.wheels)
        self.rotations = Rotations(steered + sum(_tilt(body) is None for body in stage.bodies))
        self.states = list(self._state_messages())
        """Come with every sample."""
        self.motion = list(self._motion_messages())
        """Come with samples that viewers show."""
        self.sensors = [*self._lidar_messages(), *self._sensor_messages()]
        """Of each lidar in the order of the stage, then of those that are read together."""
        self.contacts = self._topic("/contacts", "skidpad.Contact", "contacts") if contacts else 0
        """Number of the channel of contacts; 0 if there is none."""
        self.still = list(self._still_messages())
        """Come at the beginning and again and again."""
        if len(self.channels) > MOST_TOPICS:
            raise InvalidValue(
                f"a recording has at most {MOST_TOPICS} topics; this stage needs "
                f"{len(self.channels)}"
            )

    def _frame(self, body: str) -> str:
        return self._frames.get(body, WORLD)

    def _topic(
        self,
        topic: str,
        kind: str,
        role: str,
        notes: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> int:
        """A new topic; returns the number of its channel. `fields` are those of a state."""
        schema = next((schema for schema in self.schemas if schema.name == kind), None)
        if schema is None:
            state = fields is not None
            data = schemas.state_descriptor(kind, fields) if state else schemas.descriptor_set(kind)
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

    def _state_messages(self) -> Iterator[Message]:
        kinds: dict[tuple[tuple[str, str], ...], str] = {}
        models = {body.name: body.model or body.kind for body in self._stage.bodies}
        for body, columns in channels_by_body(self._stage).items():
            if len(columns) > schemas.MOST_CHANNELS:
                raise InvalidValue(
                    f"{body} has {len(columns)} channels; a recording takes at most "
                    f"{schemas.MOST_CHANNELS} of one body"
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
            yield number, messages.state(columns)

    def _motion_messages(self) -> Iterator[Message]:
        places = {frame: self._place(body) for frame, body in self._bodies.items()}
        if not places:
            return
        transforms = [messages.moving_transform(*pair) for pair in places.items()]
        for frame, body in self._bodies.items():
            for wheel in body.wheels:
                if wheel.steer is not None:
                    rotation = self.rotations.upright(wheel.steer, wheel.yaw)
                    at, name = (wheel.x, wheel.y, 0.0), f"{frame}/{wheel.name}"
                    transforms.append(messages.steered_transform(frame, name, at, rotation))
        number = self._topic("/tf", "foxglove.FrameTransforms", "transforms")
        yield number, joined(transforms)
        vehicles = [f for f, body in self._bodies.items() if body.kind == "vehicle"]
        yield from self._pose_messages({frame: places[frame] for frame in vehicles})
        for frame in vehicles:
            yield from self._true_imu_messages(frame, self._bodies[frame])

    def _pose_messages(self, places: Mapping[str, Place]) -> Iterator[Message]:
        """Of each vehicle, or of all together."""
        if len(places) > CROWD:
            number = self._topic("/poses", "foxglove.PosesInFrame", "poses")
            yield number, messages.poses(list(places.values()))
            return
        for frame, place in places.items():
            number = self._topic(f"/{frame}/pose", "foxglove.PoseInFrame", "pose")
            yield number, messages.poses([place])

    def _true_imu_messages(self, frame: str, body: Body) -> Iterator[Message]:
        """Of a vehicle on level ground without a unit whose accelerations are outputs.

        Where these are states they are what a model remembers, often smoothed, not the motion.
        """
        a_x, a_y, omega = (body.channels.get(name) for name in ("a_x", "a_y", "omega"))
        if a_x is None or a_y is None or omega is None or _tilt(body):
            return
        units = (one for group in self._mounts for one in group if one.kind == "imu")
        measured = any(unit.body == body.name for unit in units)
        if not measured and {(body.name, "a_x"), (body.name, "a_y")} <= self._outputs:
            number = self._topic(f"/{frame}/imu", "skidpad.Imu", "true imu")
            yield number, messages.true_imu(frame, a_x, a_y, omega)

    def _place(self, body: Body) -> Place:
        tilt = _tilt(body)
        turned = self.rotations
        rotation = turned.tilted(body.yaw, *tilt) if tilt else turned.upright(body.yaw)
        return Place(body.x, body.y, body.channels.get("z"), rotation)

    def _lidar_messages(self) -> Iterator[list[Message]]:
        for k, scan in enumerate(self._stage.scans):
            frame = self._frame(scan.body)
            topic, notes = f"/{frame}/{identifier(scan.name)}", {BODY: scan.body, NUMBER: str(k)}
            number = self._topic(topic, "foxglove.LaserScan", "scan", notes)
            yield [(number, messages.laser_scan(scan, frame))]

    def _sensor_messages(self) -> Iterator[list[Message]]:
        numbers = itertools.count()
        for group in self._mounts:
            unknown = [one.kind for one in group if one.kind not in KINDS]
            if unknown:
                raise InvalidValue(f"kind = {unknown[0]!r} of a sensor is not one of {[*KINDS]}")
            if len(group) != 1 and {one.kind for one in group} != {"odometry"}:
                raise InvalidValue("sensors that are read together must be odometries")
            yield [self._sensor_message(one, next(numbers), k) for k, one in enumerate(group)]

    def _sensor_message(self, one: SensorMount, number: int, k: int) -> Message:
        body = self._frame(one.body)
        frame = f"{body}/{identifier(one.name)}"
        notes = {BODY: one.body, NUMBER: str(number), SENSOR: json.dumps(one._asdict())}
        channel = self._topic(f"/{frame}", KINDS[one.kind], one.kind, notes)
        if one.kind == "imu":
            return channel, messages.imu(frame, one.oriented)
        if one.kind == "gnss":
            across, up = (deviation * deviation for deviation in one.deviations)
            return channel, messages.location_fix(frame, (across, across, up))
        if one.kind == "odometry":
            return channel, messages.odometry(f"{body}/odom", body, k)
        return channel, messages.bumper(body)

    def _still_messages(self) -> Iterator[Message]:
        scenes = {
            "/bodies": scene.bodies_scene(self._bodies),
            "/still": scene.still_scene(self._stage),
        }
        for topic, template in scenes.items():
            if template.data:
                yield self._topic(topic, "foxglove.SceneUpdate", "scene"), template
        for k, grid in enumerate(self._stage.grids):
            number = self._topic(f"/grid/{k}", "foxglove.Grid", "grid")
            yield number, scene.grid_message(grid)
        mounts: list[Template] = []
        placed = (one for group in self._mounts for one in group if one.kind in ("imu", "gnss"))
        for unit in placed:
            parent, rotation = self._frame(unit.body), quaternion(unit.yaw, unit.pitch, unit.roll)
            child, at = f"{parent}/{identifier(unit.name)}", (unit.x, unit.y, unit.z)
            mounts.append(messages.still_transform(parent, child, at, rotation))
        if mounts:
            number = self._topic("/tf_static", "foxglove.FrameTransforms", "transforms")
            yield number, joined(mounts)


def _tilt(body: Body) -> tuple[int, int] | None:
    """Channels of pitch and roll; None of what stays upright."""
    pitch, roll = (body.channels.get(name) for name in ("pitch", "roll"))
    return None if pitch is None or roll is None else (pitch, roll)


def channels_by_body(stage: Stage) -> dict[str, list[int]]:
    """Channels by the body that they belong to; of a stage without any, those of a clock."""
    channels: dict[str, list[int]] = {}
    for k, channel in enumerate(stage.channels):
        channels.setdefault(channel.body, []).append(k)
    return channels or {"clock": []}


def identifier(name: str) -> str:
    """A name of letters, digits and underscores that does not begin with a digit."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    return f"_{plain}" if plain[0].isdigit() else plain


def unique(names: Sequence[str]) -> list[str]:
    """Names for frames, topics and fields; one that is there already gets a number."""
    chosen: dict[str, None] = {}
    for name in names:
        plain = candidate = "_".join(name.split()) or "_"
        count = 2
        while candidate in chosen:
            candidate, count = f"{plain}_{count}", count + 1
        chosen[candidate] = None
    return list(chosen)
