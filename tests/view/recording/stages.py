"""Stages with something of everything, and rows for them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import skidpad
from skidpad.view.stage import Body, Channel, Disc, Grid, Line, Polygon, Scan, Stage, Wheel

Array = NDArray[np.float64]
SQUARE = ((-1.0, -0.5), (1.0, -0.5), (1.0, 0.5), (-1.0, 0.5))
ARROW = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (1.0, 0.5))
"""Not convex."""
BOW = ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0))
"""Crosses itself."""
_UNITS = {"x": "m", "y": "m", "z": "m", "F_x_fl": "N", "a_x": "m/s²", "a_y": "m/s²", "omega": "rad/s"}  # fmt: skip # noqa: E501


def _channels(body: str, names: str) -> list[Channel]:
    return [
        Channel(
            name,
            _UNITS.get(name, "rad"),
            body,
            "output" if name[:2] in ("a_", "F_") else "input" if name[:2] == "u_" else "state",
        )
        for name in names.split()
    ]


def _places(channels: list[Channel], body: str) -> dict[str, int]:
    return {c.name: k for k, c in enumerate(channels) if c.body == body}


def full_stage() -> Stage:
    """A car with steered wheels, one that tilts, a trailer, a block, and things around them."""
    channels = [
        *_channels("car", "x y yaw omega steer.left u_steer a_x a_y F_x_fl"),
        *_channels("world", "x y yaw z pitch roll omega a_x a_y"),
        *_channels("car trailer", "x y yaw"),
        *_channels("crate", "x y yaw"),
    ]
    bodies: list[Body] = []
    for name, kind in (("car", "vehicle"), ("world", "vehicle"), ("car trailer", "trailer")):
        at = _places(channels, name)
        wheels: tuple[Wheel, ...] = ()
        if name == "car":
            wheels = (
                Wheel("fl", 0.8, 0.5, 0.6, 0.2, yaw=0.1, steer=at["steer.left"]),
                Wheel("rl", -0.8, 0.5, 0.6, 0.2),
            )
        pose = (at["x"], at["y"], at["yaw"])
        bodies.append(Body(name, kind, (SQUARE,), *pose, wheels, at, model="four wheel"))
    at = _places(channels, "crate")
    shapes = (ARROW, BOW)
    bodies.append(
        Body("crate", "block", shapes, at["x"], at["y"], at["yaw"], (), at, colour="#ff8000")
    )
    return Stage(
        title="everything",
        channels=tuple(channels),
        bodies=tuple(bodies),
        scans=(
            Scan("front lidar", "car", 0.9, 0.1, 0.2, -1.0, 0.5, 5, 20.0),
            Scan("rear", "world", 0.0, 0.0, 0.0, 0.0, 0.1, 3, 8.0),
        ),
        polygons=(
            Polygon(SQUARE, "wall", "north"),
            Polygon(ARROW, "wall", "south", "#102030"),
            Polygon(SQUARE, "region"),
        ),
        lines=(Line(((0.0, 0.0), (5.0, 1.0), (9.0, 0.0)), "centre"),),
        discs=(Disc(1.0, 2.0, 0.15, "cone", "yellow"), Disc(3.0, 4.0, 0.3, "post")),
        grids=(Grid(-1.0, -2.0, 0.5, 3, 2, bytes([0, 255, 128, 255, 0, 0])),),
    )


def small_stage(names: str = "x y yaw v_x", body: str = "car") -> Stage:
    """One body."""
    channels = _channels(body, names)
    at = _places(channels, body)
    only = Body(body, "vehicle", (SQUARE,), at["x"], at["y"], at["yaw"], (), at, model="kart")
    return Stage("small", tuple(channels), (only,))


def some_rows(stage: Stage, count: int, seed: int = 1) -> Array:
    """Numbers that differ in every place."""
    return np.random.default_rng(seed).normal(size=(count, len(stage.channels)))


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays have the same numbers, to the bit, also those that are not numbers."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def surroundings() -> dict[str, str]:
    """Environment of another interpreter that finds the package and the tests."""
    folders = (Path(skidpad.__file__).parents[1], Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
