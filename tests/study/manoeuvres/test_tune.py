"""Tuning: parameters that are known are found again from the metrics they give."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import FormulaSkidpad, Metric, StepSteer, Subject, perform, tune
from skidpad.study.manoeuvres.sensitivities import metrics_of
from skidpad.study.manoeuvres.tuning import Tuning
from study.manoeuvres.fakes import COARSE

CAR = sp.vehicles.single_track(C_drag=0.0)
STEP = StepSteer(sides=("left",), duration=3.0)
STEADY = "constant_speed.understeer_gradient"
RISE, SLIP = "step_steer.yaw_rate_rise_time", "step_steer.tb_factor"


def metrics(car: sp.Vehicle) -> dict[str, float]:
    """What the step steer gives."""
    (result,) = perform([STEP], [Subject(car)], COARSE)
    assert result.findings is not None
    return {f"step_steer.{one.name}": float(one.value[0]) for one in result.findings.metrics}


def tuned(targets: dict[str, float], free: Any) -> Tuning:
    """The car tuned by a short step steer."""
    return tune(CAR, targets, free, manoeuvres=[STEP], kernels=COARSE)


@pytest.mark.slow
def test_parameters_are_found_again_from_what_they_give() -> None:
    """Three numbers moved by up to 10 %, and three metrics that tell them apart."""
    moved = {"l_f": 1.06 * CAR.params.l_f, "I_z": 1.1 * CAR.params.I_z, "m": 0.95 * CAR.params.m}
    truth = metrics(CAR.with_params(moved))
    names = (RISE, SLIP, "step_steer.lateral_acceleration_rise_time")
    result = tuned({name: truth[name] for name in names}, list(moved))
    assert result.reached, result.notes
    assert result.notes == ()
    assert any(abs(one.before / one.target - 1.0) > 0.02 for one in result.targets)
    for one in result.params:
        assert one.after == pytest.approx(moved[one.name], rel=0.02), one.name
    found = metrics(result.vehicle)
    for target in result.targets:
        assert found[target.name] == pytest.approx(target.target, rel=5e-3)


def test_three_parameters_reach_a_time_on_the_skidpad_and_make_it_small() -> None:
    """Each alone moves it; the shortest time is where all are at their better bound."""
    free = {"m": (1000.0, 1500.0), "l_f": (0.75, 1.2), "tyres.tyre.lateral.mu": (0.8, 1.4)}
    name = "formula_skidpad.time"
    (result,) = perform([FormulaSkidpad()], [Subject(CAR)], COARSE)
    goal = 1.04 * float(result["time"][0])
    reached = tune(CAR, {name: goal}, free, kernels=COARSE)
    assert reached.reached, reached.notes
    (again,) = perform([FormulaSkidpad()], [Subject(reached.vehicle)], COARSE)
    assert again["time"][0] == pytest.approx(goal, rel=2.5e-3)
    least = tune(CAR, None, free, minimise=[name], kernels=COARSE)
    (one,) = least.objectives
    assert one.after < 0.9 * one.before
    assert {moved.name: moved.after for moved in least.params} == pytest.approx(
        {"m": 1000.0, "l_f": 1.2, "tyres.tyre.lateral.mu": 1.4}
    )


def test_an_iteration_drives_its_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derivatives are carried on: four steps, and where one gains little two for each parameter;
    every drive has all targets in it, and the one who watches sees each iteration."""
    driven: list[int] = []

    def counting(tests: Any, car: Any, params: Any, kernels: Any) -> Any:
        driven.append(len(next(iter(params.values()))))
        return metrics_of(tests, car, params, kernels)

    monkeypatch.setattr(sys.modules[tune.__module__], "metrics_of", counting)
    truth = metrics(CAR.with_params({"l_f": 1.06 * CAR.params.l_f, "I_z": 1.1 * CAR.params.I_z}))
    seen: list[tuple[int, float]] = []
    result = tune(
        CAR,
        {name: truth[name] for name in (RISE, SLIP)},
        ["l_f", "I_z"],
        manoeuvres=[STEP],
        kernels=COARSE,
        watch=lambda done, missed: seen.append((done, missed)),
    )
    assert result.reached
    assert driven[0] == 1 + 2 * 2
    assert set(driven[1:]) <= {4, 2 * 2}
    assert len(driven) - 1 <= 2 * result.iterations
    assert [done for done, _ in seen] == list(range(result.iterations + 1))
    assert seen[-1][1] <= 2e-3 < seen[0][1]


