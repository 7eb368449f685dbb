"""Message and service types of ROS 2 from the lines of interface files.

A type is declared once, in `definitions` or in the text of a bag; records, CDR, type hashes,
schemas of bags and the types of every middleware follow from that. The text of a definition is the
interface file of the message, then those of all nested messages, each after a line of equals signs
and one with its name (`ros2msg` of Foxglove). RIHS01, the hash that identifies types in rmw_zenoh
and in bags since Iron, is SHA-256 of a JSON text in the form of rosidl (REP 2011).

Interface files of all messages and services that skidpad uses, without their comments.

`PACKAGES` has the packages that come with ROS 2, as of Jazzy; `HUMBLE` says where Humble's differ.
`PROGRAM_PACKAGES` has those of the programs that skidpad replaces, from
autowarefoundation/autoware_msgs (7025d8f), tier4/tier4_autoware_msgs (cf67717),
tudoroancea/brains2 (c975b02), robotics-laboratory/truck (332ff42e), ros-drivers/ackermann_msgs and
ros-simulation/simulation_interfaces (172a1b1); docs/ros2.md lists the revisions.

A line is a message with its fields in order; a line that begins with blanks continues the one
before it.

`Prepared` is a message that is sent repeatedly: it is encoded once, then its numbers are patched in
place. Strings and the lengths of sequences are fixed. `PreparedMany` writes the numbers of many
messages of the same layout as columns.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import brief_repr, listed, shortened
from ...errors import InvalidValue
from . import codec
from .codec import (
    CODES,
    DTYPES,
    DUMMY,
    PRIMITIVES,
    TRUTHS,
    Field,
    Leaf,
    Shape,
    Structure,
    attribute,
    dds_name,
    leaves,
    number_fault,
)

_WHOLE = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
_NUMBERS = ["Byte", "Float32", "Float64", *_WHOLE]
_SINGLE = "\n".join(
    [
        *(f"{name}: {name.lower()} data" for name in (*_NUMBERS, "Bool", "Char", "String")),
        *(f"{n}MultiArray: MultiArrayLayout layout, {n.lower()}[] data" for n in _NUMBERS),
    ]
)
"""Messages of `std_msgs` for single values, and for arrays of numbers."""
_STAMPED = "\n".join(
    f"{name}Stamped: std_msgs/Header header, {name} {name.lower()}"
    for name in ["Accel", "Inertia", "Point", "Polygon", "Pose", "Quaternion", "Twist", "Wrench"]
)
"""Messages of `geometry_msgs` that have a header and another message."""
_WITH_COVARIANCE = "\n".join(
    f"{name}WithCovariance: {name} {name.lower()}, float64[36] covariance\n"
    f"{name}WithCovarianceStamped: std_msgs/Header header, {name}WithCovariance {name.lower()}"
    for name in ("Accel", "Pose", "Twist")
)
PACKAGES: dict[str, str] = {
    "builtin_interfaces": """
Duration: int32 sec, uint32 nanosec
Time: int32 sec, uint32 nanosec
""",
    "std_msgs": """
ColorRGBA: float32 r, float32 g, float32 b, float32 a
Empty:
Header: builtin_interfaces/Time stamp, string frame_id
MultiArrayDimension: string label, uint32 size, uint32 stride
MultiArrayLayout: MultiArrayDimension[] dim, uint32 data_offset
"""
    + _SINGLE,
    "geometry_msgs": """
Accel: Vector3 linear, Vector3 angular
Inertia: float64 m, Vector3 com, float64 ixx, float64 ixy, float64 ixz, float64 iyy, float64 iyz,
    float64 izz
Point: float64 x, float64 y, float64 z
Point32: float32 x, float32 y, float32 z
Polygon: Point32[] points
PolygonInstance: Polygon polygon, int64 id
PolygonInstanceStamped: std_msgs/Header header, PolygonInstance polygon
Pose: Point position, Quaternion orientation
Pose2D: float64 x, float64 y, float64 theta
PoseArray: std_msgs/Header header, Pose[] poses
Quaternion: float64 x, float64 y, float64 z, float64 w 1
Transform: Vector3 translation, Quaternion rotation
TransformStamped: std_msgs/Header header, string child_frame_id, Transform transform
Twist: Vector3 linear, Vector3 angular
Vector3: float64 x, float64 y, float64 z
Vector3Stamped: std_msgs/Header header, Vector3 vector
VelocityStamped: std_msgs/Header header, string body_frame_id, string reference_frame_id,
    Twist velocity
Wrench: Vector3 force, Vector3 torque
"""
    + f"{_STAMPED}\n{_WITH_COVARIANCE}",
    "nav_msgs": """
GridCells: std_msgs/Header header, float32 cell_width, float32 cell_height,
    geometry_msgs/Point[] cells
MapMetaData: builtin_interfaces/Time map_load_time, float32 resolution, uint32 width,
    uint32 height, geometry_msgs/Pose origin
