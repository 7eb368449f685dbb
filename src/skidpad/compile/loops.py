"""Numba-compiled loops over geometry, compiled on the first call and cached on disk.

numba's own cache depends only on the file of a function and its time, unpickles any content, and
fails on an entry that is damaged or names a class which has moved. Here an entry depends on the
text of every file that has such loops, and is stored in the cache of `native`: in a folder of the
user's own, checked before it is unpickled, and compiled again if anything is wrong with it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from ..core.threads import LOOPS, MEMORY, alone, guard
from . import native
from . import native as cache

FOLDERS = ("geometry", "geometry/collision", "geometry/raycast", "random")
"""Parts of the package that contain loops, or constants that loops use."""

_JIT: Any = numba.njit
_LOCK: Any = global_compiler_lock

guard(_LOCK, LOOPS)
guard(native.MEMORY_LOCK, MEMORY)


@functools.cache
def _digest() -> str:
    # The digest includes the compiler, whose elementary functions are among the loops.
    digest = hashlib.sha256(cache.compiler_digest().encode() + Path(__file__).read_bytes())
    for part in FOLDERS:
        for source in sorted((Path(__file__).parents[1] / part).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


class _OnDisk:
    """Disk cache of a function's machine code, with the interface that numba expects."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str:
        return str(cache.folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for arguments of some types, or None."""
        target_context.refresh()
        try:
            body = cache.load(self._entry(sig, target_context.codegen()))
            return body and _rebuilt(target_context, *pickle.loads(body))
        except Exception:
            # Whatever is wrong with a cache entry, the function can be compiled anew.
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled function, unless it depends on addresses in this process."""
        if data.library.has_dynamic_globals:
            return
        # If storing fails, the function is compiled again next time; it is already usable now.
        with contextlib.suppress(Exception):
            cache.store(self._entry(sig, data.codegen), dumps(data._reduce()))

    def _entry(self, sig: Any, codegen: Any) -> str:
        function = self._function
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        name = cache.key(
            _digest(),
            f"{function.__module__}.{function.__qualname__}",
            str(function.__code__.co_firstlineno),
            hashlib.sha256(dumps(cells)).hexdigest(),
            str(sig),
            str(codegen.magic_tuple()),
            numba.__version__,
            sys.version,
        )
        return f"{function.__name__}-{name}.loop"

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


_rebuilt: Any = CompileResult._rebuild  # pyright: ignore[reportPrivateUsage]


def kept(dispatcher: Any, function: Callable[..., Any], signature: str | None = None) -> Any:
    """Wrap a function so that numba compiles it at its first call, with the machine code cached.

    It is compiled for the types of its arguments or for one signature. A compiler cannot be
    interrupted, so it runs in a thread of its own (see `core.threads.alone`).
    """
    dispatcher._cache = _OnDisk(function)
    compile_for = dispatcher._compile_for_args

    def compiled(*arguments: Any) -> Any:
        if signature is None:
            return alone(functools.partial(compile_for, *arguments))
        alone(functools.partial(_compile_once, dispatcher, signature))
        return dispatcher

    # numba looks for this name where no machine code fits the arguments; calls that have some pay
    # nothing.
    dispatcher._compile_for_args = compiled
    return dispatcher


def _compile_once(dispatcher: Any, signature: str) -> None:
    with _LOCK:
        if not dispatcher.signatures:
            dispatcher.compile(signature)
            dispatcher.disable_compile()


def loop(function: Callable[..., Any]) -> Any:
    """Compile a function with numba when it is first called with arguments of some types.

    It runs without the interpreter lock, and without fast-math flags: they would change the bits.
    """
    return kept(_JIT(nogil=True)(function), function)
