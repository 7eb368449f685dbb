"""Mass, centre of mass and yaw inertia of a vehicle from its chassis and wheels.

The chassis is a plate of even thickness and density, a wheel a box as long as its diameter, as in
Box2D, which MVSim hands both to. Steering the wheels does not change the result.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...plane.outline import hull as convex_hull
from ...plane.outline import moments
from .description import Chassis, Description

DAMPING = 0.1
"""Damping of a body that says nothing about it, in 1/s."""


class MassProperties(NamedTuple):
    """Of a whole vehicle; places from its reference point."""

    mass: float
    com_x: float
    com_y: float
    com_z: float
    """Height above the ground."""
    I_z: float
    """About the vertical axis through the centre of mass."""


def mass_properties(d: Description, *, hull: bool = False) -> MassProperties:
    """Of a described vehicle; `hull` takes the convex hull of the chassis, as Box2D does."""
    chassis = d.chassis
    plate = moments(convex_hull(chassis.shape) if hull else chassis.shape)
    parts = [(chassis.mass, plate.x, plate.y, 0.5 * (chassis.z_min + chassis.z_max), plate.polar)]
    for wheel in d.wheels:
        box = (wheel.diameter**2 + wheel.width**2) / 12.0
        parts.append((wheel.mass, wheel.x, wheel.y, 0.5 * wheel.diameter, box))
    mass = sum(part[0] for part in parts)
    x, y, z = (sum(part[0] * part[k] for part in parts) / mass for k in (1, 2, 3))
    I_z = sum(m * (polar + (p_x - x) ** 2 + (p_y - y) ** 2) for m, p_x, p_y, _, polar in parts)
    return MassProperties(mass, x, y, z, I_z)


def damping(chassis: Chassis) -> tuple[float, float]:
    """Linear and angular damping in 1/s."""
    linear, angular = chassis.linear_damping, chassis.angular_damping
    return DAMPING if linear is None else linear, DAMPING if angular is None else angular


def upstream_damping(chassis: Chassis) -> tuple[float, float]:
    """Damping as MVSim reads it: it writes eight bytes where the number has four.

    The lower half of a linear damping becomes the linear one, the upper half the angular one; of an
    angular damping the lower half remains.
    """
    linear, angular = DAMPING, DAMPING
    if chassis.linear_damping is not None:
        linear, angular = struct.unpack("<ff", struct.pack("<d", chassis.linear_damping))
    if chassis.angular_damping is not None:
        angular = struct.unpack("<ff", struct.pack("<d", chassis.angular_damping))[0]
    return linear, angular
