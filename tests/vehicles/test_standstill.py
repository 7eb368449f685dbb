"""Standing still: with first-order slip no part of a car makes it creep or chatter on a slope.

Up, down and across 20 %: braked it stays, released it rolls, braked again it stops and stays, in
explicit steps of 1 ms and implicit ones of 10 ms. The few cars of the fast suite have all kinds of
parts between them; the slow one exchanges one part at a time.
"""

from __future__ import annotations

from functools import cache
from math import pi
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.tyres import BrushTyre, LinearTyre, ProportionalTyre
from skidpad.vehicles.parts import (
    AllWheelDrive,
    EngineDrive,
    FirstOrderSlip,
    FrontWheelDrive,
    HydraulicBrakes,
    LimitedSlip,
    LockedDifferential,
    ManualShift,
    MotorDrive,
    OpenDifferential,
    RearWheelDrive,
    ViscousDifferential,
)
from skidpad.vehicles.parts.chassis import QuasiStatic, RollPitch
from skidpad.vehicles.parts.steering import LinearAlignment, SteeringWheel, alignment_tables

WHEELS = ("fl", "fr", "rl", "rr")
SLOPE, G = 0.2, 9.81
ALONG = G * SLOPE / np.hypot(1.0, SLOPE)
STEPS = {"rk4": 0.001, "radau": 0.01, "radau2": 0.01}
COMPLIANT = LinearAlignment(
    toe_by_travel_f=-0.1, camber_by_travel_f=-0.6, toe_by_F_y_f=-1e-6, toe_by_M_z_f=1e-5,
    camber_by_F_y_r=1e-6, toe_by_F_x_r=1e-6,
)  # fmt: skip
TABLES = alignment_tables(
    toe_f=((-0.1, 0.0, 0.1), (-1e3, 1e3), [[0.001, 0.0], [0.002, 0.003], [0.0, 0.001]]),
    camber_r=((-0.1, 0.1), (-1e3, 1e3), [[0.01, 0.0], [0.02, 0.0]]),
)
PEDAL = HydraulicBrakes()


def motor(layout: Any) -> dict[str, Any]:
    return {"powertrain": MotorDrive(layout=layout)}


FEW: dict[str, dict[str, Any]] = {
    "wheel torques": {},
    "moving body, Magic Formula, compliant, motor and limited slip, pedal": {
        "chassis": RollPitch(),
        "alignment": COMPLIANT,
        "powertrain": MotorDrive(),
        "brakes": PEDAL,
        "tyre": "passenger_car",
    },
    "balanced body, brush, tables, engine, pedal": {
        "chassis": QuasiStatic(),
        "alignment": TABLES,
        "powertrain": EngineDrive(),
        "brakes": PEDAL,
        "tyre": BrushTyre(),
    },
}
LOCKED = "linear tyre, locked differential"
FEW[LOCKED] = motor(RearWheelDrive(LockedDifferential())) | {"tyre": LinearTyre()}
ONE_BY_ONE: dict[str, dict[str, Any]] = {
    "quasi-static": {"chassis": QuasiStatic()},
    "roll and pitch": {"chassis": RollPitch()},
    "open": motor(RearWheelDrive(OpenDifferential())),
    "limited slip": motor(RearWheelDrive(LimitedSlip())),
    "Torsen": motor(AllWheelDrive()),
    "viscous": motor(RearWheelDrive(ViscousDifferential())),
    "locked": motor(RearWheelDrive(LockedDifferential())),
    "automatic": {"powertrain": EngineDrive(), "brakes": PEDAL},
    "manual, front": {"powertrain": EngineDrive(shift=ManualShift(), layout=FrontWheelDrive())},
    "pedal": {"brakes": PEDAL},
    "compliant": {"alignment": COMPLIANT},
    "tables": {"alignment": TABLES},
    "steering wheel": {"steering": SteeringWheel()},
    "Magic Formula": {"tyre": "passenger_car"},
    "slick": {"tyre": "race_slick"},
    "brush": {"tyre": BrushTyre()},
    "linear": {"tyre": LinearTyre()},
    "proportional": {"tyre": ProportionalTyre()},
}


@cache
def on_slope(name: str, method: str) -> sp.Fleet:
    """A fleet, which needs no code for outputs that nobody looks at."""
    parts = dict((FEW | ONE_BY_ONE)[name])
    if isinstance(parts.get("tyre"), str):
        parts["tyre"] = sp.tyres.get(parts["tyre"])
    car = sp.vehicles.two_track(**parts, slip=FirstOrderSlip(), road=sp.Road.plane(slope=SLOPE))
    return sp.Fleet(car, dt=STEPS[method], integrator=method)


