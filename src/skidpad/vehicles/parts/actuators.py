"""Actuators: lags, limits, dead bands and ramps, drive commands, gears and brakes.

`approach` follows a goal at a limited rate and ends exactly on it: the rate is computed once per
step, and a step that would reach or pass the goal ends on it. `ramp` is one-sided with a rounded
corner, for contact forces that push and do not pull; `ramp_integral` is its energy. `rk4` is one
step of the classical Runge-Kutta method inside an update, over a small record.

The class of the parameter `drive` selects whether the input of `single_track` is a force or an
acceleration. Gears are numbered as in Autoware, and a car moves only in the direction of its gear.

A demand to slow down stops a vehicle and holds it; it does not reverse the motion. A vehicle goes
forward unless the demanded speed is negative; an acceleration against that direction only slows the
vehicle.

The class of the parameter `brakes` of `two_track` selects wheel torques as inputs, or a pedal with
hydraulic circuits and discs.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Any, NamedTuple, TypeVar

from ...core.body import Demand
from ...integrate.explicit import RK4, ExplicitRungeKutta
from ...ops import abs, clip, logical_and, logical_or, maximum, sign, smooth_step, sqrt, where
from ...units import Allowed, N, Nm, Pa, kg, m, m2, m_s, m_s2, non_negative, one, positive, rad, s
from .load_transfer import floored_speed


def limited(value: Any, limit: Any, width: Any = None) -> Any:
    """Clip `value` to ±`limit`; with a `width` smoothly, see `smoothly_limited`."""
    return clip(value, -limit, limit) if width is None else smoothly_limited(value, limit, width)


def smoothly_limited(value: Any, limit: Any, width: Any) -> Any:
    """Clip `value` smoothly to ±`limit`, with corners rounded over `width` times the limit.

    The result is smooth everywhere and never quite reaches the limit, so that an optimiser finds a
    gradient beyond it; at the corner it is half the rounding below the limit. Its slope at 0 is 1.
    """
    w = width * limit
    steep = value * sqrt(1.0 + width * width)
    above, below = steep + limit, steep - limit
    return 0.5 * (sqrt(above * above + w * w) - sqrt(below * below + w * w))


def outside_dead_band(error: Any, width: Any) -> Any:
    """Part of `error` outside the dead band ±`width`; 0 within it."""
    return error - limited(error, width)


def lag(value: Any, target: Any, t: s) -> Any:
    """Rate of a first-order lag with time constant `t`, in units of `value` per second."""
    return (target - value) * (1.0 / t)


def limited_lag(value: Any, target: Any, t: s, limit: Any, width: Any = None) -> Any:
    """Rate of a lag whose target is limited to ±`limit`; the value then never leaves that range.

    With a `width` the limit is smooth.
    """
    return lag(value, limited(target, limit, width), t)


def rate_limited_lag(
    value: Any, target: Any, t: s, limit: Any, rate_limit: Any, width: Any = None
) -> Any:
    """Rate of a lag with its target limited to ±`limit` and the rate itself to ±`rate_limit`."""
    return limited(limited_lag(value, target, t, limit, width), rate_limit, width)


def servo_rate(error: Any, t: s, rate_limit: Any) -> Any:
    """Rate at which a servo reduces `error` (value minus target) with time constant `t`.

    The rate is limited to ±`rate_limit`.
    """
    return limited(error * (-1.0 / t), rate_limit)


class Approach(NamedTuple):
    """Rate-limited motion of a value towards its goal during one step."""

    rate: Any
    """Rate during the step, in units of the value per second."""
    lands: Any
    """Whether the value reaches its goal at the end of the step."""


def approach(value: Any, goal: Any, limit: Any, dt: s, tolerance: Any) -> Approach:
    """One step of a value towards its goal, at a rate of at most `limit` (not negative).

    Within `tolerance` of the goal the value does not move; a step that ends this close reaches it.
    """
    gap = goal - value
    # Without a tolerance a value on its goal lands there again, so that it follows a small change
    # of the goal: gradients see that.
    far = abs(gap) >= tolerance
    within_reach = abs(gap) < limit * dt + tolerance
    rate = where(within_reach, gap / dt, limit * sign(gap))
    return Approach(where(far, rate, 0.0), logical_and(far, within_reach))


def end_on_goal(after: Any, goal: Any, lands: Any) -> Any:
    """Value after a step, set to the goal if `lands`, so that no rounding error remains."""
    return where(lands, goal, after)


def ramp(x: Any, width: Any) -> Any:
    """Smooth one-sided ramp: 0 below -width, x above width, twice differentiable between."""
    return 0.5 * (floored_speed(x, width) + x)


def ramp_integral(x: Any, width: Any) -> Any:
    """The integral of `ramp` from below: 0 below -width, x²/2 + width²/10 above width."""
    t = clip(x * (1.0 / width), -1.0, 1.0)
    t2 = t * t
    # Of the quartic of `floored_speed`, and of x itself, each halved; 0 at t = -1.
    foot = 0.1 + 0.5 * t2 + 0.125 * t * (3.0 + t2 * (2.0 - 0.2 * t2))
    beyond = maximum(x, width)
    return 0.5 * (foot * (width * width)) + 0.5 * (beyond * beyond - width * width)


R = TypeVar("R", bound=tuple[Any, ...])

_RK4 = ExplicitRungeKutta(RK4)


def rk4(rates: Callable[[R], R], x: R, dt: Any) -> R:
    """Record after one Runge-Kutta step of `dt`; `rates` returns its time derivatives."""
    kind = type(x)
    after, _ = _RK4.step(lambda stage: rates(kind(*stage)), x, dt)
    return kind(*after)


non_positive = Allowed(high=0.0)


class ForceInput(NamedTuple):
    """Targets of steering and of the longitudinal force."""

    steer: rad = 0.0
    """Target angle of the front wheels, positive to the left."""
    F_drive: N = 0.0
    """Target force of drive and brakes, forward positive; from rest negative reverses."""


class AccelerationInput(NamedTuple):
    """Targets of steering and of the longitudinal force over the mass."""

    steer: rad = 0.0
    """Target angle of the front wheels, positive to the left."""
    a_drive: m_s2 = 0.0
    """Target force over mass of drive and brakes, forward positive, without resistance."""


class ForceCommand(NamedTuple):
    """Drive input that is a longitudinal force."""

    F_max: Annotated[N, non_negative] = 6e3
    """Largest drive force (estimate)."""
    F_min: Annotated[N, non_positive] = -15e3
    """Largest force of the brakes or of driving backwards, negative (estimate)."""

    Input = ForceInput

    def force(self, u: Any, mass: kg) -> N:
        return clip(u.F_drive, self.F_min, self.F_max)

    def input(self, steer: rad, force: N, mass: kg) -> ForceInput:
        return ForceInput(steer, clip(force, self.F_min, self.F_max))

    def limits(self, mass: kg) -> tuple[m_s2, m_s2]:
        return self.F_min / mass, self.F_max / mass

    def ranges(self) -> dict[str, tuple[float, float]]:
        return {"F_drive": (self.F_min, self.F_max)}


class AccelerationCommand(NamedTuple):
    """Drive input that is a longitudinal force over the mass of the car."""

    a_max: Annotated[m_s2, non_negative] = 5.0
    """Largest acceleration by the drive (estimate)."""
    a_min: Annotated[m_s2, non_positive] = -12.0
    """Largest deceleration by the brakes, or acceleration backwards, negative (estimate)."""

    Input = AccelerationInput

    def force(self, u: Any, mass: kg) -> N:
        """Force for an input, within the limits."""
        return mass * clip(u.a_drive, self.a_min, self.a_max)

    def input(self, steer: rad, force: N, mass: kg) -> AccelerationInput:
        """Input for a force, within the limits."""
        return AccelerationInput(steer, clip(force * (1.0 / mass), self.a_min, self.a_max))

    def limits(self, mass: kg) -> tuple[m_s2, m_s2]:
        """Smallest and largest force over the mass."""
        return self.a_min, self.a_max

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of the input, by name."""
        return {"a_drive": (self.a_min, self.a_max)}


