"""Worlds of vehicles: the scene a file describes, and what moves in it."""

from ..core import record
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

record.document_all()
