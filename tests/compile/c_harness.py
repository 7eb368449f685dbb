"""Runs lowered Programs on arrays through the C emitter, for tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skidpad import Program
from skidpad.compile.c import compile_shared, emit
from skidpad.compile.program import Builder, Port

Evaluator = Callable[..., np.ndarray]


def program_of(rule: Callable[..., int], precision: str, operands: int, *constants: Any) -> Program:
    """A Program with `operands` inputs and one output, the value the rule gives."""
    b = Builder(precision)
    inputs = [b.emit("input", imm=(0, k)) for k in range(operands)]
    result = rule(b, *inputs, *constants)
    used, pending = set(inputs), [result]
    while pending:
        k = pending.pop()
        if k not in used or k in inputs:
            used.add(k)
            pending += b.code[k].args
    place = {old: new for new, old in enumerate(sorted(used))}
    code = tuple(
        b.code[k]._replace(args=tuple(place[a] for a in b.code[k].args)) for k in sorted(used)
    )
    fields = tuple("xyzw"[:operands])
    port = (Port("in", fields),), (Port("out", ("value",)),)
    return Program("f", *port, code, ((place[result],),), precision)


def evaluators(programs: Mapping[str, Program], folder: Path) -> dict[str, Evaluator]:
    """For each Program of one precision a function of arrays; all built in one library."""
    source = "\n".join(source_of(name, program) for name, program in programs.items())
    library = compile_shared(source, folder)
    return {
        name: evaluator_of(getattr(library, f"{name}_many"), program)
        for name, program in programs.items()
    }


def source_of(name: str, program: Program) -> str:
    """C of a Program and of a loop over arrays, NAME_many."""
    kind = {"float64": "double", "float32": "float"}[program.precision or ""]
    count = len(program.inputs[0].fields)
    return emit(program, name) + (
        f"void {name}_many(const {kind}* x, {kind}* y, int64_t n) {{\n"
        f"    for (int64_t i = 0; i < n; ++i) {{\n"
        f"        const {kind}* in[1] = {{x + {count} * i}};\n"
        f"        {kind}* out[1] = {{y + i}};\n"
        f"        {name}(in, out);\n"
        "    }\n}\n"
    )


def evaluator_of(function: Any, program: Program) -> Evaluator:
    """A function of arrays that calls such a loop."""
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    dtype = np.dtype(program.precision)

    def evaluate(*operands: Any) -> np.ndarray:
        packed = np.stack([np.asarray(o, dtype).ravel() for o in operands], axis=1).copy()
        assert packed.shape[1] == len(program.inputs[0].fields)
        result = np.empty(len(packed), dtype)
        function(packed.ctypes.data, result.ctypes.data, len(packed))
        return result

    return evaluate
