"""Two wheels of an axle taken together: sums for the forces, differences for the yaw moment.

A wheel's tyre force is its friction vector times its load. With the loads of an axle written as
`mean - shift` (left) and `mean + shift` (right), every force needed is a sum or a difference of
friction times mean or shift. No wheel is handled alone, which halves the arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

from ..plane.pose import turned
from ..units import N, Nm, m, one


class Force(NamedTuple):
    """A force; x along and y to the left of the frame it is given in."""

    x: N
    y: N


class Friction(NamedTuple):
    """Tyre force per load; x along and y to the left of the frame it is given in."""

    x: one
    y: one


class AxleFriction(NamedTuple):
    """Friction vectors of an axle in the body frame: left plus right, and right minus left."""

    sum: Friction
    difference: Friction


class AxleLoad(NamedTuple):
    """Load on an axle: `mean` of its two wheels, and `shift` from the mean to the right wheel."""

    mean: N
    shift: N


class AxleForce(NamedTuple):
    """What an axle does to the body, in the body frame."""

    x: N
    y: N
    difference: N
    """Longitudinal force of the right wheel minus that of the left one."""


def steered(f: Friction, c: one, s: one) -> Friction:
    """A wheel-frame friction vector seen from the body; `c`, `s` of the steering angle."""
    return Friction(*turned(c, s, f.x, f.y))


def steered_lateral(f_y: one, c: one, s: one) -> Friction:
    """`steered` for a friction across the wheel only."""
    return Friction(-s * f_y, c * f_y)


def axle_friction(left: Friction, right: Friction) -> AxleFriction:
    """The friction of an axle from that of its two wheels, in the body frame."""
    return AxleFriction(
        Friction(left.x + right.x, left.y + right.y),
        Friction(right.x - left.x, right.y - left.y),
    )


def tyre_force(f: AxleFriction, load: AxleLoad) -> AxleForce:
    """Tyre force of an axle under its load."""
    return AxleForce(
        f.sum.x * load.mean + f.difference.x * load.shift,
        f.sum.y * load.mean + f.difference.y * load.shift,
        f.difference.x * load.mean + f.sum.x * load.shift,
    )


def drive_force(left: N, right: N, c: one, s: one) -> AxleForce:
    """Force of an axle driven with `left` and `right` along its wheels, which `c`, `s` steer."""
    along = left + right
    return AxleForce(c * along, s * along, c * (right - left))


def together(a: AxleForce, b: AxleForce) -> AxleForce:
    """Two forces on the same axle."""
    return AxleForce(a.x + b.x, a.y + b.y, a.difference + b.difference)


def yaw_moment(front: AxleForce, rear: AxleForce, l_f: m, l_r: m, track: m) -> Nm:
    """Moment of the axle forces about the centre of mass, positive to the left."""
    return l_f * front.y - l_r * rear.y + (0.5 * track) * (front.difference + rear.difference)
