"""A vehicle on a track as a `PointProblem`: road coordinates, driver controls and limits.

The position is that of the body's reference point, given by the distance s along the centre line
and the offset n to the left of it; alpha is the heading relative to the line. With the rates of the
pose that the vehicle's own equations give, and the heading θ and curvature κ of the line,

    ds/dt = (x' cos θ + y' sin θ) / (1 - n κ)
    n' = y' cos θ - x' sin θ
    alpha' = yaw' - κ ds/dt

and every rate by time becomes one by distance by division by ds/dt. The vehicle's equations receive
the pose in the world, so its own road heights and grip maps apply.

An optimiser needs slopes that are continuous and that show the way out of saturation, so `smooth`
removes corners from the equations. Limits of commands become constraints. Where a model clips a
command, or a rate that is linear in it, between two bounds, the clip is replaced by the value
itself and a row that keeps this value between the bounds. The set of attainable motions is the
same.

Corners that depend on the state (`minimum`, `maximum`, `abs`, `where`) are rounded over a small
part of the typical magnitude of the compared values: |e| becomes a quartic and a condition a
quintic step within ±width, both twice differentiable. Outside, the values are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, cast

import casadi as ca
import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.backends import inlined
from ...core.body import Body, Demand, Geometry, Limits, Pose, Velocity, body_of, own_fields
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...integrate.base import making_expressions
from ...integrate.derivatives import SX, applied
from ...ops import cos, sin
from .transcription import Equations, PointProblem, Range, Variable

SLOWEST = 1.0
"""Lowest speed in m/s along the track; the time per distance is infinite at rest."""
LARGEST_ANGLE = 1.2
"""Largest angle in rad between the car and the centre line."""
ROUGHNESS = {"steer": 10.0, "other": 0.1}
"""Cost of rough controls in s·m per squared share of a control's range."""
MOST_SPIN = 0.5
"""Largest deviation of the rolling speed of a wheel from the speed of the car, as a share."""
FAST = 5.0
"""States whose rate changes by this much per distance step and change are in balance."""
CONTROLS = ("driver", "inputs")
"""Kinds of controls: steering, drive and brake of a driver, or every input of the vehicle."""
POSE = ("x", "y", "yaw")


class Controls(NamedTuple):
    """Controls of the problem: inputs of the vehicle are `base + matrix @ controls`.

    Base and matrix depend on the vehicle's parameters and are parameters of the problem.
    """

    variables: tuple[Variable, ...]
    base: Array
    """Inputs for controls of 0, (nu,)."""
    matrix: Array
    """Inputs by control, (nu, controls)."""


