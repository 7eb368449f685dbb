"""A control period as f1tenth_gym makes it, for many cars: one after the other, compiled by Numba.

Per car: a proportional controller, the single-track model of CommonRoad with RK4 at 10 ms, a scan
of 1080 rays by marching over the distance field of an occupancy grid with directions from a table
of 2000 angles, and the time to collision along every ray. f1tenth_gym calls these from Python, one
car at a time, and adds noise; here one compiled loop does all of it, on as many threads as ours.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.threads import spread
from ...geometry.raycast.scene import Scene
from .numpy import ANGLES, CLOSE, march_field

RESOLUTION = 0.05
"""Edge of a cell in m, as of f1tenth_gym's maps."""
DT = 0.01
SOON = 0.005
"""Time to collision in s below which a car has crashed."""
HALF_LENGTH, HALF_WIDTH = 0.29, 0.155
"""Of the car, in m."""


class MarchedRace:
    """Cars on the track of a task.

    Args:
        task: a race on one track, with a lidar.
        count: how many cars.
    """

    def __init__(self, task: Any, count: int) -> None:
        (track,) = task.tracks
        grid = track.map.rasterised(RESOLUTION, margin=1.0)
        self.cells, self.resolution = grid.occupied.size, RESOLUTION
        self._field = march_field(grid.occupied, RESOLUTION)
        self._origin = np.array(grid.origin[:2])
        self._angles, self._range = task.lidar.angles, task.lidar.range
        self._scene = Scene.of(track.map)
        turns = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
        self._table = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        with np.errstate(divide="ignore"):
            ahead, beside = np.abs(np.cos(self._angles)), np.abs(np.sin(self._angles))
            self._side = np.minimum(HALF_LENGTH / ahead, HALF_WIDTH / beside)
        rng = np.random.default_rng(5)
        at = track.line.at(track.length * rng.uniform(size=count))
        self._starts = np.zeros((count, 7))
        self._starts[:, 0], self._starts[:, 1], self._starts[:, 4] = at.x, at.y, at.heading
        self._starts[:, 3] = rng.uniform(1.0, 8.0, count)
        self.states = self._starts.copy()
        """x, y, steering angle, v, yaw, yaw rate, sideslip angle of each car, (B, 7)."""
        self._actions = rng.uniform(-1.0, 1.0, (count, 2)) * [0.4, 8.0]
        self.ranges = np.zeros((count, len(self._angles)))
        """What the last step saw, in m, (B, rays)."""
        self._seen_from = np.zeros((count, 3))
        self._marches = np.zeros(count, np.int64)

    def step(self, threads: int) -> None:
        """One control period of all cars."""
        kernel = _kernel()

        def part(begin: int, end: int) -> None:
            some = slice(begin, end)
            kernel(
                self.states[some], self._actions[some], self._starts[some], self._field,
                self._origin, RESOLUTION, self._angles, np.cos(self._angles), self._table,
                self._side, self._range, self.ranges[some], self._seen_from[some],
                self._marches[some],
            )  # fmt: skip

        spread(part, len(self.states), worth=threads, threads=threads)

    def error(self) -> float:
        """Mean difference in m of the last ranges from the exact ones."""
        exact = self._scene.scan(self._seen_from, self._angles, max_range=self._range)
        return float(np.abs(self.ranges - np.minimum(exact, self._range)).mean())

    def mean_marches(self) -> float:
        """Steps along a ray."""
        return float(self._marches.mean() / len(self._angles))


@cache
def _kernel() -> Any:
    from numba import njit

    @njit(nogil=True, cache=True)
    def derivative(x: Array, sv: float, a: float, out: Array) -> None:
        # Single-track model of CommonRoad, with the parameters of f1tenth_gym.
        mu, c_f, c_r, l_f, l_r = 1.0489, 4.718, 5.4562, 0.15875, 0.17145
        h, m, inertia, g = 0.074, 3.74, 0.04712, 9.81
        delta, v, psi, omega, beta = x[2], x[3], x[4], x[5], x[6]
        both = l_f + l_r
        out[2], out[3] = sv, a
        if abs(v) < 0.5:
            out[0], out[1] = v * np.cos(psi), v * np.sin(psi)
            out[4] = v / both * np.tan(delta)
            out[5] = a / both * np.tan(delta) + v / (both * np.cos(delta) ** 2) * sv
            out[6] = 0.0
            return
        front, rear = c_f * (g * l_r - a * h), c_r * (g * l_f + a * h)
        out[0], out[1] = v * np.cos(psi + beta), v * np.sin(psi + beta)
        out[4] = omega
        per = mu * m / (inertia * both)
        out[5] = (
            -per / v * (l_f * l_f * front + l_r * l_r * rear) * omega
            + per * (l_r * rear - l_f * front) * beta
            + per * l_f * front * delta
        )
        out[6] = (
            (mu / (v * v * both) * (rear * l_r - front * l_f) - 1.0) * omega
            - mu / (v * both) * (rear + front) * beta
            + mu / (v * both) * front * delta
        )

    @njit(nogil=True, cache=True)
    def rk4(x: Array, sv: float, a: float, k: Array) -> None:
        derivative(x, sv, a, k[0])
        k[4] = x + 0.5 * DT * k[0]
        derivative(k[4], sv, a, k[1])
        k[4] = x + 0.5 * DT * k[1]
        derivative(k[4], sv, a, k[2])
        k[4] = x + DT * k[2]
        derivative(k[4], sv, a, k[3])
        x += DT / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])

    @njit(nogil=True, cache=True)
    def step(
        states: Array,
        actions: Array,
        starts: Array,
        field: Array,
        origin: Array,
        resolution: float,
        angles: Array,
        cosines: Array,
        table: Array,
        side: Array,
        limit: float,
        ranges: Array,
        seen_from: Array,
        marches: Array,
    ) -> None:
        rows, columns = field.shape
        n = table.shape[0]
        work = np.empty((5, 7))
        for b in range(states.shape[0]):
            x = states[b]
            wrong = actions[b, 0] - x[2]
            sv = np.sign(wrong) * 3.2 if abs(wrong) > 1e-4 else 0.0
            a = min(max(2.0 * (actions[b, 1] - x[3]), -9.51), 9.51)
            rk4(x, sv, a, work)
            x[2] = min(max(x[2], -0.4189), 0.4189)
            seen_from[b, 0], seen_from[b, 1], seen_from[b, 2] = x[0], x[1], x[4]
            crashed, marched = False, 0
            for ray in range(angles.size):
                index = int(np.floor((x[4] + angles[ray]) / (2.0 * np.pi) * n)) % n
                c, s = table[index, 0], table[index, 1]
                at_x, at_y, total = x[0] - origin[0], x[1] - origin[1], 0.0
                while total <= limit:
                    i, j = int(at_y / resolution), int(at_x / resolution)
                    if i < 0 or j < 0 or i >= rows or j >= columns:
                        total = limit
                        break
                    d = field[i, j]
                    if d <= CLOSE:
                        break
                    at_x += d * c
                    at_y += d * s
                    total += d
                    marched += 1
                ranges[b, ray] = min(total, limit)
                closing = x[3] * cosines[ray]
                if closing != 0.0:
                    time = (ranges[b, ray] - side[ray]) / closing
                    crashed |= 0.0 <= time < SOON
            marches[b] = marched
            if crashed:
                states[b] = starts[b]

    return step
