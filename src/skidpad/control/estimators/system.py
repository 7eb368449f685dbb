"""The step and the measurements of a vehicle as functions of what is estimated, with Jacobians.

With z the estimated states and parameters, s the simulated states, and u, w, p the vehicle's input,
disturbance and parameters, over one step of dt:

    (z, s)⁺ = F(z, s, u, w, p, dt)        parameters in z stay constant or return (`returned`)
    y = h(z⁺, s⁺, z, s, u, w, p)          the start of the step matters to models with `hold`

F is the vehicle's own step by its integrator, in sub-steps if it has some, and `advance_linear` is
F with its exact Jacobian A with respect to z: explicit steps are differentiated operation by
operation, those of Radau by the implicit function theorem. The functions of `System` work on CasADi
symbols; `Linearisation` evaluates them in compiled code, for many nodes in one call.

`smoothed` is the smoother of H. E. Rauch, F. Tung, C. T. Striebel (*AIAA Journal* 3 (1965) 1445)
over the estimates of a filter, with A at these estimates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ... import integrate
from ...compile.cpu import CpuMap
from ...compile.pipeline import kept
from ...compile.program import Port, Program
from ...compile.trace import trace
from ...core import record
from ...core.arrays import Array
from ...core.body import Demand
from ...core.model import Model, Vehicle
from ...errors import InvalidValue
from ...integrate.adjoint import ImplicitStep
from ...integrate.base import Integrator, simplified
from ...integrate.derivatives import SX, Linearised, called, column, linearised
from ...integrate.radau import RESIDUAL_TOLERANCE, Radau
from .structure import Structure, observe, with_demand

Scalars = list[SX]


class Exogenous(NamedTuple):
    """Inputs of a step other than states and estimated parameters."""

    u: Any
    w: Any
    p: Any
    dt: Any

    @property
    def leaves(self) -> Scalars:
        return [*record.flatten(self.u), *record.flatten(self.w), *record.flatten(self.p), self.dt]


class System(NamedTuple):
    """A vehicle's model, its integrator and what is estimated of it."""

    model: Model
    method: Integrator
    substeps: int
    structure: Structure

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of estimated values, of simulated states and of measurements."""
        structure = self.structure
        return len(structure.names), len(structure.simulated), len(structure.measured)

    def exogenous(self, leaves: Sequence[Any]) -> Exogenous:
        """Undo `Exogenous.leaves`."""
        nu, nw = record.size(self.model.Input), record.size(self.model.Disturbance)
        return Exogenous(
            record.unflatten(self.model.Input, leaves[:nu]),
            record.unflatten(self.model.Disturbance, leaves[nu : nu + nw]),
            record.unflatten(self.model.Params, leaves[nu + nw : -1]),
            leaves[-1],
        )

    def _records(self, z: Scalars, s: Scalars, given: Exogenous) -> tuple[Any, Any, Any, Any]:
        """State, input, disturbance and parameters of the vehicle."""
        model, structure = self.model, self.structure
        known = dict(zip(structure.names, z, strict=True))
        known |= dict(zip(structure.simulated, s, strict=True))
        rest = record.flatten(record.at_rest(model.State))
        leaves = zip(record.names(model.State), rest, strict=True)
        state = [ca.SX(known.get(name, default)) for name, default in leaves]
        ports = {"u": given.u, "w": given.w, "p": given.p}
        flat = {port: list(record.flatten(value)) for port, value in ports.items()}
        demand: dict[str, Any] = {}
        z = self.bounded(z)
        for value, targets in zip(z[len(structure.states) :], structure.targets, strict=True):
            for port, place in targets:
                if port == "d":
                    demand[Demand._fields[place]] = value
                elif port != "y":
                    flat[port][place] = value
        u, w, p = (record.unflatten(type(ports[port]), flat[port]) for port in "uwp")
        x = record.unflatten(model.State, state)
        if demand:
            u = with_demand(model, structure.commanded, x, u, p, demand)
        return x, u, w, p

    def bounded(self, z: Scalars) -> Scalars:
        """Estimated values within their bounds."""
        within: Scalars = []
        for value, low, high in zip(z, self.structure.low, self.structure.high, strict=True):
            value = ca.fmax(value, low) if math.isfinite(low) else value
            within.append(ca.fmin(value, high) if math.isfinite(high) else value)
        return within

    def returned(self, z: Scalars, dt: Any) -> Scalars:
        """Parameters after a time, each nearer to the value to which it returns."""
        structure, after = self.structure, Scalars()
        values = z[len(structure.states) :]
        for value, (usual, rate) in zip(values, structure.returns, strict=True):
            share = rate * dt / (1.0 + rate * dt)
            after.append(value + share * (usual - value) if rate else value)
        return after

    def _picked(self, x: Any) -> tuple[Scalars, Scalars]:
        """Estimated and simulated states among the leaves of a vehicle state."""
        known = dict(zip(record.names(self.model.State), record.flatten(x), strict=True))
        structure = self.structure
        picked = ([known[name] for name in names] for names in structure[:2])
        states, simulated = picked
        return states, simulated

    def advance(self, z: Scalars, s: Scalars, given: Exogenous) -> Scalars:
        """z and s after one step."""
        update = integrate.discretise(self.model, self.method)
        x, u, w, p = self._records(z, s, given)
        start, residual = x, ca.SX(0)
        for _ in range(self.substeps):
            x, left = update(x, u, w, p, given.dt / self.substeps, start)
            residual = ca.fmax(residual, left)
        states, simulated = self._picked(x)
        states[:1] = [_where_solved(residual, value) for value in states[:1]]
        return [*states, *self.returned(z, given.dt), *simulated]

    def advance_linear(self, z: Scalars, s: Scalars, given: Exogenous) -> Linearised:
        """z and s after one step, and their Jacobian with respect to z."""
        n, size = len(z), len(z) + len(s)
        if self.substeps == 1:
            after, jacobian = _applied(self._substep, [z, s], given.leaves, called_once=False)
            return Linearised(after, jacobian[:, :n])
        given = given._replace(dt=given.dt / self.substeps)
        now: SX = column((*z, *s))
        begin: SX = ca.SX.eye(size)[:, :n]
        moved = begin
        for _ in range(self.substeps):
            parts = ca.vertsplit(now)
            arguments = [parts[:n], parts[n:], z, s]
            now, jacobian = _applied(self._substep, arguments, given.leaves, called_once=True)
            moved = ca.mtimes(jacobian[:, :size], moved) + ca.mtimes(jacobian[:, size:], begin)
        return Linearised(now, moved)

    def _substep(self, parts: list[Scalars], given: Scalars) -> Linearised:
        """One sub-step and its Jacobian, from z and s and, if they differ, z and s at the start."""
        z, s, *begin = parts
        known = self.exogenous(given)
        x, u, w, p = self._records(z, s, known)
        inputs = column(symbol for part in parts for symbol in part)
        if self.model.continuous and isinstance(self.method, Radau):
            if begin and self.model.hold is not None:
                raise InvalidValue(
                    f"{self.model.name!r} samples at the start of a step (hold), which an "
                    "estimator with implicit sub-steps does not support; use another integrator"
                )
            step = ImplicitStep(self.model, self.method, x, u, w, p, known.dt)
            jacobian = step.jacobian(inputs)
            rest = self.returned(z, known.dt)
            whole = column((step.following, *rest))
            slopes = ca.vertcat(jacobian, ca.jacobian(column(rest), inputs))
            names = (*record.names(self.model.State), *self.structure.parameters)
            rows = [names.index(n) for n in (*self.structure.names, *self.structure.simulated)]
            values = [whole[k] for k in rows]
            values[:1] = [_where_solved(step.residual, value) for value in values[:1]]
            return Linearised(column(values), slopes[rows, :])
        start = self._records(begin[0], begin[1], known)[0] if begin else x
        update = integrate.discretise(self.model, self.method)
        states, simulated = self._picked(update(x, u, w, p, known.dt, start)[0])
        return linearised(column((*states, *self.returned(z, known.dt), *simulated)), inputs)

    def observe(
        self, z: Scalars, s: Scalars, start: tuple[Scalars, Scalars], given: Exogenous
    ) -> Scalars:
        """Measurements after a step from `start`, with the biases of the sensors."""
        x, u, w, p = self._records(z, s, given)
        begin = x if self.model.hold is None else self._records(*start, given)[0]
        values = [ca.SX(v) for v in observe(self.model, self.structure.measured, x, begin, u, w, p)]
        for k, targets in enumerate(self.structure.targets):
            for port, place in targets:
                if port == "y":
                    values[place] = values[place] + z[len(self.structure.states) + k]
        return values

    def observe_linear(
        self, z: Scalars, s: Scalars, start: tuple[Scalars, Scalars], given: Exogenous
    ) -> Linearised:
        """Measurements and their Jacobian with respect to z."""
        n, r = len(z), len(s)

        def function(parts: list[Scalars], others: Scalars) -> Linearised:
            (inputs,) = parts
            here, begin, rest = others[:r], others[r : n + 2 * r], others[n + 2 * r :]
            values = self.observe(inputs, here, (begin[:n], begin[n:]), self.exogenous(rest))
            return linearised(column(values), column(inputs))

        others = [*s, *start[0], *start[1], *given.leaves]
        return _applied(function, [z], others, called_once=False)

    def step_program(self) -> Program:
        """Program of z, s, u, w, p, dt to z and s after a step, and the entries of A by rows."""

        def function(z: Scalars, s: Scalars, *given: Any) -> Sequence[Any]:
            with simplified():
                n = len(z)
                after, A = self.advance_linear([*z], [*s], self._given(given))
                values, dense = ca.vertsplit(after), ca.densify(A[:n, :])
                return values[:n], values[n:], ca.vertsplit(ca.reshape(dense.T, -1, 1))

        n, r, _ = self.sizes
        outputs = [_port("z", n), _port("s", r), _port("A", n * n)]
        return self._traced("step", function, self._ports(n, r), outputs)

    def measurement_program(self) -> Program:
        """Program of z, s, z and s at the start of the step, u, w, p, dt to y and the entries of
        its Jacobian by rows."""

        def function(z: Any, s: Any, z_0: Any, s_0: Any, *given: Any) -> Sequence[Any]:
            with simplified():
                start = ([*z_0], [*s_0])
                y, H = self.observe_linear([*z], [*s], start, self._given(given))
                dense = ca.vertsplit(ca.reshape(ca.densify(H).T, -1, 1))
                return ca.vertsplit(y), dense

        n, r, m = self.sizes
        inputs = self._ports(n, r)
        inputs[2:2] = [_port("z_0", n), _port("s_0", r)]
        return self._traced("measurement", function, inputs, [_port("y", m), _port("H", m * n)])

    def _given(self, ports: Sequence[Any]) -> Exogenous:
        return self.exogenous([leaf for port in ports for leaf in port])

    def _ports(self, n: int, r: int) -> list[Port]:
        model = self.model
        kinds = {"u": model.Input, "w": model.Disturbance, "p": model.Params}
        ports = [Port(name, record.names(kind)) for name, kind in kinds.items()]
        return [_port("z", n), _port("s", r), *ports, Port("dt", ("dt",))]

    def _traced(self, what: str, function: Any, inputs: list[Port], outputs: list[Port]) -> Program:
        name = f"{self.model.name}.estimator.{what}"
        key = (name, self.method, self.substeps, self.structure)
        return kept(self.model, key, lambda: trace(name, function, inputs, outputs))


def _port(name: str, size: int) -> Port:
    return Port(name, tuple(f"{name}{k}" for k in range(size)))


def _where_solved(residual: SX, value: SX) -> SX:
    """The value, or NaN where the Newton iteration of a step did not converge."""
    solved = residual <= RESIDUAL_TOLERANCE
    return ca.if_else(solved, value, ca.sqrt(RESIDUAL_TOLERANCE - residual))


def _applied(
    function: Callable[[list[Scalars], Scalars], Linearised],
    parts: list[Scalars],
    given: Scalars,
    *,
    called_once: bool,
) -> Linearised:
    """Values and Jacobian of a function at expressions: its derivative is taken at symbols.

    With `called_once` the function is one of the Program, which all its calls share.
    """
    symbols = [[ca.SX.sym(f"z{i}_{k}") for k in range(len(part))] for i, part in enumerate(parts)]
    others = [ca.SX.sym(f"g{k}") for k in range(len(given))]
    values, jacobian = function(symbols, others)
    inputs = [symbol for part in symbols for symbol in part] + others
    count, results = values.numel(), column((values, column(jacobian.nonzeros())))
    point = column([*(value for part in parts for value in part), *given])
    if called_once:
        made = called("substep", [column(inputs)], [results])
    else:
        made = ca.Function("linear", [column(inputs)], [results], {"cse": True})
    (found,) = made.call([point])
    values, entries = ca.vertsplit(found, [0, count, found.numel()])
    return Linearised(values, ca.SX(jacobian.sparsity(), entries))


class Path(NamedTuple):
    """A trajectory of a filter's vehicle: nodes k = 0 ... N and the inputs between them."""

    z: Array
    """Estimated values, (N + 1, n)."""
    s: Array
    """Simulated states, (N + 1, r)."""
    u: Array
    """Inputs of the vehicle that are in effect, (N, nu)."""


