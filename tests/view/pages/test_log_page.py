"""The page of a log: whole, alone, with what is wrong first and the figures of the preparation."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from chromium import CHROMIUM, complaints
from skidpad.cli import main
from skidpad.core.arrays import Array
from skidpad.study.logs.log import Channel, Log
from skidpad.study.logs.preparation import Prepared, prepare
from skidpad.view.pages.log_page import log_html, log_page
from view.pages.test_report import Page

UNITS = {"x": "m", "y": "m", "yaw": "rad", "steer": "rad", "omega": "rad/s", "a_y": "m/s²"}


@cache
def drive(faults: bool = True) -> Log:
    """A simulated drive with noise, and with a gap, a frozen sensor and a spike."""
    car: Any = sp.vehicles.single_track("sports")
    t: Array = 0.01 * np.arange(3000, dtype=float)
    inputs = np.zeros((len(t), len(car.Input._fields)))
    inputs[:, car.Input._fields.index("steer")] = 0.03 * np.sin(1.6 * t) * np.sin(0.3 * t)
    simulator = sp.Simulator(car, dt=0.01)
    simulator.reset(v_x=20.0)
    run = simulator.run(inputs)
    random = np.random.default_rng(5)
    names = ("x", "y", "yaw", "v_x", "omega", "a_y", "steer")
    values = {n: run[n] + 1e-3 * random.standard_normal(len(run.t)) for n in names}
    if faults:
        values["omega"][700] = 9.0
        values["v_x"][1000:1120] = np.nan
        values["y"][2000:2200] = values["y"][2000]
    channels = {n: Channel(run.t, v, UNITS.get(n, "m/s")) for n, v in values.items()}
    channels["omega"] = channels["omega"]._replace(source="Gyro Z [deg/s]")
    if faults:
        channels["u_steer"] = Channel(t[::5], inputs[::5, 0], "rad")
    return Log("run <1>.csv", channels, {"Lambda": "it has no value in any sample"})


@cache
def prepared() -> Prepared:
    return prepare(drive())


def cells(page: str, channel: str) -> dict[str, str]:
    """Texts of the row of a channel by head."""
    row = re.search(rf'<th scope="row">{channel}<small>(.*?)</tr>', page)
    assert row is not None
    found = re.findall(r'data-head="([^"]*)">(.*?)</td>', row[1])
    return {head: re.sub(r"<svg.*</svg>|<[^>]*>", " ", text).strip() for head, text in found}


def test_the_page_is_whole_and_asks_for_nothing() -> None:
    text = log_html(prepared(), log=drive(), date="2026-01-02")
    page = Page(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    for address in page.addresses:
        assert address.startswith(("#", "data:"))
        assert not address.startswith("#") or address[1:] in page.ids
    assert not re.search(r"url\(|@import", text)
    assert "Log: run <1>.csv" in page.text
    assert "2026-01-02" in page.text
    assert len(text) < 1e6


def test_rows_have_the_figures_of_the_preparation() -> None:
    text, found = log_html(prepared(), log=drive()), prepared()
    omega = cells(text, "omega")
    assert omega["unit"] == "rad/s"
    assert omega["rate"] == "100 Hz"
    assert float(omega["noise"]) == pytest.approx(found.noise["omega"], rel=0.06)
    ends = [found["omega"].min(), found["omega"].max()]
    shown = re.findall(r"−?[\d.]+", omega["range"])[:2]
    np.testing.assert_allclose([float(e.replace("−", "-")) for e in shown], ends, rtol=1e-3)
    assert "Gyro Z [deg/s]" in text
    for name, late in found.latency.items():
        shown = cells(text, name)["latency"].replace("−", "-")
        assert [float(one) for one in re.findall(r"-?[\d.]+", shown)] == pytest.approx(
            [1e3 * late.value, 1e3 * late.low, 1e3 * late.high], abs=0.051
        )
    share = 100.0 * np.isnan(found["v_x"]).mean()
    assert float(cells(text, "v_x")["unknown"].split()[0]) == pytest.approx(share, rel=0.01)
    assert cells(text, "u_steer")["rate"] == "20 Hz"


def test_what_is_suspicious_comes_first_and_every_line_is_shown() -> None:
    text = log_html(prepared(), log=drive())
    first = re.search(r'<section id="look-first">(.*?)</section>', text)
    assert first is not None
    doubts = re.findall(r"<li>(.*?)</li>", first[1])
    assert [one.partition(":")[0] for one in doubts] == ["v_x", "y", "Lambda is not used"]
    assert "3 things to look at" in text
    table = re.search(r'<section id="preparation-lines">(.*?)</section>', text)
    assert table is not None
    assert table[1].count("<tr>") == 1 + len(prepared().lines)
    shown = Page(table[1]).text
    for line in prepared().lines:
        assert line.text in shown


def test_constant_channels_are_named() -> None:
    channels = {**prepared().channels, "gear": np.full(len(prepared().t), 3.0)}
    page = Page(log_html(replace(prepared(), channels=channels)))
    assert "gear: the same value in every sample" in page.text


def test_a_clean_log_has_nothing_suspicious() -> None:
    clean = replace(prepared(), lines=(), gaps=())
    page = Page(log_html(clean))
    assert "nothing suspicious" in page.text
    assert "look-first" not in page.ids


def test_a_log_without_positions_has_the_path_of_speed_and_yaw_rate() -> None:
    channels = {n: v for n, v in prepared().channels.items() if n not in ("x", "y")}
    page = log_html(replace(prepared(), channels=channels))
    assert "integrated from speed and yaw rate" in page
    assert page.count('class="heat"') > 1
    less = {n: v for n, v in channels.items() if n != "omega"}
    assert "drive-map" not in Page(log_html(replace(prepared(), channels=less))).ids


def test_the_command_writes_the_page_of_one_log(tmp_path: Path) -> None:
    file, page = tmp_path / "run.csv", tmp_path / "page.html"
    t = np.arange(0.0, 10.0, 0.02)
    columns = {"t [s]": t, "v_x [m/s]": 5.0 + np.sin(t), "omega [rad/s]": np.sin(0.5 * t)}
    rows = np.column_stack(list(columns.values()))
    np.savetxt(file, rows, "%.6g", ",", header=",".join(columns), comments="")
    with pytest.raises(SystemExit) as stop:
        main(["log", str(file), "--page", str(page)])
    assert not stop.value.code
    assert "Log: run.csv" in Page(page.read_text("utf-8")).text
    with pytest.raises(SystemExit) as stop:
        main(["log", str(file), str(file), "--page", str(page)])
    assert stop.value.code == 2


@pytest.mark.slow
def test_the_page_fits_screens_light_and_dark(browser: Any, tmp_path: Any) -> None:
    file = tmp_path / "log.html"
    log_page(prepared(), file, log=drive())
    for width, scheme in ((1400, "light"), (390, "dark")):
        screen = {"width": width, "height": 900}
        shown = CHROMIUM.empty_page(viewport=screen, color_scheme=scheme)
        with shown as page, complaints(page) as said:
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for table in page.locator(".scroll").all():
                assert table.evaluate("node => node.scrollWidth <= node.clientWidth")
            assert page.locator("svg.spark").count() == len(prepared().channels) + 1
            assert page.locator("svg.span").count() == 5
            assert said == []
