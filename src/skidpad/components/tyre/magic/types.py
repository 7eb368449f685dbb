"""The record classes of Magic Formula tyres: one for each version and choice of equations."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from itertools import product
from typing import Any

from .... import record
from ....errors import InvalidValue
from . import coefficients as c
from . import mf52
from . import records as r
from .choices import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    PlainAngles,
    Uncombined,
    UsualLimits,
)
from .formula import MagicFormulaTyre

__all__ = ["MagicFormula52", "MagicFormula61", "MagicFormula62", "magic_formula_type"]

_MF6: dict[str, type] = {
    "model": r.Model,
    "dimension": r.Dimension,
    "operating": r.Operating,
    "vertical": r.Vertical61,
    "structural": r.Structural,
    "contact_patch": r.ContactPatch,
    "ranges": r.Ranges,
    "scaling": r.Scaling,
    "longitudinal": c.Longitudinal,
    "overturning": c.Overturning,
    "lateral": c.Lateral,
    "rolling": c.Rolling,
    "aligning": c.Aligning,
}
_SECTIONS: dict[int, dict[str, type]] = {
    52: {
        **_MF6,
        "operating": mf52.Operating52,
        "vertical": mf52.Vertical52,
        "structural": mf52.NoStructural,
        "contact_patch": mf52.NoContactPatch,
        "scaling": mf52.Scaling52,
        "longitudinal": mf52.Longitudinal52,
        "overturning": mf52.Overturning52,
        "lateral": mf52.Lateral52,
        "rolling": mf52.Rolling52,
        "aligning": mf52.Aligning52,
    },
    61: _MF6,
    62: {**_MF6, "vertical": r.Vertical62},
}
_CHOICES: dict[str, tuple[type, ...]] = {
    "turn_slip": (c.NoTurnSlip, c.TurnSlip),
    "limits": (NoLimits, UsualLimits),
    "angles": (PlainAngles, BookAngles),
    "combination": (Combined, Uncombined, FrictionEllipse),
}
"""Allowed classes of the records that choose equations; the first is the default."""
_PREFIX = "MagicFormula"


def magic_formula_type(
    version: int,
    limits: type = NoLimits,
    angles: type = PlainAngles,
    combination: type = Combined,
    turn_slip: type = c.NoTurnSlip,
) -> Any:
    """The one record class of Magic Formula tyres of a version (52, 61 or 62) and these choices.

    Each choice is the class of a record: `limits` is `NoLimits` or `UsualLimits`, `angles`
    `PlainAngles` or `BookAngles`, `combination` `Combined`, `Uncombined` or `FrictionEllipse`,
    `turn_slip` `NoTurnSlip` or, for 61 and 62, `TurnSlip`.
    """
    if version not in _SECTIONS:
        raise InvalidValue(f"version = {version!r} must be one of 52, 61, 62")
    chosen = {
        "turn_slip": turn_slip,
        "limits": limits,
        "angles": angles,
        "combination": combination,
    }
    for name, kind in chosen.items():
        if kind not in _CHOICES[name]:
            allowed = ", ".join(k.__name__ for k in _CHOICES[name])
            raise InvalidValue(f"{name} = {kind!r} must be one of {allowed}")
    if version == 52 and turn_slip is c.TurnSlip:
        raise InvalidValue("turn_slip = TurnSlip must be NoTurnSlip for version 52")
    return _class(version, tuple(chosen.values()))


@cache
def _class(version: int, chosen: tuple[type, ...]) -> Any:
    sections = {**_SECTIONS[version], **dict(zip(_CHOICES, chosen, strict=True))}
    order = list(sections)
    # Sections before the last one that has a leaf without a default take none either.
    optional = order[order.index("vertical") + 1 :]
    defaults = [sections[name]() for name in optional]
    fields: Any = namedtuple("_Sections", order, defaults=defaults)  # pyright: ignore[reportUntypedNamedTuple]
    name = _name(version, chosen)
    body = {
        "__slots__": (),
        "__module__": __name__,
        "__qualname__": name,
        "__field_docs__": {},
        "__doc__": f"A tyre by the Magic Formula {version // 10}.{version % 10}.",
    }
    kind: Any = type(name, (MagicFormulaTyre, fields), body)
    kind.__annotations__ = sections
    record.document(kind)
    return kind


def _name(version: int, chosen: tuple[type, ...]) -> str:
    parts = zip(_CHOICES.values(), chosen, strict=True)
    return f"{_PREFIX}{version}" + "".join(k.__name__ for all_, k in parts if k is not all_[0])


def __getattr__(name: str) -> Any:
    """A class by its name, so that records and classes can be pickled."""
    if name.startswith(_PREFIX):
        for version in _SECTIONS:
            for chosen in _combinations():
                if _name(version, chosen) == name:
                    return _class(version, chosen)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _combinations() -> tuple[tuple[type, ...], ...]:
    return tuple(product(*_CHOICES.values()))


MagicFormula52: Any = magic_formula_type(52)
"""A tyre by the Magic Formula 5.2, also called PAC2002."""
MagicFormula61: Any = magic_formula_type(61)
"""A tyre by the Magic Formula 6.1."""
MagicFormula62: Any = magic_formula_type(62)
"""A tyre by the Magic Formula 6.2."""
