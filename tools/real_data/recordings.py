"""Public recordings of small cars as logs: DART and F1TENTH, as their authors published them.

The folder has two parts, `dart` (30_step_steering_data, 40_sinusoidal_steering_data,
81_throttle_ramps_only_steer03) and `f1tenth` (commandData.csv, imuData.csv, odomData.csv).

What has to be known about the data, and is found in the data themselves:

* DART: rows before the first sensor message are zeros. While `safety_value` is 0 the motor is off,
  whatever the throttle. The gyroscope reads 2.6 % more than the motion capture, and the motion
  capture sees a point 22 mm in front of the centre of mass, turned by 8 mrad. On the ramps the
  wheels spin: the speed is that of the motion capture. The servo angles of the ramps are in the
  names of their files.
* F1TENTH: the inertial sensor is in degrees per second, and turned by a right angle about the
  vertical; the twist of the odometry has no yaw rate. Half a minute in the middle is missing.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skidpad.study.logs.log import Channel, Log

Array = NDArray[np.float64]
GYRO = 1.026
"""Yaw rate of DART's gyroscope over that of the motion capture."""
POINT, TURN = 0.022, 0.008
"""Place of DART's motion-capture point before the centre of mass in m, and its angle in rad."""
ANGLE = 0.3
"""Wheel angle of the throttle ramps in rad."""
SLOWEST = 0.5
"""Speed in m/s from which a ramp is used."""
BEFORE = 8
"""Rows at standstill before a run, in which a replay settles."""
WEAVING, FAST = (46.0, 88.0), (91.5, 115.0)
"""Parts of the F1TENTH drive in s after its first second: slow weaving, and fast driving."""
PIECE = 6.0
"""Length in s of the pieces into which this drive is cut."""


class Dart(NamedTuple):
    """DART's recordings."""

    steering: list[Log]
    """Step and sinusoidal steering at 1 m/s: commands, yaw rate and speed."""
    ramps: list[Log]
    """Throttle ramps at a wheel angle held to the left and to the right: motion."""


def dart(folder: Path) -> Dart:
    steering = [
        _commanded(path)
        for part in ("30_step_steering_data", "40_sinusoidal_steering_data")
        for path in sorted((folder / part).glob("*.csv"))
    ]
    ramps = sorted((folder / "81_throttle_ramps_only_steer03").glob("*.csv"))
    return Dart([log for log in steering if log is not None], [_ramp(path) for path in ramps])


def _columns(path: Path) -> dict[str, Array]:
    with path.open(newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        table = np.array([[float(cell) for cell in row] for row in rows])
    return dict(zip(names, table.T, strict=True))


def _commanded(path: Path, shortest: float = 5.0) -> Log | None:
    """Commands and sensors from a moment before the motor is on to the last moment it is on."""
    data = _columns(path)
    on = data["safety_value"] > 0.0
    first, last = np.flatnonzero(on)[[0, -1]]
    part = slice(max(first - BEFORE, 0), last + 1)
    t = data["elapsed time sensors"][part]
    if t[-1] - t[0] < shortest:
        return None
    throttle = np.where(on, data["throttle"], 0.0)[part]
    channels = {
        "omega": Channel(t, data["W (IMU)"][part] / GYRO, "rad/s", "W (IMU)"),
        "v_x": Channel(t, data["vel encoder"][part], "m/s", "vel encoder"),
        "u_steer": Channel(t, data["steering"][part], "1", "steering"),
        "u_throttle": Channel(t, throttle, "1", "throttle, where safety_value is 1"),
    }
    return Log(path.stem, channels)


def _ramp(path: Path) -> Log:
    """Motion of the centre of mass from the motion capture while it moves, and the wheel angle."""
    data = _columns(path)
    ahead = round(0.5 / float(np.median(np.diff(data["vicon time"]))))
    moved = np.hypot(*(data[f"vicon {n}"][ahead:] - data[f"vicon {n}"][:-ahead] for n in "xy"))
    first, last = np.flatnonzero(moved > 0.5 * SLOWEST)[[0, -1]]
    data = {name: values[first:last] for name, values in data.items()}
    t = data["vicon time"] - data["vicon time"][0]
    yaw = np.unwrap(data["vicon yaw"]) + TURN
    ahead = np.array([np.cos(yaw), np.sin(yaw)])
    x, y = data["vicon x"] - POINT * ahead[0], data["vicon y"] - POINT * ahead[1]
    side = -1.0 if "neg" in path.stem else 1.0
    channels = {
        "x": Channel(t, x, "m", "vicon x"),
        "y": Channel(t, y, "m", "vicon y"),
        "yaw": Channel(t, yaw, "rad", "vicon yaw"),
        "steer": Channel(t, np.full(len(t), side * ANGLE), "rad", "name of the file"),
    }
    return Log(path.stem, channels)


def f1tenth(folder: Path) -> list[Log]:
    """Pieces of the drive, each with its own part of every stream."""
    streams = {name: _columns(folder / f"{name}Data.csv") for name in ("command", "imu", "odom")}
    stamps = {name: data["s"] + 1e-9 * data["ns"] for name, data in streams.items()}
    begin = min(np.floor(stamp[0]) for stamp in stamps.values())
    command, imu, odom = streams.values()
    times = {name: stamp - begin for name, stamp in stamps.items()}
    channels = {
        "u_steer": Channel(times["command"], command["delta"], "rad", "delta"),
        "omega": Channel(times["imu"], np.deg2rad(imu["wz"]), "rad/s", "wz [deg/s]"),
        "v_x": Channel(times["odom"], odom["vx"], "m/s", "vx"),
    }
    logs: list[Log] = []
    for part, (first, last) in (("weaving", WEAVING), ("fast", FAST)):
        for start in np.arange(first, last - 0.5 * PIECE, PIECE):
            # A command before the piece acts within it.
            inside = {
                name: (start - 0.5, start + PIECE)
                if name.startswith("u_")
                else (start, start + PIECE)
                for name in channels
            }
            logs.append(
                Log(
                    f"{part} {start:g} s",
                    {name: _cut(channel, *inside[name]) for name, channel in channels.items()},
                )
            )
    return logs


def _cut(channel: Channel, begin: float, end: float) -> Channel:
    inside = (channel.t >= begin) & (channel.t <= end)
    return channel._replace(t=channel.t[inside], values=channel.values[inside])
