"""The compiled loop of a drive: vehicle, policy and metrics in one kernel, and its arrays.

`Loop` compiles and runs a drive. `RowArrays` turns rows of a campaign into arrays: parameters,
start states, inputs and disturbances. A factor is a parameter of the vehicle (`m`, `tyres.D`) or of
its policy (`policy.k_p`), a field of the start state (`x0.v_x`), of constant controls or references
(`input.steer`) or of a constant disturbance (`disturbance.F_y`).

`Strips` cuts a run into strips of steps with their inputs, the columns of a log and random numbers.
Disturbances and noise of many steps are drawn in advance, so that one call of the kernel runs them
all; for a model that reads the states of the runs, a strip is one step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..compile.cpu import CpuMap, Late, RolloutArrays
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber, Mask
from ..core.model import Vehicle
from ..core.policy import Nothing, Policy
from ..core.record import Field
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator
from ..random.model import UncertaintyModel, draw_sample
from ..random.streams import Draw
from ..run import arguments, delay
from ..run.arguments import consistent_rows, make_consistent, record_of_rows
from ..run.monte_carlo import TOLD, noisy
from ..run.runner import Runner
from ..run.settings import Engines, Settings
from ..run.stability import choose_integrator
from .experiment import Resources, Rows
from .metrics import Fold, Folding, Quantity


@dataclass(frozen=True)
class Driven:
    """Vehicle, policy and metrics that are compiled for a drive, without their numbers."""

    vehicle: Vehicle
    dt: float
    integrator: str | Integrator
    substeps: int | None
    precision: str
    policy: Policy | None
    noisy: bool
    Log: type | None
    folds: Mapping[str, Fold]
    until: Quantity | None


class Strip(NamedTuple):
    """Consecutive steps of all runs with their inputs and disturbances, in host memory."""

    steps: int
    inputs: Array
    """Inputs or references, followed by the noise and the log, (1 or steps, 1 or runs, n)."""
    disturbances: Array
    """Disturbances, (1 or steps, 1 or runs, n)."""
    last: Array
    """Inputs of the sample after these steps, (1, 1 or runs, n)."""


class Outcome(NamedTuple):
    """States and results of runs after their last sample."""

    states: Array
    """States of the vehicle, then the memory of its policy, (runs, n)."""
    results: Array
    """Time in s at which each run ended, then the results of the folds, (runs, 1 + folds)."""
    failed: Mask


Feed = Callable[[Array], Strip | None]
"""Function from the current states (runs, n) to the next strip; None at the end."""


class Loop:
    """Runs one compiled drive."""

    def __init__(self, driven: Driven) -> None:
        settings = Settings(
            driven.dt, None, driven.precision, substeps=driven.substeps, on_diverge="mask"
        )
        vehicle = driven.vehicle
        method = compiled_integrator(
            choose_integrator(vehicle, driven.integrator, settings.dt, settings.substeps)
        )
        self.base = Runner(Plant.of(vehicle, method), settings.replace(integrator=method))
        """Runner of the vehicle alone."""
        policy = driven.policy
        with_noise = policy is not None and driven.noisy
        if policy is not None and driven.noisy:
            policy = noisy(policy, vehicle.model.State)

        def own_reference(r: Any) -> Any:
            return getattr(r, TOLD, Nothing()) if with_noise else r

        self.runner = self.base if policy is None else self.base.loop(policy)
        """Runner of the vehicle with its policy, without folds."""
        self.folding = Folding(
            vehicle.model,
            policy,
            own_reference,
            Nothing if driven.policy is None else driven.policy.Reference,
            driven.Log,
            driven.folds,
            driven.until,
            self.base.engines.substeps,
        )
        self._engines: dict[Resources, Engines] = {}
        self._closing: dict[Resources, CpuMap] = {}

    @cached_property
    def plant(self) -> Plant:
        """Plant of the loop with folds, to be compiled."""
        plant = self.runner.plant
        return replace(plant, step=self.folding.step(plant.step), vehicle=None, method=None)

    def engines(self, resources: Resources) -> Engines:
        """Engines that run the plant with folds, cached by resources."""
        if resources not in self._engines:
            runner = self.runner
            settings = runner.settings.replace(device=resources.device, threads=resources.threads)
            self._engines[resources] = Engines(self.plant, settings, runner.engines.inputs)
        return self._engines[resources]

    def run(
        self, x: Array, p: Array, strips: Feed, resources: Resources, before: Array | None = None
    ) -> Outcome:
        """Run from the states `x` (1, runs, n) with parameters `p` (1, 1 or runs, n).

        `strips` returns the next strip for the current states (runs, n), and None at the end;
        `before` has the pending commands (rows, 1, n).
        """
        engines = self.engines(resources)
        space = engines.space
        states, count = x.shape[2], x.shape[1]
        kept = np.broadcast_to(np.array(self.folding.start), (1, count, len(self.folding.start)))
        now = space.xp.asarray(np.concatenate([x, kept], axis=2), space.dtype)
        params = space.xp.asarray(p, space.dtype)
        last, pending = None, before
        while (strip := strips(arguments.on_host(now)[0, :, :states])) is not None:
            u, w = (space.xp.asarray(a, space.dtype) for a in (strip.inputs, strip.disturbances))
            arrays = RolloutArrays(now, u, w, params)
            queue = _queue(engines, arrays, pending)
            out = arguments.empty(2, count, now.shape[2], space, "aos")
            out[0] = now[0]
            engine = engines.undelayed if queue is None else engines.rollout
            health = engine.run(arrays, out, strip.steps, queue)
            if not np.isfinite(arguments.on_host(health)[1]).all():
                raise _not_finite(engines, strip)
            if queue is not None:
                own = u[:, :, : queue.pending.shape[2]]
                pending = delay.pending_after(own, queue, strip.steps, space)
            now, last = out[1:], strip.last
        assert last is not None
        return self._closed(arguments.on_host(now)[0], last, p, states, resources)

    def _closed(
        self, now: AnyArray, last: Array, p: Array, states: int, resources: Resources
    ) -> Outcome:
        """Fold in the last sample, on the host with the same function as all others."""
        precision = self.base.settings.precision
        if resources not in self._closing:
            self._closing[resources] = CpuMap(self.folding.closing, precision, resources.threads)
        n = record.size(self.folding.model.State)
        dtype = np.dtype(precision)
        substep = self.base.settings.dt / self.folding.substeps
        ports = [
            now[None, :, :n],
            now[None, :, n:states],
            now[None, :, states:],
            last.astype(dtype),
            p.astype(dtype),
            np.full((1, 1, 1), substep, dtype),
        ]
        kept, results = self._closing[resources].run(
            [np.ascontiguousarray(a) for a in ports], len(now)
        )
        failed: Mask = np.asarray(~np.isfinite(kept[0, :, self.folding.sound]))
        return Outcome(now[:, :states].astype(float), results[0].astype(float), failed)


def _queue(engines: Engines, arrays: RolloutArrays, pending: Any) -> Late | None:
    channels = engines.channels
    if not channels:
        return None
    ages = delay.ages(channels, arrays.p, engines.settings.dt)
    return delay.queue_of(channels, delay.whole_steps(ages), pending, engines.space)


def _not_finite(engines: Engines, strip: Strip) -> InvalidValue:
    what, values = engines.inputs, strip.inputs
    if np.isfinite(values).all():
        what, values = "disturbances", strip.disturbances
    _, run, field = np.argwhere(~np.isfinite(values))[0]
    return InvalidValue(f"{what}: number {field} of run {run} of the chunk is not finite")


X0, INPUT, DISTURBANCE = "x0.", "input.", "disturbance."


class Prepared(NamedTuple):
    """Arrays of runs that are ready to start, in host memory."""

    x: Array
    """States of the vehicle, then the memory of its policy, (1, runs, n)."""
    p: Array
    """Parameters of the vehicle, then those of its policy, (1, 1 or runs, n)."""
    u: Array
    """Controls or references, (1 or steps, 1 or runs, n)."""
    w: Array
    """Constant disturbances, (1, 1 or runs, n)."""


@dataclass(frozen=True)
class Common:
    """Validated settings that all runs of a drive share."""

    x0: Any
    """Start state: a record, a mapping, an array (n,), or an `UncertaintyModel`."""
    memory: Array
    """Initial memory of the policy, (n,)."""
    inputs: Array
    """Controls or references, (1 or steps, 1, n)."""
    params: Mapping[str, Any]
    """Parameters of vehicle and policy by name: numbers, or models to draw them from."""
    disturbed: bool
    """Whether disturbances are drawn at random rather than constant."""


@dataclass(frozen=True)
class RowArrays:
    runner: Runner
    base: Runner
    Reference: type
    common: Common

    @cached_property
    def factors(self) -> dict[str, Field]:
        """Fields that factors set, by factor name."""
        named: dict[str, Field] = {}
        for prefix, kind, closed in self._groups:
            if not closed:
                named |= {prefix + leaf.name: leaf for leaf in record.fields(kind)}
        return {name: leaf for name, leaf in named.items() if name not in self._arrays}

    @property
    def _groups(self) -> list[tuple[str, type, str]]:
        """Prefix and record class of each group of factors, and why the group cannot be used; else
        empty."""
        plant, common = self.base.plant, self.common
        drawn = "starts are drawn from x0, an uncertainty model"
        table = "the inputs are a table with a row per step; hold them to vary one"
        disturbed = "disturbances are drawn at every step; give no model to hold one"
        return [
            ("", self.runner.plant.Params, ""),
            (X0, plant.State, drawn if isinstance(common.x0, UncertaintyModel) else ""),
            (INPUT, self.Reference, table if len(common.inputs) > 1 else ""),
            (DISTURBANCE, plant.Disturbance, disturbed if common.disturbed else ""),
        ]

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """Parameters that identify shared arrays; factors cannot vary them, as numbers between two
        arrays have no meaning."""
        plant = self.runner.plant
        pairs = zip(record.names(plant.Params), record.flatten(plant.params), strict=True)
        return frozenset(name for name, value in pairs if isinstance(value, ArrayNumber))

    def check_name(self, name: str) -> Field:
        """Field that a factor sets; raises for an unknown name and suggests the nearest one."""
        if name in self.factors:
            return self.factors[name]
        for prefix, _, closed in self._groups:
            if closed and name.startswith(prefix):
                raise InvalidValue(f"factor {name!r}: {closed}")
        allowed = tuple(self.factors)
        raise InvalidValue(record.unknown_name("the drive", name, allowed, "factor"))

    def prepare(self, rows: Rows) -> Prepared:
        for name in rows.factors:
            self.check_name(name)
        p = self._params(rows)
        return Prepared(
            self._starts(rows, p),
            p,
            self._held(self.Reference, "inputs", self.common.inputs, INPUT, rows),
            self._disturbances(rows),
        )

    def _params(self, rows: Rows) -> Array:
        plant, count = self.runner.plant, len(rows.runs)
        columns: dict[str, Any] = {}
        for name, source in self.common.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(rows, f"params.{name}")
                source = draw_sample(source, draw, source.start(count))[0][:, 0]
            columns[name] = source
        names = record.names(plant.Params)
        columns |= {name: value for name, value in rows.factors.items() if name in names}
        space = arguments.Space.of("cpu", self.base.settings.precision)
        p = arguments.parameters(plant.Params, plant.params, columns or None, space)
        same = p.shape[1] > 1 and not any(np.ndim(c) for c in columns.values())
        return p[:, :1] if same else p

    def _starts(self, rows: Rows, p: Array) -> Array:
        plant, count, x0 = self.base.plant, len(rows.runs), self.common.x0
        own = p[:, :, : record.size(plant.Params)]
        if isinstance(x0, UncertaintyModel):
            states, _ = draw_sample(x0, self.draw(rows, "start"), x0.start(count))
            states = consistent_rows(plant, states, own)
        else:
            states = self._start_by_name(rows, own)
        states = arguments.finite(
            plant.State, "x0", np.broadcast_to(states, (1, count, states.shape[-1]))
        )
        memory = np.broadcast_to(self.common.memory, (1, count, self.common.memory.size))
        return np.concatenate([states, memory], axis=2)

    def _start_by_name(self, rows: Rows, own: Array) -> AnyArray:
        """Start states (1 or runs, n) with fields that are factors; dependent fields are made
        consistent with the parameters of each run, unless the start is given as a whole state
        array."""
        State, x0 = self.base.plant.State, self.common.x0
        chosen = _of_prefix(rows.factors, X0)
        start = record.build(State, x0)
        values = dict(zip(record.names(State), record.flatten(start), strict=True)) | chosen
        if x0 is None or isinstance(x0, (Mapping, State)):
            whole = record.unflatten(State, list(values.values()))
            params = record_of_rows(self.base.plant.Params, own)
            whole = make_consistent(self.base.plant, whole, params, x0, tuple(chosen))
            values = dict(zip(record.names(State), record.flatten(whole), strict=True))
        table = np.stack(np.broadcast_arrays(*values.values()), axis=-1)
        return arguments.in_range(State, "x0", np.atleast_2d(table)[None])[0]

    def _held(self, kind: type, what: str, base: Array, prefix: str, rows: Rows) -> Array:
        """Constant rows (1, 1 or runs, n) with fields that are factors."""
        chosen = _of_prefix(rows.factors, prefix)
        if not chosen:
            return base
        table = np.repeat(base, len(rows.runs), axis=1)
        for name, values in chosen.items():
            table[0, :, record.names(kind).index(name)] = values
        return arguments.in_range(kind, what, arguments.finite(kind, what, table))

    def _disturbances(self, rows: Rows) -> Array:
        kind = self.base.plant.Disturbance
        neutral = np.array(record.flatten(record.build(kind)), dtype=float).reshape(1, 1, -1)
        return self._held(kind, "disturbance", neutral, DISTURBANCE, rows)

    def draw(self, rows: Rows, channel: str, threads: int | None = None) -> Draw:
        """Random numbers of these runs at the first step, as in `Fleet.monte_carlo`."""
        dt = self.base.settings.dt
        return Draw(rows.seed, channel, rows.runs, 0, dt, threads=threads)


def _of_prefix(factors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Factors whose names begin with the prefix, by name without the prefix."""
    size = len(prefix)
    return {name[size:]: np.asarray(v) for name, v in factors.items() if name.startswith(prefix)}


