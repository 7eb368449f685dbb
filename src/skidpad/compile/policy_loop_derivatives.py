"""Derivatives of one step of a closed loop, and of the end of a cost over one.

With u, m⁺ = π(x, m, r, q) the policy and x⁺ = F(x, u, w, p) the vehicle's step, λ and μ the
derivatives of everything later with respect to x⁺ and m⁺, the vehicle's own adjoint gives
(∂F/∂x)ᵀ λ, (∂F/∂u)ᵀ λ and (∂F/∂p)ᵀ λ; the second of them and μ go back through the policy. So every
method that the vehicle can be differentiated under will do, implicit ones too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import record
from ..cost import Cost, NoReference
from ..integrate.base import Integrator
from .adjoint import DT, value_port
from .policy_loop import Loop
from .program import Port, Program
from .trace import trace


class LoopDerivatives(NamedTuple):
    """What the derivatives of a closed loop are traced from.

    A cost sees the state with the memory behind it, the parameters with the policy's behind them,
    and as `u` the command that the policy gives.
    """

    loop: Loop
    method: Integrator

    def adjoint(self, cost: Cost | None, *, params: bool) -> Program:
        """The adjoint of one step, with the ports of `adjoint.adjoint_program`; its `u` is the
        reference."""
        loop, reference = self.loop, NoReference if cost is None else cost.Reference
        x, u, w, p = loop.ports

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            r = record.unflatten(reference, ports[5])
            on_x, on_r, on_p, value = self._pulled_back(cost, ports, r)
            return on_x, on_r, on_p if params else (), (value,) if staged else ()

        staged = cost is not None and cost.stage is not None
        inputs = (x, u, w, p, DT, Port("r", record.names(reference)), Port("lam", x.fields))
        outputs = (x, u, p if params else Port("p", ()), value_port(staged))
        return trace(self._name("adjoint"), function, inputs, outputs)

    def terminal(self, cost: Cost, *, params: bool) -> Program:
        """The end of a cost, with the ports of `adjoint.terminal_program`."""
        from ..integrate.adjoint import terminal_gradients

        loop = self.loop
        x, _, _, p = loop.ports

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            kinds = (loop.State, loop.Params, cost.Reference)
            end = [record.unflatten(kind, port) for kind, port in zip(kinds, ports, strict=True)]
            on_x, on_p, value = terminal_gradients(loop.model, cost.at_end, *end)
            return record.flatten(on_x), record.flatten(on_p) if params else (), (value,)

        inputs = (x, p, Port("r", record.names(cost.Reference)))
        outputs = (x, p if params else Port("p", ()), value_port(True))
        return trace(self._name("terminal"), function, inputs, outputs)

    def _name(self, what: str) -> str:
        return f"{self.loop.model.name}.{self.loop.policy.name}.{what}.{self.method.name}"

    def _pulled_back(
        self, cost: Cost | None, ports: tuple[tuple[Any, ...], ...], r: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Derivatives with respect to state, reference and parameters, and the stage cost."""
        import casadi as ca

        from ..integrate.adjoint import adjoint
        from ..integrate.sweep import pullback
        from ..integrate.symbolic import column

        loop, (state, told, w, p, (dt,), _, lam) = self.loop, ports
        (x, memory), (car, own) = loop.parts(state), loop.params(p)
        u, following = loop.command(x, memory, loop.reference(told), own, dt)
        # The vehicle's adjoint is with respect to symbols, so the command is one until the end.
        names = record.names(loop.model.Input)
        placeholder = [ca.SX.sym(f"command.{name}") for name in names]
        input_record = record.unflatten(loop.model.Input, placeholder)
        on_next, on_memory = loop.parts(lam)
        vehicle = adjoint(loop.model, self.method)(
            x, input_record, loop.disturbance(w), car, dt, NoReference(), on_next
        )
        value = self._stage_cost(cost, state, u, p, r)
        symbols = column((*state, *told, *p))
        outputs = column(map(ca.SX, (*record.flatten(u), *record.flatten(following), value)))
        weights = column((*record.flatten(vehicle.u), *record.flatten(on_memory), ca.SX(1)))
        direct = column(
            (
                *_padded(vehicle.x, len(state)),
                *[ca.SX(0)] * len(told),
                *_padded(vehicle.p, len(p)),
            )
        )
        gradient = pullback(outputs, weights, symbols) + direct
        gradient = ca.substitute(gradient, column(placeholder), outputs[: len(names)])
        leaves, n = ca.vertsplit(gradient), len(state) + len(told)
        return leaves[: len(state)], leaves[len(state) : n], leaves[n:], value

    def _stage_cost(self, cost: Cost | None, state: Any, u: Any, p: Any, r: Any) -> Any:
        if cost is None:
            return 0.0
        x, own = record.unflatten(self.loop.State, state), record.unflatten(self.loop.Params, p)
        return cost.at_step(x, u, own, r)


def _padded(values: Any, count: int) -> list[Any]:
    """The leaves of a record of derivatives, followed by zeros."""
    leaves = [*record.flatten(values)]
    return leaves + [0.0] * (count - len(leaves))
