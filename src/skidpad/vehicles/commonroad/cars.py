"""Common elements of CommonRoad's vehicles: parameter sets, commands, geometry and factories.

The parameter sets 1 to 4 are plain numbers in SI units from `parameters/parameters_vehicle1.yaml`
to `parameters_vehicle4.yaml` of the package `commonroad-vehicle-models` 3.0.2 (M. Althoff, G.
Würsching, TU München). Sets 1 to 3 go back to vehicles measured for the US Department of
Transportation; the odd digits come from the conversion from feet and pounds. All share one tyre,
the defaults of `tyre.Coefficients`. docs/commonroad_vehicles.md lists CommonRoad's names for ours.

Limits of steering and acceleration act on the rate, so a vehicle may exceed a limit by what it
moves within one stage of an integrator, and no further. Source: M. Althoff and G. Würsching,
"CommonRoad: Vehicle Models" (2020a).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from ...core import record
from ...core.body import Demand, Geometry, GroundUnder, Limits
from ...core.checks import finite
from ...core.model import Model, NoDisturbance, Vehicle, VehicleFactory, vehicle_of
from ...errors import InvalidValue
from ...geometry.pose import unrotated
from ...ops import abs, clip, cos, logical_and, logical_or, maximum, sin, smooth_step, tan, where
from ...units import Allowed, N, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from ..parts.actuators import demanded_acceleration, limited, rate_limited_lag
from ..parts.assembly import additive, geometry_about_axles
from ..parts.kinematics import NoSlipRate, centre_track_yaw_acceleration

_MEASURED = {
    "length": (4.298, 4.508, 4.569),
    "width": (1.674, 1.61, 1.844),
    "l_f": (0.88392, 1.1561957064, 1.1507916024),
    "l_r": (1.50876, 1.4227170936, 1.3211363976000001),
    "steer_max": (0.91, 1.066, 1.023),
    "steer_rate_max": (0.4, 0.4, 0.4),
    "v_min": (-13.9, -13.9, -11.2),
    "v_max": (45.8, 50.8, 41.7),
    "v_switch": (4.755, 7.319, 7.824),
    "a_max": (11.5, 11.5, 11.5),
    "m": (1225.8878467253344, 1093.2952334674046, 1478.8979637767998),
    "I_z": (1538.8533713561394, 1791.5995300122856, 2473.1176915564442),
    "h_s": (0.59436, 0.61373004, 0.804490644),
    "R_w": (0.344, 0.344, 0.344),
    "I_w": (1.7, 1.7, 1.7),
    "brake_split": (0.76, 0.66, 0.64),
    "engine_split": (1.0, 0.0, 0.0),
    "m_s": (1094.542720290477, 965.7108098804363, 1316.6086552490374),
    "I_x_s": (244.04723069965206, 207.26524557936952, 479.88430581318335),
    "I_y_s": (1342.2597688480864, 1565.8178787125541, 2204.322715845899),
    "I_xz_s": (0.0, 0.0, 0.0),
    "K_zt": (189785.5477234252, 158294.1398119115, 212641.56722464017),
    "K_lt": (1.0278264878518764e-05, 1.6430724599974725e-05, 1.2231329122034703e-05),
    "K_ras": (175186.65943700788, 175186.65943700788, 175186.65943700788),
    "K_rad": (10215.732056044453, 10215.732056044453, 10215.732056044453),
    "front.m": (65.67256321742863, 63.7921826056784, 81.14428941630796),
    "front.I": (32.53963075995361, 30.673279563178017, 50.276902138127426),
    "front.track": (1.389888, 1.38684, 1.574292),
    "front.K_s": (21898.332429625985, 24453.137879749014, 33577.44305875984),
    "front.K_sd": (1459.3902937206362, 1786.2441002440723, 2405.564099800005),
    "front.K_ts": (-12880.270509148304, -6914.881688272133, -33948.217142834066),
    "front.D": (-0.6233595800524934, -0.39370078740157477, -0.32808398950131235),
    "front.E": (0.0, 0.0, 0.0),
    "front.h_ra": (0.0, 0.0, 0.0),
    "rear.m": (65.67256321742863, 63.7921826056784, 81.14428941630796),
    "rear.I": (32.53963075995361, 29.670408143156248, 48.34891545742069),
    "rear.track": (1.423416, 1.36398, 1.5438120000000002),
    "rear.K_s": (21898.332429625985, 19635.504745231297, 39125.020607598424),
    "rear.K_sd": (1459.3902937206362, 1649.0833034887382, 2769.727219182409),
    "rear.K_ts": (0.0, -2643.6009520155308, -7731.374238208578),
    "rear.D": (-0.20997375328083986, -0.905511811023622, -0.32808398950131235),
    "rear.E": (0.0, 0.0, 0.0),
    "rear.h_ra": (0.0, 0.0, 0.0),
}
"""Values of sets 1 to 3: a Ford Escort, a BMW 320i and a VW Vanagon."""
FORD_ESCORT, BMW_320I, VW_VANAGON = ({n: row[k] for n, row in _MEASURED.items()} for k in range(3))

TRUCK_WITH_TRAILER: Mapping[str, float] = {
    "length": 5.1,
    "width": 2.55,
    "l_f": 1.8,
    "l_r": 1.8,
    "steer_max": 0.55,
    "steer_rate_max": 0.7103,
    "v_min": -2.78,
    "v_max": 22.22,
    "v_switch": 7.824,
    "a_max": 11.5,
    "l_trailer": 8.1,
    "trailer_length": 13.6,
    "trailer_width": 2.55,
    "total_length": 16.5,
}

SETS: Mapping[int, Mapping[str, float]] = {
    1: FORD_ESCORT,
    2: BMW_320I,
    3: VW_VANAGON,
    4: TRUCK_WITH_TRAILER,
}
"""Parameter sets by CommonRoad's numbers."""

