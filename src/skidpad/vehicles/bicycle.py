"""`single_track`: the nonlinear bicycle, with any tyre model on each axle.

A planar body on two axles whose tyres make forces by slip angle; wheel spin is not a state. The
input of drive and brakes is a longitudinal force, or an acceleration, that the axles share within
the grip of their tyres. Axle loads follow the longitudinal force. Equations: docs/vehicles.md.

    single_track()                                  # a compact car on default tyres
    single_track("sports")                          # a car of a parameter set
    single_track(front=T1, rear=T2, m=1300.0)       # a tyre per axle
    single_track(drive=AccelerationCommand())       # driven by an acceleration, not a force
    single_track(slip=FirstOrderSlip())             # slip behind relaxation lengths

An axle is a left and a right tyre, each under half of the load and at the same slip angle. The
right tyre is the mirror image of the left one, so the forces of a tyre at zero slip (conicity, ply
steer) cancel. Drive and brakes demand a force along the wheels, which uses up a share of the grip;
the friction ellipse (`tyres.contract.use`) gives the lateral force that remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from .. import units as si
from ..core import record
from ..core.body import Demand, Geometry, GroundUnder, Limits
from ..core.model import Model, Vehicle, VehicleFactory, built_once
from ..core.record import extended, made_once
from ..errors import InvalidValue
from ..geometry.pose import turned, turned_back
from ..ops import atan, cos, sin
from ..tyres.contract import (
    Contact,
    SlipState,
    each_tyre,
    effective_radius,
    mounted,
    tyre_set_type,
    use,
)
from .commonroad.cars import FORD_ESCORT
from .parts.actuators import (
    HOLD_TIME,
    AccelerationCommand,
    ForceCommand,
    demanded_acceleration,
    drag,
    fraction,
    front_share,
    lag,
    limited,
    rate_limited_lag,
)
from .parts.air import downforce
from .parts.assembly import (
    PlanarState,
    Push,
    geometry_about_axles,
    redefined,
    sliding_car,
    tyres_among,
    weight_along,
)
from .parts.chassis import WheelMoments, push_of
from .parts.kinematics import Acceleration, kinetic_energy, pose_rate, velocity_rate
from .parts.load_transfer import (
    AxleWeights,
    Force,
    axle_weights,
    axles_on_road,
    floored_speed,
    pitch_transfer,
)
from .parts.spinning_wheel import FirstOrderSlip, SteadySlip, each_wheel, rolling_radius
from .twin_track.body import WHEEL_WIDTH
from .twin_track.records import DEFAULT_TYRES
from .twin_track.sets import set_values


@extended
class State(PlanarState):
    """Pose, velocity, actuators and the lagged acceleration that sets the axle loads."""

    steer: si.rad = 0.0
    """Angle of the front wheels, positive to the left."""
    F_drive: si.N = 0.0
    """Longitudinal force that drive and brakes demand of the tyres, forward positive."""
    load_a_x: si.m_s2 = 0.0
    """Longitudinal acceleration by tyre forces that the axle loads respond to; follows the
    forces with the time constant `t_load`. Wheel moments count as a force at the road."""


@extended
class FirstOrderState(State):
    """State with the lagged slip of the tyres of each axle."""

    tan_alpha_f: si.one = 0.0
    """Tangent of the lagged slip angle of the front tyres, positive when they drift to the
    left; the opposite sign of the output `alpha_f`."""
    tan_alpha_r: si.one = 0.0
    """Tangent of the lagged slip angle of the rear tyres, same sign as `tan_alpha_f`."""


@extended
class External(Push):
    """Disturbances: external forces, yaw moment and grip. The defaults do nothing."""

    mu_f: Annotated[si.one, si.non_negative] = 1.0
    """Friction of the road under the front wheels, relative to that of the tyre measurement."""
    mu_r: Annotated[si.one, si.non_negative] = 1.0
    """Friction of the road under the rear wheels, relative to that of the tyre measurement."""


class Outputs(NamedTuple):
    """Accelerations; load, slip angle and force of each axle (both wheels together)."""

    a_x: si.m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: si.m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    F_z_f: si.N
    """Load of the front axle."""
    F_z_r: si.N
    """Load of the rear axle."""
    alpha_f: si.rad
    """Slip angle of the front wheels, positive when the tyres push to the left."""
    alpha_r: si.rad
    """Slip angle of the rear wheels, positive when the tyres push to the left."""
    F_x_f: si.N
    """Force along the front wheels."""
    F_x_r: si.N
    """Force along the rear wheels."""
    F_y_f: si.N
    """Force across the front wheels, positive to the left."""
    F_y_r: si.N
    """Force across the rear wheels, positive to the left."""


class Params(NamedTuple):
    """Parameters; by default a compact car with front drive, the car of `two_track`.

    Values are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2) or follow from
    them; estimates are marked.
    """

    m: Annotated[si.kg, si.positive] = FORD_ESCORT["m"]
    """Mass. The rotational inertia of the wheels does not add to it."""
    I_z: Annotated[si.kg_m2, si.positive] = FORD_ESCORT["I_z"]
    """Yaw inertia about the centre of mass."""
    I_w: Annotated[si.kg_m2, si.non_negative] = FORD_ESCORT["I_w"]
    """Inertia of a wheel about its axle; spinning the wheels up moves axle load."""
    l_f: Annotated[si.m, si.positive] = FORD_ESCORT["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[si.m, si.positive] = FORD_ESCORT["l_r"]
    """Distance from the centre of mass to the rear axle."""
    z_cg: Annotated[si.m, si.non_negative] = 0.567
    """Height of the centre of mass; the value of `two_track`."""
    t_load: Annotated[si.s, si.positive] = 0.05
    """Time constant with which the axle loads follow the tyre forces (estimate)."""
    F_lift: Annotated[si.N, si.positive] = 50.0
    """Load below which an axle lifts off, smoothly; also the least grip in the use of grip."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    C_drag: Annotated[si.N_s2_m2, si.non_negative] = 0.8
    """Drag coefficient: air drag is ½ C_drag v_x², at the centre of mass (estimate: 1.2 kg/m³,
    c 0.33, 2 m²)."""
    C_down: Annotated[si.N_s2_m2, si.non_negative] = 0.0
    """Downforce coefficient: downforce is ½ C_down v_x²."""
    down_front: fraction = 0.5
    """Share of the downforce on the front axle."""
    use_max: Annotated[si.one, si.Allowed(0.0, 0.999, open_low=True)] = 0.95
    """Largest share of the longitudinal grip that drive and brakes may use."""
    drive_front: fraction = FORD_ESCORT["engine_split"]
    """Share of the drive force on the front axle."""
    brake_front: fraction = FORD_ESCORT["brake_split"]
    """Share of the brake force on the front axle."""
    v_brake: Annotated[si.m_s, si.positive] = 0.5
    """Speed above which a force against the motion is taken from the brakes alone."""
    t_drive: Annotated[si.s, si.positive] = 0.05
    """Time constant of drive and brakes (estimate)."""
    t_steer: Annotated[si.s, si.positive] = 0.05
    """Time constant of the steering (estimate)."""
    steer_max: Annotated[si.rad, si.non_negative] = 0.6
    """Largest steering target, either side (estimate)."""
    steer_rate_max: Annotated[si.rad_s, si.non_negative] = 0.8
    """Largest steering rate, either side (estimate)."""
    length: Annotated[si.m, si.positive] = FORD_ESCORT["length"]
    """Length of the outline; does not influence the motion."""
    width: Annotated[si.m, si.positive] = FORD_ESCORT["width"]
    """Width of the outline; does not influence the motion."""
    height: Annotated[si.m, si.positive] = 1.4
    """Height of the outline; does not influence the motion (estimate)."""
    drive: ForceCommand = ForceCommand()
    """Kind of input for drive and brakes: force or acceleration."""
    slip: SteadySlip = SteadySlip()
    """Slip law: steady-state, or first order behind relaxation lengths."""
    tyres: Any = None
    """Set of tyres, left and right on each axle."""


