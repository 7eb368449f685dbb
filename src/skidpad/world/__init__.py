"""Worlds of vehicles: the scene a file describes, and what moves in it."""

from . import xml
from .contact.touches import Contact, ContactEvent
from .motion.groups import Halt
from .scene import Scene, WorldError, WorldWarning
from .vehicle import Truth, WorldVehicle
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