OccupancyGrid: std_msgs/Header header, MapMetaData info, int8[] data
Odometry: std_msgs/Header header, string child_frame_id, geometry_msgs/PoseWithCovariance pose,
    geometry_msgs/TwistWithCovariance twist
Path: std_msgs/Header header, geometry_msgs/PoseStamped[] poses
""",
    "sensor_msgs": """
BatteryState: std_msgs/Header header, float32 voltage, float32 temperature, float32 current,
    float32 charge, float32 capacity, float32 design_capacity, float32 percentage,
    uint8 power_supply_status, uint8 power_supply_health, uint8 power_supply_technology,
    bool present, float32[] cell_voltage, float32[] cell_temperature, string location,
    string serial_number
CameraInfo: std_msgs/Header header, uint32 height, uint32 width, string distortion_model,
    float64[] d, float64[9] k, float64[9] r, float64[12] p, uint32 binning_x, uint32 binning_y,
    RegionOfInterest roi
ChannelFloat32: string name, float32[] values
CompressedImage: std_msgs/Header header, string format, uint8[] data
FluidPressure: std_msgs/Header header, float64 fluid_pressure, float64 variance
Illuminance: std_msgs/Header header, float64 illuminance, float64 variance
Image: std_msgs/Header header, uint32 height, uint32 width, string encoding, uint8 is_bigendian,
    uint32 step, uint8[] data
Imu: std_msgs/Header header, geometry_msgs/Quaternion orientation,
    float64[9] orientation_covariance, geometry_msgs/Vector3 angular_velocity,
    float64[9] angular_velocity_covariance, geometry_msgs/Vector3 linear_acceleration,
    float64[9] linear_acceleration_covariance
JointState: std_msgs/Header header, string[] name, float64[] position, float64[] velocity,
    float64[] effort
Joy: std_msgs/Header header, float32[] axes, int32[] buttons
JoyFeedback: uint8 type, uint8 id, float32 intensity
JoyFeedbackArray: JoyFeedback[] array
LaserEcho: float32[] echoes
LaserScan: std_msgs/Header header, float32 angle_min, float32 angle_max, float32 angle_increment,
    float32 time_increment, float32 scan_time, float32 range_min, float32 range_max,
    float32[] ranges, float32[] intensities
MagneticField: std_msgs/Header header, geometry_msgs/Vector3 magnetic_field,
    float64[9] magnetic_field_covariance
MultiDOFJointState: std_msgs/Header header, string[] joint_names,
    geometry_msgs/Transform[] transforms, geometry_msgs/Twist[] twist,
    geometry_msgs/Wrench[] wrench
MultiEchoLaserScan: std_msgs/Header header, float32 angle_min, float32 angle_max,
    float32 angle_increment, float32 time_increment, float32 scan_time, float32 range_min,
    float32 range_max, LaserEcho[] ranges, LaserEcho[] intensities
NavSatFix: std_msgs/Header header, NavSatStatus status, float64 latitude, float64 longitude,
    float64 altitude, float64[9] position_covariance, uint8 position_covariance_type
NavSatStatus: int8 status, uint16 service
PointCloud: std_msgs/Header header, geometry_msgs/Point32[] points, ChannelFloat32[] channels
PointCloud2: std_msgs/Header header, uint32 height, uint32 width, PointField[] fields,
    bool is_bigendian, uint32 point_step, uint32 row_step, uint8[] data, bool is_dense
PointField: string name, uint32 offset, uint8 datatype, uint32 count
Range: std_msgs/Header header, uint8 radiation_type, float32 field_of_view, float32 min_range,
    float32 max_range, float32 range, float32 variance
RegionOfInterest: uint32 x_offset, uint32 y_offset, uint32 height, uint32 width, bool do_rectify
RelativeHumidity: std_msgs/Header header, float64 relative_humidity, float64 variance
Temperature: std_msgs/Header header, float64 temperature, float64 variance
TimeReference: std_msgs/Header header, builtin_interfaces/Time time_ref, string source
""",
    "tf2_msgs": """
TF2Error: uint8 error, string error_string
TFMessage: geometry_msgs/TransformStamped[] transforms
""",
    "rosgraph_msgs": """
Clock: builtin_interfaces/Time clock
""",
    "visualization_msgs": """
ImageMarker: std_msgs/Header header, string ns, int32 id, int32 type, int32 action,
    geometry_msgs/Point position, float32 scale, std_msgs/ColorRGBA outline_color, uint8 filled,
    std_msgs/ColorRGBA fill_color, builtin_interfaces/Duration lifetime,
    geometry_msgs/Point[] points, std_msgs/ColorRGBA[] outline_colors
InteractiveMarker: std_msgs/Header header, geometry_msgs/Pose pose, string name,
    string description, float32 scale, MenuEntry[] menu_entries,
    InteractiveMarkerControl[] controls
InteractiveMarkerControl: string name, geometry_msgs/Quaternion orientation,
    uint8 orientation_mode, uint8 interaction_mode, bool always_visible, Marker[] markers,
    bool independent_marker_orientation, string description
