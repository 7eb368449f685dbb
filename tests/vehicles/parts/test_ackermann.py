"""Ackermann relations against upstream's table, and against wheels that roll without slip."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.vehicles.parts import kinematics as ak
from skidpad.vehicles.parts.actuators import approach, end_on_goal

TABLE = json.loads(
    (Path(__file__).parents[2] / "data" / "truck" / "model_table_default.json").read_text("utf-8")
)
COLUMNS = dict(zip(TABLE["columns"], np.array(TABLE["rows"]).T, strict=True))
L, W, B, R, G = 0.405, 0.213, 0.2025, 0.0525, 0.08421
"""Wheel base, track, base to rear axle, wheel radius in m, and gear ratio of that truck."""


def column(name: str) -> np.ndarray:
    return COLUMNS[name]


def close(got: object, want: np.ndarray) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def rear() -> ak.Twist:
    return ak.Twist(column("rear_curvature"), column("rear_velocity"))


def test_base_and_rear_twists_are_those_of_the_table() -> None:
    base = ak.Twist(column("base_curvature"), column("base_velocity"))
    ratio = ak.rear_ratio(base.curvature, B)
    close(base.curvature / ratio, column("rear_curvature"))
    close(base.velocity * ratio, column("rear_velocity"))
    close(ak.rear_ratio(base.curvature, B), column("rear_accel_for_1"))
    back = ak.twist_at(rear(), B, 0.0)
    close(back.curvature, column("base_curvature_back"))
    close(back.velocity, column("base_velocity_back"))
    point = ak.twist_at(rear(), 0.3, 0.07)
    close(point.curvature, column("point(0.3,0.07)_curvature"))
    close(point.velocity, column("point_velocity"))


def test_wheels_and_motor_are_those_of_the_table() -> None:
    curvature = column("rear_curvature")
    close(ak.steer_of(curvature, L), column("steer_middle"))
    close(ak.curvature_of(column("steer_middle"), L), column("rear_curvature_from_middle"))
    front = ak.front_wheels(curvature, L, W)
    close(front.left, column("steer_left"))
    close(front.right, column("steer_right"))
    spin = ak.wheel_spin(rear(), L, W, R)
    for wheel in ("fl", "fr", "rl", "rr"):
        close(getattr(spin, wheel), column(f"w_{wheel}"))
    close(ak.motor_rate(column("base_velocity"), R, G), column("motor_rps_of_base_velocity"))


def test_the_curvature_limit_is_that_of_the_table() -> None:
    limit = ak.rear_curvature_limit(math.radians(40), math.radians(40), L, W)
    assert ak.base_curvature_limit(limit, B, 2.0) == pytest.approx(
        TABLE["max_abs_base_curvature"], rel=1e-14
    )
    assert ak.base_curvature_limit(limit, B, 1.5) == 1.5


@pytest.mark.parametrize(("inner", "outer"), [(30.0, 25.0), (25.0, 30.0), (20.0, 60.0)])
def test_at_the_limit_one_wheel_is_at_its_own(inner: float, outer: float) -> None:
    limit = ak.rear_curvature_limit(math.radians(inner), math.radians(outer), L, W)
    front = ak.front_wheels(limit, L, W)
    # To the left the right wheel turns towards the middle of the car, the left one away from it.
    used = front.right / math.radians(inner), front.left / math.radians(outer)
    assert max(used) == pytest.approx(1.0, rel=1e-12)


def test_an_inner_limit_past_the_far_corner_limits_nothing() -> None:
    steep = math.atan(2.0 * L / W) + 0.05
    got = ak.rear_curvature_limit(steep, math.radians(20), L, W)
    t = math.tan(math.radians(20))
    assert got == pytest.approx(t / (L + 0.5 * W * t), rel=1e-12)


def test_wheels_that_cannot_turn_allow_no_curvature() -> None:
    assert ak.rear_curvature_limit(0.0, 0.5, L, W) == 0.0
    assert ak.base_curvature_limit(0.0, B, 2.0) == 0.0


curvatures = st.floats(-2.0, 2.0)
speeds = st.floats(-3.0, 3.0)


@given(curvatures, speeds)
def test_every_wheel_rolls_along_itself(curvature: float, speed: float) -> None:
    """The velocity of each wheel, by the motion of a rigid body, is its spin times its heading."""
    twist = ak.Twist(curvature, speed)
    front = ak.front_wheels(curvature, L, W)
    spin = ak.wheel_spin(twist, L, W, R)
    for x, y, angle, omega in (
        (L, W / 2, front.left, spin.fl),
        (L, -W / 2, front.right, spin.fr),
        (0.0, W / 2, 0.0, spin.rl),
        (0.0, -W / 2, 0.0, spin.rr),
    ):
        velocity = speed - twist.omega * y, twist.omega * x
        rolled = R * omega * math.cos(angle), R * omega * math.sin(angle)
        assert velocity == pytest.approx(rolled, abs=1e-12)


@given(curvatures, speeds, st.floats(-0.4, 0.6), st.floats(-0.3, 0.3))
def test_all_points_turn_with_one_yaw_rate(c: float, v: float, x: float, y: float) -> None:
    twist = ak.Twist(c, v)
    if ak.speed_ratio(c, x, y) > 1e-6:
        assert ak.twist_at(twist, x, y).omega == pytest.approx(twist.omega, abs=1e-9)


@given(st.floats(-0.59, 0.59), speeds, st.floats(-2, 2), st.floats(-2, 2))
def test_yaw_acceleration_is_the_derivative_of_the_yaw_rate(
    steer: float, v: float, a: float, w: float
) -> None:
    h = 1e-5

    def omega(t: float) -> float:
        return (v + a * t) * math.tan(steer + w * t) / L

    want = (omega(h) - omega(-h)) / (2.0 * h)
    assert ak.following(v, a, steer, w, L).omega_rate == pytest.approx(want, abs=1e-6)


def test_an_approach_takes_full_steps_then_lands_on_the_goal() -> None:
    value, taken = 0.0, []
    for _ in range(5):
        step = approach(value, 0.35, 1.0, 0.1, 0.0)
        value = end_on_goal(value + 0.1 * step.rate, 0.35, step.lands)
        taken.append(value)
    assert taken == pytest.approx([0.1, 0.2, 0.3, 0.35, 0.35], abs=1e-15)
    assert taken[3] == taken[4] == 0.35


def test_within_its_tolerance_a_value_stays_and_just_outside_it_lands() -> None:
    assert approach(1.0, 1.0 + 5e-5, 1.0, 0.01, 1e-4).rate == 0.0
    assert not approach(1.0, 1.0 + 5e-5, 1.0, 0.01, 1e-4).lands
    # 0.01 + 5e-5 away: the step ends within 1e-4 of the goal, so it goes all the way.
    step = approach(1.0, 1.01005, 1.0, 0.01, 1e-4)
    assert step.lands
    assert step.rate == pytest.approx(1.005)


def test_a_limit_of_zero_holds_the_value() -> None:
    assert approach(1.0, 2.0, 0.0, 0.01, 0.0).rate == 0.0
    assert not approach(1.0, 2.0, 0.0, 0.01, 0.0).lands
