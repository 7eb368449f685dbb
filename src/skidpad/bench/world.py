"""The group `world`: how much faster than real time worlds of robots run, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..run.simulator import Simulator
from ..world.world import World
from .budget import Budget
from .clock import best_rate, interleaved, seconds
from .crowds import crowd
from .entry import REAL_TIME, Entry, Measured

UPSTREAM = {
    "world.differential1": 1216.0,
    "world.differential100": 14.5,
    "world.differential100.grid": 0.28,
    "world.differential100.lidar": 2.5,
}
"""Times real time of the upstream program with 5 ms, one thread, as measured once on a like
machine."""
VEHICLES = (1, 100, 1000)
MANY = 100
SETTLING = 5.0
"""In s: how long they drive before the stretch that is timed."""

LIDAR = (
    "<sensor class='laser' name='scan'><sensor_period>0.1</sensor_period>"
    "<fov_degrees>360</fov_degrees><nrays>360</nrays><max_range>20</max_range></sensor>"
)
"""A scan of 360 rays ten times a second."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Robots alone, in crowds, between pillars and with lidars; and cars."""
    for count in VEHICLES:
        yield _entry(f"world.differential{count}", crowd("differential", count), budget)
    name = f"world.differential{MANY}"
    yield _entry(f"{name}.grid", crowd("differential", MANY, grid=True), budget)
    yield _entry(f"{name}.lidar", crowd("differential", MANY, extra=LIDAR), budget)
    yield _entry(f"world.ackermann{MANY}", crowd("ackermann", MANY), budget)


def _entry(name: str, world: World, budget: Budget) -> Entry:
    """The world beside the same robots one by one, each in a Simulator and without contacts."""
    steps, count = budget.rk4_steps, len(world.vehicles)
    world.run(SETTLING)
    start = world.snapshot()

    def own() -> None:
        world.restore(start)
        for _ in range(steps):
            world.step()

    peer, peer_steps = _one_by_one(world, budget)
    own_times, peer_times = interleaved([own, peer], budget.repeats)
    touching = _touching(world, start, steps)
    fast = best_rate(steps * world.dt, own_times)
    details: dict[str, Any] = {
        "vehicles": count,
        "dt": world.dt,
        "seconds_per_vehicle_step": world.dt / fast.value / count,
        "mean_contacts": touching,
    }
    if name in UPSTREAM:
        details["upstream"] = UPSTREAM[name]
    peers: dict[str, Measured] = {"simulators": best_rate(peer_steps * world.dt, peer_times)}
    return Entry(name, REAL_TIME, fast, peers, {}, details)


def _one_by_one(world: World, budget: Budget) -> tuple[Callable[[], None], int]:
    """What steps every robot by itself from Python, and for how many steps."""
    robots: list[tuple[Simulator, Any]] = []
    for vehicle in world.vehicles.values():
        alone = Simulator(vehicle.built.vehicle, world.dt)
        alone.reset(vehicle.state)
        robots.append((alone, vehicle.input))

    def turn() -> None:
        for alone, command in robots:
            alone.step(command)

    turn()
    steps = max(int(budget.peer_seconds / seconds(turn)), 1)

    def drive() -> None:
        for _ in range(steps):
            turn()

    return drive, steps


def _touching(world: World, start: Any, steps: int) -> float:
    """Contacts in a step, the mean over the stretch that is timed."""
    world.restore(start)
    contacts = 0
    for _ in range(steps):
        world.step()
        contacts += len(world.contacts)
    return contacts / steps
