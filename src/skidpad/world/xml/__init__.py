"""MVSim's world files: read into a `Scene`, or checked."""

from ..errors import WorldError, WorldWarning
from .load import Options, examined, load, loads, problems

__all__ = ["Options", "WorldError", "WorldWarning", "examined", "load", "loads", "problems"]
