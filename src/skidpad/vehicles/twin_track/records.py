"""Record types of `two_track`, by the classes of its tyres and other parts."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core import record
from ...core.record import Recipe, extended, made_once
from ...road.records import FlatRoad, FullGrip, road_type
from ...tyres.contract import tyre_set
from ...tyres.simple import LoadSensitiveTyre
from .. import formula
from ..commonroad.cars import FORD_ESCORT
from ..parts.actuators import BrakeTorques, fraction
from ..parts.air import PlainAir
from ..parts.assembly import Push, assembled, base_of, redefined, widened
from ..parts.chassis import FOLLOWED, RollShare
from ..parts.electric import WHEEL_DRIVES, WheelTorques
from ..parts.spinning_wheel import SteadySlip
from ..parts.steering import DirectSteering, FixedAlignment
from ..parts.trailers import NoTrailers, trailer_disturbances, trailer_outputs, trailer_states


@extended
class State(formula.State):
    """Pose, velocity, actuators, wheel spins and the lagged accelerations that set the loads."""

    steer: si.rad = 0.0
    """Angle of a virtual wheel in the middle of the front axle, positive to the left."""
    spin_fl: si.rad_s = 0.0
    """Spin of the front left wheel about its axle, positive when it rolls forward."""
    spin_fr: si.rad_s = 0.0
    """Spin of the front right wheel."""
    spin_rl: si.rad_s = 0.0
    """Spin of the rear left wheel."""
    spin_rr: si.rad_s = 0.0
    """Spin of the rear right wheel."""
    load_a_x: si.m_s2 = 0.0
    """Longitudinal acceleration by tyre forces that the wheel loads respond to; follows the
    forces with the time constant `t_load`. Wheel moments count as a force at the road."""
    load_a_y: si.m_s2 = 0.0
    """Lateral acceleration by tyre forces for the wheel loads, positive to the left."""


@extended
class FirstOrderState(State):
    """State with the lagged slip of each tyre."""

    kappa_fl: si.one = 0.0
    """Lagged longitudinal slip of the front left tyre, positive when driving."""
    kappa_fr: si.one = 0.0
    """Lagged longitudinal slip of the front right tyre."""
    kappa_rl: si.one = 0.0
    """Lagged longitudinal slip of the rear left tyre."""
    kappa_rr: si.one = 0.0
    """Lagged longitudinal slip of the rear right tyre."""
    tan_alpha_fl: si.one = 0.0
    """Tangent of the lagged slip angle of the front left tyre, positive when it drifts to the
    left; the opposite sign of the output `alpha_fl`."""
    tan_alpha_fr: si.one = 0.0
    """Tangent of the lagged slip angle of the front right tyre."""
    tan_alpha_rl: si.one = 0.0
    """Tangent of the lagged slip angle of the rear left tyre."""
    tan_alpha_rr: si.one = 0.0
    """Tangent of the lagged slip angle of the rear right tyre."""


@extended
class Input(formula.Input):
    """Targets of steering and drive, and the torques of the brakes."""

    brake_fl: Annotated[si.Nm, si.non_negative] = 0.0
    """Brake torque at the front left wheel: resists its rotation and holds it at rest."""
    brake_fr: Annotated[si.Nm, si.non_negative] = 0.0
    """Brake torque at the front right wheel."""
    brake_rl: Annotated[si.Nm, si.non_negative] = 0.0
    """Brake torque at the rear left wheel."""
    brake_rr: Annotated[si.Nm, si.non_negative] = 0.0
    """Brake torque at the rear right wheel."""


@extended
class External(Push):
    """Disturbances: external forces, yaw moment and grip. The defaults do nothing."""

    mu_fl: Annotated[si.one, si.non_negative] = 1.0
    """Friction of the road under the front left wheel, relative to the tyre measurement."""
    mu_fr: Annotated[si.one, si.non_negative] = 1.0
    """Relative friction of the road under the front right wheel."""
    mu_rl: Annotated[si.one, si.non_negative] = 1.0
    """Relative friction of the road under the rear left wheel."""
    mu_rr: Annotated[si.one, si.non_negative] = 1.0
    """Relative friction of the road under the rear right wheel."""


@extended
class Outputs(formula.Outputs):
    """Accelerations; load, slip, force, aligning moment and angle of each wheel."""

    kappa_fl: si.one
    """Longitudinal slip of the front left wheel, positive when it drives."""
    kappa_fr: si.one
    """Longitudinal slip of the front right wheel."""
    kappa_rl: si.one
    """Longitudinal slip of the rear left wheel."""
    kappa_rr: si.one
    """Longitudinal slip of the rear right wheel."""
    M_z_fl: si.Nm
    """Aligning moment of the front left tyre, positive to the left."""
    M_z_fr: si.Nm
    """Aligning moment of the front right tyre."""
    M_z_rl: si.Nm
    """Aligning moment of the rear left tyre."""
    M_z_rr: si.Nm
    """Aligning moment of the rear right tyre."""
    steer_fl: si.rad
    """Angle of the front left wheel relative to the car, positive to the left."""
    steer_fr: si.rad
    """Angle of the front right wheel relative to the car, positive to the left."""


class Params(NamedTuple):
    """Parameters; by default a compact car with front drive: a Ford Escort on `LoadSensitiveTyre`.

    Values are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2) or follow from
    them; estimates are marked.
    """

    m: Annotated[si.kg, si.positive] = FORD_ESCORT["m"]
    """Mass with wheels."""
    I_z: Annotated[si.kg_m2, si.positive] = FORD_ESCORT["I_z"]
    """Yaw inertia about the centre of mass, with wheels."""
    I_w: Annotated[si.kg_m2, si.positive] = FORD_ESCORT["I_w"]
    """Inertia of a wheel about its axle."""
    l_f: Annotated[si.m, si.positive] = FORD_ESCORT["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[si.m, si.positive] = FORD_ESCORT["l_r"]
    """Distance from the centre of mass to the rear axle."""
    track_f: Annotated[si.m, si.positive] = FORD_ESCORT["front.track"]
    """Distance between the front wheels."""
    track_r: Annotated[si.m, si.positive] = FORD_ESCORT["rear.track"]
    """Distance between the rear wheels."""
    z_cg: Annotated[si.m, si.non_negative] = 0.567
    """Height of the centre of mass, computed from body and axles (the latter at wheel height)."""
    roll_front: fraction = 0.605
    """Share of the front axle in the roll moment, by springs and anti-roll bar. A larger share
    increases understeer on tyres whose grip falls with load."""
    t_load: Annotated[si.s, si.positive] = 0.05
    """Time constant with which the wheel loads follow the forces of the tyres (estimate)."""
    F_lift: Annotated[si.N, si.positive] = 50.0
    """Load below which a wheel lifts, smoothly."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    C_drag: Annotated[si.N_s2_m2, si.non_negative] = 0.8
    """Drag coefficient: air drag is ½ C_drag v_x², at the centre of mass (estimate: 1.2 kg/m³,
    c 0.33, 2 m²)."""
    C_down: Annotated[si.N_s2_m2, si.non_negative] = 0.0
    """Downforce coefficient: downforce is ½ C_down v_x²."""
    down_front: fraction = 0.5
    """Share of the downforce on the front axle."""
    ackermann: fraction = 0.0
    """Share of Ackermann geometry: 0 parallel wheels, 1 one centre on the rear axle line."""
    toe_f: si.rad = 0.0
    """Toe of the front wheels, positive inwards (both point towards the middle of the car)."""
    toe_r: si.rad = 0.0
    """Toe of the rear wheels, positive inwards."""
    camber_f: si.rad = 0.0
    """Camber of the front wheels, positive when their tops lean outwards."""
    camber_r: si.rad = 0.0
    """Camber of the rear wheels, positive when their tops lean outwards."""
    t_tau: Annotated[si.s, si.positive] = 0.05
    """Time constant of the drive torques (estimate)."""
    t_steer: Annotated[si.s, si.positive] = 0.05
    """Time constant of the steering (estimate)."""
    tau_max: Annotated[si.Nm, si.non_negative] = 1000.0
    """Largest drive torque target of a wheel, either sign (estimate)."""
    brake_max: Annotated[si.Nm, si.non_negative] = 2500.0
    """Largest brake torque of a wheel (estimate)."""
    steer_max: Annotated[si.rad, si.non_negative] = 0.6
    """Largest steering target, either side (estimate)."""
    steer_rate_max: Annotated[si.rad_s, si.non_negative] = 0.8
    """Largest steering rate, either side (estimate)."""
    t_hold: Annotated[si.s, si.positive] = 0.002
    """Time constant with which a brake stops a wheel that it can hold; shorter is stiffer."""
    drive_front: fraction = FORD_ESCORT["engine_split"]
    """Share of the front wheels in the drive torque of a demand."""
    brake_front: fraction = FORD_ESCORT["brake_split"]
    """Share of the front wheels in the brake torque of a demand."""
    length: Annotated[si.m, si.positive] = FORD_ESCORT["length"]
    """Length of the outline; does not influence the motion."""
    width: Annotated[si.m, si.positive] = FORD_ESCORT["width"]
    """Width of the outline; does not influence the motion."""
    height: Annotated[si.m, si.positive] = 1.4
    """Height of the outline; does not influence the motion (estimate)."""
    slip: SteadySlip = SteadySlip()
    """Slip law: steady-state, or first order behind relaxation lengths."""
    chassis: RollShare = RollShare()
    """Chassis: position of the body on its wheels, and wheel loads."""
    alignment: FixedAlignment = FixedAlignment()
    """Wheel alignment: toe and camber by travel and forces."""
    steering: DirectSteering = DirectSteering()
    """Kind of steering input: road-wheel angle or steering wheel."""
    air: PlainAir = PlainAir()
    """Aerodynamics."""
    powertrain: WheelTorques = WheelTorques()
    """Powertrain."""
    brakes: BrakeTorques = BrakeTorques()
    """Brakes."""
    trailers: NoTrailers = NoTrailers()
    """Trailers behind the car."""
    road: Any = None
    """Road under the car."""
    tyres: Any = None
    """Set of tyres, one for each wheel."""


