"""`two_track`, `formula_student` and `full_car`: cars on four spinning wheels with any tyres.

A planar body whose wheels are turned by drive and brakes; their slip against the road makes the
forces. Wheel loads follow these forces with the time constant of the springs. So forces depend on
loads, loads on states, and each tyre is evaluated once. Equations: docs/vehicles.md.

    two_track()                                   # a compact car on default tyres
    two_track("sports")                           # a car of a parameter set (`sets`)
    two_track(tyre=T, m=1300.0)                   # one tyre for all wheels
    two_track(front=T1, rear=T2)                  # one per axle
    two_track(fl=T1, fr=T2, rl=T3, rr=T4)         # one per wheel
    two_track(slip=FirstOrderSlip())              # slip behind relaxation lengths
    two_track(chassis=RollPitch())                # a body that moves on its springs
    two_track(powertrain=MotorDrive(), brakes=HydraulicBrakes())     # pedals and a gear
    two_track(road=Road.plane(slope=0.1))         # on a road that is not flat
    two_track(trailers=Trailer(m=900.0))          # with a trailer, or several in a tuple

The classes of the records `tyres`, `slip`, `chassis`, `alignment`, `steering`, `air`, `powertrain`,
`brakes`, `trailers` and `road` select the equations; there is one model for each combination.

`formula_student`, the default car, is `two_track` with the parameter set of that name (`sets`): a
driverless electric car with a motor at each wheel, 80 kW for all of them, and slip as states over
the relaxation lengths of its tyres, so that it can stand still and explicit integrators can be
used.

    formula_student(m=240.0)                      # as `two_track("formula_student", m=240.0)`

`full_car` is `two_track` on independent suspensions, with 14 degrees of freedom. The body heaves,
rolls and pitches, each wheel moves up and down and spins, and the car drives over bumps, kerbs and
crests. Every other part is that of `two_track`. Slip is a state by default, so that a braked car
stands still. Equations: docs/vehicles.md.

    full_car()                                        # a compact car
    full_car("sports")                                # a car of a parameter set, with estimates
    full_car(chassis=independent_suspension(front=corner(spring=ProgressiveSpring())))
    full_car(tyre=T, road=Road.iso8608("C", length=200.0, seed=1))

Suspensions of the parameter sets are estimates, since no maker publishes them. All are derived in
the same way from the values of a set and a few typical of its kind of car:

* Unsprung mass of an axle: a share of the mass of the car, at the height of the wheel centres.
* Springs: from the bounce frequency of the body, a little higher at the rear than at the front.
* Dampers: a share of critical damping, 0.7 of it in bump and 1.3 in rebound, less at high rates.
* Anti-roll bars: from the roll per lateral acceleration, distributed so that the front axle has
  `roll_front` of the load transfer, as in `two_track`.
* Inertias of roll and pitch: 0.16 m_s track², and 0.92 of the yaw inertia.
* Stops: a gap, then six times the spring stiffness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_type_hints

from ...core import record
from ...core.body import Geometry
from ...core.model import Model, Vehicle, VehicleFactory, built_once
from ...core.plausibility import postponed
from ...core.record import Recipe, class_from, recipe_of
from ...errors import InvalidValue
from ...geometry.pose import turned, turned_back
from ...ops import atan2, logical_or, sqrt, where
from ...road.records import FlatRoad, PlaneRoad, record_of, road_type
from ...tyres.contract import LowSpeed, SlipState, each_tyre, tyre_set_type
from ...units import J, Nm
from ..formula import least, open_wheeler
from ..parts.actuators import rate_limited_lag
from ..parts.air import AeroMap, AirForces
from ..parts.assembly import assembled, base_of, redefined, tyres_among
from ..parts.chassis import (
    FOLLOWED,
    Acting,
    Pressed,
    Travel,
    push_of,
    roll_levers,
    spin_momentum,
    sprung_mass,
    wheel_moments,
)
from ..parts.electric import WHEEL_DRIVES, WheelTorques
from ..parts.kinematics import Acceleration, kinetic_energy, velocity_rate
from ..parts.load_transfer import ROLLED_OVER, CornerLoads, Force, Velocity
from ..parts.on_road import RoadUnderCar, road_under_car
from ..parts.spinning_wheel import (
    FirstOrderSlip,
    WheelForces,
    WheelMotion,
    each_wheel,
    rolling_radius,
    wheel_forces,
)
from ..parts.steering import Heading
from ..parts.suspension import (
    AntiRollBar,
    BumpStop,
    KneedDamper,
    LinearSpring,
    SuspendedBody,
    corner,
    independent_suspension,
)
from ..parts.trailers import mirror_odd, trailer_chain, trailer_spins, trailers_energy
from . import body, trailers
from .records import (
    DEFAULT_TYRES,
    PART_DUTIES,
    External,
    Input,
    Outputs,
    Params,
    Parts,
    State,
    disturbance_type,
    input_type,
    outputs_type,
    params_type,
    state_type,
)
from .sets import CarSet, car_set, set_values

SIDES = (1.0, -1.0, 1.0, -1.0)
"""Signs of the sides of the wheels: 1 left, -1 right."""
TYRES = (("tyre",), ("front", "rear"), body.WHEELS)
"""Groups of tyre keywords of the factory: for all wheels, for each axle, or for each wheel."""


class Motion(NamedTuple):
    """Quantities of one instant that both the derivative and the outputs need."""

    travel: Travel
    acting: Acting
    headings: tuple[Heading, ...]
    wheels: list[WheelForces]
    a: Acceleration
    moment: Nm
    leaning: Acceleration
    """Acceleration that the wheel loads follow: by tyre forces and the hitch."""
    towed: trailers.Towed | None


def velocities(x: State, headings: tuple[Heading, ...], p: Params) -> list[Velocity]:
    """Velocity over ground of each contact patch, in the axes of its wheel."""
    columns = zip(headings, p.chassis.carried(x, p), body.places(p), strict=True)
    return [
        Velocity(*turned_back(*heading, v.x - y * x.omega, v.y + forward * x.omega))
        for heading, v, (forward, y) in columns
    ]


def posture(
    x: State, w: External, road: RoadUnderCar, p: Params
) -> tuple[Travel, AirForces, Pressed, CornerLoads]:
    """Travel of the body, aerodynamic forces, additional axle loads, and wheel loads."""
    travel = p.chassis.travel(x, p)
    air = p.air.forces(x, w, travel, p)
    pressing = trailers.pressed(x, air, p)
    return travel, air, pressing, p.chassis.loads(x, road, pressing, p)


def slips(x: Any, p: Params) -> list[SlipState]:
    """Slip state of each wheel; zeros if slip is not a state."""
    if not p.slip.states:
        return [SlipState()] * 4
    return [SlipState(getattr(x, f"kappa_{w}"), getattr(x, f"tan_alpha_{w}")) for w in body.WHEELS]


def motion(x: State, w: External, p: Params) -> Motion:
    """Loads, tyre forces, acceleration and yaw moment of one instant."""
    road = road_under_car(p.road, x, body.places(p), p.g)
    travel, air, pressing, loads = posture(x, w, road, p)
    headings, cambers = p.alignment.angles(x, travel, p)
    grip = road.grip_with((w.mu_fl, w.mu_fr, w.mu_rl, w.mu_rr))
    columns = zip(
        loads, velocities(x, headings, p), body.each(x, "spin"), cambers, grip, strict=True
    )
    moving = [
        WheelMotion(F_z, v.x, v.y, spin, x.omega, camber, mu)
        for F_z, v, spin, camber, mu in columns
    ]
    wheels = each_wheel(wheel_forces, each_tyre(p.tyres), (p.slip,) * 4, slips(x, p), moving, SIDES)
    pairs = zip(wheels, headings, strict=True)
    forces = tuple(Force(*turned(*heading, f.F_x, f.F_y)) for f, heading in pairs)
    fl, fr, rl, rr = forces
    # Sum the wheels of an axle first, so that equal and opposite contributions of both sides cancel
    # exactly.
    front, rear = (Force(a.x + b.x, a.y + b.y) for a, b in ((fl, fr), (rl, rr)))
    turning = (0.5 * p.track_f) * (fr.x - fl.x) + (0.5 * p.track_r) * (rr.x - rl.x)
    aligning = (wheels[0].M_z + wheels[1].M_z) + (wheels[2].M_z + wheels[3].M_z)
    # Moment of the tyre forces about the centre of mass.
    moment = p.l_f * front.y - p.l_r * rear.y + turning + aligning
    force = Force(front.x + rear.x, front.y + rear.y)
    by_mass = 1.0 / p.m
    pushed = Acceleration(force.x * by_mass, force.y * by_mass)
    a = Acceleration((force.x + air.F_x + w.F_x) * by_mass, (force.y + air.F_y + w.F_y) * by_mass)
    bumped = p.chassis.bumped(x, loads, road, p)
    # A chassis with independent wheels feels bumps through its wheel loads; others get the pull of
    # the standing body.
    standing = road.standing if bumped is None else None
    a, moment = road.pulled(a, standing), moment + air.M_z + w.M_z
    if standing is not None:
        moment = moment + p.m * standing.turn
    if bumped is not None:
        a = Acceleration(a.x + bumped.F_x * by_mass, a.y + bumped.F_y * by_mass)
        moment = moment + bumped.M_z
    # The spin of wheels that tilt with the body turns the car, as the spin of a gyroscope does.
    tilting = p.chassis.tilt_rate(x, p)
    if tilting is not None:
        moment = moment - tilting * spin_momentum(body.each(x, "spin"), p.I_w)
    a, moment, leaning, towed = trailers.coupled(x, w, a, pushed, moment, p)
    acting = Acting(loads, forces, pushed, pressing, road)
    return Motion(travel, acting, headings, wheels, a, moment, leaning, towed)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    now, line = motion(x, w, p), body.driveline(x, u, p)
    turning = body.wheel_spin_rates(line, x, now.wheels, p)
    turned = wheel_moments(now.wheels, body.each(x, "spin"), turning, x.omega, p.I_w)
    if p.chassis.turns_by_pitch and line.reflected is not None:
        turned = turned._replace(inertia=p.I_w * (4.0 - sum(body.pitch_shares(line, p))))
    sprung: Any = p.chassis.rates(x, now.acting._replace(turned=turned), p)
    if p.chassis.turns_by_pitch:
        # A spin counts from the body, in which drive and brakes act.
        pairs = zip(turning, body.pitch_shares(line, p), strict=True)
        turning = tuple(rate - share * sprung.pitch_rate for rate, share in pairs)
    wheel_angle = p.steering.wheel_angle(u.steer)
    rates: dict[str, Any] = {
        **dict(zip(("x", "y", "yaw"), now.acting.road.pose_rate, strict=True)),
        **dict(zip(("v_x", "v_y"), velocity_rate(now.a, x.v_x, x.v_y, x.omega), strict=True)),
        "omega": now.moment * (1.0 / p.I_z),
        "steer": rate_limited_lag(x.steer, wheel_angle, p.t_steer, p.steer_max, p.steer_rate_max),
        **line.rates,
        **body.by_wheel("spin", turning),
        **sprung._asdict(),
        **p.alignment.rates(x, now.travel, now.wheels, p)._asdict(),
        **trailers.trailer_rates(x, now.towed, line.brakes, p),
    }
    if p.chassis.follows:
        # Lagged accelerations that set the wheel loads, by tyre forces and wheel moments.
        more, by_t = push_of(turned, p), 1.0 / p.t_load
        along = now.leaning.x if p.chassis.turns_by_pitch else now.leaning.x + more.x
        pairs = zip(FOLLOWED, (along, now.leaning.y + more.y), strict=True)
        followed = {name: (push - getattr(x, name)) * by_t for name, push in pairs}
        rates |= {name: followed[name] for name in p.chassis.follows}
    if p.slip.states:
        rates |= body.by_wheel("kappa", [f.kappa_rate for f in now.wheels])
        rates |= body.by_wheel("tan_alpha", [f.tan_alpha_rate for f in now.wheels])
    return type(x)(**rates)


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip and tyre forces; `wheel_lift` marks a wheel in the air."""
    now = motion(x, w, p)
    left, right = (atan2(heading.s, heading.c) for heading in now.headings[:2])
    # Outputs have the sign of all cars here: positive when the tyre pushes to the left.
    own = outputs_type(type(p.chassis))._make(
        (
            *now.a,
            *now.acting.loads,
            *(-f.alpha for f in now.wheels),
            *(f.F_x for f in now.wheels),
            *(f.F_y for f in now.wheels),
            where(least(now.acting.loads) <= 0.0, 1.0, 0.0),
            *(f.kappa for f in now.wheels),
            *(f.M_z for f in now.wheels),
            left,
            right,
            *p.chassis.outputs(x, now.acting, p),
        )
    )
    behind = trailers.trailer_values(x, now.towed, p)
    if isinstance(p.powertrain, WheelTorques) and not behind:
        return own
    kind = outputs_type(type(p.chassis), type(p.powertrain), type(p.trailers))
    shown = () if isinstance(p.powertrain, WheelTorques) else body.driveline(x, u, p).shown
    return kind(*own, *shown, **behind)


