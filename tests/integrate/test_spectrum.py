"""The diagonal form of the Radau matrices, and the systems that are solved with it."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad.integrate.collocation import inverse_coefficients, radau_spectrum
from skidpad.integrate.stages import TransformedFactors

STAGES = (2, 3, 4)


@pytest.mark.parametrize("stages", STAGES)
def test_matrix_is_block_diagonal_in_the_new_basis(stages: int) -> None:
    spectrum = radau_spectrum(stages)
    expected = np.zeros((stages, stages))
    k = len(spectrum.reals)
    expected[range(k), range(k)] = spectrum.reals
    for alpha, beta in spectrum.pairs:
        expected[k : k + 2, k : k + 2] = [[alpha, beta], [-beta, alpha]]
        k += 2
    t, t_inverse = np.array(spectrum.t), np.array(spectrum.t_inverse)
    assert k == stages
    assert t_inverse @ t == pytest.approx(np.eye(stages), abs=1e-13)
    matrix = np.array(inverse_coefficients(stages))
    assert t_inverse @ matrix @ t == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("stages", STAGES)
def test_eigenvalues_are_those_of_numpy(stages: int) -> None:
    spectrum = radau_spectrum(stages)
    ours = [*spectrum.reals, *(complex(a, s * b) for a, b in spectrum.pairs for s in (1, -1))]
    theirs = np.linalg.eigvals(np.array(inverse_coefficients(stages)))
    assert np.sort_complex(np.array(ours)) == pytest.approx(np.sort_complex(theirs), rel=1e-12)
    assert all(beta > 0.0 for _, beta in spectrum.pairs)


def test_eigenvalues_of_three_stages() -> None:
    """In closed form, as in section IV.8 of Hairer and Wanner."""
    cube, square = 81 ** (1 / 3), 9 ** (1 / 3)
    gamma = (6 + cube - square) / 30
    alpha = (12 - cube + square) / 60
    beta = (cube + square) * 3**0.5 / 60
    size = alpha * alpha + beta * beta
    spectrum = radau_spectrum(3)
    assert spectrum.reals == pytest.approx((1 / gamma,), rel=1e-14)
    assert spectrum.pairs[0] == pytest.approx((alpha / size, beta / size), rel=1e-14)


@pytest.mark.parametrize("stages", STAGES)
def test_transformed_system_is_the_coupled_one(stages: int) -> None:
    size, step = 5, 0.01
    rng = np.random.default_rng(stages)
    entries = rng.normal(size=(size, size)) * (rng.uniform(size=(size, size)) < 0.6) * 50.0
    entries[2, 2] = 0.0  # a state whose rate does not depend on itself
    h, numbers = ca.SX.sym("h"), ca.SX.sym("j", size, size)
    jacobian: Any = [{j: numbers[i, j] for j in range(size) if entries[i, j]} for i in range(size)]
    factors = TransformedFactors.of(radau_spectrum(stages), h, jacobian, [3, 0, 4, 1, 2])
    symbols = ca.SX.sym("factor", factors.entries().numel())
    right = [ca.SX.sym(f"r{k}", size) for k in range(stages)]
    direct, kept = factors.solve(right), factors.with_entries(symbols).solve(right)
    made = ca.Function("entries", [h, numbers], [factors.entries()])(step, entries)
    values = [rng.normal(size=size) for _ in range(stages)]
    matrix = np.kron(np.array(inverse_coefficients(stages)) / step, np.eye(size))
    matrix -= np.kron(np.eye(stages), entries)
    expected = np.linalg.solve(matrix, np.concatenate(values))
    first = ca.Function("direct", [h, numbers, *right], [ca.vertcat(*direct)])
    again = ca.Function("kept", [symbols, *right], [ca.vertcat(*kept)])
    assert np.array(first(step, entries, *values)).ravel() == pytest.approx(expected, rel=1e-10)
    assert np.array(again(made, *values)).ravel() == pytest.approx(expected, rel=1e-10)
