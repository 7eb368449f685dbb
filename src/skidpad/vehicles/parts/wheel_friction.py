"""A spinning wheel on the ground: the force it pushes with, and how fast it spins afterwards.

Within the limits of friction the wheel stops its slip in one step: the force along it is the one
with which it rolls at the end of the step, the force across it stops the share of the vehicle's
mass that it has to hold. So results depend on the step only where a wheel slides.

Axes are those of the wheel: x along it, y to its left. `traction` is the right law;
`upstream_traction` repeats the program MVSim (1.2.0) with its errors, which docs/errata.md lists.
The friction of Ward and Iagnemma is that of "A dynamic-model-based wheel slip detector for mobile
robots on outdoor terrain", IEEE Transactions on Robotics 24 (2008). `estimated_twist` is odometry:
the motion of a vehicle from the spin of two wheels, as if they rolled without slip.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Annotated, Any, NamedTuple

from ...ops import (
    abs,
    atan2,
    clip,
    cos,
    exp,
    floor,
    logical_and,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tanh,
    where,
)
from ...units import (
    Allowed,
    N,
    Nm,
    Unit,
    kg,
    kg_m2,
    m,
    m_s,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    s,
)
from .actuators import limited
from .load_transfer import (
    Place,
)

LEAST_FORCE2 = 1e-18
"""Square of a force (N) that no wheel needs to be limited to."""
TINY: one = 1e-12
"""Share that keeps a quotient finite where no force is wanted."""
STEPS = 4
"""Newton steps for the direction of a sliding wheel's force: some 1e-3 of it at worst."""


def within_circle(x: N, y: N, masses: tuple[kg, kg], most: N) -> tuple[N, N]:
    """The force no longer than `most` that points against the slip it leaves.

    (x, y) would leave none, and what is missing leaves slip by the masses that slip along and
    across. So the force is x / (1 + q masses[0]), y / (1 + q masses[1]), and as long as `most`: one
    equation for q. Newton's method for the reciprocal of the length (Moré and Sorensen 1983) needs
    few steps.
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


def shortened(x: N, y: N, most: N) -> tuple[N, N]:
    """The force, shortened to `most` if it is longer."""
    most2 = maximum(most * most, LEAST_FORCE2)
    shorter = most / sqrt(maximum(x * x + y * y, most2))
    return shorter * x, shorter * y


Nm_s_rad = Annotated[float, Unit("N·m·s/rad", length=2, mass=1, time=-1)]
s_m = Annotated[float, Unit("s/m", length=-1, time=1)]
share = Annotated[one, Allowed(0.0, 1.0)]

ROLLING_SHARPNESS = 100.0
"""Spins per rad/s over which rolling resistance sets in."""
STANDSTILL: m_s = 1e-6
"""Speed below which slip is measured against this speed."""
NO_LIMIT: one = 1e9
"""Friction of ground that limits nothing."""


class Friction(NamedTuple):
    """Coulomb friction, the same along and across the wheel."""

    mu: Annotated[one, non_negative] = 0.8
    """Largest force over load."""
    C_damping: Annotated[Nm_s_rad, non_negative] = 0.01
    """Torque that opposes the spin, per spin: bearings and shaft."""
    C_rr: Annotated[one, non_negative] = 0.0
    """Rolling resistance over load."""


class WardIagnemma(NamedTuple):
    """Coulomb friction and a rolling resistance that grows with speed."""

    mu: Annotated[one, non_negative] = 0.8
    """Largest force over load."""
    C_damping: Annotated[Nm_s_rad, non_negative] = 0.01
    """Torque that opposes the spin, per spin: bearings and shaft."""
    C_rr: Annotated[one, non_negative] = 0.0
    """Rolling resistance over load, besides the one below."""
    A_roll: Annotated[s_m, non_negative] = 50.0
    """How sharply the constant part of the resistance sets in over speed."""
    R_1: Annotated[one, non_negative] = 0.0075
    """Constant part of the rolling resistance over load."""
    R_2: Annotated[s_m, non_negative] = 0.02
    """Growth of the rolling resistance over load, per speed."""


class Ellipse(NamedTuple):
    """Friction that rises linearly with slip up to a saturation; slip along takes from across."""

    C_damping: Annotated[Nm_s_rad, non_negative] = 0.01
    """Torque that opposes the spin, per spin: bearings and shaft."""
    C_rr: Annotated[one, non_negative] = 0.0
    """Rolling resistance over load."""
    C_alpha: Annotated[one, non_negative] = 8.5
    """Force across over load, per rad of slip angle."""
    C_s: Annotated[one, non_negative] = 7.5
    """Force along over load, per slip ratio."""
    alpha_s: Annotated[rad, positive] = 0.1
    """Slip angle at which the force across saturates."""
    s_s: Annotated[one, positive] = 0.1
    """Slip ratio at which the force along saturates."""
    C_alpha_s: share = 0.5
    """Share of the squared force across that saturated slip along takes."""
    C_s_alpha: share = 0.5
    """Share of the squared force along that saturated slip across takes."""


Law = Friction | WardIagnemma | Ellipse
"""The class of the record is the friction model."""


class Hub(NamedTuple):
    """The wheel itself."""

    radius: m
    inertia: kg_m2
    """About the axle."""


class SpeedLoop(NamedTuple):
    """A torque that a controller gives by the speed of the wheel itself.

    Over a step it is that of the spin at the end of the step: a wheel that slides has little
    inertia, and a loop that looks back would throw its spin to and fro from step to step.
    """

    torque: Nm
    """At the spin at the start of the step, before limits."""
    gain: Nm_s_rad
    """How much less it is per spin that the wheel gains; not negative."""
    limit: Callable[[Nm], Nm]
    """What the motor gives when so much is asked for; monotonic, of slope 1 or 0."""
    share: one = 1.0
    """How much of it reaches the wheel."""

    def at(self, gained: rad_s) -> Nm:
        """The torque at the wheel when it has gained so much spin."""
        return self.share * self.limit(self.torque - self.gain * gained)


class Contact(NamedTuple):
    """What a wheel meets at the start of a step."""

    u_x: m_s
    """Velocity of the hub along the wheel."""
    u_y: m_s
    """Velocity of the hub across the wheel, positive to its left."""
    spin: rad_s
    """Spin about the axle, positive when it rolls forward."""
    torque: Nm
    """Torque of the motor, positive drives forward."""
    F_z: N
    """Load, positive when pressed on the ground."""
    mass: kg
    """Share of the vehicle's mass that the wheel holds against moving sideways."""
    s_x: N = 0.0
    """Weight along a slope that pulls at this share, along the wheel."""
    s_y: N = 0.0
    """Weight along a slope that pulls at this share, across the wheel."""
    loop: SpeedLoop | None = None
    """What gives the torque by the spin, in place of `torque`."""


