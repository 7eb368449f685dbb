"""What a plant from a file must be: Programs that fit its records, numbers that fit their ranges.

Kernels take the number of values in an array from the ports of a Program, and those who call them
make the arrays by the records. Where the two differ, memory of others is read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import record
from ..cost import NoReference
from ..errors import InvalidValue
from .program import Program

Plant = Any
"""A `plant.Plant`, which is checked by this file when it is read."""
MOST_SUBSTEPS = 1_000_000
"""Sub-steps of one step."""
RULES = ("at_least", "nearest")

Ports = dict[str, tuple[tuple[str, ...], ...]]
"""The ports of a Program in their order, each with the fields that it may have."""


def check_plant(plant: Plant) -> None:
    """Raise unless the parts of a plant fit together."""
    _check_numbers(plant)
    _check_dead_times(plant)
    _check_step(plant)
    _check_outputs(plant)
    _check_settle(plant)
    _check_cost(plant)


def _check_numbers(plant: Plant) -> None:
    for name in ("name", "integrator"):
        _must(isinstance(getattr(plant, name), str), name, getattr(plant, name), "a text")
    _must(isinstance(plant.implicit, bool), "implicit", plant.implicit, "true or false")
    n = plant.substeps
    fine = type(n) is int and 1 <= n <= MOST_SUBSTEPS
    _must(fine, "substeps", n, f"a whole number from 1 to {MOST_SUBSTEPS}")
    record.check(plant.params)
    record.check_normal(plant.params)
    _must(isinstance(plant.reproduces, str), "reproduces", plant.reproduces, "a text")
    for at in plant.stable_steps:
        _must(at.longest >= 0.0, "stable_steps", at.longest, "times in s, not negative")


def _check_dead_times(plant: Plant) -> None:
    late = plant.dead_times
    _must(isinstance(late, dict), "dead_times", late, "parameters by input")
    for pair in late.items():
        for name, kind in zip(pair, (plant.Input, plant.Params), strict=True):
            known = record.names(kind)
            if name not in known:
                raise InvalidValue(record.unknown_name(f"dead_times: {kind.__name__}", name, known))
    rule = plant.dead_time_rule
    _must(rule in RULES, "dead_time_rule", rule, " or ".join(RULES))


def _check_step(plant: Plant) -> None:
    x, u, w, p = _names(plant)
    inputs: Ports = {"x": (x,), "u": (u,), "w": (w,), "p": (p,), "dt": (("dt",),), "start": (x, ())}
    residual = ("residual",) if plant.implicit else ()
    _check_ports("step", plant.step, inputs, {"x": (x,), "residual": (residual,)})
    policy = plant.step.meta.get("policy")
    _must(policy is None or isinstance(policy, str), "policy", policy, "a name")


def _check_outputs(plant: Plant) -> None:
    x, u, w, p = _names(plant)
    inputs: Ports = {"x": (x,), "start": (x,), "u": (u,), "w": (w,), "p": (p,)}
    if plant.step.meta.get("policy") is not None:
        inputs["dt"] = (("dt",),)
    _check_ports("outputs", plant.outputs, inputs, {"y": (record.names(plant.Outputs),)})


def _check_settle(plant: Plant) -> None:
    known = plant.State._fields
    for name in plant.fills:
        if name not in known:
            raise InvalidValue(record.unknown_name("fills: State", name, known))
    if plant.settle is not None:
        x, p = record.names(plant.State), record.names(plant.Params)
        _check_ports("settle", plant.settle.program, {"x": (x,), "p": (p,)}, {"x": (x,)})


def _check_cost(plant: Plant) -> None:
    cost = plant.saved_cost
    if cost is None:
        return
    x, u, w, p = _names(plant)
    r = record.names(cost.Reference)
    value = ("value",)
    before: Ports = {"x": (x,), "u": (u,), "w": (w,), "p": (p,), "dt": (("dt",),)}
    after: Ports = {"x": (x,), "u": (u,), "p": (p,)}
    for name, program, reference, values in (
        ("adjoint", cost.adjoint, r, ((), value)),
        ("pullback", cost.pullback, record.names(NoReference), ((),)),
    ):
        inputs = {**before, "r": (reference,), "lam": (x,)}
        _check_ports(name, program, inputs, {**after, "value": values})
    ends: Ports = {"x": (x,), "p": (p,), "r": (r,)}
    _check_ports("terminal", cost.terminal, ends, {"x": (x,), "p": (p,), "value": (value,)})


def _names(plant: Plant) -> list[tuple[str, ...]]:
    kinds = (plant.State, plant.Input, plant.Disturbance, plant.Params)
    return [record.names(kind) for kind in kinds]


def _check_ports(name: str, program: Program, inputs: Ports, outputs: Ports) -> None:
    _must(program.precision is None, f"{name}.precision", program.precision, "none: it is traced")
    for kind, ports, allowed in (
        ("inputs", program.inputs, inputs),
        ("outputs", program.outputs, outputs),
    ):
        names = [port.name for port in ports]
        _must(names == list(allowed), f"{kind} of {name}", names, ", ".join(allowed))
        for port in ports:
            fine = port.fields in allowed[port.name]
            expected = _listed(allowed[port.name][0])
            _must(fine, f"{name}: fields of port {port.name}", _listed(port.fields), expected)


def _listed(names: Sequence[str]) -> str:
    return f"{len(names)} ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''})"


def _must(fine: bool, name: str, value: Any, allowed: str) -> None:
    if not fine:
        raise InvalidValue(f"{name} = {value!r:.200} must be {allowed}")
