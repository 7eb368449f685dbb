"""Plan files on the page about campaigns are campaigns, and as in the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import ROOT, blocks
from skidpad.study.plan_file import campaign_of

PLANS = [
    block
    for block in blocks((ROOT / "docs" / "campaigns.md").read_text("utf-8"))
    if block.info == "yaml" and not any("learned.npz" in line for line in block.text)
]
"""Plans; one with a network that its readers train is run with its page."""


def test_there_are_some() -> None:
    assert len(PLANS) >= 2


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("number", range(len(PLANS)))
def test_plans_can_be_run(number: int, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("\n".join(PLANS[number].text))
    plan = campaign_of(file)
    assert plan.runs > 0
    example = campaign_of(ROOT / "examples" / "campaigns" / f"{plan.name.replace(' ', '_')}.yaml")
    assert example.factors == plan.factors
    assert example.design == plan.design
    assert example.columns() == plan.columns()
