"""Collision: footprints of vehicles against maps and each other, at poses and along motions."""

from .checker import Checker
from .footprint import Footprint
from .vehicles import Contacts, between, first_contacts

__all__ = ["Checker", "Contacts", "Footprint", "between", "first_contacts"]
