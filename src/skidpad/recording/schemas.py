"""The message types of a recording, described for readers: field names, numbers and types.

Those of the package `foxglove` are the field lists of Foxglove's published schemas
(https://docs.foxglove.dev/docs/sdk/schemas), written down here so that recording needs no protobuf
library; a test holds them against the official classes. There is none for inertial units, so
`skidpad.Imu` has the fields of sensor_msgs/Imu without its covariances: viewers plot its numbers
under the names that people know from there. That of wheel odometry has the five numbers and no
quaternion: it comes with every sample, and its yaw counts turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from . import protobuf as pb
from .protobuf import Template

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
"""Of one body: beyond that tags take three bytes."""


def descriptor_set(name: str) -> bytes:
    """A message type and those that it uses, as a FileDescriptorSet."""
    files = [pb.message(1, _file(kind, _fields(kind))) for kind in _with_used(name)]
    return pb.joined(files).data


def state_descriptor(name: str, channels: Sequence[str]) -> bytes:
    """The message type of a body's numbers: `t` in s, then a double per channel."""
    numbers = {k: _FIELD.match(f"{c}:double") for k, c in enumerate(channels, FIRST_CHANNEL)}
    return pb.message(1, _file(name, {1: _FIELD.match("t:double"), **numbers})).data


def _fields(name: str) -> dict[int, re.Match[str] | None]:
    return dict(enumerate(_FIELD.finditer(MESSAGES[name]), 1))


def _with_used(name: str) -> list[str]:
    """A message type behind all that it uses, as readers want it."""
    used = [kind for other in _used(name) for kind in _with_used(other)]
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
        parts = [
            pb.string(1, match["name"]),
            pb.integer(3, number),
            pb.integer(4, label),
            pb.integer(5, kind),
        ]
        fields.append(pb.message(2, *parts, *([pb.string(6, of)] if of else [])))
    uses = [pb.string(3, _file_name(used)) for used in _used(name)]
    described = pb.message(4, pb.string(1, short), *fields, *enums)
    head = pb.string(1, _file_name(name)), pb.string(2, package), *uses
    return pb.joined([*head, described, pb.string(12, "proto3")])


def _enum(name: str, values: Sequence[str]) -> Template:
    numbered = [
        pb.message(2, pb.string(1, value), pb.integer(2, k)) for k, value in enumerate(values)
    ]
    return pb.message(4, pb.string(1, name), *numbered)
