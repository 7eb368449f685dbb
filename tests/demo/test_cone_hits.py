"""Cones that vehicles touch, against distances worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.demo.shows import ConeHits
from skidpad.view.stage import Body, Disc, Wheel

BOX = ((-1.0, -0.5), (2.0, -0.5), (2.0, 0.5), (-1.0, 0.5))
ARROW = ((-1.0, -1.0), (1.0, 0.0), (-1.0, 1.0), (-0.5, 0.0))
"""Not convex: notched at the back."""


def body(*outlines: tuple[tuple[float, float], ...], wheels: tuple[Wheel, ...] = ()) -> Body:
    return Body("car", "vehicle", outlines, 0, 1, 2, wheels)


def hits(one: Body, disc: Disc, *poses: tuple[float, float, float]) -> int:
    return int(ConeHits([one], [disc]).add(np.array(poses)[:, None])[0])


@pytest.mark.parametrize(
    ("x", "y", "touched"),
    [(0.0, 0.0, 1), (2.19, 0.0, 1), (2.21, 0.0, 0), (0.0, 0.69, 1), (0.0, 0.71, 0),
     (2.14, 0.64, 1), (2.15, 0.65, 0), (-1.19, 0.0, 1), (9.0, 9.0, 0)],
)  # fmt: skip
def test_a_box_at_rest(x: float, y: float, touched: int) -> None:
    assert hits(body(BOX), Disc(x, y, 0.2), (0.0, 0.0, 0.0)) == touched


@pytest.mark.parametrize(("x", "touched"), [(-0.8, 0), (-0.55, 1), (-0.45, 1), (1.05, 1)])
def test_a_notch_is_outside(x: float, touched: int) -> None:
    assert hits(body(ARROW), Disc(x, 0.0, 0.1), (0.0, 0.0, 0.0)) == touched


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(-7, 7), st.floats(-3, 3), st.floats(-3, 3))
def test_moving_both_changes_nothing(x: float, y: float, yaw: float, a: float, b: float) -> None:
    inside = -1.0 < a < 2.0 and -0.5 < b < 0.5
    gap = np.hypot(a - np.clip(a, -1.0, 2.0), b - np.clip(b, -0.5, 0.5))
    if abs(gap - 0.2) < 1e-6:
        return
    c, s = np.cos(yaw), np.sin(yaw)
    disc = Disc(x + c * a - s * b, y + s * a + c * b, 0.2)
    assert hits(body(BOX), disc, (x, y, yaw)) == int(inside or gap < 0.2)


def test_wheels_touch_too() -> None:
    wheel = Wheel("fl", 1.5, 1.0, 0.6, 0.2)
    disc = Disc(1.5, 1.15, 0.1)
    assert hits(body(BOX), disc, (0.0, 0.0, 0.0)) == 0
    assert hits(body(BOX, wheels=(wheel,)), disc, (0.0, 0.0, 0.0)) == 1


def test_a_disc_counts_once_however_often_it_is_touched() -> None:
    both = ConeHits([body(BOX), body(BOX)], [Disc(5.0, 0.0, 0.2), Disc(8.0, 0.0, 0.2)])
    drive = np.array([[[x, 0.0, 0.0], [0.0, 9.0, 0.0]] for x in np.arange(0.0, 4.0, 0.5)])
    assert both.add(drive).tolist() == [1, 0]
    assert both.add(drive).tolist() == [0, 0]
    assert both.add(drive + np.array([3.0, 0.0, 0.0])).tolist() == [1, 0]
    assert both.hit.tolist() == [[True, True], [False, False]]


def test_without_discs_there_is_nothing_to_hit() -> None:
    assert ConeHits([body(BOX)], []).add(np.zeros((3, 1, 3))).tolist() == [0]
