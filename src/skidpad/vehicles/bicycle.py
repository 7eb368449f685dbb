"""`single_track`: the nonlinear bicycle, with any tyre on each axle.

A planar body on two axles that make forces by slip angle; wheel spin is no state. Drive and brakes
are a force along the wheels, or that over the mass, shared by the axles within the grip of their
tyres. Axle loads follow the force along the car. Equations: docs/vehicles.md.

    single_track()                                  # a compact car on default tyres
    single_track("sports")                          # a car of a parameter set
    single_track(front=T1, rear=T2, m=1300.0)       # a tyre per axle
    single_track(drive=AccelerationCommand())       # driven by an acceleration, not a force
    single_track(slip=FirstOrderSlip())             # slip behind relaxation lengths

An axle is two tyres side by side, a left and a right one under half of the load each, at the same
slip angle. The right tyre is the mirror image of the left one, so what a tyre does to one side at
zero slip (conicity, ply steer) cancels. Drive and brakes demand a force along the wheels, which
uses up a share of the grip there; what is left across is that of the friction ellipse
(`tyres.contract.use`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.body import Demand, Geometry, GroundUnder, Limits
from ..core.model import Model, Vehicle, VehicleFactory, built_once
from ..core.record import extended, made_once
from ..errors import InvalidValue
from ..geometry.pose import turned, turned_back
from ..ops import atan, cos, sin
from ..tyres.contract import (
    Contact,
    each_tyre,
    effective_radius,
    mounted,
    tyre_set_type,
    use,
)
from ..tyres.relaxation import SlipState
from ..units import (
    Allowed,
    J,
    N,
    N_s2_m2,
    Nm,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    per_s,
    positive,
    rad,
    rad_s,
    s,
)
from .commonroad.records import FORD_ESCORT
from .parts.actuators import lag, limited, rate_limited_lag
from .parts.air import downforce
from .parts.assembly import redefined, tyres_among
from .parts.car_bodies import geometry_about_axles, sliding_car, weight_along
from .parts.chassis import WheelMoments, push_of
from .parts.drive_command import (
    HOLD_TIME,
    AccelerationCommand,
    ForceCommand,
    demanded_acceleration,
    drag,
    front_share,
)
from .parts.kinematics import (
    Acceleration,
    kinetic_energy,
    pose_rate,
    velocity_rate,
)
from .parts.load_transfer import (
    AxleWeights,
    Force,
    axle_weights,
    floored_speed,
)
from .parts.spinning_wheel import FirstOrderSlip, SteadySlip, each_wheel, rolling_radius
from .twin_track.body import WHEEL_WIDTH
from .twin_track.records import DEFAULT_TYRES, share
from .twin_track.sets import set_values


class State(NamedTuple):
    """Pose, velocity, actuators and how far loads have followed the forces."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    v_x: m_s = 0.0
    """Velocity of the centre of mass along the car, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the centre of mass across the car, positive to the left."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    steer: rad = 0.0
    """Angle of the front wheels, positive to the left."""
    F_drive: N = 0.0
    """Force along the wheels that drive and brakes ask of the tyres, forward positive."""
    load_a_x: m_s2 = 0.0
    """Force of the tyres along the car over its mass that the axle loads have answered to; moments
    of the wheels count as a force at the road."""


@extended
class FirstOrderState(State):
    """The same with the slip that the tyres of each axle feel."""

    tan_alpha_f: one = 0.0
    """Tangent of the slip angle that the front tyres feel, positive when they drift to the left:
    the sign of tyres, not that of the output `alpha_f`."""
    tan_alpha_r: one = 0.0
    """Tangent of the slip angle of the rear tyres."""


class External(NamedTuple):
    """What the world does to the car. The defaults do nothing."""

    F_x: N = 0.0
    """Force at the centre of mass along the car, forward positive."""
    F_y: N = 0.0
    """Force at the centre of mass across the car, positive to the left."""
    M_z: Nm = 0.0
    """Yaw moment, positive to the left."""
    mu_f: Annotated[one, non_negative] = 1.0
    """Grip under the front wheels over that on which their tyres were measured."""
    mu_r: Annotated[one, non_negative] = 1.0
    """Grip under the rear wheels."""


class Outputs(NamedTuple):
    """Accelerations and, for each axle, load, slip angle and force of both wheels."""

    a_x: m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    F_z_f: N
    """Load of the front axle."""
    F_z_r: N
    """Load of the rear axle."""
    alpha_f: rad
    """Slip angle of the front wheels, positive when the tyres push to the left."""
    alpha_r: rad
    """Slip angle of the rear wheels."""
    F_x_f: N
    """Force along the front wheels."""
    F_x_r: N
    """Force along the rear wheels."""
    F_y_f: N
    """Force across the front wheels, positive to the left."""
    F_y_r: N
    """Force across the rear wheels, positive to the left."""


class Params(NamedTuple):
    """A compact car with front drive: the car of `two_track` as a single track.

    Numbers are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2), or follow from
    them; what is an estimate says so.
    """

    m: Annotated[kg, positive] = FORD_ESCORT["m"]
    """Mass. The wheels' resistance to being spun up is left out."""
    I_z: Annotated[kg_m2, positive] = FORD_ESCORT["I_z"]
    """Yaw inertia about the centre of mass."""
    I_w: Annotated[kg_m2, non_negative] = FORD_ESCORT["I_w"]
    """Inertia of a wheel about its axle: wheels that are sped up turn the car, which moves load."""
    l_f: Annotated[m, positive] = FORD_ESCORT["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = FORD_ESCORT["l_r"]
    """Distance from the centre of mass to the rear axle."""
    z_cg: Annotated[m, non_negative] = 0.567
    """Height of the centre of mass, as of `two_track`."""
    t_load: Annotated[s, positive] = 0.05
    """Time constant with which the axle loads follow the forces of the tyres (estimate)."""
    F_lift: Annotated[N, positive] = 50.0
    """Load below which an axle lifts, smoothly; and grip that stands in for a smaller one."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    C_drag: Annotated[N_s2_m2, non_negative] = 0.8
    """Air drag is ½ C_drag v_x², at the centre of mass (estimate: 1.2 kg/m³, c 0.33, 2 m²)."""
    C_down: Annotated[N_s2_m2, non_negative] = 0.0
    """Downforce is ½ C_down v_x²."""
    down_front: share = 0.5
    """Share of the downforce on the front axle."""
    use_max: Annotated[one, Allowed(0.0, 0.999, open_low=True)] = 0.95
    """Largest share of the grip along the wheels that drive and brakes use."""
    drive_front: share = FORD_ESCORT["engine_split"]
    """Share of the front axle in what drives."""
    brake_front: share = FORD_ESCORT["brake_split"]
    """Share of the front axle in what brakes."""
    v_brake: Annotated[m_s, positive] = 0.5
    """Speed from which a force against the motion is one of the brakes alone."""
    t_drive: Annotated[s, positive] = 0.05
    """Time constant of drive and brakes (estimate)."""
    t_steer: Annotated[s, positive] = 0.05
    """Time constant of the steering (estimate)."""
    steer_max: Annotated[rad, non_negative] = 0.6
    """Largest steering target, either side (estimate)."""
    steer_rate_max: Annotated[rad_s, non_negative] = 0.8
    """Largest steering rate, either side (estimate)."""
    length: Annotated[m, positive] = FORD_ESCORT["length"]
    """It does not influence the motion."""
    width: Annotated[m, positive] = FORD_ESCORT["width"]
    """It does not influence the motion."""
    height: Annotated[m, positive] = 1.4
    """It does not influence the motion (estimate)."""
    drive: ForceCommand = ForceCommand()
    """What the input of drive and brakes is."""
    slip: SteadySlip = SteadySlip()
    """How slip follows the motion."""
    tyres: Any = None
    """The tyres."""


@made_once
def params_type(tyres: type, slip: type, drive: type) -> Any:
    """The parameters of a car on a class of tyre sets, with a law of slip and a kind of input."""
    kinds = {"drive": drive, "slip": slip, "tyres": tyres}
    usual = DEFAULT_TYRES if isinstance(DEFAULT_TYRES, tyres) else None
    return redefined(Params, kinds, {"drive": drive(), "slip": slip(), "tyres": usual})


def axle_tyres(p: Params) -> tuple[Any, Any]:
    """The tyre of the front and of the rear axle."""
    front, _, rear, _ = each_tyre(p.tyres)
    return front, rear


def standing_contacts(p: Params) -> list[tuple[Any, Contact]]:
    """Tyre of a front and of a rear wheel of the car that stands, and how it touches the road."""
    loads = axle_weights(p.m * p.g, 0.0, 0.5, p)
    pairs = zip(axle_tyres(p), loads, strict=True)
    return [(tyre, Contact(F_z=0.5 * load, p=tyre.pressure)) for tyre, load in pairs]


def standing_grips(p: Params) -> list[one]:
    """Largest lateral friction of the tyres of each axle of the car that stands."""
    return [tyre.peaks(at).mu_y for tyre, at in standing_contacts(p)]


def geometry(p: Params) -> Geometry:
    """A car about its axles; it is drawn with four wheels."""
    radius = max(float(rolling_radius(tyre, at.F_z, 0.0)) for tyre, at in standing_contacts(p))
    return geometry_about_axles(p, wheel_radius=radius, wheel_width=WHEEL_WIDTH * radius)


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


def command(x: State, wish: Demand, p: Params) -> Any:
    """The force for an acceleration, in spite of the air; who asks to be slower stops and stays.

    It reverses for who also asks for a speed below 0.
    """
    a = demanded_acceleration(wish, x.v_x, HOLD_TIME + 2.0 * p.t_drive)
    force = p.m * a - drag(x.v_x, p.C_drag)
    return p.drive.input(limited(wish.steer, p.steer_max), force, p.m)


def on_ground(x: State, u: Any, w: Any, ground: GroundUnder, p: Params) -> tuple[Any, Any]:
    """Gravity pulls at the centre of mass; an axle has the mean friction under its wheels."""
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
    """How an axle moves over the road, in the axes of its wheels, and what is asked of it."""

    F_z: N
    """Load of both wheels."""
    v_x: m_s
    """Velocity of its middle along the wheels."""
    v_y: m_s
    """Velocity of its middle to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    mu: one
    """Grip of the road over that on which the tyres were measured."""
    demand: N
    """Force along the wheels that drive and brakes ask for, forward positive."""


class AxleSlip(NamedTuple):
    """How both wheels touch the road and slip over it."""

    contact: Contact
    """Contact of one wheel, without its slip."""
    tan_alpha: one
    """Tangent of the slip angle that makes force, positive when the patch drifts to the left."""
    tan_alpha_rate: per_s
    """Its rate, if it is a state."""


class AxleForces(NamedTuple):
    """What the road does to both wheels together, in their axes."""

    F_x: N
    """Along the wheels, with rolling resistance."""
    F_y: N
    """To the left."""
    M_y: Nm
    """Rolling resistance; negative when they roll forward."""
    M_z: Nm
    """Aligning moment, positive to the left."""
    R_e: m
    """Effective rolling radius."""
    tan_alpha_rate: per_s
    """Rate of the tangent of the slip angle, if that is a state."""


class GripShare(NamedTuple):
    """How far drive and brakes may use the grip."""

    most: one
    """Largest share of the grip along the wheels, below 1."""
    F_floor: N
    """Grip that stands in for a smaller one, as of an axle in the air."""


def axle_slip(tyre: Any, law: Any, tan_alpha: one, at: AxleMotion) -> AxleSlip:
    """Slip of a pair of tyres; `tan_alpha` is its state, if `law` has one."""
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
    # Wheels whose spin is no state roll: they do not slide along.
    slip = SlipState(0.0 * tan_alpha, tan_alpha)
    acting, rate = law.acting(slip, 0.0 * at.v_x, at.v_y, tyre, contact)
    return AxleSlip(contact, acting.tan_alpha, rate.tan_alpha)


def slip_angle(tyre: Any, law: Any, tan_alpha: one, at: AxleMotion) -> rad:
    """Slip angle that makes force, with the sign of all cars: positive when it pushes to the
    left."""
    return -atan(axle_slip(tyre, law, tan_alpha, at).tan_alpha)


def axle_forces(
    tyre: Any, law: Any, tan_alpha: one, at: AxleMotion, share: GripShare
) -> AxleForces:
    """Force of a pair of tyres; `tan_alpha` is the state of slip, if `law` has one."""
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


def pitched_loads(at_rest: AxleWeights, a_x: m_s2, p: Any) -> AxleWeights:
    """Axle loads while the tyres push along the car with the mass times `a_x`; never negative.

    They add up to those at rest: what an axle that lifts lacks, the other one has less.
    """
    pitch = (p.m * p.z_cg * (1.0 / (p.l_f + p.l_r))) * a_x
    front, rear = at_rest.front - pitch, at_rest.rear + pitch
    spilt = _lift(front, p.F_lift) - _lift(rear, p.F_lift)
    return AxleWeights(front + spilt, rear - spilt)


def _lift(F_z: N, width: N) -> N:
    return 0.5 * (floored_speed(F_z, width) - F_z)


TYRES = (("tyre",), ("front", "rear"))
"""The keywords of the factory that go together."""


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    axles: tuple[AxleMotion, AxleMotion]
    front: AxleForces
    rear: AxleForces
    pushed: m_s2
    """Force of the tyres along the car over the mass, and what the wheels that it speeds up add to
    it in moving load."""
    a: Acceleration
    moment: Nm


def axle_motions(x: State, c: one, s: one, w: External, p: Params) -> tuple[AxleMotion, AxleMotion]:
    """How each axle moves and is loaded; `c`, `s` are cosine and sine of the steering angle."""
    down = downforce(x.v_x, p.C_down)
    standing = axle_weights(p.m * p.g, down, p.down_front, p)
    loads = pitched_loads(standing, x.load_a_x, p)
    share = front_share(x.F_drive, x.v_x, p.drive_front, p.brake_front, p.v_brake)
    demand = share * x.F_drive
    v_f = turned_back(c, s, x.v_x, x.v_y + p.l_f * x.omega)
    v_r = (x.v_x, x.v_y - p.l_r * x.omega)
    return (
        AxleMotion(loads.front, *v_f, x.omega, w.mu_f, demand),
        AxleMotion(loads.rear, *v_r, x.omega, w.mu_r, x.F_drive - demand),
    )


def slips(x: Any, p: Params) -> tuple[one, one]:
    """The state of slip of each axle; nothing where slip is no state."""
    return (x.tan_alpha_f, x.tan_alpha_r) if p.slip.states else (0.0, 0.0)


def motion(x: Any, w: External, p: Params) -> Motion:
    """Loads, tyre forces and what they do to the body."""
    c, s = cos(x.steer), sin(x.steer)
    axles = axle_motions(x, c, s, w, p)
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
    """Time derivative of the state. If `p` has a limit_width the limits of the steering are smooth
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
    """Accelerations, loads, slip angles and forces of the axles."""
    now = motion(x, w, p)
    front, rear = now.front, now.rear
    columns = zip(axle_tyres(p), (p.slip,) * 2, slips(x, p), now.axles, strict=True)
    angles = (slip_angle(*axle) for axle in columns)
    loads = (axle.F_z for axle in now.axles)
    forces = (front.F_x, rear.F_x, front.F_y, rear.F_y)
    return Outputs._make((*now.a, *loads, *angles, *forces))


def energy(x: State, p: Params) -> J:
    """Kinetic energy of the body."""
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


@built_once
def _model(drive: Any, slip: type, *tyres: type) -> Model:
    """The car with a kind of input and a law of slip on one or two classes of tyres."""
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
        # A deflected tyre stores energy, too, which no closed form tells for every tyre.
        energy=None if first_order else energy,
        body=BODY,
        summary=f"Nonlinear bicycle with any tyre on each axle: {names}",
    )


@dataclass(frozen=True, repr=False)
class SingleTrackFactory(VehicleFactory):
    """Makes cars on any tyres: `single_track(front=T1, rear=T2, m=1300.0)`."""

    def __call__(
        self, params: Any = None, /, *, slip: Any = None, drive: Any = None, **values: Any
    ) -> Vehicle:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `tyre`, or `front` and `rear`, are tyre records or tyres that were read from a file; `slip`
        is a `SteadySlip` or a `FirstOrderSlip`, `drive` a `ForceCommand` or an
        `AccelerationCommand`. `params` may be the name of a parameter set.
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
            whole, params = params._asdict(), None  # of a car on other tyres, too
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
