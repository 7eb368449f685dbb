"""Checks of a vehicle's body: plausible shape, response to demands, rest, standing, and motion.

* `shape`: outline, wheels, axles, mass and limits are plausible.
* `driving`: the vehicle responds to demands.
* `rest`: a vehicle at rest without drive stays at rest, and residual motion decays.
* `standing`: the vehicle stands in a world, is detected by others and carries sensors.
* `motion`: the body moves as the model does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.body import Acceleration, Body, Demand, Geometry, Limits, Pose, Velocity, Wheel
from ..errors import InvalidValue
from ..geometry.polygon import cleaned, convex_parts
from ..sensors.motion import over_ground
from ..units import m_s, m_s2, s
from ..world import scene
from ..world.world import World
from .equations import SHIFT, TOLERANCE, TURN
from .subject import (
    Point,
    Subject,
    arguments,
    column,
    differences,
    headings,
    is_motion,
    lock,
    position_pairs,
    symbols,
    table,
    tokens,
)

GYRATION = (0.05, 1.05)
"""Allowed radius of gyration, relative to the distance of the farthest point from the centre of
mass."""
SLACK = 1e-9
"""Tolerance of lengths in m."""


def shape(subject: Subject) -> list[str]:
    """Check outline, wheels, axles, mass and inertia, the order of limits, and field names."""
    body, p = subject.body, subject.params
    geometry, limits = body.geometry(p), body.limits(p)
    faults = [*_outlines(geometry), *_wheels(subject, geometry)]
    faults = [*(faults or _centre_and_axles(geometry)), *_limits(subject, limits)]
    if body.gravity and body.gravity not in record.names(subject.model.Params):
        faults.append(f"gravity = {body.gravity!r} is not a parameter")
    return faults


def _outlines(geometry: Geometry) -> Iterator[str]:
    if not geometry.outlines:
        yield "it has no outline"
    for k, outline in enumerate(geometry.outlines):
        try:
            convex_parts(cleaned(outline))
        except InvalidValue as error:
            yield f"outline {k}: {error}"
    if not (math.isfinite(geometry.height) and geometry.height > 0.0):
        yield f"height = {geometry.height} m must be positive"


def _wheels(subject: Subject, geometry: Geometry) -> Iterator[str]:
    model = subject.model
    known = {*record.names(model.State), *record.names(model.Outputs)}
    towed = (wheel for trailer in geometry.trailers for wheel in trailer.wheels)
    wheels = (*geometry.wheels, *towed)
    for wheel in wheels:
        if not (wheel.radius > 0.0 and wheel.width > 0.0):
            yield (
                f"wheel {wheel.name}: radius {wheel.radius} m and width {wheel.width} m must be "
                "positive"
            )
        names = (wheel.steer, wheel.F_x, wheel.F_y, wheel.F_z, wheel.use)
        yield from (
            f"wheel {wheel.name} names {name!r}, which is neither a state nor an output"
            for name in names
            if name and name not in known
        )
    if len({wheel.name for wheel in wheels}) < len(wheels):
        yield "two wheels have the same name"
    yield from (
        f"the trailer names {trailer.angle!r}, which is neither a state nor an output"
        for trailer in geometry.trailers
        if trailer.angle not in known
    )


def _corners(wheel: Wheel) -> list[tuple[float, float]]:
    a, b = wheel.radius, 0.5 * wheel.width
    return [(wheel.x + i * a, wheel.y + j * b) for i in (-1.0, 1.0) for j in (-1.0, 1.0)]


def _centre_and_axles(geometry: Geometry) -> Iterator[str]:
    """Faults if the axles or the centre of mass lie outside the vehicle, the axles are not between
    the wheels, or mass and inertia are implausible."""
    wheels = [corner for wheel in geometry.wheels for corner in _corners(wheel)]
    points = [*(point for outline in geometry.outlines for point in outline), *wheels]
    x, y = zip(*points, strict=True)
    inside = min(x) - SLACK, max(x) + SLACK
    com_x, com_y = geometry.centre_of_mass
    places = {
        "the front axle": geometry.front_axle,
        "the rear axle": geometry.rear_axle,
        "the centre of mass": com_x,
    }
    yield from (
        f"{what} at x = {at} m is not between {min(x):g} and {max(x):g} m, where the vehicle is"
        for what, at in places.items()
        if not inside[0] <= at <= inside[1]
    )
    if not min(y) - SLACK <= com_y <= max(y) + SLACK:
        yield f"the centre of mass at y = {com_y} m is beside the vehicle"
    if geometry.front_axle < geometry.rear_axle:
        yield "the front axle is behind the rear axle"
    if geometry.wheels:
        hubs = [wheel.x for wheel in geometry.wheels]
        axles = (geometry.rear_axle, geometry.front_axle)
        if not min(hubs) - SLACK <= min(axles) or not max(axles) <= max(hubs) + SLACK:
            yield f"the axles at x = {axles} m are not between the wheels at {hubs} m"
    if not (geometry.mass > 0.0 and geometry.inertia > 0.0):
        yield (
            f"mass {geometry.mass} kg and inertia {geometry.inertia} kg·m² must both be positive"
        )
        return
    reach = max(math.dist(point, geometry.centre_of_mass) for point in points)
    share = math.sqrt(geometry.inertia / geometry.mass) / reach
    if not GYRATION[0] <= share <= GYRATION[1]:
        yield (
            f"the radius of gyration is {share:.3g} of the way from the centre of mass to the "
            f"farthest point; from {GYRATION[0]} to {GYRATION[1]} is plausible"
        )


def _limits(subject: Subject, limits: Limits) -> Iterator[str]:
    ordered: dict[str, Any] = {
        "steer_max": limits.steer_max >= 0.0,
        "steer_rate_max": limits.steer_rate_max >= 0.0,
        "v_min, v_max": limits.v_min <= 0.0 <= limits.v_max,
        "a_min, a_max": limits.a_min <= 0.0 <= limits.a_max,
        "grip": limits.grip > 0.0,
        "omega_max": limits.omega_max >= 0.0,
    }
    yield from (
        f"limits: {name} is out of order: {limits}" for name, ok in ordered.items() if not ok
    )
    names = record.names(subject.model.Input)
    for name, (low, high) in limits.inputs.items():
        if name not in names:
            yield f"limits: {name!r} is not an input; there are {', '.join(names)}"
        elif not low <= high:
            yield f"limits: the input {name} from {low} to {high} is out of order"


DT: s = 0.01
"""Time between two commands, in s."""
DURATION: s = 1.5
SETTLING: s = 0.5
"""Time in s for wheels to spin up and commands to take effect, before checks begin."""
SPEED: m_s = 4.0
"""Speed of the runs in m/s, unless the vehicle is slower."""
GENTLE: m_s2 = 2.0
"""Acceleration in m/s² demanded of a powerful vehicle, so that resistance has an effect."""
SPEED_SLACK = 0.5
"""Share of a speed change that may be missing because of dead times and actuators."""
APART = 1000.0
"""Distance between the vehicles in m, so that they do not meet."""


class Run(NamedTuple):
    name: str
    start: m_s
    demand: Demand
    faster: float = 0.0
    """Sign of the expected speed change: 1 faster, -1 slower, 0 any."""
    left: float = 0.0
    """Sign of the expected lateral displacement: 1 left, -1 right, 0 any."""


def driving(subject: Subject) -> list[str]:
    """Check the response to demands over 1.5 s: faster, slower, left, right, and reversing from
    rest."""
    body, p = subject.body, subject.params
    limits = body.limits(p)
    drives = list(_drives(limits, body.geometry(p)))
    cars = [
        scene.VehicleSpec(
            drive.name,
            scene.Pose(0.0, APART * k),
            subject.vehicle,
            velocity=scene.Velocity(drive.start),
        )
        for k, drive in enumerate(drives)
    ]
    world, begun = World(scene.Scene(scene.Settings(timestep=DT), vehicles=tuple(cars))), {}
    for k in range(round(DURATION / DT)):
        if k == round(SETTLING / DT):
            begun = {drive.name: world.vehicles[drive.name].truth.v_x for drive in drives}
        for drive in drives:
            faults = _outside(world.vehicles[drive.name].drive(drive.demand), limits, drive)
            if faults:
                return faults
        world.step()
    faults: list[str] = []
    for k, drive in enumerate(drives):
        truth, start = world.vehicles[drive.name].truth, begun[drive.name]
        if not all(math.isfinite(value) for value in truth):
            faults.append(f"driven {drive.name}, it is at {truth}")
            continue
        aside = truth.y - APART * k
        if drive.faster and not _as_demanded(truth.v_x, start, drive, limits):
            faults.append(
                f"driven {drive.name} from {drive.start:g} m/s with {drive.demand}, it has "
                f"{start:.4g} m/s after {SETTLING} s and {truth.v_x:.4g} m/s after {DURATION} s"
            )
        if drive.left and not drive.left * aside > 1e-3:
            faults.append(
                f"driven {drive.name} with {drive.demand}, it is {aside:.4g} m to the left after "
                f"{DURATION} s"
            )
    return faults


def _drives(limits: Limits, geometry: Geometry) -> Iterator[Run]:
    v = min(SPEED, 0.5 * limits.v_max)
    up, down = min(0.5 * limits.a_max, GENTLE), max(0.5 * limits.a_min, -GENTLE)
    steer = 0.3 * limits.steer_max if math.isfinite(limits.steer_max) else 0.15
    omega = v * math.tan(steer) / geometry.wheel_base if steer else 0.3
    yield Run("faster", v, Demand(a=up, v=1.5 * v), faster=1.0)
    yield Run("on from rest", 0.0, Demand(a=up, v=v), faster=1.0)
    yield Run("slower", v, Demand(a=down, v=0.5 * v), faster=-1.0)
    for name, side in (("to the left", 1.0), ("to the right", -1.0)):
        demand = Demand(steer=side * steer, a=0.2 * up, v=v, omega=side * omega)
        yield Run(name, v, demand, left=side)
    if limits.v_min < 0.0:
        back = max(-v, 0.8 * limits.v_min)
        yield Run("back from rest", 0.0, Demand(a=down, v=back), faster=-1.0)


def _as_demanded(v: m_s, begun: m_s, drive: Run, limits: Limits) -> bool:
    """Whether the speed changed in the demanded direction and, if the vehicle declares limits, by
    the demanded amount: that of the acceleration, or up to the demanded speed."""
    reached = abs(v - drive.demand.v) <= SPEED_SLACK * abs(drive.demand.v - drive.start)
    if reached:
        return True
    able = math.isfinite(limits.a_max if drive.demand.a > 0.0 else limits.a_min)
    gained, goal = v - begun, drive.demand.a * (DURATION - SETTLING)
    return abs(gained - goal) <= SPEED_SLACK * abs(goal) if able else drive.faster * gained > 0.0


def _outside(u: Any, limits: Limits, drive: Run) -> list[str]:
    values = dict(zip(record.names(type(u)), record.flatten(u), strict=True))
    faults = [f"{name} = {value}" for name, value in values.items() if not math.isfinite(value)]
    for name, (low, high) in limits.inputs.items():
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        if not low - slack <= values[name] <= high + slack:
            faults.append(f"{name} = {values[name]:g} is not from {low:g} to {high:g}")
    return [f"driven {drive.name} with {drive.demand}, the input {fault}" for fault in faults]


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
        # Residual motion must decay, unless the model ties it to the speed.
        if residual != 0.0 and not residual * rate < 0.0:
            faults.append(
                f"at standstill {name} = {residual:g} does not die out: its rate is {rate:.6g}"
            )
    return faults


def _parked(subject: Subject, steer: float = 0.0, **moving: float) -> Point:
    """State and input at rest, with some pose and steering angle and matching actuator targets."""
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
STANDING = 0.21
"""Duration in s, long enough for two readings of each sensor."""


def standing(subject: Subject) -> list[str]:
    """Check vehicles behind each other on level ground: each stands, and the second detects the
    first.
    """
    length = _length(subject.body.geometry(subject.params))
    laser = scene.Laser("scan", fov=math.pi, nrays=3, max_range=2.0 * GAP, period=0.1)
    sensors = laser, scene.Imu("imu")
    places = [scene.Pose(-k * (GAP + length), 0.0) for k in range(COUNT)]
    cars = [
        scene.VehicleSpec(str(k), place, subject.vehicle, sensors=sensors)
        for k, place in enumerate(places)
    ]
    world = World(scene.Scene(scene.Settings(timestep=DT), vehicles=tuple(cars)))
    world.run(STANDING)
    shown, truth = world.vehicles["1"].sensors, world.vehicles["0"].truth
    faults: list[str] = []
    if not all(math.isfinite(value) for value in truth):
        faults.append(f"after {STANDING} s it is at {truth}")
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


SHORT = 1e-5
"""Step in s over which the pose of a discrete model is compared with its velocity."""
PUSH = 4.0
"""Speed in m/s above which a body keeps an assigned velocity."""


def motion(subject: Subject) -> list[str]:
    """Check the body's velocity and acceleration against derivatives, after a teleport, and at
    rest.
    """
    body = subject.body
    faults = _derivatives(subject, body) if subject.model.continuous else _steps(subject, body)
    return faults + _put_elsewhere(subject, body) + _at_rest(subject, body)


def _derivatives(subject: Subject, body: Body) -> list[str]:
    """Faults if velocity or acceleration differ from the exact derivatives of pose and velocity."""
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
    """Faults if the mean velocity of a short step is not between the velocities at its ends."""
    p, update = subject.params, subject.updated
    faults: list[str] = []
    for point in subject.calm_points:
        # The first step makes the state consistent.
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
    """Faults if a pushed velocity is not preserved: setting the body's velocity again must change
    nothing.
    """
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
