"""Logs with the calibration of their sensors taken out, and hints at what was left in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.identify.drives import calibrated
from skidpad.study.logs.preparation import Prepared

DT = 0.01
CAR = sp.vehicles.single_track()


def waves() -> Prepared:
    t = DT * np.arange(3000)
    simulator = sp.Simulator(CAR, dt=DT)
    simulator.reset(v_x=20.0)
    steer = 0.03 * np.sin(1.6 * t) * np.sin(0.3 * t)
    run = simulator.run(np.stack([steer, np.full(len(t), 300.0)], axis=1))
    channels = {name: run[name] for name in ("v_x", "v_y", "omega", "a_y")}
    channels["steering_wheel"] = (run["steer"] + 0.001) * 15.0
    noise = {"steering_wheel": 0.003}
    return Prepared("drive", run.t, DT, channels, {}, noise, {}, (), ())


def test_a_hand_wheel_angle_becomes_the_angle_of_the_wheels() -> None:
    drive = waves()
    given = {"log.steer_ratio": 1.0 / 15.0, "log.steer_offset": -0.001, "log.omega_bias": 0.01}
    clean, notes = calibrated(CAR, drive, given)
    assert not notes
    assert np.abs(clean["steer"] - (drive["steering_wheel"] / 15.0 - 0.001)).max() < 1e-12
    assert clean.noise["steer"] == pytest.approx(0.003 / 15.0)
    np.testing.assert_allclose(clean["omega"], drive["omega"] - 0.01)


def test_without_a_ratio_it_is_that_with_which_the_vehicle_turns() -> None:
    clean, (note,) = calibrated(CAR, waves(), {})
    assert "steering_wheel" in note
    assert np.abs(clean["steer"] - (waves()["steering_wheel"] / 15.0 - 0.001)).max() < 1e-3


def test_a_delay_is_taken_out() -> None:
    drive = waves()
    late = np.interp(drive.t - 0.05, drive.t, drive["omega"])
    shown = Prepared(
        "late", drive.t, DT, {**drive.channels, "omega": late}, {}, drive.noise, {}, (), ()
    )
    clean, _ = calibrated(CAR, shown, {"delay.omega": 0.05, "log.steer_ratio": 1.0 / 15.0})
    known = np.isfinite(clean["omega"])
    assert not known.all()
    assert np.abs(clean["omega"] - drive["omega"])[known].max() < 1e-9


def test_a_bias_that_is_not_fitted_is_mentioned_and_a_file_keeps_all_parameters(
    tmp_path: Path,
) -> None:
    drive = waves()
    channels = {**drive.channels, "a_y": drive["a_y"] + 0.5}
    rng = np.random.default_rng(0)
    channels |= {n: v + 1e-3 * rng.normal(size=len(v)) for n, v in channels.items()}
    shown = Prepared("biased", drive.t, DT, channels, {}, drive.noise, {}, (), ())
    car = CAR.with_params(m=1300.0)
    free = ["log.steer_ratio", "log.steer_offset"]
    found = sp.study.identify.fit(car, shown, free=free, starts=1)
    assert any("log.a_y_bias" in note for note in found.notes)
    text = found.write(tmp_path / "mine.yaml").read_text()
    assert "\nm: 1300.0" in text
    assert "log.steer_ratio" in text
    told = sp.study.identify.fit(car, shown, free=[*free, "log.a_y_bias"], starts=1)
    assert told["log.a_y_bias"].value == pytest.approx(0.5, abs=0.05)
    assert not any("log.a_y_bias" in note for note in told.notes)
