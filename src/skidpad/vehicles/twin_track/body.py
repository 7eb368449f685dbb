"""Drive, brakes and body of `two_track`: wheel spin, geometry, limits, and inputs for demands.

A car with `WheelTorques` or `WheelMotors` has a torque and a lag for each wheel; with any other
powertrain the wheels may be coupled by an inertia. Brakes act in the same way in both cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from ...core.body import (
    Demand,
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
from ...units import N, Nm, kg, m, m_s, one
from ..parts.actuators import BrakeTorques, limited, limited_lag, slows, way_of
from ..parts.assembly import geometry_about_axles, sliding_car, weight_along
from ..parts.electric import WHEEL_DRIVES
from ..parts.gearing import Reflected, Wheels, spin_rates, weighted
from ..parts.load_transfer import standing_loads
from ..parts.on_road import road_under_car
from ..parts.spinning_wheel import WheelForces, rolling_radius, wheel_spin_rate
from ..parts.trailers import SIDES, trailer_motions
from .records import Input, Params, State, input_type
from .trailers import standing_radius, towed_braking, towed_mass, towed_resistance, towing

WHEELS = ("fl", "fr", "rl", "rr")


class Driveline(NamedTuple):
    """Torques of drive and brakes at one instant."""

    torques: Wheels
    brakes: Wheels
    """Largest brake torque on each wheel."""
    reflected: Reflected | None
    """Powertrain inertia coupled to the wheels, if any."""
    rates: dict[str, Any]
    """Rates of the states of powertrain and brakes."""
    shown: tuple[Any, ...]
    """Outputs of the powertrain."""


def each(x: Any, name: str) -> Wheels:
    """Values of a field for all four wheels."""
    fl, fr, rl, rr = (getattr(x, f"{name}_{wheel}") for wheel in WHEELS)
    return fl, fr, rl, rr


def by_wheel(name: str, values: Sequence[Any]) -> dict[str, Any]:
    return {f"{name}_{wheel}": value for wheel, value in zip(WHEELS, values, strict=True)}


def turning(x: Any, p: Any) -> tuple[Any, Wheels]:
    """States of the powertrain, extracted from the states of the car, and the wheel spins."""
    kind: Any = p.powertrain.States
    return kind(*(getattr(x, name) for name in kind._fields)), each(x, "spin")


def driveline(x: Any, u: Any, p: Any) -> Driveline:
    """Torques, rates and outputs of the car's powertrain and brakes."""
    if isinstance(p.brakes, BrakeTorques):
        fl, fr, rl, rr = (clip(torque, 0.0, p.brake_max) for torque in each(u, "brake"))
        brakes, rates = (fl, fr, rl, rr), dict[str, Any]()
    else:
        brakes, rates = p.brakes.torques(x, u), p.brakes.rates(x, u)._asdict()
    if isinstance(p.powertrain, WHEEL_DRIVES):
        pairs = zip(each(x, "tau"), each(u, "tau"), strict=True)
        rates |= by_wheel("tau", [limited_lag(a, b, p.t_tau, p.tau_max) for a, b in pairs])
        torques = p.powertrain.delivered(each(x, "tau"), each(x, "spin"))
        shown = p.powertrain.powers(torques, each(x, "spin"))
        return Driveline(torques, brakes, None, rates, shown)
    own, spins = turning(x, p)
    drive = p.powertrain.drive(own, u, spins)
    rates |= drive.rates._asdict()
    return Driveline(drive.torques, brakes, drive.reflected, rates, drive.shown)


def wheel_spin_rates(line: Driveline, x: Any, forces: list[WheelForces], p: Any) -> Wheels:
    """Angular acceleration of the wheels, which an inertia may couple; see `wheel_spin_rate`.

    A brake gives the torque that stops its wheel, and its part of that inertia, within `t_hold`.
    """
    spins, reflected = each(x, "spin"), line.reflected
    columns = zip(line.torques, line.brakes, spins, forces, strict=True)
    if reflected is None:
        fl, fr, rl, rr = (wheel_spin_rate(*wheel, p.t_hold, p.I_w) for wheel in columns)
        return fl, fr, rl, rr
    together = reflected.J * weighted(reflected.weights, spins)
    left: list[Nm] = []
    for (tau, brake, spin, f), weight in zip(columns, reflected.weights, strict=True):
        others = tau + f.M_y - f.R_e * f.F_x
        stopping = others + (1.0 / p.t_hold) * (p.I_w * spin + weight * together)
        left.append(others - clip(stopping, -brake, brake))
    return spin_rates((left[0], left[1], left[2], left[3]), p.I_w, reflected)


def pitch_shares(line: Driveline, p: Any) -> Wheels:
    """Spin rate of each wheel relative to a pitching body, per pitch acceleration of the body: 1,
    or less if the wheel turns an inertia of the powertrain."""
    if line.reflected is None:
        return 1.0, 1.0, 1.0, 1.0
    return spin_rates((p.I_w,) * 4, p.I_w, line.reflected)


