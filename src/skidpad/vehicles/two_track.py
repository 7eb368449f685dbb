"""`two_track`: a car on four spinning wheels, with any tyre on each.

A planar body on wheels that drive and brakes turn and whose slip against the road makes the forces;
wheel loads follow these forces with the time constant of the springs. So forces depend on loads,
loads on states, and each tyre is evaluated once. Equations: docs/vehicles.md.

    two_track()                                   # a compact car on default tyres
    two_track(tyre=T, m=1300.0)                   # one tyre for all wheels
    two_track(front=T1, rear=T2)                  # one per axle
    two_track(fl=T1, fr=T2, rl=T3, rr=T4)         # one per wheel
    two_track(slip=FirstOrderSlip())              # slip behind relaxation lengths

Which equations a car has is the class of its records `tyres` and `slip`; there is one model of each
combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import record
from ..components.axle import Force
from ..components.corner_loads import CornerLoads, axle_weights, corner_loads
from ..components.resistance import downforce
from ..components.rigid_body import Acceleration, kinetic_energy, pose_rate, velocity_rate
from ..components.spinning_wheel import (
    FirstOrderSlip,
    SteadySlip,
    WheelForces,
    WheelMotion,
    each_wheel,
    rolling_radius,
    wheel_forces,
    wheel_spin_rate,
)
from ..components.toed_wheels import Heading, four_headings
from ..components.tyre.relaxation import SlipState
from ..components.tyre.tyre_set import each_tyre, tyre_set, tyre_set_type
from ..components.wheel import Velocity
from ..errors import InvalidValue
from ..model import Model, Vehicle, VehicleFactory, built_once
from ..ops import abs, atan2, clip, logical_or, where
from ..plane.pose import turned, turned_back
from ..units import J, Nm, m, rad
from .car_state import actuator_rates, least
from .two_track_body import BODY
from .two_track_records import (
    DEFAULT_TYRES,
    External,
    FirstOrderState,
    Input,
    Outputs,
    Params,
    State,
    params_type,
)

__all__ = ["FirstOrderSlip", "SteadySlip", "two_track"]

WHEELS = ("fl", "fr", "rl", "rr")
SIDES = (1.0, -1.0, 1.0, -1.0)
"""Of the wheels: 1 left, -1 right."""
TYRES = (("tyre",), ("front", "rear"), WHEELS)
"""The keywords of the factory that go together."""


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    loads: CornerLoads
    headings: tuple[Heading, ...]
    wheels: list[WheelForces]
    pushed: Acceleration
    """Force of the tyres over the mass, in body axes."""
    a: Acceleration
    moment: Nm


def places(p: Params) -> tuple[tuple[m, m], ...]:
    """Where the wheels are, forward and to the left of the centre of mass."""
    half_f, half_r = 0.5 * p.track_f, 0.5 * p.track_r
    return (p.l_f, half_f), (p.l_f, -half_f), (-p.l_r, half_r), (-p.l_r, -half_r)


def velocities(x: State, headings: tuple[Heading, ...], p: Params) -> list[Velocity]:
    """Velocity over ground of each contact patch, in the axes of its wheel."""
    return [
        Velocity(*turned_back(*heading, x.v_x - y * x.omega, x.v_y + forward * x.omega))
        for heading, (forward, y) in zip(headings, places(p), strict=True)
    ]


def cambers(p: Params) -> tuple[rad, rad, rad, rad]:
    """Camber of each wheel as tyres have it: positive when the top leans to the right."""
    return -p.camber_f, p.camber_f, -p.camber_r, p.camber_r


def loads_at(x: State, p: Params) -> CornerLoads:
    """Wheel loads that the springs have come to."""
    standing = axle_weights(p.m * p.g, downforce(x.v_x, p.C_down), p.down_front, p)
    return corner_loads(standing, x.load_a_x, x.load_a_y, p)


def spins(x: Any) -> tuple[Any, ...]:
    """Spin of each wheel."""
    return x.spin_fl, x.spin_fr, x.spin_rl, x.spin_rr


def slips(x: Any, p: Params) -> list[SlipState]:
    """The state of slip of each wheel; nothing where slip is no state."""
    if not p.slip.states:
        return [SlipState()] * 4
    return [SlipState(getattr(x, f"kappa_{w}"), getattr(x, f"tan_alpha_{w}")) for w in WHEELS]


def motion(x: State, w: External, p: Params) -> Motion:
    """Loads, tyre forces and what they do to the body."""
    headings = four_headings(x.steer, p)
    loads = loads_at(x, p)
    grip = (w.mu_fl, w.mu_fr, w.mu_rl, w.mu_rr)
    columns = zip(loads, velocities(x, headings, p), spins(x), cambers(p), grip, strict=True)
    moving = [
        WheelMotion(F_z, v.x, v.y, spin, x.omega, camber, mu)
        for F_z, v, spin, camber, mu in columns
    ]
    wheels = each_wheel(wheel_forces, each_tyre(p.tyres), (p.slip,) * 4, slips(x, p), moving, SIDES)
    force, moment = on_body(wheels, headings, p)
    by_mass = 1.0 / p.m
    drag = (-0.5 * p.C_drag) * (x.v_x * abs(x.v_x))
    pushed = Acceleration(force.x * by_mass, force.y * by_mass)
    a = Acceleration((force.x + drag + w.F_x) * by_mass, (force.y + w.F_y) * by_mass)
    return Motion(loads, headings, wheels, pushed, a, moment + w.M_z)


def on_body(
    wheels: list[WheelForces], headings: tuple[Heading, ...], p: Params
) -> tuple[Force, Nm]:
    """Force of all tyres in body axes, and their moment about the centre of mass."""
    pairs = zip(wheels, headings, strict=True)
    fl, fr, rl, rr = (Force(*turned(*heading, f.F_x, f.F_y)) for f, heading in pairs)
    # Wheels of an axle taken together: what is alike on both sides cancels to the last bit.
    front, rear = (Force(a.x + b.x, a.y + b.y) for a, b in ((fl, fr), (rl, rr)))
    turning = (0.5 * p.track_f) * (fr.x - fl.x) + (0.5 * p.track_r) * (rr.x - rl.x)
    aligning = (wheels[0].M_z + wheels[1].M_z) + (wheels[2].M_z + wheels[3].M_z)
    moment = p.l_f * front.y - p.l_r * rear.y + turning + aligning
    return Force(front.x + rear.x, front.y + rear.y), moment


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    now = motion(x, w, p)
    taus = (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)
    brakes = [clip(b, 0.0, p.brake_max) for b in (u.brake_fl, u.brake_fr, u.brake_rl, u.brake_rr)]
    columns = zip(taus, brakes, spins(x), now.wheels, strict=True)
    spinning = [wheel_spin_rate(*wheel, p.t_hold, p.I_w) for wheel in columns]
    by_t = 1.0 / p.t_load
    following = ((now.pushed.x - x.load_a_x) * by_t, (now.pushed.y - x.load_a_y) * by_t)
    rates = (
        *pose_rate(x.yaw, x.v_x, x.v_y, x.omega),
        *velocity_rate(now.a, x.v_x, x.v_y, x.omega),
        now.moment * (1.0 / p.I_z),
        *actuator_rates(x, u, p),
        *spinning,
        *following,
    )
    if not p.slip.states:
        return type(x)._make(rates)
    slipping = (*(f.kappa_rate for f in now.wheels), *(f.tan_alpha_rate for f in now.wheels))
    return type(x)._make((*rates, *slipping))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip and tyre forces. `wheel_lift` marks a wheel in the air."""
    now = motion(x, w, p)
    left, right = (atan2(heading.s, heading.c) for heading in now.headings[:2])
    # Outputs have the sign of all cars here: positive when the tyre pushes to the left.
    return Outputs._make(
        (
            *now.a,
            *now.loads,
            *(-f.alpha for f in now.wheels),
            *(f.F_x for f in now.wheels),
            *(f.F_y for f in now.wheels),
            where(least(now.loads) <= 0.0, 1.0, 0.0),
            *(f.kappa for f in now.wheels),
            *(f.M_z for f in now.wheels),
            left,
            right,
        )
    )


