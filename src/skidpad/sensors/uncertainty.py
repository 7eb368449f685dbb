"""Uncertainty: random disturbances, measurement noise and the sensors that are noisy.

A model says how a vector is distributed; what it draws comes from counter-based streams, so a run
is the same whatever else runs. See docs/uncertainty.md.
"""

from __future__ import annotations

from .. import random
from ..random import *  # noqa: F403
from .models import FullStateFeedback, MountedSensor, OutputFunction, SelectedOutputs, SensorModel

__all__ = [
    "FullStateFeedback",
    "MountedSensor",
    "OutputFunction",
    "SelectedOutputs",
    "SensorModel",
]
__all__ += random.__all__
