"""Fits to rows of the other side, and to rows whose signs or units cannot be right."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.tyres import MAGIC_FORMULA_STAGES, Measurements, Tyre, fit
from skidpad.tyres.fitting.least_squares import check_rows

LEFT = sp.tyres.get("passenger_car")
LATERAL = [s for s in MAGIC_FORMULA_STAGES if s.name in ("pure F_x", "pure F_y", "pure M_z")]
START = {"UNLOADED_RADIUS": 0.316, "FNOMIN": 4000.0}


def rows_of(tyre: Tyre, slip: str = "alpha") -> Measurements:
    """What a tyre does in sweeps with camber."""
    grid = np.meshgrid([2000.0, 4000.0, 6000.0], [-0.04, 0.0, 0.04], np.linspace(-0.2, 0.2, 31))
    F_z, gamma, x = (values.ravel() for values in grid)
    at: dict[str, Any] = {"F_z": F_z, "gamma": gamma, slip: x, "v_x": 16.7, "p": tyre.pressure}
    return Measurements(**at, **tyre.forces(**at)._asdict())


@pytest.mark.parametrize("tyre", [LEFT, LEFT.mirrored()], ids=["own side", "other side"])
def test_a_fitted_tyre_reproduces_the_rows_on_the_side_of_the_start(tyre: Tyre) -> None:
    rows = rows_of(tyre)
    found = fit(rows, tyre.with_values(PDY1=0.8, PHY1=0.0), stages=LATERAL[1:])
    assert found.tyre.side == tyre.side
    forces = found.tyre.forces(F_z=rows.F_z, alpha=rows.alpha, gamma=rows.gamma, v_x=16.7)
    assert_allclose(forces.F_y, rows.F_y, atol=1e-5 * 6000.0)
    assert_allclose(forces.M_z, rows.M_z, atol=1e-5 * 6000.0)
    for residuals in found.residuals:
        assert_array_equal(residuals.rows.alpha, rows.alpha)
        scale = 1.0 if residuals.stage.response == "F_y" else tyre.record.dimension.UNLOADED_RADIUS
        measured = rows[residuals.stage.response] / (rows.F_z * scale)
        assert_allclose(residuals.measured, measured, rtol=1e-12)


def test_mirrored_rows_are_those_of_the_mirrored_tyre() -> None:
    rows, other = rows_of(LEFT).mirrored(), LEFT.mirrored()
    forces = other.forces(F_z=rows.F_z, alpha=rows.alpha, gamma=rows.gamma, v_x=16.7, p=rows.p)
    for name, values in forces._asdict().items():
        assert_allclose(rows[name], values, rtol=1e-12, atol=1e-9, err_msg=name)


def turned(rows: Measurements, **columns: Any) -> Measurements:
    return Measurements(**(dict(rows.columns()) | columns))


@pytest.mark.parametrize("flipped", ["F_y", "alpha"])
def test_lateral_signs_of_other_axes_are_warned_of(flipped: str) -> None:
    rows = rows_of(LEFT)
    with pytest.warns(UserWarning, match="F_y grows with alpha.*Turn the sign"):
        fit(turned(rows, **{flipped: -rows[flipped]}), START, stages=LATERAL[1:2])


def test_longitudinal_signs_of_other_axes_are_warned_of() -> None:
    rows = rows_of(LEFT, "kappa")
    with pytest.warns(UserWarning, match="F_x falls with kappa"):
        fit(turned(rows, kappa=-rows.kappa), START, stages=LATERAL[:1])


@pytest.mark.parametrize("name", sp.tyres.names())
def test_rows_of_tyres_are_not_warned_of(name: str) -> None:
    tyre = sp.tyres.get(name)
    for slip in ("alpha", "kappa"):
        rows = rows_of(LEFT, slip)
        scaled = rows.F_z / 4000.0 * tyre.record.vertical.FNOMIN
        at: dict[str, Any] = {"F_z": scaled, slip: rows[slip], "gamma": rows.gamma, "v_x": 5.0}
        table = Measurements(**at, **tyre.forces(**at)._asdict())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_rows(table)


@pytest.mark.parametrize("name", ["alpha", "gamma"])
def test_degrees_are_refused(name: str) -> None:
    rows = rows_of(LEFT)
    with pytest.raises(InvalidValue, match=rf"{name} of row \d+ is .* within ±π/2.*deg2rad"):
        fit(turned(rows, **{name: np.rad2deg(rows[name])}), START)


def test_loads_that_pull_are_refused() -> None:
    rows = rows_of(LEFT)
    with pytest.raises(InvalidValue, match=r"F_z is -6000 to -2000 N.*greater than 0.*SAE"):
        fit(turned(rows, F_z=-rows.F_z), START)
    # A few rows in the air are what a rig has.
    loads = np.where(np.arange(len(rows)) < 3, -5.0, rows.F_z)
    fit(turned(rows, F_z=loads), START, stages=LATERAL[1:2])


@pytest.mark.parametrize("version", [6.1, "6.1"])
def test_a_version_may_be_a_number(version: float | str) -> None:
    found = fit(rows_of(LEFT), START, version=version, stages=LATERAL[1:2])
    assert found.tyre.version == "6.1"
