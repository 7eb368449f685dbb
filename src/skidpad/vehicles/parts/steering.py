"""Steering and wheel alignment: inputs, linkage, toe, camber, and a mechanical steering column.

The class of a car's parameter `steering` selects the input: `DirectSteering` (angle of the road
wheels) or `SteeringWheel`. Steering linkage and toe set the heading of each wheel, as cosine and
sine.

The steering column driven by a torque (PID controller, assist polynomial, inertia and friction)
reproduces the mechanical controller of Autoware's simple_planning_simulator, with one peculiarity:
the torque delay does not delay the torque. The age of the first torque only decides whether the
column may move, so the delay postpones the first motion after a reset. The variable gear ratio
between steering wheel and tyre is that of Autoware's vehicle_cmd_converter; it grows with speed and
falls with the angle: ratio = a + b v² - c |wheel|.

**Wheel alignment** sets toe and camber by steering, suspension travel and compliance. The class of
the car's record `alignment` selects the equations: `FixedAlignment`, `LinearAlignment`, one made by
`alignment_tables` (tables of kinematics and compliance, as measured on a test rig), or another
class that fulfils this contract:

1. `States` is the record of the states that it adds to those of the car.
2. `angles(x, travel, p)` returns headings and cambers of the wheels fl, fr, rl, rr at a suspension
   travel. Headings are cosines and sines relative to the car, cambers positive with the top to the
   right.
3. `rates(x, travel, wheels, p)` are the rates of its states under the forces of the wheels.

Compliance angles follow the forces with a time constant: the angle is a state, so that forces
depend on angles but angles not on forces at the same instant. Both sides have the same parameters.
Toe is positive inwards, camber positive with the top outwards, and a force or moment is positive
when it pushes or turns a wheel towards the middle of the car: a wheel that toes in under such a
force steers into the turn, whichever side it is on. On the front axle that is less understeer, on
the rear axle more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core import record
from ...errors import InvalidValue
from ...geometry.pose import turned
from ...ops import (
    abs,
    atan,
    atan2,
    cos,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    sin,
    sqrt,
    tan,
    where,
)
from .actuators import limited, rk4
from .assembly import NoStates, assembled, at_column, at_row, checked_table
from .chassis import Travel, wheel_travel
from .kinematics import FrontWheels, curvature_of, front_wheels
from .spinning_wheel import WheelForces


class DirectSteering(NamedTuple):
    """Steering input that is the angle of a virtual wheel in the middle of the front axle."""

    def wheel_angle(self, turned: si.rad) -> si.rad:
        return turned

    def input_angle(self, steer: si.rad) -> si.rad:
        return steer


class SteeringWheel(NamedTuple):
    """Steering input that is the angle of a steering wheel, positive to the left."""

    ratio: Annotated[si.one, si.positive] = 16.0
    """Angle of the steering wheel over that of a wheel in the middle of the front axle."""

    def wheel_angle(self, turned: si.rad) -> si.rad:
        """Angle of the virtual middle wheel for an input."""
        return (1.0 / self.ratio) * turned

    def input_angle(self, steer: si.rad) -> si.rad:
        """Input for an angle of the virtual middle wheel."""
        return self.ratio * steer


rad_s_total = Annotated[float, si.Unit("rad·s", time=1)]


class MechanicalSteering(NamedTuple):
    """Parameters of the mechanical steering: column, controller and assistance."""

    kp: si.Nm
    """Torque demand per angle error, in N·m/rad."""
    ki: Annotated[float, si.Unit("N·m/s", length=2, mass=1, time=-3)]
    """Torque demand per integrated angle error."""
    kd: si.Nm_s_rad
    """Torque demand per rate of the angle error."""
    ff_gain: si.Nm
    """Torque demand per demanded angle, in N·m/rad."""
    angle_limit: Annotated[si.rad, si.non_negative]
    """Largest angle, either side."""
    rate_limit: Annotated[si.rad_s, si.non_negative]
    """Largest rate of the angle and of its target, in either direction."""
    dead_zone_threshold: Annotated[si.Nm, si.non_negative]
    """Torque below which a column at rest, or one turning against it, does not move."""
    poly_a: Annotated[float, si.Unit("1/(N·m)²", -4, -2, 4)]
    """Torque per demand cubed."""
    poly_b: Annotated[float, si.Unit("1/(N·m)", -2, -1, 2)]
    """Torque per demand squared."""
    poly_c: si.one
    """Torque per demand."""
    poly_d: Annotated[float, si.Unit("N·m·s³/m³", -1, 1, 1)]
    """Torque per speed cubed."""
    poly_e: Annotated[float, si.Unit("N·m·s²/m²", 0, 1, 0)]
    """Torque per speed squared."""
    poly_f: Annotated[float, si.Unit("N·m·s/m", 1, 1, -1)]
    """Torque per speed."""
    poly_g: Annotated[float, si.Unit("s/m", -1, 0, 1)]
    """Torque per demand and speed."""
    poly_h: si.Nm
    """Constant torque, at zero demand and standstill."""
    inertia: Annotated[si.kg_m2, si.positive]
    """Inertia of the column."""
    damping: si.Nm_s_rad
    """Torque that opposes the rate, per rate."""
    stiffness: si.Nm
    """Restoring torque per angle, in N·m/rad."""
    friction: si.Nm
    """Torque that opposes the motion, at any rate."""
    steering_torque_limit: Annotated[si.Nm, si.non_negative]
    """Largest torque, either direction."""
    torque_delay_time: Annotated[si.s, si.non_negative]
    """Age that the first torque must have before the column may move."""
    least_dt: Annotated[si.s, si.positive] = 1e-6
    """Step below which the rate of the error counts as 0."""


class Column(NamedTuple):
    """State of column and controller other than the angle; by default that after a reset."""

    rate: si.rad_s = 0.0
    """Rate of the angle, positive to the left."""
    integral: rad_s_total = 0.0
    """Time integral of the angle error."""
    error: si.rad = 0.0
    """Mean angle error over the last step."""
    stuck: si.one = 0.0
    """1 if the column is stuck in the dead zone, else 0."""
    clock: si.s = 0.0
    """Time since the reset."""
    front: si.s = -1.0
    """Time of the torque whose age releases the column; -1 before there is one.

    It is the first torque or, with a queue, the oldest queued one.
    """


class _Turning(NamedTuple):
    """Angle and rate of the column, and mean angle error and torque over the step."""

    angle: si.rad
    rate: si.rad_s
    error: si.rad
    torque: si.Nm


def limited_target(target: si.rad, before: si.rad, dt: si.s, p: MechanicalSteering) -> si.rad:
    """Target within its angle limit and within the rate limit from the previous target.

    `before` is the previous demand before limits: this limits jumps of the command, it is not a
    ramp towards it.
    """
    most = p.rate_limit * dt
    return limited(before + limited(limited(target, p.angle_limit) - before, most), p.angle_limit)


def assisted_torque(demand: si.Nm, speed: si.m_s, p: MechanicalSteering) -> si.Nm:
    """Torque at the column for a controller demand; `speed` of the car is not negative."""
    by_demand = ((p.poly_a * demand + p.poly_b) * demand + p.poly_c) * demand
    by_speed = ((p.poly_d * speed + p.poly_e) * speed + p.poly_f) * speed
    both = p.poly_g * demand * speed
    return limited(by_demand + by_speed + both + p.poly_h, p.steering_torque_limit)


def is_stuck(rate: si.rad_s, stuck: bool, torque: si.Nm, p: MechanicalSteering) -> bool:
    """Whether the torque is too small to move a column that was stuck or turns against it."""
    turns_back = (torque < 0.0) != (rate < 0.0)
    return logical_and(abs(torque) < p.dead_zone_threshold, logical_or(turns_back, stuck))


def steered(
    angle: si.rad,
    target: si.rad,
    speed: si.m_s,
    before: Column,
    dt: si.s,
    p: MechanicalSteering,
    *,
    queued: bool = False,
) -> tuple[si.rad, Column]:
    """Angle and column state after `dt` under the controller; `target` is already limited.

    `queued` takes one torque from upstream's queue in every step that moves, as if all steps had
    the same length. The age of the next one is then subject to rounding, as it is upstream.
    """
    now = before.clock + dt
    empty = before.front < 0.0
    ready = logical_and(logical_not(empty), now - before.front >= p.torque_delay_time)
    was_stuck = before.stuck > 0.5
    has_rate = dt >= p.least_dt
    by_dt = where(has_rate, 1.0 / where(has_rate, dt, p.least_dt), 0.0)

    def rates(t: _Turning) -> _Turning:
        error = target - t.angle
        demand = (
            p.ff_gain * target
            + p.kp * error
            + p.ki * (before.integral + error * dt)
            + p.kd * ((error - before.error) * by_dt)
        )
        torque = assisted_torque(demand, speed, p)
        friction = where(t.rate < 0.0, -p.friction, p.friction)
        pull = torque - p.damping * t.rate - p.stiffness * t.angle - friction
        moves = logical_and(ready, logical_not(is_stuck(t.rate, was_stuck, torque, p)))
        return _Turning(
            where(moves, t.rate * dt, 0.0),
            where(moves, pull * (1.0 / p.inertia) * dt, 0.0),
            error,
            torque,
        )

    # Time runs from 0 to 1 over the step, so that error and torque end up as their means.
    after = rk4(rates, _Turning(angle, before.rate, 0.0, 0.0), 1.0)
    rate = limited(after.rate, p.rate_limit)
    front = where(ready, before.front + dt, before.front) if queued else before.front
    column = Column(
        rate=rate,
        integral=before.integral + after.error * dt,
        error=after.error,
        stuck=where(is_stuck(rate, was_stuck, after.torque, p), 1.0, 0.0),
        clock=now,
        front=where(empty, now, front),
    )
    return limited(after.angle, p.angle_limit), column


class Heading(NamedTuple):
    """Cosine and sine of a wheel's steering angle relative to the car, positive to the left."""

    c: si.one
    s: si.one