def rolling(x: State, p: Params) -> State:
    """The state with wheels that roll, if all were given as standing."""
    headings, loads = four_headings(x.steer, p), loads_at(x, p)
    turning = logical_or(
        logical_or(x.spin_fl != 0.0, x.spin_fr != 0.0),
        logical_or(x.spin_rl != 0.0, x.spin_rr != 0.0),
    )
    columns = zip(
        WHEELS, each_tyre(p.tyres), loads, velocities(x, headings, p), spins(x), strict=True
    )
    return x._replace(
        **{
            f"spin_{wheel}": where(turning, spin, v.x / rolling_radius(tyre, F_z, v.x))
            for wheel, tyre, F_z, v, spin in columns
        }
    )


def energy(x: State, p: Params) -> J:
    """Kinetic energy of the body and of the spinning wheels."""
    turning = sum((spin * spin for spin in spins(x)), 0.0)
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z) + 0.5 * p.I_w * turning


@built_once
def _model(slip: type, *tyres: type) -> Model:
    """The car with a law of slip on one, two or four classes of tyres."""
    first_order = slip().states
    set_type = tyre_set_type(*tyres)
    names = ", ".join(dict.fromkeys(tyre.__name__ for tyre in tyres))
    return Model(
        name="two_track",
        State=FirstOrderState if first_order else State,
        Input=Input,
        Params=params_type(set_type, slip),
        Outputs=Outputs,
        Disturbance=External,
        derivative=derivative,
        outputs=outputs,
        settle=rolling,
        fills=tuple(f"spin_{wheel}" for wheel in WHEELS),
        # A deflected tyre stores energy, too, which no closed form tells for every tyre.
        energy=None if first_order else energy,
        body=BODY,
        summary=f"Car on four spinning wheels with any tyre: {names}",
    )


