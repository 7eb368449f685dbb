"""`python -m skidpad.bench.campaigns_job`: one measurement of the group `campaigns`, as JSON."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .. import vehicles
from ..random.factors import Range
from ..run.fleet import Fleet
from ..study.campaign import Campaign
from ..study.designs import Random
from ..study.engines import Engine, engine_of
from ..study.folder import Folder
from ..study.metrics import highest, last
from ..study.rollouts import Drive

DT = 0.001
TURNS = 3
"""Number of alternating measurements of campaign and fleet."""


class _Unused:
    """Writer for an engine that returns all results, so that it is never called."""

    def write_part(self, begin: int, end: int, columns: Any) -> None:
        """Do nothing; never called."""


class _Ready:
    """An engine that is already running, as a cluster is for a campaign."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def start(self, experiment: Any, writer: Any) -> None:
        """Do nothing: it is running."""

    def close(self) -> None:
        """Do nothing: it keeps running."""


def drive(steps: int) -> Drive:
    """Experiment of a steady turn with typical metrics."""
    return Drive(
        vehicles.four_wheel(),
        steps=steps,
        dt=DT,
        x0={"v_x": 20.0},
        controls={"steer": 0.02},
        metrics={"slip": highest("abs(v_y)"), "x": last("x"), "y": last("y")},
        events={"slid": "abs(v_y) > 1.0"},
    )


def campaign(runs: int, steps: int, seed: int) -> Campaign:
    """Campaign of the drive with random mass and yaw inertia."""
    factors = {"m": Range(1300.0, 1700.0), "I_z": Range(2000.0, 3000.0)}
    return Campaign(experiment=drive(steps), factors=factors, design=Random(runs), seed=seed)


def rate(engine: str, runs: int, steps: int) -> dict[str, Any]:
    """Times in s of the campaign and of the fleet, measured alternately with kernels and engine
    ready."""
    begin = perf_counter()
    running = engine_of(engine, drive(steps))
    running.start(drive(steps), _Unused())
    ready: Any = _Ready(running)
    times, size = {"campaign": list[float](), "fleet": list[float]()}, 0
    with tempfile.TemporaryDirectory() as room:
        campaign(64, steps, 0).run(Path(room) / "first", engine=ready, progress=False)
        started = perf_counter() - begin
        fleet = Fleet(vehicles.four_wheel(), DT)
        _bare(fleet, 64, steps, 0)
        for turn in range(TURNS):
            begin, folder = perf_counter(), Path(room) / str(turn)
            campaign(runs, steps, turn).run(folder, engine=ready, progress=False)
            times["campaign"].append(perf_counter() - begin)
            size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
            begin = perf_counter()
            _bare(fleet, runs, steps, turn)
            times["fleet"].append(perf_counter() - begin)
    running.close()
    return {**times, "start": started, "bytes": size}


def _bare(fleet: Fleet[Any, Any, Any, Any, Any], runs: int, steps: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    params = {
        "m": random.uniform(1300.0, 1700.0, runs),
        "I_z": random.uniform(2000.0, 3000.0, runs),
    }
    fleet.rollout({"v_x": 20.0}, {"steer": 0.02}, steps=steps, every=steps, params=params)


def memory(engine: str, runs: int, steps: int) -> dict[str, Any]:
    """Peak memory in bytes of a campaign of short runs."""
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as room:
        campaign(runs, steps, 0).run(room, engine=engine, progress=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"peak": peak, "seconds": perf_counter() - begin}


def chunks(engine: str, count: int, steps: int, folder: str) -> dict[str, Any]:
    """Write a folder with `count` finished chunks of one run each, as a campaign leaves it, but
    without flushing each to the disk, which would take most of an hour."""
    os.fsync = lambda fd: None
    plan = campaign(count + 1, steps, 0)
    place = Folder.create(folder, plan.plan())
    names = [column.name for column in plan.columns()]
    for run in range(count):
        row = {name: np.zeros(1, bool if name in ("slid", "failed") else float) for name in names}
        place.write_part(run, run + 1, row)
        if run % 64 == 63:
            place.merge()
    place.close()
    return {"files": len(list(Path(folder).rglob("*.parquet")))}


def resume(engine: str, count: int, steps: int, folder: str) -> dict[str, Any]:
    """Time in s to open the folder and find the missing runs."""
    plan = campaign(count + 1, steps, 0)
    begin = perf_counter()
    place = Folder.create(folder, plan.plan())
    assert place.missing(0, count + 1) == [(count, count + 1)]
    seconds = perf_counter() - begin
    place.close()
    return {"seconds": seconds}


JOBS: dict[str, Any] = {"rate": rate, "memory": memory, "chunks": chunks, "resume": resume}

if __name__ == "__main__":
    job, engine, runs, steps, *rest = sys.argv[1:]
    print(json.dumps(JOBS[job](engine, int(runs), int(steps), *rest)))
