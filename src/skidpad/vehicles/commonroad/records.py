"""Inputs that several of CommonRoad's vehicles share, in upstream's order."""

from __future__ import annotations

from typing import NamedTuple

from ...units import m_s2, rad_s


class BicycleInput(NamedTuple):
    """Commands of the bicycles of commonroad-control. They act as they are, without limits."""

    a: m_s2 = 0.0
    """Acceleration along the car, forward positive."""
    steer_rate: rad_s = 0.0
    """Rate of the steering angle, positive to the left."""


class CarInput(NamedTuple):
    """Commands of the cars of commonroad-vehicle-models; see `components.commonroad_limits`."""

    steer_rate: rad_s = 0.0
    """Wanted rate of the steering angle, positive to the left."""
    a: m_s2 = 0.0
    """Wanted acceleration along the car, forward positive."""
