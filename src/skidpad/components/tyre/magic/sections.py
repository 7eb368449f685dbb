"""Sections of a tyre of any version in the terms of MF 6.1, so that each equation exists once."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from . import coefficients as c
from . import mf52
from . import records as r

__all__ = ["Sections", "Tyre", "sections", "vertical_of"]

Tyre = Any
"""A record of one of the classes of `magic_formula_type`."""

_OF_MF6: dict[type, type] = {
    mf52.Longitudinal52: c.Longitudinal,
    mf52.Lateral52: c.Lateral,
    mf52.Aligning52: c.Aligning,
    mf52.Overturning52: c.Overturning,
    mf52.Rolling52: c.Rolling,
    mf52.Scaling52: r.Scaling,
    mf52.Vertical52: r.Vertical61,
}


class Sections(NamedTuple):
    """Sections of a tyre with the keys of MF 6.1.

    What MF 5.2 has not is at the default, which switches the term off: the equations are the same.
    """

    scaling: r.Scaling
    longitudinal: c.Longitudinal
    overturning: c.Overturning
    lateral: c.Lateral
    rolling: c.Rolling
    aligning: c.Aligning
    vertical: r.Vertical61


def sections(tyre: Tyre) -> Sections:
    """The sections of a tyre of any version."""
    return Sections(*(_widened(getattr(tyre, name)) for name in Sections._fields))


def vertical_of(tyre: Tyre) -> r.Vertical61:
    """The section `vertical` of a tyre of any version with at least the keys of MF 6.1."""
    return _widened(tyre.vertical)


def _widened(section: Any) -> Any:
    kind = _OF_MF6.get(type(section))
    if kind is None:
        return section
    return kind(**{key: getattr(section, key) for key in _shared(type(section), kind)})


@cache
def _shared(narrow: Any, wide: Any) -> tuple[str, ...]:
    return tuple(key for key in narrow._fields if key in wide._fields)
