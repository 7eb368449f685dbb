"""Direct collocation of a `PointProblem` over a mesh: the nonlinear program and its derivatives.

Within an interval of the mesh the states are a polynomial of the distance, which satisfies the
differential equations at the Lobatto points: the ends of the interval (order 2, the trapezoidal
rule) or its ends and its middle (order 4, the Simpson rule). All of them are points of the problem
with variables of their own. The rows of the program are therefore linear in the values F of the
equations at the points, with one constant sparse matrix A:

    c(z) = A F(z),     J = A dF/dz,     Hessian of λ c = Hessian of (Aᵀ λ) F, point by point.

So the vehicle is evaluated at all points at once, and the rest is products with constant sparse
matrices. The objective is the time, the first integral, plus the cost of rough controls, which is
quadratic.

Variables of the program are the values over their scales, point by point, followed by the free
parameters over theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...core.arrays import Array
from .point import PointFunctions

Indices = NDArray[np.int64]
ORDERS = (2, 4)
"""Orders of collocation: the trapezoidal and the Simpson rule."""


class Mesh(NamedTuple):
    """Points at which the equations are evaluated, and the intervals between them."""

    s: Array
    """Distance of each point in m, increasing, (n,)."""
    length: float
    """Distance of the end in m: that of the last point, or of the first one lap later."""
    closed: bool
    order: int = 2

    @property
    def stride(self) -> int:
        """Number of steps between points in an interval."""
        return self.order // 2

    @property
    def steps(self) -> Array:
        """Distance in m from each point to the next; an open mesh has one less than points."""
        return np.diff(self.s, append=self.length) if self.closed else np.diff(self.s)


def mesh_of(nodes: Array, length: float, *, closed: bool, order: int) -> Mesh:
    """Mesh with the nodes (k,), in m, as ends of intervals; order 4 adds their middles."""
    if order == 2:
        return Mesh(nodes, length, closed, 2)
    ends = np.append(nodes, length) if closed else nodes
    middles = 0.5 * (ends[1:] + ends[:-1])
    s = np.empty(len(nodes) + len(middles))
    s[::2], s[1::2] = nodes, middles
    return Mesh(s, length, closed, 4)


class Collocation(NamedTuple):
    """Coefficients of an interval, for steps between its points of length 1."""

    states: Array
    """Coefficients of the states at the points, (rows, points)."""
    rates: Array
    """Coefficients of the rates at the points."""
    weights: Array
    """Weights of an integral over the interval."""


_RULES = {
    2: Collocation(np.array([[-1.0, 1.0]]), np.array([[-0.5, -0.5]]), np.array([0.5, 0.5])),
    4: Collocation(
        np.array([[-0.5, 1.0, -0.5], [-1.0, 0.0, 1.0]]),
        np.array([[-0.25, 0.0, 0.25], [-1 / 3, -4 / 3, -1 / 3]]),
        np.array([1 / 3, 4 / 3, 1 / 3]),
    ),
}
"""Lobatto IIIA of both orders, by order; J. Betts, Practical Methods for Optimal Control, 4.6."""


class Sparse(NamedTuple):
    """A sparse matrix whose entries are linear in the entries of matrices of the points."""

    pattern: Any
    """CSC matrix with the structure; its data are not used."""
    combine: Any
    """Sparse matrix from the entries of the points to those of the pattern."""
    constant: Array | float = 0.0
    """Entries that do not depend on the points."""

    def entries(self, points: Array) -> Array:
        """Entries in the order of the pattern, from those of the points (n, k)."""
        return self.combine @ points.ravel() + self.constant


@dataclass(frozen=True, eq=False)
class Transcription:
    """The nonlinear program of a problem on a mesh."""

    functions: PointFunctions
    mesh: Mesh
    data: Array
    """Data of the points, (n, nd)."""
    free_scales: Array
    """Typical magnitudes of the free parameters."""

    @property
    def points(self) -> int:
        return len(self.mesh.s)

    @cached_property
    def scales(self) -> Array:
        """Scale of each variable of the program."""
        of_point = [variable.scale for variable in self.functions.problem.variables]
        return np.append(np.tile(of_point, self.points), self.free_scales)

    @cached_property
    def columns(self) -> Indices:
        """Variable of the program for each input of the point functions, (n, nz + free)."""
        nz, free = len(self.functions.problem.variables), len(self.functions.free)
        own = np.arange(self.points * nz).reshape(self.points, nz)
        shared = np.broadcast_to(self.points * nz + np.arange(free), (self.points, free))
        return np.concatenate([own, shared], axis=1)

    def split(self, x: Array, p: Array) -> tuple[Array, Array]:
        """Variables of the points (n, nz) and parameters for variables x of the program."""
        problem = self.functions.problem
        values = x * self.scales
        count = self.points * len(problem.variables)
        p = np.array(p)
        p[[problem.params.index(name) for name in self.functions.free]] = values[count:]
        return values[:count].reshape(self.points, -1), p

    @cached_property
    def rows(self) -> Any:
        """The matrix A from values of the points to rows of the program, CSR."""
        problem, n = self.functions.problem, self.points
        nq, _, na, nh, ne = problem.sizes
        rule, k = _RULES[self.mesh.order], self.mesh.stride
        steps = self.mesh.steps
        starts = np.arange(0, len(steps), k)
        blocks: list[Any] = []
        for state_row, rate_row in zip(rule.states, rule.rates, strict=True):
            at = np.tile(np.arange(len(starts)), k + 1)
            points = (starts + np.arange(k + 1)[:, None]).ravel() % n
            of_states, of_rates = (
                sp.csr_matrix((np.outer(row, lengths).ravel(), (at, points)), (len(starts), n))
                for row, lengths in ((state_row, np.ones(len(starts))), (rate_row, steps[starts]))
            )
            by_scale = sp.diags(1.0 / np.array(problem.state_scales))
            blocks.append(
                sp.kron(of_states, sp.hstack([by_scale, sp.csr_matrix((nq, nq + na + nh + ne))]))
                + sp.kron(
                    of_rates,
                    sp.hstack(
                        [sp.csr_matrix((nq, nq)), by_scale, sp.csr_matrix((nq, na + nh + ne))]
                    ),
                )
            )
        at_points = sp.hstack(
            [sp.csr_matrix((na + nh, 2 * nq)), sp.eye(na + nh), sp.csr_matrix((na + nh, ne))]
        )
        blocks.append(sp.kron(sp.eye(n), at_points))
        integrals = sp.hstack([sp.csr_matrix((ne - 1, 2 * nq + na + nh + 1)), sp.eye(ne - 1)])
        blocks.append(sp.kron(sp.csr_matrix(self.weights[None]), integrals))
        return sp.vstack(blocks, format="csr")

    @cached_property
    def row_names(self) -> list[tuple[str, int]]:
        """Name and point of each row of the program; the point is -1 for an integral."""
        problem, k = self.functions.problem, self.mesh.stride
        starts = range(0, len(self.mesh.steps), k)
        names = [(name, start) for _ in range(k) for start in starts for name in problem.states]
        of_point = (*problem.rows, *(row.name for row in problem.ranges))
        names += [(name, point) for point in range(self.points) for name in of_point]
        return names + [(row.name, -1) for row in problem.integrals]

    @cached_property
    def row_bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the rows."""
        problem, count = self.functions.problem, self.rows.shape[0]
        _, _, na, nh, ne = problem.sizes
        low, high = np.zeros(count), np.zeros(count)
        first = count - (ne - 1) - self.points * (na + nh)
        for bounds, side in ((low, "low"), (high, "high")):
            rows = [0.0] * na + [getattr(row, side) for row in problem.ranges]
            bounds[first : count - (ne - 1)] = np.tile(rows, self.points)
            bounds[count - (ne - 1) :] = [getattr(row, side) for row in problem.integrals]
        return low, high

    @cached_property
    def weights(self) -> Array:
        """Weight of each point in an integral over the distance, in m."""
        k, steps, n = self.mesh.stride, self.mesh.steps, self.points
        weights = np.zeros(n)
        for j, weight in enumerate(_RULES[self.mesh.order].weights):
            starts = np.arange(0, len(steps), k)
            np.add.at(weights, (starts + j) % n, weight * steps[starts])
        return weights

    @cached_property
    def time_weights(self) -> Array:
        """Weights (n, count) of the point values whose sum is the time."""
        weights = np.zeros((self.points, self.functions.count))
        weights[:, sum(self.functions.problem.sizes[:4])] = self.weights
        return weights

    @cached_property
    def roughness(self) -> Any:
        """Symmetric matrix Q with the cost of rough controls x Q x / 2, for scaled variables."""
        n, variables = self.points, self.functions.problem.variables
        steps = self.mesh.steps
        ends = np.arange(len(steps))
        change = sp.coo_matrix(
            (
                np.repeat([-1.0, 1.0], len(steps)),
                (np.tile(ends, 2), np.append(ends, (ends + 1) % n)),
            ),
            shape=(len(steps), n),
        ).tocsr()
        along = 2.0 * (change.T @ sp.diags(1.0 / steps) @ change)
        costs = np.array([v.roughness * v.scale**2 for v in variables])
        matrix = sp.kron(along, sp.diags(costs), format="csr")
        matrix.eliminate_zeros()
        size = len(self.scales)
        matrix.resize((size, size))
        return matrix

    def _combined(
        self,
        rows: Indices,
        columns: Indices,
        values: Array,
        sources: Indices,
        count: int,
        shape: tuple[int, int],
        extra: Any = None,
    ) -> Sparse:
        """Sparse matrix with entry (row, column) += value * source, for each of these."""
        more = sp.coo_matrix(shape) if extra is None else extra.tocoo()
        keys = np.concatenate(
            [columns * shape[0] + rows, more.col.astype(np.int64) * shape[0] + more.row]
        )
        unique, place = np.unique(keys, return_inverse=True)
        combine = sp.csr_matrix((values, (place[: len(rows)], sources)), shape=(len(unique), count))
        constant = np.zeros(len(unique))
        np.add.at(constant, place[len(rows) :], more.data)
        indptr = np.searchsorted(unique // shape[0], np.arange(shape[1] + 1))
        pattern = sp.csc_matrix((np.ones(len(unique)), unique % shape[0], indptr), shape=shape)
        return Sparse(pattern, combine, constant)

    @cached_property
    def jacobian(self) -> Sparse:
        """Jacobian of the rows by the scaled variables, from the Jacobians of the points."""
        A, entries = self.rows.tocoo(), self.functions.jacobian
        count, per_point = self.functions.count, len(entries.rows)
        # Entries of the point Jacobian in each row of it, for each nonzero of A.
        order = np.argsort(entries.rows, kind="stable")
        begin = np.searchsorted(entries.rows[order], np.arange(count + 1))
        point, value = np.divmod(A.col.astype(np.int64), count)
        times = begin[value + 1] - begin[value]
        pick = np.repeat(np.arange(len(A.data)), times)
        within = np.arange(len(pick)) - np.repeat(np.cumsum(times) - times, times)
        entry = order[begin[value[pick]] + within]
        columns = self.columns[point[pick], entries.columns[entry]]
        return self._combined(
            A.row.astype(np.int64)[pick],
            columns,
            A.data[pick] * self.scales[columns],
            point[pick] * per_point + entry,
            self.points * per_point,
            (self.rows.shape[0], len(self.scales)),
        )

    @cached_property
    def hessian(self) -> Sparse:
        """Upper triangle of the Hessian of the Lagrangian, from the Hessians of the points.

        The constant entries are those of the cost of rough controls, for an objective factor of 1.
        """
        entries = self.functions.hessian
        first, second = self.columns[:, entries.rows], self.columns[:, entries.columns]
        scaled = (self.scales[first] * self.scales[second]).ravel()
        size = len(self.scales)
        return self._combined(
            np.minimum(first, second).ravel(),
            np.maximum(first, second).ravel(),
            scaled,
            np.arange(first.size, dtype=np.int64),
            first.size,
            (size, size),
            sp.triu(self.roughness),
        )

    @cached_property
    def time_gradient(self) -> Any:
        """Sparse matrix from the entries of the Jacobians of the points to the gradient of the
        time by the scaled variables."""
        entries = self.functions.jacobian
        time = np.flatnonzero(entries.rows == sum(self.functions.problem.sizes[:4]))
        columns = self.columns[:, entries.columns[time]]
        sources = (np.arange(self.points)[:, None] * len(entries.rows) + time).ravel()
        values = (self.weights[:, None] * self.scales[columns]).ravel()
        shape = (len(self.scales), self.points * len(entries.rows))
        return sp.csr_matrix((values, (columns.ravel(), sources)), shape=shape)
