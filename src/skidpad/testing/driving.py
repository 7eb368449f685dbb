"""Driving: demands become inputs that the vehicle takes, and the vehicle follows them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core import record
from ..core.body import Demand, Geometry, Limits
from ..units import m_s, m_s2, s
from ..world.scene import Pose, Scene, Settings, VehicleSpec, Velocity
from ..world.vehicle import WorldVehicle
from ..world.world import World
from .subject import Subject

DT: s = 0.01
"""Time between two commands."""
DURATION: s = 1.5
SETTLING: s = 0.5
"""Time for wheels to spin up and commands to arrive, before the motion counts."""
SPEED: m_s = 4.0
"""Speed of the runs, unless the vehicle is slower."""
GENTLE: m_s2 = 2.0
"""Acceleration demanded of a more powerful vehicle, so that resistance shows."""
SLACK = 0.5
"""Share of a change of speed that may be missing because of dead times and actuators."""
APART = 1000.0
"""Distance of the vehicles in m, so that they do not meet."""


class Run(NamedTuple):
    """A demand and the expected response."""

    name: str
    start: m_s
    demand: Demand
    faster: float = 0.0
    """1: it must be faster at the end, -1: slower."""
    left: float = 0.0
    """1: it must end up to the left, -1: to the right."""


def driving(subject: Subject) -> list[str]:
    """Drives a second and a half: faster, slower, left, right, and back from rest."""
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
) -> list[str]:
    """Faults of a run that started at `y` and had the speed `begun` after settling."""
    truth = vehicle.truth
    if not all(math.isfinite(value) for value in truth):
        return [f"driven {drive.name}, it is at {truth}"]
    aside = truth.y - y
    faults: list[str] = []
    if drive.faster and not _as_demanded(truth.v_x, begun, drive, limits):
        faults.append(
            f"driven {drive.name} from {drive.start:g} m/s with {drive.demand}, it has "
            f"{begun:.4g} m/s after {SETTLING} s and {truth.v_x:.4g} m/s after {DURATION} s"
        )
    if drive.left and not drive.left * aside > 1e-3:
        faults.append(
            f"driven {drive.name} with {drive.demand}, it is {aside:.4g} m to the left after "
            f"{DURATION} s"
        )
    return faults


def _as_demanded(v: m_s, begun: m_s, drive: Run, limits: Limits) -> bool:
    """Whether the speed changed in the demanded direction, and by the demanded amount if the
    vehicle declares limits: that of the acceleration, or up to the demanded speed."""
    reached = abs(v - drive.demand.v) <= SLACK * abs(drive.demand.v - drive.start)
    if reached:
        return True
    able = math.isfinite(limits.a_max if drive.demand.a > 0.0 else limits.a_min)
    gained, goal = v - begun, drive.demand.a * (DURATION - SETTLING)
    return abs(gained - goal) <= SLACK * abs(goal) if able else drive.faster * gained > 0.0


def _outside(u: Any, limits: Limits, drive: Run) -> list[str]:
    """Faults of inputs outside of the limits."""
    values = dict(zip(record.names(type(u)), record.flatten(u), strict=True))
    faults = [f"{name} = {value}" for name, value in values.items() if not math.isfinite(value)]
    for name, (low, high) in limits.inputs.items():
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        if not low - slack <= values[name] <= high + slack:
            faults.append(f"{name} = {values[name]:g} is not from {low:g} to {high:g}")
    return [f"driven {drive.name} with {drive.demand}, the input {fault}" for fault in faults]
