"""Worlds of vehicles: the scene that a file describes, and its simulation."""

from ..core import record
from . import xml as xml
from .scene import Laser, Pose, Scene, Settings, VehicleSpec, WorldError, WorldWarning

__all__ = ["Laser", "Pose", "Scene", "Settings", "VehicleSpec", "WorldError", "WorldWarning"]

record.document_all()
