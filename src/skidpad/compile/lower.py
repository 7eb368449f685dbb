"""Lower a traced Program to IEEE operations: polynomials, explicit fma, typed booleans, nothing dead.

Where an operation rounds is decided here, once, so every target that emits the lowered Program gives
the same bits. The rules for elementary functions are in `elementary`; this file holds the passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..errors import InvalidValue, UnknownOperation
from .builder import Builder
from .elementary import LONE, RULES
from .program import Program
from .trace import without_dead_code

PRECISIONS = ("float32", "float64")

LOWERING_VERSION = 1
"""Raise when the lowering changes what it writes: part of the key of cached code."""


def lower(program: Program, precision: str) -> Program:
    """The traced Program in IEEE operations of one precision."""
    if precision not in PRECISIONS:
        raise InvalidValue(f"precision = {precision!r} is unknown; allowed are float32, float64")
    if program.precision is not None:
        raise InvalidValue(f"program {program.name!r} is already lowered to {program.precision}")
    low = _Lowering(program, precision)
    results = tuple(tuple(low.number(low.place[r]) for r in result) for result in program.results)
    lowered = replace(program, code=tuple(low.b.code), results=results, precision=precision)
    return without_dead_code(lowered)


class _Lowering:
    """One pass over a traced Program; `place[k]` is where the value of instruction k ended up."""

    def __init__(self, program: Program, precision: str) -> None:
        self.code = program.code
        self.name = program.name
        self.b = Builder(precision)
        self.fused = _fusable_products(program)
        self.paired = _paired_angles(program)
        self.place: list[int] = []
        for k in range(len(program.code)):
            self.place.append(self._value(k))

    def number(self, index: int) -> int:
        """The value as a number: a boolean becomes 1 or 0."""
        b = self.b
        return b.select(index, b.const(1.0), b.const(0.0)) if b.is_bool(index) else index

    def truth(self, index: int) -> int:
        """The value as a boolean: a number holds unless it is zero."""
        b = self.b
        return index if b.is_bool(index) else b.ne(index, b.const(0.0))

    def _value(self, k: int) -> int:
        i, b = self.code[k], self.b
        if i.op == "const":
            return b.const(i.imm)
        if i.op == "input":
            return b.emit("input", imm=i.imm)
        args = [self.place[a] for a in i.args]
        if i.op in ("and", "or", "not"):
            return b.emit(i.op, *map(self.truth, args))
        if i.op == "select":
            return b.select(self.truth(args[0]), self.number(args[1]), self.number(args[2]))
        args = [self.number(a) for a in args]
        if i.op in ("add", "sub"):
            return self._sum(i.op, i.args, args)
        if i.op == "pow":
            return RULES["pow"](b, args[0], i.imm)
        lone = LONE.get(i.op) if i.args[0] not in self.paired else None
        rule = lone or _DIRECT.get(i.op) or RULES.get(i.op)
        if rule is None:
            raise UnknownOperation(f"{self.name}: no rule to lower the operation {i.op!r}")
        return rule(b, *args)

    def _sum(self, op: str, traced: tuple[int, ...], args: list[int]) -> int:
        """A sum or difference; a product that only sums use goes into an fma."""
        b, (p, q), (x, y) = self.b, traced, args
        if p in self.fused:
            f, g = (self.number(self.place[a]) for a in self.code[p].args)
            return b.fma(f, g, y if op == "add" else b.neg(y))
        if q in self.fused:
            f, g = (self.number(self.place[a]) for a in self.code[q].args)
            return b.fma(f if op == "add" else b.neg(f), g, x)
        return b.emit(op, x, y)


def _fusable_products(program: Program) -> set[int]:
    """Products that are used by sums and differences alone, so that each use may be an fma.

    Decided on the whole Program: this is why step, outputs and derivatives are separate Programs, or
    adding an output would change the rounding of the state.
    """
    products = {k for k, i in enumerate(program.code) if i.op == "mul"}
    for i in program.code:
        if i.op not in ("add", "sub"):
            products.difference_update(i.args)
        elif i.args[0] == i.args[1]:
            products.discard(i.args[0])
    for result in program.results:
        products.difference_update(result)
    return products


def _paired_angles(program: Program) -> set[int]:
    """Values of which both sine and cosine are taken, so that the two share one reduction."""
    sines = {i.args[0] for i in program.code if i.op == "sin"}
    return sines & {i.args[0] for i in program.code if i.op == "cos"}


def _maximum(b: Builder, x: int, y: int) -> int:
    """The larger one, NaN if either is NaN; one instruction when one of them is constant."""
    if b.is_const(x):
        x, y = y, x
    larger = b.select(b.lt(x, y), y, x)
    return larger if b.is_const(y) else b.select(b.eq(y, y), larger, y)


def _minimum(b: Builder, x: int, y: int) -> int:
    """The smaller one, NaN if either is NaN."""
    if b.is_const(x):
        x, y = y, x
    smaller = b.select(b.lt(y, x), y, x)
    return smaller if b.is_const(y) else b.select(b.eq(y, y), smaller, y)


def _sign(b: Builder, x: int) -> int:
    """-1, 1, or x itself where x is zero or NaN."""
    zero = b.const(0.0)
    positive = b.select(b.lt(zero, x), b.const(1.0), x)
    return b.select(b.lt(x, zero), b.const(-1.0), positive)


def _ceil(b: Builder, x: int) -> int:
    return b.neg(b.floor(b.neg(x)))


_DIRECT: dict[str, Callable[..., int]] = {
    "mul": Builder.mul,
    "div": Builder.div,
    "neg": Builder.neg,
    "abs": Builder.abs,
    "sqrt": Builder.sqrt,
    "floor": Builder.floor,
    "copysign": Builder.copysign,
    "lt": Builder.lt,
    "le": Builder.le,
    "eq": Builder.eq,
    "ne": Builder.ne,
    "max": _maximum,
    "min": _minimum,
    "sign": _sign,
    "ceil": _ceil,
}
