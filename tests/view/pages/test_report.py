"""The report of a proving ground: whole, alone, and what it draws is where it should be."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chromium import CHROMIUM, complaints
from skidpad.study.manoeuvres import Chart, Curve, Evaluation, Limits, Manoeuvre, perform
from skidpad.study.manoeuvres.evaluation import Reference, number_text
from skidpad.view.pages.charts import Trace, axis_of, chart_svg, equalise
from skidpad.view.pages.report import report_page, write_report
from study.manoeuvres.fakes import Drive, Told, car, metric

LIMITS = Limits.of({"all": {"step_steer": {"a": {"max": 1.0}, "b": {"max": 1.0}}}})


class Page(HTMLParser):
    """Tags that are closed, anchors that exist, text by tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)
        self.ids += [fields["id"] or ""] if "id" in fields else []
        self.addresses += [fields[n] or "" for n in ("src", "href", "xlink:href") if n in fields]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.open and self.open[-1] not in ("script", "style") else ""


@cache
def evaluation(second: str = "") -> Evaluation:
    """Two manoeuvres, one of which is driven."""
    told = Told([metric("a", 2.0, theory=1.6), metric("b", nan)], notes=["mind <b>this</b>"])
    tests: list[Manoeuvre] = [told, Drive()]
    cars = [car(), *([car(second)] if second else [])]
    return Evaluation(perform(tests, cars), limits=LIMITS)


