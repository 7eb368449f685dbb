"""Interface files of the programs that skidpad stands in for, without their comments.

In the form of `standard_messages`. From autowarefoundation/autoware_msgs (7025d8f),
tier4/tier4_autoware_msgs (cf67717), tudoroancea/brains2 (c975b02), robotics-laboratory/truck
(332ff42e), ros-drivers/ackermann_msgs and ros-simulation/simulation_interfaces (172a1b1).
"""

from __future__ import annotations

PACKAGES: dict[str, str] = {
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
