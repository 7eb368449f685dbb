"""The longest stable step of a method, against closed forms and against what steps really do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from skidpad import integrate
from skidpad.run.stability import longest_step, stability_polynomial

REAL_ENDS = {"euler": 2.0, "heun": 2.0, "rk4": 2.785293563405282, "dopri5": 3.3065}
"""Where |R(-z)| = 1 on the real axis; of RK4 the root of z³ - 4 z² + 12 z - 24 = 0, which is
|R| = 1 divided by z."""


def stepped(method: str, jacobian: np.ndarray, dt: float, steps: int) -> float:
    """Growth of a state after many steps of x' = J x, made by the integrator itself."""
    bound = integrate.get(method)
    x = tuple(np.linspace(1.0, 0.5, len(jacobian)))
    for _ in range(steps):
        x, _ = bound.step(lambda at: tuple(jacobian @ np.array(at)), x, dt)
    return float(np.abs(x).max())


@pytest.mark.parametrize("method", REAL_ENDS)
def test_the_polynomial_is_the_exponential_to_its_order(method: str) -> None:
    tableau = integrate.get(method).tableau  # type: ignore[attr-defined]
    exact = [1.0, 1.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0]
    coefficients = stability_polynomial(tableau)
    np.testing.assert_allclose(
        coefficients[: tableau.order + 1], exact[: tableau.order + 1], rtol=1e-14
    )


def test_the_sixth_coefficient_of_dormand_and_prince() -> None:
    # R(z) of DOPRI5 is known: 1 + z + ... + z⁵/120 + z⁶/600 (Hairer, Wanner, II, IV.2).
    tableau = integrate.get("dopri5").tableau  # type: ignore[attr-defined]
    assert stability_polynomial(tableau)[6] == pytest.approx(float(Fraction(1, 600)), rel=1e-13)


@pytest.mark.slow_cases("1000.0-dopri5-3.3065", "1000.0-rk4-2.785293563405282")
@pytest.mark.parametrize(("method", "end"), REAL_ENDS.items())
@pytest.mark.parametrize("rate", [1.0, 1000.0])
def test_a_lag_is_stable_up_to_the_end_of_the_real_axis(
    method: str, end: float, rate: float
) -> None:
    longest, eigenvalue = longest_step(integrate.get(method), np.array([[-rate]]))
    assert longest * rate == pytest.approx(end, rel=1e-3)
    assert eigenvalue == -rate
    assert stepped(method, np.array([[-rate]]), 0.99 * longest, 2000) < 1.0
    assert stepped(method, np.array([[-rate]]), 1.02 * longest, 2000) > 10.0


def test_the_fastest_of_several_modes_counts() -> None:
    jacobian = np.diag([-3.0, -200.0, 0.0, 4.0])
    longest, eigenvalue = longest_step(integrate.get("rk4"), jacobian)
    assert longest == pytest.approx(REAL_ENDS["rk4"] / 200.0, rel=1e-3)
    assert eigenvalue == -200.0


def test_what_grows_by_itself_or_rests_may_grow() -> None:
    for jacobian in (np.diag([5.0, 0.0]), np.zeros((3, 3)), np.zeros((0, 0))):
        assert longest_step(integrate.get("rk4"), jacobian).dt == np.inf


@pytest.mark.parametrize("method", ["radau", "radau2", "scipy:RK45"])
def test_who_takes_every_step_has_no_longest(method: str) -> None:
    assert longest_step(integrate.get(method), np.array([[-1e9]])).dt == np.inf


@pytest.mark.parametrize("ratio", [0.05, 0.3])
def test_a_damped_oscillation_under_semi_implicit_euler(ratio: float) -> None:
    """x' = v, v' = -ω² x - 2 ζ ω v: with v first, stable while ω dt < sqrt(4 + 4 ζ²) - 2 ζ."""
    omega = 7.0
    jacobian = np.array([[0.0, 1.0], [-(omega**2), -2.0 * ratio * omega]])
    method = integrate.explicit.SemiImplicitEuler(positions=(0,))
    # The trace of the step is 2 - 2ζωdt - (ωdt)², its determinant 1 - 2ζωdt; an eigenvalue is -1
    # where 1 + trace + determinant = 0.
    wanted = (-2.0 * ratio + np.sqrt(4.0 * ratio**2 + 4.0)) / omega
    assert longest_step(method, jacobian).dt == pytest.approx(wanted, rel=1e-3)
