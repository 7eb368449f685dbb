"""The line of least curvature within a track."""

from __future__ import annotations

from ..arrays import Array
from ..controllers.racing_line import least_curvature
from ..plane.line import smooth_loop
from ..units import m
from .track import SPACING, Track


def racing_line(track: Track, margin: m) -> Array:
    """Points (n, 2) at equal distances, all at least `margin` from the edges."""
    room = max(track.half_width - margin, 1e-3)
    return smooth_loop(track.line.beside(least_curvature(track.line, room)), SPACING)