InteractiveMarkerFeedback: std_msgs/Header header, string client_id, string marker_name,
    string control_name, uint8 event_type, geometry_msgs/Pose pose, uint32 menu_entry_id,
    geometry_msgs/Point mouse_point, bool mouse_point_valid
InteractiveMarkerInit: string server_id, uint64 seq_num, InteractiveMarker[] markers
InteractiveMarkerPose: std_msgs/Header header, geometry_msgs/Pose pose, string name
InteractiveMarkerUpdate: string server_id, uint64 seq_num, uint8 type,
    InteractiveMarker[] markers, InteractiveMarkerPose[] poses, string[] erases
Marker: std_msgs/Header header, string ns, int32 id, int32 type, int32 action,
    geometry_msgs/Pose pose, geometry_msgs/Vector3 scale, std_msgs/ColorRGBA color,
    builtin_interfaces/Duration lifetime, bool frame_locked, geometry_msgs/Point[] points,
    std_msgs/ColorRGBA[] colors, string texture_resource, sensor_msgs/CompressedImage texture,
    UVCoordinate[] uv_coordinates, string text, string mesh_resource, MeshFile mesh_file,
    bool mesh_use_embedded_materials
MarkerArray: Marker[] markers
MenuEntry: uint32 id, uint32 parent_id, string title, string command, uint8 command_type
MeshFile: string filename, uint8[] data
UVCoordinate: float32 u, float32 v
""",
    "diagnostic_msgs": """
DiagnosticArray: std_msgs/Header header, DiagnosticStatus[] status
DiagnosticStatus: byte level, string name, string message, string hardware_id, KeyValue[] values
KeyValue: string key, string value
""",
    "rcl_interfaces": """
FloatingPointRange: float64 from_value, float64 to_value, float64 step
IntegerRange: int64 from_value, int64 to_value, uint64 step
ListParametersResult: string[] names, string[] prefixes
Log: builtin_interfaces/Time stamp, uint8 level, string name, string msg, string file,
    string function, uint32 line
LoggerLevel: string name, uint32 level
Parameter: string name, ParameterValue value
ParameterDescriptor: string name, uint8 type, string description, string additional_constraints,
    bool read_only, bool dynamic_typing, FloatingPointRange[<=1] floating_point_range,
    IntegerRange[<=1] integer_range
ParameterEvent: builtin_interfaces/Time stamp, string node, Parameter[] new_parameters,
    Parameter[] changed_parameters, Parameter[] deleted_parameters
ParameterEventDescriptors: ParameterDescriptor[] new_parameters,
    ParameterDescriptor[] changed_parameters, ParameterDescriptor[] deleted_parameters
ParameterType:
ParameterValue: uint8 type, bool bool_value, int64 integer_value, float64 double_value,
    string string_value, byte[] byte_array_value, bool[] bool_array_value,
    int64[] integer_array_value, float64[] double_array_value, string[] string_array_value
SetLoggerLevelsResult: bool successful, string reason
SetParametersResult: bool successful, string reason
""",
    "rmw_dds_common": """
Gid: char[16] data
NodeEntitiesInfo: string<=256 node_namespace, string<=256 node_name, Gid[] reader_gid_seq,
    Gid[] writer_gid_seq
ParticipantEntitiesInfo: Gid gid, NodeEntitiesInfo[] node_entities_info_seq
""",
    "service_msgs": """
ServiceEventInfo: uint8 event_type, builtin_interfaces/Time stamp, char[16] client_gid,
    int64 sequence_number
""",
}
"""Messages of each package that comes with ROS 2."""

PROGRAM_PACKAGES: dict[str, str] = {
    "autoware_control_msgs": """
Control: builtin_interfaces/Time stamp, builtin_interfaces/Time control_time, Lateral lateral,
    Longitudinal longitudinal
ControlHorizon: builtin_interfaces/Time stamp, builtin_interfaces/Time control_time,
    float32 time_step_ms, Control[] controls
Lateral: builtin_interfaces/Time stamp, builtin_interfaces/Time control_time,
    float32 steering_tire_angle, float32 steering_tire_rotation_rate,
    bool is_defined_steering_tire_rotation_rate
Longitudinal: builtin_interfaces/Time stamp, builtin_interfaces/Time control_time,
    float32 velocity, float32 acceleration, float32 jerk, bool is_defined_acceleration,
    bool is_defined_jerk
""",
    "autoware_vehicle_msgs": """
ControlModeReport: builtin_interfaces/Time stamp, uint8 mode
Engage: builtin_interfaces/Time stamp, bool engage
GearCommand: builtin_interfaces/Time stamp, uint8 command
GearReport: builtin_interfaces/Time stamp, uint8 report
HazardLightsCommand: builtin_interfaces/Time stamp, uint8 command
HazardLightsReport: builtin_interfaces/Time stamp, uint8 report
SteeringReport: builtin_interfaces/Time stamp, float32 steering_tire_angle
TurnIndicatorsCommand: builtin_interfaces/Time stamp, uint8 command
TurnIndicatorsReport: builtin_interfaces/Time stamp, uint8 report
VelocityReport: std_msgs/Header header, float32 longitudinal_velocity, float32 lateral_velocity,
    float32 heading_rate
