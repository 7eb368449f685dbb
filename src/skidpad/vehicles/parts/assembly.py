"""Records put together from exchangeable records: their class follows from those of the parts.

A record such as `MotorDrive(motor, battery, final, layout)` is written once, with parts of any
class. `assembled` gives it the class that has these parts as its fields, one class for each
combination, with the methods of the one that was written. Fields of such a record are all records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

from ...core import record
from ...core.files import brief_repr
from ...core.record import Recipe, made_once, recipe_of
from ...errors import InvalidValue
from ...tyres.contract import tyre_set


class NoStates(NamedTuple):
    """The states, inputs or outputs of a component that has none."""


def base_of(kind: type) -> Any:
    """The class as it was written, of one that was assembled."""
    own = recipe_of(kind)
    return own.arguments[0] if isinstance(own, Recipe) and own.make is _class_of else kind


def assembled(whole: Any) -> Any:
    """The record with the class of its parts, all the way down; any other record as it is."""
    if not len(whole) or not all(record.is_record_type(type(part)) for part in whole):
        return whole
    parts = [assembled(part) for part in whole]
    hints = get_type_hints(type(whole), include_extras=True)
    if all(hints[name] is type(part) for name, part in zip(whole._fields, parts, strict=True)):
        return whole
    return _class_of(base_of(type(whole)), *map(type, parts))(*parts)


@made_once
def _class_of(base: Any, *kinds: type) -> Any:
    """The record class like `base`, with its methods, whose fields have these classes."""
    hints = dict(zip(base._fields, kinds, strict=True))
    kind = record.define(base.__name__, hints, doc=base.__doc__ or "")
    for name, value in vars(base).items():
        if not name.startswith("_") and name not in base._fields:
            setattr(kind, name, value)
    kind.__repr__ = brief_repr
    return kind


def redefined(
    base: Any,
    kinds: Mapping[str, Any] = MappingProxyType({}),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    docs: Mapping[str, str] = MappingProxyType({}),
    without: Collection[str] = (),
    doc: str = "",
) -> Any:
    """A record class like `base`, some of whose fields are other ones.

    Args:
        base: the record class.
        kinds: classes or units of fields that change or are added.
        defaults: defaults of fields; None for a field that has none.
        docs: texts of fields.
        without: fields that are left out.
        doc: text of the class; that of `base` if empty.
    """
    hints = {**get_type_hints(base, include_extras=True), **kinds}
    values = {**base._field_defaults, **defaults}
    return record.define(
        base.__name__,
        {name: hint for name, hint in hints.items() if name not in without},
        {n: v for n, v in values.items() if v is not None and n not in without},
        lambda: {**record.field_docs(base), **docs},
        doc or base.__doc__ or "",
    )


def tyres_among(values: dict[str, Any], groups: Sequence[tuple[str, ...]]) -> Any:
    """The tyre set of the keywords of one group, which are taken out of `values`; None without."""
    names = tuple(name for group in groups for name in group if name in values)
    if names and names not in groups:
        several = (" and ".join((", ".join(g[:-1]), g[-1])) if g[1:] else g[0] for g in groups)
        allowed = ", or ".join(several)
        raise InvalidValue(f"tyres are given as {', '.join(names)}; allowed are {allowed}")
    return tyre_set(*(values.pop(name) for name in names)) if names else None


def widened(base: Any, *more: Any) -> Any:
    """The record class with the fields of `base`, then those of others; `base` if they have none.

    Its records are made by name, since fields without a default come first.
    """
    others = [kind for kind in more if kind._fields]
    return _widened(base, *others) if others else base


@made_once
def _widened(base: Any, *others: Any) -> Any:
    for kind in others:
        hints = get_type_hints(kind, include_extras=True)
        base = redefined(base, hints, kind._field_defaults, record.field_docs(kind))
    return base
