"""Emit the operations of a lowered Program as LLVM vector instructions, one lane per vehicle.

The vectors are written out (`<16 x double>`), nothing is left to an auto-vectoriser, and no
fast-math flag is set, so every lane computes the same bits at every width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from llvmlite import ir

from ..errors import UnknownOperation
from .builder import MAGIC
from .program import Instruction, Program

I1 = ir.IntType(1)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()

_MANTISSA_BITS = {"float64": 52, "float32": 23}
_BIAS = {"float64": 1023, "float32": 127}


class Target:
    """The LLVM types for one precision and lane count, and constants of them."""

    def __init__(self, module: ir.Module, precision: str, lanes: int) -> None:
        self.module = module
        self.precision = precision
        self.lanes = lanes
        double = precision == "float64"
        self.bytes = 8 if double else 4
        self.scalar: Any = ir.DoubleType() if double else ir.FloatType()
        self.integer: Any = I64 if double else I32
        self.vector = self.widen(self.scalar)
        self.bits = self.widen(self.integer)
        self.suffix = (f"v{lanes}" if lanes > 1 else "") + ("f64" if double else "f32")

    def widen(self, element: Any) -> Any:
        """The type of one value per lane."""
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def number(self, value: float) -> Any:
        """The same number in every lane."""
        return ir.Constant(self.vector, [value] * self.lanes if self.lanes > 1 else value)

    def word(self, value: int) -> Any:
        """The same integer, as wide as a number, in every lane."""
        return ir.Constant(self.bits, [value] * self.lanes if self.lanes > 1 else value)

    def intrinsic(self, builder: ir.IRBuilder, name: str, args: Sequence[Any]) -> Any:
        """Call llvm.NAME on numbers of this type."""
        full = f"llvm.{name}.{self.suffix}"
        known = self.module.globals.get(full)
        kind = ir.FunctionType(self.vector, [self.vector] * len(args))
        return builder.call(known or ir.Function(self.module, kind, full), list(args))

    def splat(self, builder: ir.IRBuilder, value: Any) -> Any:
        """A scalar repeated in every lane."""
        if self.lanes == 1:
            return value
        empty = ir.Constant(ir.VectorType(value.type, self.lanes), ir.Undefined)
        first = builder.insert_element(empty, value, ir.Constant(I32, 0))
        mask = ir.Constant(ir.VectorType(I32, self.lanes), [0] * self.lanes)
        return builder.shuffle_vector(first, empty, mask)


def _fcmp(predicate: str) -> Callable[..., Any]:
    def emit(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
        compare = b.fcmp_unordered if predicate == "!=" else b.fcmp_ordered
        return compare(predicate, *args)

    return emit


def _intrinsic(name: str) -> Callable[..., Any]:
    return lambda t, b, args, imm: t.intrinsic(b, name, args)


def _method(name: str) -> Callable[..., Any]:
    return lambda t, b, args, imm: getattr(b, name)(*args)


def _testbit(t: Target, b: ir.IRBuilder, args: list[Any], bit: int) -> Any:
    masked = b.and_(b.bitcast(args[0], t.bits), t.word(1 << bit))
    return b.icmp_signed("!=", masked, t.word(0))


def _pow2(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    shifted = b.fadd(args[0], t.number(MAGIC[t.precision]))
    biased = b.add(b.bitcast(shifted, t.bits), t.word(_BIAS[t.precision]))
    return b.bitcast(b.shl(biased, t.word(_MANTISSA_BITS[t.precision])), t.vector)


def _mantissa(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    width = _MANTISSA_BITS[t.precision]
    fraction = b.and_(b.bitcast(args[0], t.bits), t.word((1 << width) - 1))
    return b.bitcast(b.or_(fraction, t.word(_BIAS[t.precision] << width)), t.vector)


def _exponent(t: Target, b: ir.IRBuilder, args: list[Any], imm: Any) -> Any:
    field = b.lshr(b.bitcast(args[0], t.bits), t.word(_MANTISSA_BITS[t.precision]))
    bias = _BIAS[t.precision]
    return b.sitofp(b.sub(b.and_(field, t.word(2 * bias + 1)), t.word(bias)), t.vector)


_EMIT: dict[str, Callable[..., Any]] = {
    "add": _method("fadd"),
    "sub": _method("fsub"),
    "mul": _method("fmul"),
    "div": _method("fdiv"),
    "neg": _method("fneg"),
    "select": _method("select"),
    "and": _method("and_"),
    "or": _method("or_"),
    "xor": _method("xor"),
    "not": _method("not_"),
    "fma": _intrinsic("fma"),
    "abs": _intrinsic("fabs"),
    "sqrt": _intrinsic("sqrt"),
    "rint": _intrinsic("rint"),
    "floor": _intrinsic("floor"),
    "copysign": _intrinsic("copysign"),
    "lt": _fcmp("<"),
    "le": _fcmp("<="),
    "eq": _fcmp("=="),
    "ne": _fcmp("!="),
    "testbit": _testbit,
    "pow2": _pow2,
    "mantissa": _mantissa,
    "exponent": _exponent,
}


def emit_operation(target: Target, builder: ir.IRBuilder, i: Instruction, args: list[Any]) -> Any:
    """The LLVM value of one lowered operation."""
    emit = _EMIT.get(i.op)
    if emit is None:
        raise UnknownOperation(f"the LLVM target has no operation {i.op!r}")
    return emit(target, builder, args, i.imm)


class Body:
    """The operations of a Program, emitted in parts: what is constant over a rollout, then the
    rest.

    Emitting a part only moves operations; it changes no rounding, so the bits stay the same.
    """

    def __init__(self, target: Target, program: Program) -> None:
        self.target = target
        self.program = program
        self.values: dict[int, Any] = {}

    def copy(self) -> Body:
        """A body with what is emitted so far, to go on from inside a loop."""
        other = Body(self.target, self.program)
        other.values = dict(self.values)
        return other

    def emit(self, builder: ir.IRBuilder, inputs: Mapping[int, Sequence[Any]]) -> None:
        """Emit every operation that depends only on these ports and on what was emitted before.

        `inputs` maps a port number to the vector values of its fields.
        """
        for k, i in enumerate(self.program.code):
            if k in self.values:
                continue
            if i.op == "const":
                self.values[k] = self.target.number(i.imm)
            elif i.op == "input":
                if i.imm[0] in inputs:
                    self.values[k] = inputs[i.imm[0]][i.imm[1]]
            elif all(a in self.values for a in i.args):
                args = [self.values[a] for a in i.args]
                self.values[k] = emit_operation(self.target, builder, i, args)

    def results(self, port: int) -> list[Any]:
        """The values of an output port, once everything it needs is emitted."""
        return [self.values[r] for r in self.program.results[port]]


def finite_check(target: Target, builder: ir.IRBuilder, values: Iterable[Any]) -> Any:
    """0 where all values are finite, NaN where one is not: the sum of value times zero."""
    zero = target.number(0.0)
    total = zero
    for value in values:
        total = target.intrinsic(builder, "fma", [value, zero, total])
    return total
