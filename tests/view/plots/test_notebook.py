"""What notebooks show of vehicles, trajectories, worlds, studies and films."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

import skidpad as sp
from skidpad.errors import SimulationDiverged
from skidpad.units import kg, m
from skidpad.view.plots.notebook import draw_vehicles, inline_svg, moment
from skidpad.view.stage import place_bodies
from skidpad.view.stages import WorldStage
from view.plots.drawn import areas, outlines
from view.plots.laps import lap

WORLDS = Path(__file__).parents[3] / "examples" / "worlds"
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"br", "hr", "img", "meta"}


class Nesting(HTMLParser):
    """Collects texts and raises if tags do not close as they opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(n.startswith("on") or n in ("src", "href") for n, _ in attrs)
        links = [value or "" for n, value in attrs if n == "xlink:href"]
        assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(thing) -> Nesting:
    """The parsed page of a thing, which must load nothing and run nothing."""
    text = thing._repr_html_()
    assert len(text) < 300_000
    page = Nesting(text)
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert ElementTree.fromstring(drawing).findtext(f"{SVG}title") is not None
    assert not page.tags & {"script", "link", "iframe", "style", "object", "img"}
    return page


@pytest.mark.slow_cases(
    "commonroad_kinematic_bicycle", "commonroad_ks", "commonroad_kst", "commonroad_st"
)
@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_has_a_page_with_its_parameters(name):
    car = sp.vehicles.get(name)()
    page = shown(car)
    names = sp.core.record.names(car.model.Params)
    assert set(names) <= set(page.texts)
    assert name in page.texts
    assert {"svg", "x [m]", "y [m]"} <= page.tags | set(page.texts)


def test_a_vehicle_shows_values_units_and_meanings():
    page = shown(sp.vehicles.formula_student(m=241.5))
    row = page.texts.index("241.5") - 1
    assert page.texts[row : row + 4] == ["m", "241.5", "kg", "Mass with wheels."]


def test_a_vehicle_without_a_body_is_not_drawn():
    car = sp.vehicles.four_wheel()
    bodiless = replace(car, model=replace(car.model, body=None))
    assert "svg" not in shown(bodiless).tags


class Odd(NamedTuple):
    m: kg = 1.0
    """<script>alert("m")</script> & more."""


class Place(NamedTuple):
    x: m = 0.0


def test_texts_from_outside_are_escaped():
    model = sp.Model(
        name="<img src=x onerror=alert(1)>",
        State=Place,
        Input=Place,
        Params=Odd,
        derivative=lambda x, u, w, p: x,
        summary="<b>bold</b>",
    )
    page = shown(sp.Vehicle(model, Odd()))
    assert "img" not in page.tags
    assert '<script>alert("m")</script> & more.' in page.texts
    run = lap(name="<script>1</script>")
    assert "<script>1</script>" in shown(run).texts


def test_a_trajectory_shows_its_figures():
    run = lap()
    texts = shown(run).texts
    assert texts[texts.index("duration") + 1] == "10"
    # Half of 10 s at 0.5 rad/s on a circle of 10 m: 50 m, by chords a little less.
    assert float(texts[texts.index("distance") + 1]) == pytest.approx(50.0, rel=1e-4)
    assert texts[texts.index("top speed") + 1] == "6"
    assert texts[texts.index("acceleration to the left") + 1] == "2.5 to 3"


@pytest.mark.slow_cases("1.0")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_accelerations_keep_their_signs(sign: float):
    """Of a run that brakes harder than it speeds up, and of its mirror in time."""
    changed = [
        c._replace(values=sign * np.linspace(-3.06, 1.5, c.values.size)) if c.name == "a_x" else c
        for c in lap().columns
    ]
    run = sp.Trajectory(lap().t, tuple(changed))
    texts = shown(run).texts
    expected = "−3.06 to 1.5" if sign > 0.0 else "−1.5 to 3.06"
    assert texts[texts.index("acceleration forward") + 1] == expected


