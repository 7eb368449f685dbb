"""Ports that hold several records, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import record
from .course import Course, course_of


class Joint(NamedTuple):
    """A port of several records."""

    kinds: tuple[type, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all leaves, with the number of their record before them."""
        numbered = enumerate(self.kinds)
        return tuple(f"{k}.{name}" for k, kind in numbered for name in record.names(kind))

    def records(self, values: Sequence[Any]) -> list[Any]:
        """The records of the values of all leaves."""
        records: list[Any] = []
        for kind in self.kinds:
            size = record.size(kind)
            own, values = values[:size], values[size:]
            records.append(course_of(own) if kind is Course else record.unflatten(kind, own))
        return records