class Surface(NamedTuple):
    """What the ground under a wheel has in place of the wheel's own numbers; negative: nothing."""

    mu: one = -1.0
    C_rr: one = -1.0


class Traction(NamedTuple):
    """What comes of it."""

    F_x: N
    """Force on the vehicle along the wheel."""
    F_y: N
    """Force on the vehicle across the wheel, positive to its left."""
    spin: rad_s
    """Spin at the end of the step."""


class _Limit(NamedTuple):
    """Largest force along and across the wheel."""

    x: N
    y: N


def traction(
    c: Contact, hub: Hub, ground: Surface, p: Law, dt: s, *, circle: bool = True
) -> Traction:
    """Force and spin of a wheel over a step.

    The limit holds for the whole force, which points against the slip that is left at the end of
    the step; without `circle` along and across each on its own. An `Ellipse` has its own way, and
    the circle is the limit of slippery ground.
    """
    drag = p.C_damping * c.spin + _resistance(c, hub, ground, p, dt)
    by_radius, by_dt = 1.0 / hub.radius, 1.0 / dt
    gained = c.u_x * by_radius - c.spin
    torque = (c.torque if c.loop is None else c.loop.at(gained)) - drag
    # Spin at the end of the step if there were no ground, less that of rolling.
    excess = c.spin + torque * dt * (1.0 / hub.inertia) - c.u_x * by_radius
    wanted_x = (hub.inertia * by_dt) * excess * by_radius
    wanted_y = -(c.mass * by_dt) * c.u_y - c.s_y
    limit = _limits(c, excess * hub.radius, -wanted_y * dt * (1.0 / c.mass), ground, p)
    if circle and not isinstance(p, Ellipse):
        resists = hub.inertia if c.loop is None else _resisting(c.loop, hub, dt)
        masses = (resists * by_radius * by_radius, c.mass)
        F_x, F_y = within_circle(wanted_x, wanted_y, masses, limit.x)
    else:
        F_x, F_y = (
            limited(wanted_x, limit.x),
            limited(wanted_y, limit.y),
        )
    if circle and isinstance(p, Ellipse):
        F_x, F_y = shortened(F_x, F_y, where(ground.mu < 0.0, NO_LIMIT, ground.mu) * c.F_z)
    load = hub.radius * F_x
    if c.loop is not None:
        # The torque that fits to the spin that it brings about itself: the limit cuts off what a
        # straight line would give, so that it may be put on the solution of it.
        free, inertia = c.loop.share * c.loop.torque, _resisting(c.loop, hub, dt)
        torque = c.loop.at(dt * (free - (drag + load)) / inertia) - drag
    return Traction(F_x, F_y, c.spin + dt * (torque - load) * (1.0 / hub.inertia))


