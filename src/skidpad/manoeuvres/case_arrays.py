"""Cases as the arrays of a rollout: starts, parameters and what the driver is told at each step.

Each function takes the cases that one vehicle under test drives at once, and computes with arrays
of their own size: whoever else shares the rollout does not show in a single bit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Pose, Velocity
from ..model import Vehicle
from ..road.records import record_of
from ..units import s
from ..vehicles.on_road import on_road
from .case import Case
from .driver import Driving, Told, driver
from .path import path_point, straight
from .subject import Subject

__all__ = ["CaseArrays", "arrays_of", "of_all", "on_road_of", "starts", "told_at"]


@dataclass(frozen=True)
class CaseArrays:
    """Cases of one vehicle in V variants as the arrays of N = cases × V vehicles."""

    vehicles: Sequence[Vehicle]
    """Of each case, on its road if it has one; they keep the arrays of the roads."""
    V: int
    steps: Sequence[tuple[int, int]]
    """Of each case before and after time zero."""
    own: dict[str, Array]
    """Parameters of the vehicle that differ, by name, (N,) each."""
    driving: dict[str, Array]
    """Those of the driver, likewise."""
    told: Array
    """(T, N or 1, fields)"""
    disturbances: Array | None
    """(T, N or 1, fields); None where nothing disturbs."""
    start: Array
    """(N, nx)"""
    knowledge: Any
    """Parameters of the driver of this vehicle."""

    @property
    def vehicle(self) -> Vehicle:
        """That of the first case."""
        return self.vehicles[0]

    @property
    def count(self) -> int:
        """N."""
        return len(self.start)

    @property
    def last(self) -> Array:
        """The last step of each vehicle, (N,)."""
        return np.repeat([before + after - 1.0 for before, after in self.steps], self.V)


def arrays_of(
    car: Subject, cases: Sequence[Case], steps: Sequence[tuple[int, int]], dt: s
) -> CaseArrays:
    """The arrays of cases of one kind."""
    vehicles = [on_road_of(car.vehicle, case) for case in cases]
    V, own = car.variants, {name: np.tile(row, len(cases)) for name, row in car.params.items()}
    own |= _roads(cases, V)
    count = np.arange(max(before + after for before, after in steps), dtype=float)
    t = [(count - before) * dt for before, _ in steps]
    told = _of_each([_told(case, own_t) for case, own_t in zip(cases, t, strict=True)], V)
    driving = _driving(cases, V) | {f"car.vehicle.{name}": own[name] for name in own}
    disturbances = _disturbances(vehicles[0], cases, t, V)
    start = starts(vehicles, cases, car)
    knowledge = driver(vehicles[0]).params
    return CaseArrays(vehicles, V, steps, own, driving, told, disturbances, start, knowledge)


def of_all(parts: Sequence[Array], counts: Sequence[int]) -> Array:
    """Signals (T, N or 1, fields) of several, one beside the other, all as long as the longest;
    what is told last is held on."""
    if len(parts) == 1:
        return parts[0]
    longest = max(map(len, parts))
    wide = np.empty((longest, sum(counts), parts[0].shape[2]))
    begin = 0
    for part, count in zip(parts, counts, strict=True):
        own = wide[:, begin : begin + count]
        own[: len(part)] = part
        own[len(part) :] = part[-1]
        begin += count
    return wide


def _of_each(rows: Sequence[Array], V: int) -> Array:
    """Signals (T, fields) of cases as those of vehicles, (T, cases × V, fields); of one case as
    those of all."""
    told = np.stack(rows, axis=1)
    return told if len(rows) == 1 or V == 1 else np.repeat(told, V, axis=1)


def told_at(told: Array, at: Any) -> Array:
    """Of signals (T, vehicles or 1, fields) those at steps (samples, vehicles)."""
    column = np.arange(at.shape[1]) if told.shape[1] > 1 else 0
    return told[at, column]


def on_road_of(vehicle: Vehicle, case: Case) -> Vehicle:
    """The vehicle on the road of a case."""
    return vehicle if case.road is None else on_road(vehicle, case.road)


def _roads(cases: Sequence[Case], V: int) -> dict[str, Array]:
    """Numbers of the roads of cases, by the names of parameters, each (cases × V,)."""
    if cases[0].road is None:
        return {}
    roads = [record_of(case.road) for case in cases]
    rows = np.array([record.flatten(road) for road in roads], dtype=float)
    names = record.names(type(roads[0]))
    return {f"road.{name}": np.repeat(row, V) for name, row in zip(names, rows.T, strict=True)}


def _told(case: Case, t: Array) -> Array:
    """What the driver is told at each step, (T, fields)."""
    signals: Any = Told  # of numbers and functions
    row = signals(
        steer=case.steer,
        v=case.speed,
        a=case.a,
        hold=case.holding,
        omega=case.omega,
        handbrake=case.handbrake,
        coast=case.coast,
    )
    told = np.empty((len(t), len(row)))
    for k, signal in enumerate(row):
        told[:, k] = case.over(signal, t)
    return told


def starts(vehicles: Sequence[Vehicle], cases: Sequence[Case], car: Subject) -> Array:
    """Start states of all variants in all cases, (cases × V, nx)."""
    if cases[0].road is None:
        return _start(vehicles[0], cases, car)
    pairs = zip(vehicles, cases, strict=True)
    return np.concatenate([_start(vehicle, [case], car) for vehicle, case in pairs])


def _start(vehicle: Vehicle, cases: Sequence[Case], car: Subject) -> Array:
    """Of cases in which the vehicle has the same parameters."""
    model, V = vehicle.model, car.variants
    zero = np.zeros(V * len(cases))
    names = record.names(model.Params)
    rows = [zero + value for value in record.flatten(vehicle.params)]
    for name, row in car.params.items():
        rows[names.index(name)] = np.tile(row, len(cases))
    p = record.unflatten(model.Params, rows)

    def of_each(values: Sequence[Any]) -> Array:
        return np.concatenate([np.broadcast_to(np.asarray(v, float), (V,)) for v in values])

    start = record.flatten(record.build(model.State))
    x = record.unflatten(model.State, [zero + value for value in start])
    places: Any = map(of_each, zip(*(_pose(case) for case in cases), strict=True))
    motion: Any = of_each([case.v for case in cases]), zero, zero
    x = vehicle.body.placed(x, Pose(*places), Velocity(*motion), p)
    for name in sorted({name for case in cases for name in case.start}):
        own = np.broadcast_to(getattr(x, name), zero.shape).reshape(len(cases), V)
        values = zip(cases, own, strict=True)
        x = x._replace(**{name: of_each([case.start.get(name, row) for case, row in values])})
    x = x if model.settle is None else model.settle(x, p)
    return np.stack([zero + column for column in record.flatten(x)], axis=-1)


def _pose(case: Case) -> Pose:
    """Where a case begins."""
    if case.pose is None and case.path is not None:
        return Pose(*(float(part) for part in path_point(case.path, 0.0)[0][:3]))
    return case.pose or Pose(0.0, 0.0, 0.0)


def _driving(cases: Sequence[Case], V: int) -> dict[str, Any]:
    """Parameters of the driver that differ between vehicles, by name, each (cases × V,)."""
    fields: defaultdict[str, list[Array]] = defaultdict(list)
    names = {f"{name}" for case in cases for name in case.driving}
    for case in cases:
        path = straight() if case.path is None else case.path
        leaves = zip(record.names(type(path)), record.flatten(path), strict=True)
        values = {f"path.{name}": leaf for name, leaf in leaves}
        values |= {"follow": 0.0 if case.path is None else 1.0, "steer_gain": case.amplitude}
        values |= {name: case.driving.get(name, _default(name)) for name in names}
        for name, value in values.items():
            fields[f"drive.{name}"].append(np.broadcast_to(np.asarray(value, dtype=float), (V,)))
    return {name: np.concatenate(rows) for name, rows in fields.items()}


def _default(name: str) -> float:
    """Of a field of `Driving`, by a name such as "speed.k_p"."""
    value: Any = Driving
    first, *rest = name.split(".")
    value = Driving._field_defaults[first]
    for part in rest:
        value = getattr(value, part)
    return value


def _disturbances(
    vehicle: Vehicle, cases: Sequence[Case], t: Sequence[Array], V: int
) -> Array | None:
    """What disturbs at each step, (T, cases × V or 1, fields); None where nothing does."""
    if not any(case.disturbance for case in cases):
        return None
    kind = vehicle.model.Disturbance
    neutral = dict(zip(record.names(kind), record.flatten(record.build(kind)), strict=True))
    columns: list[Array] = []
    for case, own_t in zip(cases, t, strict=True):
        signals = neutral | dict(case.disturbance)
        columns.append(np.stack([case.over(signals[name], own_t) for name in neutral], axis=-1))
    return _of_each(columns, V)
