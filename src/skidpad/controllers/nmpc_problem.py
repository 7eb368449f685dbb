"""The optimal control problem of a model predictive controller, as a CasADi program.

Multiple shooting (Bock and Plitt, IFAC 1984): the states at all steps are variables, tied together
by the vehicle's own discrete step. Variables and constraints are in the order of the steps, the
structure that FATROP is made for.

    minimise  sum over k < N of  |x_k - x_ref_k|²_Q + |u_k - u_ref_k|²_R   +  |x_N - x_ref_N|²_Q_N
    subject to  x_0 given,  x_{k+1} = step(x_k, u_k),  bounds on u_k and on x_{k+1},
                a_long² + a_lat² <= 1 of the normalised accelerations at k < N
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue, MissingExtra
from ..integrate.base import Integrator
from ..units import s

SOLVERS = ("ipopt", "fatrop", "sqpmethod")
"""Solvers known here, in the order in which they stand in for one another."""

Accelerations = Callable[[Any, Any], tuple[Any, Any]]
"""From state and input records to longitudinal and lateral acceleration over their limits."""


@dataclass(frozen=True)
class Formulation:
    """What is to be solved, checked; `nx`, `nu` are the numbers of states and inputs."""

    vehicle: Any
    """Prediction model."""
    dt: s
    horizon: int
    """Steps N."""
    Q: Array
    R: Array
    Q_final: Array
    input_bounds: tuple[Array, Array]
    """Lower and upper, (nu,) each; infinite where there is none."""
    state_bounds: tuple[Array, Array]
    accelerations: Accelerations | None
    integrator: Integrator

    @property
    def nx(self) -> int:
        """Number of states."""
        return record.size(self.vehicle.State)

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return record.size(self.vehicle.Input)


def bounds(kind: type, name: str, limited: Mapping[str, Any] | None) -> tuple[Array, Array]:
    """Lower and upper bounds of a record's fields.

    `limited` has, by field, a pair or one number, which is meant for both sides.
    """
    fields = record.names(kind)
    low, high = np.full(len(fields), -inf), np.full(len(fields), inf)
    for field, limits in (limited or {}).items():
        if field not in fields:
            raise InvalidValue(record.unknown_name(name, field, fields))
        pair = np.asarray(limits, dtype=float)
        if pair.shape not in ((), (2,)) or np.isnan(pair).any():
            raise InvalidValue(f"{name}[{field!r}] = {limits!r} must be one number or a pair")
        if pair.ndim == 0 and not pair > 0.0:
            raise InvalidValue(
                f"{name}[{field!r}] = {limits!r} is meant for both sides, ±, and must be greater "
                "than 0; two different sides are given as a pair"
            )
        least, most = (-pair, pair) if pair.ndim == 0 else pair
        if not least < most:
            raise InvalidValue(f"{name}[{field!r}]: {least:g} must be less than {most:g}")
        k = fields.index(field)
        low[k], high[k] = least, most
    return low, high


def own_accelerations(vehicle: Any) -> Accelerations:
    """The vehicle's accelerations over the limits in its parameters: `normalised_acceleration`."""
    from ..run.linearisation import PAIRS

    outputs, params = record.names(vehicle.model.Outputs), record.names(vehicle.model.Params)
    pair = next((pair for pair in PAIRS if set(pair) <= set(outputs)), None)
    if pair is None or not {"a_long_max", "a_lat_max"} <= set(params):
        raise InvalidValue(
            f"{vehicle.name!r} has no limits a_long_max and a_lat_max, or no accelerations among "
            "its outputs; give accelerations= as a function of x and u"
        )
    limits = vehicle.params.a_long_max, vehicle.params.a_lat_max

    def accelerations(x: Any, u: Any) -> tuple[Any, Any]:
        y = vehicle.outputs(x, u)
        along, across = (getattr(y, name) for name in pair)
        return along * (1.0 / limits[0]), across * (1.0 / limits[1])

    return accelerations


class Limits(NamedTuple):
    """Bounds of the program's variables and constraints."""

    x_low: Array
    x_high: Array
    g_low: Array
    g_high: Array


@dataclass(frozen=True)
class Program:
    """The problem as CasADi takes it."""

    nlp: Mapping[str, Any]
    limits: Limits
    equality: tuple[bool, ...]
    """Which constraints are equalities."""


