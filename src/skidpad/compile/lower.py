"""Lower a traced Program to IEEE operations.

These are polynomials, explicit fma and typed booleans, without dead code. Where an operation rounds
is decided here, once, so every target that emits the lowered Program gives the same bits. The rules
for elementary functions are in `elementary`; this file holds the passes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import InvalidValue, UnknownOperation
from .elementary import LONE, RULES
from .passes import without_dead_code
from .program import CALL_OPS, Builder, Instruction, Program
from .trigonometry import forward_atan2

PRECISIONS = ("float32", "float64")


def lower(
    program: Program, precision: str, native: frozenset[str] = frozenset(), *, careful: bool = True
) -> Program:
    """Lower a traced Program to IEEE operations of one precision.

    Elementary functions in `native` are left as they are, for a target that has its own; such a
    Program no longer has the same bits everywhere. Without `careful`, arc functions of infinite
    arguments and of the origin are NaN.
    """
    if precision not in PRECISIONS:
        raise InvalidValue(f"precision = {precision!r} is unknown; allowed are float32, float64")
    if program.precision is not None:
        raise InvalidValue(f"program {program.name!r} is already lowered to {program.precision}")
    functions = tuple(_lowered(f, precision, native, careful) for f in program.functions)
    own = _lowered(replace(program, functions=()), precision, native, careful)
    return without_dead_code(replace(own, functions=functions))


def _lowered(program: Program, precision: str, native: frozenset[str], careful: bool) -> Program:
    """Lower one Program or function by itself, so that its rounding does not depend on its
    callers.
    """
    program = with_shared_reciprocals(program)
    low = _Lowering(program, Builder(precision, careful=careful), native)
    results = tuple(tuple(low.number(low.place[r]) for r in result) for result in program.results)
    return replace(program, code=tuple(low.b.code), results=results, precision=precision)


class _Lowering:
    """One pass over a traced Program; `place[k]` is the new index of instruction k."""

    def __init__(self, program: Program, builder: Builder, native: frozenset[str]) -> None:
        self.code = program.code
        self.native = native
        self.name = program.name
        self.b = builder
        # Indices of products used by sums and differences alone, so that each use may be an fma
        products = {k for k, i in enumerate(program.code) if i.op == "mul"}
        for i in program.code:
            if i.op not in ("add", "sub"):
                products.difference_update(i.args)
            elif i.args[0] == i.args[1]:
                products.discard(i.args[0])
        for result in program.results:
            products.difference_update(result)
        self.fused = products
        # Values whose sine and cosine are both taken, so that the two share one range reduction
        sines = {i.args[0] for i in program.code if i.op == "sin"}
        self.paired = sines & {i.args[0] for i in program.code if i.op == "cos"}
        self.held = program.held
        # For each value, whether it is known to be positive, +0 or NaN from its operation
        known: list[bool] = []
        for i in program.code:
            if i.op == "const":
                known.append(math.copysign(1.0, i.imm) > 0.0)
            elif i.op == "max":
                known.append(any(known[a] for a in i.args))
            else:
                known.append(i.op in ("abs", "exp", "cosh"))
        self.positive = known
        self.place: list[int] = []
        for k in range(len(program.code)):
            self.place.append(self._value(k))

    def number(self, index: int) -> int:
        """Value of an instruction as a number: a boolean becomes 1 or 0."""
        b = self.b
        return b.select(index, b.const(1.0), b.const(0.0)) if b.is_bool(index) else index

    def truth(self, index: int) -> int:
        """Value of an instruction as a boolean: a number is true unless it is zero."""
        b = self.b
        return index if b.is_bool(index) else b.ne(index, b.const(0.0))

    def _value(self, k: int) -> int:
        i, b = self.code[k], self.b
        if i.op == "const":
            return b.const(self._in_range(i.imm))
        if i.op == "input":
            return b.emit("input", imm=i.imm)
        args = [self.place[a] for a in i.args]
        if i.op in ("and", "or", "not"):
            return b.emit(i.op, *map(self.truth, args))
        if i.op == "select":
            return b.select(self.truth(args[0]), self.number(args[1]), self.number(args[2]))
        args = [self.number(a) for a in args]
        if i.op in CALL_OPS:
            return b.emit(i.op, *args, imm=i.imm)
        if i.op in ("add", "sub"):
            return self._sum(i.op, i.args, args)
        if i.op in ("min", "max"):
            return self._extremum(i.op, i.args, args)
        if i.op == "pow":
            return RULES["pow"](b, args[0], i.imm)
        if i.op in self.native:
            return b.emit(i.op, *args)
        if i.op == "atan2" and self.positive[i.args[1]]:
            return forward_atan2(b, *args)
        lone = LONE.get(i.op) if i.args[0] not in self.paired else None
        rule = lone or _DIRECT.get(i.op) or RULES.get(i.op)
        if rule is None:
            raise UnknownOperation(f"{self.name}: no rule to lower the operation {i.op!r}")
        return rule(b, *args)

    def _in_range(self, value: float) -> float:
        """Return a constant of the model; raises if it overflows or underflows in the precision."""
        with np.errstate(all="ignore"):
            rounded = float(self.b.dtype.type(value))
        if math.isinf(rounded) != math.isinf(value) or (rounded == 0.0) != (value == 0.0):
            what = "too large" if math.isinf(rounded) else "too small"
            raise InvalidValue(
                f"{self.name} has the constant {value:g}, which is {what} for {self.b.precision}: "
                "it would become infinite or zero. Take float64, or another constant"
            )
        return value

    def _sum(self, op: str, traced: tuple[int, ...], args: list[int]) -> int:
        """A sum or difference; a product that is used by sums only is merged into an fma."""
        b, (p, q), (x, y) = self.b, traced, args
        if p in self.fused:
            f, g = (self.number(self.place[a]) for a in self.code[p].args)
            return b.fma(f, g, y if op == "add" else b.neg(y))
        if q in self.fused:
            f, g = (self.number(self.place[a]) for a in self.code[q].args)
            return b.fma(f if op == "add" else b.neg(f), g, x)
        return b.emit(op, x, y)

    def _extremum(self, op: str, traced: tuple[int, ...], args: list[int]) -> int:
        """Minimum or maximum; NaN if either is NaN.

        If one argument is surely finite, a single operation is enough.
        """
        b, (x, y) = self.b, args
        if op in self.native:
            return b.emit(op, x, y)
        sure = [self._surely_finite(k) for k in traced]
        if sure[0] and not sure[1]:
            x, y = y, x
        beyond = b.lt(y, x) if op == "min" else b.lt(x, y)
        chosen = b.select(beyond, y, x)
        return chosen if any(sure) else b.select(b.eq(y, y), chosen, y)

    def _surely_finite(self, k: int) -> bool:
        """Whether a value is surely finite, from its operation.

        That is a constant or a held input, which is checked, or the negative of one.
        """
        i = self.code[k]
        while i.op in ("neg", "abs"):
            k = i.args[0]
            i = self.code[k]
        return i.op == "const" or (i.op == "input" and self.held[k])


def with_shared_reciprocals(program: Program) -> Program:
    """Rewrite a / d as a * (1 / d) where the reciprocal is shared or held.

    A division costs at least ten multiplications. A divisor shared by several divisions needs one
    reciprocal, and one that is held over a rollout needs it once; each costs half an ulp. CasADi
    folds a * (1 / d) back into a / d, so this cannot be left to the model.
    """
    divisors = Counter(i.args[1] for i in program.code if i.op == "div")
    inverted = {d for d, uses in divisors.items() if uses > 1 or program.held[d]}
    if not inverted:
        return program
    code: list[Instruction] = []
    place: list[int] = []
    reciprocals: dict[int, int] = {}
    for i in program.code:
        args = tuple([place[a] for a in i.args])
        i = i if args == i.args else Instruction(i.op, args, i.imm)
        divisor = program.code[len(place)].args[1:2]
        if i.op == "div" and divisor[0] in inverted:
            if i.args[1] not in reciprocals:
                code += [Instruction("const", (), 1.0), Instruction("div", (len(code), i.args[1]))]
                reciprocals[i.args[1]] = len(code) - 1
            if code[i.args[0]] == Instruction("const", (), 1.0):
                place.append(reciprocals[i.args[1]])
                continue
            i = Instruction("mul", (i.args[0], reciprocals[i.args[1]]))
        place.append(len(code))
        code.append(i)
    results = tuple(tuple(place[r] for r in result) for result in program.results)
    return replace(program, code=tuple(code), results=results)


def _sign(b: Builder, x: int) -> int:
    """Sign of x: -1 or 1, or x itself where x is zero or NaN."""
    zero = b.const(0.0)
    positive = b.select(b.lt(zero, x), b.const(1.0), x)
    return b.select(b.lt(x, zero), b.const(-1.0), positive)


def _ceil(b: Builder, x: int) -> int:
    return b.neg(b.floor(b.neg(x)))


_DIRECT: dict[str, Callable[..., int]] = {
    **{
        op: getattr(Builder, op)
        for op in ("mul", "div", "neg", "abs", "sqrt", "floor", "copysign", "read")
    },
    **{op: getattr(Builder, op) for op in ("lt", "le", "eq", "ne")},
    "sign": _sign,
    "ceil": _ceil,
}
