"""Colours of ordered series, such as speeds or loads: from dark to light, as viridis has them.

Lightness alone tells them apart, so they work for colour-blind readers and on grey paper.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_VIRIDIS = ("#440154", "#46327E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39", "#FDE725")
"""Viridis at equal distances; S. van der Walt and N. Smith, for Matplotlib, public domain."""
_LIGHTEST = 0.86
"""Share of the scale up to which a line is seen on white paper."""


def shades(count: int) -> list[str]:
    """So many colours from dark to light."""
    places = np.linspace(0.05, _LIGHTEST, count) if count > 1 else np.array([0.35])
    return [shade(float(place)) for place in places]


def shade(place: float) -> str:
    """The colour at a place from 0 to 1."""
    table = np.array([_numbers(colour) for colour in _VIRIDIS], dtype=float)
    at = np.clip(place, 0.0, 1.0) * (len(_VIRIDIS) - 1)
    mixed = [np.interp(at, np.arange(len(_VIRIDIS)), table[:, k]) for k in range(3)]
    return _text([round(float(part)) for part in mixed])


def _numbers(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def _text(parts: Sequence[int]) -> str:
    return "#" + "".join(f"{part:02X}" for part in parts)
