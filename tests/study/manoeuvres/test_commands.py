"""Command-driven models against what their parameters promise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import STANDARD, Acceleration, Result, Subject, perform
from skidpad.study.manoeuvres.command_response import CommandSteps, StopFromSpeed
from skidpad.study.manoeuvres.steady_state import TurningCircle
from skidpad.vehicles import wheeled
from study.manoeuvres.fakes import KERNELS

BASE = {"wheel_base": 2.79}


def driven(car: Subject) -> dict[str, Result]:
    """What the tests of commands find."""
    found = perform([CommandSteps(), StopFromSpeed(), TurningCircle()], [car], KERNELS)
    return {result.manoeuvre.name: result for result in found}


@cache
def by_acceleration() -> dict[str, Result]:
    """Three variants; the last one's steering is as slow as its rate."""
    vehicle = sp.vehicles.get("DELAY_STEER_ACC")(BASE)
    variants = {
        "steer_time_delay": np.array([0.1, 0.3, 0.2]),
        "steer_time_constant": np.array([0.1, 0.4, 0.1]),
        "steer_rate_lim": np.array([5.0, 5.0, 0.05]),
        "acc_time_delay": np.array([0.0, 0.2, 0.1]),
        "acc_time_constant": np.array([0.1, 0.3, 0.2]),
    }
    return driven(Subject(vehicle, variants))


def test_dead_time_and_time_constant_are_the_parameters() -> None:
    """Of both commands."""
    steps = by_acceleration()["command_steps"]
    np.testing.assert_allclose(steps["steer_dead_time"], [0.1, 0.3, 0.2], atol=2e-3)
    np.testing.assert_allclose(steps["steer_time_constant"][:2], [0.1, 0.4], atol=2e-3)
    np.testing.assert_allclose(steps["acceleration_dead_time"], [0.0, 0.2, 0.1], atol=2e-3)
    np.testing.assert_allclose(steps["acceleration_time_constant"], [0.1, 0.3, 0.2], atol=2e-3)
    np.testing.assert_allclose(steps["steer_overshoot"], 0.0, atol=1e-6)
    np.testing.assert_allclose(steps["acceleration_steady_error"], 0.0, atol=1e-6)


def test_a_limited_rate_shows_as_a_longer_time_constant() -> None:
    """0.1 rad at 0.05 rad/s: 0.0632 rad take 1.26 s as long as 0.005 rad are more than lag."""
    steps = by_acceleration()["command_steps"]
    expected = 0.1 * (1.0 - np.exp(-1.0)) / 0.05
    assert steps["steer_time_constant"][2] == pytest.approx(expected, abs=2e-3)


def test_a_ramp_is_followed_later_by_both_times() -> None:
    """Dead time and time constant."""
    steps = by_acceleration()["command_steps"]
    np.testing.assert_allclose(steps["steer_ramp_delay"], [0.2, 0.7, 0.3], atol=2e-3)
    np.testing.assert_allclose(steps["acceleration_ramp_delay"], [0.1, 0.5, 0.3], atol=2e-3)


def test_theory_is_what_is_driven() -> None:
    """Whatever the parameters say, in all variants: the closed forms hold."""
    for name in ("command_steps", "stop_from_speed"):
        result = by_acceleration()[name]
        assert result.findings is not None
        for metric in result.findings.metrics:
            if metric.theory is not None:
                np.testing.assert_allclose(
                    metric.value, metric.theory, rtol=1e-3, atol=2e-3, err_msg=metric.name
                )


def test_bias_and_dead_band_of_steering() -> None:
    """It stops where its error is the dead band, and takes itself to be further by the bias."""
    more = {"steer_dead_band": 0.005, "steer_bias": 0.01}
    vehicle = sp.vehicles.get("DELAY_STEER_ACC")({**BASE, **more})
    steps = driven(Subject(vehicle))["command_steps"]
    np.testing.assert_allclose(steps["steer_steady_error"], -0.015, atol=1e-5)
    assert steps.findings is not None
    assert steps.findings["steer_steady_error"].theory == pytest.approx(-0.015)


def test_a_speed_that_lags_stops_over_its_own_way() -> None:
    """At 5 m/s² from 10 m/s to 2.5 m/s, which is 0.5 s times 5 m/s², then along an exponential."""
    car = {"vel_time_delay": 0.2, "vel_time_constant": 0.5, "vel_rate_lim": 5.0}
    vehicle = sp.vehicles.get("DELAY_STEER_VEL")({**BASE, **car})
    found = driven(Subject(vehicle))
    expected = 10.0 * 0.2 + (10.0**2 - 2.5**2) / 10.0 + 0.5 * (2.5 - 0.1)
    np.testing.assert_allclose(found["stop_from_speed"]["stopping_distance"], expected, rtol=1e-3)
    # By geometry, with full lock and without a driver in the loop.
    turn = found["turning_circle"].findings
    assert turn is not None
    np.testing.assert_allclose(turn["kerb_to_kerb"].value, turn["kerb_to_kerb"].theory, rtol=1e-6)


@pytest.mark.slow
def test_an_even_deceleration_stops_within_its_square() -> None:
    """v² / (2 a), less the last hundredth of the speed."""
    found = driven(Subject(sp.vehicles.commonroad_ks()))
    way = found["stop_from_speed"]["stopping_distance"]
    np.testing.assert_allclose(way, (1.0 - 0.01**2) * 10.0**2 / 4.0, rtol=1e-3)


@pytest.mark.slow_cases("ackermann_truck", "double_integrator")
@pytest.mark.parametrize("name", ["DELAY_STEER_VEL", "ackermann_truck", "double_integrator"])
def test_every_manoeuvre_is_driven_or_refused(name: str) -> None:
    """Slow ones, late ones and one without wheels: a reason or findings, never an error."""
    late = name.isupper()
    car = Subject(sp.vehicles.get(name)(BASE if late else None))
    for result in perform(STANDARD, [car], KERNELS):
        assert (result.findings is None) == bool(result.unfit), result.manoeuvre.name


@pytest.mark.slow
def test_a_car_that_steers_for_a_yaw_rate_is_asked_for_one() -> None:
    """And for a speed; how hard to drive nobody tells it."""
    control = wheeled.Control("twist_front_steer_pid")
    car = Subject(wheeled.vehicle(wheeled.ackermann(control=control)))
    steps, drive = perform([CommandSteps(), Acceleration()], [car], KERNELS)
    assert steps.findings is not None
    assert np.isfinite([one.value for one in steps.findings.metrics]).all()
    np.testing.assert_allclose(steps["yaw_rate_steady_error"], 0.0, atol=0.1)
    assert drive.unfit == "ackermann takes a speed, not an acceleration"


def test_a_car_with_tyres_is_sent_to_the_tests_of_cars() -> None:
    """Its answer to a command depends on its tyres."""
    (result,) = perform([CommandSteps()], [Subject(sp.vehicles.single_track())], KERNELS)
    assert "has tyres" in result.unfit
