"""MVSim's world files: read into a `Scene`, or checked."""

from ..scene import WorldError, WorldWarning
from .reader import Options, Review, examined, load, loads, problems, reviewed

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
