"""Random numbers that depend on seed, channel, run and step alone, and distributions of them."""

from .distributions import (
    Gaussian,
    Joined,
    OrnsteinUhlenbeck,
    Recorded,
    Truncated,
    Uniform,
    by_name,
)
from .model import NoUncertainty, UncertaintyModel
from .patches import FrictionPatches, Scatter
from .streams import Draw, of_run

__all__ = [
    "Draw",
    "FrictionPatches",
    "Gaussian",
    "Joined",
    "NoUncertainty",
    "OrnsteinUhlenbeck",
    "Recorded",
    "Scatter",
    "Truncated",
    "UncertaintyModel",
    "Uniform",
    "by_name",
    "of_run",
]
