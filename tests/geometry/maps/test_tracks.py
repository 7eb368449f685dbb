"""Tracks as people keep them: TUM's files, points alone, cones without a line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.maps import CentreLine
from skidpad.geometry.maps.map import Map

RADIUS = 20.0
ANGLES = np.linspace(0.0, 2.0 * math.pi, 120, endpoint=False)


def circle(radius: float, angles: np.ndarray = ANGLES) -> np.ndarray:
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def clover(aside: float, angles: np.ndarray) -> np.ndarray:
    """A track that bends both ways, seen from a distance to its left (inwards)."""
    r = 25.0 + 6.0 * np.cos(3.0 * angles)
    d = -18.0 * np.sin(3.0 * angles)
    points = np.column_stack([r * np.cos(angles), r * np.sin(angles)])
    tangent = np.column_stack(
        [d * np.cos(angles) - r * np.sin(angles), d * np.sin(angles) + r * np.cos(angles)]
    )
    tangent /= np.hypot(*tangent.T)[:, None]
    return points + aside * np.column_stack([-tangent[:, 1], tangent[:, 0]])


def written(path: Path, rows: np.ndarray, header: str = "") -> Path:
    lines = [",".join(f"{value:.6f}" for value in row) for row in rows]
    path.write_text("\n".join([*([header] if header else []), *lines]) + "\n")
    return path


TUM = "# x_m,y_m,w_tr_right_m,w_tr_left_m"


@pytest.mark.parametrize("header", [TUM, TUM.removeprefix("# "), ""])
def test_a_race_track_of_tum(tmp_path: Path, header: str) -> None:
    rows = np.column_stack([circle(RADIUS), np.full(120, 3.0), np.full(120, 3.0)])
    track = Map.load(written(tmp_path / "oval.csv", rows, header), walls=True)
    line = CentreLine.of(track)
    assert line.closed
    assert line.length == pytest.approx(2.0 * math.pi * RADIUS, rel=1e-3)
    np.testing.assert_allclose(line.rows[:, 4], 1.0 / RADIUS, rtol=1e-4)
    np.testing.assert_allclose(line.rows[:, 5], 3.0)
    reach = np.hypot(track.segments[:, 0], track.segments[:, 1])
    assert {round(float(r), 3) for r in reach} == {17.0, 23.0}


def test_a_line_that_is_not_in_the_middle_is_put_there(tmp_path: Path) -> None:
    """Against the clock, left is inwards: 2 m there and 4 m outwards make a circle 1 m wider."""
    rows = np.column_stack([circle(RADIUS), np.full(120, 4.0), np.full(120, 2.0)])
    line = CentreLine.of(Map.load(written(tmp_path / "t.csv", rows, TUM)))
    np.testing.assert_allclose(np.hypot(line.rows[:, 1], line.rows[:, 2]), RADIUS + 1.0, rtol=1e-5)
    np.testing.assert_allclose(line.rows[:, 5], 3.0)
    assert line.closed


@pytest.mark.parametrize("header", ["x,y", "X, Y", "# x,y", ""])
def test_points_alone_make_a_line(tmp_path: Path, header: str) -> None:
    file = written(tmp_path / "p.csv", circle(RADIUS), header)
    line = CentreLine.of(Map.load(file))
    assert line.closed
    np.testing.assert_allclose(line.rows[:, 4], 1.0 / RADIUS, rtol=1e-4)
    wide = CentreLine.of(Map.load(file, half_width=4.0))
    assert set(wide.rows[:, 5].tolist()) == {4.0}


def test_a_line_that_does_not_come_back_is_open(tmp_path: Path) -> None:
    half = circle(RADIUS)[:60]
    line = CentreLine.of(Map.load(written(tmp_path / "p.csv", half, "x,y")))
    assert not line.closed
    assert len(line.rows) == 60


def test_a_closed_line_may_repeat_its_first_point(tmp_path: Path) -> None:
    ring = np.vstack([circle(RADIUS), circle(RADIUS)[:1]])
    line = CentreLine.of(Map.load(written(tmp_path / "p.csv", ring, "x,y")))
    assert line.closed
    assert len(line.rows) == 121


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n", "has 1 points"),
        ("x,y\n1,2\n1,2\n", "line 3: the point repeats"),
        ("x,y\n1,2\n1,oops\n", "line 3: y = 'oops'"),
        (f"{TUM}\n0,0,1,1\n1,0,-1,1\n", "line 3: w_tr_right_m = -1"),
        ("1,2,3\n4,5,6\n", "neither cones"),
    ],
)
def test_what_is_no_line_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(InvalidValue, match=words):
        Map.load(file)


def cone_file(path: Path, blue: np.ndarray, yellow: np.ndarray, orange: np.ndarray) -> Path:
    rows = [
        f"{colour},{x:.4f},{y:.4f}"
        for colour, them in (("blue", blue), ("yellow", yellow), ("orange", orange))
        for x, y in them
    ]
    # In no order, as people write them down.
    np.random.default_rng(3).shuffle(rows)
    path.write_text("\n".join(["color,X,Y", *rows]) + "\n")
    return path


NONE = np.empty((0, 2))


@pytest.mark.parametrize("half", [1.5, 2.5])
def test_cones_without_a_line_get_the_one_between_them(tmp_path: Path, half: float) -> None:
    """Blue is on the left: against the clock that is inside."""
    blue = clover(half, np.linspace(0.0, 2.0 * math.pi, 60, endpoint=False))
    yellow = clover(-half, np.linspace(0.03, 2.0 * math.pi + 0.03, 66, endpoint=False))
    orange = clover(half + 0.3, np.array([1.0]))
    track = Map.load(cone_file(tmp_path / "c.csv", blue, yellow, orange))
    line = CentreLine.of(track)
    assert line.closed
    exact = clover(0.0, np.linspace(0.0, 2.0 * math.pi, 4000))
    gaps = [np.hypot(*(exact - at).T).min() for at in line.rows[:, 1:3]]
    assert max(gaps) < 0.25
    assert line.length == pytest.approx(np.hypot(*np.diff(exact, axis=0).T).sum(), rel=0.03)
    # To the left along the track, beginning at the orange cones.
    assert line.rows[-1, 3] - line.rows[0, 3] == pytest.approx(2.0 * math.pi)
    assert math.dist(line.rows[0, 1:3], clover(0.0, np.array([1.0]))[0]) < 2.0
    np.testing.assert_allclose(line.rows[:, 5], half, atol=0.25)


def test_the_line_runs_the_other_way_where_blue_is_outside(tmp_path: Path) -> None:
    blue, yellow = circle(22.0, ANGLES[::2]), circle(18.0, ANGLES[::2])
    line = CentreLine.of(Map.load(cone_file(tmp_path / "c.csv", blue, yellow, NONE)))
    assert line.rows[-1, 3] - line.rows[0, 3] == pytest.approx(-2.0 * math.pi)


def test_a_straight_between_cones_is_open(tmp_path: Path) -> None:
    x = np.arange(0.0, 40.0, 4.0)
    blue, yellow = (np.column_stack([x, np.full(10, y)]) for y in (1.5, -1.5))
    line = CentreLine.of(Map.load(cone_file(tmp_path / "c.csv", blue, yellow, NONE)))
    assert not line.closed
    np.testing.assert_allclose(line.rows[:, 2:5], 0.0, atol=1e-9)
    assert line.rows[0, 1] < line.rows[-1, 1]


@pytest.mark.parametrize("colour", ["blue", "yellow"])
def test_cones_of_one_colour_make_no_line(tmp_path: Path, colour: str) -> None:
    them = circle(5.0)[::10]
    both = (them, NONE) if colour == "blue" else (NONE, them)
    assert Map.load(cone_file(tmp_path / "c.csv", *both, NONE)).centre_line is None
