"""Radau IIA: the implicit method for stiff models, traced into the step.

The stages x + D_i solve (A⁻¹ D)_i / h = f(x + D_i), and the last one is the result. A is the matrix
of the tableau, h the step. Writing the equations with A⁻¹ makes the blocks of Newton's matrix off
the diagonal multiples of the identity (Hairer, Wanner, *Solving Ordinary Differential Equations
II*, section IV.8). The states are solved block by block (see `elimination`):

* a block that does not depend on itself (position, yaw) is a weighted sum;
* a linear block (an actuator lag) is one solution, exact;
* a block that is linear between corners (an actuator with a rate limit) takes a few Newton
  iterations with the slopes of each stage; they reach the exact solution once the stages lie on
  the right pieces;
* a nonlinear block (the velocities of a car) starts from the solution of its linearisation around
  the start of the step, in which the earlier blocks move as they do in the stages, and then takes
  full Newton iterations (see `stages.newton`);
* a block of many states (the 25 of a multi-body car) is not unrolled but calls functions, and every
  vehicle iterates as often as it needs (see `stages.solve_large`).

Residual: corrections decrease quadratically, so the error left after the last two, of sizes n₁ and
n₂, is about n₂ (n₂ / n₁)². Sizes are sums of absolute values over the stages and states of a block,
relative to 1 + Σ|x| over the block's states in SI units. The residual is that estimate plus n₂²,
summed over the blocks. It is an estimate, not a bound: on random driving of the four-wheel car from
0.5 to 30 m/s in steps of 10 ms it was 0.4 to 4 times the true error of the iteration, and with one
iteration 0.07 to 260 times, 0.2 to 20 in 98 of 100 steps. The simplified iterations of a large
block decrease by a factor θ each; they leave less than 2 θ n₂.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..core.checks import one_of, whole
from ..core.model import Model
from .base import Derivative, Integrator, Scalars

RESIDUAL_TOLERANCE = 1e-6
"""Residual above which a step has not converged; see the module text for its definition.

In 61 440 such random steps one was above it, and no step below it was off by more than 2e-7.
"""

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
    """Newton iterations of nonlinear blocks, at least 1.

    Large blocks iterate as often as they need.
    """
    implicit: bool = field(default=True, init=False, repr=False)
    adaptive: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        one_of("stages", self.stages, STAGES)
        whole("iterations", self.iterations, "at least 1")

    @property
    def name(self) -> str:
        """`radau` for three stages, else `radau2` or `radau4`."""
        return "radau" if self.stages == 3 else f"radau{self.stages}"

    @property
    def order(self) -> int:
        """Order of the method: 2 stages - 1."""
        return 2 * self.stages - 1

    def bind(self, model: Model) -> Integrator:
        """Return the integrator itself: the structure of the model is found in the trace."""
        return self

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """Return the state after `dt` seconds and the residual, both CasADi SX."""
        from .stages import radau_step  # here, since it imports CasADi, which takes a while

        return radau_step(self.stages, self.iterations, f, x, dt)
