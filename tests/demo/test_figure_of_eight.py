"""The line of the skidpad, against its own geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad.demo.eight import SKIDPAD, Eight, distance, heading, lap_length, mean_curvature, point

LAP = lap_length(SKIDPAD)
EIGHTS = [SKIDPAD, Eight(radius=5.0, first=1.0)]


def test_the_skidpad_has_the_measures_of_the_rules() -> None:
    inner, outer = 15.25, 21.25
    assert 2.0 * SKIDPAD.radius == pytest.approx(0.5 * (inner + outer))
    right = [point(s, SKIDPAD) for s in np.linspace(0.01, 0.49, 50) * LAP]
    assert all(p.y < 0.0 and p.curvature < 0.0 for p in right)


@pytest.mark.parametrize("eight", EIGHTS)
def test_heading_and_curvature_are_derivatives_of_the_position(eight: Eight) -> None:
    h = 1e-5
    for s in np.linspace(0.013, 2.987, 100) * lap_length(eight):
        before, here, after = (point(s + k * h, eight) for k in (-1, 0, 1))
        assert (after.x - before.x) / (2 * h) == pytest.approx(math.cos(here.heading), abs=1e-8)
        assert (after.y - before.y) / (2 * h) == pytest.approx(math.sin(here.heading), abs=1e-8)
        slope = (after.heading - before.heading) / (2 * h)
        assert slope == pytest.approx(here.curvature, abs=1e-6)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_position_and_heading_are_continuous_where_the_circles_touch(k: int) -> None:
    before, after = (point(0.5 * k * LAP + side * 1e-9, SKIDPAD) for side in (-1, 1))
    for p in (before, after):
        assert (p.x, p.y) == pytest.approx((0.0, 0.0), abs=1e-8)
        assert math.cos(p.heading) == pytest.approx(1.0)
    assert after.curvature == -before.curvature
    assert after.heading == pytest.approx(before.heading, abs=1e-8)


def test_mean_curvature_is_that_of_the_circle_and_a_ramp_between() -> None:
    kappa = 1.0 / SKIDPAD.radius
    means = [mean_curvature(0.5 * LAP + s, 4.0, SKIDPAD) for s in (-5.0, -4.0, -3.0, -2.0, 0.0)]
    assert means == pytest.approx([-kappa, -kappa, -0.5 * kappa, 0.0, kappa])


def test_the_other_side_first_is_the_mirror_image() -> None:
    for s in np.linspace(0.0, 1.0, 37) * LAP:
        right, left = point(s, SKIDPAD), point(s, SKIDPAD._replace(first=1.0))
        assert left == (right.x, -right.y, -right.heading, -right.curvature)
        assert heading(s, SKIDPAD) == right.heading


def test_distance_is_to_the_nearer_circle() -> None:
    r = SKIDPAD.radius
    x = np.array([0.0, r, r + 0.5, 0.0, 0.0])
    y = np.array([0.0, r, -r, r, -2.0 * r + 0.25])
    np.testing.assert_allclose(distance(x, y, SKIDPAD), [0.0, 0.0, 0.5, r, 0.25], atol=1e-12)
