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

A `PointProblem` holds the equations at one point of the path. It has variables z, data d (such as
the curvature of a track) and parameters p. Its equations return, at one point,

- states q(z, p), with their rates dq/ds, where s is the distance along the path;
- rows that vanish;
- ranges, rows between bounds;
- integrands of integrals over the distance, of which the first is the time per distance.

Algebraic variables, such as wheel loads in balance, are variables with as many rows that vanish.
States may be functions of several variables, such as the momentum of a wheel.

`PointFunctions` evaluates the equations F at all points of a mesh in compiled lanes: their values,
the nonzero entries of the Jacobian dF/dz, those of the Hessian of a weighted sum w F, and the
derivatives by parameters that sensitivities need. Derivatives are exact (`integrate.derivatives`).

`path_of` makes the mesh of a track, finer in bends, with the data of its points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...compile.cpu import CpuMap
from ...compile.program import Port
from ...compile.trace import explained, trace
from ...core.arrays import Array
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...integrate.base import making_expressions

Indices = NDArray[np.int64]
ORDERS = (2, 4)
"""Orders of collocation: the trapezoidal and the Simpson rule."""


class Mesh(NamedTuple):
    """Mesh of points at which the equations are evaluated, and of intervals between them."""

    s: Array
    """Distance of each point in m, increasing, (n,)."""
    length: float
    """Distance of the end in m: of the last point or, on a closed mesh, of the first point one lap
    later."""
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
    """Collocation coefficients of an interval whose points are a distance of 1 apart."""

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
    """Sparse matrix whose entries are linear in the entries of the point matrices."""

    pattern: Any
    """CSC matrix with the structure; its data are not used."""
    combine: Any
    """Matrix from the entries of the point matrices to the entries of the pattern."""
    constant: Array | float = 0.0
    """Entries that do not depend on the points."""

    def entries(self, points: Array) -> Array:
        """Entries in the order of the pattern, from the entries of the point matrices (n, k)."""
        return self.combine @ points.ravel() + self.constant


@dataclass(frozen=True, eq=False)
class Transcription:
    """Nonlinear program of a point problem on a mesh."""

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
        """Index of the program variable for each input of the point functions, (n, nz + free)."""
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
        """Matrix A that maps values at the points to rows of the program, in CSR format."""
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
        """Sparse matrix whose entry (row, column) is the sum of value * source over all given
        triples."""
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
        # Entries of the point Jacobian in the row that each nonzero of A refers to.
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

        The constant entries come from the cost of rough controls, for an objective factor of 1.
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
        """Matrix from the entries of the point Jacobians to the gradient of the time with respect
        to the scaled variables."""
        entries = self.functions.jacobian
        time = np.flatnonzero(entries.rows == sum(self.functions.problem.sizes[:4]))
        columns = self.columns[:, entries.columns[time]]
        sources = (np.arange(self.points)[:, None] * len(entries.rows) + time).ravel()
        values = (self.weights[:, None] * self.scales[columns]).ravel()
        shape = (len(self.scales), self.points * len(entries.rows))
        return sp.csr_matrix((values, (columns.ravel(), sources)), shape=shape)


class Variable(NamedTuple):
    """A variable at every point of the path."""

    name: str
    low: float = -inf
    """Lower bound."""
    high: float = inf
    """Upper bound."""
    scale: float = 1.0
    """Typical magnitude; the solver's variable is the value over the scale."""
    roughness: float = 0.0
    """Cost of changes along the path: the objective contains this factor times the sum of
    (change between neighbouring points)² / distance."""


class Range(NamedTuple):
    """Name and bounds of a row of `Equations.ranges`, and of an integral over the path."""

    name: str
    low: float = -inf
    high: float = inf


class Equations(NamedTuple):
    """Values of a point problem's equations at one point."""

    states: Sequence[Any]
    """States q."""
    rates: Sequence[Any]
    """Their derivatives by the distance, dq/ds."""
    rows: Sequence[Any]
    """Rows that vanish."""
    ranges: Sequence[Any]
    """Rows between bounds."""
    integrands: Sequence[Any]
    """Integrands over the distance; the first is the time per distance in s/m."""


