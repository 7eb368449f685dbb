"""A vehicle as its log sees it: driven by logged motion, observed by sensors, with its tangent.

`observed` wraps the model of a vehicle. The wrapped model takes what the log contains, logged
controls or logged speed and wheel angle, and its outputs are the channels of the log:

* **steer** "commanded": the log has the command, which acts through the vehicle's own steering;
  "prescribed": the log has the angle of the wheels, and the state `steer` follows it exactly;
  "demanded": the same for a vehicle without such a state, through the command of its body.
* **speed** "commanded": the log has the inputs of drive and brakes; "tracked": drive and brakes
  make the logged speed, so that tyres and axles feel the forces that the motion took;
  "prescribed": the state `v_x` follows the logged speed exactly.

A prescribed state holds the logged value itself; the vehicle sees it scaled and shifted by the
parameters of `Sensors`, so that a wrong steering ratio or wheel radius is a parameter like others.

`tangent` makes a discrete model of a model: its state is a state and its derivative in one
direction, its outputs are the outputs and their derivative. Every direction of a fit is one vehicle
of a fleet, so all exact derivatives of a replay come from one compiled rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, cast, get_type_hints

from ... import integrate
from ...core import record
from ...core.body import Acceleration, Body, Demand, Down, GroundUnder, Velocity, body_of
from ...core.model import Model, Vehicle, built_once
from ...errors import InvalidValue
from ...geometry.pose import turned
from ...integrate.base import Integrator, flat_result, simplified
from ...ops import atan2, cos, hypot, sin, tan
from ...run.stability import DRIVING
from ...units import m, m_s, m_s2, one, per_s, positive, rad, rad_s

CHANNELS = {
    "x": "m",
    "y": "m",
    "yaw": "rad",
    "v_x": "m/s",
    "v_y": "m/s",
    "speed": "m/s",
    "sideslip": "rad",
    "omega": "rad/s",
    "a_x": "m/s²",
    "a_y": "m/s²",
    "steer": "rad",
}
"""Channels that every vehicle with a body can be compared in, with their units."""
POSITIONS = ("x", "y", "yaw")
STEERING = "steer"
"""Beginning of the names of inputs that steer; the others drive and brake."""
GRAVITY: m_s2 = 9.81
"""Gravity of vehicles without a parameter for it."""


class Logged(NamedTuple):
    """Logged motion in one period; rates are constant over it."""

    steer: rad = 0.0
    """Wheel angle as logged, positive to the left."""
    steer_rate: rad_s = 0.0
    """Rate of the logged wheel angle."""
    speed: m_s = 0.0
    """Speed as logged, forward positive."""
    speed_rate: m_s2 = 0.0
    """Rate of the logged speed."""
    bank: rad = 0.0
    """Bank of the road across the vehicle, positive where its left side is higher."""
    slope: rad = 0.0
    """Slope of the road along the vehicle, positive uphill."""


class Sensors(NamedTuple):
    """Calibration and places of the sensors of a log, relative to the vehicle's body point."""

    steer_ratio: one = 1.0
    """Wheel angle over logged angle; the inverse of the steering ratio for a hand-wheel angle."""
    steer_offset: rad = 0.0
    """Wheel angle where the log shows 0, positive to the left."""
    speed_ratio: Annotated[one, positive] = 1.0
    """Speed over logged speed, for a wrong wheel radius."""
    speed_gain: per_s = 25.0
    """Gain with which a tracked speed follows the logged one. The resistance of turning tyres over
    this gain is a lasting error of the speed, which `Replay.follow_speed` removes."""
    point_x: m = 0.0
    """Place at which position and velocity are measured, forward of the body point."""
    point_y: m = 0.0
    """The same to the left of the body point."""
    imu_x: m = 0.0
    """Place of the accelerometers, forward of the body point."""
    imu_y: m = 0.0
    """The same to the left of the body point."""
    omega_bias: rad_s = 0.0
    """Logged minus true yaw rate."""
    a_x_bias: m_s2 = 0.0
    """Logged minus true longitudinal acceleration."""
    a_y_bias: m_s2 = 0.0
    """Logged minus true lateral acceleration."""
    a_y_tilt: one = 0.0
    """Share by which the roll of the body adds gravity to a_y: g times the roll angle per a_y."""
    sideslip_bias: rad = 0.0
    """Angle of the velocity sensor to the vehicle, positive if it sees a sideslip to the left."""