@made_once
def params_type(tyres: type, slip: type, drive: type) -> Any:
    """Return the parameter record type for a class of tyre sets, a slip law and a kind of input."""
    kinds = {"drive": drive, "slip": slip, "tyres": tyres}
    usual = DEFAULT_TYRES if isinstance(DEFAULT_TYRES, tyres) else None
    return redefined(Params, kinds, {"drive": drive(), "slip": slip(), "tyres": usual})


def axle_tyres(p: Params) -> tuple[Any, Any]:
    front, _, rear, _ = each_tyre(p.tyres)
    return front, rear


def standing_contacts(p: Params) -> list[tuple[Any, Contact]]:
    """Tyre and contact of a front and of a rear wheel, for the car at rest."""
    loads = axle_weights(p.m * p.g, 0.0, 0.5, p)
    pairs = zip(axle_tyres(p), loads, strict=True)
    return [(tyre, Contact(F_z=0.5 * load, p=tyre.pressure)) for tyre, load in pairs]


def standing_grips(p: Params) -> list[si.one]:
    """Peak lateral friction coefficient of the tyres of each axle, for the car at rest."""
    return [tyre.peaks(at).mu_y for tyre, at in standing_contacts(p)]


def geometry(p: Params) -> Geometry:
    """Geometry about the axles, drawn with four wheels."""
    radius = max(float(rolling_radius(tyre, at.F_z, 0.0)) for tyre, at in standing_contacts(p))
    wheels: dict[str, Any] = {"wheel_radius": radius, "wheel_width": WHEEL_WIDTH * radius}
    return geometry_about_axles(p, **wheels, height=p.height, mass=p.m, inertia=p.I_z)


