"""The function by which a module reads shared arrays, which lie in its memory."""

from __future__ import annotations

import math

from .binary import I32, body, get, i32, load, op, put, when
from .dialects import Format


def read(f: Format, table: int, count: int) -> bytes:
    """The body of the function that reads element `index` of the array `number`, two numbers.

    Whatever they are, nothing outside of the arrays is read: see `operations`.
    """
    s = f.scalar
    number, index, entry, last, at = range(5)

    def constant(value: float) -> bytes:
        code = b"\x44" if f.bytes == 8 else b"\x43"
        return code + f.bits_of(value).to_bytes(f.bytes, "little")

    known = op(f"{s}.ge", get(number), constant(1.0))
    known = op("i32.and", known, op(f"{s}.le", get(number), constant(float(count))))
    known = op("i32.and", known, op(f"{s}.eq", op(f"{s}.floor", get(number)), get(number)))
    known = op("i32.and", known, op(f"{s}.eq", get(index), get(index)))
    place = op("i32.shl", op(f"i32.trunc_{s}_s", get(number)), i32(3))
    inside = put(entry, place)
    inside += put(last, op(f"{s}.convert_i32_s", load("i32.load", get(entry), table + 4)))
    above = op(f"{s}.gt", get(index), constant(0.0))
    inside += put(at, op("select", get(index), constant(0.0), above))
    below = op(f"{s}.lt", get(at), get(last))
    inside += put(at, op("select", get(at), get(last), below))
    offset = op("i32.shl", op(f"i32.trunc_{s}_s", get(at)), i32(int(math.log2(f.bytes))))
    address = op("i32.add", load("i32.load", get(entry), table), offset)
    inside += load(f"{s}.load", address, 0)
    return body([I32, f.kind, f.kind], when(known, inside, constant(math.nan), f.kind))
