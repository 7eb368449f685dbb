"""Fits of tyres to sweeps whose truth is known."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skidpad as sp
from skidpad.core import record
from skidpad.core import threads as workers
from skidpad.errors import InvalidValue
from skidpad.ops import tanh
from skidpad.tyres import (
    MAGIC_FORMULA_STAGES,
    Contact,
    Measurements,
    Radii,
    Relaxation,
    SlipStiffness,
    Stage,
    TyreForces,
    fit,
)
from skidpad.tyres.contract import Peaks
from skidpad.tyres.fitting.least_squares import Kernel, rows_of

DATA = Path(__file__).parents[1] / "data" / "tyres"
TRUTH = sp.tyres.read(DATA / "sets" / "book205_61.tir")
KNOWN = {"FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.3135, "LONGVL": 16.7, "PKY4": 2.0005}
BY_NAME = {stage.name: stage for stage in MAGIC_FORMULA_STAGES}
VALUES = {
    name.rpartition(".")[2]: float(value)
    for name, value in zip(
        record.names(type(TRUTH.record)), record.flatten(TRUTH.record), strict=True
    )
}


def sweep(
    slip: str, loads: tuple[float, ...] = (2000.0, 4000.0, 6400.0),
    cambers: tuple[float, ...] = (0.0,), pressures: tuple[float, ...] = (220e3,), count: int = 41,
) -> Measurements:  # fmt: skip
    """What the true tyre does in sweeps of a slip."""
    most = 0.3 if slip == "alpha" else 0.5
    F_z, gamma, p, x = (
        values.ravel()
        for values in np.meshgrid(loads, cambers, pressures, np.linspace(-most, most, count))
    )
    at: dict[str, Any] = {"F_z": F_z, "gamma": gamma, "p": p, slip: x, "v_x": 16.7}
    forces = TRUTH.forces(**at)
    return Measurements(**at, **forces._asdict(), label=slip)


def noisy(table: Measurements, seed: int, force: float = 0.01, moment: float = 0.002) -> Any:
    """The table with errors in proportion to load."""
    rng = np.random.default_rng(seed)
    columns = {name: values for name, values in table.columns()}
    for name, size in (("F_x", force), ("F_y", force), ("M_z", 0.3 * moment), ("M_x", moment)):
        columns[name] = table[name] + size * table.F_z * rng.normal(size=len(table))
    return Measurements(**columns, label=table.label)


@pytest.mark.slow
def test_slopes_are_those_of_differences() -> None:
    """Exact derivatives of every force and moment by every coefficient."""
    table = Measurements.joined([sweep("alpha", cambers=(-0.03, 0.05)), sweep("kappa")])
    kind, leaves = type(TRUTH.record), np.array(record.flatten(TRUTH.record), dtype=float)
    rng = np.random.default_rng(3)
    leaves = leaves + 0.02 * rng.normal(size=leaves.size) * np.maximum(np.abs(leaves), 0.05)
    rows = rows_of(table, TRUTH.record, 16.7)
    rows[:, 1] += 0.013  # both slips at once, and no kink
    names = [name.rpartition(".")[2] for name in record.names(kind)]
    for stage in MAGIC_FORMULA_STAGES:
        free = tuple(names.index(c) for c in stage.all_coefficients if c in names)
        kernel = Kernel(kind, stage.response, free)
        slopes = kernel(rows, leaves)[1]
        assert np.isfinite(slopes).all()
        for column, place in enumerate(free):
            step = 1e-5 * max(1.0, abs(leaves[place]))
            shifted = [leaves.copy(), leaves.copy()]
            shifted[0][place] += step
            shifted[1][place] -= step
            high, low = (kernel(rows, some)[0] for some in shifted)
            scale = np.abs(slopes[:, column]).max() + 1e-3
            assert_allclose(
                slopes[:, column] / scale,
                (high - low) / (2.0 * step) / scale,
                atol=2e-5,
                err_msg=f"{stage.response} by {names[place]}",
            )


@pytest.mark.slow
def test_noisy_sweeps_give_back_what_they_were_made_with() -> None:
    table = noisy(
        Measurements.joined([sweep("kappa"), sweep("alpha", cambers=(-0.06, 0.0, 0.06))]), 1
    )
    found = fit(table, KNOWN)
    for name in ("PDX1", "PKX1", "PCX1", "PDY1", "PCY1", "PKY1", "PKY6", "QDZ1", "QCZ1"):
        half = 0.5 * (found[name].high - found[name].low)
        assert abs(found[name].value - VALUES[name]) < 2.0 * half, name
        assert half < 0.2 * abs(VALUES[name]), name
    pure = [c for s in found.stages if s.name in ("pure F_x", "pure F_y") for c in s.coefficients]
    inside = [c.low <= VALUES[c.name] <= c.high for c in pure]
    assert np.mean(inside) > 0.8


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    small = Stage("peak and slope", "F_x", ("PDX1", "PKX1", "PCX1", "PHX1"))
    table = sweep("kappa")
    hits, halves, values = 0, [], []
    for seed in range(20):
        found = fit(noisy(table, seed), TRUTH, stages=[small], loss="linear")
        (stage,) = found.stages
        hits += sum(c.low <= VALUES[c.name] <= c.high for c in stage.coefficients)
        halves.append([0.5 * (c.high - c.low) for c in stage.coefficients])
        values.append([c.value for c in stage.coefficients])
    assert hits >= 70  # of 80; 76 are expected, 70 or fewer once in 100
    assert_allclose(np.mean(halves, axis=0), 1.96 * np.std(values, axis=0, ddof=1), rtol=0.45)


@pytest.mark.slow
def test_outliers_do_not_decide() -> None:
    table = noisy(sweep("kappa"), 5)
    rng = np.random.default_rng(7)
    far = rng.random(len(table)) < 0.05
    assert far.sum() >= 4
    spoilt = np.where(far, table.F_x + 0.8 * table.F_z, table.F_x)
    spoilt_table = Measurements(table.F_z, table.kappa, p=table.p, v_x=16.7, F_x=spoilt)
    stage = [BY_NAME["pure F_x"]]
    clean = fit(table, KNOWN, stages=stage)
    robust = fit(spoilt_table, KNOWN, stages=stage)
    plain = fit(spoilt_table, KNOWN, stages=stage, loss="linear")
    assert robust.stages[0].outliers == pytest.approx(far.sum(), abs=2)
    for name in ("PDX1", "PKX1"):
        half = 0.5 * (clean[name].high - clean[name].low)
        assert abs(robust[name].value - clean[name].value) < half
    assert robust.stages[0].rms < 0.012
    assert plain.stages[0].rms > 0.1


def test_only_what_the_rows_tell_is_fitted() -> None:
    found = fit(sweep("alpha", loads=(4000.0,)), KNOWN)
    why = found.fixed
    assert why["PKY6"] == why["PDY3"] == "no row has camber"
    assert why["PPY1"] == "pressure does not vary"
    assert "PDY2" in why  # one load
    assert set(found.skipped) >= {"combined F_y", "combined M_z"}
    assert "pure F_x" in found.skipped or "PDX1" in why
    for name in ("PDY2", "PPY1", "PKY7"):
        with pytest.raises(InvalidValue, match="no fitted coefficient"):
            found[name]
    assert found.stage("pure F_y").used == 41


def test_tyres_without_combined_rows_still_combine_slips() -> None:
    """A car on a tyre that gives its full force both ways at once would be wrong unnoticed."""
    found = fit(Measurements.joined([sweep("kappa"), sweep("alpha")]), KNOWN)
    assert "RBX1, RBX2, RCX1 have usual values" in found.skipped["combined F_x"]
    pure = found.tyre.forces(F_z=4000.0, kappa=0.1, v_x=16.7)
    both = found.tyre.forces(F_z=4000.0, kappa=0.1, alpha=0.1, v_x=16.7)
    assert 0.2 * pure.F_x < both.F_x < 0.9 * pure.F_x
    # A tyre that was given keeps its own.
    again = fit(sweep("alpha"), TRUTH)
    assert VALUES["RBX1"] == again.tyre.record.longitudinal.RBX1
    assert "usual" not in again.skipped["combined F_x"]


def test_pressure_terms_come_from_rows_at_several_pressures() -> None:
    table = sweep("alpha", cambers=(-0.05, 0.0, 0.05), pressures=(180e3, 220e3, 260e3))
    found = fit(table, KNOWN, stages=[BY_NAME["pure F_y"]])
    for name in ("PPY1", "PPY2", "PPY3", "PPY4"):
        assert found[name].value == pytest.approx(VALUES[name], abs=2e-3), name
    assert found.tyre.record.operating.NOMPRES == 220e3


def test_a_tyre_may_be_the_start() -> None:
    start = TRUTH.with_values(PDY1=0.7, PKY1=-12.0, PEY1=0.0)
    before = start.record
    found = fit(sweep("alpha"), start, stages=[BY_NAME["pure F_y"]], fixed=["PEY3"])
    assert start.record == before
    assert found.tyre.document == start.document
    assert found["PDY1"].value == pytest.approx(VALUES["PDY1"], rel=1e-4)
    assert found["PKY1"].value == pytest.approx(VALUES["PKY1"], rel=1e-3)
    assert VALUES["PEY3"] == found.tyre.record.lateral.PEY3
    assert found.fixed["PEY3"] == "fixed by the user"
    assert found["PDY1"].start == 0.7


def test_bounds_hold() -> None:
    found = fit(sweep("alpha"), KNOWN, stages=[BY_NAME["pure F_y"]], bounds={"PDY1": (0.5, 0.8)})
    assert found["PDY1"].value == pytest.approx(0.8, abs=1e-6)
    assert np.isnan(found["PDY1"].low)
    assert "at its bound" in str(found)


class Soft(NamedTuple):
    """A tyre of one's own: a force that saturates."""

    C: float = 10.0
    D: float = 1.0

    @property
    def measured_on(self) -> float:
        return 1.0

    @property
    def pressure(self) -> float:
        return 0.0

    def forces(self, at: Contact) -> TyreForces:
        F_y = -self.D * at.F_z * tanh(self.C / self.D * at.alpha)
        return TyreForces(0.0, F_y, 0.0, 0.0, 0.0)

    def stiffness(self, at: Contact) -> SlipStiffness:
        return SlipStiffness(0.0, self.C * at.F_z)

    def peaks(self, at: Contact) -> Peaks:
        return Peaks(0.0, self.D)

    def relaxation(self, at: Contact) -> Relaxation:
        return Relaxation(0.1, 0.1)

    def radii(self, at: Contact) -> Radii:
        return Radii(0.3, 0.3, 0.3, 2e5)


