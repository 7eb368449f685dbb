"""`formula_student`: the default car, one model from standstill to the limit.

It is `two_track` with the parameter set of that name: a driverless electric car with a motor at
each wheel, 80 kW for all of them, and slip behind the relaxation of its tyres, so that it holds
where it stands and explicit steps will do.

    formula_student(m=240.0)                      # as `two_track("formula_student", m=240.0)`
    formula_student(compat="0.1")                 # the model of version 0.1

Numbers and their sources: two_track_sets.py.

`four_wheel`: dynamic car on four tyres, loads in closed form, for speeds above walking pace.

Equations: docs/vehicles.md. Against the brains2 document and program it has the corrections C1 to
C4 of docs/errata.md.

`brains2`: the numbers of the brains2 project's `sim` package, its errors included.

For those who compare with it or replace it. Two models switched at 0.1 m/s by the state at the
start of a step, a command limiter that also samples that state, and published accelerations that
are estimates. What differs from sound physics is listed in docs/errata.md (D1 to D20); `four_wheel`
and `formula_student` are the same car put right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, get_type_hints

from ..core import record
from ..core.body import Geometry, Limits
from ..core.model import Model, NoDisturbance, Vehicle, VehicleFactory, built_once
from ..core.record import extended
from ..errors import InvalidValue
from ..ops import abs, atan, atan2, clip, cos, maximum, sin, tan, tanh, where
from ..tyres.simple import FrictionLaw, friction, friction_on_road, softened_friction
from ..units import N, N_Nm, Nm, m_s, m_s2, non_negative, one, positive, rad, rad_s, rad_s2
from . import car_state
from .car_state import (
    CAR,
    FORMER,
    UPSTREAM_C_M0,
    ActuatorRates,
    CarFactory,
    External,
    Input,
    State,
    TyreCarParams,
    actuator_rates,
    body_rates,
    energy,
    least,
    open_wheeler,
    wheel_outputs,
)
from .car_state import Outputs as four_wheel_Outputs
from .former_formula_student import FORMER_MODEL as formula_student_FORMER_MODEL
from .parts.actuators import lag
from .parts.air import downforce, resistance
from .parts.kinematics import Acceleration, pose_rate, velocity_rate
from .parts.load_transfer import (
    AxleForce,
    AxleFriction,
    CarLoad,
    Force,
    Friction,
    LoadLaw,
    Velocity,
    accelerations,
    axle_friction,
    axle_load,
    contact_velocities,
    drive_force,
    in_wheel_frame,
    rigid_load_law,
    slip_angle,
    steered_lateral,
    together,
    tyre_force,
    under_force,
    wheel_loads,
    yaw_moment,
)
from .twin_track import body
from .twin_track.model import two_track

__all__ = [
    "MODEL",
    "Params",
    "derivative",
    "formula_student",
    "four_wheel",
    "outputs",
]

NAME = "formula_student"


def geometry(p: Any) -> Geometry:
    """Tub and wings about the wheels of `two_track`."""
    outlines = open_wheeler(p.l_f, -p.l_r, 0.5 * (p.track_f + p.track_r))
    return replace(body.geometry(p), outlines=outlines)


@built_once
def _named(model: Model) -> Model:
    """The model of a `two_track` under the name, with the numbers and the looks of this car."""
    assert model.body is not None
    return replace(
        model,
        name=NAME,
        Params=_with_defaults(model.Params),
        body=replace(model.body, geometry=geometry),
        summary="The default car: one model from standstill to the limit",
    )


def _with_defaults(Params: Any) -> Any:
    """The parameters of a `two_track` with the numbers of this car, as far as they have them."""
    hints = get_type_hints(Params, include_extras=True)
    own = {
        name: value
        for name, value in two_track(NAME).params._asdict().items()
        if name in hints and type(value) in (float, hints[name])
    }
    docs = {leaf.name: leaf.doc for leaf in record.fields(Params) if "." not in leaf.name}
    docs["tyres"] = "The tyres."
    text = "A Formula Student car within the rules; sources: `two_track_sets`."
    return record.define("Params", hints, {**Params._field_defaults, **own}, docs, text)


@dataclass(frozen=True, repr=False)
class FormulaStudentFactory(VehicleFactory):
    """Makes Formula Student cars: `formula_student(m=240.0)`."""

    former: Model
    """The model of version 0.1."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and that of version 0.1."""
        return self.model, self.former

    def __call__(
        self, params: Any = None, /, *, compat: str | None = None, **values: Any
    ) -> Vehicle:
        """A car of the set `formula_student`, changed as a `two_track` is.

        `compat="0.1"` repeats version 0.1, which has other parameters: S1 to S6 of docs/errata.md.
        """
        if compat not in (None, FORMER):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {FORMER!r}")
        if compat is not None:
            base = record.build(self.former.Params, C_m0=UPSTREAM_C_M0)
            built = record.build(self.former.Params, params, base=base, **values)
            return Vehicle(self.former, built)
        if isinstance(params, str):
            raise InvalidValue(
                f"{NAME} is a parameter set, and {params!r} another: two_track has it"
            )
        if params is None or isinstance(params, Mapping):
            values = {**(params or {}), **values}
            self._refuse_former(values)
            car = two_track(NAME, **values)
        else:
            car = two_track(params, **values)
        model = _named(car.model)
        return Vehicle(model, model.Params(*car.params))

    def _refuse_former(self, values: Mapping[str, Any]) -> None:
        former = set(record.names(self.former.Params)) - set(record.names(self.model.Params))
        gone = [name for name in values if name in former]
        if gone:
            raise InvalidValue(
                f"{NAME} has no {', '.join(gone)} any more; compat={FORMER!r} has, and "
                "CHANGELOG.md says what is in their place"
            )


