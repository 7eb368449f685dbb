"""Where a vehicle is relative to a line."""

from __future__ import annotations

import math

import pytest

from skidpad.control.car import Deviation, Motion, advance, deviation
from skidpad.geometry.line import LinePoint

WEST = LinePoint(x=10.0, y=5.0, heading=math.pi, curvature=0.0)


def test_the_frame_of_a_point_has_its_axes_along_and_left_of_the_line() -> None:
    seen = deviation(Motion(x=7.0, y=3.0, yaw=math.pi, v_x=4.0, v_y=0.5), WEST)
    assert seen.ahead == pytest.approx(3.0)
    assert seen.left == pytest.approx(2.0)
    assert seen.v_left == pytest.approx(0.5)


def test_velocity_across_comes_from_heading_and_drift() -> None:
    turned = Motion(x=10.0, y=5.0, yaw=math.pi + math.radians(30.0), v_x=4.0, v_y=0.0)
    assert deviation(turned, WEST).v_left == pytest.approx(2.0)
    crabbing = turned._replace(v_y=-4.0 * math.tan(math.radians(30.0)))
    assert deviation(crabbing, WEST).v_left == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("left", [-2.0, 0.0, 3.0])
def test_advance_finds_the_foot_on_a_circle(left: float) -> None:
    # A left bend of radius 8 about the origin; the vehicle stands 0.1 rad further along.
    radius, angle = 8.0, 0.1
    motion = Motion((radius - left) * math.cos(angle), (radius - left) * math.sin(angle), 0, 0, 0)
    s = 0.0
    for _ in range(4):
        a = s / radius
        here = LinePoint(
            radius * math.cos(a), radius * math.sin(a), a + 0.5 * math.pi, 1.0 / radius
        )
        s += advance(deviation(motion, here), here.curvature)
    assert s == pytest.approx(radius * angle, rel=1e-12)


def test_advance_is_finite_at_the_centre_of_the_bend() -> None:
    assert math.isfinite(advance(Deviation(ahead=1.0, left=8.0, v_left=0.0), 1.0 / 8.0))
