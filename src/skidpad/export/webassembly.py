"""Programs as WebAssembly: two modules with the same bits, and the layout of their ports.

A page uses the fused module if the engine has relaxed vector instructions and their multiply-add
rounds once, else the exact one; the loader `vehicle_module.js` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compile.program import Program
from ..compile.wasm.binary import scalar_dialect, vector_dialect
from ..compile.wasm.module import assembled, checked
from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue

LOADER = Path(__file__).with_name("vehicle_module.js")
"""ES module whose `loadModule` takes the two modules and the layout."""


@dataclass(frozen=True)
class WebAssembly:
    """Programs as two modules with the same exports and the same layout of their memory."""

    fused: bytes
    """Module that uses the relaxed multiply-add of vectors.

    Its export `fused_here` returns 1 if that rounds once; otherwise its bits differ from the
    simulator's and it must not be used. An engine without relaxed vectors refuses to compile
    it.
    """
    exact: bytes
    """Module with a multiply-add of its own: slower, for every engine."""
    layout: dict[str, Any]
    """Memory layout, ready for JSON.

    `precision`, `pages` (of 64 KiB), `programs` (names of the functions), and `ports`: for each
    name its `address` in bytes and its `fields`.
    """

    __repr__ = brief_repr


def modules_of(programs: Mapping[str, Program], arrays: Sequence[Array] = ()) -> WebAssembly:
    """Convert lowered Programs to WebAssembly; each becomes a function of its name without
    arguments.

    A function reads its input ports from the module's memory, then writes its output ports there.
    All ports of one name share their memory, inputs and outputs of all Programs alike.

    Args:
        programs: lowered Programs by the names of their functions.
        arrays: shared arrays that the Programs read, (n,) each; their numbers in the modules are
            1, 2, ... in this order.
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
