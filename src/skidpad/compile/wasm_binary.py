"""The subset of WebAssembly's binary format that is needed here: numbers, instructions, sections.

Instructions are bytes; their operands stand before them, so expressions are nested calls:
`op("f64.add", get(0), get(1))`. Names and numbers are those of the WebAssembly Core Specification
3.0, which contains the vector instructions and the relaxed ones.

Operations of Programs are written in one of two dialects, vector or scalar.

**Vector.** WebAssembly has a fused multiply-add for vectors only, so every number is a vector of
equal lanes: loads fill all lanes, and the first is stored. That costs nothing on current
processors, which take as long for two lanes as for one, and booleans become masks, which a blend
takes instead of a branch. The multiply-add is a relaxed instruction: it may round twice on a
processor without a fused one, so the host has to test it after loading (`fused_here`).

**Scalar.** Only the first version of WebAssembly; `fma` is a function.

Each operation gives the bits of the other targets.

The fused multiply-add a*b + c, rounded once, as a function of instructions that each round.

In double precision the usual case is a product and a sum with their errors: the product is split
by Veltkamp's method (Dekker, A floating-point technique for extending the available precision,
1971), the sum is Knuth's. The two errors are added, and the sum of that and the high part is the
result, unless it could have been rounded twice: it lies half-way between two numbers, so that the
error of the sum of the errors could decide. In this case, and after a possible overflow or
underflow, the result is computed in integers (`whole_fma`): product and c become numbers of 128
bits, in two words each, which are added and rounded once, at the last digit of the result. All of
these checks lie outside the chain of operations that leads to the result, and are one branch.

Why the rest is right: let s be the rounded sum of the product's high part and c, d its error and e
that of the product. If d is zero, so is the error of d + e, and s + e is rounded once. Else
s has lost nothing to cancellation (Sterbenz), so |d + e| is at most 3/2 of a unit in the last place
of s, the half-way points near s are multiples of the last place of the rounded d + e, and the error
there is less than that place: it cannot take s + d + e across one of them.

In single precision the product is exact in double, and the sum is rounded to odd before it is
rounded again, as double has more than twice the digits at every size of the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from ..errors import UnknownOperation
from .program import BOOL_OPS, MAGIC

I32, I64, F32, F64, V128 = b"\x7f", b"\x7e", b"\x7d", b"\x7c", b"\x7b"
"""WebAssembly value types, as encoded bytes."""
EMPTY = b"\x40"
"""Type of a block without a value."""
END, ELSE, RETURN = b"\x0b", b"\x05", b"\x0f"
PAGE = 1 << 16
"""Size of a memory page in bytes."""

HEADER = b"\0asm\1\0\0\0"
TYPE, FUNCTION, MEMORY, EXPORT, CODE, DATA = 1, 3, 5, 7, 10, 11
"""Section numbers, in the order of the sections in a module."""

_COMPARED = ("eq", "ne", "lt", "gt", "le", "ge")
_INTEGERS = ("eqz", "eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u")
_ARITHMETIC = (
    *("clz", "ctz", "popcnt", "add", "sub", "mul", "div_s", "div_u", "rem_s", "rem_u"),
    *("and", "or", "xor", "shl", "shr_s", "shr_u"),
)
_FLOATING = (
    *("abs", "neg", "ceil", "floor", "trunc", "nearest", "sqrt", "add", "sub", "mul", "div"),
    *("min", "max", "copysign"),
)


def _numbered(kind: str, names: Sequence[str], first: int) -> dict[str, int]:
    return {f"{kind}.{name}": first + k for k, name in enumerate(names)}


_PLAIN = (
    {"select": 0x1B, "drop": 0x1A}
    | _numbered("i32", _INTEGERS, 0x45)
    | _numbered("i64", _INTEGERS, 0x50)
    | _numbered("f32", _COMPARED, 0x5B)
    | _numbered("f64", _COMPARED, 0x61)
    | _numbered("i32", _ARITHMETIC, 0x67)
    | _numbered("i64", _ARITHMETIC, 0x79)
    | _numbered("f32", _FLOATING, 0x8B)
    | _numbered("f64", _FLOATING, 0x99)
    | {
        "i32.wrap_i64": 0xA7,
        "i32.trunc_f32_s": 0xA8,
        "i32.trunc_f64_s": 0xAA,
        "i64.extend_i32_u": 0xAD,
    }
    | {"f32.convert_i32_s": 0xB2, "f32.demote_f64": 0xB6, "f64.convert_i64_s": 0xB9}
    | {"f64.convert_i32_s": 0xB7, "f64.promote_f32": 0xBB}
    | {"i32.reinterpret_f32": 0xBC, "i64.reinterpret_f64": 0xBD}
    | {"f32.reinterpret_i32": 0xBE, "f64.reinterpret_i64": 0xBF}
)
_LOADS = {"i32.load": (0x28, 2), "i64.load": (0x29, 3), "f32.load": (0x2A, 2)} | {
    "f64.load": (0x2B, 3)
}
_STORES = {"f32.store": (0x38, 2), "f64.store": (0x39, 3)}
_VECTOR = (
    {"f32x4.splat": 0x13, "f64x2.splat": 0x14}
    | _numbered("f32x4", _COMPARED, 0x41)
    | _numbered("f64x2", _COMPARED, 0x47)
    | _numbered("v128", ("not", "and", "andnot", "or", "xor", "bitselect"), 0x4D)
    | {"f32x4.floor": 0x68, "f32x4.nearest": 0x6A, "f64x2.floor": 0x75, "f64x2.nearest": 0x94}
    | {"i32x4.eq": 0x37, "i32x4.shl": 0xAB, "i32x4.shr_u": 0xAD, "i32x4.add": 0xAE}
    | {"i32x4.all_true": 0xA3, "i64x2.all_true": 0xC3}
    | {"i64x2.eq": 0xD6, "i64x2.shl": 0xCB, "i64x2.shr_u": 0xCD, "i64x2.add": 0xCE}
    | {"f32x4.abs": 0xE0, "f32x4.neg": 0xE1, "f32x4.sqrt": 0xE3}
    | {"f64x2.abs": 0xEC, "f64x2.neg": 0xED, "f64x2.sqrt": 0xEF}
    | _numbered("f32x4", ("add", "sub", "mul", "div"), 0xE4)
    | _numbered("f64x2", ("add", "sub", "mul", "div"), 0xF0)
    | {"f32x4.relaxed_madd": 0x105, "f64x2.relaxed_madd": 0x107}
    | {"i32x4.relaxed_laneselect": 0x10B, "i64x2.relaxed_laneselect": 0x10C}
)
_VECTOR_MEMORY = {"v128.load32_splat": (0x09, 2), "v128.load64_splat": (0x0A, 3)} | {
    "v128.store32_lane": (0x5A, 2),
    "v128.store64_lane": (0x5B, 3),
}
_LANES = {"f32x4.extract_lane": 0x1F, "f64x2.extract_lane": 0x21}


def unsigned(value: int) -> bytes:
    """A number in unsigned LEB128, in as few bytes as possible."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """A number in signed LEB128."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


