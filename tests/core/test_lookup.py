"""Tables against NumPy's and SciPy's interpolation."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator

from skidpad import ops
from skidpad.errors import InvalidValue

KNOTS = [-2.0, -0.5, 0.0, 1.0, 4.0]
VALUES = [3.0, -1.0, 0.5, 0.5, 10.0]
ROWS, COLUMNS = [0.0, 1.0, 3.0], [-1.0, 0.0, 0.5, 2.0]
TABLE = [[1.0, 2.0, -3.0, 4.0], [0.0, 5.0, 5.0, -2.0], [7.0, 7.5, 0.0, 1.0]]


def points() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([KNOTS, rng.uniform(-4.0, 6.0, 200), [-1e6, 1e6]])


def test_one_dimension() -> None:
    x = points()
    wanted = np.interp(x, KNOTS, VALUES)
    np.testing.assert_allclose(ops.lookup(x, KNOTS, VALUES), wanted, rtol=1e-12, atol=1e-12)
    floats = [ops.lookup(float(v), KNOTS, VALUES) for v in x]
    np.testing.assert_allclose(floats, wanted, rtol=1e-12, atol=1e-12)
    s = ca.SX.sym("s")
    f = ca.Function("f", [s], [ops.lookup(s, KNOTS, VALUES)])
    np.testing.assert_allclose([float(f(v)) for v in x], wanted, rtol=1e-12, atol=1e-12)


@given(
    st.lists(
        st.floats(-100.0, 100.0).map(lambda v: round(v, 2)), min_size=2, max_size=6, unique=True
    ),
    st.data(),
)
def test_any_table(knots: list[float], data: st.DataObject) -> None:
    knots = sorted(knots)
    values = [data.draw(st.floats(-10.0, 10.0)) for _ in knots]
    x = data.draw(st.floats(-150.0, 150.0))
    wanted = float(np.interp(x, knots, values))
    assert ops.lookup(x, knots, values) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_at_the_knots_the_values_are_exact() -> None:
    assert [ops.lookup(k, KNOTS, VALUES) for k in KNOTS] == VALUES


def test_outside_the_edge_values_hold() -> None:
    for x in (-2.1, -1e300, -np.inf):
        assert ops.lookup(x, KNOTS, VALUES) == VALUES[0]
    for x in (4.1, 1e300, np.inf):
        assert ops.lookup(x, KNOTS, VALUES) == VALUES[-1]
    assert np.isnan(ops.lookup(float("nan"), KNOTS, VALUES))


def clamped(row: Any, column: Any) -> np.ndarray:
    grid = RegularGridInterpolator((ROWS, COLUMNS), np.array(TABLE))
    return grid(
        np.stack([np.clip(row, ROWS[0], ROWS[-1]), np.clip(column, COLUMNS[0], COLUMNS[-1])], -1)
    )


def test_two_dimensions() -> None:
    rng = np.random.default_rng(1)
    row = np.concatenate([np.repeat(ROWS, len(COLUMNS)), rng.uniform(-1.0, 4.0, 200), [-9.0, 9.0]])
    column = np.concatenate([np.tile(COLUMNS, len(ROWS)), rng.uniform(-2.0, 3.0, 200), [9.0, -9.0]])
    got = ops.lookup2(row, column, ROWS, COLUMNS, TABLE)
    np.testing.assert_allclose(got, clamped(row, column), rtol=1e-12, atol=1e-12)
    s, t = ca.SX.sym("s"), ca.SX.sym("t")
    f = ca.Function("f", [s, t], [ops.lookup2(s, t, ROWS, COLUMNS, TABLE)])
    np.testing.assert_allclose(
        [float(f(a, b)) for a, b in zip(row, column, strict=True)],
        clamped(row, column),
        rtol=1e-12,
        atol=1e-12,
    )


def test_gradients() -> None:
    s = ca.SX.sym("s")
    values = [ca.SX.sym(f"v{k}") for k in range(len(KNOTS))]
    table = ops.lookup(s, KNOTS, values)
    f = ca.Function("f", [s, *values], [ca.gradient(table, s), ca.gradient(table, values[1])])
    slope, weight = (float(v) for v in f(-1.0, *VALUES))
    assert slope == pytest.approx((-1.0 - 3.0) / 1.5)
    assert weight == pytest.approx(2.0 / 3.0)
    slope, weight = (float(v) for v in f(100.0, *VALUES))
    assert slope == 0.0
    assert weight == 0.0


def test_knots_that_are_traced() -> None:
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    f = ca.Function("f", [a, b], [ops.lookup(1.0, [a, b], [0.0, 10.0])])
    assert float(f(0.0, 4.0)) == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("knots", "values", "message"),
    [
        ([0.0, 1.0], [1.0], "got 2 knots and 1 values"),
        ([0.0], [1.0], "at least 2"),
        ([0.0, 0.0], [1.0, 2.0], "knots must increase"),
        ([1.0, 0.0], [1.0, 2.0], r"knots must increase, got \[1.0, 0.0\]"),
        ([0.0, float("nan")], [1.0, 2.0], "knots must increase"),
    ],
)
def test_bad_tables(knots: Any, values: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        ops.lookup(0.5, knots, values)


def test_bad_tables_of_two_dimensions() -> None:
    with pytest.raises(InvalidValue, match="2 values in every row"):
        ops.lookup2(0.0, 0.0, [0.0, 1.0], [0.0, 1.0], [[1.0, 2.0], [3.0]])
    with pytest.raises(InvalidValue, match="3 knots and 2 values"):
        ops.lookup2(0.0, 0.0, [0.0, 1.0, 2.0], [0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]])
