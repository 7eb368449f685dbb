"""Exact derivatives of traced expressions, with few operations.

CasADi differentiates one direction at a time. Here a Jacobian (`linearised`) is accumulated instead
by vertex elimination on the graph of local partial derivatives, in the greedy order of Markowitz
(Griewank, Walther, *Evaluating Derivatives*, chapters 9 and 10): a chain such as
sin(C atan(B alpha)) is first collapsed to one factor and only then multiplied with the three
directions. A reverse sweep (`pullback`) visits the operations once, last one first, and gives
the gradient of one weighted sum of the outputs with respect to every input; a forward sweep
(`pushforward`) gives the change of every output for one change of the inputs (chapter 3).

The local derivatives save divisions, which cost at least as much as ten multiplications: a quotient
is computed as a product with a reciprocal that value and derivative share, and the slope of a
minimum or maximum is a selection (CasADi's own divides, to split the slope evenly where the two are
equal). In a reverse sweep the weight itself is divided, which saves a product, and divisions by the
same value share one reciprocal when the Program is lowered. On the RK4 step of the four-wheel car
that took 13 % fewer traced operations than CasADi's reverse mode and, lowered, 111 instead of 145
divisions.

The derivative of a call is a call again, of a function made from the body of the called one: its
Jacobian, its pullback or its pushforward. So a kernel that is called four times is differentiated
once. CasADi assumes that every result of a call depends on every argument; here the dependencies
are those of the body.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import casadi as ca

from ..core.backends import casadi_reader
from .base import as_written

SX = Any
"""A scalar or matrix of CasADi's symbolic type, which comes without annotations."""


def plus(a: SX, b: SX) -> SX:
    """Sum a + b of two expressions, without CasADi's type dispatch.

    CasADi's operators try every type that an operand might have, which takes seven times as long;
    the same holds for `times`.
    """
    return ca.SX.binary(ca.OP_ADD, a, b)


def times(a: SX, b: SX) -> SX:
    """Product a * b of two expressions, without CasADi's type dispatch; see `plus`."""
    return ca.SX.binary(ca.OP_MUL, a, b)


def column(values: Iterable[SX]) -> SX:
    """Stack values into a column; without values, an empty column of symbols rather than of
    numbers.
    """
    return ca.vertcat(ca.SX(0, 1), *values)


def symbols_besides(expression: SX, excluded: SX) -> SX:
    """The symbols in an expression, without those in the column `excluded`, as a column."""
    known = {excluded[i].element_hash() for i in range(excluded.numel())}
    return column(s for s in ca.symvar(expression) if s.element_hash() not in known)


def reciprocal(x: SX) -> SX:
    """Reciprocal 1/x, written so that CasADi does not merge it into products.

    CasADi rewrites a product with 1/x as a division by x, so that n products with one reciprocal
    would become n divisions; in vector code a division costs at least as much as ten
    multiplications. 2/(2x) is the same number and is left alone.
    """
    return ca.SX.binary(ca.OP_DIV, _TWO, times(_TWO, x))


class Complex(NamedTuple):
    """A complex expression re + i im. An imaginary part that is the number 0 costs nothing."""

    re: SX
    im: SX

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __sub__(self, other: Any) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Any) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )


Number = SX | Complex
"""A real or complex expression."""


def inverse_number(a: Number) -> Number:
    """Inverse 1/a of a real or complex expression, with one division."""
    if not isinstance(a, Complex):
        return reciprocal(a)
    scale = reciprocal(a.re * a.re + a.im * a.im)
    return Complex(a.re * scale, -(a.im * scale))


def plus_product(sum_so_far: Number | None, a: Number, b: Number) -> Number:
    """Sum `sum_so_far` + a b, with every product added separately so that it can become an fma."""
    if sum_so_far is None:
        return a * b
    if not isinstance(a, Complex):
        return sum_so_far + a * b
    re = (sum_so_far.re + a.re * b.re) - a.im * b.im
    return Complex(re, (sum_so_far.im + a.re * b.im) + a.im * b.re)


def real(value: SX) -> Complex:
    return Complex(value, ca.SX(0))


_CONDITIONS = frozenset({ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_NOT, ca.OP_AND, ca.OP_OR})
FLAT = _CONDITIONS | {ca.OP_SIGN, ca.OP_FLOOR, ca.OP_CEIL}
"""Operations whose derivative is zero wherever it exists."""


