"""Standing: the vehicle stands in a world, is seen by others and has sensors of its own."""

from __future__ import annotations

import math

from ..body import Geometry
from ..world.scene.scene import Imu, Laser, Pose, Scene, Settings, VehicleSpec
from ..world.world import World
from .driving import DT
from .subject import Subject

COUNT = 5
"""How many there are: as many as are driven, so that they need no other code."""
GAP = 15.0
"""Between two of them, in m."""
DURATION = 0.21
"""In s: two readings of each sensor."""


def standing(subject: Subject) -> list[str]:
    """Some of them behind each other on level ground: the second sees the first."""
    length = _length(subject.body.geometry(subject.params))
    sensors = (Laser("scan", fov=math.pi, nrays=3, max_range=2.0 * GAP, period=0.1), Imu("imu"))
    scene = Scene(
        settings=Settings(timestep=DT),
        vehicles=tuple(
            VehicleSpec(str(k), Pose(-k * (GAP + length), 0.0), subject.vehicle, sensors=sensors)
            for k in range(COUNT)
        ),
    )
    world = World(scene)
    world.run(DURATION)
    shown, truth = world.vehicles["1"].sensors, world.vehicles["0"].truth
    faults: list[str] = []
    if not all(math.isfinite(value) for value in truth):
        faults.append(f"after {DURATION} s it is at {truth}")
    ahead = shown["scan"].ranges[1]
    if not 0.0 < ahead < 2.0 * GAP:
        faults.append(f"a laser straight ahead does not see it, {GAP} m away: {ahead} m")
    force = (shown["imu"].f_x, shown["imu"].f_y, shown["imu"].f_z)
    if not all(math.isfinite(value) for value in force):
        faults.append(f"an inertial unit on it shows {force}")
    return faults


def _length(shape: Geometry) -> float:
    """How far it reaches from its reference point, what it tows included."""
    reach = max(math.hypot(x, y) for outline in shape.outlines for x, y in outline)
    way = 0.0
    for trailer in shape.trailers:
        way += abs(trailer.hitch_x) + trailer.drawbar
        behind = max(math.hypot(x, y) for outline in trailer.outlines for x, y in outline)
        reach = max(reach, way + behind)
    return reach
