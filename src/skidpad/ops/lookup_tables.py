"""Tables of a few knots, whose numbers are part of the equations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..errors import InvalidValue
from .functions import clip, weighted_sum


def lookup(x: Any, knots: Sequence[Any], values: Sequence[Any]) -> Any:
    """Piecewise linear table: `values[i]` at `knots[i]`, edge values outside.

    Written as a sum of hat functions: branch-free, differentiable with respect to x and the values.
    """
    weights = hats(x, _checked_knots(knots, len(values)))
    return weighted_sum(weights, values)


def lookup2(
    row: Any,
    column: Any,
    rows: Sequence[Any],
    columns: Sequence[Any],
    values: Sequence[Sequence[Any]],
) -> Any:
    """Bilinear table: `values[i][j]` at (`rows[i]`, `columns[j]`), edge values outside."""
    row_weights = hats(row, _checked_knots(rows, len(values)))
    column_weights = hats(column, _checked_knots(columns, len(values[0])))
    if any(len(line) != len(columns) for line in values):
        raise InvalidValue(f"lookup2 needs {len(columns)} values in every row")
    # Rows first: each column is then one sum, half the work of interpolating along every row.
    by_column = [
        weighted_sum(row_weights, [line[j] for line in values]) for j in range(len(columns))
    ]
    return weighted_sum(column_weights, by_column)


def _checked_knots(knots: Sequence[Any], count: int) -> Sequence[Any]:
    if len(knots) != count or count < 2:
        raise InvalidValue(
            f"lookup needs one value per knot and at least 2; got {len(knots)} knots and "
            f"{count} values"
        )
    if all(isinstance(k, (int, float)) for k in knots) and any(
        not a < b for a, b in pairwise(knots)
    ):
        raise InvalidValue(f"lookup knots must increase, got {list(knots)}")
    return knots


def ramps(x: Any, knots: Sequence[Any]) -> list[Any]:
    """For each interval between knots, the share of it that lies below x."""
    return [clip((x - a) * (1.0 / (b - a)), 0.0, 1.0) for a, b in pairwise(knots)]


def hats(x: Any, knots: Sequence[Any]) -> list[Any]:
    """Weight of each knot at x: the difference of neighbouring ramps, which sum to one."""
    shares = ramps(x, knots)
    inner = [before - after for before, after in pairwise(shares)]
    return [1.0 - shares[0], *inner, shares[-1]]
