"""The planning simulator: command-driven vehicles behind the interface Autoware gives them."""

from __future__ import annotations

from .messages import (
    ActuationCommand,
    ControlCommand,
    ControlMode,
    Gear,
    HazardLights,
    InitialPose,
    TurnIndicators,
)
from .pose import Pose, Quaternion, pitch_of, yaw_of
from .reports import (
    AccelerationReport,
    ActuationReport,
    ControlModeReport,
    GearReport,
    HazardLightsReport,
    ImuReport,
    Odometry,
    PoseReport,
    Reports,
    SteeringReport,
    Transform,
    TurnIndicatorsReport,
    VelocityReport,
)
from .road import Lane, Road
from .settings import Settings
from .simulator import PlanningSimulator

__all__ = [
    "AccelerationReport",
    "ActuationCommand",
    "ActuationReport",
    "ControlCommand",
    "ControlMode",
    "ControlModeReport",
    "Gear",
    "GearReport",
    "HazardLights",
    "HazardLightsReport",
    "ImuReport",
    "InitialPose",
    "Lane",
    "Odometry",
    "PlanningSimulator",
    "Pose",
    "PoseReport",
    "Quaternion",
    "Reports",
    "Road",
    "Settings",
    "SteeringReport",
    "Transform",
    "TurnIndicators",
    "TurnIndicatorsReport",
    "VelocityReport",
    "pitch_of",
    "yaw_of",
]
