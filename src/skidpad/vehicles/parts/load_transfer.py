"""Axle forces, wheel loads under acceleration, and the algebraic loop between them.

Tyre forces depend on the loads, the loads on the accelerations, and those on the forces. As long as
friction does not depend on load, all of it is affine in (a_x, a_y): one 2-by-2 system, solved
exactly with one division (`accelerations`). The two wheels of an axle are combined, with sums for
the forces and differences for the yaw moment: with loads `mean - shift` (left) and `mean + shift`
(right) every force is a sum or a difference of friction times mean or shift.

`corner_loads` are those of a sprung car under the tyre forces on its body: the longitudinal force
moves load between the axles, the lateral force between the sides, where `roll_front` is the front
axle's share of the roll moment. Loads add up to the weight on the car, and moments about the ground
balance, also with wheels in the air: what an axle with a lifted wheel cannot take goes to the other
one. Only when both inner wheels are up is the roll balance lost, as the car would tip over.

`load_shares` are those of any number of wheels on equal springs under a rigid body. Loads are an
affine function of wheel position: with three wheels or more the only one that balances the weight
and both overturning moments; with two wheels side by side it balances the moment about the
longitudinal axis alone.

Wheels are fl, fr, rl, rr. A body that leans further than `UPRIGHT` has rolled over; equations for
small angles are not valid there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from ...geometry.pose import turned, turned_back
from ...ops import abs, atan2, clip, maximum, minimum, sqrt, where
from ...units import N, Nm, kg, m, m_s, m_s2, one, per_m, rad, rad_s
from .kinematics import Acceleration


class Force(NamedTuple):
    """Force vector: x along and y to the left of its frame."""

    x: N
    y: N


class Friction(NamedTuple):
    """Tyre force over load: x along and y to the left of its frame."""

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
    """Force of an axle on the body, in the body frame."""

    x: N
    y: N
    difference: N
    """Longitudinal force of the right wheel minus that of the left one."""


def steered(f: Friction, c: one, s: one) -> Friction:
    """Rotate friction from the wheel to the body frame; `c`, `s` of the steering angle."""
    return Friction(*turned(c, s, f.x, f.y))


def steered_lateral(f_y: one, c: one, s: one) -> Friction:
    """Rotate a purely lateral friction from the wheel frame to the body frame; see `steered`."""
    return Friction(-s * f_y, c * f_y)


def axle_friction(left: Friction, right: Friction) -> AxleFriction:
    """Friction of an axle from the friction of its two wheels, in the body frame."""
    return AxleFriction(
        Friction(left.x + right.x, left.y + right.y),
        Friction(right.x - left.x, right.y - left.y),
    )


def tyre_force(f: AxleFriction, load: AxleLoad) -> AxleForce:
    return AxleForce(
        f.sum.x * load.mean + f.difference.x * load.shift,
        f.sum.y * load.mean + f.difference.y * load.shift,
        f.difference.x * load.mean + f.sum.x * load.shift,
    )


def drive_force(left: N, right: N, c: one, s: one) -> AxleForce:
    """Force of an axle with `left` and `right` drive forces along wheels steered by `c`, `s`."""
    along = left + right
    return AxleForce(c * along, s * along, c * (right - left))


def together(a: AxleForce, b: AxleForce) -> AxleForce:
    """Sum of two forces on the same axle."""
    return AxleForce(a.x + b.x, a.y + b.y, a.difference + b.difference)


def yaw_moment(front: AxleForce, rear: AxleForce, l_f: m, l_r: m, track: m) -> Nm:
    """Moment of the axle forces about the centre of mass, positive to the left."""
    return l_f * front.y - l_r * rear.y + (0.5 * track) * (front.difference + rear.difference)


class Velocity(NamedTuple):
    """Velocity over ground: x along and y to the left of its frame."""

    x: m_s
    y: m_s


class FourWheels(NamedTuple):
    """A value for each wheel."""

    fl: Any
    fr: Any
    rl: Any
    rr: Any


def contact_velocities(v_x: m_s, v_y: m_s, omega: rad_s, l_f: m, l_r: m, track: m) -> FourWheels:
    """Body-frame velocities of the contact patches of a body moving with (v_x, v_y, omega)."""
    turning = (0.5 * track) * omega
    left, right = v_x - turning, v_x + turning
    front, rear = v_y + l_f * omega, v_y - l_r * omega
    return FourWheels(
        Velocity(left, front), Velocity(right, front), Velocity(left, rear), Velocity(right, rear)
    )


def in_wheel_frame(v: Velocity, c: one, s: one) -> Velocity:
    """Rotate a velocity from the body to the wheel frame; `c`, `s` of the steering angle."""
    return Velocity(*turned_back(c, s, v.x, v.y))


def slip_angle(w: Velocity, v_eps: m_s) -> rad:
    """Slip angle from the direction of travel of a contact patch to the wheel's heading, in rad.

    Positive when the patch drifts to the right of the heading, so that the tyre pushes to the left.
    `w` is in the wheel frame. In reverse the sense of the drift is unchanged, hence |w.x|. `v_eps`
    keeps the angle defined at standstill.
    """
    return atan2(-w.y, maximum(abs(w.x), v_eps))


def floored_speed(v: m_s, v_blend: m_s) -> m_s:
    """|v| with a smooth lower bound, for the denominator of slip at standstill.

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
    """Slip angle with a smooth floor on the rolling speed, for a car that also stands still.

    Above `v_blend` it is `slip_angle` exactly. Below, the tyre becomes a viscous lateral damper, at
    rest as stiff as at 3/8 v_blend and no stiffer, and its force still opposes the drift.
    """
    return atan2(-w.y, floored_speed(w.x, v_blend))


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
    """Load laws of both axles."""

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
    """Load law while `force` acts at the centre of mass, hence above the ground.

    The tyres carry m a - force, and only this part shifts load between them.
    """
    a_x, a_y = force.x * (1.0 / m), force.y * (1.0 / m)
    front, rear = (
        axle._replace(
            mean_0=axle.mean_0 - axle.mean_x * a_x,
            shift_0=axle.shift_0 - axle.shift_x * a_x - axle.shift_y * a_y,
        )
        for axle in law
    )
    return LoadLaw(front, rear)


