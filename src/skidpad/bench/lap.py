"""The group `lap`: a lap of least time, compared with the same problem in plain CasADi.

Both programs use the same equations, start and IPOPT options, on a random circuit of 500 points.
CasADi evaluates the equations of a point for all points by `map`, and derives the program itself.

The car is the Formula One car of three degrees of freedom of `fastest-lap` (J. M. Manzanero,
github.com/juanmanzanero/fastest-lap, file limebeer-2014-f1.xml), after D. Perantoni and D.
Limebeer, "Optimal control for a Formula One car with variable parameters", Vehicle System Dynamics
52 (2014) 653. Axes are those of that program: x forward, y to the right, z down; steering, yaw rate
and curvature are positive to the right. Wheels are in the order front left, front right, rear left,
rear right. The wheel loads are algebraic variables. The slips are normalised by those at the peak
friction.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import radians
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..control.optimal.solver import OPTIONS, Evaluations, solve
from ..control.optimal.transcription import (
    Equations,
    PointFunctions,
    PointProblem,
    Range,
    Transcription,
    Variable,
    mesh_of,
)
from ..core.arrays import Array
from ..geometry.maps import random_track
from ..ops import atan, cos, sin, sqrt, tanh
from .timing import TIME, Budget, Entry, interleaved, typical

WHEELS = ("fl", "fr", "rl", "rr")
CAR = {
    "m": 660.0, "I_z": 450.0, "c_d": 0.9, "c_l": 3.0, "rho": 1.2, "area": 1.5, "g": 9.81,
    "h": 0.3, "x_air": -0.1, "x_f": 1.8, "x_r": -1.6, "track": 1.46, "R": 0.33,
    "P_max": 735_499.0, "brake_max": 5000.0, "bias": 0.6, "differential": 10.47, "roll": 0.5,
    "I_f": 0.0, "I_r": 0.0, "mu_scale": 1.0,
}  # fmt: skip
"""Parameters of the car in SI units."""


def _positive_part(x: Any, epsilon: float) -> Any:
    return 0.5 * (x + sqrt(x * x + epsilon))


def _linear(load: Any, at_2000: float, at_6000: float) -> Any:
    return at_2000 + (load - 2000.0) * ((at_6000 - at_2000) / 4000.0)


def _tyre(kappa: Any, slip: Any, load: Any, scale: Any) -> tuple[Any, Any]:
    """Forces along and across a wheel for normalised slip along and slip across."""
    q = 1.9
    across = slip / _linear(load, radians(9.0), radians(8.0))
    rho = sqrt(kappa * kappa + across * across + 1e-12)
    s = 3.141592653589793 / 2.0 / atan(q)
    shape = load * sin(q * atan(s * rho)) / rho * scale
    mu_x = _positive_part(_linear(load, 1.75, 1.40) - 1.0, 1e-5) + 1.0
    mu_y = _positive_part(_linear(load, 1.80, 1.45) - 1.0, 1e-5) + 1.0
    return mu_x * shape * kappa, mu_y * shape * across


def equations(z: Any, d: Any, p: Any, *, at_points: bool) -> Equations:
    """Vehicle equations at one point of a flat road; `at_points` imposes the wheel torque balance
    at points instead of collocating it.
    """
    kappas, (v_x, v_y, omega, n, alpha), loads = z[:4], z[4:9], z[9:13]
    steer, throttle = z[13:15]
    kz, left, right = d
    c = dict(zip(CAR, p, strict=True))
    weight, half = c["m"] * c["g"], 0.5 * c["track"]
    places = ((c["x_f"], -half), (c["x_f"], half), (c["x_r"], -half), (c["x_r"], half))
    cs, sn = cos(steer), sin(steer)
    forces, along, spins, slips, N = [], [], [], [], []
    for k, (x, y) in enumerate(places):
        a, b = v_x - omega * y, v_y + omega * x
        if k < 2:
            a, b = a * cs + b * sn, b * cs - a * sn
        N.append(_positive_part(-loads[k] * weight, 1.0))
        slips.append(-b / a)
        F_x, F_y = _tyre(kappas[k], slips[k], N[k], c["mu_scale"])
        spins.append((1.0 + kappas[k] * _linear(N[k], 0.11, 0.10)) * a / c["R"])
        along.append(F_x)
        forces.append((cs * F_x - sn * F_y, sn * F_x + cs * F_y) if k < 2 else (F_x, F_y))
    speed = sqrt(v_x * v_x + v_y * v_y)
    q = 0.5 * c["rho"] * c["area"]
    drag = -q * c["c_d"] * speed
    air = (drag * v_x, drag * v_y, q * c["c_l"] * v_x * v_x)
    S_x, S_y = (sum(f[k] for f in forces) + air[k] for k in (0, 1))
    S_z = air[2] - sum(N)
    T_x = -sum(y * load for (_, y), load in zip(places, N, strict=True)) - c["h"] * S_y
    T_y = sum(x * load for (x, _), load in zip(places, N, strict=True)) + c["h"] * S_x
    T_y = T_y - c["x_air"] * air[2]
    T_z = sum(x * f[1] - y * f[0] for (x, y), f in zip(places, forces, strict=True))
    T_z = T_z + c["x_air"] * air[1]

    epsilon = 1e-5
    drive, brake = _positive_part(throttle, epsilon), _positive_part(-throttle, epsilon)
    shares = (c["bias"], c["bias"], 1.0 - c["bias"], 1.0 - c["bias"])
    torques = [
        -tanh(spin) * c["brake_max"] * brake * share
        for spin, share in zip(spins, shares, strict=True)
    ]
    engine = drive * c["P_max"] / (0.5 * (spins[2] + spins[3]))
    locking = c["differential"] * (spins[2] - spins[3])
    torques[2] = torques[2] + 0.5 * engine - locking
    torques[3] = torques[3] + 0.5 * engine + locking
    inertias = (c["I_f"], c["I_f"], c["I_r"], c["I_r"])
    balance = [t - c["R"] * F for t, F in zip(torques, along, strict=True)]

    slowness = (1.0 - n * kz) / (v_x * cos(alpha) - v_y * sin(alpha))
    rates = (
        S_x / c["m"] + v_y * omega,
        S_y / c["m"] - v_x * omega,
        T_z / c["I_z"],
        v_x * sin(alpha) + v_y * cos(alpha),
        omega - kz / slowness,
    )
    momenta = [i / c["m"] * spin for i, spin in zip(inertias, spins, strict=True)]
    by_distance = [rate * slowness for rate in rates]
    rows = [
        S_z / weight + 1.0,
        T_x / weight,
        T_y / weight,
        ((loads[1] - loads[0]) * (1.0 - c["roll"]) + (loads[2] - loads[3]) * c["roll"]),
    ]
    turning = [b / c["m"] for b in balance]
    reach = half * cos(alpha)
    ranges = [*slips, left + n - reach, right - n - reach]
    if at_points:
        return Equations(z[4:9], by_distance, [*turning, *rows], ranges, [slowness])
    return Equations(
        [*momenta, *z[4:9]],
        [*(t * slowness for t in turning), *by_distance],
        rows,
        ranges,
        [slowness],
    )


def problem(
    *,
    steering_cost: float = 50.0,
    throttle_cost: float = 0.016,
    at_points: bool = True,
    scaled: bool = True,
) -> PointProblem:
    """Point problem of the car on a flat road, with curvature and distances to both edges as data.

    The balance of wheel torques (without inertia) is imposed at the points, or collocated: around
    a closed track with an even number of points, the collocated rows are degenerate. Without
    `scaled`, all scales are 1, as in `fastest-lap`.
    """
    kmh = 1.0 / 3.6
    variables = (
        *(Variable(f"kappa_{w}", -1.0, 1.0) for w in WHEELS),
        Variable("v_x", 50 * kmh, 380 * kmh, 50.0),
        Variable("v_y", -50 * kmh, 50 * kmh, 2.0),
        Variable("omega", -10.0, 10.0, 0.5),
        Variable("n", scale=5.0),
        Variable("alpha", -radians(45.0), radians(45.0), 0.2),
        *(Variable(f"F_z_{w}", -3.0, -0.01) for w in WHEELS),
        Variable("steer", -radians(20.0), radians(20.0), 0.1, steering_cost),
        Variable("throttle", -1.0, 1.0, 1.0, throttle_cost),
    )
    states, scales = ("v_x", "v_y", "omega", "n", "alpha"), (50.0, 2.0, 0.5, 5.0, 0.2)
    if not scaled:
        variables = tuple(variable._replace(scale=1.0) for variable in variables)
        scales = (1.0,) * len(scales)
    wheels = tuple(f"torque_{w}" for w in WHEELS)
    vertical = ("vertical", "roll", "pitch", "roll_balance")
    return PointProblem(
        "f1_3dof",
        variables,
        ("curvature", "left", "right"),
        tuple(CAR),
        lambda z, d, p: equations(z, d, p, at_points=at_points),
        states if at_points else (*wheels, *states),
        scales if at_points else (*(1.0,) * 4, *scales),
        (*wheels, *vertical) if at_points else vertical,
        (
            *(Range(f"slip_{w}", -radians(9.5), radians(9.5)) for w in WHEELS),
            Range("left edge", 0.0),
            Range("right edge", 0.0),
        ),
    )


POINTS = 500
LENGTH, WIDTH, RADIUS, SEED = 4600.0, 12.0, 25.0, 3
V_START = 50.0 / 3.6
"""Speed in m/s of the steady drive from which both start."""


class Case(NamedTuple):
    """Lap problem on a circuit, with start and bounds of the scaled variables."""

    evaluations: Evaluations
    start: Array
    low: Array
    high: Array


def entries(budget: Budget) -> Iterator[Entry]:
    """Measure a lap from a cold start, and Jacobian and Hessian, by skidpad and by CasADi."""
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
    # Start from a straight drive, with the slips at 0.
    weight = CAR["m"] * CAR["g"]
    lift = 0.5 * CAR["rho"] * CAR["area"] * CAR["c_l"] * V_START * V_START
    total = weight + lift
    # Pitch balance of loads and downforce; drag acts at the ground in this model.
    front = (-CAR["x_r"] * total + CAR["x_air"] * lift) / (CAR["x_f"] - CAR["x_r"])
    z = np.zeros(15)
    z[4] = V_START
    z[9:11], z[11:13] = -0.5 * front / weight, -0.5 * (total - front) / weight
    start = np.tile(z, len(mesh.s))
    scaled = (values.ravel() / transcription.scales for values in (start, low, high))
    return Case(Evaluations(transcription, np.array(list(CAR.values()))), *scaled)


class _Plain:
    """The same nonlinear program written as plain CasADi expressions."""

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
