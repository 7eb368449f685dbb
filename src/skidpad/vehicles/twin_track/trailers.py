"""Trailers behind `two_track`: coupled motion of car and trailers, and example trailers.

A car with `NoTrailers` has the equations of the car alone. With trailers the accelerations of all
bodies are solved together (`parts.trailers`).

    two_track("suv", trailers=CARAVAN)
    two_track(**TRACTOR, trailers=SEMI_TRAILER)                    # 40 t on five axles
    two_track("compact", trailers=CARAVAN)
    two_track(**TRACTOR, trailers=(SEMI_TRAILER, DOLLY, SEMI_TRAILER._replace(behind=0.0)))

All values are estimates: of no particular vehicle, but within the limits of Directive 96/53/EC on
lengths, axle loads (11.5 t on the driven axle, 24 t on three, 40 t in all) and turning space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...geometry.pose import turned
from ...ops import abs, where
from ...tyres.contract import Carcass, SlipState
from ...tyres.simple import LoadSensitiveLaw, LoadSensitiveTyre
from ...units import N, Nm, kg, m, m_s, one
from ..parts import trailers as chains
from ..parts.actuators import drag
from ..parts.air import AirForces
from ..parts.chassis import Pressed, leaning_arm
from ..parts.kinematics import Acceleration
from ..parts.load_transfer import Force, Velocity
from ..parts.spinning_wheel import (
    WheelForces,
    WheelMotion,
    each_wheel,
    rolling_radius,
    wheel_forces,
    wheel_spin_rate,
)
from ..parts.trailers import hitch_loads
from .sets import set_parameters


class Towed(NamedTuple):
    """Motion, loads and forces of the trailers at one instant."""

    moving: list[chains.TrailerMotion]
    loads: list[tuple[N, N]]
    hitch_loads: list[N]
    wheels: list[WheelForces]
    """Forces on a left and a right wheel of each trailer, in turn."""
    tyres: list[Force]
    """Sum of the tyre forces of each trailer, in its axes."""
    chain: chains.ChainMotion


class Coupled(NamedTuple):
    """Acceleration and yaw moment of the car under all forces, those of its trailers included."""

    a: Acceleration
    moment: Nm
    """Yaw moment on the car, including that of the hitch."""
    leaning: Acceleration
    """Acceleration that the wheel loads follow: forces at the ground with the same effect on
    roll and pitch as all forces, over the mass."""
    towed: Towed | None


def towing(p: Any) -> bool:
    """Whether the car has trailers."""
    return not isinstance(p.trailers, chains.NoTrailers)


def pressed(x: Any, air: AirForces, p: Any) -> Pressed:
    """Load on each axle of the car in addition to its weight: by the air and the first hitch."""
    if not towing(p):
        return Pressed(air.front, air.rear)
    ground = chains.trailer_ground(x, chains.trailer_motions(x, p), p)
    load, first = hitch_loads(x, ground, p)[0], p.trailers[0]
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    lifted = (first.behind * by_wheelbase) * load
    moved = ((p.z_cg - first.z_hitch) * by_wheelbase) * x.load_pull
    return Pressed(air.front - lifted - moved, air.rear + load + lifted + moved)


def coupled(x: Any, w: Any, a: Acceleration, pushed: Acceleration, moment: Nm, p: Any) -> Coupled:
    """Motion of the car with its trailers; `a` and `moment` are the values without trailers."""
    if not towing(p):
        return Coupled(a, moment, pushed, None)
    moving = chains.trailer_motions(x, p)
    ground = chains.trailer_ground(x, moving, p)
    hitched = hitch_loads(x, ground, p)
    loads = chains.axle_loads(x, hitched, ground, p)
    wheels = _wheels(x, w, moving, loads, ground, p)
    pairs = zip(p.trailers, wheels[::2], wheels[1::2], strict=True)
    tyres = [
        Force(t.wheels * (left.F_x + right.F_x), t.wheels * (left.F_y + right.F_y))
        for t, left, right in pairs
    ]
    ways = [p.l_r, *(trailer.l_axle for trailer in p.trailers)]
    ends = [way + t.behind for way, t in zip(ways[:-1], p.trailers, strict=True)] + [0.0 * p.l_r]
    car = Force(p.m * a.x, p.m * a.y)
    units = [chains.Unit(p.m, p.I_z, 0.0 * p.l_r, ends[0], x.omega, car, moment)]
    joints: list[chains.Joint] = []
    for k, (t, at, under, tyre) in enumerate(
        zip(p.trailers, moving, ground, tyres, strict=True), 1
    ):
        left, right = wheels[2 * k - 2 : 2 * k]
        F_x = tyre.x + drag(at.v.x, t.C_drag) + getattr(w, f"F_x_{k}")
        F_y = tyre.y + getattr(w, f"F_y_{k}")
        if under.pull is not None:
            F_x, F_y = F_x + t.m * under.pull.x, F_y + t.m * under.pull.y
        turning = (0.5 * t.track) * (right.F_x - left.F_x) + (left.M_z + right.M_z)
        about = t.wheels * turning - (t.l_axle - t.l_cg) * tyre.y
        about = about + getattr(w, f"M_z_{k}")
        units.append(chains.Unit(t.m, t.I_z, t.l_cg, ends[k], at.omega, Force(F_x, F_y), about))
        angle, rate = getattr(x, f"hitch_{k}"), getattr(x, f"hitch_rate_{k}")
        joints.append(chains.Joint(at.c, at.s, chains.joint_moment(angle, rate, t)))
    chain = chains.chain_motion(units, joints)
    towed = Towed(moving, loads, hitched, wheels, tyres, chain)
    if not p.chassis.States._fields:
        # A hitch below the centre of mass rolls the body less than tyre forces at the ground do.
        # For a chassis with a roll state it counts as at the height of the centre of mass.
        lever = (p.z_cg - p.trailers[0].z_hitch) * (1.0 / leaning_arm(p))
        pushed = pushed._replace(y=pushed.y + (lever * (1.0 / p.m)) * pull_on_car(towed).y)
    return Coupled(chain.a, chain.omega_rates[0] * p.I_z, pushed, towed)


def _wheels(
    x: Any,
    w: Any,
    moving: list[chains.TrailerMotion],
    loads: list[tuple[N, N]],
    ground: list[chains.TrailerGround],
    p: Any,
) -> list[WheelForces]:
    """Forces of the road on one wheel of each side of each trailer."""
    tyres, slips, at = list[Any](), list[SlipState](), list[WheelMotion]()
    columns = zip(p.trailers, moving, loads, ground, strict=True)
    for k, (trailer, motion, load, under) in enumerate(columns, 1):
        grips = [getattr(w, f"mu_{side}_{k}") for side in chains.SIDES]
        if under.grip is not None:
            grips = [own * mu for own, mu in zip(under.grip, grips, strict=True)]
        velocities = axle_velocities(motion, trailer)
        for side, F_z, v, mu in zip(chains.SIDES, load, velocities, grips, strict=True):
            wheel = f"{side}_{k}"
            names = (f"kappa_{wheel}", f"tan_alpha_{wheel}") if p.slip.states else ()
            tyres.append(trailer.tyre)
            slips.append(SlipState(*(getattr(x, name) for name in names)))
            spin = getattr(x, f"spin_{wheel}")
            at.append(WheelMotion(F_z, v.x, v.y, spin, motion.omega, 0.0, mu))
    sides = (1.0, -1.0) * len(moving)
    return each_wheel(wheel_forces, tyres, (p.slip,) * len(at), slips, at, sides)


def axle_velocities(motion: chains.TrailerMotion, trailer: Any) -> tuple[Velocity, Velocity]:
    """Velocity of the left and right contact patches of a trailer, in its axes."""
    v, turning = motion.velocity(trailer.l_axle), (0.5 * trailer.track) * motion.omega
    return Velocity(v.x - turning, v.y), Velocity(v.x + turning, v.y)


def pull_on_car(towed: Towed) -> Force:
    """Force of the first hitch on the car, in the axes of the car."""
    first, at = towed.chain.forces[0], towed.moving[0]
    x, y = turned(at.c, at.s, first.x, first.y)
    return Force(-x, -y)


def trailer_rates(x: Any, towed: Towed | None, brakes: tuple[Nm, ...], p: Any) -> dict[str, Any]:
    if towed is None:
        return {}
    by_t = 1.0 / p.t_load
    brake = 0.25 * ((brakes[0] + brakes[1]) + (brakes[2] + brakes[3]))
    rates: dict[str, Any] = {"load_pull": (pull_on_car(towed).x - x.load_pull) * by_t}
    targets = chains.load_targets(towed.tyres, [*towed.chain.forces], towed.moving, p)
    turning = towed.chain.omega_rates
    for k, (trailer, (hitch, shift)) in enumerate(zip(p.trailers, targets, strict=True), 1):
        rates |= {
            f"hitch_{k}": getattr(x, f"hitch_rate_{k}"),
            f"hitch_rate_{k}": turning[k] - turning[k - 1],
            f"load_hitch_{k}": (hitch - getattr(x, f"load_hitch_{k}")) * by_t,
            f"load_shift_{k}": (shift - getattr(x, f"load_shift_{k}")) * by_t,
        }
        for side, f in zip(chains.SIDES, towed.wheels[2 * k - 2 : 2 * k], strict=True):
            spin, held = getattr(x, f"spin_{side}_{k}"), trailer.brake * brake
            rate = wheel_spin_rate(0.0 * held, held, spin, f, p.t_hold, trailer.I_w)
            rates[f"spin_{side}_{k}"] = rate
            if p.slip.states:
                rates[f"kappa_{side}_{k}"] = f.kappa_rate
                rates[f"tan_alpha_{side}_{k}"] = f.tan_alpha_rate
    return rates


def trailer_values(x: Any, towed: Towed | None, p: Any) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for k, trailer in enumerate(() if towed is None else p.trailers, 1):
        assert towed is not None
        at, force = towed.moving[k - 1], towed.chain.forces[k - 1]
        place = chains.world_place(at.behind(trailer.l_axle), x, p.road)
        values |= dict(zip((f"{n}_trailer_{k}" for n in ("x", "y", "yaw")), place, strict=True))
        values |= {f"F_x_hitch_{k}": force.x, f"F_y_hitch_{k}": force.y}
        values[f"F_z_hitch_{k}"] = towed.hitch_loads[k - 1]
        pair = zip(chains.SIDES, towed.wheels[2 * k - 2 : 2 * k], towed.loads[k - 1], strict=True)
        for side, f, F_z in pair:
            values |= {f"F_x_{side}_{k}": f.F_x, f"F_y_{side}_{k}": f.F_y}
            values |= {f"F_z_{side}_{k}": F_z, f"alpha_{side}_{k}": -f.alpha}
    return values


def trailers_rolling(x: Any, turning: Any, p: Any) -> Any:
    """State with the trailer wheels set rolling, unless some wheel spins."""
    if not towing(p):
        return x
    moving = chains.trailer_motions(x, p)
    ground = chains.trailer_ground(x, moving, p)
    loads = chains.axle_loads(x, hitch_loads(x, ground, p), ground, p)
    spins: dict[str, Any] = {}
    for k, (trailer, motion, load) in enumerate(zip(p.trailers, moving, loads, strict=True), 1):
        for side, v, F_z in zip(chains.SIDES, axle_velocities(motion, trailer), load, strict=True):
            name = f"spin_{side}_{k}"
            rolling = v.x / rolling_radius(trailer.tyre, F_z, v.x)
            spins[name] = where(turning, getattr(x, name), rolling)
    return x._replace(**spins)


def standing_radius(trailer: Any, p: Any) -> m:
    """Effective rolling radius of a wheel of a trailer at rest without hitch load."""
    return rolling_radius(trailer.tyre, 0.5 * trailer.m * p.g * (1.0 / trailer.wheels), 0.0)


def towed_mass(p: Any) -> kg:
    """Mass of all trailers, including the apparent mass by the inertia of their wheels."""
    total: kg = 0.0
    for trailer in p.trailers:
        radius = standing_radius(trailer, p)
        total = total + trailer.m + 2.0 * trailer.wheels * trailer.I_w * (1.0 / (radius * radius))
    return total


def towed_braking(radius: m, p: Any) -> one:
    """Braking force of all trailers relative to that of the car, whose wheels have this radius."""
    total: one = 0.0
    for trailer in p.trailers:
        by_radius = radius * (1.0 / standing_radius(trailer, p))
        total = total + 0.5 * trailer.wheels * trailer.brake * by_radius
    return total


def towed_resistance(v_x: m_s, p: Any) -> N:
    """Air drag of all trailers aligned with the car."""
    total: N = 0.0
    for trailer in p.trailers:
        total = total + (0.5 * trailer.C_drag) * (v_x * abs(v_x))
    return total


def check_trailers(p: Any) -> None:
    """Raise for trailers that, at rest, lift an axle of the car or their own axle."""
    if not towing(p):
        return
    carried: kg = 0.0
    lifted: kg = 0.0
    for name, trailer in reversed([*zip(p.trailers._fields, p.trailers, strict=True)]):
        # Load on the rear hitch of a trailer lifts its front hitch.
        hitch = trailer.m * (1.0 - trailer.l_cg / trailer.l_axle) - lifted / trailer.l_axle
        axle = trailer.m + carried - hitch
        if axle <= 0.0:
            raise InvalidValue(
                f"trailers.{name}.l_cg = {trailer.l_cg} m lifts its axle: the load on it must be "
                f"positive, and corresponds to {axle:.6g} kg"
            )
        carried, lifted = hitch, hitch * trailer.behind
    wheelbase, first = p.l_f + p.l_r, p.trailers[0]
    front = p.m * p.l_r / wheelbase - carried * first.behind / wheelbase
    rear = p.m + carried - front
    if front <= 0.0 or rear <= 0.0:
        raise InvalidValue(
            f"trailers.first.l_cg = {first.l_cg} m, a load of {carried:.6g} kg on the hitch, lifts "
            f"an axle of the car: {front:.6g} kg in front and {rear:.6g} kg at the rear must both "
            "be positive"
        )


CARAVAN = chains.Trailer()
"""Caravan of 1.2 t on one axle, with 70 kg on the hitch."""


def truck_tyre(load: float, count: float = 1.0) -> LoadSensitiveTyre:
    """Truck tyre of 22.5 inches at a nominal load, or `count` side by side that share it.

    Cornering stiffness over load 6 1/rad and friction 0.8, typical of heavy vehicles (estimates).
    """
    K = 1.25 * load * 6.0
    return LoadSensitiveTyre(
        lateral=LoadSensitiveLaw(mu=0.75, mu_fall=0.12, K=K, F_K=2.0 * load, C=1.3),
        longitudinal=LoadSensitiveLaw(mu=0.8, mu_fall=0.1, K=1.5 * K, F_K=2.0 * load, C=1.5),
        F_z0=load,
        trail=0.05,
        carcass=Carcass(radius=0.52, C_z=1e6 * count, sigma_x=0.25, sigma_y=0.6, rolling=0.006),
    )


TRACTOR: Mapping[str, Any] = {
    **set_parameters("tractor"),
    "front": truck_tyre(34e3),
    "rear": truck_tyre(56e3, 2.0),
}
"""Tractor on two axles, with twin tyres at the rear that count as one wheel on each side."""

SEMI_TRAILER = chains.Trailer(
    m=32e3,
    I_z=450e3,
    behind=-0.6,
    l_axle=7.7,
    l_cg=5.1,
    track=2.04,
    z_cg=1.9,
    z_hitch=1.15,
    wheels=3.0,
    I_w=20.0,
    brake=0.9,
    C_drag=1.0,
    hitch_max=1.5,
    k_stop=3e6,
    length=13.6,
    tail=4.3,
    width=2.55,
    height=4.0,
    tyre=truck_tyre(35e3),
)
"""Laden semi-trailer on three axles, its kingpin 0.6 m ahead of the tractor's rear axle."""

DOLLY = SEMI_TRAILER._replace(
    m=2800.0,
    I_z=3000.0,
    behind=4.0,
    l_axle=4.0,
    l_cg=3.95,
    z_cg=0.7,
    z_hitch=0.7,
    wheels=2.0,
    C_drag=0.0,
    hitch_max=1.3,
    length=2.6,
    tail=1.3,
    width=2.5,
    height=1.2,
)
"""Converter dolly with a drawbar, which carries the front of another semi-trailer."""
