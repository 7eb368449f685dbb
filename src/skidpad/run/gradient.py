"""Derivatives of rollouts by an adjoint sweep, backwards over the very steps that were simulated.

`Derivatives` takes the caller's arguments and turns commands into inputs as they act, and
derivatives back into those of commands. `Sweep` goes backwards over inputs as they act: the forward
pass saves states at checkpoints; the backward pass repeats the steps between two of them, then
sweeps back over these. With K steps between checkpoints and T steps in all, T/K + K states of every
vehicle are held at a time instead of T; short rollouts are one segment.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from ..compile import adjoint
from ..compile.cpu import Backward, Late, RolloutArrays, Swept
from ..compile.passes import without_dead_code
from ..compile.plant import Plant, SavedCost
from ..compile.program import Port, Program
from ..core import record
from ..core.arrays import AnyArray
from ..core.checks import one_of, steps_of, whole
from ..core.policy import Cost
from ..core.progress import Choice, Progress, watching
from ..errors import InvalidValue
from . import arguments as batch
from . import delay
from .runner import Runner
from .settings import AdjointEngine, MapEngine

_MOST_NUMBERS = 1 << 27
"""State values kept in one segment (1 GiB of float64); longer rollouts use checkpoints."""


class Segment(NamedTuple):
    """States of consecutive steps."""

    begin: int
    """Number of the first step."""
    states: AnyArray
    """(steps + 1, B, nx): at the start of each step, and after the last."""


class Sweep:
    """Sweeps backwards over rollouts of a runner, with inputs as they act.

    The engines, one for each cost and choice of derivatives, are made on first use.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner, self.space = runner, runner.space
        self.adjoints: dict[Any, AdjointEngine] = {}
        self._ends: dict[Any, MapEngine] = {}

    def gradient(
        self,
        arguments: RolloutArrays,
        references: AnyArray,
        steps: int,
        cost: Cost | SavedCost,
        *,
        with_params: bool,
        progress: Progress,
    ) -> tuple[AnyArray, Swept]:
        """Value (B,) and derivatives of a cost of rollouts; references (steps + 1 or 1, B or 1,
        nr). The progress is advanced by `work`."""
        _check("references", references, arguments.vehicles)
        engine, end = self._adjoint(cost, with_params), self._end(cost, with_params)
        lam = end_p = end_value = total = None
        for segment in self._segments(arguments, steps, progress):
            if total is None:
                last = [segment.states[-1:], arguments.p, references[-1:]]
                lam, end_p, end_value = end.run(last, segment.states.shape[1])
            total = self._swept_segment(
                engine, arguments, references, segment, lam, None, total, progress
            )
            lam = total.x
        assert total is not None
        value = cast(AnyArray, end_value)[0, :, 0]
        if total.value.shape[2]:
            value = value + total.value[0, :, 0]
        return value, total._replace(p=total.p + end_p)

    def vjp(
        self,
        arguments: RolloutArrays,
        steps: int,
        every: int,
        cotangents: AnyArray,
        *,
        with_params: bool,
    ) -> Swept:
        """Derivatives of the sum of samples times cotangents (steps / every + 1, B, nx)."""
        if steps % every:
            raise InvalidValue(f"every = {every} must divide the {steps} steps")
        _check("cotangents", cotangents, cotangents.shape[1])
        engine = self._adjoint(None, with_params)
        space = self.space
        seeds = space.xp.zeros((steps + 1, *cotangents.shape[1:]), space.dtype)
        seeds[::every] = cotangents
        nothing = space.xp.zeros((1, 1, 0), space.dtype)
        lam, total = seeds[-1:], None
        for segment in self._segments(arguments, steps):
            total = self._swept_segment(engine, arguments, nothing, segment, lam, seeds, total)
            lam = total.x
        assert total is not None
        return total

    def _swept_segment(
        self,
        engine: AdjointEngine,
        arguments: RolloutArrays,
        references: AnyArray,
        segment: Segment,
        lam: Any,
        seeds: AnyArray | None,
        total: Swept | None,
        progress: Progress | None = None,
    ) -> Swept:
        """One segment swept backwards, added to the derivatives of later segments.

        λ (1, B, nx) is the derivative of everything later with respect to its last state; seeds
        (steps + 1, B, nx) are added to it at the start of every step.
        """
        # There may be several λ for the one vehicle, as in a Jacobian.
        space, count = self.space, max(segment.states.shape[1], lam.shape[1])
        rows = slice(segment.begin, segment.begin + len(segment.states) - 1)
        nothing = space.xp.zeros((1, 1, lam.shape[2]), space.dtype)
        swept = engine.run(
            Backward(
                x=segment.states[:-1],
                u=_rows(arguments.u, rows),
                w=_rows(arguments.w, rows),
                p=arguments.p,
                r=_rows(references, rows),
                lam=lam,
                seed=nothing if seeds is None else seeds[rows],
            ),
            len(segment.states) - 1,
            count,
            progress=progress,
        )
        if total is None:
            return swept
        held = arguments.u.shape[0] == 1
        inputs = total.u + swept.u if held else space.xp.concatenate([swept.u, total.u])
        return Swept(swept.x, inputs, total.p + swept.p, total.value + swept.value)

    def work(self, arguments: RolloutArrays, steps: int) -> int:
        """Number of steps of all vehicles, forwards and backwards."""
        return arguments.vehicles * (2 * steps + self._marks(arguments, steps)[-1])

    def _marks(self, arguments: RolloutArrays, steps: int) -> range:
        """First steps of the segments."""
        length = steps
        if steps * arguments.vehicles * arguments.x.shape[2] > _MOST_NUMBERS:
            length = min(steps, max(math.isqrt(steps), 1))
        return range(0, steps, length)

    def _segments(
        self, arguments: RolloutArrays, steps: int, progress: Progress | None = None
    ) -> Iterator[Segment]:
        """Segments of states from the last to the first, each recomputed from its checkpoint."""
        marks = self._marks(arguments, steps)
        starts = np.broadcast_to(arguments.x, (1, arguments.vehicles, arguments.x.shape[2]))
        if marks[-1]:
            first = _part(arguments, starts, 0, marks[-1])
            starts = self._states(first, marks[-1], marks.step, progress)
        for k, begin in reversed([*enumerate(marks)]):
            count = min(marks.step, steps - begin)
            part = _part(arguments, starts[k : k + 1], begin, count)
            yield Segment(begin, self._states(part, count, 1, progress))

    def _states(
        self, arguments: RolloutArrays, steps: int, every: int, progress: Progress | None
    ) -> AnyArray:
        # The vehicle last in memory, as the sweep reads it fastest.
        return self.runner.samples(arguments, steps, every, "soa", progress=progress)

    def _adjoint(self, cost: Cost | SavedCost | None, with_params: bool) -> AdjointEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self.adjoints:
            program = adjoint_of(self.runner.plant, cost, with_params)
            self.adjoints[key] = self.runner.engines.adjoint(program)
        return self.adjoints[key]

    def _end(self, cost: Cost | SavedCost, with_params: bool) -> MapEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self._ends:
            program = terminal_of(self.runner.plant, cost, with_params)
            self._ends[key] = self.runner.engines.map(program)
        return self._ends[key]