@dataclass(frozen=True, repr=False)
class TwoTrackFactory(VehicleFactory):
    """Makes cars on any tyres: `two_track(front=T1, rear=T2, m=1300.0)`."""

    def __call__(self, params: Any = None, /, *, slip: Any = None, **values: Any) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `tyre`, or `front` and `rear`, or `fl`, `fr`, `rl` and `rr` are tyre records or tyres that
        were read from a file; `slip` is a `SteadySlip` or a `FirstOrderSlip`.
        """
        names = tuple(name for group in TYRES for name in group if name in values)
        if names and names not in TYRES:
            raise InvalidValue(
                f"tyres are given as {', '.join(names)}; allowed are tyre, or front and rear, or "
                "fl, fr, rl and rr"
            )
        # What is said of single numbers comes last, and so wins over whole records.
        whole = dict[str, Any]()
        if record.is_record_type(type(params)):
            whole, params = params._asdict(), None  # of a car on other tyres, too
        if names:
            whole["tyres"] = tyre_set(*(values.pop(name) for name in names))
        if slip is not None:
            whole["slip"] = _checked_slip(slip)
        tyres, law = whole.get("tyres", DEFAULT_TYRES), whole.get("slip", SteadySlip())
        model = _model(type(law), *map(type, tyres))
        return Vehicle(model, record.build(model.Params, params, **whole | values))


def _checked_slip(slip: Any) -> Any:
    if record.is_record_type(type(slip)) and all(hasattr(slip, n) for n in ("states", "acting")):
        return slip
    raise InvalidValue(f"slip must be a SteadySlip or a FirstOrderSlip record, got {slip!r}")


two_track = TwoTrackFactory(_model(SteadySlip, *map(type, DEFAULT_TYRES)))
