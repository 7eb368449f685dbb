"""Kernels of slow cars and of spinning wheels."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest

from skidpad.tyres.contract import dynamic_share, held_sign, led, mixed
from skidpad.vehicles.parts.kinematics import (
    centre_track_rolling,
    drift,
    drift_rate,
    following,
    path_acceleration,
    rolling_rate,
)
from skidpad.vehicles.parts.load_transfer import floored_speed, on_road, pitch_loads
from skidpad.vehicles.parts.spinning_wheel import (
    axle_torques,
    longitudinal_slip,
    on_wheel,
    spin_rate,
)


class Blend(NamedTuple):
    v_kin: float = 0.1
    v_dyn: float = 2.0
    t_kin: float = 0.02


def test_the_share_of_the_forces_is_exact_at_both_ends() -> None:
    p = Blend()
    assert dynamic_share(0.1, p) == dynamic_share(-0.05, p) == 0.0
    assert dynamic_share(2.0, p) == dynamic_share(-30.0, p) == 1.0
    v = np.linspace(0.1, 2.0, 100)
    assert np.all(np.diff(dynamic_share(v, p)) > 0.0)
    assert mixed(1.0, 0.1 + 0.2, 1e9) == 0.1 + 0.2


def test_a_led_value_closes_in_on_a_moving_goal() -> None:
    assert led(3.0, 3.0, 0.7, 0.02) == 0.7
    assert led(3.0, 3.1, 0.7, 0.02) == pytest.approx(5.7)


def test_a_brake_holds_smoothly_and_fully_beyond_its_width() -> None:
    assert held_sign(3.0, 3.0) == held_sign(90.0, 3.0) == 1.0
    assert held_sign(-3.1, 3.0) == -1.0
    assert held_sign(0.0, 3.0) == 0.0
    h = 1e-4
    slopes = [(held_sign(3.0 + s * h, 3.0) - held_sign(3.0 + s * h - h, 3.0)) / h for s in (0, 2)]
    assert slopes == pytest.approx([0.0, 0.0], abs=1e-6)


def test_the_floored_speed_is_the_speed_above_its_width() -> None:
    assert floored_speed(-1.3, 1.2) == 1.3
    assert floored_speed(0.0, 1.2) == pytest.approx(0.375 * 1.2)
    v = np.linspace(0.0, 1.2, 50)
    assert np.all(floored_speed(v, 1.2) >= v)


def test_rates_of_a_rolling_car_are_those_of_its_motion() -> None:
    l_f, l_r, steer, steer_rate, v, a = 1.1, 1.4, 0.5, 0.3, -4.0, 2.0
    h = 1e-6
    ends = [
        centre_track_rolling(v + s * a * h, steer + s * steer_rate * h, l_f, l_r)
        for s in (1.0, -1.0)
    ]
    slope = [(up - down) / (2.0 * h) for up, down in zip(*ends, strict=True)]
    assert list(rolling_rate(v, a, steer, steer_rate, l_f, l_r)) == pytest.approx(slope, rel=1e-8)
    assert drift_rate(steer, steer_rate, l_f, l_r) == pytest.approx(slope[0], rel=1e-8)
    ends = [following(v + s * a * h, a, steer + s * steer_rate * h, 0.0, 2.5) for s in (1.0, -1.0)]
    found = following(v, a, steer, steer_rate, 2.5)
    assert found.omega_rate == pytest.approx((ends[0].omega - ends[1].omega) / (2.0 * h), rel=1e-8)


def test_the_centre_of_mass_turns_about_the_line_of_the_rear_axle() -> None:
    l_f, l_r, steer = 1.1, 1.4, 0.5
    beta = drift(steer, l_f, l_r)
    turn = centre_track_rolling(3.0, steer, l_f, l_r)
    # The rear axle must not move sideways: v sin(beta) = l_r omega.
    assert 3.0 * math.sin(beta) == pytest.approx(l_r * turn.omega, rel=1e-14)
    a = path_acceleration(3.0, beta, 0.0, turn.omega)
    assert math.hypot(a.x, a.y) == pytest.approx(3.0 * turn.omega, rel=1e-14)
    assert a.x * math.cos(beta) + a.y * math.sin(beta) == pytest.approx(0.0, abs=1e-14)


def test_loads_balance_in_pitch_and_end_at_lift_off() -> None:
    loads = pitch_loads(3.0, 1000.0, 9.81, 1.0, 1.5, 0.6)
    assert sum(loads) == pytest.approx(9810.0, rel=1e-14)
    # About the front contact: rear load times wheelbase is weight and inertia with their levers.
    assert loads.rear * 2.5 == pytest.approx(9810.0 * 1.0 + 1000.0 * 3.0 * 0.6, rel=1e-14)
    lifted = pitch_loads(30.0, 1000.0, 9.81, 1.0, 1.5, 0.6)
    assert lifted.front < 0.0 == on_road(lifted.front)


def test_torques_are_split_and_brakes_only_resist() -> None:
    drive = axle_torques(2.0, False, 1000.0, 0.3, 0.7, 0.0)
    assert (drive.front, drive.rear) == pytest.approx((0.0, 600.0))
    brake = axle_torques(-2.0, True, 1000.0, 0.3, 0.7, 0.0)
    assert (brake.front, brake.rear) == pytest.approx((-420.0, -180.0))
    assert on_wheel(-420.0, True, 20.0, 3.0) == -420.0
    assert on_wheel(-420.0, True, -20.0, 3.0) == 420.0
    assert on_wheel(-420.0, True, 0.0, 3.0) == 0.0
    assert on_wheel(-420.0, False, 0.0, 3.0) == -420.0
    assert spin_rate(30.0, 100.0, 0.3, 1.7) == 0.0


def test_longitudinal_slip_either_way_and_at_rest() -> None:
    assert longitudinal_slip(11.0, 3.0, 0.3, 1.0) == pytest.approx(0.1)
    # Backwards a rim that turns faster still drives, now to the rear.
    assert longitudinal_slip(-11.0, -3.0, 0.3, 1.0) == pytest.approx(-0.1)
    assert longitudinal_slip(0.0, 3.0, 0.3, 1.0) == -1.0
    assert longitudinal_slip(0.0, 0.0, 0.3, 1.0) == 0.0
