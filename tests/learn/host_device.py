"""A CUDA device on the processor: NumPy for CuPy, and kernels built with g++, thread by thread."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from compile.cuda_harness import FLAGS, SHIM
from skidpad.compile import cuda, gpu
from skidpad.core.arrays import MOST_ARRAYS, table_address
from skidpad.learn import cuda_engine, cuda_environments

WORDS = """\
#define __forceinline__ inline
#define __align__(size) alignas(size)
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline void atomicMin(unsigned long long* at, unsigned long long value) {
  if (value < *at) *at = value;
}
"""


class HostModule:
    """What `cupy.RawModule` is, on the processor."""

    folder: Path

    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        stem = self.folder / hashlib.sha256(code.encode()).hexdigest()[:16]
        file, library = stem.with_suffix(".cpp"), stem.with_suffix(".so")
        if not library.exists():
            file.write_text(SHIM + WORDS + code, "utf-8")
            done = subprocess.run(
                ["g++", *FLAGS, str(file), "-o", str(library)], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr[:3000]
        self.library = ctypes.CDLL(str(library))

    def get_function(self, name: str) -> Any:
        function = getattr(self.library, name)
        function.restype = None
        index = {
            n: ctypes.c_uint.in_dll(self.library, n) for n in ("blockIdx", "threadIdx", "blockDim")
        }

        def launch(blocks: tuple[int], threads: tuple[int], arguments: tuple[Any, ...]) -> None:
            words = [_argument(value) for value in arguments]
            index["blockDim"].value = threads[0]
            for block in range(blocks[0]):
                index["blockIdx"].value = block
                for thread in range(threads[0]):
                    index["threadIdx"].value = thread
                    function(*words)

        return launch


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.floating):
        return (ctypes.c_float if value.itemsize == 4 else ctypes.c_double)(value)
    return ctypes.c_longlong(int(value))


class HostArrays:
    """Tells a module where the shared arrays of the processor are."""

    def __init__(self, xp: Any, module: HostModule, precision: str) -> None:
        self._words = (ctypes.c_uint64 * 2).in_dll(module.library, "shared_arrays")
        self._precision = precision

    def update(self) -> None:
        self._words[0], self._words[1] = table_address(self._precision), MOST_ARRAYS


class HostWatch:
    """The word is there at once."""

    def __init__(self, xp: Any, fault: Any) -> None:
        self._fault = fault

    def look(self) -> None:
        pass

    wait = look

    @property
    def word(self) -> int:
        return int(self._fault[0])


class HostCupy:
    """NumPy with the modules of CuPy."""

    RawModule = HostModule
    ndarray = type("ndarray", (), {})
    cuda = SimpleNamespace()

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def install(monkeypatch: Any, folder: Path) -> None:
    """Let `device="cuda"` mean the processor."""
    HostModule.folder = folder
    monkeypatch.setattr(gpu, "cupy", HostCupy)
    monkeypatch.setattr(gpu, "ModuleArrays", HostArrays)
    monkeypatch.setattr(cuda_environments, "Watch", HostWatch)
    monkeypatch.setattr(cuda_engine.Recorded, "captured", lambda self: None)
    # Few threads: those beyond the last row cost time as well.
    monkeypatch.setattr(cuda_engine, "THREADS", 4)
    monkeypatch.setattr(cuda, "THREADS", dict.fromkeys(cuda.THREADS, 4))
