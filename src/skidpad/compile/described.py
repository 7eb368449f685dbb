"""Record classes in words: rows of numbers and text from which a class is made elsewhere.

A class that its module has at the top is also known by its place, so that whoever imports it there
gets back their own class and not one that looks like it.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from importlib import import_module
from typing import Annotated, Any, NamedTuple
from uuid import uuid4
from weakref import WeakValueDictionary

from .. import record
from ..errors import InvalidValue
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


class KnownRecord(NamedTuple):
    """A record class on its way to another process."""

    mark: str
    """Tells classes apart: one that comes back to where it is, or a second time, is the same."""
    place: Place
    rows: list[list[Any]]

    def here(self) -> type:
        """The class itself or, in another process, the one at its place if that is the same, else
        one like it."""
        kind = _known.get(self.mark)
        if kind is None:
            kind = at(self.place)
            if not (record.is_record_type(kind) and described(kind) == self.rows):
                kind = record_type(self.place[1].rpartition(".")[2], self.rows)
                kind.__module__, kind.__qualname__ = self.place
            _remember(kind, self.mark)
        return kind

    def instance(self, leaves: tuple[Any, ...]) -> Any:
        """A record of the class."""
        return record.unflatten(self.here(), leaves)


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
    return KnownRecord(mark, place_of(kind), described(kind))


def reduced(instance: Any) -> tuple[Any, ...]:
    """What `pickle` makes a record of again; with its class, where no process could import that."""
    kind = type(instance)
    if importable(kind):
        return kind, tuple(instance)
    return known_record(kind).instance, (record.flatten(instance),)


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


def record_type(name: str, rows: list[list[Any]]) -> type:
    """A record class from its described leaves; dotted names become nested records."""
    groups: dict[str, list[list[Any]]] = {}
    for row in rows:
        _check_row(row)
        groups.setdefault(row[0].partition(".")[0], []).append(row)
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    docs: dict[str, str] = {}
    for entry, members in groups.items():
        if members[0][0] != entry:
            inner = [[m[0].partition(".")[2], *m[1:]] for m in members]
            hints[entry] = record_type(entry, inner)
            defaults[entry] = hints[entry]()
            continue
        _, symbol, dimension, default, bounds, docs[entry] = members[0]
        hints[entry] = _annotated(symbol, dimension, bounds)
        defaults[entry] = default
    return record.define(name, hints, defaults, docs)


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
