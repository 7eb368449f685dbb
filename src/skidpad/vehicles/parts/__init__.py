"""Parts of vehicles: pure kernels with small interfaces, and the records that select them.

Each kernel is a plain function of scalars and records, written with `skidpad.ops` and arithmetic,
so that it accepts floats, NumPy, CasADi and JAX values. Frames and signs are ISO 8855. Divisions by
parameters are written as a multiplication by the parameter's reciprocal: the reciprocal depends on
no state, so compiled code evaluates it once per rollout instead of once per stage.

The names here are the parts of `two_track`, `full_car` and the other vehicles; docs/vehicles.md
describes them. Tyres are in `skidpad.tyres`, roads are `skidpad.Road`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .actuators import AccelerationCommand as AccelerationCommand
    from .actuators import HydraulicBrakes as HydraulicBrakes
    from .air import Aerodynamics as Aerodynamics
    from .air import aero_map as aero_map
    from .assembly import rolling_car as rolling_car
    from .chassis import QuasiStatic as QuasiStatic
    from .chassis import RollPitch as RollPitch
    from .chassis import Suspension as Suspension
    from .electric import Battery as Battery
    from .electric import MotorDrive as MotorDrive
    from .electric import Pack as Pack
    from .electric import WheelMotors as WheelMotors
    from .gearing import AllWheelDrive as AllWheelDrive
    from .gearing import AutomaticShift as AutomaticShift
    from .gearing import EngineDrive as EngineDrive
    from .gearing import FrontWheelDrive as FrontWheelDrive
    from .gearing import LimitedSlip as LimitedSlip
    from .gearing import LockedDifferential as LockedDifferential
    from .gearing import ManualShift as ManualShift
    from .gearing import OpenDifferential as OpenDifferential
    from .gearing import RearWheelDrive as RearWheelDrive
    from .gearing import TorsenDifferential as TorsenDifferential
    from .gearing import ViscousDifferential as ViscousDifferential
    from .gearing import gear_ratios as gear_ratios
    from .spinning_wheel import FirstOrderSlip as FirstOrderSlip
    from .spinning_wheel import SteadySlip as SteadySlip
    from .steering import LinearAlignment as LinearAlignment
    from .steering import SteeringWheel as SteeringWheel
    from .steering import alignment_tables as alignment_tables
    from .suspension import AntiRollBar as AntiRollBar
    from .suspension import BumpStop as BumpStop
    from .suspension import KneedDamper as KneedDamper
    from .suspension import LinearSpring as LinearSpring
    from .suspension import SuspendedBody as SuspendedBody
    from .suspension import corner as corner
    from .suspension import independent_suspension as independent_suspension
    from .trailers import Trailer as Trailer
    from .wheel_friction import Friction as Friction

_HOMES = {
    ".air": ("Aerodynamics", "aero_map"),
    ".assembly": ("rolling_car",),
    ".chassis": ("QuasiStatic", "RollPitch", "Suspension"),
    ".actuators": ("AccelerationCommand", "HydraulicBrakes"),
    ".electric": ("Battery", "MotorDrive", "Pack", "WheelMotors"),
    ".gearing": (
        "EngineDrive",
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
    ".steering": ("LinearAlignment", "SteeringWheel", "alignment_tables"),
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
}

__all__ = sorted(name for names in _HOMES.values() for name in names)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_attributes(__name__, _HOMES)
