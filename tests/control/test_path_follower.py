"""Steering along a line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.control.car import Deviation, Motion, deviation
from skidpad.control.path_following import Params, kinematic_steer, steer
from skidpad.geometry.line import LinePoint

P = Params(l_f=0.9, l_r=0.7, steer_max=0.5)
ON_LINE = Deviation(0.0, 0.0, 0.0)


@pytest.mark.parametrize("radius", [-9.125, -3.5, 4.0, 9.125, 1e6])
def test_on_a_circle_the_wheels_point_at_right_angles_to_its_centre(radius: float) -> None:
    # The rear axle points at the centre; Pythagoras gives its distance, then the front wheel's.
    rear = math.copysign(math.sqrt(radius * radius - P.l_r * P.l_r), radius)
    expected = math.atan((P.l_f + P.l_r) / rear)
    assert steer(P, ON_LINE, 8.0, 1.0 / radius) == pytest.approx(expected, rel=1e-12)


def test_a_slipless_bicycle_follows_the_curvature_asked_for() -> None:
    curvature = 0.3
    delta = kinematic_steer(curvature, P.l_f, P.l_r)
    beta = math.atan(P.l_r / (P.l_f + P.l_r) * math.tan(delta))
    assert math.sin(beta) / P.l_r == pytest.approx(curvature, rel=1e-12)


@given(
    left=st.floats(-5, 5),
    v_left=st.floats(-5, 5),
    speed=st.floats(0, 30),
    curvature=st.floats(-2, 2),
)
def test_mirror_and_limit(left: float, v_left: float, speed: float, curvature: float) -> None:
    command = steer(P, Deviation(0.0, left, v_left), speed, curvature)
    assert steer(P, Deviation(0.0, -left, -v_left), speed, -curvature) == -command
    assert abs(command) <= P.steer_max


@pytest.mark.parametrize("speed", [0.5, 3.0, 20.0])
def test_a_deviation_dies_out_over_distance_at_any_speed(speed: float) -> None:
    """A bicycle without slip, beside a straight line, on small steps over distance."""
    straight = LinePoint(0.0, 0.0, 0.0, 0.0)
    p = P._replace(v_least=0.1)
    x, y, yaw, step = 0.0, 0.5, 0.0, 0.01
    offsets: list[float] = []
    beta = 0.0
    for _ in range(round(10 * p.settling / step)):
        v_x, v_y = speed * math.cos(beta), speed * math.sin(beta)
        delta = steer(p, deviation(Motion(x, y, yaw, v_x, v_y), straight), speed, 0.0)
        beta = math.atan(p.l_r / (p.l_f + p.l_r) * math.tan(delta))
        x, y = x + step * math.cos(yaw + beta), y + step * math.sin(yaw + beta)
        yaw += step * math.sin(beta) / p.l_r
        offsets.append(y)
    assert abs(offsets[-1]) < 0.01
    assert min(offsets) > -0.05


def test_arrays_steer_like_numbers() -> None:
    left, curvature = np.array([-1.0, 0.2, 2.0]), np.array([0.1, 0.0, -0.4])
    zero = np.zeros(3)
    together = steer(P, Deviation(zero, left, zero), np.full(3, 5.0), curvature)  # type: ignore[arg-type]
    alone = [steer(P, Deviation(0.0, e, 0.0), 5.0, k) for e, k in zip(left, curvature, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-14)
