"""Worlds full of robots that drive around, always the same: for measurements."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt

import numpy as np

from ..plane.maps import Grid
from ..units import m, s
from ..world.scene.scene import OccupancyGrid, Scene
from ..world.world import World
from ..world.xml import loads

SEED = 20240917
DT: s = 5e-3
CELL: m = 0.05
"""Side of the cells of a grid."""
PITCH = {"differential": 4.0, "ackermann": 9.0}
"""How far apart the middles of the circles are, in m."""
_CONTROLLERS = {
    "differential": "<controller class='twist_pid'><KP>10</KP><KI>2</KI></controller>",
    "ackermann": "<controller class='twist_front_steer_pid'><KP>100</KP><KI>20</KI></controller>",
}


def crowd(kind: str, count: int, *, grid: bool = False, extra: str = "") -> World:
    """A world of `count` robots that drive circles side by side; some meet their neighbours.

    Args:
        kind: of the vehicles, "differential" or "ackermann".
        grid: whether they stand in a hall with pillars, drawn on an occupancy grid.
        extra: what each vehicle has besides, such as a sensor, in the words of world files.
    """
    rng = np.random.default_rng(SEED)
    pitch, side = PITCH[kind], ceil(sqrt(count))
    radius = pitch * rng.uniform(0.2, 0.46, count)
    turn = rng.choice([-1.0, 1.0], count)
    v = rng.uniform(0.3, 1.0, count)
    heading = rng.uniform(-np.pi, np.pi, count)
    # Beside the middle of its circle, which is on the left of one that turns left.
    x = pitch * (np.arange(count) % side) + turn * radius * np.sin(heading)
    y = pitch * (np.arange(count) // side) - turn * radius * np.cos(heading)
    vehicles = "".join(
        f"<vehicle name='r{k:04}'><init_pose>{x[k]} {y[k]} {np.degrees(heading[k])}</init_pose>"
        f"<dynamics class='{kind}'>{_CONTROLLERS[kind]}</dynamics>{extra}</vehicle>"
        for k in range(count)
    )
    step = f"<simul_timestep>{DT}</simul_timestep>"
    scene = loads(f"<mvsim_world version='1.0'>{step}{vehicles}</mvsim_world>")
    world = World(_in_hall(scene, pitch, side) if grid else scene)
    for k in range(count):
        world.vehicles[f"r{k:04}"].command(v=v[k], omega=turn[k] * v[k] / radius[k])
    return world


def _in_hall(scene: Scene, pitch: m, side: int) -> Scene:
    """The same in a square hall with a round pillar between any four circles."""
    cells = round((side + 1.0) * pitch / CELL)
    # From the nearest pillar: they stand half a pitch beside the circles, the walls a whole one.
    along = np.abs(((np.arange(cells) + 0.5) * CELL / pitch) % 1.0 - 0.5) * pitch
    occupied = np.hypot(along[None, :], along[:, None]) < 0.1 * pitch
    for edge in (0, -1):
        occupied[edge, :] = occupied[:, edge] = True
    drawn = OccupancyGrid(Grid(occupied, CELL, (-pitch, -pitch, 0.0)))
    return replace(scene, elements=(*scene.elements, drawn))
