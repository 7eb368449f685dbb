"""How a record class that is made at run time is made again, in this process or in another.

Such a class is at no place that a process could import it from, and its fields alone do not say
all of it: how a grid is interpolated, the size of a table, the methods of an assembled part. The
function that made it knows, so records of the class are pickled as that function and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar, cast

__all__ = ["Recipe", "class_from", "made_once", "recipe_of"]

Make = TypeVar("Make", bound=Callable[..., Any])
_RECIPE = "_recipe"
"""Attribute of a class; no field can have such a name."""


class Recipe(NamedTuple):
    """How a record class is made: a function that any process can import, and its arguments."""

    make: Callable[..., Any]
    arguments: tuple[Any, ...]


def made_once(make: Make) -> Make:
    """Decorator: the one new record class of some arguments, which is pickled as these."""

    @cache
    @wraps(make)
    def once(*arguments: Any) -> Any:
        kind = make(*arguments)
        setattr(kind, _RECIPE, Recipe(once, arguments))
        return kind

    return cast("Make", once)


def recipe_of(kind: type) -> Any:
    """What the class is made of again: its recipe, or the class itself where it has none."""
    return vars(kind).get(_RECIPE, kind)


def class_from(recipe: Any) -> type:
    """The class of a recipe; the same one whenever it is the same recipe."""
    return recipe.make(*recipe.arguments) if isinstance(recipe, Recipe) else recipe
