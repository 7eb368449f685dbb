"""Keys of tyre property files: in which section and which leaf of a record each stands, and what a
file that leaves it out means by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, get_type_hints

from .. import record
from ..components.tyre.magic import MagicFormula52, MagicFormula61, MagicFormula62
from ..units import Allowed

__all__ = ["ASYMMETRIC", "Key", "constants_of", "filling", "keys_of", "version_of"]

VERSIONS: Mapping[type, str] = {
    get_type_hints(kind)["vertical"]: version
    for kind, version in ((MagicFormula52, "5.2"), (MagicFormula61, "6.1"), (MagicFormula62, "6.2"))
}
"""Versions of the Magic Formula by the part of their records that differs in all of them."""
SECTIONS: Mapping[str, str] = {
    "model": "MODEL",
    "dimension": "DIMENSION",
    "operating": "OPERATING_CONDITIONS",
    "vertical": "VERTICAL",
    "structural": "STRUCTURAL",
    "contact_patch": "CONTACT_PATCH",
    "scaling": "SCALING_COEFFICIENTS",
    "longitudinal": "LONGITUDINAL_COEFFICIENTS",
    "overturning": "OVERTURNING_COEFFICIENTS",
    "lateral": "LATERAL_COEFFICIENTS",
    "rolling": "ROLLING_COEFFICIENTS",
    "aligning": "ALIGNING_COEFFICIENTS",
    "turn_slip": "TURNSLIP_COEFFICIENTS",
}
"""Sections of a file by the part of the record that holds their keys."""
RANGES: Mapping[str, str] = {
    "PRES": "INFLATION_PRESSURE_RANGE",
    "FZ": "VERTICAL_FORCE_RANGE",
    "KPU": "LONG_SLIP_RANGE",
    "ALP": "SLIP_ANGLE_RANGE",
    "CAM": "INCLINATION_ANGLE_RANGE",
}
"""Sections of the keys of `ranges`, which end in MIN or MAX."""
OTHER_NAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "INFLPRES": (("TIRE_CONDITIONS", "IP"),),
    "NOMPRES": (("TIRE_CONDITIONS", "IP_NOM"),),
    "LKYC": (("SCALING_COEFFICIENTS", "LKYG"),),
}
"""Where some programs write a key, section and name."""
SIDE = "model.side"
"""The leaf of a record that stands for `TYRESIDE`, which is a text."""

ASYMMETRIC = frozenset({
    "RHX1", "QSX1", "PEY3", "PHY1", "PHY2", "PVY1", "PVY2", "RBY3", "RVY1", "RVY2", "QBZ4", "QDZ3",
    "QDZ6", "QDZ7", "QEZ4", "QHZ1", "QHZ2", "SSZ1",
})  # fmt: skip
"""Coefficients without which a tyre is its own mirror image."""

REDUCED: Mapping[str, float] = {
    "LONGVL": 16.7, "VXLOW": 1.0,
    "ASPECT_RATIO": 0.6, "RIM_RADIUS": 0.1905,
    "NOMPRES": 220000.0,
    "VERTICAL_STIFFNESS": 2e5, "VERTICAL_DAMPING": 50.0, "BREFF": 8.4, "DREFF": 0.27,
    "FREFF": 0.07, "Q_RE0": 1.0, "Q_FZ2": 1e-4, "BOTTOM_OFFST": 0.01, "BOTTOM_STIFF": 2e6,
    "LONGITUDINAL_STIFFNESS": 3e5, "LATERAL_STIFFNESS": 1e5, "YAW_STIFFNESS": 5e3,
    "Q_RA1": 0.5, "Q_RA2": 1.0, "Q_RB1": 1.0, "Q_RB2": -1.0,
    "PRESMIN": 1e4, "PRESMAX": 1e6, "FZMIN": 100.0, "FZMAX": 1e4, "KPUMIN": -1.5, "KPUMAX": 1.5,
    "ALPMIN": -1.5, "ALPMAX": 1.5, "CAMMIN": -0.175, "CAMMAX": 0.175,
    "PCX1": 1.65, "PDX1": 1.3, "PDX2": -0.15, "PKX1": 20.0, "RBX1": 20.0, "RBX2": 15.0,
    "RCX1": 1.0,
    "QSX4": 5.0, "QSX5": 1.0, "QSX6": 10.0, "QSX9": 0.4, "QSX11": 5.0,
    "PCY1": 1.3, "PDY1": 1.1, "PDY2": -0.15, "PKY1": -20.0, "PKY2": 1.0, "PKY4": 2.0,
    "PKY6": -1.0, "RBY1": 10.0, "RBY2": 10.0, "RCY1": 1.0, "RVY4": 20.0, "RVY5": 2.0,
    "RVY6": 10.0,
    "QSY1": 0.01, "QSY3": 4e-4, "QSY4": 4e-5, "QSY7": 0.85, "QSY8": -0.4,
    "QBZ1": 10.0, "QBZ9": 10.0, "QCZ1": 1.1, "QDZ1": 0.12, "QDZ8": -0.05,
    "PDXP1": 0.4, "PKYP1": 1.0, "PDYP1": 0.4, "PHYP1": 1.0, "PHYP2": 0.15, "PHYP4": -4.0,
    "PECP1": 0.5, "QDTP1": 10.0, "QCRP1": 0.2, "QCRP2": 0.1, "QBRP1": 0.1, "QDRP1": 1.0,
}  # fmt: skip
"""What programs of MF 6.x take for keys that a file leaves out, as recorded from MFeval 4.0
(BSD-3); scale factors are 1 and all others 0."""
NEEDED = frozenset({"UNLOADED_RADIUS", "FNOMIN"})
"""Keys that no policy can fill."""


class Key(NamedTuple):
    """A key of a file that is a leaf of a record."""

    leaf: str
    """Dotted name in the record."""
    section: str
    name: str
    default: float | None
    """Value of the leaf where nobody says otherwise, None if there is none."""
    allowed: Allowed | None

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Sections and names under which files have it, its own first."""
        return ((self.section, self.name), *OTHER_NAMES.get(self.name, ()))


@cache
def keys_of(kind: type) -> tuple[Key, ...]:
    """The keys of a kind of tyre record, in the order of its leaves."""
    keys: list[Key] = []
    for field in record.fields(kind):
        part, _, name = field.name.rpartition(".")
        section = RANGES.get(name[:-3]) if part == "ranges" else SECTIONS.get(part)
        if section is not None and field.name != SIDE:
            keys.append(Key(field.name, section, name, field.default, field.allowed))
    return tuple(keys)


@cache
def constants_of(kind: type) -> Mapping[str, float]:
    """Leaves of a kind of tyre record that no file has a key for, with their values."""
    known = {SIDE, *(key.leaf for key in keys_of(kind))}
    leaves = (field for field in record.fields(kind) if field.name not in known)
    return {field.name: field.default or 0.0 for field in leaves}


@cache
def version_of(kind: type) -> str:
    """Version of the Magic Formula of a record class; empty if it is another tyre."""
    return VERSIONS.get(get_type_hints(kind).get("vertical", object), "")


def filling(key: Key, missing: str) -> float | None:
    """What a key that a file leaves out stands for under a policy; None if it must be there.

    "zero" switches a term off: 0, factors 1. "reduced" takes the usual values of MF 6.x.
    """
    if missing == "strict" or key.name in NEEDED:
        return None
    if missing == "reduced" and key.name != "INFLPRES":
        scale = 1.0 if key.section == "SCALING_COEFFICIENTS" else 0.0
        return REDUCED.get(key.name, scale)
    return key.default
