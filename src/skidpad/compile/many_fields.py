"""Many parameters of a vehicle, and sums over its steps for each of them, in memory.

Those of a vehicle are values that a loop keeps in registers. A network has many hundreds:
written out one by one, their loads alone took LLVM most of its time, and as values they would all
be alive throughout the loop. Here they are loaded and stored by loops over the fields, and lie in
memory in between; each is read where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .counters import counter
from .lines import Target
from .llvm import InMemory, room
from .memory import Group, View, word

MOST_IN_REGISTERS = 256
"""Fields that are values; vehicles of the registry have fewer."""


def loaded_fields(target: Target, b: Any, view: View, group: Group, count: int) -> Sequence[Any]:
    """The fields of an array for a `Body` to take: values, or where they lie if there are many."""
    if count <= MOST_IN_REGISTERS:
        return view.load(b, group, count)
    base = room(target, b, count)
    with counter(b, word(0), word(count), 1) as k:
        (value,) = _field_view(target, b, view, k).load(b, group, 1)
        target.store(b, value, b.gep(base, [k], source_etype=target.vector))
    return [InMemory(base, k) for k in range(count)]


def store_fields(target: Target, b: Any, view: View, group: Group, values: list[Any]) -> None:
    """Write values to the fields of an array."""
    if len(values) <= MOST_IN_REGISTERS:
        view.store(b, group, values)
        return
    base = room(target, b, len(values))
    for k, value in enumerate(values):
        target.store(b, value, target.address(b, base, k))
    _store_from(target, b, view, group, base, len(values))


class Sums:
    """Sums over the steps of a loop, one for each field: values that it carries, or in memory."""

    def __init__(self, target: Target, b: Any, count: int) -> None:
        self.target, self.count, self.base = target, count, None
        self.carried = [target.number(0.0)] * count
        """What the loop has to carry."""
        if count > MOST_IN_REGISTERS:
            self.carried, self.base = [], room(target, b, count)
            with counter(b, word(0), word(count), 1) as k:
                address = b.gep(self.base, [k], source_etype=target.vector)
                target.store(b, target.number(0.0), address)

    def added(self, b: Any, now: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """What it carries on, with what a step contributes."""
        if self.base is None:
            return [b.fadd(a, s) for a, s in zip(now, values, strict=True)]
        for k, value in enumerate(values):
            address = self.target.address(b, self.base, k)
            self.target.store(b, b.fadd(self.target.load(b, address), value), address)
        return []

    def store(self, b: Any, view: View, group: Group, after: list[Any]) -> None:
        """Write them to the fields of an array; `after` is what the loop has carried."""
        if self.base is None:
            view.store(b, group, after)
        else:
            _store_from(self.target, b, view, group, self.base, self.count)


def _store_from(target: Target, b: Any, view: View, group: Group, base: Any, count: int) -> None:
    with counter(b, word(0), word(count), 1) as k:
        value = target.load(b, b.gep(base, [k], source_etype=target.vector))
        _field_view(target, b, view, k).store(b, group, [value])


def _field_view(target: Target, b: Any, view: View, field: Any) -> View:
    """The array from a field on, whose number is known only as the kernel runs."""
    offset = b.mul(field, view.field)
    return view.instead(base=b.gep(view.base, [offset], source_etype=target.scalar))