BMW_3_SERIES: Mapping[str, float] = {
    "l_f": 1.156,
    "l_r": 1.422,
    "m": 1093.0,
    "I_z": 1791.0,
    "C_f": 20.89 * 1.048,
    "C_r": 20.89 * 1.048,
    "z_cg": 0.574,
    "a_long_max": 11.5,
    "a_lat_max": 11.5,
    "steer_max": 1.066,
    "steer_rate_max": 0.4,
    "g": 9.81,
    # Those of set 2, which commonroad-control's car rounds.
    "length": 4.508,
    "width": 1.61,
}
"""Parameters of the bicycles: `BMW3seriesParams` of commonroad-control, which are parameter set 2,
rounded."""


class BicycleInput(NamedTuple):
    """Commands of the bicycles of commonroad-control, applied without limits."""

    a: m_s2 = 0.0
    """Longitudinal acceleration, forward positive."""
    steer_rate: rad_s = 0.0
    """Rate of the steering angle, positive to the left."""


class CarInput(NamedTuple):
    """Commands of the cars of commonroad-vehicle-models, applied within limits; see `limited`."""

    steer_rate: rad_s = 0.0
    """Commanded rate of the steering angle, positive to the left."""
    a: m_s2 = 0.0
    """Commanded longitudinal acceleration, forward positive."""


