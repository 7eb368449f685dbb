"""`Plant`: a vehicle ready to run, as records, parameters and Programs, without its Python
functions.

A fleet needs nothing else, and a plant fits into one file, which a machine without CasADi can load,
lower and run, on the CPU or on a GPU.

A plant from a file is checked: its Programs must match its records, and its numbers be within
their ranges.
Kernels take the lengths of arrays from the ports of a Program, and callers allocate the arrays by
the records; if the two differed, kernels would read and write foreign memory.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core import record
from ..core.arrays import ArrayNumber, shared_array
from ..core.files import brief_repr, json_of, reading, replacing
from ..core.model import Vehicle, port_kinds
from ..core.policy import Cost, NoReference
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..units import m_s, s
from . import pipeline
from .portable import ProgramFunction, described, from_picklable, record_type, to_picklable
from .program import Program

CheckedPlant = Any
"""Alias of `Plant` for plants from files, which this module checks."""
MOST_SUBSTEPS = 1_000_000
RULES = ("at_least", "nearest")

Ports = dict[str, tuple[tuple[str, ...], ...]]
"""Specification of a Program's ports, in order: each with the sets of fields that are allowed."""


def check_plant(plant: CheckedPlant) -> None:
    """Raise unless the parts of a plant are consistent."""
    for name in ("name", "integrator", "reproduces"):
        _must(isinstance(getattr(plant, name), str), name, getattr(plant, name), "a text")
    _must(isinstance(plant.implicit, bool), "implicit", plant.implicit, "true or false")
    n = plant.substeps
    fine = type(n) is int and 1 <= n <= MOST_SUBSTEPS
    _must(fine, "substeps", n, f"a whole number from 1 to {MOST_SUBSTEPS}")
    record.check(plant.params)
    record.check_normal(plant.params)
    for at in plant.stable_steps:
        _must(at.longest >= 0.0, "stable_steps", at.longest, "times in s, not negative")
    late, rule = plant.dead_times, plant.dead_time_rule
    _must(isinstance(late, dict), "dead_times", late, "parameters by input")
    named = [("fills", plant.State, plant.fills)]
    named += [("dead_times", plant.Input, late), ("dead_times", plant.Params, late.values())]
    for what, kind, names in named:
        known = kind._fields if what == "fills" else record.names(kind)
        for name in names:
            if name not in known:
                raise InvalidValue(record.unknown_name(f"{what}: {kind.__name__}", name, known))
    _must(rule in RULES, "dead_time_rule", rule, " or ".join(RULES))
    x, u, w, p = _names(plant)
    inputs: Ports = {"x": (x,), "u": (u,), "w": (w,), "p": (p,)}
    residual = ("residual",) if plant.implicit else ()
    step_inputs: Ports = {**inputs, "dt": (("dt",),), "start": (x, ())}
    _check_ports("step", plant.step, step_inputs, {"x": (x,), "residual": (residual,)})
    policy = plant.step.meta.get("policy")
    _must(policy is None or isinstance(policy, str), "policy", policy, "a name")
    moment: Ports = {"x": (x,), "start": (x,), **inputs}
    moment |= {} if policy is None else {"dt": (("dt",),)}
    _check_ports("outputs", plant.outputs, moment, {"y": (record.names(plant.Outputs),)})
    if plant.settle is not None:
        _check_ports("settle", plant.settle.program, {"x": (x,), "p": (p,)}, {"x": (x,)})
    if plant.saved_cost is not None:
        cost = plant.saved_cost
        r, value, before = record.names(cost.Reference), ("value",), {**inputs, "dt": (("dt",),)}
        after = {name: inputs[name] for name in ("x", "u", "p")}
        for name, program, reference, values in (
            ("adjoint", cost.adjoint, r, ((), value)),
            ("pullback", cost.pullback, record.names(NoReference), ((),)),
        ):
            ports = {**before, "r": (reference,), "lam": inputs["x"]}
            _check_ports(name, program, ports, {**after, "value": values})
        ends = {"x": inputs["x"], "p": inputs["p"]}
        _check_ports("terminal", cost.terminal, {**ends, "r": (r,)}, {**ends, "value": (value,)})


def _names(plant: CheckedPlant) -> list[tuple[str, ...]]:
    return [record.names(kind) for kind in port_kinds(plant).values()]


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


FORMAT = "skidpad-plant"
FORMAT_VERSION = 2
"""Version of the file format.

Version 1 has no shared arrays; a plant without them is still written as version 1.
"""
KINDS = ("State", "Input", "Disturbance", "Params", "Outputs")
_OF_MODEL = ("substeps", "dead_times", "dead_time_rule", "reproduces", "settle", "fills")
"""Attributes that a plant takes over from its model, as well as the records."""
_HEAD = ("name", "integrator", "substeps", "implicit")
"""Attributes that a file contains as they are."""


