"""Films to measure the page with: a crowd with lidars, and ten minutes of one car."""

from __future__ import annotations

from math import ceil, pi, sqrt

import numpy as np

from ..run.simulator import Simulator
from ..stage import Body, Channel, Scan, Stage, Wheel
from ..stage.film import Film, ScanAt
from ..stage.trajectory_stage import trajectory_stage
from ..vehicles import formula_student
from .work import SEED

FIELDS = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "omega": "rad/s", "steer": "rad"}
OUTLINE = ((-2.2, -0.9), (1.6, -0.9), (2.2, -0.6), (2.2, 0.6), (1.6, 0.9), (-2.2, 0.9))
WHEELS = (("fl", 1.3, 0.75), ("fr", 1.3, -0.75), ("rl", -1.3, 0.75), ("rr", -1.3, -0.75))
PITCH, FPS, SCANS_PER_SECOND = 9.0, 30, 10


def crowd_film(cars: int = 1000, lidars: int = 20, rays: int = 360, duration: float = 10.0) -> Film:
    """Cars on circles side by side, some with a lidar whose scans change all the time."""
    rng = np.random.default_rng(SEED)
    t = np.arange(int(duration * FPS) + 1) / FPS
    names = [f"car{k:04}" for k in range(cars)]
    bodies = [_body(name, k * len(FIELDS)) for k, name in enumerate(names)]
    channels = [Channel(f, unit, name, "state") for name in names for f, unit in FIELDS.items()]
    rows = np.concatenate([_circling(k, cars, t, rng) for k in range(cars)], axis=1)
    owners = names[:: max(1, cars // lidars)][:lidars]
    step = 2.0 * pi / rays
    scans = [Scan("lidar", name, 0.5, 0.0, 0.0, -pi, step, rays, 30.0) for name in owners]
    stage = Stage(f"{cars} cars", tuple(channels), tuple(bodies), tuple(scans))
    return Film(stage, t, rows.astype(np.float32), _scans(lidars, rays, duration))


def _body(name: str, first: int) -> Body:
    places = {field: first + k for k, field in enumerate(FIELDS)}
    wheels = tuple(
        Wheel(w, x, y, 0.65, 0.22, steer=places["steer"] if x > 0.0 else None) for w, x, y in WHEELS
    )
    at = (places["x"], places["y"], places["yaw"])
    return Body(name, "vehicle", (OUTLINE,), *at, wheels, places, model="car")


def _circling(k: int, cars: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    side = ceil(sqrt(cars))
    radius, omega = rng.uniform(2.5, 6.0), rng.uniform(0.4, 1.5) * rng.choice([-1.0, 1.0])
    angle = rng.uniform(0.0, 2.0 * pi) + omega * t
    same = np.ones_like(t)
    columns = (
        PITCH * (k % side) + radius * np.cos(angle),
        PITCH * (k // side) + radius * np.sin(angle),
        angle + np.sign(omega) * pi / 2.0,
        abs(omega) * radius * same,
        omega * same,
        np.sign(omega) * np.arctan(2.6 / radius) * same,
    )
    return np.column_stack(columns)


def _scans(lidars: int, rays: int, duration: float) -> tuple[ScanAt, ...]:
    angles = np.arange(rays) * 2.0 * pi / rays
    return tuple(
        ScanAt(
            i, k / SCANS_PER_SECOND, (8.0 + 4.0 * np.sin(3.0 * angles + i + 0.1 * k)).astype("f4")
        )
        for k in range(int(duration * SCANS_PER_SECOND))
        for i in range(lidars)
    )


def long_film(minutes: float = 10.0) -> Film:
    """One car for minutes with all its states, inputs and outputs, a picture every 1/60 s."""
    car = formula_student(compat="0.1")
    simulator = Simulator(car, dt=1.0 / 60.0, substeps=17)
    simulator.reset(v_x=8.0)
    t = np.arange(round(60.0 * minutes * 60.0)) / 60.0
    noise = np.random.default_rng(SEED).normal(size=(len(t), 2))
    controls = np.zeros((len(t), 5))
    controls[:, 0] = 0.12 * np.sin(0.8 * t) + 0.002 * noise[:, 0]
    controls[:, 3] = controls[:, 4] = 70.0 + 20.0 * np.sin(0.3 * t) + noise[:, 1]
    run = simulator.run(controls)
    stage, times, rows = trajectory_stage({"car": run}, car, title="ten minutes")
    return Film(stage, times, rows.astype(np.float32))