def four_headings(steer: si.rad, p: Any) -> tuple[Heading, Heading, Heading, Heading]:
    """Headings of the wheels fl, fr, rl, rr for an angle of the virtual middle wheel.

    With the share e of Ackermann geometry the front wheels have tan(steer) / (1 -+ e b tan(steer))
    with b = track / (2 wheelbase): a common turning centre for e = 1, parallel wheels for 0.
    """
    c, s = cos(steer), sin(steer)
    inwards = (p.ackermann * 0.5 * p.track_f * (1.0 / (p.l_f + p.l_r))) * s
    left, right = _unit(c - inwards, s), _unit(c + inwards, s)
    c_f, s_f, c_r, s_r = cos(p.toe_f), sin(p.toe_f), cos(p.toe_r), sin(p.toe_r)
    return (
        Heading(*turned(c_f, -s_f, *left)),
        Heading(*turned(c_f, s_f, *right)),
        Heading(c_r, -s_r),
        Heading(c_r, s_r),
    )


def _unit(x: si.one, y: si.one) -> Heading:
    by_length = 1.0 / sqrt(x * x + y * y)
    return Heading(x * by_length, y * by_length)


SMALLEST_RATIO: si.one = 1e-5
"""Lower bound of the ratio, so that every steering wheel angle has a tyre angle."""