def saved_cost(plant: Plant, cost: Any) -> SavedCost:
    """The Programs of a cost, for the file of a plant."""
    cost = Cost.of(cost)
    return SavedCost(
        cost.Reference,
        adjoint_of(plant, cost, True),
        terminal_of(plant, cost, True),
        adjoint_of(plant, None, True),
    )


def adjoint_of(plant: Plant, cost: Cost | SavedCost | None, with_params: bool) -> Program:
    """The adjoint Program of a plant's step with a stage cost, or of the step alone."""
    if isinstance(cost, SavedCost):
        return cost.adjoint if with_params else without_output(cost.adjoint, "p")
    if plant.vehicle is not None and plant.method is not None:
        return adjoint.adjoint_program(plant.vehicle, plant.method, cost, params=with_params)
    if plant.derivatives is not None:
        return plant.derivatives.adjoint(cost, params=with_params)
    if plant.saved_cost is None or cost is not None:
        raise InvalidValue(
            f"this fleet of {plant.name!r} was loaded from a file: gradients need the cost it was "
            "saved with, fleet.save(path, cost=...), and then take no other"
        )
    pullback = plant.saved_cost.pullback
    return pullback if with_params else without_output(pullback, "p")


def terminal_of(plant: Plant, cost: Cost | SavedCost, with_params: bool) -> Program:
    """The Program of the terminal cost and its derivatives."""
    if isinstance(cost, SavedCost):
        return cost.terminal if with_params else without_output(cost.terminal, "p")
    if plant.derivatives is not None:
        return plant.derivatives.terminal(cost, params=with_params)
    assert plant.vehicle is not None
    return adjoint.terminal_program(plant.vehicle, cost, params=with_params)


