"""Magic Formula against numbers recorded from other programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from skidpad.tyres import Contact
from skidpad.tyres.magic_formula.coefficients import TurnSlip
from skidpad.tyres.magic_formula.formula import evaluate
from skidpad.tyres.magic_formula.radii import free_radius, load_at, rolling_spin, vertical_stiffness
from skidpad.tyres.magic_formula.records import BookAngles, UsualLimits
from tyres.magic_sets import DATA, SETS, contact, error, table, tyre

FULL = [name for name in SETS if name != "reduced61"]
MF6 = [name for name in FULL if not name.endswith("52")]
CHOICES: dict[str, dict[str, Any]] = {
    "star": {"angles": BookAngles},
    "limits": {"limits": UsualLimits},
}
BLOCKS = ("sweep_kappa", "sweep_alpha", "sweep_comb", "rand", "star", "limits")
ROWS = [(name, block) for name in FULL for block in BLOCKS] + [("reduced61", "rand")]


@pytest.mark.parametrize(("name", "block"), ROWS)
def test_mfeval(name: str, block: str) -> None:
    """Forces and all else that MFeval 4.0 reports, to rounding.

    Its own iteration stops at 1e-8 of the radius, and it leaves Mz of 5.2 with a slip.
    """
    given, told = table(f"mfeval_{name}", block)
    t = tyre(name, **CHOICES.get(block, {}))
    all_ = evaluate(t, contact(t, given))
    told["Mz"] = told["Mz"] + _slip_of_mfeval(t, given, all_)
    ours = dict(zip(("Fx", "Fy", "Mx", "My", "Mz"), all_.forces, strict=True))
    ours |= {"t": all_.t, "Mzr": all_.M_zr, "mux": all_.mu_x, "muy": all_.mu_y}
    ours |= {"Kxk": all_.K_x, "Kya": all_.K_y, "sigmax": all_.sigma_x, "sigmay": all_.sigma_y}
    ours |= {"two_a": all_.two_a, "two_b": all_.two_b, "Cx": all_.C_x, "Cy": all_.C_y}
    for column, values in ours.items():
        if np.any(np.nan_to_num(told[column])):
            # Its trail is at the peak whatever the other slip where the shifted angle is exactly 0.
            counts = given["alpha"] != 0.0 if (name, column) == ("reduced61", "t") else True
            assert error(values, told[column], counts) < 1e-9, column
    iterated = {"Re": all_.radii.effective, "Rl": all_.radii.loaded, "rho": all_.rho}
    iterated |= {"Cz": all_.radii.C_z, "omega": contact(t, given).omega}
    for column, values in iterated.items():
        if np.isfinite(told[column]).any():
            assert error(values, told[column]) < 1e-7, column


def _slip_of_mfeval(t: Any, given: dict[str, np.ndarray], ours: Any) -> Any:
    """MFeval takes SVyκ off the force on the trail of 5.2 with the friction of an upright wheel."""
    if type(t).__name__[len("MagicFormula") :][:2] != "52":
        return 0.0
    gamma = given["gamma"]
    if isinstance(t.angles, BookAngles):
        gamma = np.sin(gamma)
    if isinstance(t.limits, UsualLimits):
        gamma = np.clip(gamma, t.ranges.CAMMIN, t.ranges.CAMMAX)
    return ours.t * ours.S_Vyk * (1.0 - 1.0 / (1.0 - t.lateral.PDY3 * gamma**2))


FIRST_ROW = {
    "book205_61": (1957.145339, -2152.277967, -43.235660, -10.578987, 17.199514, 0.011644632),
    "odd61": (1211.001421, -1566.881212, -26.870829, -18.951859, 21.843583, 0.013886565),
    "suv62": (2723.721678, -3421.314570, 5.114809, -17.690361, -25.184223, 0.002907221),
    "truck52": (1391.930076, -1389.105951, -30.266660, -16.000000, None, 0.009589407),
    "odd52": (1368.816508, -2345.350164, -36.205693, -23.945537, None, 0.014053417),
    "reduced61": (1943.813392, -2734.394730, 0.000000, -13.533575, 69.011798, 0.026010260),
}
RADII = (0.304339438, 0.298090108, 0.386461922, 0.392269982, 0.314474405, 0.308802737)
FIRST_RADIUS = dict(zip(SETS, RADII, strict=True))


@pytest.mark.parametrize("name", SETS)
def test_one_row(name: str) -> None:
    """MFeval 4.0 at one contact, called with floats; the pressure is that of the tyre."""
    t = tyre(name)
    at = Contact(4000.0, 0.03, 0.05, 0.02, v_x=15.0, omega=rolling_spin(t, 4000.0, 0.03, 15.0))
    all_ = evaluate(t, at)
    assert t.radii(at).effective == pytest.approx(FIRST_RADIUS[name], abs=1e-8)
    for ours, theirs in zip((*t.forces(at), all_.t), FIRST_ROW[name], strict=True):
        if theirs is not None:
            assert ours == pytest.approx(theirs, abs=1e-6)


def _as_mbsim(name: str, **choices: Any) -> Any:
    """MBSim knows no LFZO: its nominal load is the product."""
    t = tyre(name, **choices)
    nominal = t.vertical.FNOMIN * t.scaling.LFZO
    return tyre(name, {"FNOMIN": nominal, "LFZO": 1.0}, **choices)


@pytest.mark.parametrize("name", MF6)
@pytest.mark.parametrize("block", ["rand", "turn"])
def test_mbsim(name: str, block: str) -> None:
    """MBSim, with spin in the block `turn`. It has no small number in denominators."""
    given, told = table(f"mbsim_{name}", block)
    t = _as_mbsim(name, **({"turn_slip": TurnSlip} if block == "turn" else {}))
    all_ = evaluate(t, contact(t, given))
    ours = {"Fx": all_.forces.F_x, "Fy": all_.forces.F_y, "Mx": all_.forces.M_x}
    ours |= {"Mzr": all_.M_zr, "Kxk": all_.K_x, "mux": all_.mu_x, "muy": all_.mu_y}
    ours |= {"sigmax": all_.sigma_x}
    if block == "turn":
        ours |= {"phi": all_.phi, "zeta2": all_.zeta_2, "Kya": all_.K_y}
    for column, values in ours.items():
        assert error(values, told[column]) < 1e-8, column
    assert error(all_.t, told["t"]) < 1e-5
    heavy = given["Fz"] > t.ranges.FZMIN
    assert error(all_.forces.M_y, told["My"], heavy) < 1e-8


@pytest.mark.parametrize("name", MF6)
def test_physx(name: str) -> None:
    """PhysX, which has the angles of the book and cuts the weight of F_y at 0."""
    given, told = table(f"physx_{name}", "star_amu1")
    t = tyre(name, angles=BookAngles)
    all_ = evaluate(t, contact(t, given))
    assert error(all_.forces.F_x, told["Fx"]) < 1e-8
    assert error(all_.forces.F_y, told["Fy"], all_.G_y > 0.0) < 1e-8
    assert error(all_.K_x, told["Kxk"]) < 1e-8
    assert error(np.abs(all_.K_y), np.abs(told["Kya"])) < 1e-8
    assert error(all_.radii.effective, told["Re"]) < 1e-8
    assert error(all_.radii.free, told["Romega"]) < 1e-8


@pytest.mark.parametrize("name", ["truck52", "odd52"])
def test_mfpy(name: str) -> None:
    """MFPy; it leaves out scale factors of the moments."""
    given, told = table(f"mfpy_{name}", "rand")
    t = tyre(name)
    all_ = evaluate(t, contact(t, given))
    ours = {"Fx": all_.forces.F_x, "Fy": all_.forces.F_y, "Fx0": all_.F_x0, "Fy0": all_.F_y0}
    if name == "truck52":
        ours |= {"Mx": all_.forces.M_x, "My": all_.forces.M_y}
    for column, values in ours.items():
        assert error(values, told[column]) < 1e-8, column


def test_opentirepython() -> None:
    """OpenTirePython, which cuts curvature at 1 and has the angles of the book."""
    given, told = table("opentirepython_truck52", "star")
    t = tyre("truck52", limits=UsualLimits, angles=BookAngles)
    at = contact(t, given)
    r = t.ranges
    inside = (at.F_z > r.FZMIN) & (at.F_z < r.FZMAX) & (np.abs(at.v_x) > t.model.VXLOW)
    inside &= (at.alpha > r.ALPMIN) & (at.alpha < r.ALPMAX)
    inside &= (at.gamma > r.CAMMIN) & (at.gamma < r.CAMMAX)
    assert inside.sum() > 100
    all_ = evaluate(t, at)
    assert error(all_.forces.F_y, told["Fy"], inside) < 1e-8
    assert error(all_.sigma_x, told["sigmax"], inside) < 1e-8


def test_load_over_radius() -> None:
    """Load of MF 6.2 over the height of the centre, of MFeval and of TyreDyn."""
    stored = np.load(DATA / "radius62_suv62.npz")
    radius, gamma, omega, p, F_x, F_y = stored["x"].T
    t = tyre("suv62")
    stiffness = vertical_stiffness(t, p / t.operating.NOMPRES - 1.0)
    at = load_at(t, radius, free_radius(t, omega), omega, stiffness, gamma, F_x, F_y)
    F_z, rho = stored["mfeval"].T
    assert error(at.F_z, F_z, F_z > 0.0) < 1e-12
    assert error(at.deflection, rho) < 1e-12
    assert error(at.F_z, stored["tyredyn_Fz"], F_z > 0.0) < 1e-12