formula_student = FormulaStudentFactory(_named(two_track(NAME).model), formula_student_FORMER_MODEL)


@extended
class Params(TyreCarParams):
    """Parameters of the four-wheel car; 0.001 m/s is written into brains2's equations."""

    v_eps: Annotated[m_s, positive] = 0.001
    """Rolling speed below which slip angles are held finite."""


class Slips(NamedTuple):
    """Slip angles of the wheels."""

    fl: rad
    fr: rad
    rl: rad
    rr: rad


class Frictions(NamedTuple):
    """Lateral force over load of each wheel, in the wheel frame."""

    fl: one
    fr: one
    rl: one
    rr: one


def slip_angles(x: State, c: one, s: one, p: Params) -> Slips:
    """Slip angles of the wheels; `c`, `s` are cosine and sine of the steering angle."""
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    return Slips(
        slip_angle(in_wheel_frame(v.fl, c, s), p.v_eps),
        slip_angle(in_wheel_frame(v.fr, c, s), p.v_eps),
        slip_angle(v.rl, p.v_eps),
        slip_angle(v.rr, p.v_eps),
    )


def body_frame(mu: Frictions, c: one, s: one) -> tuple[AxleFriction, AxleFriction]:
    """Friction of the front and the rear axle in the body frame."""
    front = axle_friction(steered_lateral(mu.fl, c, s), steered_lateral(mu.fr, c, s))
    rear = axle_friction(Friction(0.0, mu.rl), Friction(0.0, mu.rr))
    return front, rear


def drive_forces(x: State, c: one, s: one, p: Params) -> tuple[AxleForce, AxleForce]:
    """Force of the motors at the front and the rear axle in the body frame."""
    front = drive_force(p.C_m0 * x.tau_fl, p.C_m0 * x.tau_fr, c, s)
    rear = drive_force(p.C_m0 * x.tau_rl, p.C_m0 * x.tau_rr, 1.0, 0.0)
    return front, rear


def load_law(x: State, w: External, p: Params) -> LoadLaw:
    """Wheel loads over acceleration: weight, downforce, pitch and roll balance."""
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    law = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    return under_force(law, Force(w.F_x, w.F_y), p.m)


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    a: Acceleration
    moment: Nm
    alpha: Slips
    mu: Frictions
    law: LoadLaw


def motion(x: State, w: External, p: Params, grip: FrictionLaw = friction_on_road) -> Motion:
    """Accelerations, yaw moment, slip and friction at a state."""
    c, s = cos(x.steer), sin(x.steer)
    alpha = slip_angles(x, c, s, p)
    mu = Frictions(*grip(alpha, p.tyre, w.mu_scale))
    front, rear = body_frame(mu, c, s)
    drive_f, drive_r = drive_forces(x, c, s, p)
    law = load_law(x, w, p)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drive_f.x + drive_r.x + drag + w.F_x, drive_f.y + w.F_y)
    a = accelerations(applied, front, rear, law, p.m)
    force_f = together(drive_f, tyre_force(front, axle_load(a, law.front)))
    force_r = together(drive_r, tyre_force(rear, axle_load(a, law.rear)))
    moment = yaw_moment(force_f, force_r, p.l_f, p.l_r, p.track) + w.M_z
    return Motion(a, moment, alpha, mu, law)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    return _rates(x, u, p, motion(x, w, p))


