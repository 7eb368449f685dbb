"""The traced Programs that an FMU is made of besides the step: their derivatives, and what depends
on what.

Derivatives of a traced Program along a direction, as Programs that can be emitted like it.

The tangent takes changes of inputs to changes of results, the adjoint weights of results to
derivatives of the weighted sum with respect to inputs. Both are exact: they differentiate the
operations, one by one (see `integrate.sweep`).

Which inputs of a traced Program each of its results depends on.

It is read off the operations, so an FMU says no more and no less than what is computed: a result
that an input reaches through some operation depends on it, whatever the numbers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..compile import pipeline
from ..compile.evaluate import evaluate
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..integrate.base import as_written
from .exported import Exported

MOVING = ("x", "start", "u", "w", "p")
"""Input ports that results are differentiated with respect to."""


def tangent_program(program: Program) -> Program:
    """The inputs of a traced Program and a change for each, dx, du, ..., to changes of its one
    output port."""
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
    """The inputs of a traced Program and weights of its one output port to the derivatives of the
    weighted sum, one port for each input that it is differentiated by."""
    (result,) = program.outputs
    moving = _moving(program)

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        import casadi as ca

        from ..integrate.derivatives import pullback
        from ..integrate.symbols import column

        values, symbols = _evaluated(program, ports[:-1])
        gradient = pullback(values, column(ca.SX(v) for v in ports[-1]), symbols)
        return _split(ca.vertsplit(gradient), moving)

    inputs = (*program.inputs, Port("weights", result.fields))
    outputs = tuple(Port(f"d{port.name}", port.fields) for port in moving)
    return trace(f"{program.name}.adjoint", function, inputs, outputs)


def _moving(program: Program) -> tuple[Port, ...]:
    return tuple(port for port in program.inputs if port.name in MOVING)


def _evaluated(program: Program, ports: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """The results as a column, and the symbols that they are differentiated by."""
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


def _split(leaves: Sequence[Any], ports: Sequence[Port]) -> tuple[Sequence[Any], ...]:
    parts: list[Sequence[Any]] = []
    for port in ports:
        parts.append(leaves[: len(port.fields)])
        leaves = leaves[len(port.fields) :]
    return tuple(parts)


Place = tuple[str, int]
"""An input port by its name, and a field of it by its place."""
_Reached = frozenset[Any]
_NONE: _Reached = frozenset()


def dependencies(program: Program) -> tuple[frozenset[Place], ...]:
    """For each field of the first output port what it depends on."""
    functions: list[list[_Reached]] = []
    for function in program.functions:
        functions.append(_of_results(function, functions, lambda port, field: field))
    names = [port.name for port in program.inputs]
    return tuple(_of_results(program, functions, lambda port, field: (names[port], field)))


def _of_results(
    program: Program, functions: Sequence[list[_Reached]], named: Any
) -> list[_Reached]:
    """For each field of the first output port the inputs, as `named` calls them."""
    reached: list[Any] = []
    for op, args, imm in program.code:
        if op == "input":
            reached.append(frozenset([named(*imm)]))
        elif op == "call":
            reached.append(_of_call(functions[imm[0]], imm[1], [reached[a] for a in args]))
        elif op == "item":
            reached.append(reached[args[0]][imm])
        else:
            reached.append(_NONE.union(*(reached[a] for a in args)))
    return [reached[r] for r in program.results[0]]


def _of_call(function: list[_Reached], times: int, arguments: list[_Reached]) -> list[_Reached]:
    """What the results of a function depend on that is run several times on its own results."""
    results: list[_Reached] = []
    for _ in range(times):
        results = [_NONE.union(*(arguments[a] for a in needed)) for needed in function]
        arguments = [*results, *arguments[len(results) :]]
    return results


@dataclass(frozen=True)
class Programs:
    """Traced Programs of a vehicle, each when it is asked for."""

    exported: Exported

    @property
    def exchanges(self) -> bool:
        """Whether others can integrate it: it is continuous, samples nothing at the start of a
        step, and no input acts late."""
        model = self.exported.model
        return model.continuous and model.hold is None and not model.dead_times

    @cached_property
    def outputs(self) -> Program | None:
        """The outputs of x, start, u, w, p; None of a vehicle that has none."""
        program = self.exported.plant.outputs
        return program if program.outputs[0].fields else None

    @cached_property
    def rates(self) -> Program | None:
        """The rates of x, start, u, w, p; None where only steps are offered."""
        return pipeline.derivative_program(self.exported.vehicle) if self.exchanges else None

    @cached_property
    def settle(self) -> Program | None:
        """The consistent start of x and p; None where starts are taken as they are."""
        model = self.exported.model
        if model.settle is None:
            return None
        return pipeline.settle_program(model.name, model.settle, model.State, model.Params)

    @cached_property
    def tangents(self) -> dict[str, Program]:
        """Changes by changes, by the name that they have in the source."""
        return {f"{name}_tangent": tangent_program(part) for name, part in self._parts.items()}

    @cached_property
    def adjoints(self) -> dict[str, Program]:
        """Derivatives of weighted sums, by the name that they have in the source."""
        return {f"{name}_adjoint": adjoint_program(part) for name, part in self._parts.items()}

    @property
    def _parts(self) -> dict[str, Program]:
        parts = {"outputs": self.outputs, "rates": self.rates, "settle": self.settle}
        return {name: program for name, program in parts.items() if program is not None}

    @cached_property
    def of_outputs(self) -> tuple[frozenset[Place], ...]:
        """What each output depends on."""
        return () if self.outputs is None else dependencies(self.outputs)

    @cached_property
    def of_rates(self) -> tuple[frozenset[Place], ...]:
        """What each rate depends on."""
        return () if self.rates is None else dependencies(self.rates)

    @cached_property
    def of_starts(self) -> dict[int, frozenset[Place]]:
        """The states whose start is computed, by their places, and what from."""
        if self.settle is None:
            return {}
        code, results = self.settle.code, self.settle.results[0]
        needed = dependencies(self.settle)
        taken = [(code[r].op, code[r].imm) for r in results]
        return {k: needed[k] for k, made in enumerate(taken) if made != ("input", (0, k))}
