"""The report of a fit: whole, alone, and its figures are those of the fit."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from chromium import CHROMIUM, complaints
from skidpad.study.identify.fitting import Fit, fit
from skidpad.study.logs.preparation import prepare
from skidpad.view.pages.identification_report import correlation_table, fit_html
from view.pages.test_comparison_report import check_page, rows_of
from view.pages.test_log_page import drive


@cache
def fitted() -> Fit:
    """Yaw inertia, stiffness of all tyres and a delay, from another yaw inertia."""
    car: Any = sp.vehicles.single_track("sports")
    inertia = car.params.I_z
    bounds = {"I_z": (0.97 * inertia, 2.0 * inertia), "tyres.*.lateral.K": (0.5, 1.03)}
    free = [*bounds, "delay.omega"]
    log = prepare(drive(faults=False))
    car = car.with_params(I_z=1.3 * inertia)
    return fit(car, [log], free, bounds=bounds, starts=2, window=2.0)


def test_the_page_of_a_fit_is_whole_and_begins_with_the_held_out_errors() -> None:
    found = fitted()
    page = check_page(fit_html(found, date="2026-01-02"))
    assert "3 unknowns of single_track, estimated from run <1>.csv" in page.text
    row = found.error("omega", part="held out")
    length = found.error_window("held out")
    assert f"Errors over windows of {length:.3g} s of data held out of the fit" in page.text
    degrees = f"{180.0 / np.pi * row.after:.3g} °/s in yaw rate"
    assert degrees in page.text
    for one in found.untold:
        assert one.text[1:] in page.text
    for note in found.notes:
        assert note in page.text


def test_estimates_and_errors_are_those_of_the_fit() -> None:
    text, found = fit_html(fitted()), fitted()
    rows = rows_of(text, "all-estimates")
    assert [row[0] for row in rows] == list(found.names)
    for row, one in zip(rows, found.estimates, strict=True):
        ends = [float(end.replace("−", "-")) for end in row[4].split(" to ")]
        shown = [float(row[1].replace("−", "-")), *ends]
        np.testing.assert_allclose(shown, [one.start, one.low, one.high], rtol=1e-3)
        assert float(row[2].split()[0].replace("−", "-")) == pytest.approx(one.value, rel=1e-3)
    first = rows_of(text, "all-errors")[0]
    assert first[0] == "yaw rate"
    own = [found.error("omega", part=part) for part in ("held out", "training")]
    expected = [value for row in own for value in (row.before, row.after)]
    shown = [float(first[k]) for k in (2, 3, 5, 6)]
    np.testing.assert_allclose(shown, expected, rtol=6e-3)


def test_overlays_show_the_log_before_and_after_the_fit_with_the_held_out_part() -> None:
    text, found = fit_html(fitted()), fitted()
    charts = re.findall(r'<svg class="span".*?</svg>', text)
    assert len(charts) == len({n for r in found.replays for n in r.channels} - {"x", "y"})
    for chart in charts:
        kinds = re.findall(r'<path class="(\w+) (?:c\d|ink)"', chart)
        assert sorted(kinds) == ["measured", "run", "theory"]
        assert chart.count('class="shaded"') == 1
    assert "Front axle" in text
    assert "friction used up to" in text


def test_correlations_are_a_triangle() -> None:
    text, found = fit_html(fitted()), fitted()
    cells = re.findall(r"<td style=[^>]*>([^<]*)</td>", text)
    rows, columns = np.tril_indices(len(found.names), -1)
    shown = [float(one.replace("−", "-")) for one in cells]
    np.testing.assert_allclose(shown, found.correlations[rows, columns], atol=0.0051)
    many = [f"p{k}" for k in range(13)]
    assert correlation_table(many, np.eye(13)) == ""


@pytest.mark.slow
def test_the_report_fits_screens_light_and_dark(browser: Any, tmp_path: Any) -> None:
    file = tmp_path / "fit.html"
    assert fitted().report(file) == file
    for width, scheme in ((1400, "light"), (390, "dark")):
        screen = {"width": width, "height": 900}
        shown = CHROMIUM.empty_page(viewport=screen, color_scheme=scheme)
        with shown as page, complaints(page) as said:
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.interval").count() == len(fitted().estimates)
            assert said == []
