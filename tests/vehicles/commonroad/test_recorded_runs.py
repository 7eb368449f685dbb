"""Upstream's recorded manoeuvres, in a Fleet and in a Simulator, and the bits of both."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.vehicles import start
from vehicles.commonroad.recorded import recording

G = 9.81
COMMANDS = {"braking": (0.15, -0.7 * G), "accelerating": (0.15, 0.63 * G)}
WHEELS = slice(23, 27)
LOCKS = 9
"""Samples of the braking MB before its first wheel locks; see the README of the recordings."""


def run(name: str, manoeuvre: str, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """A recorded run again, in a Fleet: what comes out and what was recorded."""
    car = sp.vehicles.get(f"commonroad_{name.lower()}")(compat="upstream")
    want = recording("vehiclemodels")[f"traj_{name}_{manoeuvre}"]
    first = np.array(start(car, v=15.0))
    np.testing.assert_allclose(first, want[0], rtol=1e-12, atol=1e-15)
    every = round(0.05 / dt)
    fleet = sp.Fleet(car, dt=dt, integrator="rk4", lanes=1)
    got = fleet.rollout(first[None], np.array([COMMANDS[manoeuvre]]), steps=20 * every, every=every)
    return got[:, 0], want


@pytest.mark.parametrize("manoeuvre", COMMANDS)
@pytest.mark.parametrize(("name", "tolerance"), [("KS", 2e-8), ("ST", 2e-8), ("STD", 2e-7)])
def test_single_track_cars(name: str, manoeuvre: str, tolerance: float) -> None:
    # The limits of the recording are 1e-9 of the solver that made it.
    got, want = run(name, manoeuvre, 5e-4)
    assert np.max(np.abs(got - want)) <= tolerance


@pytest.mark.slow
def test_the_multi_body_car_accelerates() -> None:
    got, want = run("MB", "accelerating", 1e-4)
    # 265 rad/s of a spinning wheel included; the recording itself is good to about 1e-4.
    assert np.max(np.abs(got - want)) <= 3e-4


def test_the_multi_body_car_brakes() -> None:
    got, want = run("MB", "braking", 5e-4)
    error = np.abs(got - want)
    assert np.max(error[: LOCKS + 1, :23]) <= 2e-5
    assert np.max(error[: LOCKS + 1]) <= 5e-3
    # From there the recorded wheels run backwards, which the program's own rule forbids.
    assert np.min(want[:, WHEELS]) < -20.0
    assert np.min(got[:, WHEELS]) > -0.1
    assert np.max(np.delete(error, np.r_[WHEELS], axis=1)) <= 1e-2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.001 s is unstable for 'commonroad_std'")
@pytest.mark.parametrize("name", [n for n in sp.vehicles.names() if "commonroad" in n])
def test_a_vehicle_of_a_fleet_has_the_bits_of_a_simulator(name: str) -> None:
    car = sp.vehicles.get(name)()
    rng = np.random.default_rng(3)
    speeds = [-2.0, 0.0, 0.7, 1.6, 8.0, 20.0]
    first = np.array(
        [start(car, v=v, steer=s) for v, s in zip(speeds, rng.uniform(-0.2, 0.2, 6), strict=True)]
    )
    controls = rng.uniform(-1.0, 1.0, (40, 6, 2)) * (0.3 if name.endswith("bicycle") else 2.0)
    fleet = sp.Fleet(car, dt=1e-3, integrator="rk4", lanes=8)
    together = fleet.rollout(first, controls, every=40)[1]
    assert np.isfinite(together).all()
    sim = sp.Simulator(car, dt=1e-3, integrator="rk4")
    for k in range(6):
        sim.reset(first[k])
        for row in controls[:, k]:
            sim.step(row)
        assert np.array_equal(np.array(sim.state), together[k]), speeds[k]