CREEP: m_s = 0.6
"""Speed below which deceleration comes from the drive, which can reverse, not the brakes."""


def turning_mass(x: Any, radii: tuple[m, m], p: Any) -> kg:
    """Apparent additional mass of a car by the inertia of wheels and powertrain."""
    front, rear = radii
    wheels = 2.0 * p.I_w * (1.0 / (front * front) + 1.0 / (rear * rear))
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return wheels
    radius = driven_radius(radii, p)
    inertia = p.powertrain.inertia(*turning(x, p))
    return wheels + inertia * (1.0 / (radius * radius))


def driven_radius(radii: tuple[m, m], p: Any) -> m:
    """Radius of the driven wheels, weighted by the powertrain."""
    weights = p.powertrain.layout.weights()
    return (weights[0] + weights[1]) * radii[0] + (weights[2] + weights[3]) * radii[1]


def drive_inputs(
    x: Any, force: N, slowing: N, way: one, radii: tuple[m, m], p: Any
) -> dict[str, Any]:
    """Powertrain inputs for a longitudinal force, or for slowing down with a released pedal.

    `way` is 1 if the demand is forward, else -1: a slow car changes to that gear, a faster one
    stays in the gear of its motion.
    """
    front, rear = radii
    if isinstance(p.powertrain, WHEEL_DRIVES):
        tau_f = limited(0.5 * p.drive_front * front * force, p.tau_max)
        tau_r = limited(0.5 * (1.0 - p.drive_front) * rear * force, p.tau_max)
        return by_wheel("tau", (tau_f, tau_f, tau_r, tau_r))
    ahead = where(x.v_x > CREEP, 1.0, where(x.v_x < -CREEP, -1.0, way))
    own, spins = turning(x, p)
    T = driven_radius(radii, p) * where(force == 0.0, -ahead * slowing, force)
    return p.powertrain.pedals(own, T, ahead, spins)._asdict()


def brake_inputs(force: N, hand: one, radii: tuple[m, m], p: Any) -> dict[str, Any]:
    """Brake inputs for a force against the motion and a handbrake position `hand`."""
    front, rear = radii
    if isinstance(p.brakes, BrakeTorques):
        brake_f = clip(0.5 * p.brake_front * front * force, 0.0, p.brake_max)
        asked = 0.5 * (1.0 - p.brake_front) * rear * force + hand * p.brake_max
        brake_r = clip(asked, 0.0, p.brake_max)
        return by_wheel("brake", (brake_f, brake_f, brake_r, brake_r))
    return p.brakes.pedal(0.5 * (front + rear) * force, hand)._asdict()


BAR: one = 0.05
"""Width of a drawbar over that of its trailer, for drawing."""


def with_trailers(shape: Geometry, p: Any) -> Geometry:
    """Geometry of the car with its trailers.

    In contacts of a world it is one body with the total mass and the car's radius of gyration.
    """
    behind: Trailer | None = None
    for k in reversed(range(len(p.trailers))):
        own, name = p.trailers[k], f"hitch_{k + 1}"
        radius, front = float(standing_radius(own, p)), own.length - own.tail
        outlines: list[Outline] = [box(-own.tail, front, own.width)]
        if front < own.l_axle:
            outlines.append(box(front, own.l_axle, BAR * own.width))
        wheels: list[Wheel] = []
        for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
            wheel = f"{side}_{k + 1}"
            fields: dict[str, Any] = {f: f"{f}_{wheel}" for f in ("spin", "F_x", "F_y", "F_z")}
            size = (radius, WHEEL_WIDTH * radius)
            wheels.append(Wheel(wheel, 0.0, sign * 0.5 * own.track, *size, **fields))
        hitch_x = (-p.l_r if k == 0 else 0.0) - own.behind
        behind = Trailer(hitch_x, own.l_axle, name, tuple(outlines), tuple(wheels), behind)
    if behind is None:
        return shape
    mass = shape.mass + sum(trailer.m for trailer in p.trailers)
    share = mass / shape.mass
    tallest = max(shape.height, *(trailer.height for trailer in p.trailers))
    return replace(shape, trailer=behind, mass=mass, inertia=share * shape.inertia, height=tallest)


WHEEL_WIDTH: one = 0.6
"""Width of a wheel over its radius."""
HOLD_RESERVE: one = 1.5
"""Brake force that holds a standing car, over the force of the slope."""


def places(p: Params) -> tuple[tuple[m, m], ...]:
    """Positions of the wheels, forward and to the left of the centre of mass."""
    half_f, half_r = 0.5 * p.track_f, 0.5 * p.track_r
    return (p.l_f, half_f), (p.l_f, -half_f), (-p.l_r, half_r), (-p.l_r, -half_r)


