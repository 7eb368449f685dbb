"""Every combination in Simulator and Fleet, against the same functions called on floats."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.vehicles import wheeled
from vehicles.wheeled.fleet_of_kinds import COMBINATIONS

DT, STEPS = 0.005, 60
UPSTREAM = (
    *("differential-twist_pid-wardiagnemma", "differential-twist_pid-ellipse"),
    *("differential-twist_ideal", "differential_3_wheels-raw", "ackermann-full", "torsen_4wd"),
)
"""Those that show each rule of the other mode."""
TWICE = (
    *("differential-raw", "differential-twist_ideal", "differential-twist_pid-default"),
    *("differential_4_wheels-twist_ideal", "ackermann-raw", "ackermann-twist_ideal"),
    *("ackermann-raw-default", "open_4wd", "ackermann_drivetrain-twist_front_steer_pid"),
)
"""Made of parts that others of the fast tests have too, here or with upstream's rules."""
CASES = [
    *(
        pytest.param(name, None, marks=pytest.mark.slow if name in TWICE else ())
        for name in COMBINATIONS
    ),
    *((name, "upstream") for name in UPSTREAM),
]


def some_inputs(vehicle: sp.Vehicle) -> np.ndarray:
    """Commands that jump, also to rest, and wheel torques that slip."""
    draw = np.random.default_rng(3).normal
    scale = [30.0 if name.startswith("tau") else 0.7 for name in record.names(vehicle.Input)]
    rows = np.repeat(draw(size=(STEPS // 20, len(scale))), 20, axis=0) * scale
    rows[20:40] = 0.0
    return rows


@pytest.mark.slow_cases(
    "ackermann-front_steer_pid-None",
    "ackermann-full-None",
    "ackermann-raw-wardiagnemma-None",
    "ackermann_drivetrain-front_steer_pid-None",
    "ackermann_drivetrain-raw-None",
    "differential-full-None",
    "differential-twist_pid-ellipse-None",
    "differential-twist_pid-ellipse-upstream",
    "differential_3_wheels-twist_ideal-None",
    "differential_3_wheels-twist_pid-None",
    "differential_4_wheels-raw-None",
    "differential_4_wheels-twist_pid-None",
    "open_front-None",
    "open_rear-None",
    "torsen_front-None",
    "torsen_rear-None",
)
@pytest.mark.parametrize(("name", "compat"), CASES)
def test_the_fleet_runs_the_same_equations(name: str, compat: str | None) -> None:
    vehicle = wheeled.vehicle(COMBINATIONS[name], compat).with_clipped_inputs()
    controls = some_inputs(vehicle)
    x = record.build(vehicle.State, x=1.0, y=-2.0, yaw=0.4, v_x=0.6, v_y=0.05, omega=-0.2)
    w = record.build(vehicle.model.Disturbance, slope_x=0.05, slope_y=-0.03, F_x=3.0, M_z=0.5)
    direct = [x]
    assert vehicle.model.update is not None
    for row in controls:
        u = vehicle.Input(*map(float, row))
        direct.append(vehicle.model.update(direct[-1], u, w, vehicle.params, DT))
    want = np.array([record.flatten(state) for state in direct])
    assert np.isfinite(want).all()
    # A step from each state: upstream's ellipse jumps, so that whole runs part by rounding.
    fleet = sp.Fleet(vehicle, dt=DT, threads=1, lanes=4)
    rolled = fleet.rollout(want[:-1], controls, steps=1, disturbances=w)[-1]
    scale = np.maximum(np.abs(want).max(axis=0), 1.0)
    assert (np.abs(rolled - want[1:]) / scale).max() <= 1e-10


@pytest.mark.parametrize("name", ["differential-twist_pid", "torsen_4wd", "ackermann-full"])
def test_the_simulator_has_the_bits_of_the_fleet(name: str) -> None:
    vehicle = wheeled.vehicle(COMBINATIONS[name]).with_clipped_inputs()
    controls = some_inputs(vehicle)
    sim = sp.Simulator(vehicle, dt=DT)
    sim.reset(v_x=0.3)
    alone = [record.flatten(sim.step(row)) for row in controls]
    fleet = sp.Fleet(vehicle, dt=DT, threads=1)
    start = np.tile(record.flatten(record.build(vehicle.State, v_x=0.3)), (9, 1))
    together = fleet.rollout(start, np.repeat(controls[:, None], 9, axis=1))
    assert np.array_equal(together[1:, 4], np.array(alone))


def test_vehicles_that_differ_in_numbers_share_a_model() -> None:
    one = wheeled.vehicle(wheeled.differential(gravity=9.81))
    other = wheeled.vehicle(wheeled.differential(gravity=1.6))
    assert one.model is other.model
    assert one.params.g != other.params.g
    assert one.model is not wheeled.vehicle(wheeled.differential(), compat="upstream").model


@pytest.mark.slow
def test_gradients_are_finite_at_rest() -> None:
    for name in (
        "differential-twist_pid",
        "ackermann-twist_front_steer_pid",
        "ackermann-raw-ellipse",
    ):
        vehicle = wheeled.vehicle(COMBINATIONS[name])
        fleet = sp.Fleet(vehicle, dt=DT, threads=1)
        start = np.array([record.flatten(record.build(vehicle.State))])
        controls = np.zeros((5, 1, record.size(vehicle.Input)))
        value, gradient = fleet.gradient(start, controls, lambda x: x.x * x.x + x.v_x)
        assert np.isfinite(value).all()
        assert all(np.isfinite(part).all() for part in gradient if part is not None)
