"""One public name in the API reference: signature, text, fields with their units, methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, is_dataclass
from functools import cached_property
from typing import Any, get_args, get_type_hints

import make_api_page as public
from docs_site.docstrings import as_markdown
from docs_site.places import Places
from skidpad.core import record
from skidpad.units import Allowed, Unit

LONGEST_DEFAULT = 40
"""Characters of a default; of a longer one dots are shown."""
SIGNATURE_ROLE = {"class": "class", "exception": "exception", "warning": "exception"}


def entry(one: public.Declared, name: str, thing: Any, places: Places) -> str:
    """The description of a public name of a module."""
    sort = public.kind(thing)
    if sort in SIGNATURE_ROLE:
        signature = name + arguments_of_class(thing, places)
        return directive(SIGNATURE_ROLE[sort], signature, class_parts(thing, places))
    if sort == "function":
        signature = name + arguments(thing, places)
        return directive("function", signature, [as_markdown(inspect.getdoc(thing))])
    if sort == "vehicle":
        return directive("function", f"{name}(params=None, /, **values)", vehicle_parts(thing))
    text = public.written_below(one.module.__name__, name)
    text = text or public.text_of(one.module, name, thing)
    return directive("data", name, [as_markdown(text)])


def directive(
    kind: str, signature: str, parts: list[str], depth: int = 6, options: tuple[str, ...] = ()
) -> str:
    """A description in the Python domain of Sphinx; inner ones have a smaller `depth`."""
    fence = "`" * depth
    return "\n".join([f"{fence}{{py:{kind}}} {signature}", *options, "", *parts, fence, ""])


def arguments(function: Any, places: Places, *, bound: bool = False) -> str:
    """The signature of a function, its types linked; without its first argument if `bound`."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = list(signature.parameters.values())[1 if bound else 0 :]
    module = inspect.unwrap(function).__module__
    linked = [
        one.replace(annotation=type_text(one.annotation, module, places)) for one in parameters
    ]
    return f"({', '.join(pieces(linked))}){returned(signature, module, places)}"


