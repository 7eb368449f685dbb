"""Parameter sets of `two_track` and `single_track`: `two_track("compact")`.

The text of each set names the sources of its values; a value that it does not name is an estimate.
Makers publish masses, dimensions, power and performance, but no inertia, stiffness or damping:

* I_z of road cars is 0.97 to 1 m l_f l_r, the usual dynamic index (estimate).
* Lateral stiffness at the front is that of the axle, not the tyre: the compliance of steering and
  suspension, which `two_track` does not model, takes about a quarter of it and makes a car
  understeer (estimate).
* C_drag is c_d A times 1.2 kg/m³; rolling resistance of car tyres is 0.010 to 0.012 (estimate).
* Drive torque is that in the lowest gear, and brakes can lock the wheels (estimate).
* `power` is at the wheels: the rated power of the engine less a tenth (estimate). The cars
  themselves have no power limit; `control.driver_aids.power_limit` applies it. Only
  `formula_student` has motors with a limited power (`WheelMotors`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.record import unknown_name
from ...errors import InvalidValue
from ...tyres.contract import Carcass
from ...tyres.simple import LinearTyre, LoadSensitiveLaw, LoadSensitiveTyre, ProportionalTyre
from ...tyres.simple import MagicFormula as Friction
from ..parts.actuators import ForceCommand
from ..parts.electric import WheelMotors
from ..parts.spinning_wheel import FirstOrderSlip, SteadySlip


@dataclass(frozen=True)
class CarSet:
    """Parameter set of a car: values, tyres, power, sources and parts."""

    values: Mapping[str, float]
    """Parameters of `two_track`, by name."""
    front: Any
    """Tyre of the front wheels."""
    rear: Any
    """Tyre of the rear wheels."""
    power: float
    """Largest total power at the wheels, in W."""
    sources: str
    """Sources of the values."""
    slip: Any = None
    """Slip law, if not the default of the factory; else None."""
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parts of `two_track` that differ from its defaults, by name."""

    def drive(self) -> ForceCommand:
        """Drive and brake torques of the car as limits of a longitudinal force."""
        radius = max(self.front.carcass.radius, self.rear.carcass.radius)
        shares = (self.values["drive_front"], self.values["brake_front"])
        drive, brake = (2.0 / (radius * max(share, 1.0 - share)) for share in shares)
        return ForceCommand(drive * self.values["tau_max"], -brake * self.values["brake_max"])


def road_tyre(radius: float, load: float, mu: float, stiffness: float, axle: float) -> Any:
    """Return a car tyre with the peak friction `mu` at its nominal load (0.95 `mu` laterally).

    `stiffness` is the cornering stiffness over the nominal load, in 1/rad, and `axle` the share of
    it that remains for the axle.
    """
    # At half of F_K, the stiffness over load is 2 K / (1.25 F_K).
    F_K = 2.0 * load
    K = 0.5 * 1.25 * F_K * stiffness
    return LoadSensitiveTyre(
        lateral=LoadSensitiveLaw(mu=0.95 * mu, mu_fall=0.15, K=axle * K, F_K=F_K, C=1.4),
        longitudinal=LoadSensitiveLaw(mu=mu, mu_fall=0.1, K=1.4 * K, F_K=F_K, C=1.6),
        F_z0=load,
        carcass=Carcass(radius=radius, rolling=0.011),
    )


