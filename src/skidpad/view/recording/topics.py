"""From a stage to topics: which messages there are, and what they look like.

A list of the topics is in `docs/recording.md`. Everything that changes with the samples except
`/NAME/state` is for viewers and follows from it, so it comes no more often than they can show. What
does not change comes at the beginning and once a minute: viewers that jump look for the latest
message of each topic, and a part cut out of a file still has it. Shapes of bodies and of what
stands still are SceneUpdates, ground with heights is made of triangles.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import cos, sin, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import AnyArray, Array
from ...errors import InvalidValue
from ...geometry.polygon import cleaned, convex_parts
from ..stage import Body, Disc, Grid, Polygon, Relief, Stage, Wheel
from . import messages as pb
from .mcap import libraries, with_checksum
from .messages import (
    WORLD,
    Message,
    Place,
    Rotations,
    Template,
    join_templates,
    quaternion,
    still_pose,
    vector,
)
from .sensors import KINDS, SensorMount

if TYPE_CHECKING:
    from mcap.records import Channel, Schema

MOST_POINTS = 16_000
"""Most points of a mesh; a finer relief is thinned."""


def relief_mesh(relief: Relief) -> tuple[Array, AnyArray]:
    """Points x, y, z (n, 3) and the three corners (m, 3) of each triangle, counter-clockwise."""
    levels = np.frombuffer(relief.heights, "<u2").reshape(relief.height, relief.width)
    stride = int(np.ceil(np.sqrt(max(levels.size / MOST_POINTS, 1.0))))
    rows, columns = (_every(stride, count) for count in levels.shape)
    z = relief.low + (relief.high - relief.low) / 65535.0 * levels[np.ix_(rows, columns)]
    x, y = np.meshgrid(relief.x + relief.step * columns, relief.y + relief.step * rows)
    numbers = np.arange(z.size, dtype=np.uint32).reshape(z.shape)
    a, b = numbers[:-1, :-1].ravel(), numbers[:-1, 1:].ravel()
    c, d = numbers[1:, 1:].ravel(), numbers[1:, :-1].ravel()
    corners = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1), corners


def _every(stride: int, count: int) -> AnyArray:
    """Multiples of `stride` below a count, and the last number."""
    return np.unique([*range(0, count, stride), count - 1])


Colour = tuple[float, float, float, float]
Point = tuple[float, float]

_COLOURS: Mapping[str, Colour] = {
    "vehicle": (0.16, 0.47, 0.84, 1.0),
    "trailer": (0.45, 0.56, 0.66, 1.0),
    "actor": (0.90, 0.49, 0.13, 1.0),
    "block": (0.60, 0.45, 0.30, 1.0),
    "wall": (0.55, 0.57, 0.60, 1.0),
    "region": (0.95, 0.77, 0.06, 0.25),
    "lane": (0.35, 0.37, 0.40, 0.6),
    "field": (0.35, 0.55, 0.35, 0.4),
    "ground": (0.46, 0.47, 0.46, 1.0),
    "cone": (0.95, 0.45, 0.05, 1.0),
    "wheel": (0.12, 0.12, 0.13, 1.0),
    "reference": (0.20, 0.65, 0.33, 1.0),
}
_OTHER: Colour = (0.70, 0.70, 0.70, 1.0)
_NAMED: Mapping[str, Colour] = {
    "blue": (0.10, 0.35, 0.85, 1.0),
    "yellow": (0.98, 0.80, 0.05, 1.0),
    "orange": (0.95, 0.45, 0.05, 1.0),
}
_HEIGHTS = {"wall": 1.0, "block": 0.5}
"""In m; a stage is flat, but a viewer that looks at an angle shows more with some height."""
_MOST_CORNERS = 200
"""Outlines with more are drawn as lines: to fill one takes time with the square of its corners."""
_LINE_WIDTH = 0.08
"""In m."""
_SHADES = {0: (255, 255, 255, 0), 255: (40, 42, 46, 255)}
"""Red, green, blue and opacity of free and occupied cells."""
_UNSURE = (150, 152, 156, 90)
_UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def colour_of(text: str, kind: str) -> Colour:
    """From `#rrggbb`, `#rrggbbaa` or one of the colours of cones; else that of the kind."""
    if match := re.fullmatch(r"#([0-9a-fA-F]{6})([0-9a-fA-F]{2})?", text.strip()):
        r, g, b = bytes.fromhex(match[1])
        return r / 255.0, g / 255.0, b / 255.0, int(match[2] or "ff", 16) / 255.0
    return _NAMED.get(text, _COLOURS.get(kind, _OTHER))


class _Mesh:
    """Triangles of one colour."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float, float]] = []
        self.corners: list[int] = []

    def add_prism(self, outline: Sequence[Point], low: float, high: float) -> bool:
        """The upper side and the sides of a prism; False if the outline cannot be filled."""
        if len(outline) > _MOST_CORNERS:
            return False
        try:
            ring = cleaned(outline)
            parts = convex_parts(ring)
        except (InvalidValue, StopIteration):
            return False
        for part in parts:
            begin = len(self.points)
            self.points += [(x, y, high) for x, y in part]
            for k in range(1, len(part) - 1):
                self.corners += [begin, begin + k, begin + k + 1]
        if high > low:
            for a, b in itertools.pairwise([*ring, ring[0]]):
                begin = len(self.points)
                self.points += [(*a, low), (*b, low), (*b, high), (*a, high)]
                self.corners += [begin + k for k in (0, 1, 2, 0, 2, 3)]
        return True

    def template(self, colour: Colour) -> Template:
        """As an entry of SceneEntity.triangles."""
        points = [vector(2, *point) for point in self.points]
        corners = pb.octets(5, np.array(self.corners, "<u4").tobytes())
        return pb.message(12, _here(1), *points, vector(3, *colour), corners)


