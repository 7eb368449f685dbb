"""Variable gear ratio: both directions, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts.steering import SMALLEST_RATIO, gear_ratio, tyre_target, wheel_angle

SAMPLE = (15.713, 0.053, 0.042)
"""Coefficients of Autoware's sample vehicle."""


def test_the_ratio_grows_with_speed_and_falls_with_the_angle() -> None:
    assert gear_ratio(10.0, -5.0, *SAMPLE) == pytest.approx(15.713 + 5.3 - 0.21)
    assert gear_ratio(0.0, 1000.0, *SAMPLE) == SMALLEST_RATIO


@given(st.floats(-20.0, 20.0), st.floats(-0.6, 0.6))
def test_the_wheel_angle_is_the_ratio_times_the_tyre_angle(v_x: float, steer: float) -> None:
    wheel = wheel_angle(v_x, steer, *SAMPLE)
    assert wheel == pytest.approx(gear_ratio(v_x, wheel, *SAMPLE) * steer, abs=1e-12)
    assert tyre_target(v_x, steer, wheel, *SAMPLE) == pytest.approx(steer, abs=1e-12)
