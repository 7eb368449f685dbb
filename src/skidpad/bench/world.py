"""The group `world`: worlds of robots compared with real time, on one thread.

`crowd` builds the worlds, which are identical for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil, sqrt
from typing import Any

import numpy as np

from ..geometry.maps.occupancy import Grid
from ..run.simulator import Simulator
from ..units import m, s
from ..world.scene import OccupancyGrid, Scene
from ..world.world import World
from ..world.xml.reader import loads
from .timing import REAL_TIME, Budget, Entry, Measured, best_rate, interleaved, seconds

SEED = 20240917
DT: s = 5e-3
CELL: m = 0.05
"""Side length in m of the cells of a grid."""
PITCH = {"differential": 4.0, "ackermann": 9.0}
"""Distance in m between the centres of the circles, by type of vehicle."""
_CONTROLLERS = {
    "differential": "<controller class='twist_pid'><KP>10</KP><KI>2</KI></controller>",
    "ackermann": "<controller class='twist_front_steer_pid'><KP>100</KP><KI>20</KI></controller>",
}


def crowd(kind: str, count: int, *, grid: bool = False, extra: str = "") -> World:
    """World of `count` robots that drive neighbouring circles; some meet their neighbours.

    Args:
        kind: type of the vehicles, "differential" or "ackermann".
        count: number of robots.
        grid: whether they are in a hall with pillars, drawn on an occupancy grid.
        extra: further elements of each vehicle in a world file, such as a sensor.
    """
    rng = np.random.default_rng(SEED)
    pitch, side = PITCH[kind], ceil(sqrt(count))
    radius = pitch * rng.uniform(0.2, 0.46, count)
    turn = rng.choice([-1.0, 1.0], count)
    v = rng.uniform(0.3, 1.0, count)
    heading = rng.uniform(-np.pi, np.pi, count)
    # The centre of the circle is on the left of a robot that turns left.
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
    """The scene in a square hall with a round pillar between every four circles."""
    cells = round((side + 1.0) * pitch / CELL)
    # Distance from the nearest pillar, half a pitch from the circles; the walls are a whole one.
    along = np.abs(((np.arange(cells) + 0.5) * CELL / pitch) % 1.0 - 0.5) * pitch
    occupied = np.hypot(along[None, :], along[:, None]) < 0.1 * pitch
    for edge in (0, -1):
        occupied[edge, :] = occupied[:, edge] = True
    drawn = OccupancyGrid(Grid(occupied, CELL, (-pitch, -pitch, 0.0)))
    return replace(scene, elements=(*scene.elements, drawn))


UPSTREAM = {
    "world.differential1": 1216.0,
    "world.differential100": 14.5,
    "world.differential100.grid": 0.28,
    "world.differential100.lidar": 2.5,
}
"""Real-time factors of the upstream program with steps of 5 ms on one thread, measured once on
a similar machine."""
VEHICLES = (1, 100, 1000)
MANY = 100
SETTLING = 5.0
"""Time before the measured interval, in s."""

LIDAR = (
    "<sensor class='laser' name='scan'><sensor_period>0.1</sensor_period>"
    "<fov_degrees>360</fov_degrees><nrays>360</nrays><max_range>20</max_range></sensor>"
)
"""World-file element of a lidar with 360 rays at 10 Hz."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Worlds of single robots, crowds, crowds between pillars and with lidars; and cars."""
    for count in VEHICLES:
        yield _entry(f"world.differential{count}", crowd("differential", count), budget)
    name = f"world.differential{MANY}"
    yield _entry(f"{name}.grid", crowd("differential", MANY, grid=True), budget)
    yield _entry(f"{name}.lidar", crowd("differential", MANY, extra=LIDAR), budget)
    yield _entry(f"world.ackermann{MANY}", crowd("ackermann", MANY), budget)


def _entry(name: str, world: World, budget: Budget) -> Entry:
    """Speed of the world, compared with the same robots in one Simulator each, without contacts."""
    steps, count = budget.rk4_steps, len(world.vehicles)
    world.run(SETTLING)
    start = world.snapshot()

    def own() -> None:
        world.restore(start)
        for _ in range(steps):
            world.step()

    peer, peer_steps = _one_by_one(world, budget)
    own_times, peer_times = interleaved([own, peer], budget.repeats)
    # Mean number of contacts per step of the measured interval
    world.restore(start)
    contacts = 0
    for _ in range(steps):
        world.step()
        contacts += len(world.contacts)
    touching = contacts / steps
    fast = best_rate(steps * world.dt, own_times)
    details: dict[str, Any] = {
        "vehicles": count,
        "dt": world.dt,
        "seconds_per_vehicle_step": world.dt / fast.value / count,
        "mean_contacts": touching,
    }
    if name in UPSTREAM:
        details["upstream"] = UPSTREAM[name]
    peers: dict[str, Measured] = {"simulators": best_rate(peer_steps * world.dt, peer_times)}
    return Entry(name, REAL_TIME, fast, peers, {}, details)


def _one_by_one(world: World, budget: Budget) -> tuple[Callable[[], None], int]:
    """Function that steps every robot individually from Python, and its number of steps."""
    robots: list[tuple[Simulator, Any]] = []
    for vehicle in world.vehicles.values():
        alone = Simulator(vehicle.built.vehicle, world.dt)
        alone.reset(vehicle.state)
        robots.append((alone, vehicle.input))

    def turn() -> None:
        for alone, command in robots:
            alone.step(command)

    turn()
    steps = max(int(budget.peer_seconds / seconds(turn)), 1)

    def drive() -> None:
        for _ in range(steps):
            turn()

    return drive, steps
