"""The report of a campaign: whole, alone, of one size whatever the runs, with the right numbers."""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from chromium import CHROMIUM, complaints
from skidpad.core.arrays import AnyArray
from skidpad.random.factors import LogRange, Normal, Steps
from skidpad.run.monte_carlo import proportion
from skidpad.study import (
    Campaign,
    Column,
    Converging,
    Grid,
    Keep,
    LatinHypercube,
    Random,
    Range,
    Refinement,
    Resources,
    Rows,
    Saltelli,
    Sobol,
    Study,
    SubsetSimulation,
)
from skidpad.study.designs import Table
from skidpad.study.folder import Folder
from skidpad.study.manoeuvres.evaluation import number_text
from skidpad.study.results import mean_of, quantile_of
from skidpad.view.pages.campaign_data import (
    SHARES,
    Extent,
    bins_of,
    order_statistics,
    responses_of,
    sampled_runs,
    spread_of,
    surfaces_of,
    totals_of,
)
from skidpad.view.pages.campaign_report import campaign_page, case_groups, films_of, study_html
from skidpad.view.pages.charts import contour
from study.small_experiments import Bowl
from view.pages.test_report import Page

FACTORS: dict[str, Any] = {"a": Range(-1.0, 1.0), "b": Range(0.0, 1.0)}
LISTS: dict[str, Any] = {"a": Steps(-1.0, 1.0, 9), "b": [0.0, 0.3, 1.0]}
DESIGNS: dict[str, tuple[Any, Any]] = {
    "random": (Random(400), FACTORS),
    "latin": (LatinHypercube(200), FACTORS),
    "sobol": (Sobol(256), {"a": Normal(0.0, 0.3), "b": LogRange(0.01, 1.0)}),
    "saltelli": (Saltelli.of(64, 2), FACTORS),
    "grid": (Grid.of(LISTS), LISTS),
    "table": (Table(3), {"a": [0.0, 0.5, 1.0], "b": [0.0]}),
    "one": (Random(1), FACTORS),
    "rare": (SubsetSimulation("height", 1.9, each=100), FACTORS),
    "never": (SubsetSimulation("height", 9.0, each=50, most_levels=2), FACTORS),
    "refinement": (Refinement("height", 0.5, first=Sobol(128), each=64, most=320), FACTORS),
    "one side": (Refinement("height", 9.0, first=Sobol(32)), FACTORS),
    "converging": (Converging("high", 0.1, quantity="probability", first=200), FACTORS),
    "watched mean": (Converging("height", 0.2, first=100), FACTORS),
    "no factors": (Random(50), {}),
}


@pytest.fixture(scope="module", autouse=True)
def unsynced() -> Generator[None]:
    """Nobody cuts the power here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Campaigns by their design, each run once."""
    made: dict[str, Study] = {}

    def study(name: str) -> Study:
        if name not in made:
            design, factors = DESIGNS[name]
            campaign = Campaign(
                experiment=Bowl(fails_above=0.9),
                factors=factors,
                design=design,
                name=f"{name} <b> & co",
                keep=Keep(highest={"height": 2}, failed=1),
            )
            folder = tmp_path_factory.mktemp("study")
            made[name] = campaign.run(folder, progress=False)
        return made[name]

    return study


