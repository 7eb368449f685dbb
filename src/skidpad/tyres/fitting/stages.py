"""Stages of a fit: each has a force or moment, the rows that determine it, and coefficients.

The stages of the Magic Formula follow Pacejka's procedure: pure slip first, then combined slip with
the earlier coefficients fixed. Within a stage, upright rows at nominal pressure come first, then
camber, then pressure. `start_of` estimates peaks, slopes and shapes from the measurements; `Task`
is a fit with all its arguments, checked before the fit starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core import record
from ...core.arrays import Array, Mask
from ...core.checks import one_of
from ...core.files import brief_repr, shown
from ...errors import InvalidValue
from ..contract import record_of
from ..magic_formula.formula import magic_formula_type
from .measurements import BINS, RESPONSES, UNITS, Measurements, levels

PURE_ALPHA = float(np.deg2rad(0.3))
"""Slip angle in rad below which slip counts as purely longitudinal."""
PURE_KAPPA = 0.005
"""Longitudinal slip below which slip counts as purely lateral."""
_FEWEST = 10


@dataclass(frozen=True)
class Stage:
    """One step of a fit: a force or moment with its coefficients and the rows that determine them.

    Coefficients are leaves of the tyre's record; those that the record lacks, or that the rows do
    not determine, keep their values.
    """

    name: str
    response: str
    """Force or moment that is fitted: F_x, F_y, M_x, M_y or M_z."""
    coefficients: tuple[str, ...]
    """Coefficients that upright rows at nominal pressure determine."""
    camber: tuple[str, ...] = ()
    """Coefficients that need rows with camber."""
    pressure: tuple[str, ...] = ()
    """Coefficients that need rows at other pressures."""
    below: Mapping[str, float] = field(default_factory=dict[str, float])
    """Largest absolute values of columns in the rows that are used: `{"kappa": 0.005}`."""
    above: Mapping[str, float] = field(default_factory=dict[str, float])
    """Smallest absolute values of columns in the rows that are used."""
    together: Mapping[str, float] = field(default_factory=dict[str, float])
    """Absolute values that at least ten rows must reach in all these columns at once; otherwise the
    stage is skipped."""
    tries: tuple[Mapping[str, float], ...] = ()
    """Alternative start values, of which the best are used; tried if all their coefficients are
    free."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.response not in RESPONSES:
            raise InvalidValue(
                f"response = {self.response!r} of stage {self.name!r} must be one of "
                f"{', '.join(RESPONSES)}"
            )
        limits = (*self.below, *self.above, *self.together)
        record.check_names(f"stage {self.name!r}", limits, UNITS, "column")

    @property
    def all_coefficients(self) -> tuple[str, ...]:
        """Coefficients of all three groups."""
        return (*self.coefficients, *self.camber, *self.pressure)

    def rows(self, table: Measurements, least_load: float) -> Mask:
        """Mask (rows,) of the rows that the stage uses."""
        mask = np.isfinite(table[self.response]) & (table.F_z >= least_load)
        for name, limit in self.below.items():
            mask &= np.abs(table[name]) < limit
        for name, limit in self.above.items():
            mask &= np.abs(table[name]) >= limit
        return mask

    def missed(self, rows: Measurements) -> str:
        """Reason why the rows are not sufficient for the stage; empty if they are."""
        if not len(rows):
            return f"no rows with {self.response} at such slip"
        sizes = [np.abs(rows[name]) >= limit for name, limit in self.together.items()]
        if sizes and np.all(sizes, axis=0).sum() < _FEWEST:
            return f"fewer than {_FEWEST} rows with {' and '.join(self.together)} at once"
        return ""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


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

