"""Motion of the vehicles and actors of a world."""
