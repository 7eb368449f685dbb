"""Upstream's map file: rings of positions that are not negative, and no edge that is not written.

Reading a file that it rejects leaves upstream without a map.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ....errors import InvalidValue
from ....files import json_of, reading
from ....plane.maps import Map


def load(path: str | Path) -> Map:
    """The edges between the positions of all rings; a ring that is not closed stays open."""
    with reading(path, "is not a map of the truck's"):
        content = json_of(path)
        rings = [
            np.array(ring, dtype=float)[:, :2]
            for feature in content["features"]
            for ring in feature["geometry"]["coordinates"]
        ]
    for ring in rings:
        _check(path, ring)
    edges = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    segments: Any = np.concatenate(edges) if edges else np.empty((0, 4))
    return Map(segments=segments, name=Path(path).stem)


def _check(path: str | Path, ring: Any) -> None:
    bad = np.argwhere(~(ring >= 0.0))
    if bad.size:
        k = int(bad[0, 0])
        raise InvalidValue(
            f"map {path}: vertex {k} at {ring[k].tolist()} m must not be negative, by upstream's "
            "rule"
        )