@dataclass(frozen=True, eq=False)
class LapModel:
    """Point problem of a vehicle on a track, with the meaning of its variables."""

    vehicle: Vehicle
    body: Body
    limits: Limits
    controls: Controls
    problem: PointProblem
    pose: tuple[int, int, int]
    """Indices of x, y and yaw among the states."""
    forward: int
    """Index of the forward speed among the states, negative if there is none."""
    spins: Mapping[int, float]
    """Radius in m by the index of the spin of a wheel. Its variable is the ratio of the rolling
    speed to the forward speed of the car, less 1."""
    held: Mapping[int, float]
    """Values by the index of states that are held: the charge of a battery, an odometer."""
    kind: str
    """Kind of controls; see `CONTROLS`."""

    @property
    def others(self) -> list[int]:
        """Indices of the vehicle states that are variables, in the order of the variables."""
        count = record.size(self.vehicle.model.State)
        return [k for k in range(count) if k not in self.pose and k not in self.held]

    def parameters(self, params: Any) -> tuple[Array, Array, Array]:
        """Parameters of the problem, and lower and upper bounds of the variables at a point, for a
        record of the vehicle's parameters. The bounds of n are half of the width inwards."""
        limits = self.body.limits(params)
        controls = _controls(self.vehicle, params, limits, self.kind, 1.0)
        p = [np.array(record.flatten(params), dtype=float), controls.base, controls.matrix.ravel()]
        low = np.array([variable.low for variable in self.problem.variables])
        high = np.array([variable.high for variable in self.problem.variables])
        count = len(controls.variables)
        low[-count:] = [control.low for control in controls.variables]
        high[-count:] = [control.high for control in controls.variables]
        half = half_width(self.body.geometry(params))
        low[self.problem.index("n")], high[self.problem.index("n")] = half, -half
        return np.concatenate(p), low, high

    def columns(self, z: Array, d: Array, p: Array | None = None) -> tuple[Array, Array]:
        """States (n, nx) and inputs (n, nu) of the vehicle for variables z, data d and parameters p
        of the problem."""
        nx, others = record.size(self.vehicle.model.State), self.others
        n, alpha = z[:, len(others)], z[:, len(others) + 1]
        heading = d[:, 2]
        states = np.empty((len(z), nx))
        for k, value in self.held.items():
            states[:, k] = value
        states[:, others] = z[:, : len(others)]
        for k, radius in self.spins.items():
            states[:, k] = (1.0 + states[:, k]) * states[:, self.forward] / radius
        states[:, self.pose[0]] = d[:, 0] - n * np.sin(heading)
        states[:, self.pose[1]] = d[:, 1] + n * np.cos(heading)
        states[:, self.pose[2]] = heading + alpha
        base, matrix = self.controls.base, self.controls.matrix
        if p is not None:
            nu, count = matrix.shape
            matrix = p[-nu * count :].reshape(nu, count)
            base = p[-nu * (count + 1) : -nu * count]
        return states, base + z[:, len(others) + 2 :] @ matrix.T


def lap_model(
    vehicle: Vehicle, *, step: float, controls: str | None = None, roughness: float = 1.0
) -> LapModel:
    """Return the point problem of a vehicle on a track; see the module docstring.

    Args:
        vehicle: a continuous vehicle with a body.
        step: typical distance between points in m. States that settle within a fifth of it, such as
            the slip of tyres behind short relaxation lengths, are in balance at every point.
        controls: one of `CONTROLS`; by default "driver" for vehicles with more than two inputs.
        roughness: factor on the cost of rough controls.
    """
    model = vehicle_of(vehicle).model
    body = body_of(vehicle, "a lap")
    if not model.continuous or model.hold is not None or model.dead_times:
        raise InvalidValue(
            f"{vehicle.name!r} has no smooth continuous motion (it is discrete, samples its "
            "commands once per step or delays them); a lap needs equations x' = f(x, u)"
        )
    limits, geometry = body.limits(vehicle.params), body.geometry(vehicle.params)
    pose = _pose_indices(vehicle, body)
    kind = controls or ("driver" if record.size(model.Input) > 2 else "inputs")
    drive = _controls(vehicle, vehicle.params, limits, kind, roughness)
    rates = _smooth_rates(vehicle, pose, drive)
    names = record.names(model.State)
    default = record.flatten(record.build(model.State))
    held = {
        k: float(default[k])
        for k, leaf in enumerate(record.fields(model.State))
        if (leaf.drifts or k in rates.unused) and k not in pose
    }
    others = tuple(k for k in range(len(names)) if k not in pose and k not in held)
    scales = _scales(vehicle, limits)
    forward = names.index("v_x") if "v_x" in names else -1
    radii = {names.index(w.spin): w.radius for w in geometry.wheels if w.spin in names}
    spins = radii if forward >= 0 else {}
    fast = {k: rates.speeds[k] for k in others if rates.speeds[k] * step > FAST and k not in spins}
    variables: list[Variable] = []
    for k in others:
        variable = Variable(names[k], SLOWEST if k == forward else -inf, scale=scales[k])
        if k in spins:
            variable = Variable(f"{names[k]}_ratio", -MOST_SPIN, MOST_SPIN, 0.05)
        variables.append(variable)
    variables += [Variable("n"), Variable("alpha", -LARGEST_ANGLE, LARGEST_ANGLE, 0.2)]
    count = len(others)
    slow = [k for k in range(count) if others[k] not in fast]

    def equations(z: Any, d: Any, p: Any) -> Equations:
        own, n, alpha, controlled = z[:count], z[count], z[count + 1], z[count + 2 :]
        x_line, y_line, heading, curvature = d
        c, s = cos(heading), sin(heading)
        if rates.moves_alike:
            c, s, at = 1.0, 0.0, (0.0, 0.0, alpha)
        else:
            at = (x_line - n * s, y_line + n * c, heading + alpha)
        state: list[Any] = [held.get(k) for k in range(len(names))]
        for k, value in zip((*pose, *others), (*at, *own), strict=True):
            state[k] = value
        for k, radius in spins.items():
            state[k] = (1.0 + state[k]) * state[forward] / radius
        rate, rows = rates(state, controlled, p)
        x_rate, y_rate, yaw_rate = (rate[k] for k in pose)
        slowness = (1.0 - n * curvature) / (x_rate * c + y_rate * s)
        by_time = [*(rate[others[k]] for k in slow), y_rate * c - x_rate * s]
        by_distance = [*(r * slowness for r in by_time), yaw_rate * slowness - curvature]
        settled = [rate[k] * slowness / (scales[k] * size) for k, size in fast.items()]
        states = [*(state[others[k]] for k in slow), n, alpha]
        return Equations(states, by_distance, settled, rows, (slowness,))

    nu, count_controls = drive.matrix.shape
    distribution = [f"base {i}" for i in range(nu)]
    distribution += [f"share {i} {k}" for i in range(nu) for k in range(count_controls)]
    collocated = [names[others[k]] for k in slow]
    problem = PointProblem(
        f"lap.{vehicle.name}",
        (*variables, *drive.variables),
        ("x", "y", "heading", "curvature"),
        (*record.names(model.Params), *distribution),
        equations,
        (*collocated, "n", "alpha"),
        (*(scales[others[k]] for k in slow), 1.0, 0.2),
        tuple(names[k] for k in fast),
        tuple(Range(f"limit of {name}", 0.0, 1.0) for name in rates.limited),
    )
    return LapModel(vehicle, body, limits, drive, problem, pose, forward, spins, held, kind)


