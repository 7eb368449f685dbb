"""The group `uncertainty`: single simulations with a disturbance model, and a Monte Carlo."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from ..compat.commonroad.simulation import Simulation
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..random.distributions import Gaussian
from ..run.fleet import Fleet
from ..vehicles.registry import get
from .peers import simulating
from .timing import TIME, Budget, Entry, Measured, best_rate, interleaved
from .work import SEED, derivative_of

CALLS = "calls/s"
HORIZON = 0.1
"""Length of a simulation in s."""
FINE = 0.02
"""Shorter sampling interval of disturbances in s, reported in the details."""
UPSTREAM = {"kinematic": (250.0, 108.0), "dynamic": (184.0, 99.0)}
"""Calls per second of commonroad-control, measured once on a similar machine, with `delta_t_w`
of `HORIZON` and `FINE`; it needs Python 3.10 and an old commonroad-io, so it is not run here."""
RUNS, DURATION, SUBSTEPS = 100_000, 10.0, 20
"""Size of the Monte Carlo: runs, duration in s, and steps of RK4 within 0.1 s."""
STD = {"v_x": 0.5, "v_y": 0.3, "omega": 0.025}
"""Standard deviations of commonroad-control's disturbance of the dynamic bicycle, per s."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Calls of `simulate` with SciPy's and skidpad's integrators; a Monte Carlo on all cores."""
    for name in UPSTREAM:
        for method in ("scipy", "skidpad"):
            vehicle = get(f"commonroad_{name}_bicycle")()
            x0, u = _start(vehicle), np.array([0.8, 0.05])
            ivp = "RK45" if method == "scipy" else "skidpad:rk4"
            reference = _reference(vehicle, x0, u)
            calls = 200 if method == "scipy" else 2000
            own, peer = _rates(vehicle, x0, u, HORIZON, ivp, calls, budget)
            fine, fine_peer = _rates(vehicle, x0, u, FINE, ivp, calls // 4, budget)
            end = Simulation(vehicle).simulate(x0, u, HORIZON, ivp_method=ivp)[1].states[-1]
            theirs = simulating(vehicle, HORIZON)(x0, u, HORIZON)
            yield Entry(
                f"simulate.{name}.{method}",
                CALLS,
                own._replace(error=_error(end, reference)),
                {"solve_ivp": peer._replace(error=_error(theirs, reference))},
                {"commonroad-control": "needs Python 3.10"},
                {
                    "t_final": HORIZON,
                    "delta_t_w": HORIZON,
                    "upstream_quoted": UPSTREAM[name][0],
                    "at_delta_t_w_0.02": fine.value,
                    "at_delta_t_w_0.02_solve_ivp": fine_peer.value,
                    "at_delta_t_w_0.02_upstream_quoted": UPSTREAM[name][1],
                },
            )
    yield _monte_carlo_entry(budget)


def _start(vehicle: Vehicle) -> AnyArray:
    """Start state at 10 m/s with a small steering angle."""
    names = record.names(vehicle.State)
    values = {"v": 10.0, "v_x": 10.0, "steer": 0.02}
    return np.array([values.get(name, 0.0) for name in names])


def _reference(vehicle: Vehicle, x0: AnyArray, u: AnyArray) -> AnyArray:
    tight = Simulation(vehicle, rtol=1e-12, atol=1e-13)
    return tight.simulate(x0, u, HORIZON, ivp_method="DOP853")[1].states[-1]


def _error(end: AnyArray, reference: AnyArray) -> float:
    return float(np.abs(end - reference).max())


def _rates(
    vehicle: Vehicle,
    x0: AnyArray,
    u: AnyArray,
    delta_t_w: float,
    ivp: str,
    calls: int,
    budget: Budget,
) -> tuple[Measured, Measured]:
    sim = Simulation(vehicle, delta_t_w=delta_t_w)
    theirs = simulating(vehicle, delta_t_w)
    mine = _repeated(lambda: sim.simulate(x0, u, HORIZON, ivp_method=ivp), calls)
    few = max(10, calls // 40)
    others = _repeated(lambda: theirs(x0, u, HORIZON), few)
    mine()
    others()
    own, peer = interleaved([mine, others], budget.repeats)
    return best_rate(calls, own), best_rate(few, peer)


def _repeated(action: Callable[[], Any], times: int) -> Callable[[], None]:
    def act() -> None:
        for _ in range(times):
            action()

    return act


def _monte_carlo_entry(budget: Budget) -> Entry:
    vehicle = get("commonroad_dynamic_bicycle")()
    with warnings.catch_warnings():
        # RK4 as the peer's: unstable below 0.5 m/s, where "auto" would take five times as long.
        warnings.simplefilter("ignore", UserWarning)
        fleet = Fleet(vehicle, HORIZON, "rk4", substeps=SUBSTEPS)
    disturbance = Gaussian(
        mean=np.zeros(7), std=[STD.get(name, 0.0) for name in record.names(vehicle.State)]
    )
    x0 = _start(vehicle)

    def study(runs: int) -> None:
        fleet.monte_carlo(
            x0, [0.0, 0.0], runs=runs, disturbance=disturbance, seed=SEED, duration=DURATION
        )

    study(64)
    times = interleaved([lambda: study(RUNS)], max(1, budget.repeats // 3))[0]
    steps = round(DURATION / HORIZON)
    peer = _by_numpy(vehicle, x0, steps, budget)
    details = {
        "runs": RUNS,
        "duration": DURATION,
        "sampling": HORIZON,
        "substeps": SUBSTEPS,
        "threads": fleet.threads,
        "numpy": f"measured on {PEER_STEPS} of {steps * SUBSTEPS} steps, scaled",
    }
    own = Measured(min(times), None)
    return Entry("monte_carlo.dynamic100k", TIME, own, {"numpy": peer}, {}, details)


PEER_STEPS = 4


def _by_numpy(vehicle: Vehicle, x0: AnyArray, steps: int, budget: Budget) -> Measured:
    """The same RK4 on arrays of all runs with NumPy's normal random numbers, extrapolated from a
    few steps."""
    rng = np.random.default_rng(SEED)
    x = np.tile(x0[:, None], (1, RUNS))
    dt = HORIZON / SUBSTEPS
    f = derivative_of(vehicle, np.zeros((2, RUNS)))
    begin = perf_counter()
    w = rng.normal(size=(len(x0), RUNS))
    drawn = perf_counter() - begin
    for _ in range(PEER_STEPS):
        k_1 = f(x) + w
        k_2 = f(x + 0.5 * dt * k_1) + w
        k_3 = f(x + 0.5 * dt * k_2) + w
        k_4 = f(x + dt * k_3) + w
        x = x + dt / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)
    stepped = (perf_counter() - begin - drawn) / PEER_STEPS
    return Measured(steps * (drawn + SUBSTEPS * stepped), None)