@pytest.mark.slow_cases("random", "refinement")
@pytest.mark.parametrize("name", DESIGNS)
def test_the_page_of_every_design_is_whole_and_asks_for_nothing(studies: Any, name: str) -> None:
    study = studies(name)
    text = campaign_page(study, date="2026-01-02")
    page = Page(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    for address in page.addresses:
        assert address.startswith(("#", "data:"))
        assert not address.startswith("#") or address[1:] in page.ids
    assert not re.search(r"url\(|@import", text)
    assert not re.search(r'd="[^"]*(nan|inf)', text)
    for part in (f"{name} <b> & co", "2026-01-02", study.digest(), f"{study.runs}"):
        assert part in page.text
    assert name in study._repr_html_()
    assert len(text) < 1e6
    assert text == campaign_page(study, date="2026-01-02")


def test_of_chosen_runs_nothing_is_called_a_probability(studies: Any) -> None:
    for name, told in (("rare", "subset simulation"), ("refinement", "refinement")):
        page = Page(campaign_page(studies(name))).text
        assert f"no probabilities: the runs of a {told} were chosen by what came out" in page
        assert "confidence." not in page
    assert "were listed, not drawn" in Page(campaign_page(studies("grid"))).text
    assert "no probabilities" not in Page(campaign_page(studies("random"))).text


def test_what_designs_found_is_told(studies: Any) -> None:
    rare = studies("rare").outcome
    page = Page(campaign_page(studies("rare"))).text
    assert f"{rare['probability']:.4g}".replace("-", "−") in page
    assert f"{100.0 * rare['coefficient_of_variation']:.3g} %" in page
    assert "height is at least 1.9 m²" in page
    assert "No run reached the threshold" in Page(campaign_page(studies("never"))).text
    assert "on one side of 9 m²" in Page(campaign_page(studies("one side"))).text
    assert "height crosses 0.5 m²" in Page(campaign_page(studies("refinement"))).text
    found = studies("converging").outcome
    assert (
        f"{found['low']:.4g} to {found['high']:.4g}"
        in Page(campaign_page(studies("converging"))).text
    )


@pytest.mark.parametrize(
    ("name", "column", "other"), [("converging", "high", "failed"), ("watched mean", "height", "")]
)
def test_of_a_column_that_was_watched_there_is_the_interval_of_the_design_alone(
    studies: Any, name: str, column: str, other: str
) -> None:
    """One that is looked at until it is narrow holds less often than it says."""
    study = studies(name)
    page, told = Page(campaign_page(study)).text, Page(study._repr_html_()).text
    values = study[column]
    if other:
        ordinary = [proportion(int(values.sum()), len(values))]
    else:
        known = values[~np.isnan(values)]
        ordinary = [mean_of(known), *(quantile_of(known, share) for share in SHARES)]
    for one in ordinary:
        ends = f"{number_text(one.low)} to {number_text(one.high)}"
        assert ends not in page
        assert ends not in told
        assert number_text(one.value) in page
    assert "nan" not in page + told
    assert f"{column}: the design looked at {column} until it was narrow" in page
    found = study.outcome
    assert f"{number_text(found['low'])} to {number_text(found['high'])}" in page
    if other:  # which nobody watched
        one = study.probability(other)
        assert f"{number_text(one.low)} to {number_text(one.high)}" in page


def test_a_notebook_shows_no_intervals_of_runs_that_were_listed(studies: Any) -> None:
    told = Page(studies("grid")._repr_html_()).text
    assert "confidence" not in told
    assert "probability" not in told


def test_probabilities_and_worst_runs_are_those_of_the_study(studies: Any) -> None:
    study = studies("random")
    page = Page(campaign_page(study, level=0.9)).text
    for name in ("high", "failed"):
        one = study.probability(name, 0.9)
        assert f"{one.low:.4g} to {one.high:.4g}" in page
        assert f"{one.happened} of 400" in page
    assert f"{np.isnan(study['height']).sum()} without" in page
    for case in study.worst("height", 2):
        assert f"{case.run}{case.value:.4g}" in page
    mean = study.mean("height", 0.9)
    assert f"{mean.value:.4g}{mean.low:.4g} to {mean.high:.4g}" in page


def test_a_threshold_is_a_line_on_the_surface(studies: Any) -> None:
    assert 'class="threshold"' in campaign_page(studies("refinement"))
    assert 'class="threshold"' not in campaign_page(studies("random"))


def test_indices_are_shown_of_saltelli_alone(studies: Any) -> None:
    page = campaign_page(studies("saltelli"))
    assert 'id="all-sensitivities"' in page
    assert "samples are left out, since a run of them has no number" in Page(page).text
    assert 'id="all-sensitivities"' not in campaign_page(studies("sobol"))


def test_a_campaign_under_way_has_a_page(tmp_path: Path) -> None:
    campaign = Campaign(experiment=Bowl(stops_at=60), factors=FACTORS, design=Random(70))
    with pytest.raises(KeyboardInterrupt):
        campaign.run(tmp_path, chunk_seconds=1e-7, progress=False)
    study = Study.open(tmp_path)
    assert "under way" in Page(campaign_page(study)).text
    assert "under way" in study_html(study)


def test_a_level_that_cannot_be_meant_writes_nothing(studies: Any, tmp_path: Path) -> None:
    with pytest.raises(sp.InvalidValue, match=r"level = 1\.5"):
        studies("random").report(tmp_path / "page.html", level=1.5)
    assert os.listdir(tmp_path) == []


NUMBERS = st.floats(allow_nan=False, width=64)


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.integers(1, 7))
def test_order_statistics_are_those_of_a_sorted_list(values: list[float], cut: int) -> None:
    ranks = [0, len(values) - 1, len(values) // 3, len(values) // 3]
    pieces = [np.array(values[k : k + cut]) for k in range(0, len(values), cut)]
    found = order_statistics(lambda: pieces, ranks)
    np.testing.assert_array_equal(found, np.sort(values)[ranks])
    assert order_statistics(lambda: pieces, []).size == 0


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([inf, np.nan])), max_size=50))
def test_extents_do_not_depend_on_how_runs_were_cut(values: list[float]) -> None:
    whole, pieces = Extent(), Extent()
    whole.add(np.array(values))
    for k in range(0, len(values), 3):
        pieces.add(np.array(values[k : k + 3]))
    finite = np.array([value for value in values if np.isfinite(value)])
    assert whole.runs == pieces.runs == finite.size
    assert whole.runs + whole.without + whole.infinite == len(values)
    if finite.size > 1:
        assert (pieces.low, pieces.high) == (finite.min(), finite.max())
        assert pieces.mean == pytest.approx(finite.mean(), rel=1e-9, abs=1e-6)
        assert pieces.std == pytest.approx(finite.std(ddof=1), rel=1e-6, abs=1e-6)


