"""Worlds of vehicles: the scene a file describes, and what moves in it."""

from . import xml as xml
from .scene import Laser, Pose, Scene, Settings, VehicleSpec, WorldError, WorldWarning

__all__ = [
    "Laser",
    "Pose",
    "Scene",
    "Settings",
    "VehicleSpec",
    "WorldError",
    "WorldWarning",
]
