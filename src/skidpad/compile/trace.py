"""Trace a pure function into a Program, by one call with CasADi symbols.

CasADi's scalar graph (SX) is the tracer. This module turns its instruction list into that of a
Program and catches the pitfalls on the way: constants that are NaN (a `math.sin` or `float` applied
to a symbol), a Python `if` on a symbol, and `if_else`, which CasADi splits into two halves and a
sum (that sum loses -0). `explained` turns errors of functions called with symbols into messages
that say what to use instead.

A kernel called through `skidpad.core.backends.called`, as any CasADi function that is not to be
inlined, becomes a function of the Program, one for all calls of a trace; only the one that reads
shared arrays is an operation. A kernel is identified by the function object and by the classes of
its arguments, which choose equations as they do for a vehicle. It is traced on symbols of its own,
as written, so that its operations and their rounding are the same for every caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from types import MethodType
from typing import Any, NamedTuple

from ..core import record
from ..core.arrays import ArrayNumber
from ..core.backends import traced_by
from ..errors import TraceError, UnknownOperation
from ..integrate.base import as_written, making_expressions
from .passes import with_loops, without_dead_code, without_dead_instructions
from .program import TRACED_OPS, Instruction, Port, Program

__all__ = ["trace"]


@contextmanager
def explained(name: str) -> Generator[None]:
    """Context that turns CasADi's errors about symbols used as numbers into a `TraceError`.

    `name` is the function that is named in the message.
    """
    try:
        yield
    except RuntimeError as error:
        if "to_int" in str(error):
            raise TraceError(
                f"{name} makes a Python integer of a value that is known only at run time; "
                "use skidpad.ops.floor"
            ) from error
        if "truth value" in str(error):
            raise TraceError(
                f"{name} branches in Python (`if`, `and`, `or`, `min`, `max`, `while`) on a value "
                "only known at run time; use skidpad.ops.where, logical_and, minimum, maximum"
            ) from error
        raise


def scalar(name: str, verb: str, value: Any) -> Any:
    """Convert a value to a CasADi scalar; the error begins with `name` and `verb` (returned)."""
    import casadi as ca

    try:
        # Copying a symbol would take longer than most operations on it.
        symbol = value if type(value) is ca.SX else ca.SX(value)
    except (NotImplementedError, TypeError) as error:
        raise TraceError(f"{name} {verb} {value!r}, which is not a scalar") from error
    if symbol.numel() != 1:
        raise TraceError(f"{name} {verb} a value of shape {symbol.shape}; expected a scalar")
    return symbol


Shape = Any
"""Shape of a kernel's result: None for a number; for a tuple or record its class and parts' shapes.
"""


class _Known(NamedTuple):
    """A kernel that has been traced, with the shape of its result."""

    function: Any
    result: Shape
    surroundings: list[Any]
    """Objects from the kernel's closure, kept alive so that their ids stay unique."""


class Calls:
    """The kernels called in one trace, each traced once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], _Known] = {}

    def __call__(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a kernel; if some arguments are symbols, as a function of the Program."""
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
    """Error for a shared array whose number is a constant instead of a traced argument."""
    return TraceError(
        f"{name} reads a shared array by a number that is a constant. Numbers of arrays belong to "
        "one process, and a constant would keep none alive: make the grid or the number a field "
        "of the parameters"
    )


def _traced(name: str, kernel: Callable[..., Any], shape: Shape, count: int) -> tuple[Any, Shape]:
    """Trace a kernel into a CasADi function; returns it with the shape of its result."""
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
            "pass everything that it needs as arguments"
        )
    return function, _shape(result)