def test_a_distribution_is_that_of_the_study(studies: Any) -> None:
    for name in ("random", "saltelli", "sobol"):
        study = studies(name)
        found: Any = spread_of(study, "height", 0.95)
        assert found.quantiles == tuple(study.quantile("height", share) for share in SHARES)
        assert found.mean[:3] == pytest.approx(study.mean("height")[:3])
        assert found.extent.without > 0
        assert found.counts.sum() + found.below + found.above == found.mean.runs


@dataclass(frozen=True)
class Steep(Bowl):
    """y = 10 a and noise that grows with b; one run in a hundred is far out; `up` is a > 0."""

    def columns(self) -> tuple[Column, ...]:
        return (Column("y", "m"), Column("same"), Column("up", kind="truth"))

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        a, b = (rows.factors[name] for name in "ab")
        y = 10.0 * a + b * np.sin(1e4 * (rows.runs + 1.0)) + 1e7 * (rows.runs % 100 == 99)
        none = np.zeros(len(a), bool)
        return {"y": y, "same": np.ones(len(a)), "up": a > 0.0, "failed": none}


@pytest.fixture(scope="module")
def steep(tmp_path_factory: pytest.TempPathFactory) -> Study:
    campaign = Campaign(experiment=Steep(), factors=FACTORS, design=Random(20_000))
    return campaign.run(tmp_path_factory.mktemp("steep"), progress=False)


def test_runs_far_out_leave_the_others_in_sight_and_are_told_of(steep: Study) -> None:
    found: Any = spread_of(steep, "y", 0.95)
    assert found.above == 200
    assert found.edges[-1] < 100.0
    page = Page(campaign_page(steep)).text
    assert "200 runs further right" in page
    assert "same" in page


@dataclass(frozen=True)
class Endless(Bowl):
    """The height, and times of which some or all are infinite, or none is a number."""

    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, "s") for name in ("some", "all", "none", "huge"))

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        a = rows.factors["a"]
        endless, none = np.full(len(a), inf), np.full(len(a), np.nan)
        some = np.where(a > 0.5, inf, a)
        huge = np.where(a < 0.0, 1.7e308 * np.sin(100.0 * a), a)
        failed = np.zeros(len(a), bool)
        return {"some": some, "all": endless, "none": none, "huge": huge, "failed": failed}


def test_infinite_numbers_are_counted(tmp_path: Path) -> None:
    campaign = Campaign(experiment=Endless(), factors=FACTORS, design=Random(200))
    study = campaign.run(tmp_path, progress=False)
    found: Any = spread_of(study, "some", 0.95)
    assert found.quantiles == tuple(study.quantile("some", share) for share in SHARES)
    assert found.mean == study.mean("some")
    page = campaign_page(study)
    assert f"{np.isinf(study['some']).sum()} infinite" in page
    assert "Without a finite number: all, none" in page
    assert f"{(study['a'] < 0.0).sum()} infinite" in page
    assert not re.search(r'd="[^"]*(nan|inf)', page)
    study_html(study)


