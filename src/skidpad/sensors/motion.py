"""Motion of a vehicle's body at one instant, as sensors measure it, and their mounting.

The body point is the reference point of the vehicle's body, the one its state describes: the centre
of mass of most cars, the middle of the rear axle of kinematic ones. `motion_of` computes the motion
from a state and input, `motion_along` from a recorded run.

A mounting is a position from the body point, x forward, y left, z up. The axes of the sensor are
those of the body rotated by yaw about z, then pitch about the new y, then roll about the new x, as
in ROS; each positive by the right-hand rule (yaw to the left, pitch nose down, roll to the right
side down).
"""

from __future__ import annotations

from math import pi
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.body import Acceleration, Pose, Velocity, body_of
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.pose import Rotation, Vector, placed
from ..ops import cos, sin
from ..run.trajectory import Trajectory
from ..units import m, m_s, m_s2, rad, rad_s, rad_s2


class Motion(NamedTuple):
    """Pose, velocity and acceleration of the body; fields that are not set are zero.

    The leaves are numbers, symbols, or arrays of one shape: (steps,) or (steps, vehicles).
    """

    x: m = 0.0
    """x of the body point in the world frame."""
    y: m = 0.0
    """y of the body point in the world frame."""
    z: m = 0.0
    """Height of the body point in the world frame."""
    roll: rad = 0.0
    """Rotation of the body about its x axis, positive with the right side down."""
    pitch: rad = 0.0
    """Rotation of the body about its y axis before roll, positive nose down."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left."""
    v_x: m_s = 0.0
    """Velocity of the body point along the body, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the body point across the body, positive to the left."""
    v_z: m_s = 0.0
    """Velocity of the body point along the body's z axis, up positive."""
    omega_x: rad_s = 0.0
    """Angular velocity about the body's x axis (roll rate on level ground)."""
    omega_y: rad_s = 0.0
    """Angular velocity about the body's y axis."""
    omega: rad_s = 0.0
    """Angular velocity about the body's z axis: the yaw rate, positive to the left."""
    a_x: m_s2 = 0.0
    """Acceleration of the body point over ground along the body, v_x' - v_y omega."""
    a_y: m_s2 = 0.0
    """Acceleration of the body point over ground across the body, v_y' + v_x omega."""
    a_z: m_s2 = 0.0
    """Acceleration of the body point along the body's z axis."""
    omega_x_rate: rad_s2 = 0.0
    """Time derivative of omega_x."""
    omega_y_rate: rad_s2 = 0.0
    """Time derivative of omega_y."""
    omega_rate: rad_s2 = 0.0
    """Time derivative of omega."""
    steer: rad = 0.0
    """Steering angle of the front wheels, positive to the left."""


NOT_KNOWN = Acceleration(*(float("nan"),) * 3)
"""Acceleration of a discrete model, which is unknown: NaN."""


def motion_of(
    vehicle: Vehicle, x: Any, u: Any = None, w: Any = None, p: Any = None, **others: Any
) -> Motion:
    """Motion of a vehicle at a state and input, from its body.

    Accelerations are exact, from the derivative; those of a discrete model are NaN. `x` and `u` are
    records of numbers, symbols or arrays, or arrays with the fields on their last axis, such as a
    fleet's (steps, vehicles, nx). `others` are further fields of the motion, such as the pitch and
    roll of the road.
    """
    body = body_of(vehicle, "a sensor")
    state = _record(vehicle.State, x)
    inputs = record.build(vehicle.Input) if u is None else _record(vehicle.Input, u)
    params = vehicle.params if p is None else p
    if not vehicle.model.continuous:
        acceleration = NOT_KNOWN
    elif body.acceleration is None:
        # Differentiate the velocity along the motion, with constant input.
        push = record.build(vehicle.model.Disturbance) if w is None else w
        columns, shape = _columns([record.flatten(part) for part in (state, inputs, push, params)])
        rates = (_rows(value, shape) for value in _velocity_rate(vehicle)(*columns))
        acceleration = over_ground(*map(Velocity._make, rates))
    else:
        rate = vehicle.derivative(state, inputs, w, params)
        acceleration = body.acceleration(state, rate, params)
    fields = body.pose(state, params)._asdict()
    fields |= body.velocity(state, inputs, params)._asdict() | acceleration._asdict()
    if body.steer is not None:
        fields["steer"] = body.steer(state, inputs, params)
    return _motion({**fields, **others})


