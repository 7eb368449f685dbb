"""Straight driving at a steady speed: the state and input that a linearisation starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import record
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.linearisation import linearise_continuous

TORQUES = "tau_"
STEPS = 20
TOLERANCE = 1e-10
"""Of the acceleration in m/s² that is left."""


def straight(
    vehicle: Vehicle, speed: float, inputs: Mapping[str, float] | None = None
) -> tuple[Any, Any]:
    """State and input of a vehicle that drives straight ahead at `speed` in m/s.

    All wheels get the same torque, as much as the speed needs; where the input is an acceleration,
    there is none. `inputs` says otherwise. Raises where no torque holds the speed.
    """
    if not (np.isfinite(speed) and speed > 0.0):
        raise InvalidValue(f"speed = {speed} m/s must be finite and greater than 0")
    model = vehicle.model
    states, commands = record.names(model.State), record.names(model.Input)
    name = next((n for n in ("v_x", "v") if n in states), None)
    if name is None:
        raise InvalidValue(f"{vehicle.name!r} has no speed among its states: {', '.join(states)}")
    held_inputs = dict(inputs or {})
    torques = [n for n in commands if n.startswith(TORQUES) and n not in held_inputs]
    torque = 0.0
    for _ in range(STEPS):
        driven = dict.fromkeys(torques, torque)
        following = {n: v for n, v in {**driven, **held_inputs}.items() if n in states}
        u = record.build(model.Input, {**driven, **held_inputs})
        x = record.build(model.State, {name: speed, **following})
        if model.settle is not None:
            x = record.build(model.State, model.settle(x, vehicle.params))
        if not torques:
            return x, u
        rate, by_x, by_u = linearise_continuous(vehicle, x, u)
        row = states.index(name)
        if abs(rate[row]) < TOLERANCE:
            return x, u
        slope = sum(by_u[row, commands.index(n)] for n in torques)
        slope += sum(by_x[row, states.index(n)] for n in torques if n in states)
        if not abs(slope) > 0.0:
            break
        torque -= rate[row] / slope
    raise InvalidValue(
        f"no torque holds {vehicle.name!r} at {speed:g} m/s: give the inputs or another speed"
    )
