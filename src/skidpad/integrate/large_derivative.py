"""What the derivative of a step needs of a large block, as functions that are called.

The equations are those of `implicit_derivative`. The coupled matrix of all stages is taken at the
stages as they were solved, so the derivative does not depend on how they were found.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca

from .called_kernels import called
from .elimination import total
from .large_block import LargeBlock, symbols
from .newton import Columns, Method
from .sweep import pullback, pushforward
from .symbolic import SX, column

Point = tuple[SX, SX]
"""The block's own states and the earlier ones it depends on, at one stage."""


class LargeDerivative:
    """The linear systems and the sweeps of one large block."""

    def __init__(self, large: LargeBlock, method: Method) -> None:
        self.large, self.method = large, method

    def transposed(self, points: list[Point], right: Columns) -> tuple[Columns, SX]:
        """μ at every stage for these right sides, and Σ Jᵀ μ over the stages."""
        *mu, through_own = self._solved("adjoint_system", points, right)
        return mu, through_own

    def solved(self, points: list[Point], right: Columns) -> Columns:
        """The changes of the increments for these changes of the rates."""
        return self._solved("tangent_system", points, right)

    def _solved(self, name: str, points: list[Point], right: Columns) -> Columns:
        large, step = self.large, symbols("step", 1)
        own = [symbols(f"own_{k}", o.numel()) for k, (o, _) in enumerate(points)]
        earlier = [symbols(f"earlier_{k}", e.numel()) for k, (_, e) in enumerate(points)]
        sides = [symbols(f"right_{k}", r.numel()) for k, r in enumerate(right)]
        slopes = [large.slopes(o, e)[1] for o, e in zip(own, earlier, strict=True)]
        factors = large.coupled(self.method.with_step(step).inverse, slopes)
        unknowns = large.interleaved(sides)
        if name == "tangent_system":
            solution = large.by_stage(factors.solve(unknowns))
        else:
            solution = large.by_stage(factors.solve_transposed(unknowns))
            jacobians = [ca.SX(large.sparsity, entries) for entries in slopes]
            solution.append(
                total(ca.mtimes(j.T, m) for j, m in zip(jacobians, solution, strict=True))
            )
        function = called(name, [*own, *earlier, step, large.constants, *sides], solution)
        flat = [o for o, _ in points] + [e for _, e in points]
        arguments = column((*flat, self.method.step, large.constants, *right))
        return ca.vertsplit(function.call([arguments])[0], large.block.size)

    def pullback(self, point: Point, weights: SX) -> tuple[SX, SX]:
        """The gradients of weights · rates at a stage with respect to the earlier states and to the
        block's constants."""
        (gradients,) = self._backwards.call([column((*point, self.large.constants, weights))])
        on_earlier, on_constants = ca.vertsplit(gradients, [0, point[1].numel(), gradients.numel()])
        return on_earlier, on_constants

    def pushforward(self, point: Point, direction: SX) -> SX:
        """The change of the rates at a stage when own states, earlier states and constants change
        along `direction`."""
        return self._forwards.call([column((*point, self.large.constants, direction))])[0]

    @cached_property
    def _backwards(self) -> Any:
        own, earlier, rates = self._expressions()
        weights = symbols("weight", rates.numel())
        gradient = pullback(rates, weights, column((earlier, self.large.constants)))
        return called("sweep_back", [own, earlier, self.large.constants, weights], [gradient])

    @cached_property
    def _forwards(self) -> Any:
        own, earlier, rates = self._expressions()
        inputs = column((own, earlier, self.large.constants))
        direction = symbols("direction", inputs.numel())
        return called("sweep", [inputs, direction], [pushforward(rates, inputs, direction)])

    def _expressions(self) -> tuple[SX, SX, SX]:
        """Symbols for own and earlier states, and the rates as an expression of them."""
        block = self.large.block
        own, earlier = symbols("own", block.size), symbols("earlier", len(block.earlier))
        (rates,) = block.rates.call([own, earlier, self.large.free])
        return own, earlier, rates
