"""From a stage to topics: which messages there are, and what they look like.

| topic | type | what |
|---|---|---|
| `/NAME/state` | `skidpad.MODEL` | every channel of a body, at every sample |
| `/tf` | `foxglove.FrameTransforms` | bodies in the world, steered wheels on their bodies |
| `/NAME/pose` | `foxglove.PoseInFrame` | vehicles, if there are not many |
| `/poses` | `foxglove.PosesInFrame` | vehicles, if there are many |
| `/NAME/imu` | `skidpad.Imu` | what a perfect unit on a vehicle would show |
| `/NAME/UNIT` | `skidpad.Imu` | readings of inertial units |
| `/NAME/LIDAR` | `foxglove.LaserScan` | scans |
| `/bodies`, `/still` | `foxglove.SceneUpdate` | shapes of what moves and of what does not |
| `/grid/K` | `foxglove.Grid` | occupancy grids |
| `/tf_static` | `foxglove.FrameTransforms` | sensors on their bodies |

Everything that changes with the samples except `/NAME/state` is for viewers and follows from it, so
it comes no more often than they can show. What does not change comes at the beginning and once a
minute: viewers that jump look for the latest message of each topic, and a part cut out of a file
still has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue
from ..stage import Body, Stage
from . import messages, scene, schemas
from .messages import WORLD, Place, Turn
from .records import Channel, Schema
from .wire import Piece, joined

ROLE, BODY, NUMBER, UNITS = "role", "body", "number", "units"
"""Keys in the metadata of channels: what a topic is, of which body, which lidar or unit of the
recording, and the units of its fields as JSON."""
MOST_TOPICS = 65535
CROWD = 20
"""Vehicles beyond which their poses share a topic: nobody looks at hundreds of topics, and each
message costs more than the pose in it."""

Message = tuple[int, Piece]
"""Number of its channel, and what it looks like."""


class ImuMount(NamedTuple):
    """An inertial unit on a body."""

    name: str
    body: str
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0
    oriented: bool = False
    """Whether it also tells how the body is turned."""


class Plan:
    """The topics of a stage; `turns` must be asked for the table that goes with rows."""

    def __init__(self, stage: Stage, imus: Sequence[ImuMount] = ()) -> None:
        self.stage, self.imus = stage, tuple(imus)
        self.schemas: list[Schema] = []
        self.channels: list[Channel] = []
        steered = sum(w.steer is not None for body in stage.bodies for w in body.wheels)
        self.turns = Turns(steered + sum(_tilt(body) is None for body in stage.bodies))
        self._topics: set[str] = set()
        self._frames = unique([WORLD, *(body.name for body in stage.bodies)])[1:]
        self._frame_of = {b.name: f for b, f in zip(stage.bodies, self._frames, strict=True)}
        self.states = self._states()
        """Come with every sample."""
        self.motion = self._motion()
        """Come with samples that viewers show."""
        self.scans = self._scans()
        """In the order of the stage."""
        self.readings = self._readings()
        """In the order of the units."""
        self.still = self._still()
        """Come at the beginning and again and again."""
        if len(self.channels) > MOST_TOPICS:
            raise InvalidValue(
                f"a recording has at most {MOST_TOPICS} topics; this stage needs "
                f"{len(self.channels)}"
            )

    def _topic(
        self, topic: str, schema: str, role: str, fields: Sequence[str] | None = None, **notes: str
    ) -> int:
        """A new topic; returns the number of its channel. `fields` are those of a state."""
        known = {s.name: s.id for s in self.schemas}
        if schema not in known:
            known[schema] = len(self.schemas) + 1
            data = (
                schemas.descriptor_set(schema)
                if fields is None
                else schemas.state_descriptor(schema, fields)
            )
            self.schemas.append(Schema(known[schema], schema, "protobuf", data))
        name = topic
        while name in self._topics:
            name += "_"
        self._topics.add(name)
        number = len(self.channels) + 1
        notes = {ROLE: role, **notes}
        self.channels.append(Channel(number, known[schema], name, "protobuf", notes))
        return number

    def _states(self) -> list[Message]:
        found: list[Message] = []
        kinds: dict[tuple[tuple[str, str], ...], str] = {}
        models = {body.name: body.model or body.kind for body in self.stage.bodies}
        for body, columns in channels_of(self.stage).items():
            if len(columns) > schemas.MOST_CHANNELS:
                raise InvalidValue(
                    f"{body} has {len(columns)} channels; a recording takes at most "
                    f"{schemas.MOST_CHANNELS} of one body"
                )
            listed = [self.stage.channels[k] for k in columns]
            kind = tuple((c.name, c.unit) for c in listed)
            if kind not in kinds:
                taken = [name.rpartition(".")[2] for name in kinds.values()]
                model = models.get(body, "clock")
                kinds[kind] = f"skidpad.{unique([*taken, identifier(model)])[-1]}"
            fields = unique(["t", *(identifier(c.name) for c in listed)])[1:]
            units = {field: c.unit for field, c in zip(fields, listed, strict=True)}
            notes = {BODY: body, UNITS: json.dumps({"t": "s", **units}, ensure_ascii=False)}
            topic = f"/{self._frame_of.get(body) or identifier(body)}/state"
            number = self._topic(topic, kinds[kind], "state", fields, **notes)
            found.append((number, messages.state(columns)))
        return found

    def _motion(self) -> list[Message]:
        transforms: list[Piece] = []
        steered: list[Piece] = []
        vehicles: dict[str, Place] = {}
        for body, frame in zip(self.stage.bodies, self._frames, strict=True):
            place = self._place(body)
            transforms.append(messages.moving_transform(frame, place))
            for wheel in body.wheels:
                if wheel.steer is not None:
                    turn = self.turns.flat(wheel.steer, wheel.yaw)
                    at = (wheel.x, wheel.y, 0.0)
                    name = f"{frame}/{wheel.name}"
                    steered.append(messages.steered_transform(frame, name, at, turn))
            if body.kind == "vehicle":
                vehicles[frame] = place
        if not transforms:
            return []
        number = self._topic("/tf", "foxglove.FrameTransforms", "transforms")
        moving = (number, joined([*transforms, *steered]))
        return [moving, *self._poses(vehicles), *self._true_imus()]

    def _poses(self, vehicles: Mapping[str, Place]) -> list[Message]:
        """Of each vehicle, or of all together."""
        if len(vehicles) > CROWD:
            number = self._topic("/poses", "foxglove.PosesInFrame", "poses")
            return [(number, messages.poses(list(vehicles.values())))]
        return [
            (self._topic(f"/{frame}/pose", "foxglove.PoseInFrame", "pose"), messages.pose(place))
            for frame, place in vehicles.items()
        ]

    def _true_imus(self) -> list[Message]:
        """Of vehicles on level ground without a unit that have accelerations among their outputs.

        Where these are states they are what a model remembers, often smoothed, not the motion.
        """
        found: list[Message] = []
        roles = {(c.body, c.name): c.role for c in self.stage.channels}
        measured = {unit.body for unit in self.imus}
        for body, frame in zip(self.stage.bodies, self._frames, strict=True):
            columns = [body.channels.get(name) for name in ("a_x", "a_y", "omega")]
            if body.kind != "vehicle" or None in columns or _tilt(body) or body.name in measured:
                continue
            if roles.get((body.name, "a_x")) == roles.get((body.name, "a_y")) == "output":
                number = self._topic(f"/{frame}/imu", "skidpad.Imu", "true imu")
                a_x, a_y, omega = (k for k in columns if k is not None)
                found.append((number, messages.true_imu(frame, a_x, a_y, omega)))
        return found

    def _place(self, body: Body) -> Place:
        tilt = _tilt(body)
        turn = self.turns.tilted(body.yaw, *tilt) if tilt else self.turns.flat(body.yaw)
        return Place(body.x, body.y, body.channels.get("z"), turn)

    def _scans(self) -> list[Message]:
        found: list[Message] = []
        for k, scan in enumerate(self.stage.scans):
            frame = self._frame_of.get(scan.body, WORLD)
            topic = f"/{frame}/{identifier(scan.name)}"
            notes = {BODY: scan.body, NUMBER: str(k)}
            number = self._topic(topic, "foxglove.LaserScan", "scan", **notes)
            found.append((number, messages.laser_scan(scan, frame)))
        return found

    def _readings(self) -> list[Message]:
        found: list[Message] = []
        for k, unit in enumerate(self.imus):
            frame = self._frame_of.get(unit.body, WORLD)
            name = identifier(unit.name)
            notes = {BODY: unit.body, NUMBER: str(k), "name": unit.name}
            number = self._topic(f"/{frame}/{name}", "skidpad.Imu", "imu", **notes)
            found.append((number, messages.imu(f"{frame}/{name}", unit.oriented)))
        return found

    def _still(self) -> list[Message]:
        stage, found = self.stage, list[Message]()
        shapes = [
            entity
            for body, frame in zip(stage.bodies, self._frames, strict=True)
            for entity in _body_entities(body, frame)
        ]
        parts = (("/bodies", joined(shapes)), ("/still", scene.still_scene(stage)))
        for topic, piece in parts:
            if piece.data:
                found.append((self._topic(topic, "foxglove.SceneUpdate", "scene"), piece))
        for k, grid in enumerate(stage.grids):
            number = self._topic(f"/grid/{k}", "foxglove.Grid", "grid")
            found.append((number, scene.grid_message(grid)))
        mounts = [
            messages.still_transform(
                self._frame_of.get(unit.body, WORLD),
                f"{self._frame_of.get(unit.body, WORLD)}/{identifier(unit.name)}",
                (unit.x, unit.y, unit.z),
                messages.quaternion(unit.yaw, unit.pitch, unit.roll),
            )
            for unit in self.imus
        ]
        if mounts:
            number = self._topic("/tf_static", "foxglove.FrameTransforms", "transforms")
            found.append((number, joined(mounts)))
        return found


def _tilt(body: Body) -> tuple[int, int] | None:
    """Channels of pitch and roll; None of what stays upright."""
    pitch, roll = (body.channels.get(name) for name in ("pitch", "roll"))
    return None if pitch is None or roll is None else (pitch, roll)


def _body_entities(body: Body, frame: str) -> list[Piece]:
    wheels = [w for w in body.wheels if w.steer is not None]
    steered = [scene.wheel_entity(body, w, f"{frame}/{w.name}") for w in wheels]
    return [*([scene.body_entity(body, frame)] if body.outlines else []), *steered]


class Turns:
    """Quaternions of everything that turns, as columns of one table.

    Args:
        flat: how many things turn in the plane only.
    """

    def __init__(self, flat: int) -> None:
        self._count = flat
        self._flat: list[tuple[int, float]] = []
        self._tilted: list[tuple[int, int, int]] = []

    def flat(self, yaw: int, fixed: float = 0.0) -> Turn:
        """Of something that turns in the plane: the channel of its angle, and what adds to it."""
        k = len(self._flat)
        self._flat.append((yaw, fixed))
        return Turn(None, None, k, self._count + k)

    def tilted(self, yaw: int, pitch: int, roll: int) -> Turn:
        """Of something that also pitches and rolls."""
        begin = 2 * self._count + 4 * len(self._tilted)
        self._tilted.append((yaw, pitch, roll))
        return Turn(*range(begin, begin + 4))

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The table (T, columns) of rows (T, channels): sines, cosines, then what tilts."""
        n, count = self._count, len(rows)
        table = np.empty((count, 2 * n + 4 * len(self._tilted)))
        if n:
            columns, fixed = zip(*self._flat, strict=True)
            halves = rows.take(columns, 1)
            if any(fixed):
                halves += fixed
            halves *= 0.5
            np.sin(halves, out=table[:, :n])
            np.cos(halves, out=table[:, n : 2 * n])
        if self._tilted:
            yaw, pitch, roll = np.moveaxis(rows[:, np.array(self._tilted)], -1, 0)
            table[:, 2 * n :] = messages.quaternions(yaw, pitch, roll).reshape(count, -1)
        return table


def channels_of(stage: Stage) -> dict[str, list[int]]:
    """Channels by the body that they belong to; of a stage without any, those of a clock."""
    found: dict[str, list[int]] = {}
    for k, channel in enumerate(stage.channels):
        found.setdefault(channel.body, []).append(k)
    return found or {"clock": []}


def identifier(name: str) -> str:
    """A name made of letters, digits and underscores that does not begin with a digit."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    return f"_{made}" if made[0].isdigit() else made


def unique(names: Sequence[str]) -> list[str]:
    """Names for frames, topics and fields; one that is there already gets a number."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        made = "_".join(name.split()) or "_"
        count = 2
        while made in taken:
            made, count = f"{'_'.join(name.split())}_{count}", count + 1
        taken.add(made)
        found.append(made)
    return found
