"""`double_integrator`: a point mass along and across a reference path."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...body import (
    Acceleration,
    Body,
    Geometry,
    GroundUnder,
    Limits,
    Pose,
    Velocity,
    Wish,
    car_geometry,
)
from ...components.actuator import limited
from ...components.additive_disturbance import additive
from ...components.stopping import asked_acceleration
from ...model import Model, NoDisturbance
from ...ops import tan
from ...units import m, m_s, m_s2, positive, s
from .factory import CommonRoadFactory
from .sets import BMW_3_SERIES

TURN_TIME: s = 0.3
"""In which a command brings about a velocity across the path."""


class State(NamedTuple):
    """Position and velocity in the coordinates of a path: along it and to its left."""

    s: m = 0.0
    """Distance along the path."""
    d: m = 0.0
    """Distance from the path, positive to the left."""
    v_s: m_s = 0.0
    """Velocity along the path."""
    v_d: m_s = 0.0
    """Velocity across the path, positive to the left."""


class Input(NamedTuple):
    """Accelerations, which act as they are."""

    a_s: m_s2 = 0.0
    """Acceleration along the path."""
    a_d: m_s2 = 0.0
    """Acceleration across the path, positive to the left."""


class Params(NamedTuple):
    """Limits that the motion itself does not need."""

    a_long_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_long_max"]
    """Largest acceleration along the path, either way; see `skidpad.linearise`."""
    a_lat_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_lat_max"]
    """Largest acceleration across the path, either side."""


class Outputs(NamedTuple):
    """Accelerations."""

    a_long: m_s2
    """Acceleration along the path."""
    a_lat: m_s2
    """Acceleration across the path, positive to the left."""


def derivative(x: State, u: Input, w: NoDisturbance, p: Params) -> State:
    """Time derivative of the state."""
    return State(x.v_s, x.v_d, u.a_s, u.a_d)


def outputs(x: State, u: Input, w: NoDisturbance, p: Params) -> Outputs:
    """The accelerations commanded."""
    return Outputs(u.a_s, u.a_d)


def pose(x: State, p: Params) -> Pose:
    """On a straight path along the world's x axis, which the mass always faces."""
    return Pose(x.s, x.d, 0.0 * x.s)


def velocity(x: State, u: Input, p: Params) -> Velocity:
    """Along and across the path; it never turns."""
    return Velocity(x.v_s, x.v_d, 0.0 * x.v_s)


def acceleration(x: State, rate: State, p: Params) -> Acceleration:
    """Along and across the path."""
    return Acceleration(rate.v_s, rate.v_d, 0.0 * rate.v_s)


def placed(x: State, pose: Pose, velocity: Velocity, p: Params) -> State:
    """Elsewhere; a turn is left out."""
    return State(pose.x, pose.y, velocity.v_x, velocity.v_y)


def geometry(p: Params) -> Geometry:
    """A car of the size that commonroad-control draws for it; its wheels do not turn."""
    half = 0.5 * BMW_3_SERIES["length"]
    return car_geometry(
        front_axle=BMW_3_SERIES["l_f"],
        rear_axle=-BMW_3_SERIES["l_r"],
        front=half,
        rear=-half,
        width=BMW_3_SERIES["width"],
        height=1.45,
        mass=BMW_3_SERIES["m"],
        centre_of_mass=(0.0, 0.0),
        steer="",
    )


def limits(p: Params) -> Limits:
    """Those of the parameters; the motion does not apply them."""
    along, across = p.a_long_max, p.a_lat_max
    ranges = {"a_s": (-along, along), "a_d": (-across, across)}
    return Limits(a_max=along, a_min=-along, grip=across, inputs=ranges)


def command(x: State, wish: Wish, p: Params) -> Input:
    """It goes the way that the wheels of a car would point: at v tan(steer) to the left."""
    across = (x.v_s * tan(wish.steer) - x.v_d) * (1.0 / TURN_TIME)
    along = asked_acceleration(wish, x.v_s)
    return Input(limited(along, p.a_long_max), limited(across, p.a_lat_max))


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Params) -> tuple[Input, Any]:
    """Gravity as a disturbance of the velocities."""
    if ground.down is None:
        return u, w
    return u, w._replace(v_s=ground.g * ground.down.x, v_d=ground.g * ground.down.y)


MODEL = additive(
    Model(
        name="double_integrator",
        State=State,
        Input=Input,
        Params=Params,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        body=Body(
            reference="the mass",
            pose=pose,
            velocity=velocity,
            acceleration=acceleration,
            placed=placed,
            geometry=geometry,
            limits=limits,
            command=command,
            on_ground=on_ground,
        ),
        mirror_odd={"d": True, "v_d": True, "a_d": True, "a_lat": True},
        summary="Point mass along and across a path; CommonRoad's double integrator",
    )
)

double_integrator = CommonRoadFactory(MODEL)