def rolling(x: State, p: Params) -> State:
    """State in balance on the springs, with the wheels set rolling if none of them spins."""
    road = road_under_car(p.road, x, body.places(p), p.g)
    still, start = disturbance_type(type(p.air), type(p.trailers))(), x
    # On a map of ride heights a body that sinks is pressed down more.
    rounds = 8 if base_of(type(p.air)) is AeroMap else 1
    for _ in range(rounds if p.chassis.fills else 0):
        air = p.air.forces(x, still, p.chassis.travel(x, p), p)
        x = start._replace(
            **p.chassis.settled(start, road, trailers.pressed(x, air, p), p)._asdict()
        )
    travel, _, _, loads = posture(x, still, road, p)
    headings, _ = p.alignment.angles(x, travel, p)
    turning = logical_or(
        logical_or(x.spin_fl != 0.0, x.spin_fr != 0.0),
        logical_or(x.spin_rl != 0.0, x.spin_rr != 0.0),
    )
    for name in trailer_spins(len(p.trailers)):
        turning = logical_or(turning, getattr(x, name) != 0.0)
    columns = zip(
        each_tyre(p.tyres), loads, velocities(x, headings, p), body.each(x, "spin"), strict=True
    )
    spins = [
        where(turning, spin, v.x / rolling_radius(tyre, F_z, v.x)) for tyre, F_z, v, spin in columns
    ]
    x = x._replace(**body.by_wheel("spin", spins))
    x = trailers.trailers_rolling(x, turning, p)
    if isinstance(p.powertrain, WHEEL_DRIVES):
        return x
    return x._replace(**p.powertrain.settled(*body.turning(x, p))._asdict())


