"""Things of a world by name; an unknown name says which there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from ..errors import InvalidValue
from ..record import unknown_name

T = TypeVar("T")


class Inventory(dict[str, T]):
    """A dictionary of things of one kind, such as vehicles."""

    def __init__(self, kind: str, things: Mapping[str, T] | None = None) -> None:
        super().__init__(things or {})
        self.kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise InvalidValue(unknown_name("this world", name, sorted(self), self.kind))
