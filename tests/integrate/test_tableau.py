"""Tableaux have the order they claim, and one that does not is rejected."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.integrate.collocation import inverse_coefficients, radau_tableau
from skidpad.integrate.explicit import (
    DOPRI5,
    EULER,
    HEUN,
    RK4,
    Tableau,
    density,
    explicit_tableau,
    rooted_trees,
)


def test_number_of_rooted_trees() -> None:
    # Sloane's A000081.
    assert [len(rooted_trees(n)) for n in range(1, 8)] == [1, 1, 2, 4, 9, 20, 48]
    assert all(len(set(rooted_trees(n))) == len(rooted_trees(n)) for n in range(1, 8))


def test_density_of_bush_and_tall_tree() -> None:
    leaf = ()
    assert density((leaf, leaf, leaf)) == 4
    assert density((((leaf,),),)) == 24


@pytest.mark.parametrize("tableau", [EULER, HEUN, RK4, DOPRI5], ids=lambda t: t.name)
def test_explicit_coefficients_are_exact(tableau: Tableau) -> None:
    assert tableau.explicit
    assert all(isinstance(value, Fraction) for row in (*tableau.a, tableau.b) for value in row)


@pytest.mark.parametrize("tableau", [EULER, HEUN, RK4], ids=lambda t: t.name)
def test_no_more_order_than_it_has(tableau: Tableau) -> None:
    with pytest.raises(InvalidValue, match=f"does not have order {tableau.order + 1}"):
        replace(tableau, order=tableau.order + 1)


def test_wrong_weight_is_rejected() -> None:
    with pytest.raises(InvalidValue, match="rk4"):
        replace(RK4, b=(Fraction(1, 6), Fraction(1, 3), Fraction(1, 6), Fraction(1, 3)))


def test_wrong_coefficient_is_rejected() -> None:
    rows = ("1/5", "3/40 9/40", "44/45 -56/15 32/9", "19372/6561 -25360/2187 64448/6561 -212/729")
    last = "9017/3168 -355/33 46732/5247 49/176 -5103/18655"
    weights = "35/384 0 500/1113 125/192 -2187/6784 11/84"
    with pytest.raises(InvalidValue, match="does not have order 5"):
        explicit_tableau("typo", 5, (*rows, last), weights)


def test_times_must_be_row_sums() -> None:
    with pytest.raises(InvalidValue, match="row 2"):
        replace(HEUN, c=(Fraction(0), Fraction(1, 2)))


def test_sizes_must_agree() -> None:
    with pytest.raises(InvalidValue, match="must be equal"):
        replace(HEUN, b=(Fraction(1),))


@pytest.mark.parametrize("order", [0, 6])
def test_orders_that_cannot_be_checked_are_rejected(order: int) -> None:
    with pytest.raises(InvalidValue, match=f"claims order {order}"):
        replace(DOPRI5, order=order)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_radau_against_mpmath(stages: int) -> None:
    with mpmath.workdps(60):
        # The times are also the zeros of P_s - P_(s-1), Legendre polynomials shifted to [0, 1].
        def radau(t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.legendre(stages, 2 * t - 1) - mpmath.legendre(stages - 1, 2 * t - 1)

        # Of type complex since NumPy 2.5, whatever they are.
        near = np.real(np.polynomial.legendre.legroots([*[0] * (stages - 1), -1, 1]))
        c = [mpmath.findroot(radau, float((zero + 1) / 2)) for zero in sorted(near)]

        def lagrange(j: int, t: mpmath.mpf) -> mpmath.mpf:
            return mpmath.fprod((t - c[k]) / (c[j] - c[k]) for k in range(stages) if k != j)

        a = mpmath.matrix(stages, stages)
        for i in range(stages):
            for j in range(stages):
                a[i, j] = mpmath.quad(lambda t, j=j: lagrange(j, t), [0, c[i]])
        inverse = a**-1
        tableau, inverted = radau_tableau(stages), inverse_coefficients(stages)
        for i in range(stages):
            assert tableau.c[i] == float(c[i])
            for j in range(stages):
                assert tableau.a[i][j] == float(a[i, j])
                assert inverted[i][j] == float(inverse[i, j])


def test_radau_three_stages_closed_form() -> None:
    root = 6.0**0.5
    tableau = radau_tableau(3)
    assert tableau.c == pytest.approx(((4 - root) / 10, (4 + root) / 10, 1.0), abs=1e-15)
    assert tableau.b == pytest.approx(((16 - root) / 36, (16 + root) / 36, 1 / 9), abs=1e-15)
    assert tableau.b == tableau.a[-1]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_wrong_radau_coefficient_is_rejected(stages: int) -> None:
    tableau = radau_tableau(stages)
    first = (tableau.a[0][0] + 1e-9, tableau.a[0][1] - 1e-9, *tableau.a[0][2:])
    with pytest.raises(InvalidValue, match=r"C\(2\) of stage 1"):
        replace(tableau, a=(first, *tableau.a[1:]))


def test_gauss_is_not_radau() -> None:
    # The implicit midpoint rule meets what a method of order 1 has to, and not B(3).
    half = Fraction(1, 2)
    Tableau("midpoint", 1, ((half,),), (Fraction(1),), (half,))
    with pytest.raises(InvalidValue, match=r"B\(3\)"):
        Tableau("midpoint", 3, ((half,),), (Fraction(1),), (half,))
