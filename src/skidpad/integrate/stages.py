"""The stages of a Radau step as CasADi expressions, solved block by block.

`radau_step` is the whole step. `solve` takes a small block and the `Stages` it is solved on and
returns the increments D_i over the start of the step, one column per stage; it is unrolled.

A block of many states (`solve_large`) would be too much code, so its parts are functions, written
once and called:

* `begin` solves the block linearised around the start of the step and stores the factors;
* `settle` is a simplified Newton iteration: the rates of every stage, with those factors. In calm
  driving two or three are enough;
* `iterate` is a full one, with the Jacobian of every stage and the coupled system of all stages. It
  runs where `settle` converges too slowly: where the torque of a slow wheel steps, no single
  Jacobian represents all stages.

Every vehicle iterates until its own estimate of the error left is small enough. Its values then
stay as they are, even if its neighbours in the lanes still iterate.

With one Jacobian for all stages, Newton's system (A⁻¹/h ⊗ I - I ⊗ J) d = r splits into one real
matrix and one complex matrix per pair (`TransformedFactors`): with T from `radau_spectrum` it turns
into (λ/h - J) e = s for each eigenvalue λ of A⁻¹, where s = T⁻¹ r and d = T e, over the stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from ..errors import TraceError
from . import elimination
from .base import Derivative, Scalars, same_length
from .collocation import Spectrum, inverse_coefficients, radau_spectrum, radau_tableau
from .derivatives import SX, Complex, Number, called, column, real, reciprocal, symbols_besides
from .elimination import Block, Factors, Kind, Rows, SparseFactors, total
from .explicit import Tableau

CORNER_ITERATIONS = 4
"""Newton iterations of a block that is linear between corners.

Three iterations solved every step tried.
"""
ROUNDING = 1e-5
"""Relative size below which a correction may be rounding and is ignored in the estimate of κ."""

Columns = list[SX]
"""One column of a block's states per stage."""


@dataclass(frozen=True)
class Method:
    """Coefficients of a collocation method for a given step, shared by every block."""

    weights: list[list[SX]]
    """h a_ij, with h the step and a the matrix of the tableau."""
    times: list[SX]
    """h c_i, the times of the stages from the start of the step."""
    inverse: list[list[SX]]
    """(A⁻¹)_ij / h"""
    reference: int
    """Index of the stage in mid-step, around which earlier blocks are linearised."""
    step: SX
    """Step h in s."""
    tableau: Tableau
    coefficients: Sequence[Sequence[float]]
    """The matrix A⁻¹."""

    @classmethod
    def of(cls, tableau: Tableau, inverse: Sequence[Sequence[float]], h: SX) -> Method:
        """Make the method of a tableau with step `h`; `inverse` is the inverse of the tableau's
        matrix.
        """
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
        return Method.of(self.tableau, self.coefficients, h)


@dataclass(frozen=True)
class Stages:
    """Data for solving a block: start state, stage values of earlier blocks, and constants."""

    method: Method
    start: SX
    """The block's own states at the start of the step."""
    earlier: Columns
    """Values of the earlier states that the block depends on, at each stage."""
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
    # Increments of the block linearised around its start and the middle of the earlier blocks
    middle = stages.earlier[stages.method.reference]
    rates, own, on_earlier = block.rates_and_all_slopes.call([stages.start, middle, stages.free])
    factors = factorised(stages.method.inverse, [own] * len(stages))
    moved = (ca.mtimes(on_earlier, values - middle) for values in stages.earlier)
    first = factors.solve([-(rates + change) for change in moved])
    return newton(block, stages, first, [first], iterations)


def quadrature(block: Block, stages: Stages) -> Columns:
    """Increments of a block whose rates do not depend on itself: D_i = h Σ a_ij f_j."""
    method = stages.method
    if not block.earlier:
        (rate,) = block.rates.call([stages.start, stages.earlier[0], stages.free])
        return [time * rate for time in method.times]
    rates = [
        block.rates.call([stages.start, earlier, stages.free])[0] for earlier in stages.earlier
    ]
    return [total(w * f for w, f in zip(row, rates, strict=True)) for row in method.weights]


