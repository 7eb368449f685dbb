"""The compiled vehicles of a proving ground, and which cases they drive in one rollout.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from .. import record
from ..arrays import Array
from ..model import Vehicle
from ..policy import Policy
from ..road.records import record_of
from ..run.fleet import Fleet
from ..run.stability import AUTO, EXPLICIT, automatic, takes
from ..units import s
from ..vehicles.on_road import off_road
from .case import Case
from .case_arrays import CaseArrays, arrays_of, of_all, on_road_of, starts, told_at
from .case_run import CaseRun
from .driver import Memory, driver
from .open_loop import driven_open, is_open
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
MOST_FLEETS = 64
"""Compiled vehicles that are kept."""
FEW = 64
"""Vehicles of one rollout from which on it is not faster with those of others."""


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
        drives: defaultdict[Any, list[_Drive]] = defaultdict(list)
        for (*kind, _), places in alike.items():
            car = asked[places[0]][0]
            steps = [self._steps(asked[k][1]) for k in places]
            for group in together([sum(both) for both in steps], car.variants):
                cases = [asked[places[k]][1] for k in group]
                own = _Drive(car, cases, [steps[k] for k in group], [places[k] for k in group])
                if is_open(car.vehicle):
                    own.hand(self._open(car, cases), runs)
                    continue
                # One kernel on roads: wheels may come to rest on them.
                rests = cases[0].rests or cases[0].road is not None
                own = own._replace(method=self._method(on_road_of(car.vehicle, cases[0]), rests))
                drives[*kind, own.kind].append(own)
        for alike_drives in drives.values():
            for those in shared(alike_drives):
                for one, driven in zip(those, self._rollout(those), strict=True):
                    one.hand(driven, runs)
        return runs

    def _steps(self, case: Case) -> tuple[int, int]:
        """Before and after time zero, whole samples."""
        sample = self.dt * self.every
        before, after = (round(time / sample) * self.every for time in (case.run_in, case.duration))
        return before, max(after, self.every)

    def _method(self, vehicle: Vehicle, rests: bool) -> tuple[str, str]:
        """What is asked for to step a vehicle, and what this comes to."""
        if not vehicle.model.continuous:
            return AUTO, ""
        if not rests and takes(vehicle, EXPLICIT, self.dt):
            return EXPLICIT, EXPLICIT
        step = automatic(vehicle, self.dt, vehicle.model.substeps)
        return (EXPLICIT, EXPLICIT) if step.name == EXPLICIT else (AUTO, repr(step))

    def _fleet(self, vehicle: Vehicle, method: tuple[str, str], whose: Any = None) -> Any:
        """A fleet of the vehicle's model, and the driver of its vehicle. Parameters of others and
        heights of a road are those of each rollout."""
        key = vehicle.model, method, whose
        if key not in self._made:
            while len(self._made) >= MOST_FLEETS:
                self._made.pop(next(iter(self._made)), None)
            with catch_warnings():
                # That wheels at walking pace want another integrator is why cases tell it.
                simplefilter("ignore", UserWarning)
                how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
                self._made[key] = Fleet(vehicle, self.dt, method[0], **how), driver(vehicle)
        return self._made[key]

    def _rollout(self, asked: Sequence[_Drive]) -> list[list[CaseRun]]:
        """Cases of one kind at once, each as long as it asks for; by vehicles under test."""
        parts = [arrays_of(one.car, one.cases, one.steps, self.dt) for one in asked]
        fleet, policy = self._fleet(parts[0].vehicle, asked[0].method)
        counts = [part.count for part in parts]
        told = of_all([part.told for part in parts], counts)
        params = _params(fleet.vehicle, policy, parts)
        # The vehicle with its driver is one vehicle, whose state has the driver's memory behind.
        start = np.concatenate([part.start for part in parts])
        loop, fresh = fleet.loop(policy), record.flatten(record.build(Memory))
        whole = np.concatenate([start, np.tile(fresh, (len(start), 1))], axis=1)
        how: Any = {"every": self.every, "params": params, "layout": "soa"}
        disturbances = None
        if parts[0].disturbances is not None:
            felt: Any = [part.disturbances for part in parts]
            disturbances = of_all(felt, counts)
            how["disturbances"] = disturbances.swapaxes(1, 2)
        with catch_warnings():
            simplefilter("ignore", UserWarning)  # as where the fleet is made
            # Neighbours side by side in memory: signals are then rows of it.
            both = loop.rollout(whole.T, told.swapaxes(1, 2), **how).swapaxes(1, 2)
        samples: Array = np.arange(0, len(told) + 1, self.every, dtype=float)
        # At the end of a case holds what was told at its last step.
        last = np.concatenate([part.last for part in parts])
        at = np.minimum(samples[:, None], last).astype(int)
        outputs = loop.outputs(
            both,
            told_at(told, at),
            params=params,
            disturbances=None if disturbances is None else told_at(disturbances, at),
        )
        ends = np.cumsum(counts).tolist()
        return [
            self._runs(one, part, (both, outputs), slice(end - part.count, end), loop.plant.Outputs)
            for one, part, end in zip(asked, parts, ends, strict=True)
        ]

    def _runs(
        self, asked: _Drive, part: CaseArrays, driven: tuple[Array, Array], place: slice, kind: type
    ) -> list[CaseRun]:
        """The runs of one of several that shared a rollout."""
        rows = len(part.told) // self.every + 1
        samples: Array = np.arange(0, len(part.told) + 1, self.every, dtype=float)
        # As it would lie in memory alone: NumPy computes what lies otherwise by other loops.
        both, outputs = (
            whole if whole.shape[:2] == (rows, part.count) else whole[:rows, place].copy(order="K")
            for whole in driven
        )
        states, memory = np.split(both, [part.start.shape[1]], axis=2)
        told = signals_of(part.vehicle, samples * self.dt, states, memory, outputs, kind, part.own)
        return [
            _part(
                told, case, (samples - before) * self.dt, (before + after) // self.every, k, part.V
            )
            for k, (case, (before, after)) in enumerate(zip(asked.cases, part.steps, strict=True))
        ]

    def _open(self, car: Subject, cases: list[Case]) -> list[CaseRun]:
        """Of a vehicle that no driver can be in the loop of, one after the other."""
        vehicle, p = car.vehicle, params_of(car.vehicle, car.params)
        runs: list[CaseRun] = []
        for case in cases:
            fleet, _ = self._fleet(vehicle, self._method(vehicle, case.rests), off_road(vehicle))
            before, after = self._steps(case)
            t: Array = np.arange(-before, after, dtype=float) * self.dt
            times: Array = np.arange(-before, after + 1, self.every, dtype=float) * self.dt
            start = starts([vehicle], [case], car)
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


class _Drive(NamedTuple):
    """Cases that one vehicle under test drives in one rollout."""

    car: Subject
    cases: list[Case]
    steps: list[tuple[int, int]]
    places: list[int]
    """Of the cases among all that were asked for."""
    method: tuple[str, str] = ("", "")
    """Of its steps; see `Kernels._method`."""

    @property
    def kind(self) -> Any:
        """What has to be the same of those that share a rollout."""
        driving = frozenset(name for case in self.cases for name in case.driving)
        disturbed = any(case.disturbance for case in self.cases)
        return id(self.car.vehicle.model), self.method, driving, disturbed

    @property
    def longest(self) -> int:
        """Steps of the rollout."""
        return max(map(sum, self.steps))

    @property
    def vehicles(self) -> int:
        """How many the rollout has."""
        return len(self.cases) * self.car.variants

    def hand(self, driven: Sequence[CaseRun], runs: list[Any]) -> None:
        """Put what was driven where it was asked for."""
        for k, run in zip(self.places, driven, strict=True):
            runs[k] = run


def shared(drives: Sequence[_Drive]) -> list[list[_Drive]]:
    """Which drives of one kind go into one rollout: those about as long, as memory allows."""
    groups: list[list[_Drive]] = []
    for one in sorted(drives, key=lambda one: -one.longest):
        longest = groups[-1][0].longest if groups else 0
        count = one.vehicles + (sum(other.vehicles for other in groups[-1]) if groups else 0)
        if one.longest >= SHORTER * longest > 0 and count <= FEW and count * longest <= MOST:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _params(vehicle: Vehicle, policy: Policy, parts: Sequence[CaseArrays]) -> dict[str, Array]:
    """Parameters of all vehicles of a rollout that differ from those of the fleet's vehicle and
    its driver, by name, (N,) each."""
    own = [(part.own, part.vehicle.params) for part in parts]
    driving = [(part.driving, part.knowledge) for part in parts]
    counts = [part.count for part in parts]
    told = _differing(policy.Params, policy.params, driving, counts)
    return {
        **_differing(vehicle.model.Params, vehicle.params, own, counts),
        **{f"policy.{name}": row for name, row in told.items()},
    }


def _differing(
    kind: type, base: Any, parts: Sequence[tuple[dict[str, Array], Any]], counts: Sequence[int]
) -> dict[str, Array]:
    """Rows of several, one behind the other: those of the names that one has rows of, or in which
    the record of one differs from the base."""
    usual = record.flatten(base)
    leaves = [usual if other is None else record.flatten(other) for _, other in parts]
    out: dict[str, Array] = {}
    for k, name in enumerate(record.names(kind)):
        rows = [own.get(name) for own, _ in parts]
        values = [leaf[k] for leaf in leaves]
        if any(row is not None for row in rows) or any(value != usual[k] for value in values):
            out[name] = np.concatenate(
                [
                    np.full(count, value, dtype=float) if row is None else row
                    for row, value, count in zip(rows, values, counts, strict=True)
                ]
            )
    return out


def _part(driven: CaseRun, case: Case, t: Array, samples: int, k: int, V: int) -> CaseRun:
    """The run of one of several cases that were driven at once."""
    part = np.s_[: samples + 1, k * V : (k + 1) * V]
    signals = {name: rows[part] for name, rows in driven.signals.items()}
    assert driven.states is not None
    assert driven.inputs is not None
    states, inputs = driven.states[part], driven.inputs[part]
    return CaseRun(case.label, t[: samples + 1], signals, states, inputs)
