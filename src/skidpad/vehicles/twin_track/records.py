"""Records of `two_track`, by the classes of its tyres and of its other parts."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

from ...core import record
from ...core.record import Recipe, extended, made_once
from ...road.records import FlatRoad, FullGrip, road_type
from ...tyres.contract import tyre_set
from ...tyres.simple import LoadSensitiveTyre
from ...units import (
    Allowed,
    N,
    N_s2_m2,
    Nm,
    kg,
    kg_m2,
    m,
    m_s2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    s,
)
from .. import formula
from ..commonroad.records import FORD_ESCORT
from ..parts.air import PlainAir
from ..parts.alignment import FixedAlignment
from ..parts.assembly import assembled, base_of, redefined, widened
from ..parts.chassis import FOLLOWED, RollShare
from ..parts.hydraulic_brakes import BrakeTorques
from ..parts.powertrain.electric import WHEEL_DRIVES, WheelTorques
from ..parts.spinning_wheel import SteadySlip
from ..parts.steering import DirectSteering
from ..parts.trailers import NoTrailers, trailer_disturbances, trailer_outputs, trailer_states

share = Annotated[one, Allowed(0.0, 1.0)]
"""A pure number from 0 to 1."""


@extended
class State(formula.State):
    """Pose, velocity, actuators, spin of the wheels and how far loads have followed the forces."""

    steer: rad = 0.0  # pyright: ignore[reportIncompatibleVariableOverride]
    """Angle of a wheel in the middle of the front axle, positive to the left."""
    spin_fl: rad_s = 0.0
    """Spin of the front left wheel about its axle, positive when it rolls forward."""
    spin_fr: rad_s = 0.0
    """Spin of the front right wheel."""
    spin_rl: rad_s = 0.0
    """Spin of the rear left wheel."""
    spin_rr: rad_s = 0.0
    """Spin of the rear right wheel."""
    load_a_x: m_s2 = 0.0
    """Force of the tyres along the car over its mass that the wheel loads have answered to; moments
    of the wheels count as a force at the road."""
    load_a_y: m_s2 = 0.0
    """The same across the car, positive to the left."""


@extended
class FirstOrderState(State):
    """The same with the slip that each tyre feels."""

    kappa_fl: one = 0.0
    """Longitudinal slip that the front left tyre feels, positive drives."""
    kappa_fr: one = 0.0
    """Longitudinal slip of the front right tyre."""
    kappa_rl: one = 0.0
    """Longitudinal slip of the rear left tyre."""
    kappa_rr: one = 0.0
    """Longitudinal slip of the rear right tyre."""
    tan_alpha_fl: one = 0.0
    """Tangent of the slip angle that the front left tyre feels, positive when it drifts to the
    left: the sign of tyres, not that of the output `alpha_fl`."""
    tan_alpha_fr: one = 0.0
    """Tangent of the slip angle of the front right tyre."""
    tan_alpha_rl: one = 0.0
    """Tangent of the slip angle of the rear left tyre."""
    tan_alpha_rr: one = 0.0
    """Tangent of the slip angle of the rear right tyre."""


@extended
class Input(formula.Input):
    """Targets of steering and drive, and the torques of the brakes."""

    brake_fl: Annotated[Nm, non_negative] = 0.0
    """Brake torque at the front left wheel: resists its turning and holds it at rest."""
    brake_fr: Annotated[Nm, non_negative] = 0.0
    """Brake torque at the front right wheel."""
    brake_rl: Annotated[Nm, non_negative] = 0.0
    """Brake torque at the rear left wheel."""
    brake_rr: Annotated[Nm, non_negative] = 0.0
    """Brake torque at the rear right wheel."""


class External(NamedTuple):
    """What the world does to the car. The defaults do nothing."""

    F_x: N = 0.0
    """Force at the centre of mass along the car, forward positive."""
    F_y: N = 0.0
    """Force at the centre of mass across the car, positive to the left."""
    M_z: Nm = 0.0
    """Yaw moment, positive to the left."""
    mu_fl: Annotated[one, non_negative] = 1.0
    """Grip under the front left wheel over that on which its tyre was measured."""
    mu_fr: Annotated[one, non_negative] = 1.0
    """Grip under the front right wheel."""
    mu_rl: Annotated[one, non_negative] = 1.0
    """Grip under the rear left wheel."""
    mu_rr: Annotated[one, non_negative] = 1.0
    """Grip under the rear right wheel."""


@extended
class Outputs(formula.Outputs):
    """Accelerations and, for each wheel, load, slip, force, aligning moment and angle."""

    kappa_fl: one
    """Longitudinal slip of the front left wheel, positive when it drives."""
    kappa_fr: one
    """Longitudinal slip of the front right wheel."""
    kappa_rl: one
    """Longitudinal slip of the rear left wheel."""
    kappa_rr: one
    """Longitudinal slip of the rear right wheel."""
    M_z_fl: Nm
    """Aligning moment of the front left tyre, positive to the left."""
    M_z_fr: Nm
    """Aligning moment of the front right tyre."""
    M_z_rl: Nm
    """Aligning moment of the rear left tyre."""
    M_z_rr: Nm
    """Aligning moment of the rear right tyre."""
    steer_fl: rad
    """Angle of the front left wheel on the car, positive to the left."""
    steer_fr: rad
    """Angle of the front right wheel on the car."""


class Params(NamedTuple):
    """A compact car with front drive: a Ford Escort on `LoadSensitiveTyre`.

    Numbers are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2), or follow from
    them as said; what is an estimate says so.
    """

    m: Annotated[kg, positive] = FORD_ESCORT["m"]
    """Mass with wheels."""
    I_z: Annotated[kg_m2, positive] = FORD_ESCORT["I_z"]
    """Yaw inertia about the centre of mass, with wheels."""
    I_w: Annotated[kg_m2, positive] = FORD_ESCORT["I_w"]
    """Inertia of a wheel about its axle."""
    l_f: Annotated[m, positive] = FORD_ESCORT["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = FORD_ESCORT["l_r"]
    """Distance from the centre of mass to the rear axle."""
    track_f: Annotated[m, positive] = FORD_ESCORT["front.track"]
    """Distance between the front wheels."""
    track_r: Annotated[m, positive] = FORD_ESCORT["rear.track"]
    """Distance between the rear wheels."""
    z_cg: Annotated[m, non_negative] = 0.567
    """Height of the centre of mass: that of the body and of the axles, at wheel height."""
    roll_front: share = 0.605
    """Share of the roll moment that the front axle takes: from the springs and the anti-roll bar.
    More of it makes a car on tyres that lose grip with load understeer more."""
    t_load: Annotated[s, positive] = 0.05
    """Time constant with which the wheel loads follow the forces of the tyres (estimate)."""
    F_lift: Annotated[N, positive] = 50.0
    """Load below which a wheel lifts, smoothly."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    C_drag: Annotated[N_s2_m2, non_negative] = 0.8
    """Air drag is ½ C_drag v_x², at the centre of mass (estimate: 1.2 kg/m³, c 0.33, 2 m²)."""
    C_down: Annotated[N_s2_m2, non_negative] = 0.0
    """Downforce is ½ C_down v_x²."""
    down_front: share = 0.5
    """Share of the downforce on the front axle."""
    ackermann: share = 0.0
    """0: both front wheels turn alike; 1: they point about one centre on the line of the rear
    axle."""
    toe_f: rad = 0.0
    """Toe of the front wheels, positive in: both point towards the middle of the car."""
    toe_r: rad = 0.0
    """Toe of the rear wheels, positive in."""
    camber_f: rad = 0.0
    """Camber of the front wheels, positive when their tops lean outwards."""
    camber_r: rad = 0.0
    """Camber of the rear wheels, positive when their tops lean outwards."""
    t_tau: Annotated[s, positive] = 0.05
    """Time constant of the drive torques (estimate)."""
    t_steer: Annotated[s, positive] = 0.05
    """Time constant of the steering (estimate)."""
    tau_max: Annotated[Nm, non_negative] = 1000.0
    """Largest drive torque target of a wheel, either sign (estimate)."""
    brake_max: Annotated[Nm, non_negative] = 2500.0
    """Largest brake torque of a wheel (estimate)."""
    steer_max: Annotated[rad, non_negative] = 0.6
    """Largest steering target, either side (estimate)."""
    steer_rate_max: Annotated[rad_s, non_negative] = 0.8
    """Largest steering rate, either side (estimate)."""
    t_hold: Annotated[s, positive] = 0.002
    """Time in which a brake that can hold its wheel stops it. Shorter is stiffer."""
    drive_front: share = FORD_ESCORT["engine_split"]
    """Share of the front wheels in the drive that a demand asks for."""
    brake_front: share = FORD_ESCORT["brake_split"]
    """Share of the front wheels in the braking that a demand asks for."""
    length: Annotated[m, positive] = FORD_ESCORT["length"]
    """It does not influence the motion."""
    width: Annotated[m, positive] = FORD_ESCORT["width"]
    """It does not influence the motion."""
    height: Annotated[m, positive] = 1.4
    """It does not influence the motion (estimate)."""
    slip: SteadySlip = SteadySlip()
    """How slip follows the motion."""
    chassis: RollShare = RollShare()
    """How the body sits on its wheels, and their loads."""
    alignment: FixedAlignment = FixedAlignment()
    """What changes toe and camber."""
    steering: DirectSteering = DirectSteering()
    """What the driver turns."""
    air: PlainAir = PlainAir()
    """What the air does."""
    powertrain: WheelTorques = WheelTorques()
    """What drives the wheels."""
    brakes: BrakeTorques = BrakeTorques()
    """What brakes the wheels."""
    trailers: NoTrailers = NoTrailers()
    """What hangs behind the car."""
    road: Any = None
    """The road under the car."""
    tyres: Any = None
    """The tyres."""


