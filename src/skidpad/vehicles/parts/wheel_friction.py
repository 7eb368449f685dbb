"""A spinning wheel on the ground: its force on the vehicle and its spin after a step.

Within the limits of friction the wheel stops its slip in one step: the longitudinal force is the
one with which it rolls at the end of the step, the lateral force stops the wheel's share of the
vehicle's mass. So results depend on the step size only where a wheel slides.

Axes are those of the wheel: x along it, y to its left. `traction` is the correct law;
`upstream_traction` reproduces the program MVSim (1.2.0) with its errors, which docs/errata.md
lists. The friction of Ward and Iagnemma is that of "A dynamic-model-based wheel slip detector for
mobile robots on outdoor terrain", IEEE Transactions on Robotics 24 (2008). `estimated_twist` is
odometry: the motion of a vehicle from the spin of two wheels, as if they rolled without slip.

Drivetrains that distribute the torque of one motor to four wheels through differentials.

An open differential splits in fixed proportion. A Torsen-like one gives more to the slower side
once the faster one turns more than `bias` times as fast, and up to `bias` times as much. When the
torque brakes, the faster side gets more: its friction dissipates energy either way. All of them
transmit the whole torque.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.record import unknown_name
from ...errors import InvalidValue
from ...ops import (
    abs,
    atan2,
    clip,
    cos,
    exp,
    floor,
    logical_and,
    logical_or,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from .actuators import fraction, limited
from .load_transfer import Place

LEAST_FORCE2 = 1e-18
"""Least squared force limit, in N², to divide by."""
TINY: si.one = 1e-12
"""Relative lower bound that keeps a quotient finite at zero force."""
STEPS = 4
"""Newton steps for the force direction of a sliding wheel; the error is about 1e-3 at worst."""


def within_circle(x: si.N, y: si.N, masses: tuple[si.kg, si.kg], most: si.N) -> tuple[si.N, si.N]:
    """Force of at most the length `most` that opposes the slip it leaves.

    The force (x, y) would leave no slip; what is missing from it leaves slip in inverse
    proportion to the masses that slip along and across. So the force is x / (1 + q masses[0]), y
    / (1 + q masses[1]) with the length `most`: one equation for q. Newton's method for the
    reciprocal of the length (Moré and Sorensen 1983) needs few steps.
    """
    larger = 1.0 / maximum(*masses)
    along, across = masses[0] * larger, masses[1] * larger
    by_most = 1.0 / sqrt(maximum(most * most, LEAST_FORCE2))
    q: Any = 0.0 * most * by_most
    for _ in range(STEPS):
        soft_x, soft_y = 1.0 / (1.0 + q * along), 1.0 / (1.0 + q * across)
        F_x, F_y = x * soft_x, y * soft_y
        length2 = maximum(F_x * F_x + F_y * F_y, LEAST_FORCE2)
        falls = maximum(along * F_x * F_x * soft_x + across * F_y * F_y * soft_y, TINY * length2)
        q = maximum(q + (sqrt(length2) * by_most - 1.0) * length2 / falls, 0.0)
    return shortened(x / (1.0 + q * along), y / (1.0 + q * across), most)


def shortened(x: si.N, y: si.N, most: si.N) -> tuple[si.N, si.N]:
    """Force scaled down to the length `most` if it is longer."""
    most2 = maximum(most * most, LEAST_FORCE2)
    shorter = most / sqrt(maximum(x * x + y * y, most2))
    return shorter * x, shorter * y


s_m = Annotated[float, si.Unit("s/m", length=-1, time=1)]

ROLLING_SHARPNESS = 100.0
"""Slope at zero spin of the sign function of rolling resistance, in s/rad."""
STANDSTILL: si.m_s = 1e-6
"""Least speed that slip is relative to."""
NO_LIMIT: si.one = 1e9
"""Friction coefficient of ground without a limit."""


class Friction(NamedTuple):
    """Coulomb friction, the same along and across the wheel."""

    mu: Annotated[si.one, si.non_negative] = 0.8
    """Largest force over load."""
    C_damping: Annotated[si.Nm_s_rad, si.non_negative] = 0.01
    """Damping torque per spin, by bearings and shaft."""
    C_rr: Annotated[si.one, si.non_negative] = 0.0
    """Rolling resistance over load."""


class WardIagnemma(NamedTuple):
    """Coulomb friction and a rolling resistance that grows with speed (Ward and Iagnemma)."""

    mu: Annotated[si.one, si.non_negative] = 0.8
    """Largest force over load."""
    C_damping: Annotated[si.Nm_s_rad, si.non_negative] = 0.01
    """Damping torque per spin, by bearings and shaft."""
    C_rr: Annotated[si.one, si.non_negative] = 0.0
    """Rolling resistance over load, in addition to R_1 and R_2."""
    A_roll: Annotated[s_m, si.non_negative] = 50.0
    """Sharpness with which the constant part of the resistance sets in over speed."""
    R_1: Annotated[si.one, si.non_negative] = 0.0075
    """Constant part of the rolling resistance over load."""
    R_2: Annotated[s_m, si.non_negative] = 0.02
    """Growth of the rolling resistance over load, per speed."""


class Ellipse(NamedTuple):
    """Friction that rises linearly with slip up to saturation, with coupled directions."""

    C_damping: Annotated[si.Nm_s_rad, si.non_negative] = 0.01
    """Damping torque per spin, by bearings and shaft."""
    C_rr: Annotated[si.one, si.non_negative] = 0.0
    """Rolling resistance over load."""
    C_alpha: Annotated[si.one, si.non_negative] = 8.5
    """Lateral force over load, per rad of slip angle."""
    C_s: Annotated[si.one, si.non_negative] = 7.5
    """Longitudinal force over load, per slip ratio."""
    alpha_s: Annotated[si.rad, si.positive] = 0.1
    """Slip angle at which the lateral force saturates."""
    s_s: Annotated[si.one, si.positive] = 0.1
    """Slip ratio at which the longitudinal force saturates."""
    C_alpha_s: fraction = 0.5
    """Share of the squared lateral force lost at saturated longitudinal slip."""
    C_s_alpha: fraction = 0.5
    """Share of the squared longitudinal force lost at saturated slip angle."""


Law = Friction | WardIagnemma | Ellipse
"""Friction record; its class selects the friction model."""


class Hub(NamedTuple):
    """Radius and inertia of a wheel."""

    radius: si.m
    inertia: si.kg_m2
    """Inertia about the axle."""


class SpeedLoop(NamedTuple):
    """Torque of a controller that depends on the wheel's own spin.

    Over a step it is the torque at the spin at the end of the step: a sliding wheel has little
    inertia, and a loop with the spin at the start would oscillate from step to step.
    """

    torque: si.Nm
    """Torque at the spin at the start of the step, before limits."""
    gain: si.Nm_s_rad
    """Decrease of the torque per spin that the wheel gains; not negative."""
    limit: Callable[[si.Nm], si.Nm]
    """Torque of the motor for a torque demand; monotonic, of slope 1 or 0."""
    share: si.one = 1.0
    """Share of the motor's torque that reaches the wheel."""

    def at(self, gained: si.rad_s) -> si.Nm:
        """Torque at the wheel after it has gained the spin `gained`."""
        return self.share * self.limit(self.torque - self.gain * gained)