def apply(op: int, args: list[SX]) -> SX:
    """Apply one operation; a quotient is computed as a product with a reciprocal."""
    if op == ca.OP_DIV and not args[1].is_constant():
        return times(args[0], reciprocal(args[1]))
    if op == ca.OP_INV:
        return reciprocal(args[0])
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def partials(op: int, args: list[SX], value: SX) -> list[SX]:
    """Derivatives of one operation with respect to each argument."""
    if op in _PARTIALS:
        return _PARTIALS[op](*args, value)
    symbols, rules = _casadi_rule(op, len(args))
    partials: list[SX] = list(ca.substitute(rules, symbols, args))
    return partials


def _quotient(a: SX, b: SX, value: SX) -> list[SX]:
    scale = reciprocal(b)
    return [scale, -times(value, scale)]


def _angle(y: SX, x: SX, value: SX) -> list[SX]:
    scale = reciprocal(plus(times(x, x), times(y, y)))
    return [times(x, scale), -times(y, scale)]


def _length(x: SX, y: SX, value: SX) -> list[SX]:
    scale = reciprocal(value)
    return [times(x, scale), times(y, scale)]


def _choice(first: SX) -> list[SX]:
    return [first, ca.logic_not(first)]


_ONE, _MINUS_ONE, _TWO = ca.SX(1), ca.SX(-1), ca.SX(2)
_PARTIALS: dict[int, Callable[..., list[SX]]] = {
    ca.OP_ADD: lambda a, b, value: [_ONE, _ONE],
    ca.OP_SUB: lambda a, b, value: [_ONE, _MINUS_ONE],
    ca.OP_MUL: lambda a, b, value: [b, a],
    ca.OP_DIV: _quotient,
    ca.OP_INV: lambda a, value: [-times(value, value)],
    ca.OP_NEG: lambda a, value: [_MINUS_ONE],
    ca.OP_TWICE: lambda a, value: [_TWO],
    ca.OP_SQ: lambda a, value: [times(_TWO, a)],
    ca.OP_SQRT: lambda a, value: [reciprocal(times(_TWO, value))],
    ca.OP_SIN: lambda a, value: [ca.cos(a)],
    ca.OP_COS: lambda a, value: [-ca.sin(a)],
    ca.OP_ATAN: lambda a, value: [reciprocal(plus(_ONE, times(a, a)))],
    ca.OP_TANH: lambda a, value: [1.0 - value * value],
    ca.OP_EXP: lambda a, value: [value],
    ca.OP_LOG: lambda a, value: [reciprocal(a)],
    ca.OP_ATAN2: _angle,
    ca.OP_HYPOT: _length,
    ca.OP_FMIN: lambda a, b, value: _choice(a <= b),
    ca.OP_FMAX: lambda a, b, value: _choice(b <= a),
    ca.OP_IF_ELSE_ZERO: lambda condition, a, value: [ca.SX(0), condition],
}
"""Partial derivatives of the operations that are frequent, or for which CasADi would divide."""


@cache
def _casadi_rule(op: int, arity: int) -> tuple[list[SX], list[SX]]:
    """CasADi's own partial derivatives of an operation, over symbols for its arguments."""
    symbols = [ca.SX.sym(f"a{i}") for i in range(arity)]
    expression = apply(op, symbols)
    return symbols, [ca.jacobian(expression, a) for a in symbols]


def product(outer: SX, inner: SX) -> SX:
    """Product outer * inner, written as a selection where one factor is a condition."""
    if outer.op() in _CONDITIONS:
        return ca.if_else(outer, inner, 0.0)
    if inner.op() in _CONDITIONS:
        return ca.if_else(inner, outer, 0.0)
    return times(outer, inner)


Mask = tuple[bool, ...]
KEPT = 64
"""Number of derived functions that are cached, so that equal requests share one."""


def called(name: str, inputs: Sequence[SX], outputs: Sequence[SX]) -> Any:
    """A CasADi function of one column that becomes a function of the Program, not inlined."""
    options = {"cse": True, "never_inline": True}
    return ca.Function(name, [column(inputs)], [column(outputs)], options)