_CARS = ("compact", "sports", "suv", "race", "formula_student", "small_scale", "tractor")
_VALUES: dict[str, tuple[float | None, ...]] = {
    "m": (1300.0, 1480.0, 1680.0, 733.0, 230.0, 3.74, 7500.0),
    "I_z": (2100.0, 2050.0, 2750.0, 1000.0, 120.0, 0.04712, 21e3),
    "I_w": (1.1, 1.4, 1.5, 1.2, 0.3, 1.2e-4, 25.0),
    "l_f": (1.055, 1.495, 1.12, 1.968, 0.7853, 0.15875, 1.15),
    "l_r": (1.582, 0.955, 1.484, 1.632, 0.7853, 0.17145, 2.55),
    "track_f": (1.549, 1.532, 1.569, 1.6, 1.24, 0.24, 2.05),
    "track_r": (1.520, 1.518, 1.571, 1.6, 1.24, 0.24, 1.85),
    "z_cg": (0.54, 0.47, 0.66, 0.335, 0.295, 0.074, 1.0),
    "roll_front": (0.6, 0.62, 0.58, 0.52, 0.52, 0.5, 0.3),
    "t_load": (None, None, None, 0.02, 0.02, 0.02, 0.1),
    "F_lift": (None, None, None, None, 20.0, 0.5, 500.0),
    "C_drag": (0.76, 0.70, 1.13, 1.18 * 1.56, 1.55, 0.02, 6.5),
    "C_down": (None, None, None, 1.18 * (2.20 + 2.68), 3.96864, None, None),
    "down_front": (None, None, None, 2.20 / (2.20 + 2.68), 0.5, None, None),
    "ackermann": (0.6, 0.6, 0.6, 0.3, 1.0, None, 0.7),
    "t_tau": (None, None, None, 0.02, 0.01, 0.02, 0.1),
    "t_steer": (None, None, None, 0.03, 0.02, 0.02, 0.1),
    "tau_max": (1200.0, 2300.0, 1000.0, 2600.0, 276.75, 0.46, 16e3),
    "brake_max": (2500.0, 3500.0, 3200.0, 7000.0, 500.0, 0.9, 22e3),
    "steer_max": (0.6, 0.53, 0.53, 0.35, 0.5, 0.4189, 0.75),
    "steer_rate_max": (None, None, None, 1.0, 1.0, 3.2, 0.5),
    "drive_front": (1.0, 0.0, 0.6, 0.0, 0.5, 0.5, 0.0),
    "brake_front": (0.7, 0.6, 0.66, 0.55, 0.7, 0.5, 0.45),
    "length": (4.255, 4.491, 4.427, 5.5, 3.19, 0.58, 5.9),
    "width": (1.799, 1.808, 1.809, 2.0, 1.55, 0.31, 2.5),
    "height": (1.452, 1.303, 1.683, 0.95, 1.15, 0.2, 3.8),
}
"""Parameters of `two_track` by name, one for each of `_CARS`; None for the default."""


def set_parameters(car: str) -> dict[str, float]:
    """Parameters of one of `_CARS` that differ from the defaults."""
    k = _CARS.index(car)
    return {name: value for name, row in _VALUES.items() if (value := row[k]) is not None}


COMPACT = CarSet(
    set_parameters("compact"),
    front=road_tyre(0.316, 3800.0, 1.12, 17.0, axle=0.72),
    rear=road_tyre(0.316, 2600.0, 1.12, 18.0, axle=1.0),
    power=81e3,
    sources="Volkswagen Golf VII 1.4 TSI. Volkswagen's press release of 2012, as magazines "
    "printed it: length, width, height, wheelbase 2.637 m, tracks (8 and 6 mm more than the 1.541 "
    "and 1.514 m of the Golf VI), 90 kW. Estimates: mass (1.23 t, as catalogues have it, with "
    "luggage), 60 % of it in front (a car with front drive), drag (c_d 0.29 with 2.19 m², as "
    "catalogues have them), radius (of a tyre 205/55 R16), lock (from a turning circle of 10.9 m), "
    "torque and brakes (what slips in the lowest gear, and locks), height of the centre of mass "
    "(0.37 of that of the car), roll share, wheels.",
)

