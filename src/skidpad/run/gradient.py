"""Derivatives of rollouts by an adjoint sweep, backwards over the very steps that were simulated.

`Derivatives` takes the caller's arguments, converts commands to delayed inputs, goes backwards over
these, and converts the derivatives back to those of commands. The forward pass saves states at
checkpoints; the backward pass repeats the steps between two of them, then sweeps back over these.
With K steps between checkpoints and T steps in all, T/K + K states of every vehicle are in memory
at a time instead of T; short rollouts are one segment.

`as_torch` makes rollouts differentiable operations of PyTorch. Nothing is copied: tensors of the
CPU are viewed as NumPy arrays, those of a GPU are passed by DLPack. The backward pass is
`Fleet.vjp`, the adjoint of the very steps that were simulated. It runs the rollout again, so that
the forward pass saves only its arguments.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..compile import closed_loop
from ..compile.cpu import Backward, Late, RolloutArrays, Swept
from ..compile.passes import without_dead_code
from ..compile.plant import Plant, SavedCost
from ..compile.program import Port, Program
from ..core import record
from ..core.arrays import AnyArray
from ..core.checks import one_of, steps_of, whole
from ..core.policy import Cost
from ..core.progress import Choice, Progress, watching
from ..errors import InvalidValue, require
from . import arguments as batch
from . import delay
from .runner import AdjointEngine, Callers, MapEngine, Runner

_MOST_NUMBERS = 1 << 27
"""State values in one segment (1 GiB of float64); longer rollouts use checkpoints."""


def saved_cost(plant: Plant, cost: Any) -> SavedCost:
    """Trace the Programs of a cost, as they are saved in the file of a plant."""
    cost = Cost.of(cost)
    return SavedCost(
        cost.Reference,
        adjoint_of(plant, cost, True),
        terminal_of(plant, cost, True),
        adjoint_of(plant, None, True),
    )


def adjoint_of(plant: Plant, cost: Cost | SavedCost | None, with_params: bool) -> Program:
    """Return the adjoint Program of a plant's step, including the stage cost if there is a cost."""
    if isinstance(cost, SavedCost):
        return cost.adjoint if with_params else without_output(cost.adjoint, "p")
    if plant.vehicle is not None and plant.method is not None:
        return closed_loop.adjoint_program(plant.vehicle, plant.method, cost, params=with_params)
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
    """Return the Program of the terminal cost and its derivatives."""
    if isinstance(cost, SavedCost):
        return cost.terminal if with_params else without_output(cost.terminal, "p")
    if plant.derivatives is not None:
        return plant.derivatives.terminal(cost, params=with_params)
    assert plant.vehicle is not None
    return closed_loop.terminal_program(plant.vehicle, cost, params=with_params)


def without_output(program: Program, name: str) -> Program:
    """A copy of the Program without one output port and without the code that only this port
    needs."""
    outputs = tuple(Port(p.name, ()) if p.name == name else p for p in program.outputs)
    pairs = zip(program.outputs, program.results, strict=True)
    results = tuple(() if port.name == name else result for port, result in pairs)
    return without_dead_code(replace(program, outputs=outputs, results=results))


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
    """Gradient of each vehicle's cost; fields are None for arguments that `wrt` leaves out."""

    x0: Any
    """Derivative with respect to the start states, (B, nx)."""
    controls: Any
    """Derivative with respect to the inputs: (T, B, nu), or (B, nu) if they are held."""
    params: Any
    """Derivative with respect to the parameters, (B, np)."""


class Jacobian(NamedTuple):
    """Derivatives of the last state of every vehicle."""

    x0: Any
    """Derivative with respect to the start states, (B, nx, nx)."""
    controls: Any
    """Derivative with respect to the inputs: (B, nx, T, nu), or (B, nx, nu) if they are held."""
    params: Any
    """Derivative with respect to the parameters, (B, nx, np)."""