def motion_along(trajectory: Trajectory, vehicle: Vehicle | None = None, **others: Any) -> Motion:
    """Motion at every sample of a recorded run, as arrays.

    With the vehicle, the motion is computed by its body and accelerations are exact; those of a
    discrete model, and of one with dead times, are finite differences of the velocities. Without
    it, the columns with the names of the fields of `Motion` are used, and accelerations that were
    not recorded are finite differences. `others` replace or add fields, numbers or arrays.
    """
    if vehicle is None:
        fields = _recorded(trajectory)
    else:
        sizes = trajectory.states.shape[1], trajectory.inputs.shape[1]
        if sizes != (record.size(vehicle.State), record.size(vehicle.Input)):
            raise InvalidValue(
                f"the trajectory was not recorded with {vehicle.name!r}: it has {sizes[0]} states "
                f"and {sizes[1]} inputs, not those of its records"
            )
        # Pair each sample with the input that led to it, as the recorded outputs do; the first
        # sample with the coming input.
        led_there = np.vstack([trajectory.inputs[:1], trajectory.inputs[:-1]])
        fields = motion_of(vehicle, trajectory.states, led_there)._asdict()
        # With dead time, recorded inputs are commands that have not taken effect yet.
        if not vehicle.model.continuous or vehicle.model.dead_times:
            velocity = Velocity(*(fields[name] + 0.0 * trajectory.t for name in Velocity._fields))
            fields |= _differences(velocity, trajectory.t)._asdict()
    motion, shape = _motion({**fields, **others}), (len(trajectory),)
    return Motion._make(np.broadcast_to(np.asarray(leaf, float), shape) for leaf in motion)


def over_ground(velocity: Velocity, change: Velocity) -> Acceleration:
    """Acceleration over ground, from a velocity in body axes and its time derivative."""
    return Acceleration(
        change.v_x - velocity.v_y * velocity.omega,
        change.v_y + velocity.v_x * velocity.omega,
        change.omega,
    )


_RATES: dict[int, tuple[Any, Any]] = {}
"""Cache of the functions of `_velocity_rate`, by model, as they take long to build."""


def _velocity_rate(vehicle: Vehicle) -> Any:
    """CasADi function of x, u, w and p for the velocity of the body and its time derivative."""
    model = vehicle.model
    known = _RATES.get(id(model))
    if known is not None and known[0] is model:
        return known[1]
    import casadi as ca

    traced = vehicle.casadi()
    kinds = (model.State, model.Input, model.Params)
    columns = (traced.x, traced.u, traced.p)
    x, u, p = (
        record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
        for kind, column in zip(kinds, columns, strict=True)
    )
    velocity = ca.vertcat(*body_of(vehicle, "a sensor").velocity(x, u, p))
    change = ca.jtimes(velocity, traced.x, traced.f_expl)
    arguments = [traced.x, traced.u, traced.w, traced.p]
    function = ca.Function("velocity_rate", arguments, [velocity, change])
    _RATES[id(model)] = model, function
    return function


def _columns(parts: list[tuple[Any, ...]]) -> tuple[list[Any], tuple[int, ...] | None]:
    """Arguments in the form that CasADi takes, one column per run, and the shape of a leaf.

    The shape is None for symbols.
    """
    import casadi as ca

    leaves = [leaf for part in parts for leaf in part]
    if any(isinstance(leaf, (ca.SX, ca.MX, ca.DM)) for leaf in leaves):
        return [ca.vertcat(*part) for part in parts], None
    shape = np.broadcast_shapes(*(np.shape(leaf) for leaf in leaves))
    count = int(np.prod(shape))
    flat = [[np.broadcast_to(leaf, shape).ravel() for leaf in part] for part in parts]
    return [np.array(part, dtype=float).reshape(len(part), count) for part in flat], shape


def _rows(value: Any, shape: tuple[int, ...] | None) -> list[Any]:
    if shape is None:
        return [value[k] for k in range(value.shape[0])]
    rows = np.asarray(value)
    return [float(row[0]) if shape == () else row.reshape(shape) for row in rows]


def _recorded(trajectory: Trajectory) -> dict[str, Any]:
    """Select recorded columns that are fields of a motion, and add fields derived from them."""
    fields: dict[str, Any] = {n: trajectory[n] for n in Motion._fields if n in trajectory}
    lacking = [name for name in ("x", "y", "yaw", "v_x") if name not in fields]
    if lacking:
        raise InvalidValue(
            f"the trajectory has no column {', '.join(lacking)}; there are "
            f"{', '.join(trajectory.names)}"
        )
    t = trajectory.t
    fields.setdefault("omega", _rate(fields["yaw"], t))
    fields.setdefault("v_y", np.zeros(len(t)))
    velocity = Velocity(fields["v_x"], fields["v_y"], fields["omega"])
    return _differences(velocity, t)._asdict() | fields


