"""A block of many states, with the functions and the matrices that its solution and its derivative
are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from .blocks import Block
from .called_kernels import called
from .newton import Columns
from .sparse_elimination import Rows, SparseFactors, pivot_order
from .symbolic import SX, column, symbols_besides


def symbols(name: str, count: int) -> SX:
    """A column of new symbols."""
    return column(ca.SX.sym(f"{name}_{i}") for i in range(count))


class LargeBlock:
    """A large block with its functions, for a method with so many stages."""

    def __init__(self, block: Block, stages: int, free: SX) -> None:
        self.block, self.stages, self.free = block, stages, free
        own = symbols("own", block.size)
        earlier = symbols("earlier", len(block.earlier))
        rates, jacobian, on_earlier = block.rates_and_all_slopes.call([own, earlier, free])
        self.sparsity, self._on_earlier = jacobian.sparsity(), on_earlier.sparsity()
        slopes = [column(jacobian.nonzeros()), column(on_earlier.nonzeros())]
        self.constants = symbols_besides(column((rates, *slopes)), column((own, earlier)))
        """Those of the free symbols that the block depends on."""
        point = [own, earlier, self.constants]
        self._rates = called("rates", point, [rates])
        self._slopes = called("slopes", point, [rates, *slopes])
        single = [[i] for i in range(block.size)]
        for i, j in self.places:
            single[i].append(j)
        self.order = pivot_order(single)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of each entry of the Jacobian."""
        rows, columns = self.sparsity.get_triplet()
        return list(zip(rows, columns, strict=True))

    def rates(self, own: SX, earlier: SX) -> SX:
        """The derivatives at one point."""
        return self._rates.call([column((own, earlier, self.constants))])[0]

    def slopes(self, own: SX, earlier: SX) -> tuple[SX, SX, SX]:
        """The derivatives at one point, the entries of their Jacobian with respect to the block's
        own states, and their Jacobian with respect to earlier ones."""
        (values,) = self._slopes.call([column((own, earlier, self.constants))])
        n = self.block.size
        split = [0, n, n + self.sparsity.nnz(), values.numel()]
        rates, entries, on_earlier = ca.vertsplit(values, split)
        return rates, entries, ca.SX(self._on_earlier, on_earlier)

    def coupled(self, inverse: Sequence[Sequence[SX]], slopes: Sequence[SX]) -> SparseFactors:
        """Newton's matrix A⁻¹/h - diag(J_k) of all stages, factorised; `inverse` is A⁻¹/h.

        The unknowns are ordered state by state, the stages of one state side by side. Of the 75
        unknowns of a multi-body car that takes 17 thousand products; stage by stage it would be 60.
        """
        count = self.stages
        rows: Rows = [
            {i * count + m: inverse[k][m] for m in range(count)}
            for i in range(self.block.size)
            for k in range(count)
        ]
        for n, (i, j) in enumerate(self.places):
            for k in range(count):
                row, entry = rows[i * count + k], j * count + k
                row[entry] = row[entry] - slopes[k][n] if entry in row else -slopes[k][n]
        return SparseFactors.of(rows, [i * count + k for i in self.order for k in range(count)])

    def interleaved(self, columns: Columns) -> list[SX]:
        """One column per stage, as unknowns in the order of the rows of `coupled`."""
        return [columns[k][i] for i in range(self.block.size) for k in range(self.stages)]

    def by_stage(self, unknowns: Sequence[Any]) -> Columns:
        """The unknowns as one column per stage."""
        return [column(unknowns[k :: self.stages]) for k in range(self.stages)]