class CarParams(NamedTuple):
    """Geometry and limits; by default CommonRoad's vehicle 2, a BMW 320i."""

    l_f: Annotated[m, positive] = BMW_320I["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_320I["l_r"]
    """Distance from the centre of mass to the rear axle."""
    steer_max: Annotated[rad, non_negative] = BMW_320I["steer_max"]
    """Largest steering angle, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = BMW_320I["steer_rate_max"]
    """Largest steering rate, either side."""
    a_max: Annotated[m_s2, non_negative] = BMW_320I["a_max"]
    """Largest acceleration, in either direction."""
    v_switch: Annotated[m_s, positive] = BMW_320I["v_switch"]
    """Speed above which engine power limits the forward acceleration."""
    v_min: Annotated[m_s, Allowed(high=0.0)] = BMW_320I["v_min"]
    """Largest speed in reverse, negative."""
    v_max: Annotated[m_s, positive] = BMW_320I["v_max"]
    """Largest speed forwards."""
    length: Annotated[m, positive] = BMW_320I["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = BMW_320I["width"]
    """Width of the body; it does not influence the motion."""


class BicycleParams(NamedTuple):
    """Geometry and limits; by default the BMW 3 series of commonroad-control."""

    l_f: Annotated[m, positive] = BMW_3_SERIES["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_3_SERIES["l_r"]
    """Distance from the centre of mass to the rear axle."""
    a_long_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_long_max"]
    """Largest longitudinal acceleration, in either direction; the motion does not apply it."""
    a_lat_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_lat_max"]
    """Largest lateral acceleration, either side; the motion does not apply it."""
    steer_max: Annotated[rad, non_negative] = BMW_3_SERIES["steer_max"]
    """Largest steering angle, either side; the motion does not apply it."""
    steer_rate_max: Annotated[rad_s, non_negative] = BMW_3_SERIES["steer_rate_max"]
    """Largest steering rate, either side; the motion does not apply it."""
    length: Annotated[m, positive] = BMW_3_SERIES["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = BMW_3_SERIES["width"]
    """Width of the body; it does not influence the motion."""


class AxleOutputs(NamedTuple):
    """Accelerations, slip and forces of a front and a rear axle."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    alpha_f: rad
    """Slip angle of the front axle, positive when its tyres push to the left."""
    alpha_r: rad
    """Slip angle of the rear axle, positive when its tyres push to the left."""
    F_y_f: N
    """Lateral force of the front tyres, in the axes of the wheels."""
    F_y_r: N
    """Lateral force of the rear tyres."""
    F_z_f: N
    """Load on the front axle."""
    F_z_r: N
    """Load on the rear axle."""


UPSTREAM = "upstream"
VEHICLE_MODELS = "commonroad-vehicle-models 3.0.2"
"""The program that the vehicles KS to MB reproduce under `compat="upstream"`."""
CONTROL = "commonroad-control (commit 0b672f9)"
"""Program that the bicycles and the double integrator reproduce with compat="upstream"."""


@dataclass(frozen=True, repr=False)
class CommonRoadFactory(VehicleFactory):
    """Makes vehicles of one of CommonRoad's models: `commonroad_st(parameters=3, m=1500.0)`."""

    upstream: Model | None = None
    """The model that reproduces upstream's numbers; None if the model itself does."""
    sets: tuple[int, ...] = ()
    """Numbers of the available parameter sets."""
    own: tuple[str, ...] = ()
    """Fields that some of these sets lack, so that the caller must supply a value."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model and, if there is another one, the model that reproduces upstream's numbers."""
        return (self.model,) if self.upstream is None else (self.model, self.upstream)

    def __call__(
        self, source: Any = None, /, *, parameters: int | None = None, compat: str | None = None,
        **params: Any,
    ) -> Vehicle:  # fmt: skip
        """Return a vehicle with default parameters, some of them replaced by keyword or mapping.

        Args:
            source: a mapping of parameters, or the number of a parameter set: `commonroad_ks(4)`.
            parameters: number of a CommonRoad parameter set.
            compat: "upstream" reproduces the upstream program, errors included.
            params: further parameters by name.
        """
        if compat not in (None, UPSTREAM):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {UPSTREAM!r}")
        if isinstance(source, int) and parameters is None:
            source, parameters = None, source
        model = self.model if compat is None or self.upstream is None else self.upstream
        base = None if parameters is None else self._set(parameters, model.Params, source, params)
        filled = record.build(model.Params, source, base=base, **params)
        low, high = getattr(filled, "v_kin", 0.0), getattr(filled, "v_dyn", 1.0)
        # Wheels lead up to a speed below that from which forces do.
        if not low < high:
            raise InvalidValue(f"Params.v_kin = {low:g} m/s must be below v_dyn = {high:g} m/s")
        return Vehicle(model, filled)

    def _set(self, number: Any, Params: type, source: Any, params: Mapping[str, Any]) -> Any:
        """Parameters of a set; raises for a field without a value in the set or from the caller."""
        if isinstance(number, bool) or number not in self.sets:
            raise InvalidValue(
                f"parameters = {number!r} is not a parameter set of {self.model.name!r}; allowed "
                "are " + (", ".join(map(str, self.sets)) or "none")
            )
        values = {name: v for name, v in SETS[number].items() if name in record.names(Params)}
        given = {*values, *params, *(source if isinstance(source, Mapping) else ())}
        for name in self.own:
            if name not in given:
                raise InvalidValue(f"parameter set {number} has no {name}: give {name}=")
        return record.build(Params, values)


GOVERNOR: one = 0.02
"""Share of the largest speed over which the engine torque fades out at its maximum revs."""


class Limited(NamedTuple):
    """Commands after the limits."""

    steer_rate: rad_s
    a: m_s2


def _steering_rate(u: CarInput, steer: rad, p: Any) -> rad_s:
    """Limited steering rate: within ±`steer_rate_max`, and 0 outwards at full lock."""
    at_lock = _outwards(u.steer_rate, steer, -p.steer_max, p.steer_max)
    return where(at_lock, 0.0, clip(u.steer_rate, -p.steer_rate_max, p.steer_rate_max))


def limit_commands(u: CarInput, steer: rad, v: m_s, p: Any) -> Limited:
    """Commands within the limits of a car that is driven by an acceleration.

    It is at most `a_max` in either direction; forwards above `v_switch` at most a_max v_switch / v
    by engine power; 0 if it would lead beyond `v_min` (negative: reverse) or `v_max`.
    """
    steer_rate = _steering_rate(u, steer, p)
    forwards = p.a_max * (p.v_switch / maximum(v, p.v_switch))
    a = where(_outwards(u.a, v, p.v_min, p.v_max), 0.0, clip(u.a, -p.a_max, forwards))
    return Limited(steer_rate, a)


def limit_torque_commands(u: CarInput, steer: rad, v: m_s, v_engine: m_s, p: Any) -> Limited:
    """Commands within limits, for an acceleration whose torque m R a acts on spinning wheels.

    A command against the motion acts through the brakes, up to `a_max`. A driving command acts
    through the engine, whose wheels turn with the rim speed `v_engine`: at most `a_max`, at most
    the power m a_max v_switch, in either direction, and 0 once its revs are those of `v_max` or
    `v_min`.
    """
    steer_rate = _steering_rate(u, steer, p)
    strength = p.a_max * (p.v_switch / maximum(abs(v_engine), p.v_switch))
    width = GOVERNOR * p.v_max
    # A governor with an abrupt cut-off would make the wheel oscillate at its limit.
    forwards = 1.0 - smooth_step(v_engine, p.v_max - width, p.v_max)
    backwards = smooth_step(v_engine, p.v_min, p.v_min + width)
    driven = clip(u.a, -strength * backwards, strength * forwards)
    return Limited(steer_rate, where(u.a * v < 0.0, clip(u.a, -p.a_max, p.a_max), driven))


def _outwards(rate: Any, value: Any, low: Any, high: Any) -> Any:
    """Whether a value at one end of its range is driven outwards or held there."""
    return logical_or(
        logical_and(value <= low, rate <= 0.0), logical_and(value >= high, rate >= 0.0)
    )


def upstream_rolling_rate(
    v: m_s, beta: rad, steer: rad, acting: Limited, l_f: m, l_r: m
) -> NoSlipRate:
    """Rates of slip angle and yaw rate of a slow car, with the upstream program's two errors.

    In the rate of the slip angle the tangent of the steering angle is squared once too often,
    and the yaw acceleration takes `beta` from the state (in MB: the lean of the body) instead of
    computing it from the steering angle.
    """
    k, t = l_r * (1.0 / (l_f + l_r)), tan(steer)
    wrong = t * t * k
    beta_rate = k * acting.steer_rate * (1.0 + t * t) / (1.0 + wrong * wrong)
    omega_rate = centre_track_yaw_acceleration(
        v, acting.a, beta, beta_rate, steer, acting.steer_rate, l_f + l_r
    )
    return NoSlipRate(beta_rate, omega_rate)


STEER_TIME: s = 0.1
"""Time constant with which the steering rate brings the wheels to the demanded angle."""
HEIGHT: m = 1.45
"""Height of the cars, for drawing."""


class Motion(NamedTuple):
    """Quantities of one instant that both the derivative and the outputs need."""

    rate: Any
    """Rates of the state."""
    acting: Any
    """Quantities that cause these rates: limited commands, or forces."""


def car_model(
    name: str,
    State: type,
    Params: type,
    Outputs: Any,
    move: Callable[[Any, Any, Any], Motion],
    shown: Callable[[Any, Motion, Any], Sequence[Any]],
    Input: type = CarInput,
    **others: Any,
) -> Model:
    """Return a model with additive disturbances from its motion at one instant.

    Args:
        move: motion from state, input and parameters.
        shown: values of the outputs from state, motion and parameters.
        others: further arguments of the `Model`.
    """

    def derivative(x: Any, u: Any, w: NoDisturbance, p: Any) -> Any:
        return move(x, u, p).rate

    def outputs(x: Any, u: Any, w: NoDisturbance, p: Any) -> Any:
        return Outputs._make(shown(x, move(x, u, p), p))

    kinds: dict[str, Any] = {"State": State, "Input": Input, "Params": Params, "Outputs": Outputs}
    return additive(Model(name, **kinds, derivative=derivative, outputs=outputs, **others))


def command(Input: Any, a_max: Callable[[Any], m_s2]) -> Callable[[Any, Demand, Any], Any]:
    """Return a command function whose input is steering rate and acceleration."""

    def by_rate(x: Any, demand: Demand, p: Any) -> Any:
        """Steer to the demanded angle, drive as demanded; a demand to slow down stops the car."""
        rate = rate_limited_lag(x.steer, demand.steer, STEER_TIME, p.steer_max, p.steer_rate_max)
        along = x.v if "v" in type(x)._fields else x.v_x
        return Input(steer_rate=rate, a=limited(demanded_acceleration(demand, along), a_max(p)))

    return by_rate


car_command = command(CarInput, lambda p: p.a_max)
bicycle_command = command(BicycleInput, lambda p: p.a_long_max)


def sized(p: Any, rear: bool = False, **others: Any) -> Geometry:
    """Geometry of a car about its axles; with `rear`, the reference point is the rear axle."""
    return geometry_about_axles(p, p.l_r if rear else 0.0, height=HEIGHT, **others)


def seen_from_the_mass(p: Any) -> Geometry:
    """Geometry of a car whose reference point is the centre of mass."""
    return sized(p, mass=p.m, inertia=p.I_z)


def on_spinning_wheels(p: Any, letters: int, **others: Any) -> Geometry:
    """Geometry with wheel spins from states named omega_ and the first letters of the wheel.

    With one letter the wheels of an axle spin alike.
    """
    shape = sized(p, mass=p.m, inertia=p.I_z, wheel_radius=p.R_w, **others)
    wheels = (replace(wheel, spin=f"omega_{wheel.name[:letters]}") for wheel in shape.wheels)
    return replace(shape, wheels=tuple(wheels))


def limits(p: Any) -> Limits:
    """Limits of the cars KS to MB, which their models apply."""
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.a_max,
        inputs=_ranges(p.steer_rate_max, p.a_max),
    )


