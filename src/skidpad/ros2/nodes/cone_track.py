"""The track of a Formula Student car: cones, start line, and where the car starts.

Tracks of the brains2 project are CSV files that begin at the origin, along the y axis; a made-up
one is put into the same frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import atan2, hypot, pi
from pathlib import Path

import numpy as np

from ...arrays import Array
from ...body import Pose
from ...brief import brief_repr
from ...demo import track as demo
from ...errors import InvalidValue
from ...plane.maps.cones import COLOURS, read_cones
from ...plane.pose import points_to_body, points_to_world
from ...runs.laps import StartLine
from ...units import m

START = Pose(0.0, 0.0, 0.5 * pi)
"""Where every track begins."""
DEFAULT_NAME = "alpha"
_RUN_UP: m = 6.0
"""Between the start and the start line of a made-up track."""
_LINE_FILE = "_center_line"


@dataclass(frozen=True, eq=False)
class ConeTrack:
    """A track."""

    name: str
    cones: Mapping[str, Array]
    """Places (n, 2) of the cones of each colour, in m: blue ones on the left, yellow ones on the
    right, orange ones at the start line."""
    line: StartLine

    __repr__ = brief_repr


def cone_track(database: str, name: str, seed: int) -> ConeTrack:
    """A track of a folder by its name; without a folder one that is made up from a seed."""
    if database:
        return _recorded(Path(database), name or DEFAULT_NAME)
    if name:
        raise InvalidValue(
            f"track_name = {name!r} needs track_database, the folder that has {name}.csv; without "
            "both a track is made up"
        )
    return _made_up(seed)


def _recorded(folder: Path, name: str) -> ConeTrack:
    file = folder / f"{name}.csv"
    if not file.is_file():
        tracks = sorted(f.stem for f in folder.glob("*.csv") if not f.stem.endswith(_LINE_FILE))
        raise InvalidValue(
            f"track_name = {name!r}: there is no {file}; the folder has "
            f"{', '.join(tracks) or 'no tracks'}"
        )
    scene = read_cones(file, cone_radius=0.0, centre_line=None)
    colours = np.array(scene.colours)
    return _track(name, {colour: scene.cones[colours == colour] for colour in COLOURS})


@lru_cache(maxsize=8)
def _made_up(seed: int) -> ConeTrack:
    track = demo.random_track(seed)
    start = track.line.at(-_RUN_UP)[:3]
    names = {demo.BLUE: "blue", demo.YELLOW: "yellow", demo.ORANGE: "orange"}
    places: dict[str, list[tuple[m, m]]] = {colour: [] for colour in COLOURS}
    for cone in demo.cones(track):
        places[names[str(cone.colour)]].append((cone.x, cone.y))
    return _track(
        f"made up from seed {seed}",
        {
            colour: points_to_world(START, points_to_body(start, np.array(listed)))
            for colour, listed in places.items()
        },
    )


def _track(name: str, cones: Mapping[str, Array]) -> ConeTrack:
    return ConeTrack(name, cones, start_line(cones["orange"]))


def start_line(orange: Array) -> StartLine:
    """Between the orange cones nearest to the start, one on its left and one on its right."""
    left_of_start = points_to_body(START, orange)[:, 1] > 0.0
    sides = orange[left_of_start], orange[~left_of_start]
    if not all(len(side) for side in sides):
        raise InvalidValue(
            f"a track needs orange cones on both sides of its start line, seen from the start at "
            f"the origin along the y axis; there are {len(sides[0])} on the left and "
            f"{len(sides[1])} on the right"
        )
    left, right = (side[np.hypot(*(side - START[:2]).T).argmin()] for side in sides)
    across, middle = left - right, 0.5 * (left + right)
    heading = atan2(-across[0], across[1])
    return StartLine(float(middle[0]), float(middle[1]), heading, 0.5 * hypot(*across))
