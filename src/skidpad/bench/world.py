"""The groups `world` and `lidar`: worlds of robots compared with real time, and exact rays.

Both run on one thread, rays also on a GPU if there is one. `crowd` builds the worlds, which are
identical for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..errors import MissingExtra
from ..geometry.maps.map import Map
from ..geometry.maps.occupancy import Grid
from ..geometry.raycast.scene import Scene as RayScene
from ..run.simulator import Simulator
from ..sensors.lidar import Lidar, outlines
from ..units import m, s
from ..world.scene import OccupancyGrid, Scene
from ..world.world import World
from ..world.xml.reader import loads
from . import peers
from .timing import RATE, REAL_TIME, Budget, Entry, Measured, best_rate, interleaved, seconds
from .work import RESOLUTION, Device, Scenery, clutter, corridor, on_host

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
    """Add a square hall to the scene, with a round pillar between every four circles."""
    cells = round((side + 1.0) * pitch / CELL)
    # Pillars stand half a pitch from the circles, the walls a whole pitch.
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

    # The peer steps every robot individually from Python.
    robots: list[tuple[Simulator, Any]] = []
    for vehicle in world.vehicles.values():
        alone = Simulator(vehicle.built.vehicle, world.dt)
        alone.reset(vehicle.state)
        robots.append((alone, vehicle.input))

    def turn() -> None:
        for alone, command in robots:
            alone.step(command)

    turn()
    lone_steps = max(int(budget.peer_seconds / seconds(turn)), 1)

    def drive() -> None:
        for _ in range(lone_steps):
            turn()

    own_times, peer_times = interleaved([own, drive], budget.repeats)
    # The contacts of the measured interval are counted in a second run.
    world.restore(start)
    contacts = 0
    for _ in range(steps):
        world.step()
        contacts += len(world.contacts)
    fast = best_rate(steps * world.dt, own_times)
    details: dict[str, Any] = {
        "vehicles": count,
        "dt": world.dt,
        "seconds_per_vehicle_step": world.dt / fast.value / count,
        "mean_contacts": contacts / steps,
    }
    if name in UPSTREAM:
        details["upstream"] = UPSTREAM[name]
    peers: dict[str, Measured] = {"simulators": best_rate(lone_steps * world.dt, peer_times)}
    return Entry(name, REAL_TIME, fast, peers, {}, details)


FULL_TURN = Lidar(rays=1080)
"""Lidar that covers a full turn, without errors."""
CAR = np.array([[-0.25, -0.16], [0.25, -0.16], [0.25, 0.16], [-0.25, 0.16]])
"""Outline of the other cars in m, as large as the truck's."""
OPPONENTS = 20
RAYS_PER_RUN = 400_000
"""Number of rays in a timed run of skidpad; slow peers cast fewer."""
CUDA_LIDARS = 4096
CHECKED = 8
"""Number of poses whose ranges are compared with the exact ones, ray by ray."""