_OPCODES = {name: bytes([code]) for name, code in _PLAIN.items()} | {
    name: b"\xfd" + unsigned(code) for name, code in _VECTOR.items()
}


def op(name: str, *operands: bytes) -> bytes:
    """An instruction without immediates, preceded by its operands."""
    return b"".join(operands) + _OPCODES[name]


def load(name: str, address: bytes, offset: int) -> bytes:
    """Load a value from `offset` bytes after an address."""
    prefix, (code, align) = (
        (b"", _LOADS[name]) if name in _LOADS else (b"\xfd", _VECTOR_MEMORY[name])
    )
    return address + prefix + bytes([code, align]) + unsigned(offset)


def store(name: str, address: bytes, offset: int, value: bytes) -> bytes:
    """Store a value `offset` bytes after an address; of a vector the first lane."""
    vector = name in _VECTOR_MEMORY
    code, align = _VECTOR_MEMORY[name] if vector else _STORES[name]
    prefix, lane = (b"\xfd", b"\0") if vector else (b"", b"")
    return address + value + prefix + bytes([code, align]) + unsigned(offset) + lane


def get(local: int) -> bytes:
    """Read a local variable."""
    return b"\x20" + unsigned(local)


def put(local: int, value: bytes) -> bytes:
    """Set a local variable."""
    return value + b"\x21" + unsigned(local)


