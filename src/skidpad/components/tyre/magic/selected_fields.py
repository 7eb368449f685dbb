"""Sections of a version of the Magic Formula from those of another: each field is written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from .... import record

Section = TypeVar("Section", bound=tuple[Any, ...])


def selected(other: Any, keys: str) -> Callable[[type[Section]], type[Section]]:
    """Decorator: a section with these keys, in this order; those that it does not have itself are
    as in the section of another version."""

    def section(kind: Any) -> Any:
        hints = get_type_hints(other, include_extras=True)
        hints |= get_type_hints(kind, include_extras=True)
        defaults = {**other._field_defaults, **kind._field_defaults}
        order = keys.split()
        made = record.define(
            kind.__name__,
            {key: hints[key] for key in order},
            {key: defaults[key] for key in order if key in defaults},
            lambda: record.field_docs(other) | record.field_docs(kind),
            kind.__doc__ or "",
        )
        made.__module__, made.__qualname__ = kind.__module__, kind.__qualname__
        return made

    return section
