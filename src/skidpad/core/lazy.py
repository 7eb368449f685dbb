"""Lazy imports of public names, and a cache of recently made values.

`import skidpad` takes a few milliseconds because of `lazy_attributes`, and describing a car does
not load the compiler. A package imports its names under `TYPE_CHECKING`, for editors and type
checkers, and declares where each of them is defined:

    __getattr__ = lazy_attributes(__name__, {".bicycles": ("single_track", "kinematic_bicycle")})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Package(ModuleType):
    """Package type in which a public name may equal the name of the module that defines it.

    The import system makes each module an attribute of its package; the public name goes first.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in vars(self)["_named_as_module"]:
            value = getattr(value, name)
        super().__setattr__(name, value)


def lazy_attributes(
    package: str,
    homes: Mapping[str, Sequence[str]],
    modules: Mapping[str, str] | None = None,
    needs: Mapping[str, str] | None = None,
) -> Callable[[str], Any]:
    """Make the `__getattr__` of a package that imports each public name on first use.

    `dir` of the package, and so completion by TAB, shows the names of its `__all__`.

    Args:
        package: `__name__` of the package.
        homes: for each module, relative to the package (".tyre"), the names that it defines.
        modules: names that stand for whole modules, with their relative paths.
        needs: for each module that requires an optional package, that package; if it is missing,
            the error names what to install.
    """
    places = {name: home for home, names in homes.items() for name in names}
    whole = modules or {}
    sys.modules[package].__class__ = _Package
    module = vars(sys.modules[package])
    module["_named_as_module"] = {name for name, home in places.items() if home == f".{name}"}
    module.setdefault("__dir__", lambda: sorted(module["__all__"]))

    def attribute(name: str) -> Any:
        if name in whole:
            value = import_module(whole[name], package)
        elif name in places:
            if optional := (needs or {}).get(places[name]):
                from ..errors import require

                require(optional, purpose=f"{package.partition('.')[2]}.{name}")
            value = getattr(import_module(places[name], package), name)
            if record := sys.modules.get("skidpad.core.record"):
                record.document_all()
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    return attribute


MOST_RECENT = 64
"""Default number of entries in a cache."""


class RecentCache(Generic[T]):
    """Cache of recently made values by owner and key; beyond `most`, drops the least recently used.

    Owners are compared by identity: equal models are compiled separately.
    """

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        # Store the owner with its value, so that no other object can get the same address.
        self._entries: dict[Any, tuple[Any, T]] = {}

    def get(self, owner: Any, key: Any, make: Callable[[], T]) -> T:
        """Return the value of this owner and key; calls `make` on first use."""
        place = (id(owner), key)
        try:
            entry = self._entries.pop(place, None)
        except TypeError:  # the key is unhashable: skip the cache, `make` may raise a clearer error
            return make()
        self._entries[place] = entry = entry or (owner, make())
        while len(self._entries) > self._most:
            self._entries.pop(next(iter(self._entries)), None)
        return entry[1]
