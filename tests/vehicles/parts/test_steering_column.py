"""The steering column: controller, assistance, dead zone and the wait before it moves."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.vehicles.parts.steering import (
    Column,
    MechanicalSteering,
    assisted_torque,
    is_stuck,
    limited_target,
    steered,
)

PLAIN = MechanicalSteering(
    kp=10.0,
    ki=0.0,
    kd=0.0,
    ff_gain=0.0,
    angle_limit=2.0,
    rate_limit=1.0,
    dead_zone_threshold=0.0,
    poly_a=0.0,
    poly_b=0.0,
    poly_c=1.0,
    poly_d=0.0,
    poly_e=0.0,
    poly_f=0.0,
    poly_g=0.0,
    poly_h=0.0,
    inertia=2.0,
    damping=0.0,
    stiffness=0.0,
    friction=0.0,
    steering_torque_limit=30.0,
    torque_delay_time=0.0,
)
"""A proportional controller on an inertia: an undamped oscillator with omega² = kp / inertia."""
MOVING = Column(clock=1.0, front=0.99)
"""A column that has moved before."""


def test_a_target_jumps_no_farther_than_the_rate_allows() -> None:
    assert limited_target(1.0, 0.2, 0.1, PLAIN) == pytest.approx(0.3)
    assert limited_target(-1.0, 0.2, 0.1, PLAIN) == pytest.approx(0.1)
    assert limited_target(5.0, 1.98, 0.1, PLAIN) == 2.0
    assert limited_target(0.25, 0.2, 0.1, PLAIN) == pytest.approx(0.25)


def test_assistance_is_a_polynomial_of_demand_and_speed() -> None:
    p = PLAIN._replace(
        poly_a=0.1,
        poly_b=-0.2,
        poly_c=1.5,
        poly_d=0.01,
        poly_e=-0.04,
        poly_f=0.2,
        poly_g=-0.06,
        poly_h=0.3,
    )
    demand, speed = 1.7, 4.0
    by_demand = np.polyval([0.1, -0.2, 1.5, 0.0], demand)
    by_speed = np.polyval([0.01, -0.04, 0.2, 0.3], speed)
    expected = by_demand + by_speed - 0.06 * demand * speed
    assert assisted_torque(demand, speed, p) == pytest.approx(expected)
    assert assisted_torque(100.0, speed, p) == 30.0


def test_a_small_torque_moves_nothing_that_is_stuck_or_turns_against_it() -> None:
    p = PLAIN._replace(dead_zone_threshold=0.5)
    assert is_stuck(1.0, False, -0.4, p)
    assert not is_stuck(1.0, False, 0.4, p)
    assert is_stuck(1.0, True, 0.4, p)
    assert not is_stuck(0.0, True, 0.6, p)
    assert not is_stuck(0.0, False, 0.4, p)


def test_the_first_step_waits_for_a_torque() -> None:
    angle, column = steered(0.1, 0.5, 0.0, Column(), 0.01, PLAIN)
    assert (angle, column.rate) == (0.1, 0.0)
    assert (column.clock, column.front) == (0.01, 0.01)
    assert column.error == pytest.approx(0.4)
    assert column.integral == pytest.approx(0.004)
    angle, column = steered(angle, 0.5, 0.0, column, 0.01, PLAIN)
    assert angle > 0.1


def test_a_longer_delay_waits_longer_and_then_no_more() -> None:
    p = PLAIN._replace(torque_delay_time=0.035)
    column, angle, moved = Column(), 0.0, []
    for _ in range(8):
        after, column = steered(angle, 0.5, 0.0, column, 0.01, p)
        moved.append(after != angle)
        angle = after
    # The torque of the first step, at 0.01 s, is 0.035 s old at the step that ends at 0.05 s.
    assert moved == [False] * 4 + [True] * 4


def test_it_swings_as_an_oscillator_does() -> None:
    p = PLAIN._replace(rate_limit=100.0)
    angle, column = 0.3, MOVING
    for _ in range(100):
        angle, column = steered(angle, 0.0, 0.0, column, 0.01, p)
    omega = np.sqrt(10.0 / 2.0)
    assert angle == pytest.approx(0.3 * np.cos(omega), abs=1e-8)
    assert column.rate == pytest.approx(-0.3 * omega * np.sin(omega), abs=1e-8)


def test_rate_and_angle_keep_to_their_limits() -> None:
    angle, column = steered(0.0, 2.0, 0.0, MOVING._replace(rate=0.99), 0.01, PLAIN)
    assert column.rate == 1.0
    angle, _ = steered(1.999, 2.0, 0.0, MOVING._replace(rate=1.0), 0.01, PLAIN)
    assert angle == 2.0


def test_a_step_of_no_length_changes_nothing_and_divides_by_nothing() -> None:
    p = PLAIN._replace(kd=1.0)
    angle, column = steered(0.1, 0.5, 0.0, MOVING._replace(rate=0.2), 0.0, p)
    assert (angle, column.rate, column.integral) == (0.1, 0.2, 0.0)
    assert column.error == pytest.approx(0.4)
