"""What was made for a vehicle or a model and may be wanted again, while few are in use.

The errors for a step of one vehicle that failed, and for what it cannot take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from ..core import record
from ..core.files import shown
from ..core.model import Vehicle
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged

T = TypeVar("T")

MOST = 64
"""Things of one kind that are kept."""


class Kept(Generic[T]):
    """The things made last, each for an owner that is told apart by identity: two models that are
    equal are compiled each for itself. Those asked for longest ago go first, where there are more
    than `most`."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # The owner is kept with what was made, so that no other one can get its address.
        self._entries: dict[Any, tuple[Any, T]] = {}

    def get(self, owner: Any, key: Any, make: Callable[[], T]) -> T:
        """What `make` gave for this owner and key, or gives now."""
        place = (id(owner), key)
        try:
            entry = self._entries.pop(place, None)
        except TypeError:  # a key that cannot be looked up: what is made of it may refuse it
            return make()
        self._entries[place] = entry = entry or (owner, make())
        while len(self._entries) > self._most:
            self._entries.pop(next(iter(self._entries)), None)
        return entry[1]


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
"""Share of the size at which equations end that a state before the last step may have."""


def ended(vehicle: Vehicle | None, state: Any) -> str:
    """What has become of a vehicle whose last finite state is at the end of its equations."""
    for name, (size, what) in () if vehicle is None else vehicle.model.ends.items():
        value = getattr(state, name, 0.0)
        if abs(value) > AT_THE_END * size:
            return f"The vehicle {what}: {name} = {value:.3g}; its equations end at {size:g}"
    return ""


def diverged(time: float, state: Any, vehicle: Vehicle | None = None) -> SimulationDiverged:
    """The error for a step from `time` in s that ends in a state that is not finite."""
    why = ended(vehicle, state)
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
