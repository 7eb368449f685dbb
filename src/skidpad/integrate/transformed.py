"""Newton's system with one Jacobian for all stages: one real matrix, one complex one per pair.

With T from `spectrum` the system (A⁻¹/h ⊗ I - I ⊗ J) d = r turns into (λ/h - J) e = s for each
eigenvalue λ of A⁻¹, where s = T⁻¹ r and d = T e, taken over the stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from .complex_symbols import Complex, Number, real
from .elimination import total
from .sparse_elimination import Rows, SparseFactors
from .spectrum import Spectrum
from .symbolic import SX, column

Columns = list[SX]
"""One column of a block's states per stage."""


@dataclass(frozen=True)
class TransformedFactors:
    """The factors of all matrices λ/h - J: those of the real eigenvalues, then of the pairs."""

    spectrum: Spectrum
    factors: list[SparseFactors]

    @classmethod
    def of(
        cls, spectrum: Spectrum, step: SX, jacobian: Rows, order: Sequence[int]
    ) -> TransformedFactors:
        """Factorise for the step h and a Jacobian, with the pivots in this order."""
        plain = [_shifted(jacobian, a / step) for a in spectrum.reals]
        turned = [
            _shifted(
                [{j: real(value) for j, value in row.items()} for row in jacobian],
                Complex(a / step, b / step),
            )
            for a, b in spectrum.pairs
        ]
        return cls(spectrum, [SparseFactors.of(rows, order) for rows in (*plain, *turned)])

    def solve(self, right: Columns) -> Columns:
        """The solution, one column per stage."""
        parts = _mixed(self.spectrum.t_inverse, right)
        solved: Columns = []
        for factors, complex_ in self._kinds():
            if not complex_:
                solved.append(column(factors.solve(ca.vertsplit(parts.pop(0)))))
                continue
            # The block [[α, β], [-β, α]] on (e, f) is the product of α + iβ with e - if.
            first, second = (ca.vertsplit(parts.pop(0)) for _ in range(2))
            numbers = [Complex(a, -b) for a, b in zip(first, second, strict=True)]
            solution = factors.solve(numbers)
            solved += [column(z.re for z in solution), column(-z.im for z in solution)]
        return _mixed(self.spectrum.t, solved)

    def entries(self) -> SX:
        """All numbers of the factors, as a column."""
        numbers = [number for factors in self.factors for number in factors.entries()]
        return column(part for number in numbers for part in _parts(number))

    def with_entries(self, entries: SX) -> TransformedFactors:
        """Factors of the same sparsity with other numbers, in the order of `entries`."""
        parts = iter(ca.vertsplit(entries))
        renewed: list[SparseFactors] = []
        for factors, complex_ in self._kinds():
            count = len(factors.entries())
            numbers: list[Number] = [
                Complex(next(parts), next(parts)) if complex_ else next(parts) for _ in range(count)
            ]
            renewed.append(factors.with_entries(numbers))
        return TransformedFactors(self.spectrum, renewed)

    def _kinds(self) -> list[tuple[SparseFactors, bool]]:
        """The factors, each with whether it is complex."""
        plain = len(self.spectrum.reals)
        return [(factors, k >= plain) for k, factors in enumerate(self.factors)]


def _shifted(jacobian: Rows, shift: Number) -> Rows:
    """shift - J"""
    rows: Rows = [{j: -value for j, value in row.items()} for row in jacobian]
    for i, row in enumerate(jacobian):
        rows[i][i] = shift - row[i] if i in row else shift
    return rows


def _mixed(matrix: Sequence[Sequence[float]], columns: Columns) -> Columns:
    """Each row of the matrix applied to the columns; its zeros are left out."""
    return [total(a * c for a, c in zip(row, columns, strict=True) if a != 0.0) for row in matrix]


def _parts(number: Number) -> tuple[SX, ...]:
    return (number.re, number.im) if isinstance(number, Complex) else (number,)