MOST_NUMBERS = 4_000_000
"""Largest number of values in the arrays of a strip: 32 MB."""
LONGEST = 1024
"""Largest number of steps in a strip with random numbers."""


class Course(NamedTuple):
    """Number of steps, uncertainty models and log of a run."""

    steps: int
    disturbance: UncertaintyModel | None
    noise: UncertaintyModel | None
    log: Array | None
    """Columns of the log, (steps + 1, columns)."""


class Strips:
    """Iterates over the strips of a run; call it with the states (runs, n) for the next one."""

    def __init__(
        self,
        course: Course,
        arrays: RowArrays,
        rows: Rows,
        prepared: Prepared,
        threads: int | None = None,
    ) -> None:
        self._course, self._arrays, self._rows, self._prepared = course, arrays, rows, prepared
        self._threads = threads
        count = len(rows.runs)
        self._models = {"disturbance": course.disturbance, "noise": course.noise}
        self._memory = {
            name: None if model is None else model.start(count)
            for name, model in self._models.items()
        }
        self._done, self._longest = 0, self._length(count)

    def _length(self, count: int) -> int:
        """Number of steps in a strip: all of them, if its arrays stay small."""
        course, (_, _, u, w) = self._course, self._prepared
        drawing = course.disturbance is not None or course.noise is not None
        if not drawing and (course.log is None or u.shape[1] == 1):
            return course.steps
        noise = 0 if course.noise is None else course.noise.dim
        width = u.shape[2] + w.shape[2] + noise
        return max(1, min(LONGEST, MOST_NUMBERS // (count * max(width, 1))))

    def __call__(self, states: Array) -> Strip | None:
        """Next strip; None at the end."""
        if self._done == self._course.steps:
            return None
        steps = min(self._longest, self._course.steps - self._done)
        try:
            drawn_ahead = self._drawn(steps, _AHEAD if steps > 1 else states)
        except _StatesNeeded:
            self._longest = steps = 1
            drawn_ahead = self._drawn(steps, states)
        strip = self._strip(steps, drawn_ahead)
        self._done += steps
        return strip

    def _drawn(self, steps: int, states: Any) -> dict[str, Array]:
        """Random rows (steps, runs, n) by name; `states` are known only if `steps` is 1."""
        memory, table = dict(self._memory), dict[str, list[Array]]()
        draws = {
            name: self._arrays.draw(self._rows, name, self._threads)
            for name, model in self._models.items()
            if model is not None
        }
        for step in range(self._done, self._done + steps):
            for name, draw in draws.items():
                model = self._models[name]
                assert model is not None
                numbers, memory[name] = draw_sample(model, draw.at(step), memory[name], states)
                table.setdefault(name, []).append(numbers)
        self._memory = memory
        return {name: np.stack(numbers) for name, numbers in table.items()}

    def _strip(self, steps: int, drawn_ahead: dict[str, Array]) -> Strip:
        _, _, u, w = self._prepared
        rows = slice(self._done, self._done + steps)
        u = u if len(u) == 1 else u[rows]
        u = _joined(u, drawn_ahead.get("noise"))
        log = self._course.log
        last = u[-1:]
        if log is not None:
            last = _joined(last, log[None, rows.stop : rows.stop + 1])
            u = _joined(u, log[rows, None])
        return Strip(steps, u, drawn_ahead.get("disturbance", w), last)


def _joined(a: Array, b: Array | None) -> Array:
    """Concatenates the fields of two arrays (1 or steps, 1 or runs, field)."""
    if b is None:
        return a
    outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
    return np.concatenate(
        [np.broadcast_to(part, (*outer, part.shape[2])) for part in (a, b)], axis=2
    )


class _StatesNeeded(Exception):
    """A model read the states of the runs, which are not known in advance."""


class _Ahead:
    """Placeholder for states that are not yet known; any use of it raises `_StatesNeeded`."""

    def _needed(self, *_: Any, **__: Any) -> NoReturn:
        raise _StatesNeeded

    __getattr__ = __getitem__ = __len__ = __iter__ = __bool__ = __float__ = _needed
    __array__ = __array_ufunc__ = __array_function__ = __eq__ = __ne__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __abs__ = _needed
    __hash__ = object.__hash__


_AHEAD: Any = _Ahead()
