"""Logs and demands that cannot give an answer: which parameter, and what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import skidpad as sp
from skidpad.cli.identify_sheets import fit_sheet
from skidpad.study.identify import fit, fitting, problem
from skidpad.study.identify.uncertainty import untold
from skidpad.study.identify.unknowns import Unknown
from skidpad.study.logs import Log
from study.identify.drives import BASE, TRUTH, drive, fit_of, log_of, noisy


def log_with(acceleration: float = 1.0, steer: float = 0.12, **changes: np.ndarray) -> Log:
    run = drive(1, amplitudes={"acceleration": acceleration, "steer": steer})
    return log_of({**noisy(run, 1), **changes})


def test_a_command_that_never_changes_tells_no_dead_time() -> None:
    log, steering = log_with(steer=0.0), ["steer_time_delay", "steer_time_constant"]
    with pytest.raises(sp.InvalidValue) as caught:
        fit_of(log, free=[*steering, "acc_time_delay", "acc_time_constant"])
    text = str(caught.value)
    assert "u_steer never changes; drive does not tell steer_time_delay" in text
    assert "--free acc_time_delay --free acc_time_constant" in text
    assert "--free steer_time_delay" not in text
    # By default what the log does not tell is left out.
    found = fit_of(log)
    assert set(found.names).isdisjoint(steering)
    assert found["acc_time_delay"].value == pytest.approx(TRUTH["acc_time_delay"], abs=0.03)
    assert any("not fitted" in note and "steer_time_delay" in note for note in found.notes)


@pytest.mark.slow
def test_a_factor_on_nothing_cannot_be_told() -> None:
    others = ["acc_time_delay", "acc_time_constant", "debug_steer_scaling_factor"]
    with pytest.raises(sp.InvalidValue, match="does not tell debug_steer_scaling_factor: a"):
        fit_of(log_with(steer=0.0), free=others)
    assert fit_of(log_with(steer=0.0), free=others[:2]).estimates


def test_limits_that_are_never_reached_cannot_be_told() -> None:
    with pytest.raises(sp.InvalidValue, match=r"vel_lim.*Fit the others with --free steer_bias"):
        fit_of(log_with(), free=["vel_lim", "steer_bias"])


def test_parameters_that_do_the_same_are_named_together() -> None:
    run = drive(1)
    kept = ("t", "v_x", "omega", "u_acceleration", "u_steer", "u_gear")
    columns = {n: v for n, v in noisy(run, 1).items() if n in kept}
    # Without the steering angle, a longer car and weaker commands turn the same at small angles.
    found = fit_of(log_of(columns), {**BASE, **TRUTH}, free=["debug_steer_scaling_factor"])
    assert found.estimates
    small = drive(1, amplitudes={"acceleration": 1.0, "steer": 0.003})
    columns = {n: v for n, v in noisy(small, 1).items() if n in kept}
    both = ["debug_steer_scaling_factor", "wheel_base", "steer_bias"]
    (one, *_) = fit_of(log_of(columns), {**BASE, **TRUTH}, free=both).untold
    assert {"debug_steer_scaling_factor", "wheel_base"} <= set(one.names)
    assert "trade off" in one.text


def test_a_dead_time_under_noise_cannot_be_told() -> None:
    run = drive(1, amplitudes={"acceleration": 1.0, "steer": 1e-5})
    with pytest.raises(sp.InvalidValue, match="does not tell steer_time_delay"):
        fit_of(log_of(noisy(run, 1)), {**BASE, **TRUTH}, free=["steer_time_delay"])


def test_a_dead_time_beyond_those_tried_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match=r"steer_time_delay seems to be 0\.1 s or more"):
        fit_of(log_with(), {**BASE, **TRUTH}, free=["steer_time_delay"], longest=0.1)


def test_the_demand_is_checked() -> None:
    log = log_with()
    with pytest.raises(sp.InvalidValue, match="no parameter to fit 'steer_bais'; did you mean"):
        fit_of(log, free=["steer_bais"])
    with pytest.raises(sp.InvalidValue, match="steer_bias is named twice"):
        fit_of(log, free=["steer_bias", "steer_bias"])
    with pytest.raises(sp.InvalidValue, match="IDEAL_STEER_ACC has nothing"):
        fit("IDEAL_STEER_ACC", log, params=BASE)
    for wrong in ({"window": 0.0}, {"longest": float("nan")}):
        with pytest.raises(sp.InvalidValue, match="must be finite and greater than 0"):
            fit_of(log, **wrong)


def test_a_short_log_is_refused() -> None:
    run = drive(1, steps=45)
    with pytest.raises(sp.InvalidValue, match=r"has 1\.12 s to replay; at least 1\.25 s"):
        fit_of(log_of(noisy(run)))


def test_a_start_that_diverges_is_refused() -> None:
    wild = {"vel_lim": 1e308, "vel_rate_lim": 1e308, "debug_acc_scaling_factor": 1e307}
    log = log_with(u_acceleration=np.full(601, 1e3))
    with pytest.raises(sp.InvalidValue, match="DELAY_STEER_ACC_GEARED diverges with"):
        fit_of(log, {**BASE, **wild})


def test_a_fit_that_does_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(given: problem.Problem, point: problem.Point) -> problem.Solution:
        return solve(given, point, 0)

    solve = problem.solve
    monkeypatch.setattr(fitting, "solve", stop)
    found = fit_of(log_with(), free=["steer_bias"])
    assert found["steer_bias"].value == found["steer_bias"].start
    (note,) = (note for note in found.notes if "has not converged" in note)
    assert "the estimates are the initial values" in note
    assert "--window" in note


def test_files_are_written_where_there_is_a_folder(tmp_path: Path) -> None:
    found = fit_of(log_with(), {**BASE, **TRUTH}, free=["steer_bias"])
    with pytest.raises(sp.InvalidValue, match="there is no folder"):
        found.write(tmp_path / "none" / "a.yaml")
    with pytest.raises(sp.InvalidValue, match="it is a folder"):
        found.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interval_that_says_nothing_is_unknown_and_its_parameter_named() -> None:
    """As of a steering ratio in a log that turns one way at one speed."""
    names = ("log.steer_ratio", "log.steer_offset")
    unknowns = [Unknown(name, "1", 0.06, -np.inf, np.inf, 0.02) for name in names]
    covariance = np.array([[2.0, -20.0], [-20.0, 200.1]])
    both = untold(unknowns, covariance)
    assert [one.names for one in both] == [("log.steer_offset",), names]
    assert "log.steer_ratio, log.steer_offset trade off" in both[1].text
    (one,) = untold(unknowns, np.diag([0.5, 0.5]), names[:1])
    assert one.names == names[:1]


def test_the_table_of_a_fit_shows_no_absurd_interval() -> None:
    found = fit_of(log_with(), free=["steer_bias"])
    vague = found["steer_bias"]._replace(low=-np.inf, high=np.inf)
    console = Console(width=100, record=True)
    console.print(fit_sheet(replace(found, estimates=(vague,)), ()))
    assert "unknown" in console.export_text()
