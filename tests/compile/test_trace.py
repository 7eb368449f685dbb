"""The tracer: what it reads, and the traps it closes."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

from compile.lanes_harness import canonical, lowered, run, traced
from skidpad import ops
from skidpad.compile.program import Instruction, Port
from skidpad.compile.trace import trace
from skidpad.errors import TraceError, UnknownOperation


def test_operations_come_out_in_order_and_once() -> None:
    program = traced(lambda a, b: (ops.sin(a * b) + 2.0, ops.sin(a * b)), 2)
    assert dict(program.counts) == {"mul": 1, "sin": 1, "add": 1}
    assert [p.name for p in program.inputs] == ["in"]
    assert all(a < k for k, i in enumerate(program.code) for a in i.args)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: math.sin(a),
        lambda a: 1.0 + float(a),
        lambda a: np.float64(a) * 2.0,
        lambda a: a + math.hypot(a, 1.0),
    ],
    ids=["math", "float", "np.float64", "hypot"],
)
def test_a_python_float_made_of_a_symbol_is_refused(function: Any) -> None:
    with pytest.raises(TraceError, match=r"NaN constant.*float\(x\).*skidpad\.ops"):
        traced(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a if a > 0 else -a,
        lambda a: (a > 0) and (a < 1),
        lambda a: min(a, 1.0),
        lambda a: max(a, a * 2.0),
        lambda a: a * float(0 < a < 1),
        lambda a: a if not a else 0.0,
    ],
    ids=["if", "and", "min", "max", "chain", "not"],
)
def test_a_python_branch_says_to_use_where(function: Any) -> None:
    with pytest.raises(TraceError, match=r"branches in Python.*skidpad\.ops\.where"):
        traced(function)


def test_a_python_integer_made_of_a_symbol_says_to_use_floor() -> None:
    with pytest.raises(TraceError, match="floor"):
        traced(lambda a: int(a) + 1.0)


def test_other_errors_of_the_function_pass_through() -> None:
    def broken(a: Any) -> Any:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        traced(broken)


def test_where_is_one_select() -> None:
    program = traced(lambda a, b: ops.where(a < b, ops.sin(a), ops.cos(b)), 2)
    assert program.counts == {"lt": 1, "sin": 1, "cos": 1, "select": 1}


def test_where_with_the_condition_negated_is_one_select() -> None:
    def function(a: Any, b: Any) -> Any:
        return ops.where(ops.logical_not(a < b), a, b)

    assert traced(function, 2).counts["select"] == 1
    low = lowered(function, 2)
    a, b = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    np.testing.assert_array_equal(run(low, a, b)[0], [2.0, 2.0])


def test_nested_where() -> None:
    def function(a: Any, b: Any) -> Any:
        return ops.where(a > 0, ops.where(b > 0, a, b), ops.where(b > 0, a * b, -b))

    program = traced(function, 2)
    assert program.counts["select"] == 3
    assert program.counts["add"] == 0
    a, b = (v.ravel() for v in np.meshgrid([-2.0, 3.0], [-5.0, 7.0]))
    np.testing.assert_array_equal(run(lowered(function, 2), a, b)[0], function(a, b))


def test_where_keeps_minus_zero() -> None:
    program = lowered(lambda a, b: ops.where(a < b, -b, b), 2)
    a, b = np.array([-1.0, 1.0]), np.array([0.0, -0.0])
    result = run(program, a, b)[0]
    assert canonical(result) == canonical([-0.0, -0.0])


def test_where_takes_only_the_chosen_side() -> None:
    program = lowered(lambda a: ops.where(a > 0, ops.log(a), -1.0))
    np.testing.assert_array_equal(run(program, [1.0, 0.0, -3.0])[0], [0.0, -1.0, -1.0])


def test_a_sum_of_unrelated_selects_stays_a_sum() -> None:
    def function(a: Any, b: Any) -> Any:
        return ops.where(a > 0, a, 0.0) + ops.where(b > 0, b, 0.0)

    assert traced(function, 2).counts == {"lt": 2, "select": 2, "add": 1}


def test_comparisons_are_numbers() -> None:
    """As in CasADi's own adjoints: the derivative of a maximum is a comparison."""

    def gradient(a: Any, b: Any) -> tuple[Any, ...]:
        value = 3.0 * ops.maximum(a, b * b)
        return ca.jacobian(value, a), ca.jacobian(value, b), (a < b) + 2.0 * (a <= b)

    program = lowered(gradient, 2)
    a, b = np.array([5.0, 1.0]), np.array([2.0, 2.0])
    da, db, n = run(program, a, b)
    np.testing.assert_array_equal(da, [3.0, 0.0])
    np.testing.assert_array_equal(db, [0.0, 12.0])
    np.testing.assert_array_equal(n, [0.0, 3.0])


