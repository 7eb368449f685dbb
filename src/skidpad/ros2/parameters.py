"""Parameters of a node: declared with a default, given by the user, changed by others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from .. import record
from ..errors import InvalidValue


class Kind(IntEnum):
    """Types of parameters, with the numbers that ROS 2 gives them."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9


_PYTHON = {Kind.BOOL: bool, Kind.INTEGER: int, Kind.DOUBLE: float, Kind.STRING: str}
_ARRAYS = {
    Kind.BOOL: Kind.BOOL_ARRAY, Kind.INTEGER: Kind.INTEGER_ARRAY, Kind.DOUBLE: Kind.DOUBLE_ARRAY,
    Kind.STRING: Kind.STRING_ARRAY,
}  # fmt: skip
_ELEMENTS = {array: one for one, array in _ARRAYS.items()}
_LARGEST = 1 << 63


def kind_of(value: Any) -> Kind:
    """The type of a value as Python and YAML have it; an empty list is one of strings."""
    if value is None:
        return Kind.NOT_SET
    if isinstance(value, (list, tuple)):
        kinds = {kind_of(entry) for entry in value} or {Kind.STRING}
        kind = max(kinds)
        others = kinds - {kind}
        if kind not in _ARRAYS or (others and (kind, others) != (Kind.DOUBLE, {Kind.INTEGER})):
            raise InvalidValue(f"{value!r:.80} must have values of one type")
        return _ARRAYS[kind]
    for kind, python in _PYTHON.items():
        if type(value) is python:
            if python is int and not -_LARGEST <= int(value) < _LARGEST:
                raise InvalidValue(f"{value} does not fit into 64 bits")
            return kind
    raise InvalidValue(f"{value!r:.80} is no value of a parameter: bool, int, float, str or a list")


@dataclass(frozen=True)
class Parameter:
    """What was declared of a parameter."""

    name: str
    kind: Kind
    description: str = ""
    dynamic: bool = False
    """Whether it may be changed while the node runs."""
    check: Callable[[Any], None] | None = None
    """Raises InvalidValue for a value that is not allowed."""

    def converted(self, value: Any) -> Any:
        """The value with the declared type; whole numbers are taken for real ones."""
        kind = kind_of(value)
        if kind is not self.kind and self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY):
            if kind is Kind.INTEGER and self.kind is Kind.DOUBLE:
                value, kind = float(value), Kind.DOUBLE
            elif kind is Kind.INTEGER_ARRAY or value in ([], ()):
                value, kind = [float(entry) for entry in value], Kind.DOUBLE_ARRAY
        if kind is not self.kind and not (value in ([], ()) and self.kind in _ELEMENTS):
            raise InvalidValue(
                f"parameter {self.name} = {value!r:.80} is of type {kind.name.lower()}, expected "
                f"{self.kind.name.lower()}"
            )
        if not np.isfinite(value if self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY) else 0.0).all():
            raise InvalidValue(f"parameter {self.name} = {value!r:.80} must be finite")
        if self.check is not None:
            self.check(value)
        return [*value] if isinstance(value, tuple) else value


class Parameters(Mapping[str, Any]):
    """The values of one node, by dotted name.

    Args:
        wanted: what files and arguments ask for.
    """

    def __init__(self, wanted: Mapping[str, Any] | None = None) -> None:
        self.wanted = dict(wanted or {})
        self.declared: dict[str, Parameter] = {}
        self._values: dict[str, Any] = {}
        self.changed: list[Callable[[str, Any], None]] = []
        """Called with name and value after a change."""

    def declare(
        self,
        name: str,
        default: Any,
        description: str = "",
        *,
        dynamic: bool = False,
        check: Callable[[Any], None] | None = None,
    ) -> Any:
        """Add a parameter and return its value: what was asked for, or the default."""
        parameter = Parameter(name, kind_of(default), description, dynamic, check)
        value = parameter.converted(self.wanted.get(name, default))
        self.declared[name], self._values[name] = parameter, value
        return value

    def undeclared(self) -> list[str]:
        """Names that were asked for and that the node does not have."""
        return sorted(set(self.wanted) - set(self.declared))

    def set(self, values: Mapping[str, Any]) -> None:
        """Change parameters: all of them, or none and InvalidValue."""
        fresh: dict[str, Any] = {}
        for name, value in values.items():
            parameter = self.declared.get(name)
            if parameter is None:
                raise InvalidValue(
                    record.unknown_name("the node", name, tuple(self.declared), "parameter")
                )
            fresh[name] = parameter.converted(value)
            if not parameter.dynamic and fresh[name] != self._values[name]:
                raise InvalidValue(f"parameter {name} cannot be changed while the node runs")
        self._values.update(fresh)
        for name, value in fresh.items():
            for function in self.changed:
                function(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
