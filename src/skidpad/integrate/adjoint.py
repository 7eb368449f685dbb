"""Derivatives of one integrator step: adjoint and tangent.

With x⁺ = F(x, u, w, p, dt) and l(x, u, p, r) the cost of the step, the adjoint takes λ, the
derivative of all later costs with respect to x⁺, to

    (∂F/∂x)ᵀ λ + ∂l/∂x,    (∂F/∂u)ᵀ λ + ∂l/∂u,    (∂F/∂p)ᵀ λ + ∂l/∂p,

and the tangent takes changes of x, u and p to the change of x⁺. What `hold` samples at the start of
the step is part of F. Adjoint and tangent differentiate the traced step by its operations (see
`derivatives`); the stages of Radau, which solve equations, are differentiated by the implicit
function theorem (see `radau_derivative`) instead of through Newton's iterations.

The derivative of a Radau step by the implicit function theorem.

The increments D_i of the stages solve R_i = Σ_j (A⁻¹)_ij D_j / h - f(x + D_i) = 0, and the step
ends at x + D_s. Newton's iteration only finds the D_i; the derivative is that of the equations:

* backwards, μ solves (∂R/∂D)ᵀ μ = (0, …, 0, λ), and the gradients are those of Σ_i μ_i · f(x + D_i)
  with D and μ constant, plus λ for x;
* forwards, (∂R/∂D) dD is the change of f at the stages with D constant.

Both are solved block by block (see `elimination`): forwards each block after those it depends on,
backwards in the opposite order, where a block receives the contributions of later ones' rates. For
a large block the systems and sweeps are functions that are called. The coupled matrix of all stages
is evaluated at the solved stages, so the derivative does not depend on how they were found. The
result of `hold` is constant over the step, so it is a symbol here and its own derivative is
computed separately.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca

from ..core import record
from ..core.model import Model
from ..errors import InvalidValue
from .base import Integrator, Scalars, discretise
from .derivatives import SX, called, column, pullback, pushforward, symbols_besides
from .elimination import Block, Kind, total
from .radau import Radau
from .stages import Columns, LargeBlock, Method, factorised, radau_stages, symbols

Point = tuple[SX, SX]
"""Point at which a block is evaluated: its own states and the earlier states it depends on, at one
stage.
"""


class LargeDerivative:
    """Linear systems and derivative sweeps of one large block of a Radau step."""

    def __init__(self, large: LargeBlock, method: Method) -> None:
        self.large, self.method = large, method

    def transposed(self, points: list[Point], right: Columns) -> tuple[Columns, SX]:
        """Solve the transposed stage system; return μ at every stage, and Σ Jᵀ μ over the
        stages.
        """
        *mu, through_own = self._solved("adjoint_system", points, right)
        return mu, through_own

    def solved(self, points: list[Point], right: Columns) -> Columns:
        """Solve for the changes of the stage increments caused by changes of the rates."""
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
        """Gradients of weights · rates at a stage, with respect to the earlier states and the
        constants.

        The constants are those of the block.
        """
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
    """One Radau step of a model, from records of CasADi symbols, ready to differentiate."""

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

    @property
    def following(self) -> SX:
        """Next state, after the step, as a column."""
        return column(values[-1] for values in self._solution.values)

    @property
    def residual(self) -> SX:
        """Newton residual of the step; see `integrate.radau`."""
        return self._solution.residual

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
        """The change of the next state when x, u, p in `symbols` change along `direction`."""
        sources, terms = symbols, direction
        if self._held is not self._sampled:
            moved = pushforward(self._sampled, symbols, direction)
            sources, terms = column((symbols, self._held)), column((direction, moved))
        on_start = _picked(terms, sources, self._start)
        change = self._forwards(on_start, _picked(terms, sources, self._solution.free))
        if self._held is self._sampled:
            return change
        return ca.substitute(change, self._held, self._sampled)

    def jacobian(self, symbols: SX) -> SX:
        """Derivatives of the next state with respect to x, u, p in `symbols`, a column for each.

        The tangent around the solved stages is a function that is called once per column.
        """
        solved = self._solution
        stages = [[ca.SX.sym("stage") for _ in values] for values in solved.values]
        direction = _like(symbols, "direction")
        self._solution = replace(solved, values=stages)
        change = self.pushforward(symbols, direction)
        self._solution = solved
        inner, known = (column(v for row in rows for v in row) for rows in (stages, solved.values))
        others = symbols_besides(change, column((inner, direction)))
        function = called("tangent", [inner, others, direction], [change])
        units = ca.horzsplit(ca.SX.eye(symbols.numel()))
        columns = [function.call([column((known, others, ca.densify(e)))])[0] for e in units]
        return ca.horzcat(*columns)

    def _backwards(self, weights: SX) -> tuple[SX, SX]:
        """Backward sweep: gradients with respect to the start state and the free symbols."""
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
        """Solve the transposed stage system; return μ at every stage, and Σ Jᵀ μ over the
        stages.
        """
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
        """Forward sweep: change of the last stage, the end of the step."""
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
        solved = self._solution
        return [
            (solved.at(k, block.states), solved.at(k, block.earlier))
            for k in range(len(solved.method.times))
        ]

    def _point(self, block: Block, stage: int) -> list[SX]:
        """Arguments for a block's functions at a stage."""
        solved = self._solution
        return [solved.at(stage, block.states), solved.at(stage, block.earlier), solved.free]

    def _block_pullback(self, block: Block, mu: Columns) -> tuple[Columns, SX]:
        """Gradients of Σ_k μ_k · f(stage k) for a block's rates f.

        The gradients are with respect to the earlier states at each stage and to the free symbols.
        One sweep serves all stages: operations that depend on the free symbols alone are visited
        once.
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
        """The change of a block's rates at a stage with its increments constant."""
        point = self._point(block, stage)
        if block.large:
            return self._large_pushforward(block, stage, moved, on_free)
        own, earlier = _like(point[0], "own"), _like(point[1], "earlier")
        inputs = column((own, earlier, self._solution.free))
        (rates,) = block.rates.call([own, earlier, self._solution.free])
        direction = _like(inputs, "direction")
        change = pushforward(rates, inputs, direction)
        swept = ca.Function("swept", [own, earlier, self._solution.free, direction], [change])
        moved_own = (moved[i][0] for i in block.states)
        moved_earlier = (moved[j][stage] for j in block.earlier)
        return swept.call([*point, column((*moved_own, *moved_earlier, on_free))])[0]

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
    """A column of new symbols, as long as `values`."""
    return column(ca.SX.sym(f"{name}_{i}") for i in range(values.numel()))


