"""The motion of `formula_student`: slip, friction and loads of its tyres at a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from ..components.axle import Force, yaw_moment
from ..components.grip import Balance, Heading, Tyre, Tyres, balanced, lateral_difference
from ..components.load_transfer import rigid_load_law, under_force
from ..components.resistance import downforce, resistance
from ..components.tyre import friction_on_road
from ..components.wheel import contact_velocities, in_wheel_frame, smooth_slip_angle
from ..ops import cos, sin, smooth_step, sqrt
from ..record import extended
from ..units import Allowed, N, Nm, m_s, one, positive
from .car_params import TyreCarParams
from .car_state import External, State


@extended
class Params(TyreCarParams):
    """Parameters of the Formula Student car; its own are chosen as said beside them."""

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
    ackermann: Annotated[one, Allowed(0.0, 1.0)] = 1.0
    """How much of Ackermann's geometry the steering has: with 1 the wheels of a slow car roll
    without scrub at any angle, with 0 they are parallel. `steer` is the angle of a wheel between
    them."""


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


def headings(x: State, apart: one, p: Params) -> tuple[Heading, Heading]:
    """Where the front wheels point: at right angles to the centre of the turn, as far as
    `ackermann` has it."""
    c, s = cos(x.steer), sin(x.steer)
    inwards = (0.5 * p.track) * (p.ackermann / (p.l_f + p.l_r)) * apart
    return _towards(c - inwards * s, s), _towards(c + inwards * s, s)


def _towards(ahead: one, left: one) -> Heading:
    by_length = 1.0 / sqrt(ahead * ahead + left * left)
    return Heading(ahead * by_length, left * by_length)


def tyres(x: State, apart: one, w: External, p: Params, most: Sequence[one]) -> Tyres:
    """Slip, lateral friction and demanded force of each tyre; `most` as in `tyre.use`."""
    left, right = headings(x, apart, p)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, apart * p.track)
    rolling = (in_wheel_frame(v.fl, *left), in_wheel_frame(v.fr, *right), v.rl, v.rr)
    alpha = [smooth_slip_angle(velocity, p.v_blend) for velocity in rolling]
    mu = friction_on_road(alpha, p.tyre, w.mu_scale)
    demand = [p.C_m0 * tau for tau in (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)]
    fl, fr, rl, rr = (Tyre(*tyre) for tyre in zip(alpha, mu, demand, most, strict=True))
    return Tyres(fl, fr, rl, rr, left, right, w.mu_scale * p.tyre.D)


def motion(x: State, w: External, p: Params, most: Sequence[one] | None = None) -> Motion:
    """Accelerations, yaw moment, loads and friction at a state.

    `most` are the largest shares of their friction along the wheels; p.use_max if not given.
    """
    apart = spread(x, p)
    asked = tyres(x, apart, w, p, most or [p.use_max] * 4)
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    pushed = Force(w.F_x, w.F_y)
    rigid = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drag + pushed.x, pushed.y)
    law = under_force(rigid, pushed, p.m)
    balance = balanced(asked, applied, law, p.m, p.F_floor)
    moment = yaw_moment(balance.front, balance.rear, p.l_f, p.l_r, p.track) + w.M_z
    # Lateral forces must act where their slip is taken, else they could do positive work. Drive
    # forces keep the full track: torque differences turn a slow car too.
    inwards = (0.5 * p.track) * (1.0 - apart) * lateral_difference(asked, balance)
    return Motion(balance, moment + inwards, asked)