def tee(local: int, value: bytes) -> bytes:
    """Set a local variable and leave its value on the stack."""
    return value + b"\x22" + unsigned(local)


def i32(value: int) -> bytes:
    return b"\x41" + signed(value)


def i64(value: int) -> bytes:
    """A 64-bit integer constant; numbers above the largest signed one are written by their bits."""
    return b"\x42" + signed(value - (1 << 64) if value >= 1 << 63 else value)


def call(function: int, *arguments: bytes) -> bytes:
    return b"".join(arguments) + b"\x10" + unsigned(function)


def when(condition: bytes, then: bytes, otherwise: bytes = b"", kind: bytes = EMPTY) -> bytes:
    """An if-else instruction; both branches leave a value of type `kind` unless that is `EMPTY`."""
    rest = ELSE + otherwise if otherwise else b""
    return condition + b"\x04" + kind + then + rest + END


def repeated(body: bytes) -> bytes:
    """A loop inside a block.

    In its body, `jump_if(1, ...)` leaves the loop and `jump_if(0, ...)` starts its next pass.
    """
    return b"\x02" + EMPTY + b"\x03" + EMPTY + body + END + END


def jump_if(depth: int, condition: bytes) -> bytes:
    """Leave `depth` blocks, or start a loop again, if the condition is not zero."""
    return condition + b"\x0d" + unsigned(depth)


def vector(items: Iterable[bytes]) -> bytes:
    """A vector of items, preceded by their number."""
    parts = list(items)
    return unsigned(len(parts)) + b"".join(parts)


def sized(content: bytes) -> bytes:
    """Bytes preceded by their number."""
    return unsigned(len(content)) + content


def section(number: int, content: bytes) -> bytes:
    return bytes([number]) + sized(content)


def signature(arguments: Sequence[bytes], results: Sequence[bytes]) -> bytes:
    """The type of a function."""
    return b"\x60" + vector(arguments) + vector(results)


def body(kinds: Sequence[bytes], code: bytes) -> bytes:
    """The code of a function, preceded by the types of its local variables other than arguments."""
    runs = [unsigned(len(list(run))) + kind for kind, run in groupby(kinds)]
    return sized(vector(runs) + code + END)


class Format(NamedTuple):
    """A precision: memory layout of its numbers and names of its instructions."""

    scalar: str
    lanes: str
    whole: str
    """Name of the integer type of the same size."""
    whole_lanes: str
    kind: bytes
    bytes: int
    mantissa_bits: int
    bias: int

    @property
    def magic(self) -> int:
        """Bits of the number that rounds numbers to integers when added; see `program.MAGIC`."""
        return self.bits_of(MAGIC["float64" if self.bytes == 8 else "float32"])

    @property
    def field(self) -> int:
        """Mask of the exponent field, shifted to the right end."""
        return 2 * self.bias + 1

    def bits_of(self, value: float) -> int:
        code, whole = ("<d", "<Q") if self.bytes == 8 else ("<f", "<I")
        return struct.unpack(whole, struct.pack(code, value))[0]


FORMATS = {
    "float64": Format("f64", "f64x2", "i64", "i64x2", F64, 8, 52, 1023),
    "float32": Format("f32", "f32x4", "i32", "i32x4", F32, 4, 23, 127),
}


class Helpers(NamedTuple):
    """Indices of the helper functions of a module that operations call."""

    fma: int
    """Unused where `fma` is an instruction."""
    read: int
    """Unused where no Program reads arrays."""


@dataclass(frozen=True)
class Dialect:
    """Types and instructions for the operations of one precision in one kind of module."""

    format: Format
    number: bytes
    """WebAssembly type of numbers."""
    truth: bytes
    """WebAssembly type of booleans."""
    loads: str
    stores: str
    plain: Mapping[str, str]
    """Instruction of each operation that is a single instruction."""
    special: Mapping[str, Callable[[Writer, Sequence[bytes], int], bytes]]
    """Functions that write the other operations from their operands and immediates."""


