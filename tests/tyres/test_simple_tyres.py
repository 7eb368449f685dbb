"""What every simple tyre promises, over random parameters, and the closed forms of each."""

from __future__ import annotations

import math
from typing import Any

import casadi
import numpy as np
import pytest

from skidpad import tyres
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.testing.equations import Quantity
from skidpad.tyres import BrushTyre, Contact, LinearTyre, LoadSensitiveTyre, ProportionalTyre
from skidpad.tyres.contract import Carcass, Tyre, above_zero, mounted, record_of
from skidpad.tyres.simple import LoadSensitiveLaw, MagicFormula

KINDS = (ProportionalTyre, LoadSensitiveTyre, LinearTyre, BrushTyre)


def drawn(kind: type, seed: int) -> Any:
    """A tyre of this kind with random parameters."""
    draw = np.random.default_rng(seed).uniform

    def magic() -> MagicFormula:
        return MagicFormula(draw(5, 20), draw(1.05, 1.9), draw(0.5, 2), draw(-2, 0.8))

    def law() -> LoadSensitiveLaw:
        steep, turn = draw(4e4, 2e5), draw(4e3, 1.2e4)
        return LoadSensitiveLaw(
            draw(0.5, 2), draw(0, 0.3), steep, turn, draw(1.05, 1.9), draw(-2, 0.8)
        )

    carcass = Carcass(draw(0.2, 0.5), draw(1e5, 3e5), draw(0.1, 0.5), draw(0.1, 0.5), draw(0, 0.02))
    trail = draw(0.0, 0.05)
    if kind is ProportionalTyre:
        return ProportionalTyre(magic(), magic(), trail, carcass)
    if kind is LoadSensitiveTyre:
        return LoadSensitiveTyre(law(), law(), draw(2e3, 6e3), trail, carcass)
    if kind is LinearTyre:
        return LinearTyre(draw(5, 40), draw(5, 40), draw(0.5, 2), draw(0.5, 2), trail, carcass)
    return BrushTyre(draw(0.5, 2), draw(1e6, 1e7), draw(0.05, 0.15), draw(2e3, 6e3), carcass)


CASES = [
    pytest.param(kind, seed, id=f"{kind.__name__}-{seed}") for kind in KINDS for seed in (1, 2, 3)
]
every_tyre = pytest.mark.parametrize(("kind", "seed"), CASES)


