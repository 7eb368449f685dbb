"""The small drawings: numbers at their pixels, round ticks, symbols, nothing that runs."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from plots.laps import lap
from skidpad.plots.figures import symbols
from skidpad.plots.figures.paint_svg import drawing
from skidpad.plots.figures.palette import shade, shades
from skidpad.plots.figures.sheet import Areas, Axis, Cell, Curve, Diagram, Dots, Sheet, room
from skidpad.plots.figures.svg_marks import Frame, line
from skidpad.plots.figures.ticks import ticks
from skidpad.plots.trajectory_plot import run_sheet

SVG = "{http://www.w3.org/2000/svg}"


def sheet(*marks, **options) -> Sheet:
    return Sheet((Cell(Diagram(tuple(marks), **options), 0, 0),), (4.0,), (3.0,))


def inner(text: str) -> ElementTree.Element:
    """The element that a diagram's marks are in."""
    found = ElementTree.fromstring(text).find(f"{SVG}svg")
    assert found is not None
    return found


def test_numbers_lie_at_their_pixels():
    square = Areas((np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]]),))
    frame = inner(drawing(sheet(square, x=Axis(low=0.0, high=4.0), y=Axis(low=0.0, high=2.0))))
    width, height = float(frame.attrib["width"]), float(frame.attrib["height"])
    (path,) = frame.findall(f"{SVG}path")
    corners = np.array(re.findall(r"[\d.]+", path.attrib["d"]), dtype=float).reshape(-1, 2)
    wanted = [[0.0, height], [width, height], [width, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(corners, wanted, atol=0.06)


def test_equal_scales_are_equal():
    points = Dots(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    frame = inner(drawing(sheet(points, equal=True)))
    at = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in frame.findall(f"{SVG}circle")]
    assert at[1][0] - at[0][0] == pytest.approx(at[0][1] - at[2][1], abs=0.2)


def test_logarithms_are_equally_far_apart():
    frame = Frame((0.1, 10.0), (0.0, 1.0), (200.0, 100.0), log_x=True)
    np.testing.assert_allclose(frame.across(np.array([0.1, 1.0, 10.0])), [0.0, 100.0, 200.0])


def test_lines_break_at_nan_and_step_where_held():
    x, y = np.array([0.0, 5.0, np.nan, 9.0, 20.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert line(x, y) == "M0.0 1.0L5.0 2.0M9.0 4.0L20.0 5.0"
    assert line(x[:2], y[:2], steps=True) == "M0.0 1.0H5.0V2.0"
    assert line(np.array([0.0, 0.1, 5.0]), np.zeros(3)) == "M0.0 0.0L5.0 0.0"


@pytest.mark.parametrize(
    ("low", "high", "log", "wanted"),
    [
        (0.0, 10.0, False, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (-0.11, 0.12, False, [-0.1, -0.05, 0.0, 0.05, 0.1]),
        (1234.0, 1240.0, False, [1234.0, 1236.0, 1238.0, 1240.0]),
        (0.1, 10.0, True, [0.1, 0.3, 1.0, 3.0, 10.0]),
        (1.0, 1.0, False, []),
        (float("nan"), 1.0, False, []),
    ],
)
def test_ticks_are_round(low, high, log, wanted):
    np.testing.assert_allclose(ticks(low, high, 5, log), wanted, atol=1e-12)


def test_a_whole_run_is_one_well_formed_drawing():
    text = drawing(run_sheet(lap(20_001), title="A <b>lap</b> & more"))
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title") == "A <b>lap</b> & more"
    assert len(root.findall(f"{SVG}svg")) == 7
    assert len(text) < 300_000
    assert "nan" not in text
    assert "inf" not in text


def test_names_and_colours_from_outside_are_escaped():
    curve = Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]), '"><script>', '"><script>')
    other = Dots(np.array([0.5]), np.array([0.5]), "<i>")
    text = drawing(sheet(curve, other, title="<script>alert(1)</script>"))
    ElementTree.fromstring(text)
    assert "<script" not in text


def test_symbols_of_print():
    assert symbols.parts("F_z_fl") == ("F", "z,fl")
    assert symbols.mathtext("rate `omega` [°/s]") == "rate $ω$ [°/s]"
    assert symbols.mathtext("`v_y` for 5 $") == r"$v_{\mathrm{y}}$ for 5 \$"
    assert symbols.html("`F_z`") == "<i>F</i><sub>z</sub>"
    assert symbols.html("`steer`") == "steer"
    assert symbols.plain("`v_y` [m/s]") == "v_y [m/s]"
    ElementTree.fromstring(f"<text>{symbols.svg('`F_z` = 1')}</text>")


def test_shades_grow_lighter():
    def lightness(colour: str) -> float:
        red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    series = [lightness(colour) for colour in shades(5)]
    assert series == sorted(series)
    assert min(np.diff(series)) > 15.0
    assert (shade(0.0), shade(1.0), shade(7.0)) == ("#440154", "#FDE725", "#FDE725")


def test_ranges_leave_room_and_keep_constants_readable():
    assert room([np.array([0.0, 10.0])], 0.1) == (-1.0, 11.0)
    assert room([np.array([100.0, 100.0])]) == (90.0, 110.0)
    assert room([np.array([np.nan])]) == (None, None)
