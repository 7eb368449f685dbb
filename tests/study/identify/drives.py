"""Simulated drives: what a car with known parameters would have logged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.study.identify import fit
from skidpad.study.identify.fitting import Fit
from skidpad.study.logs import Log
from skidpad.study.logs.log import Channel
from skidpad.vehicles.command_driven import autoware

MODEL = "DELAY_STEER_ACC_GEARED"
BASE = {"wheel_base": 2.79}
DT = 0.025
TRUTH = {
    "acc_time_delay": 0.2,
    "acc_time_constant": 0.25,
    "steer_time_delay": 0.15,
    "steer_time_constant": 0.18,
    "steer_bias": 0.008,
    "debug_acc_scaling_factor": 0.9,
    "debug_steer_scaling_factor": 1.05,
}
NOISE = {
    "x": 0.03,
    "y": 0.03,
    "yaw": 0.002,
    "v_x": 0.03,
    "a_x": 0.05,
    "omega": 0.005,
    "steer": 0.002,
}
"""Standard deviations in SI units."""
AMPLITUDES = {"acceleration": 1.0, "steer": 0.12}


def commands(rng: np.random.Generator, steps: int, amplitudes: Mapping[str, float]) -> np.ndarray:
    """Random plateaus of half a second to two seconds, in DRIVE."""
    table = np.zeros((steps, 3))
    table[:, 2] = 2.0
    for column, name in enumerate(("acceleration", "steer")):
        begin = 0
        while begin < steps:
            end = begin + int(rng.integers(20, 80))
            table[begin:end, column] = rng.uniform(-1.0, 1.0) * amplitudes[name]
            begin = end
    return table


def drive(
    seed: int = 0,
    steps: int = 600,
    params: Mapping[str, Any] = TRUTH,
    amplitudes: Mapping[str, float] = AMPLITUDES,
    dt: float = DT,
) -> sp.Trajectory:
    """A run without noise, as the simulator records it."""
    simulator = sp.Simulator(autoware(MODEL, {**BASE, **params}), dt)
    simulator.reset(v_x=8.0)
    return simulator.run(commands(np.random.default_rng(seed), steps, amplitudes))


def noisy(run: sp.Trajectory, seed: int = 0, scale: float = 1.0) -> dict[str, np.ndarray]:
    """What sensors would have logged of a run: columns with white noise, and the commands."""
    rng = np.random.default_rng(1000 + seed)
    columns = {"t": run.t}
    for name, sigma in NOISE.items():
        source = f"out_{name}" if f"out_{name}" in run else name
        columns[name] = run[source] + scale * sigma * rng.normal(size=len(run))
    return columns | {name: run[name] for name in run.names if name.startswith("u_")}


def log_of(columns: Mapping[str, np.ndarray], name: str = "drive") -> Log:
    rest = {k: Channel(columns["t"], v) for k, v in columns.items() if k != "t"}
    return Log(name, rest)


def fit_of(log: Any, params: Mapping[str, Any] = BASE, **options: Any) -> Fit:
    """A fit of all of a short log, from one start."""
    return fit(MODEL, log, params=params, **{"hold_out": 0.0, "starts": 1, **options})
