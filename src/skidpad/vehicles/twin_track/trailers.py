"""Trailers behind `two_track`: how car and trailers move together, and trailers as numbers.

A car with `NoTrailers` has the equations of the car alone. With trailers all bodies are solved for
together (`parts.trailers`).

    two_track("suv", trailers=CARAVAN)
    two_track(**TRACTOR, trailers=SEMI_TRAILER)                    # 40 t on five axles
    two_track("compact", trailers=CARAVAN)
    two_track(**TRACTOR, trailers=(SEMI_TRAILER, DOLLY, SEMI_TRAILER._replace(behind=0.0)))

All numbers are estimates: of no particular vehicle, but within what Directive 96/53/EC allows of
lengths, axle loads (11.5 t on the driven axle, 24 t on three, 40 t in all) and the room in a turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...geometry.pose import turned
from ...ops import abs, logical_or, where
from ...tyres.contract import Carcass
from ...tyres.relaxation import SlipState
from ...tyres.simple import LoadSensitiveLaw, LoadSensitiveTyre
from ...units import J, N, Nm, kg, m, m_s, one
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
from ..parts.trailers import (
    SIDES,
    ChainMotion,
    Joint,
    NoTrailers,
    Trailer,
    TrailerGround,
    TrailerMotion,
    Unit,
    axle_loads,
    chain_motion,
    drag,
    hitch_loads,
    joint_moment,
    load_targets,
    trailer_ground,
    trailer_motions,
    trailer_spins,
    trailers_energy,
    world_place,
)


class Towed(NamedTuple):
    """The trailers at one instant."""

    moving: list[TrailerMotion]
    loads: list[tuple[N, N]]
    hitch_loads: list[N]
    wheels: list[WheelForces]
    """Left and right of each trailer."""
    tyres: list[Force]
    """Force of the tyres of each trailer, in its axes."""
    chain: ChainMotion


class Coupled(NamedTuple):
    """What moves the car when the trailers have their say."""

    a: Acceleration
    moment: Nm
    """On the car, that of the hitch included."""
    leaning: Acceleration
    """What its wheel loads answer to: forces at the ground that turn the body as all do, over the
    mass."""
    towed: Towed | None


def towing(p: Any) -> bool:
    """Whether anything hangs behind the car."""
    return not isinstance(p.trailers, NoTrailers)


def pressed(x: Any, air: AirForces, p: Any) -> Pressed:
    """What presses each axle of the car besides its weight: the air, and the first hitch."""
    if not towing(p):
        return Pressed(air.front, air.rear)
    ground = trailer_ground(x, trailer_motions(x, p), p)
    load, first = hitch_loads(x, ground, p)[0], p.trailers[0]
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    lifted = (first.behind * by_wheelbase) * load
    moved = ((p.z_cg - first.z_hitch) * by_wheelbase) * x.load_pull
    return Pressed(air.front - lifted - moved, air.rear + load + lifted + moved)


def coupled(x: Any, w: Any, a: Acceleration, pushed: Acceleration, moment: Nm, p: Any) -> Coupled:
    """The motion of the car, of which `a` and `moment` are that by all but its trailers."""
    if not towing(p):
        return Coupled(a, moment, pushed, None)
    moving = trailer_motions(x, p)
    ground = trailer_ground(x, moving, p)
    hitched = hitch_loads(x, ground, p)
    loads = axle_loads(x, hitched, ground, p)
    wheels = _wheels(x, w, moving, loads, ground, p)
    tyres = _tyre_forces(wheels, p)
    chain = _chain(x, w, a, moment, moving, ground, wheels, tyres, p)
    towed = Towed(moving, loads, hitched, wheels, tyres, chain)
    return Coupled(chain.a, chain.omega_rates[0] * p.I_z, _leaning(pushed, towed, p), towed)


def _wheels(
    x: Any,
    w: Any,
    moving: list[TrailerMotion],
    loads: list[tuple[N, N]],
    ground: list[TrailerGround],
    p: Any,
) -> list[WheelForces]:
    """What the road does to one wheel of each side of each trailer."""
    tyres, slips, at = list[Any](), list[SlipState](), list[WheelMotion]()
    for k, (trailer, motion, load, under) in enumerate(
        zip(p.trailers, moving, loads, ground, strict=True), 1
    ):
        grips = [getattr(w, f"mu_{side}_{k}") for side in SIDES]
        if under.grip is not None:
            grips = [own * mu for own, mu in zip(under.grip, grips, strict=True)]
        for side, F_z, v, mu in zip(
            SIDES, load, axle_velocities(motion, trailer), grips, strict=True
        ):
            spin = getattr(x, f"spin_{side}_{k}")
            tyres.append(trailer.tyre)
            slips.append(_slip(x, f"{side}_{k}", p))
            at.append(WheelMotion(F_z, v.x, v.y, spin, motion.omega, 0.0, mu))
    sides = (1.0, -1.0) * len(moving)
    return each_wheel(wheel_forces, tyres, (p.slip,) * len(at), slips, at, sides)


def _slip(x: Any, wheel: str, p: Any) -> SlipState:
    if not p.slip.states:
        return SlipState()
    return SlipState(getattr(x, f"kappa_{wheel}"), getattr(x, f"tan_alpha_{wheel}"))


def axle_velocities(motion: TrailerMotion, trailer: Any) -> tuple[Velocity, Velocity]:
    """Velocity of the left and right contact patches of a trailer, in its axes."""
    v, turning = motion.velocity(trailer.l_axle), (0.5 * trailer.track) * motion.omega
    return Velocity(v.x - turning, v.y), Velocity(v.x + turning, v.y)


def _tyre_forces(wheels: list[WheelForces], p: Any) -> list[Force]:
    pairs = zip(p.trailers, wheels[::2], wheels[1::2], strict=True)
    return [
        Force(t.wheels * (left.F_x + right.F_x), t.wheels * (left.F_y + right.F_y))
        for t, left, right in pairs
    ]


def _chain(
    x: Any,
    w: Any,
    a: Acceleration,
    moment: Nm,
    moving: list[TrailerMotion],
    ground: list[TrailerGround],
    wheels: list[WheelForces],
    tyres: list[Force],
    p: Any,
) -> ChainMotion:
    """Accelerations of car and trailers under all forces."""
    trailers = [*p.trailers]
    ways = [p.l_r, *(trailer.l_axle for trailer in trailers)]
    ends = [way + t.behind for way, t in zip(ways[:-1], trailers, strict=True)] + [0.0 * p.l_r]
    car = Force(p.m * a.x, p.m * a.y)
    units = [Unit(p.m, p.I_z, 0.0 * p.l_r, ends[0], x.omega, car, moment)]
    joints: list[Joint] = []
    for k, (t, at, under) in enumerate(zip(trailers, moving, ground, strict=True)):
        left, right, number = wheels[2 * k], wheels[2 * k + 1], k + 1
        F_x = tyres[k].x + drag(at.v.x, t.C_drag) + getattr(w, f"F_x_{number}")
        F_y = tyres[k].y + getattr(w, f"F_y_{number}")
        if under.pull is not None:
            F_x, F_y = F_x + t.m * under.pull.x, F_y + t.m * under.pull.y
        turning = (0.5 * t.track) * (right.F_x - left.F_x) + (left.M_z + right.M_z)
        about = t.wheels * turning - (t.l_axle - t.l_cg) * tyres[k].y
        about = about + getattr(w, f"M_z_{number}")
        units.append(Unit(t.m, t.I_z, t.l_cg, ends[number], at.omega, Force(F_x, F_y), about))
        angle, rate = getattr(x, f"hitch_{number}"), getattr(x, f"hitch_rate_{number}")
        joints.append(Joint(at.c, at.s, joint_moment(angle, rate, t)))
    return chain_motion(units, joints)


def pull_on_car(towed: Towed) -> Force:
    """Force of the first hitch on the car, in the axes of the car."""
    first, at = towed.chain.forces[0], towed.moving[0]
    x, y = turned(at.c, at.s, first.x, first.y)
    return Force(-x, -y)


def _leaning(pushed: Acceleration, towed: Towed, p: Any) -> Acceleration:
    """A hitch below the centre of mass rolls the body less than tyres at the ground do. A body
    that rolls as a state feels it as if it were at the height of the centre of mass."""
    if p.chassis.States._fields:
        return pushed
    lever = (p.z_cg - p.trailers[0].z_hitch) * (1.0 / leaning_arm(p))
    return pushed._replace(y=pushed.y + (lever * (1.0 / p.m)) * pull_on_car(towed).y)


def trailer_rates(x: Any, towed: Towed | None, brakes: tuple[Nm, ...], p: Any) -> dict[str, Any]:
    """Rates of the states of the trailers."""
    if towed is None:
        return {}
    by_t = 1.0 / p.t_load
    brake = 0.25 * ((brakes[0] + brakes[1]) + (brakes[2] + brakes[3]))
    rates: dict[str, Any] = {"load_pull": (pull_on_car(towed).x - x.load_pull) * by_t}
    targets = load_targets(towed.tyres, [*towed.chain.forces], towed.moving, p)
    turning = towed.chain.omega_rates
    for k, (trailer, (hitch, shift)) in enumerate(zip(p.trailers, targets, strict=True), 1):
        rates |= {
            f"hitch_{k}": getattr(x, f"hitch_rate_{k}"),
            f"hitch_rate_{k}": turning[k] - turning[k - 1],
            f"load_hitch_{k}": (hitch - getattr(x, f"load_hitch_{k}")) * by_t,
            f"load_shift_{k}": (shift - getattr(x, f"load_shift_{k}")) * by_t,
        }
        for side, f in zip(SIDES, towed.wheels[2 * k - 2 : 2 * k], strict=True):
            spin, held = getattr(x, f"spin_{side}_{k}"), trailer.brake * brake
            rate = wheel_spin_rate(0.0 * held, held, spin, f, p.t_hold, trailer.I_w)
            rates[f"spin_{side}_{k}"] = rate
            if p.slip.states:
                rates[f"kappa_{side}_{k}"] = f.kappa_rate
                rates[f"tan_alpha_{side}_{k}"] = f.tan_alpha_rate
    return rates


def trailer_values(x: Any, towed: Towed | None, p: Any) -> dict[str, Any]:
    """Outputs of the trailers by name."""
    values: dict[str, Any] = {}
    for k, trailer in enumerate(() if towed is None else p.trailers, 1):
        assert towed is not None
        at, force = towed.moving[k - 1], towed.chain.forces[k - 1]
        place = world_place(at.behind(trailer.l_axle), x, p.road)
        values |= dict(zip((f"{n}_trailer_{k}" for n in ("x", "y", "yaw")), place, strict=True))
        values |= {f"F_x_hitch_{k}": force.x, f"F_y_hitch_{k}": force.y}
        values[f"F_z_hitch_{k}"] = towed.hitch_loads[k - 1]
        pair = zip(SIDES, towed.wheels[2 * k - 2 : 2 * k], towed.loads[k - 1], strict=True)
        for side, f, F_z in pair:
            values |= {f"F_x_{side}_{k}": f.F_x, f"F_y_{side}_{k}": f.F_y}
            values |= {f"F_z_{side}_{k}": F_z, f"alpha_{side}_{k}": -f.alpha}
    return values


def trailer_spinning(x: Any, turning: Any, p: Any) -> Any:
    """Whether any wheel turns, `turning` those of the car."""
    if not towing(p):
        return turning
    for name in trailer_spins(len(p.trailers)):
        turning = logical_or(turning, getattr(x, name) != 0.0)
    return turning


def trailers_rolling(x: Any, turning: Any, p: Any) -> Any:
    """The state with wheels of the trailers that roll, unless some wheel turns."""
    if not towing(p):
        return x
    moving = trailer_motions(x, p)
    ground = trailer_ground(x, moving, p)
    loads = axle_loads(x, hitch_loads(x, ground, p), ground, p)
    spins: dict[str, Any] = {}
    for k, (trailer, motion, load) in enumerate(zip(p.trailers, moving, loads, strict=True), 1):
        for side, v, F_z in zip(SIDES, axle_velocities(motion, trailer), load, strict=True):
            name = f"spin_{side}_{k}"
            rolling = v.x / rolling_radius(trailer.tyre, F_z, v.x)
            spins[name] = where(turning, getattr(x, name), rolling)
    return x._replace(**spins)


def trailer_energy(x: Any, p: Any) -> J:
    """Energy of all trailers."""
    return trailers_energy(x, p) if towing(p) else 0.0


def standing_radius(trailer: Any, p: Any) -> m:
    """Effective radius of a wheel of a trailer that stands alone."""
    return rolling_radius(trailer.tyre, 0.5 * trailer.m * p.g * (1.0 / trailer.wheels), 0.0)


def towed_mass(p: Any) -> kg:
    """Mass of all trailers, with what their wheels add to it when they are sped up."""
    total: kg = 0.0
    for trailer in p.trailers if towing(p) else ():
        radius = standing_radius(trailer, p)
        total = total + trailer.m + 2.0 * trailer.wheels * trailer.I_w * (1.0 / (radius * radius))
    return total


def towed_braking(radius: m, p: Any) -> one:
    """Braking force of all trailers over that of the car, whose wheels have a radius."""
    total: one = 0.0
    for trailer in p.trailers if towing(p) else ():
        by_radius = radius * (1.0 / standing_radius(trailer, p))
        total = total + 0.5 * trailer.wheels * trailer.brake * by_radius
    return total


def towed_resistance(v_x: m_s, p: Any) -> N:
    """Air drag of all trailers in line."""
    total: N = 0.0
    for trailer in p.trailers if towing(p) else ():
        total = total + (0.5 * trailer.C_drag) * (v_x * abs(v_x))
    return total


def check_trailers(p: Any) -> None:
    """Raise for trailers that lift an axle of the car, or their own, at rest."""
    if not towing(p):
        return
    carried: kg = 0.0
    for name, trailer in reversed([*zip(p.trailers._fields, p.trailers, strict=True)]):
        own = trailer.m * (1.0 - trailer.l_cg / trailer.l_axle)
        hitch = own - carried_share(p, name) * carried
        axle = trailer.m + carried - hitch
        if axle <= 0.0:
            raise InvalidValue(
                f"trailers.{name}.l_cg = {trailer.l_cg} m lifts its axle: the load on it must be "
                f"positive, and is that of {axle:.6g} kg"
            )
        carried = hitch
    wheelbase, first = p.l_f + p.l_r, p.trailers[0]
    front = p.m * p.l_r / wheelbase - carried * first.behind / wheelbase
    rear = p.m + carried - front
    if front <= 0.0 or rear <= 0.0:
        raise InvalidValue(
            f"trailers.first.l_cg = {first.l_cg} m, a load of {carried:.6g} kg on the hitch, lifts "
            f"an axle of the car: {front:.6g} kg in front and {rear:.6g} kg at the rear must both "
            "be positive"
        )


def carried_share(p: Any, name: str) -> one:
    """How much of the load that hangs on a trailer lifts its own hitch."""
    names = p.trailers._fields
    k = names.index(name)
    if k + 1 == len(names):
        return 0.0
    return p.trailers[k + 1].behind / p.trailers[k].l_axle


CARAVAN = Trailer()
"""A caravan of 1.2 t on one axle, with 70 kg on the hitch."""


def truck_tyre(load: float, count: float = 1.0) -> LoadSensitiveTyre:
    """A tyre of 22.5 inches at a nominal load, or several side by side that share it.

    Cornering stiffness over load 6 1/rad and friction 0.8: usual of heavy vehicles (estimates).
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
    "m": 7500.0,
    "I_z": 21e3,
    "I_w": 25.0,
    "l_f": 1.15,
    "l_r": 2.55,
    "track_f": 2.05,
    "track_r": 1.85,
    "z_cg": 1.0,
    "roll_front": 0.3,
    "t_load": 0.1,
    "F_lift": 500.0,
    "C_drag": 6.5,
    "ackermann": 0.7,
    "t_tau": 0.1,
    "t_steer": 0.1,
    "tau_max": 16e3,
    "brake_max": 22e3,
    "steer_max": 0.75,
    "steer_rate_max": 0.5,
    "drive_front": 0.0,
    "brake_front": 0.45,
    "length": 5.9,
    "width": 2.5,
    "height": 3.8,
    "front": truck_tyre(34e3),
    "rear": truck_tyre(56e3, 2.0),
}
"""A tractor on two axles, with twin tyres at the rear that count as one wheel a side."""

SEMI_TRAILER = Trailer(
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
"""A laden semi-trailer on three axles, its kingpin 0.6 m ahead of the tractor's rear axle."""

DOLLY = Trailer(
    m=2800.0,
    I_z=3000.0,
    behind=4.0,
    l_axle=4.0,
    l_cg=3.95,
    track=2.04,
    z_cg=0.7,
    z_hitch=0.7,
    wheels=2.0,
    I_w=20.0,
    brake=0.9,
    C_drag=0.0,
    hitch_max=1.3,
    k_stop=3e6,
    length=2.6,
    tail=1.3,
    width=2.5,
    height=1.2,
    tyre=truck_tyre(35e3),
)
"""A converter dolly with a drawbar, which carries the front of another semi-trailer."""