MAGIC_FORMULA_STAGES: tuple[Stage, ...] = (
    Stage(
        "pure F_x", "F_x",
        _names("PCX1 PDX1 PDX2 PKX1 PKX2 PKX3 PEX1 PEX2 PEX3 PEX4 PHX1 PHX2 PVX1 PVX2"),
        camber=("PDX3",), pressure=_names("PPX1 PPX2 PPX3 PPX4"), below={"alpha": PURE_ALPHA},
        tries=_SHAPES_X,
    ),
    Stage(
        "pure F_y", "F_y", _names("PCY1 PDY1 PDY2 PKY1 PKY2 PEY1 PEY2 PEY3 PHY1 PHY2 PVY1 PVY2"),
        camber=_names("PHY3 PKY6 PKY7 PVY3 PVY4 PKY3 PDY3 PEY4 PKY5 PEY5"),
        pressure=_names("PPY1 PPY2 PPY3 PPY4 PPY5"), below={"kappa": PURE_KAPPA}, tries=_SHAPES_Y,
    ),
    Stage(
        "pure M_z", "M_z",
        _names("QDZ1 QDZ2 QBZ1 QBZ2 QBZ3 QCZ1 QEZ1 QEZ2 QEZ3 QEZ4 QHZ1 QHZ2 QDZ6 QDZ7 QBZ9 QBZ10"),
        camber=_names("QDZ8 QDZ9 QHZ3 QHZ4 QDZ3 QDZ4 QBZ4 QBZ5 QEZ5 QDZ10 QDZ11"),
        pressure=("PPZ1", "PPZ2"), below={"kappa": PURE_KAPPA}, tries=_SHAPES_Z,
    ),
    Stage(
        "combined F_x", "F_x", _names("RBX1 RBX2 RCX1 REX1 REX2 RHX1"), camber=("RBX3",),
        above={"alpha": PURE_ALPHA}, together=_BOTH,
    ),
    Stage(
        "combined F_y", "F_y",
        _names("RBY1 RBY2 RBY3 RCY1 REY1 REY2 RHY1 RHY2 RVY1 RVY2 RVY4 RVY5 RVY6"),
        camber=("RVY3", "RBY4"), above={"kappa": PURE_KAPPA}, together=_BOTH, tries=_SHAPES_VY,
    ),
    Stage(
        "combined M_z", "M_z", ("SSZ1", "SSZ2"), camber=("SSZ3", "SSZ4"),
        above={"kappa": PURE_KAPPA},
    ),
    Stage(
        "M_x", "M_x", ("QSX1", "QSX3", "QSX13"),
        camber=_names("QSX2 QSX10 QSX11 QSX14 QSX12 QSX7 QSX4 QSX5 QSX6 QSX8 QSX9"),
        pressure=("PPMX1",), tries=_SHAPES_MX,
    ),
    Stage(
        "M_y", "M_y", _names("QSY1 QSY7 QSY2 QSY3 QSY4"), camber=("QSY5", "QSY6"),
        pressure=("QSY8",),
    ),
)  # fmt: skip
"""Stages for tyres of the Magic Formula; PKY4 keeps its value, 2 by default."""

BOUNDS: Mapping[str, tuple[float, float]] = {
    "PCX1": (1.0, 2.0), "PDX1": (0.05, 10.0), "PEX1": (-50.0, 1.0), "PKX1": (0.1, 500.0),
    "PCY1": (1.0, 2.0), "PDY1": (0.05, 10.0), "PEY1": (-50.0, 1.0), "PKY2": (0.05, 50.0),
    "QBZ1": (0.1, 100.0), "QBZ9": (0.0, 500.0), "QCZ1": (0.1, 2.0), "QEZ1": (-100.0, 1.0),
    "RBX1": (0.1, 200.0), "RCX1": (0.1, 2.0), "REX1": (-20.0, 1.0), "RBY1": (0.1, 200.0),
    "RCY1": (0.1, 2.0), "REY1": (-20.0, 1.0), "RBX2": (0.0, 200.0), "RBY2": (0.0, 200.0),
    "RVY4": (0.0, 500.0), "RVY5": (0.0, 3.0), "RVY6": (0.0, 500.0), "QSX6": (0.1, 100.0),
    "QSX11": (0.0, 100.0), "QSY7": (0.0, 3.0),
}  # fmt: skip
"""Plausible ranges of Magic Formula coefficients.

Slopes and peaks are above 0, shapes between 1 and 2, curvatures at most 1.
"""

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
    """Upper limit of a coefficient's plausible size; a confidence interval wider than this is no
    information."""
    return _SIZES.get(name, _SIZE)