def _unbound(
    kernel: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Convert a bound method of a record to a function with the record as first argument."""
    if isinstance(kernel, MethodType) and isinstance(kernel.__self__, tuple):
        return kernel.__func__, (kernel.__self__, *arguments)
    return kernel, arguments


def _surroundings(kernel: Callable[..., Any]) -> list[Any]:
    """Contents of a function's closure; if a variable changes, the function counts as another
    kernel.
    """
    contents: list[Any] = []
    for cell in getattr(kernel, "__closure__", None) or ():
        with suppress(ValueError):  # a closure variable without a value yet
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


_SIMPLE = {
    f"OP_{op.upper()}": op
    for op in TRACED_OPS
    if op not in ("const", "input", "abs", "min", "max", "pow", "read", "select")
} | {"OP_FABS": "abs", "OP_FMIN": "min", "OP_FMAX": "max"}


@cache
def _operation_names() -> dict[int, str]:
    import casadi

    return {getattr(casadi, name): name for name in dir(casadi) if name.startswith("OP_")}


@making_expressions()
def trace(
    name: str,
    function: Callable[..., Sequence[Sequence[Any]]],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    *,
    whole_kernels: bool = False,
) -> Program:
    """Trace a function into a Program, by a call with one tuple of symbols per input port.

    It returns one sequence of scalars per output port, in the order of the port's fields. With
    `whole_kernels`, called kernels keep results that nothing uses: a Program that is to be traced
    again has the same derivatives only if its kernels are the same.
    """
    import casadi as ca

    # NumPy's functions of symbols work; newer releases warn that this may change one day.
    getattr(ca.GlobalOptions, "setNumpyMode", int)(-1)
    symbols = [[ca.SX.sym(f"{p.name}.{f}") for f in p.fields] for p in inputs]
    results = _call(name, function, symbols)
    columns = [ca.vertcat(*(scalar(name, "returned", v) for v in values)) for values in results]
    for port, column in zip(outputs, columns, strict=True):
        if column.numel() != len(port.fields):
            raise TraceError(
                f"{name}: output {port.name!r} has {len(port.fields)} fields "
                f"({', '.join(port.fields)}) but the function returned {column.numel()}"
            )
    # Free symbols are allowed here only to be named below.
    options = {"cse": True, "allow_free": True}
    with as_written(ca.SX()):  # common subexpression elimination rebuilds expressions
        graph = ca.Function("traced", [ca.vertcat(*s) for s in symbols], columns, options)
    if graph.has_free():
        raise TraceError(f"{name} uses symbols that are not its arguments: {graph.get_free()}")
    functions = Functions()
    traced = _read(name, graph, tuple(inputs), tuple(outputs), functions)
    traced = replace(traced, functions=tuple(functions.programs))
    traced = with_loops(traced)
    return without_dead_instructions(traced) if whole_kernels else without_dead_code(traced)


def trace_records(
    name: str,
    function: Callable[..., Sequence[Any]],
    inputs: Mapping[str, type | None],
    outputs: Mapping[str, type | None],
) -> Program:
    """Trace a function of records, with the record class of each port by its name.

    None is for a port with one number of its own name, and `Nothing` for an empty port. The
    function takes a record or number per input port and returns one per output port, or its values.
    """

    def flat(*ports: Sequence[Any]) -> list[Sequence[Any]]:
        pairs = zip(inputs.values(), ports, strict=True)
        results = function(*(p[0] if k is None else record.unflatten(k, p) for k, p in pairs))
        return [
            (value,) if kind is None else record.flatten(value) if record.size(kind) else ()
            for kind, value in zip(outputs.values(), results, strict=True)
        ]

    return trace(name, flat, ports_of(inputs), ports_of(outputs))


def ports_of(kinds: Mapping[str, type | None]) -> list[Port]:
    """Ports of a Program from record classes by name; see `trace_records`."""
    return [Port(n, (n,) if kind is None else record.names(kind)) for n, kind in kinds.items()]


def _call(name: str, function: Callable[..., Any], symbols: list[list[Any]]) -> Any:
    with explained(name), traced_by(Calls()):
        return function(*(tuple(s) for s in symbols))


class _Reader:
    """Turns the register machine of a CasADi function into single-assignment instructions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.code: list[Instruction] = []
        self.numbered: dict[Instruction, int] = {}

    def emit(self, op: str, *args: int, imm: Any = None) -> int:
        instruction = Instruction(op, args, imm)
        if op == "const":
            return self._append(instruction, Instruction("const", (), float(imm).hex()))
        return self._append(instruction, instruction)

    def _append(self, instruction: Instruction, key: Instruction) -> int:
        index = self.numbered.get(key)
        if index is None:
            index = self.numbered[key] = len(self.code)
            self.code.append(instruction)
        return index

    def const(self, value: float) -> int:
        if math.isnan(value):
            raise TraceError(
                f"{self.name} holds a NaN constant. `math.sin(x)`, `float(x)` or `np.float64(x)` "
                "on a traced value gives NaN silently: use the functions of skidpad.ops"
            )
        return self.emit("const", imm=value)

    def operation(self, op: str, args: list[int]) -> int:
        """Translate one CasADi operation; return its value's instruction index."""
        if op in _SIMPLE:
            return self._sum(*args) if op == "OP_ADD" else self.emit(_SIMPLE[op], *args)
        if op == "OP_SQ":
            return self.emit("mul", args[0], args[0])
        if op == "OP_TWICE":
            return self.emit("mul", self.const(2.0), args[0])
        if op == "OP_INV":
            return self.emit("div", self.const(1.0), args[0])
        if op == "OP_IF_ELSE_ZERO":
            return self.emit("select", *args, self.const(0.0))
        if op in ("OP_POW", "OP_CONSTPOW"):
            return self._power(*args)
        raise UnknownOperation(
            f"{self.name} uses {op.removeprefix('OP_').lower()!r}, which skidpad cannot compile; "
            f"allowed are {', '.join(sorted(TRACED_OPS))}"
        )

    def _power(self, base: int, exponent: int) -> int:
        i = self.code[exponent]
        if i.op != "const":
            raise UnknownOperation(
                f"{self.name} uses 'pow' with an exponent that is not constant; "
                "write exp(n * log(x)) if x is positive"
            )
        return self.emit("pow", base, imm=i.imm)

    def _sum(self, a: int, b: int) -> int:
        """a + b, or one select where the two are the halves of CasADi's `if_else`."""
        first, second = self._half(a), self._half(b)
        if first and second:
            (p, yes), (q, no) = first, second
            if self.code[q] == Instruction("not", (p,)):
                return self.emit("select", p, yes, no)
            if self.code[p] == Instruction("not", (q,)):
                return self.emit("select", q, no, yes)
        return self.emit("add", a, b)

    def read(self, number: int, index: int) -> int:
        """An element of a shared array; raises if the number of the array is a constant."""
        among, numbers = [number], list[int]()
        while among:
            k = among.pop()
            among += self.code[k].args[1:] if self.code[k].op == "select" else ()
            numbers.append(k)
        if any(self.code[k].op == "const" for k in numbers):
            raise constant_array(self.name)
        return self.emit("read", number, index)

    def _half(self, k: int) -> tuple[int, int] | None:
        """Return (condition, value) if instruction k is `if_else_zero`, else None."""
        i = self.code[k]
        if i.op == "select" and self.code[i.args[2]] == Instruction("const", (), 0.0):
            return i.args[0], i.args[1]
        return None


class Functions:
    """Registry of the CasADi functions found in a trace, each read once, after the functions that
    it calls.
    """

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []
        """The CasADi functions, kept alive so that their hashes stay unique."""

    def number(self, function: Any) -> int:
        """Number of a CasADi function in the Program; a new function is read first."""
        key = function.__hash__()
        if key not in self._known:
            if function.n_in() != 1 or function.n_out() != 1:
                raise TraceError(
                    f"{function.name()} has {function.n_in()} inputs and {function.n_out()} "
                    "outputs; a function that is called must have one of each, a column"
                )
            a, r = (
                (Port(name, tuple(f"{name}{k}" for k in range(count))),)
                for name, count in (("a", function.nnz_in()), ("r", function.nnz_out()))
            )
            program = _read(function.name(), function, a, r, self)
            self._kept.append(function)
            self._known[key] = len(self.programs)
            self.programs.append(program)
        return self._known[key]


def _read(
    name: str, graph: Any, inputs: tuple[Port, ...], outputs: tuple[Port, ...], functions: Functions
) -> Program:
    from ..integrate.derivatives import kernels_of

    reader = _Reader(name)
    calls = kernels_of(graph)
    operation_names = _operation_names()
    registers: dict[int, int] = {}
    results = [[reader.const(0.0)] * len(p.fields) for p in outputs]
    for k in range(graph.n_instructions()):
        op = operation_names[graph.instruction_id(k)]
        source, target = graph.instruction_input(k), graph.instruction_output(k)
        if op == "OP_OUTPUT":
            results[target[0]][target[1]] = registers[source[0]]
        elif op == "OP_CONST":
            registers[target[0]] = reader.const(graph.instruction_constant(k))
        elif op == "OP_INPUT":
            registers[target[0]] = reader.emit("input", imm=(source[0], source[1]))
        elif op == "OP_CALL":
            arguments = [registers[r] for r in source]
            if calls[k].reads:
                registers[target[0]] = reader.read(*arguments)
                continue
            number = functions.number(calls[k].function)
            call = reader.emit("call", *arguments, imm=(number, 1))
            for j, register in enumerate(target):
                if register >= 0:
                    registers[register] = reader.emit("item", call, imm=j)
        else:
            registers[target[0]] = reader.operation(op, [registers[r] for r in source])
    return Program(name, inputs, outputs, tuple(reader.code), tuple(map(tuple, results)))