def pieces(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters, with the marks between kinds of them."""
    before: Any = None
    starred = False
    for one in parameters:
        if before is one.POSITIONAL_ONLY and one.kind is not one.POSITIONAL_ONLY:
            yield "/"
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        yield parameter(one)
        before = one.kind
    if before is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def parameter(one: inspect.Parameter) -> str:
    """A parameter with its annotation and default."""
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    text = stars + one.name
    if one.annotation:
        text += f": {one.annotation}"
    if one.default is not one.empty:
        text += (
            f" = {default_text(one.default)}" if one.annotation else f"={default_text(one.default)}"
        )
    return text


def returned(signature: inspect.Signature, module: str, places: Places) -> str:
    """The arrow and what a function returns."""
    text = type_text(signature.return_annotation, module, places)
    return f" -> {text}" if text else ""


def type_text(hint: Any, module: str, places: Places) -> str:
    """A type as it is written in a module, with links; "" if there is none."""
    return "" if hint is inspect.Parameter.empty else places.linked(annotation(hint), module)


def annotation(hint: Any) -> str:
    """A type as it is written in the code."""
    return hint if isinstance(hint, str) else inspect.formatannotation(hint)


def default_text(value: Any) -> str:
    """A default as code; dots where it would be long or has no code."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__name__ if value.__name__.isidentifier() else "..."
    text = repr(value)
    return text if len(text) <= LONGEST_DEFAULT and "<" not in text else "..."


def arguments_of_class(kind: type, places: Places) -> str:
    """What a class is called with; nothing where a table of its fields says it."""
    plain = kind.__init__ is object.__init__ and kind.__new__ is object.__new__
    if (
        has_fields(kind)
        or record.is_record_type(kind)
        or plain
        or issubclass(kind, BaseException)
        or is_protocol(kind)
    ):
        return ""
    return re.sub(r" -> .*", "", arguments(kind, places))


def is_protocol(kind: type) -> bool:
    """Whether a class only says what others must have."""
    return getattr(kind, "_is_protocol", False)


def has_fields(kind: type) -> bool:
    """Whether a class is a record or a dataclass with fields."""
    return bool(field_names(kind))


def field_names(kind: type) -> list[str]:
    """The public fields of a record or dataclass."""
    if record.is_record_type(kind):
        return list(kind._fields)  # pyright: ignore[reportAttributeAccessIssue]
    fields = kind.__dataclass_fields__ if is_dataclass(kind) else {}
    return [name for name in fields if not name.startswith("_")]


def class_parts(kind: type, places: Places) -> list[str]:
    """Text, fields and methods of a class."""
    text = inspect.getdoc(kind) or ""
    # What Python writes itself for a dataclass or a tuple is the signature once more.
    own = "" if re.match(rf"{kind.__name__}\(", text) else text
    parts = [as_markdown(own)]
    parts += [field_table(kind)] if has_fields(kind) else []
    return [*parts, *members(kind, places)]


def field_table(kind: type) -> str:
    """Fields of a record or dataclass: unit or type, default, what is allowed, meaning."""
    hints = types(kind)
    docs = {k: v for base in reversed(kind.__mro__) for k, v in record.field_docs(base).items()}
    rows = [
        [f"`{name}`", unit_text(hints.get(name)), default_of(kind, name), docs.get(name, "")]
        for name in field_names(kind)
    ]
    return table(["field", "unit or type", "default", "meaning"], rows)


def types(kind: type) -> dict[str, Any]:
    """Types of the fields; as written where they cannot be found at run time."""
    try:
        return get_type_hints(kind, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return dict(getattr(kind, "__annotations__", {}))


def unit_text(hint: Any) -> str:
    """The unit of a number and what it may be, or the type of anything else."""
    notes = get_args(hint)
    units = [str(note) for note in notes if isinstance(note, Unit)]
    ranges = [str(note) for note in notes if isinstance(note, Allowed)]
    if units:
        return ", ".join([units[-1], *ranges])
    text = annotation(hint) if hint is not None else ""
    return f"`{re.sub(r'(?:[a-z_]+[.])+(?=[A-Za-z])', '', text)}`" if text else ""


def default_of(kind: type, name: str) -> str:
    """The default of a field as code; "" if it has none."""
    if record.is_record_type(kind):
        values = kind._field_defaults  # pyright: ignore[reportAttributeAccessIssue]
        return f"`{default_text(values[name])}`" if name in values else ""
    field = kind.__dataclass_fields__[name]  # pyright: ignore[reportAttributeAccessIssue]
    if field.default_factory is not MISSING:
        return f"`{default_text(field.default_factory)}()`".replace("...()", "...")
    return "" if field.default is MISSING else f"`{default_text(field.default)}`"


def members(kind: type, places: Places) -> list[str]:
    """Public methods and properties that the class itself or a base in the package defines."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base) if public.inside(base.__module__) else {}
    names = [name for name in found if not name.startswith("_") or name == "__call__"]
    fields = set(field_names(kind))
    return [text for n in names if n not in fields and (text := member(n, found[n], places))]


def member(name: str, thing: Any, places: Places) -> str:
    """A method or property; "" for anything else."""
    if isinstance(thing, property | cached_property):
        getter = thing.fget if isinstance(thing, property) else thing.func
        back = returned(inspect.signature(getter), getter.__module__, places) if getter else ""
        options = (f":type: {back[4:]}",) if back else ()
        return directive("property", name, [as_markdown(inspect.getdoc(thing))], 5, options)
    static = isinstance(thing, staticmethod)
    function = thing.__func__ if isinstance(thing, staticmethod | classmethod) else thing
    if not inspect.isroutine(function) or not (text := inspect.getdoc(function)):
        return ""
    kinds = {staticmethod: "staticmethod", classmethod: "classmethod"}
    signature = name + arguments(function, places, bound=not static)
    return directive(kinds.get(type(thing), "method"), signature, [as_markdown(text)], 5)


def vehicle_parts(factory: Any) -> list[str]:
    """A vehicle: its summary and the leaves of its records."""
    model = factory.model
    parts = [as_markdown(model.summary)]
    for name in ("State", "Input", "Outputs", "Params", "Disturbance"):
        kind = getattr(model, name)
        if record.size(kind):
            parts.append(f"**{name}**\n\n{leaf_table(kind)}")
    return parts


def leaf_table(kind: type) -> str:
    """The numbers of a record with those of records in it."""
    rows = [
        [
            f"`{leaf.name}`",
            ", ".join(filter(None, [str(leaf.unit), str(leaf.allowed or "")])),
            "" if leaf.default is None else f"`{leaf.default!r}`",
            leaf.doc,
        ]
        for leaf in record.fields(kind)
    ]
    return table(["field", "unit", "default", "meaning"], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown; columns that are empty in all rows are left out."""
    kept = [k for k in range(len(head)) if any(row[k] for row in rows)]
    lines = [[head[k] for k in kept], ["---"] * len(kept)]
    lines += [[" ".join(row[k].split()).replace("|", "\\|") for k in kept] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