class Way(NamedTuple):
    """How a vehicle is driven by its log and which channels it is compared in."""

    steer: str
    """ "commanded", "prescribed" or "demanded"."""
    speed: str
    """ "commanded", "prescribed" or "tracked"."""
    channels: tuple[str, ...]
    ground: bool = False
    """Whether the log has the bank or the slope of the road."""

    @property
    def uses_commands(self) -> bool:
        """Whether the vehicle's own inputs determine both steering and speed."""
        return self.steer == self.speed == "commanded"


def observed(vehicle: Vehicle, way: Way, sensors: Sensors) -> Vehicle:
    """Return the vehicle as its log sees it: the parameters of the sensors are its field `log`."""
    model = _observed_model(vehicle.model, way)
    return Vehicle(model, model.Params._make((*vehicle.params, sensors)))


@built_once
def _observed_model(model: Model, way: Way) -> Model:
    hints = get_type_hints(model.Params, include_extras=True)
    Params = record.define(
        "ObservedParams",
        {name: hints[name] for name in model.Params._fields} | {"log": Sensors},
        {**model.Params._field_defaults, "log": Sensors()},
    )
    hints = get_type_hints(model.Input, include_extras=True)
    Input = record.define(
        "ObservedInput",
        {name: hints[name] for name in model.Input._fields} | {"log": Logged},
        {**model.Input._field_defaults, "log": Logged()},
    )
    Outputs = record.define("Observation", dict.fromkeys(map(_field, way.channels), one))
    seen = _LoggedEquations(model, way)
    body = seen.body

    def own(p: Any) -> Any:
        return model.Params._make(p[:-1])

    def command(x: Any, demand: Demand, p: Any) -> Any:
        logged = Logged(steer=demand.steer, speed=demand.v, speed_rate=demand.a)
        return Input._make((*body.command(x, demand, own(p)), logged))

    # The body tells at which speeds a step has to be stable; a log may exceed the other limits.
    driven = Body(
        reference=body.reference,
        pose=lambda x, p: body.pose(x, own(p)),
        velocity=lambda x, u, p: body.velocity(x, model.Input._make(u[:-1]), own(p)),
        placed=lambda x, pose, velocity, p: body.placed(x, pose, velocity, own(p)),
        geometry=lambda p: body.geometry(own(p)),
        limits=lambda p: replace(body.limits(own(p)), not_kept=("steer", "v")),
        command=command,
    )
    return Model(
        name=f"{model.name} in its log",
        State=model.State,
        Input=Input,
        Params=Params,
        derivative=seen.derivative if model.continuous else None,
        update=None if model.continuous else seen.update,
        outputs=lambda x, u, w, p: Outputs._make(seen.channels(x, u, w, p)),
        Outputs=Outputs,
        Disturbance=model.Disturbance,
        settle=None if model.settle is None else seen.settle,
        fills=model.fills,
        slowest=max(model.slowest, DRIVING),
        ends=model.ends,
        substeps=model.substeps,
        body=driven,
    )


def _field(channel: str) -> str:
    return channel.replace(".", "__")


