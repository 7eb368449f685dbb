"""The column that an error proposes is the one that a reader would have proposed."""

from __future__ import annotations

from pathlib import Path

import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.logs import read_log
from skidpad.study.logs.units import how_to_name, usual_names


@pytest.mark.parametrize(
    ("name", "there", "nearest"),
    [
        ("t", ("Time", "VehSpd", "Beta"), "Time"),
        ("t", ("Beta", "TimeStamp"), "TimeStamp"),
        ("t", ("Beta", "timestamp_s", "latitude"), "timestamp_s"),
        ("t", ("Beta", "T"), "T"),
        ("t", ("Beta", "data"), "COLUMN"),
        ("v_x", ("Time", "VehSpd", "YawRate"), "VehSpd"),
        ("v_x", ("Vx", "speed"), "Vx"),
        ("u_steer", ("delta", "Steer"), "Steer"),
    ],
)
def test_the_nearest_name_is_proposed(name: str, there: tuple[str, ...], nearest: str) -> None:
    assert f"--map {nearest}={name} " in how_to_name(name, there)


def test_a_unit_tells_where_no_name_does(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("Zeit [s],Beta [deg]\n0,1\n1,2\n")
    assert read_log(file)["Beta"].t.tolist() == [0.0, 1.0]
    file.write_text("Zeit [s],Beta [deg]\n0,1\n-1,2\n")
    with pytest.raises(InvalidValue, match="--map Zeit=t "):
        read_log(file)


LOGGERS = {
    "MoTeC": {"Ground Speed": "speed", "G Force Lat": "a_y", "G Force Long": "a_x",
              "Gyro Yaw Velocity": "omega", "Steered Angle": "steering_wheel",
              "Throttle Pos": "throttle", "Brake Pres Front": "brake_pressure", "Gear": "gear",
              "Wheel Speed FL": "wheel_speed_fl", "GPS Latitude": "latitude",
              "GPS Altitude": "height"},
    "AiM": {"GPS Speed": "speed", "LateralAcc": "a_y", "GPS LatAcc": "", "InlineAcc": "a_x",
            "VerticalAcc": "a_z", "YawRate": "omega", "GPS Gyro": "", "PPS": "throttle",
            "GPS Heading": "course", "GPS Longitude": "longitude", "RPM": ""},
    "VBOX": {"latitude": "latitude", "velocity": "speed", "Yaw_Rate": "omega", "Lat_Acc": "a_y",
             "Slip_Angle": "sideslip", "GPS heading": "course"},
    "RaceChrono": {"latitude": "latitude", "longitude": "longitude", "speed": "speed",
                   "lateral_acc": "a_y", "longitudinal_acc": "a_x", "bearing": "course",
                   "accelerator_pos": "throttle", "altitude": "height", "lap_number": ""},
    "openpilot": {"carState.vEgo": "v_x", "carState.aEgo": "a_x", "carState.yawRate": "omega",
                  "carState.steeringAngleDeg": "steering_wheel", "carState.gas": "throttle",
                  "carState.wheelSpeeds.rr": "wheel_speed_rr"},
    "ROS 2": {"/odom.twist.twist.linear.x": "v_x", "/odom.pose.pose.position.y": "y",
              "/odom.pose.pose.orientation.yaw": "yaw", "/imu/data.angular_velocity.z": "omega",
              "/odom.twist.twist.angular.z": "", "/imu/data.linear_acceleration.y": "a_y",
              "/fix.latitude": "latitude", "/path.poses[0].pose.position.x": ""},
    "Autoware": {"/vehicle/status/velocity_status.longitudinal_velocity": "v_x",
                 "/vehicle/status/velocity_status.heading_rate": "omega",
                 "/vehicle/status/steering_status.steering_tire_angle": "steer",
                 "/control/command/control_cmd.lateral.steering_tire_angle": "u_steer",
                 "/control/command/control_cmd.longitudinal.acceleration": "u_acceleration",
                 "/control/command/gear_cmd.command": "u_gear",
                 "/control/trajectory_follower/lateral.steering_tire_angle": ""},
    "F1TENTH": {"/drive.drive.steering_angle": "u_steer", "/drive.drive.speed": "u_speed",
                "wz": "omega", "vx": "v_x", "vy": "v_y", "ax": "a_x", "delta": "steer"},
    "DART": {"vicon x": "x", "vicon yaw": "yaw", "acc x (IMU)": "a_x", "W (IMU)": "omega",
             "vel encoder": "wheel_speed", "safety_value": "", "steering": ""},
}  # fmt: skip
"""Names that programs write, and what they mean; empty for names that stay."""


@pytest.mark.parametrize("logger", LOGGERS)
def test_names_of_usual_loggers_are_recognised(logger: str) -> None:
    wanted = {old: new for old, new in LOGGERS[logger].items() if new and new != old}
    assert usual_names(dict.fromkeys(LOGGERS[logger], ""))[0] == wanted


def test_a_unit_of_another_quantity_is_another_quantity() -> None:
    assert usual_names({"Velocity": "rpm", "lat": "g", "Delta": "m"})[0] == {}


def test_what_is_doubtful_is_left_with_advice() -> None:
    names, notes = usual_names({"Steering Angle": "deg", "/a.linear_acceleration.x": "",
                                "/b.linear_acceleration.x": ""})  # fmt: skip
    assert names == {}
    assert notes[0].startswith("/a.linear_acceleration.x and /b.linear_acceleration.x may each be")
    assert notes[1].startswith("Steering Angle may be steer or steering_wheel")
    assert all("--map" in note for note in notes)


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_columns_of_a_trajectory_keep_their_names(name: str) -> None:
    columns = sp.Simulator(sp.vehicles.get(name)(), dt=0.01).run({}, duration=0.02).columns
    assert usual_names({c.name: c.unit.symbol for c in columns})[0] == {}
