"""LLVM types for one precision and lane count, instructions as lines of text, and `read`.

`read` is an element of a shared array for each lane, by the number of the array. The module has the
address of the table of arrays (see `skidpad.core.arrays`) as a global, and a function that sets it,
which is called after loading. A number without an array reads from a block of a single NaN, so that
there is no branch and every address is valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from llvmlite import ir

from ..core.arrays import HEADER, MOST_ARRAYS

I1 = ir.IntType(1)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()
CACHE_LINE = 64
"""Alignment of memory in bytes, about as wide as the widest registers."""


class Text(ir.Value):
    """A value written as LLVM text, used by llvmlite like its own values.

    llvmlite creates an object of many parts for each instruction and compares types on the way:
    three times the work, although LLVM itself checks the text when it parses it.
    """

    def __init__(self, kind: Any, reference: str, line: str = "") -> None:
        self.type = kind
        self._reference = reference
        self._line = line

    def get_reference(self) -> str:
        """Text by which other instructions refer to the value."""
        return self._reference

    def __str__(self) -> str:
        return self._line


class Target:
    """LLVM types and constants of one precision and lane count, and writers of instructions."""

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
        self.truth = self.widen(I1)
        self.suffix = (f"v{lanes}" if lanes > 1 else "") + ("f64" if double else "f32")
        self.functions: dict[int, Any] = {}
        """Functions of the Program that are already in the module, by number."""
        self._lines = count()
        self._numbers: dict[tuple[float, float], Any] = {}

    def align_stack(self, function: ir.Function) -> None:
        """Align a function's stack frame to the vectors on it.

        By default LLVM writes vectors there across two cache lines, which takes twice the time.
        """
        if self.lanes > 1:
            function.attributes.alignstack = min(self.lanes * self.bytes, CACHE_LINE)
            # llvmlite writes the alignment only if there is another attribute with a name.
            function.attributes.add("nounwind")

    def widen(self, element: Any) -> Any:
        """Vector type with one value per lane."""
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def number(self, value: float) -> Any:
        """Vector constant with the same number in every lane."""
        # The cache key is the bit pattern, since 0 == -0 and NaN != NaN.
        key = value, math.copysign(1.0, value)
        if key not in self._numbers:
            self._numbers[key] = self.everywhere(ir.Constant(self.scalar, value))
        return self._numbers[key]

    def word(self, value: int) -> Any:
        """Vector constant with the same integer in every lane, as wide as a number of the
        precision.
        """
        return self.everywhere(ir.Constant(self.integer, value))

    def everywhere(self, constant: Any) -> Any:
        if self.lanes == 1:
            return constant
        return Text(self.widen(constant.type), f"splat ({constant})")

    def write(self, builder: ir.IRBuilder, kind: Any, text: str) -> Text:
        """Write an instruction with a result of type `kind` at the end of the builder's block."""
        name = f"%v{next(self._lines)}"
        return _append(builder, Text(kind, name, f"{name} = {text}"))

    def apply(self, builder: ir.IRBuilder, op: str, kind: Any, args: Sequence[Any]) -> Text:
        """Write an instruction whose operands all have the type of the first."""
        operands = ", ".join([a.get_reference() for a in args])
        return self.write(builder, kind, f"{op} {args[0].type} {operands}")

    def cast(self, builder: ir.IRBuilder, op: str, value: Any, kind: Any) -> Text:
        return self.write(builder, kind, f"{op} {value.type} {value.get_reference()} to {kind}")

    def intrinsic(self, builder: ir.IRBuilder, name: str, args: Sequence[Any]) -> Any:
        """Call the intrinsic llvm.NAME on numbers of this type."""
        full = f"llvm.{name}.{self.suffix}"
        if full not in self.module.globals:
            kind = ir.FunctionType(self.vector, [self.vector] * len(args))
            ir.Function(self.module, kind, full)
        operands = ", ".join([f"{self.vector} {a.get_reference()}" for a in args])
        return self.write(builder, self.vector, f"call {self.vector} @{full}({operands})")

    def address(self, builder: ir.IRBuilder, base: Any, place: int) -> Any:
        """Address of value number `place` after a base."""
        text = f"getelementptr {self.vector}, ptr {base.get_reference()}, i64 {place}"
        return self.write(builder, POINTER, text)

    def load(self, builder: ir.IRBuilder, address: Any) -> Any:
        text = f"load {self.vector}, ptr {address.get_reference()}"
        return self.write(builder, self.vector, text)

    def store(self, builder: ir.IRBuilder, value: Any, address: Any) -> None:
        text = f"store {value.type} {value.get_reference()}, ptr {address.get_reference()}"
        _append(builder, Text(ir.VoidType(), "", text))

    def splat(self, builder: ir.IRBuilder, value: Any) -> Any:
        if self.lanes == 1:
            return value
        kind = ir.VectorType(value.type, self.lanes)
        text = f"insertelement {kind} undef, {value.type} {value.get_reference()}, i32 0"
        first = self.write(builder, kind, text).get_reference()
        text = f"shufflevector {kind} {first}, {kind} undef, <{self.lanes} x i32> zeroinitializer"
        return self.write(builder, kind, text)