def half_width(geometry: Geometry) -> float:
    """Largest distance in m of the outline from the longitudinal axis."""
    outline = np.concatenate([np.asarray(points, dtype=float) for points in geometry.outlines])
    return float(np.abs(outline[:, 1]).max())


def _pose_indices(vehicle: Vehicle, body: Body) -> tuple[int, int, int]:
    State, names = vehicle.model.State, record.names(vehicle.model.State)
    example = record.unflatten(vehicle.model.Params, [1.0] * record.size(vehicle.model.Params))
    found = own_fields(State, lambda x: body.pose(x, example))
    fields = tuple(own or usual for own, usual in zip(found, POSE, strict=True))
    if not set(fields) <= set(names):
        raise InvalidValue(
            f"{vehicle.name!r}: cannot tell which fields of its state hold the pose; Body.pose "
            "must return three state fields unchanged, or the fields must be called x, y and yaw"
        )
    x, y, yaw = (names.index(name) for name in fields)
    return x, y, yaw


def _controls(vehicle: Vehicle, p: Any, limits: Limits, kind: str, roughness: float) -> Controls:
    """Controls of a vehicle with parameters p, and their ranges."""
    model, body = vehicle.model, body_of(vehicle, "a lap")
    names = record.names(model.Input)
    missing = [
        name for name in names if not np.isfinite(limits.inputs.get(name, (-inf, inf))).all()
    ]
    if kind not in CONTROLS:
        raise InvalidValue(f"controls = {kind!r} must be one of {', '.join(CONTROLS)}, or None")

    def control(name: str, low: float, high: float) -> Variable:
        cost = ROUGHNESS["steer" if name == "steer" else "other"] * roughness
        size = max(abs(low), abs(high))
        return Variable(name, low, high, size, cost / (high - low) ** 2)

    if kind == "inputs":
        if missing:
            raise InvalidValue(
                f"{vehicle.name!r} has no range for its input {missing[0]!r}; a lap needs one in "
                "Body.limits(p).inputs"
            )
        variables = tuple(control(name, *limits.inputs[name]) for name in names)
        return Controls(variables, np.zeros(len(names)), np.eye(len(names)))
    # Distribution of drive and brakes as the body's `command` makes it, at a speed well above rest.
    v = 10.0
    x = body.placed(record.build(model.State), Pose(0.0, 0.0, 0.0), Velocity(v, 0.0, 0.0), p)
    x = x if model.settle is None else model.settle(x, p)

    def inputs(a: float) -> Array:
        return np.array(record.flatten(body.command(x, Demand(a=a, v=v), p)), dtype=float)

    idle, most = inputs(0.0), [limits.a_min, limits.a_max]
    if not np.isfinite(most).all():
        raise InvalidValue(
            f"{vehicle.name!r} declares no largest acceleration and deceleration in Body.limits; "
            "controls = 'inputs' needs only ranges of the inputs"
        )
    ranges = np.array([limits.inputs.get(name, (-inf, inf)) for name in names])
    base = np.where(np.isfinite(ranges).all(axis=1), 0.0, idle)
    columns: list[Array] = []
    for a in (limits.a_max, limits.a_min):
        change = inputs(a) - base
        change[np.abs(change) < 1e-9 * np.abs(change).max()] = 0.0
        room = np.where(change > 0.0, ranges[:, 1], -ranges[:, 0]) / np.maximum(abs(change), 1e-300)
        columns.append(change * min(1e3, float(room[change != 0.0].min())))
    variables = [control("drive", 0.0, 1.0), control("brake", 0.0, 1.0)]
    if "steer" in names:
        steer = np.zeros(len(names))
        steer[names.index("steer")] = 1.0
        variables.insert(0, control("steer", *limits.inputs["steer"]))
        columns.insert(0, steer)
    return Controls(tuple(variables), base, np.column_stack(columns))


