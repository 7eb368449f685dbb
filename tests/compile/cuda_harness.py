"""Runs CUDA text on the processor: a shim of the few words CUDA adds to C++, and ctypes.

Built with g++, a kernel is a function of one thread. Here it is called once for every thread of a
grid, with the arguments that `gpu.strided` makes of arrays (step, vehicle, field).
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from skidpad.compile.cuda import EXACT_FLAGS, FAST_FLAGS
from skidpad.compile.gpu import strided

SHIM = """\
#include <math.h>
#include <stdint.h>
#include <string.h>
#define __global__
#define __device__
#define __noinline__
#define __launch_bounds__(...)
struct Index { unsigned int x; };
extern "C" { Index blockIdx, threadIdx, blockDim; }
"""
# No contraction and no reassociation: what is left is the arithmetic that the text asks for. No
# optimisation either, which takes longer than these few threads run, and no later C++: there the
# header of mathematics brings half the library along, which takes longer than the text.
FLAGS = ("-std=gnu++14", "-ffp-contract=off", "-fno-fast-math", "-fPIC", "-shared")
BLOCK = 16
"""Threads of a block: few, so that a small batch takes several blocks, the last one not full."""

Launch = Callable[[int, Sequence[np.ndarray], Sequence[Any]], None]
"""`launch(count, arrays, tail)`: all threads of a grid, views of `arrays` and then `tail`."""


def _library(source: str, folder: Path) -> ctypes.CDLL:
    """Built once in a folder: several tests of a file may run the same text."""
    stem = folder / hashlib.sha256(source.encode()).hexdigest()[:16]
    file, library = stem.with_suffix(".cpp"), stem.with_suffix(".so")
    if not library.exists():
        file.write_text(SHIM + source, "utf-8")
        _run("g++", *FLAGS, str(file), "-o", str(library))
    return ctypes.CDLL(str(library))


def kernel(source: str, name: str, folder: Path) -> Launch:
    """The kernel `name` of CUDA text, to be run on the processor."""
    loaded = _library(source, folder)
    function = getattr(loaded, name)
    function.restype = None

    def launch(count: int, arrays: Sequence[np.ndarray], tail: Sequence[Any]) -> None:
        index = {n: ctypes.c_uint.in_dll(loaded, n) for n in ("blockIdx", "threadIdx", "blockDim")}
        arguments = [argument for array in arrays for argument in _view(array)]
        arguments += [_argument(value) for value in tail]
        index["blockDim"].value = BLOCK
        for thread in range(-(-count // BLOCK) * BLOCK):
            index["blockIdx"].value, index["threadIdx"].value = divmod(thread, BLOCK)
            function(*arguments)

    return launch


def _view(array: np.ndarray) -> list[Any]:
    base, *strides = strided(array)
    return [ctypes.c_void_p(base.ctypes.data), *map(ctypes.c_longlong, strides)]


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.floating):
        return (ctypes.c_float if value.itemsize == 4 else ctypes.c_double)(value)
    return ctypes.c_longlong(value)


NVCC = shutil.which("nvcc")


def cubin(source: str, folder: Path, *, fast: bool = False) -> bytes:
    """Machine code of an H200 for CUDA text, made by nvcc with the flags that NVRTC is given."""
    file, made = folder / "kernel.cu", folder / "kernel.cubin"
    file.write_text(source, "utf-8")
    flags = FAST_FLAGS if fast else EXACT_FLAGS
    _run(str(NVCC), "-arch=sm_90", *flags, "-cubin", str(file), "-o", str(made))
    return made.read_bytes()


def _run(*command: str) -> None:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
