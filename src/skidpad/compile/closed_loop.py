"""A vehicle and its policy as one plant, so that everything that runs a plant runs closed loops.

The records are the vehicle's followed by those of the policy: the state has the policy's memory
(`memory.integral`), the parameters the policy's (`policy.k_p`), the outputs the vehicle's input
(`command.steer`); the input is the reference.

Derivatives: with u, m⁺ = π(x, m, r, q) the policy and x⁺ = F(x, u, w, p) the vehicle's step, λ and
μ the derivatives of everything later with respect to x⁺ and m⁺, the vehicle's own adjoint gives
(∂F/∂x)ᵀ λ, (∂F/∂u)ᵀ λ and (∂F/∂p)ᵀ λ; the second of them and μ go back through the policy. So every
method with a derivative for the vehicle has one for the loop, also implicit ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_type_hints

from .. import integrate
from ..core import record
from ..core.model import Model, Vehicle
from ..core.policy import Cost, NoReference, Policy
from ..errors import InvalidValue
from ..integrate.base import Integrator, as_written, flat_result
from .adjoint import DT, value_port
from .pipeline import counted, stored
from .plant import Plant
from .program import Port, Program
from .trace import trace

MEMORY, POLICY, COMMAND = "memory", "policy", "command"
"""Fields that a closed loop adds to the vehicle's state, parameters and outputs."""


