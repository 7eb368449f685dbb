"""Messages of recordings: protobuf as templates with slots, message types, rows of messages.

A message whose numbers are doubles and whose texts are constant has the same length every time, so
it is encoded once with slots (`encode` gives a `Template`), and the numbers of thousands of samples
are written into copies of it at once (`MessageRows`). Only the varints of `Timestamp` would change
the length. Here they always take five bytes, padded if shorter; the encoding allows that and
readers accept it.

The message types of the package `foxglove` are the field lists of Foxglove's published schemas
(https://docs.foxglove.dev/docs/sdk/schemas), written down here so that recording needs no protobuf
library; `encode` and `descriptor_set` read them, and a test compares them with the official
classes. Foxglove has no type for inertial units, so `skidpad.Imu` has the fields of sensor_msgs/Imu
without its covariances, which gives the plotted values familiar names. That of wheel odometry has
five numbers and no quaternion, since it comes with every sample and its yaw counts turns.

Messages that always come together, as MCAP records, form a row of bytes. The constant part of the
rows is reused from chunk to chunk, and the variable part is written into all rows by a few array
operations: 7 µs a sample for 100 robots with 26 numbers each, on one core of an AMD EPYC. Adding
the messages one by one takes 330 µs with the package `mcap`. Few operations also matter because
each releases and reacquires the interpreter lock, which delays the simulation thread.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core.arrays import AnyArray, Array
from .mcap import Damaged

if TYPE_CHECKING:
    from ...world.contact.solids import ContactEvent

Source = Literal["row", "rotation", "time", "reading", "flag", "timestamp", "log_time"]
"""Table that fills a slot: channels of the stage, quaternions, the time in s, a sensor's
numbers or truth values, words of a `Timestamp`, or the log time of an MCAP message."""
WORDS: Mapping[Source, str] = {
    "row": "<f8",
    "rotation": "<f8",
    "time": "<f8",
    "reading": "<f8",
    "flag": "u1",
    "timestamp": "<u4",
    "log_time": "<u8",
}
"""Binary types of the tables' values in a message."""

TIMESTAMP_SIZE = 12
"""Bytes of a Timestamp: two varints of five bytes, each after its tag."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TAGS = np.array([1 << 3, 2 << 3], np.uint8)
"""Tags of the seconds and the nanoseconds in a Timestamp."""
_SHIFTS = np.arange(0, 35, 7, dtype=np.uint64)
_MORE = np.array([0x80, 0x80, 0x80, 0x80, 0], np.uint64)
"""Continuation bits of a five-byte varint."""


class Slot(NamedTuple):
    """A value of a message that differs between samples."""

    offset: int
    """Offset of its first byte."""
    source: Source
    column: int
    """Column in the source's table."""


class Template(NamedTuple):
    """Bytes of a message, or of a part of one, with slots."""

    data: bytes
    slots: tuple[Slot, ...] = ()


def join_templates(parts: Sequence[Template]) -> Template:
    offsets = accumulate((len(part.data) for part in parts), initial=0)
    slots = [
        slot._replace(offset=slot.offset + offset)
        for part, offset in zip(parts, offsets, strict=False)
        for slot in part.slots
    ]
    return Template(b"".join(part.data for part in parts), tuple(slots))


def varint(value: int) -> bytes:
    """Varint of an integer of at least 0, seven bits a byte."""
    octets = bytearray()
    while value > 0x7F:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    octets.append(value)
    return bytes(octets)


def _tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def message(number: int, *parts: Template) -> Template:
    """Submessage field."""
    content = join_templates(parts)
    return join_templates([Template(_tag(number, _BYTES) + varint(len(content.data))), content])


def string(number: int, value: str) -> Template:
    """String field."""
    return message(number, Template(value.encode()))


def integer(number: int, value: int) -> Template:
    """Integer, enumeration or boolean field."""
    return Template(_tag(number, _VARINT) + varint(value))


class Cell(NamedTuple):
    """A double or boolean that differs from sample to sample: a column of a source."""

    source: Source
    column: int


def cells(source: Source, columns: Iterable[int | None]) -> tuple[Cell | None, ...]:
    """Cells of a source; None where there is no column."""
    return tuple(None if column is None else Cell(source, column) for column in columns)


def encode(kind: str, *first: Any, **more: Any) -> Template:
    """Message of a type of `MESSAGES`: its first fields in order, then others by name.

    A list is a repeated field. The value of a message field is a template of it or a
    tuple of its first fields in order; None leaves a field out.
    """
    numbers = _numbers(kind)
    values = [*zip(numbers, first, strict=False), *more.items()]
    each = [(name, v if isinstance(v, list) else [v]) for name, v in values if v is not None]
    return join_templates([_field(*numbers[name], one) for name, many in each for one in many])


