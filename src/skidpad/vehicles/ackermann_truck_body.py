"""The body of `ackermann_truck`."""

from __future__ import annotations

from dataclasses import replace

from ..body import Geometry, Limits, Wish, car_geometry
from ..components.ackermann import Twist, curvature_of, twist_at
from ..components.actuator import limited
from ..components.car_bodies import rolling_car
from .ackermann_truck_records import Input, Params, State, curvature_limit, steer_limit


def geometry(p: Params) -> Geometry:
    """Body and wheels as the parameters say; the mass is an estimate from the size."""
    rear = p.base_to_rear - p.base_to_tail
    front = p.length + rear
    shape = car_geometry(
        front_axle=p.wheel_base,
        rear_axle=0.0,
        front=front,
        rear=rear,
        width=p.width,
        height=0.6 * p.width,
        track=p.track,
        wheel_radius=p.wheel_radius,
        wheel_width=p.wheel_width,
        centre_of_mass=(0.5 * (front + rear), 0.0),
    )
    # Its outputs have the angle of each wheel.
    turned = (replace(w, steer=w.steer and f"steer_{w.name}") for w in shape.wheels)
    return replace(shape, wheels=tuple(turned))


def limits(p: Params) -> Limits:
    """Those of the parameters."""
    bend = float(curvature_limit(p))
    return Limits(
        steer_max=float(steer_limit(p)),
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.d_max,
        inputs={"velocity": (p.v_min, p.v_max), "curvature": (-bend, bend)},
    )


def command(x: State, wish: Wish, p: Params) -> Input:
    """Speed and curvature of the base point, from those wished for of the rear axle."""
    steer = limited(wish.steer, steer_limit(p))
    base = twist_at(Twist(curvature_of(steer, p.wheel_base), wish.v), p.base_to_rear, 0.0)
    return Input(velocity=base.velocity, curvature=base.curvature)


TRUCK = rolling_car(
    wheel_base=lambda p: p.wheel_base, geometry=geometry, limits=limits, command=command
)
