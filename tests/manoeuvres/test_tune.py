"""Tuning: parameters that are known are found again from the metrics they give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.manoeuvres import ConstantSpeed, Kernels, StepSteer, Subject, perform, tune

KERNELS = Kernels()
CAR = sp.vehicles.single_track(C_drag=0.0)
STEADY = "constant_speed.understeer_gradient", "constant_speed.sideslip_gradient"


def metrics(car: sp.Vehicle) -> dict[str, float]:
    """What the two manoeuvres give."""
    found = perform([ConstantSpeed(), StepSteer()], [Subject(car)], KERNELS)
    return {
        f"{result.manoeuvre.name}.{metric.name}": float(metric.value[0])
        for result in found
        for metric in (result.findings.metrics if result.findings else ())
    }


def test_parameters_are_found_again_from_what_they_give() -> None:
    """Three numbers moved by up to 8 %, and three metrics that tell them apart."""
    moved = {"l_f": 1.04 * CAR.params.l_f, "I_z": 1.08 * CAR.params.I_z, "m": 0.95 * CAR.params.m}
    truth = metrics(CAR.with_params(moved))
    names = (*STEADY, "step_steer.yaw_rate_rise_time")
    result = tune(CAR, {name: truth[name] for name in names}, list(moved), kernels=KERNELS)
    assert result.reached, result.notes
    assert result.notes == ()
    for one in result.params:
        assert one.after == pytest.approx(moved[one.name], rel=0.01), one.name
    found = metrics(result.vehicle)
    for target in result.targets:
        assert found[target.name] == pytest.approx(target.target, rel=5e-3)
        assert target.before != pytest.approx(target.target, rel=5e-3)


def test_a_target_out_of_reach_is_said_to_be() -> None:
    """Ten times the understeer does not come from a tenth of the wheelbase."""
    start = metrics(CAR)[STEADY[1]]
    l_f = CAR.params.l_f
    bounds = {"l_f": (0.95 * l_f, 1.05 * l_f)}
    result = tune(CAR, {STEADY[1]: 2.0 * start}, bounds, kernels=KERNELS)
    assert not result.reached
    (one,) = result.params
    # The sideslip of the rear axle grows with the load on it: m l_f / (L C_r).
    assert one.at_bound
    assert one.after == pytest.approx(1.05 * l_f)
    assert "out of reach" in result.notes[0]
    assert "at their bounds: l_f" in result.notes[1]


def test_what_is_reached_already_stays(tmp_path: Path) -> None:
    """No iteration, and the file holds the parameters that the vehicle has."""
    name = STEADY[1]
    result = tune(CAR, {name: metrics(CAR)[name]}, ["l_f", "m"], kernels=KERNELS)
    assert result.iterations == 0
    assert result.vehicle.params.l_f == pytest.approx(CAR.params.l_f, rel=1e-12)
    result.write(tmp_path / "car.yaml")
    written = yaml.safe_load((tmp_path / "car.yaml").read_text())
    assert written == {"l_f": result.vehicle.params.l_f, "m": result.vehicle.params.m}


@pytest.mark.parametrize(
    ("targets", "free", "said"),
    [
        ({}, ["l_f"], "targets is empty"),
        ({"overshoot": 0.1}, ["l_f"], "MANOEUVRE.METRIC"),
        ({"step_steer.yaw_rate_overshot": 0.1}, ["l_f"], "yaw_rate_overshoot"),
        ({"step_stear.tb_factor": 0.1}, ["l_f"], "step_steer"),
        ({STEADY[0]: np.nan}, ["l_f"], "must be a number"),
        ({STEADY[0]: 0.002}, ["lf"], "l_f"),
        ({STEADY[0]: 0.002}, [], "free is empty"),
        ({STEADY[0]: 0.002}, {"l_f": (2.0, 1.0)}, "go up"),
        ({STEADY[0]: 0.002}, {"l_f": (-1.0, 2.0)}, "not allowed"),
        ({STEADY[0]: 0.002}, {"l_f": (5.0, 6.0)}, "out of its bounds"),
    ],
)
def test_bad_wishes_are_refused(targets: dict[str, float], free: list[str], said: str) -> None:
    """Before anything is driven, or as soon as it is known."""
    with pytest.raises(InvalidValue, match=said):
        tune(CAR, targets, free, kernels=KERNELS)