def _here(number: int) -> Template:
    return still_pose(number, 0.0, 0.0, 0.0, _UPRIGHT)


def _line(points: Iterable[Point], colour: Colour, *, closed: bool, z: float = 0.01) -> Template:
    """An entry of SceneEntity.lines."""
    head = (pb.integer(1, int(closed)), _here(2), pb.double(3, _LINE_WIDTH))
    return pb.message(11, *head, *(vector(5, x, y, z) for x, y in points), vector(6, *colour))


def _entity(frame: str, name: str, parts: Iterable[Template]) -> Template:
    """An entry of SceneUpdate.entities, in its frame wherever that goes and until the end."""
    return pb.message(
        2, pb.timestamp(1), pb.string(2, frame), pb.string(3, name), pb.integer(5, 1), *parts
    )


def bodies_scene(frames: Mapping[str, Body]) -> Template:
    """A SceneUpdate of bodies by their frames, and of steered wheels in theirs."""
    entities: list[Template] = []
    for frame, body in frames.items():
        if body.outlines:
            entities.append(_body_entity(body, frame))
        for wheel in body.wheels:
            if wheel.steer is not None:
                cylinder = _wheel_cylinder(wheel, 0.0, 0.0, 0.0)
                name = f"{body.name} {wheel.name}"
                entities.append(_entity(f"{frame}/{wheel.name}", name, [cylinder]))
    return pb.join_templates(entities)


def _body_entity(body: Body, frame: str) -> Template:
    """A body with those of its wheels that are not steered."""
    x, y = zip(*(point for outline in body.outlines for point in outline), strict=True)
    width = min(max(x) - min(x), max(y) - min(y))
    low = 0.3 * body.wheels[0].length if body.wheels else 0.0
    colour = colour_of(body.colour, body.kind)
    parts = _prisms(body.outlines, low, low + 0.45 * width, colour)
    parts += [_wheel_cylinder(w, w.x, w.y, w.yaw) for w in body.wheels if w.steer is None]
    return _entity(frame, body.name, parts)


def _wheel_cylinder(wheel: Wheel, x: float, y: float, yaw: float) -> Template:
    """An entry of SceneEntity.cylinders whose axis lies across the wheel."""
    # A cylinder stands on the ground: a quarter turn about x lays it down.
    c, s, quarter = cos(0.5 * yaw), sin(0.5 * yaw), sqrt(0.5)
    lying = (c * quarter, s * quarter, s * quarter, c * quarter)
    at = still_pose(1, x, y, 0.5 * wheel.length, lying)
    size = vector(2, wheel.length, wheel.length, wheel.width)
    return pb.message(
        10, at, size, pb.double(3, 1.0), pb.double(4, 1.0), vector(5, *_COLOURS["wheel"])
    )


