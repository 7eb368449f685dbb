"""The message types of a recording, described for readers: field names, numbers and types.

Those of the package `foxglove` are the field lists of Foxglove's published schemas
(https://docs.foxglove.dev/docs/sdk/schemas), written down here so that recording needs no protobuf
library; a test holds them against the official classes. There is none for inertial units, so
`skidpad.Imu` has the fields of sensor_msgs/Imu without its covariances: viewers plot its numbers
under the names that people know from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .wire import Piece, joined, nested, text, whole

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
"""Of one body: beyond that tags take three bytes."""


def descriptor_set(message: str) -> bytes:
    """A message type and those that it uses, as a FileDescriptorSet."""
    needed: list[str] = []
    _collect(message, needed)
    return joined([nested(1, _file(name)) for name in needed]).data


def state_descriptor(message: str, names: Sequence[str]) -> bytes:
    """The message type of a body's numbers: `t` in s, then a double per name."""
    fields = [_field("t", 1, _SINGLE, _TYPES["double"])]
    numbered = enumerate(names, FIRST_CHANNEL)
    fields += [_field(name, k, _SINGLE, _TYPES["double"]) for k, name in numbered]
    package, _, name = message.rpartition(".")
    made = nested(4, text(1, name), *fields)
    return nested(1, text(1, _file_name(message)), text(2, package), made, text(12, "proto3")).data


def _collect(message: str, found: list[str]) -> None:
    """A message behind everything that it uses, as readers want it."""
    for used in _used(message):
        if used not in found:
            _collect(used, found)
    found.append(message)


def _used(message: str) -> list[str]:
    types = [match["type"] for match in _FIELD.finditer(MESSAGES[message])]
    return list(dict.fromkeys(_FULL[kind] for kind in types if kind in _FULL))


def _file_name(message: str) -> str:
    package, _, name = message.rpartition(".")
    folder = package.replace(".", "/")
    return f"{folder}/{name.lower() if package.startswith('google') else name}.proto"


def _file(message: str) -> Piece:
    package, _, name = message.rpartition(".")
    fields: list[Piece] = []
    enums: list[Piece] = []
    for number, match in enumerate(_FIELD.finditer(MESSAGES[message]), 1):
        label = _REPEATED if match["list"] else _SINGLE
        kind, of = _TYPES.get(match["type"], _MESSAGE), ""
        if match["values"]:
            kind, of = _ENUM, f".{message}.{match['type']}"
            enums.append(_enum(match["type"], match["values"].split(",")))
        elif kind == _MESSAGE:
            of = f".{_FULL[match['type']]}"
        fields.append(_field(match["name"], number, label, kind, of))
    made = nested(4, text(1, name), *fields, *enums)
    uses = [text(3, _file_name(used)) for used in _used(message)]
    return joined([text(1, _file_name(message)), text(2, package), *uses, made, text(12, "proto3")])


def _field(name: str, number: int, label: int, kind: int, of: str = "") -> Piece:
    parts = [text(1, name), whole(3, number), whole(4, label), whole(5, kind)]
    return nested(2, *parts, *([text(6, of)] if of else []))


def _enum(name: str, values: Sequence[str]) -> Piece:
    listed = [nested(2, text(1, value), whole(2, k)) for k, value in enumerate(values)]
    return nested(4, text(1, name), *listed)