def front_share(force: N, v_x: m_s, drive_front: one, brake_front: one, v_brake: m_s) -> one:
    """Share of the front axle in a longitudinal force; that of the brakes if it opposes the motion.

    At rest every force is a drive force; the share changes to that of the brakes up to `v_brake`.
    """
    against = where(force > 0.0, -v_x, v_x)
    braking = smooth_step(against, 0.0 * v_brake, v_brake)
    return drive_front + (brake_front - drive_front) * braking


def drag(v_x: m_s, C_drag: Any) -> N:
    """Air drag along the car, against the motion."""
    return (-0.5 * C_drag) * (v_x * abs(v_x))


class Gear(IntEnum):
    """Gear selector positions; the numbers are those of autoware_vehicle_msgs/GearCommand."""

    NONE = 0
    NEUTRAL = 1
    DRIVE = 2
    DRIVE_2 = 3
    DRIVE_3 = 4
    DRIVE_4 = 5
    DRIVE_5 = 6
    DRIVE_6 = 7
    DRIVE_7 = 8
    DRIVE_8 = 9
    DRIVE_9 = 10
    DRIVE_10 = 11
    DRIVE_11 = 12
    DRIVE_12 = 13
    DRIVE_13 = 14
    DRIVE_14 = 15
    DRIVE_15 = 16
    DRIVE_16 = 17
    DRIVE_17 = 18
    DRIVE_18 = 19
    REVERSE = 20
    REVERSE_2 = 21
    PARK = 22
    LOW = 23
    LOW_2 = 24