def program(f: Formulation) -> Program:
    """The nonlinear program; its parameters are the start and the references, column by column."""
    import casadi as ca

    model = f.vehicle.casadi(f.integrator)
    X, U = ca.SX.sym("X", f.nx, f.horizon + 1), ca.SX.sym("U", f.nu, f.horizon)
    start = ca.SX.sym("start", f.nx)
    x_ref = ca.SX.sym("x_ref", f.nx, f.horizon + 1)
    u_ref = ca.SX.sym("u_ref", f.nu, f.horizon)
    variables, lows, highs = [], [], []
    g, g_low, g_high = [], [], []
    cost = 0
    for k in range(f.horizon + 1):
        variables.append(X[:, k])
        # The first state is what it is: a bound on it could only make the problem infeasible.
        for side, values, none in zip((lows, highs), f.state_bounds, (-inf, inf), strict=True):
            side.append(values if k else np.full(f.nx, none))
        last = k == f.horizon
        cost += _square(X[:, k] - x_ref[:, k], f.Q_final if last else f.Q)
        if last:
            break
        variables.append(U[:, k])
        lows.append(f.input_bounds[0])
        highs.append(f.input_bounds[1])
        cost += _square(U[:, k] - u_ref[:, k], f.R)
        g.append(X[:, k + 1] - model.step(X[:, k], U[:, k], f.dt))
        if not k:
            g.append(X[:, 0] - start)
        zeros = np.zeros(f.nx if k else 2 * f.nx)
        g_low.append(zeros)
        g_high.append(zeros)
        if f.accelerations is not None:
            g.append(_circle(f, X[:, k], U[:, k]))
            g_low.append(np.array([-inf]))
            g_high.append(np.array([1.0]))
    limits = Limits(*(np.concatenate(part) for part in (lows, highs, g_low, g_high)))
    nlp = {
        "x": ca.vertcat(*variables),
        "p": ca.veccat(start, x_ref, u_ref),
        "f": cost,
        "g": ca.vertcat(*g),
    }
    return Program(nlp, limits, tuple((limits.g_low == limits.g_high).tolist()))


def _square(e: Any, weight: Array) -> Any:
    return e.T @ weight @ e


def _circle(f: Formulation, x: Any, u: Any) -> Any:
    """Sum of the squares of the normalised accelerations."""
    import casadi as ca

    assert f.accelerations is not None
    state = record.unflatten(f.vehicle.State, ca.vertsplit(x))
    inputs = record.unflatten(f.vehicle.Input, ca.vertsplit(u))
    along, across = f.accelerations(state, inputs)
    return along * along + across * across


def packed(states: Array, inputs: Array) -> Array:
    """Variables of the program from states (N + 1, nx) and inputs (N, nu)."""
    stages = np.hstack([states[:-1], inputs])
    return np.concatenate([stages.ravel(), states[-1]])


def unpacked(values: Array, nx: int, nu: int) -> tuple[Array, Array]:
    """States and inputs from the variables; the inverse of `packed`."""
    stages = values[:-nx].reshape(-1, nx + nu)
    return np.vstack([stages[:, :nx], values[-nx:]]), stages[:, nx:].copy()


def solver_of(problem: Program, name: str, max_iterations: int, options: Mapping[str, Any]) -> Any:
    """A CasADi solver, or one that stands in for it where its plug-in is missing."""
    import casadi as ca

    chosen = _available(name, ca.has_nlpsol)
    own: dict[str, dict[str, Any]] = {
        "ipopt": {
            "ipopt": {"print_level": 0, "sb": "yes", "max_iter": max_iterations},
        },
        "fatrop": {
            "fatrop": {"print_level": 0, "max_iter": max_iterations},
            "structure_detection": "auto",
            "equality": list(problem.equality),
        },
        "sqpmethod": {
            "max_iter": max_iterations,
            "qpsol": "qrqp",
            "convexify_strategy": "regularize",
            "print_header": False,
            "print_iteration": False,
            "print_status": False,
            "qpsol_options": {"print_iter": False, "print_header": False, "error_on_fail": False},
        },
    }
    settings = {"print_time": False, "error_on_fail": False, **own[chosen], **options}
    return ca.nlpsol("nmpc", chosen, dict(problem.nlp), settings)


def _available(name: str, has: Callable[[str], bool]) -> str:
    if name not in SOLVERS:
        raise InvalidValue(f"solver = {name!r} is unknown; allowed are {', '.join(SOLVERS)}")
    candidates: Sequence[str] = [name, *(other for other in SOLVERS if other != name)]
    chosen = next((candidate for candidate in candidates if has(candidate)), None)
    if chosen is None:
        raise MissingExtra(
            f"this CasADi has none of the solvers {', '.join(SOLVERS)}; install casadi from PyPI"
        )
    if chosen != name:
        warnings.warn(
            f"this CasADi has no solver {name!r}; {chosen!r} takes its place", stacklevel=3
        )
    return chosen
