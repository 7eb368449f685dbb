"""The compiled vehicles of a proving ground, and the rollouts that cases are driven in.

A vehicle needs three kernels: on level ground by steps that are cheap, from and to rest by steps
that are stable there, and on a road, whose heights are parameters. Where one kind of step does for
all speeds, it needs two. `arrays_of` makes the arrays of a rollout from cases: inputs and
parameters of drivers, roads, starts. `together` and `shared` choose the cases of a rollout: those
of one vehicle, and those of others of its model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
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
from .case import Case, Signal, path_point, straight
from .case_run import CaseRun, params_of, signals_of
from .driver import Driving, Memory, Told, driven_open, driver, is_open
from .subject import Subject


@dataclass(frozen=True)
class CaseArrays:
    """Cases of one vehicle in V variants as the arrays of N = cases × V vehicles.

    Array shapes do not depend on other cases in the same rollout.
    """

    vehicles: Sequence[Vehicle]
    """The vehicle of each case, on its road if it has one; they keep the arrays of the roads."""
    V: int
    steps: Sequence[tuple[int, int]]
    """Of each case before and after time zero."""
    own: dict[str, Array]
    """Parameters of the vehicle that differ, by name, (N,) each."""
    driving: dict[str, Array]
    """Those of the driver, likewise."""
    references: Array
    """(T or 1, N or 1, fields)"""
    disturbances: Array | None
    """As `references`; None without disturbances."""
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
        references=references(cases, t, V),
        disturbances=disturbances(vehicles[0], cases, t, V),
        start=starts(vehicles, cases, car),
    )


def side_by_side(parts: Sequence[Array], counts: Sequence[int]) -> Array:
    """Signals (T or 1, N or 1, fields) of several, all as long as the longest; the last value is
    held."""
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


def references(cases: Sequence[Case], t: Sequence[Array], V: int) -> Array:
    """Inputs of the drivers at the steps of each case, (T, cases × V or 1, fields); in one row
    where none of them changes."""
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
    each = _of_each(rows, cases, t, V)
    gains = [case.a_gain for case in cases]
    if all(np.ndim(gain) == 0 and gain == 1.0 for gain in gains):
        return each
    count = len(cases) * V
    wide = each if each.shape[1] == count else np.repeat(each.transpose(1, 2, 0), V, axis=0)
    wide = wide if wide is each else wide.transpose(2, 0, 1)
    wide[:, :, Told._fields.index("a")] *= _repeated(gains, V)
    return wide


def disturbances(
    vehicle: Vehicle, cases: Sequence[Case], t: Sequence[Array], V: int
) -> Array | None:
    """Disturbances at the steps of each case, as `references`; None without any."""
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
    begins = {None: Pose(0.0, 0.0, 0.0)} | {
        path: Pose(*(float(part) for part in path_point(path, 0.0)[0][:3]))
        for path in {case.path for case in cases if case.pose is None}
        if path is not None
    }
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


def _repeated(values: Sequence[Any], V: int) -> Array:
    """A value of each case, a number or (V,), as those of all vehicles, (cases × V,)."""
    if any(np.ndim(value) for value in values):
        return np.concatenate([np.broadcast_to(np.asarray(v, float), (V,)) for v in values])
    return np.repeat(np.array(values, dtype=float), V)


def driving(cases: Sequence[Case], V: int) -> dict[str, Any]:
    """Parameters of the driver that differ between vehicles, by name, each (cases × V,)."""
    fields: defaultdict[str, list[Any]] = defaultdict(list)
    names = {f"{name}" for case in cases for name in case.driving}
    usual: dict[str, Any] = {}
    for name in names:
        first, *rest = name.split(".")
        usual[name] = reduce(getattr, rest, Driving._field_defaults[first])
    for case in cases:
        path = straight() if case.path is None else case.path
        leaves = zip(record.names(type(path)), record.flatten(path), strict=True)
        values = {f"path.{name}": leaf for name, leaf in leaves}
        values |= {"follow": 0.0 if case.path is None else 1.0, "steer_gain": case.amplitude}
        values |= {name: case.driving.get(name, usual[name]) for name in names}
        for name, value in values.items():
            fields[f"drive.{name}"].append(value)
    return {name: _repeated(values, V) for name, values in fields.items()}


MANY = 64
"""Variants from which on cases are driven one after the other, to save memory."""
SHORTER = 0.75
"""Share of the longest drive down to which shorter ones go along and end when they are done."""
MOST = 2_000_000
"""Vehicles times steps of one rollout, to save memory."""
FEW = 64
"""Vehicles of one rollout from which on it is not faster with those of others."""


@dataclass(frozen=True)
class Drive:
    """Cases that one vehicle under test drives at once."""

    car: Subject
    cases: list[Case]
    steps: list[tuple[int, int]]
    """Of each case before and after time zero."""
    places: list[int]
    """Places of the cases in the request."""
    driver: Policy
    """The driver of this vehicle."""
    fleet: Fleet
    """Vehicles with their drivers; vehicles alone where commands are given in advance."""
    made_with: Vehicle
    """The vehicle that the fleet was made with, which has other parameters."""
    policy: Policy
    """The driver of that vehicle."""

    @property
    def longest(self) -> int:
        """Steps of the rollout."""
        return max(map(sum, self.steps))

    @property
    def vehicles(self) -> int:
        """How many the rollout has."""
        return len(self.cases) * self.car.variants

    @property
    def kind(self) -> Any:
        """What has to be the same of those that share a rollout."""
        names = frozenset(name for case in self.cases for name in case.driving)
        disturbed = any(case.disturbance for case in self.cases)
        alone = id(self) if is_open(self.car.vehicle) else None
        return id(self.fleet), names, disturbed, alone


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


def shared(drives: Sequence[Drive]) -> list[list[Drive]]:
    """Which drives go into one rollout: those of one kind and about as long, as memory allows."""
    groups: list[list[Drive]] = []
    for one in sorted(drives, key=lambda one: -one.longest):
        for group in groups:
            longest, vehicles = group[0].longest, sum(other.vehicles for other in group)
            fits = vehicles + one.vehicles <= FEW and (vehicles + one.vehicles) * longest <= MOST
            if fits and one.longest >= SHORTER * longest and one.kind == group[0].kind:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def differing(
    base: Any, parts: Sequence[tuple[dict[str, Array], Any]], counts: Sequence[int]
) -> dict[str, Array]:
    """Rows of several, one behind the other, by names of the fields of a record: those that one
    has rows of, or in which the record of one differs from the base."""
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
"""Size of the caches of compiled models and of ways to step a vehicle."""


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

    def drive(self, requests: Sequence[tuple[Subject, Case]]) -> list[CaseRun]:
        """Drive each case."""
        alike: defaultdict[Any, list[int]] = defaultdict(list)
        for k, (car, case) in enumerate(requests):
            kind = None if case.road is None else type(record_of(case.road))
            alike[kind, case.rests, id(car)].append(k)
        runs: list[Any] = [None] * len(requests)

        def drive_all(drives: list[Drive]) -> None:
            for those in shared(drives):
                driven = (
                    self._open(those[0]) if is_open(those[0].car.vehicle) else self._rollout(those)
                )
                for one, own in zip(those, driven, strict=True):
                    for k, run in zip(one.places, own, strict=True):
                        runs[k] = run

        with catch_warnings():
            # Cases say themselves where wheels at walking pace need another integrator.
            simplefilter("ignore", UserWarning)
            by_kernel: defaultdict[str, list[Drive]] = defaultdict(list)
            for places in alike.values():
                for drive in self._drives(requests[places[0]][0], places, requests):
                    by_kernel[drive.fleet.plant.step.digest].append(drive)
            # While one kernel runs, others run and Python makes their arguments. What shares a
            # kernel goes one after the other, so that none is compiled twice.
            threads = min(len(by_kernel), self.threads or cores()) if self.device == "cpu" else 1
            share(drive_all, by_kernel.values(), threads=threads, apart=threads > 1)
        return runs

    def _drives(
        self, car: Subject, places: list[int], requests: Sequence[tuple[Subject, Case]]
    ) -> Iterator[Drive]:
        """Cases of one kind and one vehicle under test, as they are driven at once."""
        cases = [requests[k][1] for k in places]
        vehicle = on_its_road(car.vehicle, cases[0])
        own = driver(vehicle)
        alone = is_open(vehicle)
        # One kernel on roads, by steps for stiff motion: wheels may come to rest on them.
        rests = cases[0].rests or (cases[0].road is not None and not alone)
        fleet, policy = self._fleet(vehicle, rests, own, whose=vehicle if alone else None)
        loop = fleet if alone else fleet.closed_loop(policy)
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
            # How a vehicle on level ground is stepped, if it comes to rest or not.
            if not level.model.continuous:
                method = AUTO
            elif not rests and takes(level, EXPLICIT, self.dt):
                method = EXPLICIT
            else:
                step = automatic(level, self.dt, level.model.substeps)
                method = EXPLICIT if step.name == EXPLICIT else step
            self._methods[kind] = method
        key = vehicle.model, method, own.act, whose
        if key not in self._made:
            _make_room(self._made, MOST_FLEETS)
            how: Any = {"threads": self.threads, "device": self.device, "on_diverge": "mask"}
            self._made[key] = Fleet(vehicle, self.dt, method, **how), own
        return self._made[key]

    def _rollout(self, drives: Sequence[Drive]) -> list[list[CaseRun]]:
        """Cases of one kind at once, each as long as it asks for; by vehicles under test."""
        parts = [arrays_of(one.car, one.cases, one.steps, self.dt) for one in drives]
        loop, counts = drives[0].fleet, [part.count for part in parts]
        references = side_by_side([part.references for part in parts], counts)
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


def _make_room(cache: dict[Any, Any], most: int) -> None:
    """Drop the oldest entries of a cache."""
    while len(cache) >= most:
        cache.pop(next(iter(cache)), None)


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