def gear_ratio(v_x: si.m_s, wheel: si.rad, a: si.one, b: float, c: float) -> si.one:
    """Steering wheel angle per tyre angle at a speed and a steering wheel angle.

    `b` is in s²/m², `c` in 1/rad.
    """
    return maximum(a + b * (v_x * v_x) - c * abs(wheel), SMALLEST_RATIO)


def wheel_angle(v_x: si.m_s, steer: si.rad, a: si.one, b: float, c: float) -> si.rad:
    """Steering wheel angle that holds the tyres at `steer`, before the ratio reaches its floor.

    It is the solution of wheel = ratio(wheel) steer.
    """
    return (a + b * (v_x * v_x)) * steer / (1.0 + c * abs(steer))


def tyre_target(v_x: si.m_s, steer: si.rad, wheel: si.rad, a: si.one, b: float, c: float) -> si.rad:
    """Tyre angle demanded by a steering wheel angle, with the ratio at the present tyre angle."""
    return wheel / gear_ratio(v_x, wheel_angle(v_x, steer, a, b, c), a, b, c)


ON_THE_SPOT: si.m_s = 1e-12
"""Least speed in the turning radius; keeps the angle's derivative finite at rest."""


def wheel_angles(steer: si.rad, steer_max: si.rad, wheel_base: si.m, track: si.m) -> FrontWheels:
    """Angles of both front wheels, which roll about one point on the line of the rear axle."""
    return front_wheels(curvature_of(limited(steer, steer_max), wheel_base), wheel_base, track)


