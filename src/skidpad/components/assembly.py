"""Records put together from exchangeable records: their class follows from those of the parts.

A record such as `MotorDrive(motor, battery, final, layout)` is written once, with parts of any
class. `assembled` gives it the class that has these parts as its fields, one class for each
combination, with the methods of the one that was written. Such a class is at no place that a
process could import; its `recipe` says how it is made. Fields of such a record are all records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from .. import record
from ..brief import brief_repr

__all__ = [
    "NoStates",
    "Recipe",
    "assembled",
    "base_of",
    "class_from",
    "recipe_of",
    "reduced_by_recipe",
    "widened",
]


class NoStates(NamedTuple):
    """The states, inputs or outputs of a component that has none."""


class Recipe(NamedTuple):
    """How a record class is made: a function that any process can import, and its arguments."""

    make: Callable[..., type]
    arguments: tuple[Any, ...]


def recipe_of(kind: type) -> Any:
    """What another process makes the class of: the class itself, where it can import that."""
    own = vars(kind).get("recipe")
    return kind if own is None else own


def class_from(recipe: Any) -> type:
    """The class of a recipe; the same one whenever it is the same recipe."""
    return recipe.make(*recipe.arguments) if isinstance(recipe, Recipe) else recipe


def base_of(kind: type) -> Any:
    """The class as it was written, of one that was assembled."""
    own = recipe_of(kind)
    return own.arguments[0] if isinstance(own, Recipe) else kind


def assembled(whole: Any) -> Any:
    """The record with the class of its parts, all the way down; any other record as it is."""
    if not len(whole) or not all(record.is_record_type(type(part)) for part in whole):
        return whole
    parts = [assembled(part) for part in whole]
    hints = get_type_hints(type(whole), include_extras=True)
    if all(hints[name] is type(part) for name, part in zip(whole._fields, parts, strict=True)):
        return whole
    recipes = (recipe_of(type(part)) for part in parts)
    return _class_of(base_of(type(whole)), *recipes)(*parts)


@cache
def _class_of(base: Any, *recipes: Any) -> Any:
    """The record class like `base`, with its methods, whose fields have the classes of recipes."""
    hints = dict(zip(base._fields, map(class_from, recipes), strict=True))
    kind = record.define(base.__name__, hints, doc=base.__doc__ or "")
    for name, value in vars(base).items():
        if not name.startswith("_") and name not in base._fields:
            setattr(kind, name, value)
    kind.recipe = Recipe(_class_of, (base, *recipes))
    kind.__reduce__ = reduced_by_recipe
    kind.__repr__ = brief_repr
    return kind


def reduced_by_recipe(whole: Any) -> Any:
    """`__reduce__` of a record whose class has a `recipe`."""
    return _again, (recipe_of(type(whole)), record.flatten(whole))


def _again(recipe: Any, leaves: tuple[Any, ...]) -> Any:
    return record.unflatten(class_from(recipe), leaves)


@cache
def widened(base: Any, *more: Any) -> Any:
    """The record class with the fields of `base`, then those of others; `base` if they have none.

    Its records are made by name, since fields without a default come first.
    """
    others = [kind for kind in more if kind._fields]
    if not others:
        return base
    hints, defaults, docs = dict[str, Any](), dict[str, Any](), dict[str, str]()
    for kind in (base, *others):
        hints |= get_type_hints(kind, include_extras=True)
        defaults |= kind._field_defaults
        docs |= {leaf.name: leaf.doc for leaf in record.fields(kind) if "." not in leaf.name}
    return record.define(base.__name__, hints, defaults, docs, base.__doc__ or "")
