"""Vehicles that may be stepped too far, for tests of what happens then."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import skidpad as sp


def unrefused(vehicle: sp.Vehicle) -> sp.Vehicle:
    """The same vehicle, whose unstable steps are warned about and not refused."""
    return replace(vehicle, model=replace(vehicle.model, reproduces="a program", exempt={}))


def unstable_simulator(vehicle: sp.Vehicle, dt: float, integrator: str, **o: Any) -> sp.Simulator:
    """A simulator that will end in infinity."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sp.Simulator(unrefused(vehicle), dt, integrator, **o)


def unstable_fleet(vehicle: sp.Vehicle, dt: float, integrator: str, **o: Any) -> sp.Fleet:
    """A fleet that will."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sp.Fleet(unrefused(vehicle), dt, integrator, **o)
