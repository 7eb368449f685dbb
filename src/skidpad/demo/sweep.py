"""Many cars on the skidpad, each with its own grip: the driver compiled into the fleet."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import record, vehicles
from ..arrays import Array
from ..model import Vehicle
from ..run.fleet import Fleet
from ..units import m_s2, per_s, s
from . import driver
from .figure_of_eight import LANE_WIDTH, distance

DT: s = 0.004
"""Step of the fleet, by an explicit method."""
WAYS = ("lateral", "longitudinal")
SAMPLES_EVERY = 12
"""Steps between the states that are looked at."""


class Sweep(NamedTuple):
    """How many cars with different grip fared over a lap."""

    grip: Array
    """Friction of each car as a share of the standard tyre's."""
    kept: NDArray[np.bool_]
    """Whether all wheels of each car stayed in the lane."""
    duration: s
    """Simulated time of each car."""
    rate: per_s
    """Steps of all cars together per second of wall time, decisions of the drivers included."""

    def sentence(self) -> str:
        """How many kept their lane, and how fast that was found out."""
        low, high = 100.0 * self.grip.min(), 100.0 * self.grip.max()
        count = int(self.kept.sum())
        who = {0: "none", len(self.kept): "all"}.get(count, f"{count}")
        if 0 < count < len(self.kept):
            who += f", all of those above {100.0 * float(self.grip[~self.kept].max()):.0f} %,"
        return (
            f"of {len(self.grip)} cars with {low:.0f} to {high:.0f} % grip {who} kept their lane "
            f"({self.rate / 1e6:.1f} million steps/s)"
        )


def gripping(car: Vehicle, grip: Array) -> dict[str, Array]:
    """Parameters of cars whose tyres have these shares of their friction, along and across."""
    laws = {f"tyres.tyre.{way}.D": getattr(car.params.tyres.tyre, way) for way in WAYS}
    return {name: grip * law.D for name, law in laws.items()}


def sweep(cars: int, least_grip: float, a_lateral: m_s2, car: Vehicle | None = None) -> Sweep:
    """Let `cars` cars with friction from `least_grip` to 1 times the standard drive a lap each."""
    car = vehicles.formula_student() if car is None else car
    params = driver.driver_of(car.params, a_lateral)
    # A car that slid off and went on to diverge is one that did not keep its lane.
    fleet = Fleet(car, DT, "rk4", on_diverge="mask")
    policy = driver.driven_by(params)
    standing = np.zeros((cars, record.size(car.State)))
    fleet.rollout(standing[:1], steps=1, policy=policy)  # compiles
    grip = np.linspace(least_grip, 1.0, cars)
    samples = round(driver.duration(params, laps=1) / (DT * SAMPLES_EVERY))
    steps = samples * SAMPLES_EVERY
    begin = time.perf_counter()
    states = fleet.rollout(
        standing,
        policy=policy,
        steps=steps,
        every=SAMPLES_EVERY,
        params=gripping(car, grip),
    )
    wall_time = time.perf_counter() - begin
    x, y = (states[..., record.names(car.State).index(name)] for name in ("x", "y"))
    room = 0.5 * (LANE_WIDTH - car.params.track_f)
    kept = (distance(x, y, params.eight) <= room).all(axis=0)
    return Sweep(grip, kept, steps * DT, cars * steps / wall_time)