class Kernel:
    """A called function of one column; equal to any other handle of the same function."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name: str = function.name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and hash(self) == hash(other)

    def __hash__(self) -> int:
        return self.function.__hash__()

    @property
    def reads(self) -> bool:
        """Whether the kernel reads a shared array: its value depends on its arguments, its slopes
        are 0.
        """
        return hash(self) == casadi_reader().__hash__()

    def call(self, args: Sequence[SX]) -> list[SX]:
        return _split(self.function.call([column(args)])[0])

    def body(self) -> tuple[SX, SX]:
        """Symbols for the arguments, and the results as expressions of them."""
        symbols = column(ca.SX.sym(f"a{k}") for k in range(self.function.nnz_in()))
        with as_written(ca.SX()):
            return symbols, _replayed(self.function, symbols)


def kernels_of(graph: Any) -> dict[int, Kernel]:
    """Map each call instruction of a CasADi function to the kernel that it calls."""
    calls = [k for k in range(graph.n_instructions()) if graph.instruction_id(k) == ca.OP_CALL]
    if not calls:
        return {}
    expressions = graph.instructions_sx()
    return {k: Kernel(expressions[k].which_function()) for k in calls}


def applied(op: int, args: list[SX]) -> SX:
    """Apply one operation of a tape to new values."""
    return ca.SX.unary(op, *args) if len(args) == 1 else ca.SX.binary(op, *args)


def _replayed(function: Any, symbols: SX) -> SX:
    kernels = kernels_of(function)
    results: list[SX] = [ca.SX(0)] * function.nnz_out()
    values: dict[int, SX] = {}
    for k in range(function.n_instructions()):
        op, source = function.instruction_id(k), function.instruction_input(k)
        target = function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[target[1]] = values[source[0]]
        elif op == ca.OP_CONST:
            values[target[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_INPUT:
            values[target[0]] = symbols[source[1]]
        elif op == ca.OP_CALL:
            values.update(zip(target, kernels[k].call([values[s] for s in source]), strict=True))
        else:
            values[target[0]] = applied(op, [values[s] for s in source])
    return column(results)


class Dependencies(NamedTuple):
    """The inputs that expressions depend on."""

    places: list[set[int]]
    """For each expression the indices of the inputs it depends on."""
    by_calls: bool
    """Whether any call depends on the inputs."""


def dependencies(outputs: SX, inputs: SX) -> Dependencies:
    """Dependencies of the column `outputs` on the symbols in the column `inputs`."""
    with as_written(ca.SX()):
        graph = ca.Function("graph", [inputs, symbols_besides(outputs, inputs)], [outputs])
    return _dependencies(graph)


@lru_cache(KEPT)
def needed_arguments(kernel: Kernel) -> list[set[int]]:
    """For each result of a kernel the indices of the arguments it depends on."""
    return _dependencies(kernel.function).places


def _dependencies(graph: Any) -> Dependencies:
    kernels, by_calls = kernels_of(graph), False
    results: list[set[int]] = [set() for _ in range(graph.nnz_out())]
    values: dict[int, set[int]] = {}
    for k in range(graph.n_instructions()):
        op, source = graph.instruction_id(k), graph.instruction_input(k)
        target = graph.instruction_output(k)
        if op == ca.OP_OUTPUT:
            results[target[1]] = values[source[0]]
        elif op == ca.OP_INPUT:
            values[target[0]] = {source[1]} if source[0] == 0 else set()
        elif op == ca.OP_CALL and kernels[k].reads:
            values[target[0]] = set[int]().union(*(values[s] for s in source))
        elif op == ca.OP_CALL:
            for register, needed in zip(target, needed_arguments(kernels[k]), strict=True):
                values[register] = set[int]().union(*(values[source[a]] for a in needed))
                by_calls = by_calls or bool(values[register])
        else:
            values[target[0]] = set[int]().union(*(values[s] for s in source))
    return Dependencies(results, by_calls)


class Call(NamedTuple):
    """A kernel call on a tape that depends on the inputs."""

    kernel: Kernel
    targets: list[int | None]
    """Tape number of each result; None where the result does not depend on the inputs."""
    args: list[SX]
    active: list[int | None]
    """Tape number of each argument; None where the argument does not depend on the inputs."""

    @property
    def mask(self) -> Mask:
        """For each argument whether it depends on the inputs."""
        return tuple(a is not None for a in self.active)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the arguments that depend on the inputs."""
        return [a for a in self.active if a is not None]

    def push_forward(self, change: dict[int, SX]) -> list[tuple[int, SX]]:
        """The changes of a call's results for changes of its arguments."""
        changes = [None if a is None else change.get(a) for a in self.active]
        known = [c for c in changes if c is not None]
        if not known:
            return []
        function = _pushforward_kernel(self.kernel, tuple(c is not None for c in changes))
        moved = zip(self.targets, function.call([*self.args, *known]), strict=True)
        return [(target, value) for target, value in moved if target is not None]

    def pull_back(self, gradient: dict[int, SX]) -> list[tuple[int, SX]]:
        """The terms that a call adds to a gradient, from the weights of its results."""
        weights = [None if t is None else gradient.pop(t, None) for t in self.targets]
        known = [w for w in weights if w is not None]
        if not known:
            return []
        function = _pullback_kernel(self.kernel, self.mask, tuple(w is not None for w in weights))
        return list(zip(self.numbers, function.call([*self.args, *known]), strict=True))