def standing_radii(p: Params) -> list[m]:
    """Effective rolling radius of each wheel near standstill."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return [rolling_radius(tyre, F_z, 0.0) for tyre, F_z in pairs]


def standing_grips(p: Params) -> list[one]:
    """Peak lateral friction coefficient of each tyre under its static load."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return [tyre.peaks(Contact(F_z=F_z, p=tyre.pressure)).mu_y for tyre, F_z in pairs]


def geometry(p: Params) -> Geometry:
    """Geometry of the car, with wheel spins of the state and wheel forces of the outputs."""
    shape = geometry_about_axles(p, height=p.height, mass=p.m, inertia=p.I_z, forces=True)
    wheels: list[Wheel] = []
    for wheel, radius in zip(shape.wheels, map(float, standing_radii(p)), strict=True):
        front, side = wheel.name[0] == "f", 1.0 if wheel.name[1] == "l" else -1.0
        own = replace(
            wheel,
            y=0.5 * side * (p.track_f if front else p.track_r),
            radius=radius,
            width=WHEEL_WIDTH * radius,
            yaw=0.0 if front else -side * p.toe_r,
            steer=f"steer_{wheel.name}" if front else "",
            spin=f"spin_{wheel.name}",
        )
        wheels.append(own)
    return with_trailers(replace(shape, wheels=tuple(wheels)), p)


def limits(p: Params) -> Limits:
    """Limits of steering, drive, brakes and tyres."""
    radii, grips = standing_radii(p), standing_grips(p)
    if not min(radii) > 0.0:
        raise InvalidValue(
            f"m = {p.m:g} kg is too much for the tyres: at rest a wheel would have an effective "
            f"radius of {min(radii):.3g} m; give a mass that the tyres can carry"
        )
    radius = max(radii)
    # Largest total torques with the distribution of a demand, and input ranges.
    fastest = p.powertrain.top()
    if isinstance(p.powertrain, WHEEL_DRIVES):
        drive = 2.0 * p.tau_max / max(p.drive_front, 1.0 - p.drive_front)
        driven = by_wheel("tau", [(-p.tau_max, p.tau_max)] * 4)
    else:
        drive, driven = p.powertrain.peak(), p.powertrain.ranges()
    if isinstance(p.brakes, BrakeTorques):
        brake = 2.0 * p.brake_max / max(p.brake_front, 1.0 - p.brake_front)
        braked = by_wheel("brake", [(0.0, p.brake_max)] * 4)
    else:
        brake, braked = 2.0 * sum(p.brakes.peaks()), p.brakes.ranges()
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
    """Convert a demand to drive and brake inputs; the handbrake locks the rear wheels.

    A demand to slow down stops the car, and the brakes hold it, on a slope, too. A demand for a
    negative speed makes it reverse: a force against the motion comes from the brakes, and below
    walking pace increasingly from the drive.
    """
    front, _, rear, _ = standing_radii(p)
    inertia = p.m + turning_mass(x, (front, rear), p) + towed_mass(p)
    # With the handbrake pulled, the other wheels do not keep up the speed.
    v_x = where(demand.handbrake > 0.0, 0.0, x.v_x)
    pull = road_under_car(p.road, x, places(p), p.g).pull
    # Force that holds the car on the slope of its road, positive uphill.
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
    # Force of the powertrain at a released pedal.
    coasting: N = 0.0
    if not isinstance(p.powertrain, WHEEL_DRIVES):
        torque = p.powertrain.coasting(*turning(x, p))
        coasting = torque * (1.0 / driven_radius((front, rear), p))
    brake = maximum(slowing - coasting, 0.0)
    gear = where(slower, way, where(force < 0.0, -1.0, 1.0))
    if towing(p):
        brake = brake * (1.0 / (1.0 + towed_braking(0.5 * (front + rear), p)))
    return input_type(type(p.powertrain), type(p.brakes))(
        steer=p.steering.input_angle(limited(demand.steer, p.steer_max)),
        **drive_inputs(x, drive, slowing, gear, (front, rear), p),
        **brake_inputs(brake, demand.handbrake, (front, rear), p),
    )


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Params) -> tuple[Input, Any]:
    """Apply gravity on car and trailers, and to each tyre the friction under it."""
    changes: dict[str, Any] = {**weight_along(ground, p.m)}
    if ground.down is not None:
        for k, (trailer, at) in enumerate(zip(p.trailers, trailer_motions(x, p), strict=True), 1):
            x_down, y_down = (trailer.m * ground.g * way for way in ground.down[:2])
            F_x, F_y = turned_back(at.hitch.c, at.hitch.s, x_down, y_down)
            changes |= {f"F_x_{k}": F_x, f"F_y_{k}": F_y}
    if ground.mu is not None or ground.grip is not None:
        shares = ground.friction_shares(standing_grips(p)) or (1.0,) * 4
        changes |= by_wheel("mu", shares)
    return u, w._replace(**changes)


def odometry(x: State, u: Input, p: Params) -> Velocity:
    """Motion of the car estimated from the rear wheel spins, assuming that they roll."""
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
