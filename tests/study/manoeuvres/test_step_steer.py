"""Step steer beside linear theory: the response of the linearised car to the same angle."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import StepSteer, Subject, perform
from skidpad.study.manoeuvres.case_run import from_columns, step_response
from skidpad.study.manoeuvres.steady_state import ConstantRadius
from skidpad.study.manoeuvres.subject import Bicycle, LinearCar
from skidpad.study.manoeuvres.transient_response import SingleSine
from study.manoeuvres.fakes import KERNELS

SMALL = StepSteer(a_y=0.3)
NOBODY = Bicycle(*[float("nan")] * 6)
CARS = (
    "single_track",
    "single_track:sports",
    "two_track",
    "two_track:suv",
    "full_car",
    "four_wheel",
)


def car_of(name: str) -> Subject:
    model, _, chosen = name.partition(":")
    factory = sp.vehicles.get(model)
    return Subject(factory(chosen) if chosen else factory(), name=name)


@pytest.mark.parametrize("name", CARS)
def test_a_small_step_is_that_of_linear_theory(name: str) -> None:
    (result,) = perform([SMALL], [car_of(name)], KERNELS)
    assert result.findings is not None
    for metric in result.findings.metrics:
        loose = 2e-3 if metric.name.endswith("overshoot") else 2e-4
        np.testing.assert_allclose(
            metric.value, metric.theory, rtol=0.01, atol=loose, err_msg=metric.name
        )


def test_speeds_and_radius_are_those_of_the_standards() -> None:
    """ISO 7401: 100 km/h; ISO 4138: a circle of 100 m."""
    assert StepSteer().speed == SingleSine().speed == pytest.approx(100.0 / 3.6)
    assert ConstantRadius().radius == 100.0


def test_each_variant_has_its_own_theory() -> None:
    car = Subject(sp.vehicles.single_track(), {"m": np.array([1000.0, 1500.0])})
    (result,) = perform([SMALL], [car], KERNELS)
    assert result.findings is not None
    metric = result.findings["yaw_rate_rise_time"]
    np.testing.assert_allclose(metric.value, metric.theory, rtol=0.01)
    assert metric.theory[0] != pytest.approx(metric.theory[1], rel=0.02)


@pytest.mark.parametrize("rise", [0.05, 0.0013, 0.1017])
def test_the_answer_to_a_ramp_of_a_lag_is_its_closed_form(rise: float) -> None:
    """x' = -k x + u has (t - (1 - exp(-k t)) / k) / (k rise) while the angle rises, and after it
    the difference of two of these."""
    k = 4.0
    C = np.array([[1.0], [2.0], [0.0], [0.0]])
    D = np.array([0.0, 0.0, 0.0, 1.0])
    lag = LinearCar(20.0, np.array([[-k]]), np.array([1.0]), C, D, NOBODY)
    found = lag.ramp(rise, 0.004, 300)
    t = 0.004 * np.arange(300)

    def begun(t: np.ndarray) -> np.ndarray:
        t = np.maximum(t, 0.0)
        return (t + np.expm1(-k * t) / k) / (k * rise)

    expected = begun(t) - begun(t - rise)
    np.testing.assert_allclose(found["v_y"], expected, atol=1e-13)
    np.testing.assert_allclose(found["omega"], 2.0 * expected, atol=1e-13)
    np.testing.assert_allclose(found["steer"], np.clip(t / rise, 0.0, 1.0), atol=1e-13)


def test_a_car_that_nothing_damps_has_a_theory_too() -> None:
    """An integrator has no inverse: the answer to a ramp is a parabola and then a line."""
    A, B = np.zeros((1, 1)), np.array([1.0])
    free = LinearCar(20.0, A, B, np.ones((4, 1)), np.zeros(4), NOBODY)
    t = 0.01 * np.arange(101)
    expected = np.where(t < 0.5, t * t, t - 0.25)
    np.testing.assert_allclose(free.ramp(0.5, 0.01, 101)["omega"], expected, atol=1e-13)


def test_what_creeps_up_has_no_peak() -> None:
    """The highest sample of a rise without overshoot is any of its last ones."""
    t = np.linspace(0.0, 4.0, 401)
    creeping = 1.0 - np.exp(-5.0 * t)
    found = step_response(from_columns("lag", t, {"omega": creeping}), "omega", 0.0)
    assert np.isnan(found.peak_time[0])
    assert found.rise[0] == pytest.approx(np.log(10.0) / 5.0, rel=1e-3)
    z, w = 0.4, 6.0
    wd = w * np.sqrt(1.0 - z * z)
    ringing = 1.0 - np.exp(-z * w * t) * (np.cos(wd * t) + z * w / wd * np.sin(wd * t))
    found = step_response(from_columns("second order", t, {"omega": ringing}), "omega", 0.0)
    assert found.peak_time[0] == pytest.approx(np.pi / wd, rel=1e-3)
    assert found.overshoot[0] == pytest.approx(np.exp(-np.pi * z / np.sqrt(1.0 - z * z)), rel=1e-2)