def rows_of(fleet: sp.Fleet, start: Any, u: dict[str, float], duration: float) -> np.ndarray:
    """States of one car (T, nx)."""
    steps = round(duration / fleet.dt)
    return fleet.rollout(np.asarray(start)[None], u, steps=steps)[:, 0]


def columns(fleet: sp.Fleet, rows: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(fleet.vehicle.State._fields, rows.T, strict=True))


def started(car: sp.Vehicle, **values: float) -> list[float]:
    settle: Any = car.model.settle
    return sp.core.record.flatten(settle(car.State(**values), car.params))


def braked(car: sp.Vehicle, on: float) -> dict[str, float]:
    """Brakes on, or all released and out of gear."""
    pedals = {"brake": 0.6, "handbrake": 1.0}
    names = pedals if "brake" in car.Input._fields else {f"brake_{w}": 2000.0 for w in WHEELS}
    idle = {"gear": 0.0} if "gear" in car.Input._fields else {}
    return idle | {name: on * value for name, value in names.items()}


def stays(run: Any, dt: float) -> None:
    """Over the last second neither body nor wheels move."""
    last = round(1.0 / dt)
    for name in ("v_x", "v_y", "omega", *(f"spin_{wheel}" for wheel in WHEELS)):
        assert np.abs(run[name][-last:]).max() < 1e-6, name


def hold_release_hold(name: str, method: str, yaw: float) -> None:
    fleet = on_slope(name, method)
    dt, along, car = fleet.dt, ALONG * np.cos(yaw), fleet.vehicle
    rows = rows_of(fleet, started(car, yaw=yaw), braked(car, 1.0), 9.0)
    held = columns(fleet, rows)
    stays(held, dt)
    assert np.hypot(held["x"][-1], held["y"][-1]) < 0.03
    # A spring that the weight is put on suddenly: no step is faster than the weight itself.
    assert np.abs(np.diff(np.hypot(held["v_x"], held["v_y"]))).max() < 1.2 * ALONG * dt
    free = rows_of(fleet, rows[-1], braked(car, 0.0), 2.0)
    v_x = columns(fleet, free)["v_x"]
    assert v_x[-1] == pytest.approx(-2.0 * along, rel=0.2, abs=0.02)
    stays(columns(fleet, rows_of(fleet, free[-1], braked(car, 1.0), 9.0)), dt)


headings = pytest.mark.parametrize("yaw", [0.0, pi, 0.5 * pi], ids=["up", "down", "across"])


@pytest.mark.slow_cases(
    "balanced body, brush, tables, engine, pedal-up",
    "linear tyre, locked differential-up",
    "moving body, Magic Formula, compliant, motor and limited slip, pedal-up",
    "wheel torques-up",
    "balanced body, brush, tables, engine, pedal-down",
    "linear tyre, locked differential-down",
    "moving body, Magic Formula, compliant, motor and limited slip, pedal-down",
    "wheel torques-down",
)
@headings
@pytest.mark.parametrize(
    # What is locked is held in implicit steps below, which are the harder ones.
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == LOCKED else n for n in FEW],
)
def test_held_on_a_slope_in_explicit_steps(name: str, yaw: float) -> None:
    hold_release_hold(name, "rk4", yaw)


@pytest.mark.slow_cases("up")
@headings
def test_held_on_a_slope_in_long_implicit_steps(yaw: float) -> None:
    """By the method of two stages, which takes a third of the time to compile."""
    hold_release_hold(LOCKED, "radau2", yaw)


@pytest.mark.slow
@headings
@pytest.mark.parametrize("name", list(FEW))
def test_held_on_a_slope_by_the_usual_implicit_steps(name: str, yaw: float) -> None:
    hold_release_hold(name, "radau", yaw)


@pytest.mark.slow
@headings
@pytest.mark.parametrize("method", ["rk4", "radau"])
@pytest.mark.parametrize("name", list(ONE_BY_ONE))
def test_no_part_makes_it_creep(name: str, method: str, yaw: float) -> None:
    hold_release_hold(name, method, yaw)


