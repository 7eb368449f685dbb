"""The groups `planning` and `uncertainty`: replacements of Autoware and commonroad-control.

Command-driven vehicles are measured in fleets and as a simulator with reports; single simulations
with a disturbance model, and a Monte Carlo, are measured with commonroad-control's bicycles.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..compat.autoware.road import Road
from ..compat.autoware.simulator import PlanningSimulator
from ..compat.commonroad.simulation import Simulation
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..random.distributions import Gaussian
from ..run.delay import DelayLine
from ..run.fleet import Fleet
from ..vehicles.command_driven import autoware
from ..vehicles.parts.actuators import Gear
from ..vehicles.registry import get
from .peers import DirectMotion, simulating
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, each, interleaved, typical
from .work import SEED, Reference, derivative_of

DT = 0.025
"""Period of upstream's timer, in s."""
UPSTREAM_TIMES = {"DELAY_STEER_ACC_GEARED": 285e-9, "DELAY_STEER_MAP_ACC_GEARED": 2057e-9}
"""Time in s of one update of upstream's C++ class, measured once on a similar machine."""
TICKS = 2000


class Work(NamedTuple):
    """Fleet work: vehicles with individual commands and gears at every step."""

    vehicle: Vehicle
    x0: AnyArray
    """Start states (nx, B)."""
    u: AnyArray
    """Commands (T, nu, B)."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Updates of fleets on one thread, and a tick with noise and all reports."""
    for name in UPSTREAM_TIMES:
        yield _fleet_entry(name, budget)
    x = np.arange(0.0, 2000.0, 5.0)
    hill = Road.from_centre_line(np.stack([x, 0.0 * x, 10.0 * np.sin(x / 200.0)], axis=1))
    own, with_road = _ticking(None), _ticking(hill)
    details = {"ticks": TICKS, "model": "DELAY_STEER_ACC_GEARED", "with_road": with_road.value}
    direct = _ticking(None, lambda model: DirectMotion.of(model, DT))
    yield Entry("tick.planning_simulator", TIME, own, {"python": direct}, {}, details)


def vehicle_of(name: str) -> Vehicle:
    """Model with upstream's default delays, and a 19 by 13 acceleration map if it uses one."""
    maps: dict[str, Any] = {}
    if "MAP" in name:
        # The map has the size given in upstream's documentation; its accelerations fall with the
        # speed.
        rows, columns = np.linspace(-4.0, 2.0, 19), np.linspace(0.0, 16.67, 13)
        values = rows[:, None] * (1.1 - 0.03 * columns) - 0.004 * columns
        table = {"rows": rows, "columns": columns, "values": values}
        maps["acceleration_map"] = {key: numbers.tolist() for key, numbers in table.items()}
    return autoware(name, {"wheel_base": 2.79, **maps})


def _fleet_entry(name: str, budget: Budget) -> Entry:
    vehicle = vehicle_of(name)
    vehicles = budget.vehicles
    steps = budget.rk4_steps
    # Random commands, mostly in DRIVE, sometimes in NEUTRAL or REVERSE
    rng = np.random.default_rng(SEED)
    names = record.names(vehicle.Input)
    u = np.zeros((steps, len(names), vehicles))
    u[:, names.index("acceleration")] = rng.uniform(-2.0, 3.0, (steps, vehicles))
    u[:, names.index("steer")] = rng.uniform(-0.3, 0.3, (steps, vehicles))
    gears = [Gear.DRIVE] * 18 + [Gear.NEUTRAL, Gear.REVERSE]
    u[:, names.index("gear")] = rng.choice([float(g) for g in gears], (steps, vehicles))
    x0 = np.zeros((record.size(vehicle.State), vehicles))
    x0[record.names(vehicle.State).index("v_x")] = rng.uniform(0.0, 15.0, vehicles)
    work = Work(vehicle, x0, u)
    fleet = Fleet(work.vehicle, DT, threads=1)
    call = partial(fleet.rollout, work.x0, work.u, every=len(work.u), layout="soa")
    end = call()[-1]
    (times,) = interleaved([call], budget.repeats)
    reference = _reference(work, budget.checked)
    own = best_rate(work.u.shape[0] * work.u.shape[2], times)
    own = own._replace(error=reference.error(end[:, : budget.checked].T))
    details = {
        "vehicles": budget.vehicles,
        "steps": len(work.u),
        "dt": DT,
        "lanes": fleet.lanes,
        "upstream_quoted": 1.0 / UPSTREAM_TIMES[name],
    }
    # Peer that evaluates the same function with NumPy, one array per field of the whole fleet
    # and a list of rows as queue
    seconds = budget.repeats * budget.peer_seconds
    begin, steps_made = perf_counter(), 0
    for _ in _numpy_states(work):
        steps_made += 1
        if perf_counter() - begin > seconds:
            break
    rate = work.u.shape[2] * steps_made / (perf_counter() - begin)
    few = len(reference.end)
    *_, last = _numpy_states(work._replace(x0=work.x0[:, :few], u=work.u[:, :, :few]))
    end = np.stack([np.broadcast_to(a, few) for a in record.flatten(last)], axis=1)
    peers = {"numpy": Measured(rate, None, reference.error(end))}
    absent = {"upstream": "needs ROS 2"}
    return Entry(f"fleet.{name}.float64.threads1", RATE, own, peers, absent, details)


