"""Checks of the physics of a model: changes that must not affect it, and its balances.

* `frame`: no position or direction of the world is special on a plane.
* `mirror`: a symmetric vehicle behaves in a mirror as its mirror image.
* `rest`: a vehicle at rest without drive stays at rest, and residual motion decays.
* `standing`: the vehicle stands in a world, is detected by others and carries sensors.
* `purity`: the same call gives the same result on every kind of number, and has no side effects.
* `energy`: no energy is created without drive.
* `motion`: the body moves as the model does.
* `gradients`: values and gradients are finite, also at rest and at full lock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.body import Acceleration, Body, Demand, Geometry, Pose, Velocity
from ..errors import require
from ..geometry.pose import rotated
from ..sensors.motion import over_ground
from ..units import Unit
from ..world.scene import Imu, Laser, Scene, Settings, VehicleSpec
from ..world.scene import Pose as standing_Pose
from ..world.world import World
from .body import DT as WORLD_DT
from .subject import (
    DEMAND,
    DT,
    Function,
    NotApplicable,
    Point,
    Subject,
    arguments,
    column,
    differences,
    headings,
    is_effort,
    is_motion,
    lock,
    mirror_signs,
    mirrored,
    position_pairs,
    symbols,
    table,
    tokens,
)

TOLERANCE = 1e-9
SHIFT = (37.0, -81.0)
"""Displacement of the world, or of a body in it, in m."""
TURN = 2.1
"""Its rotation in rad; not near a multiple of a quarter turn."""


def frame(subject: Subject) -> list[str]:
    """Check that moving and rotating the world rotates rates of position and nothing else."""
    model = subject.model
    if not position_pairs(model.State) and not headings(model.State):
        raise NotApplicable("the state has no position x, y and no yaw")
    points = subject.calm_points
    moved = [point._replace(x=_moved(point.x)) for point in points]
    turned = _turned(model.State, subject.rates(points))
    placed = [_moved_row(model.Outputs, row) for row in subject.outputs(points)]
    faults: list[str] = []
    for kind, values, want in (
        (model.State, subject.rates(moved), turned),
        (model.Outputs, subject.outputs(moved), np.array(placed).reshape(len(points), -1)),
    ):
        faults += differences("in a turned world", kind, values, want, TOLERANCE, points)
    return faults


def _turned(kind: type, table: Array) -> Array:
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = table.copy()
    for pair in position_pairs(kind):
        x, y = (index[name] for name in pair)
        result[:, x], result[:, y] = rotated(table[:, x], table[:, y], TURN)
    return result


def _moved_row(kind: type, row: Array) -> Array:
    """Row with positions moved and rotated, headings rotated, and all else unchanged."""
    index = {name: j for j, name in enumerate(record.names(kind))}
    result = _turned(kind, row[np.newaxis])[0]
    for pair in position_pairs(kind):
        for name, shift in zip(pair, SHIFT, strict=True):
            result[index[name]] += shift
    for name in headings(kind):
        result[index[name]] += TURN
    return result


def _moved(x: Point) -> Point:
    row = _moved_row(type(x), np.array(record.flatten(x), dtype=float))
    return record.unflatten(type(x), row.tolist())


def mirror(subject: Subject) -> list[str]:
    """Check that mirrored arguments give mirrored rates, outputs and body functions."""
    model = subject.model
    kinds = (model.State, model.Input, model.Disturbance, model.Outputs)
    signs = {kind: mirror_signs(kind, model.mirror_odd) for kind in kinds}
    # Parameters describe the vehicle: they change sides but have no left-positive quantities.
    even = dict.fromkeys(record.names(model.Params), 1.0)
    p = mirrored(subject.params, even)
    points = subject.points
    images = [Point(*(mirrored(part, signs[type(part)]) for part in point)) for point in points]
    faults: list[str] = []
    for kind, answer, plain in (
        (model.State, subject.rates(images, p), subject.rates(points)),
        (model.Outputs, subject.outputs(images, p), subject.outputs(points)),
    ):
        want = _mirrored_table(kind, plain, signs[kind])
        faults += differences("in the mirror", kind, answer, want, TOLERANCE, points)
    return faults + (_body(subject, images, signs[model.Input]) if model.body else [])


def _body(subject: Subject, images: list[Point], of_input: Mapping[str, float]) -> list[str]:
    """Faults of the body under mirroring: pose, velocity and command."""
    body, points, p = subject.body, subject.points, subject.params
    there = mirrored(DEMAND, mirror_signs(Demand, None))
    faults: list[str] = []
    functions: list[tuple[str, type, Mapping[str, float], Callable[[Point, Demand], Any]]] = [
        ("pose", Pose, mirror_signs(Pose, None), lambda q, _: body.pose(q.x, p)),
        ("velocity", Velocity, mirror_signs(Velocity, None), lambda q, _: body.velocity(*q[:2], p)),
        ("command", subject.model.Input, of_input, lambda q, demand: body.command(q.x, demand, p)),
    ]
    for what, kind, signs, call in functions:
        want = _mirrored_table(kind, table(call(q, DEMAND) for q in points), signs)
        values, what = table(call(q, there) for q in images), f"{what} in the mirror"
        faults += differences(what, kind, values, want, TOLERANCE, points, floor=1.0)
    return faults


def _mirrored_table(kind: type, rows: Array, signs: Mapping[str, float]) -> Array:
    columns = mirrored(record.unflatten(kind, list(rows.T)), signs)
    result = rows.copy()
    for j, values in enumerate(record.flatten(columns)):
        result[:, j] = values
    return result


RESIDUAL = 0.05
"""Residual lateral velocity in m/s and yaw rate in rad/s that must decay."""


def rest(subject: Subject) -> list[str]:
    """Check that pose and velocity stay at rest without drive, and that residual motion decays."""
    State, p = subject.model.State, subject.params
    faults: list[str] = []
    for steer in (0.0, lock(p), -lock(p)):
        rates = record.flatten(subject.rate(*_parked(subject, steer), p))
        faults += [
            f"at rest with steering {steer:g} rad, the rate of {leaf.name} is {value:.6g} "
            f"{leaf.unit}/s"
            for leaf, value in zip(record.fields(State), rates, strict=True)
            if is_motion(leaf.name) and not abs(value) <= TOLERANCE
        ]
    for name in (name for name in ("v_y", "omega") if name in record.names(State)):
        point = _parked(subject, **{name: RESIDUAL})
        residual, rate = getattr(point.x, name), getattr(subject.rate(*point, p), name)
        # It must decay, unless the model ties it to the speed.
        if residual != 0.0 and not residual * rate < 0.0:
            faults.append(
                f"at standstill {name} = {residual:g} does not die out: its rate is {rate:.6g}"
            )
    return faults


def _parked(subject: Subject, steer: float = 0.0, **moving: float) -> Point:
    """Point at rest with some pose and steering angle, and with matching actuator targets."""
    state = subject.model.State
    poses = {name for pair in position_pairs(state) for name in pair} | set(headings(state))

    def value(leaf: record.Field) -> float:
        if leaf.name in moving:
            return moving[leaf.name]
        if leaf.unit.symbol == "rad" and {"steer", "steering", "delta"} & set(tokens(leaf.name)):
            return steer
        return 2.5 if leaf.name in poses else 0.0

    fields = (record.fields(state), record.fields(subject.model.Input))
    return subject.point(*([value(leaf) for leaf in leaves] for leaves in fields))


COUNT = 5
"""Number of vehicles, the same as in `driving`, so that nothing more has to be compiled."""
GAP = 15.0
"""Gap between two vehicles in m."""
DURATION = 0.21
"""Duration in s, long enough for two readings of each sensor."""


def standing(subject: Subject) -> list[str]:
    """Check several vehicles behind each other on level ground: the second detects the first."""
    length = _length(subject.body.geometry(subject.params))
    sensors = (Laser("scan", fov=math.pi, nrays=3, max_range=2.0 * GAP, period=0.1), Imu("imu"))
    scene = Scene(
        settings=Settings(timestep=WORLD_DT),
        vehicles=tuple(
            VehicleSpec(
                str(k), standing_Pose(-k * (GAP + length), 0.0), subject.vehicle, sensors=sensors
            )
            for k in range(COUNT)
        ),
    )
    world = World(scene)
    world.run(DURATION)
    shown, truth = world.vehicles["1"].sensors, world.vehicles["0"].truth
    faults: list[str] = []
    if not all(math.isfinite(value) for value in truth):
        faults.append(f"after {DURATION} s it is at {truth}")
    ahead = shown["scan"].ranges[1]
    if not 0.0 < ahead < 2.0 * GAP:
        faults.append(f"a laser straight ahead does not see it, {GAP} m away: {ahead} m")
    force = (shown["imu"].f_x, shown["imu"].f_y, shown["imu"].f_z)
    if not all(math.isfinite(value) for value in force):
        faults.append(f"an inertial unit on it shows {force}")
    return faults


def _length(shape: Geometry) -> float:
    """Distance in m of the farthest point from the reference point, trailers included."""
    reach = max(math.hypot(x, y) for outline in shape.outlines for x, y in outline)
    distance = 0.0
    for trailer in shape.trailers:
        distance += abs(trailer.hitch_x) + trailer.drawbar
        behind = max(math.hypot(x, y) for outline in trailer.outlines for x, y in outline)
        reach = max(reach, distance + behind)
    return reach


PURITY_TOLERANCE = 1e-12
"""Relative tolerance between libraries, which differ in the sine and in contraction."""


def purity(subject: Subject) -> list[str]:
    """Check that repeated calls give equal results, also on NumPy, CasADi and JAX if installed."""
    backends: dict[str, Callable[[Subject, Function], Array]] = {
        "NumPy": _on_numpy,
        "CasADi": _on_casadi,
    }
    functions = subject.functions()
    if find_spec("jax") is not None:
        backends["JAX"] = _compiled_together(functions)
    return [fault for one in functions for fault in _impurities(one, subject, backends)]


def _impurities(
    function: Function, subject: Subject, backends: dict[str, Callable[[Subject, Function], Array]]
) -> list[str]:
    points, kind, p = subject.points, function.kind, subject.params
    values = table(function.call(*point, p) for point in points)
    again = table(function.call(*point, p) for point in reversed(points))[::-1]
    faults = differences(f"{function.name}called again", kind, again, values, 0.0, points)
    for name, evaluate in backends.items():
        try:
            other = evaluate(subject, function)
        except Exception as error:
            # One library refusing the model must not hide what the others say.
            faults.append(f"{function.name}on {name} it raised {type(error).__name__}: {error}")
            continue
        what = f"{function.name}on {name}, unlike on floats"
        faults += differences(what, kind, other, values, PURITY_TOLERANCE, points, function.floor)
    return faults + _changed_arguments(subject, function)


def _arrays(subject: Subject) -> list[Any]:
    parts: list[Any] = []
    for rows in zip(*subject.points, strict=True):
        leaves = table(rows).T
        parts.append(record.unflatten(type(rows[0]), [leaf.copy() for leaf in leaves]))
    return parts


def _stacked(value: Any, count: int) -> Array:
    leaves = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in record.flatten(value)]
    return np.column_stack(leaves) if leaves else np.empty((count, 0))


def _on_numpy(subject: Subject, function: Function) -> Array:
    x, u, w = _arrays(subject)
    return _stacked(function.call(x, u, w, subject.params), len(subject.points))


def _on_casadi(subject: Subject, function: Function) -> Array:
    import casadi

    symbol = symbols(subject)
    value = column(function.call(*symbol.records))
    traced = casadi.Function("f", list(symbol.columns), [value])
    rows = [np.asarray(traced(*arguments(subject, point))).ravel() for point in subject.points]
    return np.array(rows)


def _compiled_together(functions: list[Function]) -> Callable[[Subject, Function], Array]:
    """Values on JAX, which compiles all functions together in 60 % of the time of one by one.

    If that fails, each is compiled separately, to find those that fail. No function is called
    before its values are needed: side effects of a trace in an impure model must not show on
    floats.
    """

    @cache
    def tables(subject: Subject) -> dict[Function, Array]:
        try:
            return dict(zip(functions, _on_jax(subject, functions), strict=True))
        except Exception:
            return {}

    def evaluate(subject: Subject, function: Function) -> Array:
        every = tables(subject)
        return every[function] if function in every else _on_jax(subject, [function])[0]

    return evaluate


def _on_jax(subject: Subject, functions: list[Function]) -> list[Array]:
    purpose = "The purity check on JAX"
    jax = require("jax", purpose=purpose)

    def values(x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        return [function.call(x, u, w, p) for function in functions]

    # Older releases have the switch to 64 bits among the experiments.
    home = jax if hasattr(jax, "enable_x64") else require("jax.experimental", purpose=purpose)
    with home.enable_x64(True):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        return [_stacked(value, len(subject.points)) for value in jax.jit(values)(x, u, w, p)]


def _changed_arguments(subject: Subject, function: Function) -> list[str]:
    """Fields that a call changed in place, which can only be detected on arrays."""
    shown, kept = _arrays(subject), _arrays(subject)
    try:
        x, u, w = shown
        function.call(x, u, w, subject.params)
    except Exception:
        return []  # reported above, as a failure on NumPy
    return [
        f"the call changed its argument {letter}.{name}"
        for letter, after, before in zip("xuw", shown, kept, strict=True)
        for name, a, b in zip(
            record.names(type(after)), record.flatten(after), record.flatten(before), strict=True
        )
        if a.tobytes() != b.tobytes()
    ]


ROUNDING = 1e-11
"""Tolerance for rounding, relative to the sum of the powers that cancel."""


def energy(subject: Subject) -> list[str]:
    """Check that power is not positive without drive, at states with all wheels on the road."""
    if subject.model.energy is None:
        raise NotApplicable("the model gives no energy function")
    points = _loaded(subject, [_undriven(subject, point) for point in subject.calm_points])
    if not points:
        return ["no sampled state has all wheel loads positive, so nothing could be checked"]
    gained, rounding = _power(subject, points)
    # Not "greater than": NaN is a fault too.
    wrong = np.flatnonzero(~(gained <= ROUNDING * rounding))
    return [
        f"with no drive, energy grows by {gained[i]:.6g} W at {points[i].x}, input {points[i].u}"
        for i in wrong[:3]
    ]


def _undriven(subject: Subject, point: Point) -> Point:
    """The point with torques, forces and commanded accelerations at zero; steering stays."""

    def without(value: Any, drives: Callable[[Unit], bool]) -> list[float]:
        leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
        return [0.0 if drives(leaf.unit) else float(number) for leaf, number in leaves]

    state = without(point.x, is_effort)
    # Of the inputs only angles and their rates do no work on the body by themselves.
    command = without(point.u, lambda unit: not unit.symbol.startswith("rad"))
    return subject.point(state, command)


def _loaded(subject: Subject, points: list[Point]) -> list[Point]:
    """Points at which all wheels are on the road."""
    names = record.names(subject.model.Outputs)
    loads = [j for j, name in enumerate(names) if tokens(name)[:2] == ("F", "z")]
    if not loads:
        return points
    table = subject.outputs(points)[:, loads]
    return [point for point, row in zip(points, table, strict=True) if min(row) > 0.0]


def _power(subject: Subject, points: list[Point]) -> tuple[Array, Array]:
    """Rate of change of energy at each point, and the sum of the magnitudes of its terms, in W."""
    model = subject.model
    assert model.energy is not None
    if not model.continuous:
        before = np.array([model.energy(point.x, subject.params) for point in points], dtype=float)
        rates = subject.rates(points)
        now = np.array([record.flatten(point.x) for point in points], dtype=float)
        after = [
            model.energy(record.unflatten(model.State, row.tolist()), subject.params)
            for row in now + DT * rates
        ]
        return (np.array(after, dtype=float) - before) / DT, (before + np.abs(after)) / DT
    import casadi

    symbol = symbols(subject)
    x, _, _, p = symbol.records
    slope = casadi.gradient(casadi.SX(model.energy(x, p)), symbol.columns[0])
    terms = slope * column(subject.rate(*symbol.records))
    function = casadi.Function("power", list(symbol.columns), [terms])
    table = np.array([np.asarray(function(*arguments(subject, q))).ravel() for q in points])
    return table.sum(axis=1), np.abs(table).sum(axis=1)


SHORT = 1e-5
"""Step in s over which the pose of a discrete model is compared with its velocity."""
PUSH = 4.0
"""Speed in m/s above which a body keeps an assigned velocity."""


def motion(subject: Subject) -> list[str]:
    """Check velocity and acceleration against derivatives, after a teleport, and at rest."""
    body = subject.body
    faults = _derivatives(subject, body) if subject.model.continuous else _steps(subject, body)
    return faults + _put_elsewhere(subject, body) + _at_rest(subject, body)


def _derivatives(subject: Subject, body: Body) -> list[str]:
    """Faults of the velocity against the exact rate of the pose, and of the acceleration against
    that of the velocity."""
    import casadi as ca

    symbol, p = symbols(subject), subject.params
    x, u, _, q = symbol.records
    rate = subject.rate(*symbol.records)
    pose, velocity = column(body.pose(x, q)), column(body.velocity(x, u, q))
    x_column, along = symbol.columns[0], column(rate)
    (d_x, d_y, turn), change = (
        ca.vertsplit(ca.jtimes(value, x_column, along)) for value in (pose, velocity)
    )
    c, s = ca.cos(pose[2]), ca.sin(pose[2])
    exact_velocity = ca.vertcat(c * d_x + s * d_y, c * d_y - s * d_x, turn)
    exact = over_ground(Velocity._make(ca.vertsplit(velocity)), Velocity._make(change))
    function = ca.Function("motion", list(symbol.columns), [exact_velocity, ca.vertcat(*exact)])
    points = subject.calm_points
    rows = [function(*arguments(subject, point)) for point in points]
    want_v, want_a = (np.array([np.asarray(row[k]).ravel() for row in rows]) for k in (0, 1))
    values = table([body.velocity(pt.x, pt.u, p) for pt in points])
    what = "velocity, from the rate of the pose"
    faults = differences(what, Velocity, values, want_v, TOLERANCE, points, 1.0)
    if body.acceleration is None:
        return faults
    rates = (subject.rate(*point, p) for point in points)
    actual = table(
        [body.acceleration(pt.x, rate, p) for pt, rate in zip(points, rates, strict=True)]
    )
    what = "acceleration, from the rate of the velocity"
    return faults + differences(what, Acceleration, actual, want_a, TOLERANCE, points, 1.0)


def _steps(subject: Subject, body: Body) -> list[str]:
    """Faults if the displacement in a short step is not between the velocities around it."""
    p, update = subject.params, subject.updated
    faults: list[str] = []
    for point in subject.calm_points:
        # A first step makes the state consistent.
        before = update(*point, p, SHORT)
        after = update(before, point.u, point.w, p, SHORT)
        old, new = (np.array(body.velocity(x, point.u, p), float) for x in (before, after))
        a, b = (np.array(body.pose(x, p), float) for x in (before, after))
        d_x, d_y, turn = (b - a) / SHORT
        c, s = np.cos(0.5 * (a[2] + b[2])), np.sin(0.5 * (a[2] + b[2]))
        way = np.array([c * d_x + s * d_y, c * d_y - s * d_x, turn])
        # The model may use any heading within the step.
        slack = np.abs(new - old) + SHORT * (1.0 + np.abs(old).max()) ** 2
        for name, value, low, reach in zip(Velocity._fields, way, old, slack, strict=True):
            if not abs(value - low) <= reach:
                faults.append(
                    f"velocity, from the way of a step: {name} is {low:.9g}, expected "
                    f"{value:.9g}, at {before}"
                )
        if faults:
            break
    return faults


def _put_elsewhere(subject: Subject, body: Body) -> list[str]:
    """Faults if a body that is moved together with its velocity lacks the pose or moves
    differently."""
    p, points = subject.params, subject.calm_points
    poses = [body.pose(point.x, p) for point in points]
    speeds = [body.velocity(point.x, point.u, p) for point in points]
    c, s = np.cos(TURN), np.sin(TURN)
    goals = [
        Pose(c * q.x - s * q.y + SHIFT[0], s * q.x + c * q.y + SHIFT[1], q.yaw + TURN)
        for q in poses
    ]
    states = [
        body.placed(point.x, goal, velocity, p)
        for point, goal, velocity in zip(points, goals, speeds, strict=True)
    ]
    values = table([body.pose(x, p) for x in states])
    want = table(goals)
    if np.array_equal(values[:, 2], table(poses)[:, 2]):
        # A model without heading cannot be turned.
        want[:, 2] = values[:, 2]
    faults = differences("pose, put elsewhere", Pose, values, want, TOLERANCE, points, 1.0)
    moving = table([body.velocity(x, q.u, p) for x, q in zip(states, points, strict=True)])
    before = table(speeds)
    # Slow cars may follow their wheels instead.
    fast = np.abs(before[:, 0]) >= PUSH
    those = [point for point, is_fast in zip(points, fast, strict=True) if is_fast]
    what = "velocity, put elsewhere"
    faults += differences(what, Velocity, moving[fast], before[fast], TOLERANCE, those, 1.0)
    return faults + _pushed(subject, body, states)


def _pushed(subject: Subject, body: Body, states: Sequence[Any]) -> list[str]:
    """Faults if the velocity after a push is not one of the model: setting it again must change
    nothing."""
    p, faults = subject.params, list[str]()
    for x, point in zip(states, subject.calm_points, strict=True):
        pose = body.pose(x, p)
        once = body.placed(x, pose, Velocity(PUSH, 0.3, 0.2), p)
        kept = body.velocity(once, point.u, p)
        again = body.velocity(body.placed(once, pose, kept, p), point.u, p)
        if not kept.v_x > 0.0:
            faults.append(f"pushed ahead with {PUSH} m/s it moves with v_x = {kept.v_x:g}, at {x}")
        if not np.allclose(kept, again, rtol=1e-9, atol=1e-9):
            faults.append(f"put with the velocity {kept} it has, it moves with {again}, at {x}")
        if faults:
            break
    return faults


def _at_rest(subject: Subject, body: Body) -> list[str]:
    """Faults if a function of the body is not finite at rest."""
    p, model = subject.params, subject.model
    x = subject.settled(record.build(model.State))
    u, w = record.build(model.Input), record.build(model.Disturbance)
    values: dict[str, Any] = {
        "pose": body.pose(x, p),
        "velocity": body.velocity(x, u, p),
        "placed": body.placed(x, Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0, 0.0), p),
        "command": body.command(x, Demand(), p),
    }
    if body.acceleration is not None and model.continuous:
        values["acceleration"] = body.acceleration(x, subject.rate(x, u, w, p), p)
    return [
        f"{what} is {value} at rest"
        for what, value in values.items()
        if not np.isfinite(np.array(record.flatten(value), float)).all()
    ]


TORQUE = 50.0
"""Torque applied at standstill, in N·m."""


def gradients(subject: Subject) -> list[str]:
    """Check exact Jacobians of rates and outputs with respect to all arguments and parameters."""
    import casadi

    symbol, model = symbols(subject), subject.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    names = [f"{letter}.{leaf}" for letter, kind in kinds.items() for leaf in record.names(kind)]
    faults: list[str] = []
    for what, kind, value in (
        ("rate of ", subject.model.State, subject.rate(*symbol.records)),
        ("output ", subject.model.Outputs, subject.vehicle.outputs(*symbol.records)),
    ):
        flat = column(value)
        jacobian = casadi.jacobian(flat, casadi.vertcat(*symbol.columns))
        function = casadi.Function("J", list(symbol.columns), [flat, jacobian])
        rows = [f"{what}{name}" for name in record.names(kind)]
        for label, point in _places(subject):
            faults += _not_finite(function(*arguments(subject, point)), rows, names, label)
    return faults


def _not_finite(results: Any, rows: list[str], names: list[str], label: str) -> list[str]:
    values, jacobian = (
        np.asarray(part.full() if hasattr(part, "full") else part) for part in results
    )
    faults = [
        f"{rows[i]} is {values.ravel()[i]} {label}"
        for i in np.flatnonzero(~np.isfinite(values.ravel()))
    ]
    bad = np.argwhere(~np.isfinite(jacobian.reshape(len(rows), len(names))))
    if bad.size:
        i, j = bad[0]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        faults.append(
            f"the gradient of the {rows[i]} with respect to {names[j]} is {jacobian[i, j]} "
            f"{label}{more}"
        )
    return faults


def _places(subject: Subject) -> Iterator[tuple[str, Point]]:
    """States from which optimisers start and through which they pass, with descriptions."""
    yield "at rest", _place(subject)
    for side, angle in (("left", lock(subject.params)), ("right", -lock(subject.params))):
        yield f"at rest, full lock {side}", _place(subject, steer=angle)
        yield f"at rest with torque, full lock {side}", _place(subject, steer=angle, torque=TORQUE)
        yield f"in reverse, full lock {side}", _place(subject, steer=angle, forward=-2.0)
    yield "at rest with torque", _place(subject, torque=TORQUE)
    yield "in reverse", _place(subject, forward=-2.0)
    yield "turning on the spot", _place(subject, turning=0.5)
    for point in subject.points:
        yield f"at {point.x}", point


def _place(
    subject: Subject,
    *,
    steer: float = 0.0,
    torque: float = 0.0,
    forward: float = 0.0,
    turning: float = 0.0,
) -> Point:
    def values(kind: type) -> list[float]:
        return [_value(leaf) for leaf in record.fields(kind)]

    def _value(leaf: record.Field) -> float:
        words, symbol = set(tokens(leaf.name)), leaf.unit.symbol
        if symbol == "rad" and words & {"steer", "steering", "delta"}:
            return steer
        if symbol == "N·m":
            return torque
        if leaf.name in ("v_x", "v"):
            return forward
        return turning if leaf.name == "omega" else 0.0

    return subject.point(values(subject.model.State), values(subject.model.Input))