def limits(p: Params) -> Limits:
    a_min, a_max = p.drive.limits(p.m)
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=a_max,
        a_min=a_min,
        grip=float(min(standing_grips(p))) * p.g,
        inputs={"steer": (-p.steer_max, p.steer_max), **p.drive.ranges()},
    )


def command(x: State, wish: Demand, p: Params) -> Any:
    """Convert a demand to the input; the force includes what overcomes air drag.

    A car that is demanded to slow down stops and stays at rest; it reverses only if the demanded
    speed is negative, too.
    """
    a = demanded_acceleration(wish, x.v_x, HOLD_TIME + 2.0 * p.t_drive)
    force = p.m * a - drag(x.v_x, p.C_drag)
    return p.drive.input(limited(wish.steer, p.steer_max), force, p.m)


def on_ground(x: State, u: Any, w: Any, ground: GroundUnder, p: Params) -> tuple[Any, Any]:
    """Apply gravity at the centre of mass, and to each axle the mean friction under its wheels."""
    changes: dict[str, Any] = {**weight_along(ground, p.m)}
    if ground.mu is not None or ground.grip is not None:
        own_f, own_r = standing_grips(p)
        fl, fr, rl, rr = ground.friction_shares((own_f, own_f, own_r, own_r)) or (1.0,) * 4
        changes |= {"mu_f": 0.5 * (fl + fr), "mu_r": 0.5 * (rl + rr)}
    return u, w._replace(**changes)


BODY = sliding_car(
    geometry=geometry, limits=limits, command=command, on_ground=on_ground, gravity="g"
)


class AxleMotion(NamedTuple):
    """Motion and load of an axle in the axes of its wheels, and the force demanded of it."""

    F_z: si.N
    """Load of both wheels."""
    v_x: si.m_s
    """Velocity of the middle of the axle along the wheels."""
    v_y: si.m_s
    """Velocity of the middle of the axle across the wheels, positive to the left."""
    omega: si.rad_s
    """Yaw rate, positive to the left."""
    mu: si.one
    """Friction of the road, relative to that of the tyre measurement."""
    demand: si.N
    """Longitudinal force that drive and brakes demand, forward positive."""


class AxleSlip(NamedTuple):
    """Contact and slip of the two wheels of an axle."""

    contact: Contact
    """Contact of one wheel, without its slip."""
    tan_alpha: si.one
    """Tangent of the slip angle that makes force, positive when the patch drifts to the left."""
    tan_alpha_rate: si.per_s
    """Rate of `tan_alpha`, if it is a state."""


class AxleForces(NamedTuple):
    """Forces and moments of the road on both wheels of an axle, in the axes of the wheels."""

    F_x: si.N
    """Force along the wheels, rolling resistance included; forward positive."""
    F_y: si.N
    """Force across the wheels, positive to the left."""
    M_y: si.Nm
    """Rolling resistance moment; negative when the wheels roll forward."""
    M_z: si.Nm
    """Aligning moment, positive to the left."""
    R_e: si.m
    """Effective rolling radius."""
    tan_alpha_rate: si.per_s
    """Rate of the tangent of the slip angle, if it is a state."""


class GripShare(NamedTuple):
    """Limits on how much grip drive and brakes may use."""

    most: si.one
    """Largest usable share of the longitudinal grip, below 1."""
    F_floor: si.N
    """Least grip used in the division by grip, for an axle that lifts off."""


def axle_slip(tyre: Any, law: Any, tan_alpha: si.one, at: AxleMotion) -> AxleSlip:
    """Contact and slip of an axle's tyres; `tan_alpha` is the lagged slip, if `law` has one."""
    contact = Contact(
        F_z=0.5 * at.F_z,
        phi_t=-at.omega / floored_speed(at.v_x, law.v_low),
        v_x=at.v_x,
        v_y=at.v_y,
        omega=0.0 * at.omega,
        p=tyre.pressure,
        mu=at.mu,
    )
    contact = contact._replace(omega=at.v_x / effective_radius(tyre, contact))
    # Wheels without a spin state roll without longitudinal slip.
    slip = SlipState(0.0 * tan_alpha, tan_alpha)
    acting, rate = law.acting(slip, 0.0 * at.v_x, at.v_y, tyre, contact)
    return AxleSlip(contact, acting.tan_alpha, rate.tan_alpha)