def _append(builder: ir.IRBuilder, line: Text) -> Text:
    block: Any = builder.block
    block.instructions.append(line)
    builder.position_at_end(block)
    return line


SETTER = "skidpad_set_arrays_"
"""Stem of the function that sets the table address in a module; the precision follows."""

_TABLE, _NONE = "arrays", "no_array"


class LaneArrays(NamedTuple):
    """The shared arrays of the lanes: addresses and last indices."""

    block: Any
    """Address of each lane's array, as a 64-bit integer."""
    last: Any
    """Last index of each lane's array, as a number."""

    @classmethod
    def of(cls, t: Target, b: ir.IRBuilder, number: Any) -> LaneArrays:
        """Look up the array with each lane's number; reads of the same number share the result."""
        table = b.load(_table(t), typ=I64)
        whole = b.fcmp_ordered("==", t.intrinsic(b, "floor", [number]), number)
        within = b.and_(
            b.fcmp_ordered(">=", number, t.number(1.0)),
            b.fcmp_ordered("<", number, t.number(float(MOST_ARRAYS))),
        )
        # No array has the number 0.
        known = b.select(b.and_(whole, within), number, t.number(0.0))
        offset = b.mul(_integer(t, b, known), _words(t, 8))
        entry = _load(t, b, b.add(t.splat(b, table), offset), I64)
        nothing = t.splat(b, b.ptrtoint(t.module.globals[_NONE], I64))
        block = b.select(b.icmp_signed("==", entry, _words(t, 0)), nothing, entry)
        count = _load(t, b, block, I64)
        return cls(block, b.sitofp(b.sub(count, _words(t, 1)), t.vector))


def element(t: Target, b: ir.IRBuilder, array: LaneArrays, index: Any) -> Any:
    """The element at each lane's index: the nearest if it is outside, NaN if it is NaN."""
    zero = t.number(0.0)
    at = b.select(b.fcmp_ordered(">", index, zero), index, zero)
    at = b.select(b.fcmp_ordered("<", at, array.last), at, array.last)
    offset = b.mul(_integer(t, b, at), _words(t, t.bytes))
    place = b.add(b.add(array.block, _words(t, HEADER)), offset)
    value = _load(t, b, place, t.scalar)
    return b.select(b.fcmp_ordered("ord", index, index), value, t.number(float("nan")))


def _word(value: int) -> Any:
    return ir.Constant(I64, value)


def _words(t: Target, value: int) -> Any:
    return t.everywhere(_word(value))


def _integer(t: Target, b: ir.IRBuilder, number: Any) -> Any:
    return b.fptosi(number, t.widen(I64))


def _load(t: Target, b: ir.IRBuilder, addresses: Any, kind: Any) -> Any:
    if t.lanes == 1:
        return b.load(b.inttoptr(addresses, POINTER), typ=kind)
    vector = t.widen(kind)
    size = 8 if kind is I64 else t.bytes
    name = {"double": "f64", "float": "f32"}.get(str(kind), str(kind))
    full = f"llvm.masked.gather.v{t.lanes}{name}.v{t.lanes}p0"
    pointers: Any = b.inttoptr(addresses, t.widen(POINTER))
    everywhere: Any = ir.Constant(t.widen(I1), [1] * t.lanes)
    signature = ir.FunctionType(vector, [pointers.type, I32, everywhere.type, vector])
    gather = t.module.globals.get(full) or ir.Function(t.module, signature, full)
    zero = ir.Constant(vector, [0] * t.lanes)
    return b.call(gather, [pointers, ir.Constant(I32, size), everywhere, zero])


def _table(t: Target) -> Any:
    """The global with the address of the table, declared with its setter if it is missing."""
    known = t.module.globals.get(_TABLE)
    if known is not None:
        return known
    table: Any = ir.GlobalVariable(t.module, I64, _TABLE)
    table.linkage, table.initializer = "internal", _word(0)
    block = ir.LiteralStructType([I64, t.scalar])
    nothing: Any = ir.GlobalVariable(t.module, block, _NONE)
    nothing.linkage, nothing.global_constant = "internal", True
    nothing.initializer = ir.Constant(block, [_word(1), ir.Constant(t.scalar, float("nan"))])
    kind = ir.FunctionType(ir.VoidType(), [I64])
    setter = ir.Function(t.module, kind, SETTER + t.precision)
    b = ir.IRBuilder(setter.append_basic_block())
    b.store(setter.args[0], table)
    b.ret_void()
    return table
