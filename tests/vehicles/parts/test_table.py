"""Tables against interpolation by NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.units import m_s, m_s2
from skidpad.vehicles.parts.assembly import (
    PLAIN,
    NoTable,
    at_column,
    at_row,
    curve,
    curve_integral,
    curve_type,
    on_curve,
    table,
    table_type,
)

ROWS = (-2.0, -0.5, 0.0, 3.0)
COLUMNS = (0.0, 1.0, 5.0)
VALUES = ((-2.5, -2.0, -1.0), (-0.6, -0.4, -0.45), (0.0, -0.1, 0.05), (2.5, 3.0, 1.0))
TABLE = table(ROWS, COLUMNS, VALUES)


def interpolated(row: float, column: float) -> float:
    """Columns first, as upstream does it; NumPy holds the edge values outside."""
    return float(np.interp(row, ROWS, [np.interp(column, COLUMNS, line) for line in VALUES]))


@given(st.floats(-4.0, 5.0), st.floats(-2.0, 8.0))
def test_a_table_is_bilinear_with_edges(row: float, column: float) -> None:
    assert at_column(column, at_row(row, TABLE)) == pytest.approx(
        interpolated(row, column), abs=1e-13
    )


def test_the_grid_itself_is_met() -> None:
    for i, row in enumerate(ROWS):
        for j, column in enumerate(COLUMNS):
            assert at_column(column, at_row(row, TABLE)) == pytest.approx(VALUES[i][j], abs=1e-15)


def test_the_numbers_are_fields_with_units() -> None:
    kind = type(table(ROWS, COLUMNS, VALUES, (m_s2, m_s, m_s2)))
    assert record.size(kind) == 4 + 3 + 12
    units = {leaf.name: leaf.unit.symbol for leaf in record.fields(kind)}
    assert (units["row_3"], units["column_2"], units["v_3_2"]) == ("m/s²", "m/s", "m/s²")
    assert TABLE.v_1_2 == -0.45


def test_a_size_has_one_class() -> None:
    assert table_type(4, 3, PLAIN) is type(TABLE)
    assert table_type(3, 4, PLAIN) is not type(TABLE)
    assert record.size(NoTable) == 0


KNOTS, HEIGHTS = (-1.0, 0.5, 2.0, 4.0), (3.0, 1.0, 1.5, -2.0)


@given(st.floats(-3.0, 6.0))
def test_a_curve_is_straight_between_its_points(x: float) -> None:
    want = float(np.interp(x, KNOTS, HEIGHTS))
    assert on_curve(x, curve(KNOTS, HEIGHTS)) == pytest.approx(want, abs=1e-13)


@given(st.floats(-3.0, 6.0))
def test_the_integral_of_a_curve_is_that_of_its_trapezia(x: float) -> None:
    """Trapezia are exact between knots; before the first one the curve is level."""
    grid = sorted({*(k for k in KNOTS if k < x), x, KNOTS[0]})
    want = float(np.trapezoid(np.interp(grid, KNOTS, HEIGHTS), grid))
    want = want if x >= KNOTS[0] else -want
    assert curve_integral(x, curve(KNOTS, HEIGHTS)) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(
    ("knots", "values"), [((0.0,), (1.0,)), ((0.0, 0.0), (1.0, 2.0)), ((0.0, 1.0), (1.0,))]
)
def test_a_curve_needs_increasing_knots_and_a_value_for_each(
    knots: tuple[float, ...], values: tuple[float, ...]
) -> None:
    with pytest.raises(InvalidValue, match="increasing knots and as many values"):
        curve(knots, values)


def test_curves_of_one_size_and_units_have_one_class() -> None:
    kind = type(curve(KNOTS, HEIGHTS, (m_s, m_s2)))
    assert kind is curve_type(4, (m_s, m_s2))
    assert record.fields(kind)[-1].unit.symbol == "m/s²"
