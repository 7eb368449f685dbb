"""The group `planning`: command-driven vehicles, in fleets and as a simulator with reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..compat.autoware.road import Road
from ..compat.autoware.simulator import PlanningSimulator
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..run.delay import DelayLine
from ..run.fleet import Fleet
from ..vehicles.command_driven import autoware
from ..vehicles.parts.actuators import Gear
from .peers import DirectMotion
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, each, interleaved, typical
from .work import SEED, Reference

DT = 0.025
"""Period of upstream's timer, in s."""
UPSTREAM_TIMES = {"DELAY_STEER_ACC_GEARED": 285e-9, "DELAY_STEER_MAP_ACC_GEARED": 2057e-9}
"""Time in s of one update of upstream's C++ class, measured once on a similar machine."""
TICKS = 2000


class Work(NamedTuple):
    """Vehicles with individual commands and gears at every step."""

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
        # The size of the map in upstream's documentation; accelerations fall with the speed.
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
    peers = {"numpy": _by_numpy(work, reference, budget)}
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


def _by_numpy(work: Work, reference: Reference, budget: Budget) -> Measured:
    """Peer that evaluates the same function with NumPy, one array per field of the whole fleet and
    a list of rows as queue."""
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
    return Measured(rate, None, reference.error(end))


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