def axle_forces(
    tyre: Any, law: Any, tan_alpha: si.one, at: AxleMotion, share: GripShare
) -> AxleForces:
    """Forces of an axle's tyres; `tan_alpha` is the lagged slip, if `law` has one."""
    contact, acting, rate = axle_slip(tyre, law, tan_alpha, at)
    contact = contact._replace(alpha=atan(acting))
    left, right = (mounted(tyre, contact, side) for side in (1.0, -1.0))
    grip = tyre.peaks(contact).mu_x * at.F_z
    M_y, R_e = left.M_y + right.M_y, effective_radius(tyre, contact)
    used = use(at.demand + M_y / R_e, grip, share.most, share.F_floor)
    return AxleForces(
        grip * (used.firm + used.sliding),
        used.across * (left.F_y + right.F_y),
        M_y,
        used.across * (left.M_z + right.M_z),
        R_e,
        rate,
    )


def pitched_loads(at_rest: AxleWeights, a_x: si.m_s2, p: Any) -> AxleWeights:
    """Axle loads when the tyres push the car with the force m `a_x`; never negative.

    The sum is that of `at_rest`: what would be a negative load on one axle is taken off the other.
    """
    pitch = pitch_transfer(a_x, p)
    return axles_on_road(at_rest.front - pitch, at_rest.rear + pitch, p)


TYRES = (("tyre",), ("front", "rear"))
"""Groups of tyre keywords of the factory: one tyre for all wheels, or one for each axle."""


class Motion(NamedTuple):
    """Quantities of one instant that both the derivative and the outputs need."""

    axles: tuple[AxleMotion, AxleMotion]
    front: AxleForces
    rear: AxleForces
    pushed: si.m_s2
    """Longitudinal acceleration by tyre forces and wheel moments, which moves load."""
    a: Acceleration
    moment: si.Nm


def slips(x: Any, p: Params) -> tuple[si.one, si.one]:
    """Lagged slip of the front and the rear axle; zeros if slip is not a state."""
    return (x.tan_alpha_f, x.tan_alpha_r) if p.slip.states else (0.0, 0.0)


def motion(x: Any, w: External, p: Params) -> Motion:
    """Loads, tyre forces, acceleration and yaw moment of one instant."""
    c, s = cos(x.steer), sin(x.steer)
    standing = axle_weights(p.m * p.g, downforce(x.v_x, p.C_down), p.down_front, p)
    loads = pitched_loads(standing, x.load_a_x, p)
    share = front_share(x.F_drive, x.v_x, p.drive_front, p.brake_front, p.v_brake)
    demand = share * x.F_drive
    v_f = turned_back(c, s, x.v_x, x.v_y + p.l_f * x.omega)
    v_r = (x.v_x, x.v_y - p.l_r * x.omega)
    axles = (
        AxleMotion(loads.front, *v_f, x.omega, w.mu_f, demand),
        AxleMotion(loads.rear, *v_r, x.omega, w.mu_r, x.F_drive - demand),
    )
    grip = GripShare(p.use_max, p.F_lift)
    columns = (axle_tyres(p), (p.slip,) * 2, slips(x, p), axles, (grip,) * 2)
    front, rear = each_wheel(axle_forces, *columns)
    at_front = Force(*turned(c, s, front.F_x, front.F_y))
    along, across = at_front.x + rear.F_x, at_front.y + rear.F_y
    by_mass = 1.0 / p.m
    air = drag(x.v_x, p.C_drag)
    a = Acceleration((along + air + w.F_x) * by_mass, (across + w.F_y) * by_mass)
    moment = p.l_f * at_front.y - p.l_r * rear.F_y + (front.M_z + rear.M_z) + w.M_z
    speeding = 2.0 * p.I_w * (1.0 / front.R_e + 1.0 / rear.R_e) * (a.x + x.v_y * x.omega)
    wheels = WheelMoments(pitch=(front.M_y + rear.M_y) - speeding)
    pushed = along * by_mass + push_of(wheels, p).x
    return Motion(axles, front, rear, pushed, a, moment)


