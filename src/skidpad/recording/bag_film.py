"""What there is to see of a bag of ROS 2: every topic with a pose as a body that moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..identify.log import Log, read_log
from ..stage import BodyShape
from ..stage.film import Film
from ..stage.trajectory_stage import trajectory_stage
from ..trajectory.columns import Column
from ..trajectory.files import known_units
from ..trajectory.trajectory import Trajectory

_Fields = dict[str, tuple[str, str]]
_BODIES: tuple[_Fields, ...] = (
    {"x": ("m", ".position.x"), "y": ("m", ".position.y"), "yaw": ("rad", ".orientation.yaw")},
    {"x": ("m", ".x"), "y": ("m", ".y"), "yaw": ("rad", ".phi")},
)
"""Unit and field of what places a body, behind the name of its pose: of ROS, and of brains2."""
_MOTION = {
    "v_x": ("m/s", ".twist.twist.linear.x"),
    "v_y": ("m/s", ".twist.twist.linear.y"),
    "omega": ("rad/s", ".twist.twist.angular.z"),
}
"""Of an odometry, behind the name of its topic."""
_LENGTHS = (0.3, 4.5)
"""Of a body in m: a bag does not say how large it is. It is seen beside its way, a twentieth of
that, and no larger than a car."""


def bag_film(path: Path) -> Film:
    """The poses of a bag as a film; raises if it has none."""
    log = read_log(path)
    runs = {name: run for fields in _BODIES for name, run in _runs(log, fields).items()}
    runs = {name: run for name, run in runs.items() if len(run)}
    if not runs:
        raise InvalidValue(f"{path} has no topic with a pose, such as nav_msgs/Odometry, to show")
    shapes = {name: _shape(run) for name, run in runs.items()}
    stage, times, rows = trajectory_stage(runs, shapes, title=path.name)
    return Film(stage, times, rows.astype(np.float32))


def _runs(log: Log, fields: _Fields) -> dict[str, Trajectory]:
    """What moves, of a log whose poses have these fields."""
    ends = tuple(field for _, field in fields.values())
    poses = [name.removesuffix(ends[0]) for name in log.series if name.endswith(ends[0])]
    # Not those within sequences: they are places on a path, or of others.
    return {
        _topic(pose): _run(log, pose, fields)
        for pose in poses
        if "[" not in pose and all(pose + end in log.series for end in ends)
    }


def _topic(pose: str) -> str:
    return pose.removesuffix(".pose").removesuffix(".pose")


def _run(log: Log, pose: str, fields: _Fields) -> Trajectory:
    """A body over the times of its pose."""
    series = {name: (unit, log.series[pose + end]) for name, (unit, end) in fields.items()}
    for name, (unit, end) in _MOTION.items():
        motion = log.series.get(_topic(pose) + end)
        if motion is not None and len(motion.t) == len(series["x"][1].t):
            series[name] = unit, motion
    finite = np.all([np.isfinite(one.values) for _, one in series.values()], axis=0)
    units = known_units()
    columns = [
        Column(name, units[unit], "state", _continuous(name, one.values[finite]))
        for name, (unit, one) in series.items()
    ]
    return Trajectory(series["x"][1].t[finite], tuple(columns), name=_topic(pose))


def _continuous(name: str, values: Array) -> Array:
    """As it is interpolated: a heading does not jump by a turn."""
    return np.unwrap(values) if name == "yaw" else values


def _shape(run: Trajectory) -> BodyShape:
    """A kite that points forward."""
    way = float(max(np.ptp(run["x"]), np.ptp(run["y"])))
    length = float(np.clip(way / 20.0, *_LENGTHS))
    outline = ((0.6, 0.0), (-0.2, 0.25), (-0.4, 0.0), (-0.2, -0.25))
    return BodyShape((tuple((length * x, length * y) for x, y in outline),))
