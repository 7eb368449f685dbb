"""The work of gradient benchmarks, and what its derivatives must be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..model import Vehicle
from .source import COST
from .work import RK4_DT, SEED, Reference, fleet_work

LOWEST = (-0.009, 0.0, 0.0, 0.0, 0.0)
HIGHEST = (0.009, 20.0, 20.0, 20.0, 20.0)
"""Range of the inputs, in rad and N·m."""
_STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Places and weights of a central difference of fourth order."""


class GradientWork(NamedTuple):
    """Vehicles to roll out, each with a random input of its own at every step."""

    vehicle: Vehicle
    dt: float
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (T, B, nu)."""
    checked: int
    """How many vehicles, from the first, have a reference."""

    @property
    def steps(self) -> int:
        """Steps of a rollout."""
        return len(self.u)

    def first(self, count: int) -> GradientWork:
        """The same work with only the first vehicles."""
        return self._replace(x0=self.x0[:count], u=self.u[:, :count])

    def cast(self, precision: str) -> GradientWork:
        """The same work in another precision."""
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


def gradient_work(count: int, steps: int, checked: int) -> GradientWork:
    """`count` four-wheel cars at 10 m/s, steering within ±0.009 rad, torques from 0 to 20 N·m.

    That is too little steering to reach the limit of its rate, where the cost has a kink and
    central differences would say nothing.
    """
    held = fleet_work(count, RK4_DT, steps, checked)
    u = np.random.default_rng(SEED).uniform(LOWEST, HIGHEST, (steps, count, len(LOWEST)))
    return GradientWork(held.vehicle, RK4_DT, held.x0, u, held.checked)


def gradient_reference(work: GradientWork) -> Reference:
    """Derivatives (K T, nu) of the checked vehicles' costs, by central differences in float64.

    The vehicle's function is called directly on arrays, one column for every moved input.
    """
    few = work.first(work.checked)
    steps, count, inputs = few.u.shape
    # Small beside the range of each input, large beside the rounding of the cost.
    moves = 2e-3 * np.array(HIGHEST)
    total = np.zeros((steps, inputs, count))
    for place, weight in _STENCIL:
        moved = np.broadcast_to(few.u[:, None, None], (steps, steps, inputs, count, inputs)).copy()
        at, of = np.ix_(range(steps), range(inputs))
        moved[at, at, of, :, of] += (place * moves)[None, :, None]
        x0 = np.broadcast_to(few.x0, (steps, inputs, *few.x0.shape))
        flat = moved.reshape(steps, -1, inputs)
        costs = _costs(few.vehicle, few.dt, x0.reshape(-1, few.x0.shape[1]), flat)
        total += weight * costs.reshape(steps, inputs, count) / moves[:, None]
    end = np.moveaxis(total, 2, 0).reshape(-1, inputs)
    return Reference(end, np.abs(end).max(axis=0))


def _costs(vehicle: Vehicle, dt: float, x0: AnyArray, u: AnyArray) -> AnyArray:
    """The cost (N,) of rollouts from x0 (N, nx) with inputs (T, N, nu)."""
    model, p = vehicle.model, vehicle.params
    update = integrate.discretise(model, integrate.get("rk4"))
    w = record.build(model.Disturbance)
    state: Any = record.unflatten(model.State, tuple(np.ascontiguousarray(x0.T)))
    cost: Any = 0.0
    for row in u:
        held = record.unflatten(model.Input, tuple(np.ascontiguousarray(row.T)))
        cost = cost + COST.at_step(state, held, p, None)
        state, _ = update(state, held, w, p, dt)
    return cost + COST.at_end(state, p, None)
