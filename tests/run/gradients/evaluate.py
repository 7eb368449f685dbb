"""Traced Programs evaluated with NumPy, many points at once; independent of the lowering."""

from __future__ import annotations

from typing import Any

import numpy as np

from skidpad.compile.program import Program

Array = np.ndarray

_DIFFERENT_NAMES = {
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
}


def evaluate(program: Program, **ports: Any) -> dict[str, Array]:
    """Output ports (points, fields) for input ports (points or 1, fields); empty ones may be left
    out."""
    given = [np.atleast_2d(np.asarray(ports.get(p.name, ()), float)) for p in program.inputs]
    for port, array in zip(program.inputs, given, strict=True):
        assert array.shape[1] == len(port.fields), f"{port.name}: {array.shape}"
    count = max(len(a) for a in given)
    with np.errstate(all="ignore"):
        values = _values(program, given, program.functions)
    return {
        port.name: np.stack([np.broadcast_to(values[r], count) for r in result], axis=1)
        if result
        else np.zeros((count, 0))
        for port, result in zip(program.outputs, program.results, strict=True)
    }


def _values(program: Program, given: list[Any], functions: tuple[Program, ...]) -> list[Any]:
    """Of every instruction."""
    values: list[Any] = []
    for i in program.code:
        args = [values[a] for a in i.args]
        values.append(_called(i, args, functions) if i.op == "call" else _value(i, args, given))
    return values


def _called(i: Any, args: list[Any], functions: tuple[Program, ...]) -> list[Any]:
    """The results of a function that is run several times on its own results."""
    number, times = i.imm
    function = functions[number]
    results: list[Any] = []
    for _ in range(times):
        inner = _values(function, [np.stack(np.broadcast_arrays(*args), axis=-1)], functions)
        results = [inner[r] for r in function.results[0]]
        args = [*results, *args[len(results) :]]
    return results


def _value(i: Any, args: list[Any], given: list[Array]) -> Any:
    if i.op == "item":
        return args[0][i.imm]
    if i.op == "const":
        return np.float64(i.imm)
    if i.op == "input":
        return given[i.imm[0]][..., i.imm[1]]
    if i.op == "select":
        return np.where(args[0] != 0.0, args[1], args[2])
    if i.op == "pow":
        return np.power(args[0], i.imm)
    # As numbers: NumPy would take the sum of two booleans for their disjunction.
    return np.asarray((_DIFFERENT_NAMES.get(i.op) or getattr(np, i.op))(*args), float)


def central_differences(function: Any, at: Array, steps: Array) -> Array:
    """Derivatives (points, fields, outputs) of `function` (rows, fields) -> (rows, outputs).

    The function gets the points as often as needed, one copy of all of them after the other. Four
    values on each line: the error falls with the fourth power of the step.
    """
    moves = np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * np.diag(steps)
    rows = moves[:, :, None, :] + at
    values = function(rows.reshape(-1, len(steps)))
    far_down, down, up, far_up = values.reshape(*rows.shape[:3], -1)
    slopes = (8.0 * (up - down) - (far_up - far_down)) / (12.0 * steps[:, None, None])
    return slopes.transpose(1, 0, 2)
