"""Starts of a vehicle: what a few fields stand for, and whether it can be in such a state."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..model import Vehicle
from ..units import m_s, s
from . import batch

OVERSHOOT: s = 0.1
"""A step that begins below a limit of speed may end above it, by the acceleration over so long a
step; and whatever a vehicle was simulated to it can be started from."""
LITTLE: m_s = 0.1
"""The same where no acceleration is known."""
INNER_WHEEL = 0.25
"""Share of a limit of steering that a start may be beyond it: the limit may be that of a wheel in
the middle, and the one on the inside of a bend is turned further."""


class Settling(Protocol):
    """A model, or a plant, that may have dependent fields."""

    @property
    def settle(self) -> Callable[[Any, Any], Any] | None:
        """Makes them consistent."""
        ...

    @property
    def fills(self) -> tuple[str, ...]:
        """Those that 0 says nothing about."""
        ...


def consistent(
    model: Settling, start: Any, params: Any, source: Any, named: Collection[str]
) -> Any:
    """A start with its dependent fields made consistent, built from `source` and fields `named`.

    What `Model.fills` tells and the start names stays as it is; what it does not name is filled,
    unless the start is a whole state, of which only a model can tell whether 0 means nothing.
    """
    if model.settle is None:
        return start
    names = {*named, *(source if isinstance(source, Mapping) else ())}
    explicit = {name: getattr(start, name) for name in model.fills if name in names}
    if explicit and (source is None or isinstance(source, Mapping)):
        start = start._replace(**dict.fromkeys(explicit, 0.0))
    return model.settle(start, params)._replace(**explicit)


def settled(plant: Plant, start: Any, params: AnyArray, layout: str = "aos") -> Any:
    """What a start by names or as a record stands for, as in `Simulator.reset`: states with
    dependent fields made consistent, (B, nx), or (nx, B) in the layout "soa", where the parameters
    are (1, B, np).

    Arrays are whole states, and taken as they are.
    """
    if not isinstance(start, (Mapping, plant.State)):
        return start
    source, start = start, record.build(plant.State, start)
    if plant.settle is None:
        return start
    whole = consistent(plant, start, record_of_rows(plant.Params, params), source, ())
    columns = np.broadcast_arrays(*record.flatten(whole))
    return np.stack(columns, axis=0 if layout == "soa" and columns[0].ndim else -1)


def settled_rows(plant: Plant, rows: Array, params: AnyArray) -> Array:
    """Drawn starts (B, nx) with dependent fields made consistent."""
    if plant.settle is None:
        return rows
    x = record.unflatten(plant.State, list(rows.T))
    whole = plant.settle(x, record_of_rows(plant.Params, params))
    return np.stack([np.broadcast_to(c, len(rows)) for c in record.flatten(whole)], axis=-1)


def record_of_rows(Params: type, params: AnyArray) -> Any:
    """Parameters (1, B, np) as a record: a number where all rows are the same."""
    rows = batch.on_host(params)[0].astype(float)
    # Parameters that are the same for all leave a start that is one for all.
    return record.unflatten(Params, [c[0] if (c == c[0]).all() else c for c in rows.T])


def check_start(vehicle: Vehicle, start: Any, of: str = "") -> None:
    """Raise if the wheels of a start are turned further than they go, or it is too fast.

    The start is a state record, or an array (B, nx) of them, where `of` says " of vehicle {}". A
    vehicle without a body has no such limits, and one that reproduces a program starts as that.
    """
    model, p = vehicle.model, vehicle.params
    if model.body is None or model.reproduces:
        return
    many = not isinstance(start, model.State)
    x = record.unflatten(model.State, list(start.T)) if many else start
    u, limits = record.at_rest(model.Input), vehicle.limits
    looks: list[_Look] = []
    if "v" not in limits.not_kept:
        speed, ends = model.body.speed_of(x, u, p), (limits.v_min, limits.v_max)
        slack = OVERSHOOT * limits.a_max if isfinite(limits.a_max) else LITTLE
        looks.append(_Look("velocity along the vehicle", "m/s", speed, *ends, slack))
    if model.body.steer is not None and "steer" not in limits.not_kept:
        angle, end = model.body.steer(x, u, p), limits.steer_max
        looks.append(_Look("steering angle", "rad", angle, -end, end, INNER_WHEEL * end))
    if not looks:
        return
    # A GPU is asked once for all of them.
    if bool(np.any(reduce(operator.or_, (look.outside for look in looks)))):
        raise next(look for look in looks if bool(np.any(look.outside))).mistake(of)


class _Look(NamedTuple):
    """Something about a start, or about each of many, that must lie between two ends."""

    what: str
    unit: str
    value: Any
    low: float
    high: float
    slack: float

    @property
    def outside(self) -> Any:
        return (self.value < self.low - self.slack) | (self.value > self.high + self.slack)

    def mistake(self, of: str) -> InvalidValue:
        """The error for the first that is outside."""
        place = int(np.argmax(self.outside)) if np.ndim(self.value) else 0
        bad = float(np.atleast_1d(self.value)[place])
        return InvalidValue(
            f"the start{of.format(place)} has a {self.what} of {bad:g} {self.unit}; allowed is "
            f"from {self.low:g} to {self.high:g} {self.unit}"
        )
