"""Which parameters a fit may change, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from .. import record
from ..errors import InvalidValue
from ..model import Model, Vehicle
from ..vehicles.autoware.schema import PARAMETERS
from .recording import Recording

_TURNING = ("omega", "yaw", "y")
"""Channels that tell the true steering angle from the measured one."""


class Free(NamedTuple):
    """A parameter to be estimated."""

    name: str
    unit: str
    start: float
    low: float
    high: float
    scale: float
    """A change of this size is a large one."""


def default_names(model: Model, recorded: Recording) -> tuple[str, ...]:
    """Dead times, time constants, the bias of steering and the scaling factors of a model.

    Without a channel that shows how the car turns, there is no telling the bias.
    """
    turns = any(name in recorded.measured for name in _TURNING)
    return tuple(
        name
        for name in record.names(model.Params)
        if name in PARAMETERS
        and (
            name in model.dead_times.values()
            or name.endswith("_time_constant")
            or name.endswith("_scaling_factor")
            or (name == "steer_bias" and turns)
        )
    )


def chosen(vehicle: Vehicle, names: Sequence[str]) -> tuple[list[str], list[Free]]:
    """Dead times and other parameters among the names."""
    model = vehicle.model
    allowed = tuple(n for n in record.names(model.Params) if n in PARAMETERS)
    for name in names:
        if name not in allowed:
            raise InvalidValue(record.unknown_name(model.name, name, allowed, "parameter to fit"))
        if list(names).count(name) > 1:
            raise InvalidValue(f"{name} is named twice among the parameters to fit")
    if not names:
        raise InvalidValue(
            f"{model.name} has no dead time, time constant, bias or factor to fit; name others of "
            f"{', '.join(allowed)}"
        )
    late = [name for name in names if name in model.dead_times.values()]
    return late, [_free(vehicle, name) for name in names if name not in late]


def _free(vehicle: Vehicle, name: str) -> Free:
    kind = vehicle.model.Params
    leaf = record.fields(kind)[record.names(kind).index(name)]
    value = float(record.flatten(vehicle.params)[record.names(kind).index(name)])
    low, high = (-inf, inf) if leaf.allowed is None else (leaf.allowed.low, leaf.allowed.high)
    if name.endswith("_time_constant"):
        low = vehicle.params.least_time_constant
        value = max(value, low)
    elif name.endswith("_scaling_factor"):
        low = 0.0
    elif leaf.allowed is not None and leaf.allowed.open_low:
        low = 1e-3 * value
    scale = 0.1 if leaf.unit.symbol in ("s", "rad") else max(abs(value), 0.1)
    return Free(name, leaf.unit.symbol, value, low, high, scale)
