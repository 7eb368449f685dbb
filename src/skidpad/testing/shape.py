"""Shape: geometry and limits of a body describe something that can be built."""

from __future__ import annotations

import math
from typing import Any

from ..core import record
from ..core.body import Geometry, Limits, Wheel
from ..errors import InvalidValue
from ..geometry.polygon import cleaned, convex_parts
from .subject import Subject

GYRATION = (0.05, 1.05)
"""Radius of gyration over the distance of the farthest point from the centre of mass."""
SLACK = 1e-9
"""In m."""


def shape(subject: Subject) -> list[str]:
    """Outline and wheels about the axles, mass and inertia, limits in order, names that exist."""
    body, p = subject.body, subject.params
    geometry, limits = body.geometry(p), body.limits(p)
    faults = _outlines(geometry) + _wheels(subject, geometry)
    if not faults:
        faults += _centre_and_axles(geometry)
    faults += _limits(subject, limits)
    if body.gravity and body.gravity not in record.names(subject.model.Params):
        faults.append(f"gravity = {body.gravity!r} is no parameter")
    return faults


def _outlines(geometry: Geometry) -> list[str]:
    faults: list[str] = []
    if not geometry.outlines:
        faults.append("it has no outline")
    for k, outline in enumerate(geometry.outlines):
        try:
            convex_parts(cleaned(outline))
        except InvalidValue as error:
            faults.append(f"outline {k}: {error}")
    if not (math.isfinite(geometry.height) and geometry.height > 0.0):
        faults.append(f"height = {geometry.height} m must be positive")
    return faults


def _wheels(subject: Subject, geometry: Geometry) -> list[str]:
    model = subject.model
    known = {*record.names(model.State), *record.names(model.Outputs)}
    towed = (wheel for trailer in geometry.trailers for wheel in trailer.wheels)
    wheels = (*geometry.wheels, *towed)
    faults: list[str] = []
    for wheel in wheels:
        if not (wheel.radius > 0.0 and wheel.width > 0.0):
            faults.append(
                f"wheel {wheel.name}: radius {wheel.radius} m and width {wheel.width} m must be "
                "positive"
            )
        names = (wheel.steer, wheel.F_x, wheel.F_y, wheel.F_z, wheel.use)
        faults += [
            f"wheel {wheel.name} names {name!r}, which is no state and no output"
            for name in names
            if name and name not in known
        ]
    if len({wheel.name for wheel in wheels}) < len(wheels):
        faults.append("two wheels have the same name")
    faults += [
        f"the trailer names {trailer.angle!r}, which is no state and no output"
        for trailer in geometry.trailers
        if trailer.angle not in known
    ]
    return faults


def _corners(wheel: Wheel) -> list[tuple[float, float]]:
    a, b = wheel.radius, 0.5 * wheel.width
    return [(wheel.x + i * a, wheel.y + j * b) for i in (-1.0, 1.0) for j in (-1.0, 1.0)]


def _centre_and_axles(geometry: Geometry) -> list[str]:
    """The axles and the centre of mass lie within the vehicle and the axles between the wheels;
    mass and inertia are plausible."""
    wheels = [corner for wheel in geometry.wheels for corner in _corners(wheel)]
    points = [*(point for outline in geometry.outlines for point in outline), *wheels]
    x, y = zip(*points, strict=True)
    inside = min(x) - SLACK, max(x) + SLACK
    com_x, com_y = geometry.centre_of_mass
    places = {
        "the front axle": geometry.front_axle,
        "the rear axle": geometry.rear_axle,
        "the centre of mass": com_x,
    }
    faults = [
        f"{what} at x = {at} m is not between {min(x):g} and {max(x):g} m, where the vehicle is"
        for what, at in places.items()
        if not inside[0] <= at <= inside[1]
    ]
    if not min(y) - SLACK <= com_y <= max(y) + SLACK:
        faults.append(f"the centre of mass at y = {com_y} m is beside the vehicle")
    if geometry.front_axle < geometry.rear_axle:
        faults.append("the front axle is behind the rear axle")
    if geometry.wheels:
        hubs = [wheel.x for wheel in geometry.wheels]
        axles = (geometry.rear_axle, geometry.front_axle)
        if not min(hubs) - SLACK <= min(axles) or not max(axles) <= max(hubs) + SLACK:
            faults.append(f"the axles at x = {axles} m are not between the wheels at {hubs} m")
    if not (geometry.mass > 0.0 and geometry.inertia > 0.0):
        return [
            *faults,
            f"mass {geometry.mass} kg and inertia {geometry.inertia} kg·m² must both be positive",
        ]
    reach = max(math.dist(point, geometry.centre_of_mass) for point in points)
    share = math.sqrt(geometry.inertia / geometry.mass) / reach
    if not GYRATION[0] <= share <= GYRATION[1]:
        faults.append(
            f"the radius of gyration is {share:.3g} of the way from the centre of mass to the "
            f"farthest point; from {GYRATION[0]} to {GYRATION[1]} is plausible"
        )
    return faults


def _limits(subject: Subject, limits: Limits) -> list[str]:
    ordered: dict[str, Any] = {
        "steer_max": limits.steer_max >= 0.0,
        "steer_rate_max": limits.steer_rate_max >= 0.0,
        "v_min, v_max": limits.v_min <= 0.0 <= limits.v_max,
        "a_min, a_max": limits.a_min <= 0.0 <= limits.a_max,
        "grip": limits.grip > 0.0,
        "omega_max": limits.omega_max >= 0.0,
    }
    faults = [f"limits: {name} is out of order: {limits}" for name, ok in ordered.items() if not ok]
    names = record.names(subject.model.Input)
    for name, (low, high) in limits.inputs.items():
        if name not in names:
            faults.append(f"limits: {name!r} is no input; there are {', '.join(names)}")
        elif not low <= high:
            faults.append(f"limits: the input {name} from {low} to {high} is out of order")
    return faults
