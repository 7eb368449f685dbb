"""The ground of a world: heights, slopes, friction, and how vehicles stand on it."""
