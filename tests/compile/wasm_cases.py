"""What WebAssembly is tested on: operations with what NumPy makes of them, sums that cancel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compile.c_harness import program_of
from compile.test_c import as_number, specials
from skidpad import Program
from skidpad.compile.program import Builder

Rule = Callable[..., int]


def plain(name: str, imm: Any = None) -> Rule:
    def rule(b: Builder, *operands: int) -> int:
        value = b.emit(name, *operands, imm=imm)
        return as_number(b, value) if b.is_bool(value) else value

    return rule


def logical(name: str) -> Rule:
    """A function of truth values as one of numbers, which are true above zero."""

    def rule(b: Builder, *operands: int) -> int:
        return as_number(b, b.emit(name, *[b.lt(b.const(0.0), x) for x in operands]))

    return rule


def chosen(b: Builder, x: int, y: int) -> int:
    return b.select(b.lt(x, y), b.const(-0.0), y)


def sign_bit(precision: str) -> int:
    return 63 if precision == "float64" else 31


ONE = ("neg", "abs", "sqrt", "rint", "floor")
TWO = ("add", "sub", "mul", "div", "copysign", "lt", "le", "eq", "ne")
NUMPY: dict[str, Any] = {
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "rint": np.rint, "floor": np.floor},
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide},
    **{"copysign": np.copysign, "lt": np.less, "le": np.less_equal, "eq": np.equal},
    "ne": np.not_equal,
}
LOGIC = {
    "and": lambda x, y: (x > 0) & (y > 0),
    "or": lambda x, y: (x > 0) | (y > 0),
    "xor": lambda x, y: (x > 0) ^ (y > 0),
}


def cases(precision: str) -> dict[str, tuple[Program, list[np.ndarray], np.ndarray]]:
    """Programs with what they are given and what they should give, by NumPy."""
    values = specials(precision)
    pairs = np.array([(x, y) for x in values for y in values], precision)
    x, y = pairs.T
    found: dict[str, tuple[Program, list[np.ndarray], np.ndarray]] = {}
    with np.errstate(all="ignore"):
        for name in ONE:
            found[name] = program_of(plain(name), precision, 1), [values], NUMPY[name](values)
        for name in TWO:
            found[name] = program_of(plain(name), precision, 2), [x, y], NUMPY[name](x, y)
        for name, rule in LOGIC.items():
            found[name] = program_of(logical(name), precision, 2), [x, y], rule(x, y)
    found["not"] = program_of(logical("not"), precision, 1), [values], ~(values > 0)
    found["select"] = program_of(chosen, precision, 2), [x, y], np.where(x < y, -0.0, y)
    return found | bit_cases(precision)


def bit_cases(precision: str) -> dict[str, tuple[Program, list[np.ndarray], np.ndarray]]:
    limits = np.finfo(precision)
    whole = np.arange(limits.minexp, limits.maxexp).astype(precision)
    x = np.array([1.0, 1.75, -3.0, 1e-30, 12345.678, float(limits.max)], precision)
    fraction, exponent = np.frexp(x)
    small = np.arange(-5.0, 6.0).astype(precision)
    signs = specials(precision)

    def odd(b: Builder, value: int) -> int:
        return as_number(b, b.testbit(b.add(value, b.magic()), 0))

    rules: dict[str, tuple[Rule, np.ndarray, np.ndarray]] = {
        "pow2": (plain("pow2"), whole, np.ldexp(np.ones(1, precision), whole.astype(int))),
        "mantissa": (plain("mantissa"), x, 2 * np.abs(fraction)),
        "exponent": (plain("exponent"), x, exponent - 1),
        "testbit": (odd, small, small % 2),
        "sign": (plain("testbit", sign_bit(precision)), signs[:10], np.signbit(signs[:10])),
        "minus": (plain("testbit", sign_bit(precision)), signs[11:21], np.signbit(signs[11:21])),
    }
    return {
        name: (program_of(rule, precision, 1), [given], wanted)
        for name, (rule, given, wanted) in rules.items()
    }


DIGITS = {"float64": (53, -1074, 1023), "float32": (24, -149, 127)}
"""Digits of a number, the power of two of the smallest one, and of the largest."""


def corners(precision: str) -> np.ndarray:
    """All triples of numbers at the ends of what there is."""
    digits, smallest, largest = DIGITS[precision]
    e, low = 2.0 ** (1 - digits), smallest + digits - 1
    values = [0.0, math.ldexp(1.0, smallest), math.ldexp(1.0 - e, low), math.ldexp(1.0, low)]
    values += [math.ldexp(1.5, low // 2), 1.0 - e / 2, 1.0 + e]
    values += [math.ldexp(1.0, largest), math.ldexp(2.0 - e, largest), math.inf]
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
