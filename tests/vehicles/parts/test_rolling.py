"""Lags and limits, rolling without slip, and the step inside an update."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.actuators import limited, outside_dead_band, rk4, servo_rate
from skidpad.vehicles.parts.kinematics import rolling, yaw_rate


@pytest.mark.parametrize(
    ("error", "expected"), [(0.3, 0.2), (-0.3, -0.2), (0.1, 0.0), (-0.05, 0.0), (0.0, 0.0)]
)
def test_a_dead_band_swallows_small_errors(error: float, expected: float) -> None:
    assert outside_dead_band(error, 0.1) == pytest.approx(expected)


def test_a_dead_band_of_no_width_is_none() -> None:
    assert outside_dead_band(0.37, 0.0) == 0.37


def test_a_servo_takes_back_its_error_within_its_rate() -> None:
    assert servo_rate(0.2, 0.5, 1.0) == pytest.approx(-0.4)
    assert servo_rate(-2.0, 0.5, 1.0) == 1.0
    assert limited(-3.0, 2.0) == -2.0


@given(st.floats(-1.2, 1.2), st.floats(-30.0, 30.0))
def test_yaw_rate_is_speed_over_the_turning_radius(steer: float, v_x: float) -> None:
    assert yaw_rate(v_x, steer, 2.5) == pytest.approx(v_x * math.tan(steer) / 2.5, rel=1e-14)


class _Pose(NamedTuple):
    x: float
    y: float
    yaw: float


def test_constant_steering_drives_a_circle() -> None:
    radius = 2.5 / math.tan(0.4)
    pose, steps = _Pose(0.0, 0.0, 0.0), 400
    for _ in range(steps):
        pose = rk4(
            lambda at: _Pose(*rolling(at.yaw, 3.0, 0.4, 2.5)),
            pose,
            math.pi * radius / 3.0 / steps,
        )
    assert pose == pytest.approx((0.0, 2.0 * radius, math.pi), abs=1e-8)


class _Powers(NamedTuple):
    t: float
    cube: float


def test_a_step_is_of_fourth_order() -> None:
    # A quadrature by this method is Simpson's rule, exact for cubes and not for fourth powers.
    after = rk4(lambda at: _Powers(1.0, at.t**3), _Powers(0.0, 0.0), 2.0)
    assert after == pytest.approx((2.0, 4.0))
    after = rk4(lambda at: _Powers(1.0, at.t**4), _Powers(0.0, 0.0), 2.0)
    assert after.cube == pytest.approx(2.0 * (0.0 + 4.0 * 1.0 + 16.0) / 6.0)
