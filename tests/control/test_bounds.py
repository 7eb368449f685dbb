"""Bounds of optimal control that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

import skidpad as sp
from skidpad.control.nmpc import bounds
from skidpad.errors import InvalidValue

Input = sp.vehicles.kinematic_bicycle().Input
FIELD = Input._fields[0]


@pytest.mark.parametrize("value", [-1.0, 0.0, -1])
def test_one_number_is_for_both_sides(value: float) -> None:
    with pytest.raises(InvalidValue, match=rf"= {value!r} is a symmetric limit"):
        bounds(Input, "input_bounds", {FIELD: value})


@pytest.mark.parametrize("pair", [(1.0, -1.0), (1.0, 1.0)])
def test_sides_are_in_order(pair: Any) -> None:
    with pytest.raises(InvalidValue, match="must be less than"):
        bounds(Input, "input_bounds", {FIELD: pair})
