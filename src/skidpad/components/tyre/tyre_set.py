"""Which tyre is on which wheel: one for all, one per axle, or one per wheel.

A tyre set is a record of tyre records, so its class says which equations each wheel has:
`OneTyre(tyre)`, `AxleTyres(front, rear)` or `WheelTyres(fl, fr, rl, rr)`.
"""

from __future__ import annotations

from typing import Any

from ... import record
from ...errors import InvalidValue
from ...recipes import made_once
from .contract import record_of

__all__ = ["each_tyre", "tyre_set", "tyre_set_type"]

_FIELDS: dict[int, tuple[str, str, dict[str, str]]] = {
    1: ("OneTyre", "The same tyre on all wheels.", {"tyre": "Of all wheels."}),
    2: (
        "AxleTyres",
        "A tyre for each axle.",
        {"front": "Of the front wheels.", "rear": "Of the rear wheels."},
    ),
    4: (
        "WheelTyres",
        "A tyre for each wheel.",
        {"fl": "Front left.", "fr": "Front right.", "rl": "Rear left.", "rr": "Rear right."},
    ),
}
"""Class, what it is, its fields and their meaning, by the number of tyres."""


@made_once
def tyre_set_type(*kinds: type) -> Any:
    """The record class of a set of one, two (front, rear) or four (fl, fr, rl, rr) tyre classes."""
    if len(kinds) not in _FIELDS:
        raise InvalidValue(f"a set has 1, 2 or 4 tyres, got {len(kinds)}")
    name, doc, docs = _FIELDS[len(kinds)]
    return record.define(name, dict(zip(docs, kinds, strict=True)), docs=docs, doc=doc)


def tyre_set(*tyres: Any) -> Any:
    """The set of one, two or four tyres: records, or tyres that were read from a file."""
    records = [record_of(tyre) for tyre in tyres]
    return tyre_set_type(*map(type, records))(*records)


def each_tyre(tyres: Any) -> tuple[Any, Any, Any, Any]:
    """The tyres of a set in the order fl, fr, rl, rr."""
    if len(tyres) == 1:
        return (tyres[0],) * 4
    if len(tyres) == 2:
        front, rear = tyres
        return front, front, rear, rear
    fl, fr, rl, rr = tyres
    return fl, fr, rl, rr
