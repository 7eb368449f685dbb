"""A vehicle and its policy as one plant, so that everything that runs a plant runs closed loops.

The state is the vehicle's with the policy's memory behind it (`memory.integral`), the input is the
reference, the parameters are the vehicle's with the policy's behind them (`policy.k_p`), and the
outputs are the vehicle's with its input behind them (`command.steer`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from .. import integrate, record
from ..integrate.base import Integrator, flat_result
from ..model import Model, Vehicle
from ..policy import Policy
from .pipeline import counted
from .plant import Plant
from .policy_loop import Loop
from .policy_loop_derivatives import LoopDerivatives
from .program import Port, Program
from .stored_traces import stored
from .trace import trace


def policy_of(plant: Plant) -> str | None:
    """Name of the policy that a plant has compiled in; None for a vehicle alone."""
    return plant.step.meta.get("policy")


def closed_loop(vehicle: Vehicle, integrator: Integrator, policy: Policy, substeps: int) -> Plant:
    """The plant of a vehicle that a policy drives, with so many sub-steps between two commands."""
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