class Loop(NamedTuple):
    """A model, what drives it, and the records that the two have together."""

    model: Model
    policy: Policy
    State: type
    Params: type
    Outputs: type

    @classmethod
    def of(cls, model: Model, policy: Policy) -> Loop:
        """The loop of a model and a policy."""
        return cls(
            model,
            policy,
            _with(model.State, MEMORY, policy.Memory, policy.Memory()),
            _with(model.Params, POLICY, policy.Params, policy.params),
            _with(model.Outputs, COMMAND, model.Input, None),
        )

    @property
    def ports(self) -> tuple[Port, Port, Port, Port]:
        """The ports x, u, w, p; the input is the reference."""
        kinds = (self.State, self.policy.Reference, self.model.Disturbance, self.Params)
        x, u, w, p = (Port(n, record.names(k)) for n, k in zip("xuwp", kinds, strict=True))
        return x, u, w, p

    def parts(self, state: Sequence[Any]) -> tuple[Any, Any]:
        """Vehicle state and memory."""
        return _split(self.model.State, self.policy.Memory, state)

    def reference(self, values: Sequence[Any]) -> Any:
        """The reference of the policy."""
        return record.unflatten(self.policy.Reference, values)

    def disturbance(self, values: Sequence[Any]) -> Any:
        """The disturbance of the vehicle."""
        return record.unflatten(self.model.Disturbance, values)

    def params(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Parameters of the vehicle and of the policy."""
        return _split(self.model.Params, self.policy.Params, values)

    def command(self, x: Any, m: Any, r: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """The vehicle's input and the next memory."""
        with as_written(dt):
            u, following = self.policy.command(x, m, r, p, dt)
        if not isinstance(u, self.model.Input):
            raise InvalidValue(
                f"policy {self.policy.name!r} must command {self.model.name!r} with its Input "
                f"record ({', '.join(record.names(self.model.Input))}), got {u!r}"
            )
        return u, following


def _with(kind: type, name: str, inner: type, default: Any) -> type:
    """The record with one more field, itself a record; as it is if that would be empty."""
    if not record.size(inner):
        return kind
    fields: tuple[str, ...] = kind._fields
    if name in fields:
        raise InvalidValue(f"{kind.__qualname__}.{name}: a closed loop needs this name for itself")
    hints = get_type_hints(kind, include_extras=True)
    docs = {leaf.name: leaf.doc for leaf in record.fields(kind)}
    defaults = {**kind._field_defaults, name: default}
    return record.define(kind.__name__, {**hints, name: inner}, defaults, docs)


def _split(first: type, second: type, values: Sequence[Any]) -> tuple[Any, Any]:
    n = record.size(first)
    return record.unflatten(first, values[:n]), record.unflatten(second, values[n:])


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
        from ..integrate.derivatives import pullback
        from ..integrate.symbols import column

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


def policy_of(plant: Plant) -> str | None:
    """Name of the policy that a plant has compiled in; None for a vehicle alone."""
    return plant.step.meta.get("policy")


def closed_loop(vehicle: Vehicle, integrator: Integrator, policy: Policy, substeps: int) -> Plant:
    """The plant of a vehicle with a policy, with `substeps` sub-steps between two commands."""
    model = vehicle.model
    loop = Loop.of(model, policy)
    values = (*record.flatten(vehicle.params), *record.flatten(policy.params))
    key = ("step", integrator, substeps)
    step = _stored(loop, key, lambda: _step_program(loop, integrator, substeps))
    settle = None if model.settle is None else partial(_settled, loop)
    return Plant(
        name=f"{model.name} with {policy.name}",
        integrator=integrator.name,
        substeps=substeps,
        implicit=model.continuous and integrator.implicit,
        State=loop.State,
        Input=policy.Reference,
        Disturbance=model.Disturbance,
        Params=loop.Params,
        Outputs=loop.Outputs,
        params=record.unflatten(loop.Params, values),
        step=step,
        settle=settle,
        fills=model.fills,
        derivatives=LoopDerivatives(loop, integrator),
        loaded_outputs=_stored(loop, ("outputs",), lambda: _outputs_program(loop)),
    )


def _stored(loop: Loop, key: tuple[Any, ...], traced: Callable[[], Program]) -> Program:
    """A Program of a closed loop, from disk where model and policy are skidpad's own.

    A policy is if its `act` is pickled by names of skidpad: a function of the package, or an object
    of a class of it, whose fields then count. A closure cannot be, and a user's function is theirs.
    """
    policy = loop.policy
    records = (policy.Memory, policy.Reference, policy.Params)
    names = [record.names(kind) for kind in records]
    return stored(
        loop.model, ("closed loop", *key, policy.act, policy.name, names), lambda: counted(traced())
    )


def _settled(loop: Loop, state: Any, params: Any) -> Any:
    """A start with the vehicle's dependent fields made consistent; what is remembered stays."""
    x, memory = loop.parts(record.flatten(state))
    car, _ = loop.params(record.flatten(params))
    assert loop.model.settle is not None
    whole = (*record.flatten(loop.model.settle(x, car)), *record.flatten(memory))
    return record.unflatten(type(state), whole)


def policy_program(policy: Policy, model: Model) -> Program:
    """The policy alone as a Program of x, m, r, p, dt to u and the next m.

    Traced before the rest, so that an error in it is not blamed on the vehicle.
    """
    loop = Loop.of(model, policy)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, m = record.unflatten(model.State, ports[0]), record.unflatten(policy.Memory, ports[1])
        p = record.unflatten(policy.Params, ports[3])
        u, following = loop.command(x, m, loop.reference(ports[2]), p, ports[4][0])
        return record.flatten(u), record.flatten(following)

    memory = Port("m", record.names(policy.Memory))
    inputs = (
        Port("x", record.names(model.State)),
        memory,
        Port("r", record.names(policy.Reference)),
        Port("p", record.names(policy.Params)),
        Port("dt", ("dt",)),
    )
    outputs = (Port("u", record.names(model.Input)), memory)
    return trace(f"policy {policy.name!r}", function, inputs, outputs)


def _step_program(loop: Loop, method: Integrator, substeps: int) -> Program:
    """One sub-step, with the ports of `pipeline.step_program`; `dt` is that of the sub-step.

    The policy sees the state at the start of the step (`start`), memory included, so that all
    sub-steps find the same command and the same next memory. Without sub-steps that is x itself.
    """
    model = loop.model
    policy_program(loop.policy, model)
    advance = integrate.discretise(model, method)
    implicit = model.continuous and method.implicit

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        state, r, w, p, (dt,), start = ports
        x, _ = loop.parts(state)
        begun, memory = loop.parts(start or state)
        car, own = loop.params(p)
        period = dt if substeps == 1 else float(substeps) * dt
        u, memory = loop.command(begun, memory, loop.reference(r), own, period)
        following, residual = advance(x, u, loop.disturbance(w), car, dt, begun)
        after = (*record.flatten(following), *record.flatten(memory))
        return after, (residual,) if implicit else ()

    x, u, w, p = loop.ports
    inputs = (x, u, w, p, Port("dt", ("dt",)), Port("start", x.fields if substeps > 1 else ()))
    outputs = (x, Port("residual", ("residual",) if implicit else ()))
    name = f"{model.name}.{loop.policy.name}.step.{method.name if model.continuous else 'update'}"
    traced = trace(name, function, inputs, outputs)
    return replace(traced, meta={"policy": loop.policy.name})


def _outputs_program(loop: Loop) -> Program:
    """The outputs, with the ports of `pipeline.outputs_program` and the step: x, start, u, w, p,
    dt. The command is the one given at `start`."""
    model = loop.model

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        state, start, r, w, p, (dt,) = ports
        (x, _), (begun, memory) = loop.parts(state), loop.parts(start)
        (car, own), w = loop.params(p), loop.disturbance(w)
        u, _ = loop.command(begun, memory, loop.reference(r), own, dt)
        y = model.outputs(x, model.held_input(begun, u, w, car), w, car)
        return ((*flat_result(model, "outputs", y), *record.flatten(u)),)

    x, u, w, p = loop.ports
    inputs = (x, Port("start", x.fields), u, w, p, Port("dt", ("dt",)))
    outputs = (Port("y", record.names(loop.Outputs)),)
    return trace(f"{model.name}.{loop.policy.name}.outputs", function, inputs, outputs)
