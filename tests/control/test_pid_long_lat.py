"""PID control of speed and lateral offset."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from control.roads import DYNAMIC, KINEMATIC, RECORDED, lane_change
from skidpad.control import PIDLongLat
from skidpad.control.pid import (
    OffsetGains,
    PIDControl,
    PidLongLatGains,
    SpeedGains,
    at_start,
    command,
    policy,
)
from skidpad.errors import InvalidValue


def scale(values: np.ndarray) -> float:
    return float(np.abs(values).max())


def test_pid_as_recorded() -> None:
    pid = PIDControl(*RECORDED["pid__gains"], compat="upstream")
    rows = zip(RECORDED["pid__meas"], RECORDED["pid__ref"], strict=True)
    got = [pid.compute_control_input(*row) for row in rows]
    wanted = RECORDED["pid__out"]
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * scale(wanted))


def test_pid_long_lat_as_recorded() -> None:
    pid = PIDLongLat(1.0, 0.0, 0.0, 0.05, 0.0, 0.1, 0.1, compat="upstream")
    got = np.array([pid.compute_control_input(*row) for row in RECORDED["pidll__in"]])
    np.testing.assert_allclose(got, RECORDED["pidll__out"], rtol=1e-12, atol=1e-12)
    assert pid.delta_t == 0.1


def test_the_pure_functions_are_the_classes() -> None:
    p, memory = PidLongLatGains(), at_start("upstream")
    for row, wanted in zip(RECORDED["pidll__in"], RECORDED["pidll__out"], strict=True):
        asked, memory = command(p, memory, *row.tolist(), 0.1)
        np.testing.assert_allclose(asked, wanted, rtol=1e-12, atol=1e-12)


def test_by_hand() -> None:
    pid = PIDControl(kp=2.0, ki=0.5, kd=0.25, delta_t=0.5)
    # e = 1: 2 + 0.5·0.5; e = 3: 6 + 0.5·(0.5 + 1.5) + 0.25·2/0.5
    assert pid.compute_control_input(1.0, 2.0) == pytest.approx(2.25)
    assert pid.compute_control_input(0.0, 3.0) == pytest.approx(8.0)
    pid.reset()
    assert pid.compute_control_input(1.0, 2.0) == pytest.approx(2.25)
    assert (pid.kp, pid.ki, pid.kd, pid.delta_t) == (2.0, 0.5, 0.25, 0.5)


def test_the_first_derivative_kicks_only_upstream() -> None:
    ours, theirs = (PIDControl(0.0, 0.0, 1.0, 0.1, compat=c) for c in (None, "upstream"))
    assert ours.compute_control_input(0.0, 3.0) == 0.0
    assert theirs.compute_control_input(0.0, 3.0) == pytest.approx(30.0)
    assert ours.compute_control_input(0.0, 4.0) == pytest.approx(10.0)
    assert theirs.compute_control_input(0.0, 4.0) == pytest.approx(10.0)


def test_limit_and_anti_windup_are_off_by_default() -> None:
    free = PIDControl(1.0, 1.0, 0.0, 0.1)
    wound = PIDControl(1.0, 1.0, 0.0, 0.1, limit=1.0)
    held = PIDControl(1.0, 1.0, 0.0, 0.1, limit=1.0, anti_windup=True)
    for _ in range(50):
        outs = [pid.compute_control_input(0.0, 10.0) for pid in (free, wound, held)]
    assert outs == [pytest.approx(60.0), 1.0, 1.0]
    # The error turns round: the integral that let go follows at once, the other one much later.
    after = [pid.compute_control_input(0.5, 0.0) for pid in (free, wound, held)]
    assert after[1] == 1.0
    assert after[2] < 0.6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"delta_t": 0.0}, "delta_t = 0 s must be greater than 0"),
        ({"delta_t": float("nan")}, "delta_t = nan must be finite"),
        ({"kp": float("inf")}, "kp = inf must be finite"),
        ({"ki": "much"}, "ki must be a number"),
        ({"limit": -1.0}, "limit = -1 must be at least 0"),
        ({"compat": "old"}, "compat = 'old' is unknown"),
    ],
)
def test_bad_settings_are_named(given: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        PIDControl(**({"kp": 1.0, "ki": 0.0, "kd": 0.0, "delta_t": 0.1} | given))


def test_a_bad_measurement_changes_nothing() -> None:
    pid = PIDControl(1.0, 1.0, 1.0, 0.1)
    pid.compute_control_input(0.0, 1.0)
    with pytest.raises(InvalidValue, match="measured_output = nan"):
        pid.compute_control_input(float("nan"), 1.0)
    with pytest.raises(InvalidValue, match="reference_output"):
        pid.compute_control_input(0.0, None)  # type: ignore[arg-type]
    assert pid.compute_control_input(0.0, 1.0) == pytest.approx(1.2)


@pytest.mark.parametrize("car", [KINEMATIC, DYNAMIC], ids=["kinematic", "dynamic"])
def test_the_policy_changes_the_lane(car: sp.Vehicle) -> None:
    reference, dt, steps = lane_change(20.0), 0.05, 180
    speed = "v" if car is KINEMATIC else "v_x"
    fleet = sp.Fleet(car, dt, substeps=4)
    rows = reference.rows(steps, dt, ahead=0.5)
    states = fleet.rollout({speed: 18.0, "y": 0.3}, rows, policy=policy(car))[:, 0]
    offset = reference.offset(states[:, 0], states[:, 1])
    assert np.abs(offset[40:]).max() < 0.45
    assert np.abs(offset[-20:]).max() < 0.05
    assert states[-1, 2] == pytest.approx(20.0, abs=0.05)


def test_gains_by_name_and_limits() -> None:
    gains = PidLongLatGains(SpeedGains(k_p=2.0, limit=1.0), OffsetGains(limit=0.1))
    law = policy(KINEMATIC, gains)
    asked, _ = law.command(
        KINEMATIC.State(v=0.0, y=50.0), law.Memory(), law.Reference(v=30.0), law.params, 0.1
    )
    assert asked.a == 1.0
    assert asked.steer_rate == -0.1


def test_other_inputs_are_refused() -> None:
    with pytest.raises(InvalidValue, match="this controller commands a and steer_rate"):
        policy(sp.vehicles.four_wheel())
