"""Tyres that come with skidpad: complete, readable, and as tyres are."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad import tyres
from skidpad.errors import InvalidValue

NAMES = pytest.mark.parametrize("name", tyres.names())
LOADS = np.array([0.25, 0.5, 1.0, 1.5, 2.0])


def test_names() -> None:
    assert tyres.names() == ("passenger_car", "race_slick", "robot")
    assert tyres.get("robot") is tyres.get("robot")
    with pytest.raises(InvalidValue, match="no tyre 'passenger'; did you mean 'passenger_car'"):
        tyres.get("passenger")


@NAMES
def test_the_files_say_what_they_are(name: str) -> None:
    document = tyres.get(name).document
    assert document is not None
    assert "The numbers are invented" in "".join(document.lines[:3])


@NAMES
def test_nothing_is_left_to_be_filled(name: str) -> None:
    tyre = tyres.get(name)
    # MF 5.2 makes no use of pressure.
    assert set(tyre.filled) <= ({"INFLPRES", "NOMPRES"} if tyre.version == "5.2" else set())
    assert tyre.transient


@NAMES
def test_curvatures_are_at_most_one_over_all_ranges(name: str) -> None:
    """Above 1 a curve of the Magic Formula folds back."""
    record = tyres.get(name).record
    x, y, z, ranges = record.longitudinal, record.lateral, record.aligning, record.ranges
    dfz = np.linspace(0.0, ranges.FZMAX, 60)[:, None, None] / record.vertical.FNOMIN - 1.0
    gamma = np.linspace(ranges.CAMMIN, ranges.CAMMAX, 21)[None, :, None]
    side = np.array([-1.0, 1.0])
    E_x = (x.PEX1 + x.PEX2 * dfz + x.PEX3 * dfz**2) * (1 - x.PEX4 * side)
    PEY5 = getattr(y, "PEY5", 0.0)
    E_y = (y.PEY1 + y.PEY2 * dfz) * (1 + PEY5 * gamma**2 - (y.PEY3 + y.PEY4 * gamma) * side)
    E_t = (z.QEZ1 + z.QEZ2 * dfz + z.QEZ3 * dfz**2) * (1 + (z.QEZ4 + z.QEZ5 * gamma) * side)
    weights = (x.REX1 + x.REX2 * dfz, y.REY1 + y.REY2 * dfz)
    for E in (E_x, E_y, E_t, *weights):
        assert E.max() <= 1.0
    assert (z.QBZ1 + z.QBZ2 * dfz + z.QBZ3 * dfz**2).min() > 0.0


@NAMES
def test_grip_and_stiffness_are_those_of_a_tyre(name: str) -> None:
    tyre = tyres.get(name)
    F_z = LOADS * tyre.record.vertical.FNOMIN
    peaks, slopes = tyre.peaks(F_z=F_z), tyre.stiffness(F_z=F_z)
    assert (np.diff(peaks.mu_x) < 0.0).all()
    assert (np.diff(peaks.mu_y) < 0.0).all()
    assert (np.diff(slopes.K_y / F_z) < 0.0).all()
    assert 10.0 < slopes.K_y[2] / F_z[2] < 25.0
    assert 10.0 < slopes.K_x[2] / F_z[2] < 40.0
    low, high = (1.4, 1.9) if name == "race_slick" else (0.8, 1.2)
    assert low < peaks.mu_y[2] < high
    assert low < peaks.mu_x[2] < high


@NAMES
def test_forces_oppose_slip_and_peak_where_friction_says(name: str) -> None:
    tyre = tyres.get(name)
    F_z, v_x = tyre.record.vertical.FNOMIN, tyre.record.model.LONGVL
    alpha, kappa = np.linspace(-0.4, 0.4, 801), np.linspace(-0.8, 0.8, 801)
    across = tyre.forces(F_z=F_z, alpha=alpha, v_x=v_x)
    along = tyre.forces(F_z=F_z, kappa=kappa, v_x=v_x)
    far = np.abs(alpha) > 0.02
    assert (across.F_y * alpha < 0.0)[far].all()
    assert (along.F_x * kappa > 0.0)[np.abs(kappa) > 0.01].all()
    assert np.abs(across.F_y).max() / F_z == pytest.approx(tyre.peaks(F_z=F_z).mu_y, rel=0.02)
    assert np.abs(along.F_x).max() / F_z == pytest.approx(tyre.peaks(F_z=F_z).mu_x, rel=0.02)
    assert tyre.forces(F_z=F_z, gamma=0.05, v_x=v_x).F_y < tyre.forces(F_z=F_z, v_x=v_x).F_y
    assert (across.M_y < 0.0).all()


@NAMES
def test_the_aligning_moment_turns_the_wheel_into_the_slip(name: str) -> None:
    tyre = tyres.get(name)
    R, F_z = tyre.record.dimension.UNLOADED_RADIUS, tyre.record.vertical.FNOMIN
    v_x = tyre.record.model.LONGVL
    assert tyre.forces(F_z=F_z, alpha=0.03, v_x=v_x).M_z > 0.0
    assert tyre.forces(F_z=F_z, alpha=-0.03, v_x=v_x).M_z < 0.0
    trail = tyre.evaluate(F_z=F_z, v_x=v_x).formula.t
    assert 0.02 < trail * (0.3 / R) < 0.05


@NAMES
def test_lengths_of_relaxation_radii_and_patch(name: str) -> None:
    tyre = tyres.get(name)
    R, F_z = tyre.record.dimension.UNLOADED_RADIUS, tyre.record.vertical.FNOMIN
    everything = tyre.evaluate(F_z=F_z, v_x=tyre.record.model.LONGVL)
    assert 0.3 * R < everything.relaxation.sigma_x < 1.2 * R
    assert 0.7 * R < everything.relaxation.sigma_y < 2.5 * R
    radii = everything.radii
    assert radii.loaded < radii.effective < radii.free < 1.01 * R
    assert 0.25 * R < everything.formula.two_a < 0.5 * R
    assert 0.5 < everything.formula.two_b / tyre.record.dimension.WIDTH <= 1.0
    assert everything.omega == pytest.approx(tyre.record.model.LONGVL / radii.effective, rel=1e-12)


@NAMES
def test_combined_forces_stay_near_an_ellipse(name: str) -> None:
    tyre = tyres.get(name)
    F_z, v_x = tyre.record.vertical.FNOMIN, tyre.record.model.LONGVL
    kappa, alpha = np.meshgrid(np.linspace(-0.8, 0.8, 81), np.linspace(-0.4, 0.4, 81))
    forces = tyre.forces(F_z=F_z, kappa=kappa, alpha=alpha, v_x=v_x)
    peaks = tyre.peaks(F_z=F_z)
    used = np.hypot(forces.F_x / peaks.mu_x, forces.F_y / peaks.mu_y) / F_z
    assert used.max() < 1.08
