"""Logs of a simulated drive whose truth is known, to which tests add faults."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.core.arrays import Array
from skidpad.study.logs.log import Channel, Log

NAMES = ("x", "y", "yaw", "v_x", "v_y", "omega", "a_x", "a_y", "steer")
NOISE = {
    **dict.fromkeys(("x", "y"), 0.01),
    **dict.fromkeys(("v_x", "v_y"), 0.03),
    **dict.fromkeys(("a_x", "a_y"), 0.1),
    **{"yaw": 0.002, "omega": 0.005, "steer": 5e-4},
}
"""Standard deviations of the noise of sensors, in SI units."""


@cache
def truth() -> dict[str, Array]:
    """60 s of a car that is steered, accelerated and braked by sums of slow sines, at 100 Hz."""
    simulator = sp.Simulator(sp.vehicles.single_track(), 0.01)
    simulator.reset(v_x=18.0)
    rng = np.random.default_rng(0)
    tones = [
        (rng.uniform(0.05, top, n), rng.uniform(0.0, 6.28, n)) for top, n in ((0.8, 8), (0.3, 5))
    ]

    def controls(t: float, state: Any) -> dict[str, float]:
        turn, push = (np.sin(2.0 * np.pi * f * t + phase).sum() for f, phase in tones)
        return {"steer": 0.015 * turn, "F_drive": 1200.0 * push + 650.0 * (18.0 - state.v_x)}

    run = simulator.run(controls, duration=60.0)
    return {"t": run.t, **{name: np.asarray(run[name]) for name in NAMES}}


def noisy(*, without: tuple[str, ...] = (), seed: int = 1, **changed: Array) -> dict[str, Array]:
    """The columns of the drive as sensors would log them, without some and with others changed."""
    rng = np.random.default_rng(seed)
    columns = {**truth(), **changed}
    return {
        name: values + NOISE.get(name, 0.0) * rng.normal(size=len(values))
        for name, values in columns.items()
        if name not in without
    }


def log_of(columns: dict[str, Array], t: Array | None = None) -> Log:
    """A log whose channels share one time base."""
    t = columns["t"] if t is None else t
    return Log("drive", {name: Channel(t, v) for name, v in columns.items() if name != "t"})