def check(p: Params) -> None:
    """Raise for impossible parameters of chassis or trailers."""
    p.chassis.check(p)
    trailers.check_trailers(p)


def energy(x: State, p: Params) -> J:
    """Kinetic and potential energy of the car, its rotating parts, chassis and trailers."""
    # A spin counts from the body, which may pitch.
    pitching = getattr(x, "pitch_rate", 0.0)
    turning = sum(((spin + pitching) * (spin + pitching) for spin in body.each(x, "spin")), 0.0)
    rotating = 0.5 * p.I_w * turning
    if not isinstance(p.powertrain, WHEEL_DRIVES):
        rotating = rotating + p.powertrain.rotating(*body.turning(x, p))
    planar = kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z) + rotating
    planar = planar + trailers_energy(x, p)
    if isinstance(p.road.surface, FlatRoad):
        return planar + p.chassis.energy(x, p.g, p)
    place = p.road.surface.at(x.x, x.y)
    press = p.g / sqrt(1.0 + place.z_x * place.z_x + place.z_y * place.z_y)
    return planar + p.chassis.energy(x, press, p) + p.m * p.g * place.z


@built_once
def car_model(name: str, recipes: Parts, *tyres: type) -> Model:
    """Build the car model from recipes of its parts' classes and one, two or four tyre classes."""
    parts = Parts(*map(class_from, recipes))
    even = issubclass(get_type_hints(parts.road)["surface"], (FlatRoad, PlaneRoad))
    names = ", ".join(dict.fromkeys(tyre.__name__ for tyre in tyres))
    behind = len(parts.trailers._fields)
    drive = "" if parts.powertrain is WheelTorques else f"; {parts.powertrain.__name__}"
    towing = f"; {behind} trailer{'s' if behind > 1 else ''}" if behind else ""
    # The work of a hitch that presses a body down on its springs has no closed form.
    has_energy = even and not parts.slip().states and not (behind and parts.chassis.States._fields)
    return Model(
        name=name,
        State=state_type(parts),
        Input=input_type(parts.powertrain, parts.brakes),
        Params=params_type(tyre_set_type(*tyres), parts),
        Outputs=outputs_type(parts.chassis, parts.powertrain, parts.trailers),
        Disturbance=disturbance_type(parts.air, parts.trailers),
        derivative=derivative,
        outputs=outputs,
        settle=rolling,
        fills=(
            *(f"spin_{wheel}" for wheel in body.WHEELS),
            *parts.chassis.fills,
            *trailer_spins(behind),
        ),
        check=check,
        # The energy of a deflected tyre has no closed form for every tyre. On a road with bumps the
        # body has no height of its own.
        energy=energy if has_energy else None,
        ends=ROLLED_OVER if "roll" in parts.chassis.States._fields else {},
        body=body.BODY,
        mirror_odd=mirror_odd(behind),
        summary=f"Car on four spinning wheels with any tyre: {names}{drive}{towing}",
    )