def axle_load(a: Acceleration, law: AxleLoadLaw) -> AxleLoad:
    """Load of an axle at an acceleration; a wheel load may be negative."""
    return AxleLoad(
        law.mean_0 + law.mean_x * a.x,
        law.shift_0 + law.shift_x * a.x + law.shift_y * a.y,
    )


def wheel_loads(front: AxleLoad, rear: AxleLoad) -> tuple[N, N, N, N]:
    """Load on each wheel in the order fl, fr, rl, rr."""
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


def _force_law(total: float, difference: float, law: AxleLoadLaw) -> ForceLaw:
    """Tyre force of an axle over acceleration in one direction, in the body frame."""
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
    axles = ((front, law.front), (rear, law.rear))
    x_f, x_r = (_force_law(f.sum.x, f.difference.x, own) for f, own in axles)
    y_f, y_r = (_force_law(f.sum.y, f.difference.y, own) for f, own in axles)
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


class AxleWeights(NamedTuple):
    """Load of each axle."""

    front: N
    rear: N


class CornerLoads(NamedTuple):
    """Load on each wheel, never negative."""

    fl: N
    fr: N
    rl: N
    rr: N


def axle_weights(weight: N, down: N, down_front: one, p: Any) -> AxleWeights:
    """Axle loads under the weight at the centre of mass and a downforce, shared by `down_front`."""
    return loads_under(weight, down_front * down, (1.0 - down_front) * down, p)


def loads_under(weight: N, front: N, rear: N, p: Any) -> AxleWeights:
    """Axle loads under the weight at the centre of mass and an additional load on each axle."""
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    return AxleWeights(
        (p.l_r * by_wheelbase) * weight + front, (p.l_f * by_wheelbase) * weight + rear
    )


def standing_loads(p: Any) -> tuple[N, N, N, N]:
    """Load of each wheel of a car at rest on level ground."""
    front, rear = (0.5 * F for F in loads_under(p.m * p.g, 0.0, 0.0, p))
    return front, front, rear, rear


def pitch_transfer(a_x: m_s2, p: Any) -> N:
    """Load moved from the front to the rear axle while the tyres push with m a_x."""
    return (p.m * p.z_cg * (1.0 / (p.l_f + p.l_r))) * a_x


def corner_loads(at_rest: AxleWeights, a_x: m_s2, a_y: m_s2, p: Any) -> CornerLoads:
    """Wheel loads while the tyres push with the mass times (a_x, a_y), in body axes."""
    leaning, pitch = p.m * p.z_cg, pitch_transfer(a_x, p)
    shift_f = (p.roll_front * leaning * (1.0 / p.track_f)) * a_y
    shift_r = ((1.0 - p.roll_front) * leaning * (1.0 / p.track_r)) * a_y
    return spread_loads(at_rest.front - pitch, at_rest.rear + pitch, shift_f, shift_r, p)


def axles_on_road(front: N, rear: N, p: Any) -> AxleWeights:
    """Axle loads of at least 0: a load that would be negative is taken off the other axle."""
    spilt = lift(front, p.F_lift) - lift(rear, p.F_lift)
    return AxleWeights(front + spilt, rear - spilt)


def spread_loads(front: N, rear: N, shift_f: N, shift_r: N, p: Any) -> CornerLoads:
    """Wheel loads of two axles, each with a load shift from its left to its right wheel.

    The moment of an axle about the ground is its shift times its track. Axle loads may be negative,
    but not their sum.
    """
    mean_f, mean_r = (0.5 * load for load in axles_on_road(front, rear, p))
    spilt_f = _spilt(shift_f, mean_f, p.F_lift)
    spilt_r = _spilt(shift_r, mean_r, p.F_lift)
    # A moment goes from one axle to the other, hence the ratio of the tracks.
    kept_f = shift_f - spilt_f + (p.track_r * (1.0 / p.track_f)) * spilt_r
    kept_r = shift_r - spilt_r + (p.track_f * (1.0 / p.track_r)) * spilt_f
    kept_f, kept_r = clip(kept_f, -mean_f, mean_f), clip(kept_r, -mean_r, mean_r)
    return CornerLoads(mean_f - kept_f, mean_f + kept_f, mean_r - kept_r, mean_r + kept_r)


