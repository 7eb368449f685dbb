"""Sets of Magic Formula tyres and what other programs computed with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.core import record
from skidpad.tyres import Contact
from skidpad.tyres.magic_formula.formula import magic_formula_type
from skidpad.tyres.magic_formula.radii import rolling_spin

DATA = Path(__file__).parents[1] / "data" / "tyres"
SETS = ("book205_61", "odd61", "suv62", "truck52", "odd52", "reduced61")
EACH_VERSION = [
    name if name in ("odd61", "suv62", "odd52") else pytest.param(name, marks=pytest.mark.slow)
    for name in SETS
]
"""For what the equations decide, not the numbers: the fullest set of each version, and the others
among the slow tests."""

REDUCED = """
LONGVL=16.7 VXLOW=1 ASPECT_RATIO=0.6 RIM_RADIUS=0.1905 NOMPRES=220000 VERTICAL_STIFFNESS=2e5
VERTICAL_DAMPING=50 BREFF=8.4 DREFF=0.27 FREFF=0.07 Q_RE0=1 Q_FZ2=1e-4 BOTTOM_OFFST=0.01
BOTTOM_STIFF=2e6 LONGITUDINAL_STIFFNESS=3e5 LATERAL_STIFFNESS=1e5 YAW_STIFFNESS=5e3 Q_RA1=0.5
Q_RA2=1 Q_RB1=1 Q_RB2=-1 PRESMIN=1e4 PRESMAX=1e6 FZMIN=100 FZMAX=1e4 KPUMIN=-1.5 KPUMAX=1.5
ALPMIN=-1.5 ALPMAX=1.5 CAMMIN=-0.175 CAMMAX=0.175 PCX1=1.65 PDX1=1.3 PDX2=-0.15 PKX1=20 RBX1=20
RBX2=15 RCX1=1 QSX4=5 QSX5=1 QSX6=10 QSX9=0.4 QSX11=5 PCY1=1.3 PDY1=1.1 PDY2=-0.15 PKY1=-20
PKY2=1 PKY4=2 PKY6=-1 RBY1=10 RBY2=10 RCY1=1 RVY4=20 RVY5=2 RVY6=10 QSY1=0.01 QSY3=4e-4
QSY4=4e-5 QSY7=0.85 QSY8=-0.4 QBZ1=10 QBZ9=10 QCZ1=1.1 QDZ1=0.12 QDZ8=-0.05 PDXP1=0.4 PKYP1=1
PDYP1=0.4 PHYP1=1 PHYP2=0.15 PHYP4=-4 PECP1=0.5 QDTP1=10 QCRP1=0.2 QCRP2=0.1 QBRP1=0.1 QDRP1=1
"""
"""What MFeval assumes for a file with few keys."""


@cache
def keys(name: str) -> dict[str, float]:
    """The numbers of a set by key, and `side`."""
    numbers: dict[str, float] = {}
    if name == "reduced61":
        pairs = (entry.split("=") for entry in REDUCED.split())
        numbers |= {key: float(value) for key, value in pairs}
    for line in (DATA / "sets" / f"{name}.tir").read_text().splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        if key == "TYRESIDE":
            numbers["side"] = -1.0 if value.strip("'") == "RIGHT" else 1.0
        elif value and value[0] in "+-.0123456789" and key[0].isalpha():
            numbers[key] = float(value)
    return numbers


def tyre(name: str, changes: dict[str, float] | None = None, **choices: Any) -> Any:
    """The record of a set, with some keys changed and with these choices of equations."""
    kind = magic_formula_type(int(name[-2:]), **choices)
    numbers = {**keys(name), **(changes or {})}
    leaves = {leaf: leaf.rpartition(".")[2] for leaf in record.names(kind)}
    return record.build(kind, {leaf: numbers[k] for leaf, k in leaves.items() if k in numbers})


def table(file: str, block: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs and outputs of a recorded block by column."""
    stored = np.load(DATA / f"{file}.npz")
    stem = block.partition("_amu")[0]
    return (
        dict(zip(map(str, stored["in_columns"]), stored[f"{stem}_in"].T, strict=True)),
        dict(zip(map(str, stored["out_columns"]), stored[f"{block}_out"].T, strict=True)),
    )


def contact(t: Any, given: dict[str, np.ndarray]) -> Contact:
    """Recorded inputs as a contact. Backwards, the recorded slip has the other sign."""
    kappa = given["kappa"] * np.where(given["Vx"] < 0.0, -1.0, 1.0)
    v_x, p = given["Vx"], given["p"]
    omega = given.get("omega", rolling_spin(t, given["Fz"], kappa, v_x, p))
    v_y = np.abs(v_x) * np.tan(given["alpha"])
    return Contact(
        given["Fz"], kappa, given["alpha"], given["gamma"], given["phit"], v_x, v_y, omega, p
    )


def error(ours: Any, theirs: np.ndarray, where: Any = True) -> float:
    """Largest difference over the root mean square of the column, where theirs is a number."""
    known = np.isfinite(theirs) & where
    scale = np.sqrt(np.mean(theirs[known] ** 2))
    return float(np.max(np.abs(np.broadcast_to(ours, theirs.shape) - theirs)[known]) / scale)
