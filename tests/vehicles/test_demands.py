"""Demands to be slower, to reverse and to keep the speed, on level ground and slopes.

Who demands to be slower stops and stays; a vehicle goes backward for a demand of a speed below 0.
"""

from __future__ import annotations

from functools import cache
from math import pi
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Demand, Velocity
from skidpad.vehicles.parts import EngineDrive, FirstOrderSlip, HydraulicBrakes, MotorDrive
from skidpad.vehicles.parts.actuators import demanded_acceleration

two_track = sp.vehicles.two_track
DT = 0.002
"""Explicit methods take it for most vehicles, which compile sooner."""
SLOPE = 0.1
NAMES = sp.vehicles.names()
HEAVY = ("commonroad_mb", "formula_student")
"""Of which others show the same: `std` and `four_wheel` are told demands by the same functions."""
KINDS: dict[str, dict[str, Any]] = {
    "wheel torques": {},
    "motor": {"powertrain": MotorDrive(), "brakes": HydraulicBrakes()},
    "engine": {"powertrain": EngineDrive(), "brakes": HydraulicBrakes()},
}
every_kind = pytest.mark.parametrize(
    "kind", ["wheel torques", "motor", pytest.param("engine", marks=pytest.mark.slow)]
)


@cache
def on_slope(kind: str) -> tuple[sp.Vehicle, sp.Simulator[Any, Any]]:
    car = two_track(**KINDS[kind], slip=FirstOrderSlip(), road=sp.Road.plane(slope=SLOPE))
    return car, sp.Simulator(car, dt=0.005, integrator="rk4")


def moving(car: sp.Vehicle, v_x: float) -> Any:
    body, p, rest = car.body, car.params, record.at_rest(car.State)
    x = body.placed(rest, body.pose(rest, p), Velocity(v_x, 0.0, 0.0), p)
    return x if car.model.settle is None else car.model.settle(x, p)


def driven(sim: sp.Simulator[Any, Any], demand: Demand, seconds: float) -> np.ndarray:
    """Speed along the vehicle after every step."""
    car, speeds = sim.vehicle, []
    for _ in range(round(seconds / sim.dt)):
        x = sim.step(car.body.command(sim.state, demand, car.params))
        speeds.append(car.body.velocity(x, sim.input, car.params).v_x)
    return np.array(speeds)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in HEAVY else name for name in NAMES],
)
def test_every_vehicle_stops_and_stays_for_who_wishes_to_be_slower(name: str) -> None:
    car = sp.vehicles.get(name)()
    limits, sim = car.limits, sp.Simulator(car, dt=DT)
    v, a = min(4.0, 0.5 * limits.v_max), max(0.5 * limits.a_min, -2.0)
    sim.reset(moving(car, v))
    speeds = driven(sim, Demand(a=a), 2.0 * v / -a + 1.0)
    assert speeds.min() > -0.1 * v
    assert np.abs(speeds[-20:]).max() < 1e-3
    if limits.v_min < 0.0:
        v = max(-v, 0.5 * limits.v_min)
        sim.reset(moving(car, v))
        assert abs(driven(sim, Demand(a=a), 2.0 * v / a + 1.0)[-1]) < 1e-3
        sim.reset()
        assert driven(sim, Demand(a=a, v=v), 1.0)[-1] < 0.2 * v


@pytest.mark.slow_cases(
    "-0.3-down-motor",
    "-0.3-down-wheel torques",
    "-0.3-up-wheel torques",
    "-2.0-up-motor",
    "-2.0-up-wheel torques",
)
@every_kind
@pytest.mark.parametrize("yaw", [0.0, pi], ids=["up", "down"])
@pytest.mark.parametrize("a", [-2.0, pytest.param(-0.3, marks=pytest.mark.slow)])
def test_on_a_slope_the_brakes_hold_the_car_that_was_stopped(
    kind: str, yaw: float, a: float
) -> None:
    _, sim = on_slope(kind)
    sim.reset(v_x=3.0, yaw=yaw)
    speeds = driven(sim, Demand(a=a), 3.0 / -a + 5.0)
    assert speeds.min() > -0.15
    assert np.abs(speeds[-200:]).max() < 1e-6
    backing = driven(sim, Demand(a=-1.0, v=-2.0), 2.0)
    assert backing[-1] < -0.8
    assert driven(sim, Demand(a=1.0), 4.0)[-1] > 0.8


@every_kind
@pytest.mark.parametrize("yaw", [0.0, pi], ids=["up", "down"])
def test_a_demand_of_no_acceleration_keeps_the_speed_on_a_slope(kind: str, yaw: float) -> None:
    """But for rolling resistance and the gears, as on the flat: not by the 1 m/s² of gravity."""
    _, sim = on_slope(kind)
    sim.reset(v_x=12.0, yaw=yaw)
    speeds = driven(sim, Demand(), 3.0)
    assert abs(speeds[-1] - speeds[-201]) < 0.25


@pytest.mark.parametrize("yaw", [0.0, 0.7, pi])
def test_the_force_against_a_slope_is_the_weight_along_the_car(yaw: float) -> None:
    """Told by the torques of a demand, beyond those of the same demand on level ground."""
    level = two_track()
    car = two_track(road=sp.Road.plane(slope=SLOPE))
    radius = sp.vehicles.get("two_track")().geometry.wheels[0].radius
    want = car.params.m * 9.81 * SLOPE / np.hypot(1.0, SLOPE) * np.cos(yaw)
    sums = []
    for one in (level, car):
        u = one.body.command(one.State(v_x=10.0, yaw=yaw), Demand(a=2.0), one.params)
        sums.append(u.tau_fl + u.tau_fr + u.tau_rl + u.tau_rr)
    assert (sums[1] - sums[0]) / radius == pytest.approx(want, rel=0.02, abs=20.0)


def test_a_demand_to_be_slower_fades_with_the_speed_either_way() -> None:
    for v_x, demand, want in (
        (5.0, Demand(a=-2.0), -2.0),
        (0.0, Demand(a=-2.0), 0.0),
        (-5.0, Demand(a=-2.0), 2.0),
        (-5.0, Demand(a=-2.0, v=-6.0), -2.0),
        (-5.0, Demand(a=2.0, v=-1.0), 2.0),
        (0.0, Demand(a=2.0, v=-1.0), 0.0),
        (0.0, Demand(a=2.0), 2.0),
    ):
        assert demanded_acceleration(demand, v_x) == want
