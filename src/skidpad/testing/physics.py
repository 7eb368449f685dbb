"""Physics: energy is not created, gradients are finite, and the body agrees with the model.

`energy` checks that a vehicle without drive gains no kinetic energy. `gradients` checks exact
Jacobians at rest and at full lock, where optimisers begin, and everywhere else. `motion` compares
pose, velocity and acceleration of a body with the derivatives of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.body import Acceleration, Body, Demand, Pose, Velocity
from ..sensors.motion import over_ground
from ..units import Unit
from .subject import (
    DT,
    NotApplicable,
    Point,
    Subject,
    arguments,
    column,
    differences,
    is_effort,
    lock,
    symbols,
    table,
    tokens,
)

TOLERANCE = 1e-11
"""Rounding, relative to the sum of the powers that cancel."""


def energy(subject: Subject) -> list[str]:
    """Power at random states with the drive off, wherever all wheels press on the road."""
    if subject.model.energy is None:
        raise NotApplicable("the model gives no energy function")
    points = _loaded(subject, [_undriven(subject, point) for point in subject.calm_points])
    if not points:
        return ["no sampled state has all wheel loads positive, so nothing could be checked"]
    gained, rounding = _power(subject, points)
    # Not "greater than": NaN is a fault too.
    wrong = np.flatnonzero(~(gained <= TOLERANCE * rounding))
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
    """Points at which all wheels press on the road."""
    names = record.names(subject.model.Outputs)
    loads = [j for j, name in enumerate(names) if tokens(name)[:2] == ("F", "z")]
    if not loads:
        return points
    table = subject.outputs(points)[:, loads]
    return [point for point, row in zip(points, table, strict=True) if min(row) > 0.0]


def _power(subject: Subject, points: list[Point]) -> tuple[Array, Array]:
    """Rate of change of energy at each point, and the size of the terms it is the sum of, in W."""
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


MOTION_TOLERANCE = 1e-9
SHORT = 1e-5
"""Step in s over which the pose of a discrete model is compared with its velocity."""
SHIFT, TURN = (37.0, -81.0), 2.1
"""Displacement of the body, in m and rad."""
PUSH = 4.0
"""Speed in m/s above which a body keeps the velocity that it is given."""


def motion(subject: Subject) -> list[str]:
    """Checks velocity and acceleration against derivatives, after a teleport, and at rest."""
    body = subject.body
    faults = _derivatives(subject, body) if subject.model.continuous else _steps(subject, body)
    return faults + _moved(subject, body) + _at_rest(subject, body)


def _derivatives(subject: Subject, body: Body) -> list[str]:
    """Velocity against the exact rate of the pose, acceleration against that of the velocity."""
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
    faults = differences(what, Velocity, values, want_v, MOTION_TOLERANCE, points, 1.0)
    if body.acceleration is None:
        return faults
    rates = (subject.rate(*point, p) for point in points)
    actual = table(
        [body.acceleration(pt.x, rate, p) for pt, rate in zip(points, rates, strict=True)]
    )
    what = "acceleration, from the rate of the velocity"
    return faults + differences(what, Acceleration, actual, want_a, MOTION_TOLERANCE, points, 1.0)


def _steps(subject: Subject, body: Body) -> list[str]:
    """The displacement of a short step lies between the velocities before and after it."""
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


def _moved(subject: Subject, body: Body) -> list[str]:
    """A body that is put elsewhere with its velocity has that pose and moves as before."""
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
    faults = differences("pose, put elsewhere", Pose, values, want, MOTION_TOLERANCE, points, 1.0)
    moving = table([body.velocity(x, q.u, p) for x, q in zip(states, points, strict=True)])
    before = table(speeds)
    # Slow cars may follow their wheels instead.
    fast = np.abs(before[:, 0]) >= PUSH
    those = [point for point, is_fast in zip(points, fast, strict=True) if is_fast]
    what = "velocity, put elsewhere"
    faults += differences(what, Velocity, moving[fast], before[fast], MOTION_TOLERANCE, those, 1.0)
    return faults + _pushed(subject, body, states)


def _pushed(subject: Subject, body: Body, states: Sequence[Any]) -> list[str]:
    """The velocity after a push is one that the model has: setting it again changes nothing."""
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
    """All functions of the body are finite at rest."""
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
"""Torque used at standstill, in N·m."""


def gradients(subject: Subject) -> list[str]:
    """Exact Jacobians of rates and outputs with respect to all arguments and parameters."""
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
    """States that an optimiser starts from and passes through, with their descriptions."""
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
