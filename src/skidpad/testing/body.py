"""Checks of the body: it is physically plausible, and it can be driven."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core import record
from ..core.body import Demand, Geometry, Limits, Wheel
from ..errors import InvalidValue
from ..geometry.polygon import cleaned, convex_parts
from ..units import m_s, m_s2, s
from ..world.scene import Pose, Scene, Settings, VehicleSpec, Velocity
from ..world.vehicle import WorldVehicle
from ..world.world import World
from .subject import Subject

GYRATION = (0.05, 1.05)
"""Allowed radius of gyration, relative to the distance of the farthest point from the centre of
mass."""
SLACK = 1e-9
"""Tolerance of lengths in m."""


def shape(subject: Subject) -> list[str]:
    """Check outline, wheels, axles, mass and inertia, the order of limits, and field names."""
    body, p = subject.body, subject.params
    geometry, limits = body.geometry(p), body.limits(p)
    faults = [*_outlines(geometry), *_wheels(subject, geometry)]
    faults = [*(faults or _centre_and_axles(geometry)), *_limits(subject, limits)]
    if body.gravity and body.gravity not in record.names(subject.model.Params):
        faults.append(f"gravity = {body.gravity!r} is no parameter")
    return faults


def _outlines(geometry: Geometry) -> Iterator[str]:
    if not geometry.outlines:
        yield "it has no outline"
    for k, outline in enumerate(geometry.outlines):
        try:
            convex_parts(cleaned(outline))
        except InvalidValue as error:
            yield f"outline {k}: {error}"
    if not (math.isfinite(geometry.height) and geometry.height > 0.0):
        yield f"height = {geometry.height} m must be positive"


def _wheels(subject: Subject, geometry: Geometry) -> Iterator[str]:
    model = subject.model
    known = {*record.names(model.State), *record.names(model.Outputs)}
    towed = (wheel for trailer in geometry.trailers for wheel in trailer.wheels)
    wheels = (*geometry.wheels, *towed)
    for wheel in wheels:
        if not (wheel.radius > 0.0 and wheel.width > 0.0):
            yield (
                f"wheel {wheel.name}: radius {wheel.radius} m and width {wheel.width} m must be "
                "positive"
            )
        names = (wheel.steer, wheel.F_x, wheel.F_y, wheel.F_z, wheel.use)
        yield from (
            f"wheel {wheel.name} names {name!r}, which is no state and no output"
            for name in names
            if name and name not in known
        )
    if len({wheel.name for wheel in wheels}) < len(wheels):
        yield "two wheels have the same name"
    yield from (
        f"the trailer names {trailer.angle!r}, which is no state and no output"
        for trailer in geometry.trailers
        if trailer.angle not in known
    )


def _corners(wheel: Wheel) -> list[tuple[float, float]]:
    a, b = wheel.radius, 0.5 * wheel.width
    return [(wheel.x + i * a, wheel.y + j * b) for i in (-1.0, 1.0) for j in (-1.0, 1.0)]


def _centre_and_axles(geometry: Geometry) -> Iterator[str]:
    """Faults if the axles or the centre of mass lie outside the vehicle, the axles are not between
    the wheels, or mass and inertia are implausible."""
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
    yield from (
        f"{what} at x = {at} m is not between {min(x):g} and {max(x):g} m, where the vehicle is"
        for what, at in places.items()
        if not inside[0] <= at <= inside[1]
    )
    if not min(y) - SLACK <= com_y <= max(y) + SLACK:
        yield f"the centre of mass at y = {com_y} m is beside the vehicle"
    if geometry.front_axle < geometry.rear_axle:
        yield "the front axle is behind the rear axle"
    if geometry.wheels:
        hubs = [wheel.x for wheel in geometry.wheels]
        axles = (geometry.rear_axle, geometry.front_axle)
        if not min(hubs) - SLACK <= min(axles) or not max(axles) <= max(hubs) + SLACK:
            yield f"the axles at x = {axles} m are not between the wheels at {hubs} m"
    if not (geometry.mass > 0.0 and geometry.inertia > 0.0):
        yield (
            f"mass {geometry.mass} kg and inertia {geometry.inertia} kg·m² must both be positive"
        )
        return
    reach = max(math.dist(point, geometry.centre_of_mass) for point in points)
    share = math.sqrt(geometry.inertia / geometry.mass) / reach
    if not GYRATION[0] <= share <= GYRATION[1]:
        yield (
            f"the radius of gyration is {share:.3g} of the way from the centre of mass to the "
            f"farthest point; from {GYRATION[0]} to {GYRATION[1]} is plausible"
        )


def _limits(subject: Subject, limits: Limits) -> Iterator[str]:
    ordered: dict[str, Any] = {
        "steer_max": limits.steer_max >= 0.0,
        "steer_rate_max": limits.steer_rate_max >= 0.0,
        "v_min, v_max": limits.v_min <= 0.0 <= limits.v_max,
        "a_min, a_max": limits.a_min <= 0.0 <= limits.a_max,
        "grip": limits.grip > 0.0,
        "omega_max": limits.omega_max >= 0.0,
    }
    yield from (
        f"limits: {name} is out of order: {limits}" for name, ok in ordered.items() if not ok
    )
    names = record.names(subject.model.Input)
    for name, (low, high) in limits.inputs.items():
        if name not in names:
            yield f"limits: {name!r} is no input; there are {', '.join(names)}"
        elif not low <= high:
            yield f"limits: the input {name} from {low} to {high} is out of order"


DT: s = 0.01
"""Time between two commands, in s."""
DURATION: s = 1.5
SETTLING: s = 0.5
"""Time in s for wheels to spin up and commands to take effect, before checks begin."""
SPEED: m_s = 4.0
"""Speed of the runs in m/s, unless the vehicle is slower."""
GENTLE: m_s2 = 2.0
"""Acceleration in m/s² demanded of a powerful vehicle, so that resistance has an effect."""
SPEED_SLACK = 0.5
"""Share of a speed change that may be missing because of dead times and actuators."""
APART = 1000.0
"""Distance between the vehicles in m, so that they do not meet."""


class Run(NamedTuple):
    name: str
    start: m_s
    demand: Demand
    faster: float = 0.0
    """Sign of the expected speed change: 1 faster, -1 slower, 0 any."""
    left: float = 0.0
    """Sign of the expected lateral displacement: 1 left, -1 right, 0 any."""


def driving(subject: Subject) -> list[str]:
    """Check the response to demands over 1.5 s: faster, slower, left, right, and reversing from
    rest."""
    body, p = subject.body, subject.params
    limits = body.limits(p)
    drives = list(_drives(limits, body.geometry(p)))
    scene = Scene(
        settings=Settings(timestep=DT),
        vehicles=tuple(
            VehicleSpec(
                drive.name, Pose(0.0, APART * k), subject.vehicle, velocity=Velocity(drive.start)
            )
            for k, drive in enumerate(drives)
        ),
    )
    world, begun = World(scene), dict[str, m_s]()
    for k in range(round(DURATION / DT)):
        if k == round(SETTLING / DT):
            begun = {drive.name: world.vehicles[drive.name].truth.v_x for drive in drives}
        for drive in drives:
            faults = _outside(world.vehicles[drive.name].drive(drive.demand), limits, drive)
            if faults:
                return faults
        world.step()
    return [
        fault
        for k, drive in enumerate(drives)
        for fault in _response_faults(
            world.vehicles[drive.name], APART * k, drive, begun[drive.name], limits
        )
    ]


def _drives(limits: Limits, geometry: Geometry) -> Iterator[Run]:
    v = min(SPEED, 0.5 * limits.v_max)
    up, down = min(0.5 * limits.a_max, GENTLE), max(0.5 * limits.a_min, -GENTLE)
    steer = 0.3 * limits.steer_max if math.isfinite(limits.steer_max) else 0.15
    omega = v * math.tan(steer) / geometry.wheel_base if steer else 0.3
    yield Run("faster", v, Demand(a=up, v=1.5 * v), faster=1.0)
    yield Run("on from rest", 0.0, Demand(a=up, v=v), faster=1.0)
    yield Run("slower", v, Demand(a=down, v=0.5 * v), faster=-1.0)
    for name, side in (("to the left", 1.0), ("to the right", -1.0)):
        demand = Demand(steer=side * steer, a=0.2 * up, v=v, omega=side * omega)
        yield Run(name, v, demand, left=side)
    if limits.v_min < 0.0:
        back = max(-v, 0.8 * limits.v_min)
        yield Run("back from rest", 0.0, Demand(a=down, v=back), faster=-1.0)


def _response_faults(
    vehicle: WorldVehicle, y: float, drive: Run, begun: m_s, limits: Limits
) -> Iterator[str]:
    """Faults of a run that started at `y` (m) and had the speed `begun` (m/s) after settling."""
    truth = vehicle.truth
    if not all(math.isfinite(value) for value in truth):
        yield f"driven {drive.name}, it is at {truth}"
        return
    aside = truth.y - y
    if drive.faster and not _as_demanded(truth.v_x, begun, drive, limits):
        yield (
            f"driven {drive.name} from {drive.start:g} m/s with {drive.demand}, it has "
            f"{begun:.4g} m/s after {SETTLING} s and {truth.v_x:.4g} m/s after {DURATION} s"
        )
    if drive.left and not drive.left * aside > 1e-3:
        yield (
            f"driven {drive.name} with {drive.demand}, it is {aside:.4g} m to the left after "
            f"{DURATION} s"
        )


def _as_demanded(v: m_s, begun: m_s, drive: Run, limits: Limits) -> bool:
    """Whether the speed changed in the demanded direction and, if the vehicle declares limits, by
    the demanded amount: that of the acceleration, or up to the demanded speed."""
    reached = abs(v - drive.demand.v) <= SPEED_SLACK * abs(drive.demand.v - drive.start)
    if reached:
        return True
    able = math.isfinite(limits.a_max if drive.demand.a > 0.0 else limits.a_min)
    gained, goal = v - begun, drive.demand.a * (DURATION - SETTLING)
    return abs(gained - goal) <= SPEED_SLACK * abs(goal) if able else drive.faster * gained > 0.0


def _outside(u: Any, limits: Limits, drive: Run) -> list[str]:
    values = dict(zip(record.names(type(u)), record.flatten(u), strict=True))
    faults = [f"{name} = {value}" for name, value in values.items() if not math.isfinite(value)]
    for name, (low, high) in limits.inputs.items():
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        if not low - slack <= values[name] <= high + slack:
            faults.append(f"{name} = {values[name]:g} is not from {low:g} to {high:g}")
    return [f"driven {drive.name} with {drive.demand}, the input {fault}" for fault in faults]
