"""Radau IIA: the implicit method for stiff models, unrolled by the tracer.

The stages x + D_i solve (A⁻¹ D)_i / h = f(x + D_i), and the last one is the result. A is the matrix
of the tableau, h the step. Writing the equations with A⁻¹ keeps the blocks of Newton's matrix off
the diagonal multiples of the identity (Hairer, Wanner, *Solving Ordinary Differential Equations II*,
section IV.8). The states are solved block by block (see `blocks`):

* what does not depend on itself (position, yaw) is a weighted sum;
* a linear block (an actuator lag) is one solution, exact;
* a block that is linear between corners (an actuator with a rate limit) takes a few Newton
  iterations with the slopes of each stage; they end at the exact solution once the stages lie on
  the right pieces;
* a nonlinear block (the velocities of a car) starts from the solution of its linearisation around
  the start of the step, in which the earlier blocks move as they do in the stages, and then takes
  full Newton iterations.

Residual. The corrections of successive iterations fall quadratically, so from the sums n₁ and n₂ of
the absolute corrections of the last two iterations the error left is about n₂ (n₂ / n₁)². The residual
is that estimate over 1 + Σ|x| of the block's states, summed over the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from ..errors import InvalidValue, TraceError
from ..model import Model
from .base import Derivative, Integrator, Scalars, same_length
from .blocks import find_blocks
from .collocation import inverse_coefficients, radau_tableau
from .newton import Method, Stages, solve
from .symbolic import SX, column, symbols_besides

RESIDUAL_TOLERANCE = 1e-7
"""A step with a larger residual has not converged; see the module text for what it measures."""

STAGES = (2, 3, 4)
ITERATIONS = 2
"""Newton iterations of a nonlinear block after its linearised start."""


@dataclass(frozen=True)
class Radau:
    """The Radau IIA method with 2, 3 or 4 stages, of order 3, 5 or 7; L-stable.

    It works on traced models only: the step is a CasADi expression, to be compiled.
    """

    stages: int = 3
    iterations: int = ITERATIONS
    """Newton iterations of nonlinear blocks, at least 1."""
    fresh: int = 2
    implicit: ClassVar[bool] = True
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.stages not in STAGES:
            raise InvalidValue(
                f"stages = {self.stages} of radau must be one of {', '.join(map(str, STAGES))}"
            )
        if not isinstance(self.iterations, int) or self.iterations < 1:
            raise InvalidValue(
                f"iterations = {self.iterations!r} of radau must be a whole number, at least 1"
            )

    @property
    def name(self) -> str:
        """`radau` for three stages, else `radau2` or `radau4`."""
        return "radau" if self.stages == 3 else f"radau{self.stages}"

    @property
    def order(self) -> int:
        """2 stages - 1."""
        return 2 * self.stages - 1

    def bind(self, model: Model) -> Integrator:
        """Itself: the structure of the model is found in the trace."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """The state after `dt` and the residual, both CasADi SX."""
        start = _traced(x)
        states = column(ca.SX.sym(f"stage_{i}") for i in range(len(x)))
        rates = _traced(same_length(f, tuple(ca.vertsplit(states))))
        free = symbols_besides(rates, states)
        method = Method.of(
            radau_tableau(self.stages), inverse_coefficients(self.stages), ca.SX(dt)
        )
        values = [[start[i]] * self.stages for i in range(len(x))]
        residual = ca.SX(0)
        for block in find_blocks(rates, states, free):
            earlier = [column(values[i][k] for i in block.earlier) for k in range(self.stages)]
            own = column(start[i] for i in block.states)
            increments, left = solve(block, Stages(method, own, earlier, free), self.iterations, self.fresh)
            residual = residual + left
            for row, i in enumerate(block.states):
                values[i] = [start[i] + d[row] for d in increments]
        return tuple(value[-1] for value in values), residual


def _traced(values: Scalars) -> SX:
    """The values as a column of SX."""
    for value in values:
        if not isinstance(value, (ca.SX, int, float)):
            raise TraceError(
                f"radau works on traced models (CasADi SX), got {type(value).__name__}; "
                "compile the step, or take a method of SciPy to run on numbers"
            )
    if not any(isinstance(value, ca.SX) for value in values):
        raise TraceError(
            "radau works on traced models (CasADi SX), got numbers; "
            "compile the step, or take a method of SciPy to run on numbers"
        )
    return column(ca.SX(value) for value in values)
