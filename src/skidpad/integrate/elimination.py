"""Small linear systems solved symbolically, unrolled: no pivot search, few divisions.

The matrix is a square grid of square blocks. A block that is a multiple of the identity is stored
as its factor, a 1-by-1 SX; in the systems of a collocation method all blocks off the diagonal start
that way, which leaves little to multiply.

There is no pivoting: a branch-free program cannot swap rows. The matrices here are J - c/h with
positive diagonal c/h, whose pivots vanish only for steps far beyond what Newton's iteration can
take, and such a step shows in the residual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca

from .symbolic import SX, reciprocal


@dataclass(frozen=True)
class Factors:
    """A block matrix after elimination; `solve` may be called with several right sides."""

    blocks: list[list[SX]]
    """The eliminated grid: above and below the diagonal what multiplies other rows."""
    inverses: list[SX]
    """Inverses of the pivot blocks."""

    def solve(self, right: Sequence[SX]) -> list[SX]:
        """The solution, one column per block row."""
        blocks, rest = self.blocks, list(right)
        size = len(rest)
        for k in range(size):
            rest[k] = product(self.inverses[k], rest[k])
            for i in range(k + 1, size):
                rest[i] = rest[i] - product(blocks[i][k], rest[k])
        for k in reversed(range(size - 1)):
            later = (product(blocks[k][j], rest[j]) for j in range(k + 1, size))
            rest[k] = rest[k] - product(self.inverses[k], total(later))
        return rest


def factorise(grid: Sequence[Sequence[SX]], size: int) -> Factors:
    """Eliminate a grid of blocks of `size` rows; a 1-by-1 block stands for a multiple of I."""
    blocks = [list(row) for row in grid]
    inverses: list[SX] = []
    for k in range(len(blocks)):
        pivot_inverse = inverse(blocks[k][k])
        inverses.append(pivot_inverse)
        for i in range(k + 1, len(blocks)):
            for j in range(k + 1, len(blocks)):
                change = _sandwich(blocks[i][k], pivot_inverse, blocks[k][j])
                blocks[i][j] = difference(blocks[i][j], change, size)
    return Factors(blocks, inverses)


def _sandwich(left: SX, middle: SX, right: SX) -> SX:
    # Factors of identity blocks are multiplied first: one operation instead of one per entry.
    if left.is_scalar() and right.is_scalar():
        return product(left * right, middle)
    return product(product(left, middle), right)


def product(a: SX, b: SX) -> SX:
    """a b, where a scalar stands for a multiple of the identity."""
    return a * b if a.is_scalar() or b.is_scalar() else ca.mtimes(a, b)


def difference(a: SX, b: SX, size: int) -> SX:
    """a - b, where a scalar stands for a multiple of the identity."""
    if a.is_scalar() and not b.is_scalar():
        a = a * ca.SX.eye(size)
    elif b.is_scalar() and not a.is_scalar():
        b = b * ca.SX.eye(size)
    return a - b


def total(terms: Iterable[SX]) -> SX:
    """The sum of one or more terms."""
    total: SX = None
    for term in terms:
        total = term if total is None else total + term
    return total


def inverse(a: SX) -> SX:
    """The inverse of a small matrix: by cofactors, with one division, up to 3 rows."""
    if a.shape[0] <= 3:
        return _inverse_by_cofactors(a)
    return _inverse_by_elimination(a)


def _inverse_by_cofactors(a: SX) -> SX:
    size = a.shape[0]
    cofactors = ca.SX(size, size)
    for i in range(size):
        for j in range(size):
            cofactors[j, i] = _cofactor(a, i, j)
    determinant = total([a[0, j] * cofactors[j, 0] for j in range(size)])
    return cofactors * reciprocal(determinant)


def _cofactor(a: SX, i: int, j: int) -> SX:
    """Signed minor; cyclic indices give the sign of a 3-by-3 minor for free."""
    size = a.shape[0]
    if size == 1:
        return ca.SX(1)
    if size == 2:
        return a[1 - i, 1 - j] if i == j else -a[1 - i, 1 - j]
    r, s, p, q = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    return a[r, p] * a[s, q] - a[r, q] * a[s, p]


def _inverse_by_elimination(a: SX) -> SX:
    """Gauss-Jordan in place, without row exchanges."""
    size = a.shape[0]
    rows = [[a[i, j] for j in range(size)] for i in range(size)]
    for k in range(size):
        scale = reciprocal(rows[k][k])
        rows[k][k] = ca.SX(1)
        rows[k] = [value * scale for value in rows[k]]
        for i in range(size):
            if i != k:
                factor, rows[i][k] = rows[i][k], ca.SX(0)
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))
