"""Signals of a drive by their names, whatever the vehicle calls its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..model import Vehicle
from .case_run import CaseRun
from .driver import Memory

__all__ = ["params_of", "signals_of"]

WHEEL_FIELDS = ("F_x", "F_y", "F_z", "spin")
"""Of each wheel that tells them: `F_z_fl` and so on, in N, and rad/s."""
ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Outputs that are accelerations along and across a vehicle."""
POSTURE = ("roll", "pitch", "heave", "a_z")
"""States or outputs that tell how the body sits, and its acceleration off the road."""


def signals_of(
    vehicle: Vehicle,
    t: Array,
    states: Array,
    memory: Array,
    outputs: Array,
    Outputs: type,
    params: Mapping[str, Array],
) -> CaseRun:
    """The signals of a drive: states (T, V, nx), memory and outputs of the driven vehicle."""
    names = record.names(Outputs)
    commands = [k for k, name in enumerate(names) if name.startswith("command.")]
    inputs = outputs[..., commands[0] : commands[-1] + 1]  # side by side, so no copy
    told = {name.removeprefix("own."): outputs[..., k] for k, name in enumerate(names)}
    x = record.unflatten(vehicle.State, list(np.moveaxis(states, -1, 0)))
    u = record.unflatten(vehicle.Input, list(np.moveaxis(inputs, -1, 0)))
    fields = dict(zip(record.names(vehicle.State), np.moveaxis(states, -1, 0), strict=True)) | told
    signals = _motion(vehicle, t, x, u, params_of(vehicle, params), told)
    remembered = record.unflatten(Memory, list(np.moveaxis(memory, -1, 0)))
    signals["progress"] = remembered.progress
    for wheel in vehicle.geometry.wheels:
        for kind in WHEEL_FIELDS:
            field = getattr(wheel, kind)
            if field in fields:
                signals[f"{kind}_{wheel.name}"] = fields[field]
    signals |= {name: fields[name] for name in POSTURE if name in fields}
    wide = {name: np.broadcast_to(row, states.shape[:2]) for name, row in signals.items()}
    return CaseRun("", t, wide, states, inputs)


def params_of(vehicle: Vehicle, changes: Mapping[str, Array]) -> Any:
    """Parameters of all variants, each a number or (V,)."""
    pairs = zip(record.names(vehicle.model.Params), record.flatten(vehicle.params), strict=True)
    return record.unflatten(
        vehicle.model.Params, [changes.get(name, value) for name, value in pairs]
    )


def _motion(
    vehicle: Vehicle, t: Array, x: Any, u: Any, p: Any, told: Mapping[str, Array]
) -> dict[str, Array]:
    """Motion of the centre of mass."""
    body, com = vehicle.body, vehicle.geometry.centre_of_mass
    pose, now = body.pose(x, p), body.velocity(x, u, p)
    c, s = np.cos(pose.yaw), np.sin(pose.yaw)
    v_x, v_y = now.v_x - com[1] * now.omega, now.v_y + com[0] * now.omega
    wide: Any = np.broadcast_to
    shape = np.shape(pose.x)
    signals: dict[str, Any] = {
        "x": pose.x + com[0] * c - com[1] * s,
        "y": pose.y + com[0] * s + com[1] * c,
        "yaw": pose.yaw,
        "v_x": v_x,
        "v_y": v_y,
        "omega": wide(now.omega, shape),
        "speed": np.hypot(v_x, v_y),
        "sideslip": np.arctan2(v_y, v_x),
    }
    if body.steer is not None:
        signals["steer"] = wide(body.steer(x, u, p), shape)
    pair = next((pair for pair in ACCELERATIONS if set(pair) <= set(told)), ("a_x", "a_y"))
    # Told is better than a difference of samples; a model may tell one of the two.
    rates = zip((v_x, v_y), (-v_y * now.omega, v_x * now.omega), strict=True)
    a_x, a_y = (
        told[name] if name in told else np.gradient(wide(v, shape), t, axis=0) + turn
        for name, (v, turn) in zip(pair, rates, strict=True)
    )
    return signals | {"a_x": wide(a_x, shape), "a_y": wide(a_y, shape)}
