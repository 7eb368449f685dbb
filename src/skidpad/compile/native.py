"""Machine code: an LLVM module to object code for this processor, and object code into memory."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ..errors import InvalidValue
from ..forks import MACHINE_CODE, MEMORY, guard
from ..shared_arrays import alive, table_address
from .array_reads import SETTER

PRECISIONS = ("float64", "float32")

_LOCK = threading.RLock()
"""LLVM's context is shared by the process; one thread builds or loads at a time."""
_LIBRARY: Any = llvm.ffi.lib

MEMORY_LOCK: Any = getattr(_LIBRARY, "_lock", nullcontext())
"""llvmlite's own, which it also takes to free what nobody uses any more."""

guard(_LOCK, MACHINE_CODE)
guard(MEMORY_LOCK, MEMORY)

EFFORTS = ("0", "1", "2", "3")


def effort() -> int:
    """Of LLVM's code generator, as the environment variable SKIDPAD_OPTIMISATION says; usually 2.

    All have the same bits; 0 takes a third of the time of 2 to compile, and its code runs several
    times as long.
    """
    said = os.environ.get("SKIDPAD_OPTIMISATION") or "2"
    if said not in EFFORTS:
        raise InvalidValue(
            f"the environment variable SKIDPAD_OPTIMISATION = {said!r} is unknown; allowed are "
            + ", ".join(EFFORTS)
        )
    return int(said)


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _target_machine() -> Any:
    """A new machine each time: an execution engine takes its machine over and frees it."""
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_host_features(),
        opt=effort(),
        reloc="pic",
        jit=True,
    )


@cache
def _host_features() -> str:
    try:
        return llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on this platform; the processor's name is enough
        return ""


def vector_bits() -> int:
    """Width of this processor's vector registers."""
    features = _host_features()
    if "+avx512f" in features:
        return 512
    return 256 if "+avx2" in features else 128


def identity() -> str:
    """Everything about this machine and compiler that decides the object code."""
    return f"{_host()}|{effort()}"


@cache
def _host() -> str:
    return "|".join(
        (
            llvm.get_process_triple(),
            llvm.get_host_cpu_name(),
            _host_features(),
            llvmlite.__version__,
            ".".join(map(str, llvm.llvm_version_info)),
        )
    )


def object_code(assembly: str, *, in_order: bool = False) -> bytes:
    """Object code of a module. No optimisation that could change a rounding is asked for.

    With `in_order` operations stay in the order in which they are written.
    """
    with _LOCK:
        machine = _target_machine()
        module = llvm.parse_assembly(assembly)
        module.verify()
        with _unscheduled() if in_order else nullcontext():
            return bytes(machine.emit_object(module))


@contextmanager
def _unscheduled() -> Generator[None]:
    """LLVM's own scheduler off. It is a setting of the whole process: whoever compiles with LLVM
    in another thread meanwhile gets the same results from other orders."""
    llvm.set_option("", "-enable-misched=false")
    try:
        yield
    finally:
        llvm.set_option("", "-enable-misched=true")


class Library:
    """Object code in memory; keeps it alive while its functions are in use."""

    def __init__(self, code: bytes) -> None:
        with _LOCK:
            machine = _target_machine()
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            self._reads = any([self._set_arrays(precision) for precision in PRECISIONS])

    def _set_arrays(self, precision: str) -> bool:
        """Tell functions that read shared arrays where these are; False if there are none."""
        address = self._engine.get_function_address(SETTER + precision)
        if address:
            ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)(table_address(precision))
        return bool(address)

    def address(self, name: str) -> int:
        """Address of a function."""
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        return address

    def function(self, name: str, *arguments: Any, result: Any = None) -> Any:
        """A function to call from Python; it runs without the interpreter lock."""
        function = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        function.keep = self  # type: ignore[attr-defined]
        return _holding_arrays(function) if self._reads else function


def _holding_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function during whose calls no shared array is freed."""

    def call(*arguments: Any) -> Any:
        held = alive()
        result = function(*arguments)
        del held
        return result

    return call
