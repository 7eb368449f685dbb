"""Derivatives of rollouts with respect to what the caller gave: shapes, delays and checks.

`adjoint.Sweep` goes backwards over inputs as they act; here commands become such inputs and
derivatives become those of commands.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import steps_of, whole
from ..compile.cpu import Late, RolloutArrays, Swept
from ..compile.plant import SavedCost
from ..cost import Cost
from ..errors import InvalidValue
from ..progress import Choice, watching
from . import batch, delay
from .adjoint import Sweep
from .runner import Runner

WRT = ("x0", "controls", "params")


class Gradient(NamedTuple):
    """Derivatives of a number per vehicle; None for what was not asked for."""

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

    `rollout` are the arguments x0, controls, params and disturbances, as the caller gave them.
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
        return value, self._chosen(work, swept, names)

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
        return self._chosen(work, swept, names)

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
        """Derivatives with respect to commands from those with respect to what acted."""
        if work.queue is None:
            return swept.u
        fields = self.runner.engines.channels.fields
        return delay.command_gradient(swept.u, work.queue, fields, work.held)

    def _chosen(self, work: _Work, swept: Swept, names: tuple[str, ...]) -> Gradient:
        """The parts that are wanted, in the shapes and the place of what the caller gave."""
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
        """Warn of derivatives that are not finite, unless what diverges is masked anyway."""
        if self.runner.settings.on_diverge == "mask":
            return
        plant = self.runner.plant
        kinds: dict[str, type] = dict(
            zip(WRT, (plant.State, plant.Input, plant.Params), strict=True)
        )
        for what, part in parts.items():
            # A GPU is asked once.
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
    """The delayed commands it starts with."""
    steps: int
    held: bool
    """Whether the derivatives of inputs are summed over the steps."""
    callers: tuple[Any, Any, Any]
    """x0, controls and params as the caller gave them."""


def wrt_names(wrt: Any) -> tuple[str, ...]:
    """The names to differentiate with respect to, checked."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        if name not in WRT:
            raise InvalidValue(f"wrt = {name!r} is unknown; allowed are {', '.join(WRT)}")
    return names


def _repeated(array: AnyArray, times: int) -> AnyArray:
    return array if array.shape[1] == 1 else np.repeat(array, times, axis=1)
