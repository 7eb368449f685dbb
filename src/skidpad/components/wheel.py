"""Motion of the four contact patches and their slip angles. Wheels are fl, fr, rl, rr."""

from __future__ import annotations

from typing import NamedTuple

from ..ops import abs, atan2, maximum, minimum
from ..plane.pose import turned_back
from ..units import m, m_s, one, rad, rad_s

__all__ = [
    "ContactVelocities",
    "Velocity",
    "contact_velocities",
    "floored_speed",
    "in_wheel_frame",
    "slip_angle",
    "smooth_slip_angle",
]


class Velocity(NamedTuple):
    """A velocity over ground; x along and y to the left of the frame it is given in."""

    x: m_s
    y: m_s


class ContactVelocities(NamedTuple):
    """Velocity over ground of each contact patch."""

    fl: Velocity
    fr: Velocity
    rl: Velocity
    rr: Velocity


def contact_velocities(
    v_x: m_s, v_y: m_s, omega: rad_s, l_f: m, l_r: m, track: m
) -> ContactVelocities:
    """Body-frame velocities of the contact patches of a body moving with (v_x, v_y, omega)."""
    turning = (0.5 * track) * omega
    left, right = v_x - turning, v_x + turning
    front, rear = v_y + l_f * omega, v_y - l_r * omega
    return ContactVelocities(
        Velocity(left, front), Velocity(right, front), Velocity(left, rear), Velocity(right, rear)
    )


def in_wheel_frame(v: Velocity, c: one, s: one) -> Velocity:
    """A body-frame velocity seen from a wheel whose steering angle has cosine `c` and sine `s`."""
    return Velocity(*turned_back(c, s, v.x, v.y))


def slip_angle(w: Velocity, v_eps: m_s) -> rad:
    """Angle from the direction of travel of a contact patch to the wheel's heading, in rad.

    Positive when the patch drifts to the right of the heading, so that the tyre pushes to the left.
    `w` is in the wheel frame. Backwards the patch still drifts left or right of the wheel plane in
    the same sense, hence |w.x|. `v_eps` keeps the angle defined at standstill.
    """
    return atan2(-w.y, maximum(abs(w.x), v_eps))


def floored_speed(v: m_s, v_blend: m_s) -> m_s:
    """|v| with a smooth floor, so that slip at standstill can be divided by it.

    Above `v_blend` it is |v| exactly. Below, it is the even quartic v_blend (3 + 6 t² - t⁴) / 8
    with t = |v| / v_blend, which joins with equal slope and curvature and ends at 3/8 v_blend.
    """
    speed = abs(v)
    t = minimum(speed, v_blend) * (1.0 / v_blend)
    t2 = t * t
    # The quartic minus t, times v_blend, is what has to be added; it vanishes from v_blend on.
    floor = v_blend * (0.125 * (3.0 + t2 * (6.0 - t2)) - t)
    return speed + floor


def smooth_slip_angle(w: Velocity, v_blend: m_s) -> rad:
    """`slip_angle` with a smooth floor on the rolling speed, for a car that also stands still.

    Above `v_blend` it is `slip_angle` exactly. Below, the tyre becomes a viscous lateral damper, as
    stiff at rest as it is at 3/8 v_blend and no stiffer, and its force still opposes the drift.
    """
    return atan2(-w.y, floored_speed(w.x, v_blend))
