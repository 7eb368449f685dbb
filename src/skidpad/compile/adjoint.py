"""Derivatives of one step as Programs: its adjoint, its tangent, and those of the terminal cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import integrate
from ..core.model import Model, Vehicle, model_of, port_kinds
from ..core.policy import Cost, NoReference, Nothing
from ..integrate.base import Integrator
from .pipeline import kept, step_name
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
    if cost is None:  # a cost is the user's: what its functions read may be another next time
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
    """Return the terminal cost and its derivatives as a Program.

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
    """The output port `value` of a cost, for `trace_records`; empty unless `present`."""
    return {"value": None if present else Nothing}
