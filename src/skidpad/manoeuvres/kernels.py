"""The compiled vehicles of a proving ground, and cases as the arrays of their rollouts.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
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
from .driver import Driving, Told, driver
from .path import path_point, straight
from .signals import signals_of
from .subject import Subject

__all__ = ["Kernels"]

MANY = 64
"""Variants from which on cases are driven one after the other, to save memory."""


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
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        for k, (car, case) in enumerate(asked):
            kind = None if case.road is None else type(record_of(case.road))
            alone = k if car.variants >= MANY else -1
            groups[kind, case.rests, id(car), self._steps(case), alone].append(k)
        runs: list[Any] = [None] * len(asked)
        for places in groups.values():
            driven = self._rollout(asked[places[0]][0], [asked[k][1] for k in places])
            for k, run in zip(places, driven, strict=True):
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
        vehicles = [_on_road(car.vehicle, case) for case in cases]
        vehicle = vehicles[0]
        # One kernel on roads: wheels may come to rest on them.
        fleet, policy = self._fleet(vehicle, cases[0].rests or cases[0].road is not None)
        before, after = self._steps(cases[0])
        t: Array = np.arange(-before, after, dtype=float) * self.dt
        V, own = car.variants, {name: np.tile(row, len(cases)) for name, row in car.params.items()}
        own |= _roads(cases, V)
        told = np.stack([_told(case, t) for case in cases], axis=1)
        told = told if len(cases) == 1 else np.repeat(told, V, axis=1)
        starts = zip(vehicles, cases, strict=True)
        start = np.concatenate([_start(placed, case, car) for placed, case in starts])
        driving = _driving(cases, V) | {f"car.vehicle.{name}": own[name] for name in own}
        disturbances = _disturbances(vehicle, cases, t, V)
        states, memory = fleet.rollout(
            start,
            told,
            every=self.every,
            params=own or None,
            disturbances=disturbances,
            policy=policy,
            policy_params=driving,
            return_memory=True,
        )
        at = np.minimum(np.arange(0, len(t) + 1, self.every), len(t) - 1)
        loop = fleet.loop(policy)
        outputs = loop.outputs(
            np.concatenate([states, memory], axis=-1),
            np.broadcast_to(told[at], (len(at), states.shape[1], told.shape[2])),
            params={**own, **{f"policy.{name}": row for name, row in driving.items()}},
            disturbances=None if disturbances is None else disturbances[at],
        )
        times: Array = np.arange(-before, after + 1, self.every, dtype=float) * self.dt
        runs: list[CaseRun] = []
        for k, case in enumerate(cases):
            mine = slice(k * V, (k + 1) * V)
            part = np.s_[:, mine]
            runs.append(
                signals_of(
                    vehicle, case.label, times, states[part], memory[part], outputs[part],
                    loop.plant.Outputs, {name: row[mine] for name, row in own.items()},
                )
            )  # fmt: skip
        return runs


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
    signals: Any = Told  # of arrays
    return np.stack(
        signals(
            steer=case.over(case.steer, t),
            v=case.over(case.speed, t),
            a=case.over(case.a, t),
            hold=case.over(case.holding, t),
            omega=case.over(case.omega, t),
            handbrake=case.over(case.handbrake, t),
            coast=case.over(case.coast, t),
        ),
        axis=-1,
    )


def _start(vehicle: Vehicle, case: Case, car: Subject) -> Array:
    """Start states of all variants, (V, nx)."""
    model, V = vehicle.model, car.variants
    rows = np.tile(np.array(record.flatten(vehicle.params), dtype=float)[:, None], (1, V))
    names = record.names(model.Params)
    for name, row in car.params.items():
        rows[names.index(name)] = row
    p = record.unflatten(model.Params, list(rows))
    zero = np.zeros(V)
    start = record.build(model.State)
    x = record.unflatten(model.State, [zero + value for value in record.flatten(start)])
    pose = case.pose
    if pose is None and case.path is not None:
        pose = Pose(*(float(part) for part in path_point(case.path, 0.0)[0][:3]))
    places: Any = [zero + part for part in pose or (0.0, 0.0, 0.0)]
    motion: Any = zero + case.v, zero, zero
    x = vehicle.body.placed(x, Pose(*places), Velocity(*motion), p)
    x = x._replace(**{name: zero + value for name, value in case.start.items()})
    x = x if model.settle is None else model.settle(x, p)
    return np.stack([zero + column for column in record.flatten(x)], axis=-1)


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


def _disturbances(vehicle: Vehicle, cases: Sequence[Case], t: Array, V: int) -> Array | None:
    """What disturbs at each step, (T, cases × V or 1, fields); None where nothing does."""
    if not any(case.disturbance for case in cases):
        return None
    kind = vehicle.model.Disturbance
    neutral = dict(zip(record.names(kind), record.flatten(record.build(kind)), strict=True))
    columns: list[Array] = []
    for case in cases:
        signals = neutral | dict(case.disturbance)
        columns.append(np.stack([case.over(signals[name], t) for name in neutral], axis=-1))
    told = np.stack(columns, axis=1)
    return told if len(cases) == 1 else np.repeat(told, V, axis=1)