def test_other_tyres_are_fitted_by_stages_of_ones_own() -> None:
    alpha = np.linspace(-0.2, 0.2, 60)
    force = -1.3 * 3000.0 * np.tanh(18.0 / 1.3 * alpha)
    table = Measurements(3000.0, alpha=alpha, F_y=force)
    with pytest.raises(InvalidValue, match="say what to fit"):
        fit(table, Soft())
    found = fit(table, Soft(), stages=[Stage("lateral", "F_y", ("C", "D"))])
    assert pytest.approx(18.0, rel=1e-6) == found.tyre.record.C
    assert pytest.approx(1.3, rel=1e-6) == found.tyre.record.D


def test_interrupted_fits_leave_nothing_behind() -> None:
    table = sweep("alpha")
    before = [values.copy() for _, values in table.columns()]

    def interrupt(done: float, total: float) -> None:
        if done >= 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(table, KNOWN, progress=interrupt)
    assert not workers._pool.at_work  # pyright: ignore[reportPrivateUsage]
    for (_, values), old in zip(table.columns(), before, strict=True):
        assert_array_equal(values, old)
    seen: list[tuple[float, float]] = []
    threads = threading.active_count()
    found = fit(table, KNOWN, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(MAGIC_FORMULA_STAGES), len(MAGIC_FORMULA_STAGES))
    assert threading.active_count() <= threads + workers.cores()
    again = fit(table, KNOWN)
    assert again.tyre == found.tyre


