"""What several of CommonRoad's vehicles share: parameter sets, inputs, limits and factories.

The parameter sets 1 to 4 are plain numbers in SI units from `parameters/parameters_vehicle1.yaml`
to `parameters_vehicle4.yaml` of the package `commonroad-vehicle-models` 3.0.2 (M. Althoff, G.
Würsching, TU München). Sets 1 to 3 go back to vehicles measured for the US Department of
Transportation, whence the odd digits: they were converted from feet and pounds. All share one tyre,
the defaults of `tyre.Coefficients`. docs/commonroad_vehicles.md lists CommonRoad's names for ours.

Limits of steering and acceleration act on the rate, so a vehicle may pass a limit by what it moves
within one stage of an integrator, and no further. Source: M. Althoff and G. Würsching, "CommonRoad:
Vehicle Models" (2020a).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ...core import record
from ...core.model import Model, Vehicle, VehicleFactory
from ...errors import InvalidValue
from ...ops import abs, clip, logical_and, logical_or, maximum, smooth_step, tan, where
from ...units import Allowed, N, m, m_s, m_s2, non_negative, one, positive, rad, rad_s
from ..parts.kinematics import NoSlipRate, centre_track_yaw_acceleration

FORD_ESCORT: Mapping[str, float] = {
    "length": 4.298,
    "width": 1.674,
    "l_f": 0.88392,
    "l_r": 1.50876,
    "steer_max": 0.91,
    "steer_rate_max": 0.4,
    "v_min": -13.9,
    "v_max": 45.8,
    "v_switch": 4.755,
    "a_max": 11.5,
    "m": 1225.8878467253344,
    "I_z": 1538.8533713561394,
    "h_s": 0.59436,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.76,
    "engine_split": 1.0,
    "m_s": 1094.542720290477,
    "I_x_s": 244.04723069965206,
    "I_y_s": 1342.2597688480864,
    "I_xz_s": 0.0,
    "K_zt": 189785.5477234252,
    "K_lt": 1.0278264878518764e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 65.67256321742863,
    "front.I": 32.53963075995361,
    "front.track": 1.389888,
    "front.K_s": 21898.332429625985,
    "front.K_sd": 1459.3902937206362,
    "front.K_ts": -12880.270509148304,
    "front.D": -0.6233595800524934,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 65.67256321742863,
    "rear.I": 32.53963075995361,
    "rear.track": 1.423416,
    "rear.K_s": 21898.332429625985,
    "rear.K_sd": 1459.3902937206362,
    "rear.K_ts": 0.0,
    "rear.D": -0.20997375328083986,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

BMW_320I: Mapping[str, float] = {
    "length": 4.508,
    "width": 1.61,
    "l_f": 1.1561957064,
    "l_r": 1.4227170936,
    "steer_max": 1.066,
    "steer_rate_max": 0.4,
    "v_min": -13.9,
    "v_max": 50.8,
    "v_switch": 7.319,
    "a_max": 11.5,
    "m": 1093.2952334674046,
    "I_z": 1791.5995300122856,
    "h_s": 0.61373004,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.66,
    "engine_split": 0.0,
    "m_s": 965.7108098804363,
    "I_x_s": 207.26524557936952,
    "I_y_s": 1565.8178787125541,
    "I_xz_s": 0.0,
    "K_zt": 158294.1398119115,
    "K_lt": 1.6430724599974725e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 63.7921826056784,
    "front.I": 30.673279563178017,
    "front.track": 1.38684,
    "front.K_s": 24453.137879749014,
    "front.K_sd": 1786.2441002440723,
    "front.K_ts": -6914.881688272133,
    "front.D": -0.39370078740157477,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 63.7921826056784,
    "rear.I": 29.670408143156248,
    "rear.track": 1.36398,
    "rear.K_s": 19635.504745231297,
    "rear.K_sd": 1649.0833034887382,
    "rear.K_ts": -2643.6009520155308,
    "rear.D": -0.905511811023622,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

VW_VANAGON: Mapping[str, float] = {
    "length": 4.569,
    "width": 1.844,
    "l_f": 1.1507916024,
    "l_r": 1.3211363976000001,
    "steer_max": 1.023,
    "steer_rate_max": 0.4,
    "v_min": -11.2,
    "v_max": 41.7,
    "v_switch": 7.824,
    "a_max": 11.5,
    "m": 1478.8979637767998,
    "I_z": 2473.1176915564442,
    "h_s": 0.804490644,
    "R_w": 0.344,
    "I_w": 1.7,
    "brake_split": 0.64,
    "engine_split": 0.0,
    "m_s": 1316.6086552490374,
    "I_x_s": 479.88430581318335,
    "I_y_s": 2204.322715845899,
    "I_xz_s": 0.0,
    "K_zt": 212641.56722464017,
    "K_lt": 1.2231329122034703e-05,
    "K_ras": 175186.65943700788,
    "K_rad": 10215.732056044453,
    "front.m": 81.14428941630796,
    "front.I": 50.276902138127426,
    "front.track": 1.574292,
    "front.K_s": 33577.44305875984,
    "front.K_sd": 2405.564099800005,
    "front.K_ts": -33948.217142834066,
    "front.D": -0.32808398950131235,
    "front.E": 0.0,
    "front.h_ra": 0.0,
    "rear.m": 81.14428941630796,
    "rear.I": 48.34891545742069,
    "rear.track": 1.5438120000000002,
    "rear.K_s": 39125.020607598424,
    "rear.K_sd": 2769.727219182409,
    "rear.K_ts": -7731.374238208578,
    "rear.D": -0.32808398950131235,
    "rear.E": 0.0,
    "rear.h_ra": 0.0,
}

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
"""The sets by CommonRoad's numbers."""

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
"""The car of the bicycles: `BMW3seriesParams` of commonroad-control, a rounded set 2."""


