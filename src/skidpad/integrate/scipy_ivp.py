"""The methods of `scipy.integrate.solve_ivp` behind the integrator contract.

They choose their own steps inside dt, so they run on floats only; they are slow, and good as a
reference with a known tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidValue, SimulationDiverged, SkidpadError, StepNotConverged
from ..model import Model
from .base import Derivative, Integrator, Scalars, same_length

METHODS = {"RK23": 3, "RK45": 5, "DOP853": 8, "Radau": 5, "BDF": 5, "LSODA": 12}
"""Method names of solve_ivp and their orders; for BDF and LSODA the highest they go to."""
IMPLICIT = frozenset({"Radau", "BDF", "LSODA"})

MOST_AT_ONE_TIME = 10_000
"""Evaluations at the same time after which a solver is taken to be stuck: LSODA has no such limit
of its own and would not return from a pole."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ScipyMethod:
    """A `solve_ivp` method run over dt with error control."""

    method: str = "RK45"
    rtol: float = 1e-9
    """Relative error allowed in a step of the solver's own."""
    atol: float = 1e-12
    """Absolute error allowed in a step of the solver's own, in the unit of each state."""
    adaptive: bool = field(default=True, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidValue(
                f"solve_ivp has no method {self.method!r}; allowed are {', '.join(METHODS)}"
            )
        for option in ("rtol", "atol"):
            value = getattr(self, option)
            if not 0.0 < value < float("inf"):
                raise InvalidValue(f"{option} = {value} must be greater than 0 and finite")

    @property
    def name(self) -> str:
        """Such as `scipy:RK45`."""
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
        """Itself."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """The state after `dt`, as floats; the residual is 0.0."""

        def derivative(values: Vector) -> Vector:
            return np.asarray(same_length(f, tuple(values.tolist())), dtype=float)

        # float() of a CasADi symbol is NaN without a word, so the types are looked at first.
        for value in (*x, dt):
            if not isinstance(value, Real):
                raise InvalidValue(
                    f"{self.name} runs on numbers only, it cannot be compiled; "
                    f"got {type(value).__name__}"
                )
        start = np.array([float(value) for value in x])
        after = advance(self.method, derivative, start, float(dt), self.rtol, self.atol)
        return tuple(after.tolist()), 0.0


def advance(
    method: str,
    derivative: Callable[[Vector], Vector],
    x: Vector,
    dt: float,
    rtol: float,
    atol: float,
    *,
    time: float = 0.0,
) -> Vector:
    """The state after `dt` seconds of x' = derivative(x).

    `time` only goes into the errors: `StepNotConverged` when the solver gives up,
    `SimulationDiverged` when it returns a state that is not finite.
    """
    # scipy.integrate takes a tenth of a second to import, which `import skidpad` should not pay.
    from scipy.integrate import solve_ivp

    last, repeats = -1.0, 0

    def right_hand_side(t: float, y: Vector) -> Vector:
        nonlocal last, repeats
        # Not `t == last`: a time that became NaN does not advance either.
        repeats = 0 if t > last or t < last else repeats + 1
        last = t
        if repeats > MOST_AT_ONE_TIME:
            raise ArithmeticError("time no longer advances")
        return derivative(y)

    try:
        with np.errstate(all="ignore"):
            solution: Any = solve_ivp(
                right_hand_side, (0.0, dt), x, method=method, t_eval=(dt,), rtol=rtol, atol=atol
            )
    except SkidpadError:
        raise
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise StepNotConverged(
            f"scipy:{method} failed in the step from t = {time:g} s: {error}",
            time=time,
            residual=float("inf"),
        ) from error
    if not solution.success:
        raise StepNotConverged(
            f"scipy:{method} failed in the step from t = {time:g} s: {solution.message}",
            time=time,
            residual=float("inf"),
        )
    after: Vector = solution.y[:, -1]
    if not np.isfinite(after).all():
        raise SimulationDiverged(
            f"scipy:{method} gave a state that is not finite in the step from t = {time:g} s",
            time=time,
            last_state=tuple(x.tolist()),
        )
    return after
