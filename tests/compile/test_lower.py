"""The lowering: where it rounds, what it shares, and that it keeps the meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from compile.lanes_harness import PRECISIONS, canonical, lowered, run, traced
from skidpad import ops
from skidpad.compile.lower import lower, with_shared_reciprocals
from skidpad.compile.program import LOWERED_OPS, Instruction
from skidpad.errors import InvalidValue, UnknownOperation


def counts(function: Any, inputs: int) -> dict[str, int]:
    return dict(lowered(function, inputs).counts)


def test_a_product_used_by_one_sum_is_fused() -> None:
    assert counts(lambda a, b, c: a * b + c, 3) == {"fma": 1}
    assert counts(lambda a, b, c: c + a * b, 3) == {"fma": 1}
    assert counts(lambda a, b, c: a * b - c, 3) == {"neg": 1, "fma": 1}
    assert counts(lambda a, b, c: c - a * b, 3) == {"neg": 1, "fma": 1}


def test_a_product_used_only_by_sums_is_fused_into_each() -> None:
    assert counts(lambda a, b, c: (a * b + c, a * b - c), 3) == {"fma": 2, "neg": 1}


def test_a_product_used_elsewhere_stays() -> None:
    assert counts(lambda a, b, c: (a * b + c, ops.sqrt(a * b)), 3) == {
        "mul": 1,
        "add": 1,
        "sqrt": 1,
    }
    assert counts(lambda a, b, c: (a * b + c, a * b), 3) == {"mul": 1, "add": 1}


def test_a_sum_of_two_products_rounds_one_of_them() -> None:
    assert counts(lambda a, b, c, d: a * b + c * d, 4) == {"mul": 1, "fma": 1}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_fused_sum_is_rounded_once(precision: str) -> None:
    eps = float(np.finfo(precision).eps)
    a = 1.0 + eps
    difference = run(lowered(lambda x, y: x * x - y, 2, precision), [a], [1.0 + 2.0 * eps])[0]
    assert difference[0] == eps * eps
    double = run(lowered(lambda x: x * x + x * x, 1, precision), [a])[0]
    assert double[0] == 2.0 * (1.0 + 2.0 * eps)


def test_what_no_result_needs_is_left_out() -> None:
    program = lowered(lambda a, b: (ops.where(a > 0, a, a), b * 1.0), 2)
    assert program.operations == 0
    used = {a for i in program.code for a in i.args} | {r for p in program.results for r in p}
    assert used == set(range(len(program.code)))


def test_sine_and_cosine_share_their_reduction() -> None:
    both = lowered(lambda a: (ops.sin(a), ops.cos(a))).operations
    apart = lowered(ops.sin).operations + lowered(ops.cos).operations
    assert both < 0.8 * apart
    assert lowered(lambda a: (ops.sin(a), ops.sin(a))).operations == lowered(ops.sin).operations


@pytest.mark.parametrize("precision", PRECISIONS)
def test_only_lowered_operations_are_left(precision: str) -> None:
    def everything(a: Any, b: Any) -> tuple[Any, ...]:
        names = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log")
        values = [getattr(ops, name)(a) for name in names]
        rest = (ops.sqrt(a), ops.abs(a), ops.sign(a), ops.floor(a), ops.pow(a, 2.3), ops.pow(a, 7))
        pairs = (ops.atan2(a, b), ops.hypot(a, b), ops.minimum(a, b), ops.clip(a, b, 1.0))
        logic = ops.where(ops.logical_or(a < b, ops.logical_not(ops.logical_and(a == b, b))), a, b)
        return (*values, *rest, *pairs, logic)

    program = lowered(everything, 2, precision)
    assert program.precision == precision
    for i in program.code:
        assert len(i.args) == LOWERED_OPS[i.op]
    kind = np.dtype(precision).type
    for i in program.code:
        if i.op == "const" and np.isfinite(i.imm):
            assert float(kind(i.imm)) == i.imm


def test_booleans_are_typed() -> None:
    """Conditions reach selects as booleans, and become numbers only where a number is needed."""
    logic = lowered(lambda a, b: ops.where(ops.logical_and(a > 0, b > 0), a, b), 2)
    assert dict(logic.counts) == {"lt": 2, "and": 1, "select": 1}
    number = lowered(lambda a, b: (a > b) + 1.0, 2)
    assert dict(number.counts) == {"lt": 1, "select": 1, "add": 1}
    condition = lowered(lambda a, b: ops.where(a, b, 1.0), 2)
    assert dict(condition.counts) == {"ne": 1, "select": 1}


@pytest.mark.parametrize("precision", PRECISIONS)
def test_minimum_and_maximum_propagate_nan(precision: str) -> None:
    program = lowered(lambda a, b: (ops.minimum(a, b), ops.maximum(a, b)), 2, precision)
    values = np.array([-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan], precision)
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    low, high = run(program, a, b)
    assert canonical(low) == canonical(np.minimum(a, b))
    assert canonical(high) == canonical(np.maximum(a, b))


def test_nan_in_what_is_compared_with_a_parameter_is_kept() -> None:
    """Parameters are checked before a rollout, so one select is enough there."""
    program = lower(traced(lambda a: ops.clip(a, -1.0, 1.0)), "float64")
    assert program.counts["select"] == 2
    np.testing.assert_array_equal(
        run(program, [np.nan, -np.inf, 5.0, 0.5])[0], [np.nan, -1.0, 1.0, 0.5]
    )


def test_a_shared_divisor_is_inverted_once() -> None:
    assert counts(lambda a, b, c: (a / c, b / c), 3) == {"div": 1, "mul": 2}
    assert counts(lambda a, b, c: (1.0 / c, b / c), 3) == {"div": 1, "mul": 1}
    assert counts(lambda a, b, c: a / c, 3) == {"div": 1}


def test_a_divisor_held_over_the_rollout_is_inverted_once() -> None:
    held = lower(traced(lambda a, b: a / (1.0 + b), 2, port="p"), "float64")
    assert dict(held.counts) == {"add": 1, "div": 1, "mul": 1}
    alone = with_shared_reciprocals(traced(lambda a: 1.0 / a, 1, port="p"))
    assert dict(alone.counts) == {"div": 1}


def test_shared_reciprocals_cost_half_an_ulp() -> None:
    program = lowered(lambda a, b, c: (a / c, b / c), 3)
    rng = np.random.default_rng(1)
    a, b, c = rng.uniform(0.5, 50.0, (3, 1000))
    for got, want in zip(run(program, a, b, c), (a / c, b / c), strict=True):
        assert np.max(np.abs(got - want) / np.spacing(want)) <= 2.0


def test_an_unknown_operation_is_named() -> None:
    program = traced(lambda a: ops.sin(a))
    strange = replace(program, code=(program.code[0], Instruction("gamma", (0,))))
    with pytest.raises(UnknownOperation, match="'gamma'"):
        lower(strange, "float64")


def test_precision_is_checked() -> None:
    program = traced(lambda a: a + 1.0)
    with pytest.raises(InvalidValue, match=r"'float16'.*float32, float64"):
        lower(program, "float16")
    with pytest.raises(InvalidValue, match="already lowered to float64"):
        lower(lower(program, "float64"), "float64")


def test_sign_and_rounding() -> None:
    values = np.array([-np.inf, -1.5, -0.3, -0.0, 0.0, 0.3, 1.5, np.inf, np.nan])
    sign, floor, ceil = run(lowered(lambda a: (ops.sign(a), ops.floor(a), -ops.floor(-a))), values)
    np.testing.assert_array_equal(sign, np.sign(values))
    assert canonical(floor) == canonical(np.floor(values))
    np.testing.assert_array_equal(ceil, np.ceil(values))


def tyre(a: Any, b: Any, c: Any) -> tuple[Any, ...]:
    """A knot of everything vehicles use, on arguments of ordinary size."""
    s = 10.0 * a
    force = ops.sin(1.3 * ops.atan(s - 0.3 * (s - ops.atan(s))))
    load = ops.maximum(b * b - a, 0.1) / (1.0 + c * c)
    grip = ops.hypot(force * load, ops.tanh(c)) + ops.pow(load, 0.8)
    angle = ops.atan2(b, ops.smooth_abs(a, 0.1) + 0.2)
    table = ops.lookup(c, (-1.0, 0.0, 2.0), (3.0, 1.0, b))
    return grip, angle, ops.where(ops.logical_and(a < b, c > 0.0), ops.exp(-load), table)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-13), ("float32", 2e-5)])
def test_meaning_is_kept(precision: str, tolerance: float) -> None:
    rng = np.random.default_rng(11)
    columns = rng.uniform(-2.0, 2.0, (3, 400)).astype(precision).astype(float)
    wanted = tyre(*columns)
    got = run(lowered(tyre, 3, precision), *columns)
    for value, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(value, want, rtol=tolerance, atol=tolerance)


def test_meaning_against_fifty_digits() -> None:
    rng = np.random.default_rng(12)
    columns = rng.uniform(-2.0, 2.0, (2, 50))
    program = lowered(lambda a, b: ops.tan(a * 0.7) + ops.exp(b) * ops.log(a * a + 0.1), 2)
    with mpmath.workdps(50):
        exact = [
            float(
                mpmath.tan(a * mpmath.mpf(0.7))
                + mpmath.exp(b) * mpmath.log(a * a + mpmath.mpf(0.1))
            )
            for a, b in (map(mpmath.mpf, pair) for pair in columns.T)
        ]
    np.testing.assert_allclose(run(program, *columns)[0], exact, rtol=1e-14, atol=1e-14)