def is_reverse(gear: one) -> bool:
    return logical_or(gear == Gear.REVERSE.value, gear == Gear.REVERSE_2.value)


def is_locked(gear: one) -> bool:
    """Whether the drivetrain is locked or off, so that neither pedal nor slope moves the car."""
    return logical_or(gear == Gear.NONE.value, gear == Gear.PARK.value)


def is_neutral(gear: one) -> bool:
    """Whether the engine is cut off but the wheels roll."""
    return gear == Gear.NEUTRAL.value


def drives_nowhere(gear: one) -> bool:
    """Whether the gear drives in neither direction, as does an undefined gear number."""
    unnamed = gear > Gear.LOW_2.value
    return logical_or(gear < Gear.DRIVE.value, logical_or(gear == Gear.PARK.value, unnamed))


def forbids(gear: one, v_x: m_s) -> bool:
    """Whether the gear forbids a velocity: against its direction, or any velocity if it drives in
    neither."""
    against = where(is_reverse(gear), -v_x, v_x) < 0.0
    return logical_or(drives_nowhere(gear), against)


def driven_acceleration(a: m_s2, gear: one, slope: m_s2) -> m_s2:
    """Acceleration along x from `a` in the gear's direction and the slope; 0 when locked."""
    along = where(is_reverse(gear), -a, a) + slope
    return where(is_locked(gear), 0.0, along)


HOLD_TIME: s = 0.1
"""Time constant with which a vehicle without brakes comes to rest and is held there."""


def way_of(demand: Demand) -> one:
    """Direction of a demand: 1 forward, -1 backward."""
    return where(demand.v < 0.0, -1.0, 1.0)


def slows(demand: Demand) -> one:
    """Whether a demand decelerates the vehicle in its direction."""
    return demand.a * way_of(demand) < 0.0


def demanded_acceleration(demand: Demand, v_x: m_s, t_hold: s = HOLD_TIME) -> m_s2:
    """Acceleration for a demand, for a vehicle without brakes that moves at `v_x`.

    A deceleration fades to 0 with the speed, so that the vehicle stops and is held; if the vehicle
    rolls against the demanded direction the same holds with the opposite sign.
    """
    return where(slows(demand), limited(-v_x * (1.0 / t_hold), abs(demand.a)), demand.a)