@dataclass(frozen=True, eq=False)
class PointProblem:
    """Variables, data, parameters and equations of an optimal control problem at one point."""

    name: str
    variables: tuple[Variable, ...]
    data: tuple[str, ...]
    """Names of the data of a point."""
    params: tuple[str, ...]
    """Names of the parameters, which all points share."""
    equations: Callable[[Any, Any, Any], Equations]
    """`equations(z, d, p)` with a tuple of scalars each, built from `skidpad.ops`."""
    states: tuple[str, ...]
    """Names of the states, for messages."""
    state_scales: tuple[float, ...]
    """Typical magnitude of each state, by which its collocation rows are divided."""
    rows: tuple[str, ...] = ()
    """Names of the rows that vanish; they should be of order 1."""
    ranges: tuple[Range, ...] = ()
    """Names and bounds of the ranges; they should be of order 1."""
    integrals: tuple[Range, ...] = ()
    """Names and bounds of the integrals after the first, which is the time."""

    def index(self, name: str) -> int:
        """Index of a variable by name."""
        for k, variable in enumerate(self.variables):
            if variable.name == name:
                return k
        names = ", ".join(variable.name for variable in self.variables)
        raise InvalidValue(f"{self.name!r} has no variable {name!r}; it has {names}")

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Numbers of states, rates, rows, ranges and integrands."""
        nq = len(self.states)
        return nq, nq, len(self.rows), len(self.ranges), 1 + len(self.integrals)


class Entries(NamedTuple):
    """Row and column indices of the nonzero entries of a matrix."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


class PointFunctions:
    """Compiled equations of a point problem and their derivatives.

    `free` are the names of the parameters that are variables too; derivatives are with respect to
    (z, free parameters).
    """

    @making_expressions()
    def __init__(self, problem: PointProblem, free: Sequence[str] = ()) -> None:
        import casadi as ca

        from ...integrate.derivatives import linearised, pullback

        self.problem, self.free = problem, tuple(free)
        ports = {
            "z": [variable.name for variable in problem.variables],
            "d": list(problem.data),
            "p": list(problem.params),
        }
        self._symbols = {
            port: ca.vertcat(ca.SX(0, 1), *map(ca.SX.sym, names)) for port, names in ports.items()
        }
        z, d, p = self._symbols.values()
        with explained(problem.name):
            parts = problem.equations(
                *(tuple(ca.vertsplit(v)) if v.numel() else () for v in (z, d, p))
            )
        for part, names, size in zip(parts, Equations._fields, problem.sizes, strict=True):
            if len(part) != size:
                raise InvalidValue(
                    f"{problem.name!r}: equations returned {len(part)} {names}, expected {size}"
                )
        self.values = ca.vertcat(*(ca.SX(value) for part in parts for value in part))
        self.count: int = self.values.numel()
        where = [problem.params.index(name) for name in self.free]
        self._inputs = ca.vertcat(z, *(p[k] for k in where))
        self._weights = ca.SX.sym("w", self.count)
        self._direction = ca.SX.sym("v", self._inputs.numel())
        jacobian = linearised(self.values, self._inputs).jacobian
        self.jacobian = _entries(jacobian)
        gradient = pullback(self.values, self._weights, self._inputs)
        hessian = ca.triu(linearised(gradient, self._inputs).jacobian)
        self.hessian = _entries(hessian)
        self._maps = {
            "value": self._map("value", "zdp", [self.values]),
            "jacobian": self._map("jacobian", "zdp", [self.values, _nonzeros(jacobian)]),
            "hessian": self._map("hessian", "zdpw", [_nonzeros(hessian)]),
        }

    def _map(self, name: str, ports: str, results: Sequence[Any]) -> CpuMap:
        import casadi as ca

        symbols = {**self._symbols, "w": self._weights, "v": self._direction}
        inputs = [symbols[port] for port in ports]
        function = ca.Function("f", inputs, list(results), {"cse": True})

        def inlined(*values: tuple[Any, ...]) -> list[Any]:
            found = function.call([ca.vertcat(ca.SX(0, 1), *some) for some in values])
            return [ca.vertsplit(value) if value.numel() else [] for value in found]

        shapes = [
            [
                Port(port, tuple(map(str, range(column.numel()))))
                for port, column in zip(names, columns, strict=True)
            ]
            for names, columns in (
                (ports, inputs),
                ([f"y{k}" for k in range(len(results))], results),
            )
        ]
        program = trace(f"{self.problem.name}.{name}", inlined, *shapes)
        return CpuMap(program, "float64", None, shared=(2,))

    def _run(self, name: str, *ports: Array) -> list[Array]:
        arrays = [np.ascontiguousarray(port, dtype=float)[None] for port in ports]
        arrays[2] = arrays[2].reshape(1, 1, -1)
        return [out[0] for out in self._maps[name].run(arrays, len(ports[0]))]

    def value(self, z: Array, d: Array, p: Array) -> Array:
        """Values (n, count) at points z (n, nz) with data d (n, nd) and parameters p (np,)."""
        return self._run("value", z, d, p)[0]

    def linear(self, z: Array, d: Array, p: Array) -> tuple[Array, Array]:
        """Values (n, count) and nonzero entries of the Jacobian (n, entries)."""
        value, jacobian = self._run("jacobian", z, d, p)
        return value, jacobian

    def curvature(self, z: Array, d: Array, p: Array, w: Array) -> Array:
        """Nonzero entries (n, entries) of the upper triangle of the Hessian of w F, for w
        (n, count)."""
        return self._run("hessian", z, d, p, w)[0]

    @making_expressions()
    def by_parameters(
        self, names: Sequence[str], z: Array, d: Array, p: Array, w: Array, v: Array
    ) -> tuple[Array, Array]:
        """Sums over points of the derivatives of w F and of w dF/dz v by parameters, (k,) each.

        `v` (n, nz + free) is a direction of the variables.
        """
        import casadi as ca

        from ...integrate.derivatives import pullback, pushforward

        key = "parameters:" + ",".join(names)
        if key not in self._maps:
            chosen = ca.vertcat(
                *(self._symbols["p"][self.problem.params.index(name)] for name in names)
            )
            along = pushforward(self.values, self._inputs, self._direction)
            sums = [pullback(outputs, self._weights, chosen) for outputs in (self.values, along)]
            self._maps[key] = self._map("parameters", "zdpwv", sums)
        first, second = self._run(key, z, d, p, w, v)
        return first.sum(axis=0), second.sum(axis=0)