def set_values_for(
    model: str, Params: type, number: Any, allowed: tuple[int, ...]
) -> dict[str, float]:
    """The values of a parameter set that a model has fields for."""
    if isinstance(number, bool) or number not in allowed:
        raise InvalidValue(
            f"parameters = {number!r} is no parameter set of {model!r}; allowed are "
            + (", ".join(map(str, allowed)) or "none")
        )
    values = SETS[number]
    return {name: values[name] for name in record.names(Params) if name in values}


class BicycleInput(NamedTuple):
    """Commands of the bicycles of commonroad-control. They act as they are, without limits."""

    a: m_s2 = 0.0
    """Acceleration along the car, forward positive."""
    steer_rate: rad_s = 0.0
    """Rate of the steering angle, positive to the left."""


class CarInput(NamedTuple):
    """Commands of the cars of commonroad-vehicle-models; see `limited`."""

    steer_rate: rad_s = 0.0
    """Wanted rate of the steering angle, positive to the left."""
    a: m_s2 = 0.0
    """Wanted acceleration along the car, forward positive."""


class CarParams(NamedTuple):
    """Geometry and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    l_f: Annotated[m, positive] = BMW_320I["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_320I["l_r"]
    """Distance from the centre of mass to the rear axle."""
    steer_max: Annotated[rad, non_negative] = BMW_320I["steer_max"]
    """Largest steering angle, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = BMW_320I["steer_rate_max"]
    """Largest steering rate, either side."""
    a_max: Annotated[m_s2, non_negative] = BMW_320I["a_max"]
    """Largest acceleration, either way."""
    v_switch: Annotated[m_s, positive] = BMW_320I["v_switch"]
    """Speed above which the engine's power limits the acceleration forwards."""
    v_min: Annotated[m_s, Allowed(high=0.0)] = BMW_320I["v_min"]
    """Fastest in reverse, negative."""
    v_max: Annotated[m_s, positive] = BMW_320I["v_max"]
    """Fastest forwards."""
    length: Annotated[m, positive] = BMW_320I["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = BMW_320I["width"]
    """Width of the body; it does not influence the motion."""


class BicycleParams(NamedTuple):
    """Geometry and limits: the BMW of the 3 series of commonroad-control."""

    l_f: Annotated[m, positive] = BMW_3_SERIES["l_f"]
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = BMW_3_SERIES["l_r"]
    """Distance from the centre of mass to the rear axle."""
    a_long_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_long_max"]
    """Largest acceleration along the car, either way; the motion does not apply it."""
    a_lat_max: Annotated[m_s2, positive] = BMW_3_SERIES["a_lat_max"]
    """Largest acceleration across the car, either side; the motion does not apply it."""
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
"""The program that the bicycles and the double integrator reproduce."""


@dataclass(frozen=True, repr=False)
class CommonRoadFactory(VehicleFactory):
    """Makes vehicles of one of CommonRoad's models: `commonroad_st(parameters=3, m=1500.0)`."""

    upstream: Model | None = None
    """The model that repeats upstream's numbers; None if the model itself does."""
    sets: tuple[int, ...] = ()
    """Numbers of the parameter sets that may be chosen."""
    own: tuple[str, ...] = ()
    """Fields without a value in some of those sets, which then have to be given."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and the one that repeats upstream's numbers if that is another."""
        return (self.model,) if self.upstream is None else (self.model, self.upstream)

    def __call__(
        self, source: Any = None, /, *, parameters: int | None = None, compat: str | None = None,
        **params: Any,
    ) -> Vehicle:  # fmt: skip
        """A vehicle with default parameters, some of them replaced by keyword or mapping.

        `parameters` is the number of a CommonRoad parameter set, which may also be given alone:
        `commonroad_ks(4)`. `compat="upstream"` repeats the upstream program, errors included.
        """
        if compat not in (None, UPSTREAM):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {UPSTREAM!r}")
        if isinstance(source, int) and parameters is None:
            source, parameters = None, source
        model = self.model if compat is None or self.upstream is None else self.upstream
        base = None
        if parameters is not None:
            values = set_values_for(model.name, model.Params, parameters, self.sets)
            base = record.build(model.Params, values)
            self._check_own(parameters, values, source, params)
        filled = record.build(model.Params, source, base=base, **params)
        low, high = getattr(filled, "v_kin", 0.0), getattr(filled, "v_dyn", 1.0)
        # Wheels lead up to a speed below that from which forces do.
        if not low < high:
            raise InvalidValue(f"Params.v_kin = {low:g} m/s must be below v_dyn = {high:g} m/s")
        return Vehicle(model, filled)

    def _check_own(
        self, number: int, values: Mapping[str, float], source: Any, params: Mapping[str, Any]
    ) -> None:
        """Raise if a field has no value in the set and was not given either."""
        named = source if isinstance(source, Mapping) else ()
        for name in self.own:
            if name not in values and name not in params and name not in named:
                raise InvalidValue(f"parameter set {number} has no {name}: give {name}=")


GOVERNOR: one = 0.02
"""Share of the largest speed over which the engine fades at its highest revs."""


class Limited(NamedTuple):
    """The commands that act."""

    steer_rate: rad_s
    a: m_s2


def steering_rate(command: rad_s, steer: rad, steer_max: rad, steer_rate_max: rad_s) -> rad_s:
    """The steering rate that acts: within ±`steer_rate_max`, and 0 outwards at full lock."""
    at_lock = _outwards(command, steer, -steer_max, steer_max)
    return where(at_lock, 0.0, clip(command, -steer_rate_max, steer_rate_max))


def acceleration(command: m_s2, v: m_s, a_max: m_s2, v_switch: m_s, v_min: m_s, v_max: m_s) -> m_s2:
    """The acceleration that acts along the car.

    At most `a_max` to either side; forwards above `v_switch` the engine's power allows no more than
    a_max v_switch / v; none that would lead beyond `v_min` (negative: reverse) or `v_max`.
    """
    forwards = a_max * (v_switch / maximum(v, v_switch))
    return where(_outwards(command, v, v_min, v_max), 0.0, clip(command, -a_max, forwards))


def torque_limited(command: m_s2, v: m_s, v_engine: m_s, p: Any) -> m_s2:
    """The acceleration whose torque acts on wheels that spin: m R a, of engine or brakes.

    What slows the car comes from the brakes, which give up to `a_max`. What drives it comes from
    the engine, whose wheels turn with the rim speed `v_engine`: at most `a_max`, at most the power
    m a_max v_switch, either way, and nothing once its revs are those of `v_max` or `v_min`.
    """
    strength = p.a_max * (p.v_switch / maximum(abs(v_engine), p.v_switch))
    width = GOVERNOR * p.v_max
    # A governor that cut off at once would throw a wheel to and fro at its limit.
    forwards = 1.0 - smooth_step(v_engine, p.v_max - width, p.v_max)
    backwards = smooth_step(v_engine, p.v_min, p.v_min + width)
    driven = clip(command, -strength * backwards, strength * forwards)
    return where(command * v < 0.0, clip(command, -p.a_max, p.a_max), driven)


def _outwards(rate: Any, value: Any, low: Any, high: Any) -> Any:
    """Whether a value at one of its ends is driven outwards, or held there."""
    return logical_or(
        logical_and(value <= low, rate <= 0.0), logical_and(value >= high, rate >= 0.0)
    )


def limited(steer_rate: rad_s, a: m_s2, steer: rad, v: m_s, p: Any) -> Limited:
    """Both commands limited by the fields of these names in the parameters `p`."""
    return Limited(
        steering_rate(steer_rate, steer, p.steer_max, p.steer_rate_max),
        acceleration(a, v, p.a_max, p.v_switch, p.v_min, p.v_max),
    )


def upstream_rolling_rate(
    v: m_s, beta: rad, steer: rad, acting: Limited, l_f: m, l_r: m
) -> NoSlipRate:
    """Rates of slip angle and yaw rate of a slow car, with the program's two errors.

    In the rate of the slip angle the tangent of the steering angle is squared once too often, and
    the yaw acceleration takes `beta` from the state (in MB: the lean of the body), not from the
    steering angle.
    """
    k, t = l_r * (1.0 / (l_f + l_r)), tan(steer)
    wrong = t * t * k
    beta_rate = k * acting.steer_rate * (1.0 + t * t) / (1.0 + wrong * wrong)
    omega_rate = centre_track_yaw_acceleration(
        v, acting.a, beta, beta_rate, steer, acting.steer_rate, l_f + l_r
    )
    return NoSlipRate(beta_rate, omega_rate)
