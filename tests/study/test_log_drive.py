"""Logs driven again: what `identify.compare` measures, and a run that finds itself."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.experiment import Resources
from skidpad.study.identify import compare
from skidpad.study.metrics import highest, last, rms
from skidpad.study.rollouts import AS_RECORDED, LogDrive
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import BASE, MODEL, TRUTH, drive

from .drive_models import rows

RUN = drive(steps=120)
OTHER = {**BASE, **TRUTH, "acc_time_constant": 0.4}
METRICS = {
    "off": rms("hypot(x - log.x, y - log.y)"),
    "slow": highest("abs(v_x - log.v_x)"),
    "yaw": rms("yaw - log.yaw"),
}


def log_drive(params: Any = OTHER, log: Any = RUN, **options: Any) -> LogDrive:
    return LogDrive(autoware(MODEL, params), log, **{"metrics": METRICS, **options})


def test_deviations_are_those_of_compare() -> None:
    """Errors of position, speed and heading, with dead times whose commands lie ahead."""
    out = log_drive().evaluate(rows(1), Resources())
    car = autoware(MODEL, OTHER)
    measured = compare(car, RUN, window=10.0, dt=0.025, without=AS_RECORDED)
    assert out["off"][0] == pytest.approx(measured.error("position").rmse, rel=1e-9)
    assert out["slow"][0] == pytest.approx(measured.error("v_x").max, rel=1e-9)
    assert out["yaw"][0] == pytest.approx(measured.error("yaw").rmse, rel=1e-9)


def test_the_vehicle_that_made_the_log_drives_it_again() -> None:
    found = log_drive({**BASE, **TRUTH})
    out = found.evaluate(rows(2, acc_time_constant=[TRUTH["acc_time_constant"], 0.5]), Resources())
    assert out["off"][0] == out["slow"][0] == 0.0
    assert out["slow"][1] > 0.01
    run = found.replay(rows(1))
    assert len(run) == found.drive._setup().steps + 1
    assert run["v_x"].tolist() == RUN["v_x"][-len(run) :].tolist()


def test_a_file_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    RUN.to_csv(path)
    found = log_drive(log=path)
    by_file, by_run = (one.evaluate(rows(1), Resources()) for one in (found, log_drive()))
    np.testing.assert_allclose(by_file["off"], by_run["off"], rtol=1e-9)
    path.unlink()
    again = pickle.loads(pickle.dumps(found))
    assert again.evaluate(rows(1), Resources())["off"] == by_file["off"]


def test_shorter_steps_take_commands_and_columns_between_rows() -> None:
    """Between rows what was measured is linear, and a command is held."""
    whole, fine = log_drive(), log_drive(dt=0.005)
    assert fine.drive.dt == pytest.approx(0.005)
    a, b = (one.evaluate(rows(1), Resources()) for one in (whole, fine))
    np.testing.assert_allclose(b["off"], a["off"], rtol=0.2)
    assert fine.drive.log["v_x"][::5].tolist() == whole.drive.log["v_x"].tolist()


def test_a_vehicle_of_wheels_and_torques() -> None:
    car = sp.vehicles.kinematic_bicycle()
    t = 0.01 * np.arange(100)
    steer = 0.05 * np.sin(3.0 * t)
    table = np.stack([steer, *[np.full(100, 20.0)] * 4], axis=1)
    simulator = sp.Simulator(car, 0.01)
    simulator.reset({"v_x": 12.0})
    run = simulator.run(table)
    found = LogDrive(car, run, metrics={"off": highest("abs(y - log.y)"), "y": last("y")})
    out = found.evaluate(rows(2, m=[car.params.m, 1.3 * car.params.m]), Resources())
    assert out["off"][0] == 0.0
    assert out["off"][1] > 1e-3
    assert out["y"][0] == run["y"][-1]
    assert found.columns()[0].unit == "m"


def test_columns_that_are_not_there_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"log\.v_w"):
        log_drive(metrics={"d": rms("v_x - log.v_w")})
    with pytest.raises(InvalidValue, match="table"):
        log_drive().check({"input.steer": (0.0, 0.1)})
    with pytest.raises(InvalidValue, match="lacks columns"):
        log_drive(log=sp.Trajectory.from_arrays(np.arange(20.0)))


def test_the_identity_is_what_was_read() -> None:
    one, same, other = log_drive(), log_drive(log=drive(steps=120)), log_drive(log=drive(1, 120))
    texts = [json.dumps(drive.identity()) for drive in (one, same, other)]
    assert texts[0] == texts[1] != texts[2]
