"""Simulation: a vehicle under uncertainty, nominal and perturbed; see docs/simulation.md."""

from ...core import record
from .scenario import Lane, Obstacle, Scenario, read_scenario
from .simulation import Setup, Simulation

__all__ = ["Lane", "Obstacle", "Scenario", "Setup", "Simulation", "read_scenario"]

record.document_all()