def test_a_response_follows_its_factor_and_knows_the_strongest(steep: Study) -> None:
    extents = totals_of(steep, 0).extents
    bins: Any = {name: bins_of(factor, extents[name], 20) for name, factor in FACTORS.items()}
    views = {"y": (-12.0, 12.0), "up": (0.0, 1.0)}
    found = responses_of(steep, views, bins, 0.95)
    assert [one.column + one.factor for one in found] == ["ya", "yb", "upa", "upb"]
    over = {(one.column, one.factor): one for one in found}
    line = over["y", "a"]
    assert line.runs.sum() == 20_000
    middle = 0.5 * (line.low + line.high)
    np.testing.assert_allclose(middle[1:-1], 10.0 * line.bins.centres[1:-1], atol=0.25)
    up = over["up", "a"]
    assert line.strength > 0.9
    assert up.strength > 0.9 > 0.01 > over["up", "b"].strength
    np.testing.assert_array_equal(up.mean[[0, -1]], [0.0, 1.0])
    assert (up.low <= up.mean).all()
    assert (up.mean <= up.high).all()


def test_a_surface_has_the_means_of_its_cells(steep: Study) -> None:
    extents = totals_of(steep, 0).extents
    bins: Any = {name: bins_of(factor, extents[name], 4) for name, factor in FACTORS.items()}
    (found,) = surfaces_of(steep, {"up": ("a", "b")}, bins)
    a, b, up = steep["a"], steep["b"], steep["up"]
    cell = (bins["b"].place(b) == 1) & (bins["a"].place(a) == 2)
    assert found.mean[1, 2] == pytest.approx(up[cell].mean())
    assert found.mean.shape == (4, 4)


def test_sampled_runs_are_runs(steep: Study) -> None:
    some = sampled_runs(steep, ["a", "y"], 20_000, 300)
    assert len(some["a"]) == len(np.unique(some["a"])) == 300
    at = {float(a): k for k, a in enumerate(steep["a"])}
    kept = steep["y"][[at[float(a)] for a in some["a"]]]
    np.testing.assert_array_equal(kept, some["y"])


def test_a_contour_is_where_a_plane_and_a_circle_have_the_height() -> None:
    x, y = np.linspace(-1.0, 1.0, 41), np.linspace(-1.0, 1.0, 31)
    pieces = contour(x, y, x[None, :] + 2.0 * y[:, None], 0.5)
    assert len(pieces) > 20
    for ends in pieces:
        for a, b in ends:
            assert a + 2.0 * b == pytest.approx(0.5)
    circle = contour(x, y, x[None, :] ** 2 + y[:, None] ** 2, 0.5)
    length = sum(np.hypot(b[0] - a[0], b[1] - a[1]) for a, b in circle)
    assert length == pytest.approx(2.0 * np.pi * np.sqrt(0.5), rel=0.01)
    gap = np.where((np.abs(x[None, :]) < 0.2) & (y[:, None] < 2.0), np.nan, x[None, :])
    assert contour(x, y, gap, 5.0) == []
    assert contour(x[:1], y, gap[:, :1], 0.0) == []


