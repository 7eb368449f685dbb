"""The world that `skidpad serve` shows by itself: a track of cones, and things to run into."""

from __future__ import annotations

from math import atan2, cos, pi, sin
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...body import Outline
from ...plane.line import Line, smooth_loop
from ...stage import BodyShape, shape_of
from ...stage import Line as Mark
from ...units import m, rad
from ...vehicles import formula_student, wheeled
from ...world.scene.scene import (
    BlockSpec,
    Laser,
    OwnDynamics,
    Pose,
    PropertyRegion,
    Scene,
    Settings,
    Shape,
    VehicleSpec,
    WallSpec,
)
from .obstacles import BOX_SIDE, box, cone
from .pilots import KEYBOARD, PATH

_CORNERS = (
    *((-30.0, -18.0), (-8.0, -19.5), (14.0, -18.0), (31.0, -15.0), (36.5, -4.0)),
    *((27.0, 2.5), (14.0, -2.0), (4.0, -4.5), (-4.0, 2.0), (3.0, 11.0), (0.0, 19.0)),
    *((-12.0, 20.0), (-22.0, 12.5), (-33.0, 8.0), (-38.5, -5.0)),
)
"""Points of the middle of the track, against the clock."""
_WIDTH: m = 5.0
_CONES_EVERY: m = 4.5
_HALF_X, _HALF_Y, _THICK = 47.0, 29.0, 0.5
"""Of the yard around it, and its walls."""
_LEFT, _RIGHT = "#2f6fde", "#e8b90c"
_PIT = Pose(-22.0, -25.0)
"""Where the car waits: beside the straight, out of the way."""
_GAP = (-14.0, 6.0)
"""Range of x in which no cones stand between the pit and the track."""


class Playground(NamedTuple):
    """Everything an arena needs."""

    scene: Scene
    lines: tuple[Mark, ...]
    starts: dict[str, str]
    title: str


def playground() -> Playground:
    """A Formula Student car on a track of cones, another one ahead of it, a robot, boxes, ice."""
    middle = _middle()
    points: Outline = tuple((float(x), float(y)) for x, y in middle)
    scene = Scene(
        settings=Settings(timestep=0.005),
        vehicles=(
            _car("car", _PIT, lidar=True),
            _car("pace", _on(middle, 0.1)),
            _robot("robot", Pose(20.0, 14.0, yaw=pi)),
        ),
        blocks=(*_cones(middle), *_boxes()),
        walls=_walls(),
        elements=(
            PropertyRegion("friction_mu", 0.25, x_min=-44.0, x_max=-30.0, y_min=15.0, y_max=26.0),
        ),
    )
    lines = (Mark(points, "centre"),)
    return Playground(scene, lines, {"car": KEYBOARD, "pace": PATH}, "Playground")


def _middle() -> NDArray[np.float64]:
    """The middle of the track, a point every half metre, its first one again at the end."""
    points = smooth_loop(np.array(_CORNERS), 0.5)
    return np.vstack([points, points[:1]])


def _on(middle: NDArray[np.float64], share: float) -> Pose:
    """A place on the track, along it."""
    k = round(share * (len(middle) - 1))
    (x, y), (d_x, d_y) = middle[k].tolist(), (middle[k + 1] - middle[k]).tolist()
    return Pose(x, y, yaw=atan2(d_y, d_x))


def _cones(middle: NDArray[np.float64]) -> list[BlockSpec]:
    line = Line.through(middle[:-1], closed=True)
    blocks: list[BlockSpec] = []
    for side, colour, name in ((0.5, _LEFT, "left"), (-0.5, _RIGHT, "right")):
        edge = Line.through(line.beside(side * _WIDTH), closed=True)
        for x, y in edge.resampled(_CONES_EVERY).vertices.tolist():
            if not (y < -20.0 and _GAP[0] < x < _GAP[1]):
                blocks.append(cone(f"{name} {len(blocks) + 1}", x, y, colour))
    return blocks


def _boxes() -> list[BlockSpec]:
    """A wall of boxes and a heap of them."""
    pitch = BOX_SIDE + 0.02
    places = [(24.0 + pitch * row, 19.0 + pitch * (k + 0.5 * row), 0.0)
              for row in range(4) for k in range(4 - row)]  # fmt: skip
    places += [(-17.0 + 1.6 * cos(a), -4.0 + 1.6 * sin(a), a) for a in np.arange(5) * 1.2566]
    return [box(f"crate {k + 1}", x, y, yaw) for k, (x, y, yaw) in enumerate(places)]


def _car(name: str, pose: Pose, *, lidar: bool = False) -> VehicleSpec:
    scanner = Laser(
        "lidar", Pose(0.9, 0.0, 0.3), period=0.05, fov=1.5 * pi, nrays=271, max_range=25.0
    )
    return VehicleSpec(
        name,
        pose,
        OwnDynamics("formula_student"),
        _bounds(shape_of(formula_student())),
        sensors=(scanner,) if lidar else (),
    )


def _bounds(shape: BodyShape) -> Shape:
    """What a car touches others with: the box around its body and wheels."""
    x = [x for outline in shape.outlines for x, _ in outline]
    half = max(abs(w.y) + 0.5 * w.width for w in shape.wheels)
    low, high = min(x), max(x)
    box: Outline = ((low, -half), (high, -half), (high, half), (low, half))
    return Shape(box, (box,), 0.1, 1.1, "default")


def _robot(name: str, pose: Pose) -> VehicleSpec:
    """A small robot that turns on the spot."""
    described = wheeled.differential(control=wheeled.Control("twist_pid"))
    outline: Outline = described.chassis.shape
    around: rad = 2.0 * pi * 359.0 / 360.0
    return VehicleSpec(
        name,
        pose,
        described,
        Shape(outline, (outline,), 0.05, 0.6),
        sensors=(Laser("lidar", Pose(0.0, 0.0, 0.4), fov=around, nrays=180, max_range=12.0),),
    )


def _walls() -> tuple[WallSpec, ...]:
    """Four walls around the yard."""
    x, y, t = _HALF_X, _HALF_Y, _THICK
    sides = {
        "south": ((-x - t, -y - t), (x + t, -y)),
        "north": ((-x - t, y), (x + t, y + t)),
        "west": ((-x - t, -y), (-x, y)),
        "east": ((x, -y), (x + t, y)),
    }
    return tuple(
        WallSpec(
            f"{name} wall",
            (a, b),
            (c, d),
            ((a, b), (c, b), (c, d), (a, d)),
            height=1.0,
            thickness=t,
        )
        for name, ((a, b), (c, d)) in sides.items()
    )
