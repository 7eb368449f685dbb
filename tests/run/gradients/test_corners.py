"""Derivatives where there are none: said, not handed on as infinity without a word."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad import ops
from skidpad.units import m, m_s, one


class Place(NamedTuple):
    y: m = 0.0


class Push(NamedTuple):
    v: m_s = 0.0


class Gain(NamedTuple):
    k: one = 1.0


CART = sp.Vehicle(
    sp.Model("cart", Place, Push, Gain, derivative=lambda x, u, w, p: Place(p.k * u.v)), Gain()
)
HELD = np.zeros((2, 1))
CORNERS: dict[str, Any] = {
    "sqrt": lambda x: ops.sqrt(x.y),
    "power": lambda x: ops.pow(x.y, 0.5),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_a_slope_that_is_not_finite_is_warned_about(corner: str) -> None:
    fleet = sp.Fleet(CART, 0.1)
    with pytest.warns(UserWarning, match=r"the derivative by x0.y is (inf|nan)"):
        _, gradient = fleet.gradient({"y": 0.0}, HELD, CORNERS[corner], steps=3)
    assert not np.isfinite(gradient.x0).all()
    with pytest.warns(UserWarning, match=r"the derivative by params.k is (inf|nan)"):
        fleet.gradient({"y": 0.0}, HELD, CORNERS[corner], steps=3, wrt="params")


def test_what_was_not_asked_for_is_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fleet = sp.Fleet(CART, 0.1)
        fleet.gradient({"y": 1.0}, HELD, CORNERS["sqrt"], steps=3)
        masked = sp.Fleet(CART, 0.1, on_diverge="mask")
        masked.gradient({"y": 0.0}, HELD, CORNERS["sqrt"], steps=3)


def test_a_model_with_a_corner_is_warned_about_in_jacobians_too() -> None:
    model = sp.Model("drop", Place, Push, Gain, derivative=lambda x, u, w, p: Place(ops.sqrt(x.y)))
    fleet = sp.Fleet(sp.Vehicle(model, Gain()), 0.1, "euler")
    with pytest.warns(UserWarning, match=r"the derivative by x0.y is inf"):
        fleet.jacobian({"y": 0.0}, HELD[:1], steps=1)