def lidar_entries(budget: Budget) -> Iterator[Entry]:
    """Rooms with clutter of three densities, a grid map, a room with other cars; also on a GPU."""
    poses = max(RAYS_PER_RUN // FULL_TURN.rays, CHECKED)
    sceneries = {n: clutter(n, poses) for n in (100, 1000, 10_000)}
    for segments, scenery in sceneries.items():
        yield _segments_entry(f"lidar.segments{segments}", scenery, budget)
    grid = corridor(poses)
    yield _grid_entry(grid, budget)
    scenery = sceneries[1000]
    # Scans with other cars in the room, compared with the same scans without them
    rng = np.random.default_rng(7)
    cars = np.column_stack(
        [rng.uniform(1.0, 49.0, (OPPONENTS, 2)), rng.uniform(-np.pi, np.pi, OPPONENTS)]
    )
    movers = outlines([CAR] * OPPONENTS, cars)
    scene = RayScene.of(scenery.map)
    out = np.empty((len(scenery.poses), FULL_TURN.rays))
    scan = partial(scene.scan, scenery.poses, FULL_TURN.angles, out, threads=1)
    both = np.concatenate([scenery.map.segments, movers])
    reference = _by_all_segments(both, scenery.poses[:CHECKED])
    error = _error(scan(movers=movers)[:CHECKED], reference)
    with_cars, without = interleaved([partial(scan, movers=movers), scan], 5 * budget.repeats)
    own = best_rate(out.size, with_cars)._replace(error=error)
    empty = best_rate(out.size, without)
    details = {"cars": OPPONENTS, "times_the_empty_world": empty.value / own.value}
    yield Entry("lidar.opponents20", RATE, own, {"empty_world": empty}, {}, details)
    yield from _cuda_entries(budget)


def _segments_entry(name: str, scenery: Scenery, budget: Budget) -> Entry:
    segments = np.ascontiguousarray(scenery.map.segments)
    reference = _by_all_segments(segments, scenery.poses[:CHECKED])
    few = scenery.poses[: max(len(scenery.poses) // max(len(segments) // 100, 1), CHECKED)]
    room = np.empty((len(few), FULL_TURN.rays))
    sweep = partial(peers.sweep_scan, segments, few, FULL_TURN.angles, room)
    peer = _rate(sweep, room.size, budget, lambda: _error(sweep()[:CHECKED], reference))
    own, details = _own(scenery, reference, budget)
    return Entry(name, RATE, own, {"truck_sweep": peer}, {}, details)


def _grid_entry(scenery: Scenery, budget: Budget) -> Entry:
    grid = scenery.map.grid
    assert grid is not None
    reference = np.array(
        [
            [_walk(grid.occupied, x, y, angle) for angle in yaw + FULL_TURN.angles]
            for x, y, yaw in scenery.poses[:CHECKED]
        ]
    )
    field = peers.march_field(grid.occupied, RESOLUTION)
    room = np.empty((len(scenery.poses), FULL_TURN.rays))
    march = partial(peers.march_scan, field, RESOLUTION, scenery.poses, FULL_TURN.angles, room)
    peer = _rate(march, room.size, budget, lambda: _error(march()[:CHECKED], reference))
    own, details = _own(scenery, reference, budget)
    return Entry("lidar.grid1600", RATE, own, {"numba_march": peer}, {}, details)


def _own(scenery: Scenery, reference: Array, budget: Budget) -> tuple[Measured, dict[str, Any]]:
    scene = RayScene.of(scenery.map)
    out = np.empty((len(scenery.poses), FULL_TURN.rays))
    scan = partial(scene.scan, scenery.poses, FULL_TURN.angles, out, threads=1)
    error = _error(scan()[:CHECKED], reference)
    (times,) = interleaved([scan], 5 * budget.repeats)
    details = {
        "engine": scene.engine,
        "rays": FULL_TURN.rays,
        "poses": len(scenery.poses),
        "mean_range": float(out[np.isfinite(out)].mean()),
    }
    return best_rate(out.size, times)._replace(error=error), details


def _rate(
    action: Callable[[], Any], amount: int, budget: Budget, error: Callable[[], float]
) -> Measured:
    action()
    (times,) = interleaved([action], budget.repeats)
    return best_rate(amount, times)._replace(error=error())


def _error(ranges: Array, reference: Array) -> float:
    """Largest difference between ranges in m; if only one of the two is finite, it counts as the
    difference.
    """
    both = np.isfinite(ranges) & np.isfinite(reference)
    apart = np.where(np.isfinite(ranges), ranges, reference)[
        np.isfinite(ranges) != np.isfinite(reference)
    ]
    return float(max(np.abs(ranges - reference)[both].max(), apart.max(initial=0.0)))


def _by_all_segments(segments: Array, poses: Array) -> Array:
    """Ranges by intersecting every ray with every segment."""
    a, b = segments[:, :2], segments[:, 2:]
    out = np.empty((len(poses), FULL_TURN.rays))
    for k, (x, y, yaw) in enumerate(poses):
        angle = yaw + FULL_TURN.angles
        d = np.stack([np.cos(angle), np.sin(angle)])
        p, e = a - (x, y), b - a
        cross = d[0][:, None] * e[:, 1] - d[1][:, None] * e[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (p[:, 0] * e[:, 1] - p[:, 1] * e[:, 0]) / cross
            u = (p[:, 0] * d[1][:, None] - p[:, 1] * d[0][:, None]) / cross
        hit = (t >= 0.0) & (u >= -1e-12) & (u <= 1.0 + 1e-12)
        out[k] = np.where(hit, t, np.inf).min(axis=1)
    return out


def _walk(occupied: NDArray[np.bool_], x: float, y: float, angle: float) -> float:
    """Range of a ray by walking from cell border to cell border."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    rows, columns = occupied.shape
    i, j = int(y // RESOLUTION), int(x // RESOLUTION)
    t = 0.0
    while 0 <= i < rows and 0 <= j < columns:
        if occupied[i, j]:
            return t
        next_x = ((j + (c > 0)) * RESOLUTION - x) / c if c else np.inf
        next_y = ((i + (s > 0)) * RESOLUTION - y) / s if s else np.inf
        t = min(next_x, next_y)
        if next_x <= next_y:
            j += 1 if c > 0 else -1
        else:
            i += 1 if s > 0 else -1
    return np.inf


def _cuda_entries(budget: Budget) -> Iterator[Entry]:
    try:
        device = Device.of("cuda")
    except MissingExtra:
        return
    for name, scenery in (
        ("lidar.cuda.segments1000", clutter(1000, CUDA_LIDARS)),
        ("lidar.cuda.grid1600", corridor(CUDA_LIDARS)),
    ):
        from ..geometry.raycast.cuda import CudaScene

        scene: Map = scenery.map
        there = CudaScene.of(scene)
        poses = device.xp.asarray(scenery.poses)
        ranges: dict[str, Any] = {}
        rates: dict[str, Measured] = {}
        for precision in ("float64", "float32"):
            out = device.xp.empty((len(scenery.poses), FULL_TURN.rays), precision)
            scan = device.finished(partial(there.scan, poses, FULL_TURN.angles, out))
            scan()
            (times,) = interleaved([scan], 5 * budget.repeats)
            rates[precision] = best_rate(out.size, times)
            ranges[precision] = on_host(out[:64])
        on_cpu = RayScene.of(scene).scan(scenery.poses[:64], FULL_TURN.angles)
        details = {
            "lidars": len(scenery.poses),
            "rays": FULL_TURN.rays,
            "same_bits_as_cpu": ranges["float64"].tobytes() == on_cpu.tobytes(),
            "float32": rates["float32"].value,
        }
        yield Entry(name, RATE, rates["float64"], {}, {}, details)
