"""States, inputs and reports of the command-driven models.

The body point is the middle of the rear axle (`base_link`). ISO 8855: x forward, y left, z up.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...components.gear import Gear
from ...components.mechanical_steering import Column
from ...record import extended
from ...units import Allowed, m, m_s, m_s2, one, rad, rad_s

gear = Annotated[one, Allowed(min(Gear).value, max(Gear).value, whole=True)]
"""A gear selector position by its number; see `skidpad.components.gear.Gear`."""


class State(NamedTuple):
    """Pose, velocity, steering and acceleration."""

    x: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    v_x: m_s = 0.0
    """Velocity along the car, forward positive."""
    steer: rad = 0.0
    """True tyre angle, positive to the left."""
    a_x: m_s2 = 0.0
    """Acceleration along the car: what its drive has reached, or the last one reported."""


@extended
class GearedState(State):
    """A car with lagging drive that its gear may stop."""

    a_stop: m_s2 = 0.0
    """Acceleration by which the gear stopped the car in the last update; 0 while it lets it go."""


@extended
class PedalState(State):
    """A car driven by a pedal, with no guard against rolling back."""

    pedal: m_s2 = 0.0
    """Pedal position as an acceleration: positive drives in the gear's direction, negative
    brakes."""


@extended
class MechanicalState(GearedState):
    """A geared car with a steering column."""

    steer_target: rad = 0.0
    """Tyre angle asked for in the last update, before any limit."""
    column: Column = Column()
    """Memory of the steering controller."""


class VelocityInput(NamedTuple):
    """Commands of the models driven by velocity."""

    velocity: m_s = 0.0
    """Velocity asked for along the car, forward positive."""
    steer: rad = 0.0
    """Tyre angle asked for, positive to the left."""


class AccelerationInput(NamedTuple):
    """Commands of the models driven by acceleration that know no gear."""

    acceleration: m_s2 = 0.0
    """Acceleration asked for along the car, forward positive, that of the slope included."""
    steer: rad = 0.0
    """Tyre angle asked for, positive to the left."""


class GearedInput(NamedTuple):
    """Commands of the models driven by acceleration and gear."""

    acceleration: m_s2 = 0.0
    """Acceleration asked for along the car, forward positive in every gear, that of the slope
    included."""
    steer: rad = 0.0
    """Tyre angle asked for, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""


class PedalInput(NamedTuple):
    """Commands of the model without a guard against rolling back."""

    acceleration: m_s2 = 0.0
    """Pedal asked for: positive drives in the gear's direction, negative brakes."""
    steer: rad = 0.0
    """Tyre angle asked for, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""
    slope: m_s2 = 0.0
    """Acceleration along the car by the slope of the road, positive downhill ahead."""


class ActuationInput(NamedTuple):
    """Commands of the models driven by pedals and steering actuation."""

    accel: one = 0.0
    """Accelerator: a coordinate of its map, or an acceleration in m/s² where there is none."""
    brake: one = 0.0
    """Brake: a coordinate of its map."""
    steer: rad = 0.0
    """Tyre angle, steering wheel angle or coordinate of the steering map, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""
    slope: m_s2 = 0.0
    """Acceleration along the car by the slope of the road, positive downhill ahead."""


class Report(NamedTuple):
    """What the car reports about itself."""

    v_x: m_s
    """Velocity along the car, forward positive."""
    v_y: m_s
    """Velocity across the car, positive to the left: always 0, its wheels do not slip."""
    a_x: m_s2
    """Acceleration along the car."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    steer: rad
    """Measured tyre angle, positive to the left: the true one and its bias."""
