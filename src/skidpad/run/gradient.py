"""Derivatives of rollouts with respect to what the caller gave: shapes, delays and checks.

`adjoint.Sweep` goes backwards over inputs as they act; here commands become such inputs and
derivatives become those of commands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..checks import whole
from ..compile.cpu import Given, Late, Swept
from ..compile.plant import SavedCost
from ..cost import Cost
from ..errors import InvalidValue
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
    """Gradients, pullbacks and Jacobians of the rollouts of one runner.

    `arguments` are those of a rollout as arrays (step, vehicle, field), `controls` as the caller
    gave them: derivatives have their shape.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner, self.space = runner, runner.space
        self._sweep = Sweep(runner)

    def gradient(
        self,
        arguments: Given,
        controls: Any,
        steps: int,
        cost: Cost | SavedCost,
        references: Any,
        wrt: tuple[str, ...],
    ) -> tuple[AnyArray, Gradient]:
        """Cost (B,) of every vehicle's rollout and its derivatives."""
        r = batch.series(cost.Reference, "references", references, self.space, "aos")
        if r.shape[0] not in (1, steps + 1):
            raise InvalidValue(f"references have {r.shape[0]} rows; {steps + 1} are needed")
        held = _held(arguments, controls)
        acting, queue = self._acting(arguments, steps)
        value, swept = self._sweep.gradient(acting, r, steps, cost, with_params="params" in wrt)
        return value, _chosen(self._of_commands(swept, queue, held), wrt, held)

    def vjp(
        self,
        arguments: Given,
        controls: Any,
        steps: int,
        every: int,
        cotangents: Any,
        wrt: tuple[str, ...],
    ) -> Gradient:
        """Derivatives of the sum of cotangents (steps / every + 1, B, nx) times samples."""
        every = whole("every", every, f"at least 1 and divide the {steps} steps")
        c = batch.numbers("cotangents", cotangents, self.space)
        shape = (steps // every + 1, max(a.shape[1] for a in arguments), arguments.x.shape[2])
        if tuple(c.shape) != shape:
            raise InvalidValue(f"cotangents have shape {tuple(c.shape)}; the rollout has {shape}")
        held = _held(arguments, controls)
        acting, queue = self._acting(arguments, steps)
        swept = self._sweep.vjp(acting, steps, every, c, with_params="params" in wrt)
        return _chosen(self._of_commands(swept, queue, held), wrt, held)

    def jacobian(self, arguments: Given, controls: Any, steps: int) -> Jacobian:
        """Derivatives of the last states; every vehicle is run once per state."""
        nx, count = arguments.x.shape[2], max(a.shape[1] for a in arguments)
        held = _held(arguments, controls)
        acting, queue = self._acting(arguments, steps)
        per_state = Given(*(_repeated(a, nx) for a in acting))
        c = self.space.xp.zeros((2, count * nx, nx), self.space.dtype)
        c[1] = np.tile(self.space.xp.eye(nx, dtype=self.space.dtype), (count, 1))
        if queue is not None:
            queue = Late(*(_repeated(a, nx) for a in queue))
        swept = self._sweep.vjp(per_state, steps, steps, c, with_params=True)
        swept = self._of_commands(swept, queue, held)
        u = np.moveaxis(swept.u.reshape(-1, count, nx, swept.u.shape[2]), 0, 2)
        return Jacobian(
            x0=swept.x[0].reshape(count, nx, nx),
            controls=u[:, :, 0] if held else u,
            params=swept.p[0].reshape(count, nx, -1),
        )

    def _acting(self, arguments: Given, steps: int) -> tuple[Given, Late | None]:
        """The arguments with inputs as they act, and the queue they came from."""
        queue = self.runner.queue(arguments)
        if queue is None:
            return arguments, None
        fields = self.runner.engines.channels.fields
        u = delay.acting(arguments.u, queue, fields, steps, self.space)
        return arguments._replace(u=u), queue

    def _of_commands(self, swept: Swept, queue: Late | None, held: bool) -> Swept:
        """Derivatives with respect to commands from those with respect to what acted."""
        if queue is None:
            return swept
        fields = self.runner.engines.channels.fields
        return swept._replace(u=delay.command_gradient(swept.u, queue, fields, held))


def wrt_names(wrt: Any) -> tuple[str, ...]:
    """The names to differentiate with respect to, checked."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        if name not in WRT:
            raise InvalidValue(f"wrt = {name!r} is unknown; allowed are {', '.join(WRT)}")
    return names


def _chosen(swept: Swept, wrt: tuple[str, ...], held: bool) -> Gradient:
    """The parts that are wanted, in the shapes of what the caller gave."""
    return Gradient(
        x0=swept.x[0] if "x0" in wrt else None,
        controls=(swept.u[0] if held else swept.u) if "controls" in wrt else None,
        params=swept.p[0] if "params" in wrt else None,
    )


def _held(arguments: Given, controls: Any) -> bool:
    return arguments.u.shape[0] == 1 and np.ndim(controls) != 3


def _repeated(array: AnyArray, times: int) -> AnyArray:
    return array if array.shape[1] == 1 else np.repeat(array, times, axis=1)
