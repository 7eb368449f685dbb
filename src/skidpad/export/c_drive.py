"""A vehicle in C, built and driven from here: to measure a step, and to compare."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..errors import SkidpadError
from .c_files import write_c
from .exported import Exported
from .toolchain import build_library


class Drive(Protocol):
    """Drives rows of inputs (T, nu), one step each, and returns the states after each (T, nx)."""

    def __call__(self, rows: AnyArray, start: AnyArray | None = None) -> AnyArray:
        """From a state (nx,), taken as it is; from the default one if None."""
        ...


_LOOP = """\
#include "{name}.h"
static {name} car;
int64_t {name}_drive(const {T}* start, const {T}* inputs, {T}* states, int64_t steps);
int64_t {name}_drive(const {T}* start, const {T}* inputs, {T}* states, int64_t steps) {{
    int64_t k;
    {name}_init(&car);
    if (start && {name}_reset(&car, (const {name}_state*)start, 0.0) != {name}_OK) return -1;
    for (k = 0; k < steps; ++k) {{
        if ({name}_step(&car{argument}) != {name}_OK) return k;
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
    argument = f", (const {name}_input*)(inputs + {nu} * k)" if nu else ""
    copied = "\n".join(f"        states[{n}] = (({kind}*)&car.state)[{n}];" for n in range(nx))
    text = _LOOP.format(name=name, T=kind, argument=argument, copied=copied, nx=nx)
    loop.write_text(text, "utf-8")
    path = build_library([source, loop], loop.with_suffix(".so"), None, compiler, flags=flags)
    function = ctypes.CDLL(str(path))[f"{name}_drive"]
    function.restype = ctypes.c_int64
    function.argtypes = [*[ctypes.c_void_p] * 3, ctypes.c_int64]

    def drive(rows: AnyArray, start: AnyArray | None = None) -> AnyArray:
        inputs = np.ascontiguousarray(rows, exported.precision)
        states = np.empty((len(inputs), nx), exported.precision)
        at = None if start is None else np.ascontiguousarray(start, exported.precision)
        begin = None if at is None else at.ctypes.data
        made = function(begin, inputs.ctypes.data, states.ctypes.data, len(inputs))
        if made != len(inputs):
            raise SkidpadError(f"step {made} of {name} in C failed")
        return states

    return drive
