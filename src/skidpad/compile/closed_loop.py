"""A vehicle and its policy as one plant, so that everything that runs a plant runs closed loops.

The state is the vehicle's with the policy's memory behind it (`memory.integral`), the input is the
reference, the parameters are the vehicle's with the policy's behind them (`policy.k_p`), and the
outputs are the vehicle's with its input behind them (`command.steer`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_type_hints

from .. import integrate, record
from ..errors import InvalidValue
from ..integrate.as_written import as_written
from ..integrate.base import Integrator, flat_result
from ..model import Model, Vehicle
from ..policy import Policy
from .pipeline import counted
from .plant import Plant
from .program import Port, Program
from .stored_traces import stored
from .trace import trace

MEMORY, POLICY, COMMAND = "memory", "policy", "command"
"""Fields that a closed loop adds to the vehicle's state, parameters and outputs."""


class _Records(NamedTuple):
    """The records of a closed loop."""

    State: type
    Params: type
    Outputs: type


class _Loop(NamedTuple):
    """What its Programs are traced from."""

    model: Model
    policy: Policy

    def parts(self, state: Sequence[Any]) -> tuple[Any, Any]:
        """Vehicle state and memory."""
        return _split(self.model.State, self.policy.Memory, state)

    def reference(self, values: Sequence[Any]) -> Any:
        return record.unflatten(self.policy.Reference, values)

    def disturbance(self, values: Sequence[Any]) -> Any:
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


def policy_of(plant: Plant) -> str | None:
    """Name of the policy that a plant has compiled in; None for a vehicle alone."""
    return plant.step.meta.get("policy")


def closed_loop(vehicle: Vehicle, integrator: Integrator, policy: Policy, substeps: int) -> Plant:
    """The plant of a vehicle that a policy drives, with so many sub-steps between two commands."""
    model = vehicle.model
    loop = _Loop(model, policy)
    kinds = _records(model, policy)
    values = (*record.flatten(vehicle.params), *record.flatten(policy.params))
    step = _stored(
        loop, ("step", integrator, substeps),
        lambda: _step_program(loop, kinds, integrator, substeps),
    )  # fmt: skip
    settle = None if model.settle is None else partial(_settled, loop)
    return Plant(
        name=f"{model.name} with {policy.name}",
        integrator=integrator.name,
        substeps=substeps,
        implicit=model.continuous and integrator.implicit,
        State=kinds.State,
        Input=policy.Reference,
        Disturbance=model.Disturbance,
        Params=kinds.Params,
        Outputs=kinds.Outputs,
        params=record.unflatten(kinds.Params, values),
        step=step,
        settle=settle,
        fills=model.fills,
        loaded_outputs=_stored(loop, ("outputs",), lambda: _outputs_program(loop, kinds)),
    )


def _stored(loop: _Loop, key: tuple[Any, ...], traced: Callable[[], Program]) -> Program:
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


def _settled(loop: _Loop, state: Any, params: Any) -> Any:
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
    loop = _Loop(model, policy)

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


def _step_program(loop: _Loop, kinds: _Records, method: Integrator, substeps: int) -> Program:
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

    x, u, w, p = _ports(loop, kinds)
    inputs = (x, u, w, p, Port("dt", ("dt",)), Port("start", x.fields if substeps > 1 else ()))
    outputs = (x, Port("residual", ("residual",) if implicit else ()))
    name = f"{model.name}.{loop.policy.name}.step.{method.name if model.continuous else 'update'}"
    traced = trace(name, function, inputs, outputs)
    return replace(traced, meta={"policy": loop.policy.name})


def _outputs_program(loop: _Loop, kinds: _Records) -> Program:
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

    x, u, w, p = _ports(loop, kinds)
    inputs = (x, Port("start", x.fields), u, w, p, Port("dt", ("dt",)))
    outputs = (Port("y", record.names(kinds.Outputs)),)
    return trace(f"{model.name}.{loop.policy.name}.outputs", function, inputs, outputs)


def _ports(loop: _Loop, kinds: _Records) -> tuple[Port, Port, Port, Port]:
    records = (kinds.State, loop.policy.Reference, loop.model.Disturbance, kinds.Params)
    x, u, w, p = (Port(n, record.names(k)) for n, k in zip("xuwp", records, strict=True))
    return x, u, w, p


def _records(model: Model, policy: Policy) -> _Records:
    return _Records(
        _with(model.State, MEMORY, policy.Memory, policy.Memory()),
        _with(model.Params, POLICY, policy.Params, policy.params),
        _with(model.Outputs, COMMAND, model.Input, None),
    )


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
