"""Motion by the methods of `scipy.integrate.solve_ivp`, restarted at every step of the grid.

The solver classes are stepped directly, as `solve_ivp` steps them: the numbers are the same, and
what it prepares for events, output times and interpolation, which is most of its time over short
steps, is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...errors import InvalidValue, SkidpadError, StepNotConverged
from ...integrate.scipy_ivp import MOST_AT_ONE_TIME
from ...model import Vehicle
from ...run.stepper import diverged
from .derivative import Derivative
from .grid import Grid

_MOST = 10_000_000
"""Evaluations that a step may need; a solver on the way to more is taken to be stuck."""
_LOOKED_AT = 100_000
"""Evaluations after which its way is looked at, again and again."""


class _Stuck(ArithmeticError):
    """A solver that does not get on."""


class ScipyMotion:
    """Moves a vehicle over grids of steps with a solver class of scipy's kind.

    Args:
        vehicle: what moves.
        solver: the class; a user's own too.
        name: of the method, for errors.
        nominal: the disturbance of the nominal vehicle.
        options: further arguments of the solver: `rtol`, `atol`.
        frozen: return the state a failing solver has reached, as commonroad-control does, instead
            of raising.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        solver: type,
        name: str,
        nominal: Array,
        options: Mapping[str, Any],
        *,
        frozen: bool,
    ) -> None:
        from scipy.integrate import LSODA

        if vehicle.model.dead_times:
            raise InvalidValue(
                f"{vehicle.name!r} has dead time, which a Simulation does not keep from one call "
                "to the next; a Simulator does"
            )
        self.vehicle, self.name, self.nominal = vehicle, name, nominal
        self._derivative = Derivative(vehicle)
        self._solver: Any = solver
        self._options = dict(options)
        self._frozen = frozen
        self._warns = issubclass(solver, LSODA)
        self._last, self._repeats, self._count, self._dt = -1.0, 0, 0, 0.0

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """The states (steps + 1, nx) of the nominal vehicle."""
        states = np.empty((grid.steps + 1, len(x)))
        states[0] = x
        with np.errstate(all="ignore"):
            for k in range(grid.steps):
                states[k + 1] = self._step(states[k], u, self.nominal, grid.dt, k * grid.dt)
        return states

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Step k of both vehicles, from row k of their states to the next; w is the perturbed
        one's. Integrated once where nothing tells them apart."""
        same = (w == self.nominal).all() and (nominal[k] == perturbed[k]).all()
        with np.errstate(all="ignore"):
            nominal[k + 1] = self._step(nominal[k], u, self.nominal, dt, k * dt)
            perturbed[k + 1] = (
                nominal[k + 1] if same else self._step(perturbed[k], u, w, dt, k * dt)
            )

    def _step(self, x: Array, u: tuple[float, ...], w: Array, dt: float, time: float) -> Array:
        """The state dt seconds on; `time` goes into the errors only, the models know none."""
        self._derivative.hold(x, u, w)
        if not self._frozen and not np.isfinite(self._derivative(x)).all():
            raise diverged(time, self._state(x))
        try:
            if not self._warns:
                return self._solved(x, dt, time)
            # LSODA says by a warning what `solve_ivp` says by its result.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._solved(x, dt, time)
        except SkidpadError:
            raise
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise self._failed(time, str(error)) from error

    def _solved(self, x: Array, dt: float, time: float) -> Array:
        self._last, self._repeats, self._count, self._dt = -1.0, 0, 0, dt
        solver = self._solver(self._right_hand_side, 0.0, x, dt, vectorized=False, **self._options)
        # With this first step an explicit method never ends.
        if np.isnan(getattr(solver, "h_abs", 0.0)):
            raise self._failed(time, "the first step it looks for is NaN; it would not return")
        message = None
        while solver.status == "running":
            message = solver.step()
        if self._frozen:
            return solver.y
        if solver.status == "failed":
            raise self._failed(time, str(message))
        if not np.isfinite(solver.y).all():
            raise diverged(time, self._state(x))
        return solver.y

    def _right_hand_side(self, t: float, x: Array) -> Array:
        # Not `t == last`: a time that became NaN does not advance either.
        if t > self._last or t < self._last:
            self._last, self._repeats = t, 0
        else:
            self._repeats += 1
            if self._repeats > MOST_AT_ONE_TIME:
                raise _Stuck("time no longer advances")
        self._count += 1
        if self._count % _LOOKED_AT == 0 and t * _MOST < self._dt * self._count:
            raise _Stuck(
                f"{self._count} evaluations have brought it {t:.3g} s on of {self._dt:g} s"
            )
        return self._derivative(x)

    def _failed(self, time: float, why: str) -> StepNotConverged:
        return StepNotConverged(
            f"{self.name} failed in the step from t = {time:g} s: {why}",
            time=time,
            residual=float("inf"),
        )

    def _state(self, x: Array) -> Any:
        return record.unflatten(self.vehicle.State, x.tolist())
