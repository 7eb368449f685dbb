"""Variants of vehicles: on a road, with brakes, with smooth limits.

    car = sp.vehicles.on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1))
    car = sp.vehicles.with_brakes(sp.vehicles.four_wheel())
    car = sp.vehicles.with_smooth_limits(sp.vehicles.four_wheel())

**Roads.** For a car with a part `road`, such as `two_track`, the road becomes that part. Any other
vehicle lies on the plane that best fits the road under its wheels. Its body defines how its model
takes the ground (`Body.on_ground`): gravity along the plane as a force or an acceleration, and the
grip under each wheel. The load normal to the plane replaces the gravity among its parameters. Its
velocity is along the plane; the pose is the projection onto the map. The effects of the ground add
to the user's inputs: forces are summed, factors on grip multiplied, and an absolute friction value
has priority.

**Brakes.** The motors of `four_wheel` and `kinematic_bicycle` drive backwards when their torque is
negative: a car that brakes for too long reverses. A brake never reverses a wheel. It resists the
motion of its wheel over the ground, so the force on a locked, sliding wheel is against its motion
and not along the car, and it holds a car at rest.

**Smooth limits.** A limit with a corner has no slope beyond it: an optimiser that demands more
steering than available gets no gradient towards less, and the corner itself has no derivative.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from ..core import record
from ..core.body import (
    Body,
    Demand,
    Down,
    GroundUnder,
    Limits,
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
from ..ops import cos, maximum, minimum, sin, sqrt, where
from ..road.records import (
    FLAT,
    FlatRoad,
    FullGrip,
    RoadPlane,
    StandingPull,
    fitted_plane,
    fitted_pull,
    plane_motion,
    record_of,
    road_type,
    wheel_contact,
)
from ..units import m_s, m_s2, one, positive
from .bicycle import derivative as single_track_derivative
from .formula import Input, State, actuator_rates, torque_for, torques
from .parts.actuators import limited
from .parts.assembly import redefined
from .parts.load_transfer import contact_velocities, floored_speed, in_wheel_frame
from .registry import get, names

GRAVITY: m_s2 = 9.81
"""Gravity of a vehicle without gravity among its parameters."""
CRAWLING: m_s = 0.5
"""Speed below which the effect of a moment of the ground fades smoothly to zero."""
LEAST_PRESS: one = 0.05
"""Share of gravity below which the load of a vehicle on a road fades smoothly to zero."""


def on_road(vehicle: Vehicle, road: Any) -> Vehicle:
    """Return the vehicle on a road, which replaces a previous one.

    On `Road()` the result is identical to the vehicle, bit for bit. Raises for a vehicle whose
    model does not support heights or grip, if the road has them.
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
    params = record.build(model.Params, **bare.params._asdict(), road=chosen)
    return replace(bare, model=model, params=params)


def off_road(vehicle: Vehicle) -> Vehicle:
    """Return the vehicle on level ground with nominal grip."""
    bare = model_without_road(vehicle.model)
    if bare is not None:
        return replace(vehicle, model=bare, params=_own(bare, vehicle.params))
    if not _has_part(vehicle.model) or vehicle.params.road == FLAT:
        return vehicle
    return _with_part(vehicle, FLAT)


def what_it_lacks(vehicle: Vehicle, road: Any) -> str:
    """Reason why a vehicle does not support a road (its record); empty if it does."""
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
    """Whether ground of this kind changes the input or the disturbance of a vehicle."""
    model, wheels = vehicle.model, len(body.wheel_places(vehicle.params))
    x, u, w = (record.build(kind) for kind in (model.State, model.Input, model.Disturbance))
    ground = GroundUnder(9.81, down, grip=None if grip is None else (grip,) * wheels)
    assert body.on_ground is not None
    return body.on_ground(x, u, w, ground, vehicle.params) != (u, w)


def _has_part(model: Model) -> bool:
    """Whether the road is one of the parts of a car."""
    return "road" in model.Params._fields and model_without_road(model) is None


def _with_part(car: Vehicle, road: Any) -> Vehicle:
    if car.name not in names():
        raise InvalidValue(f"{car.name!r} has a road as a part, but no factory to replace it")
    made = get(car.name)(car.params, road=road)
    return replace(car, model=made.model, params=made.params)


