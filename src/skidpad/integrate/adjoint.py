"""The derivative of one step, backwards and forwards.

With x⁺ = F(x, u, w, p, dt) and l(x, u, p, r) the cost of the step, the adjoint takes λ, the
derivative of everything later with respect to x⁺, to

    (∂F/∂x)ᵀ λ + ∂l/∂x,    (∂F/∂u)ᵀ λ + ∂l/∂u,    (∂F/∂p)ᵀ λ + ∂l/∂p,

and the tangent takes changes of x, u and p to the change of x⁺. What `hold` samples at the start of
the step is part of F. Both differentiate the traced step, by its operations (see `derivatives`);
the stages of Radau, which solve equations, go by the implicit function theorem (see
`radau_derivative`) instead of through Newton's iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca

from ..core import record
from ..core.model import Model
from ..errors import InvalidValue
from .base import Integrator, discretise
from .derivatives import pullback, pushforward
from .radau import Radau
from .radau_derivative import ImplicitStep
from .symbols import SX, column

StageCost = Callable[[Any, Any, Any, Any], Any]
"""`l(x, u, p, r)` over records, a scalar."""


class Gradients(NamedTuple):
    """What the adjoint of a step gives, as records and scalars."""

    x: Any
    """Derivative with respect to the state at the start of the step, a State."""
    u: Any
    """Derivative with respect to the input, an Input."""
    p: Any
    """Derivative with respect to the parameters, a Params."""
    value: Any
    """The cost of the step itself."""


Adjoint = Callable[[Any, Any, Any, Any, Any, Any, Any], Gradients]
"""`adjoint(x, u, w, p, dt, r, lam) -> Gradients`; `lam` is a State of derivatives."""
Tangent = Callable[[Any, Any, Any, Any, Any, Any, Any, Any], Any]
"""`tangent(x, u, w, p, dt, dx, du, dp)`, with a State, an Input and a Params of changes, returns
the change of the next state, a State."""


def adjoint(model: Model, integrator: Integrator, stage_cost: StageCost | None = None) -> Adjoint:
    """The adjoint of one step of a model. It works on records of CasADi symbols only."""

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
    """Derivatives of a terminal cost with respect to the state (a State) and the parameters (a
    Params), and its value, from records of CasADi symbols."""
    value = _scalar(f"the terminal cost of {model.name!r}", terminal_cost(x, p, r))
    arguments = Arguments(x, p)
    on_x, on_p = arguments.split(pullback(value, ca.SX(1), arguments.symbols))
    return on_x, on_p, value


def tangent(model: Model, integrator: Integrator) -> Tangent:
    """The tangent of one step of a model. It works on records of CasADi symbols only."""

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
    """Records of symbols to differentiate with respect to, as one column and back."""

    def __init__(self, *records: Any) -> None:
        self.kinds = [type(r) for r in records]
        self.symbols: SX = column(_leaves(*records))

    def split(self, gradient: SX) -> list[Any]:
        """A column of derivatives, as records of the same classes."""
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
    """The integrator, if its steps solve equations."""
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
