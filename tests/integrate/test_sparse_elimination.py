"""Elimination in a fixed order: the right solutions, and only the work that sparsity leaves."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad.integrate.derivatives import Complex
from skidpad.integrate.elimination import SparseFactors, pivot_order

SIZE = 9


def sparse(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(SIZE, SIZE)) * (rng.uniform(size=(SIZE, SIZE)) < 0.35)
    return matrix + np.diag(rng.uniform(3.0, 6.0, SIZE))


def rows_of(matrix: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in matrix]


@pytest.mark.parametrize("seed", range(5))
def test_real_systems(seed: int) -> None:
    matrix = sparse(seed)
    a, r = ca.SX.sym("a", SIZE, SIZE), ca.SX.sym("r", SIZE)
    rows: Any = [{j: a[i, j] for j in row} for i, row in enumerate(rows_of(matrix))]
    factors = SparseFactors.of(rows, pivot_order(rows_of(matrix)))
    right = ca.vertsplit(r)
    solutions = [factors.solve(right), factors.solve_transposed(right)]
    f = ca.Function("f", [a, r], [ca.vertcat(*s) for s in solutions])
    value = np.random.default_rng(seed + 100).normal(size=SIZE)
    plain, transposed = (np.array(s).ravel() for s in f(matrix, value))
    assert plain == pytest.approx(np.linalg.solve(matrix, value), rel=1e-11, abs=1e-13)
    assert transposed == pytest.approx(np.linalg.solve(matrix.T, value), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_complex_systems(seed: int) -> None:
    matrix = sparse(seed) + 1j * sparse(seed + 50)
    parts = [ca.SX.sym(name, SIZE, SIZE) for name in ("re", "im")]
    rows: Any = [
        {j: Complex(parts[0][i, j], parts[1][i, j]) for j in row}
        for i, row in enumerate(rows_of(matrix))
    ]
    right = np.random.default_rng(seed).normal(size=SIZE) + 2j
    numbers = [Complex(ca.SX(z.real), ca.SX(z.imag)) for z in right.tolist()]
    solution = SparseFactors.of(rows, pivot_order(rows_of(matrix))).solve(numbers)
    columns = [ca.vertcat(*part) for part in zip(*solution, strict=True)]
    re, im = ca.Function("f", parts, columns)(matrix.real, matrix.imag)
    found = np.array(re).ravel() + 1j * np.array(im).ravel()
    assert found == pytest.approx(np.linalg.solve(matrix, right), rel=1e-11)


def test_hub_is_eliminated_last() -> None:
    """A star: every state depends on the first and the first on all. Its order leaves no fill."""
    pattern = np.eye(SIZE, dtype=bool)
    pattern[0] = pattern[:, 0] = True
    order = pivot_order(rows_of(pattern))
    # When one spoke is left, it and the hub are alike and the lower number comes first.
    assert order.index(0) >= SIZE - 2
    a = ca.SX.sym("a", SIZE, SIZE)
    rows: Any = [{j: a[i, j] for j in row} for i, row in enumerate(rows_of(pattern))]
    factors = SparseFactors.of(rows, order)
    assert len(factors.entries()) == SIZE + 2 * (SIZE - 1)
    worst = SparseFactors.of(rows, range(SIZE))
    assert len(worst.entries()) == SIZE * SIZE


def test_order_does_not_depend_on_how_rows_are_listed() -> None:
    rows = rows_of(sparse(3))
    assert pivot_order(rows) == pivot_order([row[::-1] for row in rows])
    assert sorted(pivot_order(rows)) == list(range(SIZE))
