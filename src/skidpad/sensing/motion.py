"""How a vehicle's body moves at one instant: what the sensors look at.

The body point is the one the vehicle's state describes: the centre of mass of the cars, the middle
of the rear axle of the command-driven models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..components.rigid_body import Acceleration, body_acceleration
from ..errors import InvalidValue
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from ..units import m, m_s, m_s2, rad, rad_s, rad_s2


class Motion(NamedTuple):
    """Pose, velocity and acceleration of the body; what is not given is zero.

    The leaves are numbers, symbols, or arrays of one shape: (steps,) or (steps, vehicles).
    """

    x: m = 0.0
    """Position of the body point in the world frame."""
    y: m = 0.0
    """Position of the body point in the world frame."""
    z: m = 0.0
    """Height of the body point in the world frame."""
    roll: rad = 0.0
    """Turn of the body about its x axis, positive with the right side down."""
    pitch: rad = 0.0
    """Turn of the body about its y axis before roll, positive nose down."""
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


def motion_of(
    vehicle: Vehicle, x: Any, u: Any = None, w: Any = None, p: Any = None, **others: Any
) -> Motion:
    """The motion at a state and input of a continuous vehicle, its accelerations exact.

    `x` and `u` are records of numbers, symbols or arrays, or arrays with the fields on their last
    axis, such as a fleet's (steps, vehicles, nx). `others` are further fields of the motion: the
    pitch and roll of the road, say. The state needs x, y, yaw, v_x, v_y and omega.
    """
    state = _record(vehicle.State, x)
    lacking = [name for name in _PLANAR if name not in vehicle.State._fields]
    if lacking:
        raise InvalidValue(
            f"the state of {vehicle.name!r} has no {', '.join(lacking)}: "
            "take its motion from a recorded run with motion_along, or build a Motion"
        )
    inputs = record.build(vehicle.Input) if u is None else _record(vehicle.Input, u)
    rate = vehicle.derivative(state, inputs, w, p)
    turning = Acceleration(rate.v_x, rate.v_y)
    a = body_acceleration(turning, state.v_x, state.v_y, state.omega)
    found = {name: getattr(state, name) for name in (*_PLANAR, "steer") if hasattr(state, name)}
    found |= {"a_x": a.x, "a_y": a.y, "omega_rate": rate.omega}
    return _checked_fields({**found, **others})


_PLANAR = ("x", "y", "yaw", "v_x", "v_y", "omega")


def motion_along(trajectory: Trajectory, vehicle: Vehicle | None = None, **others: Any) -> Motion:
    """The motion at every sample of a recorded run, as arrays.

    With a vehicle that `motion_of` takes, accelerations are exact. Otherwise they are the columns
    `a_x`, `a_y` and `omega_rate` where recorded, and differences of the velocities where not.
    `others` replace or add fields, numbers or arrays.
    """
    if vehicle is not None and _gives_rates(vehicle, trajectory):
        # As the recorded outputs: the input that led to a sample, at the first the coming one.
        led_there = np.vstack([trajectory.inputs[:1], trajectory.inputs[:-1]])
        found = motion_of(vehicle, trajectory.states, led_there)._asdict()
    else:
        found = _recorded(trajectory)
    return _broadcast(_checked_fields({**found, **others}), len(trajectory))


def _gives_rates(vehicle: Vehicle, trajectory: Trajectory) -> bool:
    """Whether the vehicle's derivative says how it accelerated in a run recorded with it."""
    given = trajectory.states.shape[1], trajectory.inputs.shape[1]
    if given != (record.size(vehicle.State), record.size(vehicle.Input)):
        raise InvalidValue(
            f"the trajectory was not recorded with {vehicle.name!r}: it has {given[0]} states and "
            f"{given[1]} inputs, not those of its records"
        )
    # With dead time what was recorded are the commands, not what acted.
    known = vehicle.model.continuous and not vehicle.model.dead_times
    return known and all(name in vehicle.State._fields for name in _PLANAR)


def _recorded(trajectory: Trajectory) -> dict[str, Any]:
    found: dict[str, Any] = {n: trajectory[n] for n in Motion._fields if n in trajectory}
    lacking = [name for name in ("x", "y", "yaw", "v_x") if name not in found]
    if lacking:
        raise InvalidValue(
            f"the trajectory has no column {', '.join(lacking)}; there are "
            f"{', '.join(trajectory.names)}"
        )
    t = trajectory.t
    zero = np.zeros(len(t))
    found.setdefault("omega", _rate(found["yaw"], t))
    v_y = found.setdefault("v_y", zero)
    found.setdefault("omega_rate", _rate(found["omega"], t))
    if not {"a_x", "a_y"} <= found.keys():
        turning = Acceleration(_rate(found["v_x"], t), _rate(v_y, t))
        a = body_acceleration(turning, found["v_x"], v_y, found["omega"])
        found = {"a_x": a.x, "a_y": a.y} | found
    return found


def _rate(values: Any, t: Any) -> Any:
    """Time derivative by second-order differences; zero of a single sample."""
    if len(t) == 1:
        return 0.0 * values
    return np.gradient(values, t, edge_order=2 if len(t) > 2 else 1)


def _record(kind: type, given: Any) -> Any:
    if isinstance(given, kind):
        return given
    if isinstance(given, np.ndarray) and given.ndim > 1:
        if given.shape[-1] != record.size(kind):
            raise InvalidValue(
                f"{kind.__name__} has {record.size(kind)} fields on the last axis, "
                f"got shape {given.shape}"
            )
        return record.unflatten(kind, list(np.moveaxis(given, -1, 0)))
    return record.build(kind, given)


def _checked_fields(found: dict[str, Any]) -> Motion:
    for name in found:
        if name not in Motion._fields:
            raise InvalidValue(record.unknown_name("Motion", name, Motion._fields))
    return Motion(**found)


def _broadcast(motion: Motion, count: int) -> Motion:
    return Motion._make(np.broadcast_to(np.asarray(leaf, float), (count,)) for leaf in motion)
