"""Uncertainty: random disturbances, measurement noise and the sensors that are noisy.

A model says how a vector is distributed; what it draws comes from counter-based streams, so a run
is the same whatever else runs. See docs/uncertainty.md.
"""

from __future__ import annotations

from .draw import Draw
from .friction_patches import FrictionPatches
from .gaussian import Gaussian
from .joined import Joined, by_name
from .model import UncertaintyModel, sampled
from .mounted_sensor import MountedSensor
from .none import NoUncertainty
from .output_function import OutputFunction
from .patches import Patch, Scatter, strip
from .recorded import Recorded
from .seeds import of_run, split
from .sensor_model import SensorModel
from .state_outputs import FullStateFeedback, SelectedOutputs
from .truncated import Truncated
from .uniform import Uniform
from .upstream_names import GaussianDistribution, UniformDistribution
from .wind import OrnsteinUhlenbeck

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