""",
    "autoware_planning_msgs": """
Trajectory: std_msgs/Header header, TrajectoryPoint[] points
TrajectoryPoint: builtin_interfaces/Duration time_from_start, geometry_msgs/Pose pose,
    float32 longitudinal_velocity_mps, float32 lateral_velocity_mps, float32 acceleration_mps2,
    float32 heading_rate_rps, float32 front_wheel_angle_rad, float32 rear_wheel_angle_rad
""",
    "autoware_map_msgs": """
LaneletMapBin: std_msgs/Header header, string version_map_format, string version_map,
    string name_map, uint8[] data
""",
    "tier4_vehicle_msgs": """
ActuationCommand: float64 accel_cmd, float64 brake_cmd, float64 steer_cmd
ActuationCommandStamped: std_msgs/Header header, ActuationCommand actuation
ActuationStatus: float64 accel_status, float64 brake_status, float64 steer_status
ActuationStatusStamped: std_msgs/Header header, ActuationStatus status
""",
    "brains2": """
Acceleration: std_msgs/Header header, float64 a_x, float64 a_y
Controls: std_msgs/Header header, float64 delta, float64 tau_fl, float64 tau_fr, float64 tau_rl,
    float64 tau_rr
FSM: std_msgs/Header header, uint8 state
Map: std_msgs/Header header, uint8[] color, float64[] x, float64[] y
Pose: std_msgs/Header header, float64 x, float64 y, float64 phi, float64 sigma_x, float64 sigma_y,
    float64 sigma_phi
TrackEstimate: std_msgs/Header header, float64[] s_cen, float64[] x_cen, float64[] y_cen,
    float64[] phi_cen, float64[] kappa_cen, float64[] w_cen
Velocity: std_msgs/Header header, float64 v_x, float64 v_y, float64 omega, float64 sigma_v_x,
    float64 sigma_v_y, float64 sigma_omega
ControllerDebugInfo: std_msgs/Header header, float64[] s_ref, float64[] n_ref, float64[] psi_ref,
    float64[] v_ref, float64[] delta_ref, float64[] tau_ref, float64[] s_pred, float64[] n_pred,
    float64[] psi_pred, float64[] v_pred, float64[] delta_pred, float64[] u_delta_pred,
    float64[] tau_pred, float64[] delta_dot_pred
""",
    "truck_msgs": """
Control: std_msgs/Header header, float64 curvature, float64 velocity, bool has_acceleration,
    float64 acceleration, bool has_target, geometry_msgs/PointStamped target
ControlMode: std_msgs/Header header, uint8 mode
SimulationState: std_msgs/Header header, float64 speed, float64 steering, bool collision,
    geometry_msgs/Pose pose, geometry_msgs/Vector3 gyro_angular_velocity,
    geometry_msgs/Vector3 accel_linear_acceleration
HardwareTelemetry: std_msgs/Header header, float64 current_rps, float64 target_rps,
    float64 battery_voltage, float64 battery_current, float64 target_left_steering,
    float64 current_left_steering, float64 target_right_steering, float64 current_right_steering,
    float64 rear_left_wheel_velocity, float64 rear_right_wheel_velocity,
    float64 front_left_wheel_velocity, float64 front_right_wheel_velocity
HardwareStatus: std_msgs/Header header, bool armed, string[] errors
RemoteControl: std_msgs/Header header, uint8 mode, float64 curvature_ratio, float64 velocity_ratio
""",
    "tier4_external_api_msgs": """
ResponseStatus: uint32 code, string message
""",
    "ackermann_msgs": """
AckermannDrive: float32 steering_angle, float32 steering_angle_velocity, float32 speed,
    float32 acceleration, float32 jerk
AckermannDriveStamped: std_msgs/Header header, AckermannDrive drive
""",
    "simulation_interfaces": """
EntityState: std_msgs/Header header, geometry_msgs/Pose pose, geometry_msgs/Twist twist,
    geometry_msgs/Accel acceleration
Result: uint8 result, string error_message
""",
}
"""Messages of each package of the replaced programs."""


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Name of each interface of a text, and its fields, one per line."""
    for line in text.strip().replace("\n    ", " ").splitlines():
        name, _, fields = line.partition(":")
        yield name, fields.replace(",", "\n")


