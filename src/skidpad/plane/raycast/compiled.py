"""Kernels compiled by numba, each with one signature, and kept on disk (see `loops`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from ...compile.loops import kept

# A contraction or a reassociation would change the bits, so no fast-math flag is given.
# Without numba's runtime no reference is counted: it would be, with an atomic instruction, for
# every array that is handed from one function to the next. Nothing is allocated in kernels.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "_nrt": False}

_JIT: Any = numba.njit


def kernel(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one signature when it is first called, or load it from disk.

    A folder that cannot be written to means compiling in every process, never an error.
    """

    def dispatcher(function: Callable[..., Any]) -> Any:
        jit = _JIT(nogil=True, no_cfunc_wrapper=True, **OPTIONS)
        return kept(jit(function), function, signature)

    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """A function that kernels call; it is compiled as a part of them."""
    return _JIT(inline="always", **OPTIONS)(function)


def called(function: Callable[..., Any]) -> Any:
    """A function that kernels call, compiled on its own: for long ones that takes less time."""
    return _JIT(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)
