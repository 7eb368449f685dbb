"""The report of a comparison: whole, alone, and its figures are those of the comparison."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from chromium import CHROMIUM, complaints
from skidpad.study.identify.comparison import Comparison, compare
from skidpad.view.pages.identification_report import comparison_html
from view.pages.test_log_page import prepared
from view.pages.test_report import Page


@cache
def comparison() -> Comparison:
    cars = {"kinematic <1>": "kinematic_bicycle", "single_track": "single_track"}
    return compare(cars, prepared(), window=2.0)


def check_page(text: str) -> Page:
    """A page whose tags are closed and whose links lead somewhere, without requests."""
    page = Page(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    for address in page.addresses:
        assert address.startswith(("#", "data:"))
        assert not address.startswith("#") or address[1:] in page.ids
    assert not re.search(r"url\(|@import", text)
    return page


def rows_of(text: str, section: str) -> list[list[str]]:
    """Texts of the cells of the first table of a section, without what is in small print."""
    own = text.partition(f'id="{section}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(<th scope=.row.*?)</tr>", own)
    plain = (re.sub(r"<small>.*?</small>|<svg.*?</svg>", "", row) for row in rows)
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in plain
    ]


def test_the_page_of_a_comparison_is_whole_and_shows_the_verdict() -> None:
    found = comparison()
    page = check_page(comparison_html(found, date="2026-01-02"))
    assert "Comparison: kinematic <1>, single_track" in page.text
    assert found.verdict in page.text
    assert "2026-01-02" in page.text
    assert f"{found.windows} windows of 2 s of run <1>.csv" in page.text


def test_the_table_has_the_errors_of_every_vehicle() -> None:
    found = comparison()
    for name, *cells in rows_of(comparison_html(found), "all-errors"):
        name = name.replace("&lt;", "<").replace("&gt;", ">")
        own = {e.channel: e for e in found.errors if e.vehicle == name and e.horizon == 0.0}
        shown = sorted(float(cell) for cell in cells)
        np.testing.assert_allclose(shown, sorted(e.rmse for e in own.values()), rtol=6e-3)


def test_pairs_are_shown_as_multiples_of_the_best() -> None:
    (pair,) = comparison().pairs
    ((name, multiple, interval, *_, windows),) = rows_of(
        comparison_html(comparison()), "all-models"
    )
    assert (name, windows) == ("kinematic &lt;1&gt;", str(pair.windows))
    assert float(multiple) == pytest.approx(1.0 + pair.difference, rel=6e-3)
    assert float(interval.split()[0]) == pytest.approx(1.0 + pair.low, rel=6e-3)


def test_overlays_have_every_channel_of_every_vehicle() -> None:
    text, found = comparison_html(comparison()), comparison()
    channels = {name for run in found.replays for name in run.channels} - {"x", "y"}
    charts = re.findall(r'<svg class="span".*?</svg>', text)
    assert len(charts) == len(channels)
    for chart in charts:
        assert len(re.findall(r'class="run c\d"', chart)) == len(found.vehicles)
        assert chart.count('class="measured ink"') == 1
    assert text.count("of the yaw rate in °/s, single_track") == 1  # the map, of the best vehicle


def test_a_vehicle_that_diverges_is_named_and_not_drawn() -> None:
    found = comparison()
    lost = [
        e._replace(rmse=np.inf, max=np.inf, diverged=3) if e.vehicle != "single_track" else e
        for e in found.errors
    ]
    text = comparison_html(replace(found, errors=tuple(lost)))
    assert "3 windows diverged" in text
    first, *_ = rows_of(text, "all-errors")
    assert set(first[1:]) == {"diverged"}


@pytest.mark.slow
def test_the_report_fits_screens_light_and_dark(browser: Any, tmp_path: Any) -> None:
    file = tmp_path / "comparison.html"
    assert comparison().report(file) == file
    for width, scheme in ((1400, "light"), (390, "dark")):
        screen = {"width": width, "height": 900}
        shown = CHROMIUM.empty_page(viewport=screen, color_scheme=scheme)
        with shown as page, complaints(page) as said:
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.chart").count() > 4
            assert said == []
