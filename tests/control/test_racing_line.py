"""Lines and speeds of a lap: what no car or lane can be is refused by name."""

from __future__ import annotations

from math import inf, nan, pi, sqrt

import numpy as np
import pytest

from skidpad.control.speed import Course, Grip, least_curvature
from skidpad.errors import InvalidValue
from skidpad.geometry.line import Line

TURN = np.linspace(0.0, 2.0 * pi, 60, endpoint=False)
RING = 20.0 * np.column_stack([np.cos(TURN), np.sin(TURN)])
GRIP = Grip(a_lateral=5.0, a_drive=3.0, a_brake=4.0, v_max=30.0)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("a_lateral", -3.0, r"grip\.a_lateral = -3\.0 m/s² must be finite and greater than 0"),
        ("a_lateral", 0.0, r"grip\.a_lateral = 0\.0 m/s² must be finite and greater than 0"),
        ("a_lateral", nan, r"grip\.a_lateral = nan"),
        ("a_lateral", "5", r"grip\.a_lateral = '5' m/s² must be a number"),
        ("a_drive", -1.0, r"grip\.a_drive = -1\.0 m/s² must be finite and at least 0"),
        ("a_brake", -9.0, r"grip\.a_brake = -9\.0 m/s² must be finite and at least 0"),
        ("v_max", 0.0, r"grip\.v_max = 0 m/s must be greater than 0"),
    ],
)
def test_grip_that_no_car_has_is_refused(field: str, value: float, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        Course.fastest(RING, GRIP._replace(**{field: value}), closed=True)


def test_a_speed_at_the_end_is_not_negative() -> None:
    with pytest.raises(InvalidValue, match=r"v_end = -1 m/s must be at least 0"):
        Course.fastest(RING, GRIP, closed=False, v_end=-1.0)
    assert Course.fastest(RING, GRIP, closed=False, v_end=0.0).v[-1] == 0.0


def test_a_ring_is_driven_at_the_speed_of_its_radius() -> None:
    """By hand: v² = a R, also where nothing but the bend limits it and the engine adds nothing."""
    course = Course.fastest(RING, GRIP._replace(a_drive=0.0, v_max=inf), closed=True)
    np.testing.assert_allclose(course.v, sqrt(5.0 * 20.0), rtol=1e-2)


@pytest.mark.parametrize("room", [-0.5, nan, inf])
def test_room_that_no_lane_has_is_refused(room: float) -> None:
    with pytest.raises(InvalidValue, match=rf"room = {room} m must be finite and at least 0"):
        least_curvature(Line.through(RING, closed=True), room)


def test_without_room_the_middle_is_driven() -> None:
    aside = least_curvature(Line.through(RING, closed=True), 0.0)
    np.testing.assert_array_equal(aside, np.zeros(len(RING)))


def test_an_open_line_has_no_lap() -> None:
    with pytest.raises(InvalidValue, match="line is open; it must be closed"):
        least_curvature(Line.through(RING, closed=False), 1.0)
