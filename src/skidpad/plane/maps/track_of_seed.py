"""Tracks that nobody has driven yet."""

from __future__ import annotations

from ...units import m
from .track import Track


def random_track(
    seed: int = 0,
    *,
    length: m = 300.0,
    width: m = 3.5,
    radius: m = 4.5,
    spacing: m = 0.5,
    name: str = "",
) -> Track:
    """The closed track of a seed, from the origin on and counter-clockwise.

    It has the length and width asked for, no bend of its centre line is tighter than `radius`, and
    parts that do not follow each other are at least half a width apart. By itself it is of the size
    of Formula Student's; F1TENTH's have about `length=60, width=2, radius=1, spacing=0.2`, road
    courses `length=5000, width=12, radius=15, spacing=2`. It depends on its seed and the sizes
    alone. `spacing` is about the distance between points of its centre line.
    """
    from ...random.race_track import random_track as made

    return made(seed, length, width, radius, spacing, name or f"random track {seed}")