MESSAGES: dict[str, str] = {
    f"{package}/msg/{name}": fields
    for package, text in (PACKAGES | PROGRAM_PACKAGES).items()
    for name, fields in _lines(text)
}
"""Fields of each message, one per line, as in its interface file."""
HUMBLE: dict[str, str] = {
    "rmw_dds_common/msg/Gid": "char[24] data",
    "sensor_msgs/msg/Range": MESSAGES["sensor_msgs/msg/Range"].replace("float32 variance", ""),
}
"""Fields of the messages whose definition differs in Humble, under the same names."""
_SERVICES = """
std_srvs/Empty: ->
std_srvs/SetBool: bool data -> bool success, string message
std_srvs/Trigger: -> bool success, string message
nav_msgs/GetMap: -> OccupancyGrid map
rcl_interfaces/DescribeParameters: string[] names -> ParameterDescriptor[] descriptors
rcl_interfaces/GetParameters: string[] names -> ParameterValue[] values
rcl_interfaces/GetParameterTypes: string[] names -> uint8[] types
rcl_interfaces/ListParameters: string[] prefixes, uint64 depth -> ListParametersResult result
rcl_interfaces/SetParameters: Parameter[] parameters -> SetParametersResult[] results
rcl_interfaces/SetParametersAtomically: Parameter[] parameters -> SetParametersResult result
autoware_vehicle_msgs/ControlModeCommand: builtin_interfaces/Time stamp, uint8 mode -> bool success
tier4_external_api_msgs/InitializePose: geometry_msgs/PoseWithCovarianceStamped pose
    -> ResponseStatus status
nav2_msgs/SetInitialPose: geometry_msgs/PoseWithCovarianceStamped pose ->
robot_localization/SetPose: geometry_msgs/PoseWithCovarianceStamped pose ->
simulation_interfaces/StepSimulation: uint64 steps 1 -> Result result
simulation_interfaces/SetEntityState: string entity, EntityState state, bool set_pose,
    bool set_twist, bool set_acceleration -> Result result
"""


def full_name(name: str, kind: str) -> str:
    """Full name with the kind of interface: "pkg/A" becomes "pkg/msg/A"."""
    parts = name.split("/")
    return f"{parts[0]}/{kind}/{parts[1]}" if len(parts) == 2 else name


SERVICES: dict[str, list[str]] = {
    full_name(name, "srv"): fields.split("->") for name, fields in _lines(_SERVICES)
}
"""Fields of the request and of the response of each service.

Every node has `std_srvs/srv/Empty` to reset, `SetBool` to pause, `StepSimulation` to step,
`SetPose` for its vehicle; worlds, whose vehicles have names, `SetEntityState`.
"""

_IDS = {
    "int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8,
    "uint64": 9, "float32": 10, "float64": 11, "bool": 15, "byte": 16, "string": 17,
    "char": 3,
}  # fmt: skip
"""Type numbers of type_description_interfaces/msg/FieldType; rosidl treats `char` as uint8."""
_NESTED, _BOUNDED_STRING = 1, 21
_OF_SHAPE = {Shape.ONE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.SEQUENCE: 144}


def message_hash(structure: Structure) -> str:
    description = {
        "type_description": _described(structure),
        "referenced_type_descriptions": [_described(nested) for nested in structure.referenced],
    }
    return f"RIHS01_{hashlib.sha256(json.dumps(description).encode()).hexdigest()}"


def _described(structure: Structure) -> dict[str, Any]:
    return {
        "type_name": structure.name,
        "fields": [{"name": field.name, "type": _kind(field)} for field in structure.fields],
    }


def _kind(field: Field) -> dict[str, Any]:
    base = _NESTED if field.nested is not None else _IDS[field.base]
    if field.text_size:
        base = _BOUNDED_STRING
    return {
        "type_id": base + _OF_SHAPE[field.shape],
        "capacity": field.size,
        "string_capacity": field.text_size,
        "nested_type_name": field.nested.name if field.nested is not None else "",
    }


