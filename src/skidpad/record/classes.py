"""Record classes: what their leaves are, and how more of them are made.

A record is a NamedTuple of scalars, possibly nested; its leaves in order have dotted names.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar, get_type_hints

from ..errors import InvalidValue
from ..shared_arrays import kept_number
from ..units import Allowed, Drifting, Unit

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
    drifts: bool = False
    """Whether the rate of this state does not vanish in steady motion; see `units.drifting`."""


def is_record_type(kind: Any) -> bool:
    """Whether `kind` is a NamedTuple class."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def define(
    name: str,
    hints: Mapping[str, Any],
    defaults: Mapping[str, Any] | None = None,
    docs: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    doc: str = "",
) -> Any:
    """A record class whose fields are known only at run time.

    `hints` are units or record classes by field, `defaults` and `docs` those of some fields; `docs`
    may be a function, called when they are first asked for. Fields with a default come last, as
    they must in a tuple.
    """
    known = defaults or {}
    order = sorted(hints, key=lambda field: field in known)
    values = [known[field] for field in order if field in known]
    # Not typing.NamedTuple, whose functional form has no defaults.
    kind: Any = namedtuple(name, order, defaults=values, module=__package__)  # pyright: ignore[reportUntypedNamedTuple]
    kind.__annotations__ = {field: hints[field] for field in order}
    kind.__field_docs__ = docs or {}
    kind.__doc__ = doc
    kind.__reduce__ = _reduced
    return kind


def _reduced(record: Any) -> Any:
    """A record of a class that no module has at its top is pickled with what its class is."""
    from ..compile.described import reduced

    return reduced(record)


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

    def docs() -> dict[str, str]:
        # Reading them from source takes long; most programs never ask.
        return {**field_docs(base), **field_docs(kind)}

    wider = define(kind.__name__, {f: hints[f] for f in order}, defaults, docs, kind.__doc__ or "")
    wider.__module__, wider.__qualname__ = kind.__module__, kind.__qualname__
    return wider


def _check_record_type(kind: Any) -> None:
    if not is_record_type(kind):
        raise InvalidValue(f"{kind!r} is not a record: records are typing.NamedTuple classes")


@cache
def fields(kind: type) -> tuple[Field, ...]:
    """The scalar leaves of a record class, depth first, in order."""
    _check_record_type(kind)
    hints = get_type_hints(kind, include_extras=True)
    docs = field_docs(kind)
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
        drifts = any(isinstance(x, Drifting) for x in marks)
        leaves.append(Field(name, unit, docs.get(name, ""), number, allowed, drifts))
    return tuple(leaves)


def _nested(name: str, kind: type, default: Any) -> Iterable[Field]:
    inner = flatten(default) if default is not None else (None,) * len(fields(kind))
    for leaf, value in zip(fields(kind), inner, strict=True):
        number = leaf.default if value is None else kept_number(value)
        yield leaf._replace(name=f"{name}.{leaf.name}", default=number)


@cache
def field_docs(kind: type) -> dict[str, str]:
    """Docstrings written under the fields of a class; empty where the source is not at hand."""
    if "__field_docs__" in vars(kind):
        docs = vars(kind)["__field_docs__"]
        return dict(docs() if callable(docs) else docs)
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


class _ClassText:
    """The docstring of a record class; whoever reads it first, as `help` does, has those of its
    fields put in their places.

    They are read from source, which takes too long to do on import. `type.__doc__` asks what it
    finds in the class for `__get__`.
    """

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, instance: Any, kind: Any) -> str | None:
        if "__doc__" in vars(kind):
            kind.__doc__ = self._text
            for field, text in _field_texts(kind).items():
                getattr(kind, field).__doc__ = text
        return self._text


def document(kind: type) -> None:
    """Let `help`, `inspect` and notebooks show what is written under the fields of a record class,
    with units, in place of "Alias for field number 3"."""
    if is_record_type(kind) and not isinstance(vars(kind).get("__doc__"), _ClassText):
        kind.__doc__ = _ClassText(kind.__doc__)  # pyright: ignore[reportAttributeAccessIssue]


def document_all() -> None:
    """`document` for all record classes of the package that are loaded."""
    kinds: list[type] = tuple.__subclasses__()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith("skidpad.") and hasattr(kind, "_field_defaults"):
            document(kind)


def _field_texts(kind: Any) -> dict[str, str]:
    """What `help` says of each field: unit or class, default, and what is written under it."""
    docs = field_docs(kind)
    try:
        hints = get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # names that only a type checker sees
        return docs
    texts: dict[str, str] = {}
    for field in kind._fields:
        hint: Any = hints[field]
        unit = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Unit)), None)
        what = [] if unit is None or unit == NO_UNIT else [f"in {unit}"]
        what += [hint.__name__] if is_record_type(hint) else []
        default = kind._field_defaults.get(field)
        what += [f"default {default:g}"] if isinstance(default, (int, float)) else []
        parts = [docs.get(field, ""), f"({', '.join(what)})" if what else ""]
        texts[field] = " ".join(part for part in parts if part)
    return texts


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
    nodes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = {node.name: node for node in nodes}
    # Which of two with the same name is the one is for `inspect` to say.
    return named if len(named) == len(nodes) else {}


@cache
def names(kind: type) -> tuple[str, ...]:
    """Dotted names of the leaves."""
    # Not from `fields`, which reads the documentation of all from source: whoever imports the
    # vehicles needs the names of many.
    _check_record_type(kind)
    inner = inner_kinds(kind)
    if inner is None:
        return kind._fields
    return tuple(
        name
        for field, part in zip(kind._fields, inner, strict=True)
        for name in ((field,) if part is None else (f"{field}.{n}" for n in names(part)))
    )


def size(kind: type) -> int:
    """Number of scalar leaves."""
    return len(names(kind))


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
    inner = inner_kinds(kind)
    return kind._make(leaves) if inner is None else _take(kind, inner, iter(leaves))


@cache
def inner_kinds(kind: type) -> tuple[type | None, ...] | None:
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
            below = inner_kinds(part) or (None,) * len(part._fields)
            values.append(_take(part, below, leaves))
    return kind(*values)


def at_rest(kind: type) -> Any:
    """A record of its defaults, zero where a field has none."""
    return unflatten(kind, [leaf.default or 0.0 for leaf in fields(kind)])


INTERPOLATION = "_interpolation"
"""Attribute of a class of grids that says how they are interpolated (see `ops.grids`); no field can
have such a name."""


def interpolation(kind: type) -> str:
    """How a class of grids is interpolated: by lines if it does not say so."""
    return getattr(kind, INTERPOLATION, "linear")


@cache
def interpolations(kind: type) -> dict[str, str]:
    """By dotted name, how the grids among the records of a class are interpolated if not by
    lines."""
    methods: dict[str, str] = {}
    for name, inner in zip(kind._fields, inner_kinds(kind) or (), strict=False):
        if inner is not None:
            methods |= {} if interpolation(inner) == "linear" else {name: interpolation(inner)}
            methods |= {f"{name}.{path}": method for path, method in interpolations(inner).items()}
    return methods
