"""Derivatives of a traced Program along a direction, as Programs that can be emitted like it.

The tangent takes changes of inputs to changes of results, the adjoint weights of results to
derivatives of the weighted sum with respect to inputs. Both are exact: they differentiate the
operations, one by one (see `integrate.sweep`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compile.evaluate import evaluate
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..integrate.as_written import as_written

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

        from ..integrate.sweep import pushforward
        from ..integrate.symbolic import column

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

        from ..integrate.sweep import pullback
        from ..integrate.symbolic import column

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

    from ..integrate.symbolic import column

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
