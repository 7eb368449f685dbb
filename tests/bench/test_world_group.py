"""The group `world`, with few robots: names, units and what the crowds do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skidpad import Simulator
from skidpad.bench import timing, world
from skidpad.bench.timing import REAL_TIME, Entry, Measured, quantity
from skidpad.bench.world import DT, PITCH, crowd

TINY = replace(timing.QUICK, rk4_steps=20, repeats=1, peer_seconds=0.01)


def test_entries_have_their_names_and_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "VEHICLES", (1, 4))
    monkeypatch.setattr(world, "MANY", 4)
    monkeypatch.setattr(world, "SETTLING", 0.1)
    found = {entry.name: entry for entry in world.entries(TINY)}
    assert set(found) == {
        "world.differential1",
        "world.differential4",
        "world.differential4.grid",
        "world.differential4.lidar",
        "world.ackermann4",
    }
    for entry in found.values():
        assert entry.unit == REAL_TIME
        count, cost = (entry.details[k] for k in ("vehicles", "seconds_per_vehicle_step"))
        assert entry.own.value * cost * count == pytest.approx(DT)
        assert entry.peers["simulators"].value > 0.0
    assert found["world.differential1"].details["upstream"] == 1216.0


def test_more_times_real_time_is_faster() -> None:
    entry = Entry("w", REAL_TIME, Measured(60.0, None), {"slow": Measured(20.0, None)})
    assert entry.ratio("slow") == 3.0
    assert quantity(1216.0, REAL_TIME) == "1.22 krt"


@pytest.mark.parametrize("kind", ["differential", "ackermann"])
def test_a_robot_of_a_crowd_drives_its_circle_as_it_does_alone(kind: str) -> None:
    whole = crowd(kind, 1)
    (robot,) = whole.vehicles.values()
    alone = Simulator(robot.built.vehicle, whole.dt)
    alone.reset(robot.state)
    for _ in range(400):
        whole.step()
        alone.step(robot.input)
    assert robot.state == alone.state
    x, y = robot.truth.x, robot.truth.y
    assert 0.15 * PITCH[kind] < np.hypot(x, y) < 0.5 * PITCH[kind]


def test_a_hall_keeps_its_robots_between_pillars() -> None:
    whole = crowd("differential", 4, grid=True)
    (hall,) = whole.scene.elements
    grid = hall.grid
    pitch = PITCH["differential"]
    assert grid.occupied.shape == (round(3 * pitch / 0.05),) * 2
    # Pillars stand half a pitch from the middles of the circles, whose own places are free.
    row, column = (round(1.5 * pitch / 0.05),) * 2
    assert grid.occupied[row, column]
    row, column = (round(1.0 * pitch / 0.05),) * 2
    assert not grid.occupied[row - 20 : row + 20, column - 20 : column + 20].any()
    for vehicle in whole.vehicles.values():
        vehicle.command(v=1.0, omega=0.0)
    whole.run(10.0)
    for vehicle in whole.vehicles.values():
        assert max(abs(vehicle.truth.x - pitch / 2), abs(vehicle.truth.y - pitch / 2)) < 1.5 * pitch


def test_the_lidars_of_a_crowd_scan_ten_times_a_second() -> None:
    whole = crowd("differential", 2, extra=world.LIDAR)
    whole.run(0.5)
    start = whole.snapshot()
    for _ in range(2):
        whole.restore(start)
        stamps: set[float] = set()
        for _ in range(200):
            whole.step()
            stamps.add(whole.sensing.latest("r0001", "scan").stamp)
        assert 10 <= len(stamps) <= 11
        assert whole.sensing.latest("r0001", "scan").ranges.shape == (360,)
