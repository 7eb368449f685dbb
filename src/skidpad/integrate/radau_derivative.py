"""The derivative of a Radau step by the implicit function theorem.

The increments D_i of the stages solve R_i = Σ_j (A⁻¹)_ij D_j / h - f(x + D_i) = 0, and the step
ends at x + D_s. Newton's iteration only finds the D_i; the derivative is that of the equations:

* backwards, μ solves (∂R/∂D)ᵀ μ = (0, …, 0, λ), and the gradients are those of Σ_i μ_i · f(x + D_i)
  with D and μ constant, plus λ for x;
* forwards, (∂R/∂D) dD is the change of f at the stages while D stays.

Both are solved block by block (see `elimination`): forwards each block after those it depends on,
backwards in the opposite order, where a block receives the contributions of later ones' rates. For
a large block the systems and sweeps are functions that are called. The coupled matrix of all stages
is taken at the solved stages, so the derivative does not depend on how they were found. The result
of `hold` is constant over the step, so it is a symbol here and its own derivative comes before or
after.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca

from ..core import record
from ..core.model import Model
from .base import Scalars
from .derivatives import called, pullback, pushforward
from .elimination import Block, Kind, total
from .radau import Radau
from .stages import Columns, LargeBlock, Method, factorised, radau_stages, symbols
from .symbols import SX, column

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


class ImplicitStep:
    """One step of a model with Radau, from records of CasADi symbols; ready to differentiate."""

    def __init__(
        self, model: Model, method: Radau, x: Any, u: Any, w: Any, p: Any, dt: Any
    ) -> None:
        derivative = model.derivative
        assert derivative is not None
        held = u if model.hold is None else model.hold(x, u, w, p)
        self._sampled = column(ca.SX(v) for v in record.flatten(held))
        self._held = self._sampled
        if model.hold is not None:
            names = record.names(type(held))
            self._held = column(ca.SX.sym(f"held.{name}") for name in names)
            held = record.unflatten(type(held), ca.vertsplit(self._held))

        def f(leaves: Scalars) -> Scalars:
            return record.flatten(derivative(record.unflatten(model.State, leaves), held, w, p))

        self._start = column(record.flatten(x))
        self._solution = radau_stages(method.stages, method.iterations, f, record.flatten(x), dt)
        self._large = {
            states: LargeDerivative(block, self._solution.method)
            for states, block in self._solution.large.items()
        }

    def pullback(self, weights: SX, symbols: SX) -> SX:
        """The gradient of weights · (state after the step) with respect to x, u, p in `symbols`."""
        on_start, on_free = self._backwards(weights)
        sources, terms = column((self._start, self._solution.free)), column((on_start, on_free))
        gradient = _picked(terms, sources, symbols)
        if self._held is self._sampled:
            return gradient
        on_held = _picked(terms, sources, self._held)
        gradient = gradient + pullback(self._sampled, on_held, symbols)
        return ca.substitute(gradient, self._held, self._sampled)

    def pushforward(self, symbols: SX, direction: SX) -> SX:
        """The change of the state after the step when x, u, p in `symbols` change."""
        sources, terms = symbols, direction
        if self._held is not self._sampled:
            moved = pushforward(self._sampled, symbols, direction)
            sources, terms = column((symbols, self._held)), column((direction, moved))
        on_start = _picked(terms, sources, self._start)
        change = self._forwards(on_start, _picked(terms, sources, self._solution.free))
        if self._held is self._sampled:
            return change
        return ca.substitute(change, self._held, self._sampled)

    def _backwards(self, weights: SX) -> tuple[SX, SX]:
        """Gradients with respect to the start of the step and to the free symbols."""
        stages = range(len(self._solution.method.times))
        owed = [[ca.SX(0) for _ in stages] for _ in range(weights.numel())]
        for i, weight in enumerate(ca.vertsplit(weights)):
            owed[i][-1] = weight
        on_start: list[SX] = [ca.SX(0)] * weights.numel()
        on_free: SX = ca.SX.zeros(self._solution.free.numel())
        for block in reversed(self._solution.blocks):
            right = [column(owed[i][k] for i in block.states) for k in stages]
            mu, through_own = self._transposed_solution(block, right)
            for row, i in enumerate(block.states):
                on_start[i] = total(right[k][row] for k in stages) + through_own[row]
            on_earlier, added = self._block_pullback(block, mu)
            on_free = on_free + added
            for k in stages:
                for row, j in enumerate(block.earlier):
                    owed[j][k] = owed[j][k] + on_earlier[k][row]
        return column(on_start), on_free

    def _transposed_solution(self, block: Block, right: Columns) -> tuple[Columns, SX]:
        """μ at every stage for these right sides, and Σ Jᵀ μ over the stages."""
        method, stages = self._solution.method, range(len(right))
        if block.kind is Kind.QUADRATURE:
            weights = _transposed(method.weights)
            mu = [total(a * r for a, r in zip(row, right, strict=True)) for row in weights]
            return mu, ca.SX.zeros(block.size)
        if block.large:
            return self._large[block.states].transposed(self._points(block), right)
        slopes = [self._slopes(block, k) for k in stages]
        factors = factorised(_transposed(method.inverse), [j.T for j in slopes])
        mu = factors.solve([-r for r in right])
        return mu, total(ca.mtimes(j.T, m) for j, m in zip(slopes, mu, strict=True))

    def _forwards(self, on_start: SX, on_free: SX) -> SX:
        """The change of the last stage."""
        method = self._solution.method
        stages = range(len(method.times))
        moved = [[on_start[i]] * len(stages) for i in range(on_start.numel())]
        for block in self._solution.blocks:
            right = [self._block_pushforward(block, k, moved, on_free) for k in stages]
            if block.kind is Kind.QUADRATURE:
                change = [
                    total(a * r for a, r in zip(row, right, strict=True)) for row in method.weights
                ]
            elif block.large:
                change = self._large[block.states].solved(self._points(block), right)
            else:
                slopes = [self._slopes(block, k) for k in stages]
                change = factorised(method.inverse, slopes).solve([-r for r in right])
            for row, i in enumerate(block.states):
                moved[i] = [on_start[i] + d[row] for d in change]
        return column(values[-1] for values in moved)

    def _slopes(self, block: Block, stage: int) -> SX:
        """Jacobian of a block with respect to its own states at a stage."""
        return block.rates_and_slopes.call(self._point(block, stage))[1]

    def _points(self, block: Block) -> list[tuple[SX, SX]]:
        """Own and earlier states of a block at every stage."""
        solved = self._solution
        return [
            (solved.at(k, block.states), solved.at(k, block.earlier))
            for k in range(len(solved.method.times))
        ]

    def _point(self, block: Block, stage: int) -> list[SX]:
        """The arguments of a block's functions at a stage."""
        solved = self._solution
        return [solved.at(stage, block.states), solved.at(stage, block.earlier), solved.free]

    def _block_pullback(self, block: Block, mu: Columns) -> tuple[Columns, SX]:
        """Gradients of Σ_k μ_k · f(stage k) with respect to the earlier states at each stage and to
        the free symbols.

        One sweep for all stages: what depends on the free symbols alone is gone through once.
        """
        free = self._solution.free
        if block.large:
            return self._large_pullback(block, mu)
        points = [self._point(block, k) for k in range(len(mu))]
        own = [_like(own, f"own_{k}") for k, (own, _, _) in enumerate(points)]
        earlier = [_like(before, f"earlier_{k}") for k, (_, before, _) in enumerate(points)]
        weights = [_like(m, f"weight_{k}") for k, m in enumerate(mu)]
        rates = [block.rates.call([o, e, free])[0] for o, e in zip(own, earlier, strict=True)]
        inputs = column((*earlier, free))
        gradient = pullback(column(rates), column(weights), inputs, beside_jacobian=True)
        swept = ca.Function("swept", [*own, *earlier, free, *weights], [gradient])
        values = [o for o, _, _ in points] + [e for _, e, _ in points]
        (gradient,) = swept.call([*values, free, *mu])
        count = len(block.earlier)
        split = [*range(0, count * len(mu) + 1, count)] if count else [0] * (len(mu) + 1)
        parts = ca.vertsplit(gradient, [*split, gradient.numel()])
        return parts[:-1], parts[-1]

    def _large_pullback(self, block: Block, mu: Columns) -> tuple[Columns, SX]:
        large = self._large[block.states]
        parts = [large.pullback(*of) for of in zip(self._points(block), mu, strict=True)]
        constants, free = large.large.constants, self._solution.free
        added = total(on_constants for _, on_constants in parts)
        return [on_earlier for on_earlier, _ in parts], _picked(added, constants, free)

    def _block_pushforward(
        self, block: Block, stage: int, moved: list[list[SX]], on_free: SX
    ) -> SX:
        """The change of a block's rates at a stage while its increments stay."""
        point = self._point(block, stage)
        if block.large:
            return self._large_pushforward(block, stage, moved, on_free)
        own, earlier = _like(point[0], "own"), _like(point[1], "earlier")
        inputs = column((own, earlier, self._solution.free))
        (rates,) = block.rates.call([own, earlier, self._solution.free])
        direction = _like(inputs, "direction")
        change = pushforward(rates, inputs, direction)
        swept = ca.Function("swept", [own, earlier, self._solution.free, direction], [change])
        change_of_inputs = column(
            (
                *(moved[i][0] for i in block.states),
                *(moved[j][stage] for j in block.earlier),
                on_free,
            )
        )
        return swept.call([*point, change_of_inputs])[0]

    def _large_pushforward(
        self, block: Block, stage: int, moved: list[list[SX]], on_free: SX
    ) -> SX:
        large, free = self._large[block.states], self._solution.free
        own = column(moved[i][0] for i in block.states)
        earlier = column(moved[j][stage] for j in block.earlier)
        constants = _picked(on_free, free, large.large.constants)
        point = self._points(block)[stage]
        return large.pushforward(point, column((own, earlier, constants)))


def _like(values: SX, name: str) -> SX:
    """A column of new symbols, as many as there are values."""
    return column(ca.SX.sym(f"{name}_{i}") for i in range(values.numel()))


def _transposed(grid: list[list[SX]]) -> list[list[SX]]:
    return [list(row) for row in zip(*grid, strict=True)]


def _picked(terms: SX, sources: SX, targets: SX) -> SX:
    """For each wanted symbol the term at the place where it stands in `sources`, else 0."""
    place = {sources[k].element_hash(): k for k in range(sources.numel())}
    indices = (place.get(targets[i].element_hash()) for i in range(targets.numel()))
    return column(ca.SX(0) if k is None else terms[k] for k in indices)
