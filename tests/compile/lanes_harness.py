"""Runs Programs on arrays through LLVM, and bytes that can be compared, for tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from skidpad import Program
from skidpad.compile import host, kernels, native
from skidpad.compile.lower import lower
from skidpad.compile.pipeline import LANES
from skidpad.compile.program import Port
from skidpad.compile.trace import trace

PRECISIONS = ("float64", "float32")
__all__ = ["LANES", "PRECISIONS", "Runner", "canonical", "lowered", "run", "runner", "traced"]

Runner = Callable[..., list[np.ndarray]]


def traced(function: Callable[..., Any], inputs: int = 1, port: str = "in") -> Program:
    """The Program of a function of scalars that returns a scalar or a tuple of them."""

    def ports(values: tuple[Any, ...]) -> tuple[Any, ...]:
        result = function(*values)
        return (result if isinstance(result, tuple) else (result,),)

    outputs = _count(function, inputs)
    names = tuple("abcdefgh"[:inputs])
    return trace(
        "f", ports, (Port(port, names),), (Port("out", tuple(f"y{k}" for k in range(outputs))),)
    )


def _count(function: Callable[..., Any], inputs: int) -> int:
    import casadi as ca

    try:
        result = function(*(ca.SX.sym(f"s{k}") for k in range(inputs)))
    except RuntimeError:  # what the function does wrong is for `trace` to say
        return 1
    return len(result) if isinstance(result, tuple) else 1


def lowered(function: Callable[..., Any], inputs: int = 1, precision: str = "float64") -> Program:
    """The same, lowered."""
    return lower(traced(function, inputs), precision)


def runner(program: Program, lanes: int = 1) -> Runner:
    """A lowered Program as a function of one array (N, fields) per input port."""
    module = kernels.apply_module(program, lanes)
    kernel = native.Library(native.object_code(str(module))).function("apply", ctypes.c_void_p)
    dtype = np.dtype(program.precision)

    def apply(*ports: Any) -> list[np.ndarray]:
        arrays = [np.asarray(port, dtype)[None] for port in ports]
        count = max(a.shape[1] for a in arrays)
        outs = [np.empty((1, count, len(p.fields)), dtype) for p in program.outputs]
        kept = [host.strided(a, lanes) for a in arrays]
        words = [word for _, described in kept for word in described]
        for out in outs:
            words += host.writable(out)
        host.run(kernel, words, (), count, lanes, 1)
        return [out[0] for out in outs]

    return apply


def run(program: Program, *columns: Any, lanes: int = 1) -> list[np.ndarray]:
    """The columns of the first output port for columns of the first input port."""
    table = np.stack([np.asarray(c, program.precision) for c in columns], axis=1)
    return list(runner(program, lanes)(table)[0].T)


def canonical(values: Sequence[Any] | np.ndarray) -> bytes:
    """The bytes of numbers; every NaN has the same ones."""
    array = np.array(values)
    array[np.isnan(array)] = np.nan
    return array.tobytes()
