"""The compiled vehicles of a proving ground, and cases as the arrays of their rollouts.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import ceil
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from .. import record
from ..arrays import Array
from ..integrate.base import Integrator
from ..model import Vehicle
from ..road.records import record_of
from ..run.fleet import Fleet
from ..run.stability import AUTO, EXPLICIT, automatic, takes
from ..units import s
from ..vehicles.on_road import off_road, on_road
from ..workers import cores, share
from .case import Case
from .case_arrays import at_steps, disturbing, driving, roads, starts, told
from .case_run import CaseRun
from .driver import Memory, driver
from .open_loop import driven_open, is_open
from .signals import params_of, signals_of
from .subject import Subject

__all__ = ["Kernels"]

MANY = 64
"""Variants from which on cases are driven one after the other, to save memory."""
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

        def drive_all(kinds: list[list[list[int]]]) -> None:
            for members in chain.from_iterable(kinds):
                car = asked[members[0]][0]
                drive = self._open if is_open(car.vehicle) else self._rollout
                driven = drive(car, [asked[k][1] for k in members])
                for k, run in zip(members, driven, strict=True):
                    runs[k] = run

        with catch_warnings():
            # That wheels at walking pace want another integrator is why cases tell it.
            simplefilter("ignore", UserWarning)
            by_kernel: defaultdict[str, list[list[list[int]]]] = defaultdict(list)
            for places in alike.values():
                fleet = self._driven_fleet(*asked[places[0]])
                steps = [sum(self._steps(asked[k][1])) for k in places]
                groups = together(steps, asked[places[0]][0].variants, fleet.lanes)
                members = [[places[k] for k in group] for group in groups]
                by_kernel[fleet.plant.step.digest].append(members)
            # While one kernel runs, others run and Python makes their arguments. What shares a
            # kernel goes one after the other, so that none is compiled twice.
            threads = min(len(by_kernel), self.threads or cores()) if self.device == "cpu" else 1
            share(drive_all, by_kernel.values(), threads=threads, apart=threads > 1)
        return runs

    def _driven_fleet(self, car: Subject, case: Case) -> Fleet:
        """What runs a case: vehicles with their drivers, or alone where they are told before."""
        if is_open(car.vehicle):
            return self._fleet(car.vehicle, case.rests)[0]
        fleet, policy = self._fleet(_on_road(car.vehicle, case), _stiff(case))
        return fleet.loop(policy)

    def _steps(self, case: Case) -> tuple[int, int]:
        """Before and after time zero, whole samples."""
        sample = self.dt * self.every
        before, after = (round(time / sample) * self.every for time in (case.run_in, case.duration))
        return before, max(after, self.every)

    def _fleet(self, vehicle: Vehicle, rests: bool) -> tuple[Fleet, Any]:
        """The vehicle as a fleet, and its driver."""
        # The heights of a road are parameters of each rollout.
        level = off_road(vehicle)
        kind = level, vehicle.model, rests
        if kind not in self._made:
            key = level, vehicle.model, self._method(level, rests)
            if key not in self._made:
                how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
                self._made[key] = Fleet(vehicle, self.dt, key[-1], **how), driver(vehicle)
            self._made[kind] = self._made[key]
        return self._made[kind]

    def _method(self, vehicle: Vehicle, rests: bool) -> str | Integrator:
        """How a vehicle on level ground is stepped, if it comes to rest or not."""
        if not vehicle.model.continuous:
            return AUTO
        if not rests and takes(vehicle, EXPLICIT, self.dt):
            return EXPLICIT
        step = automatic(vehicle, self.dt, vehicle.model.substeps)
        return EXPLICIT if step.name == EXPLICIT else step

    def _rollout(self, car: Subject, cases: list[Case]) -> list[CaseRun]:
        """Cases of one kind at once, each as long as it asks for."""
        vehicles = [_on_road(car.vehicle, case) for case in cases]
        fleet, policy = self._fleet(vehicles[0], _stiff(cases[0]))
        V, own = car.variants, {name: np.tile(row, len(cases)) for name, row in car.params.items()}
        own |= roads(cases, V)
        steps = [self._steps(case) for case in cases]
        count = np.arange(max(before + after for before, after in steps), dtype=float)
        t = [(count - before) * self.dt for before, _ in steps]
        references = told(cases, t, V)
        drives = driving(cases, V) | {f"car.vehicle.{name}": own[name] for name in own}
        disturbances = disturbing(vehicles[0], cases, t, V)
        # The vehicle with its driver is one vehicle, whose state has the driver's memory behind.
        start = starts(vehicles, cases, car)
        loop, fresh = fleet.loop(policy), record.flatten(record.build(Memory))
        params = {**own, **{f"policy.{name}": row for name, row in drives.items()}}
        whole = np.concatenate([start, np.tile(fresh, (len(start), 1))], axis=1)
        # Neighbours side by side in memory: signals are then rows of it.
        both = loop.rollout(
            whole.T,
            _over_steps(references),
            steps=len(count),
            every=self.every,
            params=params,
            disturbances=None if disturbances is None else _over_steps(disturbances),
            layout="soa",
        ).swapaxes(1, 2)
        samples: Array = np.arange(0, len(count) + 1, self.every, dtype=float)
        # At the end of a case holds what was told at its last step.
        last = np.repeat([before + after - 1 for before, after in steps], V)
        at = np.minimum(samples[:, None], last).astype(int)
        outputs = loop.outputs(
            both,
            at_steps(references, at),
            params=params,
            disturbances=None if disturbances is None else at_steps(disturbances, at),
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
            start = starts([vehicle], [case], car)
            states, outputs, Outputs = driven_open(fleet, case, t, start, p, self.every)
            memory = np.zeros((*states.shape[:2], record.size(Memory)))
            run = signals_of(vehicle, times, states, memory, outputs, Outputs, car.params)
            runs.append(replace(run, label=case.label))
        return runs


def together(steps: Sequence[int], variants: int, lanes: int) -> list[list[int]]:
    """Which cases, by their numbers of steps, are driven in one rollout.

    Longest first; shorter ones join as long as they cost nothing, because there are lanes free, or
    are nearly as long.
    """
    groups: list[list[int]] = []
    for k in sorted(range(len(steps)), key=lambda k: -steps[k]):
        if groups and variants < MANY:
            group, longest = groups[-1], steps[groups[-1][0]]
            before, after = len(group) * variants, (len(group) + 1) * variants
            free = ceil(before / lanes) == ceil(after / lanes)
            if (free or steps[k] >= SHORTER * longest) and after * longest <= MOST:
                group.append(k)
                continue
        groups.append([k])
    return groups


def _part(driven: CaseRun, case: Case, t: Array, samples: int, k: int, V: int) -> CaseRun:
    """The run of one of several cases that were driven at once."""
    part = np.s_[: samples + 1, k * V : (k + 1) * V]
    signals = {name: rows[part] for name, rows in driven.signals.items()}
    assert driven.states is not None
    assert driven.inputs is not None
    states, inputs = driven.states[part], driven.inputs[part]
    return CaseRun(case.label, t[: samples + 1], signals, states, inputs)


def _over_steps(signals: Array) -> Array:
    """Signals (T or 1, vehicles, fields) as a rollout takes them: (T, fields, vehicles), or one
    row that is held."""
    each = signals.swapaxes(1, 2)
    return each if len(each) > 1 else each[0]


def _stiff(case: Case) -> bool:
    """Whether a case is driven by steps for stiff motion. One kernel on roads: wheels may come to
    rest on them."""
    return case.rests or case.road is not None


def _on_road(vehicle: Vehicle, case: Case) -> Vehicle:
    """The vehicle on the road of a case."""
    return vehicle if case.road is None else on_road(vehicle, case.road)
