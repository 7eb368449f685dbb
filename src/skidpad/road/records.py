"""The record of a road: its surface and its grip."""

from __future__ import annotations

from typing import Any

from .. import record
from ..errors import InvalidValue
from ..recipes import made_once
from .grip import FullGrip
from .surfaces import FlatRoad

__all__ = ["FLAT", "record_of", "road_record", "road_type"]


@made_once
def road_type(surface: type, grip: type) -> Any:
    """The record class of roads with a class of surface and a class of grip."""
    kinds: dict[str, Any] = {"surface": surface, "grip": grip}
    # All or none, so that the fields keep their order.
    whole = all(len(kind._field_defaults) == len(kind._fields) for kind in kinds.values())
    return record.define(
        "RoadRecord",
        kinds,
        {name: kind() for name, kind in kinds.items()} if whole else None,
        docs={"surface": "How high the road is.", "grip": "How much friction it has."},
        doc="A road: how high it is and how much friction it has.",
    )


def road_record(surface: Any, grip: Any) -> Any:
    """The record of a road with a surface and a grip."""
    return road_type(type(surface), type(grip))(surface, grip)


def record_of(road: Any) -> Any:
    """The record of a road that is given as such, or as a `Road`; raises for anything else."""
    made = getattr(road, "record", road)
    if record.is_record_type(type(made)) and getattr(made, "_fields", ()) == ("surface", "grip"):
        return made
    raise InvalidValue(f"road = {road!r} must be a Road or its record")


FLAT = road_record(FlatRoad(), FullGrip())
"""Level ground with the grip on which the tyres were measured."""