def test_a_search_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, compiled = [0], Kernel.__call__

    def interrupted(self: Kernel, rows: Any, leaves: Any) -> Any:
        calls[0] += 1
        if calls[0] == 20:
            signal.raise_signal(signal.SIGINT)
        return compiled(self, rows, leaves)

    table = sweep("alpha")
    whole = fit(table, KNOWN)
    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(table, KNOWN)
    assert calls == [20]
    assert not workers._pool.at_work  # pyright: ignore[reportPrivateUsage]
    assert fit(table, KNOWN).tyre == whole.tyre


def test_a_file_of_a_test_is_enough() -> None:
    """Load, radius, pressure and speed are read off a file of the Tire Test Consortium."""
    table = sp.tyres.measurements(DATA / "ttc_like.dat")
    found = fit(table)
    assert found.stage("pure F_y").rms < 1e-4
    assert found.stage("pure M_z").rms < 2e-4
    here = {"F_z": 3000.0, "alpha": 0.04, "gamma": 0.03, "v_x": 16.7, "p": 220e3}
    assert found.tyre.forces(**here).F_y == pytest.approx(TRUTH.forces(**here).F_y, rel=2e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"version": "7"}, "version = '7' is unknown"),
        ({"loss": "huge"}, "loss = 'huge' is unknown"),
        ({"start": {"PDZ1": 1.0}}, "has no field 'PDZ1'; did you mean"),
        ({"start": 3.0}, "must be a tyre record"),
        ({"fixed": ["PZZ1"]}, "fixed: .*'PZZ1'"),
        ({"fixed": "PDX1"}, "must be a list of names"),
        ({"bounds": {"PDX1": (2.0, 1.0)}}, "the lowest must be below"),
        ({"bounds": {"PDX1": 1.0}}, "lowest and highest"),
        ({"stages": [Stage("a", "F_y", ("C",))]}, "stage 'a': .*'C'"),
        ({"start": None}, "have no loaded radius"),
        ({"start": KNOWN, "progress": 3}, "progress = 3"),
    ],
)
def test_errors_say_what_is_allowed(arguments: dict[str, Any], message: str) -> None:
    table = sweep("alpha", count=9)
    with pytest.raises(InvalidValue, match=message):
        fit(table, **{"start": KNOWN, **arguments})