@pytest.mark.parametrize("second", ["", 'second <car> & "co"'])
def test_the_page_is_whole_and_asks_for_nothing(second: str) -> None:
    text = report_page(evaluation(second), date="2026-01-02")
    page = Page(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    for address in page.addresses:
        assert address.startswith(("#", "data:"))
        assert not address.startswith("#") or address[1:] in page.ids
    assert not re.search(r"url\(|@import", text)
    assert "What is <told> & found" in page.text
    assert "mind <b>this</b>" in page.text
    assert "2026-01-02" in page.text
    assert not second or second in page.text
    assert len(text) < 1e6


def test_numbers_theory_and_verdicts_are_in_the_table() -> None:
    text = Page(report_page(evaluation(), replay=False)).text
    for part in ("+25.00 %", "≤ 1", "FAIL", "2 is more than 1", "there is no value", "What a is."):
        assert part in text
    assert "2 of 2 limits broken" in text


def test_a_metric_without_a_derivative_says_why() -> None:
    """Below its definition."""
    rough = replace(metric("a", 2.0), rough="a search to 0.5 km/h")
    page = report_page(Evaluation(perform([Told([rough, metric("b", 1.0)])], [car()])))
    assert page.count("It has no derivative by parameters: a search to 0.5 km/h.") == 2


def test_the_same_results_give_the_same_page(tmp_path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    write_report(evaluation(), first)
    evaluation().to_html(second)
    assert first.read_bytes() == second.read_bytes()


def test_a_reference_is_drawn_beside_each_vehicle() -> None:
    chart = Chart("Over time", "t in s", "y in m", [Curve(np.arange(3.0), np.arange(3.0), "run")])
    tests: list[Manoeuvre] = [Told([metric("a", 1.0)], [chart])]
    other = Reference.of_results("other", perform(tests, [car("other")]))
    other = replace(
        other, notes=["it <rained>"], missing={"step_steer": "nobody drove", "bump": "-"}
    )
    page = report_page(Evaluation(perform(tests, [car()]), other), replay=False)
    assert len(re.findall(r'class="run c\d" d=', page)) == 2 + 2  # lines and their legend
    for part in ("other: run", "it <rained>", "step steer: nobody drove", "other: 1 (0.00\u00a0%)"):
        assert part in Page(page).text
    assert "bump" not in Page(page).text  # which was not driven, so nothing is missing


def test_units_in_names_are_written_as_units() -> None:
    tests: list[Manoeuvre] = [Told([metric("time_to_100_km_h", 1.0), metric("phase_at_1_hz", 2.0)])]
    text = Page(report_page(Evaluation(perform(tests, [car()])), replay=False)).text
    assert "time to 100 km/h" in text
    assert "phase at 1 Hz" in text


def test_what_rounding_leaves_of_a_zero_is_zero() -> None:
    tests: list[Manoeuvre] = [Told([metric("a", 3e-21)])]
    others: list[Manoeuvre] = [Told([metric("a", -1e-21)])]
    other = Reference.of_results("other", perform(others, [car("other")]))
    (row,) = Evaluation(perform(tests, [car()]), other).rows
    assert row.from_reference is None
    assert number_text(row.value) == "0"


def test_nothing_to_drive_still_gives_a_page() -> None:
    tests: list[Manoeuvre] = [Told(only="nobody")]
    text = Page(report_page(Evaluation(perform(tests, [car()])))).text
    assert "single_track is not nobody" in text


FINITE = st.floats(-1e6, 1e6)


@given(st.lists(FINITE, min_size=1, max_size=9), st.booleans())
def test_an_axis_holds_its_numbers_and_a_few_round_ticks(values: list[float], gap: bool) -> None:
    numbers = np.array([*values, nan, inf] if gap else values)
    axis = axis_of(numbers, 10.0, 110.0)
    places = axis.place(np.array(values))
    assert ((places >= 10.0) & (places <= 110.0)).all()
    ticks = axis.ticks(7)
    assert 2 <= len(ticks) <= 8
    assert all(axis.low <= value + 1e-9 * abs(value) for value, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)


@given(st.floats(1e-3, 1e3), st.floats(1.5, 1e5))
def test_a_logarithmic_axis_is_one(low: float, ratio: float) -> None:
    axis = axis_of(np.array([low, low * ratio]), 0.0, 100.0, log=True)
    assert axis.place(low * np.sqrt(ratio)) == pytest.approx(50.0)
    assert all(low * 0.99 <= value <= 1.01 * low * ratio for value, _ in axis.ticks(7))


@given(st.floats(0.1, 1e3), st.floats(0.1, 1e3))
def test_a_metre_is_as_long_both_ways(width: float, height: float) -> None:
    x, y = equalise(
        axis_of(np.array([0.0, width]), 0.0, 500.0), axis_of(np.array([0.0, height]), 300.0, 0.0)
    )
    assert x.place(1.0) - x.place(0.0) == pytest.approx(y.place(0.0) - y.place(1.0))
    assert x.low <= 0.0 < width <= x.high
    assert y.low <= 0.0 < height <= y.high


def points(svg: str) -> list[tuple[float, float]]:
    """Of the first line."""
    (line,) = re.findall(r'class="run c0" d="([^"]*)"', svg)
    return [(float(a), float(b)) for a, b in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", line)]


def test_a_line_keeps_its_peaks_and_breaks_at_gaps() -> None:
    x = np.linspace(0.0, 1.0, 20_001)
    y = np.where(np.arange(x.size) == 7_777, 1.0, 0.0)
    drawn = points(chart_svg([Trace(x, y, "", "run", 0)], "x", "y"))
    assert len(drawn) <= 710
    heights = [place for _, place in drawn]
    top = drawn[int(np.argmin(heights))][0]
    assert (top - drawn[0][0]) / (drawn[-1][0] - drawn[0][0]) == pytest.approx(
        7_777 / 20_000, abs=1e-3
    )
    gap = chart_svg([Trace(np.arange(5.0), np.array([0, 1, nan, 1, 0]), "", "run", 0)], "x", "y")
    (line,) = re.findall(r'class="run c0" d="([^"]*)"', gap)
    assert (line.count("M"), line.count("L")) == (2, 2)


@pytest.mark.parametrize("values", [[], [nan, nan], [1.0], [1e300, -1e300]])
def test_charts_of_little_or_nothing(values: list[float]) -> None:
    y = np.array(values)
    for log in (False, True):
        svg = chart_svg([Trace(y, y, "label", "run", 0)], "x", "y", x_log=log)
        assert "nan" not in svg
        assert "inf" not in svg


def test_theory_that_runs_away_leaves_the_drive_in_sight() -> None:
    x = np.linspace(0.0, 1.0, 11)
    curves = [Trace(x, x, "", "run", 0), Trace(x, 1e6 * x, "", "theory", 0)]
    heights = [place for _, place in points(chart_svg(curves, "x", "y"))]
    assert max(heights) - min(heights) > 100.0


@pytest.mark.slow
def test_the_page_shows_charts_and_plays_drives(browser, tmp_path) -> None:
    """In a browser, at the width of a screen and of a telephone, light and dark."""
    file = tmp_path / "report.html"
    write_report(evaluation("second"), file)
    for width, scheme in ((1400, "light"), (390, "dark")):
        screen = {"width": width, "height": 900}
        shown = CHROMIUM.empty_page(viewport=screen, color_scheme=scheme)
        with shown as page, complaints(page) as said:
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for table in page.locator(".scroll").all():
                assert table.evaluate("node => node.scrollWidth <= node.clientWidth")
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (colour == "rgb(244, 246, 248)") == (scheme == "light")
            assert page.locator("svg.chart").count() >= 2
            page.locator("a.play").last.click()
            page.locator("#replay-drive").select_option("1")
            frame = page.frame_locator("#replay-frame")
            frame.locator("#title", has_text="A drive: 10 m/s").wait_for()
            assert frame.locator("#vehicle option").all_inner_texts() == ["single_track", "second"]
            assert said == []