@dataclass(frozen=True, repr=False)
class TwoTrackFactory(VehicleFactory):
    """Makes two-track cars on any tyres: `two_track(front=T1, rear=T2, m=1300.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `params` is a parameter record, a mapping, or the name of a parameter set. Keywords are
        parameters of the car, among them its parts:

        * `tyre`, or `front` and `rear`, or `fl`, `fr`, `rl` and `rr`: tyre records, or tyres read
          from a file.
        * `slip`: `SteadySlip` or `FirstOrderSlip`.
        * `chassis`: `RollShare`, `QuasiStatic`, `RollPitch` or `independent_suspension`.
        * `alignment`: `FixedAlignment`, `LinearAlignment` or `alignment_tables`.
        * `steering`: `DirectSteering` or `SteeringWheel`.
        * `air`: `PlainAir`, `Aerodynamics` or `aero_map`.
        * `powertrain`: `WheelTorques`, `WheelMotors`, `MotorDrive` or `EngineDrive`.
        * `brakes`: `BrakeTorques` or `HydraulicBrakes`.
        * `trailers`: a `Trailer`, or several in a tuple.
        * `road`: a `Road`.
        """
        # Single values override whole records and sets.
        whole = dict[str, Any]()
        if isinstance(params, str):
            whole, params = set_values(params, Params._fields, values), None
            values = {n: whole.pop(n) for n in ("tyre", "front", "rear") if n in whole} | values
        elif record.is_record_type(type(params)):
            whole, params = params._asdict(), None  # of a car with any parts
        tyres = tyres_among(values, TYRES)
        if tyres is not None:
            whole["tyres"] = tyres
        if values.get("road") is not None:
            values["road"] = record_of(values["road"])
        if values.get("trailers") is not None:
            values["trailers"] = trailer_chain(values["trailers"])
        for name in PART_DUTIES:
            part = values.pop(name, None)
            if part is not None:
                whole[name] = _checked_part(name, part)
        tyres = whole.get("tyres", DEFAULT_TYRES)
        parts = {name: recipe_of(type(whole[name])) for name in PART_DUTIES if name in whole}
        if "road" in whole:
            parts["road"] = Recipe(road_type, tuple(map(type, whole["road"])))
        model = car_model(self.model.name, Parts(**parts), *map(type, tyres))
        # A different choice of parts may lack some parameters of this car.
        kept = {name: whole[name] for name in whole if name in model.Params._fields}
        return Vehicle(model, record.build(model.Params, params, **kept | values))


