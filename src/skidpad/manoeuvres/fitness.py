"""Why a vehicle cannot do a manoeuvre, in one sentence; an empty one if it can."""

from __future__ import annotations

from math import inf

from .. import record
from ..body import Pose, Velocity, Wish
from ..road.records import record_of
from ..road.road import Road
from ..units import m_s
from ..vehicles.on_road import what_it_lacks
from .subject import Subject

__all__ = [
    "drive_needed",
    "loop_needed",
    "road_needed",
    "speed_needed",
    "steering_needed",
    "takes",
    "tyres_needed",
]


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
    if not takes(car, "a"):
        return f"{car.name} is told a speed, not how hard to drive"
    return loop_needed(car)


def takes(car: Subject, wished: str) -> str:
    """The input that a wish for "v", "a", "omega" or "steer" moves; empty where none does."""
    vehicle, p = car.vehicle, car.vehicle.params
    pose, at = Pose(0.0, 0.0, 0.0), Velocity(1.0, 0.0, 0.0)
    x = vehicle.body.placed(record.build(vehicle.State), pose, at, p)
    rest: Wish = Wish(v=1.0)
    asked = rest._replace(**{wished: getattr(rest, wished) + 0.01})
    rows = (record.flatten(vehicle.body.command(x, wish, p)) for wish in (rest, asked))
    names = record.names(vehicle.Input)
    return next((n for n, a, b in zip(names, *rows, strict=True) if abs(a - b) > 1e-9), "")


def road_needed(car: Subject, road: Road) -> str:
    """Of a test on a road."""
    lacks = what_it_lacks(car.vehicle, record_of(road))
    return f"{car.name} cannot be put on a road: {lacks}" if lacks else ""
