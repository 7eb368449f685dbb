"""The traced Programs of an FMU other than the step: derivatives along a direction, dependencies.

The tangent takes changes of inputs to changes of results, the adjoint weights of results to
derivatives of the weighted sum with respect to inputs. Both are exact: they differentiate the
operations, one by one (see `integrate.sweep`), and are Programs themselves.

A result depends on an input that reaches it through some operation, whatever the numbers are; so an
FMU declares exactly the dependencies of the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from ..compile import pipeline
from ..compile.evaluate import evaluate
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..integrate.base import as_written
from .exported import Export, settle_program

MOVING = ("x", "start", "u", "w", "p")
"""Input ports with respect to which results are differentiated."""


def tangent_program(program: Program) -> Program:
    """The tangent of a traced Program with one output port: its inputs and a change of each (dx,
    du, ...) to the change of the output."""
    (result,) = program.outputs
    moving = _moving(program)
    changes = tuple(Port(f"d{port.name}", port.fields) for port in moving)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        import casadi as ca

        from ..integrate.derivatives import pushforward
        from ..integrate.symbols import column

        values, symbols = _evaluated(program, ports[: len(program.inputs)])
        direction = column(ca.SX(v) for port in ports[len(program.inputs) :] for v in port)
        return (ca.vertsplit(pushforward(values, symbols, direction)) if result.fields else (),)

    outputs = (Port(f"d{result.name}", result.fields),)
    return trace(f"{program.name}.tangent", function, (*program.inputs, *changes), outputs)


def adjoint_program(program: Program) -> Program:
    """The adjoint of a traced Program with one output port: its inputs and weights of the output to
    the derivatives of the weighted sum, one port for each port of `MOVING`."""
    (result,) = program.outputs
    moving = _moving(program)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        import casadi as ca

        from ..integrate.derivatives import pullback
        from ..integrate.symbols import column

        values, symbols = _evaluated(program, ports[:-1])
        gradient = pullback(values, column(ca.SX(v) for v in ports[-1]), symbols)
        leaves = iter(ca.vertsplit(gradient))
        return tuple(tuple(islice(leaves, len(port.fields))) for port in moving)

    inputs = (*program.inputs, Port("weights", result.fields))
    outputs = tuple(Port(f"d{port.name}", port.fields) for port in moving)
    return trace(f"{program.name}.adjoint", function, inputs, outputs)


def _moving(program: Program) -> tuple[Port, ...]:
    return tuple(port for port in program.inputs if port.name in MOVING)


def _evaluated(program: Program, ports: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """The results as a column, and the symbols of the moving inputs."""
    import casadi as ca

    from ..integrate.symbols import column

    symbols = column(
        symbol
        for port, values in zip(program.inputs, ports, strict=True)
        for symbol in (values if port.name in MOVING else ())
    )
    with as_written(next((s for values in ports for s in values), None)):
        (values,) = evaluate(program, ports)
    return column(ca.SX(value) for value in values), symbols


Place = tuple[str, int]
"""The name of an input port and the index of a field in it."""
_Reached = frozenset[Any]
"""Inputs that reach a value."""


def dependencies(program: Program) -> tuple[frozenset[Place], ...]:
    """For each field of the first output port the inputs it depends on."""
    functions: list[list[_Reached]] = []
    for function in program.functions:
        functions.append(_of_results(function, functions, lambda port, field: field))
    names = [port.name for port in program.inputs]
    return tuple(_of_results(program, functions, lambda port, field: (names[port], field)))


def _of_results(
    program: Program, functions: Sequence[list[_Reached]], named: Any
) -> list[_Reached]:
    """For each field of the first output port the inputs it depends on, named by `named`."""
    reached: list[Any] = []
    for op, args, imm in program.code:
        if op == "input":
            reached.append(frozenset([named(*imm)]))
        elif op == "call":
            # A function runs imm[1] times on its own results.
            values, arguments = list[_Reached](), [reached[a] for a in args]
            for _ in range(imm[1]):
                needs = functions[imm[0]]
                values = [frozenset[Any]().union(*(arguments[a] for a in need)) for need in needs]
                arguments = [*values, *arguments[len(values) :]]
            reached.append(values)
        elif op == "item":
            reached.append(reached[args[0]][imm])
        else:
            reached.append(frozenset[Any]().union(*(reached[a] for a in args)))
    return [reached[r] for r in program.results[0]]


@dataclass(frozen=True)
class Programs:
    """Traced Programs of a vehicle, each traced on first use."""

    exported: Export

    @property
    def exchanges(self) -> bool:
        """Whether a tool can integrate it (model exchange): it is continuous, samples nothing at
        the start of a step, and no input is delayed."""
        model = self.exported.model
        return model.continuous and model.hold is None and not model.dead_times

    @cached_property
    def outputs(self) -> Program | None:
        """The outputs, from (x, start, u, w, p); None for a vehicle without outputs."""
        program = self.exported.plant.outputs
        return program if program.outputs[0].fields else None

    @cached_property
    def rates(self) -> Program | None:
        """The rates of x, from (x, start, u, w, p); None without model exchange."""
        return pipeline.derivative_program(self.exported.vehicle) if self.exchanges else None

    @cached_property
    def settle(self) -> Program | None:
        """The consistent start, from (x, p); None if starts are taken as they are."""
        return settle_program(self.exported.model)

    @cached_property
    def tangents(self) -> dict[str, Program]:
        """Tangents of the Programs, by their names in the source."""
        return {f"{name}_tangent": tangent_program(part) for name, part in self._parts.items()}

    @cached_property
    def adjoints(self) -> dict[str, Program]:
        """Adjoints of the Programs, by their names in the source."""
        return {f"{name}_adjoint": adjoint_program(part) for name, part in self._parts.items()}

    @property
    def _parts(self) -> dict[str, Program]:
        parts = {"outputs": self.outputs, "rates": self.rates, "settle": self.settle}
        return {name: program for name, program in parts.items() if program is not None}

    @cached_property
    def of_outputs(self) -> tuple[frozenset[Place], ...]:
        """The inputs each output depends on."""
        return () if self.outputs is None else dependencies(self.outputs)

    @cached_property
    def of_rates(self) -> tuple[frozenset[Place], ...]:
        """The inputs each rate depends on."""
        return () if self.rates is None else dependencies(self.rates)

    @cached_property
    def of_starts(self) -> dict[int, frozenset[Place]]:
        """The states whose start is computed, by index, and the inputs it depends on."""
        if self.settle is None:
            return {}
        code, results = self.settle.code, self.settle.results[0]
        needed = dependencies(self.settle)
        taken = [(code[r].op, code[r].imm) for r in results]
        return {k: needed[k] for k, made in enumerate(taken) if made != ("input", (0, k))}