_TYPICAL = {"N": 0.5, "N·m": 0.1, "m/s": 5.0, "rad/s": 1.0, "rad": 0.1, "m/s²": 5.0, "1": 0.1}
"""Typical magnitudes by unit; forces are relative to the weight, torques to the weight times a
metre."""


def _scales(vehicle: Vehicle, limits: Limits) -> list[float]:
    """Typical magnitude of each state."""
    model, scales = vehicle.model, list[float]()
    assert model.body is not None
    weight = 9.81 * model.body.geometry(vehicle.params).mass
    for leaf in record.fields(model.State):
        low, high = limits.inputs.get(leaf.name, (-inf, inf))
        unit = str(leaf.unit)
        scale = _TYPICAL.get(unit, 1.0) * (weight if unit in ("N", "N·m") else 1.0)
        if leaf.name == "v_x":
            scale = 20.0
        elif leaf.name.startswith("spin"):
            scale = 60.0
        elif np.isfinite([low, high]).all():
            scale = max(abs(low), abs(high))
        scales.append(float(scale))
    return scales


class _Rates(NamedTuple):
    """Time derivative of a vehicle, with corners rounded."""

    function: Any
    """CasADi function of states, controls and parameters: rates, and limited commands from 0 at
    their lower to 1 at their upper bound."""
    limited: tuple[str, ...]
    """Names of the limited commands."""
    moves_alike: bool
    """Whether the vehicle moves in the same way at every pose, as on level ground."""
    unused: frozenset[int]
    """Indices of states on which no rate depends, such as an odometer."""
    speeds: Mapping[int, float]
    """How fast states settle: change of their rate by distance with the state, in 1/m."""

    def __call__(self, x: Sequence[Any], u: Sequence[Any], p: Sequence[Any]) -> tuple[Any, Any]:
        import casadi as ca

        rates, rows = self.function.call([ca.vertcat(ca.SX(0, 1), *v) for v in (x, u, p)])
        return ca.vertsplit(rates), ca.vertsplit(rows) if rows.numel() else []


