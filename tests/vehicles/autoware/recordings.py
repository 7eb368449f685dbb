"""Runs of upstream's program, replayed through the models on plain floats."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import skidpad as sp

DATA = Path(__file__).parents[2] / "data" / "autoware"
NAMES = {
    "vel": "velocity",
    "acc": "acceleration",
    "acc_combined": "acceleration",
    "slope_acc": "slope",
}
"""Input fields by the names of the recordings, where they differ."""
STATE = ("x", "y", "yaw", "v_x", "steer", "a_x", "pedal")


def files(pattern: str = "*") -> list[str]:
    """Names of the recordings of models that compile."""
    stems = sorted(path.stem for path in DATA.glob(f"{pattern}.npz"))
    return [stem for stem in stems if not stem.startswith("LEARNED")]


@dataclass(frozen=True)
class Recording:
    """One file."""

    name: str

    @cached_property
    def arrays(self) -> dict[str, Any]:
        with np.load(DATA / f"{self.name}.npz") as file:
            return dict(file)

    @cached_property
    def meta(self) -> dict[str, Any]:
        return json.loads(str(self.arrays["meta"]))

    @cached_property
    def params(self) -> dict[str, Any]:
        """Upstream's parameters, with the paths of maps as they are here."""
        given = self.meta["params"]
        return {
            key: str(DATA / "maps" / value) if key.endswith("_map_path") else value
            for key, value in given.items()
        }

    def vehicle(self, compat: str | None = "upstream", **values: Any) -> sp.Vehicle:
        return sp.vehicles.autoware(self.meta["model"], self.params, compat=compat, **values)

    def inputs(self, vehicle: sp.Vehicle) -> list[Any]:
        """What acts in each update: commands are late by whole updates, zeros come first."""
        columns = {NAMES.get(n, n): self.arrays["u"][:, i] for i, n in enumerate(self._columns)}
        for field, parameter in vehicle.model.dead_times.items():
            delay = getattr(vehicle.params, parameter) / self.meta["params"]["queue_dt"]
            late = np.concatenate([np.zeros(math.floor(delay + 0.5)), columns[field]])
            columns[field] = late[: len(columns[field])]
        columns["gear"] = self.arrays["gear"]
        table = np.column_stack([columns[name] for name in vehicle.Input._fields])
        return [vehicle.Input(*row) for row in table.tolist()]

    @property
    def _columns(self) -> list[str]:
        return self.meta["u_names"]

    def start(self, vehicle: sp.Vehicle) -> Any:
        """The initial state; IDEAL_STEER_VEL has no velocity to set."""
        return vehicle.State(**dict(zip(STATE, self.meta["initial_state"], strict=False)))

    def states(self, vehicle: sp.Vehicle) -> list[Any]:
        """The state at the start and after each update."""
        states = [self.start(vehicle)]
        lengths = self.arrays["dt"].tolist()
        for u, dt in zip(self.inputs(vehicle), lengths, strict=True):
            states.append(updated(vehicle, states[-1], u, dt))
        return states

    def reports(self, vehicle: sp.Vehicle, states: list[Any]) -> np.ndarray:
        """The columns of `out` for these states."""
        acting = [vehicle.Input(), *self.inputs(vehicle)]
        rows = [(*x[:3], *vehicle.outputs(x, u)) for x, u in zip(states, acting, strict=True)]
        return np.array(rows, dtype=float)


def updated(vehicle: sp.Vehicle, x: Any, u: Any, dt: float) -> Any:
    """The state after one update, called on floats."""
    update = vehicle.model.update
    assert update is not None
    return update(x, u, vehicle.model.Disturbance(), vehicle.params, dt)


def error(got: np.ndarray, want: np.ndarray) -> float:
    """Largest difference, relative to the value or, if that is more, the scale of its column."""
    scale = np.maximum(np.abs(want), np.abs(want).max(axis=0))
    return float((np.abs(got - want) / np.where(scale > 0.0, scale, 1.0)).max())
