"""Native code: compile LLVM modules to object code, load it, and cache compiled code on disk.

An entry of the cache is named by a hash of the program, the kernel, the target and the versions.
Processes may share the folder: an entry is written under a temporary name and renamed, so that a
reader finds all of it or nothing. An entry has a checksum; a damaged one is removed and rebuilt.
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
"""Serialises building and loading, as LLVM's context is shared by the process."""
_LIBRARY: Any = llvm.ffi.lib

MEMORY_LOCK: Any = getattr(_LIBRARY, "_lock", nullcontext())
"""llvmlite's own lock, which it also takes to free unused objects."""

guard(_LOCK, MACHINE_CODE)
guard(MEMORY_LOCK, MEMORY)

EFFORTS = ("0", "1", "2", "3")


def effort() -> int:
    """Optimisation level of LLVM's code generator, from SKIDPAD_OPTIMISATION; 2 by default.

    All levels give the same bits; level 0 takes a third of the time of level 2 to compile, and its
    code takes several times as long to run.
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
    """A new target machine for each call: an execution engine takes it over and frees it."""
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_host_features(), opt=effort(), reloc="pic", jit=True
    )


@cache
def _host_features() -> str:
    try:
        return llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on this platform; the processor's name is enough
        return ""


def vector_bits() -> int:
    features = _host_features()
    if "+avx512f" in features:
        return 512
    return 256 if "+avx2" in features else 128


def identity() -> str:
    """Text that identifies all properties of the machine and the compiler that affect the code."""
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
    """Compile LLVM assembly to object code, without optimisations that could change a rounding.

    With `in_order`, operations stay in the order in which they are written.
    """
    with _LOCK:
        machine = _target_machine()
        module = llvm.parse_assembly(assembly)
        module.verify()
        with _unscheduled() if in_order else nullcontext():
            return bytes(machine.emit_object(module))


@contextmanager
def _unscheduled() -> Generator[None]:
    """Switch LLVM's own scheduler off inside a `with` block.

    The setting applies to the whole process: code that other threads compile with LLVM meanwhile
    gives the same results in another order.
    """
    llvm.set_option("", "-enable-misched=false")
    try:
        yield
    finally:
        llvm.set_option("", "-enable-misched=true")


class Library:
    """Loaded object code, kept alive while its functions are in use."""

    def __init__(self, code: bytes) -> None:
        with _LOCK:
            machine = _target_machine()
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            self._reads = any([self._set_arrays(precision) for precision in PRECISIONS])

    def _set_arrays(self, precision: str) -> bool:
        """Set the address of the table of shared arrays; returns False if no function reads it."""
        address = self._engine.get_function_address(SETTER + precision)
        if address:
            ctypes.CFUNCTYPE(None, ctypes.c_uint64)(address)(table_address(precision))
        return bool(address)

    def address(self, name: str) -> int:
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        return address

    def function(self, name: str, *arguments: Any, result: Any = None) -> Any:
        """A function callable from Python; it runs without the interpreter lock."""
        function = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        function.keep = self  # type: ignore[attr-defined]
        if not self._reads:
            return function

        def call(*arguments: Any) -> Any:
            """Call the function; no shared array is freed meanwhile."""
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
    """Name of a cache entry: a hash of everything that decides its content."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def compiler_digest() -> str:
    """Hash of the compiler's own source, so that code from another version is never used."""
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
    """Return the cache entry `name`, built and stored if it is missing or damaged.

    `prepare` returns the arguments of `build`. Building may stay inside a library for long, so it
    runs in a thread of its own: after an interrupt it continues, and the next call finds the entry.
    In a terminal `label` shows what takes so long. A folder that cannot be used (read-only, not
    private) means building every time, never an error.
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
    """Return the content of an entry, or None if it is missing, damaged or another user's."""
    place = private_folder()
    if place is None:
        return None
    path = place / entry
    try:
        with path.open("rb") as file:
            # Others may have written files here while the folder was still accessible to them.
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


def store(entry: str, body: bytes) -> None:
    """Store an entry, if the folder can be used and the disk is not full."""
    place = private_folder()
    if place is None:
        return
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER + _digest(place / entry, body) + body)
            os.replace(temporary, place / entry)
        except OSError:
            os.unlink(temporary)


def private_folder() -> Path | None:
    """Cache folder, or None if another user may write to it, since its content is executed."""
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


def _digest(path: Path, body: bytes) -> bytes:
    """Checksum of an entry, including its name, so that a renamed entry is detected."""
    return hashlib.sha256(path.name.encode() + b"\0" + body).digest()
