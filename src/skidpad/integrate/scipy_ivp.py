"""Methods of `scipy.integrate.solve_ivp` with the interface of an `Integrator`.

The methods choose their own steps inside dt, so they run on floats only. They are slow, and serve
as a reference with a known tolerance.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.checks import positive
from ..core.model import Model
from ..errors import InvalidValue, SimulationDiverged, SkidpadError, StepNotConverged
from .base import Derivative, Integrator, Scalars, same_length

METHODS = {"RK23": 3, "RK45": 5, "DOP853": 8, "Radau": 5, "BDF": 5, "LSODA": 12}
"""Method names of solve_ivp and their orders; for BDF and LSODA the highest order."""
IMPLICIT = frozenset({"Radau", "BDF", "LSODA"})

_MOST_AT_ONE_TIME = 10_000
"""Evaluations at the same time after which a solver counts as stuck.

LSODA has no such limit of its own and would not return from a pole.
"""
_MOST = 10_000_000
"""Largest number of evaluations in a step; a solver that will exceed it counts as stuck."""
_LOOKED_AT = 100_000
"""Evaluations between two checks of its progress."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ScipyMethod:
    """A `solve_ivp` method run over dt with error control."""

    method: str = "RK45"
    rtol: float = 1e-9
    """Relative error allowed in an internal step of the solver."""
    atol: float = 1e-12
    """Absolute error allowed in an internal step of the solver, in the unit of each state."""
    adaptive: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidValue(
                f"solve_ivp has no method {self.method!r}; allowed are {', '.join(METHODS)}"
            )
        for option in ("rtol", "atol"):
            positive(option, getattr(self, option))

    @property
    def name(self) -> str:
        """Name of the method, such as `scipy:RK45`."""
        return f"scipy:{self.method}"

    @property
    def order(self) -> int:
        """Order of the method; the highest one where it varies."""
        return METHODS[self.method]

    @property
    def implicit(self) -> bool:
        """Whether the method solves equations. It checks them itself, so the residual is 0.0."""
        return self.method in IMPLICIT

    def bind(self, model: Model) -> Integrator:
        """Return the integrator itself."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """Return the state after `dt` seconds, as floats; the residual is 0.0."""

        def derivative(values: Vector) -> Vector:
            return np.asarray(same_length(f, tuple(values.tolist())), dtype=float)

        # Check the types first, since float() of a CasADi symbol is silently NaN.
        for value in (*x, dt):
            if not isinstance(value, Real):
                raise InvalidValue(
                    f"{self.name} runs on numbers only, it cannot be compiled; "
                    f"got {type(value).__name__}"
                )
        start = np.array([float(value) for value in x])
        return tuple(self.solver().advance(derivative, start, float(dt)).tolist()), 0.0

    def solver(self) -> StepSolver:
        """SciPy solver of this method, restarted at every step."""
        # scipy.integrate takes a tenth of a second to import, which `import skidpad` should not
        # pay.
        import scipy.integrate

        kind = getattr(scipy.integrate, self.method)
        options = {"rtol": self.rtol, "atol": self.atol}
        return StepSolver(kind, self.name, options, interpolated=True)


class _Stuck(ArithmeticError):
    """Raised when a solver does not advance."""


class StepSolver:
    """Steps x' = f(x) with a solver class of SciPy's interface, restarted at every step.

    The class is stepped directly, as `solve_ivp` steps it: the numbers are the same, and the
    preparation of events, output times and interpolation, which takes most of the time over short
    steps, is omitted.

    Args:
        solver: the class; may be a user's own.
        name: of the method, for errors.
        options: further arguments of the class: `rtol`, `atol`.
        frozen: return the state that a failing solver has reached instead of raising.
        interpolated: return the end of the step from the interpolant, as `solve_ivp` does for a
            requested time; it may differ from the solver's own in the last bit.
    """

    def __init__(
        self,
        solver: type,
        name: str,
        options: Mapping[str, Any],
        *,
        frozen: bool = False,
        interpolated: bool = False,
    ) -> None:
        from scipy.integrate import LSODA

        self.name = name
        self._solver: Any = solver
        self._options = dict(options)
        self._frozen, self._interpolated = frozen, interpolated
        self._warns = issubclass(solver, LSODA)

    def advance(
        self, derivative: Callable[[Vector], Vector], x: Vector, dt: float, time: float = 0.0
    ) -> Vector:
        """Return the state (nx,) `dt` seconds after x.

        `time` in s is used in errors only: `StepNotConverged` when the solver gives up,
        `SimulationDiverged` when a state or its derivative is not finite.
        """
        # Raise here: with a derivative that is not finite, SciPy searches for its first step
        # without end.
        if not self._frozen and not np.isfinite(derivative(x)).all():
            raise self._diverged(x, time)
        try:
            # Suppress LSODA's warnings, since its result reports the same failure.
            quiet = warnings.catch_warnings() if self._warns else contextlib.nullcontext()
            with np.errstate(all="ignore"), quiet:
                if self._warns:
                    warnings.simplefilter("ignore")
                return self._solved(_Watched(derivative, dt), x, dt, time)
        except SkidpadError:
            raise
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise self._failed(time, str(error)) from error

    def _solved(self, function: _Watched, x: Vector, dt: float, time: float) -> Vector:
        solver = self._solver(function, 0.0, x, dt, vectorized=False, **self._options)
        # Refuse a first step of NaN, with which an explicit method never ends.
        if np.isnan(getattr(solver, "h_abs", 0.0)):
            raise self._failed(time, "the first step it looks for is NaN; it would not return")
        message = None
        while solver.status == "running":
            message = solver.step()
        if self._frozen:
            return solver.y
        if solver.status == "failed":
            raise self._failed(time, str(message))
        after = solver.y
        if self._interpolated:
            after = solver.dense_output()(np.array([dt]))[:, 0]
        if not np.isfinite(after).all():
            raise self._diverged(x, time)
        return after

    def _failed(self, time: float, why: str) -> StepNotConverged:
        return StepNotConverged(
            f"{self.name} failed in the step from t = {time:g} s: {why}",
            time=time,
            residual=float("inf"),
        )

    def _diverged(self, x: Vector, time: float) -> SimulationDiverged:
        return SimulationDiverged(
            f"{self.name} gave a state that is not finite in the step from t = {time:g} s",
            time=time,
            last_state=tuple(x.tolist()),
        )


class _Watched:
    """A derivative for solvers, which raises where time does not advance."""

    def __init__(self, derivative: Callable[[Vector], Vector], dt: float) -> None:
        self._derivative, self._dt = derivative, dt
        self._last, self._repeats, self._count = -1.0, 0, 0

    def __call__(self, t: float, x: Vector) -> Vector:
        # Not `t == last`: a time that became NaN does not advance either.
        if t > self._last or t < self._last:
            self._last, self._repeats = t, 0
        else:
            self._repeats += 1
            if self._repeats > _MOST_AT_ONE_TIME:
                raise _Stuck("time no longer advances")
        self._count += 1
        if self._count % _LOOKED_AT == 0 and t * _MOST < self._dt * self._count:
            raise _Stuck(
                f"{self._count} evaluations advanced {t:.3g} s of a step of {self._dt:g} s"
            )
        return self._derivative(x)
