"""The sprung mass of a car on its suspension: roll axis, stiffness, and what the links carry.

Signs are those of ISO 8855: roll is positive with the right side down, as in a turn to the left;
pitch with the nose down, as in braking. Compression of an axle is positive when body and wheels
approach each other. Sources: W. F. and D. L. Milliken, Race Car Vehicle Dynamics, chapters 17 and
18; T. D. Gillespie, Fundamentals of Vehicle Dynamics, chapters 6 and 7.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol

from ..errors import InvalidValue
from ..ops import smooth_step
from ..units import Allowed, N, N_m, Nm, kg, m, m_s2, non_negative, one, positive, rad
from .corner_loads import Axles

__all__ = [
    "Car",
    "LinkShares",
    "SprungMass",
    "Suspension",
    "Travel",
    "Unsprung",
    "check_sprung",
    "check_unsprung",
    "link_shares",
    "roll_gradient",
    "roll_levers",
    "roll_stiffness",
    "sprung_mass",
    "wheel_travel",
]

link_share = Annotated[one, Allowed(-2.0, 2.0)]
"""Share of a load transfer that links carry; above 1 the body rises instead of diving."""


class Suspension(NamedTuple):
    """Masses, springs and links of both axles; the defaults are those of a Ford Escort.

    Numbers are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2), whose roll
    centres are on the ground and whose links carry nothing.
    """

    m_u_f: Annotated[kg, non_negative] = 65.67256321742863
    """Unsprung mass of the front axle, both wheels."""
    m_u_r: Annotated[kg, non_negative] = 65.67256321742863
    """Unsprung mass of the rear axle."""
    h_u_f: Annotated[m, non_negative] = 0.344
    """Height of the centre of the front unsprung mass."""
    h_u_r: Annotated[m, non_negative] = 0.344
    """Height of the centre of the rear unsprung mass."""
    h_rc_f: m = 0.0
    """Height of the front roll centre."""
    h_rc_r: m = 0.0
    """Height of the rear roll centre."""
    k_f: Annotated[N_m, positive] = 21898.332429625985
    """Wheel rate of a front spring: load per travel of the wheel."""
    k_r: Annotated[N_m, positive] = 21898.332429625985
    """Wheel rate of a rear spring."""
    bar_f: Annotated[Nm, non_negative] = 12880.270509148304
    """Roll stiffness of the front anti-roll bar, moment per rad."""
    bar_r: Annotated[Nm, non_negative] = 0.0
    """Roll stiffness of the rear anti-roll bar."""
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
    driving."""


class Car(Axles, Protocol):
    """Parameters of a car that a sprung mass belongs to."""

    @property
    def m(self) -> kg:
        """Mass."""
        ...

    @property
    def z_cg(self) -> m:
        """Height of the centre of mass."""
        ...

    @property
    def g(self) -> m_s2:
        """Gravity."""
        ...


class Unsprung(Protocol):
    """Masses of the axles, and heights that belong to them."""

    @property
    def m_u_f(self) -> kg:
        """Unsprung mass of the front axle."""
        ...

    @property
    def m_u_r(self) -> kg:
        """Unsprung mass of the rear axle."""
        ...

    @property
    def h_u_f(self) -> m:
        """Height of the centre of the front one."""
        ...

    @property
    def h_u_r(self) -> m:
        """Height of the centre of the rear one."""
        ...

    @property
    def h_rc_f(self) -> m:
        """Height of the front roll centre."""
        ...

    @property
    def h_rc_r(self) -> m:
        """Height of the rear roll centre."""
        ...


class SprungMass(NamedTuple):
    """The body without its axles; of parameters alone."""

    m: kg
    l_f: m
    """From its centre of mass to the front axle."""
    l_r: m
    front: kg
    """What of it the front axle carries."""
    rear: kg
    arm: m
    """Height of its centre of mass above the roll axis."""
    z: m
    """Height of its centre of mass."""


class LinkShares(NamedTuple):
    """Share of the links in the load transfer of each axle."""

    front: one
    rear: one


class Travel(NamedTuple):
    """How the body sits on its axles."""

    roll: rad
    """Positive with the right side down."""
    front: m
    """Compression of the front axle, from where it stands at rest."""
    rear: m
    """Compression of the rear axle."""
    wheels: tuple[m, m, m, m] | None = None
    """Travel of each wheel towards the body, where it has one of its own: the axles then tell how
    far the body has come down to the road, tyres included."""


