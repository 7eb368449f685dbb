"""Kernels called through `skidpad.calls.called` as CasADi functions, one for all calls of a trace.

A kernel is known by itself and by the classes of its arguments, which choose equations as they do
for a vehicle. It is traced on symbols of its own, as written, so that what it computes and how it
rounds is the same for every caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from types import MethodType
from typing import Any, NamedTuple

from ..errors import TraceError
from ..integrate.as_written import as_written
from ..shared_arrays import ArrayNumber
from .explained import explained, scalar

Shape = Any
"""None for a number; the class of a tuple or record and the shapes of its parts."""


class _Known(NamedTuple):
    """A kernel that has been traced."""

    function: Any
    result: Shape
    surroundings: list[Any]
    """What it took from around it; while that lives, its identities stay its own."""


class Calls:
    """The kernels that are called in one trace."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], _Known] = {}

    def __call__(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """What the kernel gives for these arguments; with symbols among them, by a function."""
        import casadi as ca

        kernel, arguments = _unbound(kernel, arguments)
        leaves = list(_leaves(arguments))
        if not any(isinstance(leaf, ca.SX) for leaf in leaves):
            return kernel(*arguments)
        name = _name(kernel)
        if any(isinstance(leaf, ArrayNumber) for leaf in leaves):
            raise constant_array(name)
        what = f"an argument of {name}, which is called,"
        column = ca.vertcat(*(scalar(what, "is", leaf) for leaf in leaves))
        shape, around = _shape(arguments), _surroundings(kernel)
        key = (kernel, shape, tuple(map(id, around)))
        if key not in self._known:
            self._known[key] = _Known(*_traced(name, kernel, shape, len(leaves)), around)
        function, result, _ = self._known[key]
        with as_written(ca.SX()):
            (values,) = function.call([column])
        return _rebuilt(result, iter(ca.vertsplit(values) if values.numel() else ()))


def constant_array(name: str) -> TraceError:
    """The error for a shared array that is no argument of what is traced."""
    return TraceError(
        f"{name} reads a shared array by a number that is a constant. Numbers of arrays belong to "
        "one process, and a constant would keep none alive: make the grid or the number a field "
        "of the parameters"
    )


def _traced(name: str, kernel: Callable[..., Any], shape: Shape, count: int) -> tuple[Any, Shape]:
    """The kernel as a CasADi function, and the shape of what it gives."""
    import casadi as ca

    symbols = [ca.SX.sym(f"a{k}") for k in range(count)]
    with as_written(ca.SX()):
        with explained(name):
            result = kernel(*_rebuilt(shape, iter(symbols)))
        values = [scalar(name, "returned", leaf) for leaf in _leaves(result)]
        options = {"cse": True, "never_inline": True, "allow_free": True}
        columns = [ca.vertcat(ca.SX(0, 1), *some) for some in (symbols, values)]
        function = ca.Function(name, columns[:1], columns[1:], options)
    if function.has_free():
        raise TraceError(
            f"{name} is called and uses symbols that are not its arguments: {function.get_free()}; "
            "give it everything that it needs"
        )
    return function, _shape(result)


def _unbound(
    kernel: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A method of a record as a function of that record too."""
    if isinstance(kernel, MethodType) and isinstance(kernel.__self__, tuple):
        return kernel.__func__, (kernel.__self__, *arguments)
    return kernel, arguments


def _surroundings(kernel: Callable[..., Any]) -> list[Any]:
    """The variables around a function that it uses: one that changed makes another kernel of it."""
    contents: list[Any] = []
    for cell in getattr(kernel, "__closure__", None) or ():
        with suppress(ValueError):  # a variable that has no value yet
            contents.append(cell.cell_contents)
    return contents


def _name(kernel: Callable[..., Any]) -> str:
    import casadi as ca

    name: str = ca.Function.fix_name(getattr(kernel, "__name__", type(kernel).__name__))
    return name


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _shape(value: Any) -> Shape:
    return (type(value), tuple(map(_shape, value))) if isinstance(value, tuple) else None


def _rebuilt(shape: Shape, leaves: Iterator[Any]) -> Any:
    if shape is None:
        return next(leaves)
    kind, parts = shape
    values = [_rebuilt(part, leaves) for part in parts]
    return kind._make(values) if hasattr(kind, "_make") else kind(values)