def chosen(values: SX, mask: Mask) -> SX:
    return column(values[k] for k, wanted in enumerate(mask) if wanted)


def _split(values: SX) -> list[SX]:
    return ca.vertsplit(values) if values.numel() else []


class Operation(NamedTuple):
    """An operation on a tape that depends on the inputs."""

    op: int
    target: int
    """Tape number of the operation's value."""
    value: SX
    args: list[SX]
    active: list[int | None]
    """Tape number of each argument; None where the argument does not depend on the inputs."""

    def weighted_slopes(self, weight: SX, divide: Divide) -> list[SX]:
        op, value, args = self.op, self.value, self.args
        if op in _DIVIDING:
            return _DIVIDING[op](divide, weight, value, *args)
        return [product(weight, slope) for slope in partials(op, args, value)]


class Tape:
    """The operations from symbols to expressions, each value with a number of its own.

    The inputs have the first numbers, in order. `apply` recomputes the value of an operation.
    """

    def __init__(
        self, outputs: SX, inputs: SX, apply: Callable[[int, list[SX]], SX] = applied
    ) -> None:
        self.inputs = inputs.numel()
        self.operations: list[Operation | Call] = []
        self.results: list[SX] = [ca.SX(0)] * outputs.numel()
        """The outputs as expressions of the values on the tape."""
        self.numbers: list[int | None] = [None] * outputs.numel()
        """For each output the number of its value; None where it does not depend on the inputs."""
        self._next = self.inputs
        with as_written(ca.SX()):  # rebuild the values without simplification
            self._record(outputs, inputs, apply)

    def _record(self, outputs: SX, inputs: SX, apply: Callable[[int, list[SX]], SX]) -> None:
        free = symbols_besides(outputs, inputs)
        trace = ca.Function("trace", [inputs, free], [outputs], {"cse": True})
        values: dict[int, SX] = {}
        numbers: dict[int, int | None] = {}
        kernels = kernels_of(trace)
        for k in range(trace.n_instructions()):
            op, source = trace.instruction_id(k), trace.instruction_input(k)
            target = trace.instruction_output(k)
            if op == ca.OP_OUTPUT:
                self.results[target[1]] = values[source[0]]
                self.numbers[target[1]] = numbers[source[0]]
                continue
            if op == ca.OP_CALL:
                args, active = [values[s] for s in source], [numbers[s] for s in source]
                values.update(zip(target, kernels[k].call(args), strict=True))
                numbers.update(zip(target, self._called(kernels[k], args, active), strict=True))
                continue
            number: int | None = None
            if op == ca.OP_CONST:
                value = ca.SX(trace.instruction_constant(k))
            elif op == ca.OP_INPUT:
                value = (inputs, free)[source[0]][source[1]]
                number = source[1] if source[0] == 0 else None
            else:
                args = [values[s] for s in source]
                value = apply(op, args)
                number = self._number(op, value, args, [numbers[s] for s in source])
            values[target[0]] = value
            numbers[target[0]] = number

    def _number(self, op: int, value: SX, args: list[SX], active: list[int | None]) -> int | None:
        """A number for the value, or None where its derivative is zero."""
        if op in FLAT or all(a is None for a in active):
            return None
        number = self._new()
        self.operations.append(Operation(op, number, value, args, active))
        return number

    def _called(self, kernel: Kernel, args: list[SX], active: list[int | None]) -> list[int | None]:
        """Numbers for the results of a call; None for those that no active argument changes."""
        if kernel.reads:
            return [None]
        of_inputs = {k for k, number in enumerate(active) if number is not None}
        moved = [bool(needed & of_inputs) for needed in needed_arguments(kernel)]
        targets = [self._new() if is_moved else None for is_moved in moved]
        if any(moved):
            self.operations.append(Call(kernel, targets, args, active))
        return targets

    def _new(self) -> int:
        self._next += 1
        return self._next - 1