DEFAULT_TYRES = tyre_set(LoadSensitiveTyre())


OF_WHEEL_TORQUES = ("t_tau", "tau_max", "drive_front")
OF_BRAKE_TORQUES = ("brake_max", "brake_front")
"""Parameters that only a car with `BrakeTorques` has."""


class Parts(NamedTuple):
    """Classes of the exchangeable parts of a car other than its tyres."""

    slip: Any = SteadySlip
    chassis: Any = RollShare
    alignment: Any = FixedAlignment
    steering: Any = DirectSteering
    air: Any = PlainAir
    powertrain: Any = WheelTorques
    brakes: Any = BrakeTorques
    trailers: Any = NoTrailers
    road: Any = Recipe(road_type, (FlatRoad, FullGrip))


_CHASSIS = (
    *("States", "Outputs", "follows", "fills", "replaces", "turns_by_pitch", "check", "loads"),
    *("travel", "outputs", "carried", "rates", "energy", "loss", "bumped", "tilt_rate", "settled"),
)
PART_DUTIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "slip": ("a SteadySlip or a FirstOrderSlip", ("states", "acting")),
    "chassis": ("a QuasiStatic, RollPitch or independent_suspension", _CHASSIS),
    "alignment": ("a LinearAlignment or an alignment_tables", ("States", "angles", "rates")),
    "steering": ("a SteeringWheel", ("wheel_angle", "input_angle")),
    "air": ("an Aerodynamics or an aero_map", ("Wind", "replaces", "forces", "resistance")),
    "powertrain": ("a WheelMotors, MotorDrive or EngineDrive", ("States", "drive", "rotating")),
    "brakes": ("a HydraulicBrakes", ("States", "rates", "torques")),
    "trailers": ("a Trailer or several in a tuple, which make a Trailers", ()),
    "road": ("a Road or a road", ("surface", "grip")),
}
"""For each part, the alternatives to its default (for errors) and the names they need."""


