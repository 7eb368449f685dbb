"""`tyres.Tyre`: the same answers for numbers, arrays and symbols, on either side of a car."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from skidpad import tyres
from skidpad import units as si
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.ops import tanh
from skidpad.tyres import BrushTyre
from skidpad.tyres.contract import mounted
from skidpad.tyres.tir_file import Document
from skidpad.tyres.tyre import FREE, RESULTS, evaluate_at

DATA = Path(__file__).parents[1] / "data" / "tyres"
INPUTS = ("F_z", "kappa", "alpha", "gamma", "phi_t", "v_x", "p")


class PlainTyre(NamedTuple):
    """A tyre of a user's own making, measured on the right."""

    mu: si.one = 1.2
    """Friction."""
    C: si.one = 15.0
    """Stiffness over load."""
    skew: si.one = 0.01
    """Share of the load that pushes to the left at zero slip."""

    @property
    def measured_on(self) -> si.one:
        """The right."""
        return -1.0

    @property
    def pressure(self) -> si.Pa:
        """Nobody asks."""
        return 0.0

    def forces(self, at: tyres.Contact) -> tyres.TyreForces:
        """Forces."""
        grip = self.mu * at.mu * at.F_z
        F_x, F_y = (grip * tanh(self.C / self.mu * s) for s in (at.kappa, at.alpha))
        return tyres.TyreForces(
            F_x, self.skew * at.F_z - F_y, 0.0 * F_x, -0.01 * at.omega, 0.0 * F_x
        )

    def stiffness(self, at: tyres.Contact) -> tyres.SlipStiffness:
        """Slopes."""
        return tyres.SlipStiffness(self.C * at.F_z, self.C * at.F_z)

    def peaks(self, at: tyres.Contact) -> tyres.Peaks:
        """Friction."""
        return tyres.Peaks(self.mu * at.mu, self.mu * at.mu)

    def relaxation(self, at: tyres.Contact) -> tyres.Relaxation:
        """Lengths."""
        return tyres.Relaxation(0.1 + 0.0 * at.F_z, 0.2 + 0.0 * at.F_z)

    def radii(self, at: tyres.Contact) -> tyres.Radii:
        """Radii, growing with spin."""
        R = 0.3 + 1e-7 * at.omega * at.omega
        return tyres.Radii(R, R - 1e-6 * at.F_z, R - 3e-7 * at.F_z, 1e6 + 0.0 * R)


def quiet(name: str, **options: Any) -> tyres.Tyre:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return tyres.read(DATA / "sets" / f"{name}.tir", **options)


def contacts(count: int, seed: int = 0) -> dict[str, Any]:
    """Contacts at random, forwards."""
    draw = np.random.default_rng(seed).uniform
    return {
        "F_z": draw(200.0, 8000.0, count),
        "kappa": draw(-0.3, 0.3, count),
        "alpha": draw(-0.3, 0.3, count),
        "gamma": draw(-0.08, 0.08, count),
        "phi_t": draw(-0.1, 0.1, count),
        "v_x": draw(3.0, 40.0, count),
        "p": draw(1.8e5, 2.8e5, count),
        "mu": draw(0.3, 1.1, count),
    }


def leaves(answer: Any) -> list[Any]:
    return list(record.flatten(answer))


ALL = [
    tyres.Tyre(PlainTyre()),
    quiet("book205_61"),
    quiet("odd52"),
    quiet("suv62"),
    quiet("odd61", turn_slip=True, limits=True, book_angles=True),
]
TYRES = pytest.mark.parametrize("tyre", ALL, ids=lambda tyre: type(tyre.record).__name__)
ANSWERING = pytest.mark.parametrize(
    "tyre",
    # Of version 6.2 the forces are enough here: all answers at once are long to compile.
    [*ALL[:3], pytest.param(ALL[3], marks=pytest.mark.slow), ALL[4]],
    ids=lambda tyre: type(tyre.record).__name__,
)