@dataclass(frozen=True)
class MessageType(Structure):
    """A message type: full name, such as "nav_msgs/msg/Odometry", and fields in order."""

    __repr__ = brief_repr

    def __getstate__(self) -> dict[str, Any]:
        """State for `pickle`: the declared fields, without cached values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def Record(self) -> Any:
        """NamedTuple class of its messages; see `skidpad.ros2.messages.codec`.

        Missing fields are zero, empty, or the default of the interface file.
        """
        return codec.record_class(self)

    @cached_property
    def encode(self) -> Callable[[Any], bytes]:
        """Function that encodes a record as CDR, little endian, with its four bytes of header."""
        return codec.encoder(self)

    @cached_property
    def decode(self) -> Callable[[bytes | bytearray | memoryview], Any]:
        """Function that decodes CDR of either byte order; raises `InvalidValue` for malformed
        data."""
        return codec.decoder(self)

    @cached_property
    def hash(self) -> str:
        """Type hash as in type descriptions since Iron: "RIHS01_..."."""
        return message_hash(self)


@dataclass(frozen=True)
class ServiceType:
    """A service type: full name, such as "std_srvs/srv/Trigger", request and response."""

    name: str
    request: MessageType
    response: MessageType

    __repr__ = brief_repr

    @property
    def dds_name(self) -> str:
        """Name for rmw_zenoh; DDS has only request and response types."""
        return dds_name(self.name)

    @cached_property
    def hash(self) -> str:
        """Type hash as in type descriptions since Iron: "RIHS01_..."."""
        info = message_type("service_msgs/msg/ServiceEventInfo")
        sides = {"request": self.request, "response": self.response}
        bounded = (Field(k, side.name, Shape.BOUNDED, 1, nested=side) for k, side in sides.items())
        # The event of service introspection is part of the type.
        event = Structure(f"{self.name}_Event", (Field("info", info.name, nested=info), *bounded))
        parts: dict[str, Structure] = {f"{side}_message": part for side, part in sides.items()}
        parts["event_message"] = event
        fields = tuple(Field(key, part.name, nested=part) for key, part in parts.items())
        return message_hash(Structure(self.name, fields))


_LINE = re.compile(
    r"(?P<base>[A-Za-z][\w/]*)(<=(?P<text>\d{1,9}))?(\[(?P<most><=)?(?P<size>\d{0,9})\])?"
    r"\s+(?P<name>[A-Za-z]\w*)(\s+(?P<default>.*))?",
    re.ASCII,
)
_CONSTANT = re.compile(r"[A-Za-z]\w*(<=\d+)?\s+[A-Za-z]\w*\s*=.*", re.ASCII)
_NAME = re.compile(r"[A-Za-z]\w*/(msg|srv|action)/[A-Za-z]\w*", re.ASCII)
_LONGEST_ARRAY = 1 << 20
"""Largest number of values of a fixed-size field, since a short text can declare any number."""
_DEEPEST = 32
_MOST_FIELDS = 10_000
"""Largest number of fields of a message, including nested ones."""


class Definitions:
    """Types by name, made from their lines on first use."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines = dict(lines)
        self._types: dict[str, MessageType] = {}
        self._counts: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def add(self, name: str, lines: str) -> None:
        self._lines[name] = lines

    def find(self, name: str, within: tuple[str, ...] = ()) -> MessageType:
        """Type with a full name; `within` are the types that need it."""
        if name in self._types:
            return self._types[name]
        if name not in self._lines or not _NAME.fullmatch(name):
            known = listed(sorted(self._lines), 400)
            raise InvalidValue(f"message type {shortened(name)!r} is not known; known are: {known}")
        if name in within:
            raise InvalidValue(f"message type {name} contains itself")
        if len(within) > _DEEPEST:
            raise InvalidValue(f"message type {within[0]} nests more than {_DEEPEST} others")
        return self._types.setdefault(name, self.read(name, self._lines[name], within))

    def read(self, name: str, text: str, within: tuple[str, ...] = ()) -> MessageType:
        """Type defined by these lines."""
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        fields = tuple(
            self._field(name, line, (*within, name))
            for line in lines
            if line and not _CONSTANT.fullmatch(line)
        )
        if len({attribute(field) for field in fields}) < len(fields):
            raise InvalidValue(f"message type {name} has two fields of one name")
        count = sum(self._counts.get(field.base, 1) for field in fields)
        if count > _MOST_FIELDS:
            raise InvalidValue(f"message type {name} has {count} fields, more than {_MOST_FIELDS}")
        self._counts[name] = max(count, 1)
        return MessageType(name, fields or (Field(DUMMY, "uint8"),))

    def _field(self, owner: str, line: str, within: tuple[str, ...]) -> Field:
        match = _LINE.fullmatch(line)
        if match is None:
            raise InvalidValue(f"message type {owner}: {shortened(line)!r} is not a field")
        base, nested = match["base"], None
        if base == "wstring":
            raise InvalidValue(f"message type {owner}: {line!r}: wstring is not supported")
        if base not in PRIMITIVES and base != "string":
            base = full_name(base if "/" in base else f"{owner.split('/')[0]}/{base}", "msg")
            nested = self.find(base, within)
        shape, size = Shape.ONE, int(match["size"] or 0)
        if match["size"] is not None:
            fixed = Shape.ARRAY if match["size"] else Shape.SEQUENCE
            shape = Shape.BOUNDED if match["most"] else fixed
            if shape is not Shape.SEQUENCE and not 0 < size <= _LONGEST_ARRAY:
                raise InvalidValue(f"message type {owner}: size in {line!r} is out of range")
        default = _number(match["default"]) if shape is Shape.ONE and base in PRIMITIVES else 0.0
        return Field(match["name"], base, shape, size, int(match["text"] or 0), default, nested)


def _number(text: str | None) -> float:
    """Default value in a text as a number; 0 if the text is not a number."""
    words = {"true": 1.0, "false": 0.0}
    try:
        return words.get((text or "0").lower()) or float(text or 0.0)
    except ValueError:
        return 0.0


_TABLE, _TABLE_HUMBLE = Definitions(MESSAGES), Definitions(MESSAGES | HUMBLE)
_services: dict[str, ServiceType] = {}


