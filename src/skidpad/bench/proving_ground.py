"""The group `proving_ground`: all manoeuvres of a car, and a thousand variants of one of them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import vehicles
from ..study.manoeuvres.kernels import Kernels
from ..study.manoeuvres.proving_ground import perform
from ..study.manoeuvres.sensitivities import own_value
from ..study.manoeuvres.step_steer import StepSteer
from ..study.manoeuvres.subject import Subject
from ..tyres.simple import LoadSensitiveTyre
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from .timing import TIME, Budget, Entry, Measured, environment, seconds, typical
from .work import SEED

VARIANTS = 1000
THREADS = 2
SPREAD = 0.1
"""Share by which parameters of the variants differ from the car's, either side."""
VARIED = ("m", "I_z", "l_f", "tyres.tyre.lateral.K")
ASKED = {"cold": 60.0, "cached": 5.0, "report": 5.0, "variants": 4.0}
"""Seconds that each may take, beside which it stands."""


def entries(budget: Budget) -> Iterator[Entry]:
    """All figures of the proving ground."""
    yield from _whole(budget)
    yield _variants(budget)


def _whole(budget: Budget) -> Iterator[Entry]:
    """All manoeuvres of a two-track car in fresh processes, and the report of them."""
    times: dict[str, list[dict[str, Any]]] = {"cold": [], "cached": []}
    for _ in range(budget.fresh):
        with tempfile.TemporaryDirectory() as cache:
            for kind in times:
                times[kind].append(_job(cache))
    for kind, runs in times.items():
        own = typical([run["manoeuvres"] for run in runs])
        details = {"manoeuvres": runs[0]["count"], "drives": runs[0]["drives"]}
        yield _entry(f"manoeuvres.two_track.{kind}", own, kind, details)
    pages = [run["report"] for run in times["cached"] if run["report"] is not None]
    if pages:
        yield _entry("manoeuvres.report", typical(pages), "report", {})


def _entry(name: str, own: Measured, asked: str, details: dict[str, Any]) -> Entry:
    return Entry(name, TIME, own, details={"asked": ASKED[asked], **details})


def _job(cache: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "skidpad.bench.proving_ground_job"]
    run = subprocess.run(
        command, env=environment(SKIDPAD_CACHE=cache), capture_output=True, text=True
    )
    if run.returncode:
        raise RuntimeError(f"the proving ground failed in a fresh process:\n{run.stderr}")
    return json.loads(run.stdout)


def _variants(budget: Budget) -> Entry:
    """A step steer of 4 s at 1 ms with metrics, to one side, of cars that differ, kernels ready."""
    kernels, manoeuvre = Kernels(threads=THREADS), StepSteer(duration=4.0, sides=("left",))
    perform([manoeuvre], [_cars(2, SEED)], kernels)
    times = [
        seconds(lambda seed=seed: perform([manoeuvre], [_cars(VARIANTS, seed)], kernels))
        for seed in range(budget.repeats)
    ]
    details = {"variants": VARIANTS, "threads": THREADS, "dt": kernels.dt, "best": min(times)}
    return _entry("step_steer.variants1000", typical(times), "variants", details)


def _cars(count: int, seed: int) -> Subject:
    car = vehicles.two_track(tyre=LoadSensitiveTyre(), slip=FirstOrderSlip())
    random = np.random.default_rng(seed)
    own = {name: own_value(car, name) for name in VARIED}
    return Subject(
        car,
        {
            name: value * random.uniform(1.0 - SPREAD, 1.0 + SPREAD, count)
            for name, value in own.items()
        },
    )
