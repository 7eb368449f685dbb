"""Where a page drives: what there is to see, what stands in the way, where the vehicle starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ... import record
from ...body import Outline, Pose, Velocity, body_of
from ...brief import brief_repr
from ...errors import InvalidValue
from ...model import Vehicle
from ...plane.maps.track import Track
from ...run.start import check_start, consistent
from ...stage import BodyShape, Line, shape_of
from ...stage.episode_stage import lines_of
from ...stage.relief import relief_of, road_box
from ...stage.road_attitude import road_under
from ...stage.standing import shown_grid, still_life
from ...units import m, s
from ...world.motion.groups import LONGEST_SUBSTEP
from ...world.motion.overlaps import solids
from ...world.scene.scene import PropertyRegion, Scene
from ...world.world import World

SIZE_OF_TRACKS: m = 1.57
"""Wheelbase of the car that random tracks are made for; for others they grow with theirs."""
_CIRCLE = tuple((math.cos(a), math.sin(a)) for a in (np.arange(16) * np.pi / 8.0).tolist())


@dataclass(frozen=True)
class Standing:
    """A body that stays where it is."""

    name: str
    kind: str
    """As of `stage.Body`."""
    shape: BodyShape
    pose: Pose
    angles: Mapping[str, float] = field(default_factory=dict[str, float])
    """Of what it tows, by the fields of its state."""
    colour: str = ""
    model: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Solid:
    """What stops the vehicle that touches it."""

    name: str
    points: Outline
    """Corners in the world, in m."""
    closed: bool = True
    """Whether the last is followed by the first."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Place:
    """A vehicle and its surroundings as a page has them."""

    title: str
    name: str
    """Of the vehicle in the picture."""
    vehicle: Vehicle
    start: Any
    """State record at the start, as `Simulator.reset` takes it."""
    still: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Lines, polygons, grids and so on by the fields of `Stage`."""
    standing: Sequence[Standing] = ()
    solids: Sequence[Solid] = ()
    notes: Sequence[str] = ()
    """What the surroundings have and the page has not."""
    dt: s | None = None
    """The step that goes with it, and how it is made; None where all are alike."""
    integrator: str | None = None
    substeps: int | None = None

    __repr__ = brief_repr

    @property
    def settled(self) -> Any:
        """The start as `Simulator.reset` makes it consistent."""
        vehicle, start = self.vehicle, self.start
        check_start(vehicle, start)
        return consistent(vehicle.model, start, vehicle.params, start, ())


def plane_place(vehicle: Vehicle) -> Place:
    """An empty plane, or the road that is among the parameters of the vehicle."""
    road = road_under(vehicle)
    relief = None if road is None else relief_of(road, road_box(road, np.zeros((1, 2))))
    still = {} if relief is None else {"reliefs": (relief,)}
    return Place(vehicle.name, vehicle.name, vehicle, record.build(vehicle.State), still)


def track_place(vehicle: Vehicle, track: Track) -> Place:
    """A vehicle at the beginning of a track whose walls stop it."""
    body = body_of(vehicle, "a page that drives")
    (x, y), (ahead_x, ahead_y) = track.centre[0].tolist(), track.centre[1].tolist()
    pose = Pose(x, y, math.atan2(ahead_y - y, ahead_x - x))
    still_there = Velocity(0.0, 0.0, 0.0)
    start = body.placed(record.build(vehicle.State), pose, still_there, vehicle.params)
    points = [*track.centre.tolist(), *(track.centre[:1].tolist() if track.closed else ())]
    centre = Line(tuple((float(a), float(b)) for a, b in points), "centre")
    grids = () if track.grid is None else (shown_grid(track.grid),)
    return Place(
        f"{vehicle.name} on {track.name}",
        vehicle.name,
        vehicle,
        start,
        still={"lines": (centre, *lines_of(track.walls)), "grids": grids},
        solids=[
            Solid("the border", ((x0, y0), (x1, y1)), closed=False)
            for x0, y0, x1, y1 in track.walls.tolist()
        ],
    )


def track_of(text: str, vehicle: Vehicle) -> Track:
    """The track of a file, or of a seed in the size of a vehicle."""
    from ...plane.maps import random_track, read_track

    if text.isdecimal():
        size = max(vehicle.geometry.wheel_base / SIZE_OF_TRACKS, 0.1)
        return random_track(
            int(text), length=300.0 * size, width=3.5 * size, radius=4.5 * size, spacing=0.5 * size
        )
    if not Path(text).is_file():
        raise InvalidValue(f"track = {text!r} must be a file with a track, or a whole number: the "
                           "seed of a random one")  # fmt: skip
    return read_track(text)


def world_place(
    scene: Scene, name: str | None = None, *, lines: Sequence[Line] = (), title: str = ""
) -> Place:
    """A vehicle of a world among what is there at the start; the first one if none is named."""
    names = [spec.name for spec in scene.vehicles]
    if not names:
        raise InvalidValue(f"{scene.file or 'the world'} has no vehicle: there is nothing to drive")
    chosen = names[0] if name is None else name
    if chosen not in names:
        raise InvalidValue(record.unknown_name("the world", chosen, names, "vehicle"))
    world = World(scene)
    handle = world.vehicles[chosen]
    built = {name: vehicle.built for name, vehicle in world.vehicles.items()}
    obstacles = (one for one in solids(scene, built) if one.name != chosen and not one.climbed)
    continuous = handle.vehicle.model.continuous
    return Place(
        title or Path(scene.file).name.split(".")[0] or "world",
        chosen,
        handle.vehicle,
        handle.state,
        still={**still_life(scene), "lines": tuple(lines)},
        standing=[*_standing_vehicles(world, chosen), *_standing_things(world)],
        solids=[
            Solid(one.name, tuple((float(x), float(y)) for x, y in piece.tolist()))
            for one in obstacles
            for piece in one.pieces
        ],
        notes=_not_there(world, chosen),
        dt=world.dt,
        integrator="rk4" if continuous else None,
        substeps=math.ceil(world.dt / LONGEST_SUBSTEP - 1e-9) if continuous else None,
    )


def _standing_vehicles(world: World, chosen: str) -> Iterator[Standing]:
    for name, handle in world.vehicles.items():
        if name != chosen:
            vehicle = handle.vehicle
            leaves = zip(record.names(vehicle.State), record.flatten(handle.state), strict=True)
            angles = {leaf: float(value) for leaf, value in leaves}
            pose = Pose(*(float(v) for v in vehicle.body.pose(handle.state, vehicle.params)))
            yield Standing(name, "vehicle", shape_of(vehicle), pose, angles, model=vehicle.name)


def _standing_things(world: World) -> Iterator[Standing]:
    blocks = {block.name: block for block in world.scene.blocks}
    actors = {actor.name: actor for actor in world.scene.actors}
    for name in world.movable:
        x, y, yaw = (float(value) for value in world.block(name)[:3])
        if name in blocks:
            outline = tuple((float(a), float(b)) for a, b in blocks[name].shape.outline)
            kind, colour = "block", blocks[name].color
        else:
            r = actors[name].collision_radius
            outline, kind, colour = tuple((r * a, r * b) for a, b in _CIRCLE), "actor", ""
        yield Standing(name, kind, BodyShape((outline,)), Pose(x, y, yaw), colour=colour)


def _not_there(world: World, chosen: str) -> list[str]:
    """Sentences on what a world has and a page has not."""
    scene, notes = world.scene, list[str]()
    if len(scene.vehicles) > 1:
        notes.append("the other vehicles stand still")
    if any(spec.sensors for spec in scene.vehicles if spec.name == chosen):
        notes.append("there are no sensors")
    if world.movable:
        notes.append("what could be pushed stops the vehicle instead")
    if any(chosen in (joint.body_a, joint.body_b) for joint in scene.joints):
        notes.append("what is joined to the vehicle stays behind")
    if world.uneven and scene.road is None:
        notes.append("the ground is level")
    regions = (e for e in scene.elements if isinstance(e, PropertyRegion))
    if any(region.name.startswith("friction") for region in regions):
        notes.append("the grip is the same everywhere")
    return notes
