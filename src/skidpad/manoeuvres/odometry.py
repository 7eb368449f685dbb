"""The way of a robot: where it went, and where its wheels say it went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from .case_run import CaseRun
from .signals import params_of
from .subject import Subject

__all__ = ["Track", "told_by_wheels", "track_of"]


@dataclass(frozen=True, eq=False)
class Track:
    """Pose of the middle of the wheels over time from where it was, each (T, V)."""

    label: str
    x: Array
    """Along the vehicle as it stood at the start, in m."""
    y: Array
    """To the left of it, in m."""
    yaw: Array
    """In rad, not wrapped."""

    @property
    def distance(self) -> Array:
        """From the start, in m."""
        return np.hypot(self.x, self.y)

    @property
    def travelled(self) -> Array:
        """Length of the way, in m."""
        steps = np.hypot(np.diff(self.x, axis=0), np.diff(self.y, axis=0))
        return np.concatenate([np.zeros_like(self.x[:1]), np.cumsum(steps, axis=0)])


def track_of(car: Subject, run: CaseRun) -> Track:
    """Where it went, from time zero on."""
    kept = run.since(0.0)
    com = car.geometry.centre_of_mass
    ahead, aside = _middle(car) - com[0], -com[1]
    c, s = np.cos(kept["yaw"]), np.sin(kept["yaw"])
    x, y = kept["x"] + ahead * c - aside * s, kept["y"] + ahead * s + aside * c
    return _from_start(run.label, x, y, kept["yaw"])


def told_by_wheels(car: Subject, run: CaseRun) -> Track:
    """Where its wheels say it went: dead reckoning with `Body.odometry`, sample by sample."""
    vehicle, kept = car.vehicle, run.since(0.0)
    assert vehicle.body.odometry is not None
    assert kept.states is not None
    assert kept.inputs is not None
    x = record.unflatten(vehicle.State, list(np.moveaxis(kept.states, -1, 0)))
    u = record.unflatten(vehicle.Input, list(np.moveaxis(kept.inputs, -1, 0)))
    told: Any = vehicle.body.odometry(x, u, params_of(vehicle, car.params))
    middle = _middle(car)
    v_x, v_y, omega = (np.broadcast_to(part, kept["yaw"].shape) for part in told)
    yaw = kept["yaw"][:1] + _summed(kept.t, omega)
    c, s = np.cos(yaw), np.sin(yaw)
    v_y = v_y + middle * omega
    way = _summed(kept.t, v_x * c - v_y * s), _summed(kept.t, v_x * s + v_y * c)
    return _from_start(run.label, *way, yaw)


def _middle(car: Subject) -> float:
    """Where the middle of the wheels is, forward of the reference point."""
    return 0.5 * (car.geometry.front_axle + car.geometry.rear_axle)


def _summed(t: Array, rate: Array) -> Array:
    """Integral from the first sample on, by trapezia."""
    parts = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)[:, None]
    return np.concatenate([np.zeros_like(rate[:1]), np.cumsum(parts, axis=0)])


def _from_start(label: str, x: Array, y: Array, yaw: Array) -> Track:
    """Seen from the pose at the start."""
    c, s = np.cos(yaw[:1]), np.sin(yaw[:1])
    x, y = x - x[:1], y - y[:1]
    return Track(label, c * x + s * y, c * y - s * x, yaw - yaw[:1])
