"""What a fit does one after the other: a force or moment, the rows that show it, coefficients.

The stages of the Magic Formula follow Pacejka's procedure: pure slip first, then what the other
slip changes, each with what was found before held fast. Within a stage come upright rows at nominal
pressure first, then camber, then pressure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Mask
from ..brief import brief_repr
from ..errors import InvalidValue
from ..record import unknown_name
from .measurement_names import RESPONSES, UNITS
from .measurement_table import Measurements

PURE_ALPHA = float(np.deg2rad(0.3))
"""Slip angle in rad below which slip counts as longitudinal only."""
PURE_KAPPA = 0.005
"""Longitudinal slip below which slip counts as lateral only."""
_FEWEST = 10


def _no_limits() -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class Stage:
    """One step of a fit.

    Coefficients are leaves of the tyre's record; those that it has not, or that the rows do not
    tell, are left alone.
    """

    name: str
    response: str
    """The force or moment that is fitted: F_x, F_y, M_x, M_y or M_z."""
    coefficients: tuple[str, ...]
    """What upright rows at nominal pressure tell."""
    camber: tuple[str, ...] = ()
    """What takes rows with camber."""
    pressure: tuple[str, ...] = ()
    """What takes rows at other pressures."""
    below: Mapping[str, float] = field(default_factory=_no_limits)
    """Largest size of columns in the rows that count: `{"kappa": 0.005}`."""
    above: Mapping[str, float] = field(default_factory=_no_limits)
    """Smallest size of columns in the rows that count."""
    together: Mapping[str, float] = field(default_factory=_no_limits)
    """Size that columns must reach at once in ten of the rows, or there is nothing to fit."""
    tries: tuple[Mapping[str, float], ...] = ()
    """Other starts, of which the best counts. They are tried when all their names are free."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.response not in RESPONSES:
            raise InvalidValue(
                f"response = {self.response!r} of stage {self.name!r} must be one of "
                f"{', '.join(RESPONSES)}"
            )
        for name in (*self.below, *self.above, *self.together):
            if name not in UNITS:
                raise InvalidValue(
                    unknown_name(f"stage {self.name!r}", name, tuple(UNITS), "column")
                )

    @property
    def all_coefficients(self) -> tuple[str, ...]:
        """Those of all three kinds."""
        return (*self.coefficients, *self.camber, *self.pressure)

    def rows(self, table: Measurements, least_load: float) -> Mask:
        """Which rows count, (rows,)."""
        mask = np.isfinite(table[self.response]) & (table.F_z >= least_load)
        for name, limit in self.below.items():
            mask &= np.abs(table[name]) < limit
        for name, limit in self.above.items():
            mask &= np.abs(table[name]) >= limit
        return mask

    def missed(self, rows: Measurements) -> str:
        """Why rows are not enough for the stage; empty if they are."""
        if not len(rows):
            return f"no rows with {self.response} at such slip"
        sizes = [np.abs(rows[name]) >= limit for name, limit in self.together.items()]
        if sizes and np.all(sizes, axis=0).sum() < _FEWEST:
            return f"fewer than {_FEWEST} rows with {' and '.join(self.together)} at once"
        return ""


