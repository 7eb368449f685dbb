"""Vehicles and actors of a world in motion."""
