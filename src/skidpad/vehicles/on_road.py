"""Any vehicle with wheels on a road.

    car = sp.vehicles.on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1))

A car with a part `road`, as `two_track`, gets the road as that part. Any other vehicle is told what
its body can be told of ground: see `road_felt`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import record
from ..body import Body, Down, GroundUnder, body_of, standing_points
from ..checks import vehicle_of
from ..errors import InvalidValue
from ..model import Model, Vehicle
from ..road.grip import FullGrip
from ..road.records import FLAT, record_of
from ..road.surfaces import FlatRoad
from .registry import get, names
from .road_felt import model_on_road, model_without_road

__all__ = ["off_road", "on_road", "what_it_lacks"]


def on_road(vehicle: Vehicle, road: Any) -> Vehicle:
    """The same vehicle on a road, in place of the one that it was on.

    On `Road()` it is what it was, down to the last bit. Raises for a vehicle that cannot feel what
    the road has: heights or grip.
    """
    chosen, bare = record_of(road), off_road(vehicle_of(vehicle))
    if chosen == FLAT:
        return bare
    if _has_part(bare.model):
        return _with_part(bare, chosen)
    lack = what_it_lacks(bare, chosen)
    if lack:
        raise InvalidValue(f"{bare.name!r} on a road: {lack}")
    model = model_on_road(bare.model, type(chosen.surface), type(chosen.grip))
    return _alike(bare, model, record.build(model.Params, **bare.params._asdict(), road=chosen))


def off_road(vehicle: Vehicle) -> Vehicle:
    """The same vehicle on level ground with the grip on which its tyres were measured."""
    bare = model_without_road(vehicle.model)
    if bare is not None:
        values = {name: getattr(vehicle.params, name) for name in bare.Params._fields}
        return _alike(vehicle, bare, bare.Params(**values))
    if not _has_part(vehicle.model) or vehicle.params.road == FLAT:
        return vehicle
    return _with_part(vehicle, FLAT)


def what_it_lacks(vehicle: Vehicle, road: Any) -> str:
    """What keeps a vehicle from feeling all that a road (its record) has; empty: nothing."""
    if _has_part(vehicle.model):
        return ""
    body = body_of(vehicle, "a road")
    if body.on_ground is None:
        return "its model takes neither a force nor an acceleration nor a grip (Body.on_ground)"
    points = standing_points(body.wheel_places(vehicle.params))
    if len(points) < 3 or np.linalg.matrix_rank(np.array(points) - points[0]) < 2:
        return f"its geometry has no wheels that stand on a plane, only {len(points)} on a line"
    if not isinstance(road.surface, FlatRoad) and not _feels(vehicle, body, Down(0.1, 0.1), None):
        return "its Body.on_ground says nothing of slopes, and the road has heights"
    if not isinstance(road.grip, FullGrip) and not _feels(vehicle, body, None, 0.5):
        return "it has no friction that grip could change; on heights alone: Road(road.surface)"
    return ""


def _feels(vehicle: Vehicle, body: Body, down: Down | None, grip: float | None) -> bool:
    """Whether a vehicle is told anything of such ground."""
    model, wheels = vehicle.model, len(body.wheel_places(vehicle.params))
    x, *told = (record.build(kind) for kind in (model.State, model.Input, model.Disturbance))
    ground = GroundUnder(9.81, down, grip=None if grip is None else (grip,) * wheels)
    assert body.on_ground is not None
    return body.on_ground(x, told[0], told[1], ground, vehicle.params) != tuple(told)


def _has_part(model: Model) -> bool:
    """Whether a road is among the parts of a car."""
    return "road" in model.Params._fields and model_without_road(model) is None


def _with_part(car: Vehicle, road: Any) -> Vehicle:
    if car.name not in names():
        raise InvalidValue(f"{car.name!r} has a part road and no factory that takes another")
    made = get(car.name)(car.params, road=road)
    return _alike(car, made.model, made.params)


def _alike(vehicle: Vehicle, model: Model, params: Any) -> Vehicle:
    """A vehicle of another model that is otherwise the same."""
    return replace(vehicle, model=model, params=params)
