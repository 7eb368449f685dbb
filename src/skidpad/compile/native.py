"""Machine code: an LLVM module to object code for this processor, object code into memory, and a
cache of compiled code on disk.

An entry of the cache is named by a hash of the program, the kernel, the target and the versions.
Processes may share the folder: an entry is written under a temporary name and renamed, so that a
reader sees all of it or nothing. An entry has a checksum; a damaged one is removed and built again.
Since the content is executed, the folder must belong to the user, and no other user may write to
it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .. import __version__
from ..core.arrays import alive, table_address
from ..core.progress import working
from ..core.threads import MACHINE_CODE, MEMORY, alone, guard
from ..errors import InvalidValue
from .llvm_text import SETTER

PRECISIONS = ("float64", "float32")

_LOCK = threading.RLock()
"""LLVM's context is shared by the process; one thread builds or loads at a time."""
_LIBRARY: Any = llvm.ffi.lib

MEMORY_LOCK: Any = getattr(_LIBRARY, "_lock", nullcontext())
"""llvmlite's own lock, which it also takes to free unused objects."""

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
    """A block with LLVM's own scheduler off. The setting is the whole process's: compiling with
    LLVM in another thread meanwhile gives the same results in another order."""
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
        """Set the address of shared arrays; False if no function reads them."""
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


_HEADER = b"skidpad-object-1\n"


def folder() -> Path:
    """The folder of compiled code: SKIDPAD_CACHE if set, else the user's cache folder."""
    chosen = os.environ.get("SKIDPAD_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "skidpad"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "skidpad" / "cache"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "skidpad"


def key(*parts: str) -> str:
    """The name of an entry: a hash of everything that decides its content."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def compiler_digest() -> str:
    """A hash of the compiler's own source, so that code from another version of it is never
    used."""
    digest = hashlib.sha256(__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def get_or_build(
    name: str,
    build: Callable[..., bytes],
    prepare: Callable[[], tuple[Any, ...]] = tuple,
    label: str = "compiling",
) -> bytes:
    """The entry `name`, built and stored if it is missing or damaged.

    `prepare` returns the arguments of `build`, which may stay for long inside of a library: it runs
    in a thread of its own. After an interrupt it continues, and the next call finds the entry.

    In a terminal `label` says what takes so long.

    A folder that cannot be used (read-only, not private) means building every time, never an error.
    """
    entry = f"{name}.o"
    body = load(entry)
    if body is not None:
        return body
    with working(label) as sign:
        arguments = prepare()
        sign.show()

        def stored() -> bytes:
            built = build(*arguments)
            store(entry, built)
            return built

        return alone(stored, sign.show)


def load(entry: str) -> bytes | None:
    """The content of an entry; None if it is missing, damaged or another user's."""
    place = private_folder()
    return None if place is None else _read(place / entry)


def store(entry: str, body: bytes) -> None:
    """Store an entry, if the folder can be used and the disk is not full."""
    place = private_folder()
    if place is not None:
        _write(place / entry, body)


def private_folder() -> Path | None:
    """The cache folder, unless another user may write to it: its content is executed."""
    try:
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            status = place.stat()
            if status.st_uid != os.getuid():
                return None
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                place.chmod(0o700)
    except (OSError, RuntimeError):  # the latter: this user has no home folder
        return None
    return place


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            # Others may have left files here while the folder was still open to them.
            own = not hasattr(os, "getuid") or os.fstat(file.fileno()).st_uid == os.getuid()
            data = file.read() if own else b""
    except OSError:
        return None
    start = len(_HEADER) + 32
    body = data[start:]
    if data[: len(_HEADER)] == _HEADER and data[len(_HEADER) : start] == _digest(path, body):
        return body
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def _write(path: Path, body: bytes) -> None:
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER + _digest(path, body) + body)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)


def _digest(path: Path, body: bytes) -> bytes:
    """Checksum of an entry; its name counts, so that a renamed entry is not taken for another."""
    return hashlib.sha256(path.name.encode() + b"\0" + body).digest()