SPORTS = CarSet(
    set_parameters("sports"),
    front=road_tyre(0.335, 2900.0, 1.22, 20.0, axle=0.72),
    rear=road_tyre(0.341, 4500.0, 1.22, 22.0, axle=1.0),
    power=231e3,
    sources="Porsche 911 Carrera (991). Porsche's press release of 2011, as the motoring press "
    "printed it: wheelbase 2.450 m, length, height, tracks, 257 kW, c_d 0.29. Estimates: width "
    "(without mirrors, as catalogues have it), mass (1.38 t, as catalogues have it, with driver "
    "and fuel), 39 % of it in front (a car with its engine behind the rear axle), drag (2.0 m² of "
    "front), radii (of tyres 235/40 R19 and 285/35 R19), lock (from a turning circle of 11.1 m), "
    "torque and brakes (what slips in the lowest gear, and locks), height of the centre of mass "
    "(0.36 of that of the car), roll share, wheels.",
)

SUV = CarSet(
    set_parameters("suv"),
    front=road_tyre(0.345, 4700.0, 1.04, 15.0, axle=0.72),
    rear=road_tyre(0.345, 3550.0, 1.04, 16.0, axle=1.0),
    power=132e3,
    sources="Volkswagen Tiguan (2007) 2.0 TSI 4Motion. Volkswagen's press release of 2007, as the "
    "motoring press printed it: 147 kW. Estimates, all as catalogues have them: wheelbase 2.604 m, "
    "length, width, height, tracks, mass (1.6 t, here with driver), drag (c_d 0.37 with 2.55 m²), "
    "radius (of a tyre 235/55 R17), lock (from a turning circle of 12.0 m). Estimates: 57 % of the "
    "mass in front (an engine across), shares of the four-wheel drive, torque and brakes (what "
    "slips in the lowest gear, and locks), height of the centre of mass (0.39 of that of the car), "
    "roll share, wheels.",
)

RACE_R: float = 2.073 / 6.283185307179586
"""Wheel radius of the race car, from its rolling circumference."""

_SLICK = LoadSensitiveTyre(
    lateral=LoadSensitiveLaw(mu=1.85, mu_fall=0.081, K=180e3, F_K=12e3, C=1.5),
    longitudinal=LoadSensitiveLaw(mu=1.65, mu_fall=0.091, K=230e3, F_K=12e3, C=1.6),
    F_z0=3000.0,
    trail=0.02,
    carcass=Carcass(radius=RACE_R, C_z=2.5e5, sigma_x=0.1, sigma_y=0.25, rolling=0.03),
)
"""Front tyre of the race car."""

RACE = CarSet(
    set_parameters("race"),
    front=_SLICK,
    rear=_SLICK._replace(
        lateral=LoadSensitiveLaw(mu=2.15, mu_fall=0.070, K=210e3, F_K=12e3, C=1.5),
        longitudinal=LoadSensitiveLaw(mu=1.95, mu_fall=0.077, K=260e3, F_K=12e3, C=1.6),
    ),
    power=0.96 * (567e3 + 120e3),
    sources="TUMFTM laptime-simulation, F1_Shanghai.ini: mass without fuel, axles, tracks, height "
    "of the centre of mass, drag, downforce and its share, air 1.18 kg/m³, rolling resistance "
    "0.03, circumference, nominal load, frictions and how they fall with load, 567 kW and 120 kW "
    "with an efficiency of 0.96. Estimates: I_z (0.42 m l_f l_r, as all that is heavy is in the "
    "middle), stiffness of the tyres, wheels, brakes (which lock), torque, roll share, Ackermann, "
    "steering, lags, length, width, height.",
)

FORMULA_STUDENT_TYRE = ProportionalTyre(
    lateral=Friction(),
    longitudinal=Friction(B=12.380272608362585, C=1.86, D=1.6331764, E=0.2894208417375008),
    trail=0.015,
    # It rolls with 0.20809 m under the weight of the car: a third of the deflection more.
    carcass=Carcass(radius=0.20997, C_z=1e5, sigma_x=0.1, sigma_y=0.2, rolling=0.02),
)

