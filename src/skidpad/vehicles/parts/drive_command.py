"""Drive commands and brakes: force or acceleration, gears, braking demands, hydraulic brakes.

The class of the parameter `drive` selects whether the input of `single_track` is a force or an
acceleration. Gears are numbered as in Autoware, and a car moves only in the direction of its gear.

A demand to slow down stops a vehicle and holds it; it does not reverse the motion. A vehicle goes
forward unless the demanded speed is negative; an acceleration against that direction only slows the
vehicle.

The class of the parameter `brakes` of `two_track` selects wheel torques as inputs, or a pedal with
hydraulic circuits and discs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

from ...core.body import Demand
from ...ops import abs, clip, logical_or, maximum, smooth_step, where
from ...units import Allowed, N, Nm, Pa, kg, m, m2, m_s, m_s2, non_negative, one, positive, rad, s
from .actuators import lag, limited

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
        """Force for an input, within the limits."""
        return clip(u.F_drive, self.F_min, self.F_max)

    def input(self, steer: rad, force: N, mass: kg) -> ForceInput:
        """Input for a force, within the limits."""
        return ForceInput(steer, clip(force, self.F_min, self.F_max))

    def limits(self, mass: kg) -> tuple[m_s2, m_s2]:
        """Smallest and largest force over the mass."""
        return self.F_min / mass, self.F_max / mass

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of the input, by name."""
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
    """Whether the gear forbids this velocity: against its direction, or any without direction."""
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
    """Whether a demand is to slow down."""
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
        """Rates of the pressures towards those that the pedal demands."""
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
