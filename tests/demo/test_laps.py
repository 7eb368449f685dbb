"""Laps: crossings of a start line, forwards and back."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.control import Reference
from skidpad.demo.shows import Laps, StartLine

LINE = StartLine(0.0, 0.0, 0.0, 1.0)


def fed(laps: Laps, t: np.ndarray, places: np.ndarray, piece: int) -> Laps:
    """A path (T, 2) of one vehicle, handed over in pieces that share their ends."""
    laps.start(float(t[0]), places[:1])
    for k in range(0, len(t) - 1, piece):
        part = slice(k, k + piece + 1)
        laps.add(t[part], places[part, None])
    return laps


def circle(turns: float, begin: float, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """A circle of radius 5 about (0, 5), a turn in 8 s; at angle 0 it crosses the line forwards."""
    t = np.linspace(0.0, 8.0 * turns, round(count * turns) + 1)
    angle = 2.0 * np.pi * t / 8.0 + begin
    return t, np.column_stack([5.0 * np.sin(angle), 5.0 - 5.0 * np.cos(angle)])


@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_a_circle_is_a_lap_each_time_round(piece: int) -> None:
    t, places = circle(3.4, begin=-0.2 * np.pi)
    laps = fed(Laps(["car"], {"car": LINE}), t, places, piece)
    # The line is reached after a tenth of a turn, then once a turn.
    np.testing.assert_allclose(laps.crossings[0], [0.8, 8.8, 16.8, 24.8], atol=1e-3)
    np.testing.assert_allclose(laps.times(0), [8.0, 8.0, 8.0], atol=1e-6)


def test_the_time_of_a_crossing_is_between_the_steps() -> None:
    laps = fed(Laps(["car"], {"car": LINE}), np.array([0.0, 1.0]), np.array([[-1.0, 0], [3, 0]]), 1)
    assert laps.crossings == [[0.25]]
    assert laps.times(0) == ()


def test_who_starts_on_the_line_has_crossed_it() -> None:
    t, places = circle(1.1, begin=0.0)
    laps = fed(Laps(["car"], {"car": LINE}), t, places, 5)
    np.testing.assert_allclose(laps.crossings[0], [0.0, 8.0], atol=1e-3)


def test_the_wrong_way_round_does_not_count() -> None:
    t, places = circle(3.0, begin=-0.1)
    laps = fed(Laps(["car"], {"car": LINE}), t, places * np.array([-1.0, 1.0]), 9)
    assert laps.crossings == [[]]


def test_going_back_and_forth_over_the_line_is_one_crossing() -> None:
    x = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    places = np.column_stack([x, np.zeros(6)])
    laps = fed(Laps(["car"], {"car": LINE}), np.arange(6.0), places, 2)
    assert laps.crossings == [[0.5]]
    # From before the line backwards first: it has to come back twice.
    places = np.column_stack([-x, np.zeros(6)])
    laps = fed(Laps(["car"], {"car": LINE}), np.arange(6.0), places, 2)
    assert laps.crossings == [[]]


def test_crossings_beside_the_line_do_not_count() -> None:
    for y, count in ((0.99, 1), (1.01, 0)):
        places = np.array([[-1.0, y], [1.0, y]])
        laps = fed(Laps(["car"], {"car": LINE}), np.array([0.0, 1.0]), places, 1)
        assert len(laps.crossings[0]) == count


def test_every_vehicle_has_its_own_line_or_none() -> None:
    laps = Laps(["a", "b", "c"], {"a": LINE, "b": StartLine(2.0, 0.0, np.pi / 2, 1.0)})
    t = np.array([0.0, 1.0])
    places = np.array([[[-1.0, 0.0], [2.0, -3.0], [-1.0, 0.0]], [[1.0, 0.0], [2.0, 1.0], [1.0, 0]]])
    laps.start(0.0, places[0])
    laps.add(t, places)
    assert laps.crossings == [[0.5], [0.75], []]
    assert [laps.counted(k) for k in range(3)] == [True, True, False]


def test_a_line_across_a_reference() -> None:
    line = StartLine.of(Reference.along([[1.0, 2.0], [1.0, 5.0], [1.0, 9.0]], 3.0), 2.5)
    assert line == pytest.approx((1.0, 2.0, np.pi / 2, 2.5))
