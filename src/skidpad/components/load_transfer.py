"""Wheel loads under acceleration, and the algebraic loop that they close.

Tyre forces depend on the loads, the loads on the accelerations, and those on the forces. As long as
friction does not depend on load, all of it is affine in (a_x, a_y): one 2-by-2 system, solved
exactly with one division.
"""

from __future__ import annotations

from typing import NamedTuple

from ..units import N, kg, m, m_s2
from .axle import AxleFriction, AxleLoad, Force
from .rigid_body import Acceleration

__all__ = [
    "AxleLoadLaw",
    "CarLoad",
    "ForceLaw",
    "LoadLaw",
    "accelerations",
    "axle_load",
    "rigid_load_law",
    "tyre_force_x",
    "tyre_force_y",
    "under_force",
    "wheel_loads",
]


class AxleLoadLaw(NamedTuple):
    """The load of an axle as an affine function of acceleration.

    mean = mean_0 + mean_x a_x, shift = shift_0 + shift_x a_x + shift_y a_y.
    """

    mean_0: N
    mean_x: kg
    shift_0: N
    shift_x: kg
    shift_y: kg


class LoadLaw(NamedTuple):
    """How the load is spread over the two axles and their wheels."""

    front: AxleLoadLaw
    rear: AxleLoadLaw


def rigid_load_law(total: N, m: kg, l_f: m, l_r: m, track: m, z_cg: m) -> LoadLaw:
    """Loads of a car on rigid axles, all wheels on the ground.

    The pitch balance puts l_r / L of the total load on the front axle and moves m a_x z_cg / L to
    the rear. The roll balance moves 2 m a_y z_cg / track from left to right, half on each axle.
    """
    by_wheelbase = 1.0 / (l_f + l_r)
    pitch = (0.5 * m) * z_cg * by_wheelbase
    roll = (0.5 * m) * z_cg * (1.0 / track)
    zero_N, zero_kg = 0.0 * total, 0.0 * m
    return LoadLaw(
        AxleLoadLaw((0.5 * l_r * by_wheelbase) * total, -pitch, zero_N, zero_kg, roll),
        AxleLoadLaw((0.5 * l_f * by_wheelbase) * total, pitch, zero_N, zero_kg, roll),
    )


def under_force(law: LoadLaw, force: Force, m: kg) -> LoadLaw:
    """The load law while `force` acts at the centre of mass, hence above the ground.

    The tyres carry m a - force, and only what they carry shifts load between them.
    """
    a_x, a_y = force.x * (1.0 / m), force.y * (1.0 / m)
    return LoadLaw(_under(law.front, a_x, a_y), _under(law.rear, a_x, a_y))


def _under(law: AxleLoadLaw, a_x: m_s2, a_y: m_s2) -> AxleLoadLaw:
    return law._replace(
        mean_0=law.mean_0 - law.mean_x * a_x,
        shift_0=law.shift_0 - law.shift_x * a_x - law.shift_y * a_y,
    )


def axle_load(a: Acceleration, law: AxleLoadLaw) -> AxleLoad:
    """Load of an axle at an acceleration; a wheel load may come out negative."""
    return AxleLoad(
        law.mean_0 + law.mean_x * a.x,
        law.shift_0 + law.shift_x * a.x + law.shift_y * a.y,
    )


class CarLoad(NamedTuple):
    """Load of the two axles."""

    front: AxleLoad
    rear: AxleLoad


def wheel_loads(load: CarLoad) -> tuple[N, N, N, N]:
    """Load on each wheel in the order fl, fr, rl, rr."""
    front, rear = load
    return (
        front.mean - front.shift,
        front.mean + front.shift,
        rear.mean - rear.shift,
        rear.mean + rear.shift,
    )


class ForceLaw(NamedTuple):
    """A force component as an affine function of acceleration: F_0 + m_x a_x + m_y a_y."""

    F_0: N
    m_x: kg
    m_y: kg


def tyre_force_x(f: AxleFriction, law: AxleLoadLaw) -> ForceLaw:
    """Longitudinal tyre force of an axle over acceleration, in the body frame."""
    return _force_law(f.sum.x, f.difference.x, law)


def tyre_force_y(f: AxleFriction, law: AxleLoadLaw) -> ForceLaw:
    """Lateral tyre force of an axle over acceleration, in the body frame."""
    return _force_law(f.sum.y, f.difference.y, law)


def _force_law(total: float, difference: float, law: AxleLoadLaw) -> ForceLaw:
    return ForceLaw(
        total * law.mean_0 + difference * law.shift_0,
        total * law.mean_x + difference * law.shift_x,
        difference * law.shift_y,
    )


def accelerations(
    applied: Force, front: AxleFriction, rear: AxleFriction, law: LoadLaw, m: kg
) -> Acceleration:
    """Body acceleration that satisfies m a = applied + tyre forces under the loads at a.

    `applied` is every force in the body frame that does not depend on the loads.
    """
    x_f, x_r = tyre_force_x(front, law.front), tyre_force_x(rear, law.rear)
    y_f, y_r = tyre_force_y(front, law.front), tyre_force_y(rear, law.rear)
    b_x = applied.x + x_f.F_0 + x_r.F_0
    b_y = applied.y + y_f.F_0 + y_r.F_0
    m_xx = m - (x_f.m_x + x_r.m_x)
    m_xy = x_f.m_y + x_r.m_y
    m_yx = y_f.m_x + y_r.m_x
    m_yy = m - (y_f.m_y + y_r.m_y)
    by_determinant = 1.0 / (m_xx * m_yy - m_xy * m_yx)
    return Acceleration(
        (b_x * m_yy + m_xy * b_y) * by_determinant,
        (b_y * m_xx + m_yx * b_x) * by_determinant,
    )
