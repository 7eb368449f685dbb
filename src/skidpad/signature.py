"""Functions of the user's that are called with what they name: costs and policies."""

from __future__ import annotations

import inspect
from typing import Any

from .errors import InvalidValue

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def arguments(what: str, function: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the arguments that a function has to be given; `what` begins the errors."""
    if not callable(function):
        raise InvalidValue(f"{what} must be a function, got {function!r}")
    wanted: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _BY_NAME:
            # A name with a default that is none of ours is the function's own business, such as
            # a target bound in a loop.
            if parameter.name in allowed or parameter.default is parameter.empty:
                wanted.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise InvalidValue(
                f"{what} takes {parameter}, but its arguments are given by name; "
                f"allowed are {', '.join(allowed)}"
            )
    return tuple(wanted)
