"""Random numbers that depend on seed, channel, run and step alone, and distributions of them."""

from .draw import Draw
from .friction_patches import FrictionPatches
from .gaussian import Gaussian
from .joined import Joined, by_name
from .model import UncertaintyModel, sampled
from .none import NoUncertainty
from .patches import Patch, Scatter, strip
from .recorded import Recorded
from .seeds import of_run, split
from .truncated import Truncated
from .uniform import Uniform
from .upstream_names import GaussianDistribution, UniformDistribution
from .wind import OrnsteinUhlenbeck

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
