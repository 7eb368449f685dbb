"""Worlds of vehicles: the scene a file describes, and what moves in it."""

from . import xml
from .contact.touches import Contact, ContactEvent
from .errors import WorldError, WorldWarning
from .handle import Truth, WorldVehicle
from .motion.halts import Halt
from .scene.scene import Scene
from .world import World

__all__ = [
    "Contact",
    "ContactEvent",
    "Halt",
    "Scene",
    "Truth",
    "World",
    "WorldError",
    "WorldVehicle",
    "WorldWarning",
    "xml",
]
