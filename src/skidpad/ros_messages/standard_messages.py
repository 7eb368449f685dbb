"""Interface files of the packages that come with ROS 2, as of Jazzy, without their comments.

A line is a message, its fields in order; a line that begins with blanks goes on with the one
before it. Facts of the interface files; `definitions` says where Humble's differ.
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
