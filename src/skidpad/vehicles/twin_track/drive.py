"""How `two_track` is driven and braked: its powertrain, its brakes and the spin of its wheels.

A car with `WheelTorques` or `WheelMotors` has a torque and a lag for each wheel; with any other
powertrain the wheels may turn an inertia together. Brakes hold alike in both.

Demands of a driver become wheel torques, or pedals of the powertrain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ops import clip, where
from ...units import J, N, Nm, kg, m, m_s, one, rad_s
from ..parts.actuators import limited, limited_lag
from ..parts.assembly import NoStates
from ..parts.hydraulic_brakes import BrakeTorques
from ..parts.powertrain.contract import Reflected, Wheels, spin_rates, weighted
from ..parts.powertrain.electric import WHEEL_DRIVES, WheelTorques
from ..parts.spinning_wheel import WheelForces, wheel_spin_rate
from .records import outputs_type

WHEELS = ("fl", "fr", "rl", "rr")


class Driveline(NamedTuple):
    """What drives and brakes the wheels at one instant."""

    torques: Wheels
    brakes: Wheels
    """What each wheel can be held with."""
    reflected: Reflected | None
    """Inertia that the wheels turn together, if there is any."""
    rates: dict[str, Any]
    """Rates of the states of powertrain and brakes."""
    shown: tuple[Any, ...]
    """Outputs of the powertrain."""


def each(x: Any, name: str) -> Wheels:
    """A field of all wheels."""
    fl, fr, rl, rr = (getattr(x, f"{name}_{wheel}") for wheel in WHEELS)
    return fl, fr, rl, rr


def own_states(x: Any, component: Any) -> Any:
    """The states of a component among those of the car."""
    kind: Any = getattr(component, "States", NoStates)
    return kind(*(getattr(x, name) for name in kind._fields))


def driveline(x: Any, u: Any, p: Any) -> Driveline:
    """Powertrain and brakes of the car."""
    if isinstance(p.brakes, BrakeTorques):
        fl, fr, rl, rr = (clip(torque, 0.0, p.brake_max) for torque in each(u, "brake"))
        brakes, rates = (fl, fr, rl, rr), dict[str, Any]()
    else:
        brakes, rates = p.brakes.torques(x, u), p.brakes.rates(x, u)._asdict()
    if isinstance(p.powertrain, WHEEL_DRIVES):
        pairs = zip(WHEELS, each(x, "tau"), each(u, "tau"), strict=True)
        rates |= {f"tau_{w}": limited_lag(a, b, p.t_tau, p.tau_max) for w, a, b in pairs}
        torques = p.powertrain.delivered(each(x, "tau"), each(x, "spin"))
        shown = p.powertrain.powers(torques, each(x, "spin"))
        return Driveline(torques, brakes, None, rates, shown)
    drive = p.powertrain.drive(own_states(x, p.powertrain), u, each(x, "spin"))
    rates |= drive.rates._asdict()
    return Driveline(drive.torques, brakes, drive.reflected, rates, drive.shown)


def wheel_spin_rates(line: Driveline, x: Any, forces: list[WheelForces], p: Any) -> Wheels:
    """Angular acceleration of the wheels about their axles."""
    spins = each(x, "spin")
    if line.reflected is None:
        columns = zip(line.torques, line.brakes, spins, forces, strict=True)
        fl, fr, rl, rr = (wheel_spin_rate(*wheel, p.t_hold, p.I_w) for wheel in columns)
        return fl, fr, rl, rr
    return joined_spin_rates(line, line.reflected, spins, forces, p)


def pitch_shares(line: Driveline, p: Any) -> Wheels:
    """How much each wheel lags behind a body that begins to pitch, over that body: 1, unless it
    turns an inertia of the powertrain."""
    if line.reflected is None:
        return 1.0, 1.0, 1.0, 1.0
    return spin_rates((p.I_w,) * 4, p.I_w, line.reflected)


def joined_spin_rates(
    line: Driveline, reflected: Reflected, spins: Wheels, forces: list[WheelForces], p: Any
) -> Wheels:
    """Angular acceleration of wheels that turn an inertia together; see `wheel_spin_rate`.

    A brake gives what stops its wheel, and its part of that inertia, within `t_hold`.
    """
    together = reflected.J * weighted(reflected.weights, spins)
    columns = zip(line.torques, line.brakes, spins, forces, reflected.weights, strict=True)
    left: list[Nm] = []
    for tau, brake, spin, f, weight in columns:
        others = tau + f.M_y - f.R_e * f.F_x
        stopping = others + (1.0 / p.t_hold) * (p.I_w * spin + weight * together)
        left.append(others - clip(stopping, -brake, brake))
    return spin_rates((left[0], left[1], left[2], left[3]), p.I_w, reflected)


def drive_outputs(own: Any, behind: dict[str, Any], x: Any, u: Any, p: Any) -> Any:
    """The outputs of the car, followed by those of its powertrain and of what it tows."""
    if isinstance(p.powertrain, WheelTorques) and not behind:
        return own
    kind = outputs_type(type(p.chassis), type(p.powertrain), type(p.trailers))
    shown = () if isinstance(p.powertrain, WheelTorques) else driveline(x, u, p).shown
    return kind(*own, *shown, **behind)


def driveline_energy(x: Any, p: Any) -> J:
    """Kinetic energy of what turns besides the wheels."""
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return 0.0
    return p.powertrain.rotating(own_states(x, p.powertrain), each(x, "spin"))


def driveline_settled(x: Any, p: Any) -> Any:
    """The state with that of the powertrain made consistent."""
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return x
    own = p.powertrain.settled(own_states(x, p.powertrain), each(x, "spin"))
    return x._replace(**own._asdict())


CREEP: m_s = 0.6
"""Speed below which what slows the car comes from the drive, which can turn it round, and not from
the brakes."""

Ranges = dict[str, tuple[float, float]]


def drive_limits(p: Any) -> tuple[Nm, rad_s, Ranges]:
    """Largest torque on all wheels, the spin up to which it drives, and ranges of inputs."""
    if not isinstance(p.powertrain, WHEEL_DRIVES):
        return p.powertrain.peak(), p.powertrain.top(), p.powertrain.ranges()
    ranges = {f"tau_{wheel}": (-p.tau_max, p.tau_max) for wheel in WHEELS}
    return 2.0 * p.tau_max / max(p.drive_front, 1.0 - p.drive_front), p.powertrain.top(), ranges


def brake_limits(p: Any) -> tuple[Nm, Ranges]:
    """Largest brake torque on all wheels as a demand shares it out, and ranges of inputs."""
    if not isinstance(p.brakes, BrakeTorques):
        return 2.0 * sum(p.brakes.peaks()), p.brakes.ranges()
    ranges = {f"brake_{wheel}": (0.0, p.brake_max) for wheel in WHEELS}
    return 2.0 * p.brake_max / max(p.brake_front, 1.0 - p.brake_front), ranges


def turning_mass(x: Any, radii: tuple[m, m], p: Any) -> kg:
    """What wheels and powertrain add to the mass of a car that is sped up."""
    front, rear = radii
    wheels = 2.0 * p.I_w * (1.0 / (front * front) + 1.0 / (rear * rear))
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return wheels
    radius = driven_radius(radii, p)
    inertia = p.powertrain.inertia(own_states(x, p.powertrain), each(x, "spin"))
    return wheels + inertia * (1.0 / (radius * radius))


def driven_radius(radii: tuple[m, m], p: Any) -> m:
    """Radius of the driven wheels."""
    weights = p.powertrain.layout.weights()
    return (weights[0] + weights[1]) * radii[0] + (weights[2] + weights[3]) * radii[1]


def coasting_force(x: Any, radii: tuple[m, m], p: Any) -> N:
    """Force with which a released pedal slows the car."""
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return 0.0
    torque = p.powertrain.coasting(own_states(x, p.powertrain), each(x, "spin"))
    return torque * (1.0 / driven_radius(radii, p))


def drive_inputs(
    x: Any, force: N, slowing: N, way: one, radii: tuple[m, m], p: Any
) -> dict[str, Any]:
    """Inputs of the powertrain for a force along the car, or to slow it down by a released pedal.

    `way` is 1 where the demand is forward, else -1: a slow car changes to that gear, a faster one
    stays in the gear of its motion.
    """
    front, rear = radii
    if isinstance(p.powertrain, WHEEL_DRIVES):
        tau_f = limited(0.5 * p.drive_front * front * force, p.tau_max)
        tau_r = limited(0.5 * (1.0 - p.drive_front) * rear * force, p.tau_max)
        return dict(zip((f"tau_{w}" for w in WHEELS), (tau_f, tau_f, tau_r, tau_r), strict=True))
    ahead = where(x.v_x > CREEP, 1.0, where(x.v_x < -CREEP, -1.0, way))
    own, spins = own_states(x, p.powertrain), each(x, "spin")
    T = driven_radius(radii, p) * where(force == 0.0, -ahead * slowing, force)
    return p.powertrain.pedals(own, T, ahead, spins)._asdict()


def brake_inputs(force: N, hand: one, radii: tuple[m, m], p: Any) -> dict[str, Any]:
    """Inputs of the brakes for a force against the motion, and a handbrake."""
    front, rear = radii
    if isinstance(p.brakes, BrakeTorques):
        brake_f = clip(0.5 * p.brake_front * front * force, 0.0, p.brake_max)
        asked = 0.5 * (1.0 - p.brake_front) * rear * force + hand * p.brake_max
        brake_r = clip(asked, 0.0, p.brake_max)
        names = (f"brake_{w}" for w in WHEELS)
        return dict(zip(names, (brake_f, brake_f, brake_r, brake_r), strict=True))
    return p.brakes.pedal(0.5 * (front + rear) * force, hand)._asdict()
