"""Compiled vehicles of the proving ground, and the rollouts in which cases are driven.

A vehicle needs three kernels: one with cheap steps for level ground, one with steps that are stable
at rest, and one for a road, whose heights are parameters. If one kind of step suits all speeds, two
are enough. `Drive` has the arrays of a rollout: inputs, parameters of drivers, roads and starts.
`group_cases` and `group_drives` choose the cases of a rollout, from one vehicle and from
other vehicles of the same model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import ceil
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Velocity
from ...core.model import Vehicle
from ...core.policy import Policy
from ...core.threads import cores, share
from ...road.records import record_of
from ...run.fleet import Fleet
from ...run.stability import AUTO, EXPLICIT, automatic, takes
from ...units import s
from ...vehicles.variants import off_road, on_road
from .case import (
    Case,
    DriverInput,
    Driving,
    Memory,
    Signal,
    driver,
    is_open,
    path_point,
    simulate_open_loop,
    straight,
)
from .case_run import CaseRun, params_of, signals_of
from .subject import Subject

MANY = 64
"""Number of variants from which on cases are driven one after the other, to save memory."""
SHORTER = 0.75
"""Least length of a case, as a share of the longest, to join its rollout."""
MOST = 2_000_000
"""Largest product of vehicles and steps in a rollout, to save memory."""
FEW = 64
"""Number of vehicles above which sharing a rollout is no faster."""


@dataclass(frozen=True, eq=False)
class Drive:
    """Batch of cases that one vehicle under test drives at once, in V variants: N = cases × V
    vehicles.

    The shapes of its arrays do not depend on other cases in the same rollout.
    """

    car: Subject
    cases: Sequence[Case]
    steps: Sequence[tuple[int, int]]
    """Number of steps of each case before and after time zero."""
    places: Sequence[int]
    """Indices of the cases in the request."""
    dt: s
    driver: Policy
    """The driver of this vehicle."""
    fleet: Fleet
    """Vehicles with their drivers; vehicles alone if the commands are fixed in advance."""
    made_with: Vehicle
    """Vehicle that the fleet was made with; its parameters may differ."""
    policy: Policy
    """Driver of `made_with`."""

    @cached_property
    def vehicles(self) -> list[Vehicle]:
        """Vehicle of each case, on its road if it has one; keeps the arrays of the roads alive."""
        return [vehicle_on_road(self.car.vehicle, case) for case in self.cases]

    @property
    def longest(self) -> int:
        """Number of steps of the rollout."""
        return max(map(sum, self.steps))

    @property
    def count(self) -> int:
        """Number of vehicles in the rollout, N."""
        return len(self.cases) * self.car.variants

    @property
    def last(self) -> Array:
        """Last step of each vehicle, (N,)."""
        return self._repeated([before + after - 1.0 for before, after in self.steps])

    @property
    def kind(self) -> Any:
        """Key that is equal for cases that can share a rollout."""
        names = frozenset(name for case in self.cases for name in case.driving)
        disturbed = any(case.disturbance for case in self.cases)
        alone = id(self) if is_open(self.car.vehicle) else None
        return id(self.fleet), names, disturbed, alone

    @cached_property
    def own(self) -> dict[str, Array]:
        """Vehicle parameters that differ between the N vehicles, including road parameters, by
        name, (N,) each.
        """
        own = {name: np.tile(row, len(self.cases)) for name, row in self.car.params.items()}
        if self.cases[0].road is None:
            return own
        roads = [record_of(case.road) for case in self.cases]
        rows = np.array([record.flatten(road) for road in roads], dtype=float).T
        names = record.names(type(roads[0]))
        return own | {f"road.{n}": self._repeated(row) for n, row in zip(names, rows, strict=True)}

    @property
    def driving(self) -> dict[str, Array]:
        """Driver parameters that differ between the N vehicles, by name, (N,) each."""
        fields: defaultdict[str, list[Any]] = defaultdict(list)
        usual: dict[str, Any] = {}
        for name in {f"{name}" for case in self.cases for name in case.driving}:
            first, *rest = name.split(".")
            usual[name] = reduce(getattr, rest, Driving._field_defaults[first])
        for case in self.cases:
            path = straight() if case.path is None else case.path
            leaves = zip(record.names(type(path)), record.flatten(path), strict=True)
            values = {f"path.{name}": leaf for name, leaf in leaves}
            values |= {"follow": 0.0 if case.path is None else 1.0, "steer_gain": case.amplitude}
            for name, value in {**values, **usual, **case.driving}.items():
                fields[f"drive.{name}"].append(value)
        driving = {name: self._repeated(values) for name, values in fields.items()}
        return driving | {f"car.vehicle.{name}": row for name, row in self.own.items()}

    def references(self) -> Array:
        """Reference inputs of the drivers at the steps of each case, (T, N or 1, fields).

        A single row if none of them changes.
        """
        signals: Any = DriverInput  # a record whose fields are numbers or functions
        rows = [
            signals(c.steer, c.speed, c.a, c.holding, c.omega, c.handbrake, c.coast)
            for c in self.cases
        ]
        each = self._of_each(rows)
        gains = [case.a_gain for case in self.cases]
        if all(np.ndim(gain) == 0 and gain == 1.0 for gain in gains):
            return each
        if each.shape[1] != self.count:
            each = np.repeat(each.transpose(1, 2, 0), self.car.variants, axis=0).transpose(2, 0, 1)
        each[:, :, DriverInput._fields.index("a")] *= self._repeated(gains)
        return each

    def disturbances(self) -> Array | None:
        """Disturbances at the steps of each case, as in `references`; None without any."""
        if not any(case.disturbance for case in self.cases):
            return None
        kind = self.vehicles[0].model.Disturbance
        neutral = dict(zip(record.names(kind), record.flatten(record.build(kind)), strict=True))
        signals = (neutral | dict(case.disturbance) for case in self.cases)
        return self._of_each([[own[name] for name in neutral] for own in signals])

    def _of_each(self, rows: Sequence[Sequence[Signal | None]]) -> Array:
        """Signals of cases as signals of vehicles, (T or 1, N, fields).

        A single case gives one column for all its vehicles.
        """
        held = not any(callable(signal) for row in rows for signal in row)
        # Each signal is contiguous in memory, so that constants, the most common signals, are
        # written fastest.
        room = np.empty((len(self.cases), len(rows[0]), 1 if held else self.longest))
        steps = np.arange(room.shape[2], dtype=float)
        for of_case, row, case, (before, _) in zip(room, rows, self.cases, self.steps, strict=True):
            t = (steps - before) * self.dt
            for over_time, signal in zip(of_case, row, strict=True):
                over_time[:] = case.over(signal, t) if callable(signal) else signal or 0.0
        V = self.car.variants
        each = room if len(self.cases) == 1 or V == 1 else np.repeat(room, V, axis=0)
        return each.transpose(2, 0, 1)

    def _repeated(self, values: Sequence[Any] | Array) -> Array:
        """A value per case, a number or (V,), repeated for all vehicles, (N,)."""
        V = self.car.variants
        if any(np.ndim(value) for value in values):
            return np.concatenate([np.broadcast_to(np.asarray(v, float), (V,)) for v in values])
        return np.repeat(np.array(values, dtype=float), V)

    def start(self) -> Array:
        """Start states of all variants in all cases, (N, nx)."""
        if self.cases[0].road is None or len(self.cases) == 1:
            return self._start(self.vehicles[0])
        parts = [replace(self, cases=[case]) for case in self.cases]
        pairs = zip(parts, self.vehicles, strict=True)
        return np.concatenate([part._start(vehicle) for part, vehicle in pairs])

    def _start(self, vehicle: Vehicle) -> Array:
        """Start states of cases in which the vehicle has the same parameters."""
        model, V, cases = vehicle.model, self.car.variants, self.cases
        zero = np.zeros(self.count)
        changes = {name: np.tile(row, len(cases)) for name, row in self.car.params.items()}
        p = params_of(vehicle, changes, zero)
        start = record.flatten(record.build(model.State))
        x = record.unflatten(model.State, [zero + value for value in start])
        begins = {None: Pose(0.0, 0.0, 0.0)} | {
            path: Pose(*(float(part) for part in path_point(path, 0.0)[0][:3]))
            for path in {case.path for case in cases if case.pose is None}
            if path is not None
        }
        poses = (begins[case.path] if case.pose is None else case.pose for case in cases)
        places: Any = map(self._repeated, zip(*poses, strict=True))
        motion: Any = self._repeated([case.v for case in cases]), zero, zero
        x = vehicle.body.placed(x, Pose(*places), Velocity(*motion), p)
        for name in sorted({name for case in cases for name in case.start}):
            own = np.broadcast_to(getattr(x, name), zero.shape).reshape(len(cases), V)
            values = zip(cases, own, strict=True)
            starts_with = [case.start.get(name, row) for case, row in values]
            x = x._replace(**{name: self._repeated(starts_with)})
        x = x if model.settle is None else model.settle(x, p)
        return np.stack([zero + column for column in record.flatten(x)], axis=-1)


def vehicle_on_road(vehicle: Vehicle, case: Case) -> Vehicle:
    return vehicle if case.road is None else on_road(vehicle, case.road)


def concatenate_signals(parts: Sequence[Array], counts: Sequence[int]) -> Array:
    """Concatenate signals (T or 1, N or 1, fields) along the vehicles.

    Shorter ones are extended to the longest by holding the last value.
    """
    if len(parts) == 1:
        return parts[0]
    # The result has the memory layout of `Drive._of_each`.
    room = np.empty((sum(counts), parts[0].shape[2], max(map(len, parts))))
    wide, begin = room.transpose(2, 0, 1), 0
    for part, count in zip(parts, counts, strict=True):
        own = wide[:, begin : begin + count]
        own[: len(part)] = part
        own[len(part) :] = part[-1]
        begin += count
    return wide


def at_steps(signals: Array, at: Any) -> Array:
    """Signals (T or 1, vehicles or 1, fields) at the steps `at` (samples, vehicles)."""
    column = np.arange(at.shape[1]) if signals.shape[1] > 1 else 0
    return signals if len(signals) == 1 else signals[at, column]


def group_cases(steps: Sequence[int], variants: int, lanes: int) -> list[list[int]]:
    """Group cases, given by their numbers of steps, into rollouts.

    Longest first; shorter cases join if they cost nothing, because lanes are free, or if they are
    nearly as long.
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


