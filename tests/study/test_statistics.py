"""Means and quantiles with intervals: against SciPy, by coverage, at the edges."""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import skidpad as sp
from skidpad.study.adaptive import Converging, Refinement, SubsetSimulation
from skidpad.study.campaign import summary_of
from skidpad.study.designs import Grid, Random, Saltelli, Sobol, Table
from skidpad.study.results import mean_of, quantile_of
from study.test_campaign import bowl

VALUES = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0])


def test_a_mean_has_the_interval_of_student() -> None:
    found = mean_of(VALUES, 0.9)
    low, high = stats.t.interval(0.9, len(VALUES) - 1, VALUES.mean(), stats.sem(VALUES))
    assert found[:3] == pytest.approx((VALUES.mean(), low, high))
    assert (found.runs, found.level) == (7, 0.9)
    assert str(found).endswith("with 90% confidence; 7 runs)")


def test_a_quantile_lies_within_its_interval_which_holds_the_truth_often_enough() -> None:
    draws = np.random.default_rng(3).exponential(size=(800, 60))
    truth = stats.expon.ppf(0.8)
    found = [quantile_of(row, 0.8, 0.9) for row in draws]
    assert all(one.low <= one.value <= one.high for one in found)
    held = sum(one.low <= truth <= one.high for one in found)
    assert stats.binomtest(held, len(found), 0.9, "less").pvalue > 1e-4
    assert held < len(found)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.floats(0.0, 1.0))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    found = quantile_of(np.array(values), share)
    expected = np.clip(np.quantile(values, share), found.low, found.high)
    assert found.value == pytest.approx(float(expected), rel=1e-9, abs=1e-6)
    if 1.0 <= share * len(values) <= len(values) - 1.0:
        assert expected == pytest.approx(float(np.quantile(values, share)))


def test_one_run_says_nothing_of_others() -> None:
    for found in (mean_of(VALUES[:1]), quantile_of(VALUES[:1], 0.5)):
        assert found[:3] == (3.0, -inf, inf)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_of_all_runs_have_one_end(share: float) -> None:
    found = quantile_of(VALUES, share)
    assert found.value == (VALUES.max() if share else VALUES.min())
    assert (found.high if share else found.low) == (inf if share else -inf)


def test_infinite_values_are_values() -> None:
    values = np.array([1.0, 2.0, inf, inf, inf])
    assert quantile_of(values, 0.9).value == inf
    assert quantile_of(values, 0.25).value == 2.0
    assert mean_of(values)[:3] == (inf, -inf, inf)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_of(np.empty(0)), "no run has a number"),
        (lambda: quantile_of(np.empty(0), 0.5), "no run has a number"),
        (lambda: quantile_of(VALUES, 1.5), "share = 1.5 must be from 0 to 1"),
        (lambda: quantile_of(VALUES, nan), "share"),
        (lambda: mean_of(VALUES, 1.0), "level = 1.0"),
        (lambda: quantile_of(VALUES, 0.5, 0.0), "level = 0.0"),
    ],
)
def test_what_cannot_be_meant_is_refused(call: Any, words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        call()


@pytest.mark.slow
def test_a_study_leaves_out_runs_without_a_number(tmp_path: Path) -> None:
    study = bowl(Random(400), fails_above=0.5).run(tmp_path, progress=False)
    known = study["height"][~np.isnan(study["height"])]
    assert 0 < known.size < 400
    assert study.mean("height") == mean_of(known)
    assert study.quantile("height", 0.3) == quantile_of(known, 0.3)
    assert study.probability("failed").happened == 400 - known.size
    with pytest.raises(sp.InvalidValue, match="height is a number; probabilities are of high"):
        study.probability("height")
    with pytest.raises(sp.InvalidValue, match=r"'hight'.*height"):
        study.mean("hight")


@pytest.mark.parametrize(
    "design",
    [
        SubsetSimulation("height", 1.5, each=50),
        Refinement("height", 0.5, first=Sobol(64), each=32, most=96),
    ],
)
def test_runs_that_were_chosen_stand_for_nothing(design: Any, tmp_path: Path) -> None:
    study = bowl(design).run(tmp_path, progress=False)
    for ask in (study.mean, study.probability, lambda name: study.quantile(name, 0.5)):
        with pytest.raises(sp.InvalidValue, match="chosen by what came out"):
            ask("high")


def test_runs_that_were_listed_count_alike(tmp_path: Path) -> None:
    factors = {"a": [0.0, 0.5], "b": [0.0, 1.0]}
    study = bowl(Grid.of(factors), factors=factors).run(tmp_path, progress=False)
    assert study.mean("height").value == pytest.approx(study["height"].mean())


GRID = {"a": [0.0, 0.5, 1.0], "b": [0.0, 1.0, 2.0]}


@pytest.mark.parametrize("design", [Grid.of(GRID), Table.of(GRID)])
def test_runs_that_were_listed_have_no_intervals(design: Any, tmp_path: Path) -> None:
    """Whoever lists others gets another mean, as certainly: nothing is estimated."""
    study = bowl(design, factors=GRID).run(tmp_path, progress=False)
    numbers = (study.mean("height"), study.quantile("height", 0.5), study.probability("high"))
    for found, value in zip(
        numbers,
        (study["height"].mean(), np.median(study["height"]), study["high"].mean()),
        strict=True,
    ):
        assert found.value == pytest.approx(value)
        assert np.isnan([found.low, found.high]).all()
        assert "no interval: the runs of a" in str(found)
        assert "listed, not drawn" in str(found)
    summary = json.loads(json.dumps(summary_of(study), allow_nan=False))
    assert "listed, not drawn" in summary["caution"]
    assert summary["numbers"]["height"]["mean"]["low"] is None
    assert summary["truths"]["high"]["high"] is None


def test_of_a_converging_design_the_interval_that_holds_is_its_own(tmp_path: Path) -> None:
    design = Converging("height", 0.1, first=100, most=2000)
    study = bowl(design, columns_more=("more",)).run(tmp_path, progress=False)
    found = study.mean("height")
    assert found.value == pytest.approx(study.outcome["value"])
    assert np.isnan([found.low, found.high]).all()
    assert "the one that holds is its own" in str(found)
    assert study.mean("more").low < study.mean("more").value


def test_of_saltelli_blocks_independent_runs_count(tmp_path: Path) -> None:
    study = bowl(Saltelli.of(64, 2)).run(tmp_path, progress=False)
    blocks = study["height"].reshape(64, 4)
    assert study.mean("height") == mean_of(blocks[:, [0, 3]].ravel())
    assert study.probability("high").runs == 128


@pytest.mark.slow
def test_worst_runs_are_those_of_a_sorted_column(tmp_path: Path) -> None:
    study = bowl(Random(500), fails_above=0.5).run(tmp_path, chunk_seconds=1e-7, progress=False)
    order = np.argsort(-study["height"], kind="stable")
    assert [case.run for case in study.worst("height", 7)] == order[:7].tolist()
    lowest = study.worst("height", 3, lowest=True)
    assert [case.value for case in lowest] == np.sort(study["height"])[:3].tolist()
    assert study.worst("height", 0) == ()
    known = int((~np.isnan(study["height"])).sum())
    assert len(study.worst("height", 1000)) == known
