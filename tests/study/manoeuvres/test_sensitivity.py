"""Derivatives and Sobol indices of metrics: functions with known ones, and linear theory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.arrays import Array
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import (
    ConstantSpeed,
    Findings,
    Metric,
    Performing,
    Subject,
    perform,
    select,
    sensitivity,
    sobol,
)
from study.manoeuvres.fakes import COARSE

SLOW = pytest.mark.slow


@dataclass(frozen=True)
class Formula:
    """A manoeuvre that drives nothing: its metric is a function of the parameters."""

    of: Callable[..., Array]
    rough: str = ""
    squared: bool = False
    """Whether the square of the mass is another metric."""
    name: ClassVar[str] = "formula"
    title: ClassVar[str] = "Formula"
    source: ClassVar[str] = "none"

    def unfit(self, car: Subject) -> str:
        """Fits all."""
        return ""

    def perform(self, car: Subject) -> Performing:
        """No drive."""
        if car.variants < 0:
            yield []
        metrics = [
            Metric("value", self.of(*car.params.values()), "m", "A function.", rough=self.rough)
        ]
        if self.squared:
            metrics.append(Metric("square", car.params["m"] ** 2, "kg²", "Of the mass."))
        return Findings(metrics)


def test_derivatives_of_a_formula() -> None:
    """Central differences of a square are exact."""
    car = sp.vehicles.single_track(m=1200.0, l_f=1.1)
    table = sensitivity(Formula(lambda m, l_f: m**2 * l_f), car, ["m", "l_f"])
    np.testing.assert_allclose(table.derivatives, [[2.0 * 1200.0 * 1.1, 1200.0**2]], rtol=1e-9)
    np.testing.assert_allclose(table.relative, [[2.0, 1.0]], rtol=1e-9)
    assert [row["parameter"] for row in table.rows()] == ["m", "l_f"]
    assert table.refused == {}


def test_a_parameter_at_its_bound_is_moved_to_one_side() -> None:
    """Drag that is zero and may not be negative."""
    car = sp.vehicles.single_track(C_drag=0.0)
    table = sensitivity(Formula(lambda drag: 3.0 * drag + 0.5 * drag**2), car, ["C_drag"])
    np.testing.assert_allclose(table.derivatives, [[3.0]], rtol=1e-9)


def test_a_metric_that_says_that_it_is_rough_has_no_derivative() -> None:
    """The others of its manoeuvre have; asked for by name it is an error that says why."""
    car = sp.vehicles.single_track(m=1200.0)
    formula = Formula(lambda m: m, "a search to 0.5 km/h", squared=True)
    table = sensitivity(formula, car, ["m"])
    assert table.metrics == ("square",)
    assert table.derivatives.shape == (1, 1)
    assert table.refused == {"value": "a search to 0.5 km/h"}
    with pytest.raises(InvalidValue, match=r"value: a search to 0\.5 km/h"):
        sensitivity(formula, car, ["m"], metrics=["value"])
    with pytest.raises(InvalidValue, match="no metric 'cube'"):
        sensitivity(formula, car, ["m"], metrics=["cube"])


@pytest.mark.parametrize(
    ("of", "said"),
    [
        # A staircase with treads of 0.4 % of the parameter, on a slope of 1.
        (lambda m: 5.0 * np.floor(m / 5.0 + 0.3), "staircase"),
        # One with treads of 6 % of the parameter: flat over the step.
        (lambda m: 70.0 * np.floor(m / 70.0 + 0.4), "flat over 12 of m and not over 48"),
        # A kink at the parameter itself, and one a quarter of a step beside it.
        (lambda m: np.abs(m - 1200.0) + 0.2 * m, "kink"),
        (lambda m: np.abs(m - 1203.0) + 0.2 * m, r"disagree: -0\.05 and -0\.3"),
    ],
)
def test_what_is_not_smooth_is_measured(of: Callable[[Array], Array], said: str) -> None:
    """Without a word of the metric; the numbers are in the sentence."""
    car = sp.vehicles.single_track(m=1200.0)
    table = sensitivity(Formula(of, squared=True), car, ["m"])
    assert table.metrics == ("square",)
    assert re.search(said, table.refused["value"]), table.refused
    with pytest.raises(InvalidValue, match="value: it"):
        sensitivity(Formula(of), car, ["m"])


@pytest.mark.parametrize(
    ("of", "slope"),
    [
        (lambda m: np.exp(m / 60.0), np.exp(20.0) / 60.0),  # 20 % per per cent
        (lambda m: (m - 1200.0) ** 2, 0.0),  # the bottom of a valley
        (lambda m: np.cos(m / 100.0), -np.sin(12.0) / 100.0),
        (lambda m: 1.0 + 1e-6 * np.sign(m - 1203.0), 0.0),  # steps that are of no account
        (lambda m: 1e-12 * np.floor(m), 0.0),  # rounding of a zero
    ],
)
def test_what_bends_is_smooth(of: Callable[[Array], Array], slope: float) -> None:
    """Derivatives by hand, to the square of the step."""
    car = sp.vehicles.single_track(m=1200.0)
    table = sensitivity(Formula(of), car, ["m"], metrics=["value"])
    assert table.derivatives[0, 0] == pytest.approx(slope, rel=0.01, abs=1e-6)


def test_the_entry_speed_of_a_lane_change_is_the_drivers_and_has_no_derivative() -> None:
    """All of it is of a search by a driver who follows a path."""
    with pytest.raises(InvalidValue, match=r"entry_speed: .*our path-following driver"):
        sensitivity("obstacle_avoidance", sp.vehicles.single_track(), ["m"], kernels=COARSE)


SINGLE = {
    "constant_speed": ["largest_steady_lateral_acceleration"],
    "slow_ramp": ["rear_gives_way"],
    "sine_with_dwell": ["largest_factor_passed"],
    "hill_hold": ["sliding_gradient"],
    "hill_start": ["steepest_start"],
}
"""Of manoeuvres whose other metrics are smooth."""
QUICK = ["slalom_36_m", "constant_speed", "slow_ramp", "sine_with_dwell"]
LONG = ["double_lane_change", "slalom_18_m", "autocross", "split_braking", "hill_hold"]


@pytest.mark.parametrize(
    ("car", "tests"),
    [("single_track", QUICK), pytest.param("two_track", [*LONG, "hill_start"], marks=SLOW)],
)
def test_searches_counts_and_grids_say_that_they_are_rough(car: str, tests: list[str]) -> None:
    """Every metric of the manoeuvres that search, and single ones of others."""
    for result in perform(select(tests), [Subject(sp.vehicles.get(car)())], COARSE):
        assert result.findings is not None, result.unfit
        metrics = result.findings.metrics
        rough = [one.name for one in metrics if one.rough]
        assert rough == SINGLE.get(result.manoeuvre.name, [one.name for one in metrics])


def test_understeer_moves_with_the_centre_of_mass_as_theory_says() -> None:
    """dK / dl_f of the car as driven and of its linear theory."""
    car = sp.vehicles.single_track(C_drag=0.0)
    table = sensitivity(ConstantSpeed(), car, ["l_f"], kernels=COARSE)
    far = 0.01 * car.params.l_f

    def gradients(l_f: float) -> Array:
        linear = Subject(car.with_params(l_f=l_f)).theory(20.0).bicycle
        return np.array([linear.understeer_gradient, linear.sideslip_gradient])

    theory = (gradients(car.params.l_f + far) - gradients(car.params.l_f - far)) / (2.0 * far)
    rows = [table.metrics.index(name) for name in ("understeer_gradient", "sideslip_gradient")]
    np.testing.assert_allclose(table.derivatives[rows, 0], theory, rtol=0.02)


@cache
def ishigami() -> Formula:
    """sin x + a sin² y + b z⁴ sin x, with the parameters taken as x, y and z."""
    return Formula(lambda x, y, z: np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x))


def test_sobol_indices_of_ishigamis_function() -> None:
    """Closed forms after Ishigami and Homma (1990)."""
    ranges = {name: (1.0, 1.0 + 2.0 * np.pi) for name in ("m", "l_f", "l_r")}

    def shifted(*p: Array) -> Array:
        return ishigami().of(*(part - 1.0 - np.pi for part in p))

    found = sobol(Formula(shifted), sp.vehicles.single_track(), ranges, samples=2048)
    a, b = 7.0, 0.1
    along_x, along_y = 0.5 * (1.0 + b * np.pi**4 / 5.0) ** 2, a * a / 8.0
    together = b * b * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    variance = along_x + along_y + together
    first = np.array([along_x, along_y, 0.0]) / variance
    total = np.array([along_x + together, along_y, together]) / variance
    np.testing.assert_allclose(found.first[0], first, atol=0.02)
    np.testing.assert_allclose(found.total[0], total, atol=0.02)
    np.testing.assert_allclose(found.std, np.sqrt(variance), rtol=0.02)


def test_samples_without_a_number_are_left_out_and_told() -> None:
    """And a metric that does not vary has no shares."""

    def holes(m: Array) -> Array:
        return np.where(m > 1500.0, np.nan, m)

    car = sp.vehicles.single_track()
    found = sobol(Formula(holes), car, {"m": (1000.0, 2000.0)}, samples=64)
    assert np.isfinite(found.first).all()
    assert "gave no number" in found.notes[0]
    still = sobol(Formula(lambda m: 0.0 * m + 3.0), car, {"m": (1000.0, 2000.0)}, samples=64)
    assert np.isnan(still.first).all()
    np.testing.assert_allclose(still.mean, 3.0)


def test_bad_questions_are_refused() -> None:
    """By name."""
    car = sp.vehicles.single_track()
    with pytest.raises(InvalidValue, match="l_f"):
        sensitivity(Formula(lambda m: m), car, ["lf"])
    with pytest.raises(InvalidValue, match="names is empty"):
        sensitivity(Formula(lambda m: m), car, [])
    with pytest.raises(InvalidValue, match="power of 2"):
        sobol(Formula(lambda m: m), car, {"m": (1.0, 2.0)}, samples=100)
    with pytest.raises(InvalidValue, match="step_steer: kinematic_bicycle has no tyres"):
        sensitivity("step_steer", sp.vehicles.kinematic_bicycle(), ["m"])
    with pytest.raises(InvalidValue, match="manoeuvre"):
        sensitivity("step_stear", car, ["m"])
