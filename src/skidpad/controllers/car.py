"""What a controller has to know of a car: where its axles are, how it moves, how it is commanded.

Steering laws are written for any car-like vehicle: they read a `Motion` and ask for a `Wish`, and a
`Car` translates between these and the records of a vehicle. `car_of` knows skidpad's own words:

* the state has `x`, `y`, `yaw` and either `v_x` and `v_y`, `v` and `beta`, or `v` alone: then the
  car rolls without slip and the position is that of its centre of mass, or of its rear axle;
* the input has `a` or the torques of the four wheels, and `steer` or `steer_rate`; or it is a speed
  and a curvature, as of `ackermann_truck`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from .. import record
from ..components.ackermann import Twist, curvature_of, twist_at
from ..components.actuator import limited, rate_limited_lag
from ..components.centre_track import drift
from ..components.single_track import yaw_rate
from ..errors import InvalidValue
from ..ops import cos, sin
from ..units import Unit, m, m_s, m_s2, non_negative, positive, rad, rad_s, s
from .line import Motion

Nm_s2_m = Annotated[float, Unit("N·m/(m/s²)", length=1, mass=1)]

TORQUES = ("tau_fl", "tau_fr", "tau_rl", "tau_rr")
STEER_MAX: rad = 0.6
"""Largest steering angle asked for of a car whose parameters name none."""
STEER_RATE_MAX: rad_s = 1.0
"""Largest steering rate asked for of a car whose parameters name none."""


class Geometry(NamedTuple):
    """Where the axles are, and the limits of the steering."""

    l_f: Annotated[m, positive]
    """Distance from the point whose position the state gives to the front axle."""
    l_r: Annotated[m, non_negative]
    """Distance from that point to the rear axle; 0 if it is the rear axle."""
    steer_max: Annotated[rad, positive] = STEER_MAX
    """Largest steering angle asked for, either side."""
    steer_rate_max: Annotated[rad_s, positive] = STEER_RATE_MAX
    """Largest steering rate asked for, either side, where that is the input."""
    t_steer: Annotated[s, positive] = 0.1
    """Time constant with which a steering rate brings the wheels to the angle asked for."""
    torque_per_a: Annotated[Nm_s2_m, non_negative] = 0.0
    """Torque at each wheel for an acceleration, where torques are the input."""
    base_to_rear: Annotated[m, non_negative] = 0.0
    """Distance from the rear axle to the point whose curvature is the input, where it is."""


class Wish(NamedTuple):
    """What a controller asks of a car."""

    steer: rad
    """Angle of the front wheels, positive to the left."""
    a: m_s2
    """Acceleration along the car."""
    v: m_s
    """Speed that is to be reached, for cars that take one."""


@dataclass(frozen=True)
class Car:
    """How a controller reads and commands a car; the functions are pure."""

    geometry: Geometry
    motion: Callable[[Any, Geometry], Motion]
    """Position and velocity of the state's point."""
    omega: Callable[[Any, Geometry], rad_s]
    """Yaw rate, positive to the left."""
    speed: Callable[[Any], m_s]
    """The speed that is compared with a reference's, negative in reverse."""
    command: Callable[[Any, Wish, Geometry], Any]
    """The vehicle's input, from its state and what is asked for."""


def rear_axle(motion: Motion, g: Geometry) -> tuple[m, m]:
    """Position of the middle of the rear axle in the world frame."""
    return motion.x - g.l_r * cos(motion.yaw), motion.y - g.l_r * sin(motion.yaw)


def front_axle(motion: Motion, g: Geometry) -> tuple[m, m]:
    """Position of the middle of the front axle in the world frame."""
    return motion.x + g.l_f * cos(motion.yaw), motion.y + g.l_f * sin(motion.yaw)


def after(motion: Motion, t: s) -> Motion:
    """The motion a time later if it goes straight on as it moves now."""
    c, sine = cos(motion.yaw), sin(motion.yaw)
    return motion._replace(
        x=motion.x + t * (motion.v_x * c - motion.v_y * sine),
        y=motion.y + t * (motion.v_x * sine + motion.v_y * c),
    )


