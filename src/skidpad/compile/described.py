"""Record classes in words: rows of numbers and text from which a class is made elsewhere.

A class that its module has at the top is also known by its place, so that whoever imports it there
gets back their own class and not one that looks like it.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Annotated, Any, NamedTuple

from .. import record
from ..units import Allowed, Unit

Place = tuple[str, str]
"""Module and qualified name of something at the top of a module."""


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


class KnownRecord(NamedTuple):
    """A record class on its way to another process."""

    place: Place
    rows: list[list[Any]]

    def here(self) -> type:
        """The class of this process at its place if it is the same, else one like it."""
        own = at(self.place)
        if record.is_record_type(own) and described(own) == self.rows:
            return own
        return _like(self)

    def instance(self, leaves: tuple[Any, ...]) -> Any:
        """A record of the class."""
        return record.unflatten(self.here(), leaves)


_likenesses: dict[str, type] = {}
"""Classes made here, by all that is known of them: one for all that are alike."""


def _like(known: KnownRecord) -> type:
    key = repr(known)
    if key not in _likenesses:
        kind = record_type(known.place[1].rpartition(".")[2], known.rows)
        kind.__qualname__, kind.__module__ = known.place[1], known.place[0]
        _likenesses[key] = kind
    return _likenesses[key]


def known_record(kind: type) -> KnownRecord:
    """A record class as another process will know it."""
    return KnownRecord(place_of(kind), described(kind))


def reduced(instance: Any) -> tuple[Any, ...]:
    """What `pickle` makes a record again of whose class was made at run time."""
    kind = type(instance)
    if at(place_of(kind)) is kind:
        return kind, tuple(instance)
    return known_record(kind).instance, (record.flatten(instance),)


def described(kind: type) -> list[list[Any]]:
    """One row per leaf: name, unit, exponents, default, allowed range, doc."""
    rows: list[list[Any]] = []
    for leaf in record.fields(kind):
        allowed = leaf.allowed
        bounds = None if allowed is None else [allowed.low, allowed.high, allowed.open_low]
        if bounds:
            bounds = [b if isinstance(b, bool) or math.isfinite(b) else str(b) for b in bounds]
        unit = leaf.unit
        rows.append([leaf.name, unit.symbol, [*unit.dimension], leaf.default, bounds, leaf.doc])
    return rows


def record_type(name: str, rows: list[list[Any]]) -> type:
    """A record class from its described leaves; dotted names become nested records."""
    groups: dict[str, list[list[Any]]] = {}
    for row in rows:
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


def _annotated(symbol: str, dimension: list[float], bounds: list[Any] | None) -> Any:
    unit = Unit(symbol, *dimension)
    if bounds is None:
        return Annotated[float, unit]
    low, high, open_low = bounds
    return Annotated[float, unit, Allowed(float(low), float(high), open_low)]
