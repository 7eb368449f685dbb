"""Rigid bodies in the plane hung behind each other at joints: exact accelerations in closed form.

A unit is a body whose joint to the unit ahead lies `c` ahead of its centre of mass; the joint of
the next unit lies `d` behind its own. From the last unit forward, the force that a unit needs at
its joint is affine in the acceleration of that joint, F = M A + b, with a symmetric 2x2 mass M that
is felt there. The unit ahead carries it like a mass of its own. The first unit is the vehicle: its
"joint" is its centre of mass, on which no force acts, so M A = -b gives its acceleration. Then the
accelerations follow from the first unit back. Nothing is iterated, and angles may be of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..plane.pose import turned, turned_back
from ..units import N, Nm, kg, kg_m2, m, m_s2, one, rad_s, rad_s2
from .axle import Force
from .rigid_body import Acceleration

__all__ = ["ChainMotion", "Joint", "Unit", "chain_motion"]


class Joint(NamedTuple):
    """How a unit stands to the one ahead."""

    c: one
    """Cosine of its heading from that of the unit ahead, which is positive to the left."""
    s: one
    """Sine of that angle."""
    torque: Nm
    """Moment of the joint on the unit behind it, positive to the left; the other way on that
    ahead."""


class Unit(NamedTuple):
    """One body of a chain, and what acts on it besides its joints, in its own axes."""

    m: kg
    I_z: kg_m2
    """Yaw inertia about the centre of mass."""
    c: m
    """From its own joint back to the centre of mass."""
    d: m
    """From its own joint back to that of the next unit."""
    omega: rad_s
    """Yaw rate over ground."""
    force: Force
    """At the centre of mass."""
    moment: Nm
    """About the centre of mass."""


class ChainMotion(NamedTuple):
    """Accelerations of all units, and what the joints do."""

    a: Acceleration
    """Of the first unit's centre of mass over ground, in its axes."""
    omega_rates: tuple[rad_s2, ...]
    """Of each unit's yaw rate."""
    forces: tuple[Force, ...]
    """Of each joint on the unit behind it, in the axes of that unit."""


class _Felt(NamedTuple):
    """What a joint feels of all that hangs on it: F = M A + b in some axes."""

    xx: kg
    xy: kg
    yy: kg
    b_x: N
    b_y: N


class _Swing(NamedTuple):
    """How a unit turns when its joint is accelerated: (k_x A_x + k_y A_y + k_0) / J."""

    k_x: float
    """In kg·m, as `k_y`."""
    k_y: float
    k_0: Nm
    by_J: float
    """In 1/(kg·m²)."""


def chain_motion(units: Sequence[Unit], joints: Sequence[Joint]) -> ChainMotion:
    """The motion of a chain of units, the vehicle first; `joints` are those between them."""
    felt: _Felt | None = None
    own: list[tuple[_Felt, _Swing]] = []
    torque: Nm | None = None
    for k in reversed(range(len(units))):
        ahead = joints[k - 1].torque if k else None
        at_joint = _felt_at_joint(units[k], felt, _less(ahead, torque))
        own.append(at_joint)
        torque = ahead
        felt = _seen_from_ahead(at_joint[0], joints[k - 1]) if k else None
    own.reverse()
    a = _free(own[0][0])
    return _outward(units, joints, own, a)


def _less(ahead: Nm | None, behind: Nm | None) -> Nm:
    """Moment of both joints on a unit."""
    return (0.0 if ahead is None else ahead) - (0.0 if behind is None else behind)


def _felt_at_joint(unit: Unit, behind: _Felt | None, torque: Nm) -> tuple[_Felt, _Swing]:
    """What the unit and all behind it need at its joint, in its axes."""
    lever = unit.m * unit.c
    J = unit.I_z + lever * unit.c
    k_0 = unit.moment + torque - unit.c * unit.force.y
    w2 = unit.omega * unit.omega
    b_x, b_y = lever * w2 - unit.force.x, -unit.force.y
    if behind is None:
        by_J = 1.0 / J
        swing = _Swing(0.0 * lever, lever, k_0, by_J)
        yy = unit.m - (lever * lever) * by_J
        return _Felt(unit.m, 0.0 * unit.m, yy, b_x, b_y - lever * (k_0 * by_J)), swing
    d, spun = unit.d, unit.d * w2
    pull_x, pull_y = behind.b_x + behind.xx * spun, behind.b_y + behind.xy * spun
    k_x, k_y = d * behind.xy, lever + d * behind.yy
    by_J = 1.0 / (J + (d * d) * behind.yy)
    k_0 = k_0 + d * pull_y
    turned_by = k_0 * by_J
    felt = _Felt(
        unit.m + behind.xx - (k_x * k_x) * by_J,
        behind.xy - (k_x * k_y) * by_J,
        unit.m + behind.yy - (k_y * k_y) * by_J,
        b_x + pull_x - k_x * turned_by,
        b_y + pull_y - k_y * turned_by,
    )
    return felt, _Swing(k_x, k_y, k_0, by_J)


def _seen_from_ahead(felt: _Felt, joint: Joint) -> _Felt:
    """The same in the axes of the unit ahead."""
    c, s = joint.c, joint.s
    cc, cs, ss = c * c, c * s, s * s
    twice = (2.0 * cs) * felt.xy
    return _Felt(
        cc * felt.xx - twice + ss * felt.yy,
        cs * (felt.xx - felt.yy) + (cc - ss) * felt.xy,
        ss * felt.xx + twice + cc * felt.yy,
        *turned(c, s, felt.b_x, felt.b_y),
    )


def _free(felt: _Felt) -> Acceleration:
    """Acceleration of a point on which no force acts but what is felt there."""
    by_det = 1.0 / (felt.xx * felt.yy - felt.xy * felt.xy)
    return Acceleration(
        (felt.xy * felt.b_y - felt.yy * felt.b_x) * by_det,
        (felt.xy * felt.b_x - felt.xx * felt.b_y) * by_det,
    )


def _outward(
    units: Sequence[Unit],
    joints: Sequence[Joint],
    own: Sequence[tuple[_Felt, _Swing]],
    a: Acceleration,
) -> ChainMotion:
    """Accelerations from the first unit back, and the forces of the joints."""
    rates: list[rad_s2] = []
    forces: list[Force] = []
    a_x: m_s2 = a.x
    a_y: m_s2 = a.y
    for k, (unit, (felt, swing)) in enumerate(zip(units, own, strict=True)):
        if k:
            a_x, a_y = turned_back(joints[k - 1].c, joints[k - 1].s, a_x, a_y)
            F_x = felt.xx * a_x + felt.xy * a_y + felt.b_x
            forces.append(Force(F_x, felt.xy * a_x + felt.yy * a_y + felt.b_y))
        rate = (swing.k_x * a_x + swing.k_y * a_y + swing.k_0) * swing.by_J
        rates.append(rate)
        a_x, a_y = a_x + unit.d * (unit.omega * unit.omega), a_y - unit.d * rate
    return ChainMotion(a, tuple(rates), tuple(forces))
