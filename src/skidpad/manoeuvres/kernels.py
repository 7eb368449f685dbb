"""The compiled vehicles of a proving ground, and the rollouts that cases are driven in.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from .. import record
from ..arrays import Array
from ..integrate.base import Integrator
from ..model import Vehicle
from ..policy import Policy
from ..road.records import record_of
from ..run.fleet import Fleet
from ..run.stability import AUTO, EXPLICIT, automatic, takes
from ..units import s
from ..vehicles.on_road import off_road
from ..workers import cores, share
from .case import Case
from .case_arrays import CaseArrays, arrays_of, at_steps, on_its_road, side_by_side, starts
from .case_run import CaseRun
from .driver import Memory, driver
from .drives import Drive, differing, shared, together
from .open_loop import driven_open, is_open
from .signals import params_of, signals_of
from .subject import Subject

__all__ = ["Kernels"]

MOST_FLEETS, MOST_METHODS = 64, 1024
"""Compiled models, and ways to step a vehicle, that are kept."""


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
    _methods: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)

    def drive(self, asked: Sequence[tuple[Subject, Case]]) -> list[CaseRun]:
        """What comes of each case."""
        alike: defaultdict[Any, list[int]] = defaultdict(list)
        for k, (car, case) in enumerate(asked):
            kind = None if case.road is None else type(record_of(case.road))
            alike[kind, case.rests, id(car)].append(k)
        runs: list[Any] = [None] * len(asked)

        def drive_all(drives: list[Drive]) -> None:
            for those in shared(drives):
                driven = self._open(those[0]) if those[0].is_open else self._rollout(those)
                for one, own in zip(those, driven, strict=True):
                    for k, run in zip(one.places, own, strict=True):
                        runs[k] = run

        with catch_warnings():
            # That wheels at walking pace want another integrator is why cases tell it.
            simplefilter("ignore", UserWarning)
            by_kernel: defaultdict[str, list[Drive]] = defaultdict(list)
            for places in alike.values():
                for drive in self._drives(asked[places[0]][0], places, asked):
                    by_kernel[drive.fleet.plant.step.digest].append(drive)
            # While one kernel runs, others run and Python makes their arguments. What shares a
            # kernel goes one after the other, so that none is compiled twice.
            threads = min(len(by_kernel), self.threads or cores()) if self.device == "cpu" else 1
            share(drive_all, by_kernel.values(), threads=threads, apart=threads > 1)
        return runs

    def _drives(
        self, car: Subject, places: list[int], asked: Sequence[tuple[Subject, Case]]
    ) -> Iterator[Drive]:
        """Cases of one kind and one vehicle under test, as they are driven at once."""
        cases = [asked[k][1] for k in places]
        vehicle = on_its_road(car.vehicle, cases[0])
        own = driver(vehicle)
        alone = is_open(vehicle)
        rests = cases[0].rests if alone else _stiff(cases[0])
        fleet, policy = self._fleet(vehicle, rests, own, whose=vehicle if alone else None)
        loop = fleet if alone else fleet.loop(policy)
        steps = [self._steps(case) for case in cases]
        for group in together([sum(both) for both in steps], car.variants, loop.lanes):
            yield Drive(
                car=car,
                cases=[cases[k] for k in group],
                steps=[steps[k] for k in group],
                places=[places[k] for k in group],
                driver=own,
                fleet=loop,
                made_with=fleet.vehicle,
                policy=policy,
            )

    def _steps(self, case: Case) -> tuple[int, int]:
        """Before and after time zero, whole samples."""
        sample = self.dt * self.every
        before, after = (round(time / sample) * self.every for time in (case.run_in, case.duration))
        return before, max(after, self.every)

    def _fleet(
        self, vehicle: Vehicle, rests: bool, own: Policy, whose: Any = None
    ) -> tuple[Fleet, Policy]:
        """A fleet of the vehicle's model, and the driver of the vehicle that it was made with: of
        this one, or of another that is stepped and driven alike.

        Parameters of others and heights of a road are those of each rollout.
        """
        level = off_road(vehicle)
        kind = level, vehicle.model, rests
        method = self._methods.get(kind)
        if method is None:
            _make_room(self._methods, MOST_METHODS)
            self._methods[kind] = method = self._method(level, rests)
        key = vehicle.model, method, own.act, whose
        if key not in self._made:
            _make_room(self._made, MOST_FLEETS)
            how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
            self._made[key] = Fleet(vehicle, self.dt, method, **how), own
        return self._made[key]

    def _method(self, vehicle: Vehicle, rests: bool) -> str | Integrator:
        """How a vehicle on level ground is stepped, if it comes to rest or not."""
        if not vehicle.model.continuous:
            return AUTO
        if not rests and takes(vehicle, EXPLICIT, self.dt):
            return EXPLICIT
        step = automatic(vehicle, self.dt, vehicle.model.substeps)
        return EXPLICIT if step.name == EXPLICIT else step

    def _rollout(self, drives: Sequence[Drive]) -> list[list[CaseRun]]:
        """Cases of one kind at once, each as long as it asks for; by vehicles under test."""
        parts = [arrays_of(one.car, one.cases, one.steps, self.dt) for one in drives]
        loop, counts = drives[0].fleet, [part.count for part in parts]
        references = side_by_side([part.told for part in parts], counts)
        felt = [part.disturbances for part in parts if part.disturbances is not None]
        disturbances = side_by_side(felt, counts) if felt else None
        params = _params(drives, parts)
        # The vehicle with its driver is one vehicle, whose state has the driver's memory behind.
        start = np.concatenate([part.start for part in parts])
        fresh = record.flatten(record.build(Memory))
        whole = np.concatenate([start, np.tile(fresh, (len(start), 1))], axis=1)
        count = max(part.longest for part in parts)
        # Neighbours side by side in memory: signals are then rows of it.
        both = loop.rollout(
            whole.T,
            _over_steps(references),
            steps=count,
            every=self.every,
            params=params,
            disturbances=None if disturbances is None else _over_steps(disturbances),
            layout="soa",
        ).swapaxes(1, 2)
        samples: Array = np.arange(0, count + 1, self.every, dtype=float)
        # At the end of a case holds what was told at its last step.
        last = np.concatenate([part.last for part in parts])
        at = np.minimum(samples[:, None], last).astype(int)
        outputs = loop.outputs(
            both,
            at_steps(references, at),
            params=params,
            disturbances=None if disturbances is None else at_steps(disturbances, at),
        )
        ends = np.cumsum(counts).tolist()
        return [
            self._runs(one, part, (both, outputs), slice(end - part.count, end))
            for one, part, end in zip(drives, parts, ends, strict=True)
        ]

    def _runs(
        self, drive: Drive, part: CaseArrays, driven: tuple[Array, Array], place: slice
    ) -> list[CaseRun]:
        """The runs of one of several drives that shared a rollout."""
        samples: Array = np.arange(0, part.longest + 1, self.every, dtype=float)
        alone = len(samples), part.count
        # As it would lie in memory alone: NumPy computes what lies otherwise by other loops.
        both, outputs = (
            whole if whole.shape[:2] == alone else whole[: len(samples), place].copy(order="K")
            for whole in driven
        )
        states, memory = np.split(both, [part.start.shape[1]], axis=2)
        kind, t = drive.fleet.plant.Outputs, samples * self.dt
        run = signals_of(part.vehicle, t, states, memory, outputs, kind, part.own)
        return [
            _part(run, case, (samples - steps[0]) * self.dt, sum(steps) // self.every, k, part.V)
            for k, (case, steps) in enumerate(zip(drive.cases, part.steps, strict=True))
        ]

    def _open(self, drive: Drive) -> list[list[CaseRun]]:
        """Of a vehicle that no driver can be in the loop of, one after the other."""
        car, fleet = drive.car, drive.fleet
        vehicle, p = car.vehicle, params_of(car.vehicle, car.params)
        runs: list[CaseRun] = []
        for case in drive.cases:
            before, after = self._steps(case)
            t: Array = np.arange(-before, after, dtype=float) * self.dt
            times: Array = np.arange(-before, after + 1, self.every, dtype=float) * self.dt
            start = starts([vehicle], [case], car)
            states, outputs, Outputs = driven_open(fleet, case, t, start, p, self.every)
            memory = np.zeros((*states.shape[:2], record.size(Memory)))
            run = signals_of(vehicle, times, states, memory, outputs, Outputs, car.params)
            runs.append(replace(run, label=case.label))
        return [runs]


def _make_room(kept: dict[Any, Any], most: int) -> None:
    """Drop the oldest of what is kept."""
    while len(kept) >= most:
        kept.pop(next(iter(kept)), None)


def _params(drives: Sequence[Drive], parts: Sequence[CaseArrays]) -> dict[str, Array]:
    """Parameters of all vehicles of a rollout that differ from those of the vehicle that its fleet
    was made with and of its driver, by name, (N,) each."""
    first, counts = drives[0], [part.count for part in parts]
    own = [(part.own, part.vehicle.params) for part in parts]
    driving = [(part.driving, one.driver.params) for one, part in zip(drives, parts, strict=True)]
    told = differing(first.policy.params, driving, counts)
    return {
        **differing(first.made_with.params, own, counts),
        **{f"policy.{name}": row for name, row in told.items()},
    }


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
