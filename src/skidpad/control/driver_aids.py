"""Driver aids for cars with four spinning wheels, compiled with car and driver into one kernel.

An `Aid` stands between a driver, any `Policy`, and the car: `aided(driver, stability(car),
anti_lock(car))` is a policy again. The contract of `Aid.adjust(x, u, m, p, dt)`:

1. `x` is the state of the car, including its true speed, `u` the input from the driver or the
   previous aid, `m` the memory of the aid, `p` its parameters and `dt` the control step in s.
2. It returns `(u, m)`: the input for the next aid or the car, and the memory after the step.
3. It is pure, as a policy is: `skidpad.ops`, no `if` on a value.

`power_limit` limits the total power of all motors, as racing rules or an engine do.

`anti_lock` and `traction` control wheel slip in braking and driving by the same law. Each wheel has
a share of the driver's demand, which falls while the wheel slips more than the target and recovers
slowly; beyond the target, part of the demand is removed at once.

`torque_vectoring` and `stability` control the yaw rate that the driver demands with the steering
wheel: the steady turn of a linear bicycle model with a given understeer gradient, within the grip
of the road. Torque vectoring drives the wheels of one side more than those of the other, at all
times and in both directions. A stability programme brakes single wheels, and only when the car no
longer follows the steering: the outer front wheel when the car oversteers, the inner rear wheel
when it understeers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.files import brief_repr, shortened
from ..core.policy import ARGUMENTS, Nothing, Policy
from ..errors import InvalidValue
from ..ops import abs, clip, cos, logical_or, maximum, sin, where
from ..tyres.contract import above_zero
from ..units import Nm, Unit, kg_m2, m, m_s, m_s2, non_negative, one, per_s, positive, rad, rad_s, s
from ..vehicles.parts.actuators import limited, outside_dead_band


@dataclass(frozen=True)
class Aid:
    """Driver aid and its records; see the module docstring for the contract."""

    name: str
    """Name of the aid's memory and parameters within the memory and parameters of the policy."""
    adjust: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]
    params: Any
    """Gains and limits, a record."""
    Memory: type = Nothing
    """Memory from step to step, a NamedTuple; the defaults are the initial values."""

    __repr__ = brief_repr


def open_loop(vehicle: Any) -> Policy:
    """Policy with prescribed inputs: the reference of each step is the input."""
    return Policy(_prescribed, Reference=vehicle.Input, name="open_loop")


def _brief(value: Any) -> str:
    return shortened(repr(value), 80)


def _prescribed(r: Any) -> Any:
    return r


def aided(driver: Policy, *aids: Aid) -> Policy:
    """Policy of a driver followed by aids; the last aid acts on the car.

    Memory and parameters consist of the driver's, under the name `driver`, and those of each aid,
    under its name: `policy_params={"anti_lock.slip": 0.1}` of a fleet's rollout changes an aid.
    """
    if not isinstance(driver, Policy):
        raise InvalidValue(f"driver must be a Policy, such as open_loop(car), got {_brief(driver)}")
    for aid in aids:
        if not isinstance(aid, Aid):
            raise InvalidValue(f"aids must be of Aid, such as anti_lock(car), got {_brief(aid)}")
    names = [aid.name for aid in aids]
    if len({*names, "driver"}) <= len(names):
        raise InvalidValue(f"aids must have different names, none of them 'driver'; got {names}")
    kinds = {"driver": driver.Memory} | {aid.name: aid.Memory for aid in aids}
    Memory = record.define("Memory", kinds, {name: kind() for name, kind in kinds.items()})
    kinds = {"driver": driver.Params} | {aid.name: type(aid.params) for aid in aids}
    params = (driver.params, *(aid.params for aid in aids))
    Params = record.define("Params", kinds, dict(zip(kinds, params, strict=True)))

    start = Memory()

    def act(x: Any, p: Any, dt: Any, m: Any = start, r: Any = None) -> Any:
        u, memory = driver.command(x, m.driver, r, p.driver, dt)
        memories = [memory]
        for aid in aids:
            u, memory = aid.adjust(x, u, getattr(m, aid.name), getattr(p, aid.name), dt)
            memories.append(memory)
        return (u, Memory(*memories)) if record.size(Memory) else u

    records = {"m": Memory, "r": driver.Reference, "p": Params}
    asked = [name for name in ARGUMENTS if name not in records or record.size(records[name])]
    ports = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in asked]
    # A policy must not declare an empty record, so aids without memory or parameters are left out.
    act.__signature__ = inspect.Signature(ports)
    label = " + ".join([driver.name, *names])
    return Policy(act, Memory, driver.Reference, Params, Params(*params), label)


