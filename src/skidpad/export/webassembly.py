"""Programs as WebAssembly: two modules with the same bits, and where they have their ports.

A page takes the fused one where the engine knows relaxed vector instructions and its multiply-add
turns out to round once, else the exact one; `vehicle_module.js` beside this file does so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compile.program import Program
from ..compile.wasm.dialects import scalar_dialect, vector_dialect
from ..compile.wasm.module import assembled, checked
from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue

__all__ = ["LOADER", "WebAssembly", "modules_of"]

LOADER = Path(__file__).with_name("vehicle_module.js")
"""The ES module whose `loadModule` takes what `modules_of` gives."""


@dataclass(frozen=True)
class WebAssembly:
    """Programs as two modules with the same exports and the same layout of their memory."""

    fused: bytes
    """With the relaxed multiply-add of vectors. Its export `fused_here` gives 1 where that rounds
    once; elsewhere it has other bits than the simulator and must not be used. An engine without
    relaxed vectors refuses to compile it."""
    exact: bytes
    """With a multiply-add of its own: for every engine, and slower."""
    layout: dict[str, Any]
    """For JSON: `precision`, `pages` (of 64 KiB), `programs` (names of the functions), and `ports`:
    for each name its `address` in bytes and its `fields`."""

    __repr__ = brief_repr


def modules_of(programs: Mapping[str, Program], arrays: Sequence[Array] = ()) -> WebAssembly:
    """Lowered Programs as WebAssembly. Each becomes a function without arguments of its name.

    A function reads its input ports from the module's memory and writes its output ports, all
    inputs before the first output. Ports of one name are the same memory, of all Programs and of
    inputs and outputs alike. `arrays` are the shared arrays that the Programs read, (n,) each; in
    the modules they have the numbers 1, 2, ... in this order.
    """
    if not programs:
        raise InvalidValue("programs = {}: a module needs at least one Program")
    precision = checked(programs)
    fused = assembled(programs, arrays, vector_dialect(precision))
    exact = assembled(programs, arrays, scalar_dialect(precision))
    layout = {
        "precision": precision,
        "pages": max(fused.memory.pages, exact.memory.pages),
        "programs": list(programs),
        "ports": {
            name: {"address": address, "fields": list(fields)}
            for name, (address, fields) in fused.memory.ports.items()
        },
    }
    return WebAssembly(fused.code, exact.code, layout)
