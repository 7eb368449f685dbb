"""Vehicles on spinning wheels, as MVSim has them: differential drive and Ackermann steering.

    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_pid")))

A description says what the vehicle is; the model is put together from the parts that it names.
"""

from __future__ import annotations

from ...control.pid import Form, Gains
from ..parts.drivetrain import Splits
from ..parts.wheel_friction import Ellipse, Friction, WardIagnemma
from .build import assembly, vehicle
from .description import (
    FRICTIONS,
    KINDS,
    Chassis,
    Control,
    Description,
    Drivetrain,
    MassProperties,
    Wheel,
    ackermann,
    default_description,
    differential,
    mass_properties,
)
from .model import com_velocity, reference_velocity

__all__ = [
    "FRICTIONS",
    "KINDS",
    "Chassis",
    "Control",
    "Description",
    "Drivetrain",
    "Ellipse",
    "Form",
    "Friction",
    "Gains",
    "MassProperties",
    "Splits",
    "WardIagnemma",
    "Wheel",
    "ackermann",
    "assembly",
    "com_velocity",
    "default_description",
    "differential",
    "mass_properties",
    "reference_velocity",
    "vehicle",
]
