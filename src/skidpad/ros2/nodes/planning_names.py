"""The names that Autoware's launch file gives the topics of its planning simulator.

Facts of `simple_planning_simulator.launch.py`, autoware.universe b8ce82e.
"""

from __future__ import annotations

from ...checks import one_of
from ..names import Remap

NAME = "simple_planning_simulator"
"""Of the node."""
NAMESPACE = "/simulation"
"""That the launch file puts it into."""

_ALWAYS = {
    "input/vector_map": "/map/vector_map",
    "input/initialpose": "/initialpose3d",
    "input/ackermann_control_command": "/control/command/control_cmd",
    "input/actuation_command": "/control/command/actuation_cmd",
    "input/manual_ackermann_control_command": "/vehicle/command/manual_control_cmd",
    "input/gear_command": "/control/command/gear_cmd",
    "input/manual_gear_command": "/vehicle/command/manual_gear_command",
    "input/turn_indicators_command": "/control/command/turn_indicators_cmd",
    "input/hazard_lights_command": "/control/command/hazard_lights_cmd",
    "input/trajectory": "/planning/scenario_planning/trajectory",
    "input/engage": "/vehicle/engage",
    "input/control_mode_request": "/control/control_mode_request",
    "output/twist": "/vehicle/status/velocity_status",
    "output/imu": "/sensing/imu/imu_data",
    "output/steering": "/vehicle/status/steering_status",
    "output/gear_report": "/vehicle/status/gear_status",
    "output/turn_indicators_report": "/vehicle/status/turn_indicators_status",
    "output/hazard_lights_report": "/vehicle/status/hazard_lights_status",
    "output/control_mode_report": "/vehicle/status/control_mode",
    "output/actuation_status": "/vehicle/status/actuation_status",
    # What the node raw_vehicle_cmd_converter publishes, which is built in here.
    "output/actuation_command": "/control/command/actuation_cmd",
}
_DEBUG = "/simulation/debug"
_MOTION = {
    "output/odometry": "/localization/kinematic_state",
    "output/acceleration": "/localization/acceleration",
}
_POSE = {"output/pose": "/localization/pose_estimator/pose_with_covariance"}


def _aside(names: dict[str, str]) -> dict[str, str]:
    return {topic: _DEBUG + name for topic, name in names.items()}


MOTION_PUBLISH_MODES = {
    "full_motion": {**_ALWAYS, **_MOTION, **_aside(_POSE)},
    "pose_only": {**_ALWAYS, **_aside(_MOTION), **_POSE},
}
"""The launch file's names by its argument motion_publish_mode: with `full_motion` the simulator
takes the place of localisation, with `pose_only` that of the scan matcher before it."""


def launch_remaps(motion_publish_mode: str) -> tuple[Remap, ...]:
    """The rules of the launch file."""
    one_of("motion_publish_mode", motion_publish_mode, tuple(MOTION_PUBLISH_MODES))
    return tuple(Remap(old, new) for old, new in MOTION_PUBLISH_MODES[motion_publish_mode].items())
