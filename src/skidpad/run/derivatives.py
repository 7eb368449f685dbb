"""Derivatives of rollouts with respect to what the caller gave: shapes, delays and checks.

`gradient.Differentiator` sweeps backwards over inputs as they act; here commands become such inputs
and derivatives become those of commands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import AnyArray
from ..checks import whole
from ..compile.cpu import Given, Late, Swept
from ..compile.plant import SavedCost
from ..cost import Cost
from ..errors import InvalidValue
from . import batch
from . import delay as dead_time
from .gradient import WRT, Differentiator, Gradient, Jacobian, as_gradient
from .rollouts import Rollouts


class Derivatives:
    """Gradients, pullbacks and Jacobians of the rollouts of one plant."""

    def __init__(self, rollouts: Rollouts) -> None:
        self.rollouts, self.space = rollouts, rollouts.space
        self.sweeps = Differentiator(rollouts.engines, self._vehicle_last)

    def _vehicle_last(self, given: Given, steps: int, every: int) -> AnyArray:
        return self.rollouts.samples(given, steps, every, "soa")

    def gradient(
        self, given: Given, controls: Any, steps: int, cost: Cost | SavedCost, references: Any,
        names: tuple[str, ...],
    ) -> tuple[AnyArray, Gradient]:  # fmt: skip
        """Cost of every vehicle's rollout and its derivatives."""
        r = batch.series(cost.Reference, "references", references, self.space, "aos")
        if r.shape[0] not in (1, steps + 1):
            raise InvalidValue(f"references have {r.shape[0]} rows; {steps + 1} are needed")
        held = _held(given, controls)
        acting, late = self._acting(given, steps)
        value, swept = self.sweeps.gradient(acting, r, steps, cost, names)
        return value, as_gradient(self._felt(swept, late, held), names, held)

    def vjp(
        self, given: Given, controls: Any, steps: int, every: int, cotangents: Any,
        names: tuple[str, ...],
    ) -> Gradient:  # fmt: skip
        """Derivatives of the sum of cotangents times samples."""
        every = whole("every", every, f"at least 1 and divide the {steps} steps")
        c = batch.numbers("cotangents", cotangents, self.space)
        shape = (steps // every + 1, max(a.shape[1] for a in given), given.x.shape[2])
        if tuple(c.shape) != shape:
            raise InvalidValue(f"cotangents have shape {tuple(c.shape)}; the rollout has {shape}")
        held = _held(given, controls)
        acting, late = self._acting(given, steps)
        swept = self.sweeps.vjp(acting, steps, every, c, names)
        return as_gradient(self._felt(swept, late, held), names, held)

    def jacobian(self, given: Given, controls: Any, steps: int) -> Jacobian:
        """Derivatives of the last states; every vehicle is run once per state."""
        nx, count = given.x.shape[2], max(a.shape[1] for a in given)
        held = _held(given, controls)
        acting, late = self._acting(given, steps)
        many = Given(*(_repeated(a, nx) for a in acting))
        c = self.space.xp.zeros((2, count * nx, nx), self.space.dtype)
        c[1] = np.tile(self.space.xp.eye(nx, dtype=self.space.dtype), (count, 1))
        if late is not None:
            late = Late(*(_repeated(a, nx) for a in late))
        swept = self._felt(self.sweeps.vjp(many, steps, steps, c, WRT), late, held)
        u = np.moveaxis(swept.u.reshape(-1, count, nx, swept.u.shape[2]), 0, 2)
        return Jacobian(
            x0=swept.x[0].reshape(count, nx, nx),
            controls=u[:, :, 0] if held else u,
            params=swept.p[0].reshape(count, nx, -1),
        )

    def _acting(self, given: Given, steps: int) -> tuple[Given, Late | None]:
        """The arguments with inputs as they act, and the queue they came from."""
        late = self.rollouts.late(given)
        if late is None:
            return given, None
        fields = self.rollouts.engines.channels.fields
        return given._replace(u=dead_time.acting(given.u, late, fields, steps, self.space)), late

    def _felt(self, swept: Swept, late: Late | None, held: bool) -> Swept:
        """Derivatives with respect to commands from those with respect to what acted."""
        if late is None:
            return swept
        fields = self.rollouts.engines.channels.fields
        return swept._replace(u=dead_time.felt(swept.u, late, fields, held))


def _held(given: Given, controls: Any) -> bool:
    return given.u.shape[0] == 1 and np.ndim(controls) != 3


def _repeated(array: AnyArray, times: int) -> AnyArray:
    return array if array.shape[1] == 1 else np.repeat(array, times, axis=1)