def test_a_number_is_a_condition_unless_it_is_zero() -> None:
    program = lowered(lambda a: ops.where(a, 1.0, 2.0))
    np.testing.assert_array_equal(run(program, [0.0, -0.0, 0.5, -3.0])[0], [2.0, 2.0, 1.0, 1.0])


def test_casadi_folds_what_is_zero_for_finite_numbers() -> None:
    """The tracer's own algebra, known and accepted: NaN and infinity do not get through these, and
    a constant -0.0 is 0.0."""
    program = traced(lambda a: (a - a, 0.0 * a, a + 0.0, -0.0))
    assert {i.imm.hex() for i in program.code if i.op == "const"} == {(0.0).hex()}
    assert program.operations == 0
    low = lowered(lambda a: (a - a, 0.0 * a))
    for column in run(low, [np.inf, np.nan]):
        np.testing.assert_array_equal(column, [0.0, 0.0])


def test_maximum_of_nan_is_nan_when_compiled() -> None:
    """CasADi evaluates fmax(NaN, 1) as 1."""
    x = ca.SX.sym("x")
    assert float(ca.Function("f", [x], [ca.fmax(x, 1.0)])(math.nan)) == 1.0
    low = lowered(lambda a: (ops.maximum(a, 1.0), ops.maximum(1.0, a), ops.minimum(a, 1.0)))
    assert all(np.isnan(column).all() for column in run(low, [np.nan]))


@pytest.mark.parametrize(
    ("function", "name"),
    [(lambda a: ca.erf(a), "erf"), (lambda a: ca.fmod(a, 2.0), "fmod")],
    ids=["erf", "fmod"],
)
def test_an_unknown_operation_is_named(function: Any, name: str) -> None:
    with pytest.raises(UnknownOperation, match=f"'{name}'.*allowed are.*atan2"):
        traced(function)


def test_a_power_needs_a_constant_exponent() -> None:
    with pytest.raises(UnknownOperation, match=r"exponent that is not constant.*exp\(n \* log"):
        traced(lambda a, b: a**b, 2)
    assert Instruction("pow", (0,), 2.5) in traced(lambda a: a**2.5).code


def test_symbols_from_elsewhere_are_named() -> None:
    stray = ca.SX.sym("stray")
    with pytest.raises(TraceError, match="stray"):
        traced(lambda a: a + stray)


def test_the_number_of_outputs_is_checked() -> None:
    def one(values: Any) -> Any:
        return ((values[0],),)

    with pytest.raises(TraceError, match=r"'y' has 2 fields \(u, v\) but the function returned 1"):
        trace("f", one, (Port("x", ("a",)),), (Port("y", ("u", "v")),))


@pytest.mark.parametrize("value", [ca.SX.zeros(2), "text", None], ids=["vector", "text", "None"])
def test_what_is_not_a_scalar_is_refused(value: Any) -> None:
    with pytest.raises(TraceError, match="scalar"):
        trace("f", lambda x: ((value,),), (Port("x", ("a",)),), (Port("y", ("u",)),))


def test_constants_are_kept_once_and_unused_inputs_not_at_all() -> None:
    program = traced(lambda a, b: (a, 1.5, 1.5, 0.1), 2)
    assert program.operations == 0
    assert sorted(i.imm for i in program.code if i.op == "const") == [0.1, 1.5]
    assert [i.imm for i in program.code if i.op == "input"] == [(0, 0)]
