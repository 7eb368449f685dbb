"""Figures of the page about learning to race are those of the curves that were kept."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEARNING = ROOT / "benchmarks" / "learning"
CURVES = ("race_ppo/curve.csv", "race_stable_baselines.csv")


def last_row(file: Path) -> dict[str, float]:
    lines = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in list(csv.DictReader(lines))[-1].items()}


@pytest.mark.parametrize("name", [*CURVES, "race_ppo_gpu.csv"])
def test_curves_say_how_they_were_made(name: str) -> None:
    head = [line for line in (LEARNING / name).read_text("utf-8").splitlines() if line[0] == "#"]
    for key in ("command: python examples/learn/", "seed: ", "cpu: ", "load: ", "torch: "):
        assert any(line.startswith(f"# {key}") for line in head)


def test_the_page_has_the_figures_of_the_curves() -> None:
    page = (ROOT / "docs" / "tutorials/learning.md").read_text("utf-8")
    ours = last_row(LEARNING / "race_ppo" / "curve.csv")
    theirs = last_row(LEARNING / "race_stable_baselines.csv")
    wanted = [
        f"{ours['steps'] / 1e6:.1f} million | {theirs['steps'] / 1e6:.1f} million",
        f"{ours['seconds']:.0f} s | {theirs['seconds']:.0f} s",
        f"{100.0 * ours['finished']:.0f} % of 64, {ours['lap_time']:.1f} s on average",
        f"{ours['simulation_rate'] / 1e3:.0f} 000 steps/s",
        f"{ours['learning_rate'] / 1e3:.0f} 000 steps/s",
    ]
    assert not [text for text in wanted if text not in page]


def test_the_page_has_the_figures_of_the_gpu() -> None:
    page = " ".join((ROOT / "docs" / "tutorials/learning.md").read_text("utf-8").split())
    there = last_row(LEARNING / "race_ppo_gpu.csv")
    wanted = [
        f"took {there['seconds']:.0f} s, including evaluation",
        f"for {there['steps'] / 1e6:.0f} million",
        f"{100.0 * there['finished']:.0f} % of 64 laps on unseen",
        f"in {there['lap_time']:.1f} s",
        f"made {there['simulation_rate'] / 1e6:.1f} million steps/s",
        f"learning alone {there['learning_rate'] / 1e6:.1f} million",
    ]
    assert not [text for text in wanted if text not in page]
