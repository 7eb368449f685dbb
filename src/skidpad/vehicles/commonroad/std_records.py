"""Records of `commonroad_std`."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...components.magic_formula import Coefficients
from ...record import extended
from ...units import Allowed, N, kg, kg_m2, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from .records import CarParams
from .sets import BMW_320I

share = Annotated[one, Allowed(0.0, 1.0)]
"""A pure number from 0 to 1."""


class State(NamedTuple):
    """Pose, speed, slip angle, steering angle and wheel spin. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""
    v: m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    beta: rad = 0.0
    """Slip angle: direction of travel less heading, positive to the left."""
    omega_f: rad_s = 0.0
    """Spin of the front wheels, positive rolls forward."""
    omega_r: rad_s = 0.0
    """Spin of the rear wheels, positive rolls forward."""


@extended
class Params(CarParams):
    """Masses, wheels, tyres and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    m: Annotated[kg, positive] = BMW_320I["m"]
    """Mass."""
    I_z: Annotated[kg_m2, positive] = BMW_320I["I_z"]
    """Yaw inertia about the centre of mass."""
    h_s: Annotated[m, non_negative] = BMW_320I["h_s"]
    """Height at which acceleration moves load between the axles: that of the sprung mass."""
    R_w: Annotated[m, positive] = BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[kg_m2, positive] = BMW_320I["I_w"]
    """Inertia of a wheel about its axle; of an axle's two under compat="upstream"."""
    brake_split: share = BMW_320I["brake_split"]
    """Share of the brakes' torque on the front axle."""
    engine_split: share = BMW_320I["engine_split"]
    """Share of the engine's torque on the front axle."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[m_s, non_negative] = 0.1
    """Speed up to which the car follows its wheels."""
    v_dyn: Annotated[m_s, positive] = 2.0
    """Speed from which it follows its tyre forces alone; above v_kin. The spin of the wheels then
    settles with up to 3500 1/s, less at other speeds: RK4 needs steps below 0.8 ms, Radau not."""
    t_kin: Annotated[s, positive] = 0.02
    """Time in which a slow car and its wheels get into line."""
    omega_lock: Annotated[rad_s, positive] = 3.0
    """Spin below which a brake holds its wheel rather than slows it."""
    tyre: Coefficients = Coefficients()
    """The tyres, two on each axle."""


class Outputs(NamedTuple):
    """Accelerations, slip, forces and loads of the axles; forces in the axes of the wheels."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    alpha_f: rad
    """Slip angle of the front wheels, positive when their tyres push to the left."""
    alpha_r: rad
    """Slip angle of the rear wheels, positive when their tyres push to the left."""
    kappa_f: one
    """Longitudinal slip of the front wheels, positive when they drive."""
    kappa_r: one
    """Longitudinal slip of the rear wheels, positive when they drive."""
    F_x_f: N
    """Force along the front wheels."""
    F_x_r: N
    """Force along the rear wheels."""
    F_y_f: N
    """Force across the front wheels, positive to the left."""
    F_y_r: N
    """Force across the rear wheels, positive to the left."""
    F_z_f: N
    """Load on the front axle."""
    F_z_r: N
    """Load on the rear axle."""