def _reference(work: Work, checked: int) -> Reference:
    """End states of the first vehicles, by updates on Python numbers."""
    ends = [_alone(work, b) for b in range(checked)]
    return Reference(np.array(ends), np.abs(np.array(ends)).max(axis=0))


def _alone(work: Work, vehicle: int) -> tuple[float, ...]:
    line = DelayLine.of(work.vehicle.model, work.vehicle.params, DT)
    assert line is not None
    model = work.vehicle.model
    x = record.unflatten(model.State, work.x0[:, vehicle].tolist())
    for step, row in enumerate(work.u[:, :, vehicle].tolist()):
        x = _update(work.vehicle, x, line.acting(row, step, step + 1))
    return record.flatten(x)


def _update(vehicle: Vehicle, x: Any, row: Any) -> Any:
    model = vehicle.model
    assert model.update is not None
    w = record.build(model.Disturbance)
    return model.update(x, record.unflatten(model.Input, row), w, vehicle.params, DT)


def _numpy_states(work: Work) -> Iterator[Any]:
    line = DelayLine.of(work.vehicle.model, work.vehicle.params, DT)
    assert line is not None
    x = record.unflatten(work.vehicle.State, tuple(work.x0))
    for step, row in enumerate(work.u):
        x = _update(work.vehicle, x, line.acting([*row], step, step + 1))
        yield x


def _ticking(road: Road | None, wrapped: Callable[[Any], Any] = lambda model: model) -> Measured:
    """Median time of a tick in a drive with noise and all reports."""
    simulator = PlanningSimulator(
        "DELAY_STEER_ACC_GEARED",
        {"wheel_base": 2.79, "add_measurement_noise": True, "enable_road_slope_simulation": True},
        seed=SEED,
        road=road,
    )
    simulator.model = wrapped(simulator.model)
    simulator.initial_pose(x=0.0, y=0.0, yaw=0.0)
    simulator.gear("DRIVE")
    simulator.turn_indicators(2)
    simulator.hazard_lights(1)

    def moments() -> Iterator[float]:
        for k in range(TICKS):
            simulator.command(acceleration=0.2, steer=0.02)
            yield DT * k

    return typical(each(simulator.tick, moments())[TICKS // 10 :])


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


def commonroad_entries(budget: Budget) -> Iterator[Entry]:
    """Calls of `simulate` with SciPy's and skidpad's integrators; a Monte Carlo on all cores."""
    for name in UPSTREAM:
        for method in ("scipy", "skidpad"):
            vehicle = get(f"commonroad_{name}_bicycle")()
            x0, u = _start(vehicle), np.array([0.8, 0.05])
            ivp = "RK45" if method == "scipy" else "skidpad:rk4"
            tight = Simulation(vehicle, rtol=1e-12, atol=1e-13)
            reference = tight.simulate(x0, u, HORIZON, ivp_method="DOP853")[1].states[-1]
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
    vehicle = get("commonroad_dynamic_bicycle")()
    with warnings.catch_warnings():
        # RK4 as in the peer. It is unstable below 0.5 m/s; "auto" would take five times as long
        # there.
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
    peer = _commonroad_by_numpy(vehicle, x0, steps, budget)
    details = {
        "runs": RUNS,
        "duration": DURATION,
        "sampling": HORIZON,
        "substeps": SUBSTEPS,
        "threads": fleet.threads,
        "numpy": f"measured on {PEER_STEPS} of {steps * SUBSTEPS} steps, scaled",
    }
    own = Measured(min(times), None)
    yield Entry("monte_carlo.dynamic100k", TIME, own, {"numpy": peer}, {}, details)


def _start(vehicle: Vehicle) -> AnyArray:
    """Start state at 10 m/s with a small steering angle."""
    names = record.names(vehicle.State)
    values = {"v": 10.0, "v_x": 10.0, "steer": 0.02}
    return np.array([values.get(name, 0.0) for name in names])


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


PEER_STEPS = 4


def _commonroad_by_numpy(vehicle: Vehicle, x0: AnyArray, steps: int, budget: Budget) -> Measured:
    """Time of the same RK4 in NumPy on arrays of all runs, extrapolated from a few steps."""
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
