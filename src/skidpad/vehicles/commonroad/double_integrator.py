"""`double_integrator`: a point mass along and across a reference path."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...components.additive_disturbance import additive
from ...model import Model, NoDisturbance
from ...units import m, m_s, m_s2, positive
from .factory import CommonRoadFactory
from .sets import BMW_3_SERIES


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


MODEL = additive(
    Model(
        name="double_integrator",
        State=State,
        Input=Input,
        Params=Params,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        mirror_odd={"d": True, "v_d": True, "a_d": True, "a_lat": True},
        summary="Point mass along and across a path; CommonRoad's double integrator",
    )
)

double_integrator = CommonRoadFactory(MODEL)
