"""Exact derivatives of a lap by parameters of the vehicle, from the conditions of optimality.

The derivative of the cost needs only the multipliers: dJ/dp = ∂L/∂p, with the Lagrangian L. The
time alone is not minimised, so its derivative also depends on how the solution moves. With the
matrix K of the optimality conditions at the solution, one solution of

    K [v; m] = [∇T; 0],   K = [[H + Σ, Jᵀ], [J, -D]],

gives it for all parameters:

    dT/dp = ∂T/∂p - v · ∂(∇L)/∂p - m · ∂c/∂p + v · Σ ∂b/∂p.

Σ and D are the multipliers of bounds over the distances from them, and the inverse for rows: as in
the interior-point method, an active bound holds its variable, and an inactive one does nothing.
Bounds b and the distribution of drive and brakes depend on parameters, too. They are plain
functions, differentiated by central differences; everything else is exact.
(C. Büskens, H. Maurer, *J. Comput. Appl. Math.* 120 (2000) 85.)

`optimise_setup` finds parameters of a vehicle that minimise the time of its lap, together with the
lap. The parameters are further variables of the nonlinear program. The distribution of drive and
brakes is a plain function of parameters; within a round it is linear in them, and rounds are
repeated until the parameters stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core import record
from ...core.arrays import Array
from ...core.progress import Choice
from ...errors import InvalidValue, NotOptimal
from .solver import Evaluations, Solution, solve
from .transcription import Equations, PointFunctions, PointProblem, Transcription

Lap = Any
"""A `lap.Lap`, whose module imports this one."""
STEP = 1e-6
"""Relative step of the central differences of bounds and distributions."""
MOST_REFINING = 30
"""Largest number of iterations that reduce the remaining error of a solution."""
LARGEST = 1e12
"""Largest ratio of a multiplier to the distance of the variable from its bound."""


class Sensitivity(NamedTuple):
    """Derivatives of lap time and cost with respect to one parameter."""

    name: str
    value: float
    """Value of the parameter."""
    time: float
    """Derivative of the time, in s per unit of the parameter."""
    cost: float
    """Derivative of the cost, in s per unit; see `Lap.cost`."""

    @property
    def per_percent(self) -> float:
        """Change of the time in s for a change of the parameter by 1 %."""
        return 0.01 * self.value * self.time


def sensitivities(lap: Lap, names: Sequence[str] | None = None) -> tuple[Sensitivity, ...]:
    """Return the derivatives of time and cost by parameters, by default all that have an effect.

    The names are dotted, as in `drive.F_max`. Derivatives are one-sided where a small change of a
    parameter changes which limits are active.
    """
    params = lap.vehicle.params
    known = record.names(type(params))
    if not lap.converged:
        raise InvalidValue("the lap did not converge, so it has no sensitivities")
    for name in names or ():
        if name not in known:
            raise InvalidValue(record.unknown_name("params", name, known))
    chosen = tuple(known if names is None else dict.fromkeys(names))
    values = {n: float(v) for n, v in zip(known, record.flatten(params), strict=True)}
    time, cost = derivatives(lap, chosen)
    found = zip(chosen, time.tolist(), cost.tolist(), strict=True)
    rows = (Sensitivity(name, values[name], by_time, by_cost) for name, by_time, by_cost in found)
    return tuple(row for row in rows if names is not None or row.time or row.cost)


def derivatives(lap: Lap, names: Sequence[str]) -> tuple[Array, Array]:
    """Derivatives of time and cost by parameters of the vehicle, (k,) each."""
    e, found = lap.evaluations, _refined(lap)
    of = e.of
    z, p = of.split(found.x, e.params)
    nz = len(of.functions.problem.variables)
    chain, moving = chain_of(lap, names)
    ends = np.flatnonzero(chain.any(axis=1)).tolist()
    by = [of.functions.problem.params[k] for k in ends]

    weights = e.point_weights(1.0, found.multipliers)
    v, m = _adjoint(lap, found)
    along = (v * of.scales)[of.columns]
    first, mixed = of.functions.by_parameters(by, z, of.data, p, weights, along)
    of_time, _ = of.functions.by_parameters(by, z, of.data, p, of.time_weights, along)
    rows = (of.rows.T @ m).reshape(of.points, -1)
    of_rows, _ = of.functions.by_parameters(by, z, of.data, p, rows, along)
    cost = first @ chain[ends]
    time = (of_time - mixed - of_rows) @ chain[ends]

    # Bounds change equally at all points; their derivatives are in units of the variables' scales.
    low, high = lap.bounds
    x, multipliers = found.x[: of.points * nz], found.bound_multipliers[: of.points * nz]
    upper = multipliers > 0.0
    stiff = _stiffness(multipliers, x, low[: len(x)], high[: len(x)])
    free = high[: len(x)] > low[: len(x)]
    for k in range(len(names)):
        change = np.where(
            upper, np.tile(moving[1][:, k], of.points), np.tile(moving[0][:, k], of.points)
        )
        change = np.where(free, change, 0.0) / of.scales[: len(x)]
        cost[k] -= multipliers @ change
        time[k] += v[: len(x)] @ (stiff * change)
    return time, cost


def chain_of(lap: Lap, names: Sequence[str]) -> tuple[Array, tuple[Array, Array]]:
    """Derivatives of the problem's parameters (np, k) and bounds (nz, k) with respect to the
    vehicle's parameters."""
    model, params = lap.model, lap.vehicle.params
    kind, known = type(params), record.names(type(params))
    flat = np.array(record.flatten(params), dtype=float)
    size = len(lap.evaluations.params)
    chain = np.zeros((size, len(names)))
    lows, highs = np.zeros((2, len(model.problem.variables), len(names)))
    for k, name in enumerate(names):
        at = known.index(name)
        step = STEP * max(abs(flat[at]), 1e-3)
        ends: list[Any] = []
        for sign in (1.0, -1.0):
            changed = flat.copy()
            changed[at] += sign * step
            ends.append(model.parameters(record.unflatten(kind, changed.tolist())))
        with np.errstate(invalid="ignore"):  # infinite bounds have no derivative
            slopes = [np.nan_to_num(a - b) / (2.0 * step) for a, b in zip(*ends, strict=True)]
        chain[:, k], lows[:, k], highs[:, k] = slopes
        chain[: len(flat), k] = 0.0
        chain[at, k] = 1.0
    return chain, (lows, highs)


