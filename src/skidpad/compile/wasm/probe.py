"""Functions that a module has besides its Programs: whether it fuses, and reading arrays."""

from __future__ import annotations

import math
from fractions import Fraction

from .binary import I32, body, get, i32, load, op, put, when
from .dialects import Format, Writer

_SCALE = {8: 2.0**-52, 4: 2.0**-23}
"""The last place of 1."""


def triples(size: int) -> list[tuple[float, float, float]]:
    """a, b and c for which a*b + c rounded once is another number than rounded twice."""
    e = _SCALE[size]
    return [
        (1.0 + e, 1.0 - e, -1.0),
        (1.0 + e, 1.0 + e, -(1.0 + 2.0 * e)),
        (1.0 + 3.0 * e, 1.0 + 5.0 * e, -(1.0 + 8.0 * e)),
        (-(1.0 + 7.0 * e), 1.0 + 9.0 * e, 1.0 + 16.0 * e),
        (4.0 * (1.0 - e / 2.0), 0.25 * (1.0 - e / 2.0), -(1.0 - e)),
    ]


def probe_numbers(size: int) -> list[float]:
    """The triples, each with its result behind it, as they lie in memory."""
    found: list[float] = []
    for a, b, c in triples(size):
        found += [a, b, c, float(Fraction(a) * Fraction(b) + Fraction(c))]
    return found


def fused_here(writer: Writer, numbers: int) -> bytes:
    """The body of a function that gives 1 if the multiply-add rounds once, else 0.

    `numbers` is where those of `probe_numbers` are: in memory, so that no compiler knows them.
    """
    f = writer.format
    fine = i32(1)
    for k in range(len(triples(f.bytes))):
        a, b, c, exact = (
            writer.load(i32(0), numbers + (4 * k + n) * f.bytes) for n in range(4)
        )
        rounded = writer.write("fma", None, [a, b, c])
        fine = op("i32.and", fine, _all_equal(writer, rounded, exact))
    return body([], fine)


def _all_equal(writer: Writer, x: bytes, y: bytes) -> bytes:
    f = writer.format
    if writer.dialect.number == f.kind:
        return op(f"{f.scalar}.eq", x, y)
    return op(f"{f.whole_lanes}.all_true", op(f"{f.lanes}.eq", x, y))


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