def pullback(outputs: SX, weights: SX, inputs: SX, *, beside_jacobian: bool = False) -> SX:
    """The gradient of weights · outputs with respect to the symbols in the column `inputs`.

    With `beside_jacobian` the sweep divides through the reciprocals that `linearised` computes for
    the same expressions, so that the two share them.
    """
    tape = Tape(outputs, inputs)
    divide = _by_reciprocal if beside_jacobian else _by_division
    gradient: dict[int, SX] = {}
    for number, weight in zip(tape.numbers, ca.vertsplit(weights), strict=True):
        if number is not None:
            _add(gradient, number, weight)
    for operation in reversed(tape.operations):
        if isinstance(operation, Call):
            for number, term in operation.pull_back(gradient):
                _add(gradient, number, term)
            continue
        weight = gradient.pop(operation.target, None)
        if weight is not None:
            terms = operation.weighted_slopes(weight, divide)
            for number, term in zip(operation.active, terms, strict=True):
                if number is not None:
                    _add(gradient, number, term)
    return column(_dense(gradient, range(tape.inputs)))


def pushforward(outputs: SX, inputs: SX, direction: SX) -> SX:
    """The change of the column `outputs` when the symbols `inputs` change along `direction`."""
    tape = Tape(outputs, inputs)
    change: dict[int, SX] = dict(enumerate(ca.vertsplit(direction)))
    for operation in tape.operations:
        if isinstance(operation, Call):
            change.update(operation.push_forward(change))
            continue
        slopes = partials(operation.op, operation.args, operation.value)
        for number, slope in zip(operation.active, slopes, strict=True):
            if number in change:
                _add(change, operation.target, product(change[number], slope))
    return column(_dense(change, tape.numbers))


@lru_cache(KEPT)
def _pullback_kernel(kernel: Kernel, mask: Mask, weighted: Mask) -> Kernel:
    symbols, results = kernel.body()
    outputs = chosen(results, weighted)
    weights = column(ca.SX.sym(f"w{k}") for k in range(outputs.numel()))
    gradient = pullback(outputs, weights, chosen(symbols, mask))
    return Kernel(called(f"{kernel.name}_pullback", [symbols, weights], [gradient]))


@lru_cache(KEPT)
def _pushforward_kernel(kernel: Kernel, mask: Mask) -> Kernel:
    symbols, results = kernel.body()
    inputs = chosen(symbols, mask)
    direction = column(ca.SX.sym(f"d{k}") for k in range(inputs.numel()))
    change = pushforward(results, inputs, direction)
    return Kernel(called(f"{kernel.name}_pushforward", [symbols, direction], [change]))


def _add(sums: dict[int, SX], number: int, term: SX) -> None:
    if not term.is_zero():
        sums[number] = plus(sums[number], term) if number in sums else term


def _dense(sums: dict[int, SX], numbers: Iterable[int | None]) -> Iterator[SX]:
    return (ca.SX(0) if k is None else sums.get(k, ca.SX(0)) for k in numbers)


Divide = Callable[[SX, SX], SX]


def _by_division(a: SX, b: SX) -> SX:
    return a / b


def _by_reciprocal(a: SX, b: SX) -> SX:
    return times(a, reciprocal(b))


def _sweep_quotient(divide: Divide, weight: SX, value: SX, a: SX, b: SX) -> list[SX]:
    if a.is_constant():
        # Reuse a division held by the value itself, such as the reciprocals of `apply`.
        return [ca.SX(0), -(weight * value) * (value * (1.0 / float(a)))]
    scaled = divide(weight, b)
    return [scaled, -(value * scaled)]


def _sweep_angle(divide: Divide, weight: SX, value: SX, y: SX, x: SX) -> list[SX]:
    scaled = divide(weight, x * x + y * y)
    return [x * scaled, -(y * scaled)]


def _sweep_length(divide: Divide, weight: SX, value: SX, x: SX, y: SX) -> list[SX]:
    scaled = divide(weight, value)
    return [x * scaled, y * scaled]


_DIVIDING: dict[int, Callable[..., list[SX]]] = {
    ca.OP_DIV: _sweep_quotient,
    ca.OP_SQRT: lambda divide, weight, value, a: [divide(weight, 2.0 * value)],
    ca.OP_ATAN: lambda divide, weight, value, a: [divide(weight, 1.0 + a * a)],
    ca.OP_LOG: lambda divide, weight, value, a: [divide(weight, a)],
    ca.OP_ATAN2: _sweep_angle,
    ca.OP_HYPOT: _sweep_length,
}
"""Rules for weighted slopes, by operation: functions of weight, value and arguments."""


