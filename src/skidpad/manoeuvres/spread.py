"""Uncertain parameters: variants of a vehicle, drawn within the widths that a user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from math import inf

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Vehicle
from .subject import Subject

__all__ = ["parsed_spread", "spread_out"]

MOST_VARIANTS = 100_000


def spread_out(
    vehicle: Vehicle,
    widths: Mapping[str, str | float],
    variants: int,
    *,
    seed: int = 0,
    name: str = "",
) -> Subject:
    """The vehicle as it is, followed by variants whose parameters differ.

    `widths` says for parameters by name by how much they differ to either side: "5%" of the value,
    or a number in the parameter's unit. A name may have a star, as in `tyres.*`; what is zero is
    then left alone. Values are even within the widths and independent of each other; each
    parameter's are spread over all of its width (Latin hypercube), so that few variants say much.
    """
    if not 1 <= variants <= MOST_VARIANTS:
        raise InvalidValue(f"variants = {variants} must be from 1 to {MOST_VARIANTS}")
    if not widths:
        raise InvalidValue('variants need a spread: which parameters differ, as in "m=5%"')
    half = _half_widths(vehicle, widths)
    leaves = dict(
        zip(record.names(vehicle.model.Params), record.flatten(vehicle.params), strict=True)
    )
    random = np.random.default_rng(seed)
    rows = {
        leaf: np.append(leaves[leaf], leaves[leaf] + width * _even(random, variants))
        for leaf, width in half.items()
    }
    for ends in (
        {leaf: float(pick(row)) for leaf, row in rows.items()} for pick in (np.min, np.max)
    ):
        vehicle.with_params(ends)  # raises for what is not allowed
    return Subject(vehicle, rows, name)


def parsed_spread(texts: Sequence[str]) -> dict[str, str]:
    """Widths by name of texts such as "m=5%,tyres.D=0.1"."""
    widths: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, sign, width = part.partition("=")
        if not (name and sign and width):
            raise InvalidValue(f"spread {part!r}: expected NAME=WIDTH, as in m=5% or l_f=0.02")
        widths[name.strip()] = width.strip()
    return widths


def _even(random: np.random.Generator, count: int) -> Array:
    """Numbers from -1 to 1, one in each of as many equal parts, in any order."""
    return 2.0 * (random.permutation(count) + random.random(count)) / count - 1.0


def _half_widths(vehicle: Vehicle, widths: Mapping[str, str | float]) -> dict[str, float]:
    """By leaf of the parameters, in its unit."""
    names = record.names(vehicle.model.Params)
    values = dict(zip(names, record.flatten(vehicle.params), strict=True))
    half: dict[str, float] = {}
    for pattern, width in widths.items():
        hits = [name for name in names if fnmatchcase(name, pattern)]
        if not hits:
            raise InvalidValue(record.unknown_name(vehicle.name, pattern, names, "parameter"))
        share, size = _size(pattern, width)
        if share and hits == [pattern] and values[pattern] == 0.0:
            raise InvalidValue(
                f"spread of {pattern}: it is 0, so a share of it is nothing; give a width in its "
                "unit"
            )
        wide = {name: size * abs(values[name]) if share else size for name in hits}
        half |= {name: one for name, one in wide.items() if one > 0.0}
    if not half:
        raise InvalidValue(f"spread {', '.join(widths)}: all of these are 0, so nothing differs")
    return half


def _size(name: str, width: str | float) -> tuple[bool, float]:
    """Whether a width is a share, and how large it is."""
    text = str(width)
    try:
        size = float(text.rstrip("%")) * (0.01 if text.endswith("%") else 1.0)
    except ValueError:
        size = -1.0
    if not 0.0 < size < inf:
        raise InvalidValue(
            f"spread of {name} = {text!r} must be a positive number or a share, as in 5%"
        )
    return text.endswith("%"), size