def spinning_limits(p: Any) -> Limits:
    """Limits of STD and MB, whose speed limit does not hold.

    A car that has spun slides backwards at the speed it had.
    """
    return replace(limits(p), not_kept=("v",))


def bicycle_limits(p: Any) -> Limits:
    """Limits of the bicycles, which their models do not apply; the controller has to keep them."""
    return Limits(
        not_kept=("steer",),
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=p.a_long_max,
        a_min=-p.a_long_max,
        grip=p.a_lat_max,
        inputs=_ranges(p.steer_rate_max, p.a_long_max),
    )


def _ranges(steer_rate: rad_s, a: float) -> dict[str, tuple[float, float]]:
    return {"steer_rate": (-steer_rate, steer_rate), "a": (-a, a)}


def on_slope(*fields: str) -> Callable[[Any, Any, Any, GroundUnder, Any], tuple[Any, Any]]:
    """Return an `on_ground` that adds gravity to the rates of these velocities.

    The first field is the velocity along the car, the others are across it. A car without a lateral
    velocity is held by its wheels.
    """

    def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        if ground.down is None:
            return u, w
        along, across = ground.g * ground.down.x, ground.g * ground.down.y
        pulls = {name: across if k else along for k, name in enumerate(fields)}
        return u, w._replace(**pulls)

    return on_ground


