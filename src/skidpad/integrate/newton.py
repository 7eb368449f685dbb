"""The stages of a collocation method, solved for one block of states.

Each function takes the block and the `Stages` it is to be solved on and returns the increments D_i
over the start of the step, one column per stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from .blocks import Block, Kind
from .elimination import Factors, difference, factorise, total
from .symbolic import SX, reciprocal
from .tableau import Tableau

CORNER_ITERATIONS = 4
"""Newton iterations of a block that is linear between corners; three settled every step tried."""
ROUNDING = 1e-5
"""Relative corrections below this may be the noise of single precision and say nothing about κ."""

Columns = list[SX]
"""One column of a block's states per stage."""


@dataclass(frozen=True)
class Method:
    """A collocation method for a given step, as factors shared by every block."""

    weights: list[list[SX]]
    """h a_ij"""
    times: list[SX]
    """h c_i"""
    inverse: list[list[SX]]
    """(A⁻¹)_ij / h"""
    reference: int
    """The stage in the middle of the step, around which earlier blocks are linearised."""
    step: SX
    """h"""
    tableau: Tableau
    coefficients: Sequence[Sequence[float]]
    """A⁻¹"""

    @classmethod
    def of(cls, tableau: Tableau, inverse: Sequence[Sequence[float]], h: SX) -> Method:
        """The method of a tableau, whose matrix has this inverse, with step `h`."""
        return cls(
            weights=[[h * a for a in row] for row in tableau.a],
            times=[h if c == 1 else h * c for c in tableau.c],
            inverse=[[a / h for a in row] for row in inverse],
            reference=(tableau.stages - 1) // 2,
            step=h,
            tableau=tableau,
            coefficients=inverse,
        )

    def with_step(self, h: SX) -> Method:
        """The same method with another step."""
        return Method.of(self.tableau, self.coefficients, h)


@dataclass(frozen=True)
class Stages:
    """Where a block is solved: its start, what earlier blocks do meanwhile, and constants."""

    method: Method
    start: SX
    """The block's own states at the start of the step."""
    earlier: Columns
    """The states of earlier blocks that it depends on, at each stage."""
    free: SX
    """Symbols that stay constant over the step."""

    def __len__(self) -> int:
        return len(self.earlier)


def solve(block: Block, stages: Stages, iterations: int) -> tuple[Columns, SX]:
    """Increments of a block and the residual of its iteration, 0 where the solution is direct."""
    if block.kind is Kind.QUADRATURE:
        return quadrature(block, stages), ca.SX(0)
    if block.kind is Kind.LINEAR:
        return linear(block, stages), ca.SX(0)
    if block.kind is Kind.PIECEWISE_LINEAR:
        at_rest = [ca.SX.zeros(block.size)] * len(stages)
        return newton(block, stages, at_rest, [], CORNER_ITERATIONS)
    first = linearised_start(block, stages)
    return newton(block, stages, first, [first], iterations)


def quadrature(block: Block, stages: Stages) -> Columns:
    """A block whose rates do not depend on itself: D_i = h Σ a_ij f_j."""
    method = stages.method
    if not block.earlier:
        (rate,) = block.rates.call([stages.start, stages.earlier[0], stages.free])
        return [time * rate for time in method.times]
    rates = [
        block.rates.call([stages.start, earlier, stages.free])[0] for earlier in stages.earlier
    ]
    return [total(w * f for w, f in zip(row, rates, strict=True)) for row in method.weights]


def linear(block: Block, stages: Stages) -> Columns:
    """A block that is linear in itself: one solution around its start."""
    points = [block.rates_and_slopes.call([stages.start, g, stages.free]) for g in stages.earlier]
    factors = factorised(stages.method.inverse, [slopes for _, slopes in points])
    if block.size == 1 and not block.earlier:
        # One rate for all stages: the gains depend on h and the slope alone, so that equal
        # actuators share them and a rollout computes them once.
        gains = factors.solve([ca.SX(-1)] * len(stages))
        return [gain * points[0][0] for gain in gains]
    return factors.solve([-rates for rates, _ in points])


def linearised_start(block: Block, stages: Stages) -> Columns:
    """The stages of the block linearised around its start and the middle of the earlier blocks."""
    middle = stages.earlier[stages.method.reference]
    rates, own, on_earlier = block.rates_and_all_slopes.call([stages.start, middle, stages.free])
    factors = factorised(stages.method.inverse, [own] * len(stages))
    moved = (ca.mtimes(on_earlier, values - middle) for values in stages.earlier)
    return factors.solve([-(rates + change) for change in moved])


def newton(
    block: Block, stages: Stages, first: Columns, corrections: list[Columns], iterations: int
) -> tuple[Columns, SX]:
    """Newton iterations from `first`; `corrections` are those already made to get there.

    Every iteration takes the slopes of every stage anew. Keeping them for the last one saved a
    sixth of the work of a car's step; of 30 720 steps driven hard, 11 instead of 2 were then left
    with a residual above 1e-7.
    """
    increments, history = first, list(corrections)
    for _ in range(iterations):
        change = _correction(block, stages, increments)
        increments = [d + c for d, c in zip(increments, change, strict=True)]
        history.append(change)
    scale = reciprocal(1.0 + size(stages.start))
    before, last = (scale * size(ca.vertcat(*corrections)) for corrections in history[-2:])
    return increments, error_left(before, last)


def _correction(block: Block, stages: Stages, increments: Columns) -> Columns:
    method = stages.method
    points = [
        block.rates_and_slopes.call([stages.start + d, earlier, stages.free])
        for d, earlier in zip(increments, stages.earlier, strict=True)
    ]
    factors = factorised(method.inverse, [slopes for _, slopes in points])
    defects = [
        total(a * d for a, d in zip(row, increments, strict=True)) - rates
        for row, (rates, _) in zip(method.inverse, points, strict=True)
    ]
    return factors.solve(defects)


def factorised(inverse: Sequence[Sequence[SX]], slopes: Sequence[SX]) -> Factors:
    """Newton's matrix diag(J_i) - A⁻¹/h, factorised; `inverse` is A⁻¹/h, `slopes` are the J_i."""
    size = slopes[0].shape[0]
    grid = [[-a for a in row] for row in inverse]
    for i, jacobian in enumerate(slopes):
        grid[i][i] = difference(jacobian, inverse[i][i], size)
    return factorise(grid, size)


def error_left(before: SX, last: SX) -> SX:
    """Estimate of the error after the last correction; both are sizes relative to 1 + Σ|start|.

    Quadratic convergence leaves κ n² after a correction of size n; κ is seen in the last two
    corrections, and taken as at least 1 so that a lucky small correction does not pass for
    convergence.
    """
    n_1, n_2 = before + ROUNDING, last
    return n_2 * n_2 * (n_2 / (n_1 * n_1) + 1.0)


def size(values: SX) -> SX:
    """Sum of absolute values. Not their maximum: CasADi's would drop a NaN."""
    return total(ca.fabs(values[i]) for i in range(values.numel()))
