"""Where public things are described, and the types in signatures that lead there."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import make_api_page as public

NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*(?:\.\w+)*")
LASTING = ("class", "exception", "warning", "function", "vehicle")
"""Kinds that are one object; numbers and the like are the same wherever they are equal."""


class Places:
    """Full names of what is described: of several for one thing, that which was asked for first."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def take(self, name: str, thing: Any) -> str:
        """The full name under which a thing is described; this one if it had none."""
        # A name may also stand for a type from elsewhere, such as `Any`.
        lasting = public.kind(thing) in LASTING and public.inside(thing.__module__ or "")
        return self._names.setdefault(id(thing), name) if lasting else name

    def linked(self, text: str, module: str) -> str:
        """A type as written in a module, with full names for what is described."""

        def full(name: re.Match[str]) -> str:
            thing = found(name[0], module)
            return self._names.get(id(thing), name[0]) if inspect.isclass(thing) else name[0]

        return NAME.sub(full, text)


def found(name: str, module: str) -> Any:
    """What a dotted name is in a module, in imports for type checkers too; None if unknown."""
    first, *others = name.split(".")
    scope = sys.modules.get(module)
    thing = getattr(scope, first, None)
    if thing is None and scope is not None and public.inside(module):
        thing = imported_for_types(first, module)
    for other in others:
        thing = getattr(thing, other, None)
    return thing


def imported_for_types(name: str, module: str) -> Any:
    """What a module of the package imports by a name anywhere in it."""
    scope = import_module(module)
    path = Path(scope.__file__ or "")
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(public.syntax(path)):
        if isinstance(node, ast.ImportFrom) and name in [a.asname or a.name for a in node.names]:
            origin = resolve_name("." * node.level + (node.module or ""), package)
            (alias,) = [a.name for a in node.names if (a.asname or a.name) == name]
            return getattr(import_module(origin), alias, None) if public.inside(origin) else None
    return None
