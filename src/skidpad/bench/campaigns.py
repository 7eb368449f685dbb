"""The group `campaigns`: what a campaign costs beside the fleet that does its runs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .timing import FULL, RATE, TIME, Budget, Entry, Measured, best_rate, environment, typical

RUNS, STEPS = 20_000, 10_000
"""Of the campaign that is measured: runs of 10 s at 1 ms."""
QUICK_RUNS, QUICK_STEPS = 4_000, 2_000
SHORT_RUNS = (10_000, 1_000_000)
"""Campaigns of short runs whose memory is compared."""
CHUNKS, QUICK_CHUNKS = 100_000, 2_000
"""Finished chunks of the campaign that is resumed."""
ASKED = {"local": 0.85, "ray": 0.8, "memory": 1.3, "resume": 5.0}
"""Shares of the fleet's rate, ratio of peaks, and seconds that stand beside the figures."""
FLEET = "the bare fleet"


def entries(budget: Budget) -> Iterator[Entry]:
    """All figures of campaigns, each from fresh processes."""
    runs, steps = (RUNS, STEPS) if budget is FULL else (QUICK_RUNS, QUICK_STEPS)
    for engine in ("local", "ray"):
        yield _rate(engine, runs, steps)
    yield _memory()
    yield _resume(budget)


def _rate(engine: str, runs: int, steps: int) -> Entry:
    """Steps a second with storage, beside the fleet alone: in turns, in one process."""
    name = f"campaign.{engine}"
    if engine == "ray" and find_spec("ray") is None:
        absent = {FLEET: 'Ray is not installed: pip install "skidpad[ray]", apart from commonroad'}
        return Entry(name, RATE, Measured(float("nan"), None), {}, absent)
    said = _job("rate", engine, runs, steps)
    work = runs * steps
    own, peer = best_rate(work, said["campaign"]), best_rate(work, said["fleet"])
    details = {
        "asked": ASKED[engine],
        "runs": runs,
        "steps": steps,
        "start_s": said["start"],
        "bytes": said["bytes"],
    }
    return Entry(name, RATE, own, {FLEET: peer}, details=details)


def _memory() -> Entry:
    """Peak of memory with a million short runs, beside that with ten thousand."""
    few, many = (_job("memory", "local", count, 1) for count in SHORT_RUNS)
    details = {
        "asked": ASKED["memory"],
        "peaks_MB": [one["peak"] / 1e6 for one in (few, many)],
        "runs": SHORT_RUNS,
        "seconds": many["seconds"],
    }
    return Entry(
        "campaign.memory", "times", Measured(many["peak"] / few["peak"], None), {}, details=details
    )


def _resume(budget: Budget) -> Entry:
    """Time until a campaign with many finished chunks begins its first run after a stop."""
    chunks = CHUNKS if budget is FULL else QUICK_CHUNKS
    with tempfile.TemporaryDirectory() as folder:
        made = _job("chunks", "local", chunks, 1, folder)
        times = [_job("resume", "local", chunks, 1, folder)["seconds"] for _ in range(budget.fresh)]
    details = {"asked": ASKED["resume"], "chunks": chunks, "files": made["files"]}
    return Entry("campaign.resume", TIME, typical(times), {}, details=details)


def _job(*arguments: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as room:
        command = [sys.executable, "-m", "skidpad.bench.campaigns_job", *map(str, arguments)]
        run = subprocess.run(
            command, cwd=Path(room), env=environment(), capture_output=True, text=True
        )
    if run.returncode:
        raise RuntimeError(f"a campaign failed in a fresh process:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])
