"""Block structure of a derivative, and symbolic solution of the linear systems of an implicit step.

States that depend on each other form a block: a strongly connected component of the Jacobian's
sparsity (`find_blocks`). In a car the actuators come first, each on its own, then the velocities
together, then yaw, then the position; every block needs only itself and earlier ones.

`factorise` solves small systems, unrolled, with few divisions. The matrix is a square grid of
square blocks. A block that is a multiple of the identity is stored as its factor, a 1-by-1 SX; in
the systems of a collocation method all blocks off the diagonal start that way, which leaves little
to multiply. `SparseFactors` solves larger systems with a fixed sparsity: only nonzero entries are
computed, with pivots in an order chosen once, from the sparsity alone.

There is no search for pivots: a branch-free program cannot swap rows. The matrices are those of an
implicit step, c/h - J with positive c/h, whose pivots vanish only for steps far beyond the reach of
Newton's iteration, and such a step is detected by its residual.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from .base import as_written
from .derivatives import (
    SX,
    Number,
    column,
    dependencies,
    inverse_number,
    linearised,
    plus_product,
    reciprocal,
    symbols_besides,
)

UNROLLED = 4
"""Largest number of states of a block that is unrolled into the step; see `Block.large`.

The five of `commonroad_std` as a large block took 5 600 operations instead of 16 500, a third
of the time to compile, and converged with wheels that lock or spin, where unrolled iterations
did not.
"""


class Kind(Enum):
    """How the derivative of a block depends on the block's own states."""

    QUADRATURE = "does not depend on them"
    LINEAR = "linear in them"
    PIECEWISE_LINEAR = "linear between corners"
    NONLINEAR = "nonlinear"


@dataclass(frozen=True)
class Block:
    """States solved for together, with their derivative as a function of (own, earlier, free).

    `own` are the block's states, `earlier` those states of earlier blocks that it depends on,
    `free` the symbols that stay constant over the step.
    """

    states: tuple[int, ...]
    earlier: tuple[int, ...]
    kind: Kind
    rates: Any
    """CasADi function that returns the derivatives."""
    rates_and_slopes: Any
    """CasADi function that returns the derivatives and their Jacobian with respect to `own`."""
    rates_and_all_slopes: Any
    """Like `rates_and_slopes`, followed by the Jacobian with respect to `earlier`.

    Only for a nonlinear or large block.
    """

    @property
    def size(self) -> int:
        return len(self.states)

    @property
    def large(self) -> bool:
        """Whether the block is too large to be unrolled."""
        return self.size > UNROLLED and self.kind is not Kind.QUADRATURE

    @classmethod
    def of_large(
        cls, states: tuple[int, ...], earlier: tuple[int, ...], arguments: list[SX], own_rates: SX
    ) -> Block:
        """A large block, without the search for corners.

        The Jacobian is computed once, for `own` and `earlier` together. Both shortcuts save much
        time.
        """
        functions = _all_slopes(arguments, own_rates)
        values, jacobian, _ = functions.call(arguments)
        return cls(
            states=states,
            earlier=earlier,
            kind=_kind(jacobian, arguments[0], corners=False),
            rates=_Function(arguments, [values]),
            rates_and_slopes=_Function(arguments, [values, jacobian]),
            rates_and_all_slopes=functions,
        )


def find_blocks(rates: SX, states: SX, free: SX) -> list[Block]:
    """The blocks of x' = rates(x), each after those it depends on.

    `states` is a column of symbols, `rates` a column of expressions in them and in `free`.
    """
    pattern = _dependencies(rates, states)
    return [_block(rates, states, free, pattern, members) for members in components(pattern)]


