"""Records of `single_track`, by the class of its tyres, of its slip and of its drive."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, get_type_hints

from .. import record
from ..components.drive_command import ForceCommand
from ..components.spinning_wheel import SteadySlip
from ..recipes import made_once
from ..record import extended
from ..units import (
    Allowed,
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
    positive,
    rad,
    rad_s,
    s,
)
from .commonroad.sets import FORD_ESCORT
from .two_track_records import DEFAULT_TYRES, share

__all__ = ["External", "FirstOrderState", "Outputs", "Params", "State"]


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
    hints = get_type_hints(Params, include_extras=True) | kinds
    defaults = Params._field_defaults | {
        "drive": drive(),
        "slip": slip(),
        "tyres": DEFAULT_TYRES,
    }
    if not isinstance(DEFAULT_TYRES, tyres):
        del defaults["tyres"]
    docs = {leaf.name: leaf.doc for leaf in record.fields(Params) if "." not in leaf.name}
    docs |= {
        "drive": "What the input of drive and brakes is.",
        "slip": "How slip follows the motion.",
        "tyres": "The tyres.",
    }
    return record.define("Params", hints, defaults, docs, Params.__doc__ or "")