def derivative(x: Any, u: Any, w: External, p: Params) -> Any:
    """Time derivative of the state; the steering limits are smooth if `p` has a `limit_width`
    (`variants.with_smooth_limits`)."""
    now = motion(x, w, p)
    width = getattr(p, "limit_width", None)
    rates = (
        *pose_rate(x.yaw, x.v_x, x.v_y, x.omega),
        *velocity_rate(now.a, x.v_x, x.v_y, x.omega),
        now.moment * (1.0 / p.I_z),
        rate_limited_lag(x.steer, u.steer, p.t_steer, p.steer_max, p.steer_rate_max, width),
        lag(x.F_drive, p.drive.force(u, p.m), p.t_drive),
        lag(x.load_a_x, now.pushed, p.t_load),
    )
    if not p.slip.states:
        return type(x)._make(rates)
    return type(x)._make((*rates, now.front.tan_alpha_rate, now.rear.tan_alpha_rate))


def outputs(x: Any, u: Any, w: External, p: Params) -> Outputs:
    now = motion(x, w, p)
    front, rear = now.front, now.rear
    columns = zip(axle_tyres(p), (p.slip,) * 2, slips(x, p), now.axles, strict=True)
    angles = (-atan(axle_slip(*axle).tan_alpha) for axle in columns)
    loads = (axle.F_z for axle in now.axles)
    forces = (front.F_x, rear.F_x, front.F_y, rear.F_y)
    return Outputs._make((*now.a, *loads, *angles, *forces))


def energy(x: State, p: Params) -> si.J:
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


@built_once
def _model(drive: Any, slip: type, *tyres: type) -> Model:
    """Model for a kind of input, a slip law and one or two classes of tyres."""
    first_order = slip().states
    names = ", ".join(dict.fromkeys(tyre.__name__ for tyre in tyres))
    return Model(
        name="single_track",
        State=FirstOrderState if first_order else State,
        Input=drive.Input,
        Params=params_type(tyre_set_type(*tyres), slip, drive),
        Outputs=Outputs,
        Disturbance=External,
        derivative=derivative,
        outputs=outputs,
        # The energy of a deflected tyre has no closed form for every tyre.
        energy=None if first_order else energy,
        body=BODY,
        summary=f"Nonlinear bicycle with any tyre on each axle: {names}",
    )


@dataclass(frozen=True, repr=False)
class SingleTrackFactory(VehicleFactory):
    """Makes single-track cars on any tyres: `single_track(front=T1, rear=T2, m=1300.0)`."""

    def __call__(
        self, params: Any = None, /, *, slip: Any = None, drive: Any = None, **values: Any
    ) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        Args:
            params: a parameter record, a mapping, or the name of a parameter set.
            slip: a `SteadySlip` or a `FirstOrderSlip`.
            drive: a `ForceCommand` or an `AccelerationCommand`.
            values: further parameters by name; `tyre`, or `front` and `rear`, are tyre records
                or tyres read from a file.
        """
        if "road" in values:
            raise InvalidValue(
                "single_track has no part road; put the car on one: "
                "sp.vehicles.on_road(sp.vehicles.single_track(...), road)"
            )
        if isinstance(params, str):
            kinds = {"slip": slip, "drive": drive}
            other = {*values, *(name for name, kind in kinds.items() if kind is not None)}
            values = set_values(params, Params._fields, other) | values
            slip, drive = values.pop("slip", slip), values.pop("drive", drive)
            params = None
        tyres = tyres_among(values, TYRES)
        whole = dict[str, Any]()
        if record.is_record_type(type(params)):
            whole, params = params._asdict(), None  # of a car on any tyres
        if tyres is not None:
            whole["tyres"] = tyres
        if slip is not None:
            whole["slip"] = _checked("slip", slip, SteadySlip, FirstOrderSlip)
        if drive is not None:
            whole["drive"] = _checked("drive", drive, ForceCommand, AccelerationCommand)
        tyres, law = whole.get("tyres", DEFAULT_TYRES), whole.get("slip", SteadySlip())
        model = _model(type(whole.get("drive", ForceCommand())), type(law), *map(type, tyres))
        return Vehicle(model, record.build(model.Params, params, **whole | values))


def _checked(name: str, value: Any, *kinds: type) -> Any:
    if isinstance(value, kinds):
        return value
    allowed = " or ".join(kind.__name__ for kind in kinds)
    raise InvalidValue(f"{name} must be a record of class {allowed}, got {value!r}")


single_track = SingleTrackFactory(_model(ForceCommand, SteadySlip, *map(type, DEFAULT_TYRES)))
