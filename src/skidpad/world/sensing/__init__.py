"""The sensors of a world and their readings."""