def contacts(seed: int, count: int = 2000) -> Contact:
    """Wheels at any load, slip and grip: rolling, locked, spinning, turning backwards."""
    rng = np.random.default_rng(1000 + seed)
    v_x, slide = rng.uniform(-30, 30, count), rng.uniform(-1, 1, (2, count)) ** 3 * 20
    v_sx, v_y = slide[0], slide[1]
    v_sx[: count // 10] = v_x[: count // 10]  # locked
    return Contact(
        F_z=rng.uniform(0, 8000, count),
        kappa=-v_sx / np.abs(v_x),
        alpha=np.arctan(v_y / np.abs(v_x)),
        v_x=v_x,
        v_y=v_y,
        omega=(v_x - v_sx) / 0.3,
        mu=rng.uniform(0.05, 1.5, count),
    )


@every_tyre
def test_it_is_a_tyre(kind: type, seed: int) -> None:
    tyre = drawn(kind, seed)
    assert isinstance(tyre, Tyre)
    assert record_of(tyre) is tyre
    record.check(tyre)
    assert record.unflatten(kind, record.flatten(tyre)) == tyre
    assert all(leaf.default is not None and leaf.doc for leaf in record.fields(kind))


@every_tyre
def test_forces_oppose_sliding_in_each_direction(kind: type, seed: int) -> None:
    at = contacts(seed)
    f = drawn(kind, seed).forces(at)
    v_sx = -at.kappa * np.abs(at.v_x)
    assert np.all(f.F_x * v_sx <= 0.0)
    assert np.all(f.F_y * at.v_y <= 0.0)
    assert np.any(f.F_x * v_sx + f.F_y * at.v_y < -1e3)
    assert np.all(f.M_y * at.omega <= 0.0)


@every_tyre
def test_forces_stay_inside_the_friction_ellipse(kind: type, seed: int) -> None:
    at, tyre = contacts(seed), drawn(kind, seed)
    f, most = tyre.forces(at), tyre.peaks(at)
    used = np.hypot(f.F_x / most.mu_x, f.F_y / most.mu_y)
    assert np.all(used <= at.F_z * (1.0 + 1e-12))
    assert np.max(used / at.F_z) > 0.99


@every_tyre
def test_mirrored_slip_gives_mirrored_forces(kind: type, seed: int) -> None:
    at, tyre = contacts(seed), drawn(kind, seed)
    f = tyre.forces(at)
    other = tyre.forces(at._replace(alpha=-at.alpha, v_y=-at.v_y))
    for a, b, sign in zip(f, other, (1, -1, -1, 1, -1), strict=True):
        np.testing.assert_array_equal(np.asarray(a) * 1.0, sign * np.asarray(b))
    for a, b in zip(f, mounted(tyre, at, -1.0), strict=True):
        np.testing.assert_array_equal(a, b)


@every_tyre
def test_slopes_at_zero_slip_are_the_stiffness_on_any_road(kind: type, seed: int) -> None:
    tyre = drawn(kind, seed)
    slip = casadi.SX.sym("slip", 2)
    for F_z in (0.0, 500.0, 4000.0):
        for mu in (0.1, 1.0, 1.3):
            f = tyre.forces(Contact(F_z, slip[0], slip[1], mu=mu))
            slope = casadi.jacobian(casadi.vertcat(f.F_x, f.F_y), slip)
            found = np.array(casadi.Function("f", [slip], [slope])([0.0, 0.0]))
            K = tyre.stiffness(Contact(F_z, mu=mu))
            np.testing.assert_allclose(found, np.diag([K.K_x, -K.K_y]), rtol=1e-8, atol=1e-8 * F_z)


@every_tyre
def test_largest_forces_are_the_peaks(kind: type, seed: int) -> None:
    tyre = drawn(kind, seed)
    slip = np.geomspace(1e-4, 1e4, 20_001)
    for F_z in (300.0, 4000.0):
        for mu in (0.1, 1.0):
            most = tyre.peaks(Contact(F_z, mu=mu))
            along = tyre.forces(Contact(F_z, kappa=slip, mu=mu)).F_x
            across = -tyre.forces(Contact(F_z, alpha=np.arctan(slip), mu=mu)).F_y
            assert np.max(along) == pytest.approx(most.mu_x * F_z, rel=1e-6)
            if kind in (LinearTyre, BrushTyre):  # the others may need more slip angle than there is
                assert np.max(across) == pytest.approx(most.mu_y * F_z, rel=1e-4)


@every_tyre
def test_grip_of_the_road_leaves_small_slip_alone(kind: type, seed: int) -> None:
    tyre = drawn(kind, seed)
    F_z, K = 3000.0, tyre.stiffness(Contact(3000.0))
    alpha = 1e-3 * tyre.peaks(Contact(F_z)).mu_y * F_z / K.K_y
    dry, wet = (tyre.forces(Contact(F_z, alpha=alpha, mu=mu)).F_y for mu in (1.0, 0.5))
    assert wet == pytest.approx(dry, rel=2e-3)
    slid = [tyre.forces(Contact(F_z, kappa=5.0, mu=mu)).F_x for mu in (1.0, 0.5)]
    assert slid[1] < 0.75 * slid[0]
    assert all(abs(value) == 0.0 for value in tyre.forces(Contact(F_z, 0.1, 0.1, mu=0.0)))


@every_tyre
def test_a_load_below_zero_counts_as_none(kind: type, seed: int) -> None:
    tyre = drawn(kind, seed)
    for F_z in (0.0, -500.0):
        at = Contact(F_z, 0.2, 0.1, omega=30.0)
        assert all(abs(value) == 0.0 for value in tyre.forces(at))
        assert tyre.stiffness(at) == (0.0, 0.0)
        assert min(tyre.relaxation(at)) > 0.0
        assert min(tyre.peaks(at)) > 0.0
        assert tyre.radii(at).loaded == tyre.radii(at).free


@every_tyre
def test_gradients_are_finite_at_rest_and_in_the_air(kind: type, seed: int) -> None:
    leaves = casadi.SX.sym("p", record.size(kind))
    at = casadi.SX.sym("at", len(Contact._fields))
    tyre = record.unflatten(kind, casadi.vertsplit(leaves))
    contact = Contact(*casadi.vertsplit(at))
    out = casadi.vertcat(
        *tyre.forces(contact),
        *tyre.stiffness(contact),
        *tyre.peaks(contact),
        *tyre.relaxation(contact),
        *tyre.radii(contact),
    )
    slopes = casadi.jacobian(out, casadi.vertcat(leaves, at))
    function = casadi.Function("f", [leaves, at], [out, slopes])
    for F_z in (0.0, -10.0, 4000.0):
        for kappa in (0.0, -1.0, 0.3):
            for alpha in (0.0, 0.2, 0.5 * math.pi):
                for mu in (0.0, 1.0):
                    contact = Contact(F_z, kappa, alpha, mu=mu)
                    values = function(record.flatten(drawn(kind, seed)), list(contact))
                    assert all(np.all(np.isfinite(np.array(part))) for part in values), contact


def measured(value: Any) -> Any:
    """A record of numbers that carry their units."""
    leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
    units = [Quantity(number, leaf.unit.dimension) for leaf, number in leaves]
    return record.unflatten(type(value), units)


@every_tyre
def test_units_balance(kind: type, seed: int) -> None:
    at = Contact(3000.0, 0.02, 0.05, v_x=10.0, v_y=0.5, omega=33.0)
    tyre, contact = measured(drawn(kind, seed)), measured(at)
    for name in ("forces", "stiffness", "peaks", "relaxation", "radii"):
        found = getattr(tyre, name)(contact)
        for leaf, value in zip(record.fields(type(found)), found, strict=True):
            dimension = value.dimension if isinstance(value, Quantity) else (0.0, 0.0, 0.0)
            assert dimension == leaf.unit.dimension, (name, leaf.name)


@pytest.mark.slow_cases("ProportionalTyre-1")
@every_tyre
def test_jax_agrees(kind: type, seed: int) -> None:
    jax = pytest.importorskip("jax")
    tyre, at = drawn(kind, seed), contacts(seed, 50)
    # Only the contact is of JAX: parameters are numbers, as they are in an optimiser.
    with jax.enable_x64(True):
        found = tyre.forces(Contact(*(jax.numpy.asarray(x) for x in at)))
    for ours, theirs in zip(tyre.forces(at), found, strict=True):
        np.testing.assert_allclose(np.asarray(theirs), ours, rtol=1e-10, atol=1e-8)


def test_the_lateral_force_of_the_proportional_tyre_is_its_formula() -> None:
    tyre = drawn(ProportionalTyre, 5)
    for alpha in (-0.4, -0.01, 1e-3, 0.08, 0.3):
        F_y = tyre.forces(Contact(2500.0, alpha=alpha)).F_y
        assert F_y == pytest.approx(-2500.0 * tyre.lateral.friction(alpha), rel=1e-6)
    F_x = tyre.forces(Contact(2500.0, kappa=0.1)).F_x
    assert F_x == pytest.approx(2500.0 * tyre.longitudinal.friction(0.1), rel=1e-9)


def test_grip_and_stiffness_grow_less_than_the_load() -> None:
    tyre = LoadSensitiveTyre()
    law = tyre.lateral
    light, double = (tyre.peaks(Contact(n * tyre.F_z0)).mu_y for n in (1.0, 2.0))
    assert light == law.mu
    assert double == pytest.approx(law.mu * (1.0 - law.mu_fall))
    for F_z in (100.0, 3000.0, 8000.0, 12000.0):
        expected = law.K * math.sin(2.0 * math.atan(F_z / law.F_K))
        assert tyre.stiffness(Contact(F_z)).K_y == pytest.approx(expected, rel=1e-12)
    # The two tyres of an axle lose grip as load moves from one to the other.
    pair = [tyre.forces(Contact(F_z, alpha=0.12)).F_y for F_z in (2000.0, 4000.0, 6000.0)]
    assert abs(pair[0] + pair[2]) < 0.99 * abs(2.0 * pair[1])


def test_the_linear_tyre_is_linear_below_its_corner() -> None:
    tyre = LinearTyre(C_x=20.0, mu_x=1.2)
    for share in (0.1, 0.3, 0.6):
        F_x = tyre.forces(Contact(1000.0, kappa=share * 1.2 / 20.0)).F_x
        assert F_x == pytest.approx(share * 1200.0, rel=3e-3)
    assert tyre.forces(Contact(1000.0, kappa=0.3)).F_x == pytest.approx(1200.0, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_closed_forms_of_the_brush(seed: int) -> None:
    """Pacejka, chapter 3: cubic force, trail from a third of the half length to nothing."""
    tyre, F_z = drawn(BrushTyre, seed), 3500.0
    a = tyre.a * math.sqrt(F_z / tyre.F_z0)
    theta = 2.0 * tyre.c * a * a / (3.0 * tyre.mu * F_z)
    for share in (1e-3, 0.2, 0.5, 0.8, 1.0):
        sigma = share / theta
        f = tyre.forces(Contact(F_z, alpha=math.atan(sigma)))
        force = 3.0 * tyre.mu * F_z * share * (1.0 - share + share * share / 3.0)
        moment = tyre.mu * F_z * a * share * (1.0 - share) ** 3
        assert f.F_y == pytest.approx(-force, rel=1e-6)
        assert f.M_z == pytest.approx(moment, rel=1e-5, abs=1e-9)
    small = tyre.forces(Contact(F_z, alpha=1e-7))
    assert -small.M_z / small.F_y == pytest.approx(a / 3.0, rel=1e-5)


def test_the_patch_of_a_sliding_brush_makes_no_moment() -> None:
    tyre = BrushTyre()
    for contact in (Contact(4000.0, alpha=0.6), Contact(4000.0, kappa=-1.0, alpha=0.05)):
        f = tyre.forces(contact)
        assert math.hypot(f.F_x, f.F_y) == pytest.approx(4000.0, rel=1e-12)
        assert f.M_z == 0.0


def test_a_locked_brush_is_pushed_against_its_sliding() -> None:
    f = BrushTyre().forces(Contact(4000.0, kappa=-1.0, alpha=0.3))
    assert f.F_y / f.F_x == pytest.approx(math.tan(0.3), rel=1e-12)


def test_the_brush_takes_the_theoretical_slip() -> None:
    """A bristle bends by the sliding speed over the speed at which it passes the patch."""
    tyre = BrushTyre()
    for kappa, alpha in ((0.02, 0.01), (-0.02, 0.01)):
        rolling = 1.0 + kappa
        alone = tyre.forces(
            Contact(4000.0, alpha=math.atan(math.hypot(kappa, math.tan(alpha)) / rolling))
        )
        f = tyre.forces(Contact(4000.0, kappa, alpha))
        assert math.hypot(f.F_x, f.F_y) == pytest.approx(-alone.F_y, rel=1e-9)


def test_a_number_to_divide_by_meets_its_amount_smoothly() -> None:
    x = casadi.SX.sym("x")
    y = above_zero(x, 0.5)
    bends = [y, casadi.jacobian(y, x), casadi.hessian(y, x)[0]]
    function = casadi.Function("f", [x], bends)
    below, above = ([float(v) for v in function(0.5 * s)] for s in (1.0 - 1e-9, 1.0 + 1e-9))
    assert below == pytest.approx(above, abs=1e-7)
    assert float(function(0.0)[0]) == 0.1875
    assert float(function(-3.0)[0]) == 3.0


def test_tyres_has_the_simple_ones_too() -> None:
    for kind in (BrushTyre, LinearTyre, LoadSensitiveTyre, ProportionalTyre):
        assert getattr(tyres, kind.__name__) is kind


def test_what_is_no_tyre_is_shown_in_short() -> None:
    with pytest.raises(InvalidValue, match="tyre must be a tyre record") as caught:
        tyres.Tyre({k: "x" * 50 for k in range(100)})
    assert len(str(caught.value)) < 200