class StableStep(NamedTuple):
    """Longest stable step of an explicit method in straight driving at one speed."""

    speed: m_s | None
    """Driving speed; None for a vehicle without a body, examined at its default state."""
    longest: s
    """Longest stable step; infinite where every step is stable."""
    eigenvalue: complex
    """Eigenvalue of the mode that becomes unstable in longer steps, in 1/s."""

    @classmethod
    def of_document(cls, entry: Any) -> StableStep:
        speed, *numbers = entry
        longest, real, imaginary = map(float.fromhex, numbers)
        return cls(None if speed is None else float(speed), longest, complex(real, imaginary))


class SavedCost(NamedTuple):
    """A cost as Programs, so that gradients need neither its functions nor CasADi."""

    Reference: type
    adjoint: Program
    terminal: Program
    pullback: Program
    """Adjoint Program without a cost, for `Fleet.vjp`."""

    def document(self) -> dict[str, Any]:
        programs = {name: getattr(self, name).document() for name in SavedCost._fields[1:]}
        return {"Reference": described(self.Reference), **programs}

    @classmethod
    def of_document(cls, document: Any, where: str) -> SavedCost:
        programs = (Program.from_document(document[name], where) for name in SavedCost._fields[1:])
        return cls(record_type("Reference", document["Reference"]), *programs)


class StepDerivatives(Protocol):
    """Interface to trace derivatives of a plant without a vehicle model, such as a closed loop."""

    def adjoint(self, cost: Cost | None, *, params: bool) -> Program:
        """See `closed_loop.adjoint_program`."""
        ...

    def terminal(self, cost: Cost, *, params: bool) -> Program:
        """See `closed_loop.terminal_program`."""
        ...


