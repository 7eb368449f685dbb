"""The body of `single_track`: its shape, its limits and how wishes become a force."""

from __future__ import annotations

from typing import Any

from ..body import Geometry, GroundUnder, Limits, Wish, car_geometry
from ..components.actuator import limited
from ..components.car_bodies import sliding_car
from ..components.corner_loads import axle_weights
from ..components.drive_command import drag
from ..components.spinning_wheel import rolling_radius
from ..components.tyre.contract import Contact
from ..components.tyre.tyre_set import each_tyre
from ..units import one
from .single_track_records import Params, State
from .two_track_body import WHEEL_WIDTH


def axle_tyres(p: Params) -> tuple[Any, Any]:
    """The tyre of the front and of the rear axle."""
    front, _, rear, _ = each_tyre(p.tyres)
    return front, rear


def standing_contacts(p: Params) -> list[tuple[Any, Contact]]:
    """Tyre of a front and of a rear wheel of the car that stands, and how it touches the road."""
    loads = axle_weights(p.m * p.g, 0.0, 0.5, p)  # pyright: ignore[reportArgumentType]
    pairs = zip(axle_tyres(p), loads, strict=True)
    return [(tyre, Contact(F_z=0.5 * load, p=tyre.pressure)) for tyre, load in pairs]


def standing_grips(p: Params) -> list[one]:
    """Largest lateral friction of the tyres of each axle of the car that stands."""
    return [tyre.peaks(at).mu_y for tyre, at in standing_contacts(p)]


def geometry(p: Params) -> Geometry:
    """A car about its axles; it is drawn with four wheels."""
    middle = 0.5 * (p.l_f - p.l_r)
    radius = max(float(rolling_radius(tyre, at.F_z, 0.0)) for tyre, at in standing_contacts(p))
    return car_geometry(
        front_axle=p.l_f,
        rear_axle=-p.l_r,
        front=middle + 0.5 * p.length,
        rear=middle - 0.5 * p.length,
        width=p.width,
        height=p.height,
        wheel_radius=radius,
        wheel_width=WHEEL_WIDTH * radius,
        mass=p.m,
        inertia=p.I_z,
        centre_of_mass=(0.0, 0.0),
    )


def limits(p: Params) -> Limits:
    """What steering, drive, brakes and tyres allow."""
    a_min, a_max = p.drive.limits(p.m)
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=a_max,
        a_min=a_min,
        grip=float(min(standing_grips(p))) * p.g,
        inputs={"steer": (-p.steer_max, p.steer_max), **p.drive.ranges()},
    )


def command(x: State, wish: Wish, p: Params) -> Any:
    """The force for an acceleration, in spite of the air."""
    force = p.m * wish.a - drag(x.v_x, p.C_drag)
    return p.drive.input(limited(wish.steer, p.steer_max), force, p.m)


def on_ground(x: State, u: Any, w: Any, ground: GroundUnder, p: Params) -> tuple[Any, Any]:
    """Gravity pulls at the centre of mass; an axle has the mean friction under its wheels."""
    changes: dict[str, Any] = {}
    if ground.down is not None:
        weight = ground.g * p.m
        changes |= {"F_x": weight * ground.down.x, "F_y": weight * ground.down.y}
    if ground.mu is not None or ground.grip is not None:
        own_f, own_r = standing_grips(p)
        fl, fr, rl, rr = ground.friction_shares((own_f, own_f, own_r, own_r)) or (1.0,) * 4
        changes |= {"mu_f": 0.5 * (fl + fr), "mu_r": 0.5 * (rl + rr)}
    return u, w._replace(**changes)


BODY = sliding_car(
    geometry=geometry, limits=limits, command=command, on_ground=on_ground, gravity="g"
)
