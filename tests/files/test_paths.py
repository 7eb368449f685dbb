"""Whatever reads or writes a file says what is wrong with its path, and always in the same way."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import recording
from skidpad.compat.autoware import lanelet2
from skidpad.compat.commonroad import read_scenario
from skidpad.compat.truck.model_file import truck_model
from skidpad.compile.plant import Plant
from skidpad.errors import InvalidValue, MissingFile
from skidpad.plane import maps
from skidpad.stage.film import Film
from skidpad.stage.trajectory_stage import trajectory_stage
from skidpad.trajectory import Trajectory
from skidpad.world import xml

READERS: dict[str, Callable[[Any], Any]] = {
    "Trajectory.from_csv": Trajectory.from_csv,
    "Trajectory.from_parquet": Trajectory.from_parquet,
    "recording.read": recording.read,
    "recording.info": recording.info,
    "recording.recover": recording.recover,
    "World.load": sp.World.load,
    "xml.load": xml.load,
    "Map.load": maps.Map.load,
    "read_scenario": read_scenario,
    "read_lanelets": lanelet2.read_lanelets,
    "Fleet.load": sp.Fleet.load,
    "identify.read": sp.identify.read_log,
    "Plant.load": Plant.load,
    "truck_model": truck_model,
}


@cache
def trajectory() -> Trajectory:
    return sp.Simulator(sp.vehicles.kinematic_bicycle(), dt=0.01).run({}, duration=0.1)


def film() -> Film:
    made, times, rows = trajectory_stage({"a": trajectory()}, sp.vehicles.kinematic_bicycle())
    return Film(made, times, rows.astype(np.float32))


WRITERS: dict[str, Callable[[Any], Any]] = {
    "Trajectory.to_csv": lambda path: trajectory().to_csv(path),
    "Trajectory.to_parquet": lambda path: trajectory().to_parquet(path),
    "Trajectory.plot": lambda path: trajectory().plot(path=path),
    "Fleet.save": lambda path: sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.01).save(path),
    "Film.to_html": lambda path: film().to_html(path),
    "Recorder": lambda path: recording.Recorder(path, film().stage),
}
SUFFIX = {
    "Trajectory.to_csv": ".csv",
    "Trajectory.to_parquet": ".parquet",
    "Trajectory.plot": ".png",
    "Film.to_html": ".html",
    "Recorder": ".mcap",
}


@pytest.mark.parametrize("suffix", ["", ".csv", ".mcap", ".xml", ".parquet", ".yaml", ".npz"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_not_there(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nothing{suffix}"
    with pytest.raises(InvalidValue) as caught:
        READERS[name](path)
    message = str(caught.value)
    if isinstance(caught.value, MissingFile):
        assert message.count(path.name) == 1, message
        return
    # Only what can tell from the name alone that it does not read such files.
    assert name in ("Map.load", "identify.read"), message
    assert f"{suffix or '(none)'} is not" in message or "must be a .parquet" in message, message


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("path", [None, 5, b"\0"])
def test_what_is_no_path(name: str, path: Any) -> None:
    if name == "truck_model" and path is None:
        pytest.skip("the truck by default")
    with pytest.raises(InvalidValue):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"folder|directory|suffix"):
        READERS[name](tmp_path)


# A recorder says so as `RecordingFailed`, whatever keeps it from writing.
@pytest.mark.parametrize("name", [name for name in WRITERS if name != "Recorder"])
def test_a_folder_that_is_not_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / "no folder" / f"written{SUFFIX.get(name, '')}"
    with pytest.raises(MissingFile, match="no folder") as caught:
        WRITERS[name](path)
    assert str(caught.value).count("cannot") == 1
    assert str(caught.value).count(path.name) <= 1


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "Trajectory.plot"])
@pytest.mark.parametrize("path", [None, 5])
def test_nothing_is_written_to_what_is_no_path(name: str, path: Any) -> None:
    with pytest.raises(InvalidValue):
        WRITERS[name](path)
