"""Reading and checking of MVSim's world files."""

from .reader import load, loads, problems

__all__ = ["load", "loads", "problems"]