def _resisting(loop: SpeedLoop, hub: Hub, dt: s) -> kg_m2:
    """Inertia of a wheel together with what its loop resists a change of spin with in a step."""
    return hub.inertia + dt * loop.share * loop.gain


def _resistance(c: Contact, hub: Hub, ground: Surface, p: Law, dt: s) -> Nm:
    """Torque of rolling resistance; at most the one that stops the vehicle in the step."""
    over_load = _own_or(p.C_rr, ground.C_rr) * tanh(ROLLING_SHARPNESS * c.spin)
    if isinstance(p, WardIagnemma):
        over_load = over_load + _ward_iagnemma(c.spin * hub.radius, p)
    stopping = abs(c.spin) * (c.mass * hub.radius * hub.radius) * (1.0 / dt)
    return limited(over_load * c.F_z * hub.radius, stopping)


def _ward_iagnemma(v: m_s, p: WardIagnemma) -> one:
    """Rolling resistance over load at a speed, with the sign of the speed."""
    speed = abs(v)
    return sign(v) * (p.R_1 * (1.0 - exp(-p.A_roll * speed)) + p.R_2 * speed)


def _own_or(own: Any, ground: Any) -> Any:
    return where(ground < 0.0, own, ground)


def _limits(c: Contact, slip_x: m_s, slip_y: m_s, ground: Surface, p: Law) -> _Limit:
    """Largest forces; the slips are those that the wheel would have without ground forces."""
    if not isinstance(p, Ellipse):
        most = _own_or(p.mu, ground.mu) * c.F_z
        return _Limit(most, most)
    rolling = c.u_x + slip_x
    reference = maximum(maximum(abs(rolling), abs(c.u_x)), STANDSTILL)
    along = minimum(abs(slip_x) / reference, p.s_s)
    across = minimum(atan2(abs(slip_y), maximum(abs(c.u_x), STANDSTILL)), p.alpha_s)
    # Slippery ground caps both; what has no number for it is the wheel's alone.
    cap = where(ground.mu < 0.0, p.C_s * p.s_s + p.C_alpha * p.alpha_s, ground.mu)
    x, y = _ellipse(along, across, p)
    return _Limit(minimum(x, cap) * c.F_z, minimum(y, cap) * c.F_z)


def _ellipse(along: one, across: rad, p: Ellipse) -> tuple[one, one]:
    """Limits over load from slip ratio and slip angle that are saturated already."""
    share_x, share_y = along * (1.0 / p.s_s), across * (1.0 / p.alpha_s)
    return (
        p.C_s * along * sqrt(1.0 - p.C_s_alpha * share_y * share_y),
        p.C_alpha * across * sqrt(1.0 - p.C_alpha_s * share_x * share_x),
    )


def swivelling(c: Contact, hub: Hub, ground: Surface, p: Law) -> Traction:
    """A wheel that turns freely into its direction of travel: it carries, and resists rolling.

    Velocities and forces are in any axes. The wheel has no inertia to speak of, so it rolls.
    """
    speed = sqrt(c.u_x * c.u_x + c.u_y * c.u_y + STANDSTILL * STANDSTILL)
    spin = speed * (1.0 / hub.radius)
    over_load = _own_or(p.C_rr, ground.C_rr) * tanh(ROLLING_SHARPNESS * spin)
    if isinstance(p, WardIagnemma):
        over_load = over_load + _ward_iagnemma(speed, p)
    drag = over_load * c.F_z + p.C_damping * spin * (1.0 / hub.radius)
    per_speed = -drag / speed
    return Traction(per_speed * c.u_x, per_speed * c.u_y, spin)


