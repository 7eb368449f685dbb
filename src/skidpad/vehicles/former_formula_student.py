"""`formula_student` as it was in version 0.1, kept under `compat="0.1"`: S1 to S6 of
docs/errata.md.

A planar car whose wheels do not spin. Below `v_blend` they move together into the middle of their
axle, as in a bicycle, and the tyres turn into lateral dampers. Drive and brake share the friction
of a tyre with cornering, and no load is negative. Its front wheels are parallel, less grip softens
its tyres, and its loads are two guesses.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..core.model import Model
from ..core.record import extended
from ..ops import cos, sin, smooth_step, where
from ..tyres.simple import softened_friction
from ..units import Allowed, N, Nm, kg, m_s, one, positive
from .car_state import (
    CAR,
    External,
    Input,
    Outputs,
    State,
    TyreCarParams,
    actuator_rates,
    body_rates,
    energy,
    least,
    wheel_outputs,
)
from .parts.air import downforce, resistance
from .parts.kinematics import Acceleration
from .parts.load_transfer import (
    Force,
    Friction,
    LoadLaw,
    accelerations,
    contact_velocities,
    in_wheel_frame,
    rigid_load_law,
    road_law,
    road_load,
    smooth_slip_angle,
    tyre_force,
    under_force,
    wheel_loads,
    yaw_moment,
)
from .parts.wheel_friction import (
    Balance,
    Heading,
    Tyre,
    Tyres,
    Wheels,
    by_axle,
    each_tyre,
    first_guess,
    limited,
    resulting,
    shares,
)


@extended
class Params(TyreCarParams):
    """Parameters of the Formula Student car of version 0.1; its own are chosen as said beside
    them."""

    v_blend: Annotated[m_s, positive] = 3.0
    """Speed from which all four wheels roll on their own paths. At 3 m/s and full lock cornering
    takes a slip angle of half a degree: little is left to tell dynamic from kinematic."""
    blend_low: Annotated[one, Allowed(0.0, 0.9)] = 1.0 / 3.0
    """Share of v_blend up to which the car is a bicycle."""
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


def motion(x: State, w: External, p: Params) -> Motion:
    """Accelerations, yaw moment, loads and friction at a state."""
    apart = spread(x, p)
    asked = parallel_tyres(x, apart, w, p)
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    pushed = Force(w.F_x, w.F_y)
    rigid = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drag + pushed.x, pushed.y)
    law = under_force(rigid, pushed, p.m)
    balance = truncated(asked, applied, law, p.m, p.F_floor)
    moment = yaw_moment(balance.front, balance.rear, p.l_f, p.l_r, p.track) + w.M_z
    fl, fr = (
        f.y * load
        for f, load in zip(balance.friction[:2], wheel_loads(balance.load)[:2], strict=True)
    )
    inwards = (0.5 * p.track) * (1.0 - apart) * (asked.left.s * (fr - fl))
    return Motion(balance, moment + inwards, asked)


def parallel_tyres(x: State, apart: one, w: External, p: Params) -> Tyres:
    """Slip, lateral friction and demanded force of each tyre."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, apart * p.track)
    rolling = (in_wheel_frame(v.fl, c, s), in_wheel_frame(v.fr, c, s), v.rl, v.rr)
    alpha = [smooth_slip_angle(velocity, p.v_blend) for velocity in rolling]
    mu = softened_friction(alpha, p.tyre, w.mu_scale)
    demand = [p.C_m0 * tau for tau in (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)]
    most = [p.use_max] * 4
    fl, fr, rl, rr = (Tyre(*tyre) for tyre in zip(alpha, mu, demand, most, strict=True))
    ahead = Heading(c, s)
    return Tyres(fl, fr, rl, rr, ahead, ahead, w.mu_scale * p.tyre.D)


def truncated(tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, floor: N) -> Balance:
    """The loop of loads and friction, left after two guesses."""
    a = first_guess(tyres, applied, rigid, m, floor)
    a = second_guess(a, tyres, applied, rigid, m, floor)
    load = road_load(a, rigid)
    wheels = limited(tyres, shares(tyres, load, floor))
    front, rear = by_axle(tyres, wheels)
    a = accelerations(applied, front, rear, road_law(a, load, rigid), m)
    a = accelerations(applied, front, rear, road_law(a, road_load(a, rigid), rigid), m)
    load = road_load(a, rigid)
    force_f, force_r = tyre_force(front, load.front), tyre_force(rear, load.rear)
    return Balance(resulting(applied, force_f, force_r, m), load, force_f, force_r, wheels)


def second_guess(
    a: Acceleration, tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, floor: N
) -> Acceleration:
    """Exact solution with the ellipse of the loads at `a` and all wheels on the road."""
    load = road_load(a, rigid)
    used = shares(tyres, load, floor)
    pairs = list(zip(each_tyre(tyres), used, strict=True))
    slide = Wheels(
        *(Friction(tyres.peak * share.sliding, tyre.mu * share.across) for tyre, share in pairs)
    )
    fl, fr, rl, rr = (
        tyres.peak * F_z * share.firm for F_z, share in zip(wheel_loads(load), used, strict=True)
    )
    c, s = tyres.left
    firm = Force(applied.x + c * (fl + fr) + rl + rr, applied.y + s * (fl + fr))
    return accelerations(firm, *by_axle(tyres, slide), rigid, m)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    now = motion(x, w, p)
    return body_rates(x, now.balance.a, now.moment * (1.0 / p.I_z), actuator_rates(x, u, p))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip angles and tyre forces. `wheel_lift` marks a wheel in the air."""
    now = motion(x, w, p)
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


FORMER_MODEL = Model(
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
    summary="The Formula Student car of version 0.1",
)
