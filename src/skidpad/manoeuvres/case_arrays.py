"""Cases as the arrays of a rollout: what drivers are told and how they drive, roads, starts."""

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
from .case import Case, Signal
from .driver import Driving, Told
from .path import Path, path_point, straight
from .subject import Subject

__all__ = ["CaseArrays", "arrays_of", "at_steps", "on_its_road", "side_by_side", "starts"]


@dataclass(frozen=True)
class CaseArrays:
    """Cases of one vehicle in V variants as the arrays of N = cases × V vehicles.

    They have the sizes that they have alone: whoever else shares the rollout does not show.
    """

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
    """(T or 1, N or 1, fields)"""
    disturbances: Array | None
    """As `told`; None where nothing disturbs."""
    start: Array
    """(N, nx)"""

    @property
    def vehicle(self) -> Vehicle:
        """That of the first case."""
        return self.vehicles[0]

    @property
    def count(self) -> int:
        """N."""
        return len(self.start)

    @property
    def longest(self) -> int:
        """T."""
        return max(before + after for before, after in self.steps)

    @property
    def last(self) -> Array:
        """The last step of each vehicle, (N,)."""
        return np.repeat([before + after - 1.0 for before, after in self.steps], self.V)


def arrays_of(
    car: Subject, cases: Sequence[Case], steps: Sequence[tuple[int, int]], dt: s
) -> CaseArrays:
    """The arrays of cases of one kind."""
    vehicles = [on_its_road(car.vehicle, case) for case in cases]
    V, own = car.variants, {name: np.tile(row, len(cases)) for name, row in car.params.items()}
    own |= roads(cases, V)
    count = np.arange(max(before + after for before, after in steps), dtype=float)
    t = [(count - before) * dt for before, _ in steps]
    return CaseArrays(
        vehicles=vehicles,
        V=V,
        steps=steps,
        own=own,
        driving=driving(cases, V) | {f"car.vehicle.{name}": own[name] for name in own},
        told=told(cases, t, V),
        disturbances=disturbing(vehicles[0], cases, t, V),
        start=starts(vehicles, cases, car),
    )


def side_by_side(parts: Sequence[Array], counts: Sequence[int]) -> Array:
    """Signals (T or 1, N or 1, fields) of several, all as long as the longest; what is told last is
    held on."""
    if len(parts) == 1:
        return parts[0]
    # As `_of_each` has them in memory.
    room = np.empty((sum(counts), parts[0].shape[2], max(map(len, parts))))
    wide, begin = room.transpose(2, 0, 1), 0
    for part, count in zip(parts, counts, strict=True):
        own = wide[:, begin : begin + count]
        own[: len(part)] = part
        own[len(part) :] = part[-1]
        begin += count
    return wide


def on_its_road(vehicle: Vehicle, case: Case) -> Vehicle:
    """The vehicle on the road of a case."""
    return vehicle if case.road is None else on_road(vehicle, case.road)


def told(cases: Sequence[Case], t: Sequence[Array], V: int) -> Array:
    """What drivers are told at the steps of each case, (T, cases × V or 1, fields); in one row
    where nothing of it changes."""
    signals: Any = Told  # of numbers and functions
    rows = [
        signals(
            steer=case.steer,
            v=case.speed,
            a=case.a,
            hold=case.holding,
            omega=case.omega,
            handbrake=case.handbrake,
            coast=case.coast,
        )
        for case in cases
    ]
    return _times_gain(_of_each(rows, cases, t, V), cases, V)


def _times_gain(each: Array, cases: Sequence[Case], V: int) -> Array:
    """What is told, with the acceleration times the factor of each vehicle."""
    gains = [case.a_gain for case in cases]
    if all(np.ndim(gain) == 0 and gain == 1.0 for gain in gains):
        return each
    count = len(cases) * V
    wide = each if each.shape[1] == count else np.repeat(each.transpose(1, 2, 0), V, axis=0)
    wide = wide if wide is each else wide.transpose(2, 0, 1)
    wide[:, :, Told._fields.index("a")] *= _repeated(gains, V)
    return wide


def disturbing(vehicle: Vehicle, cases: Sequence[Case], t: Sequence[Array], V: int) -> Array | None:
    """What disturbs at the steps of each case, as `told`; None where nothing does."""
    if not any(case.disturbance for case in cases):
        return None
    kind = vehicle.model.Disturbance
    neutral = dict(zip(record.names(kind), record.flatten(record.build(kind)), strict=True))
    signals = (neutral | dict(case.disturbance) for case in cases)
    return _of_each([[own[name] for name in neutral] for own in signals], cases, t, V)