DEFAULT_TYRES = tyre_set(LoadSensitiveTyre())


OF_WHEEL_TORQUES = ("t_tau", "tau_max", "drive_front")
OF_BRAKE_TORQUES = ("brake_max", "brake_front")
"""Parameters that other powertrains and brakes do not have."""


class Parts(NamedTuple):
    """The classes of the exchangeable parts of a car besides its tyres."""

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
    *("States", "Outputs", "follows", "fills", "replaces", "check", "loads", "travel", "outputs"),
    *("carried", "rates", "energy", "bumped", "settled"),
)
PART_DUTIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "slip": ("a SteadySlip or a FirstOrderSlip", ("states", "acting")),
    "chassis": ("a QuasiStatic, RollPitch or independent_suspension", _CHASSIS),
    "alignment": (
        "a LinearAlignment or an alignment_tables",
        ("States", "angles", "rates"),
    ),
    "steering": ("a SteeringWheel", ("wheel_angle", "input_angle")),
    "air": (
        "an Aerodynamics or an aero_map",
        ("Wind", "replaces", "forces", "resistance"),
    ),
    "powertrain": (
        "a WheelMotors, MotorDrive or EngineDrive",
        ("States", "drive", "rotating"),
    ),
    "brakes": ("a HydraulicBrakes", ("States", "rates", "torques")),
    "trailers": ("a Trailer or several in a tuple, which make a Trailers", ()),
    "road": ("a Road or a road", ("surface", "grip")),
}
"""Which records may be a part of a car in place of the usual one, and what one must have."""


