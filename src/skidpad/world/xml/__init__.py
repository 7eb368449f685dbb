"""MVSim's world files: read into a `Scene`, or checked."""

from ..errors import WorldError, WorldWarning
from .load import Options, Review, examined, load, loads, problems, reviewed

__all__ = [
    "Options",
    "Review",
    "WorldError",
    "WorldWarning",
    "examined",
    "load",
    "loads",
    "problems",
    "reviewed",
]