def _transposed(grid: list[list[SX]]) -> list[list[SX]]:
    return [list(row) for row in zip(*grid, strict=True)]


def _picked(terms: SX, sources: SX, targets: SX) -> SX:
    """Select for each symbol in `targets` the term at its position in `sources`, or 0 if it is
    missing there.
    """
    place = {sources[k].element_hash(): k for k in range(sources.numel())}
    indices = (place.get(targets[i].element_hash()) for i in range(targets.numel()))
    return column(ca.SX(0) if k is None else terms[k] for k in indices)


StageCost = Callable[[Any, Any, Any, Any], Any]
"""`l(x, u, p, r)` over records, a scalar."""


class Gradients(NamedTuple):
    """Result of the adjoint of a step, as records and scalars."""

    x: Any
    """Derivative with respect to the state at the start of the step, a State."""
    u: Any
    """Derivative with respect to the input, an Input."""
    p: Any
    """Derivative with respect to the parameters, a Params."""
    value: Any
    """Stage cost of the step itself."""


Adjoint = Callable[[Any, Any, Any, Any, Any, Any, Any], Gradients]
"""`adjoint(x, u, w, p, dt, r, lam) -> Gradients`; `lam` is a State of derivatives."""
Tangent = Callable[[Any, Any, Any, Any, Any, Any, Any, Any], Any]
"""`tangent(x, u, w, p, dt, dx, du, dp)` returns the change of the next state, a State.

`dx`, `du` and `dp` are a State, an Input and a Params of changes.
"""


