"""The equations of an optimal control problem at one point of its path, and their derivatives.

A `PointProblem` has variables z, data d (such as the curvature of a track) and parameters p. Its
equations return, at one point,

- states q(z, p), with their rates dq/ds, where s is the distance along the path;
- rows that vanish;
- ranges, rows between bounds;
- integrands of integrals over the distance, of which the first is the time per distance.

Algebraic variables, such as wheel loads in balance, are variables with as many rows that vanish.
States may be functions of several variables, such as the momentum of a wheel.

`PointFunctions` evaluates the equations F at all points of a mesh in compiled lanes: their values,
the nonzero entries of the Jacobian dF/dz, those of the Hessian of a weighted sum w F, and the
derivatives by parameters that sensitivities need. Derivatives are exact (`integrate.derivatives`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.cpu import CpuMap
from ...compile.program import Port
from ...compile.trace import explained, trace
from ...core.arrays import Array
from ...errors import InvalidValue
from ...integrate.base import making_expressions


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
    """Values of the equations at one point."""

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
    """Positions of the nonzero entries of a matrix."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


class PointFunctions:
    """The equations of a problem and their derivatives, compiled.

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
