"""Front wheel angles, and steering that fits a twist; odometry from two wheels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad.vehicles.parts.load_transfer import Place, Velocity, in_wheel_frame
from skidpad.vehicles.parts.steering import steer_of_twist, upstream_wheel_angles, wheel_angles
from skidpad.vehicles.parts.wheel_friction import (
    Hub,
    Pose,
    SpinningWheel,
    Twist,
    advanced,
    estimated_twist,
)
from vehicles.wheeled.recordings import table


def test_recorded_angles() -> None:
    t = table("tables", "ackermann_angles")
    got = upstream_wheel_angles(t["steer"], t["max_steer"], t["wheelbase"], t["track"])
    for ours, theirs in zip(got, (t["fl"], t["fr"]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("steer", [-0.6, -0.2, 0.0, 0.1, 0.5, 0.9])
def test_both_wheels_turn_about_one_point_of_the_rear_axle(steer: float) -> None:
    wheel_base, track = 1.3, 1.9
    left, right = wheel_angles(steer, 1.2, wheel_base, track)
    if steer == 0.0:
        assert (left, right) == (0.0, 0.0)
        return
    centre = wheel_base / math.tan(steer)
    # Where the axles of the wheels, drawn on, meet the line of the rear axle.
    assert 0.5 * track + wheel_base / math.tan(left) == pytest.approx(centre)
    assert -0.5 * track + wheel_base / math.tan(right) == pytest.approx(centre)


def test_the_documented_angles_meet_in_no_point() -> None:
    """MVSim's document has cot(α ± w / 2l) in place of cot(α) ± w / 2l: see docs/errata.md."""
    steer, wheel_base, track = 0.3, 1.3, 1.9
    shift = 0.5 * track / wheel_base
    documented = [math.atan(1.0 / math.tan(steer + s * shift)) for s in (1.0, -1.0)]
    assert documented == pytest.approx([0.540, -1.140], abs=1e-3)
    for angles in (wheel_angles, upstream_wheel_angles):
        inner, outer = angles(steer, 1.2, wheel_base, track)
        assert (outer, inner) == pytest.approx((0.247, 0.380), abs=1e-3)


def test_angles_keep_to_the_limit_of_the_middle() -> None:
    assert wheel_angles(2.0, 0.5, 1.3, 1.9) == wheel_angles(0.5, 0.5, 1.3, 1.9)


def test_an_inner_wheel_may_turn_by_more_than_a_right_angle() -> None:
    """Upstream turns it to the wrong side then."""
    inside = wheel_angles(1.3, 1.5, 1.0, 1.8).left
    assert inside > 0.5 * math.pi
    assert upstream_wheel_angles(1.3, 1.5, 1.0, 1.8).left == pytest.approx(inside - math.pi)


@pytest.mark.parametrize(("v", "omega"), [(2.0, 0.5), (2.0, -0.5), (-1.0, 0.3), (0.5, 0.0)])
def test_steering_of_a_twist_gives_that_twist(v: float, omega: float) -> None:
    steer = steer_of_twist(v, omega, 1.3)
    assert v * math.tan(steer) / 1.3 == pytest.approx(omega)
    assert abs(steer) < 0.5 * math.pi


def test_the_circle_of_a_twist_is_that_of_the_wheelbase() -> None:
    """MVSim's document takes the distance between the wheels, which drives a circle of 3.4 m."""
    steer, documented = steer_of_twist(5.0, 1.0, 1.3), math.atan(1.9 / 5.0)
    assert (steer, documented) == pytest.approx((0.254, 0.363), abs=1e-3)
    assert 1.3 / math.tan(steer) == pytest.approx(5.0)
    assert 1.3 / math.tan(documented) == pytest.approx(3.4, abs=0.03)


def test_a_turn_on_the_spot_wants_a_right_angle() -> None:
    assert steer_of_twist(0.0, 0.4, 1.3) == pytest.approx(0.5 * math.pi)
    assert steer_of_twist(0.0, -0.4, 1.3) == pytest.approx(-0.5 * math.pi)
    assert steer_of_twist(0.0, 0.0, 1.3) == 0.0


def test_odometry_undoes_rolling() -> None:
    v, omega = 0.8, -0.6
    wheels = [
        SpinningWheel((v - omega * y) / r, Hub(r, 1.0), Place(0.1, y))
        for y, r in ((0.4, 0.2), (-0.3, 0.25))
    ]
    assert estimated_twist(*wheels) == pytest.approx((v, omega))


def test_the_documented_odometry_turns_the_other_way() -> None:
    """(ω_r R_r - ω_l R_r) / (y_r - y_l), with the radius of one wheel and y to the right."""
    v, omega = 1.0, 0.5
    left, right = (
        SpinningWheel((v - omega * y) / 0.2, Hub(0.2, 1.0), Place(0.1, y)) for y in (0.4, -0.4)
    )
    documented = 0.2 * (right.spin - left.spin) / (right.place.y - left.place.y)
    assert documented == pytest.approx(-omega)
    assert left.spin * 0.2 + documented * left.place.y == pytest.approx(v - 2.0 * omega * 0.4)
    assert estimated_twist(left, right) == pytest.approx((v, omega))


def test_dead_reckoning_goes_round_a_circle() -> None:
    pose, steps = Pose(), 400
    for _ in range(steps):
        pose = advanced(pose, Twist(1.0, 0.5), 4.0 * math.pi / steps)
    assert pose == pytest.approx((0.0, 0.0, 2.0 * math.pi), abs=1e-9)


def test_a_wheel_that_rolls_ahead_does_not_slide() -> None:
    """MVSim's document turns the velocity by the angle of the wheel, not by its opposite."""
    steer = 0.3
    c, s = math.cos(steer), math.sin(steer)
    along = in_wheel_frame(Velocity(2.0 * c, 2.0 * s), c, s)
    assert along == pytest.approx((2.0, 0.0))
    documented = in_wheel_frame(Velocity(2.0 * c, 2.0 * s), c, -s)
    assert math.atan2(documented.y, documented.x) == pytest.approx(2.0 * steer)