def _checked_part(name: str, part: Any) -> Any:
    allowed, duties = PART_DUTIES[name]
    plain = type(part) is getattr(Parts(), name) or (
        name == "powertrain" and isinstance(part, WHEEL_DRIVES)
    )
    able = record.is_record_type(type(part)) and all(hasattr(part, duty) for duty in duties)
    if plain or able:
        return assembled(part)
    raise InvalidValue(f"{name} must be {allowed} record, or None for the usual, got {part!r}")


two_track = TwoTrackFactory(car_model("two_track", Parts(), *map(type, DEFAULT_TYRES)))

NAME = "formula_student"


def geometry(p: Any) -> Geometry:
    """Geometry with tub and wings about the wheels of `two_track`."""
    outlines = open_wheeler(p.l_f, -p.l_r, 0.5 * (p.track_f + p.track_r))
    return replace(body.geometry(p), outlines=outlines)


@built_once
def _named(model: Model) -> Model:
    """Model of a `two_track` with the name, defaults and outlines of this car."""
    assert model.body is not None
    hints = get_type_hints(model.Params, include_extras=True)
    own = {
        name: value
        for name, value in two_track(NAME).params._asdict().items()
        if name in hints and type(value) in (float, hints[name])
    }
    text = "A Formula Student car within the rules; sources: `twin_track.sets`."
    return replace(
        model,
        name=NAME,
        Params=redefined(model.Params, defaults=own, doc=text),
        body=replace(model.body, geometry=geometry),
        summary="The default car: one model from standstill to the limit",
    )