@pytest.mark.parametrize("name", ["book205_61", "odd61", "suv62", "odd52", "truck52", "reduced61"])
def test_forces_are_those_of_mfeval(name: str) -> None:
    """Rows recorded from MFeval 4.0 (BSD-3), without its limits, forwards at some speed."""
    tyre = quiet(name)
    with np.load(DATA / f"mfeval_{name}.npz") as recorded:
        rows, out = recorded["rand_in"], recorded["rand_out"]
        columns = [str(column) for column in recorded["out_columns"]]
    usual = (rows[:, 5] > 3.0) & (rows[:, 0] > max(200.0, 1.2 * tyre.record.ranges.FZMIN))
    rows, out = rows[usual], out[usual]
    assert len(rows) > 100
    forces = tyre.forces(**dict(zip(INPUTS, rows.T, strict=True)) | {"phi_t": 0.0})
    # Mz of 5.2 carries a slip of MFeval wherever there is camber and longitudinal slip.
    moments = ("Fx", "Fy", "Mx", "My") if tyre.version == "5.2" else ("Fx", "Fy", "Mx", "My", "Mz")
    for value, column in zip(forces, moments, strict=False):
        expected = out[:, columns.index(column)]
        scale = np.sqrt(np.mean(expected**2)) + 1e-6
        assert np.abs(value - expected).max() < 1e-8 * scale, column
    one = dict(zip(INPUTS, rows[3].tolist(), strict=True)) | {"phi_t": 0.0}
    assert tyre.forces(**one).F_y == forces.F_y[3]


QUESTIONS = [
    *((tyre, name) for tyre in ALL[:2] for name in RESULTS),
    *((tyre, "forces") for tyre in ALL[2:]),
]


@pytest.mark.slow_cases(
    "Tyre('odd52', Magic Formula 5.2, left, filled: INFLPRES, NOMPRES, ... (10))-forces",
    "Tyre('odd61', Magic Formula 6.1, right)-forces",
    "Tyre('suv62', Magic Formula 6.2, right)-forces",
)
@pytest.mark.parametrize(("tyre", "name"), QUESTIONS, ids=str)
def test_numbers_and_arrays_have_the_same_bits(tyre: tyres.Tyre, name: str) -> None:
    """Whatever the number of contacts: full lanes and rests of lanes."""
    ask = getattr(tyre, name)
    for spin in ({}, {"omega": 50.0}) if name == "forces" else ({},):
        here = contacts(53)
        together = leaves(ask(**here, **spin))
        for k in (0, 1, 7, 31, 52):
            alone = leaves(ask(**{key: float(values[k]) for key, values in here.items()}, **spin))
            assert all(type(value) is float for value in alone)
            assert alone == [values[k] for values in together]
        few = leaves(ask(**{key: values[:3] for key, values in here.items()}, **spin))
        assert all((a == b[:3]).all() for a, b in zip(few, together, strict=True))


def test_many_contacts_have_the_bits_of_few() -> None:
    tyre, here = tyres.get("passenger_car"), contacts(50_000)
    many = leaves(tyre.forces(**here))
    for part in (slice(0, 999), slice(49_000, 50_000), slice(25_001, 25_002)):
        some = leaves(tyre.forces(**{key: values[part] for key, values in here.items()}))
        assert all((a == b[part]).all() for a, b in zip(some, many, strict=True))


@pytest.mark.parametrize(("tyre", "name"), QUESTIONS, ids=str)
def test_compiled_answers_are_those_of_the_equations(tyre: tyres.Tyre, name: str) -> None:
    side = 1.0 if tyre.side == "left" else -1.0
    here = contacts(20, seed=1)
    compiled = leaves(getattr(tyre, name)(**here))
    for k in range(20):
        values = tuple(float(here[key][k]) for key in FREE)
        direct = leaves(evaluate_at(name, tyre.record, side, values))
        for a, b in zip(compiled, direct, strict=True):
            assert a[k] == pytest.approx(b, rel=1e-9, abs=1e-9)