class LinearSteps(NamedTuple):
    """Step and measurements of a vehicle along a path, with their Jacobians."""

    after: Array
    """Values that the step from node k predicts for node k + 1, (N, n)."""
    A: Array
    """(N, n, n)"""
    y: Array
    """Measurements at node k + 1, (N, m)."""
    H: Array
    """(N, m, n)"""


class Linearisation:
    """Compiled step and measurements of a filter's vehicle, for many nodes in one call."""

    def __init__(self, system: System, vehicle: Vehicle, dt: float) -> None:
        self.system = system
        constants = (record.build(vehicle.Disturbance), vehicle.params)
        self._constants = [np.array([[record.flatten(part)]], dtype=float) for part in constants]
        self._constants.append(np.array([[[dt]]]))

    @cached_property
    def _step(self) -> CpuMap:
        return CpuMap(self.system.step_program(), "float64", 1)

    @cached_property
    def _look(self) -> CpuMap:
        return CpuMap(self.system.measurement_program(), "float64", 1)

    def along(self, path: Path) -> LinearSteps:
        """Evaluate at all nodes of a path."""
        z, s, u = (np.ascontiguousarray(part)[None] for part in path)
        begin, n = (z[:, :-1], s[:, :-1]), z.shape[2]
        after, _, A = self._step.run([*begin, u, *self._constants], len(path.u))
        y, H = self.observed(path.z[1:], path.s[1:], path.z[:-1], path.s[:-1], path.u)
        return LinearSteps(after[0], A.reshape(-1, n, n), y, H)

    def observed(
        self, z: Array, s: Array, begin_z: Array, begin_s: Array, u: Array
    ) -> tuple[Array, Array]:
        """Measurements (N, m) after steps that begin at `begin_z`, and Jacobians (N, m, n)."""
        ports = [np.ascontiguousarray(part)[None] for part in (z, s, begin_z, begin_s, u)]
        y, H = self._look.run([*ports, *self._constants], len(z))
        return y[0], H.reshape(len(z), -1, z.shape[1])


def smoothed(lin: Linearisation, path: Path, covariances: Array, q: Array) -> tuple[Array, Array]:
    """Means (N + 1, n) and covariances of a filter's estimates, given all measurements.

    `path` and `covariances` (N + 1, n, n) are those of the filter, `q` (n,) the variances of the
    process noise over a step.
    """
    after, A, _, _ = lin.along(path)
    filtered = covariances[:-1]
    predicted = A @ filtered @ A.swapaxes(1, 2) + np.diag(q)
    gain = np.linalg.solve(predicted, A @ filtered).swapaxes(1, 2)
    means, spread = path.z.copy(), covariances.copy()
    for k in reversed(range(len(after))):
        means[k] += gain[k] @ (means[k + 1] - after[k])
        spread[k] += gain[k] @ (spread[k + 1] - predicted[k]) @ gain[k].T
    return means, 0.5 * (spread + spread.swapaxes(1, 2))