def outputs(x: State, u: Input, w: External, p: Params) -> four_wheel_Outputs:
    """Accelerations, loads, slip angles and tyre forces. `wheel_lift` marks a negative load.

    Such a load is a sign that the model is used beyond its range: a real wheel would be in the air.
    """
    return _shown(x, p, motion(x, w, p))


def former_derivative(x: State, u: Input, w: External, p: Params) -> State:
    """`derivative` of version 0.1."""
    return _rates(x, u, p, motion(x, w, p, softened_friction))


def former_outputs(x: State, u: Input, w: External, p: Params) -> four_wheel_Outputs:
    """`outputs` of version 0.1."""
    return _shown(x, p, motion(x, w, p, softened_friction))


def _rates(x: State, u: Input, p: Params, car: Motion) -> State:
    return body_rates(x, car.a, car.moment * (1.0 / p.I_z), actuator_rates(x, u, p))


def _shown(x: State, p: Params, car: Motion) -> four_wheel_Outputs:
    F_z = wheel_loads(CarLoad(axle_load(car.a, car.law.front), axle_load(car.a, car.law.rear)))
    return wheel_outputs(
        car.a,
        F_z,
        car.alpha,
        [p.C_m0 * tau for tau in (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)],
        [mu * load for mu, load in zip(car.mu, F_z, strict=True)],
        where(least(F_z) < 0.0, 1.0, 0.0),
    )


MODEL = Model(
    name="four_wheel",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=four_wheel_Outputs,
    Disturbance=External,
    derivative=derivative,
    outputs=outputs,
    energy=energy,
    slowest=1.0,
    body=CAR,
    summary="Dynamic car on four tyres with load transfer; above walking pace",
)
"""The equations and records of the car, without numbers for its parameters."""

FORMER_MODEL = replace(MODEL, derivative=former_derivative, outputs=former_outputs)
"""The car of version 0.1."""

four_wheel = CarFactory(MODEL, FORMER_MODEL)


@extended
class Brains2Params(TyreCarParams):
    """Parameters of the brains2 car, from the project's `car_constants.yaml`.

    g, v_0, v_eps and v_switch are the constants 9.81, 1/10, 0.001 and 0.1 of its source. What
    steer_rate_max does depends on the step size, see `hold`.
    """

    # `extended` redefines a field in place, which a NamedTuple class by itself could not.
    C_m0: Annotated[N_Nm, non_negative] = UPSTREAM_C_M0  # pyright: ignore[reportIncompatibleVariableOverride]
    """Drive force per wheel torque."""
    v_eps: Annotated[m_s, positive] = 0.001
    """Rolling speed below which slip angles are held finite."""
    v_switch: Annotated[m_s, non_negative] = 0.1
    """Speed above which the dynamic model is used."""


class Held(NamedTuple):
    """What is fixed at the start of a step: the limited targets and the choice of model."""

    steer: rad = 0.0
    """Steering target after the limiter."""
    tau_fl: Nm = 0.0
    """Torque target of the front left wheel after the limiter."""
    tau_fr: Nm = 0.0
    """Torque target of the front right wheel after the limiter."""
    tau_rl: Nm = 0.0
    """Torque target of the rear left wheel after the limiter."""
    tau_rr: Nm = 0.0
    """Torque target of the rear right wheel after the limiter."""
    dynamic: one = 1.0
    """1 for the dynamic model, 0 for the kinematic one."""


class Outputs(NamedTuple):
    """What the program publishes beside the state."""

    a_x: m_s2
    """Published longitudinal acceleration; an estimate that leaves out the driving resistance."""
    a_y: m_s2
    """Published lateral acceleration, positive to the left; an estimate."""
    dynamic: one
    """1 if the dynamic model was used in the step, 0 if the kinematic one."""


