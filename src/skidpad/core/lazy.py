"""Packages whose public names are imported when they are first used.

`import skidpad` costs a few milliseconds because of this, and describing a car does not load the
compiler. A package imports its names under `TYPE_CHECKING`, for editors and type checkers, and
says where each of them is defined:

    __getattr__ = lazy_attributes(__name__, {".bicycles": ("single_track", "kinematic_bicycle")})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

__all__ = ["lazy_attributes"]


def lazy_attributes(
    package: str,
    homes: Mapping[str, Sequence[str]],
    modules: Mapping[str, str] | None = None,
    needs: Mapping[str, str] | None = None,
) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports each public name on first use.

    Args:
        package: `__name__` of the package.
        homes: for each module, relative to the package (".tyre"), the names it defines.
        modules: names that stand for whole modules, with their relative place.
        needs: of a module that cannot be imported without an optional package, that package;
            where it is missing, the error says what to install.
    """
    places = {name: home for home, names in homes.items() for name in names}
    whole = modules or {}

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
