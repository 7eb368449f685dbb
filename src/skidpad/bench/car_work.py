"""The work of the group `cars`: cars on Magic Formula tyres with relaxation, and lighter ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tyres, vehicles
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..tyres.simple import LoadSensitiveTyre
from ..vehicles.parts.chassis import RollPitch
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from .tyre_work import TYRE
from .work import RK4_DT, SEED, FleetWork

CAR_SPEED = 20.0
"""Speed at the start, in m/s."""
CAR_RADAU_DT = 5e-3
"""Step of Radau in s."""


def _factory(name: str) -> Any:
    return vehicles.get(name)


CARS: dict[str, Callable[[], Vehicle]] = {
    "two_track": lambda: vehicles.two_track(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
    "full_car": lambda: _factory("full_car")(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
    "two_track.roll_pitch": lambda: vehicles.two_track(
        tyre=tyres.get(TYRE), slip=FirstOrderSlip(), chassis=RollPitch()
    ),
    "two_track.load_sensitive": lambda: vehicles.two_track(
        tyre=LoadSensitiveTyre(), slip=FirstOrderSlip()
    ),
    "two_track.sports": lambda: vehicles.two_track("sports", slip=FirstOrderSlip()),
    "single_track": lambda: vehicles.single_track(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
}
"""Each with first-order slip, and by MF 6.1 but for the simple tyre and the parameter set."""


def car(name: str) -> Vehicle:
    """A car by its name in this group."""
    return CARS[name]()


def present() -> list[str]:
    """Names of the cars that skidpad has."""
    return [name for name in CARS if name.partition(".")[0] in vehicles.names()]


def car_start(vehicle: Vehicle) -> AnyArray:
    """The car at its speed, on wheels that roll."""
    start = record.build(vehicle.State, v_x=CAR_SPEED)
    if vehicle.model.settle is not None:
        start = vehicle.model.settle(start, vehicle.params)
    return np.array(record.flatten(start))


def car_work(name: str, count: int, steps: int, checked: int) -> FleetWork:
    """`count` cars that steer within ±0.05 rad, each in its own way; without drive they coast."""
    vehicle = car(name)
    u = np.zeros((count, record.size(vehicle.Input)))
    steer = record.names(vehicle.Input).index("steer")
    u[:, steer] = np.random.default_rng(SEED).uniform(-0.05, 0.05, count)
    x0 = np.tile(car_start(vehicle), (count, 1))
    return FleetWork(vehicle, RK4_DT, steps, x0, u, min(checked, count))
