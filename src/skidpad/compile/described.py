"""Record classes on their way to other processes and into files.

A class that its module has at the top travels as its place, one that a function made as its recipe,
and so do those of the records in it. Any other is described: rows of numbers and text from which
one like it is made, but without methods. It is also known by its place, so that whoever has it
there gets back their own class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple
from importlib import import_module
from typing import Annotated, Any, NamedTuple, get_type_hints
from uuid import uuid4
from weakref import WeakValueDictionary

from .. import record
from ..errors import InvalidValue
from ..ops.grids import METHODS
from ..recipes import Recipe, recipe_of
from ..shared_arrays import ArrayNumber
from ..units import Allowed, Unit

Place = tuple[str, str]
"""Module and qualified name of something at the top of a module."""
SCRIPTS = ("__main__", "__mp_main__")
"""Modules whose contents another process may have or not."""
_MARK = "_skidpad_mark"


def place_of(thing: Any) -> Place:
    """Where a class or a function says that it is."""
    return getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "")


def at(place: Place) -> Any:
    """What is at a place in this process; None if there is nothing."""
    module, path = place
    try:
        there: Any = import_module(module)
        for name in path.split("."):
            there = getattr(there, name)
    except (AttributeError, ImportError, ValueError):
        return None
    return there


def importable(kind: type) -> bool:
    """Whether any process finds a class at its place."""
    place = place_of(kind)
    return place[0] not in SCRIPTS and at(place) is kind


class MadeRecord(NamedTuple):
    """A record class that a function made, on its way to another process."""

    recipe: Recipe
    """With arguments that travel."""

    def here(self) -> type:
        """The class."""
        return self.recipe.make(*arrived(self.recipe.arguments))


class KnownRecord(NamedTuple):
    """A record class that is described, on its way to another process."""

    mark: str
    """Tells classes apart: one that comes back to where it is, or a second time, is the same."""
    place: Place
    rows: list[list[Any]]
    kinds: dict[str, Any]
    """By field the class of the record there, as it travels; None for a number."""

    def here(self) -> type:
        """The class itself or, in another process, the one at its place if that is the same, else
        one like it."""
        kind = _known.get(self.mark)
        if kind is None:
            kinds = {name: arrived(part) for name, part in self.kinds.items()}
            like = _with_kinds(self.place[1].rpartition(".")[2], self.rows, kinds)
            kind = at(self.place)
            if not (record.is_record_type(kind) and _alike(kind, like)):
                kind = like
                kind.__module__, kind.__qualname__ = self.place
            _remember(kind, self.mark)
        return kind


def _alike(kind: Any, other: Any) -> bool:
    return (
        kind._fields == other._fields
        and described(kind) == described(other)
        and record.interpolations(kind) == record.interpolations(other)
    )


def travelling(thing: Any) -> Any:
    """A record class, or a tuple with such, as another process takes it; all else as it is."""
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        if isinstance(recipe, Recipe):
            return MadeRecord(Recipe(recipe.make, travelling(recipe.arguments)))
        return thing if importable(thing) else known_record(thing)
    if isinstance(thing, tuple):
        return _like(thing, map(travelling, thing))
    return thing


def comes_whole(thing: Any) -> bool:
    """Whether a record class, or a tuple with such, has its methods in any other process."""
    if record.is_record_type(thing):
        recipe = recipe_of(thing)
        return comes_whole(recipe.arguments) if isinstance(recipe, Recipe) else importable(thing)
    return not isinstance(thing, tuple) or all(map(comes_whole, thing))


def arrived(thing: Any) -> Any:
    """What `travelling` was given, in the process that it has come to."""
    if isinstance(thing, (MadeRecord, KnownRecord)):
        return thing.here()
    return _like(thing, map(arrived, thing)) if isinstance(thing, tuple) else thing


def _like(thing: Any, parts: Any) -> Any:
    return thing._make(parts) if record.is_record_type(type(thing)) else tuple(parts)


def recipe_of_model(model: Any) -> tuple[Any, ...] | None:
    """For `pickle`: the function that built a model and its arguments; None where there is none
    or another process could not have all of them."""
    build, arguments = vars(model).get("_recipe", (None, ()))
    if build is None or not comes_whole(arguments):
        return None
    return built_again, (build, travelling(arguments))


def built_again(build: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The model that a function builds of arguments that have travelled."""
    return build(*arrived(arguments))


def unpickled(kind: Any, leaves: tuple[Any, ...]) -> Any:
    """A record of a class that has travelled."""
    return record.unflatten(arrived(kind), leaves)


_known: WeakValueDictionary[str, type] = WeakValueDictionary()
"""The record classes of this process that have travelled, by their marks."""