@making_expressions()
def _smooth_rates(vehicle: Vehicle, pose: tuple[int, int, int], controls: Controls) -> _Rates:
    import casadi as ca

    from ...run.interop import expressions

    with inlined():
        model = expressions(vehicle)
    names = record.names(vehicle.model.Input)
    speeds, *samples = _samples(vehicle, controls)
    found = smooth(model.f_expl, model.x, model.u, [model.w, model.p], names, samples)
    arguments = [model.x, model.u, model.w, model.p]
    body = ca.Function("body", arguments, [found.values, found.rows], {"cse": True})
    nu, count = controls.matrix.shape
    u, base, shares = ca.SX.sym("c", count), ca.SX.sym("base", nu), ca.SX.sym("m", nu * count)
    matrix = ca.reshape(shares, count, nu).T
    matrix *= ca.DM(controls.matrix != 0.0)  # all other entries stay 0 for any parameters
    command = base + matrix @ u
    results = body.call([model.x, command, ca.DM(model.w_values), model.p], True, False)
    p = ca.vertcat(model.p, base, shares)
    function = ca.Function("rates", [model.x, u, p], results, {"cse": True})
    slopes: Any = ca.jacobian(cast("Any", model.f_expl), model.x)
    sparsity = np.array(ca.DM(slopes.sparsity(), 1.0).full()) != 0.0
    others = [k for k in range(sparsity.shape[0]) if k not in pose]
    x, y, yaw = pose
    alike = not sparsity[:, [x, y]].any() and not sparsity[others][:, yaw].any()
    diagonal = ca.Function("diagonal", arguments, [ca.diag(ca.jacobian(found.values, model.x))])
    settling = -diagonal.map(len(samples[0]))(*(sample.T for sample in samples)).full()
    by_distance = np.median(settling / speeds, axis=1)
    unused = frozenset(np.flatnonzero(~sparsity.any(axis=0)).tolist())
    return _Rates(function, found.names, bool(alike), unused, dict(enumerate(by_distance.tolist())))


def _samples(vehicle: Vehicle, controls: Controls) -> tuple[Array, Array, Array, Array, Array]:
    """Speeds (n,), states, inputs, disturbances and parameters of typical driving, (n, size)."""
    model, p = vehicle.model, vehicle.params
    body = body_of(vehicle, "a lap")
    limits = body.limits(p)
    grip = min(limits.grip, 15.0)
    rows: list[Any] = []
    for v in (5.0, 15.0, 40.0):
        for across in (-0.7, 0.0, 0.7):
            for control in np.eye(len(controls.variables)):
                x = body.placed(
                    record.build(model.State),
                    Pose(0.0, 0.0, 0.0),
                    Velocity(v, 0.02 * across * v, across * grip / v),
                    p,
                )
                x = x if model.settle is None else model.settle(x, p)
                u = controls.base + controls.matrix @ (
                    control * [c.high for c in controls.variables]
                )
                inputs = dict(zip(record.names(model.Input), u, strict=True))
                names = record.names(model.State)
                state = [
                    0.5 * inputs.get(name, value) if name in inputs else value
                    for name, value in zip(names, record.flatten(x), strict=True)
                ]
                rows.append((state, u, v))
    count = len(rows)
    w = record.flatten(record.build(model.Disturbance))
    return (
        np.array([row[2] for row in rows]),
        np.array([row[0] for row in rows], dtype=float),
        np.array([row[1] for row in rows], dtype=float),
        np.tile(np.array(w, dtype=float), (count, 1)),
        np.tile(np.array(record.flatten(p), dtype=float), (count, 1)),
    )


