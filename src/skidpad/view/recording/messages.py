"""Messages of recordings: protobuf as templates with slots, message types, rows of messages.

A message whose numbers are doubles and whose texts do not change has the same length every time, so
it is made once as bytes with slots (`Template`), and the numbers of thousands of samples are put
into copies of it together (`MessageRows`). Times are the one thing that would change the length:
`Timestamp` has varints. Here they always take five bytes, the shorter ones padded; the encoding
allows that and readers accept it.

The message types of the package `foxglove` are the field lists of Foxglove's published schemas
(https://docs.foxglove.dev/docs/sdk/schemas), written down here so that recording needs no protobuf
library; a test holds them against the official classes. Foxglove has no type for inertial units, so
`skidpad.Imu` has the fields of sensor_msgs/Imu without its covariances: viewers plot its numbers
under the names that people know from there. That of wheel odometry has the five numbers and no
quaternion: it comes with every sample, and its yaw counts turns.

Messages that always come together, as MCAP records, make a row of bytes. What does not change in
the rows stays in them from chunk to chunk, and everything that does is written into all of them by
a few array operations: 7 µs a sample for 100 robots with 26 numbers each, on one core of an AMD
EPYC. Adding the messages one by one takes 330 µs with the package `mcap`. The operations are few
for another reason too: each lets go of the interpreter lock and asks for it again, and the
simulation, which holds it, is held up by every such exchange.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import cos, sin
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core.arrays import AnyArray, Array
from ..stage import Scan
from .mcap import Damaged

if TYPE_CHECKING:
    from ...world.contact.touches import ContactEvent

Source = Literal["row", "rotation", "time", "reading", "flag", "timestamp", "log_time"]
"""Table that fills a slot: channels of the stage, quaternions, the time in s, what a sensor gave as
numbers or as truth values, words of a `Timestamp`, or the log time of an MCAP message."""
WORDS: Mapping[Source, str] = {
    "row": "<f8",
    "rotation": "<f8",
    "time": "<f8",
    "reading": "<f8",
    "flag": "u1",
    "timestamp": "<u4",
    "log_time": "<u8",
}
"""Types of the numbers of the tables, as they lie in a message."""

TIMESTAMP_SIZE = 12
"""Bytes of a Timestamp: two varints of five bytes, each behind its tag."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TAGS = np.array([1 << 3, 2 << 3], np.uint8)
"""Tags of the seconds and the nanoseconds in a Timestamp."""
_SHIFTS = np.arange(0, 35, 7, dtype=np.uint64)
_MORE = np.array([0x80, 0x80, 0x80, 0x80, 0], np.uint64)
"""Each byte of a varint but the last says that there are more."""


class Slot(NamedTuple):
    """A number of a message that differs from sample to sample."""

    offset: int
    """Place of its first byte."""
    source: Source
    column: int
    """Column of the table of the source."""


class Template(NamedTuple):
    """A message, or a part of one."""

    data: bytes
    slots: tuple[Slot, ...] = ()


def join_templates(parts: Sequence[Template]) -> Template:
    """Parts one behind the other."""
    offsets = accumulate((len(part.data) for part in parts), initial=0)
    slots = [
        slot._replace(offset=slot.offset + offset)
        for part, offset in zip(parts, offsets, strict=False)
        for slot in part.slots
    ]
    return Template(b"".join(part.data for part in parts), tuple(slots))


