"""Worlds of vehicles: the scene a file describes, and what moves in it."""
