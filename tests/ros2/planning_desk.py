"""What tests of the planning simulator's node share: its parameters, commands and poses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ros2.desk import Desk, built
from skidpad.ros2.nodes.planning import Planning

DATA = Path(__file__).parents[1] / "data" / "autoware"
CONTROL, GEAR = "/input/ackermann_control_command", "/input/gear_command"
PARAMETERS = {
    "vehicle_model_type": "DELAY_STEER_ACC_GEARED",
    "wheel_base": 2.79,
    "origin_frame_id": "map",
    "vel_lim": 30.0,
}


def words(**parameters: Any) -> list[str]:
    chosen = {**PARAMETERS, **parameters}
    return [w for name, value in chosen.items() for w in ("-p", f"{name}:={json.dumps(value)}")]


def desk(*more: str, lock_step: bool = False, wall: bool = False, **options: Any) -> Desk:
    parameters = options.pop("parameters", {})
    return Desk(
        lambda node: Planning(node, seed=7, **options),
        [*words(**parameters), *more],
        lock_step=lock_step,
        wall=wall,
    )


def control(v: float = 0.0, a: float = 0.0, steer: float = 0.0) -> Any:
    return built(
        "autoware_control_msgs/msg/Control",
        longitudinal__velocity=v,
        longitudinal__acceleration=a,
        lateral__steering_tire_angle=steer,
    )


def pose(x: float, y: float, yaw: float = 0.0, frame: str = "map", z: float = 0.0) -> Any:
    return built(
        "geometry_msgs/msg/PoseWithCovarianceStamped",
        header__frame_id=frame,
        pose__pose__position__x=x,
        pose__pose__position__y=y,
        pose__pose__position__z=z,
        pose__pose__orientation__z=math.sin(0.5 * yaw),
        pose__pose__orientation__w=math.cos(0.5 * yaw),
    )