def start_variables(model: LapModel, v: Array, a: Array, curvature: Array) -> Array:
    """Variables (n, nz) of a vehicle that follows the centre line, from speeds in m/s,
    accelerations in m/s² and curvatures in 1/m, each (n,)."""
    vehicle, body, p = model.vehicle, model.body, model.vehicle.params
    State, Input = vehicle.model.State, vehicle.model.Input
    x = record.unflatten(State, [np.full(len(v), f) for f in record.flatten(record.build(State))])
    zero = np.zeros(len(v))
    pose: Any = (zero, zero, zero)
    velocity: Any = (v, zero, v * curvature)
    x = body.placed(x, Pose(*pose), Velocity(*velocity), p)
    if vehicle.model.settle is not None:
        x = vehicle.model.settle(x, p)
    columns = np.column_stack([np.broadcast_to(c, len(v)) for c in record.flatten(x)])
    lock = model.limits.steer_max if np.isfinite(model.limits.steer_max) else 0.5
    steer = np.clip(np.arctan(body.geometry(p).wheel_base * curvature), -0.9 * lock, 0.9 * lock)
    drive = np.clip(a / max(model.limits.a_max, 1e-9), 0.0, 0.9)
    brake = np.clip(a / min(model.limits.a_min, -1e-9), 0.0, 0.9)
    known = {"steer": steer, "drive": drive, "brake": brake}
    controls = np.zeros((len(v), len(model.controls.variables)))
    for k, control in enumerate(model.controls.variables):
        if control.name in known:
            controls[:, k] = known[control.name]
        else:  # a force, a torque or an acceleration of drive and brakes
            controls[:, k] = 0.9 * np.where(a > 0.0, drive * control.high, brake * control.low)
    commanded = model.controls.base + controls @ model.controls.matrix.T
    names, inputs = record.names(State), record.names(Input)
    for k, name in enumerate(names):
        if name in inputs:
            columns[:, k] = commanded[:, inputs.index(name)]
    for k, radius in model.spins.items():
        columns[:, k] = columns[:, k] * radius / columns[:, model.forward] - 1.0
    return np.column_stack([columns[:, model.others], zero, zero, controls])


ROUNDING = 0.02
"""Half width of a rounded corner, as a share of the typical magnitude of the compared values."""


class Smooth(NamedTuple):
    """Smooth expressions, with the constraints that replace clipped commands."""

    values: SX
    rows: SX
    """One row for each replaced clip, from 0 at its lower to 1 at its upper bound."""
    names: tuple[str, ...]
    """Names of the commands of these rows."""


def smooth(
    values: SX,
    x: SX,
    u: SX,
    rest: Sequence[SX],
    names: Sequence[str],
    samples: Sequence[Array],
) -> Smooth:
    """Return expressions of states x and commands u (named `names`) without corners.

    `samples` are typical values of x, u and each of `rest`, (n, size), from which the magnitudes of
    compared values follow.
    """
    arguments = [x, u, *rest]
    trace = ca.Function("trace", arguments, [values], {"cse": True})
    differences = _Replay(trace, arguments, names).differences
    if not differences:
        return _Replay(trace, arguments, names, []).result(values.shape)
    compared = ca.Function("compared", arguments, [ca.vertcat(*differences)])
    found = np.abs(compared.map(len(samples[0]))(*(sample.T for sample in samples)).full())
    found[~np.isfinite(found)] = 0.0
    widths = ROUNDING * np.maximum(found.max(axis=1), 1e-9)
    return _Replay(trace, arguments, names, widths.tolist()).result(values.shape)


