"""One drive of a manoeuvre, said before it is driven: start, driver, ground and how long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..body import Pose
from ..brief import brief_repr
from ..road.road import Road
from ..units import s
from .path import Path

__all__ = ["Case", "Signal", "ramp", "step"]

Signal = Callable[[Array], Array] | float
"""A number that is held, or a function of the times in s, (T,), that gives (T,) numbers. Times
before zero are those of the run-in."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is driven. All variants of a vehicle drive the same case; numbers that may differ
    between variants are scalars or (V,)."""

    label: str
    """What tells it from other cases of its manoeuvre, such as "80 km/h left"."""
    duration: s
    """From time zero on."""
    v: Any = 0.0
    """Speed at the start in m/s, a number or (V,)."""
    steer: Signal = 0.0
    """Angle of the front wheels in rad, positive to the left; times `amplitude`."""
    amplitude: Any = 1.0
    """Factor on the angle, a number or (V,)."""
    speed: Signal | None = None
    """Speed to hold in m/s, beside that of the path."""
    hold: Signal | None = None
    """1 to hold it, 0 to ask for `a` alone; None to hold it if there is a speed or a path."""
    a: Signal = 0.0
    """Acceleration asked for in m/s²; times `a_gain`."""
    a_gain: Any = 1.0
    """Factor on the acceleration asked for, a number or (V,)."""
    omega: Signal = 0.0
    """Yaw rate asked for in rad/s, of a vehicle that turns on the spot."""
    handbrake: Signal = 0.0
    """0 to 1."""
    coast: Signal = 0.0
    """1 to let go of drive and brakes, 0 else."""
    path: Path | None = None
    """What to follow, from its beginning on; None to steer as told."""
    pose: Pose | None = None
    """Where it starts; at the beginning of the path, else at the origin, if None."""
    driving: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `Driving` that differ from their defaults, numbers or (V,)."""
    disturbance: Mapping[str, Signal] = field(default_factory=dict[str, Signal])
    """Fields of the vehicle's disturbance, such as grip under each wheel."""
    road: Road | None = None
    """What it drives on; level if None."""
    rests: bool = False
    """Whether it comes to rest or starts from rest: then the integrator is one for stiff motion,
    which wheels at walking pace need."""
    run_in: s = 1.0
    """Time before zero in which the vehicle settles at its speed."""
    start: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the start state beside pose and speed."""

    __repr__ = brief_repr

    @property
    def holding(self) -> Signal:
        """Whether the speed is held."""
        if self.hold is None:
            return 0.0 if self.speed is None and self.path is None else 1.0
        return self.hold

    def over(self, signal: Signal | None, t: Array) -> Array:
        """A signal at times, (T,)."""
        if signal is None:
            return np.zeros(t.shape)
        return np.broadcast_to(signal(t) if callable(signal) else float(signal), t.shape)


def step(at: s = 0.0, rise: s = 0.0) -> Callable[[Array], Array]:
    """From 0 to 1 at a time, over a time in which it rises."""
    return lambda t: np.clip((t - at) / max(rise, 1e-12) + (0.0 if rise else 0.5), 0.0, 1.0)


def ramp(rate: float, at: s = 0.0, most: float = np.inf) -> Callable[[Array], Array]:
    """Zero until a time, then growing by a rate per second up to a largest value."""
    return lambda t: np.clip(rate * (t - at), 0.0, most)
