"""The groups `planning` and `lidar`, with little work: names, peers and errors are there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skidpad.bench import peers, planning, timing, work, world
from skidpad.geometry.raycast import Scene

TINY = replace(timing.QUICK, vehicles=64, rk4_steps=30, checked=3, repeats=1, peer_seconds=0.01)


def test_command_driven_fleets_end_where_python_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "TICKS", 40)
    found = {entry.name: entry for entry in planning.entries(TINY)}
    assert set(found) == {
        "fleet.DELAY_STEER_ACC_GEARED.float64.threads1",
        "fleet.DELAY_STEER_MAP_ACC_GEARED.float64.threads1",
        "tick.planning_simulator",
    }
    for name, entry in found.items():
        assert entry.own.value > 0.0
        if name.startswith("fleet"):
            assert entry.own.error is not None
            assert entry.own.error < 1e-12
            assert entry.peers["numpy"].error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_lidar_entries_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "RAYS_PER_RUN", 9 * world.FULL_TURN.rays)
    monkeypatch.setattr(world, "CHECKED", 2)
    monkeypatch.setattr(world, "_cuda_entries", lambda _: iter(()))
    found = {entry.name: entry for entry in world.lidar_entries(TINY)}
    assert set(found) == {
        *(f"lidar.segments{n}" for n in (100, 1000, 10000)),
        "lidar.grid1600",
        "lidar.opponents20",
    }
    for entry in found.values():
        assert entry.own.error is not None
        assert entry.own.error < 1e-9
    assert found["lidar.opponents20"].details["times_the_empty_world"] > 0.0


@pytest.mark.slow
def test_the_peers_see_what_skidpad_sees() -> None:
    angles = world.FULL_TURN.angles
    room = work.ring(200, 3)
    out = np.empty((3, angles.size))
    sweep = peers.sweep_scan(np.ascontiguousarray(room.map.segments), room.poses, angles, out)
    np.testing.assert_allclose(sweep, Scene.of(room.map).scan(room.poses, angles), atol=1e-6)
    hall = work.corridor(2)
    assert hall.map.grid is not None
    field = peers.march_field(hall.map.grid.occupied, work.RESOLUTION)
    march = peers.march_scan(field, work.RESOLUTION, hall.poses, angles, out[:2])
    exact = Scene.of(hall.map).scan(hall.poses, angles)
    # It rounds directions to 0.18° and stops at cells' middles: most rays are within a cell or two.
    assert np.median(np.abs(march - exact)) < 3 * work.RESOLUTION