def still_scene(stage: Stage) -> Template:
    """A SceneUpdate of what stands still: an entity per kind of thing."""
    entities: list[Template] = []
    if stage.reliefs:
        entities.append(_entity(WORLD, "still ground", [_ground(r) for r in stage.reliefs]))
    for kind in dict.fromkeys(polygon.kind for polygon in stage.polygons):
        alike = [polygon for polygon in stage.polygons if polygon.kind == kind]
        entities.append(_entity(WORLD, f"still {kind}", _polygons(alike, kind)))
    for kind in dict.fromkeys(line.kind for line in stage.lines):
        alike = [line for line in stage.lines if line.kind == kind]
        parts = [_line(o.points, colour_of(o.colour, o.kind), closed=False) for o in alike]
        entities.append(_entity(WORLD, f"still {kind}s", parts))
    if stage.discs:
        entities.append(_entity(WORLD, "still discs", [_disc(disc) for disc in stage.discs]))
    return pb.join_templates(entities)


def _ground(relief: Relief) -> Template:
    mesh = _Mesh()
    points, corners = relief_mesh(relief)
    mesh.points = [(x, y, z) for x, y, z in points.tolist()]
    mesh.corners = corners.ravel().tolist()
    return mesh.template(_COLOURS["ground"])


def _polygons(polygons: Sequence[Polygon], kind: str) -> list[Template]:
    by_colour: dict[Colour, list[Sequence[Point]]] = {}
    for polygon in polygons:
        by_colour.setdefault(colour_of(polygon.colour, kind), []).append(polygon.points)
    height = _HEIGHTS.get(kind, 0.0)
    return [
        template
        for colour, outlines in by_colour.items()
        for template in _prisms(outlines, 0.0, height, colour)
    ]


def _prisms(
    outlines: Sequence[Sequence[Point]], low: float, high: float, colour: Colour
) -> list[Template]:
    """Outlines of one colour as prisms; those that cannot be filled as lines."""
    mesh, lines = _Mesh(), list[Template]()
    for outline in outlines:
        if not mesh.add_prism(outline, low, high):
            lines.append(_line(outline, colour, closed=True, z=high))
    return [*([mesh.template(colour)] if mesh.corners else []), *lines]


def _disc(disc: Disc) -> Template:
    """A cone, or a post for whatever else is round; an entry of SceneEntity.cylinders."""
    cone = disc.kind == "cone"
    height = 2.2 * disc.radius if cone else _HEIGHTS["wall"]
    at = still_pose(1, disc.x, disc.y, 0.5 * height, _UPRIGHT)
    size = vector(2, 2.0 * disc.radius, 2.0 * disc.radius, height)
    scales = pb.double(3, 1.0), pb.double(4, 0.15 if cone else 1.0)
    return pb.message(10, at, size, *scales, vector(5, *colour_of(disc.colour, disc.kind)))


def grid_message(grid: Grid) -> Template:
    """A Grid in colours: dark where it is occupied, clear where it is free."""
    shades = np.full((256, 4), _UNSURE, np.uint8)
    for level, shade in _SHADES.items():
        shades[level] = shade
    cells = shades[np.frombuffer(grid.cells, np.uint8)]
    names = ("red", "green", "blue", "alpha")
    fields = [
        pb.message(8, pb.string(1, n), pb.fixed32(2, k), pb.integer(3, 1))
        for k, n in enumerate(names)
    ]
    return pb.join_templates(
        [
            pb.timestamp(1),
            pb.string(2, WORLD),
            still_pose(3, grid.x, grid.y, 0.0, _UPRIGHT),
            pb.fixed32(4, grid.width),
            vector(5, grid.resolution, grid.resolution),
            pb.fixed32(6, 4 * grid.width),
            pb.fixed32(7, 4),
            *fields,
            pb.octets(9, cells.tobytes()),
        ]
    )


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
"""Vehicles beyond which their poses share a topic: hundreds of topics help no viewer, and each
message costs more than the pose in it."""


