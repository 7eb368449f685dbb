"""Worlds that are recorded while they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.recording import WorldRecorder, info, read
from skidpad.view.stages import WorldStage
from skidpad.world.xml import loads
from view.recording.decoding import messages
from view.recording.stages import same_bits
from world.sensor_worlds import gnss, imu, laser, robot

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
    log = recording.sensor("r", "imu")
    reading = world.vehicles["r"].sensors["imu"]
    assert len(log.times) == 19
    assert log.times[-1] == pytest.approx(reading.stamp)
    rates, forces = reading[3:6], reading[0:3]
    assert log.values[-1].tolist() == [*rates, *forces]
    shown = messages(path, "/r/imu")[-1].value
    assert shown.linear_acceleration.z == reading.f_z
    assert not shown.HasField("orientation")


GEO = "<georeference><latitude>47</latitude><longitude>8</longitude></georeference>"


def test_every_reading_is_written_however_coarse_the_samples(tmp_path: Path) -> None:
    fast = laser(rays=5).replace(
        "<max_range>", "<sensor_period>0.02</sensor_period><max_range>"
    ) + imu(period=0.01)
    receiver = gnss(0.5).replace("<horiz", "<sensor_period>0.05</sensor_period><horiz")
    text = f"<simul_timestep>0.01</simul_timestep>{GEO}{WALL}"
    text += robot(fast + receiver, control=TWIST)
    world = sp.World(loads(f"<mvsim_world version='1.0'>{text}</mvsim_world>"), seed=3)
    world.vehicles["r"].command(v=1.0, omega=0.5)
    path, latest = tmp_path / "run.mcap", dict.fromkeys(("scan", "imu", "gps"))
    given: dict[str, list[Any]] = {name: [] for name in latest}
    wheels: list[Any] = []
    with WorldRecorder(world, path, rate=3.0) as recorder:
        for _ in range(100):
            world.step()
            if recorder.sample():
                wheels.append(world.vehicles["r"].sensors["odometry"])
            for name, before in latest.items():
                reading = world.vehicles["r"].sensors[name]
                if reading is not None and reading is not before:
                    given[name].append(reading)
                latest[name] = reading
    recording = read(path)
    assert recording.times.size == 4
    assert [len(readings) for readings in given.values()] == [49, 99, 19]
    scans, unit, fixes = given.values()
    assert [s.time for s in recording.scans] == pytest.approx([s.stamp for s in scans], abs=1e-9)
    for mine, theirs in zip(recording.scans, scans, strict=True):
        np.testing.assert_array_equal(mine.ranges, theirs.ranges.astype(np.float32))
    log = recording.sensor("r", "imu")
    assert log.times.tolist() == pytest.approx([one.stamp for one in unit], abs=1e-9)
    assert log.values.tolist() == [[*one[3:6], *one[:3]] for one in unit]
    log = recording.sensor("r", "gps")
    assert log.times.tolist() == pytest.approx([one.stamp for one in fixes], abs=1e-9)
    assert log.values.tolist() == [[f.latitude, f.longitude, f.altitude] for f in fixes]
    shown = messages(path, "/r/gps")[-1].value
    assert (shown.latitude, shown.longitude) == (fixes[-1].latitude, fixes[-1].longitude)
    assert list(shown.position_covariance) == [0.25, 0, 0, 0, 0.25, 0, 0, 0, 0.25]
    assert shown.position_covariance_type == 2
    log = recording.sensor("r", "odometry")
    assert log.values.tolist() == [list(one[:5]) for one in wheels]
    shown = messages(path, "/r/odometry")[-1].value
    assert (shown.frame_id, shown.child_frame_id) == ("r/odom", "r")
    assert [shown.x, shown.y, shown.yaw, shown.v_x, shown.omega] == list(wheels[-1][:5])
    rates = {topic.name: topic.rate for topic in info(path).topics}
    assert rates["/r/imu"] == pytest.approx(100.0, rel=0.02)


def test_contacts_and_bumpers_are_written_when_they_change(tmp_path: Path) -> None:
    world, path = robot_world(), tmp_path / "run.mcap"
    world.vehicles["r"].command(v=2.0, omega=0.0)
    events: list[Any] = []
    with WorldRecorder(world, path, rate=0.9) as recorder:
        recorder.sample()
        for k in range(300):
            if k == 250:
                world.vehicles["r"].command(v=-2.0)
            world.step()
            # Whoever takes them out takes nothing from the recording.
            events += world.contact_events
            world.contact_events.clear()
            recorder.sample()
    recording = read(path)
    assert {event.kind for event in events} == {"begin", "end"}
    assert len(recording.contacts) == len(events)
    for mine, theirs in zip(recording.contacts, events, strict=True):
        assert mine.time == pytest.approx(theirs.time, abs=1e-9)
        assert mine._replace(time=0.0) == theirs._replace(time=0.0)
    first = next(event.time for event in events if "r" in (event.a, event.b))
    bumper = recording.sensor("r", "bumper")
    assert bumper.times[:2].tolist() == pytest.approx([0.0, first])
    assert bumper.values[:2, 0].tolist() == [0.0, 1.0]
    assert (np.diff(bumper.values[:, 0]) != 0.0).all()
    assert recording.sensor("other", "bumper").values.tolist() == [[0.0]]
    shown = messages(path, "/contacts")
    assert [m.value.began for m in shown] == [event.kind == "begin" for event in events]
    assert (shown[0].value.a, shown[0].value.b) == (events[0].a, events[0].b)
    assert shown[0].value.normal_impulse == events[0].normal_impulse
    assert shown[0].value.position.x == events[0].x


def test_where_steps_are_left_out_the_latest_readings_are_written(tmp_path: Path) -> None:
    world, path = robot_world(imu(period=0.05)), tmp_path / "run.mcap"
    world.vehicles["r"].command(v=2.0, omega=0.0)
    with WorldRecorder(world, path, rate=None) as recorder:
        recorder.sample()
        for _ in range(3):
            world.run(1.0)
            recorder.sample()
        unit = world.vehicles["r"].sensors["imu"]
        count = len(world.contact_events)
    recording = read(path)
    log = recording.sensor("r", "imu")
    assert len(log.times) == 3
    assert log.times[-1] == pytest.approx(unit.stamp)
    assert len(recording.contacts) == count > 0


def test_a_world_that_starts_again_needs_another_recording(tmp_path: Path) -> None:
    world = robot_world()
    with WorldRecorder(world, tmp_path / "run.mcap", rate=None) as recorder:
        world.step()
        recorder.sample()
        world.reset()
        with pytest.raises(InvalidValue, match="later than the last sample"):
            recorder.sample()
