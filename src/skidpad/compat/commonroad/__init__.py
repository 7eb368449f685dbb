"""Simulation: a vehicle under uncertainty, nominal and perturbed; see docs/simulation.md."""

from .simulation import Setup, Simulation

__all__ = ["Setup", "Simulation"]
