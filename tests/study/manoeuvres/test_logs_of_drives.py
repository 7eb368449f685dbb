"""A log is one drive: of every manoeuvre, a log made of one of its own drives gives its own
numbers, or it is refused with a reason."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import (
    ConstantSpeed,
    FormulaSkidpad,
    Manoeuvre,
    Result,
    StepSteer,
    Subject,
    adapt,
    measured_reference,
    perform,
)
from skidpad.study.manoeuvres.case_run import CaseRun, from_columns
from skidpad.study.manoeuvres.logs import measure_drive
from skidpad.study.manoeuvres.longitudinal import (
    BrakingInTurn,
    CoastDown,
    SplitBraking,
    StraightBraking,
)
from skidpad.study.manoeuvres.proving_ground import STANDARD, names
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer
from skidpad.study.manoeuvres.transient_response import SineWithDwell
from skidpad.vehicles import wheeled
from study.manoeuvres.fakes import COARSE, KERNELS

REFUSED = {
    "double_lane_change",
    "obstacle_avoidance",
    "slalom_18_m",
    "slalom_36_m",
    "formula_skidpad",
    "formula_acceleration",
    "autocross",
    "hill_hold",
    "hill_start",
    "rough_road",
    "command_steps",
    "spin_in_place",
    "straight_and_arc",
    "square_path",
    "constant_radius",
    "constant_speed",
    "constant_steer",
}
"""Those that are many drives, of which one log is only one."""
OF_THE_DRIVER = {"split_braking": ("deviation", "peak_yaw_rate")}
"""Metrics that depend on who drove, which a log does not tell."""
SLACK = {"split_braking": 0.08}
"""Share by which others may differ for the same reason."""


@cache
def cars() -> tuple[Subject, ...]:
    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_pid")))
    known = [sp.vehicles.get(n)() for n in ("two_track", "full_car", "kinematic_bicycle")]
    return tuple(map(Subject, [*known, robot]))


@cache
def small() -> Subject:
    """A car that compiles quickly."""
    return Subject(sp.vehicles.single_track())


def fitting(name: str, *first: Subject) -> tuple[Manoeuvre, Subject]:
    """A manoeuvre, and a vehicle that can do it."""
    test = STANDARD[names().index(name)]
    return test, next(car for car in (*first, *cars()) if not test.unfit(car))


@cache
def driven(name: str) -> Result:
    test, car = fitting(name)
    return perform([test], [car], COARSE)[0]


def log_of(run: CaseRun, late: float = 7.3, turned: float = 0.7) -> CaseRun:
    """A drive as a log: at other times, elsewhere and in another direction."""
    columns = {name: values[:, 0] for name, values in run.signals.items()}
    c, s = np.cos(turned), np.sin(turned)
    x, y = columns["x"], columns["y"]
    columns |= {"x": 50.0 + c * x - s * y, "y": s * x + c * y - 80.0}
    columns["yaw"] = columns["yaw"] + turned
    return from_columns("log.csv", run.t + late, columns)


def some(result: Result) -> list[CaseRun]:
    """The first drive, one of the middle and the last; of launches that with all the drive gives,
    as a log of one is meant to be."""
    runs = result.runs[-1:] if result.manoeuvre.name == "acceleration" else result.runs
    return [runs[k] for k in sorted({0, len(runs) // 2, len(runs) - 1})]


def as_the_log(result: Result, drive: CaseRun) -> Result:
    """The manoeuvre of a result, driven as the log was."""
    test = adapt(result.manoeuvre, drive)
    return result if test is result.manoeuvre else perform([test], [result.car], COARSE)[0]


@pytest.mark.slow_cases(
    "constant_radius", "hill_hold", "hill_start", "rough_road", "straight_and_arc"
)
@pytest.mark.parametrize("name", [name for name in names() if name in REFUSED])
def test_a_log_of_one_drive_of_many_is_refused(name: str) -> None:
    """Those of its first cases are enough to see that, of whichever car."""
    test, car = fitting(name, small())
    cases = list(next(test.perform(car)))
    for run in COARSE.drive([(car, case) for case in {0: cases[0], 1: cases[-1]}.values()]):
        with pytest.raises(InvalidValue, match=r"a single log cannot|gradients need"):
            measure_drive(test, car, log_of(run))


def test_no_metric_of_a_log_comes_from_the_equations_of_the_car_alone() -> None:
    """The fastest turn of the skidpad does: its time is the same whatever the log says."""
    t = np.arange(0.0, 60.0, 0.02)
    straight = from_columns("log.csv", t, _straight_on(t, 10.0 + 0.0 * t))
    with pytest.raises(
        InvalidValue, match=r"computes the fastest turn .* a single log cannot show it"
    ):
        measure_drive(FormulaSkidpad(), small(), straight)


@pytest.mark.slow_cases(
    "acceleration",
    "braking_in_turn",
    "bump",
    "coast_down",
    "random_steer",
    "sine_sweep",
    "single_sine",
    "slow_ramp",
    "split_braking",
    "straight_braking",
)
@pytest.mark.parametrize("name", [name for name in names() if name not in REFUSED])
def test_a_log_of_a_drive_gives_the_numbers_of_the_drive(name: str) -> None:
    """But for drives that find something before the test, and those in which wheels lock."""
    result = driven(name)
    compared = 0
    for run in some(result):
        drive = log_of(run)
        try:
            own = as_the_log(result, drive)
        except InvalidValue:
            continue
        found = measure_drive(own.manoeuvre, own.car, drive, own.runs)
        compared += 1
        for metric in found.metrics:
            if metric.name in OF_THE_DRIVER.get(name, ()):
                continue
            slack = SLACK.get(name, 0.04)
            np.testing.assert_allclose(
                metric.value, own[metric.name], rtol=slack, atol=2e-3, err_msg=metric.name
            )
    assert compared


@pytest.mark.parametrize("test", [ConstantRadius(), ConstantSpeed(), ConstantSteer()])
def test_a_log_of_all_steady_turns_gives_their_gradients(test: Manoeuvre) -> None:
    """The ends of all drives one after the other are such a log; one turn alone is none."""
    (result,) = perform([test], [cars()[0]], KERNELS)
    ends = [run.since(run.t[-1] - 6.0) for run in result.runs]
    steady = [end for end in ends if np.abs(end["a_y"]).max() < 5.0]
    signals = {n: np.concatenate([end[n][:, 0] for end in steady]) for n in steady[0].signals}
    dt = steady[0].t[1] - steady[0].t[0]
    drive = from_columns("turns.csv", dt * np.arange(len(signals["v_x"])), signals)
    found = measure_drive(test, result.car, drive)
    for name in ("understeer_gradient", "sideslip_gradient"):
        np.testing.assert_allclose(found[name].value, result[name], rtol=0.03, atol=1e-5)
    with pytest.raises(InvalidValue, match="1 steady turn of 3 s"):
        measure_drive(test, result.car, log_of(steady[0]))


@pytest.mark.parametrize("share", [0.85, 0.93, 0.99])
def test_a_log_of_braking_near_the_limit_is_driven_again(share: float) -> None:
    """What is asked for is found between a drive that is too gentle and one in which wheels lock,
    which are 5 % apart at first."""
    best = driven("straight_braking")
    a = share * float(best["mean_deceleration"][0])
    (again,) = perform([StraightBraking(deceleration=a)], [best.car], COARSE)
    assert again.findings is not None
    assert not again.findings.notes
    assert again["mean_deceleration"][0] == pytest.approx(a, rel=0.01)


@pytest.mark.parametrize("a", [2.0, 4.0, 6.5])
def test_a_log_of_even_braking_is_found_to_be_that(a: float) -> None:
    """By hand: 20 m/s, then a deceleration, to rest: 20² / 2a."""
    t = np.arange(0.0, 15.0, 0.01)
    v = np.clip(20.0 - a * (t - 3.0), 0.0, 20.0)
    drive = from_columns("stop.csv", t, _straight_on(t, v))
    test = adapt(StraightBraking(), drive)
    assert isinstance(test, StraightBraking)
    assert (test.speed, test.deceleration) == pytest.approx((20.0, a), rel=5e-3)
    car = cars()[0]
    (own,) = perform([test], [car], COARSE)
    found = measure_drive(own.manoeuvre, car, drive, own.runs)
    assert found["mean_deceleration"].value == pytest.approx(a, rel=1e-3)
    assert own["mean_deceleration"] == pytest.approx(a, rel=0.02)
    # Brakes need a while, which lengthens the way of the simulated stop alone.
    assert found["stopping_distance"].value == pytest.approx(200.0 / a, rel=0.08)


def _straight_on(t: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    x = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))])
    rest = ("y", "yaw", "v_y", "omega", "sideslip", "a_y", "steer")
    return {"x": x, "v_x": v, "speed": v, "a_x": np.gradient(v, t)} | {n: 0.0 * t for n in rest}


def test_noise_does_not_change_which_stop_it_is() -> None:
    t = np.arange(0.0, 12.0, 0.01)
    v = np.clip(25.0 - 5.0 * np.clip(t - 4.0, 0.0, None), 0.0, None)
    noisy = v + 0.1 * np.random.default_rng(3).normal(size=len(t))
    test = adapt(StraightBraking(), from_columns("noisy.csv", t, _straight_on(t, noisy)))
    assert isinstance(test, StraightBraking)
    assert (test.speed, test.deceleration) == pytest.approx((25.0, 5.0), rel=0.02)


@pytest.mark.parametrize(
    ("test", "change", "says"),
    [
        (StraightBraking(), {"v_x": lambda t: 20.0 + 0.0 * t}, "it contains no braking"),
        (StraightBraking(), {"v_x": lambda t: 20.0 - 0.5 * t}, "does not come to rest"),
        (SplitBraking(), {"v_x": lambda t: 20.0 - 0.5 * t}, "does not come to rest"),
        (BrakingInTurn(), {"v_x": lambda t: 20.0 - 0.9 * t}, "turns with 0.00 m/s² before"),
        (StepSteer(), {"steer": lambda t: 0.0 * t}, "goes straight on"),
        (StepSteer(), {"steer": lambda t: 0.01 * t}, "no step of the wheels"),
        (StepSteer(), {"steer": lambda t: 1.0 * (t > 5.0)}, "0.00 m/s² after the step"),
        (SineWithDwell(), {"steer": lambda t: 1.0 * (t > 5.0)}, "no sine of 0.7 Hz"),
        (CoastDown(), {"v_x": lambda t: 20.0 + 0.0 * t}, "does not slow down from 20.0 m/s"),
    ],
)
def test_what_a_log_does_not_tell_is_said(
    test: Manoeuvre, change: dict[str, Any], says: str
) -> None:
    t = np.arange(0.0, 20.0, 0.02)
    columns = _straight_on(t, 20.0 + 0.0 * t) | {name: make(t) for name, make in change.items()}
    with pytest.raises(InvalidValue, match=says):
        adapt(test, from_columns("log.csv", t, columns))


def test_a_log_of_another_speed_is_not_compared_with_the_usual_test() -> None:
    (slow,) = perform([StepSteer(speed=15.0)], [cars()[0]], COARSE)
    drive = log_of(slow.runs[-1])
    reference = measured_reference(drive, [driven("step_steer")])
    assert "driven with speed 14.9" in reference.missing["step_steer"]
    assert not reference.findings


def test_locked_wheels_do_not_tell_how_hard_was_braked() -> None:
    locked = driven("straight_braking").runs[-1]
    with pytest.raises(InvalidValue, match=r"a wheel locks in log\.csv"):
        adapt(StraightBraking(), log_of(locked))
