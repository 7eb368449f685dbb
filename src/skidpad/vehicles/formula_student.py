"""`formula_student`: the default car, one model from standstill to the limit.

It is `four_wheel` with three differences, small or absent in ordinary driving:

* Below `v_blend` the wheels of an axle move together into its middle, as in a bicycle, and the
  tyres turn into lateral dampers. As the lateral force that driving needs falls with the square of
  speed, the wheels then roll practically without slip: the car is kinematic at low speed, and at
  rest it rests. Forces only ever oppose slip, so no energy appears in the blend, which mixing the
  equations of two models would not ensure.
* Drive and brake share the friction of a tyre with cornering (friction ellipse).
* Wheels lift: no load is negative, and what one axle cannot carry goes to the other.

Equations: docs/vehicles.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

from ..components.axle import Force, yaw_moment
from ..components.grip import Balance, Tyre, Tyres, balanced, each_tyre, lateral_difference
from ..components.load_transfer import rigid_load_law, under_force, wheel_loads
from ..components.resistance import downforce, resistance
from ..components.tyre import FrictionLaw, friction_on_road, softened_friction
from ..components.wheel import contact_velocities, in_wheel_frame, smooth_slip_angle
from ..model import Model
from ..ops import cos, sin, smooth_step, where
from ..record import extended
from ..units import (
    Allowed,
    N,
    Nm,
    m_s,
    one,
    positive,
)
from .car_body import CAR
from .car_factory import CarFactory
from .car_params import TyreCarParams
from .car_state import (
    External,
    Input,
    Outputs,
    State,
    actuator_rates,
    body_rates,
    energy,
    least,
    wheel_outputs,
)


@extended
class Params(TyreCarParams):
    """Parameters of the Formula Student car; its own are chosen as said beside them."""

    v_blend: Annotated[m_s, positive] = 3.0
    """Speed from which all four wheels roll on their own paths. At 3 m/s and full lock cornering
    takes a slip angle of half a degree: little is left to tell dynamic from kinematic."""
    blend_low: Annotated[one, Allowed(0.0, 0.9)] = 1.0 / 3.0
    """Share of v_blend up to which the car is a bicycle. Parallel steering would make the wheels
    of a slow car scrub at full lock, which the linkage of a real car avoids."""
    use_max: Annotated[one, Allowed(0.0, 0.99, open_low=True)] = 0.95
    """Largest share of a tyre's friction that drive or brake gets. Nearer to 1 the loads depend on
    themselves so strongly that they may have no unique solution (seen at 0.995)."""
    F_floor: Annotated[N, positive] = 1.0
    """Friction limit below which a wheel counts as in the air."""


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    balance: Balance
    moment: Nm
    tyres: Tyres


def spread(x: State, p: Params) -> one:
    """How far the wheels of an axle are apart as a share of the track: 0 for a bicycle, 1 above.

    It goes by the squared speed, which unlike the speed is smooth at rest.
    """
    share2 = (x.v_x * x.v_x + x.v_y * x.v_y) * (1.0 / (p.v_blend * p.v_blend))
    return smooth_step(share2, p.blend_low * p.blend_low, 1.0)


def tyres(x: State, apart: one, w: External, p: Params, grip: FrictionLaw) -> Tyres:
    """Slip, lateral friction and demanded force of each tyre."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, apart * p.track)
    rolling = (in_wheel_frame(v.fl, c, s), in_wheel_frame(v.fr, c, s), v.rl, v.rr)
    alpha = [smooth_slip_angle(velocity, p.v_blend) for velocity in rolling]
    mu = grip(alpha, p.tyre, w.mu_scale)
    demand = [p.C_m0 * tau for tau in (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)]
    fl, fr, rl, rr = (Tyre(*tyre) for tyre in zip(alpha, mu, demand, strict=True))
    return Tyres(fl, fr, rl, rr, c, s, w.mu_scale * p.tyre.D)


def motion(x: State, w: External, p: Params, grip: FrictionLaw = friction_on_road) -> Motion:
    """Accelerations, yaw moment, loads and friction at a state."""
    apart = spread(x, p)
    asked = tyres(x, apart, w, p, grip)
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    pushed = Force(w.F_x, w.F_y)
    rigid = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drag + pushed.x, pushed.y)
    law = under_force(rigid, pushed, p.m)
    balance = balanced(asked, applied, law, p.m, p.use_max, p.F_floor)
    moment = yaw_moment(balance.front, balance.rear, p.l_f, p.l_r, p.track) + w.M_z
    # Lateral forces must act where their slip is taken, else they could do positive work. Drive
    # forces keep the full track: torque differences turn a slow car too.
    inwards = (0.5 * p.track) * (1.0 - apart) * lateral_difference(asked, balance)
    return Motion(balance, moment + inwards, asked)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    return _rates(x, u, p, motion(x, w, p))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip angles and tyre forces. `wheel_lift` marks a wheel in the air."""
    return _shown(motion(x, w, p))


def former_derivative(x: State, u: Input, w: External, p: Params) -> State:
    """`derivative` of version 0.1."""
    return _rates(x, u, p, motion(x, w, p, softened_friction))


def former_outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """`outputs` of version 0.1."""
    return _shown(motion(x, w, p, softened_friction))


def _rates(x: State, u: Input, p: Params, now: Motion) -> State:
    return body_rates(x, now.balance.a, now.moment * (1.0 / p.I_z), actuator_rates(x, u, p))


def _shown(now: Motion) -> Outputs:
    F_z = wheel_loads(now.balance.load)
    pairs = list(zip(now.balance.friction, F_z, strict=True))
    return wheel_outputs(
        now.balance.a,
        F_z,
        [tyre.alpha for tyre in each_tyre(now.tyres)],
        [f.x * load for f, load in pairs],
        [f.y * load for f, load in pairs],
        where(least(F_z) <= 0.0, 1.0, 0.0),
    )


MODEL = Model(
    name="formula_student",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    Disturbance=External,
    derivative=derivative,
    outputs=outputs,
    energy=energy,
    body=CAR,
    summary="The default car: one model from standstill to the limit",
)

FORMER_MODEL = replace(MODEL, derivative=former_derivative, outputs=former_outputs)
"""The car of version 0.1."""

formula_student = CarFactory(MODEL, FORMER_MODEL)