def message_type(name: str, *, humble: bool = False) -> MessageType:
    """Type of a message by its full name, or without the "msg" in the middle.

    `humble` selects the definitions of Humble and before: `rmw_dds_common/msg/Gid` had 24 bytes.
    """
    return (_TABLE_HUMBLE if humble else _TABLE).find(full_name(name, "msg"))


def message(type_: str | Structure, *values: Any, **fields: Any) -> Any:
    """A record of a message type; a nested message may be given as the tuple of its fields."""
    structure = message_type(type_) if isinstance(type_, str) else type_
    record = codec.record_class(structure)(*values, **fields)
    return record._make(map(_filled, structure.fields, record))


def _filled(field: Field, value: Any) -> Any:
    if field.nested is None:
        return value
    if field.shape is not Shape.ONE:
        return tuple(_filled(replace(field, shape=Shape.ONE), one) for one in value)
    return message(field.nested, *value) if type(value) is tuple else value


def declare(name: str, text: str) -> MessageType:
    """Register a message type from the text of its interface file.

    Declaring the same type again returns the existing one; another type under an existing name
    raises InvalidValue.
    """
    name = full_name(name, "msg")
    if not _NAME.fullmatch(name):
        raise InvalidValue(f"message type {shortened(name)!r} must be named as PACKAGE/msg/TYPE")
    made = _TABLE.read(name, text)
    if name in _TABLE:
        if _TABLE.find(name) != made:
            raise InvalidValue(f"message type {name} is declared already, with other fields")
        return _TABLE.find(name)
    _TABLE.add(name, text)
    _TABLE_HUMBLE.add(name, text)
    return _TABLE.find(name)


def service_type(name: str) -> ServiceType:
    """Type of a service by its full name, or without the "srv" in the middle."""
    name = full_name(name, "srv")
    if name not in SERVICES:
        raise InvalidValue(
            f"service type {name!r} is not known; known are: {', '.join(sorted(SERVICES))}"
        )
    if name not in _services:
        _services[name] = service_of(name, *SERVICES[name])
    return _services[name]


def service_of(name: str, request: str, response: str) -> ServiceType:
    """Type of a service whose request and response have these definitions."""
    ends = (f"{name}_Request", request), (f"{name}_Response", response)
    return ServiceType(name, *(_TABLE.read(*end) for end in ends))


