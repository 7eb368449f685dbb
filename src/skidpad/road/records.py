"""The record of a road: its surface and its grip."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import record
from .grip import FullGrip
from .surfaces import FlatRoad

__all__ = ["FLAT", "road_record", "road_type"]


@cache
def road_type(surface: type, grip: type) -> Any:
    """The record class of roads with a class of surface and a class of grip."""
    return record.define(
        "RoadRecord",
        {"surface": surface, "grip": grip},
        docs={"surface": "How high the road is.", "grip": "How much friction it has."},
        doc="A road: how high it is and how much friction it has.",
    )


def road_record(surface: Any, grip: Any) -> Any:
    """The record of a road with a surface and a grip."""
    return road_type(type(surface), type(grip))(surface, grip)


FLAT = road_record(FlatRoad(), FullGrip())
"""Level ground with the grip on which the tyres were measured."""