class Contact(NamedTuple):
    """Motion, load and torque of a wheel at the start of a step."""

    u_x: si.m_s
    """Velocity of the hub along the wheel."""
    u_y: si.m_s
    """Velocity of the hub across the wheel, positive to its left."""
    spin: si.rad_s
    """Spin about the axle, positive when it rolls forward."""
    torque: si.Nm
    """Torque of the motor, positive drives forward."""
    F_z: si.N
    """Load, positive when pressed on the ground."""
    mass: si.kg
    """Share of the vehicle's mass that the wheel holds against lateral motion."""
    s_x: si.N = 0.0
    """Component along the wheel of the weight of this share on a slope."""
    s_y: si.N = 0.0
    """Component across the wheel of the weight of this share on a slope."""
    loop: SpeedLoop | None = None
    """Law of the torque by the spin, instead of `torque`."""


class Surface(NamedTuple):
    """Friction of the ground that replaces the wheel's own; negative for no replacement."""

    mu: si.one = -1.0
    C_rr: si.one = -1.0


class Traction(NamedTuple):
    """Force and spin of a wheel after a step."""

    F_x: si.N
    """Force on the vehicle along the wheel."""
    F_y: si.N
    """Force on the vehicle across the wheel, positive to its left."""
    spin: si.rad_s
    """Spin at the end of the step."""