def group_drives(drives: Sequence[Drive]) -> list[list[Drive]]:
    """Group the requests of several vehicles into rollouts.

    A rollout has requests of one kind and similar length, as memory allows.
    """
    groups: list[list[Drive]] = []
    for one in sorted(drives, key=lambda one: -one.longest):
        for group in groups:
            longest, vehicles = group[0].longest, sum(other.count for other in group)
            fits = vehicles + one.count <= FEW and (vehicles + one.count) * longest <= MOST
            if fits and one.longest >= SHORTER * longest and one.kind == group[0].kind:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def differing_fields(
    base: Any, parts: Sequence[tuple[dict[str, Array], Any]], counts: Sequence[int]
) -> dict[str, Array]:
    """Values of several parts, concatenated by field name of a record.

    Only fields that a part has rows for, or in which its record differs from `base`.
    """
    usual = record.flatten(base)
    leaves = [record.flatten(other) for _, other in parts]
    out: dict[str, Array] = {}
    for k, name in enumerate(record.names(type(base))):
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


MOST_FLEETS, MOST_METHODS = 64, 1024
"""Sizes of the caches of compiled models and of integrators."""


@dataclass(frozen=True)
class Kernels:
    """Compiles vehicles and drives cases with them."""

    dt: s = 0.001
    """Time step of the simulation and of the driver."""
    every: int = 10
    """Number of steps between samples."""
    threads: int | None = None
    device: str = "cpu"
    _made: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)
    _methods: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)

    def drive(self, requests: Sequence[tuple[Subject, Case]]) -> list[CaseRun]:
        """Drive all requested cases; returns the runs of each request in order."""
        alike: defaultdict[Any, list[int]] = defaultdict(list)
        for k, (car, case) in enumerate(requests):
            kind = None if case.road is None else type(record_of(case.road))
            alike[kind, case.rests, id(car)].append(k)
        runs: list[Any] = [None] * len(requests)

        def drive_all(drives: list[Drive]) -> None:
            for those in group_drives(drives):
                driven = (
                    self._open(those[0]) if is_open(those[0].car.vehicle) else self._rollout(those)
                )
                for one, own in zip(those, driven, strict=True):
                    for k, run in zip(one.places, own, strict=True):
                        runs[k] = run

        with catch_warnings():
            # `Case.rests` selects the integrator for walking pace; the warning is not needed.
            simplefilter("ignore", UserWarning)
            by_kernel: defaultdict[str, list[Drive]] = defaultdict(list)
            for places in alike.values():
                for drive in self._drives(requests[places[0]][0], places, requests):
                    by_kernel[drive.fleet.plant.step.digest].append(drive)
            # Different kernels run concurrently while Python prepares arguments. Drives of one
            # kernel follow each other, so that it is compiled once.
            threads = min(len(by_kernel), self.threads or cores()) if self.device == "cpu" else 1
            share(drive_all, by_kernel.values(), threads=threads, apart=threads > 1)
        return runs

    def _drives(
        self, car: Subject, places: list[int], requests: Sequence[tuple[Subject, Case]]
    ) -> Iterator[Drive]:
        """Cases of one vehicle grouped by kind, as they are driven at once."""
        cases = [requests[k][1] for k in places]
        vehicle = vehicle_on_road(car.vehicle, cases[0])
        own = driver(vehicle)
        alone = is_open(vehicle)
        # On roads there is one kernel, with steps for stiff motion, since wheels may come to rest.
        rests = cases[0].rests or (cases[0].road is not None and not alone)
        method = self._method(car.vehicle, vehicle, rests)
        fleet, policy = self._fleet(vehicle, method, own, whose=vehicle if alone else None)
        loop = fleet if alone else fleet.closed_loop(policy)
        steps = [self._steps(case) for case in cases]
        whole = Drive(car, cases, steps, places, self.dt, own, loop, fleet.vehicle, policy)
        for group in group_cases([sum(both) for both in steps], car.variants, loop.lanes):
            kept = ([rows[k] for k in group] for rows in (cases, steps, places))
            yield replace(whole, **dict(zip(("cases", "steps", "places"), kept, strict=True)))

    def _steps(self, case: Case) -> tuple[int, int]:
        """Number of steps before and after time zero, multiples of the sample."""
        sample = self.dt * self.every
        before, after = (round(time / sample) * self.every for time in (case.run_in, case.duration))
        return before, max(after, self.every)

    def _method(self, own: Vehicle, vehicle: Vehicle, rests: bool) -> Any:
        """Integration method for a vehicle on level ground, which depends on whether it `rests`."""
        kind = own, vehicle.model, rests
        if kind not in self._methods:
            _make_room(self._methods, MOST_METHODS)
            level = off_road(vehicle)
            if not level.model.continuous:
                method = AUTO
            elif not rests and takes(level, EXPLICIT, self.dt):
                method = EXPLICIT
            else:
                step = automatic(level, self.dt, level.model.substeps)
                method = EXPLICIT if step.name == EXPLICIT else step
            self._methods[kind] = method
        return self._methods[kind]

    def _fleet(
        self, vehicle: Vehicle, method: Any, own: Policy, whose: Any = None
    ) -> tuple[Fleet, Policy]:
        """The cached fleet for a vehicle, and the driver that the fleet was made with.

        Vehicles with the same model, integrator and control law share a fleet, as parameters and
        road heights are set per rollout. So the driver may be that of another vehicle.
        """
        key = vehicle.model, method, own.act, whose
        if key not in self._made:
            _make_room(self._made, MOST_FLEETS)
            how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
            self._made[key] = Fleet(vehicle, self.dt, method, **how), own
        return self._made[key]

    def _rollout(self, drives: Sequence[Drive]) -> list[list[CaseRun]]:
        """Drive cases of one kind at once, each for its own duration; runs are grouped by
        vehicle."""
        loop, counts = drives[0].fleet, [one.count for one in drives]
        references = concatenate_signals([one.references() for one in drives], counts)
        felt = [rows for one in drives if (rows := one.disturbances()) is not None]
        disturbances = concatenate_signals(felt, counts) if felt else None
        params = _params(drives)
        # The closed loop is one vehicle, whose state ends with the driver's memory.
        start = np.concatenate([one.start() for one in drives])
        fresh = record.flatten(record.build(Memory))
        whole = np.concatenate([start, np.tile(fresh, (len(start), 1))], axis=1)
        count = max(one.longest for one in drives)
        # Arrays are ordered by field rather than by vehicle, so that each signal is contiguous in
        # memory.
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
        # The last sample of a case has the input of the last step.
        at = np.minimum(samples[:, None], np.concatenate([one.last for one in drives])).astype(int)
        felt_at = None if disturbances is None else at_steps(disturbances, at)
        told = at_steps(references, at)
        outputs = loop.outputs(both, told, params=params, disturbances=felt_at)
        ends = np.cumsum(counts).tolist()
        return [
            self._runs(one, (both, outputs), slice(end - one.count, end), start.shape[1])
            for one, end in zip(drives, ends, strict=True)
        ]

    def _runs(
        self, drive: Drive, driven: tuple[Array, Array], place: slice, size: int
    ) -> list[CaseRun]:
        """Runs of one vehicle, whose state has `size` numbers, in a shared rollout."""
        samples: Array = np.arange(0, drive.longest + 1, self.every, dtype=float)
        alone = len(samples), drive.count
        # Copy to the memory layout of a separate rollout, as NumPy may round differently for other
        # layouts.
        both, outputs = (
            whole if whole.shape[:2] == alone else whole[: len(samples), place].copy(order="K")
            for whole in driven
        )
        states, memory = np.split(both, [size], axis=2)
        kind, t, V = drive.fleet.plant.Outputs, samples * self.dt, drive.car.variants
        run = signals_of(drive.vehicles[0], t, states, memory, outputs, kind, drive.own)
        runs: list[CaseRun] = []
        for k, (case, (before, after)) in enumerate(zip(drive.cases, drive.steps, strict=True)):
            part = np.s_[: (before + after) // self.every + 1, k * V : (k + 1) * V]
            moved = (samples[part[0]] - before) * self.dt
            runs.append(replace(run.cut(moved, part), label=case.label))
        return runs

    def _open(self, drive: Drive) -> list[list[CaseRun]]:
        """Runs of a vehicle driven in open loop, one case after the other."""
        vehicle, params = drive.car.vehicle, drive.car.params
        p = params_of(vehicle, params)
        runs: list[CaseRun] = []
        for case, (before, after) in zip(drive.cases, drive.steps, strict=True):
            t: Array = np.arange(-before, after, dtype=float) * self.dt
            times: Array = np.arange(-before, after + 1, self.every, dtype=float) * self.dt
            start = replace(drive, cases=[case]).start()
            states, outputs, Outputs = simulate_open_loop(
                drive.fleet, case, t, start, p, self.every
            )
            memory = np.zeros((*states.shape[:2], record.size(Memory)))
            run = signals_of(vehicle, times, states, memory, outputs, Outputs, params)
            runs.append(replace(run, label=case.label))
        return [runs]


def _make_room(cache: dict[Any, Any], most: int) -> None:
    while len(cache) >= most:
        cache.pop(next(iter(cache)), None)


def _params(drives: Sequence[Drive]) -> dict[str, Array]:
    """Parameters of a rollout's vehicles that differ from the fleet's default parameters.

    Parameters of vehicle and driver by name, (N,) each.
    """
    first, counts = drives[0], [one.count for one in drives]
    own = [(one.own, one.vehicles[0].params) for one in drives]
    told = [(one.driving, one.driver.params) for one in drives]
    by_driver = differing_fields(first.policy.params, told, counts).items()
    of_driver = {f"policy.{name}": row for name, row in by_driver}
    return differing_fields(first.made_with.params, own, counts) | of_driver


def _over_steps(signals: Array) -> Array:
    """Signals (T or 1, vehicles, fields) in the layout of a rollout: (T, fields, vehicles).

    A single row if they are constant.
    """
    each = signals.swapaxes(1, 2)
    return each if len(each) > 1 else each[0]