class _Work(NamedTuple):
    """Arguments of a rollout to be differentiated."""

    acting: RolloutArrays
    """Checked arguments, with commands already converted to delayed inputs."""
    queue: Late | None
    """Queue of delayed commands at the start of the rollout."""
    steps: int
    held: bool
    """Whether the derivatives of inputs are summed over the steps, as the inputs are held."""
    callers: tuple[Any, Any, Any]
    """Original arguments x0, controls and params of the caller."""

    @property
    def marks(self) -> range:
        """First steps of the segments between checkpoints."""
        length = self.steps
        if length * self.acting.vehicles * self.acting.x.shape[2] > _MOST_NUMBERS:
            length = min(length, max(math.isqrt(length), 1))
        return range(0, self.steps, length)


class Derivatives:
    """Gradients, pullbacks and Jacobians of one runner's rollouts; see the methods of `Fleet`.

    The engines, one for each cost and choice of derivatives, are created on first use.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner, self.space = runner, runner.space
        self._adjoints: dict[Any, AdjointEngine] = {}
        self._ends: dict[Any, MapEngine] = {}

    def gradient(
        self,
        callers: Callers,
        steps: int | None,
        cost: Cost | SavedCost,
        references: Any,
        wrt: Any,
        progress: Choice,
    ) -> tuple[Any, Gradient]:
        """Cost (B,) of every vehicle's rollout and its derivatives."""
        names = wrt_names(wrt)
        work = self._work(callers, steps)
        acting = work.acting
        r = batch.series(cost.Reference, "references", references, self.space, "aos")
        if r.shape[0] not in (1, work.steps + 1):
            raise InvalidValue(f"references have {r.shape[0]} rows; {work.steps + 1} are needed")
        _check("references", r, acting.vehicles)
        with_params, ends = "params" in names, list[AnyArray]()

        def at_end(last: AnyArray) -> AnyArray:
            end = self._end(cost, with_params)
            ends[:] = end.run([last, acting.p, r[-1:]], last.shape[1])
            return ends[0]

        # Integrate forwards, then backwards over the steps between checkpoints, which are repeated.
        total = acting.vehicles * (2 * work.steps + work.marks[-1])
        with watching(total, "steps", "gradient", progress) as watch:
            engine = self._adjoint(cost, with_params)
            swept = self._swept(work, engine, r, at_end, progress=watch)
        value = ends[2][0, :, 0]
        if swept.value.shape[2]:
            value = value + swept.value[0, :, 0]
        value = batch.to_callers_device(value, self.space, *work.callers)
        return value, self._gradient(work, swept._replace(p=swept.p + ends[1]), names)

    def vjp(
        self, callers: Callers, steps: int | None, every: int, cotangents: Any, wrt: Any
    ) -> Gradient:
        """Derivatives of the sum of cotangents (steps / every + 1, B, nx) times samples."""
        names = wrt_names(wrt)
        work = self._work(callers, steps)
        every = whole("every", every, f"at least 1 and divide the {work.steps} steps")
        c = batch.numbers("cotangents", cotangents, self.space)
        shape = (work.steps // every + 1, work.acting.vehicles, work.acting.x.shape[2])
        if tuple(c.shape) != shape:
            raise InvalidValue(f"cotangents have shape {tuple(c.shape)}; the rollout has {shape}")
        return self._gradient(work, self._pulled_back(work, every, c, "params" in names), names)

    def jacobian(self, callers: Callers, steps: int | None) -> Jacobian:
        """Derivatives of the last states; every vehicle is run once per state."""
        work = self._work(callers, steps)
        nx, count = work.acting.x.shape[2], work.acting.vehicles
        work = work._replace(
            acting=RolloutArrays(*(_repeated(a, nx) for a in work.acting)),
            queue=work.queue and Late(*(_repeated(a, nx) for a in work.queue)),
        )
        c = self.space.xp.zeros((2, count * nx, nx), self.space.dtype)
        c[1] = np.tile(self.space.xp.eye(nx, dtype=self.space.dtype), (count, 1))
        swept = self._pulled_back(work, work.steps, c, True)
        u = self._of_commands(work, swept).reshape(-1, count, nx, swept.u.shape[2])
        u = np.moveaxis(u, 0, 2)
        x, p = swept.x[0].reshape(count, nx, nx), swept.p[0].reshape(count, nx, -1)
        parts = (x, u[:, :, 0] if work.held else u, p)
        self._warn_of_corners(dict(zip(WRT, parts, strict=True)))
        return Jacobian(*(batch.to_callers_device(a, self.space, *work.callers) for a in parts))

    def _work(self, callers: Callers, steps: int | None) -> _Work:
        """The checked arguments, with commands converted to delayed inputs."""
        arguments = self.runner.arguments(*callers)
        self.runner.plausible.check(arguments, own_params=callers.params is None)
        total = steps_of(steps, callers.controls, callers.disturbances)
        held = arguments.u.shape[0] == 1 and np.ndim(callers.controls) != 3
        queue = self.runner.queue(arguments)
        if queue is not None:
            fields = self.runner.engines.channels.fields
            u = delay.acting(arguments.u, queue, fields, total, self.space)
            arguments = arguments._replace(u=u)
        return _Work(arguments, queue, total, held, callers[:3])

    def _pulled_back(self, work: _Work, every: int, c: AnyArray, with_params: bool) -> Swept:
        """Derivatives of the sum of samples times cotangents (steps / every + 1, B, nx)."""
        if work.steps % every:
            raise InvalidValue(f"every = {every} must divide the {work.steps} steps")
        _check("cotangents", c, c.shape[1])
        engine, space = self._adjoint(None, with_params), self.space
        seeds = space.xp.zeros((work.steps + 1, *c.shape[1:]), space.dtype)
        seeds[::every] = c
        nothing = space.xp.zeros((1, 1, 0), space.dtype)
        return self._swept(work, engine, nothing, lambda last: seeds[-1:], seeds)

    def _swept(
        self,
        work: _Work,
        engine: AdjointEngine,
        references: AnyArray,
        at_end: Callable[[AnyArray], AnyArray],
        seeds: AnyArray | None = None,
        progress: Progress | None = None,
    ) -> Swept:
        """Sweep backwards over the whole rollout, segment by segment.

        λ (1, B, nx) is the derivative of all later costs with respect to a state, `at_end` that of
        the last state; seeds (steps + 1, B, nx) are added to it at the start of every step.
        """
        acting, xp = work.acting, self.space.xp
        total = None
        for begin, states in self._segments(work, progress):
            lam = at_end(states[-1:]) if total is None else total.x
            rows, steps = slice(begin, begin + len(states) - 1), len(states) - 1
            nothing = xp.zeros((1, 1, lam.shape[2]), self.space.dtype)
            u, w, r = (_rows(array, rows) for array in (acting.u, acting.w, references))
            seed = nothing if seeds is None else seeds[rows]
            given = Backward(states[:-1], u, w, acting.p, r, lam, seed)
            # A Jacobian has several λ for each vehicle.
            count = max(states.shape[1], lam.shape[1])
            swept = engine.run(given, steps, count, progress=progress)
            if total is not None:
                held = acting.u.shape[0] == 1
                inputs = total.u + swept.u if held else xp.concatenate([swept.u, total.u])
                sums = total.p + swept.p, total.value + swept.value
                swept = Swept(swept.x, inputs, *sums)
            total = swept
        assert total is not None
        return total

    def _segments(self, work: _Work, progress: Progress | None) -> Iterator[tuple[int, AnyArray]]:
        """Yield the first step and the states (steps + 1, B, nx) of each segment, last segment
        first.

        The states of a segment are recomputed from its checkpoint.
        """
        arguments, marks = work.acting, work.marks

        def states(start: AnyArray, begin: int, steps: int, every: int) -> AnyArray:
            rows = slice(begin, begin + steps)
            u, w = _rows(arguments.u, rows), _rows(arguments.w, rows)
            part = RolloutArrays(start, u, w, arguments.p)
            # The vehicle is the last axis in memory, the layout that the sweep reads fastest.
            return self.runner.samples(part, steps, every, "soa", progress=progress)

        starts = np.broadcast_to(arguments.x, (1, arguments.vehicles, arguments.x.shape[2]))
        if marks[-1]:
            starts = states(starts, 0, marks[-1], marks.step)
        for k, begin in reversed([*enumerate(marks)]):
            yield begin, states(starts[k : k + 1], begin, min(marks.step, work.steps - begin), 1)

    def _adjoint(self, cost: Cost | SavedCost | None, with_params: bool) -> AdjointEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self._adjoints:
            program = adjoint_of(self.runner.plant, cost, with_params)
            self._adjoints[key] = self.runner.engines.adjoint(program)
        return self._adjoints[key]

    def _end(self, cost: Cost | SavedCost, with_params: bool) -> MapEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self._ends:
            program = terminal_of(self.runner.plant, cost, with_params)
            self._ends[key] = self.runner.engines.map(program)
        return self._ends[key]

    def _of_commands(self, work: _Work, swept: Swept) -> AnyArray:
        """Derivatives with respect to commands, from those with respect to delayed inputs."""
        if work.queue is None:
            return swept.u
        fields = self.runner.engines.channels.fields
        return delay.command_gradient(swept.u, work.queue, fields, work.held)

    def _gradient(self, work: _Work, swept: Swept, names: tuple[str, ...]) -> Gradient:
        """The derivatives in `names`, in the shapes and on the device of the caller's arrays."""
        u = self._of_commands(work, swept)
        parts = (swept.x[0], u[0] if work.held else u, swept.p[0])
        self._warn_of_corners({n: a for n, a in zip(WRT, parts, strict=True) if n in names})
        pairs = zip(WRT, parts, strict=True)
        wanted = (part if name in names else None for name, part in pairs)
        return Gradient(
            *(
                p if p is None else batch.to_callers_device(p, self.space, *work.callers)
                for p in wanted
            )
        )

    def _warn_of_corners(self, parts: Mapping[str, AnyArray]) -> None:
        """Warn of derivatives that are not finite, unless diverged vehicles are masked."""
        if self.runner.settings.on_diverge == "mask":
            return
        plant = self.runner.plant
        kinds = {"x0": plant.State, "controls": plant.Input, "params": plant.Params}
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


def wrt_names(wrt: Any) -> tuple[str, ...]:
    """Names of the arguments to differentiate with respect to, checked."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        one_of("wrt", name, WRT)
    return names


def _repeated(array: AnyArray, times: int) -> AnyArray:
    return array if array.shape[1] == 1 else np.repeat(array, times, axis=1)


Tensor = Any
"""A `torch.Tensor`; PyTorch is optional, so its types are not imported."""
Fleet = Any
"""A `skidpad.Fleet`; its module imports this one."""
PARTS = ("x0", "controls", "params")
"""Arguments of a rollout that have derivatives."""


def as_torch(fleet: Fleet) -> Callable[..., Tensor]:
    """Return the rollout of a fleet as a differentiable function of PyTorch tensors.

    `rollout(x0, controls, params=None, every=1, steps=None, disturbances=None)` takes the arguments
    of `Fleet.rollout` as tensors in the fleet's precision and on its device, and returns the states
    (steps / every + 1, B, nx). Gradients are computed for `x0`, `controls` and `params`, which may
    also be a mapping of parameter names to tensors, () or (B,). Disturbances are constants. There
    are no second derivatives.
    """
    torch = require("torch", purpose="Fleet.as_torch")

    def rollout(
        x0: Tensor,
        controls: Tensor,
        params: Tensor | Mapping[str, Tensor] | None = None,
        every: int = 1,
        steps: int | None = None,
        disturbances: Any = None,
    ) -> Tensor:
        if isinstance(params, Mapping):
            params = _table(torch, fleet, params)
        tensors = {"x0": x0, "controls": controls, "params": params}
        for name, value in tensors.items():
            if value is not None or name != "params":
                _check_tensor(torch, fleet, name, value)
        if isinstance(disturbances, torch.Tensor):
            _check_tensor(torch, fleet, "disturbances", disturbances)
            if disturbances.requires_grad:
                raise InvalidValue(
                    "disturbances require gradients, but a fleet has none with respect to them; "
                    f"allowed are {', '.join(PARTS)}"
                )
            disturbances = _array(disturbances)
        options = {"every": every, "steps": steps, "disturbances": disturbances}
        return _function().apply(Call(fleet, options), x0, controls, params)

    return rollout


class Call(NamedTuple):
    """A rollout to differentiate: the fleet and the arguments that are not tensors."""

    fleet: Fleet
    options: dict[str, Any]

    def samples(self, x0: Tensor, controls: Tensor, params: Tensor | None) -> Any:
        arrays = [_array(tensor) for tensor in (x0, controls, params)]
        return self.fleet.rollout(arrays[0], arrays[1], params=arrays[2], **self.options)

    def pulled_back(
        self,
        tensors: tuple[Tensor, Tensor, Tensor | None],
        cotangents: Tensor,
        wrt: tuple[str, ...],
    ) -> Any:
        """The derivatives of the sum of the states, weighted by `cotangents`."""
        x0, controls, params = (_array(tensor) for tensor in tensors)
        weights = _array(cotangents)
        return self.fleet.vjp(x0, controls, weights, params=params, wrt=wrt, **self.options)


@cache
def _function() -> Any:
    """The autograd function; PyTorch is imported on first use."""
    torch = require("torch", purpose="Fleet.as_torch")

    class FleetRollout(torch.autograd.Function):
        """Autograd function: the forward pass is a rollout, the backward pass its adjoint."""

        @staticmethod
        def forward(ctx: Any, call: Call, *tensors: Any) -> Tensor:
            ctx.call = call
            ctx.save_for_backward(*tensors)
            return torch.as_tensor(call.samples(*tensors))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *cotangents: Tensor) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            needed = ctx.needs_input_grad[1:]
            wrt = tuple(name for name, wanted in zip(PARTS, needed, strict=True) if wanted)
            parts = ctx.call.pulled_back(tensors, cotangents[0], wrt)
            shaped = (
                # The derivative of a row that all vehicles share is the sum over the vehicles.
                None if part is None else torch.as_tensor(part).sum_to_size(tensor.shape)
                for part, tensor in zip(parts, tensors, strict=True)
            )
            return None, *shaped

    return FleetRollout


def _array(tensor: Tensor | None) -> Any:
    """View a tensor as an array of a fleet, without a copy: NumPy on the CPU, the tensor itself on
    a GPU.
    """
    if tensor is None:
        return None
    bare = tensor.detach()
    return bare.numpy() if bare.device.type == "cpu" else bare


def _table(torch: Any, fleet: Fleet, params: Mapping[str, Tensor]) -> Tensor:
    """Parameters given by name as (B, np); the others have the vehicle's values."""
    kind = fleet.plant.Params
    names = record.names(kind)
    for name, value in params.items():
        if name not in names:
            raise InvalidValue(record.unknown_name("params", name, names))
        _check_tensor(torch, fleet, f"params[{name!r}]", value)
    kwargs = {"dtype": getattr(torch, fleet.precision), "device": fleet.device}
    columns = [
        params.get(name, torch.tensor(value, **kwargs))
        for name, value in zip(names, record.flatten(fleet.plant.params), strict=True)
    ]
    flat = torch.broadcast_tensors(torch.zeros(1, **kwargs), *columns)[1:]
    return torch.stack(flat, dim=-1)


def _check_tensor(torch: Any, fleet: Fleet, name: str, value: Any) -> None:
    """Raise unless the value is a tensor of the fleet's precision on its device."""
    if not isinstance(value, torch.Tensor):
        raise InvalidValue(f"{name} must be a torch.Tensor, got a {type(value).__qualname__}")
    if value.dtype != getattr(torch, fleet.precision):
        raise InvalidValue(
            f"{name} is {value.dtype} but the fleet computes in {fleet.precision}: convert it with "
            f"{name}.to(torch.{fleet.precision}), or make the fleet with another precision"
        )
    if value.device.type != fleet.device:
        raise InvalidValue(
            f"{name} is on {value.device} but the fleet runs on {fleet.device!r}: move it with "
            f"{name}.to({fleet.device!r}), or make the fleet with another device"
        )
