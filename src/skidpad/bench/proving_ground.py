"""The group `proving_ground`: all manoeuvres of a car, and a thousand variants of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import vehicles
from ..study.manoeuvres.kernels import Kernels
from ..study.manoeuvres.proving_ground import perform
from ..study.manoeuvres.sensitivities import own_value
from ..study.manoeuvres.subject import Subject
from ..study.manoeuvres.transient_response import StepSteer
from ..tyres.simple import LoadSensitiveTyre
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from .timing import TIME, Budget, Entry, Measured, cold_and_cached, run_job, seconds, typical
from .work import SEED

VARIANTS = 1000
THREADS = 2
SPREAD = 0.1
"""Largest relative difference of a variant's parameters from the car's."""
VARIED = ("m", "I_z", "l_f", "tyres.tyre.lateral.K")
ASKED = {"cold": 60.0, "cached": 5.0, "report": 5.0, "variants": 4.0}
"""Target times in s, reported in the details."""


def entries(budget: Budget) -> Iterator[Entry]:
    yield from _whole(budget)
    # Time of a step steer of 4 s at 1 ms with metrics, to one side, of 1000 cars; kernels are
    # ready
    kernels, manoeuvre = Kernels(threads=THREADS), StepSteer(duration=4.0, sides=("left",))
    perform([manoeuvre], [_cars(2, SEED)], kernels)
    times = [
        seconds(lambda seed=seed: perform([manoeuvre], [_cars(VARIANTS, seed)], kernels))
        for seed in range(budget.repeats)
    ]
    details = {"variants": VARIANTS, "threads": THREADS, "dt": kernels.dt, "best": min(times)}
    yield _entry("step_steer.variants1000", typical(times), "variants", details)


def _whole(budget: Budget) -> Iterator[Entry]:
    """Time of all manoeuvres of a two-track car in fresh processes, and of writing a report."""
    times = cold_and_cached(_job, budget.fresh)
    for kind, runs in times.items():
        own = typical([run["manoeuvres"] for run in runs])
        details = {"manoeuvres": runs[0]["count"], "drives": runs[0]["drives"]}
        yield _entry(f"manoeuvres.two_track.{kind}", own, kind, details)
    pages = [run["report"] for run in times["cached"]]
    yield _entry("manoeuvres.report", typical(pages), "report", {})


def _entry(name: str, own: Measured, asked: str, details: dict[str, Any]) -> Entry:
    return Entry(name, TIME, own, details={"asked": ASKED[asked], **details})


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