def test_arrays_broadcast() -> None:
    tyre = tyres.get("passenger_car")
    alpha, F_z = np.linspace(-0.1, 0.1, 5), np.array([[1000.0], [3000.0]])
    forces = tyre.forces(F_z=F_z, alpha=alpha, kappa=[0.0, 0.01, 0.02, 0.03, 0.04])
    assert forces.F_y.shape == (2, 5)
    assert forces.F_y[1, 4] == tyre.forces(F_z=3000.0, alpha=0.1, kappa=0.04).F_y
    assert tyre.forces(F_z=np.array(3000.0)).F_y == tyre.forces(F_z=3000).F_y
    assert tyre.peaks(F_z=np.zeros((0, 3))).mu_x.shape == (0, 3)
    assert tyre.forces(F_z=np.float32(3000.0)) == tyre.forces(F_z=3000.0)
    with pytest.raises(
        InvalidValue, match=r"shapes cannot be broadcast together: F_z \(3,\), alpha \(5,\)"
    ):
        tyre.forces(F_z=np.ones(3), alpha=alpha)


@pytest.mark.slow_cases("MagicFormula61TurnSlipUsualLimitsBookAngles", "MagicFormula61")
@TYRES
def test_jax_and_casadi_get_the_equations(tyre: tyres.Tyre) -> None:
    ca = pytest.importorskip("casadi")
    jax = pytest.importorskip("jax")
    here = {key: float(values[0]) for key, values in contacts(1).items()}
    plain = tyre.forces(**here)
    alpha = ca.SX.sym("alpha")
    symbolic = tyre.forces(**(here | {"alpha": alpha}))
    F_y = ca.Function("F_y", [alpha], [symbolic.F_y, ca.jacobian(symbolic.F_y, alpha)])
    value, slope = (float(v) for v in F_y(here["alpha"]))
    assert value == pytest.approx(plain.F_y, rel=1e-9)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():

        def lateral(alpha: Any) -> Any:
            return tyre.forces(**(here | {"alpha": alpha})).F_y

        traced, gradient = jax.value_and_grad(lateral)(here["alpha"])
    assert float(traced) == pytest.approx(plain.F_y, rel=1e-9)
    assert float(gradient) == pytest.approx(slope, rel=1e-7)


@ANSWERING
def test_the_other_side_is_the_mirror_image(tyre: tyres.Tyre) -> None:
    here = contacts(40)
    turned = here | {key: -here[key] for key in ("alpha", "gamma", "phi_t")}
    own, other = tyre.evaluate(**here), tyre.mirrored().evaluate(**turned)
    f, g = own.forces, other.forces
    expected = (f.F_x, -f.F_y, -f.M_x, f.M_y, -f.M_z)
    assert all((a == b).all() for a, b in zip(g, expected, strict=True))
    for part in ("stiffness", "peaks", "relaxation", "radii"):
        pairs = zip(getattr(own, part), getattr(other, part), strict=True)
        assert all((a == b).all() for a, b in pairs)
    assert tyre.mirrored().mirrored() == tyre
    assert tyre.mirrored() != tyre


def test_a_tyre_measured_on_the_right_is_mirrored_on_the_left(tmp_path: Path) -> None:
    text = (DATA / "sets" / "book205_61.tir").read_text("latin-1")
    assert "'LEFT'" in text
    (tmp_path / "right.tir").write_text(text.replace("'LEFT'", "'RIGHT'"))
    left = tyres.read(DATA / "sets" / "book205_61.tir")
    right = tyres.read(tmp_path / "right.tir")
    assert (left.side, right.side) == ("left", "right")
    here = {"F_z": 4000.0, "alpha": 0.05, "kappa": 0.02, "gamma": 0.03}
    assert left.forces(**here) == right.forces(**here)
    turned = here | {"alpha": -0.05, "gamma": -0.03}
    f = tyres.read(tmp_path / "right.tir", side="left").forces(**turned)
    expected = left.forces(**here)
    assert (f.F_x, f.F_y, f.M_z) == (expected.F_x, -expected.F_y, -expected.M_z)
    at = tyres.Contact(F_z=4000.0, alpha=0.05, kappa=0.02, gamma=0.03, v_x=10.0)
    held = mounted(right.record, at, 1.0)
    assert held.F_y == pytest.approx(right.mirrored().forces(**here).F_y, rel=1e-9)


