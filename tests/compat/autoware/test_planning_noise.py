"""Measurement noise: seeded, one stream per channel."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from compat.autoware.fake_motion import FakeMotion, around
from skidpad.compat.autoware.reports import Deviations, Reports, Sample, samples, yaw_of
from skidpad.errors import InvalidValue

COUNT = 40_000
UNIT = Deviations(1.0, 1.0, 1.0, 1.0)


def drawn(seed: int, deviations: Deviations = UNIT, count: int = COUNT, **options: int):
    return np.array(list(islice(samples(seed, deviations, **options), count)))


def test_the_length_of_a_block_does_not_show() -> None:
    assert (drawn(3, count=1000, block=7) == drawn(3, count=1000, block=512)).all()


def test_channels_are_normal_and_independent() -> None:
    noise = drawn(0)
    # Five standard errors of a mean, a standard deviation and a correlation of normal numbers.
    bound = 5.0 / np.sqrt(COUNT)
    assert np.abs(noise.mean(axis=0)).max() < bound
    assert np.abs(noise.std(axis=0) - 1.0).max() < bound
    assert np.abs(np.corrcoef(noise.T) - np.eye(5)).max() < bound
    assert np.abs(np.corrcoef(noise[:-1].T, noise[1:].T)[:5, 5:]).max() < bound
    assert (np.abs(noise) < 1.0).mean() == pytest.approx(0.6827, abs=bound)


def test_a_channel_does_not_depend_on_the_others() -> None:
    silent = drawn(5, UNIT._replace(position=0.0, steer=0.0), 100)
    full = drawn(5, UNIT, 100)
    assert (silent[:, 2:4] == full[:, 2:4]).all()
    assert not silent[:, [0, 1, 4]].any()


def test_each_channel_has_its_deviation() -> None:
    ratio = drawn(1, Deviations(0.5, 2.0, 3.0, 0.25), 100) / drawn(1, UNIT, 100)
    assert ratio == pytest.approx(np.tile([0.5, 0.5, 2.0, 3.0, 0.25], (100, 1)), rel=1e-6)


def test_the_angle_is_drawn_as_a_32_bit_float() -> None:
    noise = drawn(2, count=100)
    assert (noise[:, 3] == noise[:, 3].astype(np.float32)).all()
    assert not (noise[:, 0] == noise[:, 0].astype(np.float32)).all()


def runs(seed: int | None, ticks: int = 50, **overrides: float) -> list[Reports]:
    model = FakeMotion(steer=0.3, omega=0.2, a_x=1.5)
    simulator = around(model, seed=seed, add_measurement_noise=True, **overrides)
    simulator.initial_pose(x=10.0, y=20.0, yaw=3.0)
    return [simulator.tick(0.0) for _ in range(ticks)]


def measured(reports: Reports) -> Sample:
    odometry, steering = reports.odometry, reports.steering
    assert odometry is not None
    assert steering is not None
    yaw = yaw_of(odometry.pose.orientation)
    return Sample(odometry.pose.x, odometry.pose.y, odometry.v_x, yaw, steering.steer)


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    assert runs(7) == runs(7)
    assert runs(7) != runs(8)


def test_without_a_seed_the_one_that_was_drawn_can_be_used_again() -> None:
    first = around(add_measurement_noise=True)
    again = around(add_measurement_noise=True, seed=first.seed)
    assert first.tick(0.0) == again.tick(0.0)
    assert around(add_measurement_noise=True).seed != first.seed


def test_reports_are_off_by_the_noise() -> None:
    truth = Sample(10.0, 20.0, 0.0, 3.0, float(np.float32(0.3)))
    noise = drawn(7, Deviations(), 50)
    errors = np.array([measured(r) for r in runs(7)]) - np.array(truth)
    assert errors[:, :3] == pytest.approx(noise[:, :3], abs=1e-14)
    assert errors[:, 3] == pytest.approx(noise[:, 3], abs=1e-14)
    # The steering report is a 32-bit float, so it is off by half a unit in its last place more.
    assert errors[:, 4] == pytest.approx(noise[:, 4], abs=2e-8)


def test_odometry_and_velocity_report_share_a_draw() -> None:
    for reports in runs(4):
        assert reports.odometry is not None
        assert reports.velocity is not None
        assert reports.velocity.v_x == np.float32(reports.odometry.v_x)


def test_what_has_no_noise() -> None:
    for reports in runs(4, vel_noise_stddev=1.0):
        assert reports.odometry is not None
        assert reports.acceleration is not None
        assert reports.imu is not None
        assert reports.odometry.pose.z == 0.0
        assert reports.odometry.omega == reports.imu.omega == 0.2
        assert reports.acceleration.a_x == reports.imu.a_x == 1.5
        assert reports.acceleration.a_y == 0.0, "from the true velocity"


def test_pose_transform_and_imu_have_the_noisy_pose() -> None:
    for reports in runs(4):
        assert reports.odometry is not None
        assert reports.pose is not None
        assert reports.transform is not None
        assert reports.imu is not None
        assert reports.odometry.pose == reports.pose.pose == reports.transform.pose
        assert reports.imu.orientation == reports.odometry.pose.orientation


def test_noise_does_not_reach_the_motion() -> None:
    model = FakeMotion()
    simulator = around(model, add_measurement_noise=True, pos_noise_stddev=10.0, seed=1)
    simulator.initial_pose(x=1.0)
    simulator.initial_twist(2.0)
    for k in range(5):
        simulator.tick(k * 1.0)
    assert simulator.motion.x == 9.0


def test_noise_is_off_unless_asked_for() -> None:
    reports = around().tick(0.0)
    assert reports.odometry is not None
    assert reports.odometry.pose.x == 0.0


@pytest.mark.parametrize("name", ["pos", "vel", "rpy", "steer"])
@pytest.mark.parametrize("bad", [-0.1, float("nan"), "some", True])
def test_deviations_are_checked(name: str, bad: object) -> None:
    with pytest.raises(InvalidValue, match=f"{name}_noise_stddev = "):
        around(**{f"{name}_noise_stddev": bad})


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "x", True])
def test_seeds_are_checked(seed: object) -> None:
    with pytest.raises(InvalidValue, match="seed = "):
        around(seed=seed)
