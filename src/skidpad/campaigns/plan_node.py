"""A value in a plan file that knows where it stands, so that every error can say it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..brief import shortened, shown
from ..errors import InvalidValue, MissingExtra
from ..record import unknown_name


@dataclass(frozen=True)
class Node:
    """A value, its place such as `drive.metrics`, and the file that it stands in."""

    value: Any
    place: str
    """Empty for the whole file."""
    file: str
    """As errors name it."""
    folder: Path
    """What paths in the file are relative to."""

    def fault(self, words: str) -> InvalidValue:
        """The error about this value; `words` say what is allowed."""
        return InvalidValue(f"{self.file}: {self._called} = {self._shown()} {words}")

    @contextmanager
    def reading(self) -> Generator[None]:
        """What the block raises on purpose begins with the file and this place."""
        try:
            yield
        except MissingExtra:
            raise
        except InvalidValue as error:
            if str(error).startswith(f"{self.file}: "):
                raise
            place = f"{self.place}: " if self.place else ""
            raise InvalidValue(f"{self.file}: {place}{error}") from error

    def entries(
        self, known: Sequence[str] | None = None, needed: Sequence[str] = ()
    ) -> dict[str, Node]:
        """What a mapping holds, by name; only names that are known, and all that are needed."""
        if not isinstance(self.value, Mapping):
            raise self.fault(f"must be a mapping of {', '.join(known) if known else 'names'}")
        for name in self.value:
            if not isinstance(name, str):
                raise self.fault(f"has the key {name!r}; keys must be texts, if need be in quotes")
            if known is not None and name not in known:
                text = unknown_name(self._called, name, known, "key")
                raise InvalidValue(f"{self.file}: {text}")
        for name in needed:
            if name not in self.value:
                raise InvalidValue(f"{self.file}: {self._called} has no {name}, which it needs")
        before = f"{self.place}." if self.place else ""
        return {
            name: Node(value, f"{before}{name}", self.file, self.folder)
            for name, value in self.value.items()
        }

    def items(self) -> list[Node]:
        """What a list holds."""
        if not isinstance(self.value, list):
            raise self.fault("must be a list")
        return [
            Node(value, f"{self.place}[{k}]", self.file, self.folder)
            for k, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fault("must be a text")
        return self.value.strip()

    def number(self) -> float:
        """A number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.fault("must be a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.fault("must be a number below 1.8e308 in size") from None

    def whole(self) -> int:
        """A whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.fault("must be a whole number")
        if abs(self.value) >= 2**64:
            raise self.fault(f"must be a whole number below {2**64} in size")
        return self.value

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.fault("must be true or false")
        return self.value

    def path(self) -> Path:
        """A path, relative to the file."""
        return self.folder / Path(self.text()).expanduser()

    @property
    def _called(self) -> str:
        return self.place or "the file"

    def _shown(self) -> str:
        return shortened(shown(self.value), 80)