@made_once
def params_type(tyres: type, parts: Parts) -> Any:
    """Parameter record type of a car for a class of tyre sets and these parts."""
    kinds: dict[str, Any] = {**parts._asdict(), "tyres": tyres}
    defaults = Params._field_defaults | {"tyres": DEFAULT_TYRES}
    defaults |= {name: _default_of(kind) for name, kind in parts._asdict().items()}
    defaults |= {n: None for n, kind in kinds.items() if type(defaults.get(n)) is not kind}
    replaced = {name for part in (parts.chassis, parts.air) for name in part.replaces}
    # Loads of trailers follow their forces with it, whatever carries the car.
    replaced -= {"t_load"} if parts.trailers._fields else set()
    replaced |= set() if issubclass(parts.powertrain, WHEEL_DRIVES) else set(OF_WHEEL_TORQUES)
    replaced |= set() if parts.brakes is BrakeTorques else set(OF_BRAKE_TORQUES)
    docs = {"road": "The road under the car."}
    return redefined(Params, kinds, defaults, docs, without=replaced)


def _default_of(kind: Any) -> Any:
    """Record of a class with its defaults; None if some fields have no default."""
    for written in (kind, base_of(kind)):
        if record.is_record_type(written) and len(written._field_defaults) == len(written._fields):
            return assembled(written())
    return None