def without_output(program: Program, name: str) -> Program:
    """The Program without one output port and the code that only this port needs."""
    outputs = tuple(Port(p.name, ()) if p.name == name else p for p in program.outputs)
    pairs = zip(program.outputs, program.results, strict=True)
    results = tuple(() if port.name == name else result for port, result in pairs)
    return without_dead_code(replace(program, outputs=outputs, results=results))


def _part(arguments: RolloutArrays, start: AnyArray, begin: int, steps: int) -> RolloutArrays:
    rows = slice(begin, begin + steps)
    return RolloutArrays(start, _rows(arguments.u, rows), _rows(arguments.w, rows), arguments.p)


def _rows(array: AnyArray, rows: slice) -> AnyArray:
    return array if array.shape[0] == 1 else array[rows]


def _check(what: str, array: AnyArray, count: int) -> None:
    """Raise unless an array (row, vehicle, field) is finite and has the vehicles of a rollout."""
    if array.shape[1] not in (1, count):
        raise InvalidValue(f"{what} have {array.shape[1]} vehicles; the rollout has {count}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, vehicle, field = bad[0].tolist()
        raise InvalidValue(
            f"{what}: value {field} of vehicle {vehicle} in row {row} is "
            f"{array[row, vehicle, field]}; it must be finite"
        )


WRT = ("x0", "controls", "params")


class Gradient(NamedTuple):
    """Derivatives of a number per vehicle; None for those that `wrt` leaves out."""

    x0: Any
    """With respect to the start states, (B, nx)."""
    controls: Any
    """With respect to the inputs: (T, B, nu), or (B, nu) if they are held."""
    params: Any
    """With respect to the parameters, (B, np)."""


class Jacobian(NamedTuple):
    """Derivatives of the last state of every vehicle."""

    x0: Any
    """(B, nx, nx)"""
    controls: Any
    """(B, nx, T, nu), or (B, nx, nu) if the inputs are held."""
    params: Any
    """(B, nx, np)"""


class Derivatives:
    """Gradients, pullbacks and Jacobians of the rollouts of one runner; see those of `Fleet`.

    `rollout` are the caller's arguments x0, controls, params and disturbances.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner, self.space = runner, runner.space
        self.sweep = Sweep(runner)

    def gradient(
        self,
        rollout: tuple[Any, Any, Any, Any],
        steps: int | None,
        cost: Cost | SavedCost,
        references: Any,
        wrt: Any,
        progress: Choice,
    ) -> tuple[Any, Gradient]:
        """Cost (B,) of every vehicle's rollout and its derivatives."""
        names = wrt_names(wrt)
        work = self._work(rollout, steps)
        r = batch.series(cost.Reference, "references", references, self.space, "aos")
        if r.shape[0] not in (1, work.steps + 1):
            raise InvalidValue(f"references have {r.shape[0]} rows; {work.steps + 1} are needed")
        total = self.sweep.work(work.acting, work.steps)
        with watching(total, "steps", "gradient", progress) as watch:
            value, swept = self.sweep.gradient(
                work.acting, r, work.steps, cost, with_params="params" in names, progress=watch
            )
        value = batch.where_wanted(value, self.space, *rollout[:3])
        return value, self._gradient(work, swept, names)

    def vjp(
        self,
        rollout: tuple[Any, Any, Any, Any],
        steps: int | None,
        every: int,
        cotangents: Any,
        wrt: Any,
    ) -> Gradient:
        """Derivatives of the sum of cotangents (steps / every + 1, B, nx) times samples."""
        names = wrt_names(wrt)
        work = self._work(rollout, steps)
        every = whole("every", every, f"at least 1 and divide the {work.steps} steps")
        c = batch.numbers("cotangents", cotangents, self.space)
        shape = (work.steps // every + 1, work.acting.vehicles, work.acting.x.shape[2])
        if tuple(c.shape) != shape:
            raise InvalidValue(f"cotangents have shape {tuple(c.shape)}; the rollout has {shape}")
        swept = self.sweep.vjp(work.acting, work.steps, every, c, with_params="params" in names)
        return self._gradient(work, swept, names)

    def jacobian(self, rollout: tuple[Any, Any, Any, Any], steps: int | None) -> Jacobian:
        """Derivatives of the last states; every vehicle is run once per state."""
        work = self._work(rollout, steps)
        nx, count = work.acting.x.shape[2], work.acting.vehicles
        per_state = RolloutArrays(*(_repeated(a, nx) for a in work.acting))
        c = self.space.xp.zeros((2, count * nx, nx), self.space.dtype)
        c[1] = np.tile(self.space.xp.eye(nx, dtype=self.space.dtype), (count, 1))
        if work.queue is not None:
            work = work._replace(queue=Late(*(_repeated(a, nx) for a in work.queue)))
        swept = self.sweep.vjp(per_state, work.steps, work.steps, c, with_params=True)
        u = np.moveaxis(
            self._of_commands(work, swept).reshape(-1, count, nx, swept.u.shape[2]), 0, 2
        )
        parts = (
            swept.x[0].reshape(count, nx, nx),
            u[:, :, 0] if work.held else u,
            swept.p[0].reshape(count, nx, -1),
        )
        self._warn_of_corners(dict(zip(WRT, parts, strict=True)))
        return Jacobian(*(batch.where_wanted(a, self.space, *rollout[:3]) for a in parts))

    def _work(self, rollout: tuple[Any, Any, Any, Any], steps: int | None) -> _Work:
        """The arguments, checked, with inputs as they act."""
        _, controls, params, disturbances = rollout
        arguments = self.runner.arguments(*rollout)
        self.runner.plausible.check(arguments, own_params=params is None)
        total = steps_of(steps, controls, disturbances)
        held = arguments.u.shape[0] == 1 and np.ndim(controls) != 3
        queue = self.runner.queue(arguments)
        if queue is not None:
            fields = self.runner.engines.channels.fields
            u = delay.acting(arguments.u, queue, fields, total, self.space)
            arguments = arguments._replace(u=u)
        return _Work(arguments, queue, total, held, rollout[:3])

    def _of_commands(self, work: _Work, swept: Swept) -> AnyArray:
        """Derivatives with respect to commands, from those with respect to inputs that acted."""
        if work.queue is None:
            return swept.u
        fields = self.runner.engines.channels.fields
        return delay.command_gradient(swept.u, work.queue, fields, work.held)

    def _gradient(self, work: _Work, swept: Swept, names: tuple[str, ...]) -> Gradient:
        """The derivatives in `names`, in the shapes and on the device of the caller's arrays."""
        u = self._of_commands(work, swept)
        parts = (swept.x[0], u[0] if work.held else u, swept.p[0])
        self._warn_of_corners({n: a for n, a in zip(WRT, parts, strict=True) if n in names})
        return Gradient(
            *(
                batch.where_wanted(part, self.space, *work.callers) if name in names else None
                for name, part in zip(WRT, parts, strict=True)
            )
        )

    def _warn_of_corners(self, parts: Mapping[str, AnyArray]) -> None:
        """Warn of derivatives that are not finite, unless diverged vehicles are masked."""
        if self.runner.settings.on_diverge == "mask":
            return
        plant = self.runner.plant
        kinds: dict[str, type] = dict(
            zip(WRT, (plant.State, plant.Input, plant.Params), strict=True)
        )
        for what, part in parts.items():
            finite = self.space.xp.isfinite(part)
            if bool(finite.all()):
                continue
            place = np.argwhere(~batch.on_host(finite))[0].tolist()
            field = record.names(kinds[what])[place[-1]]
            warnings.warn(
                f"the derivative by {what}.{field} is {float(part[tuple(place)])}, and it may not "
                "be the only one: somewhere along the rollout the model or the cost has no finite "
                "slope, as a square root has none at 0. "
                "skidpad.ops.smooth_abs and smooth_hypot have one everywhere",
                stacklevel=5,
            )
            return


class _Work(NamedTuple):
    """A rollout to be differentiated."""

    acting: RolloutArrays
    """Its arguments with inputs as they act."""
    queue: Late | None
    """The delayed commands at the start."""
    steps: int
    held: bool
    """Whether the derivatives of inputs are summed over the steps."""
    callers: tuple[Any, Any, Any]
    """The caller's x0, controls and params."""


def wrt_names(wrt: Any) -> tuple[str, ...]:
    """The names to differentiate with respect to, checked."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        one_of("wrt", name, WRT)
    return names


def _repeated(array: AnyArray, times: int) -> AnyArray:
    return array if array.shape[1] == 1 else np.repeat(array, times, axis=1)
