"""Expressions in world files: values worked by hand, and everything else refused."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.world.xml.expressions import DEEPEST, Draws, evaluate
from texts import texts

VARIABLES = {"iX": 4.0, "N": 3.0}


def value(text: str) -> float:
    return evaluate(text, VARIABLES, Draws(0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 ^ 2", 19.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("-(1 - 3) / 4", 0.5),
        ("10 % 4 - -7 % 4", 5.0),
        ("1e3 + .5 + 5.", 1005.5),
        ("8 / 4 / 2", 1.0),
        ("1 < 2", 1.0),
        ("2 <= 1", 0.0),
        ("3 == 3 and 3 != 4 and 3 <> 4 and 3 = 3", 1.0),
        ("0 or 1 and 0", 0.0),
        ("1 xor 1", 0.0),
        ("1 nand 1", 0.0),
        ("0 nor 0", 1.0),
        ("1 && 0 || 1", 1.0),
        ("not 0 + 1", 2.0),
        ("!5", 0.0),
        ("--3", 3.0),
        ("if(3 <= 3 or 3 >= 6, 1, 0)", 1.0),
        ("1 > 2 ? 3 : 2 > 1 ? 4 : 5", 4.0),
        ("ix * n", 12.0),
        ("iX*N", 12.0),
        ("min(3, 1, 2) + max(1, 7) + sum(1, 2) + avg(2, 4)", 14.0),
        ("clamp(0, 5, 2) + abs(-3) + sgn(-2) + floor(1.7) + ceil(1.2)", 7.0),
        ("round(2.5) + round(-2.5) + trunc(-1.7)", -1.0),
        ("hypot(3, 4) + pow(2, 3) + mod(7, 4) + sqrt(9)", 19.0),
        ("frac(1.25)", 0.25),
        ("rad2deg(pi)", 180.0),
        ("cos(deg2rad(60))", 0.5),
        ("log(exp(2)) + log10(1000) + log2(8)", 8.0),
        ("true + false", 1.0),
        ("180 * M_PI / pi", 180.0),
        ("min(inf, 3)", 3.0),
        ("1 xnor 1", 1.0),
        ("1 xnor 0", 0.0),
        ("cot(pi / 4) + sec(0) + csc(pi / 2) + sinc(0)", 4.0),
        ("erfc(0) + ncdf(0)", 1.5),
        ("deg2grad(90) + grad2deg(100)", 190.0),
        ("logn(8, 2) + root(27, 3)", 6.0),
        ("roundn(1.2345, 2) + roundn(-1.255, 1)", -0.07),
        ("equal(2, 2) + not_equal(2, 2)", 1.0),
        ("inrange(0, 1, 2) + inrange(0, 3, 2)", 1.0),
        ("iclamp(-1, -0.5, 1) + iclamp(-1, 0.5, 1) + iclamp(-1, 7, 1)", 7.0),
        ("mul(2, 3, 4) + mand(1, 0) + mor(0, 1)", 25.0),
    ],
)
def test_values(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected, abs=1e-12)


def test_a_variable_hides_a_constant() -> None:
    assert evaluate("pi", {"pi": 3.0}, Draws(0)) == 3.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 / 0", "division by zero"),
        ("1 / (N - 3)", "division by zero"),
        ("5 % 0", "division by zero"),
        ("1 +", "it ends too early"),
        ("", "it ends too early"),
        ("(1", "')' is missing before the end"),
        ("1 2", "'2' is not expected"),
        ("1; 2", "';' is not expected"),
        ("and", "'and' is not expected"),
        ("sqrt(-1)", "sqrt(-1) has no finite value"),
        ("9 ^ 9 ^ 9", "has no finite value"),
        ("(0-1) ^ 0.5", "has no finite value"),
        ("exp(1000)", "has no finite value"),
        ("1e308 * 10", "is not finite"),
        ("sin()", "sin takes 1 arguments, got 0"),
        ("min()", "min takes 1 or more arguments, got 0"),
        ("rand(1)", "rand takes 0 arguments, got 1"),
        ("floer(1)", "did you mean 'floor'?"),
        ("iXX", "did you mean 'iX'?"),
        ("elephant", "known are N, epsilon, false, iX, inf, m_pi, pi, true"),
        ("__import__('os').system('true')", "is not expected"),
        ("(1).__class__", "is not expected"),
        ("(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1), "within one another"),
        ("2^" * 5000 + "1", "within one another"),
    ],
)
def test_what_has_no_value_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        value(text)
    assert says in str(caught.value)
    assert text.strip()[:20] in str(caught.value)


def test_a_long_row_of_signs_is_no_problem() -> None:
    assert value("-" * 5001 + "1") == -1.0
    assert value("not " * 5001 + "1") == 0.0


NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))
TREES = st.recursive(
    NUMBERS.map(lambda x: f"({x!r})"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=12,
)


@given(TREES)
def test_sums_and_products_are_those_of_python(text: str) -> None:
    expected = eval(text)
    if math.isfinite(expected):
        assert evaluate(text, {}, Draws(0)) == expected


@given(texts(30))
def test_any_text_has_a_finite_value_or_is_refused(text: str) -> None:
    with suppress(InvalidValue):
        assert math.isfinite(evaluate(text, VARIABLES, Draws(0)))


def test_draws_follow_the_seed() -> None:
    def drawn(seed: int) -> list[float]:
        draws = Draws(seed)
        texts = ("rand()", "unifrnd(5, 6)", "randn()", "rand()")
        return [evaluate(text, {}, draws) for text in texts]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    first, uniform, _, last = drawn(1)
    assert 0.0 <= first < 1.0
    assert 5.0 <= uniform < 6.0
    assert first != last


def test_randomize_starts_the_sequence_of_a_seed() -> None:
    draws = Draws(0)
    assert evaluate("randomize(7)", {}, draws) == 0.0
    once = evaluate("rand()", {}, draws)
    evaluate("randomize(7)", {}, draws)
    assert evaluate("rand()", {}, draws) == once


def test_randn_has_mean_0_and_variance_1() -> None:
    draws = Draws(3)
    sample = [evaluate("randn()", {}, draws) for _ in range(4000)]
    mean = sum(sample) / len(sample)
    variance = sum((x - mean) ** 2 for x in sample) / len(sample)
    # Four standard deviations of the mean and of the variance of so many draws.
    assert abs(mean) < 4.0 / math.sqrt(4000)
    assert abs(variance - 1.0) < 4.0 * math.sqrt(2.0 / 4000)
