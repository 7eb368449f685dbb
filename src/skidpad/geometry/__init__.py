"""Geometry in the plane: lines, polygons, maps, rays and collisions; and the globe it lies on."""