SHAPES: Mapping[str, Mapping[str, float]] = {
    "pure M_z": {"QBZ1": 8.0, "QBZ9": 20.0, "QCZ1": 1.1, "QDZ1": 0.1, "QEZ1": -1.0},
    "combined F_x": {"RBX1": 15.0, "RBX2": 10.0, "RCX1": 1.0},
    "combined F_y": {"RBY1": 10.0, "RBY2": 8.0, "RCY1": 1.0, "RVY4": 20.0, "RVY5": 1.9,
                     "RVY6": 20.0},
    "M_x": {"QSX4": 5.0, "QSX5": 1.0, "QSX6": 10.0, "QSX7": 1.0, "QSX9": 0.4,
            "QSX11": 5.0},
    "M_y": {"QSY1": 0.01, "QSY7": 0.85, "QSY8": -0.4},
}  # fmt: skip
"""Start values that are not estimated from the rows: typical values for tyres with little data."""
USUAL: Mapping[str, Mapping[str, float]] = {
    "combined F_x": {"RBX1": 20.0, "RBX2": 15.0, "RCX1": 1.0},
    "combined F_y": {"RBY1": 10.0, "RBY2": 10.0, "RCY1": 1.0},
}
"""Default combined-slip coefficients of MF 6 programs for tyres without such data."""
_SMALL = {"kappa": 0.03, "alpha": 0.02}
"""Slip up to which forces count as linear."""
_SPEED = 16.7
"""Reference speed in m/s of a test without a known speed."""
_STIFFNESS = 2e5
"""Vertical stiffness in N/m if no loaded radius was measured."""


