"""A single sine against linear theory at small amplitude, and what one asks for at a large one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import Result, Subject, adapt, perform
from skidpad.study.manoeuvres.case_run import from_columns
from skidpad.study.manoeuvres.logs import measure_drive
from skidpad.study.manoeuvres.subject import Bicycle, LinearCar
from skidpad.study.manoeuvres.transient_response import SingleSine, one_period, response
from study.manoeuvres.fakes import KERNELS

CARS = ("single_track", "two_track", "full_car", "formula_student")


@cache
def small(name: str) -> Result:
    (result,) = perform([SingleSine(a_y=0.5)], [Subject(sp.vehicles.get(name)())], KERNELS)
    return result


@pytest.mark.parametrize("name", CARS)
def test_a_small_sine_is_answered_as_by_linear_theory(name: str) -> None:
    """All metrics: delays to 3 ms, gains to 1 %."""
    findings = small(name).findings
    assert findings is not None
    assert findings.metrics
    for metric in findings.metrics:
        atol, rtol = (3e-3, 0.0) if metric.unit == "s" else (0.0, 0.01)
        np.testing.assert_allclose(
            metric.value, metric.theory, rtol=rtol, atol=atol, err_msg=metric.name
        )


def test_theory_is_exact_of_a_lag_of_first_order() -> None:
    """x' = (u - x) / T with u = sin(w t), of which the answer is known."""
    T, f = 0.3, 0.5
    w, t = 2.0 * np.pi * f, np.linspace(0.0, 4.0, 2001)
    rows = np.array([[1.0]] * 4)
    none = Bicycle(*[np.nan] * 6)
    lag = LinearCar(20.0, np.array([[-1.0 / T]]), np.array([1.0 / T]), rows, np.zeros(4), none)
    direct = LinearCar(20.0, np.array([[-1.0 / T]]), np.array([0.0]), rows, np.ones(4), none)
    known = (np.sin(w * t) - w * T * np.cos(w * t) + w * T * np.exp(-t / T)) / (1.0 + (w * T) ** 2)
    end = 1.0 / f
    after = np.interp(end, t, known) * np.exp(-(t - end) / T)
    np.testing.assert_allclose(
        response(lag, f, len(t))["a_y"], np.where(t < end, known, after), atol=2e-5
    )
    np.testing.assert_allclose(response(direct, f, len(t))["a_y"], one_period(f * t), atol=2e-5)


def test_a_slow_sine_is_a_turn() -> None:
    """Of 0.05 Hz nearly without delay, and its gain is that of the steady turn."""
    car = Subject(sp.vehicles.two_track())
    test = SingleSine(frequency=0.05, a_y=0.3)
    (result,) = perform([test], [car], KERNELS)
    gains = car.theory(test.speed).gains
    assert result["lateral_acceleration_gain"] == pytest.approx(gains["a_y"], rel=0.01)
    assert result["yaw_rate_gain"] == pytest.approx(gains["omega"], rel=0.01)
    assert result["yaw_rate_delay"] < 0.1
    np.testing.assert_allclose(result["yaw_rate_gain_ratio"], 1.0, rtol=0.01)


def test_the_first_peak_is_as_asked() -> None:
    """4 m/s², where tyres are no longer linear, of cars that differ."""
    variants = {"m": np.array([900.0, 1100.0, 1300.0]), "l_f": np.array([1.0, 1.2, 1.1])}
    (result,) = perform([SingleSine()], [Subject(sp.vehicles.single_track(), variants)], KERNELS)
    np.testing.assert_allclose(result["peak_lateral_acceleration"], 4.0, rtol=0.02)


def test_more_inertia_answers_later() -> None:
    """Yaw rate, at both peaks."""
    vehicle = sp.vehicles.single_track()
    variants = {"I_z": vehicle.params.I_z * np.array([0.7, 1.0, 1.3])}
    (result,) = perform([SingleSine()], [Subject(vehicle, variants)], KERNELS)
    for name in ("yaw_rate_delay", "yaw_rate_second_delay"):
        assert (np.diff(result[name]) > 0.0).all()


def test_a_log_gives_its_numbers_and_another_sine_is_refused() -> None:
    """At other times, and with the speed and the side of the log."""
    result = small("two_track")
    run = result.runs[-1]
    columns = {name: rows[:, 0] for name, rows in run.signals.items()}
    log = from_columns("log.csv", run.t + 5.0, columns)
    test = adapt(SingleSine(), log)
    assert isinstance(test, SingleSine)
    assert test.sides == ("right first",)
    assert test.a_y == pytest.approx(0.5, rel=0.02)
    (own,) = perform([test], [result.car], KERNELS)
    found = measure_drive(test, result.car, log, own.runs)
    for metric in found.metrics:
        np.testing.assert_allclose(metric.value, own[metric.name], rtol=0.01, atol=2e-3)
    with pytest.raises(InvalidValue, match="no single sine of 1 Hz"):
        adapt(SingleSine(frequency=1.0), log)
