"""The groups `learn` and `learn_gpu`, with few environments: names, peers and details are there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skidpad.bench import learn, timing
from skidpad.bench.peers import GRID_RESOLUTION, MarchedRace
from skidpad.bench.timing import RATE, TIME
from skidpad.bench.work import Device
from skidpad.errors import InvalidValue
from skidpad.learn import Task

TINY = replace(timing.QUICK, repeats=1, fresh=1)
SIZES = learn.Sizes(frenet=24, few_rays=24, many_rays=20, warm_up=3, periods=2, peer=2, single=6)
SAVED = Path(__file__).parents[1] / "data" / "tasks"


@pytest.fixture(scope="module")
def task() -> Task:
    """A race with few rays, compiled once for all entries."""
    return learn.tasks.race(tracks=learn.random_track(0), lidar=24)


@pytest.mark.slow
def test_entries_have_their_names_peers_and_details(
    monkeypatch: pytest.MonkeyPatch, task: Task
) -> None:
    monkeypatch.setattr(learn, "SIZES", SIZES)
    monkeypatch.setattr(learn, "task_of", lambda _: task)
    monkeypatch.setattr(learn, "first_call", lambda *_: 1.0)
    monkeypatch.setattr(learn, "measure_on", lambda *_: iter(()))
    found = {entry.name: entry for entry in learn.entries(TINY)}
    assert set(found) == {
        "race.frenet.envs24", "race.lidar108.envs24", "race.lidar1080.envs20", "race.single",
        "make.cold", "make.cached",
    }  # fmt: skip
    for name, entry in found.items():
        json.dumps(entry.as_json(), allow_nan=False)
        assert entry.own.value > 0.0
        assert entry.unit == (RATE if ".envs" in name else TIME)
    details = found["race.lidar1080.envs20"].details
    assert (details["environments"], details["rays"], details["tracks"]) == (20, 24, 1)
    assert details["walls"] == len(task.tracks[0].walls)
    for name in ("race.lidar1080.envs20", "race.single"):
        assert found[name].peers["march"].value > 0.0


def test_the_tasks_are_those_of_the_names() -> None:
    for name, rays in learn.RAYS.items():
        task = learn.task_of(name)
        assert (task.lidar.rays if task.lidar else 0) == rays
        assert (task.vehicle.name, task.substeps, task.dt) == ("four_wheel", 10, 0.01)


@pytest.mark.slow
def test_the_peer_sees_the_track_and_drives(task: Task) -> None:
    marched = MarchedRace(task, 3)
    before = marched.states.copy()
    marched.step(1)
    assert marched.error() < 2.0 * GRID_RESOLUTION
    moved = np.hypot(*(marched.states - before)[:, :2].T)
    np.testing.assert_allclose(moved, 0.01 * before[:, 3], atol=2e-3)


def test_restarts_are_counted_as_share_of_environments() -> None:
    task = learn.load_task(SAVED / "race.task")
    driven = learn.Driven(task, 8, Device.of("cpu"), warm_up=0)
    # All of them are cut off after so many periods.
    assert driven.restarts(task.limit) == pytest.approx(1.0 / task.limit)
    assert driven.details(task.limit)["mean_episode"] == pytest.approx(task.limit)


def test_tasks_come_from_files_where_there_are_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "GPU_WARM_UP", 2)
    monkeypatch.setattr(learn, "GPU_PERIODS", 2)
    (tmp_path / "race.frenet.task").write_bytes((SAVED / "race.task").read_bytes())
    task = learn.task_source(tmp_path)("frenet")
    (entry,) = learn.measure_on(Device.of("cpu"), lambda _: task, {"frenet": 8}, TINY)
    assert entry.name == "race.frenet.cpu8"
    assert entry.details["environments"] == 8


def test_without_casadi_and_files_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "find_spec", lambda _: None)
    with pytest.raises(InvalidValue, match=r"learn\.save_tasks wrote"):
        learn.task_source(None)