@pytest.mark.slow_cases("200000")
@pytest.mark.parametrize("runs", [20_000, 200_000])
def test_memory_and_page_do_not_grow_with_the_runs(
    runs: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("many")
    study = Campaign(experiment=Bowl(), factors=FACTORS, design=Random(runs)).run(
        folder, progress=False
    )
    campaign_page(study)
    tracemalloc.start()
    try:
        page = campaign_page(study)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(page) < 200_000
    assert peak < 80e6  # a part of 2^16 runs, and 16 bits of twenty ranks


@dataclass(frozen=True)
class Wide(Bowl):
    """Twenty numbers and ten truths of fifteen factors."""

    def factor_units(self) -> Mapping[str, str]:
        return {f"factor_{k}": "m/s" for k in range(15)}

    def columns(self) -> tuple[Column, ...]:
        numbers = [Column(f"number_{k}", "m", "What it is. " * 5) for k in range(20)]
        return (*numbers, *(Column(f"truth_{k}", kind="truth") for k in range(10)))

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        f = np.stack(list(rows.factors.values()))
        numbers = {f"number_{k}": np.sin(k * f[k % 15]) + f[0] for k in range(20)}
        truths = {f"truth_{k}": f[k] > 0.5 for k in range(10)}
        return {**numbers, **truths, "failed": np.zeros(f.shape[1], bool)}


@pytest.mark.slow
def test_a_page_of_many_columns_and_factors_stays_small(tmp_path: Path) -> None:
    factors = {f"factor_{k}": Range(0.0, 1.0) for k in range(15)}
    campaign = Campaign(experiment=Wide(), factors=factors, design=Random(2000))
    page = campaign_page(campaign.run(tmp_path, progress=False))
    assert len(page.encode()) < 3e6
    assert "Not drawn: number_12" in page
    assert "Over others, less: factor_" in page


@cache
def drive() -> sp.study.Drive:
    """A car in a bend, compiled once."""
    return sp.study.Drive(
        sp.vehicles.single_track(),
        duration=1.0,
        dt=0.02,
        x0={"v_x": 10.0},
        controls={"steer": 0.05},
        metrics={"off": sp.study.metrics.highest("abs(y)")},
    )


def cars(**settings: Any) -> Mapping[str, Any]:
    return {"experiment": drive(), "factors": {"x0.v_x": Range(5.0, 15.0)}, **settings}


def test_the_page_shows_charts_and_plays_runs(browser: Any, tmp_path: Path) -> None:
    """In a browser, at the width of a screen and of a telephone, light and dark."""
    keep = Keep(highest={"off": 2}, random=1)
    study = Campaign(**cars(design=Sobol(64), keep=keep, name="turns")).run(
        tmp_path / "folder", progress=False
    )
    study.report(tmp_path / "page.html")
    worst = study.worst("off", 2)[1].run
    for width, scheme in ((1400, "light"), (400, "dark")):
        screen = {"width": width, "height": 900}
        shown = CHROMIUM.empty_page(viewport=screen, color_scheme=scheme)
        with shown as page, complaints(page) as said:
            page.goto((tmp_path / "page.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("svg.chart").count() >= 2
            page.locator(f"tr:has(th:text-is('{worst}')) a.play").first.click()
            frame = page.frame_locator("#replay-frame")
            frame.locator("#title", has_text=f"turns: run {worst}").wait_for()
            assert said == []


_WIDER = """() => [...document.querySelectorAll(".scroll")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.textContent)"""
_CUT_OFF = """() => [...document.querySelectorAll("svg.chart text")].filter(text => {
    const chart = text.closest("svg.chart"), seen = getComputedStyle(chart).overflow == "visible";
    const box = (seen ? text.closest("section") : chart).getBoundingClientRect();
    const own = text.getBoundingClientRect();
    return own.left < box.left || own.right > box.right;
}).map(text => text.textContent)"""


@pytest.mark.slow
def test_nothing_is_cut_off_at_any_width(browser: Any, tmp_path: Path) -> None:
    metrics = {
        f"{name}_of_the_whole_drive": sp.study.metrics.highest(f"{scale} * y")
        for name, scale in (("offset", -1.0), ("small_offset", -1e-3), ("large_offset", -1e6))
    }
    factors = {"x0.v_x": Range(5.0, 15.0), "m": Normal(1234.5, 123.45, 1000.0, 1500.0)}
    drive = replace(cars()["experiment"], metrics=metrics)
    campaign = Campaign(experiment=drive, factors=factors, design=Random(256))
    campaign.run(tmp_path / "folder", progress=False).report(tmp_path / "page.html")
    for width in (1400, 400):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto((tmp_path / "page.html").as_uri())
        assert page.evaluate(_WIDER) == []
        assert page.evaluate(_CUT_OFF) == []
        page.close()


def test_a_folder_alone_knows_what_was_driven(tmp_path: Path) -> None:
    campaign = Campaign(**cars(design=Random(3), keep=Keep(random=1)))
    campaign.run(tmp_path / "folder", progress=False)
    assert 'id="film-0"' in campaign_page(Study.open(tmp_path / "folder"))
    assert "film-0" not in campaign_page(Study.open(tmp_path / "folder"), replay=False)


def test_a_film_ends_where_a_run_diverged_and_takes_the_vehicle_it_names(tmp_path: Path) -> None:
    campaign = Campaign(**cars(design=Random(3)))
    study = campaign.run(tmp_path / "folder", progress=False)
    run = study.replay(1)
    vehicle = sp.vehicles.single_track()
    states = np.stack([run[name] for name in sp.core.record.names(vehicle.State)], axis=1)
    inputs = np.stack([run[f"u_{name}"] for name in sp.core.record.names(vehicle.Input)], axis=1)
    for number, end in ((0, 1), (1, 20)):
        lost = np.where(np.arange(len(run))[:, None] < end, states, np.nan)
        kept = sp.Trajectory.from_arrays(
            run.t, (vehicle.State, lost), (vehicle.Input, inputs), name=vehicle.name
        )
        with Folder.open(tmp_path / "folder", write=True) as folder:
            folder.write_trajectory(number, kept)
    alone = Study.open(tmp_path / "folder")
    alone.plan["experiment"].pop("vehicle")
    groups = case_groups(alone, totals_of(alone, 0))
    assert list(films_of(alone, groups)) == [1]