@pytest.mark.slow_cases("MagicFormula61TurnSlipUsualLimitsBookAngles")
@ANSWERING
def test_the_spin_follows_from_slip_and_speed(tyre: tyres.Tyre) -> None:
    for v_x in (-20.0, 5.0, 60.0):
        answer = tyre.evaluate(F_z=3000.0, kappa=0.1, v_x=v_x)
        assert answer.omega * answer.radii.effective == pytest.approx(
            v_x + 0.1 * abs(v_x), rel=1e-9
        )
    given = tyre.evaluate(F_z=3000.0, kappa=0.1, v_x=60.0, omega=answer.omega)
    assert leaves(given) == pytest.approx(leaves(answer), rel=1e-12)


def test_pressure_and_grip() -> None:
    tyre = tyres.get("passenger_car")
    assert tyre.forces(F_z=3000.0, alpha=0.05) == tyre.forces(F_z=3000.0, alpha=0.05, p=230000.0)
    assert tyre.forces(F_z=3000.0, alpha=0.05) != tyre.forces(F_z=3000.0, alpha=0.05, p=150000.0)
    assert tyre.peaks(F_z=3000.0, mu=0.5).mu_y == pytest.approx(0.5 * tyre.peaks(F_z=3000.0).mu_y)


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize(
    ("contact", "words"),
    [
        ({"F_z": float("nan")}, "F_z = nan N must be finite"),
        ({"F_z": 1.0, "alpha": float("inf")}, "alpha = inf rad must be finite"),
        ({"F_z": 10**400}, "F_z = 1000.* must be a number"),
        ({"F_z": np.array([1.0, np.nan])}, "F_z = nan N must be finite"),
        ({"F_z": 1.0, "mu": -0.5}, "mu = -0.5 must be finite and at least 0"),
        ({"F_z": np.ones(2), "mu": np.array([1.0, -1.0])}, "mu = -1.0 must be"),
        ({"F_z": 1.0, "p": -2.0}, "p = -2.0 Pa must be finite and"),
        ({"F_z": "4000"}, "F_z = '4000' must be a number or an array"),
        ({"F_z": True}, "F_z = True must be a number"),
        ({"F_z": 1.0, "kappa": {}}, "kappa = {} must be a number"),
        ({"F_z": [1.0, [2.0]]}, "F_z = .* must be a number"),
        ({"F_z": 1.0, "omega": float("nan")}, "omega = nan rad/s must be finite"),
    ],
)
def test_what_is_no_contact_is_refused(name: str, contact: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        getattr(tyres.get("robot"), name)(**contact)


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("p", [0, 0.0, -0.0, [0, 1, 1e5], np.zeros(2)])
def test_no_pressure_is_not_taken_for_the_own_one(name: str, p: Any) -> None:
    tyre = tyres.get("passenger_car")
    with pytest.raises(InvalidValue, match=r"p = -?0.0 Pa must be .* greater than 0, or None"):
        getattr(tyre, name)(F_z=4000.0, alpha=0.05, p=p)
    own = getattr(tyre, name)(F_z=4000.0, p=tyre.pressure)
    assert getattr(tyre, name)(F_z=4000.0, p=None) == own


def test_a_tyre_without_pressure_takes_its_own_0() -> None:
    brush = tyres.Tyre(BrushTyre())
    assert brush.forces(F_z=1.0, p=brush.pressure) == brush.forces(F_z=1.0)


def test_arguments_are_those_of_forces() -> None:
    tyre = tyres.get("robot")
    with pytest.raises(InvalidValue, match=r"Tyre\.peaks has no argument 'F_x'"):
        tyre.peaks(F_z=1.0, F_x=3.0)
    with pytest.raises(InvalidValue, match="needs a value for F_z"):
        tyre.radii(alpha=0.1)


def test_values_are_changed_by_key() -> None:
    tyre = quiet("reduced61")
    changed = tyre.with_values(PKY1=-25, pdy2=-0.2).with_values({"lateral.PCY1": 1.4})
    lateral = changed.record.lateral
    assert (lateral.PKY1, lateral.PDY2, lateral.PCY1) == (-25.0, -0.2, 1.4)
    assert tyre.record.lateral.PKY1 == -19.2
    assert set(tyre.filled) - set(changed.filled) == {"PDY2", "PCY1"}
    assert changed != tyre
    assert changed.with_values(PKY1=-19.2, PDY2=-0.15, PCY1=1.3) == tyre
    softer = changed.stiffness(F_z=4000.0).K_y / tyre.stiffness(F_z=4000.0).K_y
    assert softer == pytest.approx(25 / 19.2)
    with pytest.raises(InvalidValue, match="no key 'PKY9'; did you mean PKY"):
        tyre.with_values(PKY9=1.0)
    with pytest.raises(InvalidValue, match="FNOMIN = -1 N must be greater than 0"):
        tyre.with_values(FNOMIN=-1.0)
    with pytest.raises(InvalidValue, match="PKY1 must be a number"):
        tyre.with_values(PKY1="x")  # type: ignore[arg-type]


def test_what_is_no_tyre_is_refused() -> None:
    with pytest.raises(InvalidValue, match="tyre must be a tyre record"):
        tyres.Tyre((1.0, 2.0))
    with pytest.raises(InvalidValue, match="side = 'front' must be 'left' or 'right'"):
        tyres.Tyre(PlainTyre(), side="front")
    with pytest.raises(InvalidValue, match="mu = nan must be finite"):
        tyres.Tyre(PlainTyre(mu=float("nan")))


@TYRES
def test_tyres_are_pickled_and_copied(tyre: tyres.Tyre) -> None:
    before = tyre.forces(F_z=1000.0, alpha=0.1)
    for twin in (pickle.loads(pickle.dumps(tyre)), copy.copy(tyre), copy.deepcopy(tyre)):
        assert twin == tyre
        assert hash(twin) == hash(tyre)
        assert type(twin.record) is type(tyre.record)
        assert (twin.name, twin.filled, twin.document) == (tyre.name, tyre.filled, tyre.document)
        assert twin.forces(F_z=1000.0, alpha=0.1) == before


def test_texts_are_short() -> None:
    assert repr(quiet("suv62")) == "Tyre('suv62', Magic Formula 6.2, right)"
    assert repr(tyres.Tyre(PlainTyre())) == "Tyre(PlainTyre, right)"
    assert len(repr(quiet("reduced61"))) < 120
    tyre = replace(quiet("reduced61"), name="x" * 1000)
    document = replace(tyre.document or Document(()), source="x" * 1000)
    assert len(repr(tyre)) < 300
    assert len(repr(document)) < 300


def test_tyres_of_other_equations_are_not_equal() -> None:
    assert quiet("book205_61") != quiet("book205_61", limits=True)
    assert quiet("book205_61") != quiet("book205_61", book_angles=True)


def test_a_tyre_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        tyres.get("robot").side = "right"  # type: ignore[misc]


def test_threads_do_not_disturb_each_other() -> None:
    tyre, slips = tyres.get("passenger_car"), [0.001 * k for k in range(100)]
    expected = [tyre.forces(F_z=3000.0, alpha=alpha).F_y for alpha in slips]
    wrong: list[float] = []

    def work() -> None:
        for _ in range(20):
            for alpha, F_y in zip(slips, expected, strict=True):
                if tyre.forces(F_z=3000.0, alpha=alpha).F_y != F_y:
                    wrong.append(alpha)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
