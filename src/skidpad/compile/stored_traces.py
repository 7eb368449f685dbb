"""What tracing a vehicle gave, on disk: the next process that makes the same vehicle reads it.

Only of models that skidpad itself makes, from nothing but its own functions and classes: what they
compute is decided by the package's source, by a few libraries and by the arguments of the recipe,
and these are the name of an entry. A user's own model is traced by every process that uses it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from ..model import Model
from . import cache as disk

__all__ = ["package_digest", "stored"]

T = TypeVar("T")

_LIBRARIES = ("casadi", "numpy")
"""What a trace depends on besides the package."""
_PLAIN = {"builtins", "collections", "fractions", "typing"}
"""Modules whose names may be in a recipe beside those of skidpad."""


def stored(model: Model, key: Any, make: Callable[[], T]) -> T:
    """What `make` gives for a model and a key, or what an earlier process got from it.

    It must follow from the model's functions and the key alone, and be picklable.
    """
    name = _name(model, key)
    if name is None:
        return make()
    body = disk.load(name)
    if body is not None:
        with contextlib.suppress(Exception):  # of another version of Python, say
            return pickle.loads(body)
    made = make()
    disk.store(name, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _name(model: Model, key: Any) -> str | None:
    """The name of an entry; None where the package alone does not decide what is in it."""
    from ..vehicles import listed
    from .described import recipe_of_model

    recipe = listed(model) or recipe_of_model(model)
    if recipe is None:
        return None
    try:
        text = pickle.dumps((recipe, key), pickle.HIGHEST_PROTOCOL)
        _Own(io.BytesIO(text)).load()
    except Exception:  # of whatever kind: it is then no recipe of ours
        return None
    return f"{disk.key('trace', package_digest(), text.hex())}.trace"


class _Own(pickle.Unpickler):
    """Refuses what is not skidpad's."""

    def find_class(self, module: str, name: str, /) -> Any:
        if module.split(".")[0] != "skidpad" and module not in _PLAIN:
            raise pickle.UnpicklingError(f"{module}.{name} is not skidpad's")
        return super().find_class(module, name)


@cache
def package_digest() -> str:
    """A hash of what decides a trace: the source by size and time of change, as Python itself
    tells whether it compiles a file again, and the libraries."""
    digest = hashlib.sha256(repr((sys.version, [version(name) for name in _LIBRARIES])).encode())
    for path, status in sorted(_sources(str(Path(__file__).parents[1]))):
        digest.update(f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()