def _of_each(
    rows: Sequence[Sequence[Signal | None]], cases: Sequence[Case], t: Sequence[Array], V: int
) -> Array:
    """Signals of cases as those of vehicles, (T or 1, cases × V, fields); of one case as those of
    all."""
    held = not any(callable(signal) for row in rows for signal in row)
    # A signal lies in memory in one piece: most are numbers, which are quickly written so.
    room = np.empty((len(cases), len(rows[0]), 1 if held else len(t[0])))
    for of_case, row, case, own_t in zip(room, rows, cases, t, strict=True):
        for over_time, signal in zip(of_case, row, strict=True):
            over_time[:] = (
                case.over(signal, own_t[: len(over_time)]) if callable(signal) else signal or 0.0
            )
    each = room if len(cases) == 1 or V == 1 else np.repeat(room, V, axis=0)
    return each.transpose(2, 0, 1)


def at_steps(signals: Array, at: Any) -> Array:
    """Of signals (T or 1, vehicles or 1, fields) those at steps (samples, vehicles)."""
    column = np.arange(at.shape[1]) if signals.shape[1] > 1 else 0
    return signals if len(signals) == 1 else signals[at, column]


def roads(cases: Sequence[Case], V: int) -> dict[str, Array]:
    """Numbers of the roads of cases, by the names of parameters, each (cases × V,)."""
    if cases[0].road is None:
        return {}
    records = [record_of(case.road) for case in cases]
    rows = np.array([record.flatten(road) for road in records], dtype=float)
    names = record.names(type(records[0]))
    return {f"road.{name}": np.repeat(row, V) for name, row in zip(names, rows.T, strict=True)}


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

    start = record.flatten(record.build(model.State))
    x = record.unflatten(model.State, [zero + value for value in start])
    begins = {case.path: _pose(case.path) for case in cases if case.pose is None}
    poses = (begins[case.path] if case.pose is None else case.pose for case in cases)
    places: Any = (_repeated(column, V) for column in zip(*poses, strict=True))
    motion: Any = _repeated([case.v for case in cases], V), zero, zero
    x = vehicle.body.placed(x, Pose(*places), Velocity(*motion), p)
    for name in sorted({name for case in cases for name in case.start}):
        own = np.broadcast_to(getattr(x, name), zero.shape).reshape(len(cases), V)
        values = zip(cases, own, strict=True)
        starts_with = [case.start.get(name, row) for case, row in values]
        x = x._replace(**{name: _repeated(starts_with, V)})
    x = x if model.settle is None else model.settle(x, p)
    return np.stack([zero + column for column in record.flatten(x)], axis=-1)


def _pose(path: Path | None) -> Pose:
    """Where a path begins; the origin without one."""
    if path is None:
        return Pose(0.0, 0.0, 0.0)
    return Pose(*(float(part) for part in path_point(path, 0.0)[0][:3]))


def _repeated(values: Sequence[Any], V: int) -> Array:
    """A value of each case, a number or (V,), as those of all vehicles, (cases × V,)."""
    if any(np.ndim(value) for value in values):
        return np.concatenate([np.broadcast_to(np.asarray(v, float), (V,)) for v in values])
    return np.repeat(np.array(values, dtype=float), V)


def driving(cases: Sequence[Case], V: int) -> dict[str, Any]:
    """Parameters of the driver that differ between vehicles, by name, each (cases × V,)."""
    fields: defaultdict[str, list[Any]] = defaultdict(list)
    names = {f"{name}" for case in cases for name in case.driving}
    for case in cases:
        path = straight() if case.path is None else case.path
        leaves = zip(record.names(type(path)), record.flatten(path), strict=True)
        values = {f"path.{name}": leaf for name, leaf in leaves}
        values |= {"follow": 0.0 if case.path is None else 1.0, "steer_gain": case.amplitude}
        values |= {name: case.driving.get(name, _default(name)) for name in names}
        for name, value in values.items():
            fields[f"drive.{name}"].append(value)
    return {name: _repeated(values, V) for name, values in fields.items()}


def _default(name: str) -> float:
    """Of a field of `Driving`, by a name such as "speed.k_p"."""
    value: Any = Driving
    first, *rest = name.split(".")
    value = Driving._field_defaults[first]
    for part in rest:
        value = getattr(value, part)
    return value