def upstream_wheel_angles(
    steer: si.rad, steer_max: si.rad, wheel_base: si.m, track: si.m
) -> FrontWheels:
    """Angles of both front wheels as MVSim computes them.

    An inner wheel that would have to turn by more than a right angle is turned the other way.
    """
    t = tan(limited(steer, steer_max))
    sideways = t * (0.5 * track) * (1.0 / wheel_base)
    return FrontWheels(atan(t / (1.0 - sideways)), atan(t / (1.0 + sideways)))


def steer_of_twist(v: si.m_s, omega: si.rad_s, wheel_base: si.m) -> si.rad:
    """Angle of the virtual middle wheel for a motion of the rear axle; ±π/2 to turn on the spot."""
    ahead = where(v < 0.0, -omega, omega)
    return atan2(wheel_base * ahead, maximum(abs(v), ON_THE_SPOT))


Angles = tuple[tuple[Heading, ...], tuple[si.rad, ...]]
"""Headings and cambers of the four wheels."""
SIDES = (1.0, -1.0, 1.0, -1.0)
"""Signs of the sides of the wheels: 1 left, -1 right."""


class AlignmentState(NamedTuple):
    """Compliance angles of the wheels under their forces."""

    toe_give_fl: si.rad = 0.0
    """Compliance toe of the front left wheel, positive inwards."""
    toe_give_fr: si.rad = 0.0
    """Compliance toe of the front right wheel, positive inwards."""
    toe_give_rl: si.rad = 0.0
    """Compliance toe of the rear left wheel, positive inwards."""
    toe_give_rr: si.rad = 0.0
    """Compliance toe of the rear right wheel, positive inwards."""
    camber_give_fl: si.rad = 0.0
    """Compliance camber of the front left wheel, positive with the top outwards."""
    camber_give_fr: si.rad = 0.0
    """Compliance camber of the front right wheel, positive with the top outwards."""
    camber_give_rl: si.rad = 0.0
    """Compliance camber of the rear left wheel, positive with the top outwards."""
    camber_give_rr: si.rad = 0.0
    """Compliance camber of the rear right wheel, positive with the top outwards."""


class FixedAlignment(NamedTuple):
    """Wheel angles to the road that only steering changes, as with rigid axles."""

    States = NoStates

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from steering linkage and the car's static toe and camber."""
        cambers = (-p.camber_f, p.camber_f, -p.camber_r, p.camber_r)
        return four_headings(x.steer, p), cambers

    def rates(self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any) -> NoStates:
        return NoStates()


