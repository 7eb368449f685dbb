"""Mass, centre of mass and yaw inertia of a vehicle from its chassis and wheels.

The chassis is a plate of even thickness and density, a wheel a box as long as its diameter, as in
Box2D, which MVSim hands both to. Steering the wheels does not change the result.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ...errors import InvalidValue
from .description import Chassis, Description

Corners = Sequence[tuple[float, float]]

DAMPING = 0.1
"""Damping of a body that says nothing about it, in 1/s."""


class Area(NamedTuple):
    """Moments of a plane figure."""

    area: float
    """In m²."""
    x: float
    """Centroid."""
    y: float
    """Centroid."""
    polar: float
    """Second moment about the centroid over the area, in m²."""


class MassProperties(NamedTuple):
    """Of a whole vehicle; places from its reference point."""

    mass: float
    com_x: float
    com_y: float
    com_z: float
    """Height above the ground."""
    I_z: float
    """About the vertical axis through the centre of mass."""


def area(shape: Corners) -> Area:
    """Moments of a polygon, by Green's theorem; it may be given either way round."""
    x_0, y_0 = shape[0]
    # Seen from a corner, so that a small figure far away keeps its digits.
    corners = [(x - x_0, y - y_0) for x, y in shape]
    total = first_x = first_y = second = 0.0
    for (a_x, a_y), (b_x, b_y) in pairwise([*corners, corners[0]]):
        cross = a_x * b_y - b_x * a_y
        total += cross / 2.0
        first_x += cross * (a_x + b_x) / 6.0
        first_y += cross * (a_y + b_y) / 6.0
        squares = a_x * a_x + a_x * b_x + b_x * b_x + a_y * a_y + a_y * b_y + b_y * b_y
        second += cross * squares / 12.0
    if total == 0.0:
        raise InvalidValue(f"chassis shape {list(shape)} encloses no area")
    x, y = first_x / total, first_y / total
    return Area(abs(total), x_0 + x, y_0 + y, second / total - (x * x + y * y))


def convex_hull(shape: Corners) -> list[tuple[float, float]]:
    """Corners of the smallest convex polygon around points, anticlockwise."""
    points = sorted({(x, y) for x, y in shape})

    def half(ordered: Corners) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for point in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return half(points) + half(points[::-1])


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def mass_properties(d: Description, *, hull: bool = False) -> MassProperties:
    """Of a described vehicle; `hull` takes the convex hull of the chassis, as Box2D does."""
    chassis = d.chassis
    plate = area(convex_hull(chassis.shape) if hull else chassis.shape)
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