@dataclass(frozen=True)
class Plant:
    """Records, parameters and the traced Programs of a vehicle under one integrator."""

    name: str
    integrator: str
    substeps: int
    """Default number of sub-steps within a step, from the model."""
    implicit: bool
    """Whether a step is implicit, so that its Newton residual has to be checked."""
    State: type
    Input: type
    Disturbance: type
    Params: type
    Outputs: type
    params: Any
    step: Program
    vehicle: Vehicle | None = None
    """Vehicle from which the plant was traced; None for a plant loaded from a file."""
    method: Integrator | None = None
    """Integrator of the traced step; None for a plant loaded from a file."""
    dead_times: Mapping[str, str] = field(default_factory=dict[str, str])
    """Delayed inputs, each with the parameter that holds its delay in s."""
    dead_time_rule: str = "at_least"
    reproduces: str = ""
    """`Model.reproduces`: if not empty, too long steps cause a warning, not an error."""
    stable_steps: tuple[StableStep, ...] = ()
    """Stable step lengths saved with a loaded plant; a plant with a vehicle computes them."""
    settle: Callable[[Any, Any], Any] | None = None
    fills: tuple[str, ...] = ()
    """`Model.fills`: dependent fields that are filled to make a start state consistent."""
    loaded_outputs: Program | None = None
    derivatives: StepDerivatives | None = None
    """Derivative tracer of a closed loop; None if the plant was loaded or has a vehicle to
    differentiate.
    """
    saved_cost: SavedCost | None = None
    """The cost whose derivatives were saved with a loaded plant."""

    __repr__ = brief_repr

    @classmethod
    def of(cls, vehicle: Vehicle, integrator: Integrator) -> Plant:
        """Trace a vehicle with an integrator."""
        model = vehicle.model
        return cls(
            name=vehicle.name,
            integrator=integrator.name,
            implicit=model.continuous and integrator.implicit,
            params=vehicle.params,
            step=pipeline.step_program(vehicle, integrator),
            vehicle=vehicle,
            method=integrator,
            **{name: getattr(model, name) for name in (*KINDS, *_OF_MODEL)},
        )

    @cached_property
    def outputs(self) -> Program:
        if self.vehicle is not None:
            return pipeline.outputs_program(self.vehicle)
        assert self.loaded_outputs is not None
        return self.loaded_outputs

    def save(self, path: str | Path, *, dt: float, cost: SavedCost | None = None) -> None:
        """Write the plant, and the step `dt` in s to use it with, to one portable text file.

        With a cost, the Programs of its gradient are written too.
        """
        document = self.document(dt, cost)
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")

    def document(self, dt: float, cost: SavedCost | None = None) -> dict[str, Any]:
        """The plant as JSON values, to be a file or part of one."""
        # The shared arrays among parameters, by name: numbers are valid in one process only
        leaves = zip(record.names(type(self.params)), record.flatten(self.params), strict=True)
        arrays = {
            name: base64.b64encode(value.values.astype("<f8").tobytes()).decode("ascii")
            for name, value in leaves
            if isinstance(value, ArrayNumber)
        }
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": FORMAT_VERSION if arrays else 1,
            **{name: getattr(self, name) for name in _HEAD},
            "dt": dt.hex(),
            "params": [float(value).hex() for value in record.flatten(self.params)],
            "records": {kind: described(getattr(self, kind)) for kind in KINDS},
            "step": self.step.document(),
            "outputs": self.outputs.document(),
            "cost": None if cost is None else cost.document(),
        }
        if arrays:
            document["arrays"] = arrays
        methods = {kind: record.interpolations(getattr(self, kind)) for kind in KINDS}
        if any(methods.values()):
            document["interpolations"] = {kind: own for kind, own in methods.items() if own}
        if self.dead_times:
            document["dead_times"] = dict(self.dead_times)
            document["dead_time_rule"] = self.dead_time_rule
        if self.settle is not None:
            document["settle"] = self._settle_program(self.settle).document()
            document["fills"] = list(self.fills)
        if self.stable_steps:
            document["reproduces"] = self.reproduces
            document["stable_steps"] = [
                [at.speed, at.longest.hex(), at.eigenvalue.real.hex(), at.eigenvalue.imag.hex()]
                for at in self.stable_steps
            ]
        return document

    def _settle_program(self, settle: Callable[[Any, Any], Any]) -> Program:
        if isinstance(settle, ProgramFunction):
            return settle.program
        return pipeline.settle_program(self.name, settle, self.State, self.Params)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the vehicle if there is one, else by document and record classes."""
        if self.vehicle is not None and self.method is not None:
            return Plant.of, (self.vehicle, self.method)
        records = {kind: to_picklable(getattr(self, kind)) for kind in KINDS}
        return _unpickled, (self.document(0.0, self.saved_cost), records)

    @classmethod
    def load(cls, path: str | Path) -> tuple[Plant, float]:
        """Read a plant and its dt in s from a file written by `save`."""
        document = json_of(path, "a skidpad plant file")
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InvalidValue(f"{path} is not a skidpad plant file (no format {FORMAT!r})")
        if document.get("version") not in (1, FORMAT_VERSION):
            raise InvalidValue(
                f"{path} has plant format version {document.get('version')!r}; "
                f"this skidpad reads versions 1 and {FORMAT_VERSION}"
            )
        with reading(path, "is a damaged plant file"):
            return cls.from_document(document, str(path))

    @classmethod
    def from_document(cls, document: dict[str, Any], where: str) -> tuple[Plant, float]:
        """Return a plant and its dt in s from a `document` found in the file `where`."""
        return _decoded(cls, document, where)


def _unpickled(document: dict[str, Any], records: dict[str, Any]) -> Plant:
    kinds = {name: from_picklable(kind) for name, kind in records.items()}
    return _decoded(Plant, document, "a pickled plant", kinds)[0]


def _decoded(
    cls: type[Plant], document: dict[str, Any], where: str, kinds: dict[str, Any] | None = None
) -> tuple[Plant, float]:
    kinds = kinds or _record_types(document)
    cost = document["cost"]
    values = [float.fromhex(text) for text in document["params"]]
    for place, text in document.get("arrays", {}).items():
        values[record.names(kinds["Params"]).index(place)] = _array(text)
    plant = cls(
        **{name: document[name] for name in _HEAD},
        params=record.unflatten(kinds["Params"], values),
        step=Program.from_document(document["step"], where),
        loaded_outputs=Program.from_document(document["outputs"], where),
        saved_cost=None if cost is None else SavedCost.of_document(cost, where),
        dead_times=document.get("dead_times", {}),
        dead_time_rule=document.get("dead_time_rule", "at_least"),
        reproduces=document.get("reproduces", ""),
        stable_steps=tuple(map(StableStep.of_document, document.get("stable_steps", ()))),
        settle=_settle(document.get("settle"), kinds["State"], where),
        fills=tuple(document.get("fills", ())),
        **kinds,
    )
    check_plant(plant)
    return plant, float.fromhex(document["dt"])


def _record_types(document: dict[str, Any]) -> dict[str, type]:
    methods = document.get("interpolations", {})
    return {kind: record_type(kind, document["records"][kind], methods.get(kind)) for kind in KINDS}


def _array(text: str) -> ArrayNumber:
    return shared_array(np.frombuffer(base64.b64decode(text, validate=True), "<f8"))


def _settle(document: Any, State: type, where: str) -> ProgramFunction | None:
    if document is None:
        return None
    return ProgramFunction(Program.from_document(document, where), State)
