"""Records of `commonroad_mb`.

The signs are upstream's, whose equations hold in axes with y to the right and z down as well as
in those of its output, with y to the left. Read with y to the left, what upstream calls the left
wheel is on the right, a positive roll angle has the left side down, a positive pitch angle the nose
up, and a positive height is below. The names here say so: lean, squat, drop.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...components.magic_formula import Coefficients
from ...components.suspended_axle import AxleParams
from ...record import extended
from ...units import (
    N,
    N_m,
    N_s_m,
    kg,
    kg_m2,
    m,
    m_N,
    m_s,
    m_s2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    s,
)
from .records import CarParams
from .sets import BMW_320I
from .std_records import share


def _axle(which: str) -> AxleParams:
    return AxleParams(**{name: BMW_320I[f"{which}.{name}"] for name in AxleParams._fields})


class State(NamedTuple):
    """Motion of the body, of both axles and of the four wheels, in upstream's order."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: rad = 0.0
    """Steering angle of the front wheels, positive to the left."""
    v_x: m_s = 0.0
    """Velocity along the car, forward positive."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    lean: rad = 0.0
    """Lean of the body, positive with its left side down: minus the roll angle of ISO 8855."""
    lean_rate: rad_s = 0.0
    """Rate of the body's lean."""
    squat: rad = 0.0
    """Squat of the body, positive with its nose up: minus the pitch angle of ISO 8855."""
    squat_rate: rad_s = 0.0
    """Rate of the body's squat."""
    v_y: m_s = 0.0
    """Velocity of the body across the car, positive to the left."""
    drop: m = 0.0
    """How far the body is below its height on unloaded tyres, positive downwards."""
    drop_rate: m_s = 0.0
    """Velocity of the body, positive downwards."""
    lean_f: rad = 0.0
    """Lean of the front axle."""
    lean_rate_f: rad_s = 0.0
    """Rate of the front axle's lean."""
    v_y_f: m_s = 0.0
    """Velocity of the front axle across the car, positive to the left."""
    drop_f: m = 0.0
    """How far the front tyres are pressed together, positive downwards."""
    drop_rate_f: m_s = 0.0
    """Velocity of the front axle, positive downwards."""
    lean_r: rad = 0.0
    """Lean of the rear axle."""
    lean_rate_r: rad_s = 0.0
    """Rate of the rear axle's lean."""
    v_y_r: m_s = 0.0
    """Velocity of the rear axle across the car, positive to the left."""
    drop_r: m = 0.0
    """How far the rear tyres are pressed together, positive downwards."""
    drop_rate_r: m_s = 0.0
    """Velocity of the rear axle, positive downwards."""
    omega_fr: rad_s = 0.0
    """Spin of the front right wheel, positive rolls forward; upstream's left front."""
    omega_fl: rad_s = 0.0
    """Spin of the front left wheel; upstream's right front."""
    omega_rr: rad_s = 0.0
    """Spin of the rear right wheel; upstream's left rear."""
    omega_rl: rad_s = 0.0
    """Spin of the rear left wheel; upstream's right rear."""
    shift_f: m = 0.0
    """How far the body is to the left of the front axle."""
    shift_r: m = 0.0
    """How far the body is to the left of the rear axle."""


MIRROR_ODD = {name: True for name in State._fields if name.startswith(("lean", "shift"))}
"""Fields of the state that a mirror turns round, besides those whose names tell."""


