"""Records from what users give, with errors that say which names and values are allowed."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..brief import listed, shortened, shown
from ..errors import InvalidValue
from ..shared_arrays import ArrayNumber, kept_number
from .classes import (
    fields,
    flatten,
    inner_kinds,
    interpolation,
    is_record_type,
    names,
    size,
    unflatten,
)


def build(kind: type, source: Any = None, /, *, base: Any = None, **values: Any) -> Any:
    """A checked record of floats from whatever the user gave.

    `source` is a record of this class or of one with the same names, a mapping of (dotted) names,
    or a flat sequence or array. Keywords override it; a keyword may also be a nested record. What
    is not given comes from `base`, then from the defaults of the class. The error names the field,
    the value and what is allowed.
    """
    slots = dict(zip(names(kind), _start(kind, source, base), strict=True))
    if isinstance(source, Mapping):
        _assign(kind, slots, source)
    _assign(kind, slots, values)
    missing = [name for name, value in slots.items() if value is None]
    if missing:
        raise InvalidValue(f"{_label(kind)} needs a value for {', '.join(missing)}")
    record = unflatten(kind, [_number(kind, name, slots[name]) for name in names(kind)])
    check(record)
    return record


def _start(kind: type, source: Any, base: Any) -> Sequence[Any]:
    if source is None or isinstance(source, Mapping):
        return flatten(base) if base is not None else [leaf.default for leaf in fields(kind)]
    if isinstance(source, kind):
        return flatten(source)
    if is_record_type(type(source)):
        if names(type(source)) == names(kind):  # its like in a file that was loaded
            return flatten(source)
        raise InvalidValue(
            f"expected a {_label(kind)} record, got {type(source).__qualname__}; "
            f"fields are {', '.join(names(kind))}"
        )
    try:
        flat = list(np.asarray(source, dtype=float).ravel()) if np.ndim(source) == 1 else None
    except (TypeError, ValueError, OverflowError):
        flat = None
    if flat is not None and isinstance(source, (list, tuple)):
        pairs = zip(source, flat, strict=True)
        flat = [entry if isinstance(entry, ArrayNumber) else number for entry, number in pairs]
    if flat is None or len(flat) != size(kind):
        raise InvalidValue(
            f"{_label(kind)} takes {size(kind)} numbers ({', '.join(names(kind))}), "
            f"got {_described(source)}"
        )
    return flat


def _described(value: Any) -> str:
    try:
        return f"shape {np.shape(value)}"
    except ValueError:  # rows of different lengths
        return shown(value)


def _assign(kind: type, slots: dict[str, Any], entries: Mapping[str, Any]) -> None:
    for name, value in entries.items():
        if is_record_type(type(value)):
            _check_interpolation(kind, name, type(value))
            inner = zip(names(type(value)), flatten(value), strict=True)
            _assign(kind, slots, {f"{name}.{leaf}": x for leaf, x in inner})
        elif name in slots:
            slots[name] = value
        else:
            see = f"skidpad.record.names({_label(kind)}) gives all"
            raise InvalidValue(unknown_name(_label(kind), name, tuple(slots), see=see))


def _check_interpolation(kind: type, name: str, actual: type) -> None:
    """Raise for a grid of another kind than the record has: the numbers alone do not tell."""
    declared = _class_at(kind, name)
    if declared is None:
        return
    if interpolation(declared) != interpolation(actual):
        raise InvalidValue(
            f"{_label(kind)}.{name} is {interpolation(declared)}, a {declared.__name__}; got a "
            f"{actual.__name__}, which is {interpolation(actual)}"
        )
    for field, inner in zip(actual._fields, inner_kinds(actual) or (), strict=False):
        if inner is not None:
            _check_interpolation(kind, f"{name}.{field}", inner)


def _class_at(kind: type, name: str) -> type | None:
    """The class of the record of a dotted name; None where there is none."""
    inner: type | None = kind
    for field in name.split("."):
        if inner is not None:
            inner = dict(zip(inner._fields, inner_kinds(inner) or (), strict=False)).get(field)
    return inner


MOST_NAMES = 12
"""Names up to which an error lists all; of more it lists the closest."""
_CLOSEST = 5


def unknown_name(
    what: str, name: str, allowed: Sequence[str], noun: str = "field", see: str = ""
) -> str:
    """The sentence for a name that does not exist: the nearest one that does, and which there are.

    Of many names, as the parameters of a large car, it has the closest and their number. `see` says
    where all of them are found, such as "`skidpad models two_track` lists them".
    """
    name = str(name)
    close = difflib.get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    begin = f"{what} has no {noun} {shortened(name, 80)!r}{hint}"
    if len(allowed) <= MOST_NAMES:
        return f"{begin} Allowed are {', '.join(allowed) or 'none'}"
    near = _nearest(name, allowed)
    shown = f"; the closest are {', '.join(near)}" if near else f": {listed(allowed, MOST_NAMES)}"
    return f"{begin} There are {len(allowed)}{shown}" + (f"; {see}" if see else "")


def _nearest(name: str, allowed: Sequence[str]) -> list[str]:
    """Names like this one, or whose last part is: `B` is like `tyre.B`."""
    last = name.rpartition(".")[2].lower()
    same = [one for one in allowed if one.rpartition(".")[2].lower() == last]
    near = [*same, *difflib.get_close_matches(name, allowed, n=_CLOSEST, cutoff=0.4)]
    return list(dict.fromkeys(near))[:_CLOSEST]


def _number(kind: type, name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):  # `float` would read it
            raise TypeError("text")
        return kept_number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{_label(kind)}.{name} must be a number, got {shown(value)} ({type(value).__name__})"
        ) from error


def check(record: Any) -> None:
    """Raise if a leaf is NaN, infinite or outside the range its annotation allows."""
    kind = type(record)
    for leaf, value in zip(fields(kind), flatten(record), strict=True):
        if not math.isfinite(_number(kind, leaf.name, value)):
            raise InvalidValue(f"{_label(kind)}.{leaf.name} = {value} must be finite")
        if leaf.allowed is not None and value not in leaf.allowed:
            raise InvalidValue(
                f"{_label(kind)}.{leaf.name} = {leaf.unit.behind(f'{value:g}')} must be "
                f"{leaf.allowed}"
            )


SMALLEST = sys.float_info.min
"""The smallest number with all its digits; the reciprocal of smaller ones may be infinite."""


def check_normal(record: Any) -> None:
    """Raise if a leaf is not zero and yet so small that one over it is infinite.

    Compiled code divides by a parameter as a product with its reciprocal, worked out once.
    """
    kind = type(record)
    for leaf, value in zip(fields(kind), flatten(record), strict=True):
        if 0.0 < abs(value) < SMALLEST:
            raise InvalidValue(
                f"{_label(kind)}.{leaf.name} = {leaf.unit.behind(f'{value:g}')} must be 0 or at "
                f"least {SMALLEST:.3g} in size"
            )


def _label(kind: type) -> str:
    return kind.__name__