class LinearAlignment(NamedTuple):
    """Wheel angles that are linear in travel and forces.

    With the defaults the wheels only lean with the body.
    """

    toe_by_travel_f: si.rad_m = 0.0
    """Toe-in of a front wheel per travel towards the body (bump steer). Times half the track it
    is the roll steer of the axle into the turn, per rad of roll."""
    toe_by_travel_r: si.rad_m = 0.0
    """Toe-in of a rear wheel per travel towards the body."""
    camber_by_travel_f: si.rad_m = 0.0
    """Camber of a front wheel per travel, positive with the top outwards; at -2 / track_f the wheel
    stays upright when the body rolls."""
    camber_by_travel_r: si.rad_m = 0.0
    """Camber of a rear wheel per travel."""
    toe_by_F_y_f: si.rad_N = 0.0
    """Toe-in of a front wheel per lateral force to the middle; negative is understeer."""
    toe_by_F_y_r: si.rad_N = 0.0
    """Toe-in of a rear wheel per lateral force to the middle; positive is understeer."""
    toe_by_M_z_f: si.rad_Nm = 0.0
    """Toe-in of a front wheel per moment that turns it in: steering compliance, positive."""
    toe_by_M_z_r: si.rad_Nm = 0.0
    """Toe-in of a rear wheel per moment that turns it in."""
    toe_by_F_x_f: si.rad_N = 0.0
    """Toe-in of a front wheel per forward force."""
    toe_by_F_x_r: si.rad_N = 0.0
    """Toe-in of a rear wheel per forward force."""
    camber_by_F_y_f: si.rad_N = 0.0
    """Camber of a front wheel, top outwards positive, per lateral force to the middle."""
    camber_by_F_y_r: si.rad_N = 0.0
    """Camber of a rear wheel per lateral force towards the middle."""
    t_give: Annotated[si.s, si.positive] = 0.02
    """Time constant of the compliance angles (estimate)."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from steering linkage, static alignment, travel, compliance and body roll."""
        moved = wheel_travel(travel, p)
        toe, camber = self.toe_by_travel_f, self.camber_by_travel_f
        toes = [by * z for by, z in _by_wheel(toe, self.toe_by_travel_r, moved)]
        cambers = [by * z for by, z in _by_wheel(camber, self.camber_by_travel_r, moved)]
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        """Rates of the compliance angles."""
        front = (self.toe_by_F_y_f, self.toe_by_M_z_f, self.toe_by_F_x_f, self.camber_by_F_y_f)
        rear = (self.toe_by_F_y_r, self.toe_by_M_z_r, self.toe_by_F_x_r, self.camber_by_F_y_r)
        toes: list[Any] = []
        cambers: list[Any] = []
        for side, f, by in zip(SIDES, wheels, (front, front, rear, rear), strict=True):
            inwards = -side * f.F_y
            toes.append(by[0] * inwards - (side * by[1]) * f.M_z + by[2] * f.F_x)
            cambers.append(by[3] * inwards)
        return following(x, toes, cambers, self.t_give)


def _by_wheel(front: Any, rear: Any, moved: Sequence[si.m]) -> list[tuple[Any, si.m]]:
    """Value of its axle, and travel, of each wheel."""
    return list(zip((front, front, rear, rear), moved, strict=True))


def _wheel_alignment_gives(x: Any) -> tuple[Any, ...]:
    """Compliance states of the alignment, in order."""
    return tuple(getattr(x, name) for name in AlignmentState._fields)


def following(x: Any, toes: list[Any], cambers: list[Any], t_give: si.s) -> AlignmentState:
    """Rates of the compliance angles towards target toes and cambers."""
    by_t = 1.0 / t_give
    pairs = zip((*toes, *cambers), _wheel_alignment_gives(x), strict=True)
    return AlignmentState(*((target - now) * by_t for target, now in pairs))


