"""Derives every number of the elementary functions and writes them to `coefficients.py`.

    python tools/derive_coefficients.py            writes the file
    python tools/derive_coefficients.py --check    says whether the file is what would be written

Polynomials are minimax in relative error, by the exchange algorithm of Remez on a dense grid. The
coefficients are rounded to the target precision one after the other, lowest power first, and the
others are fitted again to what that rounding left over: the error of the rounded polynomial then
stays close to the error of the unrounded one. Constants are split into parts, each rounded from
what the parts before leave over (W. J. Cody and W. Waite, Software Manual for the Elementary
Functions, 1980). Everything is computed with 80 decimal digits, so the file comes out the same
everywhere.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mpmath import mp, mpf

mp.dps = 80

TARGET = Path(__file__).parents[1] / "src/skidpad/compile/coefficients.py"
BITS = {"float64": 53, "float32": 24}
GRID_POINTS_PER_COEFFICIENT = 16

HEADER = '''"""The numbers of the elementary functions, by precision.

Written by tools/derive_coefficients.py, which says how; change that file, not this one.
Polynomials are listed from the highest power down and leave out the pinned lowest coefficients.
"""

# fmt: off
Table = dict[str, tuple[float, ...]]
'''


class Polynomial(NamedTuple):
    """A polynomial to derive: `function(z)` on [low, high], with fixed lowest coefficients."""

    name: str
    meaning: str
    function: Callable[[Any], Any]
    low: Any
    high: Any
    pinned: tuple[float, ...]
    degree: dict[str, int]
    shortfall: float = 0.0
    """Fraction of 2**-bits by which the polynomial aims low at `high`, falling with z⁴."""


def nearest(value: Any, precision: str) -> float:
    """The number of this precision nearest to the value."""
    with mp.workprec(BITS[precision]):
        return float(+value)


def split(value: Any, parts: int, precision: str) -> tuple[float, ...]:
    """The value as a sum of `parts` numbers of falling size."""
    numbers: list[float] = []
    for _ in range(parts):
        numbers.append(nearest(value, precision))
        value = value - mpf(numbers[-1])
    return tuple(numbers)


def coefficients(p: Polynomial, precision: str) -> tuple[float, ...]:
    """The rounded coefficients above the pinned ones, from the highest power down."""
    degree = p.degree[precision]
    points = _grid(mpf(p.low), mpf(p.high), GRID_POINTS_PER_COEFFICIENT * (degree + 2))
    shortfall = mpf(p.shortfall) / 2 ** BITS[precision]
    exact = [p.function(z) * (1 - shortfall * (z / p.high) ** 4) for z in points]
    fixed = [mpf(c) for c in p.pinned]
    while len(fixed) <= degree:
        k = len(fixed)
        rest = [(f - value(fixed, z)) / z**k for z, f in zip(points, exact, strict=True)]
        weight = [abs(z) ** k / abs(f) for z, f in zip(points, exact, strict=True)]
        fitted = minimax(points, rest, weight, degree + 1 - k)
        fixed.append(mpf(nearest(fitted[0], precision)))
    return tuple(float(c) for c in reversed(fixed[len(p.pinned) :]))


def value(numbers: Sequence[Any], z: Any) -> Any:
    """The polynomial with these coefficients, lowest first, at z."""
    total = mpf(0)
    for c in reversed(numbers):
        total = total * z + c
    return total


def minimax(
    points: Sequence[Any], values: Sequence[Any], weights: Sequence[Any], count: int
) -> list[Any]:
    """Polynomial with `count` coefficients, lowest first, of least weighted error on the points."""
    spread = (len(points) - 1) / count
    reference = [round(k * spread) for k in range(count + 1)]
    for round_number in range(200):
        fitted, level = _levelled(points, values, weights, reference)
        error = [
            w * (v - value(fitted, z)) for z, v, w in zip(points, values, weights, strict=True)
        ]
        if max(map(abs, error)) <= abs(level) * mpf("1.0001"):
            return fitted
        peaks = _strongest(_alternating(error), error, count + 1)
        # All peaks at once is fast but may cycle; one point at a time always gets there.
        if round_number < 8 and len(peaks) == count + 1:
            reference = peaks
        else:
            reference = _with_largest(reference, error)
    raise ArithmeticError(f"no minimax polynomial with {count} coefficients after 200 exchanges")


def _grid(low: Any, high: Any, count: int) -> list[Any]:
    """Points of [low, high], dense at the ends, without 0 where the weights vanish."""
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mp.cospi(mpf(2 * k + 1) / (2 * count)) for k in range(count)]
    return [z for z in points if z != 0]


def _levelled(
    points: Sequence[Any], values: Sequence[Any], weights: Sequence[Any], reference: list[int]
) -> tuple[list[Any], Any]:
    """The polynomial whose weighted error has one size and alternating sign at the reference."""
    n = len(reference)
    matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
    for row, k in enumerate(reference):
        for column in range(n - 1):
            matrix[row, column] = weights[k] * points[k] ** column
        matrix[row, n - 1] = (-1) ** row
        right[row] = weights[k] * values[k]
    solution = mp.lu_solve(matrix, right)
    return [solution[j] for j in range(n - 1)], solution[n - 1]


def _alternating(error: Sequence[Any]) -> list[int]:
    """The index of the largest error in each run of one sign."""
    peaks: list[int] = []
    for k, e in enumerate(error):
        if not peaks or (e > 0) != (error[peaks[-1]] > 0):
            peaks.append(k)
        elif abs(e) > abs(error[peaks[-1]]):
            peaks[-1] = k
    return peaks


def _strongest(peaks: list[int], error: Sequence[Any], count: int) -> list[int]:
    """At most `count` of the peaks: the smallest go, each with a neighbour to keep alternation."""
    peaks = list(peaks)
    while len(peaks) > count:
        size = [abs(error[k]) for k in peaks]
        k = size.index(min(size))
        if k in (0, len(peaks) - 1):
            del peaks[k]
        elif len(peaks) == count + 1:
            del peaks[0 if size[0] < size[-1] else -1]
        else:
            before = k - 1 if size[k - 1] < size[k + 1] else k
            del peaks[before : before + 2]
    return peaks


def _with_largest(reference: list[int], error: Sequence[Any]) -> list[int]:
    """The reference with the point of largest error in it, for a neighbour of the same sign."""
    sizes = [abs(e) for e in error]
    new = sizes.index(max(sizes))
    same = [(error[k] > 0) == (error[new] > 0) for k in reference]
    after = sum(k < new for k in reference)
    if after == 0:
        return [new, *reference[1:]] if same[0] else [new, *reference[:-1]]
    if after == len(reference):
        return [*reference[:-1], new] if same[-1] else [*reference[1:], new]
    replaced = after if same[after] else after - 1
    return [*reference[:replaced], new, *reference[replaced + 1 :]]


def pivot(tangent: Any, precision: str) -> tuple[float, float]:
    """A number c just above `tangent` and atan(c), such that atan(c) is almost representable.

    A reduction by c then adds atan(c) without a rounding error of its own.
    """
    scale = mpf(2) ** (1 - BITS[precision])
    first = mpf(nearest(tangent, precision))
    candidates = [first + k * scale for k in range(2000)]
    best = min(candidates, key=lambda c: abs(mp.atan(c) - mpf(nearest(mp.atan(c), precision))))
    return float(best), nearest(mp.atan(best), precision)


def _of_root(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f(r) / r as a function of r²."""
    return lambda z: f(mp.sqrt(z)) / mp.sqrt(z)


