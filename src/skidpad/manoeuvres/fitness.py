"""Why a vehicle cannot do a manoeuvre, in one sentence; an empty one if it can."""

from __future__ import annotations

from ..road.records import record_of
from ..road.road import Road
from ..units import m_s
from ..vehicles.on_road import what_it_lacks
from .subject import Subject

__all__ = ["drive_needed", "road_needed", "speed_needed", "steering_needed", "tyres_needed"]


def steering_needed(car: Subject) -> str:
    """Of a test that steers."""
    return "" if car.steers else f"{car.name} does not steer: it turns on the spot"


def tyres_needed(car: Subject) -> str:
    """Of a test of what tyres do."""
    if steering_needed(car):
        return steering_needed(car)
    if not car.slides:
        return f"{car.name} has no tyres that slip: its turns are those of geometry"
    return "" if car.vehicle.model.continuous else f"{car.name} is a discrete model"


def speed_needed(car: Subject, v: m_s) -> str:
    """Of a test at a speed."""
    most = car.limits.v_max
    return "" if v <= most else f"{car.name} reaches {most:.1f} m/s; the test needs {v:.1f} m/s"


def drive_needed(car: Subject) -> str:
    """Of a test of drive and brakes."""
    if car.vehicle.body.imposed:
        return f"{car.name} moves as it is told: nothing drives it"
    return "" if car.slides else f"{car.name} has no tyres: what it is asked for is what it does"


def road_needed(car: Subject, road: Road) -> str:
    """Of a test on a road."""
    lacks = what_it_lacks(car.vehicle, record_of(road))
    return f"{car.name} cannot be put on a road: {lacks}" if lacks else ""