WHEELS = ("fl", "fr", "rl", "rr")
rad_s2_m = Annotated[float, Unit("rad/(m/s²)", length=-1, time=2)]
"""Steering angle per lateral acceleration: an understeer gradient."""


class Chassis(NamedTuple):
    """Positions and radii of a car's four wheels."""

    l_f: Annotated[m, positive]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive]
    """Distance from the centre of mass to the rear axle."""
    track_f: Annotated[m, positive]
    """Distance between the front wheels."""
    track_r: Annotated[m, positive]
    """Distance between the rear wheels."""
    radius_f: Annotated[m, positive]
    """Radius of the front wheels."""
    radius_r: Annotated[m, positive]
    """Radius of the rear wheels."""


def chassis(vehicle: Any) -> Chassis:
    """Chassis of a car whose state and input have the wheels fl, fr, rl and rr."""
    known = {*vehicle.State._fields, *vehicle.Input._fields}
    missing = [f"{n}_{w}" for n in ("spin", "tau", "brake") for w in WHEELS]
    missing = [name for name in missing if name not in known]
    if missing:
        pedals = "spin_fl" in known
        of = " with powertrain=WheelTorques() and brakes=BrakeTorques(), its defaults" * pedals
        raise InvalidValue(
            "aids are for cars on four spinning wheels with individual torques, such as "
            f"two_track{of}; {vehicle.name!r} has no {', '.join(missing)}"
        )
    wheels = {wheel.name: wheel for wheel in vehicle.geometry.wheels}
    fl, fr, rl, rr = (wheels[name] for name in WHEELS)
    return Chassis(fl.x, -rl.x, fl.y - fr.y, rl.y - rr.y, fl.radius, rl.radius)


def speeds(x: Any, c: Chassis) -> tuple[m_s, m_s, m_s, m_s]:
    """Velocity of each wheel along its own plane, from the state."""
    half_f, half_r = 0.5 * c.track_f * x.omega, 0.5 * c.track_r * x.omega
    across = sin(x.steer) * (x.v_y + c.l_f * x.omega)
    along = cos(x.steer)
    return (
        along * (x.v_x - half_f) + across,
        along * (x.v_x + half_f) + across,
        x.v_x - half_r,
        x.v_x + half_r,
    )


def longitudinal_slips(x: Any, c: Chassis, v_least: m_s) -> list[one]:
    """Longitudinal slip of each wheel, positive when driving; 0 to -1 when braking, -1 locked.

    The speed in the divisor is at least 3/8 of `v_least`.
    """
    radii = (c.radius_f, c.radius_f, c.radius_r, c.radius_r)
    spins = (x.spin_fl, x.spin_fr, x.spin_rl, x.spin_rr)
    columns = zip(speeds(x, c), radii, spins, strict=True)
    return [(R * spin - v) / above_zero(v, v_least) for v, R, spin in columns]


def bicycle_yaw_rate(
    steer: rad, v_x: m_s, c: Chassis, understeer: rad_s2_m, grip: m_s2, v_least: m_s
) -> rad_s:
    """Steady-turn yaw rate of a linear bicycle, limited to a lateral acceleration of `grip`."""
    base = c.l_f + c.l_r
    omega = v_x * steer / (base + understeer * (v_x * v_x))
    most = grip / above_zero(v_x, v_least)
    return clip(omega, -most, most)