class OnGround(NamedTuple):
    """Input, disturbance and parameters with the effects of a road, and the plane under it."""

    u: Any
    w: Any
    p: Any
    """Parameters of the model without the road."""
    plane: RoadPlane | None
    """Plane under the vehicle; None on a level road."""

    @classmethod
    def of(cls, model: Model, body: Body, x: Any, u: Any, w: Any, p: Any) -> OnGround:
        """Effects of the road on input, disturbance and parameters of a vehicle."""
        own = _own(model, p)
        g = getattr(p, body.gravity or "g")
        pose, wheels = body.pose(x, own), body.wheel_places(own)
        places = _on_map(pose, [(wheel.x, wheel.y) for wheel in wheels])
        full = isinstance(p.road.grip, FullGrip)
        grip = None if full else tuple(p.road.grip.at(*place) for place in places)
        if isinstance(p.road.surface, FlatRoad):
            u, w = _combined(model, body, x, u, w, GroundUnder(g, grip=grip), own)
            return cls(u, w, own, None)
        points = standing_points(wheels)
        contacts = [wheel_contact(p.road, *at, pose.yaw) for at in _on_map(pose, points)]
        plane = fitted_plane(contacts, points)
        velocity = body.velocity(x, u, own)
        press = plane_motion(plane, pose.yaw, *velocity).lift - g * plane.down.z
        # The road pushes and never pulls, as under `two_track`.
        press = 0.5 * (press + floored_speed(press, LEAST_PRESS * g))
        down = _down(fitted_pull(contacts, points, plane, g), velocity, g)
        ground, press = _weight(down, g, press, along=body.lessens_loads)
        u, w = _combined(model, body, x, u, w, ground._replace(grip=grip), own)
        return cls(u, w, own._replace(**{body.gravity: press}) if body.gravity else own, plane)


@built_once
def model_on_road(model: Model, surface: type, grip: type) -> Model:
    """Build the model of a vehicle on a road with these classes of surface and grip."""
    body = model.body
    assert body is not None
    level = issubclass(surface, FlatRoad)
    changes = _wrapped(model, body, None if level else _pose_fields(model, body))
    settle, energy = model.settle, model.energy
    if settle is not None:
        changes["settle"] = lambda x, p: settle(x, _own(model, p))
    # On slopes, its energy by height depends on the weight that the ground gives it.
    changes["energy"] = (lambda x, p: energy(x, _own(model, p))) if energy and level else None
    return replace(
        model,
        Params=_road_params(model.Params, body.gravity, surface, grip),
        body=replace(body, gravity=body.gravity or "g"),
        **changes,
    )


def model_without_road(model: Model) -> Model | None:
    """Return the model from which `model_on_road` made this one; None for other models."""
    build, arguments = vars(model).get("_recipe", (None, ()))
    return arguments[0] if build is model_on_road else None


@made_once
def _road_params(Params: Any, gravity: str, surface: type, grip: type) -> Any:
    """Parameter record type: parameters of the vehicle, its road and, if the vehicle lacks it,
    gravity."""
    kind = road_type(surface, grip)
    whole = len(kind._field_defaults) == len(kind._fields)
    kinds: dict[str, Any] = {"road": kind} | ({} if gravity else {"g": m_s2})
    defaults = {"road": kind() if whole else None} | ({} if gravity else {"g": GRAVITY})
    docs = {"road": "The road under the vehicle."} | ({} if gravity else {"g": "Gravity."})
    return redefined(Params, kinds, defaults, docs)


def _own(model: Model, p: Any) -> Any:
    """Extract the parameters of the model without the road."""
    return model.Params(*(getattr(p, name) for name in model.Params._fields))