class FormulaStudentFactory(VehicleFactory):
    """Makes Formula Student cars: `formula_student(m=240.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car with the parameter set `formula_student`; arguments as for `two_track`."""
        if isinstance(params, str):
            raise InvalidValue(
                f"{NAME} is a parameter set, and {params!r} another: two_track has it"
            )
        with postponed():
            if params is None or isinstance(params, Mapping):
                car = two_track(NAME, **{**(params or {}), **values})
            else:
                car = two_track(params, **values)
        model = _named(car.model)
        return Vehicle(model, model.Params(*car.params))


formula_student = FormulaStudentFactory(_named(two_track(NAME).model))


G = 9.81


class SuspensionKind(NamedTuple):
    """Typical suspension values of a kind of car (all estimates)."""

    unsprung: float = 0.055
    """Unsprung mass of an axle over the mass of the car."""
    bounce_f: float = 1.2
    """Bounce frequency of the body on the front springs, in Hz."""
    bounce_r: float = 1.4
    """Bounce frequency of the body on the rear springs, in Hz."""
    damping: float = 0.3
    """Damping ratio."""
    roll: float = 5.0
    """Roll gradient, in deg per g."""
    h_rc_f: float = 0.04
    """Height of the front roll centre, in m."""
    h_rc_r: float = 0.1
    """Height of the rear roll centre, in m."""
    anti: float = 0.2
    """Share of the links in the load transfer of braking (anti-dive and rear anti-lift)."""
    gap: float = 0.07
    """Travel before the stops engage, in m."""


KINDS: Mapping[str, SuspensionKind] = {
    "compact": SuspensionKind(),
    "sports": SuspensionKind(bounce_f=1.45, bounce_r=1.55, damping=0.35, roll=2.0, gap=0.05),
    "suv": SuspensionKind(bounce_f=1.2, bounce_r=1.35, roll=5.5, h_rc_f=0.06, h_rc_r=0.12),
    "race": SuspensionKind(0.05, 4.0, 4.5, 0.6, 0.2, 0.02, 0.04, 0.2, 0.025),
    "formula_student": SuspensionKind(0.08, 2.8, 3.0, 0.6, 0.8, 0.03, 0.05, 0.2, 0.025),
    "small_scale": SuspensionKind(0.05, 4.0, 4.2, 0.4, 2.0, 0.01, 0.015, 0.0, 0.008),
}
"""Typical suspension values, by the name of the parameter set."""


