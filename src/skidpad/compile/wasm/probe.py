"""The function by which a module tells whether its multiply-add rounds once in this engine.

The relaxed instruction may multiply, round, add and round again where a processor has no fused one.
"""

from __future__ import annotations

from fractions import Fraction

from .binary import body, i32, op
from .dialects import Writer

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
    numbers: list[float] = []
    for a, b, c in triples(size):
        numbers += [a, b, c, float(Fraction(a) * Fraction(b) + Fraction(c))]
    return numbers


def fused_here(writer: Writer, numbers: int) -> bytes:
    """The body of a function that gives 1 if the multiply-add rounds once, else 0.

    `numbers` is where those of `probe_numbers` are: in memory, so that no compiler knows them.
    """
    f = writer.format
    fine = i32(1)
    for k in range(len(triples(f.bytes))):
        a, b, c, exact = (writer.load(i32(0), numbers + (4 * k + n) * f.bytes) for n in range(4))
        rounded = writer.write("fma", None, [a, b, c])
        fine = op("i32.and", fine, _all_equal(writer, rounded, exact))
    return body([], fine)


def _all_equal(writer: Writer, x: bytes, y: bytes) -> bytes:
    f = writer.format
    if writer.dialect.number == f.kind:
        return op(f"{f.scalar}.eq", x, y)
    return op(f"{f.whole_lanes}.all_true", op(f"{f.lanes}.eq", x, y))
