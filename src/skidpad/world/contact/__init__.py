"""Contacts in a world: which things touch, and how they push each other."""