@made_once
def params_type(tyres: type, parts: Parts) -> Any:
    """The parameters of a car on a class of tyre sets, with these parts."""
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
    """The record of a class with its defaults; None where it has not all of them."""
    for written in (kind, base_of(kind)):
        if record.is_record_type(written) and len(written._field_defaults) == len(written._fields):
            return assembled(written())
    return None


@made_once
def without(kind: Any, *prefixes: str) -> Any:
    """The record class without the fields that begin so."""
    return redefined(kind, without=[n for n in kind._fields if n.startswith(prefixes)])


def example(kind: type) -> Any:
    """A record of a class, whatever its numbers: its `States` may follow from its parts."""
    return record.unflatten(kind, [1.0] * record.size(kind))


def state_type(parts: Parts) -> Any:
    """The state class of a car with these parts.

    The fields for four wheel torques give way to those of another powertrain.
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
    """The input class of a car with these classes of powertrain and brakes."""
    inputs: Any = Input
    if not issubclass(powertrain, WHEEL_DRIVES):
        inputs = widened(without(inputs, "tau_"), example(powertrain).Inputs)
    if brakes is not BrakeTorques:
        inputs = widened(without(inputs, "brake_"), brakes.Inputs)
    return inputs


@cache
def outputs_type(chassis: Any, powertrain: Any = WheelTorques, trailers: Any = NoTrailers) -> Any:
    """The output class of a car with these classes of chassis, powertrain and trailers."""
    own = () if powertrain is WheelTorques else (example(powertrain).Outputs,)
    return widened(Outputs, chassis.Outputs, *own, trailer_outputs(len(trailers._fields)))


def disturbance_type(air: Any, trailers: Any = NoTrailers) -> Any:
    """What the world does to a car in such air, and to what it tows."""
    return widened(External, air.Wind, trailer_disturbances(len(trailers._fields)))
