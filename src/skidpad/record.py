"""Records: `typing.NamedTuple` classes of scalars, possibly nested, as named flat vectors.

A record is the one type that Python, NumPy, CasADi and JAX all accept unchanged. This module gives
its leaves in order (`fields`), turns it into a flat tuple and back (`flatten`, `unflatten`), builds
one from user input (`build`) and says which names and values are allowed when that fails.
Nested leaves have dotted names: `tyre.B`.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import sys
import textwrap
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

from .brief import listed
from .errors import InvalidValue
from .extension import outer
from .shared_arrays import ArrayNumber, kept_number
from .units import Allowed, Unit

__all__ = [
    "Field",
    "build",
    "check",
    "define",
    "extended",
    "fields",
    "flatten",
    "is_record_type",
    "names",
    "size",
    "unflatten",
    "unknown_name",
]

NO_UNIT = Unit("1")
R = TypeVar("R")


class Field(NamedTuple):
    """One scalar leaf of a record."""

    name: str
    """Dotted path from the outermost record."""
    unit: Unit
    doc: str
    default: float | None
    allowed: Allowed | None


def is_record_type(kind: Any) -> bool:
    """Whether `kind` is a NamedTuple class."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def define(
    name: str,
    hints: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    docs: Mapping[str, str] | None = None,
    doc: str = "",
) -> Any:
    """A record class whose fields are known only at run time.

    `hints` are units or record classes by field, `defaults` and `docs` those of some fields. Fields
    with a default come last, as they must in a tuple.
    """
    known = defaults or {}
    order = sorted(hints, key=lambda field: field in known)
    values = [known[field] for field in order if field in known]
    # Not typing.NamedTuple, whose functional form has no defaults.
    kind: Any = namedtuple(name, order, defaults=values)  # pyright: ignore[reportUntypedNamedTuple]
    kind.__annotations__ = {field: hints[field] for field in order}
    kind.__field_docs__ = dict(docs or {})
    kind.__doc__ = doc
    kind.__reduce__ = _reduced
    return kind


def _reduced(record: Any) -> Any:
    """A record of a class that no module has at its top is pickled with what its class is."""
    return outer("Record.reduced")(record)


def extended(kind: type[R]) -> type[R]:
    """Decorator: a record class with the fields of the record it derives from, then its own.

        @extended
        class Params(CarParams):
            v_eps: m_s = 0.001

    A NamedTuple class takes no further fields by itself.
    """
    base: Any = kind.__mro__[1]
    own = inspect.get_annotations(kind)
    hints = get_type_hints(kind, include_extras=True)
    order = [*base._fields, *(field for field in own if field not in base._fields)]
    defaults = {**base._field_defaults, **{f: kind.__dict__[f] for f in own if f in kind.__dict__}}
    docs = {**_field_docs(base), **_field_docs(kind)}
    wider = define(kind.__name__, {f: hints[f] for f in order}, defaults, docs, kind.__doc__ or "")
    wider.__module__, wider.__qualname__ = kind.__module__, kind.__qualname__
    return wider


@cache
def fields(kind: type) -> tuple[Field, ...]:
    """The scalar leaves of a record class, depth first, in order."""
    if not is_record_type(kind):
        raise InvalidValue(f"{kind!r} is not a record: records are typing.NamedTuple classes")
    hints = get_type_hints(kind, include_extras=True)
    docs = _field_docs(kind)
    defaults: dict[str, Any] = kind._field_defaults
    leaves: list[Field] = []
    for name in kind._fields:
        hint = hints[name]
        default = defaults.get(name)
        if is_record_type(hint):
            leaves.extend(_nested(name, hint, default))
            continue
        marks: tuple[Any, ...] = getattr(hint, "__metadata__", ())
        unit = next((x for x in marks if isinstance(x, Unit)), NO_UNIT)
        allowed = next((x for x in marks if isinstance(x, Allowed)), None)
        number = None if default is None else kept_number(default)
        leaves.append(Field(name, unit, docs.get(name, ""), number, allowed))
    return tuple(leaves)


def _nested(name: str, kind: type, default: Any) -> Iterable[Field]:
    inner = flatten(default) if default is not None else (None,) * len(fields(kind))
    for leaf, value in zip(fields(kind), inner, strict=True):
        number = leaf.default if value is None else kept_number(value)
        yield leaf._replace(name=f"{name}.{leaf.name}", default=number)