FORMULA_STUDENT = CarSet(
    set_parameters("formula_student"),
    front=FORMULA_STUDENT_TYRE,
    rear=FORMULA_STUDENT_TYRE,
    power=0.9 * 80e3,
    sources="brains2's driverless car (`car_constants.yaml` at c975b02): mass, axles, track, "
    "height of the centre of mass, downforce, wheel torque, steering and its rate and lag, inertia "
    "and radius of the wheels, friction along and across, length, width. Rules of Formula Student "
    "(2024): 80 kW from the accumulator (EV 2.2), wheelbase at least 1.525 m and the smaller track "
    "at least 75 % of the larger (T 2). Estimates: I_z (0.85 m l_f l_r, with a battery in the "
    "middle; brains2 has 200 kg·m², 1.4 of it), drag (1.2 kg/m³, c_d A 1.3 m², of a "
    "car with wings; brains2's 350 N + 20 N·s/m v is no air), rolling resistance 0.02 (a soft "
    "slick), roll share, lags of loads and torques, Ackermann, brakes that can lock the wheels, "
    "height, shares of drive and brakes (front wheels lock first up to 1 g), trail, stiffness and "
    "relaxation of the tyre, efficiency 0.9, motors of 20 000 1/min behind gears of 13 to 1.",
    parts={"slip": FirstOrderSlip(), "powertrain": WheelMotors()},
)

_SMALL_TYRE = LinearTyre(
    C_x=8.0,
    C_y=1.0489 * 4.718,
    mu_x=1.0489,
    mu_y=1.0489,
    trail=0.003,
    carcass=Carcass(radius=0.051, C_z=5e3, sigma_x=0.02, sigma_y=0.03, rolling=0.02),
)
"""Front tyre of the 1:10 car."""

SMALL_SCALE = CarSet(
    set_parameters("small_scale"),
    front=_SMALL_TYRE,
    rear=_SMALL_TYRE._replace(C_y=1.0489 * 5.4562),
    power=110.0,
    sources="f1tenth_gym, a 1:10 car: mass, yaw inertia, axles, height of the centre of mass, "
    "length, width, friction, cornering stiffness over friction and load, steering and its rate; "
    "torque from its 9.51 m/s². Estimates: wheels and track (of a 1:10 chassis), drag "
    "(c_d A 0.017 m²), power (of a small motor), brakes (which lock), longitudinal stiffness (1.6 "
    "times the lateral), lags.",
    slip=SteadySlip(v_low=1.0),
)

SETS: Mapping[str, CarSet] = {
    "compact": COMPACT,
    "sports": SPORTS,
    "suv": SUV,
    "race": RACE,
    "formula_student": FORMULA_STUDENT,
    "small_scale": SMALL_SCALE,
}
"""Parameter sets by name."""


def car_set(name: str) -> CarSet:
    """Return the parameter set of this name; raises for an unknown name."""
    if name not in SETS:
        raise InvalidValue(unknown_name("skidpad", name, tuple(SETS), "parameter set"))
    return SETS[name]


def set_values(name: str, fields: Collection[str], other: Collection[str]) -> dict[str, Any]:
    """Values of a set for a factory: the `fields` that it has, tyres, slip law, parts and drive.

    Tyres, slip, parts or drive named in `other` are left out, as the caller gives them.
    """
    car = car_set(name)
    values: dict[str, Any] = {field: v for field, v in car.values.items() if field in fields}
    if not {"tyre", "tyres", "front", "rear", "fl", "fr", "rl", "rr"} & set(other):
        alike = car.front is car.rear
        values |= {"tyre": car.front} if alike else {"front": car.front, "rear": car.rear}
    if car.slip is not None and "slip" not in other:
        values["slip"] = car.slip
    if "powertrain" in fields:
        values |= {part: record for part, record in car.parts.items() if part not in other}
    if "drive" in fields and "drive" not in other:
        values["drive"] = car.drive()
    return values