def _field(number: int, kind: str, value: Any) -> Template:
    match value:
        case Cell():
            tag = _tag(number, _VARINT if kind == "bool" else _FIXED64)
            size = np.dtype(WORDS[value.source]).itemsize
            return Template(tag + bytes(size), (Slot(len(tag), *value),))
        case Template():
            return message(number, value)
        case tuple():
            return message(number, encode(kind, *value))
        case str():
            return string(number, value)
        case bytes():
            return message(number, Template(value))
        case _ if kind == "double":
            return Template(_tag(number, _FIXED64) + struct.pack("<d", value))
        case _ if kind == "fixed32":
            return Template(_tag(number, _FIXED32) + struct.pack("<I", value))
        case _:
            return integer(number, int(value))


def protobuf_fields(data: bytes) -> dict[int, list[int | bytes]]:
    """Fields of a message by number: integers, or the bytes of everything else."""
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
    """Value of a varint and the offset of its end."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        octet, at = data[at], at + 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
    raise ValueError("a number of a message has no end")


def _words(source: Source, count: int) -> Template:
    """Words of a source one after the other."""
    size = np.dtype(WORDS[source]).itemsize
    return Template(bytes(size * count), tuple(Slot(size * k, source, k) for k in range(count)))


NOW = _words("timestamp", TIMESTAMP_SIZE // 4)
"""Timestamp of the message."""


def timestamps(ns: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Encode times in ns (T,) as the bytes of Timestamps (T, 12)."""
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
"""Fields of the message types in order of their numbers, from 1 on: `name:type`, a star for a
list, the values of an enumeration in brackets, from 0 on."""
_FULL = {name.rpartition(".")[2]: name for name in MESSAGES}
_FIELD = re.compile(r"(?P<name>\w+):(?P<type>\w+)(\((?P<values>[\w,]+)\))?(?P<list>\*)?")


@cache
def _numbers(kind: str) -> dict[str, tuple[int, str]]:
    """Number and type of the fields of a message type, by name."""
    return {match["name"]: (k, match["type"]) for k, match in _fields(_FULL[kind]).items()}


FIRST_CHANNEL = 16
"""Field number of a body's first channel; from here on all tags take two bytes."""
MOST_CHANNELS = 2048 - FIRST_CHANNEL
"""Most channels of one body; with more, tags would take three bytes."""


def descriptor_set(name: str) -> bytes:
    """FileDescriptorSet of a message type and the types it uses."""
    files = [message(1, _file(kind, _fields(kind))) for kind in _dependencies(name)]
    return join_templates(files).data


def state_descriptor(name: str, channels: Sequence[str]) -> bytes:
    """FileDescriptorSet of a body's state: `t` in s, then a double per channel."""
    names = {1: "t", **dict(enumerate(channels, FIRST_CHANNEL))}
    fields = {k: match for k, c in names.items() if (match := _FIELD.match(f"{c}:double"))}
    return message(1, _file(name, fields)).data


def _fields(name: str) -> dict[int, re.Match[str]]:
    return dict(enumerate(_FIELD.finditer(MESSAGES[name]), 1))


def _dependencies(name: str) -> list[str]:
    """A message type preceded by all types it uses, in the order that readers require."""
    used = [kind for other in _used(name) for kind in _dependencies(other)]
    return list(dict.fromkeys([*used, name]))


def _used(name: str) -> list[str]:
    types = [match["type"] for match in _FIELD.finditer(MESSAGES.get(name, ""))]
    return list(dict.fromkeys(_FULL[kind] for kind in types if kind in _FULL))


def _file_name(name: str) -> str:
    package, _, short = name.rpartition(".")
    folder = package.replace(".", "/")
    return f"{folder}/{short.lower() if package.startswith('google') else short}.proto"


def _file(name: str, numbered: Mapping[int, re.Match[str]]) -> Template:
    """FileDescriptorProto with the numbered fields of a message type."""
    package, _, short = name.rpartition(".")
    fields: list[Template] = []
    enums: list[Template] = []
    for number, match in numbered.items():
        label = _REPEATED if match["list"] else _SINGLE
        kind, of = _TYPES.get(match["type"], _MESSAGE), ""
        if match["values"]:
            kind, of = _ENUM, f".{name}.{match['type']}"
            cases = [
                message(2, string(1, value), integer(2, k))
                for k, value in enumerate(match["values"].split(","))
            ]
            enums.append(message(4, string(1, match["type"]), *cases))
        elif kind == _MESSAGE:
            of = f".{_FULL[match['type']]}"
        parts = [string(1, match["name"]), integer(3, number), integer(4, label), integer(5, kind)]
        fields.append(message(2, *parts, *([string(6, of)] if of else [])))
    uses = [string(3, _file_name(used)) for used in _used(name)]
    described = message(4, string(1, short), *fields, *enums)
    head = string(1, _file_name(name)), string(2, package), *uses
    return join_templates([*head, described, string(12, "proto3")])