def car_of(vehicle: Any, **geometry: float) -> Car:
    """How to read and command a vehicle, by the names of its fields; see the module text.

    Keywords replace fields of its `Geometry`.
    """
    state, inputs = set(record.names(vehicle.State)), set(record.names(vehicle.Input))
    if not {"x", "y", "yaw"} <= state or not ({"v", "v_x"} & state):
        raise InvalidValue(
            f"{vehicle.name!r} has no state x, y, yaw with v or v_x; give a Car that reads it"
        )
    measures = record.build(Geometry, _geometry(vehicle), **geometry)
    motion = _motion(state, rolls=measures.l_r > 0.0)
    return Car(
        measures,
        motion,
        _yaw_rate(state, motion),
        (lambda x: x.v) if "v" in state else (lambda x: x.v_x),
        _command(vehicle, inputs),
    )


AT_REAR_AXLE = frozenset({"ackermann_truck", "commonroad_ks", "commonroad_kst"})
"""Vehicles whose position is that of the middle of the rear axle."""


def _geometry(vehicle: Any) -> dict[str, float]:
    params = dict(
        zip(record.names(vehicle.model.Params), record.flatten(vehicle.params), strict=True)
    )
    found = {name: params[name] for name in Geometry._fields if name in params}
    if "l_f" not in found and "wheel_base" in params:
        found |= {"l_f": params["wheel_base"], "l_r": 0.0}
    if vehicle.name in AT_REAR_AXLE and "l_r" in found:
        found |= {"l_f": found["l_f"] + found["l_r"], "l_r": 0.0}
    if "C_m0" in params:
        found["torque_per_a"] = params["m"] / (len(TORQUES) * params["C_m0"])
    return found


def _motion(state: set[str], *, rolls: bool) -> Callable[[Any, Geometry], Motion]:
    """Body velocities from whatever the state has of them."""

    def measured(x: Any, g: Geometry) -> Motion:
        return Motion(x.x, x.y, x.yaw, x.v_x, x.v_y)

    def straight(x: Any, g: Geometry) -> Motion:
        v = x.v if "v" in state else x.v_x
        return Motion(x.x, x.y, x.yaw, v, 0.0 * v)

    def slipping(x: Any, g: Geometry) -> Motion:
        beta = x.beta if "beta" in state else drift(x.steer, g.l_f, g.l_r)
        return Motion(x.x, x.y, x.yaw, x.v * cos(beta), x.v * sin(beta))

    if "v_y" in state:
        return measured
    return slipping if "v" in state and ("beta" in state or rolls) else straight


def _yaw_rate(
    state: set[str], motion: Callable[[Any, Geometry], Motion]
) -> Callable[[Any, Geometry], rad_s]:
    def rolling(x: Any, g: Geometry) -> rad_s:
        return yaw_rate(motion(x, g).v_x, x.steer, g.l_f + g.l_r)

    return (lambda x, g: x.omega) if "omega" in state else rolling


def _command(vehicle: Any, inputs: set[str]) -> Callable[[Any, Wish, Geometry], Any]:
    Input = vehicle.Input

    def by_curvature(x: Any, wish: Wish, g: Geometry) -> Any:
        rear = Twist(curvature_of(limited(wish.steer, g.steer_max), g.l_f + g.l_r), wish.v)
        base = twist_at(rear, g.base_to_rear, 0.0)
        return Input(velocity=base.velocity, curvature=base.curvature)

    def steered(x: Any, wish: Wish, g: Geometry) -> dict[str, Any]:
        if "steer" in inputs:
            return {"steer": limited(wish.steer, g.steer_max)}
        rate = rate_limited_lag(x.steer, wish.steer, g.t_steer, g.steer_max, g.steer_rate_max)
        return {"steer_rate": rate}

    def by_acceleration(x: Any, wish: Wish, g: Geometry) -> Any:
        return Input(a=wish.a, **steered(x, wish, g))

    def by_torque(x: Any, wish: Wish, g: Geometry) -> Any:
        tau = g.torque_per_a * wish.a
        return Input(**dict.fromkeys(TORQUES, tau), **steered(x, wish, g))

    turns = {"steer", "steer_rate"} & inputs
    if turns and "a" in inputs:
        return by_acceleration
    if turns and set(TORQUES) <= inputs:
        return by_torque
    if {"velocity", "curvature"} <= inputs:
        return by_curvature
    raise InvalidValue(
        f"{vehicle.name!r} has the inputs {', '.join(sorted(inputs))}; a controller needs a or "
        "wheel torques with steer or steer_rate, or velocity with curvature. Give a Car that "
        "commands it"
    )
