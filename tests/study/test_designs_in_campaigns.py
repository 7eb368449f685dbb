"""All designs in campaigns: what is in the folder does not depend on how it came there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skidpad.study import (
    Converging,
    Grid,
    LatinHypercube,
    Refinement,
    Saltelli,
    Sobol,
    SubsetSimulation,
)
from skidpad.study.campaign import Campaign, table_of
from skidpad.study.designs import Design
from study.small_experiments import Bowl

FACTORS: dict[str, Any] = {"a": {"range": [0, 1]}, "b": {"normal": {"mean": 0, "std": 0.1}}}
LISTS: dict[str, Any] = {"a": {"steps": [0, 1, 5]}, "b": [0.0, 0.1, 0.5]}
DESIGNS: list[tuple[Design, dict[str, Any]]] = [
    (LatinHypercube(30), FACTORS),
    (Saltelli.of(8, 2), FACTORS),
    (Grid.of(LISTS), LISTS),
    (Refinement("height", 0.1, Sobol(16), 8, 48), FACTORS),
    (Refinement("height", 0.1, Sobol(16), 4, 48, (5, 3)), LISTS),
    (Converging("height", 0.02, first=20, most=200), FACTORS),
    (Converging("high", 0.2, "probability", first=20, most=200), FACTORS),
    (SubsetSimulation("height", 0.6, each=40, share=0.25), FACTORS),
]


@pytest.mark.parametrize(
    ("design", "factors"),
    [*DESIGNS[:-1], pytest.param(*DESIGNS[-1], marks=pytest.mark.slow)],
    ids=repr,
)
def test_stopped_and_gone_on_with(design: Design, factors: dict[str, Any], tmp_path: Path) -> None:
    def campaign(stops_at: int = -1) -> Campaign:
        return Campaign(experiment=Bowl(stops_at=stops_at), factors=factors, design=design, seed=3)

    whole = campaign().run(tmp_path / "whole", progress=False)
    for stops_at in (3, 14, 22, 31):
        try:
            campaign(stops_at).run(tmp_path / "parts", progress=False, chunk_seconds=1e-6)
        except KeyboardInterrupt:
            continue
    parts = campaign().run(tmp_path / "parts", progress=False)
    assert parts.folder.digest() == whole.folder.digest()
    assert parts.folder.notes["outcome"] == whole.folder.notes["outcome"]


def test_a_table_is_what_runs(tmp_path: Path) -> None:
    rows = {"a": [0.1, 0.2, 0.2, 0.7], "b": [1.0, 0.5, 0.4, -3.0]}
    factors, table = table_of(rows)
    study = Campaign(experiment=Bowl(), factors=factors, design=table).run(tmp_path / "rows")
    read = study.folder.read(("a", "b"))
    assert {name: read[name].tolist() for name in rows} == rows


def test_more_of_a_design_keeps_what_is_there(tmp_path: Path) -> None:
    def done(design: Design, folder: str) -> Any:
        campaign = Campaign(experiment=Bowl(), factors=FACTORS, design=design)
        return campaign.run(tmp_path / folder, progress=False).folder

    few = Refinement("height", 0.1, Sobol(16), 8, 28)
    many = Refinement("height", 0.1, Sobol(16), 8, 60)
    done(few, "grown")
    assert done(many, "grown").digest() == done(many, "at once").digest()
