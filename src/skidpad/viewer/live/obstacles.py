"""Obstacles that are dropped into a world while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, hypot, pi, sin

from ...errors import InvalidValue
from ...record import unknown_name
from ...units import m
from ...world.scene.scene import BlockSpec, Outline, Pose, Scene, Shape
from ...world.world import Snapshot, World

MOST = 200
"""Dropped into one world."""
CONE_RADIUS: m = 0.15
BOX_SIDE: m = 0.8
_CLEAR: m = 0.1
"""Least distance of what is dropped from what is there."""


def cone(name: str, x: m, y: m, colour: str = "#ff7f0e") -> BlockSpec:
    """A traffic cone: light, and easily pushed over the ground."""
    corners = [k * pi / 3.0 for k in range(6)]
    outline = tuple((CONE_RADIUS * cos(a), CONE_RADIUS * sin(a)) for a in corners)
    return BlockSpec(
        name,
        Pose(x, y),
        Shape(outline, (outline,), 0.0, 0.35),
        mass=1.5,
        ground_friction=0.6,
        restitution=0.1,
        color=colour,
    )


def box(name: str, x: m, y: m, yaw: float = 0.0, colour: str = "#b5803f") -> BlockSpec:
    """A box: something to push."""
    half = 0.5 * BOX_SIDE
    outline: Outline = ((-half, -half), (half, -half), (half, half), (-half, half))
    return BlockSpec(
        name,
        Pose(x, y, yaw=yaw),
        Shape(outline, (outline,), 0.0, BOX_SIDE),
        mass=12.0,
        ground_friction=0.5,
        color=colour,
    )


_KINDS = {"cone": cone, "box": box}


def dropped(world: World, kind: str, x: m, y: m, count: int) -> BlockSpec:
    """An obstacle at a place where there is nothing, as number `count` of those dropped."""
    if kind not in _KINDS:
        raise InvalidValue(unknown_name("the protocol", kind[:40], list(_KINDS), "obstacle"))
    if count >= MOST:
        raise InvalidValue(f"there are {count} dropped obstacles already; reset clears them")
    taken = {one.name for one in (*world.scene.vehicles, *world.scene.blocks, *world.scene.actors)}
    number = next(n for n in range(1, len(taken) + 2) if f"{kind} {n}" not in taken)
    block = _KINDS[kind](f"{kind} {number}", x, y)
    _check_clear(world, block)
    return block


def _check_clear(world: World, block: BlockSpec) -> None:
    """Raise if the block would stand in a vehicle or in another block that can be pushed."""
    own, x, y = block.shape.radius + _CLEAR, block.pose.x, block.pose.y
    for name, vehicle in world.vehicles.items():
        at = vehicle.truth
        if hypot(at.x - x, at.y - y) < own + vehicle.built.radius:
            raise InvalidValue(f"too near to {name} to drop something there")
    blocks = {one.name: one for one in world.scene.blocks}
    for name in world.movable:
        at = world.block(name)
        other = blocks[name].shape.radius if name in blocks else 0.5
        if hypot(at.x - x, at.y - y) < own + other:
            raise InvalidValue(f"too near to {name} to drop something there")


def with_blocks(world: World, blocks: Sequence[BlockSpec]) -> World:
    """A world with more blocks that goes on where another one is, with its parameters."""
    scene: Scene = replace(world.scene, blocks=(*world.scene.blocks, *blocks))
    grown = World(scene, seed=world.seed, on_diverge=world.on_diverge)
    grown.restore(_joined(grown.snapshot(), world.snapshot()))
    for mine, before in zip(grown.groups, world.groups, strict=True):
        mine.params[:] = before.params
    return grown


def _joined(fresh: Snapshot, kept: Snapshot) -> Snapshot:
    """A snapshot in which what is new stands as at its start and all else as it was."""
    bodies, *contacts = kept.encounters
    return kept._replace(encounters=({**fresh.encounters[0], **bodies}, *contacts))
