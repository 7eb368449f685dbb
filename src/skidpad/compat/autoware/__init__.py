"""Commands, reports, roads and pedals of `skidpad.PlanningSimulator`, in Autoware's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lazy import lazy_attributes

if TYPE_CHECKING:
    from ...vehicles.command_driven.parameters import Table
    from ...vehicles.parts.actuators import Gear
    from .converter import CommandConverter, SteeringWheel, actuation_status
    from .reports import ControlCommand, pitch_of
    from .road import Road

__all__ = [
    "CommandConverter",
    "ControlCommand",
    "Gear",
    "Road",
    "SteeringWheel",
    "Table",
    "actuation_status",
    "pitch_of",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".converter": ("CommandConverter", "SteeringWheel", "Table", "actuation_status"),
        ".reports": ("ControlCommand", "Gear", "pitch_of"),
        ".road": ("Road",),
    },
)