fraction = Annotated[one, Allowed(0.0, 1.0)]


class BrakeTorques(NamedTuple):
    """Four brake torques as inputs, one for each wheel, without lag."""


class BrakePressures(NamedTuple):
    """Pressures of the two brake circuits."""

    p_brake_f: Pa = 0.0
    """Pressure at the front discs."""
    p_brake_r: Pa = 0.0
    """Pressure at the rear discs."""


class PedalInputs(NamedTuple):
    """Inputs of brake pedal and handbrake."""

    brake: fraction = 0.0
    """Position of the brake pedal, 0 to 1."""
    handbrake: fraction = 0.0
    """Position of the handbrake lever, 0 to 1; it acts on the rear wheels without lag."""


class Disc(NamedTuple):
    """Disc brake with the torque faces mu A r p."""

    mu: Annotated[one, non_negative] = 0.4
    """Friction coefficient of the pads."""
    area: Annotated[m2, non_negative] = 0.0023
    """Piston area on one side of the disc."""
    radius: Annotated[m, positive] = 0.11
    """Effective friction radius."""
    faces: Annotated[one, non_negative] = 2.0
    """Number of friction faces of the disc."""

    def gain(self) -> float:
        """Torque per pressure, in m³."""
        return self.faces * self.mu * self.area * self.radius


class HydraulicBrakes(NamedTuple):
    """Hydraulic brakes: pedal, two circuits with a balance between them, discs, handbrake."""

    p_max: Annotated[Pa, non_negative] = 10e6
    """Mean pressure of the two circuits at full pedal."""
    balance: fraction = 0.55
    """Share of the front circuit in the sum of both pressures."""
    t_lag: Annotated[s, positive] = 0.05
    """Time constant of the pressures."""
    parking: Annotated[Nm, non_negative] = 1500.0
    """Torque of the handbrake on each rear wheel."""
    front: Disc = Disc()
    """Disc of each front wheel."""
    rear: Disc = Disc(area=0.0012)
    """Disc of each rear wheel."""

    States = BrakePressures
    Inputs = PedalInputs

    def targets(self, pedal: one) -> tuple[Pa, Pa]:
        """Target pressures of the front and the rear circuit."""
        total = 2.0 * self.p_max * clip(pedal, 0.0, 1.0)
        return self.balance * total, (1.0 - self.balance) * total

    def rates(self, x: Any, u: Any) -> BrakePressures:
        """Rates of the pressures towards the pressures that the pedal demands."""
        front, rear = self.targets(u.brake)
        return BrakePressures(
            lag(x.p_brake_f, front, self.t_lag), lag(x.p_brake_r, rear, self.t_lag)
        )

    def torques(self, x: Any, u: Any) -> tuple[Nm, Nm, Nm, Nm]:
        """Largest brake torque on each wheel, at least 0."""
        front = self.front.gain() * maximum(x.p_brake_f, 0.0)
        hand = self.parking * clip(u.handbrake, 0.0, 1.0)
        rear = self.rear.gain() * maximum(x.p_brake_r, 0.0) + hand
        return front, front, rear, rear

    def peaks(self) -> tuple[Nm, Nm]:
        """Torque of a front and of a rear wheel at full pedal."""
        front, rear = self.targets(1.0)
        return self.front.gain() * front, self.rear.gain() * rear

    def pedal(self, torque: Nm, handbrake: one) -> PedalInputs:
        """Inputs that give a total brake torque on all wheels."""
        front, rear = self.peaks()
        return PedalInputs(
            clip(torque * (1.0 / (2.0 * (front + rear))), 0.0, 1.0), clip(handbrake, 0.0, 1.0)
        )

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each input, by name."""
        return {"brake": (0.0, 1.0), "handbrake": (0.0, 1.0)}
