"""A vehicle in C, built and driven from here: to measure a step, and to compare."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..errors import SkidpadError
from .c_files import write_c
from .exported import Exported
from .toolchain import build_library

Drive = Callable[[AnyArray], AnyArray]
"""Drives rows of inputs (T, nu), one step each, and returns the states after each (T, nx)."""

_LOOP = """\
#include "{name}.h"
static {name} car;
int64_t {name}_drive(const {T}* inputs, {T}* states, int64_t steps);
int64_t {name}_drive(const {T}* inputs, {T}* states, int64_t steps) {{
    int64_t k;
    {name}_init(&car);
    for (k = 0; k < steps; ++k) {{
        if ({name}_step(&car{given}) != {name}_OK) return k;
{copied}
        states += {nx};
    }}
    return k;
}}
"""


def built_drive(
    exported: Exported,
    folder: str | Path,
    compiler: str | None = None,
    flags: Sequence[str] = (),
) -> Drive:
    """Build a vehicle in C in a folder, with a loop around its step; see `toolchain`."""
    _, source, _ = write_c(exported, folder)
    model, name = exported.model, exported.name
    kind = {"float64": "double", "float32": "float"}[exported.precision]
    nx, nu = record.size(model.State), record.size(model.Input)
    loop = Path(folder) / f"{name}_drive.c"
    given = f", (const {name}_input*)(inputs + {nu} * k)" if nu else ""
    copied = "\n".join(f"        states[{n}] = (({kind}*)&car.state)[{n}];" for n in range(nx))
    text = _LOOP.format(name=name, T=kind, given=given, copied=copied, nx=nx)
    loop.write_text(text, "utf-8")
    path = build_library([source, loop], loop.with_suffix(".so"), None, compiler, flags=flags)
    function = ctypes.CDLL(str(path))[f"{name}_drive"]
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]

    def drive(rows: AnyArray) -> AnyArray:
        inputs = np.ascontiguousarray(rows, exported.precision)
        states = np.empty((len(inputs), nx), exported.precision)
        made = function(inputs.ctypes.data, states.ctypes.data, len(inputs))
        if made != len(inputs):
            raise SkidpadError(f"step {made} of {name} in C failed")
        return states

    return drive