def _dependencies(rates: SX, states: SX) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Dependency pattern[i, j]: whether the derivative of state i depends on state j."""
    pattern = np.zeros((rates.numel(), states.numel()), dtype=bool)
    for row, needed in zip(pattern, dependencies(rates, states).places, strict=True):
        row[list(needed)] = True
    return pattern


def components(pattern: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[int, ...]]:
    """Strongly connected components of a dependency pattern, each after those it depends on.

    Among components in arbitrary order, the one with the lowest state comes first, so that the
    order does not depend on the library that finds the components.
    """
    rows, columns = (places.tolist() for places in np.nonzero(pattern))
    # CasADi is loaded already; scipy's graphs would take a quarter of a second to import.
    _, order, starts = ca.Sparsity.triplet(len(pattern), len(pattern), rows, columns).scc()
    members = [tuple(sorted(order[begin:end])) for begin, end in pairwise(starts)]
    waiting = sorted(members)
    visited: set[int] = set()
    ordered: list[tuple[int, ...]] = []
    while waiting:
        ready = next(
            m
            for m in waiting
            if set(np.flatnonzero(pattern[list(m)].any(axis=0))) <= visited | set(m)
        )
        waiting.remove(ready)
        ordered.append(ready)
        visited.update(ready)
    return ordered


def _block(
    rates: SX,
    states: SX,
    free: SX,
    pattern: np.ndarray[Any, np.dtype[np.bool_]],
    members: Sequence[int],
) -> Block:
    needed = np.flatnonzero(pattern[list(members)].any(axis=0)).tolist()
    earlier = [j for j in needed if j not in members]
    own, others = _pick(states, members), _pick(states, earlier)
    own_rates = _pick(rates, members)
    arguments = [own, others, free]
    if len(members) > UNROLLED:
        return Block.of_large(tuple(members), tuple(earlier), arguments, own_rates)
    result = linearised(own_rates, own)
    kind = _kind(result.jacobian, own)
    return Block(
        states=tuple(members),
        earlier=tuple(earlier),
        kind=kind,
        rates=_Function(arguments, [result.values]),
        rates_and_slopes=_Function(arguments, [*result]),
        rates_and_all_slopes=_all_slopes(arguments, own_rates) if kind is Kind.NONLINEAR else None,
    )


def _all_slopes(arguments: list[SX], rates: SX) -> Any:
    own, others, _ = arguments
    values, jacobian = linearised(rates, ca.vertcat(own, others))
    split = [0, own.numel(), own.numel() + others.numel()]
    return _Function(arguments, [values, *ca.horzsplit(jacobian, split)])


def _pick(vector: SX, indices: Sequence[int]) -> SX:
    return column(vector[i] for i in indices)


class _Function:
    """A CasADi function of user code, made and called without simplification.

    A symbol that occurs only as an unused argument of a called kernel, such as the camber of a tyre
    model without camber, is no input of the block; any number is passed in its place.
    """

    def __init__(self, inputs: list[SX], outputs: list[SX]) -> None:
        idle = symbols_besides(column(x for out in outputs for x in out.nonzeros()), column(inputs))
        self._idle = ca.SX.zeros(idle.numel())
        with as_written(ca.SX()):
            self._function = ca.Function("block", [*inputs, idle], outputs, {"cse": True})

    def call(self, arguments: list[SX]) -> list[SX]:
        with as_written(ca.SX()):
            return self._function.call([*arguments, self._idle])


def _kind(jacobian: SX, own: SX, *, corners: bool = True) -> Kind:
    entries = column(jacobian.nonzeros())
    if entries.numel() == 0 or entries.is_zero():
        return Kind.QUADRATURE
    needed = dependencies(entries, own)
    if not any(needed.places):
        return Kind.LINEAR
    # Treat calls as nonlinear, since making their second derivatives only to test them would be
    # costly.
    if not corners or needed.by_calls:
        return Kind.NONLINEAR
    # Between corners: a selection depends on the states through its condition, but its slopes are
    # constant.
    curvature = linearised(entries, own).jacobian
    return Kind.PIECEWISE_LINEAR if curvature.nnz() == 0 else Kind.NONLINEAR


@dataclass(frozen=True)
class Factors:
    """A block matrix after elimination; `solve` may be called with several right sides."""

    blocks: list[list[SX]]
    """The eliminated grid: the factors of other rows, above and below the diagonal."""
    inverses: list[SX]
    """Inverses of the pivot blocks."""

    def solve(self, right: Sequence[SX]) -> list[SX]:
        """Solve for one right side, with one column per block row."""
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
    """Matrix product a b, where a scalar stands for a multiple of the identity."""
    return a * b if a.is_scalar() or b.is_scalar() else ca.mtimes(a, b)


def difference(a: SX, b: SX, size: int) -> SX:
    """Matrix difference a - b, where a scalar stands for a multiple of the identity."""
    if a.is_scalar() and not b.is_scalar():
        a = a * ca.SX.eye(size)
    elif b.is_scalar() and not a.is_scalar():
        b = b * ca.SX.eye(size)
    return a - b


def total(terms: Iterable[SX]) -> SX:
    total: SX = None
    for term in terms:
        total = term if total is None else total + term
    return total


def inverse(a: SX) -> SX:
    """Inverse of a small matrix; up to 3 rows by cofactors, with one division."""
    if a.shape[0] <= 3:
        size = a.shape[0]
        cofactors = ca.SX(size, size)
        for i in range(size):
            for j in range(size):
                cofactors[j, i] = _cofactor(a, i, j)
        determinant = total([a[0, j] * cofactors[j, 0] for j in range(size)])
        return cofactors * reciprocal(determinant)
    # The inverse by Gauss-Jordan elimination, without row exchanges
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


def _cofactor(a: SX, i: int, j: int) -> SX:
    """Signed minor of a matrix; for 3 rows, cyclic indices include the sign."""
    size = a.shape[0]
    if size == 1:
        return ca.SX(1)
    if size == 2:
        return a[1 - i, 1 - j] if i == j else -a[1 - i, 1 - j]
    r, s, p, q = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    return a[r, p] * a[s, q] - a[r, q] * a[s, p]


Rows = list[dict[int, Number]]
"""Nonzero entries of each row, by column."""


def pivot_order(rows: Sequence[Sequence[int]]) -> list[int]:
    """Order of the diagonal pivots that leaves few entries, after Markowitz.

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
        """The entries of each row beyond its pivot."""
        self.lower = lower
        """For each pivot the multiples of its row that were added to later rows."""
        self.order = order

    @classmethod
    def of(cls, matrix: Rows, order: Sequence[int]) -> SparseFactors:
        """Factorise a matrix with the pivots in this order."""
        rows = [dict(row) for row in matrix]
        inverses: dict[int, Number] = {}
        lower: Rows = [{} for _ in rows]
        for pivot in order:
            inverses[pivot] = inverse_number(rows[pivot].pop(pivot))
            for i, row in enumerate(rows):
                if i not in inverses and pivot in row:
                    factor = lower[pivot][i] = -(row.pop(pivot) * inverses[pivot])
                    for j, value in rows[pivot].items():
                        row[j] = plus_product(row.get(j), factor, value)
        return cls([inverses[i] for i in range(len(rows))], rows, lower, list(order))

    def solve(self, right: Sequence[Number]) -> list[Number]:
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
        """List all numbers of the factors, in an order that depends on the sparsity alone."""
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