W = Annotated[float, Unit("W", length=2, mass=1, time=-3)]


class Params(NamedTuple):
    """Parameters of the power limit."""

    power: Annotated[W, positive]
    """Largest total power at the wheels."""


def within_power(x: Any, u: Any, m: Nothing, p: Params, dt: s) -> tuple[Any, Nothing]:
    """Scale all torques so that their total power does not exceed the limit."""
    wheels = [(f"tau_{wheel}", getattr(x, f"spin_{wheel}")) for wheel in WHEELS]
    asked = sum((getattr(u, name) * spin for name, spin in wheels), 0.0 * p.power)
    share = p.power / maximum(asked, p.power)
    return u._replace(**{name: share * getattr(u, name) for name, _ in wheels}), m


def power_limit(vehicle: Any, power: W) -> Aid:
    """Power limit: torques of all wheels are scaled to a total power, in W."""
    chassis(vehicle)
    return Aid("power_limit", within_power, Params(power))


class SlipControlParams(NamedTuple):
    """Parameters of slip control."""

    chassis: Chassis
    """Chassis of the car."""
    slip: Annotated[one, positive]
    """Absolute value of the target slip: a little below the slip of the largest force."""
    shrink: Annotated[per_s, positive]
    """Largest rate at which the share of a wheel falls."""
    grow: Annotated[per_s, positive]
    """Largest rate at which the share of a wheel recovers."""
    at_once: Annotated[one, non_negative]
    """Share removed at once per relative excess of the slip over the target."""
    v_off: Annotated[m_s, positive]
    """Speed below which brakes are not adjusted, and which limits the divisor of the slip."""


class Memory(NamedTuple):
    """Share of the driver's demand passed on to each wheel."""

    fl: one = 1.0
    """Share of the front left wheel."""
    fr: one = 1.0
    """Share of the front right wheel."""
    rl: one = 1.0
    """Share of the rear left wheel."""
    rr: one = 1.0
    """Share of the rear right wheel."""


def next_share(share: one, slip: one, idle: Any, p: SlipControlParams, dt: s) -> one:
    """Share of the demanded torque passed on to a wheel after a step at this slip; 1 if the aid is
    idle."""
    error = clip(1.0 - slip / p.slip, -1.0, 1.0)
    rate = where(error > 0.0, p.grow, p.shrink) * error
    return where(idle, 1.0, clip(share + rate * dt, 0.0, 1.0))


def remaining_demand(asked: Any, share: one, slip: one, p: SlipControlParams) -> Any:
    """Torque demand on a wheel, reduced by its share and by its excess slip."""
    return asked * clip(share - p.at_once * maximum(slip / p.slip - 1.0, 0.0), 0.0, 1.0)


def keep_wheels_turning(
    x: Any, u: Any, m: Memory, p: SlipControlParams, dt: s
) -> tuple[Any, Memory]:
    """Anti-lock control: release the brakes of locking wheels."""
    kappas = longitudinal_slips(x, p.chassis, p.v_off)
    slow = x.v_x * x.v_x < p.v_off * p.v_off
    shares: list[one] = []
    brakes: dict[str, Any] = {}
    columns = zip(WHEELS, kappas, speeds(x, p.chassis), m, strict=True)
    for wheel, kappa, v, share in columns:
        asked, locking = getattr(u, f"brake_{wheel}"), where(v < 0.0, kappa, -kappa)
        idle = logical_or(asked <= 0.0, slow)
        shares.append(next_share(share, locking, idle, p, dt))
        brakes[f"brake_{wheel}"] = where(
            idle, asked, remaining_demand(asked, shares[-1], locking, p)
        )
    return u._replace(**brakes), Memory(*shares)