@pytest.mark.parametrize("steer", [0.5, -0.4])
def test_long_steps_follow_a_spin_on_a_locked_axle(steer: float) -> None:
    """A stiff coupling of wheels that slide, stop and turn back: every step converges."""
    car = on_slope(LOCKED, "radau2").vehicle
    ends = []
    for dt in (0.01, 0.005):
        fleet = sp.Fleet(car, dt=dt, integrator="radau2")
        u = {"steer": steer, "throttle": 1.0}
        ends.append(car.State(*rows_of(fleet, started(car, v_x=20.0), u, 4.0)[-1]))
    assert abs(ends[0].yaw) > 1.0
    for name in ("v_x", "v_y", "omega"):
        assert getattr(ends[0], name) == pytest.approx(getattr(ends[1], name), abs=0.02)


def test_it_pulls_away_without_a_jump() -> None:
    """From rest on the slope, by a drive that is more than the weight."""
    fleet = on_slope("wheel torques", "rk4")
    car, p = fleet.vehicle, fleet.vehicle.params
    held = rows_of(fleet, started(car), braked(car, 1.0), 6.0)
    driven = rows_of(fleet, held[-1], {f"tau_{wheel}": 400.0 for wheel in WHEELS}, 2.0)
    run = columns(fleet, driven)
    acceleration = np.diff(run["v_x"]) / fleet.dt
    most = 4.0 * 400.0 / (0.3 * p.m)
    # Released, the tyres let go of the weight, which falls back before the torque has come.
    assert np.abs(acceleration).max() < 2.0 * most
    assert run["v_x"].min() > -0.1
    assert run["v_x"][-1] > 0.5


@pytest.mark.slow
def test_the_slope_of_a_stop_is_that_of_differences() -> None:
    """Exact derivatives of where and how it stands, by the speed that it came with."""
    fleet = on_slope("wheel torques", "rk4")
    car = fleet.vehicle
    u, steps, names = braked(car, 1.0), 1500, car.State._fields
    settle: Any = car.model.settle
    start = np.array([sp.core.record.flatten(settle(car.State(v_x=1.0), car.params))])
    column = names.index("v_x")
    for place in ("x", "kappa_fl"):
        _, found = fleet.gradient(
            start, u, sp.Cost(terminal=lambda x, n=place: getattr(x, n)), steps=steps
        )
        h, ends = 1e-5, []
        for way in (-1.0, 1.0):
            moved = start.copy()
            moved[0, column] += way * h
            end = fleet.rollout(moved, u, steps=steps, every=steps)[-1, 0]
            ends.append(end[names.index(place)])
        slope = (ends[1] - ends[0]) / (2.0 * h)
        assert np.isfinite(np.asarray(found.x0)).all()
        assert np.asarray(found.x0)[0, column] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_a_single_track_is_held_across_a_slope_and_not_along_it() -> None:
    """Its wheels roll: only their sides have a deflection, and only a force holds it along."""
    car = sp.vehicles.single_track(slip=FirstOrderSlip())
    sim = sp.Simulator(car, dt=0.005)
    sim.disturb(F_y=ALONG * car.params.m)
    run = sim.run({}, duration=10.0)
    assert np.abs(run["v_y"][-100:]).max() < 1e-6
    assert np.abs(run["omega"][-100:]).max() < 1e-6
    sim.disturb(F_x=-ALONG * car.params.m)
    sim.reset()
    assert sim.run({}, duration=1.0)["v_x"][-1] == pytest.approx(-ALONG, rel=0.1)


def test_steady_slip_creeps_by_the_slip_that_holds_the_weight() -> None:
    """Times 3/8 of the speed below which slip is held finite: some mm/s, as docs/vehicles.md
    says."""
    car = sp.vehicles.two_track(road=sp.Road.plane(slope=SLOPE))
    tyre, p = car.params.tyres.tyre, car.params
    loads = [0.5 * p.m * G * arm / (p.l_f + p.l_r) for arm in (p.l_r, p.l_f)]
    K = 2.0 * sum(tyre.stiffness(sp.tyres.Contact(F_z=load)).K_x for load in loads)
    creep = ALONG * p.m / K * 0.375 * p.slip.v_low
    assert 0.002 < creep < 0.01
    rates = [
        car.derivative(car.State(v_x=-v, load_a_x=ALONG), car.Input(**braked(car, 1.0)))
        for v in (0.9 * creep, 1.1 * creep)
    ]
    assert rates[0].v_x < 0.0 < rates[1].v_x
    assert all(getattr(rate, f"spin_{w}") == 0.0 for rate in rates for w in WHEELS)
