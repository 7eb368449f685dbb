"""Why a vehicle cannot do a manoeuvre, in one sentence; an empty one if it can."""

from __future__ import annotations

from math import inf

from ..units import m_s
from .subject import Subject

__all__ = ["drive_needed", "loop_needed", "speed_needed", "steering_needed", "tyres_needed"]


def steering_needed(car: Subject) -> str:
    """Of a test that steers."""
    if not car.steers:
        return f"{car.name} does not steer: it turns on the spot"
    told = car.vehicle.body.steer is not None or car.limits.steer_max < inf
    return "" if told else f"{car.name} has no wheels that steer"


def tyres_needed(car: Subject) -> str:
    """Of a test of what tyres do."""
    if steering_needed(car):
        return steering_needed(car)
    if not car.slides:
        return f"{car.name} has no tyres that slip: its turns are those of geometry"
    if not car.vehicle.model.continuous:
        return f"{car.name} is a discrete model"
    return loop_needed(car)


def loop_needed(car: Subject) -> str:
    """Of a test with a driver in the loop."""
    late = car.vehicle.model.dead_times
    return f"{car.name} acts late ({', '.join(late)}): no driver can be in its loop" if late else ""


def speed_needed(car: Subject, v: m_s) -> str:
    """Of a test at a speed."""
    most = car.limits.v_max
    return "" if v <= most else f"{car.name} reaches {most:.1f} m/s; the test needs {v:.1f} m/s"


def drive_needed(car: Subject) -> str:
    """Of a test of drive and brakes."""
    if car.vehicle.body.imposed:
        return f"{car.name} moves as it is told: nothing drives it"
    if not car.slides:
        return f"{car.name} has no tyres: what it is asked for is what it does"
    return loop_needed(car)
