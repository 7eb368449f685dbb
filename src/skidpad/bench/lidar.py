"""The group `lidar`: exact rays per second, on one thread and, if there is one, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..errors import MissingExtra
from ..geometry.maps.map import Map
from ..geometry.raycast.scene import Scene
from ..sensors.lidar import Lidar, outlines
from . import peers
from .device import Device, on_host
from .timing import RATE, Budget, Entry, Measured, best_rate, interleaved
from .work import RESOLUTION, Scenery, clutter, corridor

LIDAR = Lidar(rays=1080)
"""Lidar that covers a full turn, without errors."""
CAR = np.array([[-0.25, -0.16], [0.25, -0.16], [0.25, 0.16], [-0.25, 0.16]])
"""Outline of the other cars in m, as large as the truck's."""
OPPONENTS = 20
RAYS_PER_RUN = 400_000
"""Number of rays in a timed run of skidpad; slow peers cast fewer."""
CUDA_LIDARS = 4096
CHECKED = 8
"""Number of poses whose ranges are compared with the exact ones, ray by ray."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Rooms with clutter of three densities, a grid map, a room with other cars; also on a GPU."""
    poses = max(RAYS_PER_RUN // LIDAR.rays, CHECKED)
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
    scene = Scene.of(scenery.map)
    out = np.empty((len(scenery.poses), LIDAR.rays))
    scan = partial(scene.scan, scenery.poses, LIDAR.angles, out, threads=1)
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
    room = np.empty((len(few), LIDAR.rays))
    sweep = partial(peers.sweep_scan, segments, few, LIDAR.angles, room)
    peer = _rate(sweep, room.size, budget, lambda: _error(sweep()[:CHECKED], reference))
    own, details = _own(scenery, reference, budget)
    return Entry(name, RATE, own, {"truck_sweep": peer}, {}, details)


def _grid_entry(scenery: Scenery, budget: Budget) -> Entry:
    grid = scenery.map.grid
    assert grid is not None
    reference = np.array(
        [
            [_walk(grid.occupied, x, y, angle) for angle in yaw + LIDAR.angles]
            for x, y, yaw in scenery.poses[:CHECKED]
        ]
    )
    field = peers.march_field(grid.occupied, RESOLUTION)
    room = np.empty((len(scenery.poses), LIDAR.rays))
    march = partial(peers.march_scan, field, RESOLUTION, scenery.poses, LIDAR.angles, room)
    peer = _rate(march, room.size, budget, lambda: _error(march()[:CHECKED], reference))
    own, details = _own(scenery, reference, budget)
    return Entry("lidar.grid1600", RATE, own, {"numba_march": peer}, {}, details)


def _own(scenery: Scenery, reference: Array, budget: Budget) -> tuple[Measured, dict[str, Any]]:
    scene = Scene.of(scenery.map)
    out = np.empty((len(scenery.poses), LIDAR.rays))
    scan = partial(scene.scan, scenery.poses, LIDAR.angles, out, threads=1)
    error = _error(scan()[:CHECKED], reference)
    (times,) = interleaved([scan], 5 * budget.repeats)
    details = {
        "engine": scene.engine,
        "rays": LIDAR.rays,
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
    """Largest difference in m; a ray with only one finite range counts with that range."""
    both = np.isfinite(ranges) & np.isfinite(reference)
    apart = np.where(np.isfinite(ranges), ranges, reference)[
        np.isfinite(ranges) != np.isfinite(reference)
    ]
    return float(max(np.abs(ranges - reference)[both].max(), apart.max(initial=0.0)))


def _by_all_segments(segments: Array, poses: Array) -> Array:
    """Ranges by intersecting every ray with every segment."""
    a, b = segments[:, :2], segments[:, 2:]
    out = np.empty((len(poses), LIDAR.rays))
    for k, (x, y, yaw) in enumerate(poses):
        angle = yaw + LIDAR.angles
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
            out = device.xp.empty((len(scenery.poses), LIDAR.rays), precision)
            scan = device.finished(partial(there.scan, poses, LIDAR.angles, out))
            scan()
            (times,) = interleaved([scan], 5 * budget.repeats)
            rates[precision] = best_rate(out.size, times)
            ranges[precision] = on_host(out[:64])
        on_cpu = Scene.of(scene).scan(scenery.poses[:64], LIDAR.angles)
        details = {
            "lidars": len(scenery.poses),
            "rays": LIDAR.rays,
            "same_bits_as_cpu": ranges["float64"].tobytes() == on_cpu.tobytes(),
            "float32": rates["float32"].value,
        }
        yield Entry(name, RATE, rates["float64"], {}, {}, details)
