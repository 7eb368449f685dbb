"""The page of a replay in a browser, from disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from view.pages.films import DURATION, RATE, SMALL, pose_at, two_cars

Open = Callable[..., Any]

PIXEL = """([x, y]) => {
  const { front, ratio } = skidpad.app.scene;
  return [...front.context.getImageData(x * ratio, y * ratio, 1, 1).data];
}"""
GROUND = """() => [...skidpad.app.scene.back.context.getImageData(2, 2, 1, 1).data]"""
AWAY = """(name) => {
  const { x, y } = skidpad.poseOf(name);
  return Math.hypot(skidpad.view.x - x, skidpad.view.y - y);
}"""
UP = "(name) => Math.cos(skidpad.view.angle - skidpad.poseOf(name).yaw + Math.PI / 2)"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def show(page: Any, time: float) -> None:
    """Go to a time; nothing moves any more afterwards."""
    page.evaluate("(time) => { skidpad.pause(); skidpad.seek(time); }", time)
    page.evaluate(DRAWN)
    until(page, "skidpad.app.rested && !skidpad.view.goal")


def until(page: Any, condition: str) -> None:
    page.wait_for_function(condition)


def test_the_numbers_arrive_as_they_were(opened: Open) -> None:
    film = two_cars()
    page = opened()
    read = page.evaluate(
        """() => { const { series, stage } = skidpad.film;
        return stage.channels.map((_, c) => Array.from({ length: series.count }, (_, i) => series.get(c, i)));
        }"""  # noqa: E501
    )
    span = np.ptp(film.rows, axis=0)
    assert np.abs(np.array(read).T - film.rows).max(axis=0) == pytest.approx(
        np.zeros(len(span)), abs=float(span.max()) * 2.0**-17 + 1e-5
    )
    assert page.evaluate("Array.from(skidpad.film.series.times)") == film.times.tolist()


def test_wild_values_leave_the_others_as_they_were(opened: Open, tmp_path: Path) -> None:
    film = two_cars()
    rows = film.rows.copy()
    right = film.stage.body("right")
    spoilt = [right.x, *(right.channels[name] for name in ("v_x", "v_y", "a_x"))]
    rows[70, spoilt], rows[90, spoilt] = 1e9, -2e9
    path = tmp_path / "wild.html"
    replace(film, rows=rows).to_html(path)
    page = opened(path)
    read = page.evaluate(
        """(places) => { const { series } = skidpad.film;
        return places.map((c) => Array.from(series.times, (_, i) => series.get(c, i))); }""",
        spoilt,
    )
    np.testing.assert_allclose(np.array(read).T, rows[:, spoilt], rtol=1e-3, atol=0.0)


def test_scans_arrive_with_their_times_and_what_saw_nothing(opened: Open) -> None:
    film = two_cars()
    page = opened()
    times = page.evaluate("Array.from(skidpad.film.scans.lidars[0].times)")
    ranges = page.evaluate("Array.from(skidpad.film.scans.lidars[0].ranges, String)")
    read = np.array([float(text.replace("Infinity", "inf")) for text in ranges])
    given = np.concatenate([scan.ranges for scan in film.scans]).astype(float)
    seen = np.isfinite(given)
    assert times == [scan.time for scan in film.scans]
    assert np.array_equal(np.isfinite(read), seen)
    assert read[seen] == pytest.approx(given[seen], abs=30.0 / 65534)


def test_vehicles_are_drawn_where_the_film_has_them(opened: Open) -> None:
    film = two_cars()
    page = opened()
    for time in (0.0, 1.0, 3.925, 5.111, DURATION):
        show(page, time)
        for name in ("left", "right"):
            x, y, yaw = pose_at(film, name, time)
            drawn = page.evaluate("(name) => skidpad.poseOf(name)", name)
            assert (drawn["x"], drawn["y"]) == pytest.approx((x, y), abs=1e-4)
            assert np.cos(drawn["yaw"] - yaw) == pytest.approx(1.0, abs=1e-9)
            screen = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", [x, y])
            assert page.evaluate(PIXEL, [screen["x"], screen["y"]])[3] == 255, "a body is there"
        corner = page.evaluate("skidpad.screenOf(-19, 19)")
        assert page.evaluate(PIXEL, [corner["x"], corner["y"]])[3] == 0, "nothing is there"


def test_bodies_lie_along_their_heading(opened: Open) -> None:
    """A thing 2.2 m long to either side is seen along the heading, and not across."""
    film = two_cars()
    page = opened()
    page.evaluate("skidpad.app.toggleLayer('trails'); skidpad.app.toggleLayer('forces')")
    page.evaluate("skidpad.app.toggleLayer('lidar'); skidpad.app.toggleLayer('labels')")
    show(page, 2.0)
    x, y, yaw = pose_at(film, "left", 2.0)
    tried = ((2.0, 0.0, True), (2.6, 0.0, False), (-2.0, 0.0, True), (0.0, 1.5, False))
    for along, across, inside in tried:
        c, s = np.cos(yaw), np.sin(yaw)
        place = [x + along * c - across * s, y + along * s + across * c]
        screen = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", place)
        alpha = page.evaluate(PIXEL, [screen["x"], screen["y"]])[3]
        assert (alpha > 200) is inside


def test_playing_moves_time_and_pausing_holds_it(opened: Open) -> None:
    page = opened()
    page.select_option("#speed", "0.1")  # on a slow machine, too, the film does not end meanwhile
    page.click("#play")
    page.locator("#play[aria-label=Pause]").wait_for()
    until(page, "skidpad.time > 0.03")
    page.click("#play")
    page.evaluate(DRAWN)
    held = page.evaluate("skidpad.time")
    for _ in range(3):
        page.evaluate(DRAWN)
    assert page.evaluate("skidpad.time") == held
    assert page.evaluate("skidpad.fps()") > 0.0


def test_a_fast_film_ends_at_its_end(opened: Open) -> None:
    page = opened()
    page.select_option("#speed", "20")
    page.click("#play")
    until(page, "skidpad.time === skidpad.app.clock.end && !skidpad.app.clock.playing")
    assert page.evaluate("skidpad.time") == DURATION
    page.locator("#time", has_text="8.00 / 8.00").wait_for()


def test_scrubbing_on_the_strip_and_on_a_plot(opened: Open) -> None:
    page = opened()
    strip = page.locator("#scrub").bounding_box()
    page.mouse.click(strip["x"] + 0.25 * strip["width"], strip["y"] + strip["height"] / 2)
    assert page.evaluate("skidpad.time") == pytest.approx(0.25 * DURATION, abs=0.1)
    area = page.locator(".plot .area").first.bounding_box()
    left, right = 42, 10
    middle = area["x"] + left + 0.5 * (area["width"] - left - right)
    page.mouse.move(middle - 40, area["y"] + 30)
    page.mouse.down()
    page.mouse.move(middle, area["y"] + 30, steps=3)
    page.mouse.up()
    assert page.evaluate("skidpad.time") == pytest.approx(0.5 * DURATION, abs=0.05)


def test_keys_step_jump_and_play(opened: Open) -> None:
    page = opened()
    show(page, 1.02)
    page.keyboard.press(".")
    assert page.evaluate("skidpad.time") == 1.05
    page.keyboard.press(",")
    assert page.evaluate("skidpad.time") == pytest.approx(1.0)
    page.keyboard.press("ArrowRight")
    assert page.evaluate("skidpad.time") == pytest.approx(2.0)
    page.keyboard.press("Shift+ArrowLeft")
    assert page.evaluate("skidpad.time") == 0.0
    page.keyboard.press("End")
    assert page.evaluate("skidpad.time") == DURATION
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    until(page, "document.querySelector('#speed').value === '2'")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    until(page, "skidpad.time > 0.02")
    page.keyboard.press("Space")
    assert page.evaluate("skidpad.app.clock.playing") is False


def test_a_question_mark_shows_the_keys(opened: Open) -> None:
    page = opened()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    assert "play, pause" in page.locator("#help").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_a_click_chooses_a_vehicle_and_following_centres_it(opened: Open) -> None:
    page = opened()
    show(page, 2.5)
    x, y, _ = pose_at(two_cars(), "right", 2.5)
    place = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", [x, y])
    stage = page.locator("#front").bounding_box()
    page.mouse.click(stage["x"] + place["x"], stage["y"] + place["y"])
    until(page, "document.querySelector('#vehicle').selectedOptions[0].textContent === 'right'")
    page.click("[data-camera=follow]")
    until(page, f"({AWAY})('right') < 1e-6")
    show(page, 6.0)
    x, y, _ = pose_at(two_cars(), "right", 6.0)
    centre = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", [x, y])
    middle = (stage["width"] / 2, stage["height"] / 2)
    assert (centre["x"], centre["y"]) == pytest.approx(middle, abs=0.5)


def test_heading_up_turns_the_world(opened: Open) -> None:
    page = opened(viewport=SMALL)
    show(page, 3.0)
    page.keyboard.press("c")
    page.keyboard.press("c")
    x, y, yaw = pose_at(two_cars(), "left", 3.0)
    until(page, f"({UP})('left') > 1 - 1e-6")
    ahead = [x + 2.0 * np.cos(yaw), y + 2.0 * np.sin(yaw)]
    here = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", [x, y])
    nose = page.evaluate("([x, y]) => skidpad.screenOf(x, y)", ahead)
    assert nose["x"] == pytest.approx(here["x"], abs=0.5)
    assert nose["y"] < here["y"] - 10.0


def test_the_wheel_zooms_about_the_pointer(opened: Open) -> None:
    page = opened()
    stage = page.locator("#front").bounding_box()
    at = (300.0, 200.0)
    before = page.evaluate("([x, y]) => skidpad.view.worldOf(x, y)", at)
    zoom = page.evaluate("skidpad.view.zoom")
    page.mouse.move(stage["x"] + at[0], stage["y"] + at[1])
    page.mouse.wheel(0, -300)
    until(page, f"skidpad.view.zoom > {1.2 * zoom}")
    after = page.evaluate("([x, y]) => skidpad.view.worldOf(x, y)", at)
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1e-6)
    page.mouse.down()
    page.mouse.move(stage["x"] + at[0] + 50, stage["y"] + at[1] + 20, steps=4)
    page.mouse.up()
    dragged = page.evaluate("([x, y]) => skidpad.view.worldOf(x + 50, y + 20)", at)
    assert (dragged["x"], dragged["y"]) == pytest.approx((before["x"], before["y"]), abs=1e-6)


def test_plots_are_those_that_the_vehicle_has_channels_for(opened: Open) -> None:
    page = opened()
    titles = "Array.from(document.querySelectorAll('.plot h3'), (h) => h.firstChild.textContent)"
    common = ["Speed", "Acceleration", "Steering", "Yaw rate"]
    assert page.evaluate(titles) == [*common, "Wheel load", "Friction use"]
    page.select_option("#vehicle", label="right")
    assert page.evaluate(titles) == common


def test_values_are_those_at_the_cursor_and_can_be_plotted(opened: Open) -> None:
    page = opened()
    show(page, 1.5)
    page.get_by_role("tab", name="Values").click()
    shown = page.locator("[data-channel=a_x] b")
    until(page, "document.querySelector('[data-channel=a_x] b').textContent !== ''")
    assert float(shown.inner_text()) == pytest.approx(np.sin(1.5), abs=1e-3)
    degrees = page.locator("[data-channel=omega]").inner_text().split()
    assert degrees[0] == "omega"
    assert float(degrees[1]) == pytest.approx(np.rad2deg(0.8), abs=0.01)
    assert degrees[2] == "°/s"
    page.click("[data-channel=F_z_fl]")
    page.get_by_role("tab", name="Plots").click()
    assert page.locator(".plot h3").first.inner_text().startswith("F_z_fl")


def test_friction_use_is_the_force_over_the_load(opened: Open) -> None:
    page = opened()
    show(page, 1.0)
    tile = page.locator("#figures div", has_text="Friction use")
    use = np.hypot(100.0, 300.0) / 800.0
    tile.locator("b", has_text=f"{use:.2f}").wait_for()
    assert tile.locator("em").inner_text() == "× load"


@pytest.mark.slow_cases("light-False")
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_theme_follows_the_system_until_it_is_changed(
    opened: Open, scheme: str, dark: bool
) -> None:
    page = opened(color_scheme=scheme)
    page.evaluate(DRAWN)
    assert (sum(page.evaluate(GROUND)[:3]) < 200) is dark
    page.click("#theme")
    page.evaluate(DRAWN)
    assert (sum(page.evaluate(GROUND)[:3]) < 200) is not dark
    page.reload()
    until(page, "window.skidpad")
    page.evaluate(DRAWN)
    assert (sum(page.evaluate(GROUND)[:3]) < 200) is not dark, "the choice is kept"


def test_the_page_fits_a_phone(opened: Open) -> None:
    page = opened(viewport={"width": 390, "height": 844}, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in ("#front", "#play", "#figures", "#theme"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.tap("#play")
    until(page, "skidpad.time > 0.1")


def test_every_button_has_words(opened: Open) -> None:
    page = opened()
    silent = page.evaluate(
        """() => Array.from(document.querySelectorAll('button, select, input'))
        .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
        .map((e) => e.outerHTML)"""
    )
    assert silent == []


def test_one_sample_is_shown_as_a_still(opened: Open, tmp_path: Path) -> None:
    film = two_cars()
    path = tmp_path / "still.html"
    type(film)(film.stage, film.times[:1], film.rows[:1]).to_html(path)
    page = opened(path)
    page.keyboard.press("Space")
    page.evaluate(DRAWN)
    x, y, _ = pose_at(film, "left", 0.0)
    drawn = page.evaluate("skidpad.poseOf('left')")
    assert (drawn["x"], drawn["y"]) == pytest.approx((x, y), abs=1e-4)
    assert RATE * page.evaluate("skidpad.time") == 0.0


def test_numbers_that_are_none_leave_gaps_and_no_errors(opened: Open, tmp_path: Path) -> None:
    film = two_cars()
    rows = film.rows.copy()
    body = film.stage.body("right")
    rows[40:80, [body.x, body.y, body.channels["v_x"]]] = np.nan
    path = tmp_path / "gaps.html"
    type(film)(film.stage, film.times, rows, film.scans).to_html(path)
    page = opened(path)
    page.select_option("#vehicle", label="right")
    show(page, 3.0)
    assert page.evaluate("Number.isNaN(skidpad.poseOf('right').x)")
    show(page, 5.0)
    x, y, _ = pose_at(film, "right", 5.0)
    drawn = page.evaluate("skidpad.poseOf('right')")
    assert (drawn["x"], drawn["y"]) == pytest.approx((x, y), abs=1e-4)


def test_the_numbers_beside_a_film_that_ended_are_those_of_its_end(opened: Open) -> None:
    page = opened()
    page.get_by_role("tab", name="Values").click()
    page.select_option("#speed", "20")
    page.click("#play")
    until(page, "skidpad.time === skidpad.app.clock.end && !skidpad.app.clock.playing")
    page.locator("[data-channel=a_x] b", has_text=f"{np.sin(DURATION):.3f}").wait_for()
