"""Fits of a fresh start to sweeps recorded from MFeval 4.0, judged on rows they have not seen."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.tyres import Measurements

DATA = Path(__file__).parents[1] / "data" / "tyres"
FRAME = ("FNOMIN", "UNLOADED_RADIUS", "LONGVL", "NOMPRES", "INFLPRES", "LFZO")
"""What a test has to say about a tyre before anything is fitted."""


def block(recorded: Any, name: str) -> Measurements:
    at = dict(zip(recorded["in_columns"], recorded[f"{name}_in"].T, strict=True))
    out = dict(zip(recorded["out_columns"], recorded[f"{name}_out"].T, strict=True))
    return Measurements(
        at["Fz"], at["kappa"], at["alpha"], at["gamma"], at["p"], at["Vx"],
        out["Fx"], out["Fy"], out["Mx"], out["My"], out["Mz"], label=name,
    )  # fmt: skip


def without_slip(table: Measurements, recorded: Any, PDY3: float) -> Measurements:
    """In MF 5.2 MFeval has the lateral force by longitudinal slip with camber in F_y and without in
    M_z: the difference is put back."""
    inner = dict(zip(recorded["inner_columns"], recorded["rand_inner"].T, strict=True))
    trail = dict(zip(recorded["out_columns"], recorded["rand_out"].T, strict=True))["t"]
    apart = trail * inner["SVyk"] * (1.0 - 1.0 / (1.0 - PDY3 * table.gamma**2))
    return replace(table, M_z=table.M_z + apart)


def coefficients(tyre: sp.tyres.Tyre) -> dict[str, float]:
    leaves = zip(
        sp.core.record.names(type(tyre.record)), sp.core.record.flatten(tyre.record), strict=True
    )
    return {name.rpartition(".")[2]: float(value) for name, value in leaves}


def errors(tyre: sp.tyres.Tyre, rows: Measurements, scale: Measurements) -> dict[str, float]:
    """Root mean square of the error over that of all rows."""
    forces = tyre.forces(
        F_z=rows.F_z, kappa=rows.kappa, alpha=rows.alpha, gamma=rows.gamma, v_x=rows.v_x, p=rows.p
    )
    return {
        name: float(
            np.sqrt(np.mean((getattr(forces, name) - rows[name]) ** 2) / np.mean(scale[name] ** 2))
        )
        for name in ("F_x", "F_y", "M_z", "M_x")
    }


@pytest.mark.slow_cases("odd61", "truck52", "book205_61", "suv62")
@pytest.mark.parametrize("name", ["book205_61", "suv62", "odd61", "truck52", "odd52"])
def test_sweeps_tell_what_other_rows_do(name: str) -> None:
    """The sweeps have one pressure, so what pressure does is taken as known."""
    recorded = np.load(DATA / f"mfeval_{name}.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transients that a file asks for
        truth = coefficients(sp.tyres.read(DATA / "sets" / f"{name}.tir"))
    known = {
        key: value
        for key, value in truth.items()
        if key in FRAME or key.startswith(("PPX", "PPY", "PPZ", "PPM"))
    }
    sweeps = Measurements.joined(
        [block(recorded, f"sweep_{part}") for part in ("kappa", "alpha", "comb")]
    )
    found = sp.tyres.fit(sweeps, known, version=f"{name[-2]}.{name[-1]}")
    everything = block(recorded, "rand")
    if name.endswith("52"):
        everything = without_slip(everything, recorded, truth["PDY3"])
    rows = everything.where(
        F_z=(sweeps.F_z.min(), sweeps.F_z.max()),
        gamma=(-0.06, 0.06),
        alpha=(-0.12, 0.12),
        kappa=(-0.5, 0.5),
    )
    assert len(rows) > 100
    error = errors(found.tyre, rows, everything)
    assert error["F_x"] < 0.01
    assert error["F_y"] < 0.01
    assert error["M_z"] < 0.03
    assert error["M_x"] < 0.03
