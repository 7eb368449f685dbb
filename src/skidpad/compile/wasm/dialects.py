"""Two ways of writing the operations of Programs.

**Vector.** WebAssembly has a fused multiply-add for vectors only, so every number is a vector of
equal lanes: loads fill all lanes, and the first is stored. That costs nothing on current
processors, which take as long for two lanes as for one, and truth values become masks, which a
blend takes instead of a branch. The multiply-add is a relaxed instruction: it may round twice on a
processor without a better one, so the host has to test it after loading (`fused_here`).

**Scalar.** Only the first version of WebAssembly; `fma` is a function.

Each operation gives the bits of the other targets.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import UnknownOperation
from ..program import BOOL_OPS, MAGIC
from .binary import F32, F64, I32, V128, call, first_lane, i32, i64, load, op, store


class Format(NamedTuple):
    """A precision: how its numbers lie in memory and what its instructions are called."""

    scalar: str
    lanes: str
    whole: str
    """Whole numbers of the same size."""
    whole_lanes: str
    kind: bytes
    bytes: int
    mantissa_bits: int
    bias: int

    @property
    def magic(self) -> int:
        """The bits of the number that rounds what is added to it to whole numbers."""
        return self.bits_of(MAGIC["float64" if self.bytes == 8 else "float32"])

    @property
    def field(self) -> int:
        """The bits of an exponent, moved to the right end."""
        return 2 * self.bias + 1

    def bits_of(self, value: float) -> int:
        """The representation of a number."""
        code, whole = ("<d", "<Q") if self.bytes == 8 else ("<f", "<I")
        return struct.unpack(whole, struct.pack(code, value))[0]


FORMATS = {
    "float64": Format("f64", "f64x2", "i64", "i64x2", F64, 8, 52, 1023),
    "float32": Format("f32", "f32x4", "i32", "i32x4", F32, 4, 23, 127),
}
"""By precision."""


class Helpers(NamedTuple):
    """Indices of the functions of a module that operations call."""

    fma: int
    """Not asked for where it is an instruction."""
    read: int
    """Not asked for where no Program reads arrays."""


@dataclass(frozen=True)
class Dialect:
    """How one kind of module writes the operations of one precision."""

    format: Format
    number: bytes
    """Type of numbers."""
    truth: bytes
    """Type of truth values."""
    loads: str
    stores: str
    plain: Mapping[str, str]
    """Operations that are one instruction each."""
    special: Mapping[str, Callable[[Writer, Sequence[bytes], int], bytes]]
    """What writes the others, given their operands and immediates."""


class Writer:
    """Writes operations in a dialect, for one module."""

    def __init__(self, dialect: Dialect, helpers: Helpers, constant: Callable[[int], int]) -> None:
        self.dialect, self.format, self.helpers = dialect, dialect.format, helpers
        self._constant = constant
        """Where a number lies in memory, by its bits."""

    def kind(self, operation: str) -> bytes:
        """The type of what an operation gives."""
        return self.dialect.truth if operation in BOOL_OPS else self.dialect.number

    def load(self, address: bytes, offset: int) -> bytes:
        """A number from memory."""
        return load(self.dialect.loads, address, offset)

    def store(self, address: bytes, offset: int, value: bytes) -> bytes:
        """A number into memory."""
        return store(self.dialect.stores, address, offset, value)

    def constant(self, bits: int) -> bytes:
        """A constant with these bits. From memory: it is one instruction, where a processor needs
        several for one that is written in the code, and a third shorter."""
        return self.load(i32(0), self._constant(bits))

    def number(self, value: float) -> bytes:
        """A number as a constant."""
        return self.constant(self.format.bits_of(value))

    def write(self, operation: str, imm: int | None, args: Sequence[bytes]) -> bytes:
        """The code of one operation on the code of its operands."""
        plain = self.dialect.plain.get(operation)
        if plain is not None:
            return op(plain, *args)
        special = self.dialect.special.get(operation)
        if special is None:
            raise UnknownOperation(f"the WebAssembly emitter has no operation {operation!r}")
        return special(self, args, imm or 0)


_SAME = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "neg": "neg", "abs": "abs"} | {
    "sqrt": "sqrt",
    "rint": "nearest",
    "floor": "floor",
    **{name: name for name in ("lt", "le", "eq", "ne")},
}
"""Operations that are instructions of both dialects."""


def _lane_select(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    # Relaxed, it may look at one bit of each lane of the mask or at all; here they are equal.
    return op(f"{w.format.whole_lanes}.relaxed_laneselect", args[1], args[2], args[0])


def _lane_copysign(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    sign = w.constant(1 << (8 * w.format.bytes - 1))
    return op("v128.bitselect", args[1], args[0], sign)


def _lane_testbit(w: Writer, args: Sequence[bytes], bit: int) -> bytes:
    mask = w.constant(1 << bit)
    return op(f"{w.format.whole_lanes}.eq", op("v128.and", args[0], mask), mask)


def _lane_pow2(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f, whole = w.format, w.format.whole_lanes
    shifted = op(f"{f.lanes}.add", args[0], w.constant(f.magic))
    biased = op(f"{whole}.add", shifted, w.constant(f.bias))
    return op(f"{whole}.shl", biased, i32(f.mantissa_bits))


def _lane_mantissa(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f = w.format
    fraction = op("v128.and", args[0], w.constant((1 << f.mantissa_bits) - 1))
    return op("v128.or", fraction, w.number(1.0))


def _lane_exponent(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    # There is no conversion of whole numbers: in the last bits of 2**52 (float64) they are numbers.
    f = w.format
    moved = op(f"{f.whole_lanes}.shr_u", args[0], i32(f.mantissa_bits))
    field = op("v128.and", moved, w.constant(f.field))
    base = 2.0**f.mantissa_bits
    number = op("v128.or", field, w.number(base))
    return op(f"{f.lanes}.sub", number, w.number(base + f.bias))


def _lane_read(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f = w.format
    numbers = [first_lane(f"{f.lanes}.extract_lane", a) for a in args]
    return op(f"{f.lanes}.splat", call(w.helpers.read, *numbers))


def _select(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    return op("select", args[1], args[2], args[0])


def _bits(w: Writer, number: bytes) -> bytes:
    return op(f"{w.format.whole}.reinterpret_{w.format.scalar}", number)


def _from_bits(w: Writer, word: bytes) -> bytes:
    return op(f"{w.format.scalar}.reinterpret_{w.format.whole}", word)


def _word(w: Writer, value: int) -> bytes:
    return i64(value) if w.format.bytes == 8 else i32(value)


def _testbit(w: Writer, args: Sequence[bytes], bit: int) -> bytes:
    whole = w.format.whole
    moved = op(f"{whole}.shr_u", _bits(w, args[0]), _word(w, bit))
    last = op(f"{whole}.and", moved, _word(w, 1))
    return op("i32.wrap_i64", last) if w.format.bytes == 8 else last


def _pow2(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f, whole = w.format, w.format.whole
    shifted = _bits(w, op(f"{f.scalar}.add", args[0], w.constant(f.magic)))
    biased = op(f"{whole}.add", shifted, _word(w, f.bias))
    return _from_bits(w, op(f"{whole}.shl", biased, _word(w, f.mantissa_bits)))


def _mantissa(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f = w.format
    fraction = op(f"{f.whole}.and", _bits(w, args[0]), _word(w, (1 << f.mantissa_bits) - 1))
    return _from_bits(w, op(f"{f.whole}.or", fraction, _word(w, f.bias << f.mantissa_bits)))


def _exponent(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f = w.format
    moved = op(f"{f.whole}.shr_u", _bits(w, args[0]), _word(w, f.mantissa_bits))
    field = op(f"{f.whole}.and", moved, _word(w, f.field))
    return op(f"{f.scalar}.convert_{f.whole}_s", op(f"{f.whole}.sub", field, _word(w, f.bias)))


def vector_dialect(precision: str) -> Dialect:
    """Numbers as vectors of equal lanes, with the fused multiply-add of these."""
    f = FORMATS[precision]
    return Dialect(
        format=f,
        number=V128,
        truth=V128,
        loads=f"v128.load{8 * f.bytes}_splat",
        stores=f"v128.store{8 * f.bytes}_lane",
        plain={name: f"{f.lanes}.{instruction}" for name, instruction in _SAME.items()}
        | {name: f"v128.{name}" for name in ("and", "or", "xor", "not")}
        | {"fma": f"{f.lanes}.relaxed_madd"},
        special={
            "select": _lane_select,
            "copysign": _lane_copysign,
            "testbit": _lane_testbit,
            "pow2": _lane_pow2,
            "mantissa": _lane_mantissa,
            "exponent": _lane_exponent,
            "read": _lane_read,
        },
    )


def scalar_dialect(precision: str) -> Dialect:
    """Numbers as they are, with a fused multiply-add that is a function."""
    f = FORMATS[precision]
    return Dialect(
        format=f,
        number=f.kind,
        truth=I32,
        loads=f"{f.scalar}.load",
        stores=f"{f.scalar}.store",
        plain={name: f"{f.scalar}.{instruction}" for name, instruction in _SAME.items()}
        | {"and": "i32.and", "or": "i32.or", "xor": "i32.xor", "not": "i32.eqz"}
        | {"copysign": f"{f.scalar}.copysign"},
        special={
            "fma": lambda w, args, imm: call(w.helpers.fma, *args),
            "read": lambda w, args, imm: call(w.helpers.read, *args),
            "select": _select,
            "testbit": _testbit,
            "pow2": _pow2,
            "mantissa": _mantissa,
            "exponent": _exponent,
        },
    )
