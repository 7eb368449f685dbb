"""Charts of logs: what is drawn is where it should be, and charts over time zoom together."""

from __future__ import annotations

import re
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chromium import CHROMIUM, complaints
from skidpad.view.pages.charts import (
    FINE,
    Trace,
    interval_svg,
    map_html,
    sparkline_svg,
    time_chart_svg,
)
from skidpad.view.pages.log_page import zoomed_charts
from skidpad.view.pages.page import asset, document


def drawn_lines(svg: str, kind: str = "run") -> list[np.ndarray[Any, Any]]:
    """Absolute points of the lines of the first curve of a kind, in units of the drawing."""
    found = re.search(rf'class="{kind} c\d" d="([^"]*)"', svg)
    assert found is not None
    lines: list[np.ndarray[Any, Any]] = []
    for line in re.findall(r"M[^M]*", found[1]):
        numbers = np.array([int(n) for n in re.findall(r"-?\d+", line)]).reshape(-1, 2)
        lines.append(np.cumsum(numbers, axis=0))
    return lines


def test_a_curve_over_time_has_all_its_samples_at_their_places() -> None:
    t = np.arange(10.0, 40.0, 0.01)
    values = np.sin(t) * np.exp(0.05 * t)
    values[700:720] = nan
    svg = time_chart_svg([Trace(t, values, "", "run", 0)], "v in m/s", (10.0, 50.0))
    lines = drawn_lines(svg)
    assert [len(line) for line in lines] == [700, len(t) - 720]
    points, known = np.concatenate(lines), np.isfinite(values)
    np.testing.assert_allclose(points[:, 0], FINE * (t[known] - 10.0) / 40.0, atol=0.51)
    # The axis is linear and downwards: heights and values are on one line.
    slope, offset = np.polyfit(values[known], points[:, 1], 1)
    assert slope < 0.0
    np.testing.assert_allclose(points[:, 1], slope * values[known] + offset, atol=1.0)
    assert points[:, 1].min() >= 0
    assert points[:, 1].max() <= FINE


def test_a_log_of_an_hour_is_thinned_and_keeps_its_peaks() -> None:
    t = np.arange(0.0, 3600.0, 0.01)
    values = np.sin(t)
    values[123_456] = 5.0
    curve = Trace(t, values, "", "run", 0)
    svg = time_chart_svg([curve], "v", (0.0, 3600.0), most=2000)
    (line,) = drawn_lines(svg)
    assert len(line) <= 2010
    assert len(svg) < 60e3
    top = line[np.argmin(line[:, 1])]
    assert top[0] == pytest.approx(FINE * t[123_456] / 3600.0, abs=1.0)


def test_marks_and_shaded_spans_are_at_their_times() -> None:
    curve = Trace(np.array([0.0, 10.0]), np.array([0.0, 1.0]), "", "run", 0)
    svg = time_chart_svg([curve], "v", (0.0, 10.0), marks=[2.5], shaded=[(5.0, 20.0)])
    assert f'class="start" d="M{FINE // 4} 0V{FINE}"' in svg
    assert f'class="shaded" d="M{FINE // 2} 0H{FINE}V{FINE}H{FINE // 2}z"' in svg


def test_an_interval_is_drawn_on_the_scale_of_its_row_or_of_its_table() -> None:
    def places(svg: str) -> tuple[float, ...]:
        bar = re.search(r'class="extent" d="M([\d.]+) 7H([\d.]+)V', svg)
        line, dot = re.search(r'class="begin" d="M([\d.]+) ', svg), re.search(r'cx="([\d.]+)"', svg)
        assert bar is not None
        assert line is not None
        assert dot is not None
        return float(bar[1]), float(dot[1]), float(bar[2]), float(line[1])

    svg = interval_svg(2.0, 1.5, 2.5, 1.0)
    low, value, high, start = places(svg)
    steps = np.array([low, value, high]) - start
    np.testing.assert_allclose(steps, steps[0] * np.array([1.0, 2.0, 3.0]), atol=0.3)
    assert "2, from 1.5 to 2.5, started at 1" in svg
    wide = places(interval_svg(2.0, 1.5, 2.5, 1.0, (1.0, 4.0)))
    assert wide[3] == start
    assert wide[1] < value
    unknown = places(interval_svg(2.0, -inf, inf, 1.0))
    assert (unknown[0], unknown[2]) == (0.0, 170.0)


