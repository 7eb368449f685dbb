"""The planning simulator: command-driven vehicles behind the interface Autoware gives them."""

from __future__ import annotations

from ...core import record
from ...vehicles.parts.drive_command import Gear
from .messages import (
    ActuationCommand,
    ControlCommand,
    ControlMode,
    HazardLights,
    InitialPose,
    TurnIndicators,
)
from .reports import (
    AccelerationReport,
    ActuationReport,
    ControlModeReport,
    GearReport,
    HazardLightsReport,
    ImuReport,
    Odometry,
    Pose,
    PoseReport,
    Quaternion,
    Reports,
    SteeringReport,
    Transform,
    TurnIndicatorsReport,
    VelocityReport,
    pitch_of,
    yaw_of,
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

record.document_all()