class _LoggedEquations:
    """Equations of a model with logged motion in place of some of its states."""

    def __init__(self, model: Model, way: Way) -> None:
        self.model, self.way = model, way
        self.body = body_of(cast("Any", SimpleNamespace(model=model, name=model.name)), "a replay")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LoggedEquations) and (self.model, self.way) == (
            other.model,
            other.way,
        )

    def __hash__(self) -> int:
        return hash((self.model, self.way))

    def parts(self, x: Any, u: Any, w: Any, p: Any) -> tuple[Any, Any, Any, Any]:
        """State, input, disturbance and parameters of the vehicle itself, on its ground."""
        x, own, car = self._driven(x, u, p)
        body = self.body
        if not self.way.ground or body.on_ground is None:
            return x, own, w, car
        g, down = getattr(car, body.gravity or "g", GRAVITY), self._down(u.log)
        own, w = body.on_ground(x, own, w, GroundUnder(g, down), car)
        if body.gravity and not body.lessens_loads:
            # The load is normal to the road; a turn on a bank adds to it.
            v = body.velocity(x, own, car)
            normal = g * cos(u.log.slope) * cos(u.log.bank) - v.v_x * v.omega * tan(u.log.bank)
            car = car._replace(**{body.gravity: normal})
        return x, own, w, car

    def _down(self, logged: Logged) -> Down:
        return Down(-sin(logged.slope), -sin(logged.bank))

    def _driven(self, x: Any, u: Any, p: Any) -> tuple[Any, Any, Any]:
        """State, input and parameters with the logged motion inserted."""
        car, log, logged = self.model.Params._make(p[:-1]), p.log, u.log
        changes: dict[str, Any] = {}
        if self.way.steer == "prescribed":
            changes["steer"] = log.steer_ratio * x.steer + log.steer_offset
        if self.way.speed == "prescribed":
            changes["v_x"] = log.speed_ratio * x.v_x
        x = x._replace(**changes)
        own = self.model.Input._make(u[:-1])
        if self.way.uses_commands:
            return x, own, car
        # What the steering turns into the logged angle and its rate, as far as its limits allow.
        ahead = getattr(car, "t_steer", 0.0) * logged.steer_rate
        steer = log.steer_ratio * (logged.steer + ahead) + log.steer_offset
        v, a = log.speed_ratio * logged.speed, log.speed_ratio * logged.speed_rate
        if self.way.speed == "tracked":
            a = a + log.speed_gain * (v - self.body.velocity(x, own, car).v_x)
        demanded = self.body.command(x, Demand(steer=steer, a=a, v=v), car)
        given = {
            name: getattr(own, name)
            for name in own._fields
            if (self.way.steer if name.startswith(STEERING) else self.way.speed) == "commanded"
        }
        return x, demanded._replace(**given), car

    def derivative(self, x: Any, u: Any, w: Any, p: Any) -> Any:
        seen, own, w, car = self.parts(x, u, w, p)
        assert self.model.derivative is not None
        rate = self.model.derivative(seen, self.model.held_input(seen, own, w, car), w, car)
        return self._followed(rate, u.log.steer_rate, u.log.speed_rate)

    def update(self, x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        seen, own, w, car = self.parts(x, u, w, p)
        assert self.model.update is not None
        after = self.model.update(seen, self.model.held_input(seen, own, w, car), w, car, dt)
        steer = getattr(x, "steer", 0.0) + dt * u.log.steer_rate
        return self._followed(after, steer, getattr(x, "v_x", 0.0) + dt * u.log.speed_rate)

    def _followed(self, values: Any, steer: Any, v_x: Any) -> Any:
        """State or rate with the prescribed fields replaced."""
        changes = {"steer": steer} if self.way.steer == "prescribed" else {}
        return values._replace(**changes | ({"v_x": v_x} if self.way.speed == "prescribed" else {}))

    def settle(self, x: Any, p: Any) -> Any:
        assert self.model.settle is not None
        return self.model.settle(x, self.model.Params._make(p[:-1]))

    def channels(self, x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        """Channels as the sensors of the log show them."""
        seen, own, w, car = self.parts(x, u, w, p)
        model, log = self.model, p.log
        if model.settle is not None and not model.fills:  # states that follow from others
            seen = model.settle(seen, car)
        held = model.held_input(seen, own, w, car)
        told = model.outputs(seen, held, w, car)
        known = {name: getattr(seen, name) for name in model.State._fields}
        pose, velocity = self.body.pose(seen, car), self.body.velocity(seen, own, car)
        known |= {**pose._asdict(), **velocity._asdict()}
        acceleration = self._acceleration(seen, held, w, car, velocity, u.log, log)
        known |= acceleration._asdict()
        if self.body.steer is not None:
            known["steer"] = self.body.steer(seen, own, car)
        leaves = zip(record.names(model.Outputs), record.flatten(told), strict=True)
        known |= dict(leaves)
        if self.way.ground:  # accelerometers measure the reaction to gravity, too
            g, down = getattr(p, self.body.gravity or "g", GRAVITY), self._down(u.log)
            known |= {"a_x": known["a_x"] - g * down.x, "a_y": known["a_y"] - g * down.y}
        known |= self._at_sensors(known, acceleration.omega_rate, log)
        missing = [name for name in self.way.channels if name not in known]
        if missing:
            raise InvalidValue(f"{model.name} has no channel {missing[0]!r} to compare")
        return [known[name] for name in self.way.channels]

    def _acceleration(
        self, x: Any, held: Any, w: Any, p: Any, v: Velocity, logged: Logged, log: Sensors
    ) -> Acceleration:
        """Acceleration of the body point; along the vehicle that of a prescribed speed."""
        if self.model.derivative is None or self.body.acceleration is None:
            turning = Acceleration(0.0 * v.v_x, v.v_x * v.omega, 0.0 * v.omega)
            if self.way.speed == "commanded":
                return turning
            return turning._replace(a_x=log.speed_ratio * logged.speed_rate - v.v_y * v.omega)
        rate = self.model.derivative(x, held, w, p)
        if self.way.speed == "prescribed":
            rate = rate._replace(v_x=log.speed_ratio * logged.speed_rate)
        return self.body.acceleration(x, rate, p)

    def _at_sensors(self, known: dict[str, Any], omega_rate: Any, log: Sensors) -> dict[str, Any]:
        """Channels at the places of the sensors, with their biases."""
        omega = known["omega"]
        v_x = known["v_x"] - omega * log.point_y
        v_y = known["v_y"] + omega * log.point_x
        turn = turned(cos(known["yaw"]), sin(known["yaw"]), log.point_x, log.point_y)
        a_x = known["a_x"] - omega_rate * log.imu_y - omega * omega * log.imu_x
        a_y = known["a_y"] + omega_rate * log.imu_x - omega * omega * log.imu_y
        return {
            "x": known["x"] + turn[0],
            "y": known["y"] + turn[1],
            "v_x": v_x - v_y * log.sideslip_bias,
            "v_y": v_y + v_x * log.sideslip_bias,
            "speed": hypot(v_x, v_y),
            "sideslip": atan2(v_y, v_x) + log.sideslip_bias,
            "omega": omega + log.omega_bias,
            "a_x": a_x + log.a_x_bias,
            "a_y": a_y * (1.0 + log.a_y_tilt) + log.a_y_bias,
        }


def tangent(vehicle: Vehicle, method: Integrator, names: Sequence[str]) -> Vehicle:
    """Return the discrete vehicle whose state is a state of `vehicle` and its derivative.

    `names` are the parameters that a direction may change; a direction is a change of the start
    state, of the inputs and of these parameters. State, inputs and parameters come first in the
    records, their changes after them, as do the outputs.
    """
    model = _tangent_model(vehicle.model, method, tuple(names))
    return Vehicle(model, model.Params(vehicle.params, *(0.0,) * len(names)))


@built_once
def _tangent_model(model: Model, method: Integrator, names: tuple[str, ...]) -> Model:
    State, Input = (_with_change(kind) for kind in (model.State, model.Input))
    Outputs = _with_change(model.Outputs)
    moved = [f"d{k}" for k in range(len(names))]
    Params = record.define("TangentParams", {"p": model.Params} | dict.fromkeys(moved, one))
    places = [record.names(model.Params).index(name) for name in names]
    sizes = {kind: record.size(kind) for kind in (model.State, model.Input)}

    def split(kind: type, value: Any) -> tuple[Any, Any]:
        leaves = record.flatten(value)
        return tuple(
            record.unflatten(kind, part) for part in (leaves[: sizes[kind]], leaves[sizes[kind] :])
        )

    def params(p: Any) -> tuple[Any, Any]:
        change = [0.0] * record.size(model.Params)
        for place, value in zip(places, p[1:], strict=True):
            change[place] = value
        return p.p, record.unflatten(model.Params, change)

    def update(x: Any, u: Any, w: Any, p: Any, dt: Any) -> Any:
        from ...integrate.adjoint import tangent as tangent_of

        (x, dx), (u, du), (p, dp) = split(model.State, x), split(model.Input, u), params(p)
        with simplified():
            after, _ = integrate.discretise(model, method)(x, u, w, p, dt)
            moved = tangent_of(model, method)(x, u, w, p, dt, dx, du, dp)
        return State._make((after, *record.flatten(moved)))

    def outputs(x: Any, u: Any, w: Any, p: Any) -> Any:
        from ...integrate.adjoint import Arguments
        from ...integrate.derivatives import pushforward

        (x, dx), (u, du), (p, dp) = split(model.State, x), split(model.Input, u), params(p)
        values = flat_result(model, "outputs", model.outputs(x, u, w, p))
        told = record.unflatten(model.Outputs, values)
        columns = (Arguments(*parts).symbols for parts in ((told,), (x, u, p), (dx, du, dp)))
        with simplified():
            moved = pushforward(*columns)
        return Outputs._make((told, *(moved[k] for k in range(moved.numel()))))

    return Model(
        name=f"{model.name}, tangent",
        State=State,
        Input=Input,
        Params=Params,
        update=update,
        outputs=outputs,
        Outputs=Outputs,
        Disturbance=model.Disturbance,
        substeps=model.substeps,
    )


def _with_change(kind: Any) -> Any:
    """A record of a record and one number for the change of each of its leaves."""
    changes = {f"d{k}": one for k in range(record.size(kind))}
    defaults: dict[str, Any] = dict.fromkeys(changes, 0.0)
    try:
        defaults["value"] = record.build(kind)
    except InvalidValue:  # outputs have no defaults
        defaults = {}
    return record.define(f"{kind.__name__}Tangent", {"value": kind} | changes, defaults)
