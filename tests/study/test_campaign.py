"""Campaigns: what is in the folder depends on the plan alone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.random.factors import Range
from skidpad.study.adaptive import Refinement, SubsetSimulation
from skidpad.study.campaign import Campaign
from skidpad.study.designs import Grid, Random, Sobol
from skidpad.study.engines import InProcess, Processes
from skidpad.study.experiment import Resources
from skidpad.study.folder import Folder, Keep, PlanChanged
from skidpad.study.results import Study
from study.small_experiments import Bowl

FACTORS = {"a": Range(-1.0, 1.0), "b": Range(0.0, 1.0)}
DESIGNS: dict[str, Any] = {
    "random": Random(700),
    "sobol": Sobol(256),
    "refinement": Refinement(first=Sobol(64), column="height", threshold=0.5, each=48, most=160),
    "rare": SubsetSimulation("height", 1.9, each=200),
}


def bowl(design: Any = DESIGNS["random"], **settings: Any) -> Campaign:
    keep = settings.pop("keep", Keep())
    factors = settings.pop("factors", FACTORS)
    seed = settings.pop("seed", 4)
    return Campaign(
        experiment=Bowl(**settings), factors=factors, design=design, seed=seed, keep=keep
    )


@pytest.mark.slow_cases("random")
@pytest.mark.parametrize("name", DESIGNS)
def test_how_it_was_cut_does_not_show(name: str, tmp_path: Path) -> None:
    whole = bowl(DESIGNS[name]).run(tmp_path / "whole", progress=False)
    tiny = bowl(DESIGNS[name]).run(tmp_path / "tiny", chunk_seconds=1e-7, progress=False)
    assert len(list((tmp_path / "tiny").rglob("part-*"))) >= 1
    assert tiny.digest() == whole.digest()
    assert tiny.outcome == whole.outcome
    assert whole.finished
    np.testing.assert_array_equal(whole["run"], np.arange(whole.runs))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_stop_loses_the_chunk_under_way_and_nothing_else(name: str, tmp_path: Path) -> None:
    design = DESIGNS[name]
    undisturbed = bowl(design).run(tmp_path / "undisturbed", progress=False)
    runs = 0
    for stop in (20, 70, 150):
        with pytest.raises(KeyboardInterrupt, match="again to continue"):
            bowl(design, stops_at=stop).run(
                tmp_path / "stopped", chunk_seconds=1e-7, progress=False
            )
        study = Study.open(tmp_path / "stopped")
        assert not study.finished
        assert runs <= study.runs <= stop
        runs = study.runs
    went_on = bowl(design).run(tmp_path / "stopped", progress=False)
    assert went_on.digest() == undisturbed.digest()
    assert went_on.outcome == undisturbed.outcome


def test_processes_give_the_bits_of_one_process(tmp_path: Path) -> None:
    one = bowl().run(tmp_path / "one", progress=False)
    several = bowl(threaded=False)
    assert several.run(tmp_path / "two", workers=2, progress=False).digest() == one.digest()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_worker_that_dies_is_replaced(workers: int, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.touch()
    campaign = bowl(dies_once=str(poison))
    study = campaign.run(tmp_path / "folder", engine=Processes(workers), progress=False)
    assert not poison.exists()
    assert study.digest() == bowl().run(tmp_path / "other", progress=False).digest()


KILLED = """
import sys
from study.test_campaign import bowl
bowl(pause=0.1).run(sys.argv[1], chunk_seconds=1e-7, progress=False)
"""
LOOK = 0.01
"""Time in s between two looks at what a process does."""


def test_kill_9_and_resume(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "killed")],
        env={**__import__("os").environ, "PYTHONPATH": f"{tests.parent / 'src'}:{tests}"},
    )
    while child.poll() is None:
        parts = list((tmp_path / "killed").rglob("part-*.parquet"))
        if len(parts) >= 3:
            child.kill()
            break
        time.sleep(LOOK)
    child.wait()
    done = Study.open(tmp_path / "killed").runs
    assert 0 < done < 700
    again = bowl().run(tmp_path / "killed", progress=False)
    assert again.digest() == bowl().run(tmp_path / "whole", progress=False).digest()


def test_a_changed_plan_is_refused_with_what_changed(tmp_path: Path) -> None:
    before = bowl().run(tmp_path, progress=False).digest()
    for other, words in (
        (bowl(factors={**FACTORS, "b": Range(0.0, 2.0)}), r"factors\.b"),
        (bowl(seed=5), "seed is 4 in the folder and 5 now"),
        (bowl(fails_above=0.5), r"experiment\.fails_above"),
        (bowl(Sobol(512)), "design"),
        (bowl(Random(600)), r"design\.runs is 700 in the folder and 600 now"),
    ):
        with pytest.raises(PlanChanged, match=words):
            other.run(tmp_path, progress=False)
    assert Study.open(tmp_path).digest() == before


def test_more_runs_and_more_columns_extend_it(tmp_path: Path) -> None:
    bowl().run(tmp_path / "grown", progress=False)
    grown = bowl(Random(900), columns_more=("again",)).run(tmp_path / "grown", progress=False)
    fresh = bowl(Random(900), columns_more=("again",)).run(tmp_path / "fresh", progress=False)
    assert grown.runs == 900
    assert grown.digest() == fresh.digest()
    np.testing.assert_array_equal(grown["again"], grown["a"])


def test_chosen_runs_are_kept_whole(tmp_path: Path) -> None:
    keep = Keep(highest={"height": 3}, lowest={"height": 2}, random=4, failed=5)
    study = bowl(keep=keep, fails_above=0.9).run(tmp_path, progress=False)
    kept = study.folder.trajectories
    for case in (*study.worst("height", 3), *study.worst("height", 2, lowest=True)):
        assert case.run in kept
        assert study.folder.trajectory(case.run)["height"][-1] == case.value
    assert set(study.failed()[:5]) <= set(kept)
    assert 10 <= len(kept) <= 14
    assert len(study.failed()) == np.isnan(study["height"]).sum() > 5


def test_a_replay_is_the_run_or_says_that_the_code_changed(tmp_path: Path) -> None:
    campaign = bowl()
    study = campaign.run(tmp_path, progress=False)
    worst = study.worst("height", 1)[0]
    assert study.replay(worst)["height"][-1] == worst.value
    other = Study(Folder.open(tmp_path), bowl(fails_above=-5.0))
    with pytest.raises(sp.InvalidValue, match=f"run {worst.run}: .* the code"):
        other.replay(worst)
    with pytest.raises(sp.InvalidValue, match="run = 700 is not in "):
        study.replay(700)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bowl(factors={"c": Range(0.0, 1.0)}), "'c'"),
        (lambda: bowl(factors={"a": Range(-20.0, 1.0)}), "a = -20.0 must be at least -10"),
        (lambda: bowl(factors={"a": "wide"}), "'wide'"),
        (lambda: bowl(keep=Keep(highest={"heigth": 3})), "height"),
        (lambda: bowl(keep=Keep(highest={"high": 3})), "height"),
        (lambda: bowl(SubsetSimulation("hight", 1.0)), "height"),
        (lambda: bowl(seed=-1), "seed"),
        (lambda: bowl(SubsetSimulation("high", 0.5)), "column = 'high' is boolean.*height"),
        (lambda: bowl(columns_more=("a",)), "column 'a' is the name of a factor"),
        (lambda: bowl(columns_more=("high",)), "column 'high': there is another"),
        (lambda: bowl(columns_more=("run",)), "column 'run'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_it_starts(make: Any, words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        make()


def test_engines_are_checked(tmp_path: Path) -> None:
    with pytest.raises(sp.InvalidValue, match="local, cuda, ray"):
        bowl().run(tmp_path / "none", engine="spark")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("before", "after"), [(Sobol(64), Sobol(128)), (Random(90), Random(91))])
def test_what_is_kept_does_not_depend_on_what_was_there_before(
    before: Any, after: Any, tmp_path: Path
) -> None:
    keep = Keep(highest={"height": 2}, random=3)
    bowl(before, keep=keep).run(tmp_path / "grown", progress=False)
    grown = bowl(after, keep=keep).run(tmp_path / "grown", progress=False)
    fresh = bowl(after, keep=keep).run(tmp_path / "fresh", progress=False)
    assert grown.folder.trajectories == fresh.folder.trajectories
    fewer = bowl(after, keep=Keep(lowest={"height": 1})).run(tmp_path / "grown", progress=False)
    assert fewer.folder.trajectories == (fewer.worst("height", 1, lowest=True)[0].run,)


@pytest.mark.slow_cases("keep1-design3", "keep0-design3", "keep1-design2", "keep1-design4")
@pytest.mark.parametrize("design", [Random(1), Random(5), Random(300), Random(3000), Sobol(64)])
@pytest.mark.parametrize("keep", [Keep(), Keep(random=40)])
def test_no_campaign_is_larger_than_it_was_said_to_be(
    design: Any, keep: Keep, tmp_path: Path
) -> None:
    """Nor where it is cut into the smallest parts, of all files in the folder."""
    campaign = bowl(design, keep=keep)
    said = campaign.estimate().bytes
    for seconds in (4.0, 1e-7):
        folder = tmp_path / str(seconds)
        campaign.run(folder, engine=InProcess(), chunk_seconds=seconds, progress=False)
        assert sum(one.stat().st_size for one in folder.rglob("*") if one.is_file()) <= said


def test_whole_runs_need_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are kept are what a campaign of few runs is mostly made of."""
    keep = Keep(random=50)
    alone, more = (bowl(Random(50), keep=one).estimate().bytes for one in (Keep(), keep))
    assert more > alone + 50 * 2 * 5 * 8
    room = SimpleNamespace(free=(alone + more) // 2)
    monkeypatch.setattr("shutil.disk_usage", lambda _: room)
    bowl(Random(50)).run(tmp_path / "alone", progress=False)
    with pytest.raises(sp.InvalidValue, match=r"50 runs take up to .* are free"):
        bowl(Random(50), keep=keep).run(tmp_path / "kept", progress=False)


def test_the_estimate_knows_runs_and_bytes(tmp_path: Path) -> None:
    campaign = bowl(Random(50_000))
    estimate = campaign.estimate(Resources(threads=1))
    assert estimate.runs == 50_000
    study = campaign.run(tmp_path, engine=InProcess(Resources(threads=1)), progress=False)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.parquet"))
    assert 0.3 * estimate.bytes < size <= estimate.bytes
    assert study.runs == 50_000


def test_a_grid_has_every_combination(tmp_path: Path) -> None:
    factors: dict[str, Any] = {"a": [0.0, 0.5, 1.0], "b": {"steps": [0.0, 1.0, 5]}}
    made = Campaign(experiment=Bowl(), factors=factors, design=Grid.of(factors))
    study = made.run(tmp_path, progress=False)
    assert study.runs == 15
    pairs = set(zip(study["a"].tolist(), study["b"].tolist(), strict=True))
    assert pairs == {(a, b) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.25, 0.5, 0.75, 1.0)}
