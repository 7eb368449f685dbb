"""Derivatives of one step as Programs: its adjoint, its tangent, and the end of a cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import integrate
from ..core import record
from ..core.model import Model, Vehicle
from ..core.policy import Cost, NoReference
from ..integrate.base import Integrator
from .pipeline import kept
from .program import Port, Program
from .trace import trace

DT = Port("dt", ("dt",))


def adjoint_program(
    vehicle: Vehicle | Model,
    integrator: str | Integrator = "rk4",
    cost: Cost | None = None,
    *,
    params: bool = True,
) -> Program:
    """The adjoint of one step: x, u, w, p, dt, r, lam to derivatives x, u, p and the stage cost.

    `lam` is the derivative of everything later with respect to the state after the step. Without
    `params` the port `p` of the outputs is empty, and what it would take is not computed; `value`
    is empty without a stage cost.
    """
    model = _model(vehicle)
    method = integrate.get(integrator)
    if cost is None:  # a cost is the user's: what its functions read may be another next time
        key = ("adjoint", method, params)
        return kept(model, key, lambda: _adjoint(model, method, None, params=params))
    return _adjoint(model, method, cost, params=params)


def _adjoint(model: Model, method: Integrator, cost: Cost | None, *, params: bool) -> Program:
    # CasADi takes a while to import, which `import skidpad` should not pay.
    from ..integrate.adjoint import adjoint

    stage = None if cost is None or cost.stage is None else cost.at_step
    gradients = adjoint(model, method, stage)
    x, u, w, p = _ports(model)
    reference = NoReference if cost is None else cost.Reference

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, w, p = _records(_kinds(model), ports[:4])
        r, lam = _records((reference, model.State), ports[5:])
        g = gradients(x, u, w, p, ports[4][0], r, lam)
        return (
            record.flatten(g.x),
            record.flatten(g.u),
            record.flatten(g.p) if params else (),
            () if stage is None else (g.value,),
        )

    outputs = (x, u, p if params else Port("p", ()), value_port(stage is not None))
    inputs = (x, u, w, p, DT, _port("r", reference), _port("lam", model.State))
    name = f"{model.name}.adjoint.{_method_name(model, method)}"
    return trace(name, function, inputs, outputs)


def terminal_program(
    vehicle: Vehicle | Model,
    cost: Cost,
    *,
    params: bool = True,
) -> Program:
    """The end of a cost: x, p, r to the derivatives x and p of the terminal cost, and its value.

    Without a terminal cost all of them are zero. Without `params` the port `p` is empty.
    """
    from ..integrate.adjoint import terminal_gradients

    model = _model(vehicle)
    x, _, _, p = _ports(model)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, p, r = _records((model.State, model.Params, cost.Reference), ports)
        g_x, g_p, value = terminal_gradients(model, cost.at_end, x, p, r)
        return record.flatten(g_x), record.flatten(g_p) if params else (), (value,)

    outputs = (x, p if params else Port("p", ()), value_port(True))
    inputs = (x, p, _port("r", cost.Reference))
    name = f"{model.name}.terminal"
    return trace(name, function, inputs, outputs)


def tangent_program(
    vehicle: Vehicle | Model,
    integrator: str | Integrator = "rk4",
) -> Program:
    """The tangent of one step: x, u, w, p, dt and changes dx, du, dp to the change of the next x,
    the output port `dx`."""
    model = _model(vehicle)
    method = integrate.get(integrator)
    return kept(model, ("tangent", method), lambda: _tangent(model, method))


def _tangent(model: Model, method: Integrator) -> Program:
    from ..integrate.adjoint import tangent

    change = tangent(model, method)
    x, u, w, p = _ports(model)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, w, p = _records(_kinds(model), ports[:4])
        dx, du, dp = _records((model.State, model.Input, model.Params), ports[5:])
        return (record.flatten(change(x, u, w, p, ports[4][0], dx, du, dp)),)

    changes = [Port(f"d{port.name}", port.fields) for port in (x, u, p)]
    inputs = (x, u, w, p, DT, *changes)
    name = f"{model.name}.tangent.{_method_name(model, method)}"
    return trace(name, function, inputs, changes[:1])


def _model(vehicle: Vehicle | Model) -> Model:
    return vehicle.model if isinstance(vehicle, Vehicle) else vehicle


def _method_name(model: Model, method: Integrator) -> str:
    return method.name if model.continuous else "update"


def _port(name: str, kind: type) -> Port:
    return Port(name, record.names(kind))


def _ports(model: Model) -> tuple[Port, ...]:
    """The ports x, u, w, p."""
    return tuple(_port(*named) for named in zip("xuwp", _kinds(model), strict=True))


def _kinds(model: Model) -> tuple[type, ...]:
    return model.State, model.Input, model.Disturbance, model.Params


def _records(kinds: Sequence[type], ports: Sequence[Sequence[Any]]) -> list[Any]:
    return [record.unflatten(kind, port) for kind, port in zip(kinds, ports, strict=True)]


def value_port(present: bool) -> Port:
    """The output port of a cost; empty without a cost."""
    return Port("value", ("value",) if present else ())
