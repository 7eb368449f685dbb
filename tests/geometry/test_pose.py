"""Poses: coordinates in frames, for floats, arrays and symbols."""

from __future__ import annotations

import math

import casadi
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.core.body import Pose
from skidpad.geometry.pose import (
    placed,
    points_to_body,
    points_to_world,
    relative,
    rotated,
    to_body,
    to_world,
    unrotated,
)

metres = st.floats(-100.0, 100.0)
angles = st.floats(-10.0, 10.0)
poses = st.builds(Pose, metres, metres, angles)


def test_left_is_positive() -> None:
    assert rotated(1.0, 0.0, math.pi / 2) == pytest.approx((0.0, 1.0), abs=1e-15)
    assert unrotated(1.0, 0.0, math.pi / 2) == pytest.approx((0.0, -1.0), abs=1e-15)
    # A car at (3, 4) that points along the world's y axis; a place 2 m ahead and 1 m to its left.
    car = Pose(3.0, 4.0, math.pi / 2)
    assert to_world(car, 2.0, 1.0) == pytest.approx((2.0, 6.0))
    assert to_body(car, 2.0, 6.0) == pytest.approx((2.0, 1.0))


@given(pose=poses, x=metres, y=metres)
def test_a_turn_is_the_product_with_a_complex_number(pose: Pose, x: float, y: float) -> None:
    z = complex(pose.x, pose.y) + complex(x, y) * np.exp(1j * pose.yaw)
    assert to_world(pose, x, y) == pytest.approx((z.real, z.imag), abs=1e-12)
    assert to_body(pose, z.real, z.imag) == pytest.approx((x, y), abs=1e-12)
    assert unrotated(*rotated(x, y, pose.yaw), pose.yaw) == pytest.approx((x, y), abs=1e-12)


@given(pose=poses, other=poses)
def test_a_pose_seen_from_another_is_put_back(pose: Pose, other: Pose) -> None:
    seen = relative(pose, other)
    assert placed(pose, seen) == pytest.approx(other, abs=1e-12)
    assert relative(pose, pose) == (0.0, 0.0, 0.0)


def test_arrays_and_symbols_give_what_floats_give() -> None:
    pose = Pose(1.0, -2.0, 0.7)
    points = np.array([[0.0, 0.0], [3.0, -1.0], [0.5, 2.0]])
    each = np.array([to_world(pose, *point) for point in points.tolist()])
    assert points_to_world(pose, points) == pytest.approx(each, abs=1e-15)
    assert points_to_body(pose, each) == pytest.approx(points, abs=1e-15)
    symbols = casadi.SX.sym("pose", 3)
    traced = casadi.Function("at", [symbols], to_world(casadi.vertsplit(symbols), 3.0, -1.0))
    assert [float(v) for v in traced(pose)] == pytest.approx(each[1], abs=1e-15)