def _names(prefix: str, numbers: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{n}" for n in numbers.split())


_SHAPES_X = tuple({"PCX1": c, "PEX1": e} for c, e in ((1.3, 0.0), (1.6, 0.0), (1.6, -2.0)))
_SHAPES_Y = tuple({"PCY1": c, "PEY1": e} for c, e in ((1.3, 0.0), (1.3, -2.0), (1.6, 0.5)))
_SHAPES_Z = tuple(
    {"QBZ1": b, "QCZ1": c, "QEZ1": e} for b, c, e in ((10.0, 1.2, -2.0), (6.0, 1.1, 0.0))
)

_SHAPES_MX = tuple(
    {"QSX4": a, "QSX5": c, "QSX8": w, "QSX9": 0.4}
    for a, c, w in ((0.5, -1.1, 1.0), (0.5, 1.0, -1.0))
)

_SHAPES_VY = tuple({"RVY1": a, "RVY6": b} for a in (0.05, -0.05) for b in (10.0, 40.0))

_BOTH = {"alpha": PURE_ALPHA, "kappa": PURE_KAPPA}

MAGIC_FORMULA: tuple[Stage, ...] = (
    Stage(
        "pure F_x",
        "F_x",
        ("PCX1", "PDX1", "PDX2", "PKX1", "PKX2", "PKX3", *_names("PEX", "1 2 3 4"),
         *_names("PHX", "1 2"), *_names("PVX", "1 2")),
        camber=("PDX3",),
        pressure=_names("PPX", "1 2 3 4"),
        below={"alpha": PURE_ALPHA},
        tries=_SHAPES_X,
    ),
    Stage(
        "pure F_y",
        "F_y",
        ("PCY1", "PDY1", "PDY2", "PKY1", "PKY2", *_names("PEY", "1 2 3"), *_names("PHY", "1 2"),
         *_names("PVY", "1 2")),
        camber=("PHY3", "PKY6", "PKY7", "PVY3", "PVY4", "PKY3", "PDY3", "PEY4", "PKY5", "PEY5"),
        pressure=_names("PPY", "1 2 3 4 5"),
        below={"kappa": PURE_KAPPA},
        tries=_SHAPES_Y,
    ),
    Stage(
        "pure M_z",
        "M_z",
        ("QDZ1", "QDZ2", "QBZ1", "QBZ2", "QBZ3", "QCZ1", *_names("QEZ", "1 2 3 4"), "QHZ1",
         "QHZ2", "QDZ6", "QDZ7", "QBZ9", "QBZ10"),
        camber=("QDZ8", "QDZ9", "QHZ3", "QHZ4", "QDZ3", "QDZ4", "QBZ4", "QBZ5", "QEZ5", "QDZ10",
                "QDZ11"),
        pressure=_names("PPZ", "1 2"),
        below={"kappa": PURE_KAPPA},
        tries=_SHAPES_Z,
    ),
    Stage(
        "combined F_x",
        "F_x",
        ("RBX1", "RBX2", "RCX1", "REX1", "REX2", "RHX1"),
        camber=("RBX3",),
        above={"alpha": PURE_ALPHA},
        together=_BOTH,
    ),
    Stage(
        "combined F_y",
        "F_y",
        ("RBY1", "RBY2", "RBY3", "RCY1", "REY1", "REY2", "RHY1", "RHY2", "RVY1", "RVY2", "RVY4",
         "RVY5", "RVY6"),
        camber=("RVY3", "RBY4"),
        above={"kappa": PURE_KAPPA},
        together=_BOTH,
        tries=_SHAPES_VY,
    ),
    Stage("combined M_z", "M_z", ("SSZ1", "SSZ2"), camber=("SSZ3", "SSZ4"),
          above={"kappa": PURE_KAPPA}),
    Stage(
        "M_x",
        "M_x",
        ("QSX1", "QSX3", "QSX13"),
        camber=_names("QSX", "2 10 11 14 12 7 4 5 6 8 9"),
        pressure=("PPMX1",),
        tries=_SHAPES_MX,
    ),
    Stage(
        "M_y",
        "M_y",
        ("QSY1", "QSY7", "QSY2", "QSY3", "QSY4"),
        camber=("QSY5", "QSY6"),
        pressure=("QSY8",),
    ),
)  # fmt: skip
"""Stages for tyres of the Magic Formula. PKY4 stays as it is, 2 unless somebody says otherwise."""

BOUNDS: Mapping[str, tuple[float, float]] = {
    "PCX1": (1.0, 2.0),
    "PDX1": (0.05, 10.0),
    "PEX1": (-50.0, 1.0),
    "PKX1": (0.1, 500.0),
    "PCY1": (1.0, 2.0),
    "PDY1": (0.05, 10.0),
    "PEY1": (-50.0, 1.0),
    "PKY2": (0.05, 50.0),
    "QBZ1": (0.1, 100.0),
    "QBZ9": (0.0, 500.0),
    "QCZ1": (0.1, 2.0),
    "QEZ1": (-100.0, 1.0),
    "RBX1": (0.1, 200.0),
    "RCX1": (0.1, 2.0),
    "REX1": (-20.0, 1.0),
    "RBY1": (0.1, 200.0),
    "RCY1": (0.1, 2.0),
    "REY1": (-20.0, 1.0),
    "RBX2": (0.0, 200.0),
    "RBY2": (0.0, 200.0),
    "RVY4": (0.0, 500.0),
    "RVY5": (0.0, 3.0),
    "RVY6": (0.0, 500.0),
    "QSX6": (0.1, 100.0),
    "QSX11": (0.0, 100.0),
    "QSY7": (0.0, 3.0),
}
"""Where coefficients of the Magic Formula make sense: slopes and peaks above 0, shapes between 1
and 2, curvature at most 1."""

_USUAL_SIZES: Mapping[float, str] = {
    0.1: "PHX1 PHX2 PHY1 PHY2 RHX1 RHY1 RHY2 QHZ1 QHZ2 QDZ6 QDZ7 QSX1 QSY1 QSY3 QSY4 RBY3",
    0.5: "PVX1 PVX2 PVY1 PVY2 QDZ1 QDZ2 QSX13 QSY2 QSY5 QSY6",
    10.0: "PEX1 PEX2 PEX3 PEY1 PEY2 PDX3 PDY3 PKY3 QDZ3 QDZ10 QDZ11 QBZ4 QBZ5 QEZ4 REX1 REX2 REY1 "
    "REY2 QSX4 QSX5 QSX7 QSX11",
    50.0: "PKX1 PKX2 PKY1 PKY5 PEY4 QBZ1 QBZ2 QBZ3 QBZ9 QDZ4 QEZ1 QEZ2 QEZ3 RBX1 RBX2 RBY1 RBY2 "
    "QSX6",
    200.0: "QEZ5 RBX3 RBY4 RVY3 RVY4 RVY6",
    500.0: "PEY5",
}
_SIZES = {name: size for size, names in _USUAL_SIZES.items() for name in names.split()}
_SIZE = 2.0


def usual_size(name: str) -> float:
    """How large a coefficient of the Magic Formula usually is at most; an interval that is wider
    says nothing about it."""
    return _SIZES.get(name, _SIZE)
