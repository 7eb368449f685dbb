"""Weave and transition test: against ellipses and lags by hand, and linear theory of the cars."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import Result, Subject, adapt, perform
from skidpad.study.manoeuvres import sensitivity as derivatives
from skidpad.study.manoeuvres.case_run import CaseRun, from_columns
from skidpad.study.manoeuvres.linear_handling import Transition, Weave
from study.manoeuvres.fakes import COARSE, KERNELS

CARS = ("single_track", "two_track", "full_car", "formula_student")
each_car = pytest.mark.parametrize("name", CARS)
each_side = pytest.mark.parametrize("side", [1.0, -1.0])


def woven(side: float, A: float, G: float, p: float, late: float) -> CaseRun:
    """An angle that is late, and an answer behind it."""
    t = np.linspace(-0.5, 22.0, 2251)
    turn = 2.0 * np.pi * 0.2 * (t - late)
    columns = {"steer": A * np.sin(turn), "omega": A * G * np.sin(turn + p)}
    return from_columns("woven", t, {name: side * row for name, row in columns.items()})


@each_side
@pytest.mark.parametrize("p", [-0.7, -0.05, 0.1])
def test_a_loop_is_an_ellipse(side: float, p: float) -> None:
    """x = A sin u, y = A G sin(u + p): at x = 0 the slope of both branches is G cos p on average
    and y is ± A G sin p; at y = 0 x is ∓ A sin p."""
    A, G = 0.01, 8.0
    loop = Weave().loop(woven(side, A, G, p, 0.07), "omega", side)
    np.testing.assert_allclose(loop.gradient, G * np.cos(p), rtol=1e-4)
    np.testing.assert_allclose(loop.ordinate, -2.0 * A * G * np.sin(p), rtol=1e-4)
    np.testing.assert_allclose(loop.abscissa, -2.0 * A * np.sin(p), rtol=1e-4)
    np.testing.assert_allclose(loop.lag, -p / (0.4 * np.pi), rtol=1e-4)


def test_an_offset_of_the_angle_is_no_dead_band() -> None:
    """A car that drives straight on with its wheels a little turned."""
    run = woven(1.0, 0.01, 8.0, -0.2, 0.0)
    crooked = CaseRun("crooked", run.t, {**run.signals, "steer": run["steer"] + 2e-4})
    straight, aside = (Weave().loop(one, "omega", 1.0) for one in (run, crooked))
    np.testing.assert_allclose(aside.abscissa, straight.abscissa, rtol=1e-3)
    np.testing.assert_allclose(aside.ordinate, straight.ordinate, rtol=1e-3)


@cache
def small(name: str) -> list[Result]:
    tests = [Weave(a_y=0.3), Transition(a_y=0.3)]
    return perform(tests, [Subject(sp.vehicles.get(name)())], KERNELS)


@each_car
def test_a_small_weave_is_that_of_linear_theory(name: str) -> None:
    """By gain and phase at 0.2 Hz."""
    findings = small(name)[0].findings
    assert findings is not None
    known = [metric for metric in findings.metrics if metric.theory is not None]
    assert len(known) == 8
    for metric in known:
        np.testing.assert_allclose(metric.value, metric.theory, rtol=3e-3, err_msg=metric.name)
    np.testing.assert_allclose(findings["peak_lateral_acceleration"].value, 0.3, rtol=1e-3)


@each_car
def test_a_small_transition_is_that_of_linear_theory(name: str) -> None:
    """Gradients to 0.8 %, dead bands to 2 µrad."""
    findings = small(name)[1].findings
    assert findings is not None
    for metric in findings.metrics:
        rtol, atol = (0.0, 2e-6) if metric.unit == "rad" else (8e-3, 0.0)
        np.testing.assert_allclose(
            metric.value, metric.theory, rtol=rtol, atol=atol, err_msg=metric.name
        )


@each_car
def test_the_dead_band_of_a_linear_transition_is_the_rate_of_the_angle_times_the_delay(
    name: str,
) -> None:
    """Of a slow ramp; the delay is that of the phase at a low frequency."""
    car = Subject(sp.vehicles.get(name)())
    test = Transition(duration=30.0, a_y=0.3)
    theory = car.theory(test.speed)
    f = 1e-3
    lag = {k: -np.angle(g[0]) / (2.0 * np.pi * f) for k, g in theory.to_angle(f).items()}
    rate = 1.2 * test.a_y / theory.gains["a_y"] / test.duration
    found = test.means([test.linear(car, np.array([rate * test.duration]))])
    values = {metric.name: metric.value[0] for metric in found}
    across, yaw = (f"{k}_angle_dead_band" for k in ("lateral_acceleration", "yaw_rate"))
    assert values[across] == pytest.approx(rate * lag["a_y"], rel=2e-3)
    assert values[yaw] == pytest.approx(rate * lag["omega"], rel=2e-3)
    assert values["steering_sensitivity"] == pytest.approx(theory.gains["a_y"], rel=1e-3)
    assert values["yaw_rate_gradient"] == pytest.approx(theory.gains["omega"], rel=1e-3)


@each_side
def test_a_lag_of_first_order_has_its_dead_band(side: float) -> None:
    """y = S (r t - r T (1 - exp(-t / T))) after an angle r t: a line that is zero at r T."""
    S, r, T, v = 220.0, 0.0015, 0.05, 100.0 / 3.6
    t = np.linspace(-0.5, 6.0, 651)
    on = np.maximum(t, 0.0)
    a_y = S * (r * on - r * T * -np.expm1(-on / T))
    columns = {"steer": r * on, "a_y": a_y, "omega": a_y / v}
    run = from_columns("lag", t, {name: side * row for name, row in columns.items()})
    found = {metric.name: metric.value[0] for metric in Transition().means([run])}
    assert found["steering_sensitivity"] == pytest.approx(S, rel=1e-4)
    assert found["yaw_rate_gradient"] == pytest.approx(S / v, rel=1e-4)
    assert found["lateral_acceleration_angle_dead_band"] == pytest.approx(r * T, rel=1e-3)
    assert found["yaw_rate_angle_dead_band"] == pytest.approx(r * T, rel=1e-3)


def test_a_slow_weave_is_a_turn() -> None:
    """At 0.02 Hz gradients are steady gains, and dead bands next to nothing."""
    car = Subject(sp.vehicles.two_track())
    test = Weave(frequency=0.02, a_y=0.3, periods=1)
    (result,) = perform([test], [car], COARSE)
    gains = car.theory(test.speed).gains
    assert result["steering_sensitivity"] == pytest.approx(gains["a_y"], rel=0.01)
    assert result["yaw_rate_gradient"] == pytest.approx(gains["omega"], rel=0.01)
    assert result["yaw_rate_angle_dead_band"] < 0.03 * 2.0 * result["peak_angle"]


@pytest.mark.parametrize("test", [Weave(), Transition()], ids=["weave", "transition"])
def test_left_and_right_are_mirror_images(test: Weave | Transition) -> None:
    car = sp.vehicles.two_track("suv")
    tests = [type(test)(sides=(side,)) for side in test.sides]
    left, right = perform(tests, [Subject(car)], COARSE)
    assert left.findings is not None
    assert right.findings is not None
    for metric in left.findings.metrics:
        other = right[metric.name]
        np.testing.assert_allclose(metric.value, other, rtol=1e-6, err_msg=metric.name)


@pytest.mark.parametrize("test", [Weave(), Transition()], ids=["weave", "transition"])
def test_metrics_are_smooth_in_parameters(test: Weave | Transition) -> None:
    """`sensitivity` refuses what is not; and a stiffer front answers with more."""
    table = derivatives(test, sp.vehicles.single_track(), ["m", "l_f", "I_z"], kernels=COARSE)
    assert table.refused == {}
    assert np.isfinite(table.derivatives).all()
    row = table.metrics.index("steering_sensitivity")
    assert table.derivatives[row, 1] > 0.0  # with the mass behind it turns more


def test_the_peak_is_as_asked() -> None:
    """2 m/s², of cars that differ."""
    variants = {"m": np.array([900.0, 1100.0, 1300.0]), "l_f": np.array([1.0, 1.2, 1.1])}
    (result,) = perform([Weave()], [Subject(sp.vehicles.single_track(), variants)], COARSE)
    np.testing.assert_allclose(result["peak_lateral_acceleration"], 2.0, rtol=5e-3)
    assert Weave().frequency == 0.2
    assert Weave().speed == pytest.approx(100.0 / 3.6)


def test_more_inertia_is_more_behind() -> None:
    vehicle = sp.vehicles.single_track()
    variants = {"I_z": vehicle.params.I_z * np.array([0.7, 1.0, 1.3])}
    (result,) = perform([Weave()], [Subject(vehicle, variants)], COARSE)
    for name in ("yaw_rate_lag", "yaw_rate_dead_band", "lateral_acceleration_lag"):
        assert (np.diff(result[name]) > 0.0).all(), name


def log_of(steer: np.ndarray, t: np.ndarray) -> CaseRun:
    a_y = 200.0 * steer
    columns = {"v_x": np.full(t.shape, 25.0), "steer": steer, "a_y": a_y, "omega": a_y / 25.0}
    return from_columns("log.csv", t, columns)


def test_logs_of_other_tests_are_refused() -> None:
    t = np.linspace(0.0, 40.0, 4001)
    late = np.maximum(t - 5.0, 0.0)
    sine = 0.01 * np.sin(2.0 * np.pi * 0.2 * late)
    test = adapt(Weave(), log_of(sine, t))
    assert isinstance(test, Weave)
    assert (test.speed, test.sides) == (25.0, ("left first",))
    assert test.a_y == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(InvalidValue, match=r"no sine of 0\.2 Hz"):
        adapt(Weave(), log_of(0.01 * np.sin(2.0 * np.pi * 0.3 * late), t))
    with pytest.raises(InvalidValue, match=r"20 s are needed"):
        adapt(Weave(), log_of(sine[:2000], t[:2000]))
    with pytest.raises(InvalidValue, match=r"0\.20 m/s² at most"):
        adapt(Weave(), log_of(0.1 * sine, t))
    ramp = adapt(Transition(), log_of(-0.002 * late, t))
    assert ramp == Transition(speed=25.0, duration=4.5, sides=("right",))
    with pytest.raises(InvalidValue, match="not turned evenly"):
        adapt(Transition(), log_of(0.0075 * (1.0 - np.exp(-late / 0.02)) + 1e-9 * late, t))
    with pytest.raises(InvalidValue, match=r"0\.40 m/s² at most"):
        adapt(Transition(), log_of(0.002 * np.minimum(late, 1.0), t))
