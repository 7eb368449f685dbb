"""Summaries: those of the study in plain values, for any design and before the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.study import Campaign, InProcess, Random, Range, Study
from skidpad.study.campaign import state_of, summary_of

from .small_experiments import Bowl


@dataclass(frozen=True)
class OwnDesign(Random):
    """One that only its author knows."""

    def identity(self) -> dict[str, Any]:
        return {"kind": "own", "runs": self.runs}


def bowl(design: Any = None, **settings: Any) -> Campaign:
    factors = {"a": Range(0.0, 1.0)}
    return Campaign(experiment=Bowl(**settings), factors=factors, design=design or Random(600))


def test_a_summary_is_the_study_in_plain_values(tmp_path: Path) -> None:
    study = bowl(fails_above=0.5).run(tmp_path / "runs", progress=False)
    summary = json.loads(json.dumps(summary_of(study), allow_nan=False))
    height = summary["numbers"]["height"]
    assert height["runs"] == 600 - len(study.failed()) == 600 - summary["failed"]
    for share, told in height["quantiles"].items():
        assert told["value"] == study.quantile("height", float(share)).value
    assert height["highest"] == np.nanmax(study["height"])
    assert summary["truths"]["failed"]["value"] == study.probability("failed").value
    assert summary["bytes"] == sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file())


def test_designs_of_ones_own(tmp_path: Path) -> None:
    study = bowl(OwnDesign(50)).run(tmp_path / "runs", progress=False)
    summary = summary_of(Study.open(study.folder.path))
    assert (summary["runs"], summary["most"], summary["finished"]) == (50, 50, True)


def test_a_campaign_that_was_stopped(tmp_path: Path) -> None:
    """Says how far it is, and is summed up as far as that."""
    with pytest.raises(KeyboardInterrupt):
        bowl(stops_at=300).run(tmp_path / "runs", engine=InProcess(), progress=False)
    study = Study.open(tmp_path / "runs")
    state = state_of(study)
    assert (state["runs"], state["most"], state["finished"]) == (256, 600, False)
    assert state["digest"] == study.digest()
    assert summary_of(study)["numbers"]["height"]["runs"] == 256


def test_before_the_first_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        bowl(stops_at=0).run(tmp_path / "runs", engine=InProcess(), progress=False)
    summary = json.loads(json.dumps(summary_of(Study.open(tmp_path / "runs")), allow_nan=False))
    assert summary["runs"] == 0
    assert summary["numbers"]["height"]["highest"] is None
