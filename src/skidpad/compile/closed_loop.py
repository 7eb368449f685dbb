"""Closed loops: a vehicle and its policy joined into one plant, which runs like any other plant.

The records of the plant join those of the vehicle and of the policy: the state contains the
policy's memory (`memory.integral`), the parameters the policy's (`policy.k_p`), the outputs the
vehicle's input (`command.steer`). The input of the plant is the reference of the policy.

Derivatives: with u, m⁺ = π(x, m, r, q) the policy and x⁺ = F(x, u, w, p) the vehicle's step, λ and
μ the derivatives of all later costs with respect to x⁺ and m⁺, the vehicle's own adjoint gives
(∂F/∂x)ᵀ λ, (∂F/∂u)ᵀ λ and (∂F/∂p)ᵀ λ; the second of them and μ are propagated back through the
policy. So every integrator with a derivative for the vehicle has one for the loop, also implicit
ones.

The derivatives are Programs, too: the adjoint and the tangent of one step, and the derivatives of
the terminal cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_type_hints

from .. import integrate
from ..core import record
from ..core.model import Model, Vehicle, model_of, port_kinds
from ..core.policy import Cost, NoReference, Nothing, Policy
from ..errors import InvalidValue
from ..integrate.base import Integrator, as_written, flat_result
from .pipeline import counted, kept, step_name, stored
from .plant import Plant
from .program import Program
from .trace import trace_records


def adjoint_program(
    vehicle: Vehicle | Model,
    integrator: str | Integrator = "rk4",
    cost: Cost | None = None,
    *,
    params: bool = True,
) -> Program:
    """Return the adjoint of one step as a Program.

    It takes the ports x, u, w, p, dt, r, lam and returns the derivatives with respect to x, u and
    p, and the stage cost as `value`. `lam` is the derivative of all later costs with respect to the
    state after the step. Without `params` the output port `p` is empty and its operations are not
    computed; without a stage cost `value` is empty.
    """
    model = model_of(vehicle)
    method = integrate.get(integrator)
    if cost is None:  # not cached with a cost: the user's functions may read values that change
        key = ("adjoint", method, params)
        return kept(model, key, lambda: _adjoint(model, method, None, params=params))
    return _adjoint(model, method, cost, params=params)


def _adjoint(model: Model, method: Integrator, cost: Cost | None, *, params: bool) -> Program:
    # CasADi takes a while to import, which `import skidpad` should not pay.
    from ..integrate.adjoint import adjoint

    stage = None if cost is None or cost.stage is None else cost.at_step
    reference = NoReference if cost is None else cost.Reference
    inputs = {**port_kinds(model), "dt": None, "r": reference, "lam": model.State}
    outputs = {"x": model.State, "u": model.Input, "p": model.Params if params else Nothing}
    outputs |= value_port(stage is not None)
    name = f"{model.name}.adjoint.{step_name(model, method)}"
    return trace_records(name, adjoint(model, method, stage), inputs, outputs)


def terminal_program(vehicle: Vehicle | Model, cost: Cost, *, params: bool = True) -> Program:
    """Return a Program of the terminal cost and its derivatives.

    It takes the ports x, p, r and returns the derivatives with respect to x and p, and `value`.
    Without a terminal cost all of them are zero. Without `params` the port `p` is empty.
    """
    from ..integrate.adjoint import terminal_gradients

    model = model_of(vehicle)

    def function(x: Any, p: Any, r: Any) -> Sequence[Any]:
        return terminal_gradients(model, cost.at_end, x, p, r)

    inputs = {"x": model.State, "p": model.Params, "r": cost.Reference}
    outputs = {"x": model.State, "p": model.Params if params else Nothing} | value_port(True)
    return trace_records(f"{model.name}.terminal", function, inputs, outputs)


def tangent_program(vehicle: Vehicle | Model, integrator: str | Integrator = "rk4") -> Program:
    """Return the tangent (directional derivative) of one step as a Program.

    It takes the ports x, u, w, p, dt and the perturbations dx, du, dp, and returns the perturbation
    of the next state as `dx`.
    """
    model = model_of(vehicle)
    method = integrate.get(integrator)
    return kept(model, ("tangent", method), lambda: _tangent(model, method))


def _tangent(model: Model, method: Integrator) -> Program:
    from ..integrate.adjoint import tangent

    change = tangent(model, method)
    changes = {"dx": model.State, "du": model.Input, "dp": model.Params}
    inputs = {**port_kinds(model), "dt": None, **changes}
    name = f"{model.name}.tangent.{step_name(model, method)}"
    return trace_records(name, lambda *records: (change(*records),), inputs, {"dx": model.State})


def value_port(present: bool) -> dict[str, type | None]:
    """Output port `value` for the value of a cost, as `trace_records` takes it; empty unless
    `present`.
    """
    return {"value": None if present else Nothing}


MEMORY, POLICY, COMMAND = "memory", "policy", "command"
"""Fields that a closed loop adds to the vehicle's state, parameters and outputs."""


