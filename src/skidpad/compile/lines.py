"""LLVM's types for one precision and lane count, and instructions as lines of its text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any

from llvmlite import ir

I1 = ir.IntType(1)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()
CACHE_LINE = 64
"""Bytes that memory is read and written in, about as wide as the widest registers."""


class Text(ir.Value):
    """A value as LLVM's text has it, for llvmlite to use like its own.

    llvmlite keeps an object of many parts for each instruction and compares types as it goes: three
    times the work, where LLVM itself checks the text when it reads it.
    """

    def __init__(self, kind: Any, reference: str, line: str = "") -> None:
        self.type = kind
        self._reference = reference
        self._line = line

    def get_reference(self) -> str:
        """How other instructions write it."""
        return self._reference

    def __str__(self) -> str:
        return self._line


class Target:
    """The LLVM types for one precision and lane count, constants of them, and lines of text."""

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
        """Functions of the Program that are in the module, by number."""
        self._lines = count()
        self._numbers: dict[tuple[float, float], Any] = {}

    def align_stack(self, function: ir.Function) -> None:
        """Have a function keep its values on a stack as aligned as they are: of itself LLVM writes
        vectors across two lines of the cache there, which takes twice the time."""
        if self.lanes > 1:
            function.attributes.alignstack = min(self.lanes * self.bytes, CACHE_LINE)
            # llvmlite writes the alignment beside a named attribute only.
            function.attributes.add("nounwind")

    def widen(self, element: Any) -> Any:
        """The type of one value per lane."""
        return ir.VectorType(element, self.lanes) if self.lanes > 1 else element

    def number(self, value: float) -> Any:
        """The same number in every lane."""
        # Zeros of both signs are equal, and no NaN is equal to itself.
        key = value, math.copysign(1.0, value)
        if key not in self._numbers:
            self._numbers[key] = self.everywhere(ir.Constant(self.scalar, value))
        return self._numbers[key]

    def word(self, value: int) -> Any:
        """The same integer, as wide as a number, in every lane."""
        return self.everywhere(ir.Constant(self.integer, value))

    def everywhere(self, constant: Any) -> Any:
        """The same constant in every lane."""
        if self.lanes == 1:
            return constant
        return Text(self.widen(constant.type), f"splat ({constant})")

    def write(self, builder: ir.IRBuilder, kind: Any, text: str) -> Text:
        """An instruction at the end of the builder's block; its value is of this kind."""
        name = f"%v{next(self._lines)}"
        return _append(builder, Text(kind, name, f"{name} = {text}"))

    def apply(self, builder: ir.IRBuilder, op: str, kind: Any, args: Sequence[Any]) -> Text:
        """An instruction whose operands are all of the type of the first."""
        operands = ", ".join([a.get_reference() for a in args])
        return self.write(builder, kind, f"{op} {args[0].type} {operands}")

    def cast(self, builder: ir.IRBuilder, op: str, value: Any, kind: Any) -> Text:
        """A value as one of another type."""
        return self.write(builder, kind, f"{op} {value.type} {value.get_reference()} to {kind}")

    def intrinsic(self, builder: ir.IRBuilder, name: str, args: Sequence[Any]) -> Any:
        """Call llvm.NAME on numbers of this type."""
        full = f"llvm.{name}.{self.suffix}"
        if full not in self.module.globals:
            kind = ir.FunctionType(self.vector, [self.vector] * len(args))
            ir.Function(self.module, kind, full)
        operands = ", ".join([f"{self.vector} {a.get_reference()}" for a in args])
        return self.write(builder, self.vector, f"call {self.vector} @{full}({operands})")

    def address(self, builder: ir.IRBuilder, base: Any, place: int) -> Any:
        """Where the value with this number lies, of those from a base on."""
        text = f"getelementptr {self.vector}, ptr {base.get_reference()}, i64 {place}"
        return self.write(builder, POINTER, text)

    def load(self, builder: ir.IRBuilder, address: Any) -> Any:
        """The value at an address."""
        text = f"load {self.vector}, ptr {address.get_reference()}"
        return self.write(builder, self.vector, text)

    def store(self, builder: ir.IRBuilder, value: Any, address: Any) -> None:
        """Put a value at an address."""
        text = f"store {value.type} {value.get_reference()}, ptr {address.get_reference()}"
        _append(builder, Text(ir.VoidType(), "", text))

    def splat(self, builder: ir.IRBuilder, value: Any) -> Any:
        """A scalar repeated in every lane."""
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
