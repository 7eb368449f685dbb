"""The group `ros2`, in short: names, units, and that everybody makes the same bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("cyclonedds")

from skidpad.bench import ros2, timing
from skidpad.bench.timing import TIME
from skidpad.world.world import World

TINY = replace(timing.QUICK, repeats=1)


@pytest.mark.slow
def test_entries_have_their_names_and_what_they_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros2, "SETTLING", 0.1)
    monkeypatch.setattr(ros2, "STRETCH", 3.0)
    monkeypatch.setattr(ros2, "TRIES", 20)
    found = {entry.name: entry for entry in ros2.entries(TINY)}
    assert set(found) == {"ros2.robots20", "ros2.round_trip", "ros2.codec"}
    fleet = found["ros2.robots20"]
    assert fleet.unit == "cores"
    assert fleet.own.value > 0.0
    rates = fleet.details["messages_per_second_and_robot"]
    assert rates["odom"] > rates["scan"] > 0.0
    trip = found["ros2.round_trip"]
    assert trip.unit == TIME
    assert 0.0 < trip.own.value <= trip.details["percentile_99"]
    codec = found["ros2.codec"]
    assert codec.details["same_bytes"] is True
    assert {*codec.peers, *codec.absent} == {"record", "rosbags", "cyclonedds"}


def test_the_robots_of_the_fleet_keep_apart() -> None:
    world = World(ros2.fleet())
    assert len(world.vehicles) == ros2.ROBOTS
    for _ in range(400):
        world.step()
    assert not world.contact_events
    speeds = [vehicle.truth.v_x for vehicle in world.vehicles.values()]
    assert speeds == pytest.approx([0.5] * ros2.ROBOTS, abs=0.1)
    assert len(world.readings("r0")["scan"].ranges) == ros2.RAYS
