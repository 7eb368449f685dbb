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
