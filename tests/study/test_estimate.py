"""How long a campaign takes, told from some first runs: few of them where they are slow."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import skidpad as sp
from skidpad.core.arrays import AnyArray
from skidpad.core.threads import cores
from skidpad.study import (
    Campaign,
    Converging,
    Drive,
    Keep,
    Random,
    Range,
    Refinement,
    Resources,
    Rows,
)
from skidpad.study import campaign as module
from skidpad.study.campaign import Estimate
from skidpad.study.metrics import last

from .small_experiments import Bowl

CLOCK = SimpleNamespace(now=0.0, runs=0)


@dataclass(frozen=True)
class Timed(Bowl):
    """A run takes this time of a clock that nothing else moves."""

    seconds: float = 0.0

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        CLOCK.now += self.seconds * len(rows.runs)
        CLOCK.runs += len(rows.runs)
        return super().evaluate(rows, resources)


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


def test_the_estimate_in_words() -> None:
    assert (
        str(Estimate(64, 0.01, 20_000)) == "64 runs, some seconds with its start, at most 0.02 MB"
    )
    assert str(Estimate(1, 90.0, 2_000_000)) == "1 run, about 90 s, at most 2 MB"
    assert str(Estimate(9, 7500.0, 1, True)) == "at most 9 runs, about 2 h 5 min, at most 1e-06 MB"


@pytest.mark.parametrize(
    ("design", "may_end"),
    [(Random(1000), False), (Converging("height", 0.1), True), (Refinement("height", 1.0), True)],
)
def test_designs_that_may_need_fewer_runs_say_so(design: Any, may_end: bool) -> None:
    plan = Campaign(experiment=Bowl(), factors={"a": Range(0.0, 1.0)}, design=design)
    assert plan.estimate().may_end == may_end


def test_runs_that_end_early_are_counted_as_if_they_did_not() -> None:
    """The first may be the shortest."""
    steps = {"dt": 0.1, "duration": 10.0, "x0": {"v_s": 1.0}, "metrics": {"s": last("s")}}
    drives = (
        Drive(sp.vehicles.double_integrator(), **steps, until=until) for until in ("s > 0.5", None)
    )
    plans = (Campaign(experiment=one, design=Random(3), keep=Keep(random=3)) for one in drives)
    short, long = (plan.estimate().bytes for plan in plans)
    assert short >= long
