"""The body of `two_track` and of its trailers: shape, limits, and how demands become inputs."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from ...core.body import (
    Demand,
    Down,
    Geometry,
    GroundUnder,
    Limits,
    Outline,
    Trailer,
    Velocity,
    Wheel,
    box,
)
from ...errors import InvalidValue
from ...geometry.pose import turned_back
from ...ops import abs, clip, maximum, where
from ...tyres.contract import Contact, each_tyre
from ...units import m, m_s2, one
from ..parts.actuators import limited
from ..parts.car_bodies import geometry_about_axles, sliding_car, weight_along
from ..parts.drive_command import slows, way_of
from ..parts.load_transfer import standing_loads
from ..parts.on_road import road_under_car
from ..parts.spinning_wheel import rolling_radius
from ..parts.trailers import SIDES, trailer_motions
from .drive import (
    CREEP,
    brake_inputs,
    brake_limits,
    coasting_force,
    drive_inputs,
    drive_limits,
    turning_mass,
)
from .records import Input, Params, State, input_type
from .trailers import standing_radius, towed_braking, towed_mass, towed_resistance, towing

BAR: one = 0.05
"""Width of a drawbar over that of its trailer."""


def with_trailers(shape: Geometry, p: Any) -> Geometry:
    """The shape of the car with what hangs behind it.

    A world pushes it as one body with the mass of all and the radius of gyration of the car.
    """
    behind: Trailer | None = None
    for k in reversed(range(len(p.trailers) if towing(p) else 0)):
        axle = -p.l_r if k == 0 else 0.0
        behind = _trailer(k, axle - p.trailers[k].behind, behind, p)
    if behind is None:
        return shape
    mass = shape.mass + sum(trailer.m for trailer in p.trailers)
    share = mass / shape.mass
    tallest = max(shape.height, *(trailer.height for trailer in p.trailers))
    return replace(shape, trailer=behind, mass=mass, inertia=share * shape.inertia, height=tallest)


def _trailer(k: int, hitch_x: m, behind: Trailer | None, p: Any) -> Trailer:
    own = p.trailers[k]
    radius = float(standing_radius(own, p))
    front = own.length - own.tail
    outlines: list[Outline] = [box(-own.tail, front, own.width)]
    if front < own.l_axle:
        outlines.append(box(front, own.l_axle, BAR * own.width))
    wheels = tuple(
        Wheel(
            f"{side}_{k + 1}",
            0.0,
            sign * 0.5 * own.track,
            radius,
            WHEEL_WIDTH * radius,
            spin=f"spin_{side}_{k + 1}",
            F_x=f"F_x_{side}_{k + 1}",
            F_y=f"F_y_{side}_{k + 1}",
            F_z=f"F_z_{side}_{k + 1}",
        )
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True)
    )
    return Trailer(hitch_x, own.l_axle, f"hitch_{k + 1}", tuple(outlines), wheels, behind)


def trailers_on_slope(x: Any, g: m_s2, down: Down, p: Any) -> dict[str, Any]:
    """Gravity on each trailer as disturbances, where the ground slopes as under the car."""
    changes: dict[str, Any] = {}
    for k, at in enumerate(trailer_motions(x, p) if towing(p) else (), 1):
        weight = p.trailers[k - 1].m * g
        F_x, F_y = turned_back(at.hitch.c, at.hitch.s, weight * down.x, weight * down.y)
        changes |= {f"F_x_{k}": F_x, f"F_y_{k}": F_y}
    return changes


WHEEL_WIDTH: one = 0.6
"""Width of a wheel over its radius."""
HOLD_RESERVE: one = 1.5
"""What the brakes of a car that is to stand are pressed with, over the force of the slope."""


def places(p: Params) -> tuple[tuple[m, m], ...]:
    """Where the wheels are, forward and to the left of the centre of mass."""
    half_f, half_r = 0.5 * p.track_f, 0.5 * p.track_r
    return (p.l_f, half_f), (p.l_f, -half_f), (-p.l_r, half_r), (-p.l_r, -half_r)


def standing_radii(p: Params) -> list[m]:
    """Effective radius of each wheel of a car that hardly moves."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return [rolling_radius(tyre, F_z, 0.0) for tyre, F_z in pairs]


