"""`python -m skidpad.bench.fresh_job NAME`: time one first call and print the seconds.

Everything that will be needed is imported before the clock starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from .. import vehicles
from ..compile import pipeline
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from .car_work import CAR_RADAU_DT, car
from .peers import casadi_vm
from .work import RK4_DT, SPEED, weave


def first_step() -> None:
    """A simulator made and its first step."""
    simulator = Simulator(vehicles.four_wheel(), dt=RK4_DT)
    simulator.reset(v_x=SPEED)
    simulator.step(steer=0.01, tau_rl=20.0, tau_rr=20.0)


def first_rollout() -> None:
    """A fleet made and its first rollout, as wide as lanes can be."""
    lanes = max(pipeline.LANES)
    car = vehicles.four_wheel()
    fleet = Fleet(car, dt=RK4_DT, threads=1, lanes=lanes)
    fleet.rollout(car.State(v_x=SPEED), np.zeros((lanes, 5)), steps=1)


def first_casadi_call() -> None:
    """CasADi's function made and its first call."""
    course = weave(0.01)
    casadi_vm.rk4_function(course.vehicle, RK4_DT)(course.x0, course.rows[0])


def first_environments() -> None:
    """Thousands of environments made by Gymnasium, and their first step."""
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


def first_car_step(name: str, integrator: str, dt: float) -> None:
    """A car of the group `cars` put together, a simulator of it made, and its first step."""
    vehicle = car(name)
    simulator = Simulator(vehicle, dt=dt, integrator=integrator)
    simulator.reset(v_x=SPEED)
    simulator.step(steer=0.01)


FIRST_STEPS: dict[str, Callable[[str], None]] = {
    "rk4": partial(first_car_step, integrator="rk4", dt=RK4_DT),
    "radau": partial(first_car_step, integrator="radau", dt=CAR_RADAU_DT),
}
"""Jobs that need the name of a car, as in `rk4:two_track`."""


LOADED_LATE = ("kernels", "native")
"""Modules of the compiler that it imports only when it needs them."""
LOADED_FOR = {
    "make_vec": ("gymnasium", "skidpad.learn.gymnasium_envs", "scipy.spatial"),
}
"""What else a job imports."""


def seconds_of(job: str) -> float:
    """The time of a job in s, once everything it needs is imported."""
    for module in LOADED_LATE:
        import_module(f"skidpad.compile.{module}")
    for module in LOADED_FOR.get(job, ()):
        import_module(module)
    for vehicle in vehicles.__all__:
        getattr(vehicles, vehicle)
    name, _, car = job.partition(":")
    action = partial(FIRST_STEPS[name], car) if car else JOBS[name]
    begin = perf_counter()
    action()
    return perf_counter() - begin


if __name__ == "__main__":
    print(seconds_of(sys.argv[1]))