def varint(value: int) -> bytes:
    """A whole number of at least 0, seven bits a byte."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def _tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def message(number: int, *parts: Template) -> Template:
    """A field that is a message."""
    content = join_templates(parts)
    return join_templates([Template(_tag(number, _BYTES) + varint(len(content.data))), content])


def octets(number: int, value: bytes) -> Template:
    """A field of bytes."""
    return Template(_tag(number, _BYTES) + varint(len(value)) + value)


def string(number: int, value: str) -> Template:
    """A field of text."""
    return octets(number, value.encode())


def integer(number: int, value: int) -> Template:
    """A field of a whole number, an enumeration or a truth value."""
    return Template(_tag(number, _VARINT) + varint(value))


def fixed32(number: int, value: int) -> Template:
    """A field of a whole number that always takes four bytes."""
    return Template(_tag(number, _FIXED32) + struct.pack("<I", value))


def double(number: int, value: float) -> Template:
    """A field of a number that stays as it is."""
    return Template(_tag(number, _FIXED64) + struct.pack("<d", value))


def variable(number: int, source: Source, column: int) -> Template:
    """A field of a number that changes."""
    tag = _tag(number, _FIXED64)
    return Template(tag + bytes(8), (Slot(len(tag), source, column),))


def flag(number: int, column: int) -> Template:
    """A field of a truth value that a sensor gives."""
    tag = _tag(number, _VARINT)
    return Template(tag + bytes(1), (Slot(len(tag), "flag", column),))


def protobuf_fields(data: bytes) -> dict[int, list[int | bytes]]:
    """The fields of a message by number: whole numbers, or the bytes of everything else."""
    found: dict[int, list[int | bytes]] = {}
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            found.setdefault(tag >> 3, []).append(value)
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if size is None:
            if kind != _BYTES:
                raise ValueError(f"a field of a message has the unknown type {kind}")
            size, at = _read_varint(data, at)
        if at + size > len(data):
            raise ValueError("a field is longer than its message")
        found.setdefault(tag >> 3, []).append(data[at : at + size])
        at += size
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        octet, at = data[at], at + 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
    raise ValueError("a number of a message has no end")


def variables(number: int, count: int) -> Template:
    """A packed list of numbers that a sensor gives."""
    head = _tag(number, _BYTES) + varint(8 * count)
    slots = [Slot(len(head) + 8 * k, "reading", k) for k in range(count)]
    return Template(head + bytes(8 * count), tuple(slots))


def timestamp(number: int) -> Template:
    """A field of the type Timestamp that changes."""
    head = _tag(number, _BYTES) + varint(TIMESTAMP_SIZE)
    slots = [Slot(len(head) + 4 * k, "timestamp", k) for k in range(TIMESTAMP_SIZE // 4)]
    return Template(head + bytes(TIMESTAMP_SIZE), tuple(slots))


def timestamps(ns: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Times in ns (T,) as the bytes of Timestamps (T, 12)."""
    values = np.stack(np.divmod(ns, 10**9), axis=1)
    table = np.empty((len(ns), 2, TIMESTAMP_SIZE // 2), np.uint8)
    table[:, :, 0] = _TAGS
    table[:, :, 1:] = values[:, :, None] >> _SHIFTS & 0x7F | _MORE
    return table.reshape(len(ns), TIMESTAMP_SIZE)


_TYPES = {"double": 1, "int64": 3, "int32": 5, "fixed32": 7, "bool": 8, "string": 9, "bytes": 12}
_MESSAGE, _ENUM = 11, 14
_SINGLE, _REPEATED = 1, 3
_PRIMITIVES = (
    "arrows:ArrowPrimitive* cubes:CubePrimitive* spheres:SpherePrimitive* "
    "cylinders:CylinderPrimitive* lines:LinePrimitive* triangles:TriangleListPrimitive* "
    "texts:TextPrimitive* models:ModelPrimitive*"
)

MESSAGES: Mapping[str, str] = {
    "google.protobuf.Timestamp": "seconds:int64 nanos:int32",
    "google.protobuf.Duration": "seconds:int64 nanos:int32",
    "foxglove.Vector2": "x:double y:double",
    "foxglove.Vector3": "x:double y:double z:double",
    "foxglove.Point3": "x:double y:double z:double",
    "foxglove.Quaternion": "x:double y:double z:double w:double",
    "foxglove.Pose": "position:Vector3 orientation:Quaternion",
    "foxglove.Color": "r:double g:double b:double a:double",
    "foxglove.KeyValuePair": "key:string value:string",
    "foxglove.FrameTransform": "timestamp:Timestamp parent_frame_id:string child_frame_id:string "
    "translation:Vector3 rotation:Quaternion",
    "foxglove.FrameTransforms": "transforms:FrameTransform*",
    "foxglove.PoseInFrame": "timestamp:Timestamp frame_id:string pose:Pose",
    "foxglove.PosesInFrame": "timestamp:Timestamp frame_id:string poses:Pose*",
    "foxglove.LaserScan": "timestamp:Timestamp frame_id:string pose:Pose start_angle:double "
    "end_angle:double ranges:double* intensities:double*",
    "foxglove.PackedElementField": "name:string offset:fixed32 "
    "type:NumericType(UNKNOWN,UINT8,INT8,UINT16,INT16,UINT32,INT32,FLOAT32,FLOAT64)",
    "foxglove.Grid": "timestamp:Timestamp frame_id:string pose:Pose column_count:fixed32 "
    "cell_size:Vector2 row_stride:fixed32 cell_stride:fixed32 fields:PackedElementField* "
    "data:bytes",
    "foxglove.ArrowPrimitive": "pose:Pose shaft_length:double shaft_diameter:double "
    "head_length:double head_diameter:double color:Color",
    "foxglove.CubePrimitive": "pose:Pose size:Vector3 color:Color",
    "foxglove.SpherePrimitive": "pose:Pose size:Vector3 color:Color",
    "foxglove.CylinderPrimitive": "pose:Pose size:Vector3 bottom_scale:double top_scale:double "
    "color:Color",
    "foxglove.LinePrimitive": "type:Type(LINE_STRIP,LINE_LOOP,LINE_LIST) pose:Pose "
    "thickness:double scale_invariant:bool points:Point3* color:Color colors:Color* "
    "indices:fixed32*",
    "foxglove.TriangleListPrimitive": "pose:Pose points:Point3* color:Color colors:Color* "
    "indices:fixed32*",
    "foxglove.TextPrimitive": "pose:Pose billboard:bool font_size:double scale_invariant:bool "
    "color:Color text:string",
    "foxglove.ModelPrimitive": "pose:Pose scale:Vector3 color:Color override_color:bool "
    "url:string media_type:string data:bytes",
    "foxglove.SceneEntityDeletion": "timestamp:Timestamp type:Type(MATCHING_ID,ALL) id:string",
    "foxglove.SceneEntity": "timestamp:Timestamp frame_id:string id:string lifetime:Duration "
    f"frame_locked:bool metadata:KeyValuePair* {_PRIMITIVES}",
    "foxglove.SceneUpdate": "deletions:SceneEntityDeletion* entities:SceneEntity*",
    "foxglove.LocationFix": "latitude:double longitude:double altitude:double "
    "position_covariance:double* "
    "position_covariance_type:PositionCovarianceType(UNKNOWN,APPROXIMATED,DIAGONAL_KNOWN,KNOWN) "
    "timestamp:Timestamp frame_id:string",
    "skidpad.Odometry": "timestamp:Timestamp frame_id:string child_frame_id:string x:double "
    "y:double yaw:double v_x:double omega:double",
    "skidpad.Bumper": "timestamp:Timestamp frame_id:string touching:bool",
    "skidpad.Contact": "timestamp:Timestamp began:bool a:string b:string position:Vector2 "
    "normal:Vector2 normal_impulse:double tangential_impulse:double since:double",
    "skidpad.Imu": "timestamp:Timestamp frame_id:string orientation:Quaternion "
    "angular_velocity:Vector3 linear_acceleration:Vector3",
}
"""Fields in the order of their numbers, from 1 on: `name:type`, a star for a list, the values of an
enumeration in brackets, from 0 on."""
_FULL = {name.rpartition(".")[2]: name for name in MESSAGES}
_FIELD = re.compile(r"(?P<name>\w+):(?P<type>\w+)(\((?P<values>[\w,]+)\))?(?P<list>\*)?")

FIRST_CHANNEL = 16
"""Number of the field of a body's first channel: from here on all tags take two bytes."""
MOST_CHANNELS = 2048 - FIRST_CHANNEL
"""Most channels of one body: beyond that tags take three bytes."""


def descriptor_set(name: str) -> bytes:
    """A message type and those that it uses, as a FileDescriptorSet."""
    files = [message(1, _file(kind, _fields(kind))) for kind in _dependencies(name)]
    return join_templates(files).data


def state_descriptor(name: str, channels: Sequence[str]) -> bytes:
    """The message type of a body's numbers: `t` in s, then a double per channel."""
    numbers = {k: _FIELD.match(f"{c}:double") for k, c in enumerate(channels, FIRST_CHANNEL)}
    return message(1, _file(name, {1: _FIELD.match("t:double"), **numbers})).data


def _fields(name: str) -> dict[int, re.Match[str] | None]:
    return dict(enumerate(_FIELD.finditer(MESSAGES[name]), 1))


def _dependencies(name: str) -> list[str]:
    """A message type behind all that it uses, as readers want it."""
    used = [kind for other in _used(name) for kind in _dependencies(other)]
    return list(dict.fromkeys([*used, name]))


def _used(name: str) -> list[str]:
    types = [match["type"] for match in _FIELD.finditer(MESSAGES.get(name, ""))]
    return list(dict.fromkeys(_FULL[kind] for kind in types if kind in _FULL))


def _file_name(name: str) -> str:
    package, _, short = name.rpartition(".")
    folder = package.replace(".", "/")
    return f"{folder}/{short.lower() if package.startswith('google') else short}.proto"


def _file(name: str, numbered: Mapping[int, re.Match[str] | None]) -> Template:
    """A FileDescriptorProto."""
    package, _, short = name.rpartition(".")
    fields: list[Template] = []
    enums: list[Template] = []
    for number, match in numbered.items():
        assert match is not None
        label = _REPEATED if match["list"] else _SINGLE
        kind, of = _TYPES.get(match["type"], _MESSAGE), ""
        if match["values"]:
            kind, of = _ENUM, f".{name}.{match['type']}"
            enums.append(_enum(match["type"], match["values"].split(",")))
        elif kind == _MESSAGE:
            of = f".{_FULL[match['type']]}"
        parts = [string(1, match["name"]), integer(3, number), integer(4, label), integer(5, kind)]
        fields.append(message(2, *parts, *([string(6, of)] if of else [])))
    uses = [string(3, _file_name(used)) for used in _used(name)]
    described = message(4, string(1, short), *fields, *enums)
    head = string(1, _file_name(name)), string(2, package), *uses
    return join_templates([*head, described, string(12, "proto3")])


def _enum(name: str, values: Sequence[str]) -> Template:
    numbered = [message(2, string(1, value), integer(2, k)) for k, value in enumerate(values)]
    return message(4, string(1, name), *numbered)


Bytes = NDArray[np.uint8]
Times = NDArray[np.uint64]
"""In ns."""
Message = tuple[int, Template]
"""Number of its channel, and what it looks like."""

_MESSAGE_ROWS_MESSAGE = 5
"""Opcode of a message record."""
MESSAGE_HEAD = 31
"""Bytes of a message record before the message."""


class _Words(NamedTuple):
    """Slots of a source whose offsets have the same remainder by the size of their words."""

    source: Source
    remainder: int
    places: NDArray[np.intp]
    """Offsets in words, from the remainder on."""
    columns: NDArray[np.intp]

    def of(self, rows: Bytes) -> AnyArray:
        """Rows (n, size) as rows of words."""
        size, kind = rows.shape[1], np.dtype(WORDS[self.source])
        shape = (len(rows), (size - self.remainder) // kind.itemsize)
        return np.ndarray(shape, kind, rows.data, self.remainder, (size, kind.itemsize))


class MessageRows:
    """Messages that always come together, in rows of one time each.

    Args:
        messages: what comes together.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        records = [message_record(channel, template) for channel, template in messages]
        self.channels = np.array([channel for channel, _ in messages], np.uint16)
        """Channels of the messages of a row, in order."""
        sizes = [len(record.data) for record in records]
        self.offsets = np.cumsum([0, *sizes])[:-1].astype(np.uint64)
        """Where the messages begin in a row."""
        row = join_templates(records)
        self._words = _by_word(row.slots)
        self._rows = np.frombuffer(bytearray(row.data), np.uint8)[None]

    @property
    def size(self) -> int:
        """Bytes of a row."""
        return self._rows.shape[1]

    def encoded(self, ns: Times, tables: Mapping[Source, AnyArray]) -> Bytes:
        """Rows (T, size) for times (T,) and tables (T, columns), valid until the next call."""
        count = len(ns)
        if count > len(self._rows):
            self._rows = np.tile(self._rows[0], (max(count, 2 * len(self._rows)), 1))
        times = {"log_time": ns[:, None], "timestamp": timestamps(ns).view("<u4")}
        for words in self._words:
            table = times.get(words.source)
            if table is None:
                table = tables[words.source]
            words.of(self._rows)[:count, words.places] = table[:, words.columns]
        return self._rows[:count]


class MessageDecoder:
    """Takes numbers out of messages that all end alike.

    Args:
        template: what they end with, with doubles in its slots.
    """

    def __init__(self, template: Template) -> None:
        self._template = np.frombuffer(template.data, np.uint8)
        self._words = _by_word(template.slots)
        self._fixed = np.ones(len(template.data), bool)
        self._widths: dict[Source, int] = {}
        for slot in template.slots:
            size = np.dtype(WORDS[slot.source]).itemsize
            self._fixed[slot.offset : slot.offset + size] = False
            self._widths[slot.source] = max(slot.column + 1, self._widths.get(slot.source, 0))

    def tables(self, data: Bytes, ends: NDArray[np.int64]) -> dict[Source, Array]:
        """Tables (n, columns) of messages that end at places (n,), at least one."""
        begins = ends - self._template.size
        if begins.min() < 0 or ends.max() > len(data):
            raise Damaged("a message lies outside of its chunk")
        rows = sliding_window_view(data, self._template.size)[begins]
        if not (rows[:, self._fixed] == self._template[self._fixed]).all():
            raise Damaged("a message is not laid out as it was written")
        tables: dict[Source, Array] = {}
        for source, width in self._widths.items():
            tables[source] = np.empty((len(rows), width))
        for words in self._words:
            tables[words.source][:, words.columns] = words.of(rows)[:, words.places]
        return tables


def message_record(channel: int, template: Template) -> Template:
    """A message behind the head of its MCAP record; the sequence number stays 0, unused."""
    head = struct.pack("<BQHIQQ", _MESSAGE_ROWS_MESSAGE, 22 + len(template.data), channel, 0, 0, 0)
    log_time, publish_time = Slot(15, "log_time", 0), Slot(23, "log_time", 0)
    return join_templates([Template(head, (log_time, publish_time)), template])


def _by_word(slots: Sequence[Slot]) -> list[_Words]:
    groups: dict[tuple[Source, int], list[Slot]] = {}
    for slot in slots:
        size = np.dtype(WORDS[slot.source]).itemsize
        groups.setdefault((slot.source, slot.offset % size), []).append(slot)
    return [
        _Words(
            source,
            remainder,
            np.array([slot.offset // np.dtype(WORDS[source]).itemsize for slot in alike]),
            np.array([slot.column for slot in alike]),
        )
        for (source, remainder), alike in groups.items()
    ]


Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""


class Rotation(NamedTuple):
    """Columns of a quaternion in the table; x and y are None of what stays upright."""

    x: int | None
    y: int | None
    z: int
    w: int


class Rotations:
    """A table with the quaternions of what turns.

    Args:
        upright: how many things turn in the plane only.
    """

    def __init__(self, upright: int) -> None:
        self._count = upright
        self._upright: list[tuple[int, float]] = []
        self._tilted: list[tuple[int, int, int]] = []

    @property
    def upright_angles(self) -> tuple[tuple[int, float], ...]:
        """For each thing that turns in the plane, the channel of its angle, and what adds to it.
        Their sines are the first columns of the table, their cosines the next."""
        return tuple(self._upright)

    @property
    def tilted_angles(self) -> tuple[tuple[int, int, int], ...]:
        """For each thing that tilts, channels of yaw, pitch and roll; four columns each behind the
        others."""
        return tuple(self._tilted)

    def upright(self, yaw: int, fixed: float = 0.0) -> Rotation:
        """Add something that turns in the plane, by the channel of its angle and a fixed offset."""
        k = len(self._upright)
        self._upright.append((yaw, fixed))
        return Rotation(None, None, k, self._count + k)

    def tilted(self, yaw: int, pitch: int, roll: int) -> Rotation:
        """Add something that also pitches and rolls, by the channels of its angles."""
        begin = 2 * self._count + 4 * len(self._tilted)
        self._tilted.append((yaw, pitch, roll))
        return Rotation(*range(begin, begin + 4))

    def of(self, rows: Array) -> Array:
        """The table (T, columns) of rows (T, channels): sines, cosines, then what tilts."""
        n, count = self._count, len(rows)
        table = np.empty((count, 2 * n + 4 * len(self._tilted)))
        if n:
            columns, fixed = zip(*self._upright, strict=True)
            halves = rows.take(columns, 1)
            if any(fixed):
                halves += fixed
            halves *= 0.5
            np.sin(halves, out=table[:, :n])
            np.cos(halves, out=table[:, n : 2 * n])
        if self._tilted:
            yaw, pitch, roll = np.moveaxis(rows[:, np.array(self._tilted)], -1, 0)
            table[:, 2 * n :] = quaternions(yaw, pitch, roll).reshape(count, -1)
        return table


def quaternion(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Quaternion:
    """Quaternion of a body turned by yaw, then pitch, then roll, about its own axes, in rad."""
    x, y, z, w = quaternions(*(np.array([angle]) for angle in (yaw, pitch, roll)))[0].tolist()
    return x, y, z, w


def quaternions(yaw: Array, pitch: Array, roll: Array) -> Array:
    """Quaternions x, y, z, w in a last axis, for angles of any shape in rad."""
    (cy, sy), (cp, sp), (cr, sr) = (
        (np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in (yaw, pitch, roll)
    )
    return np.stack(
        [
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
            cy * cp * cr + sy * sp * sr,
        ],
        axis=-1,
    )


WORLD = "world"
"""Frame that everything stands in."""
DIAGONAL_KNOWN = 2
"""Kind of a covariance of which the diagonal is known."""
STANDARD_GRAVITY = 9.81
"""As the vehicles of this package take it, in m/s²."""


class Place(NamedTuple):
    """Channels of a pose in the world."""

    x: int
    y: int
    z: int | None
    rotation: Rotation


def vector(number: int, *values: float) -> Template:
    """A field of the type Vector2, Vector3, Point3, Quaternion or Color."""
    return message(number, *(double(k, value) for k, value in enumerate(values, 1)))


def still_pose(number: int, x: float, y: float, z: float, rotation: Quaternion) -> Template:
    """A field of the type Pose that does not change."""
    return message(number, vector(1, x, y, z), vector(2, *rotation))


def _variables(number: int, source: Source, columns: Sequence[int | None]) -> Template:
    """A field of the type Vector3 or Quaternion that changes; 0 where there is no column."""
    numbered = [(k, column) for k, column in enumerate(columns, 1) if column is not None]
    return message(number, *(variable(k, source, column) for k, column in numbered))


def transform(
    child: str,
    at: Sequence[float] | Place,
    rotation: Rotation | Quaternion = (0.0, 0.0, 0.0, 1.0),
    *,
    parent: str = WORLD,
) -> Template:
    """An entry of FrameTransforms: the frame of a child in that of its parent.

    `at` is a place whose channels change, with its rotation, or three numbers in m that stay.
    """
    if isinstance(at, Place):
        position, rotation = _variables(4, "row", at[:3]), at.rotation
    else:
        position = vector(4, *at)
    turned = isinstance(rotation, Rotation)
    turn = _variables(5, "rotation", rotation) if turned else vector(5, *rotation)
    return message(1, timestamp(1), string(2, parent), string(3, child), position, turn)


def poses(places: Sequence[Place]) -> Template:
    """A PoseInFrame of a vehicle, or a PosesInFrame of many: they are alike."""
    templates = [
        message(3, _variables(1, "row", place[:3]), _variables(2, "rotation", place.rotation))
        for place in places
    ]
    return join_templates([timestamp(1), string(2, WORLD), *templates])


def state(columns: Sequence[int]) -> Template:
    """The numbers of a body: time, then its channels from field `FIRST_CHANNEL` on."""
    numbered = enumerate(columns, FIRST_CHANNEL)
    numbers = [variable(k, "row", column) for k, column in numbered]
    return join_templates([variable(1, "time", 0), *numbers])


def laser_scan(scan: Scan, frame: str) -> Template:
    """A LaserScan."""
    turned = (0.0, 0.0, sin(0.5 * scan.yaw), cos(0.5 * scan.yaw))
    at = still_pose(3, scan.x, scan.y, 0.0, turned)
    last = scan.first_angle + scan.step * (scan.count - 1)
    angles = double(4, scan.first_angle), double(5, last)
    return join_templates([timestamp(1), string(2, frame), at, *angles, laser_ranges(scan.count)])


def laser_ranges(count: int) -> Template:
    """End of a LaserScan."""
    return variables(6, count)


def true_imu(frame: str, a_x: int, a_y: int, omega: int) -> Template:
    """Reading of a perfect inertial unit at the reference point of a vehicle on level ground."""
    rate = _variables(4, "row", (None, None, omega))
    force = variable(1, "row", a_x), variable(2, "row", a_y)
    forces = message(5, *force, double(3, STANDARD_GRAVITY))
    return join_templates([timestamp(1), string(2, frame), rate, forces])


def imu(frame: str, oriented: bool) -> Template:
    """A reading of an inertial unit: three rates and three forces, the quaternion if it has one."""
    return join_templates([timestamp(1), string(2, frame), imu_numbers(oriented)])


def imu_numbers(oriented: bool) -> Template:
    """The numeric fields of an IMU message: the orientation quaternion if `oriented`, angular
    rates, then specific forces."""
    orientation = [_variables(3, "reading", range(6, 10))] if oriented else []
    rates, forces = _variables(4, "reading", range(3)), _variables(5, "reading", range(3, 6))
    return join_templates([*orientation, rates, forces])


def location_fix(frame: str, variances: Sequence[float]) -> Template:
    """A fix of a satellite receiver; `variances` are those to the east, the north and upwards."""
    east, north, up = variances
    matrix = [east, 0.0, 0.0, 0.0, north, 0.0, 0.0, 0.0, up]
    covariance = octets(4, struct.pack("<9d", *matrix)), integer(5, DIAGONAL_KNOWN)
    return join_templates([timestamp(6), string(7, frame), *covariance, location_numbers()])


def location_numbers() -> Template:
    """The numeric fields of a fix: latitude, longitude, altitude."""
    return join_templates([variable(k + 1, "reading", k) for k in range(3)])


def odometry(frame: str, child: str, number: int) -> Template:
    """Wheel odometry of one of several vehicles whose readings come together."""
    names = string(2, frame), string(3, child)
    return join_templates([timestamp(1), *names, odometry_numbers(number)])


def odometry_numbers(number: int) -> Template:
    """The numeric fields of wheel odometry: x, y, yaw, v_x and yaw rate."""
    return join_templates([variable(4 + k, "reading", 5 * number + k) for k in range(5)])


def bumper(frame: str) -> Template:
    """Whether a vehicle touches something."""
    return join_templates([timestamp(1), string(2, frame), bumper_flag()])


def bumper_flag() -> Template:
    """End of a reading of a bumper."""
    return flag(3, 0)


def contact(event: ContactEvent) -> Template:
    """Two things that begin or cease to touch."""
    numbers = event.normal_impulse, event.tangential_impulse, event.since
    return join_templates(
        [
            timestamp(1),
            integer(2, int(event.kind == "begin")),
            string(3, event.a),
            string(4, event.b),
            vector(5, event.x, event.y),
            vector(6, event.normal_x, event.normal_y),
            *(double(k, value) for k, value in enumerate(numbers, 7)),
        ]
    )


def contact_event(data: bytes, time: float) -> ContactEvent:
    """The event in a message of `contact`; `time` is its log time in s."""
    from ...world.contact.touches import ContactEvent

    fields = {number: values[-1] for number, values in protobuf_fields(data).items()}
    began, a, b, where, normal = (fields[k] for k in range(2, 7))
    if not (isinstance(a, bytes) and isinstance(b, bytes)):
        raise ValueError("a contact has no names")
    places = [
        _double(protobuf_fields(point)[k][-1])
        for point in (where, normal)
        if isinstance(point, bytes)
        for k in (1, 2)
    ]
    numbers = [_double(fields[k]) for k in (7, 8, 9)]
    kind = "begin" if began else "end"
    return ContactEvent(kind, time, a.decode(), b.decode(), *places, *numbers)


def _double(value: int | bytes) -> float:
    if isinstance(value, int):
        raise ValueError("a message has a whole number in place of a double")
    (number,) = struct.unpack("<d", value)
    return number
