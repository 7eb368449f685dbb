"""The manifest of a campaign's folder: what is known of its files, so that they need not be opened.

All of it but the notes can be found again from the files themselves; so it is written now and then,
and a part that it does not know yet is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidValue
from .parts import Part, part_name, range_of

MANIFEST = "manifest.json"
FORMAT = 1


@dataclass
class Manifest:
    """What `manifest.json` says."""

    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    """By the names of their files."""
    damaged: dict[str, str] = field(default_factory=dict[str, str])
    """Why files were moved aside, by their names."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    """Small facts, as plain values."""

    def to_bytes(self) -> bytes:
        """As JSON."""
        sets = sorted({tuple(sorted(part.columns)) for part in self.parts.values()})
        numbers = {frozenset(names): k for k, names in enumerate(sets)}
        parts = [
            [part.begin, part.end, numbers[part.columns], part.pieces, part.size, part.footer]
            for part in sorted(self.parts.values())
        ]
        content = {
            "format": FORMAT,
            "notes": self.notes,
            "damaged": self.damaged,
            "columns": sets,
            "parts": parts,
        }
        return plain_json(MANIFEST, content, indent=None)

    @classmethod
    def from_bytes(cls, data: bytes, source: str) -> Manifest:
        """Of a file; raises ValueError (no `InvalidValue`) if it is none."""
        content = json.loads(data)
        if content["format"] > FORMAT:
            raise InvalidValue(
                f"{source} was written by a newer skidpad (format {content['format']}, known is "
                f"{FORMAT}): install that to read it"
            )
        sets = [frozenset[str](names) for names in content["columns"]]
        parts: dict[str, Part] = {}
        for begin, end, columns, pieces, size, footer in content["parts"]:
            name = part_name(begin, end)
            if range_of(name) is None:
                raise ValueError(f"{name} is no part")
            parts[name] = Part(begin, end, sets[columns], pieces, size, footer)
        return cls(parts, dict(content["damaged"]), dict(content["notes"]))


def plain_json(name: str, value: Any, indent: int | None = 1) -> bytes:
    """A value as JSON; NumPy's numbers are numbers. Raises for what has no such form."""
    try:
        return json.dumps(value, indent=indent, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidValue(f"{name} must be plain values that JSON has: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is none")
