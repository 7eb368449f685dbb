"""MVSim's world files: read into a `Scene`, or checked."""

from .reader import load, loads, problems

__all__ = ["load", "loads", "problems"]
