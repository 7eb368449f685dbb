"""`single_track`: the nonlinear bicycle, with any tyre on each axle.

A planar body on two axles that make forces by slip angle; wheel spin is no state. Drive and brakes
are a force along the wheels, or that over the mass, shared by the axles within the grip of their
tyres. Axle loads follow the force along the car. Equations: docs/vehicles.md.

    single_track()                                  # a compact car on default tyres
    single_track("sports")                          # a car of a parameter set
    single_track(front=T1, rear=T2, m=1300.0)       # a tyre per axle
    single_track(drive=AccelerationCommand())       # told an acceleration, not a force
    single_track(slip=FirstOrderSlip())             # slip behind relaxation lengths
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import record
from ..components.actuator import lag, rate_limited_lag
from ..components.axle import Force
from ..components.bicycle_axle import (
    AxleForces,
    AxleMotion,
    GripShare,
    axle_forces,
    pitched_loads,
    slip_angle,
)
from ..components.chassis import WheelMoments, push_of
from ..components.corner_loads import axle_weights
from ..components.drive_command import AccelerationCommand, ForceCommand, drag, front_share
from ..components.resistance import downforce
from ..components.rigid_body import Acceleration, kinetic_energy, pose_rate, velocity_rate
from ..components.spinning_wheel import FirstOrderSlip, SteadySlip, each_wheel
from ..components.tyre.tyre_set import tyre_set, tyre_set_type
from ..errors import InvalidValue
from ..model import Model, Vehicle, VehicleFactory, built_once
from ..ops import cos, sin
from ..plane.pose import turned, turned_back
from ..units import J, Nm, m_s2, one
from .single_track_body import BODY, axle_tyres
from .single_track_records import (
    DEFAULT_TYRES,
    External,
    FirstOrderState,
    Outputs,
    Params,
    State,
    params_type,
)
from .two_track_sets import set_values

__all__ = [
    "AccelerationCommand",
    "FirstOrderSlip",
    "ForceCommand",
    "SteadySlip",
    "single_track",
]

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
    standing = axle_weights(p.m * p.g, down, p.down_front, p)  # pyright: ignore[reportArgumentType]
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
    (`smooth_limits`)."""
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
        names = tuple(name for group in TYRES for name in group if name in values)
        if names and names not in TYRES:
            raise InvalidValue(
                f"tyres are given as {', '.join(names)}; allowed are tyre, or front and rear"
            )
        whole = dict[str, Any]()
        if record.is_record_type(type(params)):
            whole, params = params._asdict(), None  # of a car on other tyres, too
        if names:
            whole["tyres"] = tyre_set(*(values.pop(name) for name in names))
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
