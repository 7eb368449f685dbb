"""Sobol indices of campaigns against closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.arrays import AnyArray
from skidpad.random.factors import Range
from skidpad.study.campaign import Campaign
from skidpad.study.designs import Random, Saltelli
from skidpad.study.experiment import Column, Resources, Rows
from skidpad.study.results import Study
from study.small_experiments import Bowl

A, B = 7.0, 0.1
V_1 = 0.5 * (1.0 + B * np.pi**4 / 5.0) ** 2
V_2 = A**2 / 8.0
V_13 = B**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
ISHIGAMI = np.array([V_1, V_2, 0.0]), np.array([V_1 + V_13, V_2, V_13])
"""Parts of the variance: T. Ishigami and T. Homma, ISUMA '90, 1990."""
WEIGHTS = np.array([1.0, 2.0, -3.0])


@dataclass(frozen=True)
class Functions(Bowl):
    """Functions of three factors; runs fail where the third is above `fails_above`."""

    def factor_units(self) -> Mapping[str, str]:
        return {"x": "", "y": "", "z": ""}

    def columns(self) -> tuple[Column, ...]:
        return (Column("ishigami"), Column("linear"), Column("same"), Column("up", kind="truth"))

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        if self.stops_at in rows.runs:
            raise KeyboardInterrupt
        x, y, z = (rows.factors[name] for name in "xyz")
        failed = z > self.fails_above
        ishigami = np.sin(x) + A * np.sin(y) ** 2 + B * z**4 * np.sin(x)
        return {
            "ishigami": np.where(failed, np.nan, ishigami),
            "linear": WEIGHTS @ np.stack([x, y, z]) + 100.0,
            "same": np.full_like(x, 2.0),
            "up": x > 0.0,
            "failed": failed,
        }


def study_of(folder: Path, design: Any, seconds: float = 1.0, **settings: Any) -> Study:
    factors = {name: Range(-np.pi, np.pi) for name in "xyz"}
    settings.setdefault("fails_above", 9.0)
    campaign = Campaign(experiment=Functions(**settings), factors=factors, design=design)
    return campaign.run(folder, chunk_seconds=seconds, progress=False)


@pytest.fixture(scope="module", params=[False, True], ids=["first", "second"])
def study(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Study:
    return study_of(tmp_path_factory.mktemp("study"), Saltelli.of(2048, 3, request.param))


def check(found: Any, first: Any, total: Any) -> None:
    for value, low, high, truth in (
        (found.first, found.first_low, found.first_high, first),
        (found.total, found.total_low, found.total_high, total),
    ):
        np.testing.assert_allclose(value, truth, atol=0.03)
        # Sobol points are far more even than the bootstrap knows.
        assert ((low <= truth) & (truth <= high)).all()
        assert (high - low < 0.3).all()


def test_the_function_of_ishigami(study: Study) -> None:
    total = V_1 + V_2 + V_13
    found = study.sensitivity("ishigami")
    check(found, ISHIGAMI[0] / total, ISHIGAMI[1] / total)
    assert found.factors == ("x", "y", "z")
    assert (found.samples, found.left_out) == (2048, 0)


def test_a_linear_function_shares_its_variance_by_squares(study: Study) -> None:
    share = WEIGHTS**2 / (WEIGHTS**2).sum()
    check(study.sensitivity("linear"), share, share)


def test_what_is_true_or_false_has_indices(study: Study) -> None:
    check(study.sensitivity("up"), [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])


def test_intervals_are_the_same_each_time_and_wider_for_more_confidence(study: Study) -> None:
    first, again = study.sensitivity("linear"), study.sensitivity("linear")
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    wide = study.sensitivity("linear", 0.99)
    ratio = (wide.first_high - wide.first) / (first.first_high - first.first)
    np.testing.assert_allclose(ratio, 2.5758293 / 1.9599640, rtol=1e-6)


def test_samples_in_which_a_run_has_no_number_are_left_out_and_told_of(tmp_path: Path) -> None:
    found = study_of(tmp_path, Saltelli.of(512, 3), fails_above=2.8).sensitivity("ishigami")
    assert found.samples + found.left_out == 512
    assert 0.02 * 512 < found.left_out < 0.25 * 512  # one or both of two values of z are above
    assert f"{found.samples} samples, {found.left_out} left out" in str(found)
    assert np.isfinite(np.concatenate(found[1:7])).all()


@pytest.mark.slow
def test_a_campaign_under_way_has_indices_of_what_is_there(tmp_path: Path) -> None:
    whole = study_of(tmp_path / "whole", Saltelli.of(512, 3))
    with pytest.raises(KeyboardInterrupt):
        study_of(tmp_path / "part", Saltelli.of(512, 3), 1e-7, stops_at=1501)
    found = Study.open(tmp_path / "part").sensitivity("linear")
    assert 2 <= found.samples < 512
    assert whole.sensitivity("linear").samples == 512


@pytest.mark.parametrize(
    ("name", "level", "words"),
    [
        ("same", 0.95, "same = 2 in all runs: there is no variance"),
        ("linaer", 0.95, "linear"),
        ("x", 0.95, "'x'"),
        ("linear", 1.0, "level = 1.0"),
    ],
)
def test_what_has_no_indices_says_why(study: Study, name: str, level: float, words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        study.sensitivity(name, level)


def test_other_designs_have_no_indices(tmp_path: Path) -> None:
    with pytest.raises(sp.InvalidValue, match=r"'random'.*Saltelli"):
        study_of(tmp_path, Random(20)).sensitivity("linear")