def _stiffness(multipliers: Array, values: Array, low: Array, high: Array) -> Array:
    """Multipliers of bounds divided by the distances from them; 0 where both are small."""
    distance = np.where(multipliers > 0.0, high - values, values - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(multipliers) / np.maximum(distance, 0.0)
    return np.minimum(np.nan_to_num(ratio, nan=0.0, posinf=LARGEST), LARGEST)


def _refined(lap: Lap) -> Solution:
    """Solution of the lap with its remaining error reduced, since derivatives amplify the error."""
    found = solve(
        lap.evaluations,
        lap.solution.x,
        *lap.bounds,
        previous=lap.solution,
        options={"max_iter": MOST_REFINING},
        progress=False,
    )
    return found if found.converged else lap.solution


def _adjoint(lap: Lap, found: Solution) -> tuple[Array, Array]:
    """Solution [v; m] of K [v; m] = [∇T; 0]."""
    from scipy.sparse.linalg import splu

    e = lap.evaluations
    of, x = e.of, found.x

    def matrix(pattern: Any, entries: Array) -> Any:
        return sp.csc_matrix((entries, pattern.indices, pattern.indptr), shape=pattern.shape)

    jacobian = matrix(of.jacobian.pattern, e.jacobian(x))
    upper = matrix(of.hessian.pattern, e.hessian(x, 1.0, found.multipliers))
    low, high = lap.bounds
    held = np.where(high > low, _stiffness(found.bound_multipliers, x, low, high), LARGEST)
    rows, (row_low, row_high) = e.rows(x), of.row_bounds
    stiff = _stiffness(found.multipliers, rows, row_low, row_high)
    compliance = np.where(row_low == row_high, 0.0, 1.0 / np.maximum(stiff, 1.0 / LARGEST))
    hessian = upper + sp.triu(upper, 1).T + sp.diags(held)
    system = sp.bmat([[hessian, jacobian.T], [jacobian, -sp.diags(compliance)]], format="csc")
    gradient = e.gradient(x) - of.roughness @ x
    solution = splu(system).solve(np.append(gradient, np.zeros(len(rows))))
    return solution[: len(x)], solution[len(x) :]


ROUNDS = 20
"""Largest number of rounds."""
SETTLED = 1e-6
"""Change of all parameters in a round, relative to their ranges, below which the search ends."""


def optimise_setup(
    lap: Lap, ranges: Mapping[str, tuple[float, float]], *, progress: Choice = None
) -> Lap:
    """Return the lap of least cost over parameters within ranges; see `Lap.optimised`."""
    names = tuple(ranges)
    _check(lap, ranges)
    low, high = (np.array([float(ranges[name][k]) for name in names]) for k in (0, 1))
    span = high - low
    functions = PointFunctions(_with_setup(lap.model.problem, names), names)
    of = lap.evaluations.of
    transcription = Transcription(functions, of.mesh, of.data, span)
    for _ in range(ROUNDS):
        values = np.array([lap.parameter(name) for name in names])
        inner = np.clip(values, low, high)
        if (inner != values).any():
            lap = lap.changed(dict(zip(names, inner.tolist(), strict=True)), progress=progress)
            values = inner
        chain, moving = chain_of(lap, names)
        fixed = [
            name
            for name, *ends in zip(names, *(side.T for side in moving), strict=True)
            if np.any(ends)
        ]
        if fixed:
            raise InvalidValue(
                f"{fixed[0]} is a limit of the vehicle's commands or its width, which is not "
                "optimised; see the sensitivity to it"
            )
        count = record.size(lap.vehicle.model.Params)
        p = np.concatenate([lap.evaluations.params, values, chain[count:].T.ravel()])
        ends = (
            np.append(bound, side / span)
            for bound, side in zip(lap.bounds, (low, high), strict=True)
        )
        before = lap.solution
        solution = solve(
            Evaluations(transcription, p),
            np.append(before.x, values / span),
            *ends,
            previous=before._replace(
                bound_multipliers=np.append(before.bound_multipliers, 0.0 * low)
            ),
            options={"mu_init": 1e-4},
            progress=progress,
        )
        if not solution.converged:
            raise NotOptimal(
                f"the setup of {lap.vehicle.name!r} did not converge (IPOPT: {solution.status}); "
                "give narrower ranges",
                lap=lap,
            )
        found = np.clip(solution.x[-len(names) :] * span, low, high)
        lap = lap.changed(dict(zip(names, found.tolist(), strict=True)), progress=progress)
        if np.abs(found - values).max(initial=0.0) <= SETTLED * span.min():
            break
    return lap


def _check(lap: Lap, ranges: Mapping[str, tuple[float, float]]) -> None:
    known = {leaf.name: leaf for leaf in record.fields(type(lap.vehicle.params))}
    if not ranges:
        raise InvalidValue("no parameters to optimise; give their ranges by name")
    for name, (low, high) in ranges.items():
        if name not in known:
            raise InvalidValue(record.unknown_name("params", name, tuple(known)))
        if not -np.inf < low < high < np.inf:
            raise InvalidValue(f"{name}: range {low:g} to {high:g} must increase and be finite")
        allowed = known[name].allowed
        for end in (low, high):
            if allowed is not None and end not in allowed:
                raise InvalidValue(f"{name} = {end:g} must be {allowed}")


def _with_setup(problem: PointProblem, names: Sequence[str]) -> PointProblem:
    """Problem with a distribution of controls that is linear in the named parameters.

    Additional problem parameters are the named parameters' values at which the distribution is
    exact, and the slopes of every entry of the distribution with respect to each named parameter.
    """
    count = len(problem.params)
    spread = [k for k, name in enumerate(problem.params) if name.startswith(("base ", "share "))]
    where = [problem.params.index(name) for name in names]

    def equations(z: Any, d: Any, p: Any) -> Equations:
        own, origin = list(p[:count]), p[count : count + len(names)]
        for f, at in enumerate(where):
            change = p[at] - origin[f]
            slopes = p[count + len(names) + f * len(spread) :]
            for k, slope in zip(spread, slopes, strict=False):
                own[k] = own[k] + slope * change
        return problem.equations(z, d, tuple(own))

    origins = [f"origin {name}" for name in names]
    slopes = [f"slope {name} {problem.params[k]}" for name in names for k in spread]
    return replace(problem, params=(*problem.params, *origins, *slopes), equations=equations)
