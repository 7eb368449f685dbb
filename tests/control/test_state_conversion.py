"""A car's state in other words: recorded answers, inverses, and where upstream errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.roads import DYNAMIC, KINEMATIC, RECORDED
from skidpad.control.car import (
    dynamic_state,
    kinematic_state,
    rolling_velocity,
    signed_speed,
    slip_of_velocity,
    speed_at_centre,
    speed_at_rear,
    unwrapped,
    wrapped,
)
from skidpad.errors import InvalidValue

P = KINEMATIC.params


def test_kinematic_to_dynamic_as_recorded() -> None:
    for row, wanted in zip(RECORDED["kb2db__kb"], RECORDED["kb2db__db"], strict=True):
        got = dynamic_state(KINEMATIC.State(*row.tolist()), DYNAMIC, compat="upstream")
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_in_reverse_the_car_moves_where_its_kinematic_model_goes() -> None:
    backwards = RECORDED["kb2db__kb"][RECORDED["kb2db__kb"][:, 2] < 0.0]
    assert len(backwards) > 10
    for row in backwards:
        x = KINEMATIC.State(*row.tolist())
        got = dynamic_state(x, DYNAMIC)
        rate = KINEMATIC.derivative(x, KINEMATIC.Input())
        assert got.omega == pytest.approx(rate.yaw, rel=1e-12)
        c, s = math.cos(x.yaw), math.sin(x.yaw)
        assert c * got.v_x - s * got.v_y == pytest.approx(rate.x, rel=1e-12, abs=1e-12)
        assert s * got.v_x + c * got.v_y == pytest.approx(rate.y, rel=1e-12, abs=1e-12)


def test_dynamic_to_kinematic_as_recorded() -> None:
    for row, wanted in zip(RECORDED["kb2db__db"], RECORDED["db2kb__kb"], strict=True):
        got = kinematic_state(DYNAMIC.State(*row.tolist()), KINEMATIC)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_speeds_of_rear_axle_and_centre_as_recorded() -> None:
    v, steer = RECORDED["vel_ra__in"].T
    to_centre = speed_at_centre(v, steer, P.l_f, P.l_r)
    to_rear = speed_at_rear(v, steer, P.l_f, P.l_r)
    np.testing.assert_allclose(to_centre, RECORDED["vel_ra__cog"], rtol=1e-12)
    np.testing.assert_allclose(to_rear, RECORDED["vel_cog__ra"], rtol=1e-12)


@given(v=st.floats(-30, 30), steer=st.floats(-1.0, 1.0))
def test_the_rear_axle_moves_straight_ahead(v: float, steer: float) -> None:
    velocity = rolling_velocity(v, steer, P.l_f, P.l_r)
    assert velocity.v_y - P.l_r * velocity.omega == pytest.approx(0.0, abs=1e-13 * (1 + abs(v)))
    assert speed_at_rear(v, steer, P.l_f, P.l_r) == pytest.approx(velocity.v_x, abs=1e-12)
    assert speed_at_centre(velocity.v_x, steer, P.l_f, P.l_r) == pytest.approx(v, abs=1e-12)
    assert signed_speed(velocity.v_x, velocity.v_y) == pytest.approx(v, abs=1e-12)


def test_slip_has_the_sign_of_the_side() -> None:
    assert slip_of_velocity(10.0, 1.0) == pytest.approx(math.atan(0.1))
    assert slip_of_velocity(-1.0, -1.0) == pytest.approx(-0.75 * math.pi)


def test_angles_go_on_as_recorded() -> None:
    before, after = RECORDED["unwrap__in"].T
    np.testing.assert_allclose(unwrapped(before, after), RECORDED["unwrap__out"], atol=1e-12)


@given(before=st.floats(-50, 50), after=st.floats(-50, 50))
def test_an_unwrapped_angle_is_the_same_direction_and_near(before: float, after: float) -> None:
    angle = unwrapped(before, after)
    assert -math.pi <= angle - before < math.pi + 1e-12
    turns = (angle - after) / math.tau
    assert turns == pytest.approx(round(turns), abs=1e-12)


def test_half_a_turn_goes_to_the_right() -> None:
    assert wrapped(math.pi) == -math.pi
    assert wrapped(-math.pi) == -math.pi
    assert unwrapped(1.0, 1.0 + math.pi) == pytest.approx(1.0 - math.pi)


def test_an_unknown_compat_is_named() -> None:
    with pytest.raises(InvalidValue, match="compat = 'up' is unknown"):
        rolling_velocity(1.0, 0.1, 1.0, 1.0, compat="up")
