"""The group `lap`: a lap of least time, compared with the same problem in plain CasADi.

The Formula One car of `lap_car` drives a random circuit of 500 points. Both use the same equations,
start and options of IPOPT. CasADi evaluates the equations of a point for all points by `map`, and
derives the program itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..control.optimal.solver import OPTIONS, Evaluations, solve
from ..control.optimal.transcription import PointFunctions, Transcription, mesh_of
from ..core.arrays import Array
from ..geometry.maps import random_track
from .lap_car import CAR, problem, steady_start
from .timing import TIME, Budget, Entry, interleaved, typical

POINTS = 500
LENGTH, WIDTH, RADIUS, SEED = 4600.0, 12.0, 25.0, 3
V_START = 50.0 / 3.6
"""Speed in m/s of the steady drive from which both start."""


class Case(NamedTuple):
    """The problem on a circuit, with start and bounds of the scaled variables."""

    evaluations: Evaluations
    start: Array
    low: Array
    high: Array


def entries(budget: Budget) -> Iterator[Entry]:
    """Time of a lap from a cold start, and of Jacobian and Hessian, ours and CasADi's."""
    case, peer = _case(), _Plain(_case())
    own = case.evaluations
    costs: list[float] = []

    def lap() -> None:
        costs[:1] = [solve(own, case.start, case.low, case.high, progress=False).cost]

    lap()
    times = interleaved([lap, peer.solve], max(1, budget.repeats // 2))
    error = abs(costs[0] - peer.cost) / peer.cost
    details = {"points": POINTS, "variables": own.size, "rows": own.row_count}
    values = [typical(each) for each in times]
    yield Entry(
        "lap.circuit500", TIME, values[0]._replace(error=error), {"casadi": values[1]}, {}, details
    )
    multipliers = np.ones(own.row_count)
    places = iter(case.start + 1e-9 * k for k in range(1, 1_000_000))

    def derivatives() -> None:
        x = next(places)
        own.jacobian(x)
        own.hessian(x, 1.0, multipliers)

    times = interleaved([derivatives, peer.derivatives], 5 * budget.repeats)
    values = [typical(each) for each in times]
    yield Entry("lap.circuit500.derivatives", TIME, values[0], {"casadi": values[1]}, {}, details)


def _case() -> Case:
    track = random_track(
        SEED, length=LENGTH, width=WIDTH, radius=RADIUS, spacing=LENGTH / POINTS, name="circuit"
    )
    line, car = track.line, problem()
    mesh = mesh_of(line.s[:-1], line.length, closed=True, order=2)
    data = np.column_stack([-line.curvature[:-1], track.left, track.right])
    transcription = Transcription(PointFunctions(car), mesh, data, np.zeros(0))
    bounds = np.array([[v.low for v in car.variables], [v.high for v in car.variables]])
    low, high = (np.tile(side, (len(mesh.s), 1)) for side in bounds)
    n = car.index("n")
    low[:, n], high[:, n] = -track.left, track.right
    start = np.tile(steady_start(V_START), len(mesh.s))
    scaled = (values.ravel() / transcription.scales for values in (start, low, high))
    return Case(Evaluations(transcription, np.array(list(CAR.values()))), *scaled)


class _Plain:
    """The same program as CasADi expressions."""

    def __init__(self, case: Case) -> None:
        of = case.evaluations.of
        car, mesh = of.functions.problem, of.mesh
        count, steps = len(mesh.s), ca.DM(mesh.steps).T
        z = ca.SX.sym("z", len(car.variables))
        d = ca.SX.sym("d", len(car.data))
        parts = car.equations(ca.vertsplit(z), ca.vertsplit(d), list(CAR.values()))
        columns: list[Any] = [ca.vertcat(ca.SX(0, 1), *part) for part in parts]
        point = ca.Function("point", [z, d], columns, {"cse": True})
        x = ca.MX.sym("x", len(car.variables), count)
        scales = ca.DM([variable.scale for variable in car.variables])
        values = ca.repmat(scales, 1, count) * x
        q, rates, rows, ranges, slowness = point.map(count)(values, ca.DM(of.data.T))

        def after(columns: Any) -> Any:
            return ca.horzcat(columns[:, 1:], columns[:, :1])

        state_scales = ca.repmat(ca.DM(car.state_scales), 1, count)
        half = 0.5 * ca.repmat(steps, len(car.states), 1)
        defects = (after(q) - q - half * (rates + after(rates))) / state_scales
        costs = ca.repmat(ca.DM([v.roughness for v in car.variables]), 1, count)
        change = after(values) - values
        rough = ca.sum2(ca.sum1(costs * change**2) / steps)
        time = ca.sum2(0.5 * (slowness + after(slowness)) * steps)
        names = {"x": ca.vec(x), "f": time + rough, "g": ca.vec(ca.vertcat(defects, rows, ranges))}
        options = {"ipopt": dict(OPTIONS), "print_time": False}
        self._solver = ca.nlpsol("plain", "ipopt", names, options)
        none = [0.0] * (len(car.states) + len(car.rows))
        low, high = ([getattr(r, side) for r in car.ranges] for side in ("low", "high"))
        self._arguments = {
            **{"x0": case.start, "lbx": case.low, "ubx": case.high},
            **{"lbg": np.tile(none + low, count), "ubg": np.tile(none + high, count)},
        }
        self._start, self._multipliers = case.start, np.ones(len(self._arguments["lbg"]))
        self._jacobian = self._solver.get_function("nlp_jac_g")
        self._hessian = self._solver.get_function("nlp_hess_l")
        self.cost = np.nan

    def solve(self) -> None:
        self.cost = float(self._solver(**self._arguments)["f"])

    def derivatives(self) -> None:
        self._jacobian(self._start, [])
        self._hessian(self._start, [], 1.0, self._multipliers)
