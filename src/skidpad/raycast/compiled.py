"""Kernels compiled by numba, each with one signature, and kept on disk.

numba's own cache looks only at the file a function is written in. Here an entry belongs to the
text of every kernel of this folder, so that a change in one that another calls is never missed; it
lies in skidpad's cache folder (see `compile.cache`).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from ..compile.cache import folder

# A contraction or a reassociation would change the bits, so no fast-math flag is given.
# Without numba's runtime no reference is counted: it would be, with an atomic instruction, for
# every array that is handed from one function to the next. Nothing is allocated in kernels.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "_nrt": False}

_JIT: Any = numba.njit


@cache
def _digest() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _Locator(caching._CacheLocator):  # pyright: ignore[reportPrivateUsage]
    """Tells numba where an entry lies and which text it belongs to."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> Any:
        return str(folder() / "kernels")

    def get_source_stamp(self) -> Any:
        return _digest()

    def get_disambiguator(self) -> Any:
        return f"{self._line}-{_digest()[:16]}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        made = cls(py_func, py_file)
        try:
            made.ensure_cache_path()
        except (OSError, RuntimeError):
            return None
        return made


class _Entries(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _OnDisk(caching.FunctionCache):
    _impl_class = _Entries


def kernel(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one signature, or load it from disk.

    A folder that cannot be written to means compiling in every process, never an error.
    """

    def made(function: Callable[..., Any]) -> Any:
        dispatcher = _JIT(nogil=True, no_cfunc_wrapper=True, **OPTIONS)(function)
        with contextlib.suppress(RuntimeError):
            dispatcher._cache = _OnDisk(function)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher

    return made


def inlined(function: Callable[..., Any]) -> Any:
    """A function that kernels call; it is compiled as a part of them."""
    return _JIT(inline="always", **OPTIONS)(function)
