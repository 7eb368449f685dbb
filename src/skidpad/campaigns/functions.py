"""Functions of users in plans: known by where they are imported from and by what they do.

What a function does is told by its bytecode, with that of the functions of its module that it names
and with the constants (`UPPER_CASE`) that it reads there, however far down. Comments, docstrings
and line numbers do not count. What it calls in other modules, files that it reads and the versions
of packages are not seen, and another version of Python has other bytecode.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any, get_type_hints

from ..errors import InvalidValue
from ..units import Allowed, Unit
from .identities import plain

FAILURES = (ValueError, ArithmeticError)
"""What is raised where a run cannot be done, divergence and `InvalidValue` among it; anything else
is an error of who wrote it, and ends the campaign."""
_SHOWN = ("__repr__", "__str__", "__eq__", "__hash__")
"""Methods that no number depends on."""


def function_identity(what: str, function: Any) -> dict[str, Any]:
    """A function, a class or an object that can be called, as plain values; raises for one that
    another process could not import."""
    if isinstance(function, partial):
        held = {"args": plain(function.args), "keywords": plain(function.keywords)}
        return {**function_identity(what, function.func), **held}
    if isinstance(function, MethodType):
        own = function_identity(what, function.__self__)
        return {**own, "method": function.__name__, "does": _digest(function.__func__)}
    if isinstance(function, FunctionType):
        return {"function": importable(what, function), "does": _digest(function)}
    kind = function if isinstance(function, type) else type(function)
    own = {} if kind is function else {"settings": plain(_settings(function))}
    return {"class": importable(what, kind), "does": _digest(*_methods(kind)), **own}


def importable(what: str, function: Any) -> str:
    """Where a function or class is imported from; raises where it cannot be."""
    module, name = function.__module__, function.__qualname__
    target: Any = sys.modules.get(module)
    for part in name.split("."):
        target = getattr(target, part, None)
    if target is not function:
        raise InvalidValue(
            f"{what} must be at the top of a module where another process could import it, "
            f"got {module}.{name}"
        )
    return f"{module}.{name}"


def argument_marks(function: Callable[..., Any], name: str) -> tuple[str, Allowed]:
    """Unit and range of an argument, as its annotation has them; empty and any without one."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # names that are there for type checkers alone
        hints = {}
    marks: tuple[Any, ...] = getattr(hints.get(name), "__metadata__", ())
    unit = next((mark.symbol for mark in marks if isinstance(mark, Unit)), "")
    allowed = next((mark for mark in marks if isinstance(mark, Allowed)), Allowed())
    return ("" if unit == "1" else unit), allowed


def _settings(value: Any) -> Any:
    return value if isinstance(value, tuple) else vars(value) if hasattr(value, "__dict__") else {}


def _methods(kind: type) -> Iterator[FunctionType]:
    """Of a class and of those it derives from, as far as Python wrote them."""
    for base in kind.__mro__:
        for name, value in sorted(vars(base).items()):
            if name in _SHOWN:
                continue
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
            # What `dataclass` and `NamedTuple` write follows from the fields.
            if isinstance(inner, FunctionType) and inner.__code__.co_filename != "<string>":
                yield inner


def _digest(*functions: FunctionType) -> str:
    done: dict[str, str] = {}
    for function in functions:
        _look(function, done)
    return "sha256:" + sha256(repr(sorted(done.items())).encode()).hexdigest()


def _look(function: FunctionType, done: dict[str, str]) -> None:
    """Note what a function does, and whatever of its module it names."""
    name = f"{function.__module__}.{function.__qualname__}"
    if name in done:
        return
    if function.__closure__ and not _only_class_cell(function):
        held = [plain(cell.cell_contents) for cell in function.__closure__]
    else:
        held = []
    usual = plain([list(function.__defaults__ or ()), function.__kwdefaults__ or {}])
    done[name] = repr((_code(function.__code__, function.__doc__), usual, held))
    for used in _names(function.__code__):
        value = function.__globals__.get(used)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            _look(value, done)
        elif used.isupper() and isinstance(value, (bool, int, float, str, tuple)):
            done[f"{function.__module__}.{used}"] = repr(plain(value))


def _only_class_cell(function: FunctionType) -> bool:
    """Whether all it holds is the class that it is a method of."""
    return function.__code__.co_freevars == ("__class__",)


def _code(code: CodeType, doc: str | None = None) -> tuple[Any, ...]:
    """What a code object does: without names of files and numbers of lines."""
    constants = [_constant(one) for one in code.co_consts if doc is None or one != doc]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars)


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return _code(value)
    # The order within a set is another one in every process.
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