def test_a_target_out_of_reach_is_said_to_be() -> None:
    """Twice the sideslip does not come from a tenth of the distance to the front axle, and all of
    that tenth is used: the load on the rear axle is m l_f / L."""
    l_f = CAR.params.l_f
    result = tuned({SLIP: 2.0 * metrics(CAR)[SLIP]}, {"l_f": (0.95 * l_f, 1.05 * l_f)})
    assert not result.reached
    (one,) = result.params
    assert one.at_bound
    assert one.after == pytest.approx(1.05 * l_f)
    assert "out of reach" in result.notes[0]
    assert "at their bounds: l_f" in result.notes[1]


def test_a_target_of_zero_is_measured_by_the_start() -> None:
    """The sideslip of this car does not vanish within the bounds; it becomes smaller."""
    l_f = CAR.params.l_f
    result = tuned({SLIP: 0.0}, {"l_f": (0.9 * l_f, 1.1 * l_f)})
    (target,) = result.targets
    assert target.after < target.before
    assert not target.reached


def test_what_is_reached_already_stays(tmp_path: Path) -> None:
    """No iteration, and the file holds the parameters that the vehicle has."""
    result = tuned({SLIP: metrics(CAR)[SLIP]}, ["l_f", "m"])
    assert result.iterations == 0
    assert result.vehicle.params.l_f == pytest.approx(CAR.params.l_f, rel=1e-12)
    result.write(tmp_path / "car.yaml")
    written = yaml.safe_load((tmp_path / "car.yaml").read_text())
    assert written == {"l_f": result.vehicle.params.l_f, "m": result.vehicle.params.m}


@pytest.mark.parametrize(
    ("targets", "free", "said"),
    [
        ({}, ["l_f"], "targets, minimise and maximise are empty"),
        ({"overshoot": 0.1}, ["l_f"], "MANOEUVRE.METRIC"),
        ({"step_steer.yaw_rate_overshot": 0.1}, ["l_f"], "yaw_rate_overshoot"),
        ({"step_stear.tb_factor": 0.1}, ["l_f"], "step_steer"),
        ({STEADY: np.nan}, ["l_f"], "must be a number"),
        ({STEADY: 0.002}, ["lf"], "l_f"),
        ({STEADY: 0.002}, [], "free is empty"),
        ({STEADY: 0.002}, {"l_f": (2.0, 1.0)}, "go up"),
        ({STEADY: 0.002}, {"l_f": (-1.0, 2.0)}, "not allowed"),
        ({STEADY: 0.002}, {"l_f": (5.0, 6.0)}, "out of its bounds, 5 to 6"),
    ],
)
def test_bad_wishes_are_refused(targets: dict[str, float], free: list[str], said: str) -> None:
    """Before anything is driven, or as soon as it is known."""
    with pytest.raises(InvalidValue, match=said):
        tune(CAR, targets, free, kernels=COARSE)


def stand_in(monkeypatch: pytest.MonkeyPatch, **metrics: Any) -> None:
    """Metrics of the step steer that are functions of the columns of parameters."""

    def made(tests: Any, car: Any, params: Any, kernels: Any) -> Any:
        named = {f"step_steer.{name}": metric(params) for name, metric in metrics.items()}
        return {name: Metric(name, value, "s", "") for name, value in named.items()}

    monkeypatch.setattr(sys.modules[tune.__module__], "metrics_of", made)


