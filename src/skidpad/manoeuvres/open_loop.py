"""Drives of vehicles with dead time, which no driver in the loop can have: commands said before.

What the driver would ask of the vehicle as it starts is what it is told all along. A speed is then
held by those that are commanded one; others keep the one they have.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Wish
from ..model import Vehicle
from ..run.fleet import Fleet
from ..units import s
from .case import Case

__all__ = ["driven_open", "is_open"]


def is_open(vehicle: Vehicle) -> bool:
    """Whether a vehicle has to be driven so."""
    return bool(vehicle.model.dead_times)


def driven_open(
    fleet: Fleet, case: Case, t: Array, start: Array, p: Any, every: int
) -> tuple[Array, Array, type]:
    """States (T, V, nx), and outputs (T, V, ...) with the record that names them; `p` has
    parameters that are numbers or (V,)."""
    vehicle = fleet.vehicle
    u = _commands(vehicle, case, t, start, p)
    rows = ceil(max(map(np.max, _dead_times(vehicle, p))) / fleet.dt) + 1
    before = np.repeat(u[:1], rows, axis=0)
    names = record.names(vehicle.model.Params)
    values = zip(names, record.flatten(p), strict=True)
    own = {name: value for name, value in values if np.ndim(value)} or None
    states = fleet.rollout(start, u, every=every, params=own, pending=before)
    at = np.minimum(np.arange(0, len(t) + 1, every), len(t) - 1)
    told = fleet.outputs(states, u[at], params=own)
    hints = {"command": vehicle.Input, "own": vehicle.model.Outputs}
    Outputs = record.define("Outputs", hints, doc="Commands and outputs of a vehicle.")
    return states, np.concatenate([u[at], told], axis=-1), Outputs


def _dead_times(vehicle: Vehicle, p: Any) -> list[s]:
    return [getattr(p, name) for name in vehicle.model.dead_times.values()]


def _commands(vehicle: Vehicle, case: Case, t: Array, start: Array, p: Any) -> Array:
    """Inputs at each step, (T, V, nu)."""
    x = record.unflatten(vehicle.State, list(start.T))
    base, most = vehicle.geometry.wheel_base, vehicle.limits.steer_max
    told = {name: case.over(signal, t)[:, None] for name, signal in _signals(case).items()}
    steer = np.clip(told["steer"] * np.asarray(case.amplitude, dtype=float), -most, most)
    turning = told["v"] * np.tan(steer) / base + told["omega"]
    wish: Any = steer, told["a"], told["v"], turning, told["handbrake"]
    u = vehicle.body.command(x, Wish(*wish), p)
    shape = len(t), len(start)
    return np.stack([np.broadcast_to(leaf, shape) for leaf in record.flatten(u)], axis=-1)


def _signals(case: Case) -> dict[str, Any]:
    return {
        "steer": case.steer,
        "a": case.a,
        "v": case.speed,
        "omega": case.omega,
        "handbrake": case.handbrake,
    }
