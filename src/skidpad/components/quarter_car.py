"""A quarter of a car: body over wheel over road, with any elements between the first two.

Heights are positive upwards, from where everything stands when the forces at travel 0 carry the
weight. The tyre is a spring and damper that pushes at the road and cannot pull.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..units import J, N, N_m, N_s_m, kg, m, m_s, m_s2, non_negative, positive
from .suspension_elements import corner_energy, corner_force
from .tyre_spring import spring_energy, spring_load

__all__ = ["Quarter", "QuarterState", "quarter_energy", "quarter_rates", "tyre_load"]


class Quarter(NamedTuple):
    """Masses and tyre; plausible values of a compact car."""

    m_s: Annotated[kg, positive] = 270.0
    """Sprung mass on the wheel."""
    m_u: Annotated[kg, positive] = 33.0
    """Unsprung mass of the wheel."""
    k_t: Annotated[N_m, positive] = 190000.0
    """Stiffness of the tyre."""
    c_t: Annotated[N_s_m, non_negative] = 0.0
    """Damping of the tyre."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    F_lift: Annotated[N, positive] = 50.0
    """Load below which the wheel lifts, smoothly."""


class QuarterState(NamedTuple):
    """Heights and velocities."""

    z_s: m = 0.0
    """Height of the body."""
    z_u: m = 0.0
    """Height of the wheel."""
    v_s: m_s = 0.0
    """Velocity of the body upwards."""
    v_u: m_s = 0.0
    """Velocity of the wheel upwards."""


def tyre_load(x: QuarterState, road: m, road_rate: m_s, p: Quarter) -> N:
    """Load of the tyre on a road of a height that changes at a rate."""
    standing = (p.m_s + p.m_u) * p.g
    return spring_load(standing, road - x.z_u, road_rate - x.v_u, p.k_t, p.c_t, p.F_lift)


def quarter_rates(x: QuarterState, road: m, road_rate: m_s, held: Any, p: Quarter) -> QuarterState:
    """Rates of the heights and velocities of a quarter that is held by a corner."""
    travel, rate = x.z_u - x.z_s, x.v_u - x.v_s
    between = corner_force(held, travel, rate, travel)
    load = tyre_load(x, road, road_rate, p)
    return QuarterState(
        x.v_s,
        x.v_u,
        between * (1.0 / p.m_s) - p.g,
        (load - between) * (1.0 / p.m_u) - p.g,
    )


def quarter_energy(x: QuarterState, road: m, held: Any, p: Quarter) -> J:
    """Kinetic energy, weight, suspension and tyre; it grows by what a rising road does, the load
    times its rate, and shrinks by the losses of the dampers."""
    travel = x.z_u - x.z_s
    moving = 0.5 * (p.m_s * (x.v_s * x.v_s) + p.m_u * (x.v_u * x.v_u))
    weight = p.g * (p.m_s * x.z_s + p.m_u * x.z_u)
    tyre = spring_energy((p.m_s + p.m_u) * p.g, road - x.z_u, p.k_t, p.F_lift)
    return moving + weight + corner_energy(held, travel, travel) + tyre
