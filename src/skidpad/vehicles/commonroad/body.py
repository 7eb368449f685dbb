"""Common functions of CommonRoad's cars: their models, commands, limits and geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.body import Demand, Geometry, GroundUnder, Limits
from ...core.model import Model, NoDisturbance
from ...units import m, m_s2, rad_s, s
from ..parts.actuators import limited, rate_limited_lag
from ..parts.assembly import geometry_about_axles
from ..parts.disturbance import additive
from ..parts.drive_command import demanded_acceleration
from .records import BicycleInput, CarInput

STEER_TIME: s = 0.1
"""Time constant with which the steering rate brings the wheels to the demanded angle."""
HEIGHT: m = 1.45
"""Height of the cars, for drawing."""


class Motion(NamedTuple):
    """Quantities of one instant that both the derivative and the outputs need."""

    rate: Any
    """Rates of the state."""
    acting: Any
    """Quantities behind these rates: commands within their limits, or forces."""


def car_model(
    name: str,
    State: type,
    Params: type,
    Outputs: Any,
    move: Callable[[Any, Any, Any], Motion],
    shown: Callable[[Any, Motion, Any], Sequence[Any]],
    Input: type = CarInput,
    **others: Any,
) -> Model:
    """Return a model with additive disturbances from its motion at one instant.

    Args:
        move: motion from state, input and parameters.
        shown: values of the outputs from state, motion and parameters.
        others: further arguments of the `Model`.
    """

    def derivative(x: Any, u: Any, w: NoDisturbance, p: Any) -> Any:
        return move(x, u, p).rate

    def outputs(x: Any, u: Any, w: NoDisturbance, p: Any) -> Any:
        return Outputs._make(shown(x, move(x, u, p), p))

    kinds: dict[str, Any] = {"State": State, "Input": Input, "Params": Params, "Outputs": Outputs}
    return additive(Model(name, **kinds, derivative=derivative, outputs=outputs, **others))


def command(Input: Any, a_max: Callable[[Any], m_s2]) -> Callable[[Any, Demand, Any], Any]:
    """Return a command function whose input is steering rate and acceleration."""

    def by_rate(x: Any, demand: Demand, p: Any) -> Any:
        """Steer to the demanded angle, drive as demanded; a demand to slow down stops the car."""
        rate = rate_limited_lag(x.steer, demand.steer, STEER_TIME, p.steer_max, p.steer_rate_max)
        along = x.v if "v" in type(x)._fields else x.v_x
        return Input(steer_rate=rate, a=limited(demanded_acceleration(demand, along), a_max(p)))

    return by_rate


car_command = command(CarInput, lambda p: p.a_max)
bicycle_command = command(BicycleInput, lambda p: p.a_long_max)


def sized(p: Any, rear: bool = False, **others: Any) -> Geometry:
    """Outline and wheels about the axles; with `rear` the reference point is the rear axle."""
    return geometry_about_axles(p, p.l_r if rear else 0.0, height=HEIGHT, **others)


def seen_from_the_mass(p: Any) -> Geometry:
    """Geometry of a car whose reference point is the centre of mass."""
    return sized(p, mass=p.m, inertia=p.I_z)


def on_spinning_wheels(p: Any, letters: int, **others: Any) -> Geometry:
    """Geometry with wheel spins from states named omega_ and the first letters of the wheel.

    With one letter the wheels of an axle spin alike.
    """
    shape = sized(p, mass=p.m, inertia=p.I_z, wheel_radius=p.R_w, **others)
    wheels = (replace(wheel, spin=f"omega_{wheel.name[:letters]}") for wheel in shape.wheels)
    return replace(shape, wheels=tuple(wheels))


def limits(p: Any) -> Limits:
    """Limits of the cars KS to MB, which their models apply."""
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.a_max,
        inputs=_ranges(p.steer_rate_max, p.a_max),
    )


def spinning_limits(p: Any) -> Limits:
    """Limits of STD and MB, whose speed limit does not hold.

    A car that has spun slides backwards at the speed it had.
    """
    return replace(limits(p), not_kept=("v",))


def bicycle_limits(p: Any) -> Limits:
    """Limits of the bicycles, which their models do not apply; the controller has to keep them."""
    return Limits(
        not_kept=("steer",),
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=p.a_long_max,
        a_min=-p.a_long_max,
        grip=p.a_lat_max,
        inputs=_ranges(p.steer_rate_max, p.a_long_max),
    )


def _ranges(steer_rate: rad_s, a: float) -> dict[str, tuple[float, float]]:
    return {"steer_rate": (-steer_rate, steer_rate), "a": (-a, a)}


def on_slope(*fields: str) -> Callable[[Any, Any, Any, GroundUnder, Any], tuple[Any, Any]]:
    """Return an `on_ground` that adds gravity to the rates of these velocities.

    The first field is the velocity along the car, the others are across it. A car without a lateral
    velocity is held by its wheels.
    """

    def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        if ground.down is None:
            return u, w
        along, across = ground.g * ground.down.x, ground.g * ground.down.y
        pulls = {name: across if k else along for k, name in enumerate(fields)}
        return u, w._replace(**pulls)

    return on_ground