def traction(
    c: Contact, hub: Hub, ground: Surface, p: Law, dt: si.s, *, circle: bool = True
) -> Traction:
    """Force and spin of a wheel over a step.

    With `circle` the limit is on the resultant force, which opposes the slip that is left at the
    end of the step; else longitudinal and lateral force are limited separately. An `Ellipse` has
    its own coupling, and the circle then is the limit of slippery ground.
    """
    # Rolling resistance is at most the torque that stops the vehicle in the step.
    over_load = _rolling_resistance(c.spin, c.spin * hub.radius, ground, p)
    stopping = abs(c.spin) * (c.mass * hub.radius * hub.radius) * (1.0 / dt)
    drag = p.C_damping * c.spin + limited(over_load * c.F_z * hub.radius, stopping)
    by_radius, by_dt = 1.0 / hub.radius, 1.0 / dt
    gained = c.u_x * by_radius - c.spin
    torque = (c.torque if c.loop is None else c.loop.at(gained)) - drag
    # Spin at the end of the step if there were no ground, less that of rolling.
    excess = c.spin + torque * dt * (1.0 / hub.inertia) - c.u_x * by_radius
    wanted_x = (hub.inertia * by_dt) * excess * by_radius
    wanted_y = -(c.mass * by_dt) * c.u_y - c.s_y
    most_x, most_y = _limits(c, excess * hub.radius, -wanted_y * dt * (1.0 / c.mass), ground, p)
    if circle and not isinstance(p, Ellipse):
        resists = hub.inertia if c.loop is None else _resisting(c.loop, hub, dt)
        masses = (resists * by_radius * by_radius, c.mass)
        F_x, F_y = within_circle(wanted_x, wanted_y, masses, most_x)
    else:
        F_x, F_y = limited(wanted_x, most_x), limited(wanted_y, most_y)
    if circle and isinstance(p, Ellipse):
        F_x, F_y = shortened(F_x, F_y, where(ground.mu < 0.0, NO_LIMIT, ground.mu) * c.F_z)
    load = hub.radius * F_x
    if c.loop is not None:
        # Torque consistent with the spin that it causes. The motor's limit is monotonic, so it may
        # be applied to the solution of the linear law.
        free, inertia = c.loop.share * c.loop.torque, _resisting(c.loop, hub, dt)
        torque = c.loop.at(dt * (free - (drag + load)) / inertia) - drag
    return Traction(F_x, F_y, c.spin + dt * (torque - load) * (1.0 / hub.inertia))


def _resisting(loop: SpeedLoop, hub: Hub, dt: si.s) -> si.kg_m2:
    """Inertia of a wheel plus the effective inertia of its speed loop over a step."""
    return hub.inertia + dt * loop.share * loop.gain


def _rolling_resistance(spin: si.rad_s, speed: si.m_s, ground: Surface, p: Law) -> si.one:
    """Rolling resistance over load, with the sign of the motion."""
    over_load = _own_or(p.C_rr, ground.C_rr) * tanh(ROLLING_SHARPNESS * spin)
    return over_load + _ward_iagnemma(speed, p) if isinstance(p, WardIagnemma) else over_load


