"""Hills and rough roads: forces of balance, weights of the standard, transfer functions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.road import psd
from skidpad.study.manoeuvres import Case, Result, Subject, perform
from skidpad.study.manoeuvres.roads import (
    Axles,
    Bump,
    HillHold,
    HillStart,
    RoughRoad,
    W_k,
    between,
    gradients,
    half_car,
    highest,
    hill,
    standard_deviation,
    weighted,
)
from study.manoeuvres.fakes import COARSE

CAR = Subject(sp.vehicles.full_car())


@cache
def results() -> dict[str, Result]:
    """All four of them."""
    found = perform([HillHold(), HillStart(), RoughRoad(), Bump()], [CAR], COARSE)
    return {result.manoeuvre.name: result for result in found}


def test_on_every_hill_the_tyres_hold_the_weight() -> None:
    """Two hills in one rollout: m g sin of each, with the brakes at the rear wheels."""
    tried = (0.1, 0.3)
    cases = [
        Case(label="", duration=6.0, coast=1.0, handbrake=1.0, road=hill(k), rests=True, run_in=0.0)
        for k in tried
    ]
    p = CAR.vehicle.params
    for gradient, run in zip(tried, COARSE.drive([(CAR, case) for case in cases]), strict=True):
        rear = run["F_x_rl"][-1, 0] + run["F_x_rr"][-1, 0]
        assert rear == pytest.approx(p.m * p.g * np.sin(np.arctan(gradient)), rel=0.01)
        assert np.abs(run["v_x"][-1, 0]) < 1e-3


def test_gradients_are_looked_for_in_two_steps() -> None:
    """Up to the first that is not mastered, then above it."""
    tried = gradients(0.05, 0.0, 0.2)
    np.testing.assert_allclose(tried, [0.05, 0.1, 0.15, 0.2])
    ok = np.array([[True, False, True], [True, True, True], [False, True, True], [True] * 3])
    np.testing.assert_allclose(highest(tried, ok), [0.1, 0.0, 0.2])
    np.testing.assert_allclose(between(np.array([0.1, 0.1])), [0.11, 0.12, 0.13, 0.14])


@pytest.mark.slow
def test_a_car_slides_where_its_rear_wheels_have_no_more_grip() -> None:
    """μ l_f / (L - μ h) with the most friction that its rear tyres show."""
    result, p = results()["hill_hold"], CAR.vehicle.params
    assert result.findings is not None
    rows = [Axles(*(run[f"{n}l"] + run[f"{n}r"] for n in ("F_x_f", "F_x_r", "F_z_f", "F_z_r")))
            for run in result.runs]  # fmt: skip
    mu = max(float((row.F_rear / row.load_rear).max()) for row in rows)
    slides = mu * p.l_f / (p.l_f + p.l_r - mu * p.z_cg)
    assert result["sliding_gradient"][0] == pytest.approx(slides, rel=0.05)
    assert result.findings["sliding_gradient"].theory[0] == pytest.approx(slides, rel=0.02)
    assert result["creep_speed"][0] < 1e-3
    assert result["way"][0] < 0.05


def test_a_start_on_a_hill_is_as_fast_as_it_is_asked_for() -> None:
    """v / a, and it hardly rolls back. Rolling resistance, 1 % of the weight, slows it."""
    result = results()["hill_start"]
    assert result["time_to_speed"][0] == pytest.approx(20.0 / 3.6 / (1.5 - 0.0981), rel=0.05)
    assert result["roll_back"][0] < 0.02
    assert result.findings is not None
    steepest = result.findings["steepest_start"]
    assert steepest.theory[0] - 0.1 < steepest.value[0] <= steepest.theory[0]


def test_weights_are_those_of_the_table() -> None:
    """W_k in thousandths at third octaves, ISO 2631-1, table 3."""
    f = np.array(
        [0.5, 1.0, 2.0, 3.15, 4.0, 5.0, 6.3, 8.0, 10.0, 12.5, 16.0, 20.0, 31.5, 50.0, 80.0]
    )
    table = [418, 482, 531, 804, 967, 1039, 1054, 1036, 988, 902, 768, 636, 405, 246, 132]
    np.testing.assert_allclose(1000.0 * np.abs(W_k(f)), table, rtol=0.005)


@pytest.mark.parametrize("f", [1.0, 5.0, 16.0, 31.5])
def test_the_filter_weighs_a_sine_as_the_transfer_function_does(f: float) -> None:
    """After the start has died out, at the rate of samples."""
    t = np.arange(0.0, 20.0, 0.01)
    felt = weighted(np.sin(2.0 * np.pi * f * t)[:, None], 100.0)
    share = np.sqrt(2.0) * felt[1000:].std()
    assert share == pytest.approx(float(np.abs(W_k(np.array([f])))[0]), rel=0.01)


def test_a_body_without_coupling_is_two_quarter_cars() -> None:
    """I_y = m l_f l_r: the load of each axle is that of a quarter car over the road under it."""
    car = half_car(CAR.vehicle)
    assert car is not None
    car = car._replace(I_y=car.m * car.l_f * car.l_r)
    f, v = np.array([0.3, 1.3, 4.0, 11.0]), 20.0
    s, gains = 2.0j * np.pi * f, car.response(np.array([0.3, 1.3, 4.0, 11.0]), 20.0)
    L = car.l_f + car.l_r
    late = np.exp(-s * L / v)
    body = 0.0
    pairs = ((car.front, car.l_r / L, 1.0), (car.rear, car.l_f / L, late))
    for name, (axle, share, road) in zip(("F_front", "F_rear"), pairs, strict=True):
        spring, tyre = axle.k + axle.c * s, axle.k_t + axle.c_t * s
        over = share * car.m * s**2 + spring
        D = over * (axle.m_u * s**2 + spring + tyre) - spring**2
        np.testing.assert_allclose(gains[name], tyre * road * (1.0 - over * tyre / D), rtol=1e-9)
        body = body + share * s**2 * road * spring * tyre / D
    np.testing.assert_allclose(gains["a_z"], body, rtol=1e-9)


def test_the_deviation_of_the_slope_of_a_road_is_that_of_its_spectrum() -> None:
    """The PSD of slopes is constant: its integral is the width of the band."""
    f, v = np.linspace(0.01, 70.0, 20_001), 20.0
    slope = standard_deviation(2.0j * np.pi * f / v, f, v, "B")
    flat = (2.0 * np.pi) ** 2 * psd(1.0, "B")
    assert slope == pytest.approx(np.sqrt(flat * (2.83 - 0.011)), rel=1e-3)


def test_ride_is_that_of_linear_theory() -> None:
    """Within what four roads of 10 s scatter; the tyres hardly leave the road."""
    findings = results()["rough_road"].findings
    assert findings is not None
    for name in ("weighted_acceleration", "acceleration", "dynamic_load_coefficient"):
        metric = findings[name]
        np.testing.assert_allclose(metric.value, metric.theory, rtol=0.12)
    assert results()["bump"]["peak_load"][0] > 1.5 * CAR.geometry.mass * 9.81 / 4.0


def test_vehicles_that_cannot_say_why() -> None:
    """No handbrake, no springs, nothing that drives."""
    assert "handbrake" in HillHold().unfit(Subject(sp.vehicles.single_track()))
    assert HillStart().unfit(Subject(sp.vehicles.single_track())) == ""
    assert "springs" in RoughRoad().unfit(Subject(sp.vehicles.two_track()))
    assert "springs" in Bump().unfit(Subject(sp.vehicles.kinematic_bicycle()))
    assert HillStart().unfit(Subject(sp.vehicles.kinematic_bicycle()))
