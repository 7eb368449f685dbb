"""What a notebook shows of a world: a map of this moment, and its vehicles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays import Array
from ...stage import Stage
from ...stage.world_stage import WorldStage
from ...world.world import World
from ..numbers.bodies import placed
from ..panels import COLOURS
from .html_parts import beside, folded, heading, page, short, table
from .paint_svg import drawing
from .sheet import INK, Areas, Axis, Cell, Diagram, Mark, Sheet, Words, room
from .stage_marks import BLOCK, WALL, safe_colour, still_extent, still_marks

MOST_ROWS, MOST_NAMES = 12, 20
_ACTOR = "#CC79A7"


def world_html(world: World) -> str:
    """The page of a world."""
    scene = world.scene
    about = (
        f"{len(world.vehicles)} vehicles, {len(scene.blocks)} blocks, t = {world.time:.3f} s, "
        f"steps of {1000.0 * world.dt:g} ms"
    )
    title = WorldStage(world).stage.title
    return page(heading(title, about), beside(drawing(world_sheet(world)), _vehicles(world)))


def _vehicles(world: World) -> str:
    rows: list[tuple[str, ...]] = []
    for name, motion in zip(world.vehicles, world.motion(), strict=True):
        x, y, yaw, v_x, v_y, _ = (float(value) for value in motion)
        model = world.vehicles[name].built.vehicle.name
        speed = short(float(np.hypot(v_x, v_y)))
        rows.append((name, model, short(x), short(y), short(float(np.rad2deg(yaw))), speed))
    head = ("vehicle", "model", "x [m]", "y [m]", "heading [°]", "speed [m/s]")
    if len(rows) <= MOST_ROWS:
        return table(head, rows, range(2, 6)) if rows else ""
    more = table(head, rows[MOST_ROWS:], range(2, 6))
    first = table(head, rows[:MOST_ROWS], range(2, 6))
    return first + folded(f"{len(rows) - MOST_ROWS} more vehicles", more)


def world_sheet(world: World) -> Sheet:
    """The map of a world at this moment."""
    stage = WorldStage(world).stage
    row = moment(world, stage)
    marks = [*still_marks(stage), *_body_marks(stage, row)]
    points = [o for mark in marks if isinstance(mark, Areas) for o in mark.outlines]
    every = np.vstack([still_extent(stage), *points])
    # Room for the names above.
    x, y = room([every[:, 0]], 0.04), room([every[:, 1]], 0.08)
    diagram = Diagram(
        tuple(marks),
        x=Axis("x [m]", low=x[0], high=x[1]),
        y=Axis("y [m]", low=y[0], high=y[1]),
        equal=True,
        legend="none",
    )
    ratio = 1.0
    if None not in (*x, *y):
        ratio = float(np.clip((y[1] - y[0]) / (x[1] - x[0]), 0.35, 1.2))  # type: ignore[operator]
    return Sheet((Cell(diagram, 0, 0),), (5.6,), (5.6 * ratio,), title=stage.title)


def moment(world: World, stage: Stage) -> Array:
    """A row of the stage with the places and states of this moment; what would have to be computed
    is NaN."""
    row = np.full(len(stage.channels), np.nan)
    for group in world.groups:
        for k, name in enumerate(group.names):
            for field, at in stage.body(name).channels.items():
                if field in group.fields:
                    row[at] = group.column(field)[k]
    for name in world.movable:
        body = stage.body(name)
        row[[body.x, body.y, body.yaw]] = world.block(name)[:3]
    return row


def _body_marks(stage: Stage, row: Array) -> Iterable[Mark]:
    found = placed(stage, row)
    vehicles = [one for one in found if one.body.kind == "vehicle"]
    colours = {one.body.name: COLOURS[k % len(COLOURS)] for k, one in enumerate(vehicles)}
    for one in found:
        own = {"block": BLOCK, "actor": _ACTOR}.get(one.body.kind, WALL)
        fill = safe_colour(one.body.colour) or colours.get(one.body.name, own)
        yield Areas(one.outlines, fill=fill, edge=INK, opacity=0.8, width=0.6)
        if one.wheels:
            yield Areas(one.wheels, fill=INK)
    for one in vehicles if len(vehicles) <= MOST_NAMES else ():
        top = max((outline for outline in one.outlines), key=lambda o: float(o[:, 1].max()))
        x, y = float(top[:, 0].mean()), float(top[:, 1].max())
        yield Words(x, y, one.body.name, side="above")