_DEFINITION_TEXT_LINE = "=" * 80
_BETWEEN = re.compile(r"^={40,}[ \t]*\r?\nMSG:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)


def definition_text(structure: Structure) -> str:
    """Definition text of a type and all types it refers to."""
    parts = [_fields_text(structure)]
    for nested in structure.referenced:
        package, _, name = nested.name.split("/")
        parts.append(f"{_DEFINITION_TEXT_LINE}\nMSG: {package}/{name}\n{_fields_text(nested)}")
    return "".join(parts)


def type_of_text(name: str, text: str) -> MessageType:
    """Type defined by a text; types it refers to but does not define come from `definitions`.

    Raises `InvalidValue` for malformed text.
    """
    own, *rest = _BETWEEN.split(text)
    if own.lstrip().startswith("====") or "IDL:" in own[:200]:
        raise InvalidValue(f"message type {name}: its definition is not one of lines with fields")
    parts = {
        full_name(part, "msg"): lines for part, lines in zip(rest[::2], rest[1::2], strict=True)
    }
    return Definitions({**MESSAGES, **parts, name: own}).find(name)


def _fields_text(structure: Structure) -> str:
    fields = [field for field in structure.fields if field.name != DUMMY]
    return "".join(f"{_base(field)} {field.name}{_default(field)}\n" for field in fields)


def _base(field: Field) -> str:
    package, _, name = field.base.rpartition("/msg/")
    base = f"{package}/{name}" if package else name
    base += f"<={field.text_size}" if field.text_size else ""
    sizes = {Shape.ONE: "", Shape.SEQUENCE: "[]", Shape.ARRAY: f"[{field.size}]"}
    return base + sizes.get(field.shape, f"[<={field.size}]")


def _default(field: Field) -> str:
    return f" {field.default:g}" if field.default else ""


_FAULTS = (struct.error, TypeError, OverflowError, KeyError)


class Prepared:
    """An encoded message whose numbers can be changed.

    Args:
        type_: the type.
        message: a record of it, with the constant strings and lengths.
    """

    def __init__(self, type_: MessageType, message: Any) -> None:
        self.type = type_
        self.data = bytearray(type_.encode(message))
        """CDR with its header, always complete."""
        self._leaves = {leaf.path: leaf for leaf in leaves(type_, bytes(self.data))}

    __repr__ = brief_repr

    def patcher(self, *paths: str) -> Callable[..., None]:
        """Return a function that takes a value for each path and writes all of them, or none.

        A path denotes a number: "pose.pose.position.x", "transforms[0].header.stamp.sec",
        "pose.covariance[7]".
        """
        places = [self._place(path) for path in paths]
        if not paths or len(set(paths)) < len(paths):
            raise InvalidValue(f"{self.type.name}: give each path once, and one at least: {paths}")

        # The generated function packs all values before it writes any.
        def explain(*values: Any) -> InvalidValue:
            for leaf, value in zip(places, values, strict=True):
                if fault := number_fault(f"{self.type.name}.{leaf.path}", leaf.base, value):
                    return fault
            return InvalidValue(f"{self.type.name}: the values cannot be written")

        names: dict[str, Any] = {"data": self.data, "FAULTS": _FAULTS, "TRUTHS": TRUTHS}
        names["explain"] = explain
        packed: list[str] = []
        written: list[str] = []
        for number, run in enumerate(_runs(places)):
            codes = "".join(CODES[places[index].base] for index in run)
            packer = struct.Struct(f"<{codes}")
            begin = places[run[0]].begin
            names[f"P{number}"] = packer.pack
            bools = [places[index].base == "bool" for index in run]
            pairs = zip(run, bools, strict=True)
            values = ", ".join(f"TRUTHS[v{k}]" if is_bool else f"v{k}" for k, is_bool in pairs)
            packed.append(f"        b{number} = P{number}({values})")
            written.append(f"    data[{begin}:{begin + packer.size}] = b{number}")
        values = ", ".join(f"v{index}" for index in range(len(places)))
        lines = [f"def patch({values}):", "    try:", *packed, "    except FAULTS as error:"]
        lines += [f"        raise explain({values}) from error", *written]
        exec(compile("\n".join(lines), f"<patch of {self.type.name}>", "exec"), names)
        return names["patch"]

    def array(self, path: str) -> NDArray[Any]:
        """The numbers of an array or a sequence, as a view that writes into the message."""
        leaf = self._leaf(path)
        if leaf.length is None:
            raise InvalidValue(f"{self.type.name}: {path} is not an array of numbers")
        dtype = f"<{DTYPES[leaf.base]}"
        return np.frombuffer(self.data, dtype, leaf.length, leaf.begin if leaf.length else 0)

    @property
    def layout(self) -> tuple[Leaf, ...]:
        """Position of every value in the data."""
        return tuple(self._leaves.values())

    def place(self, path: str) -> tuple[int, str]:
        """Offset of a number in the data, and its NumPy type."""
        leaf = self._place(path)
        return leaf.begin, f"<{DTYPES[leaf.base]}"

    def _place(self, path: str) -> Leaf:
        """Position of a number, which may be an element of an array."""
        whole, bracket, index = path.rpartition("[")
        if bracket and whole in self._leaves and path not in self._leaves:
            leaf, number = self._leaves[whole], index.removesuffix("]")
            if not number.isdecimal() or leaf.length is None or int(number) >= leaf.length:
                raise InvalidValue(f"{self.type.name}: {whole} has {leaf.length} values, no {path}")
            begin = leaf.begin + int(number) * PRIMITIVES[leaf.base]
            return Leaf(path, leaf.base, begin, None)
        leaf = self._leaf(path)
        if leaf.base == "string" or leaf.length is not None:
            raise InvalidValue(
                f"{self.type.name}: {path} is not a number; only numbers can be patched"
            )
        return leaf

    def _leaf(self, path: str) -> Leaf:
        if path not in self._leaves:
            raise InvalidValue(
                f"{self.type.name}: there is no {path!r}; there are {', '.join(self._leaves)}"
            )
        return self._leaves[path]


def _runs(places: Sequence[Leaf]) -> list[list[int]]:
    """Indices of adjacent numbers, grouped."""
    runs: list[list[int]] = []
    end = -1
    for index in sorted(range(len(places)), key=lambda index: places[index].begin):
        if places[index].begin != end:
            runs.append([])
        runs[-1].append(index)
        end = places[index].begin + PRIMITIVES[places[index].base]
    return runs


class PreparedMany:
    """Encoded messages of the same layout whose numbers can be changed in all of them at once.

    Args:
        type_: the type.
        messages: records of it, one or more, whose strings and sequences are of equal lengths.
    """

    def __init__(self, type_: MessageType, messages: Sequence[Any]) -> None:
        each = [Prepared(type_, message) for message in messages]
        self._first = each[0]
        if any(one.layout != each[0].layout for one in each):
            raise InvalidValue(f"{type_.name}: messages differ in lengths of texts or sequences")
        self._size = len(each[0].data)
        self._buffer = bytearray(b"".join(one.data for one in each))
        whole, size = memoryview(self._buffer), self._size
        self.rows = [whole[k * size : (k + 1) * size] for k in range(len(each))]
        """CDR of each message with its header, always complete."""

    __repr__ = brief_repr

    def column(self, path: str) -> NDArray[Any]:
        """One number of all messages, as a view that writes into them, (messages,); paths as in
        `Prepared`."""
        begin, dtype = self._first.place(path)
        shape, strides = (len(self.rows),), (self._size,)
        return np.ndarray(shape, dtype, self._buffer, begin, strides)
