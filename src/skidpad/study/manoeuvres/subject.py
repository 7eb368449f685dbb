"""The vehicle under test, in one or several variants, and what manoeuvres require of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from ...control.car import Abilities, abilities_of
from ...core import record
from ...core.arrays import Array
from ...core.body import Demand, Geometry, Limits, Pose, Velocity, body_of
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...road.records import record_of
from ...road.road import Road
from ...units import m_s2
from ...vehicles.variants import what_it_lacks
from .theory import LinearCar, linear_car

MOST_THEORIES = 8
"""Variants up to which each has its linear theory."""


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
        """Limits that the vehicle declares."""
        return self.vehicle.limits

    @cached_property
    def abilities(self) -> Abilities:
        """The most that a driver demands of the vehicle."""
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
        them; everything else, including linear theory, stays that of its parameters."""
        other = replace(self)
        measured = {k: v for k, v in self.__dict__.items() if k in ("wheel_base", "l_r")}
        rows = {name: np.full(self.variants, length) for name, length in lengths.items()}
        other.__dict__.update(measured | rows, _theories=self._theories)
        return other

    def part(self, begin: int, size: int) -> Subject:
        """Some of the variants, from one on."""
        rows = {name: row[begin : begin + size] for name, row in self.params.items()}
        return Subject(self.vehicle, rows, self.name)

    def with_theory(self) -> Subject:
        """The variants whose linear theory is computed: all of up to `MOST_THEORIES`, of more the
        first alone, since a theory takes longer than its drive."""
        return self if self.variants <= MOST_THEORIES else self.part(0, 1)

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
        """Linear theory of the vehicle about driving straight at a speed in m/s, with its own
        parameters."""
        return self._theory(self.vehicle, v)

    def theories(self, v: float) -> list[LinearCar]:
        """The linear theory of each variant."""
        return [self._theory(vehicle, v) for vehicle in self.each]

    def _theory(self, vehicle: Vehicle, v: float) -> LinearCar:
        known = self._theories
        if (vehicle, v) not in known:
            known[vehicle, v] = linear_car(vehicle, v)
        return known[vehicle, v]

    @cached_property
    def _theories(self) -> dict[Any, LinearCar]:
        return {}


Requirement = Callable[[Subject, Any], str]
"""Why a vehicle cannot do a manoeuvre with these settings, in one sentence; empty if it can."""


def steering_needed(car: Subject, test: Any = None) -> str:
    """Front wheels that steer."""
    if not car.steers:
        return f"{car.name} does not steer: it turns on the spot"
    told = car.vehicle.body.steer is not None or car.limits.steer_max < inf
    return "" if told else f"{car.name} has no wheels that steer"


def tyres_needed(car: Subject, test: Any = None) -> str:
    """Steering, tyres that slip, and a driver in the loop."""
    if lacks := steering_needed(car):
        return lacks
    if not car.slides:
        return f"{car.name} has no tyres that slip: its turns are those of geometry"
    if not car.vehicle.model.continuous:
        return f"{car.name} is a discrete model"
    return loop_needed(car)


def loop_needed(car: Subject, test: Any = None) -> str:
    """No dead time, so that a driver can be in the loop."""
    late = car.vehicle.model.dead_times
    return f"{car.name} acts late ({', '.join(late)}): no driver can be in its loop" if late else ""


def speed_needed(car: Subject, test: Any) -> str:
    """The `speed` of the test."""
    v, most = test.speed, car.limits.v_max
    return "" if v <= most else f"{car.name} reaches {most:.1f} m/s; the test needs {v:.1f} m/s"


def grip_needed(car: Subject, test: Any) -> str:
    """Grip for the lateral acceleration `a_y` of the test, with a margin."""
    if test.a_y <= 0.8 * car.grip:
        return ""
    return f"{car.name} has grip for {car.grip:.1f} m/s²; {test.a_y:g} m/s² is its limit"


def drive_needed(car: Subject, test: Any = None) -> str:
    """Drive and brakes that are demanded an acceleration and act through tyres."""
    if car.vehicle.body.imposed:
        return f"{car.name} moves as it is told: nothing drives it"
    if not car.slides:
        return f"{car.name} has no tyres: what it is asked for is what it does"
    if not takes(car, "a"):
        return f"{car.name} is told a speed, not how hard to drive"
    return loop_needed(car)


def takes(car: Subject, demanded: str) -> str:
    """Name of the input that a demand for "v", "a", "omega" or "steer" moves; empty without one."""
    vehicle, p = car.vehicle, car.vehicle.params
    pose, at = Pose(0.0, 0.0, 0.0), Velocity(1.0, 0.0, 0.0)
    x = vehicle.body.placed(record.build(vehicle.State), pose, at, p)
    rest: Demand = Demand(v=1.0)
    asked = rest._replace(**{demanded: getattr(rest, demanded) + 0.01})
    rows = (record.flatten(vehicle.body.command(x, demand, p)) for demand in (rest, asked))
    names = record.names(vehicle.Input)
    return next((n for n, a, b in zip(names, *rows, strict=True) if abs(a - b) > 1e-9), "")


def road_needed(car: Subject, road: Road) -> str:
    """A vehicle that can be put on a road."""
    lacks = what_it_lacks(car.vehicle, record_of(road))
    return f"{car.name} cannot be put on a road: {lacks}" if lacks else ""
