"""The compiled vehicles of a proving ground, and cases as the arrays of their rollouts.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Pose, Velocity
from ..model import Vehicle
from ..road.records import record_of
from ..run.fleet import Fleet
from ..run.stability import AUTO, EXPLICIT, automatic, takes
from ..units import s
from ..vehicles.on_road import off_road, on_road
from .case import Case
from .case_run import CaseRun
from .driver import Driving, Memory, Told, driver
from .open_loop import driven_open, is_open
from .path import path_point, straight
from .signals import params_of, signals_of
from .subject import Subject

__all__ = ["Kernels"]

MANY = 64
"""Variants from which on cases are driven one after the other, to save memory."""
ABREAST = 16
"""Vehicles that cost no more than one: lanes of two threads."""
SHORTER = 0.75
"""Share of the longest drive down to which shorter ones go along and end when they are done."""
MOST = 2_000_000
"""Vehicles times steps of one rollout, to save memory."""


@dataclass(frozen=True)
class Kernels:
    """How vehicles are run."""

    dt: s = 0.001
    """Step of the simulation and of the driver."""
    every: int = 10
    """Steps from sample to sample."""
    threads: int | None = None
    device: str = "cpu"
    _made: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)

    def drive(self, asked: Sequence[tuple[Subject, Case]]) -> list[CaseRun]:
        """What comes of each case."""
        alike: defaultdict[Any, list[int]] = defaultdict(list)
        for k, (car, case) in enumerate(asked):
            kind = None if case.road is None else type(record_of(case.road))
            alike[kind, case.rests, id(car)].append(k)
        runs: list[Any] = [None] * len(asked)
        for places in alike.values():
            car = asked[places[0]][0]
            steps = [sum(self._steps(asked[k][1])) for k in places]
            for group in together(steps, car.variants):
                members = [places[k] for k in group]
                drive = self._open if is_open(car.vehicle) else self._rollout
                driven = drive(car, [asked[k][1] for k in members])
                for k, run in zip(members, driven, strict=True):
                    runs[k] = run
        return runs

    def _steps(self, case: Case) -> tuple[int, int]:
        """Before and after time zero, whole samples."""
        sample = self.dt * self.every
        before, after = (round(time / sample) * self.every for time in (case.run_in, case.duration))
        return before, max(after, self.every)

    def _fleet(self, vehicle: Vehicle, rests: bool) -> tuple[Fleet, Any]:
        """The vehicle as a fleet, and its driver."""
        explicit = vehicle.model.continuous and not rests and takes(vehicle, EXPLICIT, self.dt)
        method = EXPLICIT if explicit else AUTO
        if method == AUTO and vehicle.model.continuous:
            step = automatic(vehicle, self.dt, vehicle.model.substeps)
            method = EXPLICIT if step.name == EXPLICIT else AUTO
        # The heights of a road are parameters of each rollout.
        key = off_road(vehicle), vehicle.model, method
        if key not in self._made:
            with catch_warnings():
                # That wheels at walking pace want another integrator is why cases tell it.
                simplefilter("ignore", UserWarning)
                how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
                self._made[key] = Fleet(vehicle, self.dt, method, **how), driver(vehicle)
        return self._made[key]

    def _rollout(self, car: Subject, cases: list[Case]) -> list[CaseRun]:
        """Cases of one kind at once, each as long as it asks for."""
        vehicles = [_on_road(car.vehicle, case) for case in cases]
        # One kernel on roads: wheels may come to rest on them.
        fleet, policy = self._fleet(vehicles[0], cases[0].rests or cases[0].road is not None)
        V, own = car.variants, {name: np.tile(row, len(cases)) for name, row in car.params.items()}
        own |= _roads(cases, V)
        steps = [self._steps(case) for case in cases]
        count = np.arange(max(before + after for before, after in steps), dtype=float)
        t = [(count - before) * self.dt for before, _ in steps]
        told = _of_each([_told(case, own_t) for case, own_t in zip(cases, t, strict=True)], V)
        driving = _driving(cases, V) | {f"car.vehicle.{name}": own[name] for name in own}
        disturbances = _disturbances(vehicles[0], cases, t, V)
        # The vehicle with its driver is one vehicle, whose state has the driver's memory behind.
        start = _starts(vehicles, cases, car)
        loop, fresh = fleet.loop(policy), record.flatten(record.build(Memory))
        params = {**own, **{f"policy.{name}": row for name, row in driving.items()}}
        whole = np.concatenate([start, np.tile(fresh, (len(start), 1))], axis=1)
        how: Any = {"every": self.every, "params": params, "layout": "soa"}
        if disturbances is not None:
            how["disturbances"] = disturbances.swapaxes(1, 2)
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # as where the fleet is made
            # Neighbours side by side in memory: signals are then rows of it.
            both = loop.rollout(whole.T, told.swapaxes(1, 2), **how).swapaxes(1, 2)
        samples: Array = np.arange(0, len(count) + 1, self.every, dtype=float)
        # At the end of a case holds what was told at its last step.
        last = np.repeat([before + after - 1 for before, after in steps], V)
        at = np.minimum(samples[:, None], last).astype(int)
        outputs = loop.outputs(
            both,
            _told_at(told, at),
            params=params,
            disturbances=None if disturbances is None else _told_at(disturbances, at),
        )
        states, memory = np.split(both, [start.shape[1]], axis=2)
        kind = loop.plant.Outputs
        driven = signals_of(vehicles[0], samples * self.dt, states, memory, outputs, kind, own)
        return [
            _part(driven, case, (samples - before) * self.dt, (before + after) // self.every, k, V)
            for k, (case, (before, after)) in enumerate(zip(cases, steps, strict=True))
        ]

    def _open(self, car: Subject, cases: list[Case]) -> list[CaseRun]:
        """Of a vehicle that no driver can be in the loop of, one after the other."""
        vehicle, p = car.vehicle, params_of(car.vehicle, car.params)
        runs: list[CaseRun] = []
        for case in cases:
            fleet, _ = self._fleet(vehicle, case.rests)
            before, after = self._steps(case)
            t: Array = np.arange(-before, after, dtype=float) * self.dt
            times: Array = np.arange(-before, after + 1, self.every, dtype=float) * self.dt
            start = _starts([vehicle], [case], car)
            states, outputs, Outputs = driven_open(fleet, case, t, start, p, self.every)
            memory = np.zeros((*states.shape[:2], record.size(Memory)))
            run = signals_of(vehicle, times, states, memory, outputs, Outputs, car.params)
            runs.append(replace(run, label=case.label))
        return runs


def together(steps: Sequence[int], variants: int) -> list[list[int]]:
    """Which cases, by their numbers of steps, are driven in one rollout.

    Longest first; shorter ones join as long as they cost nothing, or are nearly as long.
    """
    groups: list[list[int]] = []
    for k in sorted(range(len(steps)), key=lambda k: -steps[k]):
        if groups and variants < MANY:
            group, longest = groups[-1], steps[groups[-1][0]]
            before, after = len(group) * variants, (len(group) + 1) * variants
            free = ceil(before / ABREAST) == ceil(after / ABREAST)
            if (free or steps[k] >= SHORTER * longest) and after * longest <= MOST:
                group.append(k)
                continue
        groups.append([k])
    return groups


def _of_each(rows: Sequence[Array], V: int) -> Array:
    """Signals (T, fields) of cases as those of vehicles, (T, cases × V, fields); of one case as
    those of all."""
    told = np.stack(rows, axis=1)
    return told if len(rows) == 1 or V == 1 else np.repeat(told, V, axis=1)


def _told_at(told: Array, at: Any) -> Array:
    """Of signals (T, vehicles or 1, fields) those at steps (samples, vehicles)."""
    column = np.arange(at.shape[1]) if told.shape[1] > 1 else 0
    return told[at, column]


def _part(driven: CaseRun, case: Case, t: Array, samples: int, k: int, V: int) -> CaseRun:
    """The run of one of several cases that were driven at once."""
    part = np.s_[: samples + 1, k * V : (k + 1) * V]
    signals = {name: rows[part] for name, rows in driven.signals.items()}
    assert driven.states is not None
    assert driven.inputs is not None
    states, inputs = driven.states[part], driven.inputs[part]
    return CaseRun(case.label, t[: samples + 1], signals, states, inputs)


def _on_road(vehicle: Vehicle, case: Case) -> Vehicle:
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


def _starts(vehicles: Sequence[Vehicle], cases: Sequence[Case], car: Subject) -> Array:
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
