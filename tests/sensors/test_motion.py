"""The motion that sensors look at, from a state, a recorded run or a fleet."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.body import Pose, Velocity
from skidpad.errors import InvalidValue
from skidpad.sensors import Imu, Motion, Odometry, motion_along, motion_of


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    sim = sp.Simulator(sp.vehicles.four_wheel(), dt=0.001)
    sim.reset(v_x=10.0)
    return sim.run(lambda t, x: {"steer": 0.1 * np.sin(4.0 * t), "tau_rl": 60.0}, duration=0.5)


def test_accelerations_are_those_of_the_outputs(run: sp.Trajectory) -> None:
    found = motion_along(run, sp.vehicles.four_wheel())
    assert np.abs(found.a_x - run.a_x).max() < 1e-12 * np.abs(run.a_x).max()
    assert np.abs(found.a_y - run.a_y).max() < 1e-12 * np.abs(run.a_y).max()
    assert found.x.tobytes() == run.x.tobytes()
    assert found.steer.tobytes() == run.steer.tobytes()


def test_the_input_that_led_to_a_sample_counts() -> None:
    # In this car the rate of the steering, and so its target, is part of the acceleration.
    car = sp.vehicles.kinematic_bicycle()
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=10.0)
    run = sim.run(lambda t, x: {"steer": 0.01 * (int(100.0 * t) % 2)}, duration=0.1)
    found = motion_along(run, car)
    # The outputs put v_y and omega exactly where rolling wheels force them; the state integrates.
    assert np.abs(found.a_y - run.a_y).max() < 1e-9 * np.abs(run.a_y).max()


def test_the_angular_acceleration_is_the_slope_of_the_yaw_rate(run: sp.Trajectory) -> None:
    exact = motion_along(run, sp.vehicles.four_wheel()).omega_rate
    differences = np.gradient(run.omega, run.t)
    assert np.abs(exact).max() > 1.0
    assert np.abs(exact - differences)[5:-5].max() < 1e-3 * np.abs(exact).max()
    assert np.abs(motion_along(run).omega_rate - differences)[1:-1].max() == 0.0


def test_a_state_and_an_array_of_states_agree(run: sp.Trajectory) -> None:
    car = sp.vehicles.four_wheel()
    states = np.stack([run.states[:7], run.states[7:14]], axis=1)
    inputs = np.stack([run.inputs[:7], run.inputs[7:14]], axis=1)
    found = motion_of(car, states, inputs, pitch=0.1)
    one = motion_of(car, run.state(9), car.Input(*run.inputs[9].tolist()), pitch=0.1)
    both = [(np.broadcast_to(a, (7, 2))[2, 1], b) for a, b in zip(found, one, strict=True)]
    assert max(abs(a - b) for a, b in both) < 1e-12
    assert one.pitch == 0.1


def test_what_was_not_recorded_is_differenced() -> None:
    t = np.linspace(0.0, 1.0, 201)
    v, omega = 5.0 + 2.0 * t, 0.4 + 0.0 * t
    full = sp.vehicles.four_wheel()
    states = np.zeros((t.size, 11))
    states[:, 2], states[:, 3], states[:, 5] = 0.4 * t, v, omega
    run = sp.Trajectory.from_arrays(t, (full.State, states))
    found = motion_along(run)
    assert np.abs(found.a_x - 2.0).max() < 1e-9
    assert np.abs(found.a_y - v * omega).max() < 1e-9
    assert np.abs(found.omega_rate).max() < 1e-9


def test_command_driven_vehicles_have_a_motion_too() -> None:
    car = sp.vehicles.autoware("DELAY_STEER_ACC")
    sim = sp.Simulator(car, dt=0.01)
    sim.reset(v_x=5.0, steer=0.1)
    run = sim.run({"acceleration": 0.5, "steer": 0.1}, duration=1.0)
    found = motion_along(run, car)
    # The middle of the rear axle does not move sideways: a_y is v times yaw rate.
    assert np.abs(found.a_y - found.v_x * found.omega).max() < 1e-12
    assert np.abs(found.omega - np.gradient(run.yaw, run.t))[60:-2].max() < 1e-4
    # What a discrete model does between two steps is not known.
    now = motion_of(car, car.State(v_x=5.0, steer=0.1))
    assert (now.v_x, now.omega) == pytest.approx((5.0, 5.0 * np.tan(0.1) / car.params.wheel_base))
    assert np.isnan([now.a_x, now.a_y, now.omega_rate]).all()
    assert Odometry().runner().step(0.0, now) is None
    with pytest.raises(InvalidValue, match="Imu: truth a_x"):
        Imu().runner().step(0.0, now)


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_tells_its_motion_along_a_run(name: str) -> None:
    """Velocities against differences of the recorded pose, accelerations against those of them."""
    car = sp.vehicles.get(name)()
    sim = sp.Simulator(car, dt=0.002)
    v = min(8.0, car.limits.v_max)
    start = car.body.placed(sim.state, Pose(1.0, 2.0, 0.5), Velocity(v, 0.0, 0.0), car.params)
    sim.reset(start)
    run = sim.run(
        lambda t, x: car.body.command(x, sp.Demand(steer=0.02, a=0.5, v=v), car.params),
        duration=0.6,
    )
    found = motion_along(run, car)
    t, c, s = run.t, np.cos(found.yaw), np.sin(found.yaw)
    d_x, d_y = np.gradient(found.x, t), np.gradient(found.y, t)
    inside = slice(60, -2)
    assert np.abs(c * d_x + s * d_y - found.v_x)[inside].max() < 1e-3
    assert np.abs(c * d_y - s * d_x - found.v_y)[inside].max() < 1e-3
    assert np.abs(np.gradient(found.yaw, t) - found.omega)[inside].max() < 1e-3
    a_y = np.gradient(found.v_y, t) + found.v_x * found.omega
    assert np.abs(a_y - found.a_y)[inside].max() < 0.02
    assert np.abs(np.gradient(found.omega, t) - found.omega_rate)[inside].max() < 0.02


def test_unknown_fields_and_other_vehicles_are_named(run: sp.Trajectory) -> None:
    with pytest.raises(InvalidValue, match="Motion has no field 'pich'; did you mean 'pitch'"):
        motion_along(run, pich=0.1)
    with pytest.raises(InvalidValue, match="was not recorded with 'IDEAL_STEER_ACC'"):
        motion_along(run, sp.vehicles.autoware("IDEAL_STEER_ACC"))
    with pytest.raises(InvalidValue, match="has no column x, y, yaw, v_x"):
        motion_along(sp.Trajectory(np.array([0.0, 1.0]), ()))
    with pytest.raises(InvalidValue, match=r"State has 11 fields on the last axis"):
        motion_of(sp.vehicles.four_wheel(), np.zeros((3, 4)))


def test_every_field_has_a_unit_and_a_meaning() -> None:
    leaves = sp.core.record.fields(Motion)
    assert all(leaf.doc and leaf.unit is not sp.core.record.NO_UNIT for leaf in leaves)
