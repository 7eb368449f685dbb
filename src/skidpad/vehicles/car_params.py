"""Parameters that the cars of `car_state` share.

The numbers are those of the brains2 project's Formula Student car (`car_constants.yaml`), but for
C_m0, with which it drives 3 % harder than its torque; g and v_0 are the constants 9.81 and 1/10
written into its equations.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..components.tyre import MagicFormula
from ..record import extended
from ..units import (
    N,
    N_Nm,
    N_s2_m2,
    N_s_m,
    Nm,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    positive,
    rad,
    rad_s,
    s,
)

WHEEL_RADIUS: m = 0.20809
UPSTREAM_C_M0: N_Nm = 4.950
"""Drive force per wheel torque of the car of brains2, and of all in version 0.1."""


class RollingCarParams(NamedTuple):
    """A car with four driven wheels and one steering angle, whatever its wheels do sideways."""

    m: Annotated[kg, positive] = 230.0
    """Mass with driver."""
    I_z: Annotated[kg_m2, positive] = 200.0
    """Yaw inertia about the centre of mass."""
    l_f: Annotated[m, positive] = 0.7853
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = 0.7853
    """Distance from the centre of mass to the rear axle."""
    track: Annotated[m, positive] = 1.24
    """Distance between the wheels of an axle."""
    C_m0: Annotated[N_Nm, non_negative] = 1.0 / WHEEL_RADIUS
    """Drive force per wheel torque: one over the radius of the wheels, or less with losses."""
    C_r0: Annotated[N, non_negative] = 350.0
    """Constant driving resistance."""
    C_r1: Annotated[N_s_m, non_negative] = 20.0
    """Driving resistance per speed."""
    C_r2: Annotated[N_s2_m2, non_negative] = 3.0
    """Driving resistance per speed squared."""
    t_tau: Annotated[s, positive] = 0.001
    """Time constant of the wheel torques."""
    t_steer: Annotated[s, positive] = 0.02
    """Time constant of the steering."""
    tau_max: Annotated[Nm, non_negative] = 276.75
    """Largest torque target of a wheel, either sign."""
    steer_max: Annotated[rad, non_negative] = 0.5
    """Largest steering target, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = 1.0
    """Largest steering rate, either side."""
    v_0: Annotated[m_s, positive] = 0.1
    """Speed below which the driving resistance fades to zero."""


@extended
class TyreCarParams(RollingCarParams):
    """The same on tyres, which carry loads."""

    z_cg: Annotated[m, non_negative] = 0.295
    """Height of the centre of mass."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    C_down: Annotated[N_s2_m2, non_negative] = 3.96864
    """Downforce coefficient: downforce is ½ C_down v_x²."""
    tyre: MagicFormula = MagicFormula()
    """Lateral force of each tyre."""
