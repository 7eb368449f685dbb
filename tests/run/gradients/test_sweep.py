"""Sweeps over single operations: every derivative against the difference quotient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad import ops
from skidpad.integrate.derivatives import column, pullback, pushforward

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b - 3.0 * a,
    "product": lambda a, b: a * b * a,
    "quotient": lambda a, b: a / b + b / 3.0,
    "reciprocal": lambda a, b: 1.0 / a + 5.0 / b,
    "square": lambda a, b: a * a - 2.0 * b * b,
    "sqrt": lambda a, b: ops.sqrt(a * b),
    "exp_log": lambda a, b: ops.exp(a) * ops.log(b),
    "sin_cos": lambda a, b: ops.sin(a) * ops.cos(b) + ops.tan(a),
    "arcs": lambda a, b: ops.atan(a) + ops.asin(0.3 * a) * ops.acos(0.3 * b),
    "atan2": lambda a, b: ops.atan2(a, b),
    "hyperbolic": lambda a, b: ops.sinh(a) + ops.cosh(b) * ops.tanh(a),
    "hypot": lambda a, b: ops.hypot(a, b),
    "power": lambda a, b: ops.pow(a, 2.5) + ops.pow(b, 3.0),
    "abs_sign": lambda a, b: ops.abs(a - 2.0) * ops.sign(b),
    "extrema": lambda a, b: ops.minimum(a, b) * ops.maximum(a, 2.0 * b),
    "where": lambda a, b: ops.where(a < b, a * b, a - b),
    "floor": lambda a, b: ops.floor(a) * b,
    "comparison": lambda a, b: (a < b) * a + ops.logical_not(a < b) * b,
    "constant": lambda a, b: 4.0,
    "input_itself": lambda a, b: b,
}
POINTS = ((0.7, 1.3), (1.4, 0.4))


def differences(function: Any, at: np.ndarray) -> np.ndarray:
    h = 1e-5
    return np.array([(function(*(at + h * e)) - function(*(at - h * e))) / (2.0 * h)
                     for e in np.eye(2)])  # fmt: skip


@pytest.mark.parametrize("beside_jacobian", [False, True])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_operation(name: str, point: tuple[float, float], beside_jacobian: bool) -> None:
    function = FUNCTIONS[name]
    inputs, weight, direction = ca.SX.sym("in", 2), ca.SX.sym("w"), ca.SX.sym("d", 2)
    output = column([ca.SX(function(inputs[0], inputs[1]))])
    gradient = pullback(output, weight, inputs, beside_jacobian=beside_jacobian)
    change = pushforward(output, inputs, direction)
    swept = ca.Function("swept", [inputs, weight, direction], [gradient, change])
    found, moved = (np.array(v).ravel() for v in swept(point, 2.0, (0.3, -0.7)))
    wanted = differences(function, np.array(point))
    np.testing.assert_allclose(found, 2.0 * wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(moved, [wanted @ (0.3, -0.7)], rtol=1e-8, atol=1e-9)


def test_outputs_that_are_the_same_value_add_up() -> None:
    a = ca.SX.sym("a")
    found = pullback(ca.vertcat(a * a, a * a, a), ca.SX([1.0, 2.0, 4.0]), a)
    assert float(ca.Function("f", [a], [found])(3.0)) == 3.0 * 6.0 + 4.0


def test_symbols_besides_the_inputs_stay() -> None:
    a, k = ca.SX.sym("a"), ca.SX.sym("k")
    found = pullback(k * a * a, ca.SX(1), a)
    assert float(ca.Function("f", [a, k], [found])(3.0, 5.0)) == 30.0