def keep_wheels_rolling(
    x: Any, u: Any, m: Memory, p: SlipControlParams, dt: s
) -> tuple[Any, Memory]:
    """Traction control: reduce the torque of spinning wheels, forwards and in reverse."""
    kappas = longitudinal_slips(x, p.chassis, p.v_off)
    shares: list[one] = []
    torques: dict[str, Any] = {}
    for wheel, kappa, share in zip(WHEELS, kappas, m, strict=True):
        asked = getattr(u, f"tau_{wheel}")
        spinning = where(asked < 0.0, -kappa, kappa)
        shares.append(next_share(share, spinning, asked == 0.0, p, dt))
        torques[f"tau_{wheel}"] = remaining_demand(asked, shares[-1], spinning, p)
    return u._replace(**torques), Memory(*shares)


def anti_lock(
    vehicle: Any,
    *,
    slip: one = 0.06,
    shrink: per_s = 30.0,
    grow: per_s = 6.0,
    at_once: one = 1.0,
    v_off: m_s = 2.0,
) -> Aid:
    """Anti-lock brakes: reduce the brake torque of wheels that slip more than `slip`."""
    params = SlipControlParams(chassis(vehicle), slip, shrink, grow, at_once, v_off)
    return Aid("anti_lock", keep_wheels_turning, params, Memory)


def traction(
    vehicle: Any,
    *,
    slip: one = 0.05,
    shrink: per_s = 10.0,
    grow: per_s = 3.0,
    at_once: one = 1.0,
    v_off: m_s = 2.0,
) -> Aid:
    """Traction control: reduce the drive torque of wheels that slip more than `slip`."""
    params = SlipControlParams(chassis(vehicle), slip, shrink, grow, at_once, v_off)
    return Aid("traction", keep_wheels_rolling, params, Memory)


class Vectoring(NamedTuple):
    """Parameters of torque vectoring."""

    chassis: Chassis
    """Chassis of the car."""
    inertia: Annotated[kg_m2, positive]
    """Yaw inertia of the car."""
    rate: Annotated[per_s, non_negative]
    """Rate at which a yaw rate error would decay by the yaw moment alone."""
    understeer: rad_s2_m
    """Target understeer gradient; 0 is neutral."""
    grip: Annotated[m_s2, positive]
    """Largest lateral acceleration that is demanded."""
    front: one
    """Share of the yaw moment generated by the front axle."""
    most: Annotated[Nm, non_negative]
    """Largest torque added to or removed from a wheel."""
    v_off: Annotated[m_s, positive]
    """Speed over which the aid fades in."""


class Stability(NamedTuple):
    """Parameters of stability control."""

    chassis: Chassis
    """Chassis of the car."""
    inertia: Annotated[kg_m2, positive]
    """Yaw inertia of the car."""
    rate: Annotated[per_s, non_negative]
    """Rate at which a yaw rate error would decay by the yaw moment alone."""
    understeer: rad_s2_m
    """Understeer gradient of the car while it follows the steering."""
    grip: Annotated[m_s2, positive]
    """Largest lateral acceleration that is demanded."""
    band: Annotated[rad_s, positive]
    """Dead band of the yaw rate error."""
    cut: Annotated[rad_s, positive]
    """Yaw rate error beyond the dead band at which the drive torque is cut completely."""
    most: Annotated[Nm, non_negative]
    """Largest brake torque added to a wheel."""
    v_off: Annotated[m_s, positive]
    """Speed over which the aid fades in."""


def demanded_yaw_rate(x: Any, u: Any, p: Any) -> rad_s:
    """Yaw rate demanded by the steering angle."""
    return bicycle_yaw_rate(u.steer, x.v_x, p.chassis, p.understeer, p.grip, p.v_off)


def fading(v_x: m_s, v_off: m_s) -> one:
    """Fade-in over speed: 0 at rest and in reverse, 1 from `v_off` on."""
    return clip(v_x * (1.0 / v_off), 0.0, 1.0)