def _ward_iagnemma(v: si.m_s, p: WardIagnemma) -> si.one:
    """Rolling resistance over load at a speed, with the sign of the speed."""
    speed = abs(v)
    return sign(v) * (p.R_1 * (1.0 - exp(-p.A_roll * speed)) + p.R_2 * speed)


def _own_or(own: Any, ground: Any) -> Any:
    return where(ground < 0.0, own, ground)


def _limits(
    c: Contact, slip_x: si.m_s, slip_y: si.m_s, ground: Surface, p: Law
) -> tuple[si.N, si.N]:
    """Force limits; the slips are those that the wheel would have without ground forces."""
    if not isinstance(p, Ellipse):
        most = _own_or(p.mu, ground.mu) * c.F_z
        return most, most
    rolling = c.u_x + slip_x
    reference = maximum(maximum(abs(rolling), abs(c.u_x)), STANDSTILL)
    along = minimum(abs(slip_x) / reference, p.s_s)
    across = minimum(atan2(abs(slip_y), maximum(abs(c.u_x), STANDSTILL)), p.alpha_s)
    # Slippery ground limits both; without a value for it the wheel's own friction does.
    cap = where(ground.mu < 0.0, p.C_s * p.s_s + p.C_alpha * p.alpha_s, ground.mu)
    x, y = _ellipse(along, across, p)
    return minimum(x, cap) * c.F_z, minimum(y, cap) * c.F_z


def _ellipse(along: si.one, across: si.rad, p: Ellipse) -> tuple[si.one, si.one]:
    """Force limits over load from slip ratio and slip angle, which are already saturated."""
    share_x, share_y = along * (1.0 / p.s_s), across * (1.0 / p.alpha_s)
    return (
        p.C_s * along * sqrt(1.0 - p.C_s_alpha * share_y * share_y),
        p.C_alpha * across * sqrt(1.0 - p.C_alpha_s * share_x * share_x),
    )


def swivelling(c: Contact, hub: Hub, ground: Surface, p: Law) -> Traction:
    """Force and spin of a freely swivelling wheel: it only resists rolling.

    Velocities and forces may be in any axes. The inertia of the wheel is neglected, so it rolls.
    """
    speed = sqrt(c.u_x * c.u_x + c.u_y * c.u_y + STANDSTILL * STANDSTILL)
    spin = speed * (1.0 / hub.radius)
    drag = _rolling_resistance(spin, speed, ground, p) * c.F_z + p.C_damping * spin * (
        1.0 / hub.radius
    )
    per_speed = -drag / speed
    return Traction(per_speed * c.u_x, per_speed * c.u_y, spin)


def upstream_traction(
    c: Contact, yaw: si.rad, hub: Hub, ground: Surface, p: Law, dt: si.s
) -> Traction:
    """Force and spin as MVSim computes them; `yaw` is the angle of the wheel on the vehicle."""
    C_rr = _own_or(p.C_rr, ground.C_rr)
    rolls = logical_and(C_rr > 0.0, abs(c.spin) > 1e-4)
    resistance = C_rr * c.F_z * hub.radius * tanh(ROLLING_SHARPNESS * c.spin)
    torque = c.torque - p.C_damping * c.spin - where(rolls, resistance, 0.0)
    most_x, most_y = _upstream_limits(c, yaw, hub, ground, p)
    by_radius, by_dt = 1.0 / hub.radius, 1.0 / dt
    F_y = limited(-c.u_y * c.mass * by_dt - c.s_y, most_y)
    spin_rate = (c.u_x * by_radius - c.spin) * by_dt
    F_x = (torque - hub.inertia * spin_rate) * by_radius
    if isinstance(p, WardIagnemma):
        F_x = F_x - _ward_iagnemma(c.u_x, p) * c.F_z
    F_x = limited(F_x, most_x)
    spin = c.spin + dt * (torque - hub.radius * F_x) * (1.0 / hub.inertia)
    return Traction(F_x - limited(c.s_x, most_x - abs(F_x)), F_y, spin)