def adjoint(model: Model, integrator: Integrator, stage_cost: StageCost | None = None) -> Adjoint:
    """Return the adjoint of one step of a model; it takes records of CasADi symbols only."""

    def gradients(x: Any, u: Any, w: Any, p: Any, dt: Any, r: Any, lam: Any) -> Gradients:
        arguments = Arguments(x, u, p)
        value = _cost(model, stage_cost, x, u, p, r)
        weights = column(ca.SX(v) for v in record.flatten(lam))
        method = _implicit(model, integrator)
        if method is not None:
            implicit = ImplicitStep(model, method, x, u, w, p, dt)
            gradient = implicit.pullback(weights, arguments.symbols)
            gradient += pullback(value, ca.SX(1), arguments.symbols)
        else:
            following, _ = discretise(model, integrator)(x, u, w, p, dt)
            outputs = column((*_leaves(following), value))
            gradient = pullback(outputs, column((weights, ca.SX(1))), arguments.symbols)
        on_x, on_u, on_p = arguments.split(gradient)
        return Gradients(on_x, on_u, on_p, value)

    return gradients


def terminal_gradients(
    model: Model, terminal_cost: Callable[[Any, Any, Any], Any], x: Any, p: Any, r: Any
) -> tuple[Any, Any, Any]:
    """Gradients of a terminal cost with respect to state and parameters, and its value.

    Return a State, a Params and a scalar, from records of CasADi symbols.
    """
    value = _scalar(f"the terminal cost of {model.name!r}", terminal_cost(x, p, r))
    arguments = Arguments(x, p)
    on_x, on_p = arguments.split(pullback(value, ca.SX(1), arguments.symbols))
    return on_x, on_p, value


def tangent(model: Model, integrator: Integrator) -> Tangent:
    """Return the tangent of one step of a model; it takes records of CasADi symbols only."""

    def change(x: Any, u: Any, w: Any, p: Any, dt: Any, dx: Any, du: Any, dp: Any) -> Any:
        symbols, direction = Arguments(x, u, p).symbols, column(_leaves(dx, du, dp))
        method = _implicit(model, integrator)
        if method is not None:
            implicit = ImplicitStep(model, method, x, u, w, p, dt)
            moved = implicit.pushforward(symbols, direction)
        else:
            following, _ = discretise(model, integrator)(x, u, w, p, dt)
            moved = pushforward(column(_leaves(following)), symbols, direction)
        return record.unflatten(model.State, ca.vertsplit(moved))

    return change


class Arguments:
    """Records of symbols to differentiate with respect to, flattened into one column."""

    def __init__(self, *records: Any) -> None:
        self.kinds = [type(r) for r in records]
        self.symbols: SX = column(_leaves(*records))

    def split(self, gradient: SX) -> list[Any]:
        """Split a column of derivatives into records of the same classes."""
        leaves = ca.vertsplit(gradient)
        parts: list[Any] = []
        for kind in self.kinds:
            count = record.size(kind)
            parts.append(record.unflatten(kind, leaves[:count]))
            leaves = leaves[count:]
        return parts


def _leaves(*records: Any) -> list[SX]:
    return [ca.SX(leaf) for r in records for leaf in record.flatten(r)]


def _implicit(model: Model, integrator: Integrator) -> Radau | None:
    """Return the integrator if it is implicit, else None."""
    if not (model.continuous and integrator.implicit):
        return None
    if not isinstance(integrator, Radau):
        raise InvalidValue(
            f"a step of {integrator.name!r} cannot be differentiated; "
            "allowed are the explicit methods and those of radau"
        )
    return integrator


def _cost(model: Model, cost: StageCost | None, x: Any, u: Any, p: Any, r: Any) -> SX:
    if cost is None:
        return ca.SX(0)
    return _scalar(f"the stage cost of {model.name!r}", cost(x, u, p, r))


def _scalar(what: str, value: Any) -> SX:
    try:
        symbol = ca.SX(value)
    except (NotImplementedError, TypeError) as error:
        raise InvalidValue(f"{what} must return a scalar, got {value!r}") from error
    if symbol.numel() != 1:
        raise InvalidValue(f"{what} must return a scalar, got shape {symbol.shape}")
    return symbol
