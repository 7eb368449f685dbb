"""Scans that a GPU must repeat bit by bit.

`python tests/geometry/raycast/cuda_cases.py` stores them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from geometry.raycast import plain_rays
from skidpad.geometry.maps import Grid
from skidpad.geometry.raycast import Scene

FILE = Path(__file__).parents[2] / "data" / "raycast" / "scans.npz"
ANGLES = np.linspace(-2.5, 2.5, 121)
LIMIT = 9.0


class Case(NamedTuple):
    """Walls, cells of a grid of 0.25 m (or none), what moves, poses and what they see."""

    walls: np.ndarray
    cells: np.ndarray
    movers: np.ndarray
    poses: np.ndarray
    ranges: np.ndarray

    @property
    def scene(self) -> Scene:
        origin = (1.0, -2.0, 0.3)
        return Scene(self.walls, Grid(self.cells, 0.25, origin) if self.cells.size else None)

    def scanned(self) -> np.ndarray:
        return self.scene.scan(self.poses, ANGLES, max_range=LIMIT, movers=self.movers)


def stored() -> dict[str, Case]:
    with np.load(FILE) as file:
        names = sorted({key.partition(".")[0] for key in file})
        return {n: Case(*(file[f"{n}.{field}"] for field in Case._fields)) for n in names}


def made() -> dict[str, Case]:
    """The cases, with ranges of this machine."""
    rng = np.random.default_rng(12)
    none = np.zeros((0, 0), bool)
    cells = rng.uniform(size=(60, 70)) < 0.04
    cars = plain_rays.clutter(6, seed=2)[4:]
    # On a wall, at a corner, in line with a wall, outside, far outside, at no place.
    special = [(10.0, 0.0, 0.1), (0.0, 0.0, 1.0), (25.0, 20.0, -3.1), (1e8, 3.0, 3.1)]
    poses = np.concatenate([plain_rays.poses(12), special])
    each = np.stack([np.roll(cars, b, axis=0) for b in range(len(poses))])
    givens = {
        "few": (plain_rays.clutter(4), none, np.empty((0, 4)), poses),
        "many": (plain_rays.clutter(400), none, cars, poses),
        "grid": (plain_rays.clutter(3)[4:], cells, np.empty((0, 4)), poses),
        "movers": (plain_rays.clutter(20), none, each, poses),
    }
    cases = {name: Case(*given, ranges=np.empty(0)) for name, given in givens.items()}
    return {name: case._replace(ranges=case.scanned()) for name, case in cases.items()}


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    arrays = {f"{n}.{f}": v for n, case in made().items() for f, v in case._asdict().items()}
    np.savez_compressed(FILE, **arrays)
