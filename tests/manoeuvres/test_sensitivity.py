"""Derivatives and Sobol indices of metrics: functions with known ones, and linear theory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import skidpad as sp
from manoeuvres.fakes import COARSE
from skidpad.arrays import Array
from skidpad.errors import InvalidValue
from skidpad.manoeuvres import (
    ConstantSpeed,
    Findings,
    Metric,
    Performing,
    Subject,
    sensitivity,
    sobol,
)


@dataclass(frozen=True)
class Formula:
    """A manoeuvre that drives nothing: its metric is a function of the parameters."""

    of: Callable[..., Array]
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
        value = self.of(*car.params.values())
        return Findings([Metric("value", value, "m", "A function of the parameters.")])


def test_derivatives_of_a_formula() -> None:
    """Central differences of a square are exact."""
    car = sp.vehicles.single_track(m=1200.0, l_f=1.1)
    table = sensitivity(Formula(lambda m, l_f: m**2 * l_f), car, ["m", "l_f"])
    np.testing.assert_allclose(table.derivatives, [[2.0 * 1200.0 * 1.1, 1200.0**2]], rtol=1e-9)
    np.testing.assert_allclose(table.relative, [[2.0, 1.0]], rtol=1e-9)
    assert [row["parameter"] for row in table.rows()] == ["m", "l_f"]


def test_a_parameter_at_its_bound_is_moved_to_one_side() -> None:
    """Drag that is zero and may not be negative."""
    car = sp.vehicles.single_track(C_drag=0.0)
    table = sensitivity(Formula(lambda drag: 3.0 * drag), car, ["C_drag"])
    np.testing.assert_allclose(table.derivatives, [[3.0]], rtol=1e-9)


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
    with pytest.raises(InvalidValue, match="power of 2"):
        sobol(Formula(lambda m: m), car, {"m": (1.0, 2.0)}, samples=100)
    with pytest.raises(InvalidValue, match="step_steer: kinematic_bicycle has no tyres"):
        sensitivity("step_steer", sp.vehicles.kinematic_bicycle(), ["m"])
    with pytest.raises(InvalidValue, match="manoeuvre"):
        sensitivity("step_stear", car, ["m"])
