"""Takes down where everything is while a world runs, for metrics."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from ..arrays import Array
from ..body import Outline
from ..plane.outline import hull
from ..world.contact.touches import ContactEvent
from ..world.world import World
from .world_metrics import WorldRun

CORNERS = 8
"""Of the outline of an actor, as contacts have it."""


class RunLog:
    """The log of one run: `sample()` after every step, `run()` at the end.

    Events of contacts are taken out of the world, where they would be dropped when there are many.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        scene, moving = world.scene, world.movable
        self._t: list[float] = []
        self._motion: list[Array] = []
        self._moving: dict[str, list[tuple[float, ...]]] = {name: [] for name in moving}
        self._events: list[ContactEvent] = []
        still = [block for block in scene.blocks if block.name not in moving]
        self.places = {
            **{block.name: np.array([[*block.pose[:2], block.pose.yaw]]) for block in still},
            **{wall.name: np.zeros((1, 3)) for wall in scene.walls},
            **{name: np.empty((0, 3)) for name in moving},
        }
        """Of all things but vehicles."""
        self.sample()

    def sample(self) -> None:
        """Take down this moment."""
        world = self._world
        self._t.append(world.time)
        self._motion.append(world.motion(in_world=False))
        for name, places in self._moving.items():
            places.append(tuple(world.block(name)[:3]))
        if world.contact_events:
            self._events += world.contact_events
            world.contact_events.clear()

    def run(self) -> WorldRun:
        """All that was taken down."""
        motion = np.stack(self._motion)
        vehicles = {name: motion[:, k] for k, name in enumerate(self._world.vehicles)}
        moved = {name: np.array(places) for name, places in self._moving.items()}
        places = {**self.places, **moved}
        return WorldRun(np.array(self._t), vehicles, places, self._outlines(), tuple(self._events))

    def _outlines(self) -> dict[str, Outline]:
        scene = self._world.scene
        outlines = {
            name: _outline(v.built.geometry.outlines) for name, v in self._world.vehicles.items()
        }
        outlines |= {block.name: block.shape.outline for block in scene.blocks}
        outlines |= {wall.name: wall.outline for wall in scene.walls}
        return outlines | {actor.name: _circle(actor.collision_radius) for actor in scene.actors}


def _outline(parts: tuple[Outline, ...]) -> Outline:
    """Of a vehicle; around all of its parts where it has several."""
    return parts[0] if len(parts) == 1 else hull([corner for part in parts for corner in part])


def _circle(r: float) -> Outline:
    angles = (2.0 * pi * k / CORNERS for k in range(CORNERS))
    return tuple((r * cos(a), r * sin(a)) for a in angles)
