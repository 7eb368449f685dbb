"""Under compat="upstream" the engine repeats the runs of the program."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from compat.truck.recordings import NAMES, Replay, recording, replay

NOISY = "s21_noise"
KEPT = ("ctl_v", "ctl_a", "ctl_c")
"""The program's own bookkeeping, which `state` does not tell."""


@cache
def repeated(name: str) -> Replay:
    return replay(recording(name).scenario, compat="upstream")


@pytest.mark.parametrize("name", [name for name in NAMES if name != NOISY])
def test_a_run_of_the_program_is_repeated(name: str) -> None:
    run, got = recording(name), repeated(name)
    for column, want in zip(run.columns, run.state.T, strict=True):
        if column not in KEPT:
            np.testing.assert_allclose(got.state[column], want, rtol=0, atol=1e-9, err_msg=column)
    thrown = [op["op"][0] for op in run.meta["ops"] if op.get("threw")]
    assert got.rejected == thrown


@pytest.mark.parametrize("name", NAMES)
def test_the_steering_of_the_program_is_repeated_to_the_bit(name: str) -> None:
    """Whether it is exactly straight decides whether the program's IMU shows NaN."""
    run, got = recording(name), repeated(name)
    assert (got.state["steering"] == run.state[:, run.columns.index("steering")]).all()


def summed_steering(angle: float, step: float, rate_max: float, precision: float) -> float:
    """The angle at which the program's sums leave wheels that are to be straight."""
    while abs(angle) > precision:
        rate = -math.copysign(rate_max, angle)
        after = angle + rate * step
        reached = after - precision < 0.0 if angle > 0.0 else after + precision > 0.0
        rate = (0.0 - angle) * (1.0 / step) if reached else rate
        angle = angle + (rate + 2 * rate + 2 * rate + rate) * (step / 6)
    return angle


@pytest.mark.parametrize("step", [1e-3, 2e-3, 7e-4])
def test_wheels_come_back_to_straight_as_the_programs_sum_does(step: float) -> None:
    from skidpad.compat.truck.engine import Engine

    engine = Engine(compat="upstream", integration_step=step)
    ends = []
    for angle in np.random.default_rng(5).uniform(-0.6, 0.6, 60).tolist():
        engine.reset_base((0.0, 0.0, 0.0), angle, 0.3)
        engine.set_base_control(0.3, 0.0)
        engine.advance(0.5)
        ends.append(summed_steering(angle, step, engine.params.steer_rate_max, engine.precision))
        assert engine.rear.steer == ends[-1]
        force = engine.state().accel_linear_acceleration
        assert all(math.isnan(f) == (ends[-1] == 0.0) for f in force)
    assert 0 < sum(end == 0.0 for end in ends) < len(ends)
    repaired = Engine(integration_step=step)
    repaired.reset_base((0.0, 0.0, 0.0), 0.31, 0.3)
    repaired.set_base_control(0.3, 0.0)
    repaired.advance(0.5)
    assert repaired.rear.steer == 0.0


@pytest.mark.parametrize("name", [n for n in NAMES if "scan" in recording(n).arrays and n != NOISY])
def test_scans_of_the_program_are_repeated_with_their_faults(name: str) -> None:
    run, got = recording(name), repeated(name)
    assert got.scan.dtype == np.float32
    assert got.scan.shape[1] == run.meta["rays"]
    np.testing.assert_allclose(got.scan, run.arrays["scan"], rtol=2e-7, atol=0)


def test_the_status_and_the_clock_are_whole_numbers_like_upstreams() -> None:
    run, got = recording("s18_collision_drive"), repeated("s18_collision_drive")
    for column in ("status", "time_ns"):
        want = run.state[:, run.columns.index(column)]
        assert got.state[column].tolist() == want.tolist()


def test_noise_has_the_deviations_of_the_program() -> None:
    run = recording(NOISY)
    got = replay(run.scenario, compat="upstream", seed=3)
    clean = replay({**run.scenario, "noise": None}, compat="upstream")
    # 28 800 ranges pin a deviation of 0.1 to half a percent, 40 rows of three axes 0.2 to 7 %.
    for scans in (got.scan, run.arrays["scan"]):
        assert np.std(scans - clean.scan) == pytest.approx(0.1, rel=0.03)
    gyro = np.array([got.state[f"gyro_{axis}"] for axis in "xyz"])
    recorded = np.array([run.state[:, run.columns.index(f"gyro_{axis}")] for axis in "xyz"])
    for rates in (gyro, recorded):
        assert np.std(rates) == pytest.approx(0.2, rel=0.25)


def test_a_map_of_the_wrong_kind_is_refused() -> None:
    from skidpad.compat.truck.engine import Engine
    from skidpad.errors import InvalidValue
    from skidpad.geometry.maps.map import Map

    with pytest.raises(InvalidValue, match="grid"):
        Engine(map=Map.from_grid([[True]], resolution=0.1), compat="upstream")