@cache
def _field_docs(kind: type) -> dict[str, str]:
    """Docstrings written under the fields of a class; empty where the source is not at hand."""
    if "__field_docs__" in vars(kind):
        return vars(kind)["__field_docs__"]
    written = _classes(kind.__module__).get(kind.__qualname__)
    if written is None:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        except (OSError, TypeError, SyntaxError):
            return {}
        written = tree.body[0]
    body = written.body if isinstance(written, ast.ClassDef) else []
    docs: dict[str, str] = {}
    for before, after in pairwise(body):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            docs[before.target.id] = inspect.cleandoc(after.value.value)
    return docs


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Classes at the top of a module that is imported, by name; empty where the source is not at
    hand. `inspect` would read all of it anew for each of them.

    A program that runs as `__main__` may be typed line by line: each class is asked for itself.
    """
    if module == "__main__":
        return {}
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    found = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = {node.name: node for node in found}
    # Which of two with the same name is the one is for `inspect` to say.
    return named if len(named) == len(found) else {}


@cache
def names(kind: type) -> tuple[str, ...]:
    """Dotted names of the leaves."""
    return tuple(leaf.name for leaf in fields(kind))


def size(kind: type) -> int:
    """Number of scalar leaves."""
    return len(fields(kind))


def flatten(record: Any) -> tuple[Any, ...]:
    """The leaves of a record as one flat tuple."""
    leaves: list[Any] = []
    for value in record:
        if is_record_type(type(value)):
            leaves.extend(flatten(value))
        else:
            leaves.append(value)
    return tuple(leaves)


def unflatten(kind: type, leaves: Sequence[Any]) -> Any:
    """A record of class `kind` from its flat leaves."""
    if len(leaves) != size(kind):
        raise InvalidValue(f"{kind.__name__} has {size(kind)} values, got {len(leaves)}")
    inner = _inner(kind)
    return kind._make(leaves) if inner is None else _take(kind, inner, iter(leaves))


@cache
def _inner(kind: type) -> tuple[type | None, ...] | None:
    """The record class of each field, None for a number; None altogether if all are numbers."""
    hints = get_type_hints(kind, include_extras=True)
    kinds = tuple(hints[n] if is_record_type(hints[n]) else None for n in kind._fields)
    return kinds if any(kinds) else None


def _take(kind: type, inner: tuple[type | None, ...], leaves: Iterator[Any]) -> Any:
    values: list[Any] = []
    for part in inner:
        if part is None:
            values.append(next(leaves))
        else:
            below = _inner(part) or (None,) * len(part._fields)
            values.append(_take(part, below, leaves))
    return kind(*values)


def build(kind: type, source: Any = None, /, *, base: Any = None, **values: Any) -> Any:
    """A checked record of floats from whatever the user gave.

    `source` is a record of this class, a mapping of (dotted) names, or a flat sequence or array.
    Keywords override it; a keyword may also be a nested record. What is not given comes from
    `base`, then from the defaults of the class. The error names the field, the value and what is
    allowed.
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
        raise InvalidValue(
            f"expected a {_label(kind)} record, got {type(source).__qualname__}; "
            f"fields are {', '.join(names(kind))}"
        )
    try:
        flat = list(np.asarray(source, dtype=float).ravel()) if np.ndim(source) == 1 else None
    except (TypeError, ValueError):
        flat = None
    if flat is not None and isinstance(source, (list, tuple)):
        pairs = zip(source, flat, strict=True)
        flat = [given if isinstance(given, ArrayNumber) else number for given, number in pairs]
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
        return repr(value)


def _assign(kind: type, slots: dict[str, Any], entries: Mapping[str, Any]) -> None:
    for name, value in entries.items():
        if is_record_type(type(value)):
            _check_interpolation(kind, name, type(value))
            inner = zip(names(type(value)), flatten(value), strict=True)
            _assign(kind, slots, {f"{name}.{leaf}": x for leaf, x in inner})
        elif name in slots:
            slots[name] = value
        else:
            raise InvalidValue(unknown_name(_label(kind), name, tuple(slots)))


INTERPOLATION = "_interpolation"
"""Attribute of a class of grids that says how they are interpolated (see `ops.grids`); no field can
have such a name."""


def interpolation(kind: type) -> str:
    """How a class of grids is interpolated: by lines if it does not say so."""
    return getattr(kind, INTERPOLATION, "linear")


def _check_interpolation(kind: type, name: str, given: type) -> None:
    """Raise for a grid of another kind than the record has: the numbers alone do not tell."""
    declared = dict(zip(kind._fields, _inner(kind) or (), strict=False)).get(name)
    if declared is not None and interpolation(declared) != interpolation(given):
        raise InvalidValue(
            f"{_label(kind)}.{name} is {interpolation(declared)}, a {declared.__name__}; got a "
            f"{given.__name__}, which is {interpolation(given)}"
        )


MOST_NAMES = 12
"""Names that an error lists beside the one that was meant."""


def unknown_name(what: str, name: str, allowed: Sequence[str], noun: str = "field") -> str:
    """The sentence for a name that does not exist, with the nearest one that does; then a dozen of
    the others are enough."""
    close = difflib.get_close_matches(str(name), allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    shown = listed(allowed, MOST_NAMES) if close else ", ".join(allowed)
    return f"{what} has no {noun} {name!r}{hint} Allowed are {shown or 'none'}"


def _number(kind: type, name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):  # `float` would read it
            raise TypeError("text")
        return kept_number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{_label(kind)}.{name} must be a number, got {value!r} ({type(value).__name__})"
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


def at_rest(kind: type) -> Any:
    """A record of its defaults, zero where a field has none."""
    return unflatten(kind, [leaf.default or 0.0 for leaf in fields(kind)])


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
