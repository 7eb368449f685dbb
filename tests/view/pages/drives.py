"""Cars for the tests of pages that drive, and what is done with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.core import record
from skidpad.core.model import Vehicle
from skidpad.run.trajectory import Trajectory

LARGEST = 3_000_000
"""Bytes of a page that people mail to each other."""
STEPS = 40

RECORDED = """(rows) => {
  const { world } = skidpad;
  world.send({ type: "pause" });
  world.reset();
  world.send({ type: "record", on: true });
  const made = rows.map((row) => world.stepWith(Float64Array.from(row)));
  world.send({ type: "record", on: false });
  return { made, csv: world.log.csv(world.head.vehicle.heads) };
}"""
"""Steps with rows of inputs from the start on, and what was recorded of them."""


def late() -> Vehicle:
    """A vehicle with dead times in its inputs."""
    delays = {"acc_time_delay": 0.1, "steer_time_delay": 0.24, "wheel_base": 2.79}
    return sp.vehicles.autoware("DELAY_STEER_ACC", delays)


CARS: dict[str, Callable[[], Vehicle]] = {
    "explicit": lambda: sp.vehicles.single_track(),
    "implicit": lambda: sp.vehicles.kinematic_bicycle(),
    "late": late,
}
"""By what is special about their steps; the implicit one also settles its start."""


class Address:
    """A page on disk whose address asks for one of its modules."""

    def __init__(self, path: Path, module: str) -> None:
        self._path, self._module = path, module

    def as_uri(self) -> str:
        return f"{self._path.as_uri()}#{self._module}"


def inputs_of(vehicle: Vehicle, steps: int = STEPS) -> list[list[float]]:
    """Rows of inputs within the limits, another one for each step."""
    draws, ranges = np.random.default_rng(7), vehicle.limits.inputs
    columns: list[Any] = []
    for leaf in record.fields(vehicle.Input):
        low, high = np.clip(ranges.get(leaf.name, (-1.0, 1.0)), -0.3, 0.3).tolist()
        if leaf.allowed is not None:
            low = max(low, leaf.allowed.low)
        columns.append(draws.uniform(low, high, steps))
    return np.column_stack(columns).tolist()


def table(run: Trajectory) -> np.ndarray[Any, Any]:
    return np.column_stack([run.t, *(column.values for column in run.columns)])
