"""Records: `typing.NamedTuple` classes of scalars, possibly nested, as named flat vectors.

A record is the one type that Python, NumPy, CasADi and JAX all accept unchanged. This module lists
the leaves of a record class in order (`fields`), converts records to flat tuples and back
(`flatten`, `unflatten`), and builds records from user input (`build`), with errors that state which
names and values are allowed. Nested leaves have dotted names: `tyre.B`.

`define` and `extended` make record classes at run time. Such a class cannot be imported by its
name, and its fields alone do not determine it: the interpolation of a grid, the size of a table,
the methods of an assembled part. So records of a class from a `made_once` function are pickled as
that function and its arguments, its `Recipe`.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import sys
import textwrap
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from itertools import pairwise
from typing import Any, NamedTuple, SupportsIndex, TypeVar, cast, get_type_hints

import numpy as np

from ..errors import InvalidValue
from ..units import Allowed, Drifting, Unit
from .arrays import ArrayNumber, kept_number
from .files import listed, shortened, shown

__all__ = ["build", "check", "extended", "fields", "flatten", "names", "size", "unflatten"]

NO_UNIT = Unit("1")
R = TypeVar("R")


class Field(NamedTuple):
    """One scalar leaf of a record."""

    name: str
    """Dotted name, from the outermost record."""
    unit: Unit
    doc: str
    default: float | None
    allowed: Allowed | None
    drifts: bool = False
    """Whether the state may change in steady motion; see `units.drifting`."""


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
    """Make a record class at run time.

    `hints` are units or record classes by field, `defaults` and `docs` those of some fields; `docs`
    may be a function, called on first use. Fields with a default come last, as required in a tuple.
    """
    known = defaults or {}
    order = sorted(hints, key=lambda field: field in known)
    values = [known[field] for field in order if field in known]
    # Use `collections.namedtuple`, since the functional form of typing.NamedTuple has no defaults.
    kind: Any = namedtuple(name, order, defaults=values, module=__package__)  # pyright: ignore[reportUntypedNamedTuple]
    kind.__annotations__ = {field: hints[field] for field in order}
    kind.__field_docs__ = docs or {}
    kind.__doc__ = doc
    kind.__reduce__ = _reduced
    return kind


def _reduced(record: Any) -> Any:
    """Pickle a record of a class made at run time together with the description of the class."""
    from ..compile.portable import reduced

    return reduced(record)


def extended(kind: type[R]) -> type[R]:
    """Class decorator that makes a record class from the fields of the base class followed by its
    own.

        @extended
        class Params(CarParams):
            v_eps: m_s = 0.001

    NamedTuple itself does not support adding fields in a subclass.
    """
    base: Any = kind.__mro__[1]
    own = inspect.get_annotations(kind)
    hints = get_type_hints(kind, include_extras=True)
    order = [*base._fields, *(field for field in own if field not in base._fields)]
    defaults = {**base._field_defaults, **{f: kind.__dict__[f] for f in own if f in kind.__dict__}}

    def docs() -> dict[str, str]:
        # Reading docstrings from source takes long, and most programs never need them.
        return {**field_docs(base), **field_docs(kind)}

    wider = define(kind.__name__, {f: hints[f] for f in order}, defaults, docs, kind.__doc__ or "")
    wider.__module__, wider.__qualname__ = kind.__module__, kind.__qualname__
    return wider


def _check_record_type(kind: Any) -> None:
    if not is_record_type(kind):
        raise InvalidValue(f"{kind!r} is not a record: records are typing.NamedTuple classes")


@cache
def fields(kind: type) -> tuple[Field, ...]:
    """Scalar leaves of a record class, depth first, in order."""
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
    """Docstrings written under the fields of a class, by name; empty without its source."""
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


class _FieldText(str):
    """Docstring of a field, read from the source when `help` or an editor shows it.

    Reading source takes too long during import. All tools that show docstrings format them with
    `inspect.cleandoc`, which begins with `expandtabs`.
    """

    kind: type

    def __new__(cls, kind: type, field: str) -> _FieldText:
        text = super().__new__(cls, field)
        text.kind = kind
        return text

    def __str__(self) -> str:
        return _field_texts(self.kind).get(str.__str__(self), "")

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        return str(self).expandtabs(tabsize)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def document(kind: type) -> None:
    """Make `help`, `inspect` and notebooks show the docstrings under the fields of a record class,
    with units, instead of "Alias for field number 3"."""
    for field in getattr(kind, "_fields", ()):
        getter = getattr(kind, field)
        if isinstance(getter.__doc__, _FieldText):
            return
        if (getter.__doc__ or "").startswith("Alias for field number"):
            getter.__doc__ = _FieldText(kind, field)


def document_all() -> None:
    """Apply `document` to all loaded record classes of the package."""
    kinds: list[type] = tuple.__subclasses__()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith("skidpad.") and hasattr(kind, "_field_defaults"):
            document(kind)


@cache
def _field_texts(kind: Any) -> dict[str, str]:
    """Format each field for `help`: unit or class, default, and docstring."""
    docs = field_docs(kind)
    try:
        hints = get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # raised for names that exist for type checkers only
        return docs
    texts: dict[str, str] = {}
    for field in kind._fields:
        hint: Any = hints.get(field)
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
    """Syntax trees of the top-level classes of an imported module, by name; empty without source.

    `inspect` would read the whole source again for each class. A program that runs as `__main__`
    may be typed line by line, so there each class is looked up separately.
    """
    if module == "__main__":
        return {}
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    nodes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = {node.name: node for node in nodes}
    # If several classes have the same name, leave it to `inspect` to find the right one.
    return named if len(named) == len(nodes) else {}


@cache
def names(kind: type) -> tuple[str, ...]:
    """Dotted names of the leaves of a record class, in order."""
    # Not from `fields`, which reads the documentation from source: importing the vehicles needs
    # the names of many records.
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
    """Number of scalar leaves of a record class."""
    return len(names(kind))


def flatten(record: Any) -> tuple[Any, ...]:
    """Leaves of a record as one flat tuple."""
    leaves: list[Any] = []
    for value in record:
        if is_record_type(type(value)):
            leaves.extend(flatten(value))
        else:
            leaves.append(value)
    return tuple(leaves)


def unflatten(kind: type, leaves: Sequence[Any]) -> Any:
    """Make a record of class `kind` from its flat leaves."""
    if len(leaves) != size(kind):
        raise InvalidValue(f"{kind.__name__} has {size(kind)} values, got {len(leaves)}")
    inner = inner_kinds(kind)
    return kind._make(leaves) if inner is None else _take(kind, inner, iter(leaves))


@cache
def inner_kinds(kind: type) -> tuple[type | None, ...] | None:
    """Record class of each field, with None for a number; None as a whole if all fields are
    numbers.
    """
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
    """Record of class `kind` with every field at its default, or 0 without a default."""
    return unflatten(kind, [leaf.default or 0.0 for leaf in fields(kind)])


INTERPOLATION = "_interpolation"
"""Attribute of a grid class with its method of interpolation (see `ops.grids`); no field can
have such a name."""


def interpolation(kind: type) -> str:
    """Interpolation method of a grid class; linear by default."""
    return getattr(kind, INTERPOLATION, "linear")


@cache
def interpolations(kind: type) -> dict[str, str]:
    """Interpolation methods, by dotted name, of the grids in a record class that are not linear."""
    methods: dict[str, str] = {}
    for name, inner in zip(kind._fields, inner_kinds(kind) or (), strict=False):
        if inner is not None:
            methods |= {} if interpolation(inner) == "linear" else {name: interpolation(inner)}
            methods |= {f"{name}.{path}": method for path, method in interpolations(inner).items()}
    return methods


def build(kind: type, source: Any = None, /, *, base: Any = None, **values: Any) -> Any:
    """Make a checked record of floats from user input.

    `source` is a record of this class or of one with the same names, a mapping of (dotted) names,
    or a flat sequence or array. Keywords override it; a keyword may also be a nested record.
    Missing fields are taken from `base`, then from the defaults of the class. The error names the
    field, the value and what is allowed.
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
        if names(type(source)) == names(
            kind
        ):  # the source's class has the same fields, such as one from a loaded file
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
            see = f"skidpad.core.record.names({_label(kind)}) gives all"
            raise InvalidValue(unknown_name(_label(kind), name, tuple(slots), see=see))