class _Replay:
    """Re-executes the instructions of a function with corners replaced.

    Without `widths`, corners are kept, and `differences` collects the values that they compare.
    """

    def __init__(
        self,
        trace: Any,
        arguments: Sequence[SX],
        names: Sequence[str],
        widths: list[float] | None = None,
    ) -> None:
        self.differences: list[SX] = []
        self.rows: list[SX] = []
        self.names: list[str] = []
        self._commands, self._input_names, self._widths = arguments[1], names, widths
        self._results: dict[int, SX] = {}
        nothing: frozenset[int] = frozenset()
        values: dict[int, SX] = {}
        # Commands on which each value depends linearly; None for a nonlinear dependence.
        linear: dict[int, frozenset[int] | None] = {}
        # Values that are the larger of a command and a lower bound: command, bound, its inputs.
        floored: dict[int, tuple[SX, SX, frozenset[int]]] = {}
        for k in range(trace.n_instructions()):
            op, source, target = (
                trace.instruction_id(k), trace.instruction_input(k), trace.instruction_output(k)
            )  # fmt: skip
            if op == ca.OP_OUTPUT:
                self._results[target[1]] = values[source[0]]
                continue
            place = target[0]
            if op == ca.OP_CONST:
                values[place], linear[place] = ca.SX(trace.instruction_constant(k)), nothing
                floored.pop(place, None)
                continue
            if op == ca.OP_INPUT:
                values[place] = arguments[source[0]][source[1]]
                linear[place] = frozenset([source[1]]) if source[0] == 1 else nothing
                floored.pop(place, None)
                continue
            args, of = [values[a] for a in source], [linear[a] for a in source]
            below = [floored.get(a) for a in source]
            floored.pop(place, None)  # the slot is reused by another value
            known = nothing if all(commands == nothing for commands in of) else None
            value: SX | None = None
            if known is None and None not in of:
                joined = nothing.union(*(commands for commands in of if commands is not None))
                free = next((i for i, commands in enumerate(of) if commands == nothing), None)
                scaled = (op == ca.OP_MUL and free is not None) or (op == ca.OP_DIV and free == 1)
                if scaled or op in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE):
                    known = joined
                elif op == ca.OP_FMAX and free is not None:
                    floored[place] = (args[1 - free], args[free], joined)
                    value = applied(op, args)
            elif op == ca.OP_FMIN:
                held = next((i for i, floor in enumerate(below) if floor is not None), None)
                if held is not None and of[1 - held] == nothing:
                    command, low, known = below[held] or (args[held], args[held], nothing)
                    value = self._limited(command, low, args[1 - held], known)
            values[place] = self._rounded(op, args) if value is None else value
            linear[place] = known

    def result(self, shape: tuple[int, int]) -> Smooth:
        values = ca.SX(*shape)
        for k, value in self._results.items():
            values[k] = value
        return Smooth(values, ca.vertcat(ca.SX(0, 1), *self.rows), tuple(self.names))

    def _limited(self, command: SX, low: SX, high: SX, inputs: frozenset[int]) -> SX:
        """Value of a clipped command without its clip; a bare input is bounded as a variable
        instead.
        """
        if command.element_hash() not in {self._commands[i].element_hash() for i in inputs}:
            self.rows.append((command - low) / (high - low))
            self.names.append(", ".join(self._input_names[i] for i in sorted(inputs)))
        return command

    def _width(self, difference: SX) -> float | None:
        self.differences.append(difference)
        return None if self._widths is None else self._widths[len(self.differences) - 1]

    def _rounded(self, op: int, args: list[SX]) -> SX:
        """Value of an operation, with any corner rounded."""
        if op in (ca.OP_FMIN, ca.OP_FMAX):
            a, b = args
            width = self._width(a - b)
            if width is None:
                return applied(op, args)
            sign = 1.0 if op == ca.OP_FMAX else -1.0
            return 0.5 * (a + b + sign * _rounded_abs(a - b, width))
        if op == ca.OP_FABS:
            width = self._width(args[0])
            return applied(op, args) if width is None else _rounded_abs(args[0], width)
        if op in (ca.OP_LT, ca.OP_LE):
            width = self._width(args[1] - args[0])
            return applied(op, args) if width is None else _step(args[1] - args[0], width)
        if self._widths is not None:
            if op == ca.OP_IF_ELSE_ZERO:
                return args[0] * args[1]
            if op == ca.OP_NOT:
                return 1.0 - args[0]
            if op == ca.OP_AND:
                return args[0] * args[1]
            if op == ca.OP_OR:
                return args[0] + args[1] - args[0] * args[1]
        return applied(op, args)


def _rounded_abs(x: SX, width: float) -> SX:
    """Smooth absolute value: |x| beyond ±width, an even quartic in between."""
    t2 = ca.fmin(x * x * (1.0 / width**2), 1.0)
    size = ca.fabs(x)
    t = ca.fmin(size * (1.0 / width), 1.0)
    return size + width * (0.125 * (3.0 + t2 * (6.0 - t2)) - t)


def _step(x: SX, width: float) -> SX:
    """Smooth step: 0 below -width, 1 above width, a quintic in between."""
    t = ca.fmin(ca.fmax(x * (0.5 / width) + 0.5, 0.0), 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)
