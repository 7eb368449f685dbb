"""What is to be fitted: rows, a tyre to start from, stages, bounds; checked before work begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array, Mask
from ..brief import shown
from ..checks import one_of
from ..components.tyre.contract import record_of
from ..components.tyre.magic import magic_formula_type
from ..errors import InvalidValue
from .fit_stages import BOUNDS, MAGIC_FORMULA, Stage
from .fit_start import frame_of
from .measurement_steps import BINS
from .measurement_table import Measurements

_VERSIONS = {"5.2": 52, "6.1": 61, "6.2": 62}
_RADIUS = 0.3
"""Radius in m that moments are divided by where a tyre does not say its own."""
_SPEED = 16.7
"""Speed in m/s of rows that say none, where a tyre has no reference speed."""
_UPRIGHT = float(np.deg2rad(0.2))
"""Camber in rad below which a wheel counts as upright."""


@dataclass(frozen=True)
class Task:
    """What is to be fitted."""

    table: Measurements
    tyre: Any
    """The record that it starts from."""
    fresh: bool
    """Whether starts are to be read off the rows."""
    known: frozenset[str]
    """Coefficients whose start the user gave, by their short names."""
    stages: tuple[Stage, ...]
    bounds: Mapping[int, tuple[float, float]]
    fixed: frozenset[int]
    magic: bool
    """Whether it is a tyre of the Magic Formula."""

    @property
    def kind(self) -> type:
        """Class of the record."""
        return type(self.tyre)

    def place(self, name: str) -> int | None:
        """The place of a coefficient among the leaves, if the tyre has it."""
        return _places(self.kind).get(name)

    def places(self, names: Sequence[str]) -> list[int]:
        """The places of those coefficients that the tyre has."""
        return [place for place in map(self.place, names) if place is not None]

    @property
    def names(self) -> list[str]:
        """Short names of the leaves, as in a file."""
        return [name.rpartition(".")[2] for name in record.names(self.kind)]

    @property
    def speed(self) -> float:
        """Speed in m/s of rows that say none."""
        return self._own("LONGVL", _SPEED)

    def _own(self, name: str, otherwise: float) -> float:
        place = self.place(name)
        return otherwise if place is None else float(record.flatten(self.tyre)[place])

    def weight(self, stage: Stage, part: Measurements) -> Array:
        """One over load, for moments over load times radius, so that all loads count alike."""
        radius = self._own("UNLOADED_RADIUS", _RADIUS) if stage.response.startswith("M") else 1.0
        return 1.0 / (part.F_z * radius)

    def upright(self, part: Measurements) -> Mask:
        """Rows without camber."""
        return np.abs(part.gamma) < _UPRIGHT

    def nominal(self, part: Measurements) -> Mask:
        """Rows at nominal pressure; an unknown one is nominal."""
        pressure = self._own("NOMPRES", float(self.tyre.pressure))
        return ~(np.abs(part.p - pressure) > BINS["p"])

    def without_data(self, stage: Stage, part: Measurements) -> dict[int, str]:
        """Coefficients of camber and pressure where these do not vary, with the reason."""
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
    """The arguments of a fit, checked."""
    fresh = start is None or isinstance(start, Mapping)
    known: Mapping[str, float] = start if isinstance(start, Mapping) else {}
    tyre = _new_tyre(table, known, version) if fresh else record_of(start)
    places = _places(type(tyre))
    magic = "longitudinal.PCX1" in places
    if stages is None and not magic:
        raise InvalidValue(
            f"{type(tyre).__name__} is no tyre of the Magic Formula; say what to fit: "
            "stages=[Stage('lateral', 'F_y', ('C', 'D'))]"
        )
    if isinstance(fixed, str):
        raise InvalidValue(f"fixed = {fixed!r} must be a list of names, such as ['PEX4']")
    limits = {**(BOUNDS if magic else {}), **(bounds or {})}
    chosen = tuple(MAGIC_FORMULA if stages is None else stages)
    # Names of other versions of the Magic Formula are no mistakes.
    allowed = {*places, *(n for s in MAGIC_FORMULA for n in s.all_coefficients if magic)}
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
    """Places of leaves by their whole and by their short names."""
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