def upstream_traction(c: Contact, yaw: rad, hub: Hub, ground: Surface, p: Law, dt: s) -> Traction:
    """`traction` as MVSim has it; `yaw` is the angle of the wheel on the vehicle."""
    C_rr = _own_or(p.C_rr, ground.C_rr)
    rolls = logical_and(C_rr > 0.0, abs(c.spin) > 1e-4)
    resistance = C_rr * c.F_z * hub.radius * tanh(ROLLING_SHARPNESS * c.spin)
    torque = c.torque - p.C_damping * c.spin - where(rolls, resistance, 0.0)
    limit = _upstream_limits(c, yaw, hub, ground, p)
    by_radius, by_dt = 1.0 / hub.radius, 1.0 / dt
    F_y = limited(-c.u_y * c.mass * by_dt - c.s_y, limit.y)
    spin_rate = (c.u_x * by_radius - c.spin) * by_dt
    F_x = (torque - hub.inertia * spin_rate) * by_radius
    if isinstance(p, WardIagnemma):
        F_x = F_x - _ward_iagnemma(c.u_x, p) * c.F_z
    F_x = limited(F_x, limit.x)
    spin = c.spin + dt * (torque - hub.radius * F_x) * (1.0 / hub.inertia)
    return Traction(F_x - limited(c.s_x, limit.x - abs(F_x)), F_y, spin)


def _upstream_limits(c: Contact, yaw: rad, hub: Hub, ground: Surface, p: Law) -> _Limit:
    """Limits with the sign of the slip; where negative, `limited` gives them whatever is wanted."""
    if not isinstance(p, Ellipse):
        most = _own_or(p.mu, ground.mu) * c.F_z
        return _Limit(most, most)
    moves = maximum(abs(c.u_x), abs(c.u_y)) > 1e-3
    direction = where(moves, atan2(c.u_y, c.u_x), 0.0)
    # The velocity is that of the wheel's axes already; upstream turns it once more.
    angle = _wrapped(yaw - direction)
    angle = where(abs(angle) > 0.5 * pi, _wrapped(yaw + pi - direction), angle)
    rolling = where(abs(c.spin) > 1e-5, c.spin * hub.radius, 1e-5)
    ratio = clip((rolling - c.u_x) / abs(rolling), -1.0, 1.0)
    x, y = _ellipse(limited(ratio, p.s_s), limited(angle, p.alpha_s), p)
    return _Limit(x * c.F_z, y * c.F_z)


def _wrapped(angle: rad) -> rad:
    """The angle within ±π."""
    return angle - 2.0 * pi * floor(angle * (0.5 / pi) + 0.5)


class Twist(NamedTuple):
    """Velocity of a vehicle that does not slip sideways."""

    v: m_s
    """Along the vehicle, forward positive, at the point that wheel places are given from."""
    omega: rad_s
    """Yaw rate, positive to the left."""


class Pose(NamedTuple):
    """Position and heading in the frame in which counting began."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0


class SpinningWheel(NamedTuple):
    """A wheel that is listened to."""

    spin: rad_s
    """Positive when it rolls forward."""
    hub: Hub
    place: Place
    """From the point whose motion is estimated."""


def estimated_twist(left: SpinningWheel, right: SpinningWheel) -> Twist:
    """Twist at which both wheels roll with the spin they have."""
    v_left, v_right = left.spin * left.hub.radius, right.spin * right.hub.radius
    omega = (v_right - v_left) * (1.0 / (left.place.y - right.place.y))
    return Twist(v_left + omega * left.place.y, omega)


def advanced(pose: Pose, twist: Twist, dt: s) -> Pose:
    """The pose after moving by a twist for dt, counted along the heading half way through."""
    turned = twist.omega * dt
    heading = pose.yaw + 0.5 * turned
    ahead = twist.v * dt
    return Pose(pose.x + ahead * cos(heading), pose.y + ahead * sin(heading), pose.yaw + turned)