def on_slope_ahead(
    beta: Callable[[Any, Any], rad],
) -> Callable[[Any, Any, Any, GroundUnder, Any], tuple[Any, Any]]:
    """Return an `on_ground` that adds gravity along the direction of travel to the rate of v.

    `beta` is the slip angle for a state and parameters. Sideways the tyres hold the car.
    """

    def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        if ground.down is None:
            return u, w
        along, _ = unrotated(ground.down.x, ground.down.y, beta(x, p))
        return u, w._replace(v=ground.g * along)

    return on_ground


def standing_tyres(p: Any) -> tuple[m, m]:
    """Static deflection of the front and the rear tyres."""
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    by_tyres = 0.5 * p.g * (1.0 / p.K_zt)
    return (
        (p.m_s * p.l_r * by_wheelbase + p.front.m) * by_tyres,
        (p.m_s * p.l_f * by_wheelbase + p.rear.m) * by_tyres,
    )


def start(
    vehicle: Vehicle, *, x: m = 0.0, y: m = 0.0, steer: rad = 0.0, v: m_s = 0.0, yaw: rad = 0.0,
    omega: rad_s = 0.0, beta: rad = 0.0, hitch: rad = 0.0,
) -> Any:  # fmt: skip
    """State of a CommonRoad vehicle that drives at `v` in the direction `beta` from its heading.

    Quantities that the model lacks are ignored. Wheels roll without slip, and the multi-body car
    is in balance on its springs. Under `compat="upstream"` the state is that of upstream's
    `init_std` and `init_mb`: wheel spins follow from v alone, and the springs are not in
    balance.
    """
    kind, p = vehicle_of(vehicle).State, vehicle.params
    v, beta = finite("v", v, "m/s"), finite("beta", beta, "rad")
    values: dict[str, float] = {
        "x": x, "y": y, "steer": steer, "yaw": yaw, "omega": omega, "hitch": hitch, "beta": beta,
        "v": v, "v_x": v * cos(beta), "v_y": v * sin(beta),
    }  # fmt: skip
    of_package = kind.__module__.rpartition(".")[0] == __package__
    if not (of_package and {"x", "y", "yaw", "steer"} <= {*kind._fields}):
        raise InvalidValue(
            f"{vehicle.name!r} is not a CommonRoad car with a position and a steering angle"
        )
    state = record.build(
        kind, {name: value for name, value in values.items() if name in kind._fields}
    )
    if vehicle.model.settle is not None:
        return vehicle.model.settle(state, p)
    if not vehicle.model.reproduces:
        return state
    # Wheel spins and tyre deflections as upstream's initialisers set them.
    if "omega_f" in kind._fields:
        rim = state.v * cos(state.beta) * (1.0 / p.R_w)
        return state._replace(omega_f=rim * cos(state.steer), omega_r=rim)
    if "drop_f" in kind._fields:
        front, rear = standing_tyres(p)
        rim = state.v_x * (1.0 / p.R_w)
        return state._replace(
            drop_f=front,
            drop_r=rear,
            v_y_f=state.v_y + p.l_f * state.omega,
            v_y_r=state.v_y - p.l_r * state.omega,
            **dict.fromkeys(("omega_fr", "omega_fl", "omega_rr", "omega_rl"), rim),
        )
    return state