def sprung_mass(s: Unsprung, p: Car) -> SprungMass:
    """Place and height of the sprung mass: what is left of the car without its axles."""
    mass = p.m - s.m_u_f - s.m_u_r
    by_mass, by_wheelbase = 1.0 / mass, 1.0 / (p.l_f + p.l_r)
    ahead = (s.m_u_r * p.l_r - s.m_u_f * p.l_f) * by_mass
    l_f, l_r = p.l_f - ahead, p.l_r + ahead
    height = (p.m * p.z_cg - s.m_u_f * s.h_u_f - s.m_u_r * s.h_u_r) * by_mass
    on_front, on_rear = l_r * by_wheelbase, l_f * by_wheelbase
    axis = on_front * s.h_rc_f + on_rear * s.h_rc_r
    return SprungMass(mass, l_f, l_r, on_front * mass, on_rear * mass, height - axis, height)


def roll_stiffness(s: Suspension, p: Car) -> tuple[Nm, Nm]:
    """Moment per rad of roll of the springs and the bar of each axle."""
    return (
        (0.5 * s.k_f) * (p.track_f * p.track_f) + s.bar_f,
        (0.5 * s.k_r) * (p.track_r * p.track_r) + s.bar_r,
    )


def roll_gradient(s: Suspension, p: Car) -> Any:
    """Roll per lateral acceleration in rad/(m/s²): m_s h / (K_f + K_r - m_s g h).

    The body leans outwards, so its weight adds to the moment (Gillespie, eq. 6-36).
    """
    body, (K_f, K_r) = sprung_mass(s, p), roll_stiffness(s, p)
    leaning = body.m * body.arm
    return leaning / (K_f + K_r - leaning * p.g)


def roll_levers(s: Unsprung, p: Car) -> tuple[Any, Any]:
    """Moment per lateral acceleration that reaches the ground past the springs, by axle, in kg·m.

    Sprung mass at the roll centre, and unsprung mass at its own height.
    """
    body = sprung_mass(s, p)
    return body.front * s.h_rc_f + s.m_u_f * s.h_u_f, body.rear * s.h_rc_r + s.m_u_r * s.h_u_r


def link_shares(a_x: m_s2, s: Suspension) -> LinkShares:
    """What the links carry of the load transfer, from braking to driving."""
    driving = smooth_step(a_x, -s.a_blend, s.a_blend)
    return LinkShares(
        s.anti_dive + (s.anti_lift_f - s.anti_dive) * driving,
        s.anti_lift_r + (s.anti_squat - s.anti_lift_r) * driving,
    )


def wheel_travel(travel: Travel, p: Axles) -> tuple[m, m, m, m]:
    """Travel of each wheel towards the body: its own, or the axle's, more on the side that is
    down."""
    if travel.wheels is not None:
        return travel.wheels
    side_f, side_r = (0.5 * p.track_f) * travel.roll, (0.5 * p.track_r) * travel.roll
    return (
        travel.front - side_f,
        travel.front + side_f,
        travel.rear - side_r,
        travel.rear + side_r,
    )


def check_unsprung(s: Unsprung, p: Car) -> None:
    """Raise if an axle weighs more than what it carries on the road."""
    by_wheelbase = p.m / (p.l_f + p.l_r)
    axles = (("m_u_f", s.m_u_f, p.l_r), ("m_u_r", s.m_u_r, p.l_f))
    for name, unsprung, arm in axles:
        if not unsprung < arm * by_wheelbase:
            raise InvalidValue(
                f"unsprung mass {name} = {unsprung:g} kg must be less than the "
                f"{arm * by_wheelbase:g} kg of the mass m = {p.m:g} kg that stand on its axle"
            )


def check_sprung(s: Suspension, p: Car) -> None:
    """Raise if no body is left without the axles, or if its weight overcomes its springs."""
    check_unsprung(s, p)
    body, (K_f, K_r) = sprung_mass(s, p), roll_stiffness(s, p)
    tipping = body.m * p.g * body.arm
    if not K_f + K_r > tipping:
        raise InvalidValue(
            f"the roll stiffness {K_f + K_r:.6g} N·m/rad of k_f, k_r, bar_f and bar_r must be "
            f"greater than the moment {tipping:.6g} N·m/rad by which the leaning body tips over"
        )


def pitch_transfer(a_x: m_s2, p: Car) -> N:
    """Load that goes from the front to the rear axle while the tyres push with m a_x."""
    return (p.m * p.z_cg * (1.0 / (p.l_f + p.l_r))) * a_x
