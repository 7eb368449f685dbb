"""Trace a pure function into a Program: call it once with CasADi symbols and read off the
operations.

CasADi's scalar graph (SX) is the tracer; this file turns its instruction list into ours and closes
the traps on the way: constants that are NaN (a `math.sin` or `float` applied to a symbol), a Python
`if` on a symbol, and `if_else`, which CasADi splits into two halves and a sum (that sum loses -0).
`explained` puts errors of functions that meet symbols into words.

A kernel called through `skidpad.core.backends.called`, as any CasADi function that is not to be
inlined, becomes a function of the Program, one for all calls of a trace; only the one that reads
shared arrays is an operation. A kernel is identified by itself and by the classes of its arguments,
which choose equations as they do for a vehicle. It is traced on symbols of its own, as written, so
that its operations and their rounding are the same for every caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from types import MethodType
from typing import Any, NamedTuple

from ..core.arrays import ArrayNumber
from ..core.backends import casadi_reader, taken_by
from ..errors import TraceError, UnknownOperation
from ..integrate.base import as_written, making_expressions
from .passes import with_loops, without_dead_code, without_dead_instructions
from .program import TRACED_OPS, Instruction, Port, Program

__all__ = [
    "trace",
]


@contextmanager
def explained(name: str) -> Generator[None]:
    """What a function of this name does to symbols that only works on numbers is a `TraceError`."""
    try:
        yield
    except RuntimeError as error:
        if "to_int" in str(error):
            raise TraceError(
                f"{name} makes a Python integer of a value only known at run time; "
                "use skidpad.ops.floor"
            ) from error
        if "truth value" in str(error):
            raise TraceError(
                f"{name} branches in Python (`if`, `and`, `or`, `min`, `max`, `while`) on a value "
                "only known at run time; use skidpad.ops.where, logical_and, minimum, maximum"
            ) from error
        raise


def scalar(name: str, verb: str, value: Any) -> Any:
    """A value as a scalar of CasADi; the error says that `name` returned, or is, something else."""
    import casadi as ca

    try:
        # A copy of a symbol takes longer than most that is done with it.
        symbol = value if type(value) is ca.SX else ca.SX(value)
    except (NotImplementedError, TypeError) as error:
        raise TraceError(f"{name} {verb} {value!r}, which is not a scalar") from error
    if symbol.numel() != 1:
        raise TraceError(f"{name} {verb} a value of shape {symbol.shape}; expected a scalar")
    return symbol


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


_SIMPLE = {
    "OP_ADD": "add",
    "OP_SUB": "sub",
    "OP_MUL": "mul",
    "OP_DIV": "div",
    "OP_NEG": "neg",
    "OP_EXP": "exp",
    "OP_LOG": "log",
    "OP_SQRT": "sqrt",
    "OP_SIN": "sin",
    "OP_COS": "cos",
    "OP_TAN": "tan",
    "OP_ASIN": "asin",
    "OP_ACOS": "acos",
    "OP_ATAN": "atan",
    "OP_ATAN2": "atan2",
    "OP_SINH": "sinh",
    "OP_COSH": "cosh",
    "OP_TANH": "tanh",
    "OP_ASINH": "asinh",
    "OP_ACOSH": "acosh",
    "OP_ATANH": "atanh",
    "OP_LOG1P": "log1p",
    "OP_EXPM1": "expm1",
    "OP_HYPOT": "hypot",
    "OP_FABS": "abs",
    "OP_SIGN": "sign",
    "OP_COPYSIGN": "copysign",
    "OP_FMIN": "min",
    "OP_FMAX": "max",
    "OP_FLOOR": "floor",
    "OP_CEIL": "ceil",
    "OP_LT": "lt",
    "OP_LE": "le",
    "OP_EQ": "eq",
    "OP_NE": "ne",
    "OP_NOT": "not",
    "OP_AND": "and",
    "OP_OR": "or",
}
"""CasADi operations that have an operation of the same meaning here."""


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
    """The Program of `function`, called with one tuple of scalar symbols per input port.

    It returns one sequence of scalars per output port, in the order of the port's fields. With
    `whole_kernels`, kernels that are called keep the results that nothing uses: a Program that is
    to be traced again gives the same derivatives only of the same kernels.
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
    with as_written(ca.SX()):  # what finds common expressions would make them anew
        graph = ca.Function("traced", [ca.vertcat(*s) for s in symbols], columns, options)
    if graph.has_free():
        raise TraceError(f"{name} uses symbols that are not its arguments: {graph.get_free()}")
    functions = Functions()
    traced = _read(name, graph, tuple(inputs), tuple(outputs), functions)
    traced = replace(traced, functions=tuple(functions.programs))
    traced = with_loops(traced)
    return without_dead_instructions(traced) if whole_kernels else without_dead_code(traced)


def _call(name: str, function: Callable[..., Any], symbols: list[list[Any]]) -> Any:
    with explained(name), taken_by(Calls()):
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
                "on a traced value gives NaN without a word: use the functions of skidpad.ops"
            )
        return self.emit("const", imm=value)

    def operation(self, op: str, args: list[int]) -> int:
        """The value of one CasADi operation."""
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
        """An element of a shared array, whose number must not be written into the Program."""
        among, numbers = [number], list[int]()
        while among:
            k = among.pop()
            among += self.code[k].args[1:] if self.code[k].op == "select" else ()
            numbers.append(k)
        if any(self.code[k].op == "const" for k in numbers):
            raise constant_array(self.name)
        return self.emit("read", number, index)

    def _half(self, k: int) -> tuple[int, int] | None:
        """(condition, value) if instruction k is `if_else_zero`."""
        i = self.code[k]
        if i.op == "select" and self.code[i.args[2]] == Instruction("const", (), 0.0):
            return i.args[0], i.args[1]
        return None


class Functions:
    """The functions found so far, each read once and after those that it calls."""

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []
        """The CasADi functions: while they live, their hashes stay their own."""

    def number(self, function: Any) -> int:
        """The number of a CasADi function."""
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
    name: str,
    graph: Any,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    functions: Functions,
) -> Program:
    reader = _Reader(name)
    calls = _called(graph)
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
            if calls[k].__hash__() == casadi_reader().__hash__():
                registers[target[0]] = reader.read(*arguments)
                continue
            number = functions.number(calls[k])
            call = reader.emit("call", *arguments, imm=(number, 1))
            for j, register in enumerate(target):
                if register >= 0:
                    registers[register] = reader.emit("item", call, imm=j)
        else:
            registers[target[0]] = reader.operation(op, [registers[r] for r in source])
    return Program(name, inputs, outputs, tuple(reader.code), tuple(map(tuple, results)))


def _called(graph: Any) -> dict[int, Any]:
    """For each instruction that is a call, the CasADi function that it calls."""
    import casadi as ca

    calls = [k for k in range(graph.n_instructions()) if graph.instruction_id(k) == ca.OP_CALL]
    if not calls:
        return {}
    expressions = graph.instructions_sx()
    return {k: expressions[k].which_function() for k in calls}
