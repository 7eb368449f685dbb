"""Builder: writes lowered instructions, each distinct value once.

Value numbering is what shares a range reduction between sin and cos of the same argument: both ask
for the same instructions and get the same indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operations import BOOL_OPS, Instruction

MAGIC = {"float64": 1.5 * 2.0**52, "float32": 1.5 * 2.0**23}
"""Adding this to a number of moderate size rounds it to an integer, which then stands in the low
bits of the representation of the sum: the bits `testbit` looks at."""


class Builder:
    """Collects lowered instructions for one precision. Methods take and return instruction
    indices."""

    def __init__(self, precision: str, *, careful: bool = True) -> None:
        self.precision = precision
        self.careful = careful
        """Whether infinities and 0/0 are treated as documented; fast mode saves the operations."""
        self.double = precision == "float64"
        self.dtype: Any = np.dtype(precision)
        self.code: list[Instruction] = []
        self._numbered: dict[Instruction, int] = {}

    def emit(self, op: str, *args: int, imm: Any = None) -> int:
        """The index of this operation, written only if it is new."""
        instruction = Instruction(op, args, imm)
        index = self._numbered.get(instruction)
        if index is None:
            index = self._numbered[instruction] = len(self.code)
            self.code.append(instruction)
        return index

    def const(self, value: float) -> int:
        """A number, rounded to the precision. NaN and -0.0 are kept apart from other constants."""
        rounded = float(self.dtype.type(value))
        key = Instruction("const", (), rounded.hex())
        index = self._numbered.get(key)
        if index is None:
            index = self._numbered[key] = len(self.code)
            self.code.append(Instruction("const", (), rounded))
        return index

    def is_bool(self, index: int) -> bool:
        """Whether the value is a boolean."""
        return self.code[index].op in BOOL_OPS

    def is_const(self, index: int) -> bool:
        """Whether the value is a constant."""
        return self.code[index].op == "const"

    def add(self, a: int, b: int) -> int:
        """a + b"""
        return self.emit("add", a, b)

    def sub(self, a: int, b: int) -> int:
        """a - b"""
        return self.emit("sub", a, b)

    def mul(self, a: int, b: int) -> int:
        """a * b"""
        return self.emit("mul", a, b)

    def div(self, a: int, b: int) -> int:
        """a / b"""
        return self.emit("div", a, b)

    def fma(self, a: int, b: int, c: int) -> int:
        """a * b + c, rounded once."""
        return self.emit("fma", a, b, c)

    def neg(self, a: int) -> int:
        """-a"""
        i = self.code[a]
        if i.op == "neg":
            return i.args[0]
        return self.const(-i.imm) if i.op == "const" else self.emit("neg", a)

    def abs(self, a: int) -> int:
        """|a|"""
        return self.emit("abs", a)

    def sqrt(self, a: int) -> int:
        """Square root, correctly rounded; NaN below zero."""
        return self.emit("sqrt", a)

    def rint(self, a: int) -> int:
        """Nearest integer, ties to even."""
        return self.emit("rint", a)

    def floor(self, a: int) -> int:
        """Largest integer not above a."""
        return self.emit("floor", a)

    def copysign(self, a: int, b: int) -> int:
        """|a| with the sign of b."""
        return self.emit("copysign", a, b)

    def lt(self, a: int, b: int) -> int:
        """a < b"""
        return self.emit("lt", a, b)

    def le(self, a: int, b: int) -> int:
        """a <= b"""
        return self.emit("le", a, b)

    def eq(self, a: int, b: int) -> int:
        """a == b"""
        return self.emit("eq", a, b)

    def ne(self, a: int, b: int) -> int:
        """a != b, true for NaN."""
        return self.emit("ne", a, b)

    def logical_and(self, a: int, b: int) -> int:
        """Both booleans hold."""
        return self.emit("and", a, b)

    def logical_or(self, a: int, b: int) -> int:
        """At least one boolean holds."""
        return self.emit("or", a, b)

    def xor(self, a: int, b: int) -> int:
        """Exactly one boolean holds."""
        return self.emit("xor", a, b)

    def logical_not(self, a: int) -> int:
        """The boolean does not hold."""
        return self.emit("not", a)

    def select(self, condition: int, a: int, b: int) -> int:
        """a where the condition holds, else b."""
        return a if a == b else self.emit("select", condition, a, b)

    def testbit(self, a: int, bit: int) -> int:
        """A bit of the representation of a, as a boolean."""
        return self.emit("testbit", a, imm=bit)

    def pow2(self, n: int) -> int:
        """2**n for integral n with a normal result."""
        return self.emit("pow2", n)

    def mantissa(self, a: int) -> int:
        """a with exponent 0 and no sign: in [1, 2) for normal a."""
        return self.emit("mantissa", a)

    def exponent(self, a: int) -> int:
        """Unbiased exponent field of a, as a number."""
        return self.emit("exponent", a)

    def read(self, number: int, index: int) -> int:
        """An element of a shared array."""
        return self.emit("read", number, index)

    def magic(self) -> int:
        """The constant that rounds to an integer when added."""
        return self.const(MAGIC[self.precision])

    def horner(self, z: int, coefficients: tuple[float, ...]) -> int:
        """Polynomial in z by fma; coefficients from the highest power down."""
        value = self.const(coefficients[0])
        for c in coefficients[1:]:
            value = self.fma(value, z, self.const(c))
        return value
