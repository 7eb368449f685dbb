"""Functions of the user's: called with what they name, and kept in values that are not changed."""

from __future__ import annotations

import inspect
import pickle
from typing import Any, Self

from .errors import InvalidValue

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Constant:
    """A value that nobody changes, so that a copy of it is the value itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def pickled_fields(what: str, value: Any, instead: str) -> dict[str, Any]:
    """The fields of a value for `pickle`; the error says which one cannot be pickled."""
    for name, part in vars(value).items():
        try:
            pickle.dumps(part)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{what} cannot be pickled, because its {name} is not at the top of a module "
                f"where another process could import it: {part!r}. Define it there, or {instead}"
            ) from error
    return vars(value)


def arguments(what: str, function: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the arguments that a function has to be given; `what` begins the errors."""
    if not callable(function):
        raise InvalidValue(f"{what} must be a function, got {function!r}")
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _BY_NAME:
            # A name with a default that is none of ours is the function's own business, such as
            # a target bound in a loop.
            if parameter.name in allowed or parameter.default is parameter.empty:
                names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise InvalidValue(
                f"{what} takes {parameter}, but its arguments are given by name; "
                f"allowed are {', '.join(allowed)}"
            )
    return tuple(names)
