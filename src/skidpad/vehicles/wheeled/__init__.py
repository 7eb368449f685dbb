"""Vehicles on spinning wheels, as MVSim has them: differential drive and Ackermann steering.

    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_pid")))

A description says what the vehicle is; the model is put together from the parts that it names.
"""

from __future__ import annotations

from ...components.drivetrain import Splits
from ...components.wheel_friction import Ellipse, Friction, WardIagnemma
from ...controllers.pid import Form, Gains
from .build import assembly, vehicle
from .description import (
    FRICTIONS,
    Chassis,
    Control,
    Description,
    Drivetrain,
    Wheel,
    ackermann,
    default_description,
    differential,
)
from .kinds import KINDS
from .mass import MassProperties, mass_properties
from .update import com_velocity, reference_velocity

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
