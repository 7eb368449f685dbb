"""Ground of a world: heights, slopes, friction, and the attitude of vehicles on it."""