@made_once
def without(kind: Any, *prefixes: str) -> Any:
    """Record type without the fields whose names start with one of the prefixes."""
    return redefined(kind, without=[n for n in kind._fields if n.startswith(prefixes)])


def example(kind: type) -> Any:
    """Instance of a record class with arbitrary values, to find which of its fields are
    `States`."""
    return record.unflatten(kind, [1.0] * record.size(kind))


def state_type(parts: Parts) -> Any:
    """State record type of a car with these parts.

    Another powertrain replaces the fields for four wheel torques.
    """
    state: Any = FirstOrderState if parts.slip().states else State
    if not issubclass(parts.powertrain, WHEEL_DRIVES):
        state = widened(without(state, "tau_"), example(parts.powertrain).States)
    if parts.brakes is not BrakeTorques:
        state = widened(state, parts.brakes.States)
    unused = [name for name in FOLLOWED if name not in parts.chassis.follows]
    state = without(state, *unused) if unused else state
    towed = trailer_states(len(parts.trailers._fields), parts.slip().states)
    own = (towed,) if parts.trailers._fields else ()
    return widened(state, parts.chassis.States, parts.alignment.States, *own)


@cache
def input_type(powertrain: Any, brakes: Any) -> Any:
    """Input record type of a car with these classes of powertrain and brakes."""
    inputs: Any = Input
    if not issubclass(powertrain, WHEEL_DRIVES):
        inputs = widened(without(inputs, "tau_"), example(powertrain).Inputs)
    if brakes is not BrakeTorques:
        inputs = widened(without(inputs, "brake_"), brakes.Inputs)
    return inputs


@cache
def outputs_type(chassis: Any, powertrain: Any = WheelTorques, trailers: Any = NoTrailers) -> Any:
    """Output record type of a car with these classes of chassis, powertrain and trailers."""
    own = () if powertrain is WheelTorques else (example(powertrain).Outputs,)
    return widened(Outputs, chassis.Outputs, *own, trailer_outputs(len(trailers._fields)))


def disturbance_type(air: Any, trailers: Any = NoTrailers) -> Any:
    """Disturbance record type of a car with these classes of air and trailers."""
    return widened(External, air.Wind, trailer_disturbances(len(trailers._fields)))
