"""Motion: what a body tells about pose, velocity and acceleration is what the model does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Acceleration, Body, Pose, Velocity, Wish
from .names import mirror_signs, mirrored
from .subject import Subject, differences
from .symbolic import arguments, column, symbols

TOLERANCE = 1e-9
SAME = 1e-12
"""Relative difference that libraries may have."""
SHORT = 1e-5
"""Step in s over which the pose of a discrete model is compared with its velocity."""
SHIFT, TURN = (37.0, -81.0), 2.1
"""How far the body is moved, in m and rad."""
PUSH = 4.0
"""Speed in m/s above which a body that is put in motion moves so."""
WISH = Wish(steer=0.03, a=0.4, v=3.0, omega=0.05, handbrake=0.2)


def motion(subject: Subject) -> list[str]:
    """Velocity and acceleration against derivatives; mirrored, moved, at rest and traced."""
    body = subject.body
    faults = _derivatives(subject, body) if subject.model.continuous else _steps(subject, body)
    faults += _mirror(subject, body) + _moved(subject, body)
    return faults + _at_rest(subject, body) + _traced(subject, body)


def _table(rows: Sequence[Any]) -> Array:
    return np.array([record.flatten(row) for row in rows], dtype=float)


def _derivatives(subject: Subject, body: Body) -> list[str]:
    """Velocity against the exact rate of the pose, acceleration against that of the velocity."""
    import casadi as ca

    symbol, p = symbols(subject), subject.params
    x, u, _, q = symbol.records
    rate = subject.rate(*symbol.records)
    pose, velocity = column(body.pose(x, q)), column(body.velocity(x, u, q))
    x_column, along = symbol.columns[0], column(rate)
    turned = ca.cos(pose[2]), ca.sin(pose[2])
    d_pose, d_velocity = (ca.jtimes(value, x_column, along) for value in (pose, velocity))
    in_body = ca.vertcat(
        turned[0] * d_pose[0] + turned[1] * d_pose[1],
        turned[0] * d_pose[1] - turned[1] * d_pose[0],
        d_pose[2],
    )
    over_ground = ca.vertcat(
        d_velocity[0] - velocity[1] * velocity[2],
        d_velocity[1] + velocity[0] * velocity[2],
        d_velocity[2],
    )
    function = ca.Function("motion", list(symbol.columns), [in_body, over_ground])
    points = subject.calm_points
    exact = [function(*arguments(subject, point)) for point in points]
    want_v, want_a = (np.array([np.asarray(e[k]).ravel() for e in exact]) for k in (0, 1))
    got = _table([body.velocity(pt.x, pt.u, p) for pt in points])
    faults = differences(
        "velocity, from the rate of the pose", Velocity, got, want_v, TOLERANCE, points, 1.0
    )
    if body.acceleration is None:
        return faults
    rates = (subject.rate(*point, p) for point in points)
    told = _table(
        [body.acceleration(pt.x, rate, p) for pt, rate in zip(points, rates, strict=True)]
    )
    what = "acceleration, from the rate of the velocity"
    return faults + differences(what, Acceleration, told, want_a, TOLERANCE, points, 1.0)


def _steps(subject: Subject, body: Body) -> list[str]:
    """The way of a short step lies between the velocities before and after it."""
    p, update = subject.params, subject.model.update
    assert update is not None
    faults: list[str] = []
    for point in subject.calm_points:
        # Whatever does not go together is put right by a first step.
        before = update(*point, p, SHORT)
        after = update(before, point.u, point.w, p, SHORT)
        old, new = (np.array(body.velocity(x, point.u, p), float) for x in (before, after))
        a, b = (np.array(body.pose(x, p), float) for x in (before, after))
        d_x, d_y, turn = (b - a) / SHORT
        c, s = np.cos(0.5 * (a[2] + b[2])), np.sin(0.5 * (a[2] + b[2]))
        way = np.array([c * d_x + s * d_y, c * d_y - s * d_x, turn])
        # Which heading of the step counts is left to the model.
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


def _mirror(subject: Subject, body: Body) -> list[str]:
    """In a mirror the body does, and is commanded, what its mirror image does and is."""
    model, points, p = subject.model, subject.calm_points, subject.params
    of_state, of_input = (mirror_signs(k, model.mirror_odd) for k in (model.State, model.Input))
    images = [q._replace(x=mirrored(q.x, of_state), u=mirrored(q.u, of_input)) for q in points]
    there = WISH._replace(steer=-WISH.steer, omega=-WISH.omega)
    plane = np.array([1.0, -1.0, -1.0])
    commands = [mirrored(body.command(q.x, WISH, p), of_input) for q in points]
    pairs = {
        "pose": (
            Pose,
            _table([body.pose(q.x, p) for q in images]),
            plane * _table([body.pose(q.x, p) for q in points]),
        ),
        "velocity": (
            Velocity,
            _table([body.velocity(q.x, q.u, p) for q in images]),
            plane * _table([body.velocity(q.x, q.u, p) for q in points]),
        ),
        "command": (
            model.Input,
            _table([body.command(q.x, there, p) for q in images]),
            _table(commands),
        ),
    }
    return [
        fault
        for what, (kind, got, want) in pairs.items()
        for fault in differences(
            f"{what} in the mirror", kind, got, want, TOLERANCE, points, floor=1.0
        )
    ]


def _moved(subject: Subject, body: Body) -> list[str]:
    """Put elsewhere with the velocity that it has, a body is there and moves as before."""
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
    got = _table([body.pose(x, p) for x in states])
    want = _table(goals)
    if np.array_equal(got[:, 2], _table(poses)[:, 2]):
        # A model that has no heading cannot be turned.
        want[:, 2] = got[:, 2]
    faults = differences("pose, put elsewhere", Pose, got, want, TOLERANCE, points, 1.0)
    moving = _table([body.velocity(x, q.u, p) for x, q in zip(states, points, strict=True)])
    before = _table(speeds)
    # Slow cars may follow their wheels, whatever was put.
    fast = np.abs(before[:, 0]) >= PUSH
    those = [point for point, is_fast in zip(points, fast, strict=True) if is_fast]
    what = "velocity, put elsewhere"
    faults += differences(what, Velocity, moving[fast], before[fast], TOLERANCE, those, 1.0)
    return faults + _pushed(subject, body, states)


def _pushed(subject: Subject, body: Body, states: Sequence[Any]) -> list[str]:
    """What stays of a push is a motion that the model has: pushed so again, nothing changes."""
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
    """All is finite, and zero where it has to be."""
    p, model = subject.params, subject.model
    x = subject.settled(record.build(model.State))
    u, w = record.build(model.Input), record.build(model.Disturbance)
    told: dict[str, Any] = {
        "pose": body.pose(x, p),
        "velocity": body.velocity(x, u, p),
        "placed": body.placed(x, Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0, 0.0), p),
        "command": body.command(x, Wish(), p),
    }
    if body.acceleration is not None and model.continuous:
        told["acceleration"] = body.acceleration(x, subject.rate(x, u, w, p), p)
    return [
        f"{what} is {value} at rest"
        for what, value in told.items()
        if not np.isfinite(np.array(record.flatten(value), float)).all()
    ]


def _traced(subject: Subject, body: Body) -> list[str]:
    """Symbols and arrays give what numbers give."""
    import casadi as ca

    points, p = subject.calm_points, subject.params
    functions: dict[str, tuple[Any, Callable[..., Any]]] = {
        "pose": (Pose, lambda x, u, q: body.pose(x, q)),
        "velocity": (Velocity, lambda x, u, q: body.velocity(x, u, q)),
        "placed": (
            subject.model.State,
            lambda x, u, q: body.placed(x, Pose(1.0, 2.0, 3.0), Velocity(4.0, 0.5, 0.2), q),
        ),
        "command": (subject.model.Input, lambda x, u, q: body.command(x, WISH, q)),
    }
    symbol = symbols(subject)
    x, u, _, q = symbol.records
    together = [
        record.unflatten(kind, list(_table([getattr(point, name) for point in points]).T))
        for name, kind in (("x", subject.model.State), ("u", subject.model.Input))
    ]
    faults: list[str] = []
    for what, (kind, function) in functions.items():
        want = _table([function(point.x, point.u, p) for point in points])
        traced = ca.Function("f", list(symbol.columns), [column(function(x, u, q))])
        rows = [np.asarray(traced(*arguments(subject, pt))).ravel() for pt in points]
        leaves = record.flatten(function(*together, p))
        arrays = np.column_stack([np.broadcast_to(leaf, (len(points),)) for leaf in leaves])
        for where, got in (("CasADi", np.array(rows)), ("NumPy", arrays)):
            faults += differences(f"{what} on {where}", kind, got, want, SAME, points, 1.0)
    return faults