class Writer:
    """Writer of operations in one dialect, for one module."""

    def __init__(self, dialect: Dialect, helpers: Helpers, constant: Callable[[int], int]) -> None:
        self.dialect, self.format, self.helpers = dialect, dialect.format, helpers
        self._constant = constant
        """Address of a constant, by its bits."""

    def kind(self, operation: str) -> bytes:
        """WebAssembly type of an operation's result."""
        return self.dialect.truth if operation in BOOL_OPS else self.dialect.number

    def load(self, address: bytes, offset: int) -> bytes:
        return load(self.dialect.loads, address, offset)

    def store(self, address: bytes, offset: int, value: bytes) -> bytes:
        return store(self.dialect.stores, address, offset, value)

    def constant(self, bits: int) -> bytes:
        """A constant with these bits, loaded from memory.

        That is one instruction, where a processor needs several for a constant in the code, and a
        third shorter.
        """
        return self.load(i32(0), self._constant(bits))

    def number(self, value: float) -> bytes:
        return self.constant(self.format.bits_of(value))

    def write(self, operation: str, imm: int | None, args: Sequence[bytes]) -> bytes:
        """The code of one operation, from the code of its operands."""
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
"""Operations that are single instructions in both dialects."""


def _lane_select(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    # The relaxed form may test one bit of each lane of the mask or all bits; here all bits are
    # equal.
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
    # There is no vector conversion of integers; as the last bits of 2**52 (float64) they become
    # numbers.
    f = w.format
    moved = op(f"{f.whole_lanes}.shr_u", args[0], i32(f.mantissa_bits))
    field = op("v128.and", moved, w.constant(f.field))
    base = 2.0**f.mantissa_bits
    number = op("v128.or", field, w.number(base))
    return op(f"{f.lanes}.sub", number, w.number(base + f.bias))


def _lane_read(w: Writer, args: Sequence[bytes], imm: int) -> bytes:
    f = w.format
    numbers = [a + b"\xfd" + bytes([_LANES[f"{f.lanes}.extract_lane"], 0]) for a in args]
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
    """The dialect with numbers as vectors of equal lanes, and the relaxed fused multiply-add."""
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
    """The dialect with scalar numbers, and a function for the fused multiply-add."""
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


class Locals:
    """Local variables of a function after its three arguments."""

    def __init__(self) -> None:
        self.kinds: list[bytes] = []

    def new(self, kind: bytes, count: int) -> list[int]:
        """Add `count` local variables of a type; returns their indices."""
        first = 3 + len(self.kinds)
        self.kinds += [kind] * count
        return list(range(first, first + count))


def number(value: float) -> bytes:
    return b"\x44" + FORMATS["float64"].bits_of(value).to_bytes(8, "little")


add, sub, mul = (partial(op, f"f64.{name}") for name in ("add", "sub", "mul"))


def int64(name: str, x: bytes, y: bytes) -> bytes:
    """An operation on 64-bit words."""
    return op(f"i64.{name}", x, y)


_SMALLEST, _LARGEST = 2.0**-960, 2.0**1000
"""Range of products in which a product and its error are both representable.

The last place of such a product is 2**-1066 or more. Overflow of an intermediate result makes
the result infinite or NaN.
"""
_SPLIT = 2.0**27 + 1.0


def _split(value: int, scaled: int, high: int, low: int) -> bytes:
    """Split a number into the sum of two that have half of its digits each."""
    return (
        put(scaled, mul(get(value), number(_SPLIT)))
        + put(high, sub(get(scaled), sub(get(scaled), get(value))))
        + put(low, sub(get(value), get(high)))
    )


def _lost(x: int, y: int, total: int, part: int) -> bytes:
    """Code for the rounding error of the sum of two numbers."""
    return put(part, sub(get(total), get(x))) + add(
        sub(get(x), sub(get(total), get(part))), sub(get(y), get(part))
    )


def fma64(whole: int) -> bytes:
    """The body of fma for float64; `whole` is the index of the function of `whole_fma_fma64`."""
    a, b, c = range(3)
    names = Locals()
    product, scaled, high_a, low_a, high_b, low_b = names.new(F64, 6)
    total, part, rest, result, over = names.new(F64, 5)
    error = sub(mul(get(high_a), get(high_b)), get(product))
    for x, y in ((high_a, low_b), (low_a, high_b), (low_a, low_b)):
        error = add(error, mul(get(x), get(y)))
    code = (
        put(product, mul(get(a), get(b)))
        + _split(a, scaled, high_a, low_a)
        + _split(b, scaled, high_b, low_b)
        + put(total, add(get(product), get(c)))
        + put(rest, add(_lost(product, c, total, part), error))
        + put(result, add(get(total), get(rest)))
        # What the result has lost, twice: added to a result that was half-way, it gives the
        # number on the other side, exactly.
        + put(over, sub(get(rest), sub(get(result), get(total))))
        + put(over, add(get(over), get(over)))
    )
    moved = sub(add(get(result), get(over)), get(result))
    fine = op("f64.ge", op("f64.abs", get(product)), number(_SMALLEST))
    fine = op("i32.and", fine, op("f64.lt", op("f64.abs", get(result)), number(_LARGEST)))
    once = op("i32.or", op("f64.ne", moved, get(over)), op("f64.eq", get(over), number(0.0)))
    # For vehicles at rest, such as a parked car, many products are zero.
    nothing = op("i32.or", *(op("f64.eq", get(x), number(0.0)) for x in (a, b)))
    slow = when(nothing, get(total) + RETURN) + call(whole, get(a), get(b), get(c)) + RETURN
    code += when(op("i32.eqz", op("i32.and", fine, once)), slow)
    return body(names.kinds, code + get(result))


def fma32() -> bytes:
    """The body of fma for float32, in double precision."""
    a, b, c = range(3)
    names = Locals()
    product, total, part, rest, third = names.new(F64, 5)
    (word,) = names.new(I64, 1)
    x, y, z = (op("f64.promote_f32", get(k)) for k in (a, b, c))
    code = put(product, mul(x, y)) + put(third, z)
    code += put(total, add(get(product), get(third)))
    code += put(rest, _lost(product, third, total, part))
    code += put(word, op("i64.reinterpret_f64", get(total)))
    even = op("i64.eqz", int64("and", get(word), i64(1)))
    # If the sum is infinite the rest is NaN, so this comparison is false.
    inexact = op("f64.gt", op("f64.abs", get(rest)), number(0.0))
    signs = int64("xor", op("i64.reinterpret_f64", get(rest)), get(word))
    step = int64("or", int64("shr_s", signs, i64(63)), i64(1))
    code += when(op("i32.and", even, inexact), put(word, int64("add", get(word), step)))
    return body(names.kinds, code + op("f32.demote_f64", op("f64.reinterpret_i64", get(word))))


_SIGN, _HIDDEN, _FIELD = 1 << 63, 1 << 52, 0x7FF
_LOW = 0xFFFFFFFF


def whole_fma_fma64() -> bytes:
    """The body of fma for float64 in integers: slower, for all operands but products of zero."""
    names = Locals()
    word_a, word_b, word_c = names.new(I64, 3)
    bits = zip(range(3), (word_a, word_b, word_c), strict=True)
    code = _special_cases()
    code += b"".join(put(w, op("i64.reinterpret_f64", get(x))) for x, w in bits)
    return body(names.kinds, code + _whole(names, word_a, word_b, word_c))


def _special_cases() -> bytes:
    """Return early if a number is infinite or NaN, or c zero: plain arithmetic is right."""
    a, b, c = range(3)
    product, zero = mul(get(a), get(b)), number(0.0)

    def not_finite(x: int) -> bytes:
        return op("f64.ne", sub(get(x), get(x)), zero)

    def is_zero(x: int) -> bytes:
        return op("f64.eq", get(x), zero)

    plain = op("i32.or", not_finite(a), not_finite(b))
    return (
        when(plain, add(product, get(c)) + RETURN)
        + when(not_finite(c), add(get(c), get(c)) + RETURN)
        + when(is_zero(c), product + RETURN)
    )


def _whole(names: Locals, a: int, b: int, c: int) -> bytes:
    """Code for a*b + c of three words that are finite nonzero numbers.

    In the product and in c bit 124 or 125 is the highest that is set, and both are scaled by a
    power of two. The one with the smaller power is shifted to that of the other, with a sticky last
    bit that records whether anything was lost. The product ends with 19 zeros, so what is lost was
    too far down to matter in a difference that cancels.
    """
    m_a, m_b, m_c, e_a, e_b, e_c = names.new(I64, 6)
    high, low, power, sign, far_high, far_low, far_sign, distance = names.new(I64, 8)
    code = _taken_apart(a, m_a, e_a, 1) + _taken_apart(b, m_b, e_b, 1)
    code += _taken_apart(c, m_c, e_c, 2) + _wide_product(names, m_a, m_b, high, low)
    code += put(sign, int64("and", int64("xor", get(a), get(b)), i64(_SIGN)))
    code += put(far_sign, int64("and", get(c), i64(_SIGN)))
    code += put(power, int64("add", get(e_a), get(e_b)))
    # c is the high word of 128 bits, so its exponent refers to the 64 bits below it.
    code += put(e_c, int64("sub", get(e_c), i64(64))) + put(far_high, get(m_c))
    code += put(distance, int64("sub", get(power), get(e_c)))
    exchanged = _exchanged(high, far_high, m_a) + _exchanged(low, far_low, m_a)
    exchanged += _exchanged(sign, far_sign, m_a) + put(power, get(e_c))
    exchanged += put(distance, int64("sub", i64(0), get(distance)))
    code += when(op("i64.lt_s", get(distance), i64(0)), exchanged)
    code += _moved_right(far_high, far_low, distance)
    code += _summed(high, low, sign, far_high, far_low, far_sign, m_a)
    return code + _rounded(names, high, low, power, sign)


def _exchanged(x: int, y: int, room: int) -> bytes:
    return put(room, get(x)) + put(x, get(y)) + put(y, get(room))


def _taken_apart(word: int, mantissa: int, power: int, zeros: int) -> bytes:
    """Convert a number to an integer with `zeros` leading zero bits and a power of two."""
    field = int64("and", int64("shr_u", get(word), i64(52)), i64(_FIELD))
    fraction = int64("and", get(word), i64(_HIDDEN - 1))
    shift = int64("sub", op("i64.clz", get(mantissa)), i64(zeros))
    return (
        put(power, field)
        + put(mantissa, fraction)
        + when(
            op("i64.eqz", get(power)),
            put(power, i64(1)),  # subnormal
            put(mantissa, int64("or", get(mantissa), i64(_HIDDEN))),
        )
        + put(power, int64("sub", int64("sub", get(power), i64(1075)), shift))
        + put(mantissa, int64("shl", get(mantissa), shift))
    )


def _wide_product(names: Locals, x: int, y: int, high: int, low: int) -> bytes:
    """All 128 bits of a product of two words, from the products of their halves."""
    middle, other = names.new(I64, 2)

    def upper(word: bytes) -> bytes:
        return int64("shr_u", word, i64(32))

    def lower(word: bytes) -> bytes:
        return int64("and", word, i64(_LOW))

    def times(p: bytes, q: bytes) -> bytes:
        return int64("mul", p, q)

    first = times(lower(get(x)), lower(get(y)))
    code = put(middle, int64("add", times(upper(get(x)), lower(get(y))), upper(first)))
    code += put(other, int64("add", lower(get(middle)), times(lower(get(x)), upper(get(y)))))
    top = int64("add", times(upper(get(x)), upper(get(y))), upper(get(middle)))
    return code + put(high, int64("add", top, upper(get(other)))) + put(low, times(get(x), get(y)))


def _sticky(word: bytes) -> bytes:
    """Code for 1 if any bit of a word is set, else 0."""
    return op("i64.extend_i32_u", op("i64.ne", word, i64(0)))


def _moved_right(high: int, low: int, distance: int) -> bytes:
    """Shift two words right; the last bit is sticky and records whether anything was lost."""
    back = int64("sub", i64(64), get(distance))
    moved = int64("or", int64("shr_u", get(low), get(distance)), int64("shl", get(high), back))
    return (
        when(op("i64.gt_s", get(distance), i64(127)), put(distance, i64(127)))
        + when(
            op("i64.ge_s", get(distance), i64(64)),
            put(low, int64("or", get(high), _sticky(get(low))))
            + put(high, i64(0))
            + put(distance, int64("sub", get(distance), i64(64))),
        )
        + when(
            op("i64.ne", get(distance), i64(0)),
            put(low, int64("or", moved, _sticky(int64("shl", get(low), back))))
            + put(high, int64("shr_u", get(high), get(distance))),
        )
    )


def _summed(
    high: int, low: int, sign: int, far_high: int, far_low: int, far_sign: int, room: int
) -> bytes:
    """Add two numbers of two words, or subtract the smaller from the larger.

    The emitted code returns from the function if the sum is 0.
    """
    added = put(room, int64("add", get(low), get(far_low)))
    carry = op("i64.extend_i32_u", op("i64.lt_u", get(room), get(low)))
    added += put(high, int64("add", int64("add", get(high), get(far_high)), carry))
    smaller = op("i64.lt_u", get(high), get(far_high))
    alike = op("i64.eq", get(high), get(far_high))
    smaller = op("i32.or", smaller, op("i32.and", alike, op("i64.lt_u", get(low), get(far_low))))
    exchanged = b"".join(
        _exchanged(x, y, room) for x, y in ((high, far_high), (low, far_low), (sign, far_sign))
    )
    borrow = op("i64.extend_i32_u", op("i64.lt_u", get(low), get(far_low)))
    taken = when(smaller, exchanged)
    taken += put(high, int64("sub", int64("sub", get(high), get(far_high)), borrow))
    taken += put(room, int64("sub", get(low), get(far_low)))
    nothing = op("i64.eqz", int64("or", get(high), get(room)))
    return (
        when(op("i64.eq", get(sign), get(far_sign)), added, taken)
        + put(low, get(room))
        + when(nothing, number(0.0) + RETURN)
    )


def _rounded(names: Locals, high: int, low: int, power: int, sign: int) -> bytes:
    """Round two words times a power of two to the nearest number with this sign."""
    zeros, cut = names.new(I64, 2)
    up_to_date = when(
        op("i64.eqz", get(high)),
        put(high, get(low)) + put(low, i64(0)) + put(power, int64("sub", get(power), i64(64))),
    )
    # The high word then begins with its first bit, and ends with whether anything follows.
    back = int64("sub", i64(64), get(zeros))
    joined = int64("or", int64("shl", get(high), get(zeros)), int64("shr_u", get(low), back))
    begun = put(zeros, op("i64.clz", get(high))) + when(
        op("i64.ne", get(zeros), i64(0)),
        put(high, joined) + put(low, int64("shl", get(low), get(zeros))),
    )
    begun += put(high, int64("or", get(high), _sticky(get(low))))
    # From here on the power is that of the first bit.
    begun += put(power, int64("sub", int64("add", get(power), i64(127)), get(zeros)))
    infinite = op("f64.reinterpret_i64", int64("or", get(sign), i64(_FIELD << 52)))
    begun += when(op("i64.gt_s", get(power), i64(1023)), infinite + RETURN)
    lost = _sticky(int64("shl", get(high), int64("sub", i64(64), get(cut))))
    below = put(cut, int64("sub", i64(-1022), get(power)))
    below += when(op("i64.gt_s", get(cut), i64(63)), put(cut, i64(63)))
    below += put(high, int64("or", int64("shr_u", get(high), get(cut)), lost))
    below += put(power, i64(-1022))
    begun += when(op("i64.lt_s", get(power), i64(-1022)), below)
    # Half of the last place is 0x400; an even number stays where it is half-way.
    odd = int64("and", int64("shr_u", get(high), i64(11)), i64(1))
    nearest = int64("shr_u", int64("add", int64("add", get(cut), i64(0x3FF)), odd), i64(11))
    word = int64("shl", int64("add", get(power), i64(1022)), i64(52))
    kept = int64("add", int64("shr_u", get(high), i64(11)), nearest)
    begun += put(cut, int64("and", get(high), i64(0x7FF)))
    word = int64("or", get(sign), int64("add", word, kept))
    return up_to_date + begun + op("f64.reinterpret_i64", word)
