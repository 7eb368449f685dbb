"""The loop over the speed of a wheel that slides: stable whatever gain, inertia and step are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control.pid import Gains
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts import Friction
from skidpad.vehicles.wheeled import Control
from skidpad.vehicles.wheeled.description import Drivetrain, default_description

G, MU, START, SLOW = 9.81, 0.15, 2.0, 0.1
WAY = (START * START - SLOW * SLOW) / (2.0 * MU * G)
"""In which friction alone brakes from the speed at the start to a slow one: 1.36 m."""
RADIUS, INERTIA = 0.2, 0.04


def robot(kind: str, gains: Gains, compat: str | None = None, **more: Any) -> Any:
    control = "twist_pid" if kind.startswith("differential") else "front_steer_pid"
    d = default_description(
        kind, control=Control(control, gains), friction=Friction(mu=MU, C_damping=0.0), **more
    )
    chassis = replace(d.chassis, linear_damping=0.0, angular_damping=0.0)
    wheels = tuple(
        replace(wheel, diameter=2.0 * RADIUS, inertia=INERTIA, mass=2.0) for wheel in d.wheels
    )
    return wheeled.vehicle(replace(d, chassis=chassis, wheels=wheels), compat)


def run(vehicle: Any, v: float, dt: float, start: float = START) -> Any:
    spins = {
        name: start / RADIUS for name in vehicle.State._fields if str(name).startswith("spin_")
    }
    sim = sp.Simulator(vehicle, dt=dt)
    sim.reset(vehicle.State(v_x=start, **spins))
    return sim.run(lambda t, x: {"v": v}, duration=4.0)


def braking_way(trajectory: Any) -> float:
    """How far it gets until it is slow; who has nearly stopped is let go."""
    return float(trajectory["x"][int(np.argmax(np.asarray(trajectory["v_x"]) < SLOW))])


def gain(loop: float, dt: float) -> float:
    """The KP with which a free wheel is thrown by so many times its error in a step."""
    return loop * INERTIA / (RADIUS * dt)


@pytest.mark.parametrize("loop", [2.0, pytest.param(10.0, marks=pytest.mark.slow), 200.0])
@pytest.mark.parametrize("dt", [pytest.param(0.001, marks=pytest.mark.slow), 0.005, 0.02])
@pytest.mark.parametrize("most", [0.0, 100.0])
def test_a_robot_that_is_to_stop_on_ice_stops_as_friction_allows(
    loop: float, dt: float, most: float
) -> None:
    vehicle = robot("differential", Gains(KP=gain(loop, dt), max_torque=most))
    trajectory = run(vehicle, 0.0, dt)
    # The torque may only brake, so that the wheels never turn backwards.
    assert np.min(trajectory["spin_left"]) > -1e-9
    assert braking_way(trajectory) == pytest.approx(WAY, rel=0.03)


@pytest.mark.parametrize("kind", ["differential_3_wheels", "differential_4_wheels"])
def test_other_robots_stop_as_their_braked_wheels_allow(kind: str) -> None:
    trajectory = run(robot(kind, Gains(KP=gain(2.0, 0.005))), 0.0, 0.005)
    assert np.min(trajectory["v_x"]) > -SLOW
    assert 0.97 * WAY < braking_way(trajectory) < 2.5 * WAY


def test_a_drivetrain_brakes_on_ice() -> None:
    vehicle = robot(
        "ackermann_drivetrain",
        Gains(KP=4.0 * gain(2.0, 0.005), max_torque=0.0),
        drivetrain=Drivetrain("open_4wd"),
    )
    assert braking_way(run(vehicle, 0.0, 0.005)) == pytest.approx(WAY, rel=0.05)


@pytest.mark.parametrize("loop", [2.0, 50.0])
def test_wheels_that_spin_up_on_ice_come_to_what_is_asked_for_and_stay(loop: float) -> None:
    """The force that the ground takes leaves a difference in speed of R mu F_z / KP."""
    dt = 0.005
    vehicle = robot("differential", Gains(KP=gain(loop, dt)))
    trajectory = run(vehicle, 10.0, dt, start=0.0)
    speed = RADIUS * np.asarray(trajectory["spin_left"])
    assert speed.max() < 10.0 + 1e-9
    settled = speed[20:200]
    assert np.ptp(settled) < 1e-6
    v = np.asarray(trajectory["v_x"])
    assert v[200] == pytest.approx(MU * G * 200 * dt, rel=1e-6)


def test_upstream_throws_its_wheels_to_and_fro() -> None:
    vehicle = robot("differential", Gains(KP=gain(10.0, 0.005)), "upstream")
    trajectory = run(vehicle, 0.0, 0.005)
    assert trajectory["x"][-1] > 5.0 * WAY
    assert trajectory["v_x"][-1] > 0.99 * START


def test_on_ground_that_grips_the_loop_is_that_of_a_mass_on_a_motor() -> None:
    """A robot that does not slide approaches its speed with the time constant M R / (2 KP)."""
    vehicle = robot("differential", Gains(KP=10.0))
    params = vehicle.with_params({"friction.mu": 5.0})
    M = 15.0 + 2.0 * 2.0 + 2.0 * INERTIA / RADIUS**2
    tau = M * RADIUS / (2.0 * 10.0)
    trajectory = run(params, 1.0, 0.001, start=0.0)
    at = round(tau / 0.001)
    assert trajectory["v_x"][at] == pytest.approx(1.0 - np.exp(-1.0), abs=3e-3)
