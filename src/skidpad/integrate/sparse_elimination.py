"""Linear systems with a fixed sparsity, solved symbolically: only what is not zero is computed.

The order of the pivots is chosen once, from the sparsity alone, and the pivots stay on the
diagonal, because a branch-free program cannot search for large ones. That is sound for the matrices
of an implicit step, c/h - J with positive c/h, as long as h is not far beyond what Newton's
iteration can take; where it is, the corrections do not fall and the residual tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from .complex_symbols import Number, inverse, plus_product

Rows = list[dict[int, Number]]
"""For each row its entries that are not zero, by column."""


def pivot_order(rows: Sequence[Sequence[int]]) -> list[int]:
    """The diagonal pivots in an order that leaves few entries, after Markowitz.

    `rows` are the columns of the entries of each row. The next pivot is the one with the fewest
    products (entries in its row times entries in its column); of equal ones the first.
    """
    across = [set(columns) - {i} for i, columns in enumerate(rows)]
    down: list[set[int]] = [set() for _ in rows]
    for i, columns in enumerate(across):
        for j in columns:
            down[j].add(i)
    left = list(range(len(rows)))
    order: list[int] = []
    while left:
        pivot = min(left, key=lambda k: (len(across[k]) * len(down[k]), k))
        left.remove(pivot)
        order.append(pivot)
        for i in down[pivot]:
            across[i].discard(pivot)
            across[i] |= across[pivot] - {i}
        for j in across[pivot]:
            down[j].discard(pivot)
            down[j] |= down[pivot] - {j}
    return order


class SparseFactors:
    """A real or complex matrix after elimination; it may be solved for several right sides."""

    def __init__(self, inverses: list[Number], upper: Rows, lower: Rows, order: list[int]) -> None:
        self.inverses = inverses
        """Inverses of the pivots."""
        self.upper = upper
        """What is left of each row beyond its pivot."""
        self.lower = lower
        """For each pivot the multiples of its row that were added to later rows."""
        self.order = order

    @classmethod
    def of(cls, matrix: Rows, order: Sequence[int]) -> SparseFactors:
        """Eliminate a matrix with the pivots in this order."""
        rows = [dict(row) for row in matrix]
        inverses: dict[int, Number] = {}
        lower: Rows = [{} for _ in rows]
        for pivot in order:
            inverses[pivot] = inverse(rows[pivot].pop(pivot))
            for i, row in enumerate(rows):
                if i not in inverses and pivot in row:
                    factor = lower[pivot][i] = -(row.pop(pivot) * inverses[pivot])
                    for j, value in rows[pivot].items():
                        row[j] = plus_product(row.get(j), factor, value)
        return cls([inverses[i] for i in range(len(rows))], rows, lower, list(order))

    def solve(self, right: Sequence[Number]) -> list[Number]:
        """The solution for one right side."""
        rest = list(right)
        for pivot in self.order:
            for i, factor in self.lower[pivot].items():
                rest[i] = plus_product(rest[i], factor, rest[pivot])
        for pivot in reversed(self.order):
            known: Number | None = None
            for j, value in self.upper[pivot].items():
                known = plus_product(known, value, rest[j])
            left = rest[pivot] if known is None else rest[pivot] - known
            rest[pivot] = left * self.inverses[pivot]
        return rest

    def solve_transposed(self, right: Sequence[Number]) -> list[Number]:
        """The solution of the transposed system for one right side."""
        rest = list(right)
        for pivot in self.order:
            rest[pivot] = rest[pivot] * self.inverses[pivot]
            for j, value in self.upper[pivot].items():
                rest[j] = plus_product(rest[j], -value, rest[pivot])
        for pivot in reversed(self.order):
            for i, factor in self.lower[pivot].items():
                rest[pivot] = plus_product(rest[pivot], factor, rest[i])
        return rest

    def entries(self) -> list[Number]:
        """All numbers of the factors, in an order that depends on the sparsity alone."""
        return [
            *self.inverses,
            *(value for rows in (self.upper, self.lower) for row in rows for value in row.values()),
        ]

    def with_entries(self, entries: Sequence[Number]) -> SparseFactors:
        """Factors of the same sparsity with other numbers, in the order of `entries`."""
        numbers = iter(entries)
        inverses = [next(numbers) for _ in self.inverses]
        upper, lower = (
            [{j: next(numbers) for j in row} for row in rows] for rows in (self.upper, self.lower)
        )
        return SparseFactors(inverses, upper, lower, self.order)