def test_a_map_is_broken_where_the_path_is_unknown_and_coloured_by_size() -> None:
    n = 40_000
    angle = np.linspace(0.0, 2.0 * np.pi, n)
    x, y = 100.0 * np.cos(angle), 50.0 * np.sin(angle)
    values = np.where(angle < np.pi, -1.0, 2.0)
    whole = map_html(x, y, values)
    x[30_000] = nan  # thinner than what is drawn
    broken = map_html(x, y, values)
    assert broken.count("M") == whole.count("M") + 1
    shades = re.findall(r'class="heat" style="--h:(\d+)%" d="([^"]*)"', whole)
    assert [int(shade) for shade, _ in shades] == [53, 100]
    halves = [np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", d), float) for _, d in shades]
    assert halves[0][:, 1].max() <= halves[1][:, 1].min() + 1.0  # y points upwards
    grey = map_html(x, y, np.full(n, nan))
    assert 'class="heat none"' in grey
    assert "not known" in grey


def test_a_sparkline_of_nothing_is_empty() -> None:
    svg = sparkline_svg(np.full(100, nan), "v_x, no value")
    assert 'd=""' in svg
    assert 'aria-label="v_x, no value"' in svg


@pytest.fixture(scope="module")
def zoomed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two logs of two charts each."""
    t = np.arange(0.0, 60.0, 0.01)
    body = ""
    for begin in (0.0, 100.0):
        curves = [Trace(begin + t, np.sin(t), "sine", "run", 0)]
        figures = [("One", "one in m", curves), ("Two", "two in m", curves)]
        body += zoomed_charts(figures, (begin, begin + 60.0))
    path = tmp_path_factory.mktemp("zoomed") / "page.html"
    script = f"<script>{asset('identification/zoom.js')}</script>"
    style = asset("identification/identification.css")
    path.write_text(document("Zoom", body, script, style), "utf-8")
    return path


@pytest.mark.slow
def test_charts_over_time_zoom_together(browser: Any, zoomed_page: Path) -> None:
    """By fields, by dragging and back by a double click; another log stays as it is."""

    def ticks(chart: int) -> list[str]:
        return page.locator(".chart").nth(chart).locator("g.across text").all_text_contents()

    def box(chart: int) -> list[float]:
        text = page.locator("svg.span").nth(chart).get_attribute("viewBox")
        return [float(one) for one in text.split()]

    with CHROMIUM.empty_page() as page, complaints(page) as said:
        page.goto(zoomed_page.as_uri())
        whole = ticks(0)
        assert whole == ["0", "10", "20", "30", "40", "50", "60"]
        page.locator("input[name=low]").first.fill("10")
        page.locator("input[name=high]").first.fill("13")
        page.locator("button[type=submit]").first.click()
        assert ticks(0) == ticks(1) == ["10.0", "10.5", "11.0", "11.5", "12.0", "12.5", "13.0"]
        np.testing.assert_allclose(box(1), [FINE / 6.0, 0.0, FINE / 20.0, FINE])
        assert ticks(2)[0] == "100"
        page.locator("button[type=reset]").first.click()
        assert ticks(0) == whole
        area = page.locator(".chart").first.bounding_box()
        scale = area["width"] / 560.0
        left, right = (area["x"] + scale * (68.0 + share * 480.0) for share in (0.25, 0.75))
        middle = area["y"] + 0.4 * area["height"]
        page.mouse.move(left, middle)
        page.mouse.down()
        page.mouse.move(right, middle, steps=3)
        assert page.locator(".selection").count() == 1
        page.mouse.up()
        assert page.locator(".selection").count() == 0
        assert float(page.locator("input[name=low]").first.input_value()) == pytest.approx(
            15, abs=0.3
        )
        assert float(page.locator("input[name=high]").first.input_value()) == pytest.approx(
            45, abs=0.3
        )
        page.mouse.dblclick(left, middle)
        assert ticks(1) == whole
        # An empty span is refused: the fields go back to what is shown.
        page.locator("input[name=high]").first.fill("-1")
        page.locator("button[type=submit]").first.click()
        assert page.locator("input[name=high]").first.input_value() == "60.000"
        assert said == []