def linear(block: Block, stages: Stages) -> Columns:
    """Increments of a block that is linear in its own states: one solution around its start."""
    points = [block.rates_and_slopes.call([stages.start, g, stages.free]) for g in stages.earlier]
    factors = factorised(stages.method.inverse, [slopes for _, slopes in points])
    if block.size == 1 and not block.earlier:
        # One rate for all stages: the gains depend on h and the slope alone, so that equal
        # actuators share them and a rollout computes them once.
        gains = factors.solve([ca.SX(-1)] * len(stages))
        return [gain * points[0][0] for gain in gains]
    return factors.solve([-rates for rates, _ in points])


def newton(
    block: Block, stages: Stages, first: Columns, corrections: list[Columns], iterations: int
) -> tuple[Columns, SX]:
    """Newton iterations from `first`; `corrections` are those already made to reach it.

    Every iteration recomputes the slopes of every stage. Reusing them for the last one saved a
    sixth of the work of a car's step, but of 30 720 steps driven hard, 11 instead of 2 were then
    left with a residual above 1e-7.
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
        grid[i][i] = elimination.difference(jacobian, inverse[i][i], size)
    return elimination.factorise(grid, size)


def error_left(before: SX, last: SX) -> SX:
    """Estimate of the error after the last correction; both are sizes relative to 1 + Σ|start|.

    Quadratic convergence leaves κ n² after a correction of size n. κ is estimated from the last two
    corrections, and is at least 1 so that a correction that is small by chance is not mistaken for
    convergence.
    """
    n_1, n_2 = before + ROUNDING, last
    return n_2 * n_2 * (n_2 / (n_1 * n_1) + 1.0)


def size(values: SX) -> SX:
    """Size of a correction: the sum of absolute values. CasADi's maximum would drop a NaN."""
    return total(ca.fabs(values[i]) for i in range(values.numel()))


def symbols(name: str, count: int) -> SX:
    return column(ca.SX.sym(f"{name}_{i}") for i in range(count))


class LargeBlock:
    """A large block with its functions, for a method with a given number of stages."""

    def __init__(self, block: Block, stages: int, free: SX) -> None:
        self.block, self.stages, self.free = block, stages, free
        own = symbols("own", block.size)
        earlier = symbols("earlier", len(block.earlier))
        rates, jacobian, on_earlier = block.rates_and_all_slopes.call([own, earlier, free])
        self.sparsity, self._on_earlier = jacobian.sparsity(), on_earlier.sparsity()
        slopes = [column(jacobian.nonzeros()), column(on_earlier.nonzeros())]
        self.constants = symbols_besides(column((rates, *slopes)), column((own, earlier)))
        """The free symbols that the block depends on."""
        point = [own, earlier, self.constants]
        self._rates = called("rates", point, [rates])
        self._slopes = called("slopes", point, [rates, *slopes])
        single = [[i] for i in range(block.size)]
        for i, j in self.places:
            single[i].append(j)
        self.order = elimination.pivot_order(single)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of each entry of the Jacobian."""
        rows, columns = self.sparsity.get_triplet()
        return list(zip(rows, columns, strict=True))

    def rates(self, own: SX, earlier: SX) -> SX:
        """Time derivatives of the block's states at one point."""
        return self._rates.call([column((own, earlier, self.constants))])[0]

    def slopes(self, own: SX, earlier: SX) -> tuple[SX, SX, SX]:
        """Time derivatives of the block's states at one point, and their slopes.

        The slopes are the entries of the Jacobian with respect to the block's own states, and those
        with respect to earlier ones.
        """
        (values,) = self._slopes.call([column((own, earlier, self.constants))])
        n = self.block.size
        split = [0, n, n + self.sparsity.nnz(), values.numel()]
        rates, entries, on_earlier = ca.vertsplit(values, split)
        return rates, entries, ca.SX(self._on_earlier, on_earlier)

    def coupled(self, inverse: Sequence[Sequence[SX]], slopes: Sequence[SX]) -> SparseFactors:
        """Newton's matrix A⁻¹/h - diag(J_k) of all stages, factorised; `inverse` is A⁻¹/h.

        The unknowns are ordered state by state, the stages of one state side by side. For the 75
        unknowns of a multi-body car that takes 17 thousand products, instead of 60 stage by stage.
        """
        count = self.stages
        rows: Rows = [
            {i * count + m: inverse[k][m] for m in range(count)}
            for i in range(self.block.size)
            for k in range(count)
        ]
        for n, (i, j) in enumerate(self.places):
            for k in range(count):
                row, entry = rows[i * count + k], j * count + k
                row[entry] = row[entry] - slopes[k][n] if entry in row else -slopes[k][n]
        return SparseFactors.of(rows, [i * count + k for i in self.order for k in range(count)])

    def interleaved(self, columns: Columns) -> list[SX]:
        """Reorder unknowns from one column per stage to the row order of `coupled`."""
        return [columns[k][i] for i in range(self.block.size) for k in range(self.stages)]

    def by_stage(self, unknowns: Sequence[Any]) -> Columns:
        """Reorder unknowns from the row order of `coupled` to one column per stage."""
        return [column(unknowns[k :: self.stages]) for k in range(self.stages)]