def _entries(matrix: Any) -> Entries:
    rows, columns = matrix.sparsity().get_triplet()
    return Entries(np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))


def _nonzeros(matrix: Any) -> Any:
    import casadi as ca

    return ca.vertcat(ca.SX(0, 1), *matrix.nonzeros())


TURN = 0.06
"""Change of the direction of the centre line in rad that counts as much as a step of the mesh."""
FEWEST = 8
"""Least number of intervals."""


class Path(NamedTuple):
    """Mesh of a track with the data of its points."""

    mesh: Mesh
    data: Array
    """x, y, heading and curvature of the centre line, (n, 4)."""
    left: Array
    """Distance in m from the centre line to the left edge, (n,)."""
    right: Array
    """Distance in m to the right edge, (n,)."""


def path_of(track: Track, *, closed: bool, step: float, order: int) -> Path:
    """Mesh of a track, finer in bends: step / (1 + step |curvature| / TURN), smoothed.

    The curvature of a point is the mean over half of the steps to both neighbours.
    """
    line = track.line
    density = 1.0 / step + np.abs(line.curvature) / TURN
    width = max(1, round(step * (len(line.s) - 1) / line.length))
    width = min(width, (len(density) - 2) // 2)
    ends = "wrap" if line.closed else "edge"
    padded = np.pad(density[:-1] if line.closed else density, width, mode=ends)
    smooth = np.convolve(padded, np.full(2 * width + 1, 1.0 / (2 * width + 1)), "valid")
    smooth = np.append(smooth, smooth[0]) if line.closed else smooth
    count = np.concatenate([[0.0], np.cumsum(0.5 * (smooth[1:] + smooth[:-1]) * np.diff(line.s))])
    total = max(FEWEST, round(count[-1]))
    nodes = np.interp(np.linspace(0.0, count[-1], total + 1), count, line.s)
    mesh = mesh_of(nodes[:-1] if closed else nodes, line.length, closed=closed, order=order)
    s, steps = mesh.s, mesh.steps
    ahead = steps if closed else np.append(steps, 0.0)
    behind = np.roll(ahead, 1)
    ends = np.stack([s - 0.5 * behind, s + 0.5 * ahead])
    turn = line.heading[-1] - line.heading[0]
    laps, at = np.divmod(ends, line.length) if closed else (np.zeros_like(ends), ends)
    headings = np.interp(at, line.s, line.heading) + laps * turn
    curvature = (headings[1] - headings[0]) / (ends[1] - ends[0])
    x, y, heading = (np.interp(s, line.s, column) for column in (line.x, line.y, line.heading))
    sides = (np.append(w, w[0]) if track.closed else w for w in (track.left, track.right))
    left, right = (np.interp(s, line.s, side) for side in sides)
    return Path(mesh, np.column_stack([x, y, heading, curvature]), left, right)
