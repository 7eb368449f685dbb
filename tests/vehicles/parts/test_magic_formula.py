"""The Magic Formula of combined slip: slopes, peaks, losses, shifts and mirror images."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad.vehicles.commonroad.tyre import (
    Coefficients,
    Quirks,
    Slip,
    axle_force,
    pure_lateral,
    pure_longitudinal,
    right_tyre_force,
    tyre_force,
)

P = Coefficients()
LOAD = 3000.0
PLAIN = P._replace(
    p_hx1=0.0, p_vx1=0.0, r_hx1=0.0, p_hy1=0.0, p_vy1=0.0, r_by3=0.0, r_hy1=0.0, r_vy1=0.0
)
"""The tyre without anything that makes it pull to a side or roll at other than zero slip."""


def test_slopes_at_zero_slip_are_the_stiffnesses() -> None:
    h = 1e-6
    along = tyre_force(Slip(h, 0.0, 0.0), LOAD, PLAIN).x / h
    across = tyre_force(Slip(0.0, h, 0.0), LOAD, PLAIN).y / h
    assert along == pytest.approx(P.p_kx1 * LOAD, rel=1e-6)
    assert across == pytest.approx(P.p_ky1 * LOAD, rel=1e-6)


def test_peaks_are_the_friction() -> None:
    kappa = np.linspace(0.0, 1.0, 20001)
    along = pure_longitudinal(Slip(kappa, 0.0, 0.0), LOAD, PLAIN)
    across, mu = pure_lateral(Slip(0.0, kappa, 0.0), LOAD, PLAIN)
    assert np.max(along) == pytest.approx(P.p_dx1 * LOAD, rel=1e-6)
    assert np.min(across) == pytest.approx(-P.p_dy1 * LOAD, rel=1e-6)
    assert mu == P.p_dy1


def test_by_hand_at_one_point() -> None:
    kappa, gamma = 0.03, 0.0
    B = 22.303 / (1.6411 * 1.1739)
    t = B * (kappa + 0.0012297)
    bent = 1.6411 * math.atan(t - 0.46403 * (t - math.atan(t)))
    expected = 1.1739 * LOAD * math.sin(bent) + LOAD * -8.8098e-06
    assert pure_longitudinal(Slip(kappa, 0.0, gamma), LOAD, P) == pytest.approx(expected, rel=1e-14)


def test_a_vertical_shift_is_a_force_and_not_an_angle() -> None:
    slip = Slip(-P.p_hx1, 0.0, 0.0)
    assert pure_longitudinal(slip, LOAD, P) == pytest.approx(P.p_vx1 * LOAD, rel=1e-12)
    upstream = pure_longitudinal(slip, LOAD, P, Quirks(shift_in_sine=True))
    # 80 N where 0.03 N is meant.
    assert upstream == pytest.approx(P.p_dx1 * LOAD * math.sin(P.p_vx1 * LOAD), rel=1e-12)
    assert abs(upstream) > 2000.0 * abs(P.p_vx1 * LOAD)


def test_each_slip_costs_the_other_force() -> None:
    straight = tyre_force(Slip(0.2, 0.0, 0.0), LOAD, PLAIN)
    turning = tyre_force(Slip(0.2, 0.1, 0.0), LOAD, PLAIN)
    rolling = tyre_force(Slip(0.0, 0.1, 0.0), LOAD, PLAIN)
    assert 0.0 < turning.x < 0.95 * straight.x
    assert 0.0 > turning.y > 0.8 * rolling.y
    assert tyre_force(Slip(0.0, 0.1, 0.0), LOAD, PLAIN).y == pytest.approx(
        pure_lateral(Slip(0.0, 0.1, 0.0), LOAD, PLAIN)[0], rel=1e-15
    )


def test_a_wheel_that_leans_pushes_to_that_side() -> None:
    # A positive turn about the forward axis puts its top to the right, which is y < 0.
    right = tyre_force(Slip(0.0, 0.0, 0.05), LOAD, PLAIN).y
    assert right == pytest.approx((P.p_ky1 * P.p_hy3 + P.p_vy3) * 0.05 * LOAD, rel=0.01)
    assert right < 0.0
    assert tyre_force(Slip(0.0, 0.0, -0.05), LOAD, PLAIN).y == pytest.approx(-right, rel=1e-12)


def test_a_right_tyre_is_a_left_one_in_a_mirror() -> None:
    rng = np.random.default_rng(5)
    kappa, alpha, gamma = rng.uniform(-0.2, 0.2, (3, 200))
    left = tyre_force(Slip(kappa, alpha, gamma), LOAD, P)
    right = right_tyre_force(Slip(kappa, -alpha, -gamma), LOAD, P)
    np.testing.assert_array_equal(right.x, left.x)
    np.testing.assert_array_equal(right.y, -left.y)
    # One tyre alone pulls aside even when it rolls straight ahead; a pair does not.
    assert abs(tyre_force(Slip(0.0, 0.0, 0.0), LOAD, P).y) > 0.01 * LOAD
    assert axle_force(Slip(0.1, 0.0, 0.0), LOAD, P).y == 0.0


def test_forces_are_proportional_to_load() -> None:
    slip = Slip(0.04, -0.05, 0.02)
    one, two = tyre_force(slip, LOAD, P), tyre_force(slip, 2.0 * LOAD, P)
    assert (two.x, two.y) == pytest.approx((2.0 * one.x, 2.0 * one.y), rel=1e-14)
    assert tuple(tyre_force(slip, 0.0, P)) == (0.0, 0.0)


def test_the_force_of_drive_to_the_side_changes_with_its_direction() -> None:
    p = PLAIN._replace(r_vy1=P.r_vy1)
    drive, brake = (tyre_force(Slip(k, 0.0, 0.0), LOAD, p).y for k in (0.05, -0.05))
    assert drive == pytest.approx(-brake, rel=1e-12)
    assert drive > 0.0
    reversed_ = tyre_force(Slip(0.05, 0.0, 0.0), LOAD, p, Quirks(drive_reversed=True)).y
    assert reversed_ == pytest.approx(brake, rel=1e-12)
