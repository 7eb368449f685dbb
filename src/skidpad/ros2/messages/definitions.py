"""The interface files of the messages and services that skidpad speaks, without their comments.

Facts of the packages named, at the revisions that docs/ros2.md lists.

Interface files of the packages that come with ROS 2, as of Jazzy, without their comments.

A line is a message, its fields in order; a line that begins with blanks goes on with the one
before it. Facts of the interface files; `definitions` says where Humble's differ.

Interface files of the programs that skidpad stands in for, without their comments.

In the form of `standard_messages`. From autowarefoundation/autoware_msgs (7025d8f),
tier4/tier4_autoware_msgs (cf67717), tudoroancea/brains2 (c975b02), robotics-laboratory/truck
(332ff42e), ros-drivers/ackermann_msgs and ros-simulation/simulation_interfaces (172a1b1).
"""

from __future__ import annotations

PACKAGES: dict[str, str] = {
    "builtin_interfaces": """
Duration: int32 sec, uint32 nanosec
Time: int32 sec, uint32 nanosec
""",
    "std_msgs": """
Bool: bool data
Byte: byte data
ByteMultiArray: MultiArrayLayout layout, byte[] data
Char: char data
ColorRGBA: float32 r, float32 g, float32 b, float32 a
Empty:
Float32: float32 data
Float32MultiArray: MultiArrayLayout layout, float32[] data
Float64: float64 data
Float64MultiArray: MultiArrayLayout layout, float64[] data
Header: builtin_interfaces/Time stamp, string frame_id
Int16: int16 data
Int16MultiArray: MultiArrayLayout layout, int16[] data
Int32: int32 data
Int32MultiArray: MultiArrayLayout layout, int32[] data
Int64: int64 data
Int64MultiArray: MultiArrayLayout layout, int64[] data
Int8: int8 data
Int8MultiArray: MultiArrayLayout layout, int8[] data
MultiArrayDimension: string label, uint32 size, uint32 stride
MultiArrayLayout: MultiArrayDimension[] dim, uint32 data_offset
String: string data
UInt16: uint16 data
UInt16MultiArray: MultiArrayLayout layout, uint16[] data
UInt32: uint32 data
UInt32MultiArray: MultiArrayLayout layout, uint32[] data
UInt64: uint64 data
UInt64MultiArray: MultiArrayLayout layout, uint64[] data
UInt8: uint8 data
UInt8MultiArray: MultiArrayLayout layout, uint8[] data
""",
    "geometry_msgs": """
Accel: Vector3 linear, Vector3 angular
AccelStamped: std_msgs/Header header, Accel accel
AccelWithCovariance: Accel accel, float64[36] covariance
AccelWithCovarianceStamped: std_msgs/Header header, AccelWithCovariance accel
Inertia: float64 m, Vector3 com, float64 ixx, float64 ixy, float64 ixz, float64 iyy, float64 iyz,
    float64 izz
InertiaStamped: std_msgs/Header header, Inertia inertia
Point: float64 x, float64 y, float64 z
Point32: float32 x, float32 y, float32 z
PointStamped: std_msgs/Header header, Point point
Polygon: Point32[] points
PolygonInstance: Polygon polygon, int64 id
PolygonInstanceStamped: std_msgs/Header header, PolygonInstance polygon
PolygonStamped: std_msgs/Header header, Polygon polygon
Pose: Point position, Quaternion orientation
Pose2D: float64 x, float64 y, float64 theta
PoseArray: std_msgs/Header header, Pose[] poses
PoseStamped: std_msgs/Header header, Pose pose
PoseWithCovariance: Pose pose, float64[36] covariance
PoseWithCovarianceStamped: std_msgs/Header header, PoseWithCovariance pose
Quaternion: float64 x, float64 y, float64 z, float64 w 1
QuaternionStamped: std_msgs/Header header, Quaternion quaternion
Transform: Vector3 translation, Quaternion rotation
TransformStamped: std_msgs/Header header, string child_frame_id, Transform transform
Twist: Vector3 linear, Vector3 angular
TwistStamped: std_msgs/Header header, Twist twist
TwistWithCovariance: Twist twist, float64[36] covariance
TwistWithCovarianceStamped: std_msgs/Header header, TwistWithCovariance twist
Vector3: float64 x, float64 y, float64 z
Vector3Stamped: std_msgs/Header header, Vector3 vector
VelocityStamped: std_msgs/Header header, string body_frame_id, string reference_frame_id,
    Twist velocity
Wrench: Vector3 force, Vector3 torque
WrenchStamped: std_msgs/Header header, Wrench wrench
""",
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
"""Messages of each package."""

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
"""Messages of each package."""


def _messages(packages: dict[str, str]) -> dict[str, str]:
    """Fields by full name, one a line, from the lines of packages."""
    messages: dict[str, str] = {}
    for package, text in packages.items():
        for line in text.strip().replace("\n    ", " ").splitlines():
            name, _, fields = line.partition(":")
            messages[f"{package}/msg/{name}"] = "\n".join(fields.split(","))
    return messages


MESSAGES: dict[str, str] = _messages(PACKAGES | PROGRAM_PACKAGES)
"""Fields of each message, one a line, as in its interface file."""
HUMBLE: dict[str, str] = {
    "rmw_dds_common/msg/Gid": "char[24] data",
    "sensor_msgs/msg/Range": MESSAGES["sensor_msgs/msg/Range"].replace("float32 variance", ""),
}
"""Messages that Humble has otherwise, under the same names."""
_POSE = "geometry_msgs/PoseWithCovarianceStamped pose"
_RESULT = "simulation_interfaces/Result result"
SERVICES: dict[str, tuple[str, str]] = {
    "std_srvs/srv/Empty": ("", ""),
    "std_srvs/srv/SetBool": ("bool data", "bool success\nstring message"),
    "std_srvs/srv/Trigger": ("", "bool success\nstring message"),
    "nav_msgs/srv/GetMap": ("", "OccupancyGrid map"),
    "rcl_interfaces/srv/DescribeParameters": (
        "string[] names",
        "ParameterDescriptor[] descriptors",
    ),
    "rcl_interfaces/srv/GetParameters": ("string[] names", "ParameterValue[] values"),
    "rcl_interfaces/srv/GetParameterTypes": ("string[] names", "uint8[] types"),
    "rcl_interfaces/srv/ListParameters": (
        "string[] prefixes\nuint64 depth",
        "ListParametersResult result",
    ),
    "rcl_interfaces/srv/SetParameters": (
        "Parameter[] parameters",
        "SetParametersResult[] results",
    ),
    "rcl_interfaces/srv/SetParametersAtomically": (
        "Parameter[] parameters",
        "SetParametersResult result",
    ),
    "autoware_vehicle_msgs/srv/ControlModeCommand": (
        "builtin_interfaces/Time stamp\nuint8 mode",
        "bool success",
    ),
    "tier4_external_api_msgs/srv/InitializePose": (_POSE, "ResponseStatus status"),
    "nav2_msgs/srv/SetInitialPose": (_POSE, ""),
    "robot_localization/srv/SetPose": (_POSE, ""),
    "simulation_interfaces/srv/StepSimulation": ("uint64 steps 1", _RESULT),
    "simulation_interfaces/srv/SetEntityState": (
        "string entity\nEntityState state\nbool set_pose\nbool set_twist\nbool set_acceleration",
        _RESULT,
    ),
}
"""Fields of the request and of the response. Every node has `std_srvs/srv/Empty` to reset,
`SetBool` to pause, `StepSimulation` to step, `SetPose` for its vehicle; worlds, whose vehicles have
names, `SetEntityState`."""