@pytest.mark.slow_cases("diverged", "nan", "nearly parked", "one sample", "two samples")
@pytest.mark.parametrize(
    "run",
    [
        lap(1),
        lap(2),
        lap(speed=1e-9),
        sp.Trajectory(np.array([0.0]), ()),
        lap(error=SimulationDiverged("v_x is NaN", time=1.0, last_state=None)),
        sp.Trajectory(lap().t, tuple(c._replace(values=c.values * np.nan) for c in lap().columns)),
    ],
    ids=["one sample", "two samples", "nearly parked", "empty", "diverged", "nan"],
)
def test_awkward_runs_have_a_page(run):
    assert "nan nan" not in run._repr_html_()
    page = shown(run)
    if run.error is not None:
        assert "ended early: v_x is NaN" in page.texts


def test_a_study_shows_probabilities_with_their_intervals(study):
    page = shown(study)
    texts = page.texts
    risk = study.probability("left <the> lane")
    row = texts.index("left <the> lane")
    assert texts[row + 1] == f"{risk.value:.4g}"
    assert texts[row + 2] == f"{risk.low:.4g} to {risk.high:.4g}"
    assert texts[row + 3] == f"{risk.happened} of 40"
    assert "svg" in page.tags


@pytest.mark.parametrize("name", ["warehouse", "trailers"])
def test_a_world_shows_a_map_and_its_vehicles(name):
    world = sp.World.load(WORLDS / f"{name}.world.xml")
    page = shown(world)
    assert set(world.vehicles) <= set(page.texts)
    assert "svg" in page.tags
    world.step()
    assert world.time == world.dt


def test_vehicles_are_drawn_where_they_are_with_their_names():
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    stage = WorldStage(world).stage
    axes = Figure().add_subplot()
    draw_vehicles(axes, place_bodies(stage, moment(world, stage)))
    corners = [outline for collection in areas(axes) for outline in outlines(collection)]
    for x, y, *_ in world.motion():
        assert min(np.hypot(*(o.mean(axis=0) - [x, y])) for o in corners) < 0.5
    assert [text.get_text() for text in axes.texts] == list(world.vehicles)


def test_the_moment_of_a_world_is_that_of_its_stage():
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    watched = WorldStage(world)
    row, whole = moment(world, watched.stage), watched.row()
    known = np.isfinite(row)
    assert known.sum() >= 3 * len(watched.stage.bodies)
    np.testing.assert_array_equal(row[known], whole[known])


def test_a_drawing_takes_ink_from_the_page_and_leaves_it_alone():
    figure = lap(name="A <b>lap</b> & #333333").plot()
    text = inline_svg(figure, "A <b>lap</b> & more")
    root = ElementTree.fromstring(text)
    assert root.findtext(f"{SVG}title") == "A <b>lap</b> & more"
    # A style sheet within would be one of the whole page, and so would names of groups.
    assert root.find(f".//{SVG}style") is None
    assert not [g for g in root.iter(f"{SVG}g") if "id" in g.attrib]
    heading = next(t for t in root.iter(f"{SVG}text") if t.text == "A <b>lap</b> & #333333")
    assert "fill: currentColor" in heading.attrib["style"]
    assert "font-family" not in heading.attrib["style"]
    assert "currentColor" in root.findall(f".//{SVG}text")[-1].attrib["style"]
    assert "Date" not in text
    assert not re.search(r"\bnan\b|\binf\b", text)


@pytest.mark.slow
def test_the_same_object_has_the_same_page(study):
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    for thing in (lap(), sp.vehicles.four_wheel(), world, study):
        assert thing._repr_html_() == thing._repr_html_()


def test_long_runs_have_small_pages():
    assert len(shown(lap(100_001)).texts) > 10


def test_pages_do_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import skidpad as sp\n"
        "print(sp.vehicles.formula_student(m=241.5)._repr_html_())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    page = Nesting(done.stdout)
    assert "241.5" in page.texts
    assert "svg" not in page.tags
    assert any('pip install "skidpad[plots]"' in text for text in page.texts)


def test_a_figure_is_a_picture_of_itself():
    """Without pyplot, whose import alone would teach a notebook to show figures."""
    figure = pickle.loads(pickle.dumps(lap().plot(size=(8.0, 6.0))))
    picture = figure._repr_png_()
    header = picture[:8], picture[12:16]
    assert header == (b"\x89PNG\r\n\x1a\n", b"IHDR")
    width, height = np.frombuffer(picture[16:24], ">u4")
    assert width / height == pytest.approx(4.0 / 3.0, rel=0.01)
