"""What a notebook shows of a world: a map of this moment, and its vehicles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...brief import counted
from ...stage import Stage
from ...stage.world_stage import WorldStage
from ...world.world import World
from ..figures.scenery import BLOCK, WALL, draw_bodies, draw_stage, known_colour, stage_extent
from ..layout import equal_axes, new_figure, room
from ..numbers.bodies import Placed, placed
from ..style import COLOURS
from ..words import literal
from .drawing import drawing
from .html_parts import beside, folded, heading, page, short, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS, MOST_NAMES = 12, 20
_ACTOR = "#CC79A7"


def world_html(world: World) -> str:
    """The page of a world."""
    scene = world.scene
    about = (
        f"{counted(len(world.vehicles), 'vehicle')}, {counted(len(scene.blocks), 'block')}, "
        f"t = {world.time:.3f} s, "
        f"steps of {1000.0 * world.dt:g} ms"
    )
    stage = WorldStage(world).stage
    bodies = placed(stage, moment(world, stage))
    return page(heading(stage.title, about), beside(_map(stage, bodies), _vehicles(world)))


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


def _map(stage: Stage, bodies: list[Placed]) -> str:
    """The world from above."""
    points = np.vstack([stage_extent(stage), *(o for body in bodies for o in body.outlines)])
    # Room for the names above.
    x, y = room([points[:, 0]], 0.04), room([points[:, 1]], 0.08)
    width, height = np.diff(np.array([x, y], dtype=float)).ravel()
    ratio = float(np.clip(height / width, 0.35, 1.2)) if len(points) else 1.0

    def draw(figure: Any, grid: Any) -> None:
        axes = figure.add_subplot(grid[0, 0])
        draw_stage(axes, stage)
        draw_vehicles(axes, bodies)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        equal_axes(axes, x, y)

    return drawing(stage.title, new_figure((5.6,), (5.6 * ratio,)), draw)


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


def draw_vehicles(axes: Axes, bodies: list[Placed]) -> None:
    """Bodies at a moment, vehicles in different colours and with their names if they are few."""
    vehicles = [one for one in bodies if one.body.kind == "vehicle"]
    fills = {one.body.name: COLOURS[k % len(COLOURS)] for k, one in enumerate(vehicles)}
    fills |= {one.body.name: own for one in bodies if (own := known_colour(one.body.colour))}
    kinds = {one.body.kind: WALL for one in bodies} | {"block": BLOCK, "actor": _ACTOR}
    draw_bodies(axes, bodies, kinds | fills, alpha=0.8)
    for one in vehicles if len(vehicles) <= MOST_NAMES else ():
        top = max((outline for outline in one.outlines), key=lambda o: float(o[:, 1].max()))
        axes.annotate(
            literal(one.body.name),
            (float(top[:, 0].mean()), float(top[:, 1].max())),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
            zorder=5.0,
        )
