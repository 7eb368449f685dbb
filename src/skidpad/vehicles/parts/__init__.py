"""Pure kernels with small ports: the parts that vehicles are put together from.

Each kernel is a plain function of scalars and records, written with `skidpad.ops` and arithmetic,
so that floats, NumPy, CasADi and JAX values pass through it. Frames and signs are ISO 8855.
Divisions by parameters are written as a multiplication by the parameter's reciprocal: that part
depends on no state, so compiled code evaluates it once per rollout instead of once per stage.

All parts of `two_track` and `full_car` in one place, by the names that docs/vehicles.md has.

    from skidpad.vehicles.parts import Aerodynamics, QuasiStatic, SteeringWheel, Suspension

Tyres are in `skidpad.tyres`, roads are `skidpad.Road`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .air import (
        Aerodynamics,
        AirShape,
        PlainAir,
        aero_map,
    )
    from .alignment import (
        FixedAlignment,
        Give,
        LinearAlignment,
        alignment_tables,
    )
    from .chassis import (
        QuasiStatic,
        RollPitch,
        RollShare,
        Suspension,
    )
    from .hydraulic_brakes import (
        BrakeTorques,
        Disc,
        HydraulicBrakes,
    )
    from .powertrain.combustion import (
        Clutch,
        Crankshaft,
        Engine,
        EngineDrive,
    )
    from .powertrain.electric import (
        Battery,
        CurveEnvelope,
        ElectricMotor,
        Inverter,
        LossTerms,
        MotorDrive,
        Pack,
        PowerEnvelope,
        Rotor,
        SpeedLimit,
        Supply,
        WheelMotors,
        WheelTorques,
        loss_map,
        torque_curve,
        voltage_curve,
    )
    from .powertrain.gearing import (
        AllWheelDrive,
        AutomaticShift,
        FinalDrive,
        FrontWheelDrive,
        LimitedSlip,
        LockedDifferential,
        ManualShift,
        OpenDifferential,
        RearWheelDrive,
        TorsenDifferential,
        ViscousDifferential,
        gear_ratios,
    )
    from .spinning_wheel import (
        FirstOrderSlip,
        SteadySlip,
    )
    from .steering import (
        DirectSteering,
        SteeringWheel,
    )
    from .suspension import (
        AntiRollBar,
        BumpStop,
        IndependentSuspension,
        KneedDamper,
        LinearDamper,
        LinearSpring,
        Linkage,
        NoStop,
        ProgressiveSpring,
        SuspendedBody,
        corner,
        independent_suspension,
    )
    from .trailers import (
        NoTrailers,
        Trailer,
    )

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

__getattr__ = lazy_attributes(
    __name__,
    {
        ".air": (
            "Aerodynamics",
            "AirShape",
            "PlainAir",
            "aero_map",
        ),
        ".alignment": (
            "FixedAlignment",
            "Give",
            "LinearAlignment",
            "alignment_tables",
        ),
        ".chassis": (
            "QuasiStatic",
            "RollPitch",
            "RollShare",
            "Suspension",
        ),
        ".hydraulic_brakes": (
            "BrakeTorques",
            "Disc",
            "HydraulicBrakes",
        ),
        ".powertrain.combustion": (
            "Clutch",
            "Crankshaft",
            "Engine",
            "EngineDrive",
        ),
        ".powertrain.electric": (
            "Battery",
            "CurveEnvelope",
            "ElectricMotor",
            "Inverter",
            "LossTerms",
            "MotorDrive",
            "Pack",
            "PowerEnvelope",
            "Rotor",
            "SpeedLimit",
            "Supply",
            "WheelMotors",
            "WheelTorques",
            "loss_map",
            "torque_curve",
            "voltage_curve",
        ),
        ".powertrain.gearing": (
            "AllWheelDrive",
            "AutomaticShift",
            "FinalDrive",
            "FrontWheelDrive",
            "LimitedSlip",
            "LockedDifferential",
            "ManualShift",
            "OpenDifferential",
            "RearWheelDrive",
            "TorsenDifferential",
            "ViscousDifferential",
            "gear_ratios",
        ),
        ".spinning_wheel": (
            "FirstOrderSlip",
            "SteadySlip",
        ),
        ".steering": (
            "DirectSteering",
            "SteeringWheel",
        ),
        ".suspension": (
            "AntiRollBar",
            "BumpStop",
            "IndependentSuspension",
            "KneedDamper",
            "LinearDamper",
            "LinearSpring",
            "Linkage",
            "NoStop",
            "ProgressiveSpring",
            "SuspendedBody",
            "corner",
            "independent_suspension",
        ),
        ".trailers": (
            "NoTrailers",
            "Trailer",
        ),
    },
)