def _on_map(pose: Pose, points: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    c, s = cos(pose.yaw), sin(pose.yaw)
    return [moved(c, s, pose.x, pose.y, *point) for point in points]


def _down(pull: StandingPull, velocity: Velocity, g: m_s2) -> Down:
    """Gravity along the plane as a share of the whole gravity.

    No model takes a moment by the ground, so the power of the moment is added to that of the force.
    """
    v_x, v_y, omega = velocity
    by_v = pull.turn * omega / (v_x * v_x + v_y * v_y + CRAWLING * CRAWLING)
    return Down((pull.x + by_v * v_x) / g, (pull.y + by_v * v_y) / g)


def _weight(down: Down, g: m_s2, press: m_s2, *, along: bool) -> tuple[GroundUnder, m_s2]:
    """Ground that pulls along the plane, and the gravity parameter for a vehicle on it.

    A vehicle that reduces its loads on a slope itself (`along`) gets the whole weight as
    gravity; any other the component normal to the plane.
    """
    if not along:
        return GroundUnder(g, down), press
    pull_x, pull_y = g * down.x, g * down.y
    whole = sqrt(pull_x * pull_x + pull_y * pull_y + press * press)
    return GroundUnder(whole, Down(pull_x / whole, pull_y / whole)), whole


def _combined(
    model: Model, body: Body, x: Any, u: Any, w: Any, ground: GroundUnder, p: Any
) -> tuple[Any, Any]:
    """Combine input and disturbance of the user with those of the ground."""

    def both(leaf: record.Field, users: Any, grounds: Any) -> Any:
        """Combine two values of a field with the default 0 (sum), 1 (product) or -1 (priority).

        With the default -1 the user's value has priority unless it is negative.
        """
        if grounds is users:
            return users
        if leaf.default == 0.0:
            return users + grounds
        return users * grounds if leaf.default == 1.0 else where(users < 0.0, grounds, users)

    def joined(kind: type, users: Any, grounds: Any) -> Any:
        if grounds is users:
            return users
        columns = record.fields(kind), record.flatten(users), record.flatten(grounds)
        return record.unflatten(kind, [both(*leaf) for leaf in zip(*columns, strict=True)])

    assert body.on_ground is not None
    ground_u, ground_w = body.on_ground(x, u, w, ground, p)
    return joined(model.Input, u, ground_u), joined(model.Disturbance, w, ground_w)


def _pose_fields(model: Model, body: Body) -> tuple[str, str, str | None]:
    """Fields of the state that hold x, y and yaw; the last is None for a fixed heading."""
    example = record.unflatten(model.Params, [1.0] * record.size(model.Params))
    x, y, yaw = own_fields(model.State, lambda state: body.pose(state, example))
    fields = model.State._fields
    if x is None or y is None:
        # If the reference point of the body differs from the point of the state, the map motion is
        # that of the latter.
        x, y, yaw = (name if name in fields else None for name in ("x", "y", "yaw"))
    if x is None or y is None:
        raise InvalidValue(
            f"{model.name!r} on a road: cannot tell which fields of its state hold the position; "
            "Body.pose must return two state fields unchanged, or the fields must be called x and y"
        )
    return x, y, yaw


def _wrapped(model: Model, body: Body, at: Any) -> dict[str, Any]:
    """Functions of the model on a road; `at` names its pose fields, None on level ground."""

    def seen(x: Any, rate: Any, now: OnGround) -> dict[str, Any]:
        """Rate of the pose on the map, or displacement on it, from the rate or displacement along
        the plane."""
        yaw = body.pose(x, now.p).yaw
        ahead, left = turned_back(cos(yaw), sin(yaw), getattr(rate, at[0]), getattr(rate, at[1]))
        turn = 0.0 if at[2] is None else getattr(rate, at[2])
        assert now.plane is not None
        over = plane_motion(now.plane, yaw, ahead, left, turn)
        return {name: part for name, part in zip(at, over[:3], strict=True) if name}

    def rates(x: Any, rate: Any, now: OnGround) -> Any:
        return rate._replace(**seen(x, rate, now))

    def updated(x: Any, after: Any, now: OnGround) -> Any:
        change = after._replace(**{n: getattr(after, n) - getattr(x, n) for n in at if n})
        parts = seen(x, change, now)
        return after._replace(**{name: getattr(x, name) + part for name, part in parts.items()})

    def on_map(function: Any, above: Any = None) -> Any:
        """Wrap a function of the model; `above` converts its result to the map."""
        if function is None:
            return None

        def wrapped(x: Any, u: Any, w: Any, p: Any, *dt: Any) -> Any:
            now = OnGround.of(model, body, x, u, w, p)
            value = function(x, now.u, now.w, now.p, *dt)
            return value if above is None or now.plane is None else above(x, value, now)

        return wrapped

    return {
        "derivative": on_map(model.derivative, rates),
        "update": on_map(model.update, updated),
        "outputs": on_map(model.outputs),
        "hold": on_map(model.hold),
    }


V_HOLD: m_s = 0.05
"""Speed over which a brake force builds up; a held car creeps at a small share of it."""


def with_brakes(vehicle: Vehicle) -> Vehicle:
    """Return the car with inputs whose negative torques brake instead of driving backwards.

    For `four_wheel` and `kinematic_bicycle`; `two_track` and `formula_student` have brakes of their
    own.
    """
    if model_without_road(vehicle.model) is not None:
        return on_road(with_brakes(off_road(vehicle)), vehicle.params.road)
    return Vehicle(braked(vehicle.model), vehicle.params)


@built_once
def braked(model: Model) -> Model:
    """Return the model with brakes (cached)."""
    if "brake_fl" in model.Input._fields:
        raise InvalidValue(f"{model.name!r} already has brakes: its inputs brake_fl to brake_rr")
    if model.State is not State or model.Input is not Input or model.reproduces:
        raise InvalidValue(
            f"{model.name!r} has no torques that could brake; allowed are four_wheel, "
            "kinematic_bicycle"
        )
    inner, shown, body = model.derivative, model.outputs, model.body
    assert inner is not None
    assert body is not None
    motors = body.limits

    def derivative(x: State, u: Input, w: Any, p: Any) -> State:
        rate = inner(braking_state(x, p), u, w, p)
        return rate._replace(**actuator_rates(x, u, p)._asdict())

    def outputs(x: State, u: Input, w: Any, p: Any) -> Any:
        return shown(braking_state(x, p), u, w, p)

    def limits(p: Any) -> Limits:
        """Limits of a car that does not drive backwards, but may roll so after a spin."""
        return replace(motors(p), v_min=0.0, not_kept=("v",))

    return replace(
        model,
        derivative=derivative,
        outputs=outputs,
        body=replace(body, limits=limits, command=_braking_command),
    )


def _braking_command(x: State, demand: Demand, p: Any) -> Input:
    """Convert a demand to equal torques at all wheels; the handbrake locks the rear wheels."""
    tau = limited(torque_for(demand.a, x.v_x, p), p.tau_max)
    rear = limited(tau - demand.handbrake * p.tau_max, p.tau_max)
    return Input(limited(demand.steer, p.steer_max), tau, tau, rear, rear)


def braking_state(x: State, p: Any) -> State:
    """State whose negative torques are brake torques against each wheel's motion.

    A brake acts with the longitudinal share of its wheel's velocity over ground, from -1 to 1; 0 at
    rest.
    """
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    moving = (in_wheel_frame(v.fl, c, s), in_wheel_frame(v.fr, c, s), v.rl, v.rr)
    shares = [w.x / sqrt(w.x * w.x + w.y * w.y + V_HOLD * V_HOLD) for w in moving]
    fl, fr, rl, rr = (
        maximum(tau, 0.0) + minimum(tau, 0.0) * share
        for tau, share in zip(torques(x), shares, strict=True)
    )
    return x._replace(tau_fl=fl, tau_fr=fr, tau_rl=rl, tau_rr=rr)


WIDTH = 0.3
"""Default rounding of a corner, as a share of the limit. IPOPT solves a lane change in about 20
steps with it, and not in 200 with corners or with 0.05."""


def with_smooth_limits(vehicle: Vehicle, width: float = WIDTH) -> Vehicle:
    """Return the car with rounded corners of its steering, steering rate and torque limits.

    `width` is the size of a corner as a share of its limit. It is also a parameter of the vehicle
    (`limit_width`). For `four_wheel`, `kinematic_bicycle` and `single_track`.
    """
    params = vehicle.params
    if hasattr(params, "limit_width"):
        return Vehicle(vehicle.model, record.build(type(params), params, limit_width=width))
    model = smooth(vehicle.model)
    return Vehicle(model, record.build(model.Params, params._asdict(), limit_width=width))


@built_once
def smooth(model: Model) -> Model:
    """Return the model with a parameter `limit_width` (cached)."""
    wheel_torques = model.State is State and model.Input is Input
    if not (wheel_torques or model.derivative is single_track_derivative) or model.reproduces:
        raise InvalidValue(
            f"{model.name!r} has no limits that can be smooth; allowed are four_wheel, "
            "kinematic_bicycle, single_track"
        )
    return replace(model, Params=_with_width(model.Params))


@made_once
def _with_width(Params: Any) -> Any:
    text = "Rounding of the actuators' limits as part of each."
    kind = Annotated[one, positive]
    return redefined(Params, {"limit_width": kind}, {"limit_width": WIDTH}, {"limit_width": text})