class Topics:
    """The topics of a stage; `rotations` gives the table that goes with rows."""

    def __init__(
        self, stage: Stage, sensors: Sequence[Sequence[SensorMount]] = (), *, contacts: bool = False
    ) -> None:
        self._stage, self._mounts = stage, sensors
        self.schemas: list[Schema] = []
        self.channels: list[Channel] = []
        self._names: set[str] = set()
        frames = unique([WORLD, *(body.name for body in stage.bodies)])[1:]
        self._bodies = dict(zip(frames, stage.bodies, strict=True))
        self._frames = {body.name: frame for frame, body in self._bodies.items()}
        steered = sum(w.steer is not None for body in stage.bodies for w in body.wheels)
        self.rotations = Rotations(steered + sum(_tilt(body) is None for body in stage.bodies))
        self.states = list(self._state_messages())
        """Come with every sample."""
        self.motion = list(self._motion_messages())
        """Come with samples that viewers show."""
        self.sensors = [*self._lidar_messages(), *self._sensor_messages()]
        """Messages of each lidar in the order of the stage, then of sensors that are read
        together."""
        self.contacts = self._topic("/contacts", "skidpad.Contact", "contacts") if contacts else 0
        """Number of the channel of contacts; 0 without contacts."""
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

    def _state_messages(self) -> Iterator[Message]:
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

    def _motion_messages(self) -> Iterator[Message]:
        places = {frame: self._place(body) for frame, body in self._bodies.items()}
        if not places:
            return
        transforms = [pb.transform(*pair) for pair in places.items()]
        for frame, body in self._bodies.items():
            for wheel in body.wheels:
                if wheel.steer is not None:
                    rotation = self.rotations.upright(wheel.steer, wheel.yaw)
                    at, name = (wheel.x, wheel.y, 0.0), f"{frame}/{wheel.name}"
                    transforms.append(pb.transform(name, at, rotation, parent=frame))
        number = self._topic("/tf", "foxglove.FrameTransforms", "transforms")
        yield number, join_templates(transforms)
        vehicles = [f for f, body in self._bodies.items() if body.kind == "vehicle"]
        yield from self._pose_messages({frame: places[frame] for frame in vehicles})
        for frame in vehicles:
            yield from self._true_imu_messages(frame, self._bodies[frame])

    def _pose_messages(self, places: Mapping[str, Place]) -> Iterator[Message]:
        """Poses of each vehicle, or of all together."""
        if len(places) > CROWD:
            number = self._topic("/poses", "foxglove.PosesInFrame", "poses")
            yield number, pb.poses(list(places.values()))
            return
        for frame, place in places.items():
            number = self._topic(f"/{frame}/pose", "foxglove.PoseInFrame", "pose")
            yield number, pb.poses([place])

    def _true_imu_messages(self, frame: str, body: Body) -> Iterator[Message]:
        """Inertial readings of a vehicle on level ground without a unit, whose accelerations are
        outputs or measured.

        Where these are states they are what a model remembers, often smoothed, not the motion.
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
            forces = body.channels[a_x], body.channels[a_y]
            yield number, pb.true_imu(frame, *forces, omega)

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
            yield [(number, pb.laser_scan(scan, frame))]

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
            return channel, pb.imu(frame, one.oriented)
        if one.kind == "gnss":
            across, up = (deviation * deviation for deviation in one.deviations)
            return channel, pb.location_fix(frame, (across, across, up))
        if one.kind == "odometry":
            return channel, pb.odometry(f"{body}/odom", body, k)
        return channel, pb.bumper(body)

    def _still_messages(self) -> Iterator[Message]:
        scenes = {"/bodies": bodies_scene(self._bodies), "/still": still_scene(self._stage)}
        for topic, template in scenes.items():
            if template.data:
                yield self._topic(topic, "foxglove.SceneUpdate", "scene"), template
        for k, grid in enumerate(self._stage.grids):
            number = self._topic(f"/grid/{k}", "foxglove.Grid", "grid")
            yield number, grid_message(grid)
        mounts: list[Template] = []
        placed = (one for group in self._mounts for one in group if one.kind in ("imu", "gnss"))
        for unit in placed:
            parent, rotation = self._frame(unit.body), quaternion(unit.yaw, unit.pitch, unit.roll)
            child, at = f"{parent}/{identifier(unit.name)}", (unit.x, unit.y, unit.z)
            mounts.append(pb.transform(child, at, rotation, parent=parent))
        if mounts:
            number = self._topic("/tf_static", "foxglove.FrameTransforms", "transforms")
            yield number, join_templates(mounts)


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
