"""The engine's truck, clock and commands, put right: against closed forms."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skidpad as sp
from compat.truck.recordings import model_path, recording, replay
from skidpad.compat.truck import Status
from skidpad.compat.truck.engine import Engine

MODEL = model_path("lidar720.yaml")


def engine(**options: object) -> Engine:
    return Engine(MODEL, **options)


@pytest.mark.parametrize(
    "name", ["s01_accelerate_straight", "s02_brake", "s03_left_circle", "s04_right_circle"]
)
def test_where_upstream_is_right_the_runs_agree(name: str) -> None:
    run = recording(name)
    got = replay(run.scenario)
    # Reported otherwise: velocity along the path, motor speeds both of the base, the IMU.
    other = {"odom_vx", "odom_vy", "rps_tgt", "acc_x", "acc_y", "acc_z", "ctl_v", "ctl_a", "ctl_c"}
    for column, want in zip(run.columns, run.state.T, strict=True):
        if column not in other:
            np.testing.assert_allclose(got.state[column], want, rtol=0, atol=1e-9, err_msg=column)


def test_it_is_the_vehicle_that_a_simulator_steps() -> None:
    truck = engine()
    sim = sp.Simulator(sp.vehicles.ackermann_truck(), dt=1e-3)
    sim.reset(x=-0.2025)
    truck.set_base_control(0.7, 0.6, -1.1)
    truck.advance(0.8)
    run = sim.run({"velocity": 0.7, "acceleration": 0.6, "curvature": -1.1}, duration=0.8)
    np.testing.assert_allclose(tuple(truck.rear), run.states[-1], rtol=0, atol=1e-12)


def test_it_stands_at_the_origin_at_first() -> None:
    truck = engine()
    state = truck.state()
    assert state.odom_base_pose == (0.0, 0.0, 0.0)
    assert state.status is Status.IN_PROGRESS
    assert (state.time, state.time_ns) == (0.0, 0)
    truck.advance(0.5)
    assert truck.state().odom_base_pose == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("a", [0.2, 0.7])
def test_the_acceleration_is_honoured_either_way(a: float) -> None:
    truck = engine()
    truck.set_base_control(0.4, a, 0.0)
    truck.advance(0.5)
    assert truck.state().base_twist.velocity == pytest.approx(0.5 * a, abs=1e-12)
    truck.set_base_control(0.0, a, 0.0)
    truck.advance(0.25)
    assert truck.state().base_twist.velocity == pytest.approx(0.25 * a, abs=1e-12)


def test_without_an_acceleration_the_limits_are_used() -> None:
    truck = engine()
    truck.set_base_control(0.8, 0.0)
    truck.advance(0.3)
    assert truck.rear.v_x == pytest.approx(0.3, abs=1e-12)
    truck.set_base_control(velocity=0.0, curvature=0.0)
    truck.advance(0.1)
    assert truck.rear.v_x == pytest.approx(0.1, abs=1e-12)


def test_all_ways_to_write_a_command_are_the_same() -> None:
    truck = engine()
    commands = []
    for call in (
        lambda: truck.set_base_control(0.5, 0.3, 1.0),
        lambda: truck.set_base_control(0.5, 0.3, curvature=1.0),
        lambda: truck.set_base_control(0.5, acceleration=0.3, curvature=1.0),
        lambda: truck.set_base_control(velocity=0.5, curvature=1.0, acceleration=0.3),
        lambda: truck.set_base_control(0.5, 1.0),
        lambda: truck.set_base_control(0.5, curvature=1.0),
        lambda: truck.set_base_control(0.5, None, 1.0),
    ):
        call()
        commands.append(truck.command)
    assert len(set(commands[:4])) == len(set(commands[4:])) == 1
    assert commands[0] != commands[-1]


def test_a_command_goes_on_after_a_reset_and_does_not_go_stale() -> None:
    truck = engine()
    truck.reset_base((0, 0, 0), 0.0, 0.5)
    truck.set_base_control(0.5, 0.0)
    truck.advance(0.05)
    truck.reset_base((6, 4, 0))
    truck.advance(0.2)
    assert truck.rear.v_x == pytest.approx(0.2, abs=1e-12)
    truck.reset_base((6, 4, 0), 0.0, 0.8)
    truck.advance(0.1)
    assert truck.rear.v_x == pytest.approx(0.6, abs=1e-12)


def test_a_reset_gives_the_base_point_the_speed_asked_for() -> None:
    truck = engine()
    truck.reset_base((2, 1, 7.5), 0.35, 0.5)
    state = truck.state()
    assert state.base_twist.velocity == pytest.approx(0.5, abs=1e-15)
    assert state.current_steering.middle == pytest.approx(0.35, abs=1e-15)
    assert state.odom_base_pose == pytest.approx((2, 1, 7.5), abs=1e-15)


def test_a_full_reset_puts_back_the_clock_and_the_command() -> None:
    truck = engine()
    truck.set_base_control(0.5, 1.0)
    truck.advance(0.7)
    truck.reset()
    assert truck.time == 0.0
    truck.advance(0.3)
    assert truck.state().odom_base_pose == (0.0, 0.0, 0.0)


@given(st.lists(st.floats(1e-5, 0.05), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_no_time_is_lost_however_it_is_cut(pieces: list[float]) -> None:
    cut, whole = trucks()
    for truck in (cut, whole):
        truck.reset()
        truck.set_base_control(0.6, 0.0)
    for piece in pieces:
        cut.advance(piece)
    total = math.fsum(pieces)
    whole.advance(total)
    assert cut.time == pytest.approx(total, abs=1e-9)
    steps = total / 1e-3
    if abs(steps - round(steps)) > 1e-6:  # else rounding decides on which side of a step it is
        assert cut.rear == whole.rear
    if cut.rear.v_x < 0.6:  # it gains 1 m/s² until then, so that its speed counts the steps
        assert -1e-9 <= cut.time - cut.rear.v_x < 1e-3


@cache
def trucks() -> tuple[Engine, Engine]:
    return engine(), engine()


def test_upstream_loses_what_is_no_whole_step() -> None:
    moved = {}
    for compat in (None, "upstream"):
        truck = engine(compat=compat)
        truck.reset_base((0, 0, 0), 0.0, 0.5)
        truck.set_base_control(0.5, 0.0)
        for _ in range(2000):
            truck.advance(0.0005)
        assert truck.state().time_ns == 1_000_000_000
        moved[compat] = truck.state().odom_base_pose.x
    assert moved[None] == pytest.approx(0.5, abs=1e-9)
    assert moved["upstream"] == 0.0


def test_reports_agree_with_the_motion() -> None:
    """Velocity and yaw rate by differences of the pose, over 2 ms around the middle."""
    truck = engine(integration_step=1e-4)
    truck.reset_base((1, 2, 0.4), 0.2, 0.3)
    truck.set_base_control(0.7, -1.0)
    states = []
    for _ in range(41):
        truck.advance(1e-3)
        states.append(truck.state())
    before, here, after = states[19:22]
    rate = (np.array(after.odom_base_pose) - before.odom_base_pose) / 2e-3
    assert here.odom_base_linear_velocity == pytest.approx(rate[:2], abs=5e-6)
    assert here.base_angular_velocity == pytest.approx(rate[2], abs=5e-6)
    assert here.base_twist.omega == pytest.approx(here.base_angular_velocity, abs=1e-12)
    assert abs(here.base_twist.velocity) == pytest.approx(math.hypot(*rate[:2]), abs=5e-6)


def test_at_steady_state_current_and_target_agree() -> None:
    truck = engine()
    truck.set_base_control(0.5, 1.0)
    truck.advance(2.0)
    state = truck.state()
    assert state.current_steering == pytest.approx(state.target_steering, abs=1e-12)
    assert state.current_motor_rps == pytest.approx(state.target_motor_rps, rel=1e-12)
    assert state.current_motor_rps == pytest.approx(0.5 / (2 * math.pi * 0.0525 * 0.08421))
    assert state.base_twist == pytest.approx((1.0, 0.5), abs=1e-12)


def test_limits_are_told() -> None:
    assert engine().curvature_limit == pytest.approx(1.6051633243875714, rel=1e-14)
    right = engine().middle_steering_limit
    told = engine(compat="upstream").middle_steering_limit
    assert told == pytest.approx(1.3365661672114397, rel=1e-14)
    assert math.tan(told) / math.tan(right) == pytest.approx(1.0 / 0.405**2, rel=1e-12)


def test_a_long_advance_is_taken_in_blocks() -> None:
    once, often = engine(), engine()
    for truck in (once, often):
        truck.set_base_control(0.5, 0.7)
    once.advance(3.5)
    for _ in range(35):
        often.advance(0.1)
    assert once.rear == often.rear
    assert once.time == pytest.approx(often.time)
