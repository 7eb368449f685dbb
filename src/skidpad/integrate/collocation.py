"""Radau IIA tableaux, computed from their definition, and the diagonal form of their inverse.

The stage times of the method with s stages are the zeros of d^(s-1)/dx^(s-1) [x^(s-1) (x-1)^s];
the last is 1. The coefficients integrate the polynomial through the stages (Hairer, Wanner,
*Solving Ordinary Differential Equations II*, section IV.5). The arithmetic is decimal with 50
digits, so that the floats are correctly rounded and the same on every machine.

`radau_spectrum` brings the matrix A⁻¹ to diagonal form, T⁻¹ A⁻¹ T, with real numbers. With it the
Newton system of all stages splits into one system for each real eigenvalue and one complex system
for each pair (section IV.8). With an odd number of stages one eigenvalue is real; all others come
in pairs α ± iβ.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache, reduce
from itertools import pairwise

import numpy as np
from numpy.polynomial import Polynomial

from .explicit import Tableau

DIGITS = 50
_BISECTIONS = 170
"""Number of bisections that reduce an interval of length 1 to less than 10^-50."""

Matrix = list[list[Decimal]]


@cache
def radau_tableau(stages: int) -> Tableau:
    """Radau IIA tableau with the given number of stages, of order 2 stages - 1."""
    c, a = _exact(stages)
    rows = _floats(a)
    return Tableau(f"radau{stages}", 2 * stages - 1, rows, rows[-1], tuple(map(float, c)))


@cache
def inverse_coefficients(stages: int) -> tuple[tuple[float, ...], ...]:
    """The inverse of the matrix a of `radau_tableau`, rounded once."""
    return _floats(exact_inverse(stages))


def exact_inverse(stages: int) -> Matrix:
    """The inverse of the matrix a, to `DIGITS` digits."""
    _, a = _exact(stages)
    with localcontext() as context:
        context.prec = DIGITS
        return solve(a, _identity(stages))


def _identity(size: int) -> Matrix:
    return [[Decimal(int(i == j)) for j in range(size)] for i in range(size)]


def _floats(matrix: Matrix) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(value) for value in row) for row in matrix)


def _exact(stages: int) -> tuple[list[Decimal], Matrix]:
    """Stage times c and coefficients a, to `DIGITS` digits."""
    with localcontext() as context:
        context.prec = DIGITS
        # The zeros of the (s - 1)th derivative of x^(s - 1) (x - 1)^s, of which the last one is
        # 1
        whole = Polynomial.fromroots([0] * (stages - 1) + [1] * stages).deriv(stages - 1)
        quotient = whole // Polynomial([-1, 1])
        c = [*_zeros([round(c) for c in quotient.coef]), Decimal(1)]
        # a integrates every power below s exactly: Σ_j a_ij c_j^(k-1) = c_i^k / k.
        powers = [[time**k for time in c] for k in range(stages)]
        integrals = [[time ** (k + 1) / (k + 1) for time in c] for k in range(stages)]
        return c, [list(row) for row in zip(*solve(powers, integrals), strict=True)]


def _zeros(polynomial: list[int]) -> list[Decimal]:
    """All zeros of a polynomial whose zeros are simple and lie in (0, 1), in order.

    Each zero is bracketed by two zeros of the derivative.
    """
    if len(polynomial) == 1:
        return []
    turning = _zeros([k * coefficient for k, coefficient in enumerate(polynomial)][1:])
    edges = [Decimal(0), *turning, Decimal(1)]
    return [_zero(polynomial, low, high) for low, high in pairwise(edges)]


def _zero(polynomial: list[int], low: Decimal, high: Decimal) -> Decimal:
    rising = _value(polynomial, low) < 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if (_value(polynomial, middle) < 0) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _value(polynomial: list[int], x: Decimal) -> Decimal:
    return reduce(lambda total, c: total * x + c, reversed(polynomial), Decimal(0))


def solve(matrix: Matrix, right: Matrix) -> Matrix:
    """Solve a small linear system with several right sides, by Gauss-Jordan elimination."""
    rows = [[*left, *values] for left, values in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        best = max(range(k, size), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


_NEWTON_STEPS = 8
"""Newton steps to polish a root; each doubles the correct digits, from about twelve."""

Complex = tuple[Decimal, Decimal]
"""A complex number as its real and imaginary part, in decimal arithmetic."""


@dataclass(frozen=True)
class Spectrum:
    """A⁻¹ = T Λ T⁻¹ with a block diagonal Λ.

    Its blocks are the real eigenvalues, then for each pair α ± iβ the block [[α, β], [-β, α]].
    """

    reals: tuple[float, ...]
    pairs: tuple[tuple[float, float], ...]
    """α and β > 0 of each pair."""
    t: tuple[tuple[float, ...], ...]
    t_inverse: tuple[tuple[float, ...], ...]


@cache
def radau_spectrum(stages: int) -> Spectrum:
    """Spectrum of the inverse Radau IIA matrix with the given number of stages."""
    with localcontext() as context:
        context.prec = DIGITS
        matrix = exact_inverse(stages)
        # Coefficients of det(z - A), highest power first, after Faddeev and LeVerrier
        a, identity, coefficients = np.array(matrix), np.array(_identity(len(matrix))), [Decimal(1)]
        power = 0 * a
        for k in range(1, len(matrix) + 1):
            power = a @ (power + coefficients[-1] * identity)
            coefficients.append(-np.trace(power) / k)
        polynomial = coefficients
        starts = np.roots([float(c) for c in polynomial]).tolist()
        roots = [_polished(polynomial, z) for z in starts]
        # Sort real eigenvalues first, then pairs by falling real part, upper half-plane first.
        roots.sort(key=lambda root: (root[1] != 0, -root[0], -root[1]))
        reals = [root for root in roots if root[1] == 0]
        pairs = [root for root in roots if root[1] > 0]
        columns = [[v[0] for v in _eigenvector(matrix, root)] for root in reals]
        for root in pairs:
            vector = _eigenvector(matrix, root)
            columns += [[v[part] for v in vector] for part in (0, 1)]
        t = [list(row) for row in zip(*columns, strict=True)]
        t_inverse = solve(t, _identity(stages))
    return Spectrum(
        tuple(float(re) for re, _ in reals),
        tuple((float(re), float(im)) for re, im in pairs),
        _floats(t),
        _floats(t_inverse),
    )


def _polished(polynomial: list[Decimal], z: complex) -> Complex:
    """Polish the root near z by Newton's iteration on [[re, -im], [im, re]].

    A root that is real up to rounding becomes real.
    """
    re, im = Decimal(z.real), Decimal(0 if abs(z.imag) < 1e-6 * abs(z.real) else z.imag)
    root, identity = np.array([[re, -im], [im, re]]), np.array(_identity(2))
    for _ in range(_NEWTON_STEPS):
        value = slope = 0 * identity
        for c in polynomial:
            slope = slope @ root + value
            value = value @ root + c * identity
        root = root - np.array(solve(slope.tolist(), value.tolist()))
    return root[0, 0], root[1, 0]


def _eigenvector(matrix: Matrix, root: Complex) -> list[Complex]:
    """Eigenvector with last entry 1, from all equations but the last."""
    size, (alpha, beta) = len(matrix) - 1, root
    rows, right = [], []
    for i in range(size):
        shifted = [a - alpha if i == j else a for j, a in enumerate(matrix[i])]
        turned = [beta if i == j else Decimal(0) for j in range(size)]
        # (A - α - iβ)(r + im) = 0 in real and imaginary parts.
        rows += [[*shifted[:size], *turned], [*(-b for b in turned), *shifted[:size]]]
        right += [[-shifted[size]], [Decimal(0)]]
    values = [value for (value,) in solve(rows, right)]
    return [*zip(values[:size], values[size:], strict=True), (Decimal(1), Decimal(0))]
