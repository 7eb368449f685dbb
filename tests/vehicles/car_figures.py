"""Figures of the parameter sets of `two_track`, as the proving ground finds them.

`two_track` knows torques at its wheels and no engine. Its top speed and its launch are those of the
same car with wheel motors of the power of its set; `formula_student` has such motors itself.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.control import driver_aids
from skidpad.core import record
from skidpad.study.manoeuvres import Acceleration, Subject, perform
from skidpad.study.manoeuvres.longitudinal import StraightBraking
from skidpad.tyres import Contact
from skidpad.vehicles.parts import WheelMotors
from skidpad.vehicles.parts.electric import SpeedLimit
from skidpad.vehicles.twin_track.sets import SETS

WHEELS = ("fl", "fr", "rl", "rr")
SMALL = "small_scale"


def launch_speed(name: str) -> float:
    """Speed in m/s to which a set is driven, and from which it is stopped."""
    return 36.0 / 3.6 if name == SMALL else 100.0 / 3.6


@cache
def car_of(name: str) -> sp.Vehicle:
    return sp.vehicles.two_track(name)


@cache
def powered(name: str) -> sp.Vehicle:
    """The car with the power of its set, which is that at the wheels, and no limit of speed."""
    if name == "formula_student":
        return car_of(name)
    motors = WheelMotors(SETS[name].power, efficiency=1.0, speed=SpeedLimit(spin_max=1e4))
    return sp.vehicles.two_track(name, powertrain=motors)


def yaw_gain(car: sp.Vehicle, v: float) -> float:
    """Steady yaw rate over steering angle of the car as it is linearised while driving straight."""
    x = car.State(v_x=v)
    x = car.model.settle(x, car.params) if car.model.settle else x
    A = np.asarray(car.linearise_continuous(x, car.Input()).A)
    names = record.names(car.State)
    away = {"x", "y", "yaw", "v_x", "steer", *(n for n in names if n.startswith(("tau", "F_")))}
    rest = [k for k, field in enumerate(names) if field not in away]
    answer = -np.linalg.solve(A[np.ix_(rest, rest)], A[rest, names.index("steer")])
    return float(answer[[names[k] for k in rest].index("omega")])


def understeer(car: sp.Vehicle, name: str) -> float:
    """Understeer gradient in deg/g."""
    p, v = car.params, 6.0 if name == SMALL else 25.0
    return math.degrees(p.g * (v / yaw_gain(car, v) - p.l_f - p.l_r) / v**2)


def wheel_moments(car: sp.Vehicle) -> float:
    """Load transfer by wheels that roll over that by the forces of the tyres, in %: 4 I_w / R of
    each acceleration, along and across, over m z."""
    p = car.params
    R = car.geometry.wheels[0].radius
    return 100.0 * 4.0 * p.I_w / (p.m * p.z_cg * R)


def overturning() -> float:
    """Overturning moment of a tyre of a file over the moment of its lateral force about the centre
    of mass of the default car, in %, at the load of a wheel and a slip angle of 0.05 rad."""
    p = sp.vehicles.two_track().params
    f = sp.tyres.get("passenger_car").forces(F_z=0.25 * p.m * p.g, alpha=-0.05)
    return 100.0 * float(f.M_x / (f.F_y * p.z_cg))


@cache
def launch(name: str, *, plain: bool = False) -> float:
    """Time in s from rest to the speed of a launch, of the powered or the plain car."""
    car, v = (car_of if plain else powered)(name), launch_speed(name)
    (result,) = perform([Acceleration(speeds=(v,), ways=(), duration=10.0)], [Subject(car)])
    return float(result[f"time_to_{3.6 * v:.0f}_km_h"][0])


@cache
def top_speed(name: str) -> float:
    """Speed in km/h at which the resistance takes all power, from a speed a little below."""
    car = powered(name)
    begin = 0.9 * (2.0 * SETS[name].power / car.params.C_drag) ** (1.0 / 3.0)
    if name == "formula_student":  # its motors turn no faster
        begin = 0.9 * car.params.powertrain.speed.spin_max * car.geometry.wheels[0].radius
    x = car.model.settle(car.State(v_x=begin), car.params)  # type: ignore[misc]
    torques = shared("tau", car.params.tau_max, car.params.drive_front)
    states = sp.Fleet(car, dt=0.002).rollout(x, torques, steps=60_000, every=6000)
    v = states[:, 0, record.names(car.State).index("v_x")]
    assert abs(v[-1] - v[-2]) < 1e-3 * v[-1]
    return 3.6 * float(v[-1])


@cache
def stopped(name: str) -> float:
    """Stopping distance in m of `skidpad test`: as hard as no wheel locks."""
    (result,) = perform([StraightBraking(speed=launch_speed(name))], [Subject(car_of(name))])
    return float(result["stopping_distance"][0])


def shared(kind: str, most: float, front: float) -> dict[str, Any]:
    """Inputs of all wheels, the largest of them, shared between the axles as the car does."""
    shares = np.array([front, front, 1.0 - front, 1.0 - front])
    torques = most * shares / shares.max()
    return {f"{kind}_{wheel}": float(t) for wheel, t in zip(WHEELS, torques, strict=True)}


@cache
def stopped_by_anti_lock(name: str) -> float:
    """Stopping distance in m with full brakes and anti-lock brakes, as of magazines' tests."""
    car = car_of(name)
    tyre, p = SETS[name].front, car.params
    at = Contact(F_z=0.5 * p.m * p.g * p.l_r / (p.l_f + p.l_r))
    # Twice the slip at which a tyre that stayed linear would give its largest force.
    slip = float(2.0 * tyre.peaks(at).mu_x * at.F_z / tyre.stiffness(at).K_x)
    states = sp.Fleet(car, dt=0.002).rollout(
        {"v_x": launch_speed(name)},
        shared("brake", p.brake_max, p.brake_front),
        policy=driver_aids.aided(driver_aids.open_loop(car), driver_aids.anti_lock(car, slip=slip)),
        steps=2500,
        every=2500,
    )
    names = record.names(car.State)
    assert abs(states[-1, 0, names.index("v_x")]) < 0.1
    return float(states[-1, 0, names.index("x")])