def set_angles(x: Any, toes: list[Any], cambers: list[Any], travel: Travel, p: Any) -> Angles:
    """Angles from static alignment, the given toes and cambers, compliance and body roll."""
    gives = _wheel_alignment_gives(x)
    angles = zip(toes, cambers, gives[:4], gives[4:], strict=True)
    static = (p.camber_f, p.camber_f, p.camber_r, p.camber_r)
    wheels = zip(SIDES, four_headings(x.steer, p), static, angles, strict=True)
    headings: list[Heading] = []
    leans: list[Any] = []
    for side, heading, fixed, (toe, camber, toe_give, camber_give) in wheels:
        angle = -side * (toe + toe_give)
        headings.append(Heading(*turned(cos(angle), sin(angle), *heading)))
        leans.append(travel.roll - side * (fixed + camber + camber_give))
    return tuple(headings), tuple(leans)


class Give(NamedTuple):
    """Dynamics of wheel compliance."""

    t: Annotated[si.s, si.positive] = 0.02
    """Time constant of the compliance angles (estimate)."""


class AlignmentTables(NamedTuple):
    """Wheel angles by tables over travel and force; made by `alignment_tables`.

    Rows are wheel travels in m. Columns of toe and camber are lateral forces towards the middle
    of the car, those of toe_x forward forces, in N; cells are in rad.
    """

    give: Give
    """Dynamics of wheel compliance."""
    toe_f: Any
    """Toe-in of a front wheel."""
    toe_r: Any
    """Toe-in of a rear wheel."""
    camber_f: Any
    """Camber of a front wheel, positive with the top outwards."""
    camber_r: Any
    """Camber of a rear wheel."""
    toe_x_f: Any
    """Additional toe-in by a forward force on a front wheel."""
    toe_x_r: Any
    """Additional toe-in by a forward force on a rear wheel."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from linkage, static alignment, tables at zero force, compliance and roll."""
        moved = wheel_travel(travel, p)
        toes = [_at(*place, 0.0) for place in _by_wheel(self.toe_f, self.toe_r, moved)]
        cambers = [_at(*place, 0.0) for place in _by_wheel(self.camber_f, self.camber_r, moved)]
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        moved = wheel_travel(travel, p)
        inwards = [-side * f.F_y for side, f in zip(SIDES, wheels, strict=True)]
        forwards = [f.F_x for f in wheels]
        by_y = _gives(self.toe_f, self.toe_r, moved, inwards)
        by_x = _gives(self.toe_x_f, self.toe_x_r, moved, forwards)
        cambers = _gives(self.camber_f, self.camber_r, moved, inwards)
        toes = [a + b for a, b in zip(by_y, by_x, strict=True)]
        return following(x, toes, cambers, self.give.t)


def _at(cells: Any, travel: si.m, force: si.N) -> si.rad:
    return at_column(force, at_row(travel, cells))


def _gives(front: Any, rear: Any, moved: Sequence[si.m], forces: Sequence[si.N]) -> list[Any]:
    """Change of each wheel's angle by its force."""
    return [
        _at(cells, travel, force) - _at(cells, travel, 0.0)
        for (cells, travel), force in zip(_by_wheel(front, rear, moved), forces, strict=True)
    ]


NAMES = AlignmentTables._fields[1:]
UPRIGHT = ((-1.0, 1.0), (-1.0, 1.0), ((0.0, 0.0), (0.0, 0.0)))
"""Travels, forces and cells of a table that is zero everywhere."""


def alignment_tables(give: Give = Give(), **tables: Any) -> Any:  # noqa: B008 (a tuple)
    """Return an alignment by tables, each `(travels, forces, cells)` in m, N and rad.

    Keywords are the fields of `AlignmentTables`; omitted tables are zero.
    """
    for name in tables:
        if name not in NAMES:
            raise InvalidValue(record.unknown_name("alignment_tables", name, NAMES, "table"))
    cells = (checked_table(name, tables.get(name, UPRIGHT), (si.m, si.N, si.rad)) for name in NAMES)
    return assembled(AlignmentTables(give, *cells))