def standing_grips(p: Params) -> list[one]:
    """Largest lateral friction of each tyre of the car that stands."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return [tyre.peaks(Contact(F_z=F_z, p=tyre.pressure)).mu_y for tyre, F_z in pairs]


def geometry(p: Params) -> Geometry:
    """A car about its axles, whose wheels spin and push as state and outputs tell."""
    shape = geometry_about_axles(p, forces=True)
    pairs = zip(shape.wheels, standing_radii(p), strict=True)
    wheels = tuple(_wheel(wheel, radius, p) for wheel, radius in pairs)
    return with_trailers(replace(shape, wheels=wheels), p)


def _wheel(wheel: Wheel, radius: m, p: Params) -> Wheel:
    front, side = wheel.name[0] == "f", 1.0 if wheel.name[1] == "l" else -1.0
    return replace(
        wheel,
        y=0.5 * side * (p.track_f if front else p.track_r),
        radius=float(radius),
        width=WHEEL_WIDTH * float(radius),
        yaw=0.0 if front else -side * p.toe_r,
        steer=f"steer_{wheel.name}" if front else "",
        spin=f"spin_{wheel.name}",
    )


def limits(p: Params) -> Limits:
    """What steering, drive, brakes and tyres allow."""
    radii, grips = standing_radii(p), standing_grips(p)
    if not min(radii) > 0.0:
        raise InvalidValue(
            f"m = {p.m:g} kg presses the tyres flat: standing, a wheel would have an effective "
            f"radius of {min(radii):.3g} m; allowed is a mass that its tyres carry"
        )
    radius = max(radii)
    drive, fastest, driven = drive_limits(p)
    brake, braked = brake_limits(p)
    lock = p.steering.input_angle(p.steer_max)
    by_force = 1.0 / (radius * (p.m + towed_mass(p)))
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        v_max=fastest * radius,
        v_min=-fastest * radius,
        a_max=by_force * drive,
        a_min=-by_force * (brake * (1.0 + towed_braking(radius, p))),
        grip=float(min(grips)) * p.g,
        handbrake=True,
        inputs={"steer": (-lock, lock), **driven, **braked},
        # Downhill it may roll faster than its motor drives it.
        not_kept=("v",) if fastest < inf else (),
    )


def command(x: State, demand: Demand, p: Params) -> Input:
    """Drive and brakes share the force for an acceleration; the handbrake locks the rear wheels.

    A demand to slow down stops the car, and the brakes hold it, on a slope, too. A demand of a
    speed below 0 makes it reverse: what goes against the motion then comes from the brakes, but at
    walking pace more and more from the drive.
    """
    front, _, rear, _ = standing_radii(p)
    inertia = p.m + turning_mass(x, (front, rear), p) + towed_mass(p)
    # With the handbrake pulled, the other wheels do not keep up the speed.
    v_x = where(demand.handbrake > 0.0, 0.0, x.v_x)
    pull = road_under_car(p.road, x, places(p), p.g).pull
    # What holds the car on the slope of its road, positive where that rises.
    uphill = 0.0 * x.v_x if pull is None else -(p.m + towed_mass(p)) * pull.x
    resisting = p.air.resistance(v_x, p) + towed_resistance(v_x, p)
    force = inertia * demand.a + resisting + uphill
    way, slower = way_of(demand), slows(demand)
    rolling = clip(way * x.v_x * (1.0 / CREEP), 0.0, 1.0)
    ahead = way * force
    holding = inertia * abs(demand.a) + HOLD_RESERVE * abs(uphill)
    against = clip(where(force > 0.0, -x.v_x, x.v_x) * (1.0 / CREEP), 0.0, 1.0)
    drive = where(slower, way * rolling * maximum(ahead, 0.0), (1.0 - against) * force)
    slowed = rolling * maximum(-ahead, 0.0) + (1.0 - rolling) * holding
    slowing = where(slower, slowed, against * abs(force))
    brake = maximum(slowing - coasting_force(x, (front, rear), p), 0.0)
    gear = where(slower, way, where(force < 0.0, -1.0, 1.0))
    if towing(p):
        brake = brake * (1.0 / (1.0 + towed_braking(0.5 * (front + rear), p)))
    return input_type(type(p.powertrain), type(p.brakes))(
        steer=p.steering.input_angle(limited(demand.steer, p.steer_max)),
        **drive_inputs(x, drive, slowing, gear, (front, rear), p),
        **brake_inputs(brake, demand.handbrake, (front, rear), p),
    )


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Params) -> tuple[Input, Any]:
    """Gravity pulls at the centre of mass; each tyre has the friction of the ground under it."""
    changes: dict[str, Any] = {**weight_along(ground, p.m)}
    if ground.down is not None:
        changes |= trailers_on_slope(x, ground.g, ground.down, p)
    if ground.mu is not None or ground.grip is not None:
        shares = ground.friction_shares(standing_grips(p)) or (1.0,) * 4
        changes |= dict(zip(("mu_fl", "mu_fr", "mu_rl", "mu_rr"), shares, strict=True))
    return u, w._replace(**changes)


def odometry(x: State, u: Input, p: Params) -> Velocity:
    """Motion as the rear wheels tell it, as if they rolled."""
    _, _, left, right = standing_radii(p)
    v_left, v_right = x.spin_rl * left, x.spin_rr * right
    omega = (v_right - v_left) * (1.0 / p.track_r)
    return Velocity(0.5 * (v_left + v_right), p.l_r * omega, omega)


BODY = sliding_car(
    geometry=geometry,
    limits=limits,
    command=command,
    on_ground=on_ground,
    odometry=odometry,
    gravity="g",
)
