"""Reading a nested mapping of numbers: every fault is told with the file and the dotted key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidValue
from ...record import unknown_name


class Section:
    """A mapping within a file, known by the name of the file and the keys that lead to it."""

    def __init__(self, name: str, content: Any, path: str = "") -> None:
        self.name, self.path = name, path
        if not isinstance(content, Mapping):
            what = f"{path} = {content!r}" if path else f"what it holds ({type(content).__name__})"
            raise InvalidValue(f"{name}: {what} must be a mapping of keys to values")
        self._content: Mapping[Any, Any] = content

    def _key(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def only(self, *keys: str) -> None:
        """Raise if there is any other key."""
        for key in self._content:
            if key not in keys:
                where = f"{self.name}: {self.path}" if self.path else self.name
                raise InvalidValue(unknown_name(where, key, keys, "key"))

    def value(self, key: str) -> Any:
        """Whatever is there."""
        if key not in self._content:
            raise InvalidValue(f"{self.name}: {self._key(key)} is missing")
        return self._content[key]

    def section(self, key: str, *keys: str) -> Section:
        """A mapping within this one, with these keys and no others."""
        inner = Section(self.name, self.value(key), self._key(key))
        inner.only(*keys)
        return inner

    def sections(self, key: str, *keys: str) -> list[Section]:
        """A list of mappings with these keys and no others."""
        listed = self.value(key)
        if not isinstance(listed, list):
            raise InvalidValue(f"{self.name}: {self._key(key)} = {listed!r} must be a list")
        entries = [Section(self.name, v, f"{self._key(key)}[{k}]") for k, v in enumerate(listed)]
        for entry in entries:
            entry.only(*keys)
        return entries

    def must(self, holds: bool, key: str, value: Any, allowed: str) -> None:
        """Raise, naming the value and what is allowed, unless the condition holds."""
        if not holds:
            raise InvalidValue(f"{self.name}: {self._key(key)} = {value} must be {allowed}")

    def number(self, key: str) -> float:
        """A finite number."""
        value = self.value(key)
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        self.must(fits and math.isfinite(value), key, repr(value), "a finite number")
        return float(value)

    def positive(self, key: str) -> float:
        """A finite number above 0."""
        value = self.number(key)
        self.must(value > 0.0, key, value, "greater than 0")
        return value

    def whole(self, key: str) -> int:
        """A whole number."""
        value = self.value(key)
        fits = isinstance(value, int) and not isinstance(value, bool)
        self.must(fits, key, repr(value), "a whole number")
        return value

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self.value(key)
        self.must(isinstance(value, str) and bool(value), key, repr(value), "a name")
        return value
