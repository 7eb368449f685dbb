"""Any vehicle with wheels on a road.

    car = sp.vehicles.on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1))

A car with a part `road`, as `two_track`, gets the road as that part. Any other vehicle is told what
its body can be told of ground: see `road_felt`.

What a road does to a vehicle that has no such part, in the equations of its model.

The vehicle lies on the plane that fits best the road under its wheels. Its body says how its model
is told of ground (`Body.on_ground`): gravity along the plane as a force or an acceleration, and the
grip under each wheel. What presses it onto the plane takes the place of the gravity among its
parameters. Its velocity is along the plane; the pose is what is seen from above.

What the user sets adds to that: forces are summed, factors on grip multiplied, and a friction that
is said outright counts as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from ..core import record
from ..core.body import (
    Body,
    Down,
    GroundUnder,
    Pose,
    Velocity,
    body_of,
    own_fields,
    standing_points,
)
from ..core.model import Model, Vehicle, built_once, vehicle_of
from ..core.record import made_once
from ..errors import InvalidValue
from ..geometry.pose import moved, turned_back
from ..ops import cos, sin, sqrt, where
from ..road.contact import (
    RoadPlane,
    StandingPull,
    fitted_plane,
    fitted_pull,
    plane_motion,
    wheel_contact,
)
from ..road.records import FLAT, FlatRoad, FullGrip, record_of, road_type
from ..units import m_s, m_s2, one
from .parts.load_transfer import floored_speed
from .registry import get, names

__all__ = [
    "model_on_road",
    "model_without_road",
    "off_road",
    "on_road",
    "what_it_lacks",
]

GRAVITY: m_s2 = 9.81
"""Of a vehicle that has none among its parameters."""
CRAWLING: m_s = 0.5
"""Speed below which what a moment of the ground does goes smoothly to zero."""
LEAST_PRESS: one = 0.05
"""Share of gravity below which what presses a vehicle onto a road goes smoothly to zero."""


class Felt(NamedTuple):
    """Input, disturbance and parameters with what a road does put in, and the plane it lies on."""

    u: Any
    w: Any
    p: Any
    """The parameters of the model itself."""
    plane: RoadPlane | None
    """None where the road is level."""


@built_once
def model_on_road(model: Model, surface: type, grip: type) -> Model:
    """The model of a vehicle on a road of a class of surface and of grip."""
    body = model.body
    assert body is not None
    feeling = _feeling(model, body)
    level = issubclass(surface, FlatRoad)
    changes: dict[str, Any] = _wrapped(model, feeling, None if level else _pose_fields(model, body))
    settle, energy = model.settle, model.energy
    if settle is not None:
        changes["settle"] = lambda x, p: settle(x, _own(model, p))
    # What it stores by its height depends on what it is told of its weight.
    changes["energy"] = (lambda x, p: energy(x, _own(model, p))) if energy and level else None
    return replace(
        model,
        Params=_params_type(model.Params, body.gravity, surface, grip),
        body=replace(body, gravity=body.gravity or "g"),
        **changes,
    )


def model_without_road(model: Model) -> Model | None:
    """The model of which `model_on_road` made this one; None if it did not."""
    build, arguments = vars(model).get("_recipe", (None, ()))
    return arguments[0] if build is model_on_road else None


@made_once
def _params_type(Params: Any, gravity: str, surface: type, grip: type) -> Any:
    """The parameters of a vehicle, then its road, and gravity if it has none."""
    hints = get_type_hints(Params, include_extras=True)
    defaults = dict(Params._field_defaults)
    docs = {leaf.name: leaf.doc for leaf in record.fields(Params) if "." not in leaf.name}
    hints["road"] = kind = road_type(surface, grip)
    docs["road"] = "The road under the vehicle."
    if len(kind._field_defaults) == len(kind._fields):
        defaults["road"] = kind()
    if not gravity:
        hints["g"], defaults["g"], docs["g"] = m_s2, GRAVITY, "Gravity."
    return record.define(Params.__name__, hints, defaults, docs, Params.__doc__ or "")


def _own(model: Model, p: Any) -> Any:
    return model.Params(*(getattr(p, name) for name in model.Params._fields))


def _feeling(model: Model, body: Body) -> Callable[[Any, Any, Any, Any], Felt]:
    """What the vehicle feels, from state, input, disturbance and parameters with a road."""

    def felt(x: Any, u: Any, w: Any, p: Any) -> Felt:
        own = _own(model, p)
        g = getattr(p, body.gravity or "g")
        pose, wheels = body.pose(x, own), body.wheel_places(own)
        places = _on_map(pose, [(wheel.x, wheel.y) for wheel in wheels])
        grip = None if isinstance(p.road.grip, FullGrip) else _grips(p.road, places)
        if isinstance(p.road.surface, FlatRoad):
            u, w = _told(model, body, x, u, w, GroundUnder(g, grip=grip), own)
            return Felt(u, w, own, None)
        points = standing_points(wheels)
        contacts = [wheel_contact(p.road, *at, pose.yaw) for at in _on_map(pose, points)]
        plane = fitted_plane(contacts, points)
        velocity = body.velocity(x, u, own)
        lift = plane_motion(plane, pose.yaw, *velocity).lift
        press = _pressing(lift - g * plane.down.z, g)
        down = _down(fitted_pull(contacts, points, plane, g), velocity, g)
        ground, press = _weight(down, g, press, along=body.lessens_loads)
        u, w = _told(model, body, x, u, w, ground._replace(grip=grip), own)
        return Felt(u, w, own._replace(**{body.gravity: press}) if body.gravity else own, plane)

    return felt


def _on_map(pose: Pose, points: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    c, s = cos(pose.yaw), sin(pose.yaw)
    return [moved(c, s, pose.x, pose.y, *point) for point in points]


def _grips(road: Any, places: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    return tuple(road.grip.at(*place) for place in places)


def _pressing(press: m_s2, g: m_s2) -> m_s2:
    """What presses onto the road, which pushes and never pulls, as `two_track` has it."""
    return 0.5 * (press + floored_speed(press, LEAST_PRESS * g))


def _down(pull: StandingPull, velocity: Velocity, g: m_s2) -> Down:
    """Gravity along the plane over its whole. No model is told of a moment by the ground, so what
    the one of the pull does is done along the way."""
    v_x, v_y, omega = velocity
    by_v = pull.turn * omega / (v_x * v_x + v_y * v_y + CRAWLING * CRAWLING)
    return Down((pull.x + by_v * v_x) / g, (pull.y + by_v * v_y) / g)


def _weight(down: Down, g: m_s2, press: m_s2, *, along: bool) -> tuple[GroundUnder, m_s2]:
    """Ground that pulls along the plane, and the gravity that a vehicle on it has.

    One that lessens its loads by itself has that of the whole weight, `along` the plane and onto
    it; any other what presses.
    """
    if not along:
        return GroundUnder(g, down), press
    pull_x, pull_y = g * down.x, g * down.y
    whole = sqrt(pull_x * pull_x + pull_y * pull_y + press * press)
    return GroundUnder(whole, Down(pull_x / whole, pull_y / whole)), whole


def _told(
    model: Model, body: Body, x: Any, u: Any, w: Any, ground: GroundUnder, p: Any
) -> tuple[Any, Any]:
    """Input and disturbance of the user with those of the ground."""
    assert body.on_ground is not None
    told_u, told_w = body.on_ground(x, u, w, ground, p)
    return _joined(model.Input, u, told_u), _joined(model.Disturbance, w, told_w)


def _joined(kind: type, users: Any, told: Any) -> Any:
    if told is users:
        return users
    columns = record.fields(kind), record.flatten(users), record.flatten(told)
    return record.unflatten(kind, [_both(*leaf) for leaf in zip(*columns, strict=True)])


def _both(leaf: Any, own: Any, told: Any) -> Any:
    """What acts of what the user says and what the ground does; its default does nothing."""
    if told is own:
        return own
    if leaf.default == 0.0:
        return own + told
    return own * told if leaf.default == 1.0 else where(own < 0.0, told, own)


def _pose_fields(model: Model, body: Body) -> tuple[str, str, str | None]:
    """The fields of the state that say where the vehicle is; None for a heading that is fixed."""
    example = record.unflatten(model.Params, [1.0] * record.size(model.Params))
    x, y, yaw = own_fields(model.State, lambda state: body.pose(state, example))
    fields = model.State._fields
    if x is None or y is None:
        # A body seen from elsewhere moves on the map as the point that its state is about.
        x, y, yaw = (name if name in fields else None for name in ("x", "y", "yaw"))
    if x is None or y is None:
        raise InvalidValue(
            f"{model.name!r} on a road: which fields of its state are its place cannot be told; "
            "Body.pose must return them as they are, or they are called x and y"
        )
    return x, y, yaw


def _wrapped(model: Model, feeling: Callable[..., Felt], at: Any) -> dict[str, Any]:
    """The functions of the model on a road; `at` names its place, None on level ground."""
    derivative, update, hold, shown = model.derivative, model.update, model.hold, model.outputs
    body = model.body
    assert body is not None

    def rates(x: Any, u: Any, w: Any, p: Any) -> Any:
        """Time derivative of the state."""
        felt = feeling(x, u, w, p)
        assert derivative is not None
        rate = derivative(x, felt.u, felt.w, felt.p)
        return rate if felt.plane is None else rate._replace(**_seen(x, rate, felt))

    def updated(x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        """The next state."""
        felt = feeling(x, u, w, p)
        assert update is not None
        after = update(x, felt.u, felt.w, felt.p, dt)
        if felt.plane is None:
            return after
        way = after._replace(**{n: getattr(after, n) - getattr(x, n) for n in at if n})
        seen = _seen(x, way, felt)
        return after._replace(**{name: getattr(x, name) + part for name, part in seen.items()})

    def _seen(x: Any, rate: Any, felt: Felt) -> dict[str, Any]:
        """How the pose changes, from above, of a rate or a way along the plane."""
        yaw = body.pose(x, felt.p).yaw
        ahead, left = turned_back(cos(yaw), sin(yaw), getattr(rate, at[0]), getattr(rate, at[1]))
        turn = 0.0 if at[2] is None else getattr(rate, at[2])
        assert felt.plane is not None
        over = plane_motion(felt.plane, yaw, ahead, left, turn)
        return {name: part for name, part in zip(at, over[:3], strict=True) if name}

    def outputs(x: Any, u: Any, w: Any, p: Any) -> Any:
        """The outputs of the vehicle."""
        felt = feeling(x, u, w, p)
        return shown(x, felt.u, felt.w, felt.p)

    changes: dict[str, Any] = {"outputs": outputs}
    if derivative is not None:
        changes["derivative"] = rates
    if update is not None:
        changes["update"] = updated
    if hold is not None:
        changes["hold"] = lambda x, u, w, p: _held(hold, feeling(x, u, w, p), x)
    return changes


def _held(hold: Callable[..., Any], felt: Felt, x: Any) -> Any:
    return hold(x, felt.u, felt.w, felt.p)


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
