"""The lidar of a task: where it sits and what it sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Array
from ..checks import finite, not_negative, positive, whole
from ..errors import InvalidValue
from ..units import m, rad


@dataclass(frozen=True)
class Lidar:
    """Rays from a point of the vehicle, equally far apart; what is beyond the range reads as it."""

    rays: int = 108
    """How many."""
    view: rad = 1.5 * math.pi
    """From the first ray, on the right, to the last, on the left."""
    range: m = 30.0
    """Longest distance that is seen."""
    x: m = 0.0
    """Where it sits, forward of the reference point of the vehicle."""
    y: m = 0.0
    """To the left of it."""
    noise: m = 0.0
    """Standard deviation of each range that meets something, nearly normal and never beyond 3.5 of
    it; drawn anew in every control period."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rays", whole("rays", self.rays, "at least 2", least=2))
        put(self, "view", positive("view", self.view, "rad"))
        put(self, "range", positive("range", self.range, "m"))
        put(self, "noise", not_negative("noise", self.noise, "m"))
        put(self, "x", finite("x", self.x, "m"))
        put(self, "y", finite("y", self.y, "m"))
        if self.view > 2.0 * math.pi:
            raise InvalidValue(f"view = {self.view:g} rad must be at most 2π")

    @cached_property
    def angles(self) -> Array:
        """Of the rays on the vehicle in rad, (rays,), positive to the left."""
        whole_turn = abs(self.view - 2.0 * math.pi) < 1e-9
        ends = np.linspace(-0.5, 0.5, self.rays, endpoint=not whole_turn)
        return self.view * ends
