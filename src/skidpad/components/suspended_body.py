"""A body on four wheels that move up and down by themselves: states, travel, and what links do.

How links guide a wheel says both how its contact patch moves as the wheel travels, and which part
of the force at the patch goes past the spring: the one by power is the other, so energy is exact.
Per travel a patch goes outwards by 2 h_rc / track and, in front, forwards by `anti_f`; so a force F
there presses its wheel by F times that up, and the body down. That is load past the springs,
anti-dive, and jacking.

Unsprung masses go across as those of a rigid axle would, at their own height, with the force of
their own axle; what moves them does not go through links.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..units import N, N_s_m, kg, kg_m2, m, m_s, m_s2, non_negative, one, positive, rad, rad_s
from .axle import Force
from .corner_loads import loads_under
from .sprung_mass import sprung_mass
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
    anti_f: one = 0.0
    """How far a front patch goes forwards per travel of its wheel: the tangent of the angle of its
    links from the side. Times the share of the front axle in braking and L / z_cg that is its
    anti-dive; in driving, anti-lift."""
    anti_r: one = 0.0
    """How far a rear patch goes backwards per travel of its wheel. Times the share of the rear axle
    in braking and L / z_cg that is its anti-lift; in driving, anti-squat."""
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


def _along(s: SuspendedBody) -> Four:
    """How far each patch goes forwards per travel of its wheel."""
    return s.anti_f, s.anti_f, -s.anti_r, -s.anti_r


def _unsprung(s: SuspendedBody, p: Any) -> tuple[one, one]:
    """Share of the unsprung mass in what each axle carries."""
    base = (p.l_f + p.l_r) * (1.0 / p.m)
    return s.m_u_f * base * (1.0 / p.l_r), s.m_u_r * base * (1.0 / p.l_f)


def _aside(s: SuspendedBody, p: Any) -> Four:
    """How far each patch goes to the left per travel of its wheel, without what moves the wheel
    itself."""
    own_f, own_r = _unsprung(s, p)
    front = 2.0 * s.h_rc_f * (1.0 - own_f) * (1.0 / p.track_f)
    rear = 2.0 * s.h_rc_r * (1.0 - own_r) * (1.0 / p.track_r)
    return front, -front, rear, -rear


def _leaning(s: SuspendedBody, p: Any) -> tuple[one, one]:
    """How far the patches of each axle go to the left per difference in height of its wheels."""
    own_f, own_r = _unsprung(s, p)
    return own_f * s.h_u_f * (1.0 / p.track_f), own_r * s.h_u_r * (1.0 / p.track_r)


def patch_velocities(x: Any, s: SuspendedBody, p: Any) -> tuple[Velocity, ...]:
    """Velocity of the centre of mass and what body and wheels in motion add at each patch."""
    body, wheels, (lean_f, lean_r) = sprung_mass(s, p), height_rates(x), _leaning(s, p)
    v_x = x.v_x - p.z_cg * x.pitch_rate
    v_y = x.v_y + (body.m * body.z * (1.0 / p.m)) * x.roll_rate
    front, rear = v_y + lean_f * (wheels[0] - wheels[1]), v_y + lean_r * (wheels[2] - wheels[3])
    columns = zip(
        travel_rates(x, s, p), _along(s), _aside(s, p), (front, front, rear, rear), strict=True
    )
    return tuple(
        Velocity(v_x + along * rate, v + aside * rate) for rate, along, aside, v in columns
    )


def link_forces(forces: tuple[Force, ...], s: SuspendedBody, p: Any) -> Four:
    """What links press each wheel up and the body down with."""
    columns = zip(forces, _along(s), _aside(s, p), strict=True)
    fl, fr, rl, rr = (along * f.x + aside * f.y for f, along, aside in columns)
    return fl, fr, rl, rr


def axle_forces(x: Any, forces: tuple[Force, ...], press: m_s2, s: SuspendedBody, p: Any) -> Four:
    """What presses each wheel up as its axle leans: unsprung mass that the tyres push across, and
    the weight on an axle that leans by itself."""
    body, by_f, by_r = sprung_mass(s, p), 1.0 / p.track_f, 1.0 / p.track_r
    lean_f, lean_r = _leaning(s, p)
    over_f = (body.front * s.h_rc_f + s.m_u_f * s.h_u_f) * by_f * by_f
    over_r = (body.rear * s.h_rc_r + s.m_u_r * s.h_u_r) * by_r * by_r
    front = lean_f * (forces[0].y + forces[1].y) + (over_f * (x.z_fl - x.z_fr)) * press
    rear = lean_r * (forces[2].y + forces[3].y) + (over_r * (x.z_rl - x.z_rr)) * press
    return front, -front, rear, -rear


def standing_loads(p: Any) -> tuple[N, N, N, N]:
    """Load of each wheel of the car that stands on level ground."""
    front, rear = (0.5 * F for F in loads_under(p.m * p.g, 0.0, 0.0, p))
    return front, front, rear, rear
