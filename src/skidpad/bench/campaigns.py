"""The groups `campaigns` and `proving_ground`: many runs from a plan, and manoeuvres of cars.

A campaign is compared with a fleet that makes the same runs. Its measurements run in processes of
their own: `python -m skidpad.bench.campaigns JOB ENGINE RUNS STEPS` prints one as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
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
from ..study.manoeuvres.kernels import Kernels
from ..study.manoeuvres.proving_ground import perform
from ..study.manoeuvres.sensitivities import own_value
from ..study.manoeuvres.subject import Subject
from ..study.manoeuvres.transient_response import StepSteer
from ..study.metrics import highest, last
from ..study.rollouts import Drive
from ..tyres.simple import LoadSensitiveTyre
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from .timing import (
    FULL,
    RATE,
    TIME,
    Budget,
    Entry,
    Measured,
    best_rate,
    cold_and_cached,
    run_job,
    seconds,
    typical,
)
from .work import SEED

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
    """Entry for steps per second of a campaign with storage and of the fleet alone, measured
    alternately.
    """
    name = f"campaign.{engine}"
    if engine == "ray" and find_spec("ray") is None:
        absent = {FLEET: 'Ray is not installed: pip install "skidpad[ray]", apart from commonroad'}
        return Entry(name, RATE, Measured(float("nan"), None), {}, absent)
    found = run_job("campaigns", "rate", engine, runs, steps)
    work = runs * steps
    own, peer = best_rate(work, found["campaign"]), best_rate(work, found["fleet"])
    details = {"asked": ASKED[engine], "runs": runs, "steps": steps}
    details |= {"start_s": found["start"], "bytes": found["bytes"]}
    return Entry(name, RATE, own, {FLEET: peer}, details=details)


def _memory() -> Entry:
    """Entry for the peak memory of a million short runs, relative to ten thousand."""
    few, many = (run_job("campaigns", "memory", "local", count, 1) for count in SHORT_RUNS)
    details = {
        "asked": ASKED["memory"],
        "peaks_MB": [one["peak"] / 1e6 for one in (few, many)],
        "runs": SHORT_RUNS,
        "seconds": many["seconds"],
    }
    own = Measured(many["peak"] / few["peak"], None)
    return Entry("campaign.memory", "times", own, {}, details=details)


def _resume(budget: Budget) -> Entry:
    """Entry for the time until a stopped campaign with many finished chunks begins its next run."""
    chunks = CHUNKS if budget is FULL else QUICK_CHUNKS
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("local", chunks, 1, folder)
        files = run_job("campaigns", "chunks", *arguments)["files"]
        times = [run_job("campaigns", "resume", *arguments)["seconds"] for _ in range(budget.fresh)]
    details = {"asked": ASKED["resume"], "chunks": chunks, "files": files}
    return Entry("campaign.resume", TIME, typical(times), {}, details=details)


DT = 0.001
TURNS = 3
"""Number of alternating measurements of campaign and fleet."""


class _Unused:
    """Writer for an engine that returns all results, so that it is never called."""

    def write_part(self, begin: int, end: int, columns: Any) -> None:
        """Do nothing; never called."""


class _Ready:
    """Job engine that is already running, as a cluster is when a campaign starts."""

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
    import resource

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

VARIANTS = 1000
THREADS = 2
SPREAD = 0.1
"""Largest relative difference of a variant's parameters from the car's."""
VARIED = ("m", "I_z", "l_f", "tyres.tyre.lateral.K")
MANOEUVRE_ASKED = {"cold": 60.0, "cached": 5.0, "report": 5.0, "variants": 4.0}
"""Target times in s, reported in the details."""


def manoeuvre_entries(budget: Budget) -> Iterator[Entry]:
    yield from _whole(budget)
    # Time of a step steer to one side with metrics: 1000 cars, 4 s at 1 ms, kernels compiled
    kernels, manoeuvre = Kernels(threads=THREADS), StepSteer(duration=4.0, sides=("left",))
    perform([manoeuvre], [_cars(2, SEED)], kernels)
    times = [
        seconds(lambda seed=seed: perform([manoeuvre], [_cars(VARIANTS, seed)], kernels))
        for seed in range(budget.repeats)
    ]
    details = {"variants": VARIANTS, "threads": THREADS, "dt": kernels.dt, "best": min(times)}
    yield _entry("step_steer.variants1000", typical(times), "variants", details)


def _whole(budget: Budget) -> Iterator[Entry]:
    """Entry for the time of all manoeuvres of a two-track car and their report."""
    times = cold_and_cached(_job, budget.fresh)
    for kind, runs in times.items():
        own = typical([run["manoeuvres"] for run in runs])
        details = {"manoeuvres": runs[0]["count"], "drives": runs[0]["drives"]}
        yield _entry(f"manoeuvres.two_track.{kind}", own, kind, details)
    pages = [run["report"] for run in times["cached"]]
    yield _entry("manoeuvres.report", typical(pages), "report", {})


def _entry(name: str, own: Measured, asked: str, details: dict[str, Any]) -> Entry:
    return Entry(name, TIME, own, details={"asked": MANOEUVRE_ASKED[asked], **details})


def _job(cache: str) -> dict[str, Any]:
    return run_job("fresh_job", "manoeuvres", SKIDPAD_CACHE=cache)


def _cars(count: int, seed: int) -> Subject:
    car = vehicles.two_track(tyre=LoadSensitiveTyre(), slip=FirstOrderSlip())
    random = np.random.default_rng(seed)
    own = {name: own_value(car, name) for name in VARIED}
    low, high = 1.0 - SPREAD, 1.0 + SPREAD
    return Subject(
        car, {name: value * random.uniform(low, high, count) for name, value in own.items()}
    )


if __name__ == "__main__":
    job, engine, runs, steps, *rest = sys.argv[1:]
    print(json.dumps(JOBS[job](engine, int(runs), int(steps), *rest)))