def _remember(kind: Any, mark: str) -> None:
    _known[mark] = kind
    if _MARK not in vars(kind):
        setattr(kind, _MARK, mark)
    if not importable(kind):
        kind.__reduce__ = reduced


def known_record(kind: type) -> KnownRecord:
    """A record class as another process will know it. Its records can be pickled from now on."""
    mark = vars(kind).get(_MARK) or uuid4().hex
    _remember(kind, mark)
    kinds = {name: travelling(part) for name, part in _kinds(kind).items()}
    return KnownRecord(mark, place_of(kind), described(kind), kinds)


def _kinds(kind: Any) -> dict[str, Any]:
    """By field the class of the record there; None for a number."""
    hints = get_type_hints(kind, include_extras=True)
    return {n: hints[n] if record.is_record_type(hints[n]) else None for n in kind._fields}


def reduced(instance: Any) -> tuple[Any, ...]:
    """What `pickle` makes a record of again; with its class, where no process could import that."""
    kind = type(instance)
    if importable(kind):
        return kind, tuple(instance)
    return unpickled, (travelling(kind), record.flatten(instance))


def described(kind: type) -> list[list[Any]]:
    """One row per leaf: name, unit, exponents, default, allowed range, doc."""
    rows: list[list[Any]] = []
    for leaf in record.fields(kind):
        allowed = leaf.allowed
        bounds = None if allowed is None else list(astuple(allowed))
        if bounds:
            bounds = [b if isinstance(b, bool) or math.isfinite(b) else str(b) for b in bounds]
        unit = leaf.unit
        # The number of an array means nothing in another process.
        default = None if isinstance(leaf.default, ArrayNumber) else leaf.default
        rows.append([leaf.name, unit.symbol, [*unit.dimension], default, bounds, leaf.doc])
    return rows


def record_type(
    name: str, rows: list[list[Any]], interpolations: Mapping[str, str] | None = None
) -> type:
    """A record class from its described leaves; dotted names become nested records.

    `interpolations` says by dotted name which records are grids that are not linear.
    """
    kinds: dict[str, Any] = {}
    known = interpolations or {}
    for entry, members in _by_field(rows).items():
        if members[0][0] == entry:
            kinds[entry] = None
            continue
        inner = [[m[0].partition(".")[2], *m[1:]] for m in members]
        below = {path: method for path, method in known.items() if path.startswith(f"{entry}.")}
        below = {path.partition(".")[2]: method for path, method in below.items()}
        kinds[entry] = record_type(entry, inner, below)
        if entry in known:
            setattr(kinds[entry], record.INTERPOLATION, known[entry])
    kind = _with_kinds(name, rows, kinds)
    if record.interpolations(kind) != known or not {*known.values()} <= {*METHODS}:
        raise InvalidValue(f"{name} has no grids with interpolations {known!r:.200}")
    return kind


def _with_kinds(name: str, rows: list[list[Any]], kinds: Mapping[str, Any]) -> Any:
    """A record class from its described leaves and the classes of the records among its fields."""
    groups = _by_field(rows)
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    docs: dict[str, str] = {}
    for entry, inner in kinds.items():
        if inner is not None:
            hints[entry] = inner
            defaults[entry] = record.unflatten(inner, [row[3] for row in groups.get(entry, ())])
            continue
        _, symbol, dimension, defaults[entry], bounds, docs[entry] = groups[entry][0]
        hints[entry] = _annotated(symbol, dimension, bounds)
    return record.define(name, hints, defaults, docs)


def _by_field(rows: list[list[Any]]) -> dict[str, list[list[Any]]]:
    groups: dict[str, list[list[Any]]] = {}
    for row in rows:
        _check_row(row)
        groups.setdefault(row[0].partition(".")[0], []).append(row)
    return groups


def _check_row(row: Any) -> None:
    """Raise unless a row is one that `described` could have written; it may come from a file."""
    name, symbol, dimension, default, bounds, doc = row
    texts = all(isinstance(text, str) for text in (name, symbol, doc))
    numbers = [*dimension, *(() if default is None else (default,))]
    plain = all(type(n) in (int, float) and math.isfinite(n) for n in numbers)
    if not (texts and plain and len(dimension) == 3):
        raise InvalidValue(f"{row!r:.200} describes no field of a record")
    if bounds is not None:
        low, high, *marks = bounds
        marked = len(marks) in (1, 2) and all(type(mark) is bool for mark in marks)
        if not marked or not float(low) <= float(high):
            raise InvalidValue(f"{name}: {bounds!r:.200} is no range")


def _annotated(symbol: str, dimension: list[float], bounds: list[Any] | None) -> Any:
    unit = Unit(symbol, *dimension)
    if bounds is None:
        return Annotated[float, unit]
    low, high, *marks = bounds
    return Annotated[float, unit, Allowed(float(low), float(high), *map(bool, marks))]