# The reduced argument leaves [-pi/4, pi/4] by the rounding of x * 2/pi, most in float32.
QUARTER = (mp.pi / 4 * mpf("1.02")) ** 2
HALF = (mp.pi / 2 * mpf("1.02")) ** 2
HALF_LN2 = mp.ln(2) / 2 * mpf("1.001")
ATAN_SPLIT = mpf("0.6201")

POLYNOMIALS = (
    Polynomial(
        "SIN", "sin(r)/r - 1 in r², r within π/4", _of_root(mp.sin), 0, QUARTER, (1.0,),
        {"float64": 6, "float32": 3},
    ),
    Polynomial(
        "COS", "cos(r) - 1 in r², r within π/4", lambda z: mp.cos(mp.sqrt(z)), 0, QUARTER, (1.0,),
        {"float64": 7, "float32": 4},
    ),
    Polynomial(
        "SIN_WIDE", "sin(r)/r - 1 in r², r within π/2", _of_root(mp.sin), 0, HALF, (1.0,),
        {"float64": 8, "float32": 4}, shortfall=0.3,
    ),
    Polynomial(
        "ATAN", "atan(t)/t - 1 in t², t within 0.62", _of_root(mp.atan), 0, ATAN_SPLIT**2,
        (1.0,), {"float64": 13, "float32": 6},
    ),
    Polynomial(
        "ATAN_UNIT", "atan(t)/t - 1 in t², t within 1", _of_root(mp.atan), 0, 1, (1.0,),
        {"float64": 19, "float32": 9},
    ),
    Polynomial(
        "ATAN_SHORT", "atan(t)/t - 1 in t², t within 0.62, to 1e-6 for fast mode",
        _of_root(mp.atan), 0, ATAN_SPLIT**2, (1.0,), {"float32": 4},
    ),
    Polynomial(
        "ASIN", "asin(s)/s - 1 in s², s within 1/2", _of_root(mp.asin), 0, mpf("0.25"), (1.0,),
        {"float64": 12, "float32": 5},
    ),
    Polynomial(
        "EXP", "exp(r) - 1 - r, r within ln2/2", mp.exp, -HALF_LN2, HALF_LN2, (1.0, 1.0),
        {"float64": 11, "float32": 6},
    ),
    Polynomial(
        "EXPM1", "expm1(r)/r - 1, r from ln(3/4) to ln(3/2)", lambda r: mp.expm1(r) / r,
        mp.log(mpf("0.7495")), mp.log(mpf("1.501")), (1.0,), {"float64": 10, "float32": 5},
    ),
    Polynomial(
        "TANH", "expm1(2u)/(2u) - 1, u from -ln2/8 to 3/8 ln2", lambda u: mp.expm1(2 * u) / (2 * u),
        -HALF_LN2 / 4, HALF_LN2 * 3 / 4, (1.0,), {"float64": 10, "float32": 5},
    ),
    Polynomial(
        "SINH", "sinh(r)/r - 1 in r², r within ln2/2", _of_root(mp.sinh), 0, HALF_LN2**2, (1.0,),
        {"float64": 5, "float32": 3},
    ),
    Polynomial(
        "COSH", "cosh(r) - 1 in r², r within ln2/2", lambda z: mp.cosh(mp.sqrt(z)), 0, HALF_LN2**2,
        (1.0,), {"float64": 5, "float32": 3},
    ),
    Polynomial(
        "LOG1P", "log1p(f)/f - 1 + f/2, 1 + f within a factor √2 of 1",
        lambda f: mp.log1p(f) / f, mp.sqrt(mpf("0.4999")) - 1, mp.sqrt(mpf("2.0001")) - 1,
        (1.0, -0.5), {"float64": 20, "float32": 9},
    ),
    Polynomial(
        "ATANH", "atanh(s)/s - 1 in s², s within 3 - √8", _of_root(mp.atanh), 0, mpf("0.02945"),
        (1.0,), {"float64": 8, "float32": 4},
    ),
)  # fmt: skip

