"""The functions of emitted C that stand in for instructions: exact for all numbers there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compile.c_harness import Evaluator, evaluator_of, program_of, source_of
from skidpad.compile.c import compile_shared
from skidpad.compile.program import Builder

BITS = {"float64": 53, "float32": 24}
LEAST = {"float64": -1074, "float32": -149}
LARGEST = {"float64": 1024, "float32": 128}
PRECISIONS = ("float64", "float32")


def rules() -> dict[str, tuple[int, object]]:
    def of(op: str) -> object:
        return lambda b, *args: Builder.emit(b, op, *args)

    operands = {"fma": 3, "sqrt": 1, "rint": 1, "floor": 1, "abs": 1, "copysign": 2}
    return {op: (count, of(op)) for op, count in operands.items()}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Evaluator]]:
    """By precision and operation, without any instruction for it; built once."""
    source, programs = "#define SKIDPAD_NO_INSTRUCTIONS\n", {}
    for precision in PRECISIONS:
        for op, (count, rule) in rules().items():
            program = program_of(rule, precision, count)  # type: ignore[arg-type]
            programs[precision, op] = program
            source += source_of(f"{op}_{precision}", program)
    library = compile_shared(source, tmp_path_factory.mktemp("exact"))
    found: dict[str, dict[str, Evaluator]] = {precision: {} for precision in PRECISIONS}
    for (precision, op), program in programs.items():
        found[precision][op] = evaluator_of(getattr(library, f"{op}_{precision}_many"), program)
    return found


def rounded(value: Fraction, precision: str) -> float:
    """The nearest number, ties to even, by integers alone; value is not zero."""
    size = abs(value)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= size < Fraction(2) ** power
    unit = max(power - BITS[precision] + 1, LEAST[precision])
    scaled = size / Fraction(2) ** unit
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest
    whole += twice > scaled.denominator or (twice == scaled.denominator and whole % 2 == 1)
    infinite = whole * Fraction(2) ** unit >= Fraction(2) ** LARGEST[precision]
    found = math.inf if infinite else math.ldexp(whole, unit)
    return -found if value < 0 else found


def fused(a: float, b: float, c: float, precision: str) -> float:
    """a b + c as IEEE 754 has it."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    value = Fraction(a) * Fraction(b) + Fraction(c)
    if value:
        return rounded(value, precision)
    product = math.copysign(1.0, a) * math.copysign(1.0, b)
    both = a == 0 or b == 0
    return -0.0 if both and product < 0 and math.copysign(1.0, c) < 0 else 0.0


