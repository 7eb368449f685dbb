"""What upstream's program does otherwise: `simulator_2d` of robotics-laboratory/truck, 332ff42.

Used under compat="upstream" only. docs/errata.md has the list, with the evidence.
"""

from .clock import TruncatingClock
from .imu import imu
from .surroundings import UpstreamSurroundings
from .walls import load

__all__ = ["TruncatingClock", "UpstreamSurroundings", "imu", "load"]