def estimated_suspension(name: str) -> Any:
    car, kind = car_set(name), KINDS[name]
    p = Params()._replace(**car.values)
    layout = _layout(kind, car, p)
    body = sprung_mass(layout, p)
    carried = (0.5 * body.front, 0.5 * body.rear)
    bounce = (kind.bounce_f, kind.bounce_r)
    rates = [m * (2.0 * math.pi * f) ** 2 for m, f in zip(carried, bounce, strict=True)]
    # Anti-roll bars for the roll gradient of the kind, with a front share `roll_front` of the load
    # transfer; 0 where the springs alone are stiffer.
    roll = math.radians(kind.roll) / G
    moment = p.m * p.z_cg + body.m * body.arm * G * roll
    shares, tracks = (p.roll_front, 1.0 - p.roll_front), (p.track_f, p.track_r)
    columns = zip(shares, roll_levers(layout, p), rates, tracks, strict=True)
    bars = [
        max((share * moment - past) / roll / track**2 - 0.5 * k, 0.0)
        for share, past, k, track in columns
    ]
    front, rear = (_corner(kind, m, k, bar) for m, k, bar in zip(carried, rates, bars, strict=True))
    return independent_suspension(layout, front, rear)


def _layout(kind: SuspensionKind, car: CarSet, p: Params) -> SuspendedBody:
    unsprung = kind.unsprung * p.m
    m_s = p.m - 2.0 * unsprung
    track = 0.5 * (p.track_f + p.track_r)
    lever = kind.anti * p.z_cg / (p.l_f + p.l_r)
    c_t = [0.04 * math.sqrt(tyre.carcass.C_z * 0.5 * unsprung) for tyre in (car.front, car.rear)]
    return SuspendedBody(
        I_x=0.16 * m_s * track**2,
        I_y=0.92 * p.I_z * m_s / p.m,
        m_u_f=unsprung,
        m_u_r=unsprung,
        h_u_f=car.front.carcass.radius,
        h_u_r=car.rear.carcass.radius,
        h_rc_f=kind.h_rc_f,
        h_rc_r=kind.h_rc_r,
        anti_f=lever / p.brake_front,
        anti_r=lever / (1.0 - p.brake_front),
        c_t_f=c_t[0],
        c_t_r=c_t[1],
    )


def _corner(kind: SuspensionKind, carried: float, k: float, bar: float) -> Any:
    c = 2.0 * kind.damping * math.sqrt(k * carried)
    stop = BumpStop(gap=kind.gap, k=6.0 * k, width=0.15 * kind.gap)
    return corner(
        spring=LinearSpring(k=k),
        damper=KneedDamper(
            c_bump=0.7 * c, c_rebound=1.3 * c, c_bump_fast=0.35 * c, c_rebound_fast=0.6 * c
        ),
        bump_stop=stop,
        rebound_stop=stop._replace(gap=1.15 * kind.gap),
        bar=AntiRollBar(k=bar),
    )


DEFAULT = independent_suspension()


@dataclass(frozen=True, repr=False)
class FullCarFactory(TwoTrackFactory):
    """Makes cars on independent suspensions: `full_car(front=T1, rear=T2, m=1300.0)`."""

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `chassis` is an `independent_suspension`; all other parts are those of `two_track`.
        `params` may be the name of a parameter set, whose suspension is an estimate.
        """
        if isinstance(params, str):
            slip = car_set(params).slip
            low = LowSpeed() if slip is None else LowSpeed(v_low=slip.v_low)
            own = {"chassis": estimated_suspension(params), "slip": FirstOrderSlip(low)}
        elif record.is_record_type(type(params)):
            own = {"chassis": getattr(params, "chassis", DEFAULT)}
        else:
            own = {"chassis": DEFAULT, "slip": FirstOrderSlip()}
        values = own | values
        if "z_fl" not in getattr(getattr(values["chassis"], "States", None), "_fields", ()):
            kind = type(values["chassis"]).__name__
            raise InvalidValue(
                f"chassis of a full_car must be an independent_suspension, got a {kind}; with "
                "another chassis it is a two_track"
            )
        return super().__call__(params, **values)


full_car = FullCarFactory(
    car_model(
        "full_car",
        Parts(slip=FirstOrderSlip, chassis=recipe_of(type(DEFAULT))),
        *map(type, DEFAULT_TYRES),
    )
)
