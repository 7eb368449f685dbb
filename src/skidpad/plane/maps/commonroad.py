"""Road boundaries from CommonRoad scenarios, read by `commonroad-io`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from ...checks import one_of
from ...errors import InvalidValue
from ...extras import require
from ...files import path_of, regular_file
from ..polygon import line_of
from .map import Map, from_shapes

Boundaries = Literal["road", "lanelets"]
BOUNDARIES = ("road", "lanelets")


def read_commonroad(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Map:
    """The boundaries of the lanelets of a scenario as walls.

    "road" leaves out those between adjacent lanelets, which are markings to drive over; "lanelets"
    takes them all. Where lanelets cross, as on junctions, their boundaries cross too.
    """
    file = path_of(path)
    one_of("boundaries", boundaries, BOUNDARIES)
    return road_of(file, opened(file)[0], boundaries)


def opened(file: Path) -> tuple[Any, Any]:
    """The scenario and the planning problems in a file, as CommonRoad's own objects."""
    reader = require("commonroad.common.file_reader", purpose=f"Reading {file}")
    regular_file(file)
    try:
        return reader.CommonRoadFileReader(str(file)).open()
    # The reader lets out whatever its parsers and checks raise, assertions included.
    except Exception as error:
        raise InvalidValue(f"{file} is not a CommonRoad scenario: {error!r}") from error


def road_of(file: Path, scenario: Any, boundaries: Boundaries) -> Map:
    """The boundaries of the lanelets of a scenario as walls; see `read_commonroad`."""
    one_of("boundaries", boundaries, BOUNDARIES)
    lanelets = list(scenario.lanelet_network.lanelets)
    if not lanelets:
        raise InvalidValue(f"{file} has no lanelets")
    lines = [line for lanelet in lanelets for line in _walls(file, lanelet, boundaries)]
    return from_shapes([], lines, inside="solid", name=file.stem)


def _walls(file: Path, lanelet: Any, boundaries: Boundaries) -> list[Any]:
    sides = (
        ("left", lanelet.left_vertices, lanelet.adj_left),
        ("right", lanelet.right_vertices, lanelet.adj_right),
    )
    return [
        line_of(f"{file}, lanelet {lanelet.lanelet_id}, {side} boundary", vertices[:, :2])
        for side, vertices, neighbour in sides
        if boundaries == "lanelets" or neighbour is None
    ]
