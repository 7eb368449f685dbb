"""What the replay page shows of several vehicles, of laps, of walls and of flat signals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import skidpad as sp
from skidpad.road import Patch
from skidpad.view.film import Film, ScanAt
from skidpad.view.recording import WorldRecorder, read
from skidpad.view.stage import Body, Channel, Line, Polygon, Stage, relief_of
from skidpad.world.world import World
from skidpad.world.xml import loads
from view.pages.films import OUTLINE, SMALL, two_cars

Open = Callable[..., Any]
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
TITLES = "Array.from(document.querySelectorAll('.plot h3'), (h) => h.firstChild.textContent)"


def film_of(vehicles: dict[str, dict[str, Any]], t: NDArray[Any], **stage: Any) -> Film:
    """A film of vehicles with channels by name."""
    units = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "v_y": "m/s", "omega": "rad/s"}
    channels: list[Channel] = []
    bodies: list[Body] = []
    columns: list[NDArray[Any]] = []
    for name, own in vehicles.items():
        places = {field: len(columns) + k for k, field in enumerate(own)}
        x, y, yaw = (places[field] for field in ("x", "y", "yaw"))
        bodies.append(Body(name, "vehicle", (OUTLINE,), x, y, yaw, channels=places))
        channels += [Channel(field, units.get(field, "m/s²"), name, "state") for field in own]
        columns += [np.broadcast_to(values, t.shape) for values in own.values()]
    made = Stage("Film", tuple(channels), tuple(bodies), **stage)
    return Film(made, t, np.stack(columns, axis=1).astype(np.float32))


def page_of(film: Film, opened: Open, folder: Path, **options: Any) -> Any:
    path = folder / "film.html"
    film.to_html(path)
    return opened(path, **options)


def show(page: Any, time: float) -> None:
    page.evaluate("(time) => { skidpad.pause(); skidpad.seek(time); }", time)
    page.evaluate(DRAWN)


def test_a_page_opens_playing(opened: Open) -> None:
    page = opened(reduced_motion="no-preference")
    page.wait_for_function("skidpad.time > 0 || skidpad.app.clock.time > 0")
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    page.wait_for_function("window.skidpad")
    assert page.evaluate("skidpad.app.clock.playing") is False, "less motion is wanted there"


def test_the_whole_path_is_drawn_before_anything_has_moved(opened: Open, tmp_path: Path) -> None:
    t = np.linspace(0.0, 10.0, 101)
    page = page_of(
        film_of({"car": {"x": 4.0 * t, "y": 0.0 * t, "yaw": 0.0 * t}}, t), opened, tmp_path
    )
    show(page, 0.0)
    pixels = """([x, y]) => { const { back, ratio } = skidpad.app.scene;
      const at = skidpad.screenOf(x, y);
      const box = back.context.getImageData(at.x * ratio, at.y * ratio - 3, 1, 7).data;
      return Math.max(...box.filter((_, k) => k % 4 === 2)) - Math.min(...box.filter((_, k) => k % 4 === 0)); }"""  # noqa: E501
    on, off = page.evaluate(pixels, [33.3, 0.0]), page.evaluate(pixels, [33.3, 3.3])
    page.evaluate("skidpad.app.toggleLayer('trails')")
    page.evaluate(DRAWN)
    assert on > page.evaluate(pixels, [33.3, 0.0]), "it goes with the trails"
    assert on > off


def test_names_do_not_lie_on_each_other(opened: Open, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    crowd = {
        f"run {k}": {"x": 0.05 * k + t, "y": 0.1 * k + 0.0 * t, "yaw": 0.0 * t} for k in range(12)
    }
    crowd["far"] = {"x": 30.0 + t, "y": 0.0 * t, "yaw": 0.0 * t}
    page = page_of(film_of(crowd, t), opened, tmp_path)
    page.select_option("#vehicle", label="run 7")
    show(page, 0.0)
    names = page.evaluate("skidpad.app.scene.labelled")
    assert names[0] == "run 7", "the chosen one has its name"
    assert "far" in names
    assert len(names) < 6


def test_all_vehicles_can_be_seen_in_the_plots(opened: Open) -> None:
    page = opened()
    assert page.evaluate(TITLES)[0] == "Speed"
    page.locator("#compare").check()
    first = page.locator(".plot").first
    assert first.locator(".legend-row span").count() == 2
    assert [first.locator(".legend-row span").nth(k).get_attribute("title") for k in (0, 1)] == [
        "left",
        "right",
    ]
    show(page, 1.0)
    # 0.8 and 0.5 rad/s on a circle of 12 m.
    for value in ("9.6", "6.0"):
        first.locator("b", has_text=value).first.wait_for()
    colours = page.evaluate(
        "Array.from(document.querySelectorAll('.plot .key'), (k) => k.style.getPropertyValue('--key')).slice(0, 2)"  # noqa: E501
    )
    assert len(set(colours)) == 2
    page.locator("#compare").uncheck()
    assert page.evaluate(TITLES) == [
        "Speed",
        "Acceleration",
        "Steering",
        "Yaw rate",
        "Wheel load",
        "Friction use",
    ]


def test_one_vehicle_has_nobody_to_be_compared_with(opened: Open, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 11)
    page = page_of(film_of({"car": {"x": t, "y": t, "yaw": t}}, t), opened, tmp_path)
    assert not page.locator("#compare").is_visible()


def circling(t: NDArray[Any], angle: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {"x": 30.0 * np.sin(angle), "y": 30.0 - 30.0 * np.cos(angle), "yaw": angle}


def test_laps_are_timed_with_their_sectors(opened: Open, tmp_path: Path) -> None:
    """Two laps on a circle at constant speeds of 20 s and 16 s a lap, and half of a third."""
    t = np.arange(0.0, 44.0, 0.05)
    angle = np.where(t < 20.0, 2.0 * pi * t / 20.0, 2.0 * pi + 2.0 * pi * (t - 20.0) / 16.0)
    page = page_of(film_of({"car": circling(t, angle)}, t), opened, tmp_path)
    page.get_by_role("tab", name="Laps").click()
    rows = [row.split("\t") for row in page.locator(".laps tbody").inner_text().splitlines() if row]
    numbers = [[cell.strip() for cell in row] for row in rows]
    assert [float(row[1]) for row in numbers] == pytest.approx([20.0, 16.0], abs=0.01)
    assert float(numbers[0][2]) == pytest.approx(4.0, abs=0.01)
    assert numbers[1][2] == "best"
    assert [float(cell) for cell in numbers[0][3:]] == pytest.approx([20.0 / 3.0] * 3, abs=0.05)
    assert [float(cell) for cell in numbers[1][3:]] == pytest.approx([16.0 / 3.0] * 3, abs=0.05)
    page.get_by_role("button", name="Go to lap 2").click()
    assert page.evaluate("skidpad.time") == pytest.approx(20.0, abs=0.01)


def test_who_drives_no_laps_has_no_table(opened: Open, tmp_path: Path) -> None:
    t = np.arange(0.0, 10.0, 0.1)
    straight = {"x": 5.0 * t, "y": 0.0 * t, "yaw": 0.0 * t}
    page = page_of(film_of({"car": straight}, t), opened, tmp_path)
    assert (
        page.get_by_role("tab", name="Laps").count() == 0
        or not page.get_by_role("tab", name="Laps").is_visible()
    )


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("walls", [True, False])
def test_a_car_pinned_to_a_wall_is_not_accelerated(
    opened: Open, tmp_path: Path, walls: bool
) -> None:
    """Its tyres push with 0.9 g and the wall pushes back; without walls the model is believed."""
    t = np.arange(0.0, 4.0, 0.02)
    still = 0.0 * t
    pinned = {"x": still, "y": still, "yaw": still, "v_x": still, "v_y": still, "omega": still}
    pinned |= {"a_x": still + 8.82599, "a_y": still}
    wall = (Polygon(((2.2, -5.0), (3.0, -5.0), (3.0, 5.0), (2.2, 5.0))),) if walls else ()
    page = page_of(film_of({"car": pinned}, t, polygons=wall), opened, tmp_path)
    show(page, 2.0)
    along = page.locator("#figures div", has_text="Along").locator("b")
    along.filter(has_text="0.00" if walls else "0.90").wait_for()


def test_accelerations_between_walls_are_those_of_the_motion(opened: Open, tmp_path: Path) -> None:
    """At 10 m/s on a circle of 20 m, braking with 2 m/s²: both parts have a closed form."""
    t = np.arange(0.0, 2.0, 0.02)
    v = 10.0 - 2.0 * t
    car = {"x": t, "y": t, "yaw": t, "v_x": v, "v_y": 0.0 * t, "omega": v / 20.0}
    car |= {"a_x": 0.0 * t, "a_y": 0.0 * t}
    wall = (Polygon(((50.0, 0.0), (51.0, 0.0), (51.0, 1.0))),)
    page = page_of(film_of({"car": car}, t, polygons=wall), opened, tmp_path)
    show(page, 1.0)
    page.locator("#figures div", has_text="Along").locator("b", has_text="−0.20").wait_for()
    page.locator("#figures div", has_text="Across").locator("b", has_text="0.33").wait_for()


def test_the_page_of_a_crash_shows_the_numbers_of_the_file(opened: Open, tmp_path: Path) -> None:
    """In g on the page; the wall gives what no tyre can."""
    car = (
        "<vehicle name='car'><init_pose>0 0 0</init_pose><init_vel>10 0 0</init_vel>"
        "<dynamics class='skidpad:four_wheel'></dynamics></vehicle>"
    )
    wall = "<walls><shape><pt>5 -9</pt><pt>5 9</pt></shape></walls>"
    step = "<simul_timestep>0.01</simul_timestep>"
    world = World(loads(f"<mvsim_world version='1.0'>{step}{wall}{car}</mvsim_world>"))
    with WorldRecorder(world, tmp_path / "crash.mcap") as recorder:
        recorder.sample()
        for _ in range(100):
            world.step()
            recorder.sample()
    recording = read(tmp_path / "crash.mcap")
    run = recording.trajectory("car")
    hit = int(np.argmin(run["a_x"]))
    # It goes from 10 m/s to a stop or less within one or two samples of 1/30 s.
    assert run["a_x"][hit] < -100.0
    recording.film().to_html(tmp_path / "crash.html")
    page = opened(tmp_path / "crash.html")
    show(page, float(run.t[hit]))
    shown = f"{run['a_x'][hit] / 9.81:.1f}".replace("-", "−")
    page.locator("#figures div", has_text="Along").locator("b", has_text=shown).wait_for()


@pytest.mark.slow_cases("5.0-1e-07")
@pytest.mark.parametrize(
    ("value", "noise"), [(0.0, 0.0), pytest.param(0.0, 1e-7, marks=pytest.mark.slow), (5.0, 1e-7)]
)
def test_flat_signals_have_plain_ticks(
    opened: Open, tmp_path: Path, value: float, noise: float
) -> None:
    t = np.linspace(0.0, 5.0, 51)
    flat = value + noise * np.sin(7.0 * t)
    page = page_of(film_of({"car": {"x": t, "y": t, "yaw": t, "a_x": flat}}, t), opened, tmp_path)
    page.wait_for_function("skidpad.app.plots.plots.some((plot) => plot.range)")
    range_ = page.evaluate("skidpad.app.plots.plots[0].range")
    assert range_["step"] >= 0.05
    assert range_["low"] <= value <= range_["high"]
    text = page.evaluate("document.querySelector('.plot b').textContent")
    assert len(text) < 7


def test_small_signals_keep_their_scale(opened: Open, tmp_path: Path) -> None:
    t = np.linspace(0.0, 5.0, 51)
    small = {"x": t, "y": t, "yaw": t, "a_x": 3e-4 * np.sin(t)}
    page = page_of(film_of({"car": small}, t), opened, tmp_path)
    page.wait_for_function("skidpad.app.plots.plots.some((plot) => plot.range)")
    assert page.evaluate("skidpad.app.plots.plots[0].range.high") < 1e-3


def test_free_after_heading_up_is_upright(opened: Open) -> None:
    page = opened(viewport=SMALL)
    show(page, 3.0)
    page.click("[data-camera=heading]")
    page.wait_for_function("Math.abs(Math.sin(skidpad.view.angle)) > 0.3 && skidpad.app.rested")
    page.click("[data-camera=free]")
    page.wait_for_function("skidpad.view.angle === 0 && skidpad.app.rested")


@pytest.mark.parametrize(("motion", "glides"), [("reduce", False), ("no-preference", True)])
def test_the_camera_glides_only_for_those_who_like_motion(
    opened: Open, motion: str, glides: bool
) -> None:
    page = opened(viewport=SMALL, reduced_motion=motion)
    show(page, 3.0)
    # Before the next frame: who glides has not moved yet, and knows where to.
    begin, at_once, goal = page.evaluate(
        """() => { const { view } = skidpad; const begin = view.x; view.goTo({ x: begin + 40.0 });
        return [begin, view.x, view.goal && view.goal.x]; }"""
    )
    expected = (begin, begin + 40.0) if glides else (begin + 40.0, None)
    assert (at_once, goal) == expected


def test_each_of_several_lidars_has_the_colour_of_its_vehicle(opened: Open, tmp_path: Path) -> None:
    film = two_cars()
    lidar = film.stage.scans[0]
    stage = replace(film.stage, scans=(lidar, replace(lidar, body="right")))
    scans = [*film.scans, *(ScanAt(1, s.time, s.ranges) for s in film.scans)]
    both = Film(stage, film.times, film.rows, tuple(sorted(scans, key=lambda s: s.time)))
    page = page_of(both, opened, tmp_path)
    colours = """() => { const used = new Set(); const own = CanvasRenderingContext2D.prototype;
      const draw = own.fillRect; own.fillRect = function (...a) { used.add(this.fillStyle); draw.apply(this, a); };
      skidpad.app.scene.lidar.draw(skidpad.app.scene.front.context, skidpad.view, 1, skidpad.film.series,
        skidpad.film.scans, skidpad.time, skidpad.app.chosen); own.fillRect = draw; return [...used]; }"""  # noqa: E501
    show(page, 2.0)
    assert len(page.evaluate(colours)) == 2


def test_a_phone_on_its_side_shows_picture_and_numbers(opened: Open) -> None:
    size = {"width": 844, "height": 390}
    page = opened(viewport=size, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate("document.documentElement.scrollHeight") <= size["height"]
    stage, side, play = (page.locator(name).bounding_box() for name in ("#stage", "#side", "#play"))
    assert stage["height"] > 0.6 * size["height"]
    assert stage["width"] > 0.5 * size["width"]
    assert side["x"] >= stage["x"] + stage["width"] - 1
    assert play["y"] + play["height"] <= size["height"]


def test_lines_do_not_count_as_walls(opened: Open, tmp_path: Path) -> None:
    t = np.arange(0.0, 1.0, 0.02)
    one = dict.fromkeys(("x", "y", "yaw", "v_x", "v_y", "omega", "a_y"), 0.0 * t)
    film = film_of(
        {"car": {**one, "a_x": 0.0 * t + 9.80665}},
        t,
        lines=(Line(((0.0, 0.0), (1.0, 0.0)), "edge"),),
    )
    page = page_of(film, opened, tmp_path)
    page.locator("#figures div", has_text="Along").locator("b", has_text="1.00").wait_for()


def test_regions_say_what_is_so_in_them() -> None:
    from skidpad.view.live.arena import playground
    from skidpad.view.stage import still_life
    from skidpad.world.scene import PropertyRegion

    names = [p.name for p in still_life(playground().scene)["polygons"] if p.kind == "region"]
    assert names == ["friction 0.25"]
    scene = replace(
        playground().scene,
        elements=(
            PropertyRegion("gps_no_coverage", True, 0.0, 1.0, 0.0, 1.0),
            PropertyRegion("mud", "deep", 0.0, 1.0, 0.0, 1.0),
        ),
    )
    shown = [p.name for p in still_life(scene)["polygons"] if p.kind == "region"]
    assert shown == ["no GNSS", "mud deep"]


def test_a_crash_does_not_squeeze_the_diagram_of_accelerations(
    opened: Open, tmp_path: Path
) -> None:
    """From 20 m/s to 0 between two samples of 20 ms: 100 g, which no tyre gives."""
    t = np.arange(0.0, 4.0, 0.02)
    v = np.where(t < 2.0, 10.0 * t, 0.0)
    car = {"x": t, "y": 0.0 * t, "yaw": 0.0 * t, "v_x": v, "v_y": 0.0 * t, "omega": 0.0 * t}
    car |= {"a_x": 0.0 * t + 10.0, "a_y": 0.0 * t}
    wall = (Polygon(((50.0, 0.0), (51.0, 0.0), (51.0, 1.0))),)
    page = page_of(film_of({"car": car}, t, polygons=wall), opened, tmp_path)
    page.wait_for_function("skidpad.app.figures.gg.half > 0")
    assert page.evaluate("skidpad.app.figures.gg.half") <= 8.0


def test_hills_are_shaded_and_ice_is_blue(opened: Open, tmp_path: Path) -> None:
    """Slopes towards the upper left are lighter, and the bar says how far contours are apart."""
    road = sp.Road.waves(2.0, 40.0).with_grip([Patch(value=0.0, y=8.0, length=60.0, width=4.0)])
    relief = relief_of(road, (-20.0, -10.0, 20.0, 10.0))
    assert relief is not None
    t = np.linspace(0.0, 1.0, 11)
    path = {"x": 38.0 * t - 19.0, "y": 18.0 * t - 9.0, "yaw": 0.0 * t}
    film = film_of({"car": path}, t, reliefs=(relief,))
    page = page_of(film, opened, tmp_path, color_scheme="light")
    show(page, 0.0)
    pixel = """([x, y]) => { const { back, ratio } = skidpad.app.scene;
      const at = skidpad.screenOf(x, y);
      return [...back.context.getImageData(at.x * ratio, at.y * ratio, 1, 1).data]; }"""
    # The sine rises around x = 0 and falls around x = 20: the light comes from the left.
    lit, dark = (sum(page.evaluate(pixel, [x, -3.3])[:3]) for x in (0.7, 18.7))
    assert lit > dark + 20
    red, _, blue, _ = page.evaluate(pixel, [0.7, 7.7])
    assert blue > red + 60
    assert "contours 50 cm" in page.evaluate("skidpad.app.scene.scale.textContent")