@dataclass(frozen=True)
class TransformedFactors:
    """Factors of all matrices λ/h - J, first for real eigenvalues, then for complex pairs."""

    spectrum: Spectrum
    factors: list[SparseFactors]

    @classmethod
    def of(
        cls, spectrum: Spectrum, step: SX, jacobian: Rows, order: Sequence[int]
    ) -> TransformedFactors:
        """Factorise for the step h and a Jacobian, with the pivots in this order."""
        plain = [_shifted(jacobian, a / step) for a in spectrum.reals]
        turned = [
            _shifted(
                [{j: real(value) for j, value in row.items()} for row in jacobian],
                Complex(a / step, b / step),
            )
            for a, b in spectrum.pairs
        ]
        return cls(spectrum, [SparseFactors.of(rows, order) for rows in (*plain, *turned)])

    def solve(self, right: Columns) -> Columns:
        """Solve for one right side, with one column per stage."""
        parts = _mixed(self.spectrum.t_inverse, right)
        solved: Columns = []
        for factors, complex_ in self._kinds():
            if not complex_:
                solved.append(column(factors.solve(ca.vertsplit(parts.pop(0)))))
                continue
            # The block [[α, β], [-β, α]] on (e, f) is the product of α + iβ with e - if.
            first, second = (ca.vertsplit(parts.pop(0)) for _ in range(2))
            numbers = [Complex(a, -b) for a, b in zip(first, second, strict=True)]
            solution = factors.solve(numbers)
            solved += [column(z.re for z in solution), column(-z.im for z in solution)]
        return _mixed(self.spectrum.t, solved)

    def entries(self) -> SX:
        """All numbers of the factors, as a column."""
        numbers = [number for factors in self.factors for number in factors.entries()]
        return column(part for number in numbers for part in _parts(number))

    def with_entries(self, entries: SX) -> TransformedFactors:
        """Factors of the same sparsity with other numbers, in the order of `entries`."""
        parts = iter(ca.vertsplit(entries))
        renewed: list[SparseFactors] = []
        for factors, complex_ in self._kinds():
            count = len(factors.entries())
            numbers: list[Number] = [
                Complex(next(parts), next(parts)) if complex_ else next(parts) for _ in range(count)
            ]
            renewed.append(factors.with_entries(numbers))
        return TransformedFactors(self.spectrum, renewed)

    def _kinds(self) -> list[tuple[SparseFactors, bool]]:
        """List the factors, each with a flag for complex ones."""
        plain = len(self.spectrum.reals)
        return [(factors, k >= plain) for k, factors in enumerate(self.factors)]


def _shifted(jacobian: Rows, shift: Number) -> Rows:
    """Shifted matrix `shift` I - J of a Newton system."""
    rows: Rows = [{j: -value for j, value in row.items()} for row in jacobian]
    for i, row in enumerate(jacobian):
        rows[i][i] = shift - row[i] if i in row else shift
    return rows


def _mixed(matrix: Sequence[Sequence[float]], columns: Columns) -> Columns:
    """Apply each row of the matrix to the columns; zeros are left out."""
    return [total(a * c for a, c in zip(row, columns, strict=True) if a != 0.0) for row in matrix]


