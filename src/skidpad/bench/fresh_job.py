"""`python -m skidpad.bench.fresh_job NAME`: time a job in a fresh process and print it as JSON.

The result is the time of a first call in s, or the times of all manoeuvres of a car. Everything
needed is imported before the clock starts; compilation is included.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .. import vehicles
from ..compile import pipeline
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from .work import CAR_RADAU_DT, RK4_DT, SPEED, car, weave


def first_step() -> None:
    simulator = Simulator(vehicles.four_wheel(), dt=RK4_DT)
    simulator.reset(v_x=SPEED)
    simulator.step(steer=0.01, tau_rl=20.0, tau_rr=20.0)


def first_rollout() -> None:
    """Create a fleet and make its first rollout, with the widest SIMD lanes."""
    lanes = max(pipeline.LANES)
    car = vehicles.four_wheel()
    fleet = Fleet(car, dt=RK4_DT, threads=1, lanes=lanes)
    fleet.rollout(car.State(v_x=SPEED), np.zeros((lanes, 5)), steps=1)


def first_casadi_call() -> None:
    from .peers import casadi_rk4

    course = weave(0.01)
    casadi_rk4(course.vehicle, RK4_DT)(course.x0, course.rows[0])


def first_environments() -> None:
    """Create thousands of environments through Gymnasium and make their first step."""
    import gymnasium

    environments: Any = gymnasium.make_vec("skidpad/Race-v0", num_envs=4096)
    environments.reset(seed=0)
    environments.step(np.zeros((4096, 2), np.float32))


JOBS: dict[str, Callable[[], None]] = {
    "step": first_step,
    "fleet": first_rollout,
    "casadi": first_casadi_call,
    "make_vec": first_environments,
}


def first_car_step(integrator: str, name: str) -> None:
    """Build a car of the group `cars` and a simulator for it, and make its first step."""
    simulator = Simulator(car(name), dt=CAR_STEPS[integrator], integrator=integrator)
    simulator.reset(v_x=SPEED)
    simulator.step(steer=0.01)


CAR_STEPS = {"rk4": RK4_DT, "radau": CAR_RADAU_DT}
"""Steps in s by integrator, for jobs with the name of a car, as in `rk4:two_track`."""


LOADED_LATE = ("compile.kernels", "compile.native", "integrate.derivatives", "tyres.reading")
"""Modules that are imported on first use."""
LOADED_FOR = {
    "casadi": ("casadi", "skidpad.bench.peers"),
    "make_vec": ("gymnasium", "skidpad.learn.gymnasium_envs", "scipy.spatial"),
}
"""Further modules to import, by job."""


def seconds_of(job: str) -> float:
    """The time of a job in s, without imports."""
    for module in LOADED_LATE:
        import_module(f"skidpad.{module}")
    for module in LOADED_FOR.get(job, ()):
        import_module(module)
    for vehicle in vehicles.__all__:
        getattr(vehicles, vehicle)
    name, _, car = job.partition(":")
    action = partial(first_car_step, name, car) if car else JOBS[name]
    begin = perf_counter()
    action()
    return perf_counter() - begin


def manoeuvres() -> dict[str, Any]:
    """Times in s of all manoeuvres of a two-track car and of their report, and their results."""
    from ..study.manoeuvres.evaluation import Evaluation
    from ..study.manoeuvres.proving_ground import STANDARD, perform
    from ..study.manoeuvres.subject import Subject

    for module in LOADED_LATE:
        import_module(f"skidpad.{module}")
    begin = perf_counter()
    results = perform(STANDARD, [Subject(vehicles.two_track())])
    driven = perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        Evaluation(results).to_html(Path(folder) / "report.html")
        report = perf_counter() - begin
    done = [result for result in results if result.findings is not None]
    drives = sum(len(result.runs) for result in done)
    return {"manoeuvres": driven, "report": report, "count": len(done), "drives": drives}


if __name__ == "__main__":
    job = sys.argv[1]
    print(json.dumps(manoeuvres() if job == "manoeuvres" else seconds_of(job)))
