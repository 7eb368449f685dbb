"""Powertrains: what one is to a vehicle (`contract`), and the parts that they are made of."""

from __future__ import annotations

from ... import record
from .battery import Battery, Pack, Supply, voltage_curve
from .clutch import Clutch
from .contract import Drive, PowerOutputs, Powertrain, Reflected, spin_rates
from .differential import (
    LimitedSlip,
    LockedDifferential,
    OpenDifferential,
    TorsenDifferential,
    ViscousDifferential,
)
from .electric_motor import (
    CurveEnvelope,
    CurveLimits,
    ElectricMotor,
    Inverter,
    LossMap,
    LossTerms,
    PowerEnvelope,
    Rotor,
    SpeedLimit,
    loss_map,
    torque_curve,
)
from .engine import Crankshaft, Engine
from .engine_drive import EngineDrive
from .gearing import AutomaticShift, FinalDrive, ManualShift, gear_ratios
from .layout import AllWheelDrive, FrontWheelDrive, RearWheelDrive
from .motor_drive import MotorDrive
from .wheel_motors import WheelMotors, WheelTorques

__all__ = [
    "AllWheelDrive",
    "AutomaticShift",
    "Battery",
    "Clutch",
    "Crankshaft",
    "CurveEnvelope",
    "CurveLimits",
    "Drive",
    "ElectricMotor",
    "Engine",
    "EngineDrive",
    "FinalDrive",
    "FrontWheelDrive",
    "Inverter",
    "LimitedSlip",
    "LockedDifferential",
    "LossMap",
    "LossTerms",
    "ManualShift",
    "MotorDrive",
    "OpenDifferential",
    "Pack",
    "PowerEnvelope",
    "PowerOutputs",
    "Powertrain",
    "RearWheelDrive",
    "Reflected",
    "Rotor",
    "SpeedLimit",
    "Supply",
    "TorsenDifferential",
    "ViscousDifferential",
    "WheelMotors",
    "WheelTorques",
    "gear_ratios",
    "loss_map",
    "spin_rates",
    "torque_curve",
    "voltage_curve",
]

record.document_all()