def _differences(velocity: Velocity, t: Any) -> Acceleration:
    """Acceleration along a recorded run, by finite differences of the velocities."""
    return over_ground(velocity, Velocity._make(_rate(part, t) for part in velocity))


def _rate(values: Any, t: Any) -> Any:
    """Time derivative of a sampled quantity by second-order differences; zero for a single
    sample.
    """
    if len(t) == 1:
        return 0.0 * values
    return np.gradient(values, t, edge_order=2 if len(t) > 2 else 1)


def _record(kind: type, values: Any) -> Any:
    if isinstance(values, kind):
        return values
    if isinstance(values, np.ndarray) and values.ndim > 1:
        if values.shape[-1] != record.size(kind):
            raise InvalidValue(
                f"{kind.__name__} has {record.size(kind)} fields on the last axis, "
                f"got shape {values.shape}"
            )
        return record.unflatten(kind, list(np.moveaxis(values, -1, 0)))
    return record.build(kind, values)


def _motion(fields: dict[str, Any]) -> Motion:
    record.check_names("Motion", fields, Motion._fields)
    return Motion(**fields)


FRAMES = {
    "body": (0.0, 0.0, 0.0),
    "optical": (-0.5 * pi, 0.0, -0.5 * pi),
    "frd": (pi, 0.0, 0.0),
}
"""Roll, pitch and yaw of sensor axes by name.

"body" is x forward, y left, z up; "optical" is a camera's, x right, y down, z forward; "frd" is
an aircraft's, x forward, y right, z down.
"""


class Mounting(NamedTuple):
    """Pose of a sensor on its vehicle; at the body point and along its axes by default."""

    x: m = 0.0
    """Position forward of the body point."""
    y: m = 0.0
    """Position to the left of the body point."""
    z: m = 0.0
    """Position above the body point."""
    roll: rad = 0.0
    """Rotation about the sensor's own x axis."""
    pitch: rad = 0.0
    """Rotation about the y axis after yaw; positive points the sensor down."""
    yaw: rad = 0.0
    """Rotation about the body's z axis, positive to the left."""

    @property
    def position(self) -> Vector:
        """Position in body axes, in m."""
        return Vector(self.x, self.y, self.z)


AT_BODY_POINT = Mounting()
"""Default mounting of every sensor."""


def in_frame(frame: str, x: m = 0.0, y: m = 0.0, z: m = 0.0) -> Mounting:
    """Mounting at (x, y, z) with the axes named in `FRAMES`, such as "optical"."""
    if frame not in FRAMES:
        raise InvalidValue(f"frame = {frame!r} is unknown; allowed are {', '.join(FRAMES)}")
    return record.build(Mounting, (x, y, z, *FRAMES[frame]))


def checked_mounting(kind: str, mounting: Any) -> Mounting:
    if not isinstance(mounting, Mounting):
        raise InvalidValue(f"{kind}.mounting must be a Mounting, got {mounting!r}")
    record.check(mounting)
    return mounting


def rotation(roll: rad, pitch: rad, yaw: rad) -> Rotation:
    """Rotation matrix Rz(yaw) Ry(pitch) Rx(roll); maps components in the rotated frame to the
    original frame."""
    c_r, s_r = cos(roll), sin(roll)
    c_p, s_p = cos(pitch), sin(pitch)
    c_y, s_y = cos(yaw), sin(yaw)
    return Rotation(
        c_y * c_p,
        c_y * s_p * s_r - s_y * c_r,
        c_y * s_p * c_r + s_y * s_r,
        s_y * c_p,
        s_y * s_p * s_r + c_y * c_r,
        s_y * s_p * c_r - c_y * s_r,
        -s_p,
        c_p * s_r,
        c_p * c_r,
    )


def cross(a: Vector, b: Vector) -> Vector:
    return Vector(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def added(*vectors: Vector) -> Vector:
    first, *others = vectors
    for v in others:
        first = Vector(first.x + v.x, first.y + v.y, first.z + v.z)
    return first


def sensor_axes(mounting: Mounting) -> Rotation:
    """Rotation from sensor axes to body axes; `turned_back` applies its inverse."""
    return rotation(mounting.roll, mounting.pitch, mounting.yaw)


def pose_in_world(mounting: Mounting, x: m, y: m, yaw: rad) -> Pose:
    """Planar pose of a sensor on a level vehicle whose body point is at (x, y, yaw)."""
    return placed((x, y, yaw), (mounting.x, mounting.y, mounting.yaw))
