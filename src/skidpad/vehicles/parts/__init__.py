"""Parts of vehicles: pure kernels with small ports, and the records that choose them.

Each kernel is a plain function of scalars and records, written with `skidpad.ops` and arithmetic,
so that floats, NumPy, CasADi and JAX values pass through it. Frames and signs are ISO 8855.
Divisions by parameters are written as a multiplication by the parameter's reciprocal: that part
depends on no state, so compiled code evaluates it once per rollout instead of once per stage.

The names here are the parts of `two_track`, `full_car` and the other vehicles as docs/vehicles.md
has them. Tyres are in `skidpad.tyres`, roads are `skidpad.Road`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .air import Aerodynamics, aero_map
    from .alignment import LinearAlignment, alignment_tables
    from .car_bodies import rolling_car
    from .chassis import QuasiStatic, RollPitch, Suspension
    from .drive_command import AccelerationCommand
    from .hydraulic_brakes import HydraulicBrakes
    from .powertrain.combustion import EngineDrive
    from .powertrain.electric import Battery, MotorDrive, Pack, WheelMotors
    from .powertrain.gearing import (
        AllWheelDrive,
        AutomaticShift,
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
    from .spinning_wheel import FirstOrderSlip, SteadySlip
    from .steering import SteeringWheel
    from .suspension import (
        AntiRollBar,
        BumpStop,
        KneedDamper,
        LinearSpring,
        SuspendedBody,
        corner,
        independent_suspension,
    )
    from .trailers import Trailer
    from .wheel_friction import Friction

__all__ = [
    "AccelerationCommand",
    "Aerodynamics",
    "AllWheelDrive",
    "AntiRollBar",
    "AutomaticShift",
    "Battery",
    "BumpStop",
    "EngineDrive",
    "FirstOrderSlip",
    "Friction",
    "FrontWheelDrive",
    "HydraulicBrakes",
    "KneedDamper",
    "LimitedSlip",
    "LinearAlignment",
    "LinearSpring",
    "LockedDifferential",
    "ManualShift",
    "MotorDrive",
    "OpenDifferential",
    "Pack",
    "QuasiStatic",
    "RearWheelDrive",
    "RollPitch",
    "SteadySlip",
    "SteeringWheel",
    "SuspendedBody",
    "Suspension",
    "TorsenDifferential",
    "Trailer",
    "ViscousDifferential",
    "WheelMotors",
    "aero_map",
    "alignment_tables",
    "corner",
    "gear_ratios",
    "independent_suspension",
    "rolling_car",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".air": ("Aerodynamics", "aero_map"),
        ".alignment": ("LinearAlignment", "alignment_tables"),
        ".car_bodies": ("rolling_car",),
        ".chassis": ("QuasiStatic", "RollPitch", "Suspension"),
        ".drive_command": ("AccelerationCommand",),
        ".hydraulic_brakes": ("HydraulicBrakes",),
        ".powertrain.combustion": ("EngineDrive",),
        ".powertrain.electric": ("Battery", "MotorDrive", "Pack", "WheelMotors"),
        ".powertrain.gearing": (
            "AllWheelDrive",
            "AutomaticShift",
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
        ".spinning_wheel": ("FirstOrderSlip", "SteadySlip"),
        ".steering": ("SteeringWheel",),
        ".suspension": (
            "AntiRollBar",
            "BumpStop",
            "KneedDamper",
            "LinearSpring",
            "SuspendedBody",
            "corner",
            "independent_suspension",
        ),
        ".trailers": ("Trailer",),
        ".wheel_friction": ("Friction",),
    },
)
