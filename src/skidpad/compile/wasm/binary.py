"""The binary format of WebAssembly as far as it is needed here: numbers, instructions, sections.

Instructions are bytes; their operands stand before them, so an expression is written inside out:
`op("f64.add", get(0), get(1))`. Names and numbers are those of the WebAssembly Core Specification
3.0, which contains the vector instructions and the relaxed ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

I32, I64, F32, F64, V128 = b"\x7f", b"\x7e", b"\x7d", b"\x7c", b"\x7b"
"""Types of values."""
EMPTY = b"\x40"
"""The type of a block without a value."""
END, ELSE, RETURN = b"\x0b", b"\x05", b"\x0f"
PAGE = 1 << 16
"""Bytes of a page of memory."""

HEADER = b"\0asm\1\0\0\0"
TYPE, FUNCTION, MEMORY, EXPORT, CODE, DATA = 1, 3, 5, 7, 10, 11
"""Sections, in the order in which they stand."""

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
    """A number in LEB128, as few bytes as it takes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """A number in LEB128 with a sign."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


_OPCODES = {name: bytes([code]) for name, code in _PLAIN.items()} | {
    name: b"\xfd" + unsigned(code) for name, code in _VECTOR.items()
}


def op(name: str, *operands: bytes) -> bytes:
    """An instruction without immediates, behind its operands."""
    return b"".join(operands) + _OPCODES[name]


def load(name: str, address: bytes, offset: int) -> bytes:
    """What lies `offset` bytes behind an address."""
    prefix, (code, align) = (
        (b"", _LOADS[name]) if name in _LOADS else (b"\xfd", _VECTOR_MEMORY[name])
    )
    return address + prefix + bytes([code, align]) + unsigned(offset)


def store(name: str, address: bytes, offset: int, value: bytes) -> bytes:
    """Put a value `offset` bytes behind an address; of a vector its first lane."""
    vector = name in _VECTOR_MEMORY
    code, align = _VECTOR_MEMORY[name] if vector else _STORES[name]
    prefix, lane = (b"\xfd", b"\0") if vector else (b"", b"")
    return address + value + prefix + bytes([code, align]) + unsigned(offset) + lane


def first_lane(name: str, vector: bytes) -> bytes:
    """The first number of a vector."""
    return vector + b"\xfd" + bytes([_LANES[name], 0])


def get(local: int) -> bytes:
    """The value of a local."""
    return b"\x20" + unsigned(local)


def put(local: int, value: bytes) -> bytes:
    """Set a local."""
    return value + b"\x21" + unsigned(local)


def tee(local: int, value: bytes) -> bytes:
    """Set a local and leave its value on the stack."""
    return value + b"\x22" + unsigned(local)


def i32(value: int) -> bytes:
    """A constant."""
    return b"\x41" + signed(value)


def i64(value: int) -> bytes:
    """A constant; of one above the largest number with a sign, the same bits."""
    return b"\x42" + signed(value - (1 << 64) if value >= 1 << 63 else value)


def call(function: int, *arguments: bytes) -> bytes:
    """A call of the function of this index."""
    return b"".join(arguments) + b"\x10" + unsigned(function)


def when(condition: bytes, then: bytes, otherwise: bytes = b"", kind: bytes = EMPTY) -> bytes:
    """One of two pieces of code; both leave a value of the kind, if one is given."""
    rest = ELSE + otherwise if otherwise else b""
    return condition + b"\x04" + kind + then + rest + END


def repeated(body: bytes) -> bytes:
    """A loop inside of a block: `jump_if(1, ...)` in its body leaves it, `jump_if(0, ...)` begins
    it again."""
    return b"\x02" + EMPTY + b"\x03" + EMPTY + body + END + END


def jump_if(depth: int, condition: bytes) -> bytes:
    """Leave `depth` blocks, or begin a loop again, if the condition is not zero."""
    return condition + b"\x0d" + unsigned(depth)


def vector(items: Iterable[bytes]) -> bytes:
    """Things in a row, behind their number."""
    parts = list(items)
    return unsigned(len(parts)) + b"".join(parts)


def sized(content: bytes) -> bytes:
    """Bytes behind their number."""
    return unsigned(len(content)) + content


def section(number: int, content: bytes) -> bytes:
    """A section of a module."""
    return bytes([number]) + sized(content)


def signature(arguments: Sequence[bytes], results: Sequence[bytes]) -> bytes:
    """The type of a function."""
    return b"\x60" + vector(arguments) + vector(results)


def body(kinds: Sequence[bytes], code: bytes) -> bytes:
    """The code of a function, with the types of the locals behind its arguments."""
    runs = [unsigned(len(list(run))) + kind for kind, run in groupby(kinds)]
    return sized(vector(runs) + code + END)
