"""How long a campaign takes, told from some first runs: few of them where they are slow."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from skidpad.arrays import AnyArray
from skidpad.campaigns import Campaign, Means, Random, Range, Rows
from skidpad.campaigns import campaign as module
from skidpad.workers import cores

from .small_experiments import Bowl

CLOCK = SimpleNamespace(now=0.0, runs=0)


@dataclass(frozen=True)
class Timed(Bowl):
    """A run takes this time of a clock that nothing else moves."""

    seconds: float = 0.0

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        CLOCK.now += self.seconds * len(rows.runs)
        CLOCK.runs += len(rows.runs)
        return super().evaluate(rows, means)


@pytest.mark.parametrize("threaded", [True, False])
@pytest.mark.parametrize(("seconds", "most"), [(60.0, 2), (0.3, 6), (1e-6, 400)])
def test_the_estimate(
    monkeypatch: pytest.MonkeyPatch, seconds: float, most: int, threaded: bool
) -> None:
    """Runs that one process does one after the other are shared by the processors."""
    monkeypatch.setattr(module, "perf_counter", lambda: CLOCK.now)
    CLOCK.now, CLOCK.runs = 0.0, 0
    experiment: Any = Timed(seconds=seconds, threaded=threaded)
    plan = Campaign(experiment=experiment, factors={"a": Range(0.0, 1.0)}, design=Random(1000))
    expected = 1000 * seconds / (1 if threaded else cores())
    assert plan.estimate().seconds == pytest.approx(expected)
    assert CLOCK.runs <= most
