"""Steering: road-wheel or steering-wheel input, linkage, and a mechanical steering column.

The class of a car's parameter `steering` selects the input: `DirectSteering` (angle of the road
wheels) or `SteeringWheel`. Steering linkage and toe set the heading of each wheel, as cosine and
sine.

The steering column driven by a torque (PID controller, assist polynomial, inertia and friction)
reproduces the mechanical controller of Autoware's simple_planning_simulator, with one peculiarity:
the torque delay does not delay the torque. The age of the first torque only decides whether the
column may move, so the delay postpones the first motion after a reset. The variable gear ratio
between steering wheel and tyre is that of Autoware's vehicle_cmd_converter; it grows with speed and
falls with the angle: ratio = a + b v² - c |wheel|.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

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
from ...units import Nm, Unit, kg_m2, m, m_s, non_negative, one, positive, rad, rad_s, s
from .actuators import limited, rk4
from .kinematics import FrontWheels, curvature_of, front_wheels


class DirectSteering(NamedTuple):
    """Steering input that is the angle of a virtual wheel in the middle of the front axle."""

    def wheel_angle(self, turned: rad) -> rad:
        """Angle of the virtual middle wheel for an input."""
        return turned

    def input_angle(self, steer: rad) -> rad:
        """Input for an angle of the virtual middle wheel."""
        return steer


class SteeringWheel(NamedTuple):
    """Steering input that is the angle of a steering wheel, positive to the left."""

    ratio: Annotated[one, positive] = 16.0
    """Angle of the steering wheel over that of a wheel in the middle of the front axle."""

    def wheel_angle(self, turned: rad) -> rad:
        """Angle of the virtual middle wheel for an input."""
        return (1.0 / self.ratio) * turned

    def input_angle(self, steer: rad) -> rad:
        """Input for an angle of the virtual middle wheel."""
        return self.ratio * steer


Nm_s_rad = Annotated[float, Unit("N·m·s/rad", length=2, mass=1, time=-1)]
rad_s_total = Annotated[float, Unit("rad·s", time=1)]


class MechanicalSteering(NamedTuple):
    """Parameters of the mechanical steering: column, controller and assistance."""

    kp: Nm
    """Torque demand per angle error, in N·m/rad."""
    ki: Annotated[float, Unit("N·m/s", length=2, mass=1, time=-3)]
    """Torque demand per integrated angle error."""
    kd: Nm_s_rad
    """Torque demand per rate of the angle error."""
    ff_gain: Nm
    """Torque demand per demanded angle, in N·m/rad."""
    angle_limit: Annotated[rad, non_negative]
    """Largest angle, either side."""
    rate_limit: Annotated[rad_s, non_negative]
    """Largest rate of the angle and of its target, in either direction."""
    dead_zone_threshold: Annotated[Nm, non_negative]
    """Torque below which a column at rest, or one turning against it, does not move."""
    poly_a: Annotated[float, Unit("1/(N·m)²", -4, -2, 4)]
    """Torque per demand cubed."""
    poly_b: Annotated[float, Unit("1/(N·m)", -2, -1, 2)]
    """Torque per demand squared."""
    poly_c: one
    """Torque per demand."""
    poly_d: Annotated[float, Unit("N·m·s³/m³", -1, 1, 1)]
    """Torque per speed cubed."""
    poly_e: Annotated[float, Unit("N·m·s²/m²", 0, 1, 0)]
    """Torque per speed squared."""
    poly_f: Annotated[float, Unit("N·m·s/m", 1, 1, -1)]
    """Torque per speed."""
    poly_g: Annotated[float, Unit("s/m", -1, 0, 1)]
    """Torque per demand and speed."""
    poly_h: Nm
    """Constant torque, at zero demand and standstill."""
    inertia: Annotated[kg_m2, positive]
    """Inertia of the column."""
    damping: Nm_s_rad
    """Torque that opposes the rate, per rate."""
    stiffness: Nm
    """Restoring torque per angle, in N·m/rad."""
    friction: Nm
    """Torque that opposes the motion, at any rate."""
    steering_torque_limit: Annotated[Nm, non_negative]
    """Largest torque, either direction."""
    torque_delay_time: Annotated[s, non_negative]
    """Age that the first torque must have before the column may move."""
    least_dt: Annotated[s, positive] = 1e-6
    """Step below which the rate of the error counts as 0."""


class Column(NamedTuple):
    """State of column and controller other than the angle; by default that after a reset."""

    rate: rad_s = 0.0
    """Rate of the angle, positive to the left."""
    integral: rad_s_total = 0.0
    """Time integral of the angle error."""
    error: rad = 0.0
    """Mean angle error over the last step."""
    stuck: one = 0.0
    """1 if the column is stuck in the dead zone, else 0."""
    clock: s = 0.0
    """Time since the reset."""
    front: s = -1.0
    """Time of the torque whose age releases the column; -1 before there is one.

    It is the first torque or, with a queue, the oldest queued one.
    """


class _Turning(NamedTuple):
    """Angle and rate of the column, and mean angle error and torque over the step."""

    angle: rad
    rate: rad_s
    error: rad
    torque: Nm


def limited_target(target: rad, before: rad, dt: s, p: MechanicalSteering) -> rad:
    """Target within its angle limit and within the rate limit from the previous target.

    `before` is the previous demand before limits: this limits jumps of the command, it is not a
    ramp towards it.
    """
    most = p.rate_limit * dt
    return limited(before + limited(limited(target, p.angle_limit) - before, most), p.angle_limit)


def assisted_torque(demand: Nm, speed: m_s, p: MechanicalSteering) -> Nm:
    """Torque at the column for a controller demand; `speed` of the car is not negative."""
    by_demand = ((p.poly_a * demand + p.poly_b) * demand + p.poly_c) * demand
    by_speed = ((p.poly_d * speed + p.poly_e) * speed + p.poly_f) * speed
    both = p.poly_g * demand * speed
    return limited(by_demand + by_speed + both + p.poly_h, p.steering_torque_limit)


def is_stuck(rate: rad_s, stuck: bool, torque: Nm, p: MechanicalSteering) -> bool:
    """Whether the torque is too small to move a column that was stuck or turns against it."""
    turns_back = (torque < 0.0) != (rate < 0.0)
    return logical_and(abs(torque) < p.dead_zone_threshold, logical_or(turns_back, stuck))


def steered(
    angle: rad,
    target: rad,
    speed: m_s,
    before: Column,
    dt: s,
    p: MechanicalSteering,
    *,
    queued: bool = False,
) -> tuple[rad, Column]:
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

    c: one
    s: one


def four_headings(steer: rad, p: Any) -> tuple[Heading, Heading, Heading, Heading]:
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


def _unit(x: one, y: one) -> Heading:
    by_length = 1.0 / sqrt(x * x + y * y)
    return Heading(x * by_length, y * by_length)


SMALLEST_RATIO: one = 1e-5
"""Lower bound of the ratio, so that every steering wheel angle has a tyre angle."""


def gear_ratio(v_x: m_s, wheel: rad, a: one, b: float, c: float) -> one:
    """Steering wheel angle per tyre angle at a speed and a steering wheel angle.

    `b` is in s²/m², `c` in 1/rad.
    """
    return maximum(a + b * (v_x * v_x) - c * abs(wheel), SMALLEST_RATIO)


def wheel_angle(v_x: m_s, steer: rad, a: one, b: float, c: float) -> rad:
    """Steering wheel angle that holds the tyres at `steer`, before the ratio reaches its floor.

    It is the solution of wheel = ratio(wheel) steer.
    """
    return (a + b * (v_x * v_x)) * steer / (1.0 + c * abs(steer))


def tyre_target(v_x: m_s, steer: rad, wheel: rad, a: one, b: float, c: float) -> rad:
    """Tyre angle demanded by a steering wheel angle, with the ratio at the present tyre angle."""
    return wheel / gear_ratio(v_x, wheel_angle(v_x, steer, a, b, c), a, b, c)


ON_THE_SPOT: m_s = 1e-12
"""Least speed in the turning radius; keeps the angle's derivative finite at rest."""


def wheel_angles(steer: rad, steer_max: rad, wheel_base: m, track: m) -> FrontWheels:
    """Angles of both front wheels, which roll about one point on the line of the rear axle."""
    return front_wheels(curvature_of(limited(steer, steer_max), wheel_base), wheel_base, track)


def upstream_wheel_angles(steer: rad, steer_max: rad, wheel_base: m, track: m) -> FrontWheels:
    """Angles of both front wheels as MVSim computes them.

    An inner wheel that would have to turn by more than a right angle is turned the other way.
    """
    t = tan(limited(steer, steer_max))
    sideways = t * (0.5 * track) * (1.0 / wheel_base)
    return FrontWheels(atan(t / (1.0 - sideways)), atan(t / (1.0 + sideways)))


def steer_of_twist(v: m_s, omega: rad_s, wheel_base: m) -> rad:
    """Angle of the virtual middle wheel for a motion of the rear axle; ±π/2 to turn on the spot."""
    ahead = where(v < 0.0, -omega, omega)
    return atan2(wheel_base * ahead, maximum(abs(v), ON_THE_SPOT))
