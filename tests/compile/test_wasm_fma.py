"""The multiply-add of WebAssembly modules rounds once, for all numbers there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from compile.c_harness import program_of
from compile.wasm_harness import KINDS, Engine
from skidpad.export.webassembly import modules_of
from viewer.conftest import browser as browser

DIGITS = {"float64": (53, -1074, 1023), "float32": (24, -149, 127)}
"""Digits of a number, the power of two of the smallest one, and of the largest."""


def nearest(value: Fraction, precision: str) -> float:
    """A number other than zero rounded to nearest, ties to even, by whole numbers."""
    digits, smallest, largest = DIGITS[precision]
    size = abs(value)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** power > size:
        power -= 1
    last = max(power - digits + 1, smallest)
    whole = round(size / Fraction(2) ** last)  # to even, as Python has it
    if whole.bit_length() + last > largest + 1:
        return math.inf if value > 0 else -math.inf
    return math.copysign(math.ldexp(whole, last), 1 if value > 0 else -1)


def fma(a: float, b: float, c: float, precision: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return nearest(exact, precision)
    negative = math.copysign(1.0, a) * math.copysign(1.0, b) < 0
    return -0.0 if negative and math.copysign(1.0, c) < 0 and not (a * b or c) else 0.0


def corners(precision: str) -> np.ndarray:
    """All triples of numbers at the ends of what there is."""
    digits, smallest, largest = DIGITS[precision]
    e, low = 2.0 ** (1 - digits), smallest + digits - 1
    values = [0.0, math.ldexp(1.0, smallest), math.ldexp(1.0 - e, low), math.ldexp(1.0, low)]
    values += [math.ldexp(1.5, low // 2), 1.0 - e / 2, 1.0, 1.0 + e, 3.0]
    values += [math.ldexp(1.0 + e, largest // 2), math.ldexp(1.0, largest)]
    values += [math.ldexp(2.0 - e, largest), math.inf]
    values = np.array([*values, *[-v for v in values], math.nan], precision)
    return np.stack([axis.ravel() for axis in np.meshgrid(values, values, values)], axis=1)


def random_triples(precision: str, count: int) -> np.ndarray:
    """Numbers of every size, and sums that cancel, that lie half-way, that are very small."""
    rng = np.random.default_rng(5)
    digits, smallest, largest = DIGITS[precision]
    word = np.uint64 if precision == "float64" else np.uint32
    anything = rng.integers(0, np.iinfo(word).max, (count, 3), word).view(precision)
    a, b = rng.uniform(1.0, 2.0, (2, count)).astype(precision)
    tiny = np.ldexp(1.0, rng.integers(smallest, 0, count)).astype(precision)
    sign = rng.choice([-1.0, 1.0], (3, count)).astype(precision)
    with np.errstate(all="ignore"):
        cancelling = np.stack([a, b * sign[0], -a * b * sign[0] * (1 + tiny * sign[1])], axis=1)
    # The product has one digit more than a number has: it lies half-way between two.
    half = digits // 2 + 1
    p = rng.integers(2 ** (half - 1), 2**half, count) | 1
    q = rng.integers(2 ** (digits - half), 2 ** (digits - half + 1), count) | 1
    halfway = np.stack([p * sign[0], q * sign[1], tiny * sign[2]], axis=1).astype(precision)
    # The product is half of the last place of c, or nearly.
    near = np.array([1.0, 1.0 - 2.0**-digits, 1.0 + 2.0 ** (1 - digits)], precision)
    part = rng.choice(near, count) * precision_power(precision, -digits)
    beside = np.stack([part, sign[0], (a * sign[1])], axis=1)
    # Results below the normal numbers.
    shift = rng.integers(-digits - 3, 3, (2, count)) + smallest + digits
    split = shift[0] // 2
    below = np.stack([np.ldexp(a, split), np.ldexp(b, shift[0] - split), np.ldexp(a, shift[1])], 1)
    above = np.ldexp(1.0, np.array([largest // 2, largest - largest // 2, largest]))
    over = np.stack([a, b * sign[0], b * sign[1]], axis=1) * above.astype(precision)
    parts = [anything, cancelling, halfway, beside, below * sign.T, over]
    return np.concatenate([part.astype(precision) for part in parts])


def precision_power(precision: str, power: int) -> Any:
    return np.dtype(precision).type(2.0**power)


@pytest.fixture(scope="module")
def engine(browser: Any) -> Iterator[Engine]:
    found = Engine(browser)
    yield found
    found.page.close()


@pytest.mark.parametrize("precision", DIGITS)
def test_fma_rounds_once(engine: Engine, precision: str) -> None:
    triples = np.concatenate([corners(precision), random_triples(precision, 1500)])
    with np.errstate(all="ignore"):
        wanted = np.array([fma(*row, precision) for row in triples.tolist()], precision)
        twice = triples[:, 0] * triples[:, 1] + triples[:, 2]
    assert np.count_nonzero(twice != wanted) > 3000, "cases that tell"
    program = program_of(lambda b, x, y, z: b.fma(x, y, z), precision, 3)
    modules = modules_of({"f": program})
    for kind in KINDS:
        engine.load(modules, kind)
        (got,) = engine.apply("f", program, triples)
        wrong = np.flatnonzero(~_alike(got[:, 0], wanted))
        assert not len(wrong), (kind, len(wrong), [
            (triples[k].tolist(), got[k, 0], wanted[k]) for k in wrong[:5]
        ])


def _alike(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    return same | (np.isnan(got) & np.isnan(wanted))
