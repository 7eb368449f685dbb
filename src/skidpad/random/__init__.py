"""Random numbers that depend on seed, channel, run and step alone, and distributions of them."""

from .distributions import (
    Gaussian,
    GaussianDistribution,
    Joined,
    OrnsteinUhlenbeck,
    Recorded,
    Truncated,
    Uniform,
    UniformDistribution,
    by_name,
)
from .draw import Draw
from .model import NoUncertainty, UncertaintyModel, sampled
from .patches import FrictionPatches, Patch, Scatter, strip
from .streams import of_run, split

__all__ = [
    "Draw",
    "FrictionPatches",
    "Gaussian",
    "GaussianDistribution",
    "Joined",
    "NoUncertainty",
    "OrnsteinUhlenbeck",
    "Patch",
    "Recorded",
    "Scatter",
    "Truncated",
    "UncertaintyModel",
    "Uniform",
    "UniformDistribution",
    "by_name",
    "of_run",
    "sampled",
    "split",
    "strip",
]