def _check_interpolation(kind: type, name: str, actual: type) -> None:
    """Raise for a grid with another interpolation than the record's."""
    declared: type | None = kind
    for field in name.split("."):
        if declared is None:
            return
        declared = dict(zip(declared._fields, inner_kinds(declared) or (), strict=False)).get(field)
    if declared is None:
        return
    if interpolation(declared) != interpolation(actual):
        raise InvalidValue(
            f"{_label(kind)}.{name} needs {interpolation(declared)} interpolation (class "
            f"{declared.__name__}); got a {actual.__name__}, whose interpolation is "
            f"{interpolation(actual)}"
        )
    for field, inner in zip(actual._fields, inner_kinds(actual) or (), strict=False):
        if inner is not None:
            _check_interpolation(kind, f"{name}.{field}", inner)


MOST_NAMES = 12
"""Largest number of names that an error lists in full; of a longer list it shows the closest
names.
"""
_CLOSEST = 5


def unknown_name(
    what: str, name: str, allowed: Sequence[str], noun: str = "field", see: str = ""
) -> str:
    """Sentence for an unknown name, with the nearest existing name and a list of all.

    If there are many names, as for the parameters of a large car, it lists the closest and the
    total number. `see` tells where to find all of them, such as "`skidpad models two_track` lists
    them".
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


def check_names(
    what: str, names: Iterable[str], allowed: Iterable[str], noun: str = "field", see: str = ""
) -> None:
    """Raise for the first name that is not allowed, with the sentence of `unknown_name`."""
    known = tuple(allowed)
    for name in names:
        if name not in known:
            raise InvalidValue(unknown_name(what, name, known, noun, see))


def _nearest(name: str, allowed: Sequence[str]) -> list[str]:
    """Names that are similar to this one, or that have the same last part: `B` matches `tyre.B`."""
    last = name.rpartition(".")[2].lower()
    same = [one for one in allowed if one.rpartition(".")[2].lower() == last]
    near = [*same, *difflib.get_close_matches(name, allowed, n=_CLOSEST, cutoff=0.4)]
    return list(dict.fromkeys(near))[:_CLOSEST]


def _number(kind: type, name: str, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):  # refuse texts, which `float` would accept
            raise TypeError("text")
        return kept_number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{_label(kind)}.{name} must be a number, got {shown(value)} ({type(value).__name__})"
        ) from error


def check(record: Any) -> None:
    """Raise if a leaf is NaN, infinite or outside the range that its annotation allows."""
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
"""Smallest normal number; the reciprocals of smaller numbers may be infinite."""


def check_normal(record: Any) -> None:
    """Raise if a leaf is nonzero but so small that its reciprocal is infinite.

    Compiled code divides by a parameter by multiplying with its precomputed reciprocal.
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


Make = TypeVar("Make", bound=Callable[..., Any])
_RECIPE = "_recipe"
"""Name of the class attribute that holds the recipe; no field can have such a name."""


class Recipe(NamedTuple):
    """An importable function and its arguments, which make a record class."""

    make: Callable[..., Any]
    arguments: tuple[Any, ...]


def made_once(make: Make) -> Make:
    """Decorator of a record class builder: equal arguments return the same class, which is pickled
    as its arguments.
    """

    @cache
    @wraps(make)
    def once(*arguments: Any) -> Any:
        kind = make(*arguments)
        setattr(kind, _RECIPE, Recipe(once, arguments))
        return kind

    return cast("Make", once)


def recipe_of(kind: type) -> Any:
    """The recipe of a class, or the class itself if it has none."""
    return vars(kind).get(_RECIPE, kind)


def class_from(recipe: Any) -> type:
    """Make the class of a recipe; equal recipes give the same class."""
    return recipe.make(*recipe.arguments) if isinstance(recipe, Recipe) else recipe