def _upstream_limits(
    c: Contact, yaw: si.rad, hub: Hub, ground: Surface, p: Law
) -> tuple[si.N, si.N]:
    """Force limits with the sign of the slip; negative limits act as the force in `limited`."""
    if not isinstance(p, Ellipse):
        most = _own_or(p.mu, ground.mu) * c.F_z
        return most, most
    moves = maximum(abs(c.u_x), abs(c.u_y)) > 1e-3
    direction = where(moves, atan2(c.u_y, c.u_x), 0.0)
    # The velocity is that of the wheel's axes already; upstream turns it once more.
    angle = _wrapped(yaw - direction)
    angle = where(abs(angle) > 0.5 * pi, _wrapped(yaw + pi - direction), angle)
    rolling = where(abs(c.spin) > 1e-5, c.spin * hub.radius, 1e-5)
    ratio = clip((rolling - c.u_x) / abs(rolling), -1.0, 1.0)
    x, y = _ellipse(limited(ratio, p.s_s), limited(angle, p.alpha_s), p)
    return x * c.F_z, y * c.F_z


def _wrapped(angle: si.rad) -> si.rad:
    return angle - 2.0 * pi * floor(angle * (0.5 / pi) + 0.5)


class Twist(NamedTuple):
    """Velocity of a vehicle without lateral slip."""

    v: si.m_s
    """Velocity at the vehicle's reference point, forward positive."""
    omega: si.rad_s
    """Yaw rate, positive to the left."""


class Pose(NamedTuple):
    """Position and heading since the start of the odometry."""

    x: si.m = 0.0
    y: si.m = 0.0
    yaw: si.rad = 0.0


class SpinningWheel(NamedTuple):
    """A wheel whose spin is used for odometry."""

    spin: si.rad_s
    """Spin, positive when the wheel rolls forward."""
    hub: Hub
    place: Place
    """Position relative to the point whose motion is estimated."""


def estimated_twist(left: SpinningWheel, right: SpinningWheel) -> Twist:
    """Motion of the vehicle for which both wheels roll at their spin."""
    v_left, v_right = left.spin * left.hub.radius, right.spin * right.hub.radius
    omega = (v_right - v_left) * (1.0 / (left.place.y - right.place.y))
    return Twist(v_left + omega * left.place.y, omega)


def advanced(pose: Pose, twist: Twist, dt: si.s) -> Pose:
    """Pose after a motion over dt, integrated along the heading at the middle of the step."""
    turned = twist.omega * dt
    heading = pose.yaw + 0.5 * turned
    ahead = twist.v * dt
    return Pose(pose.x + ahead * cos(heading), pose.y + ahead * sin(heading), pose.yaw + turned)


REST_SPIN: si.rad_s = 0.1
"""Spin below which a wheel counts as standing in a ratio of spins."""


class Splits(NamedTuple):
    """Settings of the differentials; settings of differentials that a drivetrain lacks are
    ignored."""

    front_rear_split: fraction = 0.5
    """Share of the torque that goes to the front axle."""
    front_rear_bias: Annotated[si.one, si.non_negative] = 1.5
    """Ratio of axle speeds above which a centre Torsen acts; also its torque ratio."""
    front_left_right_split: fraction = 0.5
    """Share of the front axle's torque that goes to its left wheel."""
    front_left_right_bias: Annotated[si.one, si.non_negative] = 1.5
    """Ratio of wheel speeds above which a front Torsen acts; also its torque ratio."""
    rear_left_right_split: fraction = 0.5
    """Share of the rear axle's torque that goes to its left wheel."""
    rear_left_right_bias: Annotated[si.one, si.non_negative] = 1.5
    """Ratio of wheel speeds above which a rear Torsen acts; also its torque ratio."""


