"""What notebooks show of vehicles, trajectories, worlds and studies."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from plots.laps import lap
from skidpad.errors import SimulationDiverged
from skidpad.plots.figures.sheet import Areas
from skidpad.plots.figures.stage_marks import occupied
from skidpad.plots.figures.world_html import moment, world_sheet
from skidpad.stage import Grid
from skidpad.stage.world_stage import WorldStage
from skidpad.units import kg, m

WORLDS = Path(__file__).parents[2] / "examples" / "worlds"
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
        self.tags.add(tag)
        assert not any(n.startswith("on") or n in ("src", "href") for n, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(thing) -> Nesting:
    """The parsed page of a thing, which must load nothing and run nothing."""
    page = Nesting(thing._repr_html_())
    assert not page.tags & {"script", "link", "iframe", "style", "object", "img"}
    return page


@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_has_a_page_with_its_parameters(name):
    car = sp.vehicles.get(name)()
    page = shown(car)
    names = sp.record.names(car.model.Params)
    assert set(names) <= set(page.texts)
    assert name in page.texts


def test_a_vehicle_shows_values_units_and_meanings():
    page = shown(sp.vehicles.formula_student(m=241.5))
    row = page.texts.index("m")
    assert page.texts[row : row + 4] == ["m", "241.5", "kg", "Mass with driver."]


def test_a_vehicle_without_axles_is_not_drawn():
    assert "svg" in shown(sp.vehicles.four_wheel()).tags
    assert "svg" not in shown(sp.vehicles.double_integrator()).tags


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
    assert texts[texts.index("largest acceleration to the side") + 1] == "3"


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
    texts = shown(study).texts
    found = study.probability("left <the> lane")
    row = texts.index("left <the> lane")
    assert texts[row + 1] == f"{found.value:.4g}"
    assert texts[row + 2] == f"{found.low:.4g} to {found.high:.4g}"
    assert texts[row + 3] == f"{found.happened} of 40"
    assert "svg" in shown(study).tags


@pytest.mark.parametrize("name", ["warehouse", "trailers"])
def test_a_world_shows_a_map_and_its_vehicles(name):
    world = sp.World.load(WORLDS / f"{name}.world.xml")
    page = shown(world)
    assert set(world.vehicles) <= set(page.texts)
    world.step()
    assert world.time == world.dt


def test_vehicles_are_drawn_where_they_are():
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    outlines = [
        o for mark in world_sheet(world).cells[0].diagram.marks if isinstance(mark, Areas)
        for o in mark.outlines
    ]  # fmt: skip
    for x, y, *_ in world.motion():
        assert min(np.hypot(*(o.mean(axis=0) - [x, y])) for o in outlines) < 0.5


def test_the_moment_of_a_world_is_that_of_its_stage():
    world = sp.World.load(WORLDS / "warehouse.world.xml")
    watched = WorldStage(world)
    row, whole = moment(world, watched.stage), watched.row()
    known = np.isfinite(row)
    assert known.sum() >= 3 * len(watched.stage.bodies)
    np.testing.assert_array_equal(row[known], whole[known])


def test_occupied_cells_become_stretches():
    cells = np.zeros((2, 5), np.uint8)
    cells[0, 1:4] = 255
    cells[1, 4] = 255
    cells[1, 0] = 128
    found = list(occupied(Grid(10.0, 20.0, 0.5, 5, 2, cells.tobytes())))
    boxes = [(*o.min(axis=0), *o.max(axis=0)) for o in found]
    assert boxes == [(10.5, 20.0, 12.0, 20.5), (12.0, 20.5, 12.5, 21.0)]


def test_pages_need_no_plotting_library():
    code = (
        "import sys; sys.modules.update(matplotlib=None, plotly=None);"
        "import skidpad as sp, numpy as np;"
        "print(len(sp.vehicles.formula_student()._repr_html_()) > 1000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