@extended
class Params(CarParams):
    """Masses, springs, tyres and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    m: Annotated[kg, positive] = BMW_320I["m"]
    """Mass of the whole car."""
    m_s: Annotated[kg, positive] = BMW_320I["m_s"]
    """Mass of the body on its springs."""
    I_x_s: Annotated[kg_m2, positive] = BMW_320I["I_x_s"]
    """Inertia of the body about the forward axis."""
    I_y_s: Annotated[kg_m2, positive] = BMW_320I["I_y_s"]
    """Inertia of the body about the axis across."""
    I_z: Annotated[kg_m2, positive] = BMW_320I["I_z"]
    """Yaw inertia of the whole car."""
    I_xz_s: kg_m2 = BMW_320I["I_xz_s"]
    """Product of inertia of the body between lean and yaw."""
    h_s: Annotated[m, non_negative] = BMW_320I["h_s"]
    """Height of the body's centre of mass."""
    R_w: Annotated[m, positive] = BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[kg_m2, positive] = BMW_320I["I_w"]
    """Inertia of a wheel about its axle."""
    K_zt: Annotated[N_m, positive] = BMW_320I["K_zt"]
    """Vertical stiffness of a tyre."""
    K_lt: Annotated[m_N, non_negative] = BMW_320I["K_lt"]
    """How far a lateral force moves the contact patch of a tyre aside."""
    K_ras: Annotated[N_m, non_negative] = BMW_320I["K_ras"]
    """Lateral stiffness of the joint between an axle and the body."""
    K_rad: Annotated[N_s_m, non_negative] = BMW_320I["K_rad"]
    """Lateral damping of that joint."""
    brake_split: share = BMW_320I["brake_split"]
    """Share of the brakes' torque on the front axle."""
    engine_split: share = BMW_320I["engine_split"]
    """Share of the engine's torque on the front axle."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[m_s, non_negative] = 0.1
    """Speed up to which the car follows its wheels."""
    v_dyn: Annotated[m_s, positive] = 2.0
    """Speed from which it follows its tyre forces alone; above v_kin. The spin of a wheel then
    settles with 2300 1/s, less at other speeds: RK4 takes steps of 1 ms."""
    t_kin: Annotated[s, positive] = 0.02
    """Time in which a slow car and its wheels get into line."""
    omega_lock: Annotated[rad_s, positive] = 3.0
    """Spin below which a brake holds its wheel rather than slows it."""
    front: AxleParams = _axle("front")
    """The front axle."""
    rear: AxleParams = _axle("rear")
    """The rear axle."""
    tyre: Coefficients = Coefficients()
    """The tyre of a left wheel; those on the right are its mirror image."""


class Outputs(NamedTuple):
    """Accelerations, loads, slip and forces of the wheels; forces in the axes of the wheels."""

    a_x: m_s2
    """Acceleration of the car over ground, along it."""
    a_y: m_s2
    """Acceleration of the body over ground, across the car, positive to the left."""
    F_z_fl: N
    """Load on the front left tyre."""
    F_z_fr: N
    """Load on the front right tyre."""
    F_z_rl: N
    """Load on the rear left tyre."""
    F_z_rr: N
    """Load on the rear right tyre."""
    alpha_fl: rad
    """Slip angle of the front left wheel, positive when its tyre pushes to the left."""
    alpha_fr: rad
    """Slip angle of the front right wheel."""
    alpha_rl: rad
    """Slip angle of the rear left wheel."""
    alpha_rr: rad
    """Slip angle of the rear right wheel."""
    kappa_fl: one
    """Longitudinal slip of the front left wheel, positive when it drives."""
    kappa_fr: one
    """Longitudinal slip of the front right wheel."""
    kappa_rl: one
    """Longitudinal slip of the rear left wheel."""
    kappa_rr: one
    """Longitudinal slip of the rear right wheel."""
    F_x_fl: N
    """Force along the front left wheel."""
    F_x_fr: N
    """Force along the front right wheel."""
    F_x_rl: N
    """Force along the rear left wheel."""
    F_x_rr: N
    """Force along the rear right wheel."""
    F_y_fl: N
    """Force across the front left wheel, positive to the left."""
    F_y_fr: N
    """Force across the front right wheel."""
    F_y_rl: N
    """Force across the rear left wheel."""
    F_y_rr: N
    """Force across the rear right wheel."""