def test_stages_are_checked() -> None:
    with pytest.raises(InvalidValue, match="response = 'F_w'"):
        Stage("a", "F_w", ("C",))
    with pytest.raises(InvalidValue, match="did you mean 'kappa'"):
        Stage("a", "F_y", ("C",), below={"kapa": 0.1})
    with pytest.raises(InvalidValue, match="no rows"):
        fit(sweep("alpha").where(F_z=(0.0, 1.0)), KNOWN)
    with pytest.raises(InvalidValue, match="must be Measurements"):
        fit([1.0, 2.0], KNOWN)  # pyright: ignore[reportArgumentType]


def test_radius_and_stiffness_come_from_loaded_radii() -> None:
    table = sweep("alpha")
    radius = 0.31 - table.F_z / 2.1e5
    with_radii = Measurements(**dict(table.columns()), R_l=radius)
    found = fit(with_radii, stages=[BY_NAME["pure F_y"]])
    assert pytest.approx(0.31) == found.tyre.record.dimension.UNLOADED_RADIUS
    assert pytest.approx(2.1e5) == found.tyre.record.vertical.VERTICAL_STIFFNESS
    assert found.tyre.record.vertical.FNOMIN == 4000.0


@pytest.mark.slow
def test_the_figure_has_a_panel_and_an_error_for_each_stage(tmp_path: Path) -> None:
    found = fit(noisy(sweep("alpha"), 2), KNOWN)
    figure = found.residual_plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
    assert len(figure.axes) == 2 * len(found.stages)
    assert [stage.name for stage in found.stages] == [r.stage.name for r in found.residuals]
    text = str(found)
    assert "pure F_y: 123 rows" in text
    assert "PDY1" in text
    assert "no row has camber" in text
    assert len(repr(found)) < 300
