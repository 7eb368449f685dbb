"""Property regions: boxes of the world in which a property has a value.

Of those that overlap, the first in the file counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from ...arrays import Array
from ...units import m
from ..errors import WorldError
from ..scene.scene import PropertyRegion, Scene

NUMBERS = ("friction_mu", "friction_C_rr")
"""Properties that are a number of 0 or more."""
SWITCHES = ("gps_no_coverage",)
"""Properties that are true or false."""


class Regions:
    """The regions of a scene with one property."""

    def __init__(self, scene: Scene, name: str) -> None:
        self._regions = [_checked(r) for r in _of(scene, name)]

    def __bool__(self) -> bool:
        return bool(self._regions)

    def at(self, x: m, y: m, z: m) -> float | bool | None:
        """The value at a point of the world; None outside of all regions."""
        values = (region.value for region in self._regions if (x, y, z) in region)
        value = next(values, None)
        assert not isinstance(value, str)
        return value

    def numbers(self, x: Array, y: Array, z: Array, outside: float) -> Array:
        """The values at points of the world, and another one outside of all regions."""
        values = np.full(np.shape(x), outside)
        # Backwards, so that the first of those that overlap is the last to be written.
        for r in reversed(self._regions):
            inside = (x >= r.x_min) & (x <= r.x_max) & (y >= r.y_min) & (y <= r.y_max)
            values[inside & (z >= r.z_min) & (z <= r.z_max)] = float(r.value)
        return values


def _of(scene: Scene, name: str) -> Sequence[PropertyRegion]:
    return [e for e in scene.elements if isinstance(e, PropertyRegion) and e.name == name]


def _checked(region: PropertyRegion) -> PropertyRegion:
    """The region; raises if its value is not one that the property can have."""
    value = region.value
    if region.name in SWITCHES and not isinstance(value, bool):
        expected = "true or false, given as <value_bool>"
    elif region.name in NUMBERS and not _is_amount(value):
        expected = "a number of 0 or more, given as <value_double>"
    else:
        return region
    raise WorldError(
        f"{region.name} = {value!r} must be {expected}", source=region.source, element="element"
    )


def _is_amount(value: float | bool | str) -> bool:
    if isinstance(value, bool | str):
        return False
    return isfinite(value) and value >= 0.0
