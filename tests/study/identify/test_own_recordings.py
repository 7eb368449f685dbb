"""What skidpad records, skidpad compares and fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import skidpad as sp
from skidpad.cli import app
from skidpad.study.identify import compare
from skidpad.study.logs import read_log
from skidpad.view.recording import Recorder
from skidpad.view.stages import trajectory_stage

MODEL = "DELAY_STEER_ACC_GEARED"


@pytest.fixture(scope="module")
def car() -> sp.Vehicle:
    return sp.vehicles.autoware(MODEL, {"wheel_base": 2.79})


@pytest.fixture(scope="module")
def run(car: sp.Vehicle) -> sp.Trajectory:
    t = np.arange(300) * 0.01
    controls = np.zeros((300, len(car.Input._fields)))
    for name, values in (
        ("acceleration", 1.0 + 0.5 * np.sin(t)),
        ("steer", 0.1 * np.sin(2.0 * t)),
        ("gear", np.full(300, 2.0)),
    ):
        controls[:, car.Input._fields.index(name)] = values
    return sp.Simulator(car, dt=0.01).run(controls)


def recorded(path: Path, vehicle: sp.Vehicle, **runs: sp.Trajectory) -> Path:
    stage, times, rows = trajectory_stage(runs, vehicle)
    with Recorder(path, stage) as recorder:
        for time, row in zip(times, rows, strict=True):
            recorder.add(float(time), row)
    return path


def test_a_recording_is_the_log_that_its_trajectory_is(
    car: sp.Vehicle, run: sp.Trajectory, tmp_path: Path
) -> None:
    own, same = read_log(recorded(tmp_path / "run.mcap", car, car=run)), read_log(run)
    shared = [name for name in same.channels if not name.startswith("out_")]
    assert {"u_acceleration", "u_steer", "u_gear", "v_x", "steer"} <= own.channels.keys()
    for name in (name for name in shared if name in own.channels):
        np.testing.assert_array_equal(own.channels[name].values, same.channels[name].values)
        np.testing.assert_allclose(own.channels[name].t, same.channels[name].t, atol=1e-9)


def test_vehicles_of_one_recording_are_told_apart(
    car: sp.Vehicle, run: sp.Trajectory, tmp_path: Path
) -> None:
    path = recorded(tmp_path / "run.mcap", car, a=run, b=run)
    log = read_log(path, {"b.u_steer": "u_steer", "b.v_x": "v_x"})
    assert {"u_steer", "v_x", "a.u_steer", "a.v_x"} <= log.channels.keys()


def test_what_run_writes_compare_reads(tmp_path: Path) -> None:
    """The commands were those of the same model, so that nothing differs but the start."""
    runner = CliRunner()
    made = runner.invoke(
        app, ["run", MODEL, "--duration", "3", "--out", str(tmp_path), "--no-page", "--quiet"]
    )
    assert made.exit_code == 0, made.output
    (file,) = tmp_path.glob("*.mcap")
    compared = compare(sp.vehicles.autoware(MODEL, {"wheel_base": 2.79}), file)
    assert compared.error("v_x").rmse == pytest.approx(0.0, abs=1e-6)