class Loop(NamedTuple):
    """A model, its policy, and the joined records of the two."""

    model: Model
    policy: Policy
    State: type
    Params: type
    Outputs: type

    @classmethod
    def of(cls, model: Model, policy: Policy) -> Loop:
        return cls(
            model,
            policy,
            _with(model.State, MEMORY, policy.Memory, policy.Memory()),
            _with(model.Params, POLICY, policy.Params, policy.params),
            _with(model.Outputs, COMMAND, model.Input, None),
        )

    @property
    def kinds(self) -> dict[str, type]:
        """Record classes of the input ports x, u, w, p of the loop; u is the reference."""
        kinds = {"x": self.State, "u": self.policy.Reference}
        return kinds | {"w": self.model.Disturbance, "p": self.Params}

    def parts(self, state: Any) -> tuple[Any, Any]:
        """Split a state of the loop into vehicle state and policy memory."""
        return _split(self.model.State, self.policy.Memory, record.flatten(state))

    def params(self, params: Any) -> tuple[Any, Any]:
        """Split parameters of the loop into the parameters of the vehicle and of the policy."""
        return _split(self.model.Params, self.policy.Params, record.flatten(params))

    def command(self, x: Any, m: Any, r: Any, p: Any, dt: Any) -> tuple[Any, Any]:
        """Evaluate the policy; returns the vehicle's input and the next memory."""
        with as_written(dt):
            u, following = self.policy.command(x, m, r, p, dt)
        if not isinstance(u, self.model.Input):
            raise InvalidValue(
                f"policy {self.policy.name!r} must command {self.model.name!r} with its Input "
                f"record ({', '.join(record.names(self.model.Input))}), got {u!r}"
            )
        return u, following

    def step_program(self, method: Integrator, substeps: int) -> Program:
        """Return the closed loop's sub-step as a Program with the ports of `pipeline.step_program`.

        `dt` is the length of the sub-step. The policy is evaluated at the start of the step
        (`start`), memory included, so that all sub-steps have the same command and the same next
        memory. Without sub-steps `start` is x itself.
        """
        model = self.model
        policy_program(self.policy, model)
        advance = integrate.discretise(model, method)

        def function(x: Any, r: Any, w: Any, p: Any, dt: Any, start: Any) -> Sequence[Any]:
            here, _ = self.parts(x)
            begun, memory = self.parts(start or x)
            car, own = self.params(p)
            period = dt if substeps == 1 else float(substeps) * dt
            u, memory = self.command(begun, memory, r, own, period)
            following, residual = advance(here, u, w, car, dt, begun)
            return (*record.flatten(following), *record.flatten(memory)), residual

        inputs = {**self.kinds, "dt": None, "start": self.State if substeps > 1 else Nothing}
        residual = None if model.continuous and method.implicit else Nothing
        name = f"{model.name}.{self.policy.name}.step.{step_name(model, method)}"
        traced = trace_records(name, function, inputs, {"x": self.State, "residual": residual})
        return replace(traced, meta={"policy": self.policy.name})

    def outputs_program(self) -> Program:
        """Return the closed loop's outputs as a Program of the ports x, start, u, w, p and dt.

        The ports are those of `pipeline.outputs_program`, and dt. The command among the outputs is
        computed at `start`.
        """
        model = self.model

        def function(x: Any, start: Any, r: Any, w: Any, p: Any, dt: Any) -> Sequence[Any]:
            (here, _), (begun, memory), (car, own) = (
                self.parts(x),
                self.parts(start),
                self.params(p),
            )
            u, _ = self.command(begun, memory, r, own, dt)
            y = model.outputs(here, model.held_input(begun, u, w, car), w, car)
            return ((*flat_result(model, "outputs", y), *record.flatten(u)),)

        inputs = {"x": self.State, "start": self.State, **self.kinds, "dt": None}
        name = f"{model.name}.{self.policy.name}.outputs"
        return trace_records(name, function, inputs, {"y": self.Outputs})


