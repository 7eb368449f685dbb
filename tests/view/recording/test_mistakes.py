"""What is no stage, channel or rate is refused with words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.recording import Recorder, read
from skidpad.view.recording.reading import Recording
from skidpad.view.stages import trajectory_stage


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    car = sp.vehicles.kinematic_bicycle()
    run = sp.Simulator(car, dt=0.01).run({}, duration=0.2)
    stage, times, rows = trajectory_stage({"car": run}, car)
    with Recorder(tmp_path / "a.mcap", stage) as recorder:
        recorder.add_rows(times, rows)
    return read(tmp_path / "a.mcap")


def test_channels_and_bodies_are_named(recording: Recording) -> None:
    np.testing.assert_array_equal(recording.column("car", "x"), recording.trajectory("car")["x"])
    for body, name in (("car", "zz"), ("zz", "x")):
        with pytest.raises(InvalidValue, match="zz"):
            recording.column(body, name)


@pytest.mark.parametrize("fps", ["a", 0, 0.0, -1.0, float("nan"), float("inf"), True])
def test_rates_of_films(recording: Recording, fps: Any) -> None:
    with pytest.raises(InvalidValue, match="fps"):
        recording.film(fps)


@pytest.mark.parametrize("stage", [None, 5, "a"])
def test_a_recorder_needs_a_stage(stage: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="stage must be a Stage"):
        Recorder(tmp_path / "a.mcap", stage)
    assert list(tmp_path.iterdir()) == []