def _parts(number: Number) -> tuple[SX, ...]:
    return (number.re, number.im) if isinstance(number, Complex) else (number,)


FAR = 1e4
"""Size of a linearised start, relative to the state, above which it is discarded.

A larger start results from a vanishing pivot; the iterations then begin at the start of the step.
"""
SETTLE_ITERATIONS = 6
"""Largest number of simplified Newton iterations."""
SLOW = 0.25
"""Ratio of successive simplified corrections above which full iterations are needed."""
USELESS = 0.5
"""Ratio of successive simplified corrections above which the last one is not applied."""
MOST_ITERATIONS = 20
"""Largest number of full Newton iterations, unless the caller sets more."""
SMALLEST_PART = 0.125
"""Smallest damping factor of a full correction.

Of 60 steps of a multi-body car with wheels locked or spinning, 52 converged undamped and all
with damping.
"""
GROWTH = 1.4
"""Factor by which the damping factor grows.

It is less than 2, as alternately halving and doubling can end in a cycle.
"""
CONVERGED = (1e-10, 1e-5)
"""Estimated error, relative to the state, at which iterations end, in double and single
precision."""


@dataclass(frozen=True)
class Progress:
    """State that one iteration passes to the next."""

    go_on: SX
    """1 while iterations of this kind have to continue, else 0."""
    last: SX
    """Size of the last correction, relative to the state."""
    left: SX
    """Estimate of the remaining error, relative to the state."""
    part: SX
    """Damping factor of the last correction."""
    increments: Columns

    @classmethod
    def of(cls, values: SX, stages: int) -> Progress:
        """Unpack from a column."""
        head, rest = ca.vertsplit(values, [0, HEAD, values.numel()])
        go_on, last, left, part = ca.vertsplit(head)
        return cls(go_on, last, left, part, ca.vertsplit(rest, rest.numel() // stages))

    def column(self) -> SX:
        """Pack into a column."""
        return column((self.go_on, self.last, self.left, self.part, *self.increments))

    def unless_done(self, following: Progress) -> SX:
        """Select `following` where the iteration has to continue, else these values.

        Written as selections, so that targets can skip a function that ends with it where no
        vehicle continues.
        """
        old, new = self.column(), following.column()
        return column(ca.if_else(self.go_on, new[k], old[k]) for k in range(old.numel()))


HEAD = 4
"""Number of values of a `Progress` before the increments."""


def solve_large(large: LargeBlock, stages: Stages, iterations: int) -> tuple[Columns, SX]:
    """Increments of a large block and the residual of its iteration."""
    here = _Symbols(large, stages)
    arguments = column((stages.start, *stages.earlier, stages.method.step, large.constants))
    begin, simplified, full = *_begin_and_settle(here), _iterate(here)
    (begun,) = begin.call([arguments])
    progress = HEAD + len(stages) * large.block.size
    values, entries = ca.vertsplit(begun, [0, progress, begun.numel()])
    for _ in range(SETTLE_ITERATIONS):
        (values,) = simplified.call([column((values, arguments, entries))])
    settled = Progress.of(values, len(stages))
    again = _asks(settled.left, stages.method.step)
    values = replace(settled, go_on=again, last=ca.SX(0)).column()
    for _ in range(max(iterations, MOST_ITERATIONS)):
        (values,) = full.call([column((values, arguments))])
    solved = Progress.of(values, len(stages))
    return solved.increments, solved.left


class _Symbols:
    """Symbols for the arguments of a large block's functions `begin`, `settle` and `iterate`."""

    def __init__(self, large: LargeBlock, stages: Stages) -> None:
        self.large, self.count = large, len(stages)
        self.start = symbols("start", large.block.size)
        self.earlier = [
            symbols(f"earlier_{k}", values.numel()) for k, values in enumerate(stages.earlier)
        ]
        step = symbols("step", 1)
        self.method = stages.method.with_step(step)
        self.arguments = column((self.start, *self.earlier, step, large.constants))
        progress = symbols("progress", HEAD + self.count * large.block.size)
        self.progress = Progress.of(progress, self.count)

    def points(self) -> list[tuple[SX, SX]]:
        """Own and earlier states at every stage."""
        moved = (self.start + d for d in self.progress.increments)
        return list(zip(moved, self.earlier, strict=True))

    def defects(self, rates: Sequence[SX]) -> Columns:
        """Residuals of the stage equations: f_k - Σ (A⁻¹)_km D_m / h."""
        increments = self.progress.increments
        return [
            f - total(a * d for a, d in zip(row, increments, strict=True))
            for row, f in zip(self.method.inverse, rates, strict=True)
        ]

    def relative(self, columns: Columns) -> SX:
        """Size of a correction relative to the state."""
        return reciprocal(1.0 + size(self.start)) * size(ca.vertcat(*columns))

    def moved(self, change: Columns) -> Columns:
        """Increments after adding a correction."""
        return [d + c for d, c in zip(self.progress.increments, change, strict=True)]


def _begin_and_settle(here: _Symbols) -> tuple[Any, Any]:
    """Make the functions `begin` (linearised start with its factors) and `settle` (simplified
    iterations).
    """
    large, method = here.large, here.method
    middle = here.earlier[method.reference]
    rates, entries, on_earlier = large.slopes(here.start, middle)
    jacobian: Rows = [{} for _ in range(large.block.size)]
    for n, (i, j) in enumerate(large.places):
        jacobian[i][j] = entries[n]
    spectrum = radau_spectrum(here.count)
    factors = TransformedFactors.of(spectrum, method.step, jacobian, large.order)
    first = factors.solve([rates + ca.mtimes(on_earlier, e - middle) for e in here.earlier])
    far = here.relative(first)
    sound = far < FAR
    first = [column(ca.if_else(sound, d[i], 0.0) for i in range(d.numel())) for d in first]
    begun = Progress(ca.SX(1), ca.if_else(sound, far, 0.0), ca.SX(1), ca.SX(1), first)
    numbers = factors.entries()
    begin = called("begin", [here.arguments], [begun.column(), numbers])
    kept = symbols("factor", numbers.numel())
    settled = _settled(here, factors.with_entries(kept))
    settle = called("settle", [here.progress.column(), here.arguments, kept], [settled])
    return begin, settle


def _settled(here: _Symbols, factors: TransformedFactors) -> SX:
    """Result of one simplified Newton iteration, as a `Progress` and increments.

    Corrections decrease by a factor θ each, so the error left is θ/(1 - θ) times the last one; with
    θ below one half, less than 2 θ.
    """
    before, limit = here.progress, _limit(here.method.step)
    change = factors.solve(here.defects([here.large.rates(*point) for point in here.points()]))
    correction = here.relative(change)
    # Corrections well below the limit are noise and say nothing about θ.
    rate = correction / (before.last + 0.1 * limit)
    useful = rate < USELESS
    estimate = ca.if_else(useful, 2.0 * correction * rate, 1.0)
    go_on = ca.logic_and(rate < SLOW, estimate > limit)
    moved = [
        column(ca.if_else(useful, new[i], old[i]) for i in range(new.numel()))
        for new, old in zip(here.moved(change), before.increments, strict=True)
    ]
    return before.unless_done(
        Progress(ca.if_else(go_on, 1.0, 0.0), correction, estimate, before.part, moved)
    )


def _iterate(here: _Symbols) -> Any:
    """Make the function `iterate`, one full Newton iteration."""
    large, method, before = here.large, here.method, here.progress
    linearisations = [large.slopes(*point)[:2] for point in here.points()]
    factors = large.coupled(method.inverse, [entries for _, entries in linearisations])
    defects = here.defects([rates for rates, _ in linearisations])
    change = large.by_stage(factors.solve(large.interleaved(defects)))
    correction = here.relative(change)
    estimate = error_left(before.last, correction)
    go_on = _asks(estimate, method.step)
    # Apply the last correction without damping, since the error estimate assumes a full correction.
    part = ca.if_else(go_on, _part(before, correction), 1.0)
    moved = here.moved([part * c for c in change])
    following = Progress(go_on, correction, estimate, part, moved)
    return called("iterate", [before.column(), here.arguments], [before.unless_done(following)])


def _part(before: Progress, correction: SX) -> SX:
    """Damping factor of a full correction.

    When a wheel starts to slip or to grip, the corrections can oscillate. If one has not decreased
    as expected, half the last damping factor is used; the factor grows again once corrections
    decrease well.
    """
    # With a damped step, the undone part of the correction comes again. Of the done part, at most
    # half should be left, and a quarter is a good result.
    expected = (1.0 - 0.5 * before.part) * before.last
    hoped = (1.0 - 0.75 * before.part) * before.last
    smaller = ca.if_else(0.5 * before.part > SMALLEST_PART, 0.5 * before.part, SMALLEST_PART)
    larger = ca.if_else(GROWTH * before.part < 1.0, GROWTH * before.part, 1.0)
    kept = ca.if_else(correction < hoped, larger, before.part)
    part = ca.if_else(correction > expected, smaller, kept)
    return ca.if_else(before.last > 0.0, part, 1.0)


def _asks(estimate: SX, step: SX) -> SX:
    """Continuation flag: 1 where an error estimate requires further iterations, else 0.

    For NaN the flag is 0, since a vehicle that diverged must not delay its neighbours.
    """
    return ca.if_else(estimate > _limit(step), 1.0, 0.0)


def _limit(step: SX) -> SX:
    """Error estimate at which iterations end, relative to the state.

    One Program serves both precisions, so the precision is detected at run time.
    """
    double, single = CONVERGED
    one = ca.fmin(ca.fmax(step, 1.0), 1.0)
    return ca.if_else(one + 2.0**-40 > 1.0, double, single)


@dataclass(frozen=True)
class Solution:
    """Solved stages of one Radau step, with the data for its derivatives."""

    method: Method
    blocks: list[Block]
    free: SX
    """Symbols that the derivative depends on besides the state."""
    values: list[list[SX]]
    """Values of each state at every stage; the last stage is the result."""
    residual: SX
    large: dict[tuple[int, ...], LargeBlock]
    """The large blocks with their functions, by their states."""

    def at(self, stage: int, states: Sequence[int]) -> SX:
        """Select some states at one stage, as a column."""
        return column(self.values[i][stage] for i in states)


def radau_step(
    stages: int, iterations: int, f: Derivative, x: Scalars, dt: Any
) -> tuple[Scalars, Any]:
    """Return the state after `dt` by the Radau IIA method with `stages` stages, and the
    residual.
    """
    solved = radau_stages(stages, iterations, f, x, dt)
    return tuple(value[-1] for value in solved.values), solved.residual


def radau_stages(stages: int, iterations: int, f: Derivative, x: Scalars, dt: Any) -> Solution:
    """Solve the stages of a step over `dt` by the Radau IIA method with `stages` stages."""
    # Convert the values to a column of SX; raise for numbers and arrays
    for value in x:
        if not isinstance(value, ca.SX):
            raise TraceError(
                f"radau works on traced models (CasADi SX), got {type(value).__name__}; "
                "compile the step, or take a method of SciPy to run on numbers"
            )
    start = column(x)
    states = column(ca.SX.sym(f"stage_{i}") for i in range(len(x)))
    rates = column(ca.SX(rate) for rate in same_length(f, tuple(ca.vertsplit(states))))
    free = symbols_besides(rates, states)
    method = Method.of(radau_tableau(stages), inverse_coefficients(stages), ca.SX(dt))
    blocks = elimination.find_blocks(rates, states, free)
    values = [[start[i]] * stages for i in range(len(x))]
    residual = ca.SX(0)
    large: dict[tuple[int, ...], LargeBlock] = {}
    for block in blocks:
        earlier = [column(values[i][k] for i in block.earlier) for k in range(stages)]
        own = column(start[i] for i in block.states)
        place = Stages(method, own, earlier, free)
        if block.large:
            large[block.states] = LargeBlock(block, stages, free)
            increments, left = solve_large(large[block.states], place, iterations)
        else:
            increments, left = solve(block, place, iterations)
        residual = residual + left
        for row, i in enumerate(block.states):
            values[i] = [start[i] + d[row] for d in increments]
    return Solution(method, blocks, free, values, residual, large)