def frame_of(table: Measurements, known: Mapping[str, float]) -> dict[str, float]:
    """Nominal load, radius, pressure, speed and stiffness, estimated if not known."""
    values = dict(known)
    loads = levels(table.F_z, BINS["F_z"])
    if "FNOMIN" not in values:
        # A load that was tested, at or above the middle of all.
        values["FNOMIN"] = float(min(loads[loads >= np.median(loads)], default=table.F_z.max()))
    # Vertical stiffness and free radius, from loaded radii at several loads.
    measured = np.isfinite(table.R_l)
    stiffness, radius = _STIFFNESS, None
    if measured.sum() >= 2 and np.ptp(table.F_z[measured]) >= BINS["F_z"]:
        softness, radius = np.polyfit(table.F_z[measured], table.R_l[measured], 1).tolist()
        stiffness = -1.0 / softness if softness < 0.0 else _STIFFNESS
    if "UNLOADED_RADIUS" not in values:
        if radius is None:
            raise InvalidValue(
                "the measurements have no loaded radius R_l at two loads; say how large the tyre "
                "is: start={'UNLOADED_RADIUS': 0.31}, in m"
            )
        values["UNLOADED_RADIUS"] = radius
    values.setdefault("VERTICAL_STIFFNESS", stiffness)
    pressures = table.p[np.isfinite(table.p)]
    if pressures.size:
        # The step with the most rows; on a tie, the middle one.
        steps = levels(pressures, BINS["p"])
        counts = np.array([np.sum(np.abs(pressures - step) <= BINS["p"]) for step in steps])
        most = steps[counts >= 0.95 * counts.max()]
        values.setdefault("NOMPRES", float(most[len(most) // 2]))
        values.setdefault("INFLPRES", values["NOMPRES"])
    speeds = table.v_x[np.isfinite(table.v_x)]
    values.setdefault("LONGVL", float(np.median(speeds)) if speeds.size else _SPEED)
    return values


def start_of(stage: str, rows: Measurements, tyre: Any) -> dict[str, float]:
    values = dict(SHAPES.get(stage, {}))
    if stage not in ("pure F_x", "pure F_y"):
        return values
    slip, force = ("kappa", "F_x") if stage == "pure F_x" else ("alpha", "F_y")
    dfz, peaks, slopes, ends = _by_load(rows, slip, force, tyre.vertical.FNOMIN)
    peak, change = _line(dfz, peaks)
    # Shape factor from the friction at large slip relative to the peak, eq. 4.50.
    ratio = float(np.clip(np.median(ends / np.maximum(peaks, 1e-9)), 0.05, 0.999))
    shape = float(np.clip(2.0 - 2.0 / np.pi * np.arcsin(ratio), 1.05, 1.9))
    if slip == "kappa":
        slope, steeper = _line(dfz, slopes)
        values |= {"PDX1": peak, "PDX2": change, "PCX1": shape}
        return values | {"PKX1": max(slope, 1.0), "PKX2": steeper}
    load = 1.0 + dfz
    stiffness = slopes * load  # over nominal load; negative
    best = (np.inf, -20.0, 2.0)
    for at_peak in np.geomspace(0.5, 8.0, 25):
        wave = np.sin(2.0 * np.arctan(load / at_peak))
        most = float(wave @ stiffness / (wave @ wave))
        error = float(np.sum((most * wave - stiffness) ** 2))
        best = min(best, (error, most, float(at_peak)))
    _, most, at_peak = best
    values |= {"PDY1": peak, "PDY2": change, "PCY1": shape}
    return values | {"PKY1": most, "PKY2": at_peak}


def _by_load(
    rows: Measurements, slip: str, force: str, nominal: float
) -> tuple[Array, Array, Array, Array]:
    """For each step of load: relative deviation from nominal load, and friction at the peak, slope
    and friction at the largest slip, each over load."""
    by_step: list[tuple[float, float, float, float]] = []
    steps = levels(rows.F_z, BINS["F_z"])
    for step in steps:
        part = rows.where(F_z=(step - BINS["F_z"], step + BINS["F_z"]))
        x, y = part[slip], part[force] / part.F_z
        small = np.abs(x) < _SMALL[slip]
        if small.sum() < 2 or np.ptp(x[small]) == 0.0:
            small = np.abs(x) <= np.sort(np.abs(x))[min(len(x) - 1, 4)]
        slope = float(np.polyfit(x[small], y[small], 1)[0]) if np.ptp(x[small]) > 0.0 else 0.0
        far = np.abs(x) >= 0.9 * np.abs(x).max()
        peak = float(np.percentile(np.abs(y), 97.0))
        by_step.append((step / nominal - 1.0, peak, slope, float(np.median(np.abs(y[far])))))
    columns = np.array(by_step).reshape(-1, 4).T
    return columns[0], columns[1], columns[2], columns[3]


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Intercept and slope of a fitted line; a single point gives a constant."""
    if len(x) < 2:
        return float(y.mean()) if len(y) else 1.0, 0.0
    slope, value = np.polyfit(x, y, 1)
    return float(value), float(slope)


_VERSIONS = {"5.2": 52, "6.1": 61, "6.2": 62}
_RADIUS = 0.3
"""Default radius in m by which moments are divided if the tyre has none."""
_UPRIGHT = float(np.deg2rad(0.2))
"""Camber in rad below which a wheel counts as upright."""


@dataclass(frozen=True)
class Task:
    """A fit with its checked arguments."""

    table: Measurements
    tyre: Any
    """Tyre record that the fit starts from."""
    fresh: bool
    """Whether start values are estimated from the rows."""
    known: frozenset[str]
    """Coefficients with a start value from the user, by their short names."""
    stages: tuple[Stage, ...]
    bounds: Mapping[int, tuple[float, float]]
    fixed: frozenset[int]
    magic: bool
    """Whether it is a Magic Formula tyre."""

    @property
    def kind(self) -> type:
        return type(self.tyre)

    def place(self, name: str) -> int | None:
        """Index of a coefficient among the leaves, or None if the tyre lacks it."""
        return _places(self.kind).get(name)

    def places(self, names: Sequence[str]) -> list[int]:
        """Indices of the coefficients that the tyre has."""
        return [place for place in map(self.place, names) if place is not None]

    @property
    def names(self) -> list[str]:
        """Short names of the leaves, as in a file."""
        return [name.rpartition(".")[2] for name in record.names(self.kind)]

    @property
    def speed(self) -> float:
        """Speed in m/s for rows without a known speed."""
        return self._own("LONGVL", _SPEED)

    def _own(self, name: str, otherwise: float) -> float:
        place = self.place(name)
        return otherwise if place is None else float(record.flatten(self.tyre)[place])

    def weight(self, stage: Stage, part: Measurements) -> Array:
        """1 over load; for moments, 1 over load times radius, so all loads weigh the same."""
        radius = self._own("UNLOADED_RADIUS", _RADIUS) if stage.response.startswith("M") else 1.0
        return 1.0 / (part.F_z * radius)

    def upright(self, part: Measurements) -> Mask:
        """Mask of the rows without camber."""
        return np.abs(part.gamma) < _UPRIGHT

    def nominal(self, part: Measurements) -> Mask:
        """Mask of the rows at nominal pressure; an unknown pressure counts as nominal."""
        pressure = self._own("NOMPRES", float(self.tyre.pressure))
        return ~(np.abs(part.p - pressure) > BINS["p"])

    def without_data(self, stage: Stage, part: Measurements) -> dict[int, str]:
        """Coefficients of camber and pressure that cannot be fitted because these do not vary, with
        reasons."""
        reasons: dict[int, str] = {}
        if self.upright(part).all():
            reasons |= dict.fromkeys(self.places(stage.camber), "no row has camber")
        if self.nominal(part).all():
            reasons |= dict.fromkeys(self.places(stage.pressure), "pressure does not vary")
        return reasons


def task_of(
    table: Measurements,
    start: Any,
    version: str,
    stages: Sequence[Stage] | None,
    bounds: Mapping[str, tuple[float, float]] | None,
    fixed: Sequence[str],
) -> Task:
    fresh = start is None or isinstance(start, Mapping)
    known: Mapping[str, float] = start if isinstance(start, Mapping) else {}
    tyre = _new_tyre(table, known, version) if fresh else record_of(start)
    places = _places(type(tyre))
    magic = "longitudinal.PCX1" in places
    if stages is None and not magic:
        raise InvalidValue(
            f"{type(tyre).__name__} is not a Magic Formula tyre; say what to fit: "
            "stages=[Stage('lateral', 'F_y', ('C', 'D'))]"
        )
    if isinstance(fixed, str):
        raise InvalidValue(f"fixed = {fixed!r} must be a list of names, such as ['PEX4']")
    limits = {**(BOUNDS if magic else {}), **(bounds or {})}
    chosen = tuple(MAGIC_FORMULA_STAGES if stages is None else stages)
    # Names of other versions of the Magic Formula are no mistakes.
    allowed = {*places, *(n for s in MAGIC_FORMULA_STAGES for n in s.all_coefficients if magic)}
    asked = {f"stage {stage.name!r}": stage.all_coefficients for stage in chosen}
    for what, names in {"bounds": bounds or {}, "fixed": fixed, **asked}.items():
        for name in names:
            if name not in allowed:
                kind = type(tyre).__name__
                leaves = sorted({n for n in places if "." not in n})
                raise InvalidValue(f"{what}: {record.unknown_name(kind, name, leaves)}")
    return Task(
        table,
        tyre,
        fresh,
        frozenset(name.rpartition(".")[2] for name in known),
        chosen,
        {places[n]: _pair(n, pair) for n, pair in limits.items() if n in places},
        frozenset(places[name] for name in fixed if name in places),
        magic,
    )


def _places(kind: type) -> dict[str, int]:
    """Indices of the leaves by their full and their short names."""
    names = record.names(kind)
    short = {name.rpartition(".")[2]: k for k, name in enumerate(names)}
    return short | {name: k for k, name in enumerate(names)}


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in pair)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"bounds: {name} = {shown(pair)} must be lowest and highest") from error
    if not low < high:
        raise InvalidValue(f"bounds: {name} = {shown(pair)}: the lowest must be below the highest")
    return low, high


def _new_tyre(table: Measurements, known: Mapping[str, float], version: str) -> Any:
    one_of("version", version, tuple(_VERSIONS))
    kind = magic_formula_type(_VERSIONS[version])
    names, places = record.names(kind), _places(kind)
    for name in known:
        if name not in places:
            leaves = sorted({n for n in places if "." not in n})
            raise InvalidValue(f"start: {record.unknown_name(kind.__name__, name, leaves)}")
    short = {name.rpartition(".")[2]: value for name, value in known.items()}
    values = frame_of(table, short)
    return record.build(kind, {names[places[n]]: v for n, v in values.items() if n in places})
