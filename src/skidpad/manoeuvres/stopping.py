"""How far and how hard a vehicle brakes in a drive, and whether its wheels lock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..body import Wheel
from ..units import m_s, m_s2, one
from .case_run import CaseRun
from .step_response import first_time
from .subject import Subject

__all__ = [
    "AT_REST",
    "locked_wheels",
    "locks",
    "mean_deceleration",
    "slowed_by",
    "spins",
    "stopping_distance",
]

AT_REST: m_s = 0.1
"""Speed below which a vehicle has stopped."""
LOCKED: one = 0.5
"""Share of the speed below which a wheel that still rolls counts as locked."""


def _way(run: CaseRun) -> Array:
    """Since the first sample in m, (T, V), by trapezia: exact of an even stop."""
    v = run["speed"]
    pieces = np.diff(run.t)[:, None] * 0.5 * (v[1:] + v[:-1])
    return np.concatenate([np.zeros((1, run.variants)), np.cumsum(pieces, axis=0)])


def stopping_distance(run: CaseRun) -> Array:
    """Way from the brakes to rest in m, (V,); NaN of one that did not stop."""
    kept = run.since(0.0)
    way = _way(kept)
    when = first_time(kept.t, -kept["v_x"], -AT_REST)
    return np.array(
        [np.interp(time, kept.t, way[:, k], right=np.nan) for k, time in enumerate(when)]
    )


def mean_deceleration(run: CaseRun) -> Array:
    """Mean fully developed deceleration, from 0.8 to 0.1 of the speed, in m/s², (V,)."""
    kept = run.since(0.0)
    v_0 = kept["v_x"][0]
    way = _way(kept)
    ends: list[Array] = []
    for share in (0.8, 0.1):
        when = first_time(kept.t, -kept["v_x"] / v_0, -share)
        ends.append(np.array([np.interp(time, kept.t, way[:, k]) for k, time in enumerate(when)]))
    return (0.8**2 - 0.1**2) * v_0**2 / (2.0 * (ends[1] - ends[0]))


def spins(run: CaseRun, car: Subject) -> list[Wheel]:
    """Wheels whose spin a drive tells."""
    return [wheel for wheel in car.geometry.wheels if f"spin_{wheel.name}" in run]


def locked_wheels(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether each wheel stood while the vehicle moved, (wheels, V); one that never does where
    wheels tell nothing."""
    kept = run.since(0.2)
    moving = kept["v_x"] > 3.0
    slow = [
        kept[f"spin_{wheel.name}"] * wheel.radius < LOCKED * kept["v_x"]
        for wheel in spins(kept, car)
    ]
    stood = [(moving & each).mean(axis=0) > 0.1 * moving.mean(axis=0) for each in slow]
    return np.stack(stood or [np.zeros(kept.variants, dtype=bool)])


def locks(run: CaseRun, car: Subject) -> NDArray[np.bool_]:
    """Whether any wheel did, (V,)."""
    return np.logical_or.reduce(locked_wheels(run, car), axis=0)


def slowed_by(run: CaseRun) -> m_s2:
    """Mean deceleration of the first variant from half a second after the brakes on, as long as it
    moves."""
    kept = run.since(0.5)
    v = kept["v_x"][:, 0]
    moving = np.flatnonzero(v > 0.1 * v[0])
    last = int(moving[-1]) if len(moving) else 0
    return float((v[0] - v[last]) / max(kept.t[last] - kept.t[0], 1e-9))