class Corners(NamedTuple):
    """A value for each wheel."""

    rl: float
    rr: float
    fl: float
    fr: float


Pair = tuple[si.one, si.one]
"""Shares of the two outputs of a differential; they sum to one."""


def torsen_shares(
    spin_1: si.rad_s, spin_2: si.rad_s, bias: si.one, split: si.one, torque: si.Nm | si.one = 1.0
) -> Pair:
    """Torque shares of a Torsen-like differential with these output spins.

    Only the sign of `torque` matters. The shares are at most `bias` times as unequal as the
    split; a bias of 1 or less leaves the split unchanged. A vehicle at rest starts with the
    plain split.
    """
    speed_1, speed_2 = abs(spin_1), abs(spin_2)
    slower = where(spin_1 * spin_2 < 0.0, 0.0 * speed_1, minimum(speed_1, speed_2))
    ratio = (slower + REST_SPIN) / (maximum(speed_1, speed_2) + REST_SPIN)
    most = maximum((bias - 1.0) / (bias + 1.0), 0.0)
    lock = clip(1.0 - bias * ratio, 0.0, most)
    lock = where((spin_1 - spin_2) * torque > 0.0, -lock, lock)
    return _locked(split, lock)


def upstream_torsen_shares(
    spin_1: si.rad_s, spin_2: si.rad_s, bias: si.one, split: si.one, torque: si.Nm | si.one = 1.0
) -> Pair:
    """Torque shares by MVSim: unbounded, the same for drive and brake, and open at rest."""
    speed_1, speed_2 = abs(spin_1), abs(spin_2)
    fastest = maximum(speed_1, speed_2)
    resting = logical_or(spin_1 == 0.0, spin_2 == 0.0)
    ratio = minimum(speed_1, speed_2) / where(resting, 1.0, fastest)
    lock = where(resting, 0.0, maximum(1.0 - bias * ratio, 0.0))
    lock = where(speed_1 > speed_2, -lock, lock)
    return _locked(split, lock)


def _locked(split: si.one, lock: si.one) -> Pair:
    to_1, to_2 = split * (1.0 + lock), (1.0 - split) * (1.0 - lock)
    by_sum = 1.0 / (to_1 + to_2)
    return to_1 * by_sum, to_2 * by_sum


DRIVETRAINS = ("open_front", "open_rear", "open_4wd", "torsen_front", "torsen_rear", "torsen_4wd")


def torque_shares(
    drivetrain: str,
    spin: Corners,
    p: Splits,
    torque: si.Nm | si.one = 1.0,
    *,
    upstream: bool = False,
) -> Corners:
    """Share of the motor's torque for each wheel at these spins, for a named drivetrain.

    With `upstream` Torsens behave as in the program MVSim.
    """
    if drivetrain not in DRIVETRAINS:
        raise InvalidValue(unknown_name("skidpad", drivetrain, DRIVETRAINS, "drivetrain"))
    kind, _, driven = drivetrain.partition("_")
    law = upstream_torsen_shares if upstream else torsen_shares

    def shares(differential: str, spin_1: si.rad_s, spin_2: si.rad_s) -> Pair:
        split = getattr(p, f"{differential}_split")
        if kind == "open":
            return split, 1.0 - split
        return law(spin_1, spin_2, getattr(p, f"{differential}_bias"), split, torque)

    if driven == "front":
        return Corners(0.0, 0.0, *shares("front_left_right", spin.fl, spin.fr))
    if driven == "rear":
        return Corners(*shares("rear_left_right", spin.rl, spin.rr), 0.0, 0.0)
    to_front, to_rear = shares("front_rear", spin.fl + spin.fr, spin.rl + spin.rr)
    front = shares("front_left_right", spin.fl, spin.fr)
    rear = shares("rear_left_right", spin.rl, spin.rr)
    return Corners(to_rear * rear[0], to_rear * rear[1], to_front * front[0], to_front * front[1])