class Linearised(NamedTuple):
    """Expressions and their Jacobian, built to share common subexpressions."""

    values: SX
    jacobian: SX


def linearised(outputs: SX, inputs: SX) -> Linearised:
    """The column `outputs` and its Jacobian with respect to the symbols in the column `inputs`."""
    graph = _Graph(outputs, inputs)
    graph.eliminate()
    return Linearised(column(graph.results), graph.jacobian())


def _entries(call: Call) -> Iterator[tuple[int, int, SX]]:
    """Nonzero derivatives of a call, each as (number of the result, number of the argument,
    derivative).
    """
    function, places = _slopes(call.kernel, call.mask)
    for (row, place), entry in zip(places, function.call(call.args), strict=True):
        target = call.targets[row]
        if target is not None:
            yield target, call.numbers[place], entry


@lru_cache(KEPT)
def _slopes(kernel: Kernel, mask: Mask) -> tuple[Kernel, list[tuple[int, int]]]:
    """Kernel that computes the entries of a kernel's Jacobian, and the positions of the entries."""
    symbols, results = kernel.body()
    jacobian = linearised(results, chosen(symbols, mask)).jacobian
    rows, columns = jacobian.sparsity().get_triplet()
    entries = called(f"{kernel.name}_slopes", [symbols], [column(jacobian.nonzeros())])
    return Kernel(entries), list(zip(rows, columns, strict=True))


class _Graph:
    """Local partial derivatives between the operations of a trace that depend on the inputs.

    Vertices are numbers: inputs first, then operations in order; output k is the vertex -1 - k.
    """

    def __init__(self, outputs: SX, inputs: SX) -> None:
        self.size = (outputs.numel(), inputs.numel())
        self.before: dict[int, dict[int, SX]] = {}
        """For each vertex its partial derivatives with respect to its arguments."""
        self.after: dict[int, set[int]] = {i: set() for i in range(inputs.numel())}
        tape = Tape(outputs, inputs, apply)
        self.results = tape.results
        for operation in tape.operations:
            if isinstance(operation, Call):
                for end, start, partial in _entries(operation):
                    self._connect(end, start, partial)
                continue
            op, end, value, args, active = operation
            for start, partial in zip(active, partials(op, args, value), strict=True):
                if start is not None and not partial.is_zero():
                    self._connect(end, start, partial)
        for k, start in enumerate(tape.numbers):
            if start is not None:
                self._connect(-1 - k, start, ca.SX(1))

    def _connect(self, end: int, start: int, partial: SX) -> None:
        edges = self.before.setdefault(end, {})
        edges[start] = plus(edges[start], partial) if start in edges else partial
        self.after.setdefault(start, set()).add(end)

    def eliminate(self) -> None:
        """Replace paths through operations by direct edges, cheapest operation first.

        Of operations with equal cost the later is eliminated first, which took the fewest
        operations for the cars.
        """
        inputs = self.size[1]
        self._forget_constants()
        queue = [(self._cost(v), -v) for v in self.before if v >= inputs]
        heapq.heapify(queue)
        while queue:
            cost, negative = heapq.heappop(queue)
            v = -negative
            if cost == self._cost(v):
                self._remove(v)
            else:
                heapq.heappush(queue, (self._cost(v), -v))

    def _forget_constants(self) -> None:
        """Drop operations that do not depend on the inputs.

        An example is 0 x. Operations needed only by dropped ones are dropped, too.
        """
        inputs = self.size[1]
        constant = [v for v in self.after if v >= inputs and not self.before.get(v)]
        while constant:
            v = constant.pop()
            self.before.pop(v, None)
            for end in self.after.pop(v, ()):
                self.before[end].pop(v)
                if not self.before[end] and end >= inputs:
                    constant.append(end)

    def _cost(self, v: int) -> int:
        """Number of multiplications to eliminate the vertex."""
        return len(self.before.get(v, ())) * len(self.after.get(v, ()))

    def _remove(self, v: int) -> None:
        starts = self.before.pop(v)
        for end in self.after.pop(v, set()):
            outer = self.before[end].pop(v)
            for start, inner in starts.items():
                self._connect(end, start, product(outer, inner))
        for start in starts:
            self.after[start].discard(v)

    def jacobian(self) -> SX:
        """The Jacobian, from the edges from inputs to outputs that remain after elimination."""
        rows, columns = self.size
        matrix = ca.SX(rows, columns)
        for i in range(rows):
            for j, partial in self.before.get(-1 - i, {}).items():
                matrix[i, j] = partial
        return matrix
