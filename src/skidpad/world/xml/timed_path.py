"""Reading the path of `<controller class="trajectory">`."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..scene.vehicle import TimedPath, TimedPoint
from .fields import Fields, as_number
from .nodes import Node


def timed_path(vehicle: Fields) -> TimedPath | None:
    """The path that a vehicle follows by itself; None: it has none."""
    dynamics = vehicle.find("dynamics")
    controller = None if dynamics is None else Fields.of(dynamics).find("controller")
    if controller is None or controller.attribute("class") != "trajectory":
        return None
    return vehicle.kept(lambda: _path(controller), None)


def _path(node: Node) -> TimedPath:
    fields = Fields.of(node)
    points = sorted(_point(child) for child in fields.all("waypoint"))
    if len(points) < 2:
        raise node.error(
            f'a trajectory needs two or more <waypoint t=".." x=".." y=".."/>, got {len(points)}'
        )
    for before, after in pairwise(points):
        if before.time == after.time:
            raise node.error(f"two waypoints are at t = {after.time:g} s")
    # Both as children and as attributes, in either mode.
    path = fields.record(fields.record(TimedPath(())), attributes_of=node)
    return replace(path, points=tuple(points))


def _point(node: Node) -> TimedPoint:
    texts = {"t": node.attribute("t"), "x": node.attribute("x"), "y": node.attribute("y")}
    numbers = [as_number(node, name, text or "0") for name, text in texts.items()]
    return TimedPoint(*numbers)