def lift(F_z: N, width: N) -> N:
    """Amount that lifts a load to at least zero: 0 above `width`, then smoothly -F_z."""
    return 0.5 * (floored_speed(F_z, width) - F_z)


def _spilt(shift: N, mean: N, width: N) -> N:
    """Part of a load shift to the right that an axle cannot take without pulling at the road."""
    return lift(mean - shift, width) - lift(mean + shift, width)


LEAST_LOAD: one = 1e-9
"""Least load on the ground that a vehicle is assumed to have, as a share of its weight."""


class Place(NamedTuple):
    """Position of a wheel relative to the centre of mass: x forward, y left."""

    x: m
    y: m


class LoadShare(NamedTuple):
    """Share of a wheel in the vehicle's load."""

    rest: one
    """Share with the weight acting at the centre of mass."""
    per_x: per_m
    """Share added per metre that the weight acts further forward."""
    per_y: per_m
    """Share added per metre that the weight acts further to the left."""


def load_shares(places: Sequence[Place]) -> list[LoadShare]:
    """Load shares of wheels at these places: at least three not in line, or two side by side.

    They sum to one wherever the weight acts.
    """
    mean_x, mean_y = mean(place.x for place in places), mean(place.y for place in places)
    around = [Place(place.x - mean_x, place.y - mean_y) for place in places]
    s_yy = total(at.y * at.y for at in around)
    if len(places) == 2:
        by_s_yy = 1.0 / s_yy
        slopes = [(0.0 * at.x * by_s_yy, at.y * by_s_yy) for at in around]
    else:
        s_xx = total(at.x * at.x for at in around)
        s_xy = total(at.x * at.y for at in around)
        by = 1.0 / (s_xx * s_yy - s_xy * s_xy)
        slopes = [
            ((s_yy * at.x - s_xy * at.y) * by, (s_xx * at.y - s_xy * at.x) * by) for at in around
        ]
    equal = 1.0 / len(places)
    return [
        LoadShare(equal - per_x * mean_x - per_y * mean_y, per_x, per_y) for per_x, per_y in slopes
    ]


def static_loads(shares: Sequence[LoadShare], weight: N) -> list[N]:
    """Wheel loads of a vehicle at rest on level ground."""
    return grounded([weight * share.rest for share in shares], weight)


def dynamic_loads(
    shares: Sequence[LoadShare], weight: N, mass: kg, height: m, a_x: m_s2, a_y: m_s2
) -> list[N]:
    """Wheel loads while the wheels push with `mass` times (a_x, a_y), in body axes.

    They push on the ground, `height` below the centre of mass: forward acceleration moves load to
    the rear, acceleration to the left moves it to the right.
    """
    leaning = mass * height
    return grounded(
        [
            weight * share.rest - leaning * (share.per_x * a_x + share.per_y * a_y)
            for share in shares
        ],
        weight,
    )


def grounded(loads: Sequence[N], weight: N) -> list[N]:
    """Loads with those of lifted wheels, which would be negative, set to 0; they sum to
    `weight`."""
    pressing: list[Any] = [maximum(load, 0.0) for load in loads]
    scale = weight / maximum(total(pressing), LEAST_LOAD * weight)
    return [load * scale for load in pressing]


def mean(values: Iterable[Any]) -> Any:
    """Mean, summed in order."""
    terms = list(values)
    return total(terms) * (1.0 / len(terms))


def total(values: Iterable[Any]) -> Any:
    """Sum in order, without a term 0 at its start."""
    return reduce(add, values)


def pitch_loads(a: m_s2, mass: kg, g: m_s2, l_f: m, l_r: m, h: m) -> AxleWeights:
    """Axle loads by the pitch balance of a mass at height `h`; may be negative."""
    # Rounded in upstream's order: a stiff car at walking pace magnifies the last bit.
    wheelbase = l_f + l_r
    moved = mass * a * h
    return AxleWeights((mass * g * l_r - moved) / wheelbase, (mass * g * l_f + moved) / wheelbase)


def on_road(F_z: N) -> N:
    """Load on the road: 0 for a wheel or an axle in the air, as a tyre cannot pull at the road."""
    return maximum(F_z, 0.0)


UPRIGHT: rad = 0.7
"""Largest roll and pitch of an upright body; cars on their wheels stay far below."""
ROLLED_OVER = {name: (UPRIGHT, "rolled over") for name in ("roll", "pitch")}
"""End condition of models with these states (`Model.ends`)."""


def while_upright(angle: rad, rate: Any) -> Any:
    """Return `rate` while the angle is within the range of an upright body, and NaN beyond."""
    # Compiled code has no NaN constants; the root of a negative number is NaN.
    return where(abs(angle) <= UPRIGHT, rate, rate * sqrt(UPRIGHT * UPRIGHT - angle * angle))
