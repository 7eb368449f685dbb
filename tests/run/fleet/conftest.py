"""Vehicles and start states for rollouts."""

from __future__ import annotations

import pytest

import skidpad as sp


@pytest.fixture(scope="session")
def bicycle() -> sp.Vehicle:
    return sp.vehicles.kinematic_bicycle()


@pytest.fixture(scope="session")
def car() -> sp.Vehicle:
    return sp.vehicles.four_wheel()


@pytest.fixture(scope="session")
def fleet(bicycle: sp.Vehicle) -> sp.Fleet:
    """A fleet that is quick to compile."""
    return sp.Fleet(bicycle, dt=0.001, integrator="heun", threads=1, lanes=8)
