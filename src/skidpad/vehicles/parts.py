"""All parts of `two_track` and `full_car` in one place, by the names that docs/vehicles.md has.

    from skidpad.vehicles.parts import Aerodynamics, QuasiStatic, SteeringWheel, Suspension

Tyres are in `skidpad.components.tyre`, roads are `skidpad.Road`.
"""

from __future__ import annotations

from .. import record
from ..components.air import Aerodynamics, AirShape, PlainAir, aero_map
from ..components.alignment_tables import Give, alignment_tables
from ..components.chassis import QuasiStatic, RollShare
from ..components.hydraulic_brakes import BrakeTorques, Disc, HydraulicBrakes
from ..components.independent_suspension import IndependentSuspension, independent_suspension
from ..components.powertrain import (
    AllWheelDrive,
    AutomaticShift,
    Battery,
    Clutch,
    Crankshaft,
    CurveEnvelope,
    ElectricMotor,
    Engine,
    EngineDrive,
    FinalDrive,
    FrontWheelDrive,
    Inverter,
    LimitedSlip,
    LockedDifferential,
    LossTerms,
    ManualShift,
    MotorDrive,
    OpenDifferential,
    Pack,
    PowerEnvelope,
    RearWheelDrive,
    Rotor,
    SpeedLimit,
    Supply,
    TorsenDifferential,
    ViscousDifferential,
    WheelMotors,
    WheelTorques,
    gear_ratios,
    loss_map,
    torque_curve,
    voltage_curve,
)
from ..components.roll_pitch import RollPitch
from ..components.spinning_wheel import FirstOrderSlip, SteadySlip
from ..components.sprung_mass import Suspension
from ..components.steering_ratio import DirectSteering, SteeringWheel
from ..components.suspended_body import SuspendedBody
from ..components.suspension_elements import (
    AntiRollBar,
    BumpStop,
    KneedDamper,
    LinearDamper,
    LinearSpring,
    Linkage,
    NoStop,
    ProgressiveSpring,
    corner,
)
from ..components.trailer import NoTrailers, Trailer
from ..components.wheel_alignment import FixedAlignment, LinearAlignment

__all__ = [
    "Aerodynamics",
    "AirShape",
    "AllWheelDrive",
    "AntiRollBar",
    "AutomaticShift",
    "Battery",
    "BrakeTorques",
    "BumpStop",
    "Clutch",
    "Crankshaft",
    "CurveEnvelope",
    "DirectSteering",
    "Disc",
    "ElectricMotor",
    "Engine",
    "EngineDrive",
    "FinalDrive",
    "FirstOrderSlip",
    "FixedAlignment",
    "FrontWheelDrive",
    "Give",
    "HydraulicBrakes",
    "IndependentSuspension",
    "Inverter",
    "KneedDamper",
    "LimitedSlip",
    "LinearAlignment",
    "LinearDamper",
    "LinearSpring",
    "Linkage",
    "LockedDifferential",
    "LossTerms",
    "ManualShift",
    "MotorDrive",
    "NoStop",
    "NoTrailers",
    "OpenDifferential",
    "Pack",
    "PlainAir",
    "PowerEnvelope",
    "ProgressiveSpring",
    "QuasiStatic",
    "RearWheelDrive",
    "RollPitch",
    "RollShare",
    "Rotor",
    "SpeedLimit",
    "SteadySlip",
    "SteeringWheel",
    "Supply",
    "SuspendedBody",
    "Suspension",
    "TorsenDifferential",
    "Trailer",
    "ViscousDifferential",
    "WheelMotors",
    "WheelTorques",
    "aero_map",
    "alignment_tables",
    "corner",
    "gear_ratios",
    "independent_suspension",
    "loss_map",
    "torque_curve",
    "voltage_curve",
]

record.document_all()
