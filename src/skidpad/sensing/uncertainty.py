"""Uncertainty: random disturbances, measurement noise and the sensors that are noisy.

A model says how a vector is distributed; what it draws comes from counter-based streams, so a run
is the same whatever else runs. See docs/uncertainty.md.
"""

from __future__ import annotations

from ..random.draw import Draw
from ..random.friction_patches import FrictionPatches
from ..random.gaussian import Gaussian
from ..random.joined import Joined, by_name
from ..random.model import UncertaintyModel, sampled
from ..random.none import NoUncertainty
from ..random.patches import Patch, Scatter, strip
from ..random.recorded import Recorded
from ..random.seeds import of_run, split
from ..random.truncated import Truncated
from ..random.uniform import Uniform
from ..random.upstream_names import GaussianDistribution, UniformDistribution
from ..random.wind import OrnsteinUhlenbeck
from .mounted_sensor import MountedSensor
from .output_function import OutputFunction
from .sensor_model import SensorModel
from .state_outputs import FullStateFeedback, SelectedOutputs

__all__ = [
    "Draw",
    "FrictionPatches",
    "FullStateFeedback",
    "Gaussian",
    "GaussianDistribution",
    "Joined",
    "MountedSensor",
    "NoUncertainty",
    "OrnsteinUhlenbeck",
    "OutputFunction",
    "Patch",
    "Recorded",
    "Scatter",
    "SelectedOutputs",
    "SensorModel",
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
