"""Cone tracks and centre lines in brains2's files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.maps import CentreLine
from skidpad.geometry.maps.map import Map

TRACK = "color,X,Y\nblue,-1.5,1\nyellow,1.5,1\n\norange,2.2,4.7\r\nblue,-1.5,6\n"
RADIUS, STEPS = 20.0, 100
LAP = 2.0 * math.pi * RADIUS


def circle(s: float) -> tuple[float, float, float]:
    """A circle to the left, from the origin along +y: x, y, phi."""
    angle = s / RADIUS
    return RADIUS * math.cos(angle) - RADIUS, RADIUS * math.sin(angle), math.pi / 2 + angle


def line_text(laps: tuple[int, ...] = (-1, 0, 1)) -> str:
    rows = ["s,X,Y,phi,kappa,w"]
    for lap in laps:
        for k in range(STEPS):
            s = lap * LAP + k * LAP / STEPS
            x, y, phi = circle(s)
            rows.append(f"{s:.9f},{x:.9f},{y:.9f},{phi:.9f},{1 / RADIUS},1.5")
    return "\n".join(rows) + "\n"


@pytest.fixture
def track(tmp_path: Path) -> Path:
    (tmp_path / "alpha.csv").write_text(TRACK, encoding="utf-8")
    (tmp_path / "alpha_center_line.csv").write_text(line_text(), encoding="utf-8")
    return tmp_path / "alpha.csv"


def test_cones_are_read_and_are_obstacles(track: Path) -> None:
    made = Map.load(track)
    assert made.colours == ("blue", "yellow", "orange", "blue")
    assert made.cones.tolist() == [[-1.5, 1.0], [1.5, 1.0], [2.2, 4.7], [-1.5, 6.0]]
    assert made.segments.shape == (4 * 8, 4)
    # The large cones are larger.
    off = np.array([[0.12, 0.0]])
    assert made.occupied(made.cones + off).tolist() == [False, False, True, False]
    assert made.occupied(made.cones + off / 2).all()


def test_cones_have_the_size_asked_for(track: Path) -> None:
    assert Map.load(track, cone_radius=0.5).occupied([[-1.1, 1.0]]).all()
    bare = Map.load(track, cone_radius=0.0)
    assert bare.empty
    assert len(bare.cones) == 4
    with pytest.raises(InvalidValue, match="cone_radius = -1"):
        Map.load(track, cone_radius=-1)


def test_the_line_beside_the_cones_is_found(track: Path) -> None:
    assert Map.load(track).centre_line is not None
    assert Map.load(track, centre_line=None).centre_line is None
    other = track.with_name("other.csv")
    other.write_text(line_text((0,)), encoding="utf-8")
    assert Map.load(track, centre_line=other).centre_line is not None


@pytest.mark.parametrize("laps", [(-1, 0, 1), (0,)])
def test_one_lap_is_kept_and_closed(tmp_path: Path, laps: tuple[int, ...]) -> None:
    file = tmp_path / "line.csv"
    file.write_text(line_text(laps), encoding="utf-8")
    line = CentreLine.of(Map.load(file))
    assert line.rows.shape == (STEPS + 1, 6)
    assert line.rows[0, 0] == 0.0
    assert line.closed
    # Of a single lap the last step is only known as a chord.
    assert line.length == pytest.approx(LAP, rel=1e-9 if len(laps) == 3 else 1e-5)
    assert line.rows[-1, 3] - line.rows[0, 3] == pytest.approx(2.0 * math.pi, abs=1e-8)


def test_the_line_goes_on_for_ever(track: Path) -> None:
    line = CentreLine.of(Map.load(track))
    for s in (-2.5 * LAP, -1.0, 0.0, 13.7, LAP, 3.25 * LAP):
        (found,) = line.at(s)
        x, y, phi = circle(s)
        # Chords of a hundredth of a turn are 1 cm inside of the circle.
        np.testing.assert_allclose(found[1:3], [x, y], atol=0.011)
        assert found[0] == s
        assert found[3] == pytest.approx(phi, abs=1e-6)


def test_laps_are_stored_as_brains2_does(track: Path) -> None:
    line = CentreLine.of(Map.load(track))
    laps = line.laps()
    given = np.loadtxt(track.with_name("alpha_center_line.csv"), delimiter=",", skiprows=1)
    np.testing.assert_allclose(laps, given, atol=1e-8)


def test_points_are_projected(track: Path) -> None:
    line = CentreLine.of(Map.load(track))
    for s, d in ((5.0, 0.7), (60.0, -1.2), (LAP - 1.0, 0.3)):
        angle = s / RADIUS
        point = [(RADIUS - d) * math.cos(angle) - RADIUS, (RADIUS - d) * math.sin(angle)]
        found = line.project([point])
        # Chords turn by 1/100 of a circle where the arc turns steadily: d times half of that.
        assert found.s[0] == pytest.approx(s, abs=abs(d) * math.pi / STEPS + 1e-3)
        assert found.d[0] == pytest.approx(d, abs=0.011)


def test_walls_at_the_width(track: Path) -> None:
    line = track.with_name("alpha_center_line.csv")
    assert Map.load(line).empty
    walled = Map.load(line, walls=True)
    assert walled.segments.shape == (2 * STEPS, 4)
    radii = np.hypot(walled.segments[:, 0] + RADIUS, walled.segments[:, 1])
    np.testing.assert_allclose(np.unique(radii.round(6)), [RADIUS - 1.5, RADIUS + 1.5])


def test_an_open_line_stays_open(tmp_path: Path) -> None:
    file = tmp_path / "line.csv"
    rows = "".join(f"{s},{s},0,0,0,2\n" for s in range(5))
    file.write_text("s,X,Y,phi,kappa,w\n" + rows, encoding="utf-8")
    line = CentreLine.of(Map.load(file))
    assert (len(line.rows), line.closed, line.length) == (5, False, 4.0)
    assert line.at([-3.0, 1.25, 9.0])[:, 1].tolist() == [0.0, 1.25, 4.0]
    with pytest.raises(InvalidValue, match="an open line has no laps"):
        line.laps()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("color,X,Y\n", "has no cones"),
        ("color,X,Y\nblue,1\n", "line 2: 2 cells, but the header has 3"),
        ("color,X,Y\nblue,1,2\n\ngreen,1,2\n", "line 4: color = 'green' is unknown"),
        ("color,X,Y\nblue,1,nan\n", "line 2: y = 'nan' must be a finite number"),
        ("color,X,Y\nblue,1_0,2\n", "line 2: x = '1_0' must be a finite number"),
        ("colour,X,Y\nblue,1,2\n", "neither cones (color,X,Y) nor a centre line"),
        ('color,X,Y\n"blue,1,2\n', "not CSV"),
        ("s,X,Y,phi,kappa,w\n0,0,0,0,0,1\n", "has 1 points"),
        ("s,X,Y,phi,kappa,w\n0,0,0,0,0,1\n0,1,0,0,0,1\n", "line 3: s = 0 must be above 0"),
        ("s,X,Y,phi,kappa,w\n0,0,0,0,0,1\n1,1,0,0,0,0\n", "line 3: w = 0 must be above 0 m"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "track.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue) as caught:
        Map.load(file)
    assert "track.csv" in str(caught.value)
    assert message in str(caught.value)


def test_a_bad_line_beside_good_cones_gives_no_map(track: Path) -> None:
    track.with_name("alpha_center_line.csv").write_text("s,X\n0,1\n", encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"alpha_center_line\.csv, line 1: column y, phi"):
        Map.load(track)


def test_a_map_without_line() -> None:
    made: Any = Map.from_polylines([[(0, 0), (1, 1)]], name="bare")
    with pytest.raises(InvalidValue, match="map 'bare' has no centre line"):
        CentreLine.of(made)
