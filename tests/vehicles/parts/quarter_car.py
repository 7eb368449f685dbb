"""Quarter-car model: body over wheel over road, with any corner between body and wheel.

Heights are positive upwards, from the static position in which the forces at travel 0 carry the
weight. The tyre is a spring and damper that pushes at the road and cannot pull.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from skidpad import units as si
from skidpad.vehicles.parts.suspension import (
    corner_energy,
    corner_force,
    spring_energy,
    spring_load,
)


class Quarter(NamedTuple):
    """Masses and tyre of the quarter car; plausible values of a compact car."""

    m_s: Annotated[si.kg, si.positive] = 270.0
    """Sprung mass carried by the wheel."""
    m_u: Annotated[si.kg, si.positive] = 33.0
    """Unsprung mass of the wheel."""
    k_t: Annotated[si.N_m, si.positive] = 190000.0
    """Stiffness of the tyre."""
    c_t: Annotated[si.N_s_m, si.non_negative] = 0.0
    """Damping of the tyre."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    F_lift: Annotated[si.N, si.positive] = 50.0
    """Load below which the wheel lifts, smoothly."""


class QuarterState(NamedTuple):
    """State of the quarter car: heights and velocities."""

    z_s: si.m = 0.0
    """Height of the body above its static position."""
    z_u: si.m = 0.0
    """Height of the wheel above its static position."""
    v_s: si.m_s = 0.0
    """Velocity of the body, positive upwards."""
    v_u: si.m_s = 0.0
    """Velocity of the wheel, positive upwards."""


def tyre_load(x: QuarterState, road: si.m, road_rate: si.m_s, p: Quarter) -> si.N:
    """Tyre load for a road height `road` and its rate."""
    standing = (p.m_s + p.m_u) * p.g
    return spring_load(standing, road - x.z_u, road_rate - x.v_u, p.k_t, p.c_t, p.F_lift)


def quarter_rates(
    x: QuarterState, road: si.m, road_rate: si.m_s, held: Any, p: Quarter
) -> QuarterState:
    """Rates of the quarter car's heights and velocities; `held` is its corner."""
    travel, rate = x.z_u - x.z_s, x.v_u - x.v_s
    between = corner_force(held, travel, rate, travel)
    load = tyre_load(x, road, road_rate, p)
    return QuarterState(
        x.v_s,
        x.v_u,
        between * (1.0 / p.m_s) - p.g,
        (load - between) * (1.0 / p.m_u) - p.g,
    )


def quarter_energy(x: QuarterState, road: si.m, held: Any, p: Quarter) -> si.J:
    """Energy of the quarter car: kinetic, weight, suspension and tyre. It grows by the power of a
    rising road, the load times its rate, and shrinks by the losses of the dampers."""
    travel = x.z_u - x.z_s
    moving = 0.5 * (p.m_s * (x.v_s * x.v_s) + p.m_u * (x.v_u * x.v_u))
    weight = p.g * (p.m_s * x.z_s + p.m_u * x.z_u)
    tyre = spring_energy((p.m_s + p.m_u) * p.g, road - x.z_u, p.k_t, p.F_lift)
    return moving + weight + corner_energy(held, travel, travel) + tyre