def drive_apart(x: Any, u: Any, m: Nothing, p: Vectoring, dt: s) -> tuple[Any, Nothing]:
    """Torque vectoring: move drive torque from one side of the car to the other."""
    c = p.chassis
    error = demanded_yaw_rate(x, u, p) - x.omega
    moment = (p.inertia * p.rate) * error * fading(x.v_x, p.v_off)
    front = limited(p.front * c.radius_f * (1.0 / c.track_f) * moment, p.most)
    rear = limited((1.0 - p.front) * c.radius_r * (1.0 / c.track_r) * moment, p.most)
    more = (-front, front, -rear, rear)
    pairs = zip(WHEELS, more, strict=True)
    torques = {f"tau_{wheel}": getattr(u, f"tau_{wheel}") + extra for wheel, extra in pairs}
    return u._replace(**torques), m


def brake_apart(x: Any, u: Any, m: Nothing, p: Stability, dt: s) -> tuple[Any, Nothing]:
    """Stability control: brake the wheel that corrects the yaw rate, and reduce the drive
    torque."""
    c = p.chassis
    asked = demanded_yaw_rate(x, u, p)
    error = x.omega - asked
    excess = outside_dead_band(error, p.band) * fading(x.v_x, p.v_off)
    moment = (p.inertia * p.rate) * excess
    # A car that turns more than demanded oversteers, also when the demand is straight ahead.
    front = where(error * asked >= 0.0, 1.0, 0.0)
    arms = (c.radius_f * (2.0 / c.track_f), c.radius_r * (2.0 / c.track_r))
    at_front, at_rear = front * arms[0] * moment, (1.0 - front) * arms[1] * moment
    # A positive error means too much yaw rate to the left, which braking on the right corrects.
    more = (-at_front, at_front, -at_rear, at_rear)
    left = clip(1.0 - abs(excess) * (1.0 / p.cut), 0.0, 1.0)
    changes: dict[str, Any] = {}
    for wheel, extra in zip(WHEELS, more, strict=True):
        changes[f"brake_{wheel}"] = getattr(u, f"brake_{wheel}") + clip(extra, 0.0, p.most)
        changes[f"tau_{wheel}"] = getattr(u, f"tau_{wheel}") * left
    return u._replace(**changes), m


def torque_vectoring(
    vehicle: Any,
    *,
    rate: per_s = 10.0,
    understeer: rad_s2_m = 0.0,
    grip: m_s2 | None = None,
    front: one = 0.0,
    most: Nm | None = None,
    v_off: m_s = 3.0,
) -> Aid:
    """Torque vectoring, for cars with a motor at each wheel of an axle or of both.

    `grip` and `most` default to the limits of the vehicle.
    """
    limits = vehicle.limits
    params = Vectoring(
        chassis(vehicle),
        vehicle.geometry.inertia,
        rate,
        understeer,
        0.9 * limits.grip if grip is None else grip,
        front,
        limits.inputs["tau_rl"][1] if most is None else most,
        v_off,
    )
    return Aid("torque_vectoring", drive_apart, params)


def stability(
    vehicle: Any,
    *,
    rate: per_s = 15.0,
    understeer: rad_s2_m = 0.0025,
    grip: m_s2 | None = None,
    band: rad_s = 0.05,
    cut: rad_s = 0.1,
    most: Nm | None = None,
    v_off: m_s = 5.0,
) -> Aid:
    """Stability programme that acts on the brakes; anti-lock brakes should follow it.

    `grip` and `most` default to the limits of the vehicle.
    """
    limits = vehicle.limits
    params = Stability(
        chassis(vehicle),
        vehicle.geometry.inertia,
        rate,
        understeer,
        0.9 * limits.grip if grip is None else grip,
        band,
        cut,
        limits.inputs["brake_fl"][1] if most is None else most,
        v_off,
    )
    return Aid("stability", brake_apart, params)
