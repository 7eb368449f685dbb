"""Errors of steps that failed: inputs that cannot be used, divergence, a Newton residual too large.

Simulators, fleets, worlds and programs that are reproduced raise the same sentences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import record
from ..core.files import shown
from ..core.model import Vehicle
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged


def not_numbers(kind: type, row: Any) -> InvalidValue:
    """The error for a row of inputs that are not all finite numbers, one per field."""
    names = record.names(kind)
    if len(row) != len(names):
        return InvalidValue(
            f"Input takes {len(names)} numbers ({', '.join(names)}), got {len(row)}"
        )
    for name, value in zip(names, row, strict=True):
        try:
            finite = bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            finite = None
        if finite is None or isinstance(value, str):
            return InvalidValue(f"Input.{name} = {shown(value)} must be a number")
        if not finite:
            return InvalidValue(f"Input.{name} = {value} must be finite")
    return InvalidValue(f"Input {row!r} cannot be used: a value is too large for the precision")


def foreign_snapshot() -> InvalidValue:
    """The error for a snapshot of another simulator."""
    return InvalidValue(
        "this snapshot is not of this simulator: vehicle, parameters, dt, integrator and precision "
        "must be the same"
    )


AT_THE_END = 0.9
"""Share of the size at which equations end beyond which the last finite state counts as there."""


def cause_of_end(vehicle: Vehicle | None, state: Any) -> str:
    """What became of a vehicle whose last finite state is where its equations end; else empty."""
    for name, (size, what) in () if vehicle is None else vehicle.model.ends.items():
        value = getattr(state, name, 0.0)
        if abs(value) > AT_THE_END * size:
            return f"The vehicle {what}: {name} = {value:.3g}; its equations end at {size:g}"
    return ""


def diverged(time: float, state: Any, vehicle: Vehicle | None = None) -> SimulationDiverged:
    """The error for a step from `time` in s that ends in a state that is not finite."""
    why = cause_of_end(vehicle, state)
    return SimulationDiverged(
        f"the state became NaN or infinite in the step from t = {time:g} s; the last finite state "
        f"is {state}. {why or 'Take a smaller dt or an implicit integrator'}",
        time=time,
        last_state=state,
    )


def not_converged(time: float, residual: float, tolerance: float, dt: float) -> StepNotConverged:
    """The error for an implicit step of dt from `time`, both in s, that was not solved."""
    return StepNotConverged(
        f"the step from t = {time:g} s left a Newton residual of {residual:.3g}; allowed is "
        f"{tolerance:g}. Take a smaller dt than {dt:g} s",
        time=time,
        residual=residual,
    )