CONSTANTS: dict[str, tuple[str, Callable[[str], tuple[float, ...]]]] = {
    "HALF_PI": ("π/2 in three parts", lambda p: split(mp.pi / 2, 3, p)),
    "PI": ("π in three parts", lambda p: split(mp.pi, 3, p)),
    "TWO_OVER_PI": ("2/π", lambda p: split(2 / mp.pi, 1, p)),
    "LN2": ("ln 2 in three parts", lambda p: split(mp.ln(2), 3, p)),
    "LOG2_E": ("1/ln 2 in two parts", lambda p: split(1 / mp.ln(2), 2, p)),
    "TWO_THIRDS": ("2/3 in two parts", lambda p: split(mpf(2) / 3, 2, p)),
    "ATAN_PIVOT": ("c just above 1/0.62, and atan(c)", lambda p: pivot(1 / mpf("0.62"), p)),
    "SQRT_HALF": ("√½", lambda p: split(mp.sqrt(mpf("0.5")), 1, p)),
}


def entry(name: str, meaning: str, table: dict[str, tuple[float, ...]]) -> str:
    """One table as source text."""
    lines = [f"{name}: Table = {{"]
    for precision, numbers in table.items():
        text = f'"{precision}": ({", ".join(map(repr, numbers))}{"," * (len(numbers) == 1)}),'
        lines += textwrap.wrap(
            text, 100, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
        )
    return "\n".join([*lines, "}", f'"""{meaning}."""', ""])


def document() -> str:
    """The text of coefficients.py."""
    parts = [HEADER]
    for name, (meaning, numbers) in CONSTANTS.items():
        parts.append(entry(name, meaning, {p: numbers(p) for p in BITS}))
    for p in POLYNOMIALS:
        parts.append(entry(p.name, p.meaning, {b: coefficients(p, b) for b in p.degree}))
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the file; 1 if a check finds a difference."""
    parser = argparse.ArgumentParser(description="Derive the numbers of the elementary functions.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    text = document()
    if not options.check:
        TARGET.write_text(text, "utf-8")
        return 0
    same = TARGET.read_text("utf-8") == text
    print(f"{TARGET.name} is {'up to date' if same else 'NOT what the tool derives'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
