"""Loops over geometry, compiled by numba and kept on disk by their content.

numba's own cache looks only at the file a function is written in and at its time, and a cached
entry that names a class which has moved makes it fail. Here an entry belongs to the text of every
file that has such loops; it lies in skidpad's cache folder (see `compile.cache`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from . import cache

FOLDERS = ("plane/index", "plane/collision", "plane/raycast", "random")
"""The parts of the package that have loops, or constants that loops use."""

_JIT: Any = numba.njit


@functools.cache
def _digest() -> str:
    # Of the compiler too: its elementary functions are among the loops.
    digest = hashlib.sha256(cache.compiler_digest().encode() + Path(__file__).read_bytes())
    for part in FOLDERS:
        for source in sorted((Path(__file__).parents[1] / part).glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


class _Locator(caching._CacheLocator):  # pyright: ignore[reportPrivateUsage]
    """Tells numba where an entry lies and which text it belongs to."""

    def __init__(self, function: Callable[..., Any], file: str, folder: Path) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        self._path = str(folder / "loops")

    def get_cache_path(self) -> Any:
        return self._path

    def get_source_stamp(self) -> Any:
        return _digest()

    def get_disambiguator(self) -> Any:
        # In the name of the file, so that an entry of another text is not even opened.
        return f"{self._line}-{_digest()[:16]}"

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        folder = cache.private_folder()
        if folder is None:
            return None
        made = cls(py_func, py_file, folder)
        try:
            made.ensure_cache_path()
        except OSError:
            return None
        return made


class _Entries(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _OnDisk(caching.FunctionCache):
    _impl_class = _Entries


def kept(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """The compiled function, its machine code kept on disk.

    A folder that cannot be written to means compiling in every process, never an error.
    """
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = _OnDisk(function)
    return dispatcher


def loop(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called with arguments of some types.

    It runs without the interpreter lock, and without fast-math flags: they would change the bits.
    """
    return kept(_JIT(nogil=True)(function), function)
