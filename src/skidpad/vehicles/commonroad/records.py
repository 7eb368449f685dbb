"""Inputs and parameters that several of CommonRoad's vehicles share."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...units import Allowed, N, m, m_s, m_s2, non_negative, positive, rad, rad_s
from .sets import BMW_3_SERIES, BMW_320I


class BicycleInput(NamedTuple):
    """Commands of the bicycles of commonroad-control. They act as they are, without limits."""

    a: m_s2 = 0.0
    """Acceleration along the car, forward positive."""
    steer_rate: rad_s = 0.0
    """Rate of the steering angle, positive to the left."""


class CarInput(NamedTuple):
    """Commands of the cars of commonroad-vehicle-models; see `components.commonroad_limits`."""

    steer_rate: rad_s = 0.0
    """Wanted rate of the steering angle, positive to the left."""
    a: m_s2 = 0.0
    """Wanted acceleration along the car, forward positive."""


class CarParams(NamedTuple):
    """Geometry and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    l_f: Annotated[m, positive] = BMW_320I["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_320I["l_r"]
    """Distance from the centre of mass to the rear axle."""
    steer_max: Annotated[rad, non_negative] = BMW_320I["steer_max"]
    """Largest steering angle, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = BMW_320I["steer_rate_max"]
    """Largest steering rate, either side."""
    a_max: Annotated[m_s2, non_negative] = BMW_320I["a_max"]
    """Largest acceleration, either way."""
    v_switch: Annotated[m_s, positive] = BMW_320I["v_switch"]
    """Speed above which the engine's power limits the acceleration forwards."""
    v_min: Annotated[m_s, Allowed(high=0.0)] = BMW_320I["v_min"]
    """Fastest in reverse, negative."""
    v_max: Annotated[m_s, positive] = BMW_320I["v_max"]
    """Fastest forwards."""
    length: Annotated[m, positive] = BMW_320I["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = BMW_320I["width"]
    """Width of the body; it does not influence the motion."""


class BicycleParams(NamedTuple):
    """Geometry and limits: the BMW of the 3 series of commonroad-control."""

    l_f: Annotated[m, positive] = BMW_3_SERIES["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_3_SERIES["l_r"]
    """Distance from the centre of mass to the rear axle."""
    a_long_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_long_max"]
    """Largest acceleration along the car, either way; the motion does not apply it."""
    a_lat_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_lat_max"]
    """Largest acceleration across the car, either side; the motion does not apply it."""
    steer_max: Annotated[rad, non_negative] = BMW_3_SERIES["steer_max"]
    """Largest steering angle, either side; the motion does not apply it."""
    steer_rate_max: Annotated[rad_s, non_negative] = BMW_3_SERIES["steer_rate_max"]
    """Largest steering rate, either side; the motion does not apply it."""
    length: Annotated[m, positive] = BMW_3_SERIES["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = BMW_3_SERIES["width"]
    """Width of the body; it does not influence the motion."""


class AxleOutputs(NamedTuple):
    """Accelerations, slip and forces of a front and a rear axle."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    alpha_f: rad
    """Slip angle of the front axle, positive when its tyres push to the left."""
    alpha_r: rad
    """Slip angle of the rear axle, positive when its tyres push to the left."""
    F_y_f: N
    """Lateral force of the front tyres, in the axes of the wheels."""
    F_y_r: N
    """Lateral force of the rear tyres."""
    F_z_f: N
    """Load on the front axle."""
    F_z_r: N
    """Load on the rear axle."""
