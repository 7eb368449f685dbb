"""One circle through every file that people keep tracks in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue, MissingFile
from skidpad.geometry.maps import Track, read_track
from skidpad.geometry.raycast import Scene

RADIUS, LEFT, RIGHT = 20.0, 2.0, 3.0
ANGLES = np.linspace(0.0, 2.0 * math.pi, 90, endpoint=False)
CIRCLE = RADIUS * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
TUM = "# x_m,y_m,w_tr_right_m,w_tr_left_m"


def table(columns: list[np.ndarray | float], header: str, mark: str = ",") -> str:
    count = len(CIRCLE)
    rows = np.column_stack([np.broadcast_to(column, count) for column in columns])
    lines = [mark.join(f"{value:.6f}" for value in row) for row in rows]
    return "\n".join([*([header] if header else []), *lines]) + "\n"


X, Y = CIRCLE.T
WIDTHS = {
    "tum.csv": table([X, Y, RIGHT, LEFT], TUM),
    "names.csv": table([X, Y, RIGHT, LEFT], TUM.removeprefix("# ")),
    "numbers.csv": table([X, Y, RIGHT, LEFT], ""),
    "other_names.csv": table([X, Y, RIGHT, LEFT], "east;north;a;b", ";"),
    "semicolons.csv": table([X, Y, RIGHT, LEFT], "# x_m; y_m; w_tr_right_m; w_tr_left_m", "; "),
    "tabs.txt": table([X, Y, RIGHT, LEFT], "x\ty\tright\tleft", "\t"),
    "left_first.csv": table([LEFT, RIGHT, X, Y], "width_left,width_right,x,y"),
    "above.csv": "# a track\n# of ours\n" + table([X, Y, RIGHT, LEFT], TUM),
    "again.csv": table([X, Y, RIGHT, LEFT], TUM) + f"{RADIUS},0,{RIGHT},{LEFT}\n",
}


@pytest.mark.parametrize("name", WIDTHS)
def test_widths_are_read_whatever_the_names(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(WIDTHS[name], encoding="utf-8")
    track = read_track(file)
    assert track.closed
    assert track.name == file.stem
    np.testing.assert_allclose(track.left, LEFT)
    np.testing.assert_allclose(track.right, RIGHT)
    np.testing.assert_allclose(np.hypot(*track.centre.T), RADIUS, atol=1e-3)
    np.testing.assert_allclose(np.hypot(*track.borders[0].T), RADIUS - LEFT, atol=2e-3)
    assert track.length == pytest.approx(2.0 * math.pi * RADIUS, rel=1e-3)


POINTS = {
    "points.csv": table([X, Y], "x,y"),
    "numbers.csv": table([X, Y], ""),
    "other.csv": table([X, Y], "east,north"),
    "raceline.csv": table(
        [RADIUS * ANGLES, X, Y, ANGLES, 0.05, 8.0],
        "# s_m; x_m; y_m; psi_rad; kappa_radpm; vx_mps",
        ";",
    ),
}


@pytest.mark.parametrize("name", POINTS)
def test_points_alone_need_a_width(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(POINTS[name], encoding="utf-8")
    track = read_track(file, width=5.0, spacing=0.25)
    np.testing.assert_allclose(track.left + track.right, 5.0)
    np.testing.assert_allclose(np.hypot(*track.centre.T), RADIUS, atol=1e-3)
    assert track.length / len(track.centre) == pytest.approx(0.25, rel=0.01)
    with pytest.raises(InvalidValue, match=rf"{name} has points without widths: give width"):
        read_track(file)


def test_what_does_not_come_back_is_open(tmp_path: Path) -> None:
    file = tmp_path / "half.csv"
    file.write_text("\n".join(POINTS["points.csv"].splitlines()[:46]), encoding="utf-8")
    track = read_track(file, width=4.0)
    assert not track.closed
    assert track.length == pytest.approx(RADIUS * ANGLES[44], rel=1e-3)
    assert read_track(file, width=4.0, closed=True).closed


def cone_file(folder: Path) -> Path:
    rows = [
        f"{colour},{r * math.cos(a):.4f},{r * math.sin(a):.4f}"
        for colour, r, shift in (("blue", RADIUS - 2.0, 0.0), ("yellow", RADIUS + 2.0, 0.03))
        for a in (ANGLES + shift).tolist()
    ]
    np.random.default_rng(3).shuffle(rows)
    file = folder / "cones.csv"
    file.write_text("\n".join(["color,X,Y", *rows]) + "\n", encoding="utf-8")
    return file


def line_file(folder: Path) -> Path:
    text = table([RADIUS * ANGLES, X, Y, ANGLES + math.pi / 2, 0.05, 2.0], "s,X,Y,phi,kappa,w")
    file = folder / "line.csv"
    file.write_text(text, encoding="utf-8")
    return file


def geojson_file(folder: Path) -> Path:
    rings = [((RADIUS + side) / RADIUS * CIRCLE).tolist() for side in (2.0, -2.0)]
    file = folder / "rings.geojson"
    file.write_text(json.dumps({"type": "Polygon", "coordinates": rings}), encoding="utf-8")
    return file


def ros_file(folder: Path) -> Path:
    """White track between black walls, unknown around: pixels of 0.1 m, seen from above."""
    Image = pytest.importorskip("PIL.Image")
    half, cell = 25.0, 0.1
    x = np.arange(-half + cell / 2, half, cell)
    r = np.hypot(x[None, :] - 1.0, x[:, None] + 2.0)
    pixels = np.full(r.shape, 205, np.uint8)
    pixels[(r > RADIUS - 2.3) & (r < RADIUS + 2.3)] = 0
    pixels[(r > RADIUS - 2.0) & (r < RADIUS + 2.0)] = 254
    Image.fromarray(pixels[::-1]).save(folder / "map.png")
    file = folder / "map.yaml"
    file.write_text(
        f"image: map.png\nresolution: {cell}\norigin: [{-half - 1.0}, {-half + 2.0}, 0.0]\n"
        "negate: 0\noccupied_thresh: 0.45\nfree_thresh: 0.196\n",
        encoding="utf-8",
    )
    return file


@pytest.mark.parametrize("written", [cone_file, line_file, geojson_file, ros_file])
def test_maps_are_read_as_tracks(tmp_path: Path, written: Callable[[Path], Path]) -> None:
    """A ring of 4 m around the origin, run against the clock."""
    track = read_track(written(tmp_path))
    assert track.closed
    np.testing.assert_allclose(np.hypot(*track.centre.T), RADIUS, atol=0.15)
    for side in (track.left, track.right):
        np.testing.assert_allclose(side, 2.0, atol=0.2)
    assert track.line.heading[-1] > track.line.heading[0]
    # A ray to the left from the centre meets what is there.
    x, y, yaw, _ = track.line.at(1.0)
    if written is not cone_file:
        ranges = Scene.of(track.map).cast([x], [y], [yaw + 0.5 * math.pi])
        assert float(ranges[0]) == pytest.approx(2.0, abs=0.2)


def test_a_start_says_which_way(tmp_path: Path) -> None:
    file = geojson_file(tmp_path)
    track = read_track(file, start=(0.0, RADIUS, 0.3))
    assert track.line.heading[-1] < track.line.heading[0]
    assert math.dist(track.centre[0], (0.0, RADIUS)) < 0.5
    with pytest.raises(InvalidValue, match=r"rings\.geojson holds no track: .* enclose nothing"):
        read_track(file, start=(0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("a.csv", f"{TUM}\n0,0,1,1\n1,0,1,oops\n", {}, "line 3: w_tr_left_m = 'oops' must be a"),
        ("a.csv", f"{TUM}\n0,0,1,1\n1,0,0,1\n", {}, "line 3: w_tr_right_m = 0 m must be greater"),
        ("a.csv", f"{TUM}\n0,0,1,1\n1,0,1\n", {}, "line 3: 3 cells, but the header has 4"),
        ("a.csv", "x;y\n1,5;2\n2;3\n", {"width": 1.0}, "line 2: x = '1,5' must be a finite"),
        ("a.csv", "x,y,right\n0,0,1\n", {}, "line 1: the columns x,y,right are not those of a"),
        ("a.csv", "a,b,c\n0,0,1\n", {"width": 2}, "line 1: the columns a,b,c are not those"),
        ("a.csv", "x,y\n0,0\n1,1\n1,1\n", {"width": 2}, "line 4: the point repeats"),
        ("a.csv", "x,y\n0,0\n1,1\n2,3\n", {"width": 2}, "holds no track: points has 3"),
        ("a.csv", "x,y\n0,0\n1,1\n2,3\n", {"width": -2}, "width = -2 m must be finite and greater"),
        (
            "a.csv",
            WIDTHS["tum.csv"],
            {"width": 2},
            "width = 2 does not apply to this file: it has widths",
        ),
        (
            "a.csv",
            WIDTHS["tum.csv"],
            {"start": (0, 0, 0)},
            "start = .* does not apply to this file",
        ),
        ("a.csv", "color,x,y\nblue,0,0\n", {}, "its 1 cones make no track"),
        ("a.json", '{"type":"Polygon","coordinates":[]}', {"width": 1}, "it has walls"),
        ("a.osm", "", {}, r"the suffix \.osm is not that of a track; allowed are \.csv"),
    ],
)
def test_errors_name_the_place(
    tmp_path: Path, name: str, text: str, options: dict[str, object], words: str
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=words) as error:
        read_track(file, **options)  # pyright: ignore[reportArgumentType]
    if "width = -2" not in words:
        assert str(file) in str(error.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(MissingFile):
        read_track("nowhere.csv")
    with pytest.raises(InvalidValue, match="is a folder"):
        read_track(Path(__file__).parent)
    assert sp.geometry.maps.Track is Track