def edges(precision: str) -> list[float]:
    limits = np.finfo(precision)
    eps = float(limits.eps)
    sizes = [0.0, 1.0, 1.0 + eps, 1.0 - eps / 2, 1.5, 3.0, float(limits.max), float(limits.tiny)]
    sizes += [float(limits.tiny) - 2.0 ** LEAST[precision], 2.0 ** LEAST[precision]]
    sizes += [2.0 ** (LARGEST[precision] // 2), 2.0 ** (LEAST[precision] // 2), math.inf, math.nan]
    return [sign * size for size in sizes for sign in (1.0, -1.0)]


def hard_triples(precision: str, count: int) -> Iterator[tuple[float, float, float]]:
    """Products that almost cancel, ties and results at the ends of the range."""
    rng = np.random.default_rng(7)
    kind, low, high = np.dtype(precision).type, LEAST[precision], LARGEST[precision]
    for _ in range(count):
        bits = int(rng.integers(1, BITS[precision] + 1))
        whole = rng.integers(1, 2**bits, 3)
        ends = (low - 8, low + 8) if rng.integers(2) else (low, high - BITS[precision])
        place = int(rng.integers(*ends))
        half = int(rng.integers(low // 2, high // 2 - bits))
        other = place - half
        if not low <= other < high - bits:
            other = 0
        a, b = math.ldexp(whole[0], half), math.ldexp(whole[1], other)
        near = -a * b if abs(a * b) < math.ldexp(1.0, high - 1) else 1.0
        away = int(rng.integers(-3, 4)) * float(np.spacing(kind(near)))
        c = [near + away, math.ldexp(whole[2], place), math.ldexp(1.0, low), near][rng.integers(4)]
        with np.errstate(all="ignore"):
            yield float(kind(a)), float(kind(b)), float(kind(c))


def same(got: np.ndarray, expected: np.ndarray, cases: np.ndarray) -> None:
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(got), ~numbers)
    unlike = got[numbers].view(f"u{got.itemsize}") != expected[numbers].view(f"u{got.itemsize}")
    assert not unlike.any(), (cases[numbers][unlike][0], got[numbers][unlike][0])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_fma_is_rounded_once_everywhere(
    precision: str, exact: dict[str, dict[str, Evaluator]]
) -> None:
    ends = edges(precision)
    cases = [(a, b, c) for a in ends[::3] + ends[1::4] for b in ends for c in ends]
    cases += list(hard_triples(precision, 3000))
    with np.errstate(over="ignore"):
        given = np.array(cases, precision)
    expected = np.array([fused(a, b, c, precision) for a, b, c in given.tolist()], precision)
    same(exact[precision]["fma"](*given.T), expected, given)
    # Among them is what a product that is rounded first gets wrong, in both ranges.
    with np.errstate(all="ignore"):
        twice = given[:, 0] * given[:, 1] + given[:, 2]
    wrong = (twice != expected) & np.isfinite(expected)
    small = np.abs(expected) < np.finfo(precision).tiny
    assert (wrong & small).sum() > 50
    assert (wrong & ~small).sum() > 200


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_fma_of_any_numbers(
    precision: str, exact: dict[str, dict[str, Evaluator]], data: st.DataObject
) -> None:
    width = 64 if precision == "float64" else 32
    a, b, c = (data.draw(st.floats(width=width)) for _ in range(3))
    expected = np.array([fused(a, b, c, precision)], precision)
    same(exact[precision]["fma"]([a], [b], [c]), expected, np.array([(a, b, c)]))


def many(precision: str) -> np.ndarray:
    """All kinds of numbers, by their bits, and the edges."""
    rng = np.random.default_rng(5)
    word = "u8" if precision == "float64" else "u4"
    anything = rng.integers(0, np.iinfo(word).max, 20_000, dtype=word).view(precision)
    moderate = (rng.standard_normal(5000) * 10.0 ** rng.uniform(-2, 6, 5000)).astype(precision)
    halves = (np.arange(-40, 41) / 4).astype(precision)
    squares = (np.arange(1, 3000, dtype=float) ** 2).astype(precision)
    near = np.nextafter(squares, np.array(np.inf, precision))
    return np.concatenate(
        [anything, moderate, halves, squares, near, np.array(edges(precision), precision)]
    )


@pytest.mark.parametrize("precision", PRECISIONS)
def test_functions_of_one_number_are_those_of_the_processor(
    precision: str, exact: dict[str, dict[str, Evaluator]]
) -> None:
    x = many(precision)
    with np.errstate(all="ignore"):
        expected = {"sqrt": np.sqrt(x), "rint": np.rint(x), "floor": np.floor(x), "abs": np.abs(x)}
    for op, wanted in expected.items():
        same(exact[precision][op](x), wanted, x)
    y = x[::-1].copy()
    same(exact[precision]["copysign"](x, y), np.copysign(x, y), x)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_square_roots_are_the_nearest_numbers(
    precision: str, exact: dict[str, dict[str, Evaluator]]
) -> None:
    """By exact arithmetic: the square of the middle to either neighbour is beyond the number."""
    x = np.abs(many(precision)[:25_000:25])
    x = x[np.isfinite(x) & (x > 0)]
    roots = exact[precision]["sqrt"](x)
    for number, root in zip(x.tolist(), roots, strict=True):
        up, down = (float(np.nextafter(root, np.array(end, precision))) for end in (np.inf, 0))
        assert (Fraction(float(root)) + Fraction(up)) ** 2 > 4 * Fraction(number)
        assert (Fraction(float(root)) + Fraction(down)) ** 2 < 4 * Fraction(number)
