"""A vehicle at one moment as it is drawn: the outlines and wheels of its units where they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import record
from ..body import Geometry, Outline, Pose, Trailer, body_of
from ..brief import brief_repr
from ..checks import vehicle_of
from ..errors import InvalidValue
from ..model import Vehicle
from ..plane.polygon import FARTHEST
from ..plane.pose import placed
from .description import Wheel
from .looks import rgb


@dataclass(frozen=True)
class DrawnUnit:
    """One rigid piece: a vehicle, or a trailer behind it."""

    pose: Pose
    """Of the point from which outlines and wheels are given, in the world."""
    outlines: tuple[Outline, ...]
    wheels: tuple[Wheel, ...] = ()
    """Each with its angle on the unit at this moment as `yaw`."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for name, value in zip(Pose._fields, self.pose, strict=True):
            _must_be_finite(name, value)
        if not max(abs(self.pose.x), abs(self.pose.y)) <= FARTHEST:
            place = f"({self.pose.x:g}, {self.pose.y:g})"
            raise InvalidValue(f"place {place} of a vehicle must be within {FARTHEST:g} m")
        for wheel in self.wheels:
            _must_be_finite(f"angle of wheel {wheel.name!r}", wheel.yaw)


@dataclass(frozen=True)
class Drawn:
    """A vehicle at one moment, with what it tows."""

    vehicle: DrawnUnit
    trailers: tuple[DrawnUnit, ...] = ()
    """From the vehicle back."""
    colour: str = ""
    """As `#rrggbb`; empty for one by its place among the vehicles of a picture."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.colour:
            rgb(self.colour)

    @property
    def units(self) -> tuple[DrawnUnit, ...]:
        """The vehicle and its trailers."""
        return (self.vehicle, *self.trailers)


def drawn(vehicle: Vehicle, x: Any, p: Any = None, u: Any = None, *, colour: str = "") -> Drawn:
    """A vehicle in the state `x`, a record or its values in order.

    `p` are parameters in place of its own. `u` is the input, which turns the wheels of vehicles
    that steer at once; left out, it is that at rest.
    """
    vehicle = vehicle_of(vehicle)
    body = body_of(vehicle, "a picture")
    if p is not None:
        vehicle = vehicle.with_params(p)
    state = record.build(vehicle.State, x)
    geometry, values = vehicle.geometry, _values(vehicle, state, u)
    pose = Pose(*map(float, body.pose(state, vehicle.params)))
    units = [_unit(pose, geometry, values)]
    for trailer in geometry.trailers:
        hitch = placed(pose, (trailer.hitch_x, 0.0, values[trailer.angle]))
        pose = placed(hitch, (-trailer.drawbar, 0.0, 0.0))
        units.append(_unit(pose, trailer, values))
    return Drawn(units[0], tuple(units[1:]), colour)


def _values(vehicle: Vehicle, state: Any, u: Any) -> Mapping[str, float]:
    """The fields that turn wheels and trailers, by name."""
    values = dict(zip(record.names(vehicle.State), record.flatten(state), strict=True))
    if _steering(vehicle.geometry) <= values.keys():
        return values
    u = record.at_rest(vehicle.Input) if u is None else record.build(vehicle.Input, u)
    outputs = vehicle.outputs(state, u)
    named = zip(record.names(vehicle.model.Outputs), record.flatten(outputs), strict=True)
    return {name: float(value) for name, value in named} | values


def _steering(geometry: Geometry) -> set[str]:
    units: Iterable[Geometry | Trailer] = (geometry, *geometry.trailers)
    return {wheel.steer for unit in units for wheel in unit.wheels if wheel.steer}


def _unit(pose: Pose, unit: Geometry | Trailer, values: Mapping[str, float]) -> DrawnUnit:
    wheels = tuple(
        Wheel(w.name, w.x, w.y, w.length, w.width, w.yaw + values.get(w.steer, 0.0))
        for w in unit.wheels
    )
    return DrawnUnit(pose, unit.outlines, wheels)


def _must_be_finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise InvalidValue(f"{name} = {value} of a vehicle must be finite to be drawn")
