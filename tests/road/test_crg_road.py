"""Roads of OpenCRG files against closed forms: planes, waves, banked curves, listed columns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from road.crg_files import FORMATS, crg_bytes, numbered, sections, stored
from skidpad.road.crg import read_crg

DRAWN = np.random.default_rng(8)
PHI, SLOPE, BANK = (
    "reference line phi,rad",
    "reference line slope,m/m",
    "reference line banking,m/m",
)
RADIUS, STEP, COUNT = 40.0, 0.5, 241
HEADINGS = STEP / RADIUS * (np.arange(COUNT) - 0.5)
"""Of the segment before each row, along a circle to the left that begins along x; the first one
does not count."""


def circle(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (RADIUS - v) * np.sin(u / RADIUS), RADIUS - (RADIUS - v) * np.cos(u / RADIUS)


@pytest.mark.parametrize("kind", FORMATS)
def test_all_formats_hold_the_same_road(tmp_path: Path, kind: str) -> None:
    heights = np.round(DRAWN.normal(size=(30, 13)), 6)
    heights[3, 0] = heights[7, -2:] = np.nan
    road = {"reference_line_increment": 0.5, "long_section_v_increment": 0.25}
    path = stored(tmp_path, crg_bytes(heights, numbered(13), kind, road=road))
    np.testing.assert_allclose(read_crg(path).rows, heights, atol=1e-6)
    surface = sp.Road.load(path)
    assert surface.height(5.0, 0.25) == pytest.approx(heights[10, 7], abs=1e-6)
    between = 0.25 * heights[10:12, 7:9].sum()
    assert surface.height(5.25, 0.375) == pytest.approx(between, abs=1e-6)


def test_missing_heights_at_the_sides_are_those_beside_them(tmp_path: Path) -> None:
    rows = np.array([[np.nan, 1.0, 2.0, 3.0], [0.0, 1.0, np.nan, np.nan], [0.0, 1.0, 2.0, 3.0]])
    road = {"reference_line_increment": 1.0, "long_section_v_increment": 1.0}
    for mode, filled in ((2.0, (1.5, 1.5)), (1.0, (0.5, 0.5)), (0.0, (math.nan, math.nan))):
        offset = {"grid_nan_offset": 0.5} if mode else {}
        modifiers = {"grid_nan_mode": mode, **offset}
        content = crg_bytes(rows, numbered(4), road=road, modifiers=modifiers)
        made = sp.Road.load(stored(tmp_path, content))
        here = made.height(0.0, -1.5), made.height(1.0, 1.5)
        assert here == pytest.approx(filled, nan_ok=True)
    untouched = sp.Road.load(stored(tmp_path, content), modifiers=False)
    assert untouched.height(0.0, -1.5) == pytest.approx(1.0)


def test_a_plane_with_slope_and_banking(tmp_path: Path) -> None:
    """Along a straight line that begins somewhere and turns somewhere."""
    road = {
        "reference_line_start_u": 10.0,
        "reference_line_end_u": 20.0,
        "reference_line_increment": 0.5,
        "reference_line_start_x": 3.0,
        "reference_line_start_y": -2.0,
        "reference_line_start_z": 5.0,
        "reference_line_start_phi": 0.7,
        "reference_line_start_s": 0.05,
        "reference_line_start_b": -0.02,
    }
    content = crg_bytes(np.zeros((21, 5)), sections([-3.0, -1.0, 0.0, 0.5, 3.0]), road=road)
    made = sp.Road.load(stored(tmp_path, content))
    u, v = DRAWN.uniform(0.0, 10.0, 300), DRAWN.uniform(-3.0, 3.0, 300)
    x = 3.0 + u * math.cos(0.7) - v * math.sin(0.7)
    y = -2.0 + u * math.sin(0.7) + v * math.cos(0.7)
    np.testing.assert_allclose(made.height(x, y), 5.0 + 0.05 * u - 0.02 * v, atol=1e-12)
    z_x, z_y = made.gradient(x, y)
    np.testing.assert_allclose(z_x, 0.05 * math.cos(0.7) + 0.02 * math.sin(0.7), atol=1e-12)
    np.testing.assert_allclose(z_y, 0.05 * math.sin(0.7) - 0.02 * math.cos(0.7), atol=1e-12)
    assert made.height(3.0 - 50.0 * math.cos(0.7), -2.0 - 50.0 * math.sin(0.7)) == pytest.approx(
        5.0
    )


def test_a_sinusoid_is_linear_between_its_points(tmp_path: Path) -> None:
    u = 0.1 * np.arange(201)
    v = 0.25 * np.arange(-8, 9)
    z = 0.1 * np.sin(2.0 * np.pi * u / 5.0)[:, None] * np.cos(v)
    road = {"reference_line_increment": 0.1, "long_section_v_increment": 0.25}
    made = sp.Road.load(stored(tmp_path, crg_bytes(z, numbered(17), road=road)))
    x, y = DRAWN.uniform(0.0, 20.0, 500), DRAWN.uniform(-2.0, 2.0, 500)
    # The error of a chord is at most h² / 8 times the second derivative.
    bound = 0.1 * (0.1**2 * (2.0 * np.pi / 5.0) ** 2 + 0.25**2) / 8.0
    error = made.height(x, y) - 0.1 * np.sin(2.0 * np.pi * x / 5.0) * np.cos(y)
    assert np.abs(error).max() <= bound
    at = np.ix_(np.arange(201), np.arange(17))
    np.testing.assert_allclose(made.height(*np.meshgrid(u, v, indexing="ij")), z[at], atol=1e-11)


def banked_circle(bank: float, slope: float) -> bytes:
    channels = [PHI, SLOPE, BANK, *sections([-4.0, 4.0])]
    rows = np.zeros((COUNT, 5))
    rows[:, 0], rows[:, 1], rows[:, 2] = HEADINGS, slope, bank
    rows[0, :2] = np.nan
    return crg_bytes(rows, channels, "KDBI", road={"reference_line_increment": STEP})


def test_a_banked_curve_rises_along_its_line_and_across_it(tmp_path: Path) -> None:
    """Of a polygon with sides s on a radius R: away from the circle by s² / (8 R)."""
    made = sp.Road.load(stored(tmp_path, banked_circle(-0.1, 0.03)))
    u, v = DRAWN.uniform(1.0, 119.0, 2000), DRAWN.uniform(-4.0, 4.0, 2000)
    x, y = circle(u, v)
    away = STEP**2 / (8.0 * RADIUS)
    np.testing.assert_allclose(made.height(x, y), 0.03 * u - 0.1 * v, atol=0.2 * away + 1e-3)
    z_x, z_y = made.gradient(x, y)
    along = np.cos(u / RADIUS) * z_x + np.sin(u / RADIUS) * z_y
    across = -np.sin(u / RADIUS) * z_x + np.cos(u / RADIUS) * z_y
    np.testing.assert_allclose(across, -0.1, atol=1e-3)
    np.testing.assert_allclose(along, 0.03 / (1.0 - v / RADIUS), atol=2e-3)


def wedge(points: np.ndarray, x: float, y: float) -> tuple[float, float]:
    """u and v by looking at the wedges of all segments, as segments from the first point on."""
    best = math.inf, 0.0, 0.0
    for k in range(len(points) - 1):
        first, last = points[k], points[k + 1]
        before, behind = points[max(k - 1, 0)], points[min(k + 2, len(points) - 1)]
        place, along = np.array([x, y]), last - first
        a = (last - before) @ (place - first) / ((last - before) @ along)
        b = (behind - first) @ (last - place) / ((behind - first) @ along)
        if a >= 0.0 and b >= 0.0:
            v = (along[0] * (y - first[1]) - along[1] * (x - first[0])) / np.hypot(*along)
            best = min(best, (abs(v), STEP * (k + a / (a + b)), v))
    return best[1:]


def test_places_are_found_on_a_winding_line(tmp_path: Path) -> None:
    """Against a search of all segments; the road comes back close to itself."""
    headings = np.concatenate([[np.nan], 1.6 * np.sin(np.arange(300) * STEP / 12.0)])
    rows = np.column_stack([headings, np.zeros((301, 2))])
    rows[:, 1:] = DRAWN.normal(size=(301, 2))
    road = {"reference_line_increment": STEP, "reference_line_start_x": 7.0}
    road["reference_line_start_y"] = -4.0
    content = crg_bytes(rows, [PHI, *sections([-3.0, 3.0])], "KDBI", road=road)
    surface = sp.Road.load(stored(tmp_path, content)).surface
    steps = STEP * np.stack([np.cos(headings[1:]), np.sin(headings[1:])], axis=-1)
    points = np.concatenate([[[7.0, -4.0]], np.cumsum(steps, axis=0) + np.array([7.0, -4.0])])
    for _ in range(120):
        k, v = DRAWN.integers(2, 298), DRAWN.uniform(-3.0, 3.0)
        left = np.array([-math.sin(headings[k + 1]), math.cos(headings[k + 1])])
        x, y = points[k] + DRAWN.uniform() * steps[k] + v * left
        place = surface.line.place(float(x), float(y))
        assert (place.u, place.v) == pytest.approx(wedge(points, x, y), abs=1e-9)


def test_the_line_goes_straight_on_beyond_its_ends(tmp_path: Path) -> None:
    line = sp.Road.load(stored(tmp_path, banked_circle(0.0, 0.0))).surface.line
    heading = HEADINGS[1]
    for u, v in ((-7.0, 2.0), (-30.0, -3.5), (-0.1, 0.0)):
        x = u * math.cos(heading) - v * math.sin(heading)
        y = u * math.sin(heading) + v * math.cos(heading)
        place = line.place(x, y)
        assert (place.u, place.v) == pytest.approx((u, v), abs=1e-9)


def test_listed_columns_are_linear_between_each_other(tmp_path: Path) -> None:
    places = np.array([-2.0, -1.9, -1.0, 0.0, 0.013, 1.5, 4.0])
    z = DRAWN.normal(size=7)
    order = DRAWN.permutation(7)
    road = {"reference_line_increment": 1.0}
    rows = np.tile(z[order], (3, 1))
    content = crg_bytes(rows, sections(places[order].tolist()), road=road)
    made = sp.Road.load(stored(tmp_path, content))
    y = np.concatenate([np.linspace(-3.0, 5.0, 997), places])
    np.testing.assert_allclose(made.height(0.7 + 0.0 * y, y), np.interp(y, places, z), atol=1e-11)


def test_the_end_of_the_line_is_met(tmp_path: Path) -> None:
    """Rounded headings miss it a little; what is missing is spread over the line."""
    rows = np.column_stack([HEADINGS, np.zeros((COUNT, 2))])
    steps = STEP * np.stack([np.cos(HEADINGS[1:]), np.sin(HEADINGS[1:])])
    x, y = steps.sum(axis=1) + np.array([5e-5, -4e-5])
    road = {"reference_line_increment": STEP, "reference_line_start_x": 0.0}
    road |= {"reference_line_start_y": 0.0, "reference_line_end_x": x, "reference_line_end_y": y}
    channels = [PHI, *sections([-2.0, 2.0])]
    made = sp.Road.load(stored(tmp_path, crg_bytes(rows, channels, "KDBI", road=road)))
    place = made.surface.line.place(float(x), float(y))
    assert (place.u, place.v) == pytest.approx((120.0, 0.0), abs=1e-9)
    road["reference_line_end_x"] = x + 1.0
    with pytest.raises(sp.InvalidValue, match=r"1\.00005 m from the end"):
        sp.Road.load(stored(tmp_path, crg_bytes(rows, channels, "KDBI", road=road)))


def test_modifiers_scale_and_move(tmp_path: Path) -> None:
    rows = np.column_stack([np.full(21, 0.02), np.full(21, 0.1), DRAWN.normal(size=(21, 2))])
    channels = [BANK, SLOPE, *sections([-1.0, 1.0])]
    modifiers = {"scale_z_grid": 2.0, "scale_slope": 0.5, "scale_banking": -1.0}
    modifiers |= {"scale_length": 2.0, "scale_width": 3.0, "refline_offset_x": 4.0}
    modifiers |= {"refline_offset_z": -1.0, "refline_offset_phi": math.pi / 2.0}
    road = {"reference_line_increment": 1.0}
    path = stored(tmp_path, crg_bytes(rows, channels, road=road, modifiers=modifiers))
    made, plain = sp.Road.load(path), sp.Road.load(path, modifiers=False)
    assert plain.height(10.0, -1.0) == pytest.approx(rows[10, 2] + 1.0 - 0.02)
    # u = 20 and v = -3, with the line from (4, 0) along y.
    expected = 2.0 * rows[10, 2] + 0.05 * 20.0 + 0.02 * 3.0 - 1.0
    assert made.height(4.0 + 3.0, 20.0) == pytest.approx(expected)


def test_a_point_of_the_road_is_put_to_a_place(tmp_path: Path) -> None:
    modifiers = {"refpoint_u": 60.0, "refpoint_v": 1.5, "refpoint_x": 100.0, "refpoint_y": -50.0}
    modifiers |= {"refpoint_z": 7.0, "refpoint_phi": 2.0}
    content = banked_circle(-0.1, 0.03).replace(
        b"$KD_Definition",
        "\n".join(
            ["$ROAD_CRG_MODS", *(f"{k} = {v}" for k, v in modifiers.items()), "$", "$KD_Definition"]
        ).encode(),
    )
    made = sp.Road.load(stored(tmp_path, content))
    place = made.surface.line.place(100.0, -50.0)
    assert (place.u, place.v) == pytest.approx((60.0, 1.5), abs=1e-9)
    assert made.height(100.0, -50.0) == pytest.approx(7.0, abs=1e-9)
    assert math.atan2(place.u_y, place.u_x) == pytest.approx(2.0, abs=STEP / RADIUS)
    assert made.height(100.0, -50.0) - made.height(
        100.0 - math.cos(2.0), -50.0 - math.sin(2.0)
    ) == pytest.approx(0.03, abs=2e-3)


def test_curvature_can_be_scaled(tmp_path: Path) -> None:
    content = banked_circle(0.0, 0.0).replace(
        b"$KD_Definition", b"$ROAD_CRG_MODS\nSCALE_CURVATURE = 0.5\n$\n$KD_Definition"
    )
    line = sp.Road.load(stored(tmp_path, content)).surface.line
    heading = HEADINGS[1]
    turn = heading - 0.5 * STEP / (2.0 * RADIUS)
    wide = 2.0 * RADIUS
    x, y = wide * math.sin(60.0 / wide), wide - wide * math.cos(60.0 / wide)
    c, s = math.cos(turn), math.sin(turn)
    place = line.place(c * x - s * y, s * x + c * y)
    assert (place.u, place.v) == pytest.approx((60.0, 0.0), abs=2e-3)


def test_a_file_may_refer_to_another_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = DRAWN.normal(size=(4, 3))
    road = {"reference_line_increment": 1.0, "long_section_v_increment": 1.0}
    stored(tmp_path / "data", crg_bytes(rows, numbered(3), road=road))
    text = "$ROAD_CRG_FILE\n data/road.crg ! there\n$\n$ROAD_CRG_MODS\nSCALE_Z_GRID = 3\n$\n"
    made = sp.Road.load(stored(tmp_path, text.encode(), "front.crg"))
    assert made.height(1.0, 0.0) == pytest.approx(3.0 * rows[1, 1])
    stored(tmp_path, b"$ROAD_CRG_FILE\nfront.crg\n$\n", "third.crg")
    with pytest.raises(sp.InvalidValue, match="a third file"):
        sp.Road.load(tmp_path / "third.crg")