def hold(x: State, u: Input, w: NoDisturbance, p: Brains2Params) -> Held:
    """Command limiter and model choice at the start of a step.

    The steering target is kept within t_steer steer_rate_max of the present angle. As it then stays
    for the whole step while the lag closes in on it, the rate reached falls with the step size:
    0.787 rad/s instead of 1 at 10 ms. Rolling backwards, negative torque targets become zero.
    """
    reach = p.t_steer * p.steer_rate_max
    steer = clip(clip(u.steer, x.steer - reach, x.steer + reach), -p.steer_max, p.steer_max)
    least = where(x.v_x < 0.0, 0.0 * p.tau_max, -p.tau_max)
    # Squares, because the gradient of the length is not defined at rest.
    dynamic = x.v_x * x.v_x + x.v_y * x.v_y > p.v_switch * p.v_switch
    return Held(
        steer,
        clip(u.tau_fl, least, p.tau_max),
        clip(u.tau_fr, least, p.tau_max),
        clip(u.tau_rl, least, p.tau_max),
        clip(u.tau_rr, least, p.tau_max),
        where(dynamic, 1.0, 0.0),
    )


class Brains2Motion(NamedTuple):
    """Time derivatives of the velocities in the state."""

    v_x: m_s2
    v_y: m_s2
    omega: rad_s2


def signed_resistance(v_x: m_s, p: Brains2Params) -> N:
    """Driving resistance whose linear term pushes the wrong way when rolling backwards (D11)."""
    return -(p.C_r0 + v_x * (p.C_r1 + v_x * p.C_r2)) * tanh(v_x * (1.0 / p.v_0))


def body_frame_slip(v: Velocity, steer: rad, v_eps: m_s) -> rad:
    """Slip angle from the body-frame velocity; `steer` has the wrong sign backwards (D12)."""
    return steer - atan2(v.y, maximum(abs(v.x), v_eps))


def swapped_load_law(x: State, p: Brains2Params) -> LoadLaw:
    """Wheel loads with the weight shares of front and rear exchanged (D1)."""
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    return rigid_load_law(total, p.m, l_f=p.l_r, l_r=p.l_f, track=p.track, z_cg=p.z_cg)