def test_a_staircase_is_walked_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treads of 20 kg, of which the car stands in the middle of one, so that half a per cent of the
    range shows no slope; the target is five steps away."""
    stand_in(monkeypatch, lap=lambda p: 5.0 + 0.02 * np.round((p["m"] - 1225.0) / 20.0))
    result = tune(CAR, {"step_steer.lap": 4.9}, {"m": (1000.0, 1500.0), "l_f": (0.8, 1.0)})
    assert result.reached, result.notes
    assert result.vehicle.params.m == pytest.approx(1125.0, abs=10.0)


def test_a_parameter_without_a_number_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a car that rolls over when its centre of mass is any higher."""
    z_cg = CAR.params.z_cg

    def lap(p: Any) -> Any:
        return np.where(p["z_cg"] > z_cg + 1e-9, np.nan, p["m"] / 200.0)

    stand_in(monkeypatch, lap=lap)
    m = CAR.params.m
    free = {"z_cg": (0.8 * z_cg, 1.2 * z_cg), "m": (0.8 * m, 1.2 * m)}
    result = tune(CAR, {"step_steer.lap": 0.9 * m / 200.0}, free)
    assert result.reached, result.notes
    assert result.vehicle.params.m == pytest.approx(0.9 * m, rel=5e-3)


def test_what_moves_nothing_is_said_with_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, lap=lambda p: 5.0 + 0.0 * p["m"])
    result = tune(CAR, {"step_steer.lap": 4.0}, ["m"])
    assert result.notes[1] == "step_steer.lap: the same when m is moved, by up to 25 % of its range"
    result = tune(CAR, {"step_steer.lap": 4.0}, ["m", "l_f"])
    assert "the same when m, l_f are moved one by one, by up to 25 % of their" in result.notes[1]


def test_targets_that_contradict_each_other_are_not_said_to_stand_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(monkeypatch, a=lambda p: p["m"] / 1000.0, b=lambda p: p["m"] / 1000.0)
    m = CAR.params.m / 1000.0
    result = tune(CAR, {"step_steer.a": 0.95 * m, "step_steer.b": 1.05 * m}, ["m"])
    assert not result.reached
    assert "contradict" in result.notes[-1]
    assert not any("the same" in note for note in result.notes)


def test_a_minimum_within_the_bounds_and_a_maximum_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1 + (m / m_0 - 1.07)² + (l_f / l_f0 - 0.96)² / 2, and of m alone."""
    m, l_f = CAR.params.m, CAR.params.l_f

    def bowl(p: Any) -> Any:
        return 1.0 + (p["m"] / m - 1.07) ** 2 + 0.5 * (p.get("l_f", l_f) / l_f - 0.96) ** 2

    stand_in(monkeypatch, bowl=bowl, mass=lambda p: p["m"])
    least = tune(CAR, None, ["m", "l_f"], minimise=["step_steer.bowl"])
    assert least.reached
    (found,) = least.objectives
    assert (found.goal, found.before > found.after) == ("minimise", True)
    assert found.after == pytest.approx(1.0, abs=2e-4)
    most = tune(CAR, None, ["m"], maximise=["step_steer.mass"])
    assert most.vehicle.params.m == pytest.approx(1.2 * m)
    assert most.params[0].at_bound
    # Under a target the mass stays where the target wants it, and the other one is optimised.
    both = tune(CAR, {"step_steer.mass": 1.02 * m}, ["m", "l_f"], minimise=["step_steer.bowl"])
    assert both.reached
    assert both.vehicle.params.m == pytest.approx(1.02 * m, rel=2e-3)
    assert both.vehicle.params.l_f == pytest.approx(0.96 * l_f, rel=0.01)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"minimise": RISE}, "must be a list"),
        ({"minimise": [RISE], "maximise": [RISE]}, "named more than once"),
        ({"minimise": ["rise"]}, "MANOEUVRE.METRIC"),
    ],
)
def test_bad_objectives_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        tune(CAR, None, ["l_f"], kernels=COARSE, **asked)
