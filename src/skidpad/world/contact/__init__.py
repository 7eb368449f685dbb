"""What touches what in a world, and what comes of it."""
