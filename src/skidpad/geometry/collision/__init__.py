"""Collision: footprints of vehicles against maps and each other, at poses and along motions."""

from .checker import Checker, Footprint, between, first_contacts

__all__ = ["Checker", "Footprint", "between", "first_contacts"]