def _with(kind: type, name: str, inner: type, default: Any) -> type:
    """Record class extended by a field that holds another record; unchanged if that record is
    empty.
    """
    if not record.size(inner):
        return kind
    fields: tuple[str, ...] = kind._fields
    if name in fields:
        raise InvalidValue(f"{kind.__qualname__}.{name}: this name is reserved for the closed loop")
    hints = get_type_hints(kind, include_extras=True)
    docs = {leaf.name: leaf.doc for leaf in record.fields(kind)}
    defaults = {**kind._field_defaults, name: default}
    return record.define(kind.__name__, {**hints, name: inner}, defaults, docs)


def _split(first: type, second: type, values: Sequence[Any]) -> tuple[Any, Any]:
    n = record.size(first)
    return record.unflatten(first, values[:n]), record.unflatten(second, values[n:])


class LoopDerivatives(NamedTuple):
    """Adjoint and terminal Programs of a closed loop.

    A cost receives as `x` the vehicle state followed by the policy memory, as `p` the vehicle
    parameters followed by the policy parameters, and as `u` the policy's command.
    """

    loop: Loop
    method: Integrator

    def adjoint(self, cost: Cost | None, *, params: bool) -> Program:
        """Return the adjoint Program of one closed-loop step, with the ports of `adjoint_program`;
        the port `u` is the policy's reference.
        """
        loop = self.loop
        reference = NoReference if cost is None else cost.Reference
        inputs = {**loop.kinds, "dt": None, "r": reference, "lam": loop.State}
        outputs = {"x": loop.State, "u": loop.policy.Reference}
        outputs |= {"p": loop.Params if params else Nothing}
        outputs |= value_port(cost is not None and cost.stage is not None)
        function = partial(self._pulled_back, cost)
        return trace_records(self._name("adjoint"), function, inputs, outputs)

    def terminal(self, cost: Cost, *, params: bool) -> Program:
        """Return the Program of the terminal cost and its derivatives, with the ports of
        `terminal_program`.
        """
        from ..integrate.adjoint import terminal_gradients

        loop = self.loop

        def function(x: Any, p: Any, r: Any) -> Sequence[Any]:
            return terminal_gradients(loop.model, cost.at_end, x, p, r)

        inputs = {"x": loop.State, "p": loop.Params, "r": cost.Reference}
        outputs = {"x": loop.State, "p": loop.Params if params else Nothing} | value_port(True)
        return trace_records(self._name("terminal"), function, inputs, outputs)

    def _name(self, what: str) -> str:
        return f"{self.loop.model.name}.{self.loop.policy.name}.{what}.{self.method.name}"

    def _pulled_back(
        self, cost: Cost | None, x: Any, u: Any, w: Any, p: Any, dt: Any, r: Any, lam: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Derivatives of later costs with respect to loop state, reference and parameters, and the
        stage cost.
        """
        import casadi as ca

        from ..integrate.adjoint import adjoint
        from ..integrate.derivatives import column, pullback

        loop, state, told, params = self.loop, *map(record.flatten, (x, u, p))
        (car, memory), (own, of_policy) = loop.parts(x), loop.params(p)
        command, following = loop.command(car, memory, u, of_policy, dt)
        # The vehicle's adjoint is with respect to symbols, so the command stays a symbol until the
        # end.
        names = record.names(loop.model.Input)
        placeholder = [ca.SX.sym(f"command.{name}") for name in names]
        input_record = record.unflatten(loop.model.Input, placeholder)
        on_next, on_memory = loop.parts(lam)
        gradients = adjoint(loop.model, self.method)
        vehicle = gradients(car, input_record, w, own, dt, NoReference(), on_next)
        value = 0.0 if cost is None else cost.at_step(x, command, p, r)
        symbols = column((*state, *told, *params))
        outputs = column(map(ca.SX, (*record.flatten(command), *record.flatten(following), value)))
        weights = column((*record.flatten(vehicle.u), *record.flatten(on_memory), ca.SX(1)))
        n, nothing = len(state) + len(told), [ca.SX(0)] * len(told)
        direct = (*_padded(vehicle.x, len(state)), *nothing, *_padded(vehicle.p, len(params)))
        gradient = pullback(outputs, weights, symbols) + column(direct)
        gradient = ca.substitute(gradient, column(placeholder), outputs[: len(names)])
        leaves = ca.vertsplit(gradient)
        return leaves[: len(state)], leaves[len(state) : n], leaves[n:], value


def _padded(values: Any, count: int) -> list[Any]:
    """The leaves of a record of derivatives, padded with zeros to `count`."""
    leaves = [*record.flatten(values)]
    return leaves + [0.0] * (count - len(leaves))


def policy_of(plant: Plant) -> str | None:
    """Name of the policy compiled into a plant; None for a vehicle alone."""
    return plant.step.meta.get("policy")


def closed_loop(vehicle: Vehicle, integrator: Integrator, policy: Policy, substeps: int) -> Plant:
    """The plant of a vehicle with a policy that commands it every `substeps` sub-steps."""
    model = vehicle.model
    loop = Loop.of(model, policy)
    values = (*record.flatten(vehicle.params), *record.flatten(policy.params))
    key = ("step", integrator, substeps)
    step = _stored(loop, key, lambda: loop.step_program(integrator, substeps))
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
        loaded_outputs=_stored(loop, ("outputs",), lambda: loop.outputs_program()),
    )


def _stored(loop: Loop, key: tuple[Any, ...], traced: Callable[[], Program]) -> Program:
    """Return a Program of a closed loop, from the disk cache if model and policy belong to skidpad.

    A policy belongs to skidpad if its `act` can be pickled by names of the package: a function of
    the package, or an instance of one of its classes, whose fields are then part of the key.
    Closures and users' own functions are traced in every process.
    """
    policy = loop.policy
    records = (policy.Memory, policy.Reference, policy.Params)
    names = [record.names(kind) for kind in records]
    return stored(
        loop.model, ("closed loop", *key, policy.act, policy.name, names), lambda: counted(traced())
    )


def _settled(loop: Loop, state: Any, params: Any) -> Any:
    """Make the vehicle's dependent fields of a closed-loop start state consistent; the policy
    memory is unchanged.
    """
    (x, memory), (car, _) = loop.parts(state), loop.params(params)
    assert loop.model.settle is not None
    whole = (*record.flatten(loop.model.settle(x, car)), *record.flatten(memory))
    return record.unflatten(type(state), whole)


def policy_program(policy: Policy, model: Model) -> Program:
    """Return the policy alone as a Program, from the ports x, m, r, p, dt to u and the next m.

    The policy is traced before the vehicle, so that an error in it is attributed to the policy.
    """
    loop = Loop.of(model, policy)

    inputs = {"x": model.State, "m": policy.Memory, "r": policy.Reference, "p": policy.Params}
    outputs = {"u": model.Input, "m": policy.Memory}
    return trace_records(f"policy {policy.name!r}", loop.command, inputs | {"dt": None}, outputs)
