"""Vectors as users give them: arrays, lists, records, mappings of names, or one number for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import record
from ..arrays import Array
from ..brief import shown
from ..checks import whole
from ..errors import InvalidValue

Names = tuple[str, ...]


def read_only(values: Any) -> Array:
    """A copy that nobody can write to."""
    array = np.array(values, dtype=float)
    array.flags.writeable = False
    return array


class Shape(NamedTuple):
    """How many values a model has, their names if they have any, and what they are at rest."""

    dim: int
    names: Names | None
    rest: Array
    """Values that change nothing: the defaults of the record, zero without one."""

    @classmethod
    def of(cls, dim: int | None, fields: Any = None, **arguments: Any) -> Shape:
        """The shape that `dim`, `fields` and the vectors given agree on.

        A vector of numbers gives its length, a record its fields; single numbers and mappings give
        nothing. With nothing at all, single numbers make a model of one value.
        """
        if isinstance(fields, Shape):
            return fields
        kinds = [type(value) for value in arguments.values() if _is_record(value)]
        named = _agreed([*([] if fields is None else [fields]), *kinds])
        size = None if dim is None else whole("dim", dim, "at least 0", least=0)
        if named is None:
            size = _longest(arguments) if size is None else size
            return cls(size, None, np.zeros(size))
        names, rest = named
        if size not in (None, len(names)):
            raise InvalidValue(
                f"dim = {size} but there are {len(names)} fields: {', '.join(names)}"
            )
        return cls(len(names), names, rest)

    def vector(self, name: str, argument: Any, unnamed: Any = 0.0) -> Array:
        """The values of one argument, (dim,); raises for another length, or what is no number.

        A mapping may leave out names, which get the value `unnamed`.
        """
        if isinstance(argument, Mapping):
            values = self._by_name(name, argument, unnamed)
        else:
            values = numbers_of(name, argument)
        if values.ndim == 0:
            values = np.full(self.dim, float(values))
        if values.shape != (self.dim,):
            raise InvalidValue(
                f"{name} has shape {values.shape}; allowed are {self.dim} numbers"
                + (f": {', '.join(self.names)}" if self.names else "")
            )
        self.require(name, values, ~np.isnan(values), "a number, not NaN")
        return values

    def finite(self, name: str, argument: Any, unnamed: Any = 0.0) -> Array:
        """As `vector`; raises for infinite values too."""
        values = self.vector(name, argument, unnamed)
        self.require(name, values, np.isfinite(values), "finite")
        return values

    def require(self, name: str, values: Array, good: NDArray[np.bool_], allowed: str) -> None:
        """Raise for the first value that is not good, naming it."""
        if not good.all():
            k = int(np.flatnonzero(~good)[0])
            raise InvalidValue(f"{name}{self.place(k)} = {values[k]:g} must be {allowed}")

    def place(self, k: int) -> str:
        """How value k of an argument is called in an error."""
        if self.names is not None:
            return f"[{k}] ({self.names[k]})"
        return f"[{k}]" if self.dim > 1 else ""

    def _by_name(self, name: str, argument: Mapping[str, Any], unnamed: Any) -> Array:
        if self.names is None:
            raise InvalidValue(
                f"{name} = {dict(argument)!r} goes by names, which are not known: "
                "give fields=, a record class or a list of names"
            )
        values = np.array(np.broadcast_to(unnamed, (self.dim,)), dtype=float)
        for field, value in argument.items():
            if field not in self.names:
                raise InvalidValue(record.unknown_name(name, field, self.names))
            number = numbers_of(f"{name}[{field!r}]", value)
            if number.ndim:
                raise InvalidValue(f"{name}[{field!r}] = {value!r} must be one number")
            values[self.names.index(field)] = number
        return values


def numbers_of(name: str, argument: Any) -> Array:
    """A record, a list, an array or whatever has `convert_to_array`, as an array of floats."""
    if _is_record(argument):
        argument = record.flatten(argument)
    elif hasattr(argument, "convert_to_array"):
        argument = argument.convert_to_array()
    try:
        raw = np.asarray(argument)
        if raw.dtype.kind not in "fiu" and raw.size:
            raise TypeError("not real numbers")
        return raw.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(argument)} must be numbers") from None


def rest_of(kind: type) -> Array:
    """The defaults of a record's fields, zero where a field has none."""
    return np.array([leaf.default or 0.0 for leaf in record.fields(kind)])


def _is_record(value: Any) -> bool:
    return record.is_record_type(type(value))


def _agreed(kinds: Sequence[Any]) -> tuple[Names, Array] | None:
    """Names and values at rest that all of `given`, records and lists of names, have."""
    shapes = [_named(fields) for fields in kinds]
    for names, _ in shapes[1:]:
        if names != shapes[0][0]:
            raise InvalidValue(
                f"fields differ: {', '.join(shapes[0][0])} and {', '.join(names)}; "
                "allowed is one set of fields"
            )
    return shapes[0] if shapes else None


def _named(fields: Any) -> tuple[Names, Array]:
    if record.is_record_type(fields):
        return record.names(fields), rest_of(fields)
    names = () if isinstance(fields, str) or not isinstance(fields, Sequence) else tuple(fields)
    if names and all(isinstance(n, str) for n in names) and len(set(names)) == len(names):
        return names, np.zeros(len(names))
    raise InvalidValue(f"fields = {fields!r} must be a record class or a list of different names")


def _longest(arguments: Mapping[str, Any]) -> int:
    """The length of the first vector; the others are held against it one by one."""
    for name, value in arguments.items():
        if value is not None and not isinstance(value, Mapping):
            shape = numbers_of(name, value).shape
            if shape:
                return shape[0]
    return 1