def dynamic_motion(x: State, p: Brains2Params) -> Brains2Motion:
    """The four-wheel model."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    mu = Frictions(
        friction(body_frame_slip(v.fl, x.steer, p.v_eps), p.tyre),
        friction(body_frame_slip(v.fr, x.steer, p.v_eps), p.tyre),
        friction(body_frame_slip(v.rl, 0.0, p.v_eps), p.tyre),
        friction(body_frame_slip(v.rr, 0.0, p.v_eps), p.tyre),
    )
    front, rear = body_frame(mu, c, s)
    drive_f = drive_force(p.C_m0 * x.tau_fl, p.C_m0 * x.tau_fr, c, s)
    drive_r = drive_force(p.C_m0 * x.tau_rl, p.C_m0 * x.tau_rr, 1.0, 0.0)
    law = swapped_load_law(x, p)
    applied = Force(drive_f.x + drive_r.x + signed_resistance(x.v_x, p), drive_f.y)
    a = accelerations(applied, front, rear, law, p.m)
    force_f = together(drive_f, tyre_force(front, axle_load(a, law.front)))
    force_r = together(drive_r, tyre_force(rear, axle_load(a, law.rear)))
    moment = yaw_moment(force_f, force_r, p.l_f, p.l_r, p.track)
    return Brains2Motion(*velocity_rate(a, x.v_x, x.v_y, x.omega), moment * (1.0 / p.I_z))


def axle_forces(x: State, p: Brains2Params) -> tuple[N, N]:
    """Front and rear force of the kinematic model: half of the torque each (D8), rear drag."""
    half = (0.5 * p.C_m0) * (x.tau_fl + x.tau_fr + x.tau_rl + x.tau_rr)
    return half, half + signed_resistance(x.v_x, p)


def kinematic_motion(x: State, steer_rate: rad_s, p: Brains2Params) -> Brains2Motion:
    """The bicycle model: increments of v_y and omega, with the rate of beta linearised (D6)."""
    share = p.l_r * (1.0 / (p.l_f + p.l_r))
    beta = atan(share * tan(x.steer))
    beta_rate = share * steer_rate
    front, rear = axle_forces(x, p)
    along = (rear * cos(beta) + front * cos(x.steer - beta)) * (1.0 / p.m)
    v_y_rate = along * sin(beta) + x.v_x * beta_rate
    return Brains2Motion(along * cos(beta) - x.v_y * beta_rate, v_y_rate, v_y_rate * (1.0 / p.l_r))


def brains2_derivative(x: State, u: Held, w: NoDisturbance, p: Brains2Params) -> State:
    """Time derivative of the state with the model and the targets held over the step."""
    actuators = ActuatorRates(
        lag(x.steer, u.steer, p.t_steer),
        lag(x.tau_fl, u.tau_fl, p.t_tau),
        lag(x.tau_fr, u.tau_fr, p.t_tau),
        lag(x.tau_rl, u.tau_rl, p.t_tau),
        lag(x.tau_rr, u.tau_rr, p.t_tau),
    )
    fast = dynamic_motion(x, p)
    slow = kinematic_motion(x, actuators.steer, p)
    chosen = Brains2Motion._make(
        where(u.dynamic > 0.5, a, b) for a, b in zip(fast, slow, strict=True)
    )
    return State(*pose_rate(x.yaw, x.v_x, x.v_y, x.omega), *chosen, *actuators)


def dynamic_accelerations(x: State, p: Brains2Params) -> Acceleration:
    """Accelerations published with the dynamic model: a bicycle's, without resistance (D14).

    Slip from the middle of each axle, the front share of the weight under both axles, no lateral
    load transfer.
    """
    c, s = cos(x.steer), sin(x.steer)
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    front = Velocity(x.v_x, x.v_y + p.l_f * x.omega)
    rear = Velocity(x.v_x, x.v_y - p.l_r * x.omega)
    mu_f = friction(body_frame_slip(front, x.steer, p.v_eps), p.tyre)
    mu_r = friction(body_frame_slip(rear, 0.0, p.v_eps), p.tyre)
    load = (p.m * p.g + downforce(x.v_x, p.C_down)) * (p.l_f * by_wheelbase)
    F_f = p.C_m0 * (x.tau_fl + x.tau_fr)
    F_r = p.C_m0 * (x.tau_rl + x.tau_rr)
    pitch = p.m * p.z_cg * by_wheelbase
    a_x = (F_f * c - mu_f * s * load + F_r) / (p.m - mu_f * s * pitch)
    F_y = F_f * s + mu_f * (load - pitch * a_x) * c + mu_r * (load + pitch * a_x)
    return Acceleration(a_x, F_y * (1.0 / p.m))


def kinematic_accelerations(x: State, p: Brains2Params) -> Acceleration:
    """Accelerations published with the kinematic model: drive forces only (D9, D10)."""
    front, rear = axle_forces(x, p)
    by_mass = 1.0 / p.m
    return Acceleration((rear + front * cos(x.steer)) * by_mass, front * sin(x.steer) * by_mass)


def brains2_outputs(x: State, u: Held, w: NoDisturbance, p: Brains2Params) -> Outputs:
    """Published accelerations at the end of a step: `x` is the new state, `u` what was held."""
    fast, slow = dynamic_accelerations(x, p), kinematic_accelerations(x, p)
    dynamic = u.dynamic > 0.5
    return Outputs(
        where(dynamic, fast.x, slow.x),
        where(dynamic, fast.y, slow.y),
        where(dynamic, 1.0, 0.0),
    )


def limits(p: Brains2Params) -> Limits:
    """Its torques do not get it going in reverse."""
    return replace(car_state.limits(p), v_min=0.0)


BRAINS2_MODEL = Model(
    name="brains2",
    State=State,
    Input=Input,
    Params=Brains2Params,
    Outputs=Outputs,
    derivative=brains2_derivative,
    outputs=brains2_outputs,
    hold=hold,
    substeps=10,  # as upstream sets its integrator: ten to a call (D17)
    energy=energy,
    body=replace(CAR, geometry=car_state.geometry, limits=limits, on_ground=None),
    reproduces="brains2 sim",
    exempt={
        "energy": "backwards, the slip angle of a steered wheel and the linear resistance have the "
        "wrong sign (D11, D12), and below 0.1 m/s yaw rate is not tied to speed (D6)",
        "rest": "below 0.1 m/s a residual yaw rate or lateral velocity is kept for ever",
    },
    summary="The car as the brains2 sim integrates it, for comparison",
)

brains2 = VehicleFactory(BRAINS2_MODEL)