Bytes = NDArray[np.uint8]
Times = NDArray[np.uint64]
"""Times in ns."""
Message = tuple[int, Template]
"""Channel number and template."""

_MESSAGE_ROWS_MESSAGE = 5
"""Opcode of a message record."""
MESSAGE_HEAD = 31
"""Bytes of a message record before the message."""


class _Words(NamedTuple):
    """Slots of a source whose offsets have the same remainder modulo the word size."""

    source: Source
    remainder: int
    places: NDArray[np.intp]
    """Offsets in words, counted from the remainder."""
    columns: NDArray[np.intp]

    def of(self, rows: Bytes) -> AnyArray:
        """View of rows (n, size) as rows of words."""
        size, kind = rows.shape[1], np.dtype(WORDS[self.source])
        shape = (len(rows), (size - self.remainder) // kind.itemsize)
        return np.ndarray(shape, kind, rows.data, self.remainder, (size, kind.itemsize))


class MessageRows:
    """Encoder of messages that always come together, as one row of bytes per time.

    Args:
        messages: the messages of a row.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        records = [message_record(channel, template) for channel, template in messages]
        self.channels = np.array([channel for channel, _ in messages], np.uint16)
        """Channels of the messages of a row, in order."""
        sizes = [len(record.data) for record in records]
        self.offsets = np.cumsum([0, *sizes])[:-1].astype(np.uint64)
        row = join_templates(records)
        self._words = _by_word(row.slots)
        self._rows = np.frombuffer(bytearray(row.data), np.uint8)[None]

    @property
    def size(self) -> int:
        """Length of a row in bytes."""
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
    """Decoder of the numbers at the end of messages of one type.

    Args:
        template: common end of the messages, with doubles in its slots.
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
        """Tables (n, columns) of messages that end at offsets (n,), n >= 1."""
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
    """MCAP message record of a message; the sequence number stays 0, unused."""
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
"""Quaternion x, y, z, w."""


class Rotations:
    """Table of the quaternions of all rotating bodies.

    Args:
        upright: number of bodies that only turn in the plane.
    """

    def __init__(self, upright: int) -> None:
        self._count = upright
        self._upright: list[tuple[int, float]] = []
        self._tilted: list[tuple[int, int, int]] = []

    @property
    def upright_angles(self) -> tuple[tuple[int, float], ...]:
        """Yaw channel and fixed offset of each upright body.

        The sines of their half angles are the first columns of the table, the cosines the next.
        """
        return tuple(self._upright)

    @property
    def tilted_angles(self) -> tuple[tuple[int, int, int], ...]:
        """Channels of yaw, pitch and roll of each tilting body; each has four consecutive
        columns."""
        return tuple(self._tilted)

    def upright(self, yaw: int, fixed: float = 0.0) -> tuple[Cell | None, ...]:
        """Add a body that turns in the plane, by its yaw channel and a fixed offset; returns its
        quaternion."""
        k = len(self._upright)
        self._upright.append((yaw, fixed))
        return cells("rotation", (None, None, k, self._count + k))

    def tilted(self, yaw: int, pitch: int, roll: int) -> tuple[Cell | None, ...]:
        """Add a body that also pitches and rolls, by the channels of its angles; returns its
        quaternion."""
        begin = 2 * self._count + 4 * len(self._tilted)
        self._tilted.append((yaw, pitch, roll))
        return cells("rotation", range(begin, begin + 4))

    def of(self, rows: Array) -> Array:
        """Table (T, columns) from rows (T, channels): sines, cosines, then tilting bodies."""
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
STANDARD_GRAVITY = 9.81
"""Standard gravity as in this package's vehicles, in m/s²."""


def state(columns: Sequence[int]) -> Template:
    """State message of a body: time, then its channels from field `FIRST_CHANNEL` on."""
    numbered = enumerate(columns, FIRST_CHANNEL)
    channels = [_field(k, "double", Cell("row", column)) for k, column in numbered]
    return join_templates([_field(1, "double", Cell("time", 0)), *channels])


def laser_ranges(count: int) -> Template:
    """Numeric end of a LaserScan: its ranges."""
    return encode("LaserScan", ranges=_words("reading", count))


def contact(event: ContactEvent) -> Template:
    """Contact message: two bodies that begin or cease to touch."""
    places = (event.x, event.y), (event.normal_x, event.normal_y)
    numbers = event.normal_impulse, event.tangential_impulse, event.since
    return encode("Contact", NOW, event.kind == "begin", event.a, event.b, *places, *numbers)


def contact_event(data: bytes, time: float) -> ContactEvent:
    """Contact event from a message of `contact`; `time` is its log time in s."""
    from ...world.contact.solids import ContactEvent

    fields = {number: values[-1] for number, values in protobuf_fields(data).items()}
    began, a, b, where, normal = (fields[k] for k in range(2, 7))
    if not (isinstance(a, bytes) and isinstance(b, bytes)):
        raise ValueError("a contact message has no body names")
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
