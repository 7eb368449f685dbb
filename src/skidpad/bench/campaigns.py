"""The group `campaigns`: speed and memory of campaigns, compared with a fleet that makes the same
runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

from .timing import FULL, RATE, TIME, Budget, Entry, Measured, best_rate, run_job, typical

RUNS, STEPS = 20_000, 10_000
"""Runs of the campaign, and steps per run: 10 s at 1 ms."""
QUICK_RUNS, QUICK_STEPS = 4_000, 2_000
SHORT_RUNS = (10_000, 1_000_000)
"""Numbers of runs of the two campaigns of short runs whose memory is compared."""
CHUNKS, QUICK_CHUNKS = 100_000, 2_000
"""Number of finished chunks in the campaign that is resumed."""
ASKED = {"local": 0.85, "ray": 0.8, "memory": 1.3, "resume": 5.0}
"""Targets, reported in the details: fractions of the fleet's rate, ratio of peak memory, and
time in s."""
FLEET = "the bare fleet"


def entries(budget: Budget) -> Iterator[Entry]:
    runs, steps = (RUNS, STEPS) if budget is FULL else (QUICK_RUNS, QUICK_STEPS)
    for engine in ("local", "ray"):
        yield _rate(engine, runs, steps)
    yield _memory()
    yield _resume(budget)


def _rate(engine: str, runs: int, steps: int) -> Entry:
    """Steps per second of a campaign with storage and of the fleet alone, measured alternately."""
    name = f"campaign.{engine}"
    if engine == "ray" and find_spec("ray") is None:
        absent = {FLEET: 'Ray is not installed: pip install "skidpad[ray]", apart from commonroad'}
        return Entry(name, RATE, Measured(float("nan"), None), {}, absent)
    found = run_job("campaigns_job", "rate", engine, runs, steps)
    work = runs * steps
    own, peer = best_rate(work, found["campaign"]), best_rate(work, found["fleet"])
    details = {"asked": ASKED[engine], "runs": runs, "steps": steps}
    details |= {"start_s": found["start"], "bytes": found["bytes"]}
    return Entry(name, RATE, own, {FLEET: peer}, details=details)


def _memory() -> Entry:
    """Peak memory of a million short runs, relative to ten thousand."""
    few, many = (run_job("campaigns_job", "memory", "local", count, 1) for count in SHORT_RUNS)
    details = {
        "asked": ASKED["memory"],
        "peaks_MB": [one["peak"] / 1e6 for one in (few, many)],
        "runs": SHORT_RUNS,
        "seconds": many["seconds"],
    }
    own = Measured(many["peak"] / few["peak"], None)
    return Entry("campaign.memory", "times", own, {}, details=details)


def _resume(budget: Budget) -> Entry:
    """Time until a stopped campaign with many finished chunks begins its next run."""
    chunks = CHUNKS if budget is FULL else QUICK_CHUNKS
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("local", chunks, 1, folder)
        files = run_job("campaigns_job", "chunks", *arguments)["files"]
        times = [
            run_job("campaigns_job", "resume", *arguments)["seconds"] for _ in range(budget.fresh)
        ]
    details = {"asked": ASKED["resume"], "chunks": chunks, "files": files}
    return Entry("campaign.resume", TIME, typical(times), {}, details=details)
