"""A body on four wheels that move up and down by themselves: states, travel, and what links do.

How links guide a wheel says both how its contact patch moves as the wheel travels, and which part
of the force at the patch goes past the spring: the one by power is the other, so energy is exact.
With the lever g = 2 h_rc / track (outwards per travel) a lateral force F_y presses a wheel by
g F_y up, or down on the other side, and the body by as much the other way: that is the load past
the springs, and jacking. Along the car links carry their shares of m a_x z_cg / L.

Unsprung masses go across as those of a rigid axle would, at their own height.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..units import N, N_s_m, kg, kg_m2, m, m_s, m_s2, non_negative, positive, rad, rad_s
from .axle import Force
from .rigid_body import Acceleration
from .sprung_mass import link_share, link_shares, sprung_mass
from .wheel import Velocity

__all__ = [
    "SuspendedBody",
    "SuspensionState",
    "SuspensionTravel",
    "axle_forces",
    "link_forces",
    "patch_velocities",
    "travel_rates",
    "travels",
]

Four = tuple[Any, Any, Any, Any]
SIDES = (1.0, -1.0, 1.0, -1.0)
"""Of the wheels: 1 left, -1 right."""


class SuspendedBody(NamedTuple):
    """Masses and links; the defaults are those of a Ford Escort (CommonRoad's vehicle 1), whose
    roll centres are on the ground and whose links carry nothing."""

    I_x: Annotated[kg_m2, positive] = 244.04723069965206
    """Roll inertia of the sprung mass about its centre of mass."""
    I_y: Annotated[kg_m2, positive] = 1342.2597688480864
    """Pitch inertia of the sprung mass about its centre of mass."""
    m_u_f: Annotated[kg, positive] = 65.67256321742863
    """Unsprung mass of the front axle, both wheels."""
    m_u_r: Annotated[kg, positive] = 65.67256321742863
    """Unsprung mass of the rear axle."""
    h_u_f: Annotated[m, non_negative] = 0.344
    """Height of the centre of the front unsprung mass."""
    h_u_r: Annotated[m, non_negative] = 0.344
    """Height of the centre of the rear unsprung mass."""
    h_rc_f: m = 0.0
    """Height of the front roll centre."""
    h_rc_r: m = 0.0
    """Height of the rear roll centre."""
    anti_dive: link_share = 0.0
    """Share of the links in the load that braking puts on the front axle."""
    anti_lift_r: link_share = 0.0
    """Share of the links in the load that braking takes from the rear axle."""
    anti_squat: link_share = 0.0
    """Share of the links in the load that driving puts on the rear axle."""
    anti_lift_f: link_share = 0.0
    """Share of the links in the load that driving takes from the front axle."""
    a_blend: Annotated[m_s2, positive] = 0.5
    """Acceleration, either sign, within which one passes from the shares of braking to those of
    driving; that passes with the time constant t_load of the car."""
    c_t_f: Annotated[N_s_m, non_negative] = 50.0
    """Damping of a front tyre that is pressed in (estimate)."""
    c_t_r: Annotated[N_s_m, non_negative] = 50.0
    """Damping of a rear tyre."""


class SuspensionState(NamedTuple):
    """Motion of body and wheels off the plane of the road. Heights and angles are from where they
    are at rest; rates are those over ground, which on an uneven road differ."""

    roll: rad = 0.0
    """Positive with the right side down, as in a turn to the left."""
    roll_rate: rad_s = 0.0
    """Rate of roll."""
    pitch: rad = 0.0
    """Positive with the nose down, as in braking."""
    pitch_rate: rad_s = 0.0
    """Rate of pitch."""
    heave: m = 0.0
    """Height of the sprung centre of mass."""
    heave_rate: m_s = 0.0
    """Its velocity upwards."""
    z_fl: m = 0.0
    """Height of the front left wheel."""
    z_fr: m = 0.0
    """Height of the front right wheel."""
    z_rl: m = 0.0
    """Height of the rear left wheel."""
    z_rr: m = 0.0
    """Height of the rear right wheel."""
    v_z_fl: m_s = 0.0
    """Velocity of the front left wheel upwards."""
    v_z_fr: m_s = 0.0
    """Velocity of the front right wheel upwards."""
    v_z_rl: m_s = 0.0
    """Velocity of the rear left wheel upwards."""
    v_z_rr: m_s = 0.0
    """Velocity of the rear right wheel upwards."""


class SuspensionTravel(NamedTuple):
    """What a suspension shows."""

    a_z: m_s2
    """Acceleration of the sprung centre of mass off the road, upwards."""
    travel_fl: m
    """Travel of the front left wheel towards the body, from where it is at rest."""
    travel_fr: m
    """Travel of the front right wheel."""
    travel_rl: m
    """Travel of the rear left wheel."""
    travel_rr: m
    """Travel of the rear right wheel."""


def heights(x: Any) -> Four:
    """Heights of the wheels."""
    return x.z_fl, x.z_fr, x.z_rl, x.z_rr


def height_rates(x: Any) -> Four:
    """Velocities of the wheels upwards."""
    return x.v_z_fl, x.v_z_fr, x.v_z_rl, x.v_z_rr


def corner_places(s: SuspendedBody, p: Any) -> tuple[tuple[m, m], ...]:
    """Where the wheels are, forward and to the left of the sprung centre of mass."""
    body, half_f, half_r = sprung_mass(s, p), 0.5 * p.track_f, 0.5 * p.track_r
    return (body.l_f, half_f), (body.l_f, -half_f), (-body.l_r, half_r), (-body.l_r, -half_r)


def _towards(wheels: Four, heave: Any, roll: Any, pitch: Any, s: SuspendedBody, p: Any) -> Four:
    fl, fr, rl, rr = (
        z - (heave + left * roll - forward * pitch)
        for z, (forward, left) in zip(wheels, corner_places(s, p), strict=True)
    )
    return fl, fr, rl, rr


def travels(x: Any, s: SuspendedBody, p: Any) -> Four:
    """Travel of each wheel towards the body."""
    return _towards(heights(x), x.heave, x.roll, x.pitch, s, p)


def travel_rates(x: Any, s: SuspendedBody, p: Any) -> Four:
    """Rate of the travel of each wheel."""
    return _towards(height_rates(x), x.heave_rate, x.roll_rate, x.pitch_rate, s, p)


def _by_axle(front: Any, rear: Any) -> Four:
    return front, front, rear, rear


def _outwards(s: SuspendedBody, p: Any) -> Four:
    """How far a patch goes to the left per travel of its wheel."""
    lever_f, lever_r = 2.0 * s.h_rc_f * (1.0 / p.track_f), 2.0 * s.h_rc_r * (1.0 / p.track_r)
    return lever_f, -lever_f, lever_r, -lever_r


def patch_velocities(x: Any, s: SuspendedBody, p: Any) -> tuple[Velocity, ...]:
    """Velocity of the centre of mass and what body and wheels in motion add at each patch."""
    body, rates, wheels = sprung_mass(s, p), travel_rates(x, s, p), height_rates(x)
    by_m, by_f, by_r = 1.0 / p.m, 1.0 / p.track_f, 1.0 / p.track_r
    links = link_shares(x.load_a_x, s)
    carried = links.front * (rates[0] + rates[1]) - links.rear * (rates[2] + rates[3])
    v_x = x.v_x - p.z_cg * (x.pitch_rate - (0.5 * (1.0 / (p.l_f + p.l_r))) * carried)
    v_y = x.v_y + (
        (body.m * body.z * by_m) * x.roll_rate
        + (s.m_u_f * s.h_rc_f * by_m * by_f) * (rates[1] - rates[0])
        + (s.m_u_r * s.h_rc_r * by_m * by_r) * (rates[3] - rates[2])
        + (s.m_u_f * s.h_u_f * by_m * by_f) * (wheels[0] - wheels[1])
        + (s.m_u_r * s.h_u_r * by_m * by_r) * (wheels[2] - wheels[3])
    )
    pairs = zip(_outwards(s, p), rates, strict=True)
    return tuple(Velocity(v_x, v_y + lever * rate) for lever, rate in pairs)


def link_forces(
    x: Any, forces: tuple[Force, ...], pushed: Acceleration, s: SuspendedBody, p: Any
) -> Four:
    """What links press each wheel up and the body down with."""
    by_f, by_r = 1.0 / p.track_f, 1.0 / p.track_r
    links = link_shares(x.load_a_x, s)
    moved = (0.5 * p.m * p.z_cg * (1.0 / (p.l_f + p.l_r))) * pushed.x
    along = _by_axle(links.front * moved, -(links.rear * moved))
    # Of the force at the roll centre the unsprung mass takes what moves itself.
    own = _by_axle(
        (s.m_u_f * s.h_rc_f * by_f) * pushed.y, (s.m_u_r * s.h_rc_r * by_r) * pushed.y
    )
    columns = zip(_outwards(s, p), forces, own, along, SIDES, strict=True)
    fl, fr, rl, rr = (lever * f.y - side * o + a for lever, f, o, a, side in columns)
    return fl, fr, rl, rr


def axle_forces(x: Any, a_y: m_s2, press: m_s2, s: SuspendedBody, p: Any) -> Four:
    """What presses each wheel up as its axle leans: unsprung mass that the tyres push across, and
    the weight on an axle that leans by itself."""
    body, by_f, by_r = sprung_mass(s, p), 1.0 / p.track_f, 1.0 / p.track_r
    over_f = (body.front * s.h_rc_f + s.m_u_f * s.h_u_f) * by_f * by_f
    over_r = (body.rear * s.h_rc_r + s.m_u_r * s.h_u_r) * by_r * by_r
    front = (s.m_u_f * s.h_u_f * by_f) * a_y + (over_f * (x.z_fl - x.z_fr)) * press
    rear = (s.m_u_r * s.h_u_r * by_r) * a_y + (over_r * (x.z_rl - x.z_rr)) * press
    return front, -front, rear, -rear


def standing_loads(p: Any) -> tuple[N, N, N, N]:
    """Load of each wheel of the car that stands on level ground."""
    half = 0.5 * p.m * p.g * (1.0 / (p.l_f + p.l_r))
    front, rear = p.l_r * half, p.l_f * half
    return front, front, rear, rear
