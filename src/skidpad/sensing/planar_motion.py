"""How the body of a vehicle moves at a state and an input, for the sensors that ride on it.

Three kinds of vehicles, as far as it goes:

1. Continuous ones with x, y, yaw, v_x, v_y and omega in their state: everything, from the
   derivative (`sensors.motion_of`).
2. Continuous ones with x, y and yaw: velocities are what the derivative of the pose says, and the
   accelerations are its derivative along the motion, the input constant.
3. Discrete ones: v_x, v_y and omega as state and outputs have them, v_y zero if neither does.
   Their accelerations are not known, which NaN stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..components.rigid_body import Acceleration, body_acceleration
from ..errors import InvalidValue
from ..model import Vehicle
from .motion import Motion, motion_of

MotionOf = Callable[[Any, Any, Any], Motion]
"""The motion at a state, an input and a disturbance record (None: at rest)."""


class MotionSource(NamedTuple):
    """Where the motion of a vehicle comes from."""

    motion: MotionOf
    accelerations: bool
    """Whether accelerations are in it."""


_POSE = ("x", "y", "yaw")
_VELOCITY = ("v_x", "v_y", "omega")
GIVE_MOTION = "give motion=, a function of x, u and w that returns a sensors.Motion"
_UNKNOWN = dict.fromkeys(("a_x", "a_y", "omega_rate"), float("nan"))


def planar_motion(vehicle: Vehicle) -> MotionSource:
    """The function that gives the motion of this vehicle; raises if there is none."""
    names = record.names(vehicle.State)
    lacking = [name for name in _POSE if name not in names]
    if lacking:
        raise InvalidValue(
            f"vehicle = {vehicle.name!r} has no {', '.join(lacking)} in its state: {GIVE_MOTION}"
        )
    if not vehicle.model.continuous:
        return MotionSource(_as_told(vehicle), False)
    if all(name in names for name in _VELOCITY):
        return MotionSource(lambda x, u, w: motion_of(vehicle, x, u, w), True)
    return MotionSource(_along_the_motion(vehicle), True)


def _as_told(vehicle: Vehicle) -> MotionOf:
    outputs = record.names(vehicle.model.Outputs)
    known = {*record.names(vehicle.State), *outputs}
    lacking = [name for name in ("v_x", "omega") if name not in known]
    if lacking:
        raise InvalidValue(
            f"vehicle = {vehicle.name!r} tells no {', '.join(lacking)}: {GIVE_MOTION}"
        )

    def motion(x: Any, u: Any, w: Any) -> Motion:
        told = vehicle.outputs(x, u, w)
        found: dict[str, Any] = {}
        for name in (*_POSE, *_VELOCITY, "steer"):
            holder = x if hasattr(x, name) else told
            if hasattr(holder, name):
                found[name] = getattr(holder, name)
        return Motion(**found, **_UNKNOWN)

    return motion


def _along_the_motion(vehicle: Vehicle) -> MotionOf:
    import casadi as ca

    model = vehicle.casadi()
    f: Any = model.f_expl
    names = record.names(vehicle.State)
    state = {name: model.x[k] for k, name in enumerate(names)}
    rate = dict(zip(names, ca.vertsplit(f), strict=True))
    c, s = ca.cos(state["yaw"]), ca.sin(state["yaw"])
    velocity = ca.vertcat(c * rate["x"] + s * rate["y"], c * rate["y"] - s * rate["x"], rate["yaw"])
    change = ca.jtimes(velocity, model.x, f)
    function = ca.Function("motion", [model.x, model.u, model.w, model.p], [velocity, change])
    rest = record.build(vehicle.model.Disturbance)

    def motion(x: Any, u: Any, w: Any) -> Motion:
        given = [x, u, rest if w is None else w, vehicle.params]
        columns, shape = _columns([record.flatten(part) for part in given])
        (v_x, v_y, omega), (v_x_rate, v_y_rate, omega_rate) = (
            _rows(value, shape) for value in function(*columns)
        )
        a = body_acceleration(Acceleration(v_x_rate, v_y_rate), v_x, v_y, omega)
        pose = {name: getattr(x, name) for name in (*_POSE, "steer") if hasattr(x, name)}
        return Motion(
            **pose, v_x=v_x, v_y=v_y, omega=omega, a_x=a.x, a_y=a.y, omega_rate=omega_rate
        )

    return motion


def _columns(parts: list[tuple[Any, ...]]) -> tuple[list[Any], tuple[int, ...] | None]:
    """Each part as CasADi takes it, one column per run, and the shape of a leaf; None of
    symbols."""
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
