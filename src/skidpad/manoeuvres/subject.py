"""The vehicle under test, in one or several variants, and what a manoeuvre may ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Geometry, Limits, body_of
from ..brief import brief_repr
from ..controllers.abilities import Abilities, abilities_of
from ..errors import InvalidValue
from ..model import Vehicle
from ..units import m_s2
from .theory import LinearCar, linear_car

__all__ = ["Subject"]


@dataclass(frozen=True, eq=False)
class Subject:
    """A vehicle under test.

    Variants are vehicles that differ in parameters: `params` by name, each (V,). Manoeuvres are
    driven by all of them at once.
    """

    vehicle: Vehicle
    params: Mapping[str, Array] = field(default_factory=dict[str, Array])
    name: str = ""
    """In tables and reports; that of the vehicle if empty."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        body_of(self.vehicle, "a manoeuvre")
        rows = {name: np.atleast_1d(np.asarray(row, float)) for name, row in self.params.items()}
        known = record.names(self.vehicle.model.Params)
        for name in rows:
            if name not in known:
                raise InvalidValue(record.unknown_name(self.vehicle.name, name, known, "parameter"))
        lengths = {name: len(row) for name, row in rows.items()}
        if len(set(lengths.values())) > 1:
            raise InvalidValue(f"variants differ in number: {lengths}")
        object.__setattr__(self, "params", rows)
        object.__setattr__(self, "name", self.name or self.vehicle.name)

    @property
    def variants(self) -> int:
        """How many vehicles there are."""
        return len(next(iter(self.params.values()))) if self.params else 1

    @cached_property
    def geometry(self) -> Geometry:
        """Shape and mass of the vehicle with its own parameters."""
        return self.vehicle.geometry

    @cached_property
    def each(self) -> tuple[Vehicle, ...]:
        """The variants as vehicles."""
        if not self.params:
            return (self.vehicle,)
        rows = zip(*self.params.values(), strict=True)
        names = list(self.params)
        return tuple(
            self.vehicle.with_params(dict(zip(names, map(float, row), strict=True))) for row in rows
        )

    @cached_property
    def limits(self) -> Limits:
        """What the vehicle can do."""
        return self.vehicle.limits

    @cached_property
    def abilities(self) -> Abilities:
        """What one asks of it at most."""
        return abilities_of(self.vehicle)

    @cached_property
    def wheel_base(self) -> Array:
        """Between the axles of each variant in m, (V,)."""
        return np.array([vehicle.geometry.wheel_base for vehicle in self.each])

    @cached_property
    def l_r(self) -> Array:
        """From the rear axle to the centre of mass of each variant in m, (V,)."""
        shapes = (vehicle.geometry for vehicle in self.each)
        return np.array([shape.centre_of_mass[0] - shape.rear_axle for shape in shapes])

    def with_lengths(self, **lengths: float) -> Subject:
        """The vehicle with another `wheel_base` or `l_r` in m, for a log of one that differs in
        them; all else, linear theory too, stays that of its parameters."""
        other = replace(self)
        rows = {name: np.full(self.variants, length) for name, length in lengths.items()}
        other.__dict__.update(rows, _theories=self._theories)
        return other

    @property
    def steers(self) -> bool:
        """Whether it steers with front wheels."""
        return self.limits.steer_max > 0.0 and self.vehicle.body.steer is not None

    @property
    def grip(self) -> m_s2:
        """Largest acceleration that its tyres give, infinite where nothing limits it."""
        return self.limits.grip

    @property
    def slides(self) -> bool:
        """Whether it can slide sideways: whether tyres limit what it does."""
        return self.grip < inf

    def theory(self, v: float) -> LinearCar:
        """Its linear theory about driving straight at a speed in m/s, by exact derivatives, with
        its own parameters."""
        return self._theory(self.vehicle, v)

    def theories(self, v: float) -> list[LinearCar]:
        """That of each variant."""
        return [self._theory(vehicle, v) for vehicle in self.each]

    def _theory(self, vehicle: Vehicle, v: float) -> LinearCar:
        known = self._theories
        if (vehicle, v) not in known:
            known[vehicle, v] = linear_car(vehicle, v)
        return known[vehicle, v]

    @cached_property
    def _theories(self) -> dict[Any, LinearCar]:
        return {}
