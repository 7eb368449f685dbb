"""Properties of the Magic Formula for any numbers: symmetry, slopes, peaks, reductions."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.tyres import Contact, MagicFormula62
from skidpad.tyres.contract import Tyre, mounted
from skidpad.tyres.magic_formula.coefficients import NoTurnSlip, TurnSlip
from skidpad.tyres.magic_formula.formula import MagicFormula61, evaluate, magic_formula_type
from skidpad.tyres.magic_formula.radii import (
    free_radius,
    load_at,
    loaded_radius,
    rolling_spin,
    vertical_stiffness,
)
from skidpad.tyres.magic_formula.records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    PlainAngles,
    Uncombined,
    UsualLimits,
    pressure_change,
)
from tyres.magic_sets import EACH_VERSION, SETS, keys, tyre

MF6 = [name for name in SETS if not name.endswith("52")]
# fmt: off
ASYMMETRIC = (
    "RHX1", "QSX1", "PEY3", "PHY1", "PHY2", "PVY1", "PVY2", "RBY3", "RVY1",
    "RVY2", "QBZ4", "QDZ3", "QDZ6", "QDZ7", "QEZ4", "QHZ1", "QHZ2", "SSZ1",
)
SHIFTS = (
    "PHX1", "PHX2", "PVX1", "PVX2", "PHY1", "PHY2", "PHY3", "PVY1", "PVY2",
    "PVY3", "PVY4",
)
# fmt: on
rng = np.random.default_rng(7)
COUNT = 200
CONTACT = Contact(
    rng.uniform(500.0, 8000.0, COUNT),
    rng.uniform(-0.5, 0.5, COUNT),
    rng.uniform(-0.4, 0.4, COUNT),
    rng.uniform(-0.1, 0.1, COUNT),
    rng.uniform(-0.1, 0.1, COUNT),
    rng.uniform(-5.0, 30.0, COUNT),
    rng.uniform(-1.0, 1.0, COUNT),
    rng.uniform(-10.0, 90.0, COUNT),
    rng.uniform(1.8e5, 2.6e5, COUNT),
)


def zero(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 0.0)


def every_choice(name: str) -> list[dict[str, Any]]:
    turning = (NoTurnSlip,) if name.endswith("52") else (NoTurnSlip, TurnSlip)
    every = product(
        (NoLimits, UsualLimits),
        (PlainAngles, BookAngles),
        (Combined, Uncombined, FrictionEllipse),
        turning,
    )
    return [
        dict(zip(("limits", "angles", "combination", "turn_slip"), c, strict=True)) for c in every
    ]


@pytest.mark.parametrize("name", EACH_VERSION)
def test_without_eighteen_coefficients_a_tyre_is_its_own_mirror_image(name: str) -> None:
    for choices in every_choice(name):
        t = tyre(name, zero(*ASYMMETRIC), **choices)
        ours, other = mounted(t, CONTACT, 1.0), mounted(t, CONTACT, -1.0)
        for one_side, mirrored in zip(ours, other, strict=True):
            np.testing.assert_allclose(one_side, mirrored, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("name", EACH_VERSION)
def test_slopes_at_the_shifted_origin_are_the_stiffness(name: str) -> None:
    t = tyre(name)
    slip = ca.SX.sym("slip")
    nominal = t.vertical.FNOMIN
    for F_z, gamma in product((0.4 * nominal, nominal, 1.6 * nominal), (0.0, 0.05)):
        at = Contact(F_z, gamma=gamma, v_x=20.0)
        all_, K = evaluate(t, at), t.stiffness(at)
        F_x0 = evaluate(t, at._replace(kappa=slip)).F_x0
        F_y0 = evaluate(t, at._replace(alpha=slip)).F_y0
        along = float(ca.Function("f", [slip], [ca.jacobian(F_x0, slip)])(-all_.S_Hx))
        across = float(ca.Function("f", [slip], [ca.jacobian(F_y0, slip)])(-all_.S_Hy))
        assert along == pytest.approx(K.K_x, rel=1e-8)
        assert -across == pytest.approx(K.K_y, rel=1e-8)
        assert min(K) > 0.0


@pytest.mark.slow_cases("odd52", "odd61", "reduced61")
@pytest.mark.parametrize("name", SETS)
def test_peaks_of_pure_slip_are_friction_times_load(name: str) -> None:
    t = tyre(name, zero(*SHIFTS, "PKY6", "PKY7"))
    sweep = np.linspace(0.0, 3.0, 60_001)
    at = Contact(t.vertical.FNOMIN, v_x=20.0)
    mu = t.peaks(at)
    x = evaluate(t, at._replace(kappa=sweep)).F_x0.max()
    y = evaluate(t, at._replace(alpha=-np.minimum(sweep, 1.5))).F_y0.max()
    assert x <= mu.mu_x * at.F_z * (1.0 + 1e-12)
    assert y <= mu.mu_y * at.F_z * (1.0 + 1e-12)
    assert x == pytest.approx(mu.mu_x * at.F_z, rel=1e-6)
    assert y == pytest.approx(mu.mu_y * at.F_z, rel=1e-6)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("combination", [Combined, FrictionEllipse])
def test_combined_slip_reduces_to_pure_slip(name: str, combination: Any) -> None:
    changes = zero(*SHIFTS, "PKY6", "PKY7", *(f"RVY{k}" for k in range(1, 4)), "RHX1")
    t = tyre(name, changes, combination=combination)
    along = evaluate(t, CONTACT._replace(alpha=0.0, gamma=0.0))
    across = evaluate(t, CONTACT._replace(kappa=0.0))
    np.testing.assert_allclose(along.forces.F_x, along.F_x0, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(across.forces.F_y, across.F_y0, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_friction_ellipse(name: str) -> None:
    """Without shifts both forces together stay within the ellipse of the two peaks."""
    t = tyre(name, zero(*SHIFTS, "PKY6", "PKY7"), combination=FrictionEllipse)
    at = CONTACT._replace(v_x=20.0)
    all_ = evaluate(t, at)
    use = (all_.forces.F_x / (all_.mu_x * at.F_z)) ** 2
    use += (all_.forces.F_y / (all_.mu_y * at.F_z)) ** 2
    assert use.max() <= 1.0 + 1e-9
    assert use.max() > 0.9


@pytest.mark.parametrize("name", SETS)
def test_friction_ellipse_is_that_of_adams(name: str) -> None:
    """The formulas as they are written elsewhere, where they have no limits to take."""
    t, at = tyre(name, combination=FrictionEllipse), CONTACT._replace(v_x=20.0)
    ours, K = evaluate(t, at), t.stiffness(at)
    kappa = at.kappa + ours.S_Hx + ours.S_Vx / K.K_x
    alpha = at.alpha + ours.S_Hy + ours.S_Vy / ours.K_y
    tan_beta = np.tan(np.arccos(np.abs(kappa) / np.hypot(kappa, np.sin(alpha))))
    mu_x = np.abs(ours.F_x0 - ours.S_Vx) / at.F_z
    mu_y = np.abs(ours.F_y0 - ours.S_Vy) / at.F_z
    F_x = ours.F_x0 / mu_x / np.sqrt(1.0 / mu_x**2 + (tan_beta / ours.mu_y) ** 2)
    F_y = ours.F_y0 / mu_y * tan_beta / np.sqrt(1.0 / ours.mu_x**2 + (tan_beta / mu_y) ** 2)
    sliding = (np.abs(kappa) > 0.01) & (np.abs(alpha) > 0.01)
    np.testing.assert_allclose(ours.forces.F_x[sliding], F_x[sliding], rtol=1e-5)
    np.testing.assert_allclose(ours.forces.F_y[sliding], F_y[sliding], rtol=1e-5)


@pytest.mark.parametrize("name", EACH_VERSION)
def test_zeros_in_a_file_are_no_reason_for_not_a_number(name: str) -> None:
    gone = zero("PKY1", "PKY2", "PKY5", "PTY1", "PTY2", "VXLOW", "LMUY", "FZMIN", "QSY7")
    for choices in every_choice(name):
        t = tyre(name, gone, **choices)
        for values in ({}, {"F_z": 0.0}, {"v_x": 0.0, "kappa": 0.0}, {"F_z": 0.0, "v_x": 0.0}):
            every = record.flatten(evaluate(t, CONTACT._replace(**values)))
            assert all(np.isfinite(x).all() for x in every)
            lengths = t.relaxation(CONTACT._replace(**values))
            assert all(np.isfinite(x).all() for x in lengths)


@pytest.mark.parametrize("name", SETS)
def test_uncombined_forces_do_not_know_the_other_slip(name: str) -> None:
    t = tyre(name, combination=Uncombined)
    whole = t.forces(CONTACT)
    np.testing.assert_array_equal(whole.F_x, t.forces(CONTACT._replace(alpha=0.0)).F_x)
    np.testing.assert_array_equal(whole.F_y, t.forces(CONTACT._replace(kappa=0.0)).F_y)
    np.testing.assert_array_equal(whole.M_z, t.forces(CONTACT._replace(kappa=0.0)).M_z)


@pytest.mark.parametrize("name", SETS)
def test_grip_scales_peaks_and_leaves_stiffness(name: str) -> None:
    t = tyre(name)
    half = CONTACT._replace(mu=0.5)
    for whole, less in zip(t.peaks(CONTACT), t.peaks(half), strict=True):
        np.testing.assert_allclose(less, 0.5 * whole, rtol=1e-14)
    np.testing.assert_array_equal(t.stiffness(CONTACT), t.stiffness(half))
    scaled = tyre(name, {k: 0.5 * getattr(t.scaling, k) for k in ("LMUX", "LMUY")})
    for ours, theirs in zip(t.forces(half), scaled.forces(CONTACT), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)
    ice = t.forces(CONTACT._replace(mu=0.0))
    assert np.abs(ice.F_x).max() < 1e-6
    assert np.abs(ice.F_y).max() < 1e-6


@pytest.mark.parametrize("name", EACH_VERSION)
def test_nothing_acts_on_a_wheel_in_the_air(name: str) -> None:
    for choices in every_choice(name):
        for F_z in (0.0, -500.0):
            forces = tyre(name, **choices).forces(CONTACT._replace(F_z=F_z))
            assert max(np.abs(f).max() for f in forces) < 1e-6


@pytest.mark.parametrize("name", MF6)
def test_spin_without_turn_slip_is_near_camber(name: str) -> None:
    """With a small camber and no turn the forces by spin are about those by camber."""
    nominal = tyre(name).vertical.FNOMIN
    spin = rolling_spin(tyre(name), nominal, 0.0, 20.0)
    at = Contact(nominal, v_x=20.0, omega=spin)
    by_camber, by_spin = (
        [t.forces(at._replace(gamma=0.01)).F_y - t.forces(at._replace(gamma=-0.01)).F_y]
        for t in (tyre(name), tyre(name, turn_slip=TurnSlip))
    )
    assert by_spin[0] == pytest.approx(by_camber[0], rel=0.15)


def test_spin_of_the_tyre_of_the_book_is_near_its_camber() -> None:
    """Coefficients for spin and for camber are two fits of one tyre: they agree to 3 %."""
    t, spun = tyre("book205_61"), tyre("book205_61", turn_slip=TurnSlip)
    F_z = t.vertical.FNOMIN
    at = Contact(F_z, gamma=0.05, v_x=10.0, omega=rolling_spin(t, F_z, 0.0, 10.0))
    assert spun.forces(at).F_y == pytest.approx(t.forces(at).F_y, rel=0.03)
    assert spun.forces(at).M_z == pytest.approx(t.forces(at).M_z, rel=0.03)


@pytest.mark.parametrize("name", MF6)
def test_a_left_turn_pushes_to_the_right_and_back(name: str) -> None:
    t = tyre(name, zero(*ASYMMETRIC), turn_slip=TurnSlip)
    at = Contact(t.vertical.FNOMIN, v_x=10.0, omega=30.0)
    turning = t.forces(at._replace(phi_t=-0.05))
    assert turning.F_y < 0.0
    assert turning.M_z < 0.0
    backwards = t.forces(at._replace(phi_t=-0.05, v_x=-10.0, omega=-30.0))
    assert backwards.F_y > 0.0


@pytest.mark.parametrize("name", SETS)
def test_rolling_spin_has_the_slip(name: str) -> None:
    t = tyre(name)
    omega = rolling_spin(t, CONTACT.F_z, CONTACT.kappa, CONTACT.v_x, CONTACT.p)
    R = t.radii(CONTACT._replace(omega=omega)).effective
    speed = CONTACT.v_x + CONTACT.kappa * np.abs(CONTACT.v_x)
    np.testing.assert_allclose(omega * R, speed, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", SETS)
def test_tyres_fulfil_the_contract(name: str) -> None:
    t = tyre(name)
    assert isinstance(t, Tyre)
    assert t.measured_on == keys(name)["side"]
    assert t.pressure == keys(name).get("INFLPRES", 0.0)
    for ours, own in zip(
        t.forces(CONTACT._replace(p=0.0)), t.forces(CONTACT._replace(p=t.pressure)), strict=True
    ):
        np.testing.assert_array_equal(ours, own)
    light = t.relaxation(CONTACT._replace(F_z=0.0))
    assert np.min(light.sigma_x) > 0.0
    assert np.min(light.sigma_y) > 0.0


def test_one_class_for_each_choice() -> None:
    assert magic_formula_type(61) is MagicFormula61
    kind = magic_formula_type(62, limits=UsualLimits, turn_slip=TurnSlip)
    assert kind is not MagicFormula62
    assert pickle.loads(pickle.dumps(kind)) is kind
    for name in SETS:
        for choices in every_choice(name):
            t = tyre(name, **choices)
            assert type(t) is magic_formula_type(int(name[-2:]), **choices)
            back = pickle.loads(pickle.dumps(t))
            assert type(back) is type(t)
            assert back == t


def test_every_leaf_says_what_it_is() -> None:
    for version in (52, 61, 62):
        turning = {} if version == 52 else {"turn_slip": TurnSlip}
        for leaf in record.fields(magic_formula_type(version, **turning)):
            assert leaf.doc.endswith("."), leaf.name


@pytest.mark.parametrize("version", [52, 61, 62])
def test_defaults_switch_everything_off(version: int) -> None:
    """A tyre of nothing but its size and load has no forces, and nothing is not a number."""
    turning = {} if version == 52 else {"turn_slip": TurnSlip}
    needed = {"model.LONGVL": 16.7, "dimension.UNLOADED_RADIUS": 0.3}
    needed |= {"vertical.FNOMIN": 4000.0, "vertical.VERTICAL_STIFFNESS": 2e5}
    for choices in ({}, turning, {"combination": FrictionEllipse}):
        t = record.build(magic_formula_type(version, **choices), needed)
        assert max(np.abs(f).max() for f in t.forces(CONTACT)) == 0.0
        every = record.flatten(evaluate(t, CONTACT))
        assert all(np.isfinite(x).all() for x in every)


def test_what_is_not_allowed_is_named() -> None:
    with pytest.raises(InvalidValue, match="version = 60 must be one of 52, 61, 62"):
        magic_formula_type(60)
    with pytest.raises(InvalidValue, match=r"limits = .* must be one of NoLimits, UsualLimits"):
        magic_formula_type(61, limits=BookAngles)
    with pytest.raises(InvalidValue, match="turn_slip = TurnSlip must be NoTurnSlip"):
        magic_formula_type(52, turn_slip=TurnSlip)
    with pytest.raises(InvalidValue, match=r"needs a value for model.LONGVL"):
        record.build(MagicFormula61, {})


@pytest.mark.parametrize(("name", "floored"), [("book205_61", True), ("suv62", False)])
def test_a_load_below_the_range_deflects_by_version(name: str, floored: bool) -> None:
    """With limits 6.1 deflects as under FZMIN and 6.2 as under the load itself, as in MFeval: it
    looks for the radius at which the load is the one given."""
    t = tyre(name, {"FZMIN": 600.0}, limits=UsualLimits)
    at = Contact(F_z=200.0, v_x=10.0, omega=30.0, p=t.operating.INFLPRES)
    radii, forces = t.radii(at), t.forces(at)
    C_z = vertical_stiffness(t, pressure_change(t, at.p))
    under = {
        F_z: loaded_radius(
            t, free_radius(t, at.omega), F_z, at.omega, C_z, 0.0, forces.F_x, forces.F_y
        ).radius
        for F_z in (200.0, 600.0)
    }
    assert radii.loaded == pytest.approx(under[600.0 if floored else 200.0], abs=1e-9)
    assert abs(under[600.0] - under[200.0]) > 1e-3
    if not floored:
        free = free_radius(t, at.omega)
        told = load_at(t, radii.loaded, free, at.omega, C_z, 0.0, forces.F_x, forces.F_y)
        assert told.F_z == pytest.approx(200.0, rel=1e-6)
