"""Worlds that are recorded while they run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from record_io.decoding import messages
from record_io.stages import same_bits
from skidpad.errors import InvalidValue
from skidpad.recording import WorldRecorder, read
from skidpad.stage.world_stage import WorldStage
from skidpad.world.xml import loads
from world.sensor_worlds import imu, laser, robot

BLOCK = "<block name='crate'><init_pose>3 0 0</init_pose></block>"
WALL = "<walls><shape><pt>6 -9</pt><pt>6 9</pt></shape></walls>"
TWIST = "<controller class='twist_ideal'/>"


def robot_world(sensors: str = "") -> sp.World:
    """A robot that drives a circle beside another one."""
    robots = robot(sensors, control=TWIST) + robot(name="other", pose="0 4 0", control=TWIST)
    text = f"<simul_timestep>0.01</simul_timestep>{WALL}{BLOCK}{robots}"
    world = sp.World(loads(f"<mvsim_world version='1.0'>{text}</mvsim_world>"), seed=3)
    world.vehicles["r"].command(v=1.0, omega=0.5)
    return world


def test_rows_are_those_of_the_world_at_the_time(tmp_path: Path) -> None:
    world, path = robot_world(), tmp_path / "run.mcap"
    view = WorldStage(world)
    taken: dict[float, np.ndarray] = {}
    with WorldRecorder(world, path, rate=20.0, meta={"why": "test"}) as recorder:
        recorder.sample()
        taken[world.time] = view.row()
        for _ in range(100):
            world.step()
            if recorder.sample():
                taken[world.time] = view.row()
    recording = read(path)
    assert recording.stage == view.stage
    assert recording.times.tolist() == list(taken)
    assert recording.times == pytest.approx(np.arange(21) / 20.0)
    assert same_bits(recording.rows, np.array(list(taken.values())))
    assert recording.meta == {"dt": 0.01, "seed": 3, "why": "test"}
    assert recording.column("r", "x")[-1] == world.vehicles["r"].truth.x


def test_recording_changes_nothing(tmp_path: Path) -> None:
    alone, recorded = robot_world(laser()), robot_world(laser())
    alone.run(1.0)
    with WorldRecorder(recorded, tmp_path / "run.mcap", rate=None) as recorder:
        for _ in range(100):
            recorded.step()
            assert recorder.sample()
    assert same_bits(alone.motion(), recorded.motion())


def test_scans_and_readings_come_once_each(tmp_path: Path) -> None:
    world, path = robot_world(laser(rays=5) + imu(period=0.05)), tmp_path / "run.mcap"
    scans: list[np.ndarray] = []
    with WorldRecorder(world, path, rate=None) as recorder:
        for _ in range(100):
            world.step()
            recorder.sample()
            scan = world.vehicles["r"].sensors["scan"]
            if scan is not None and (not scans or scan.ranges is not scans[-1]):
                scans.append(scan.ranges)
    recording = read(path)
    assert len(recording.scans) == len(scans) == 9
    for mine, theirs in zip(recording.scans, scans, strict=True):
        np.testing.assert_array_equal(mine.ranges, theirs.astype(np.float32))
    (log,) = recording.imus
    reading = world.vehicles["r"].sensors["imu"]
    assert (log.name, log.body, len(log.times)) == ("imu", "r", 19)
    assert log.times[-1] == pytest.approx(reading.stamp)
    rates, forces = reading[3:6], reading[0:3]
    assert log.values[-1].tolist() == [*rates, *forces]
    shown = messages(path, "/r/imu")[-1].value
    assert shown.linear_acceleration.z == reading.f_z
    assert not shown.HasField("orientation")


def test_a_world_that_starts_again_needs_another_recording(tmp_path: Path) -> None:
    world = robot_world()
    with WorldRecorder(world, tmp_path / "run.mcap", rate=None) as recorder:
        world.step()
        recorder.sample()
        world.reset()
        with pytest.raises(InvalidValue, match="later than the last sample"):
            recorder.sample()
