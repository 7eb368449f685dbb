"""A page that drives a vehicle without a server, as one self-contained file.

`skidpad html --drive` writes it. The page itself has no equation of a vehicle: what steps it, what
keys ask of it, where it is and how it comes to rest are the functions that the rest of the package
uses, traced as Programs of one module. A `Place` says what there is to see, what stands in the way
and where the vehicle starts. Recordings that the page writes are templates of MCAP records with
slots for numbers, so that it needs to know neither protobuf nor which topics there are.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ...compile.program import Port, Program
from ...compile.trace import trace
from ...control.car import Abilities, abilities_of
from ...control.keyboard import Axes, Memory, demand_of_keys, demand_to_stop
from ...core import record
from ...core.arrays import Array, ArrayNumber
from ...core.body import Outline, Pose, Trailer, Velocity, body_of
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue, require_extras
from ...export.exported import Export
from ...export.webassembly import LOADER, modules_of
from ...geometry.maps.track import Track
from ...geometry.pose import towed
from ...integrate.base import Integrator, as_written
from ...ops import where
from ...run.arguments import check_start, make_consistent
from ...run.delay import DelayLine
from ...units import m, s
from ...world.motion.build import solids
from ...world.motion.groups import LONGEST_SUBSTEP
from ...world.scene import PropertyRegion, Scene
from ...world.world import World
from ..live.arena import known_tunables
from ..recording.mcap import encode_records, libraries, with_checksum
from ..recording.messages import Message, message_record
from ..recording.recorder import SHOWN_RATE, STILL_PERIOD
from ..recording.topics import FORMAT, NOTES, RECORDING, Topics
from ..stage import (
    POSE,
    POSE_NAMES,
    Body,
    BodyShape,
    ComputedMotion,
    Line,
    Named,
    Rows,
    Stage,
    Trailers,
    named_channels,
    relief_of,
    road_box,
    road_under,
    shape_of,
    shown_grid,
    still_life,
    vehicle_body,
)
from ..stages import lines_of
from . import page as page_files


def recording_templates(stage: Stage, meta: Mapping[str, Any]) -> dict[str, Any]:
    """The templates of a stage as JSON values; `meta` is noted in every recording."""
    from ... import __version__

    program = f"skidpad {__version__}"
    topics = Topics(stage)
    plain = json.dumps(stage.to_json(), ensure_ascii=False, separators=(",", ":"))
    about = {"format": str(FORMAT), "program": program, "stage": plain}
    notes = {"notes": json.dumps(dict(meta), ensure_ascii=False)}
    metadata = {RECORDING: about, NOTES: notes}
    records = libraries.records
    rotations = topics.rotations

    def text(record: Any) -> str:
        return page_files.base64_text(encode_records(record))

    return {
        "header": text(records.Header("", program)),
        "schemas": list(map(text, topics.schemas)),
        "channels": list(map(text, topics.channels)),
        "metadata": [
            [name, text(records.Metadata(name, with_checksum(name, values)))]
            for name, values in metadata.items()
        ],
        "notes": NOTES,
        "states": _messages(topics.states),
        "motion": _messages(topics.motion),
        "still": _messages(topics.still),
        "upright": [list(pair) for pair in rotations.upright_angles],
        "tilted": [list(angles) for angles in rotations.tilted_angles],
        "shown_rate": SHOWN_RATE,
        "still_period": STILL_PERIOD,
    }


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Channel, bytes of the record, and slots as [offset, source, column]."""
    described: list[dict[str, Any]] = []
    for channel, template in messages:
        record = message_record(channel, template)
        slots = [list(slot) for slot in record.slots]
        described.append(
            {"channel": channel, "record": page_files.base64_text(record.data), "slots": slots}
        )
    return described


VELOCITY = Velocity._fields


def programs_of(exported: Export) -> dict[str, Program]:
    """The Programs of a page by name, lowered.

    `step`, `outputs` and, where the model has one, `settle` are those of the simulator. `command`
    makes an input of keys: x, u, p, the axes, what is remembered, the period of the steps, whether
    the keys are held and the parameters of the start (`p_start`: a heavier car is driven
    alike) to the port `command` and what is remembered. `motion` is x, u and p to pose, velocity
    and the poses of what is towed; `rest` puts the vehicle to rest at the pose in that port.
    """
    vehicle = exported.vehicle
    programs = {
        "step": exported.step,
        "outputs": exported.outputs,
        "command": exported.finish(command_program(vehicle, abilities_of(vehicle))),
        "motion": exported.finish(motion_program(vehicle)),
        "rest": exported.finish(rest_program(vehicle)),
    }
    if exported.settle is not None:
        programs["settle"] = exported.settle
    return programs


def command_program(vehicle: Vehicle, can: Abilities) -> Program:
    """The input for keys, whether they are held or not."""
    body = body_of(vehicle, "a page that drives")

    def function(x: Any, u: Any, p: Any, p_start: Any, axes: Any, memory: Any, how: Any) -> Any:
        keys, before, (period, held) = Axes(*axes), Memory(*memory), how
        now = body.velocity(x, u, p)
        driven, driven_memory = demand_of_keys(keys, before, now, can, period)
        stopped, stopped_memory = demand_to_stop(before, now, can, period)
        demand = _chosen(held, driven, stopped)
        after = _chosen(held, driven_memory, stopped_memory)
        return record.flatten(body.command(x, demand, p_start)), tuple(after)

    inputs = (
        Port("p_start", record.names(vehicle.model.Params)),
        Port("axes", Axes._fields),
        Port("memory", Memory._fields),
        Port("driver", ("period", "held")),
    )
    outputs = (Port("command", record.names(vehicle.Input)), Port("memory", Memory._fields))
    return _trace(vehicle, "command", function, inputs, outputs)


def motion_program(vehicle: Vehicle) -> Program:
    """Where the vehicle is, how it moves, and where what it tows is."""
    body, trailers = body_of(vehicle, "a page that drives"), vehicle.geometry.trailers

    def function(x: Any, u: Any, p: Any) -> Any:
        pose = body.pose(x, p)
        return tuple(pose), tuple(body.velocity(x, u, p)), _towed(vehicle, pose, x, trailers)

    fields = tuple(f"{k}.{name}" for k in range(len(trailers)) for name in POSE_NAMES)
    outputs = (Port("pose", POSE_NAMES), Port("velocity", VELOCITY), Port("towed", fields))
    return _trace(vehicle, "motion", function, (), outputs)


def rest_program(vehicle: Vehicle) -> Program:
    """The state of the vehicle at rest at a pose: as it starts, but for its place, its steering
    and the angles of what it tows."""
    body, settle = body_of(vehicle, "a page that drives"), vehicle.model.settle
    kept = [*(trailer.angle for trailer in vehicle.geometry.trailers), *steering_states(vehicle)]

    def function(x: Any, u: Any, p: Any, pose: Any) -> Any:
        start, still = record.build(vehicle.State), Velocity(0.0, 0.0, 0.0)
        standing = body.placed(start, Pose(*pose), still, p)
        angles = dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))
        leaves = zip(record.names(vehicle.State), record.flatten(standing), strict=True)
        mixed = [angles[name] if name in kept else value for name, value in leaves]
        standing = record.unflatten(vehicle.State, mixed)
        return (record.flatten(standing if settle is None else settle(standing, p)),)

    outputs = (Port("x", record.names(vehicle.State)),)
    return _trace(vehicle, "rest", function, (Port("pose", POSE_NAMES),), outputs)


def steering_states(vehicle: Vehicle) -> list[str]:
    """The states by which the driver steers: a vehicle that is put to rest keeps them."""
    angles = {"steer", *(wheel.steer for wheel in vehicle.geometry.wheels)}
    return [name for name in record.names(vehicle.State) if name in angles]


def _trace(
    vehicle: Vehicle,
    name: str,
    function: Callable[..., Any],
    more: Sequence[Port],
    outputs: Sequence[Port],
) -> Program:
    """Trace a function into a Program.

    The function receives x, u, p and `p_start` as records, and further ports as tuples of scalars.
    """
    kinds = {"x": vehicle.State, "u": vehicle.Input, "p": vehicle.model.Params}
    ports = [Port(port, record.names(kind)) for port, kind in kinds.items()]

    def called(*values: tuple[Any, ...]) -> Any:
        records = [record.unflatten(k, v) for k, v in zip(kinds.values(), values, strict=False)]
        rest = list(values[3:])
        if any(port.name == "p_start" for port in more):
            rest[0] = record.unflatten(vehicle.model.Params, rest[0])
        with as_written(next(iter(values[0]), None)):
            return function(*records, *rest)

    return trace(f"{vehicle.name}.{name}", called, [*ports, *more], outputs)


def _chosen(held: Any, driven: Any, stopped: Any) -> Any:
    pairs = zip(driven, stopped, strict=True)
    return type(driven)(*(where(held > 0.5, a, b) for a, b in pairs))


def _towed(vehicle: Vehicle, pose: Any, x: Any, trailers: Sequence[Trailer]) -> tuple[Any, ...]:
    angles = dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))
    poses: list[Any] = []
    for trailer in trailers:
        pose = towed(pose, trailer.hitch_x, trailer.drawbar, angles[trailer.angle])
        poses += pose
    return tuple(poses)


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
    """Angles of what it tows, by the fields of its state."""
    colour: str = ""
    model: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Solid:
    """An obstacle, which stops the vehicle that touches it."""

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
    """Name of the vehicle in the picture."""
    vehicle: Vehicle
    start: Any
    """State record at the start, as `Simulator.reset` takes it."""
    still: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Lines, polygons, grids and so on by the fields of `Stage`."""
    standing: Sequence[Standing] = ()
    solids: Sequence[Solid] = ()
    notes: Sequence[str] = ()
    """Features of the surroundings that the page lacks."""
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
        return make_consistent(vehicle.model, start, vehicle.params, start, ())


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
    from ...geometry.maps.track import random_track
    from ...geometry.maps.track_files import read_track

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


SHOWN = 120.0
"""Rows a second that are drawn at most: what screens show. Recordings have every step."""


def vehicle_description(exported: Export, place: Place) -> dict[str, Any]:
    """How the vehicle is stepped and what its numbers mean, as JSON values."""
    vehicle, model = exported.vehicle, exported.model
    line = DelayLine.of(model, vehicle.params, exported.dt)
    named = [one for part in named_channels(model) for one in part]
    return {
        "name": place.name,
        "model": vehicle.name,
        "dt": exported.dt,
        "substeps": exported.substeps,
        "integrator": exported.method.name if model.continuous else "update",
        "tolerance": exported.settings.tolerance,
        "shown_every": max(1, round(1.0 / (SHOWN * exported.dt))),
        "start": _numbers(record.flatten(place.start)),
        "settled": _numbers(record.flatten(place.settled)),
        "input": _numbers(record.flatten(record.build(vehicle.Input))),
        "disturbance": _numbers(record.flatten(record.build(model.Disturbance))),
        "params": _numbers(record.flatten(vehicle.params)),
        "delays": [] if line is None else [list(pair) for pair in line.channels],
        "state_names": list(record.names(vehicle.State)),
        "steering": steering_states(vehicle),
        "ends": [[name, size, what] for name, (size, what) in model.ends.items()],
        "heads": [_head(one) for one in (Named("t", "s", "state"), *named)],
        "tunables": tunables_of(exported),
        "fields": parameter_fields(exported),
        "parts": touching_parts(exported),
    }


def tunables_of(exported: Export) -> list[dict[str, Any]]:
    """The parameters with sliders, as the live page has them."""
    values = record.flatten(exported.vehicle.params)
    known = known_tunables(exported.model.Params, values)
    return [
        {**one.describe(float(values[one.column])), "column": one.column} for one in known.values()
    ]


def parameter_fields(exported: Export) -> list[dict[str, Any]]:
    """All parameters that can be changed, with ranges; null where there is no end.

    Dead times are not among them: the queue of commands has its length from the start.
    """
    delays = set(exported.model.dead_times.values())
    values = record.flatten(exported.vehicle.params)
    fields: list[dict[str, Any]] = []
    for column, leaf in enumerate(record.fields(exported.model.Params)):
        if leaf.name in delays or isinstance(values[column], ArrayNumber):
            continue
        entry: dict[str, Any] = {"name": leaf.name, "unit": leaf.unit.symbol, "column": column}
        entry |= {"value": float(values[column]), "text": " ".join(leaf.doc.split())}
        if leaf.allowed is not None:
            low, high = (v if isfinite(v) else None for v in (leaf.allowed.low, leaf.allowed.high))
            entry |= {"low": low, "high": high, "allowed": str(leaf.allowed)}
            entry |= {"above": leaf.allowed.open_low, "whole": leaf.allowed.whole}
        fields.append(entry)
    return fields


def touching_parts(exported: Export) -> list[list[Any]]:
    """Outlines that touch other things: [unit, corners], unit 0 is the vehicle, 1 its trailer."""
    geometry = exported.vehicle.geometry
    parts: list[list[Any]] = []
    for unit, one in enumerate((geometry, *geometry.trailers)):
        parts += [[unit, [list(p) for p in outline]] for outline in one.outlines]
        for wheel in one.wheels:
            a, b = wheel.radius, 0.5 * wheel.width
            corners = [[wheel.x + p * a, wheel.y + q * b] for p, q in _CORNERS]
            parts.append([unit, corners])
    return parts


_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def _head(one: Named) -> str:
    """The heading of a column as `Trajectory.to_csv` writes it."""
    return f"{one.name} [{one.unit}]"


Source = tuple[str, int]
"""A port of the module and the place of a number in it."""


@dataclass(frozen=True)
class DriveStage:
    """Stage of a page, and where its numbers come from."""

    stage: Stage
    """The channels of the vehicle that is driven come first, then those of what it tows."""
    sources: tuple[Source, ...]
    """Where the numbers of these come from."""
    row: Array
    """Numbers of all channels; those of what stands still stay as they are here."""

    __repr__ = brief_repr


def drive_stage(place: Place) -> DriveStage:
    """The stage of a place."""
    vehicle, shape = place.vehicle, shape_of(place.vehicle)
    rows, motion = Rows(), ComputedMotion(vehicle)
    states, inputs, outputs = named_channels(vehicle.model)
    places = rows.add(place.name, [*states, *inputs, *outputs, *motion.named])
    body = vehicle_body(place.name, shape, motion.pose, places, model=vehicle.name)
    towed = Trailers([(body, shape)], rows)
    sources = [
        *(("x", k) for k in range(len(states))),
        *(("u", k) for k in range(len(inputs))),
        *(("y", k) for k in range(len(outputs))),
        *(
            ("pose", POSE_NAMES.index(n.name))
            if n in POSE
            else ("velocity", VELOCITY.index(n.name))
            for n in motion.named
        ),
        *(("towed", k) for k in range(3 * len(towed.bodies))),
    ]
    moving, values = len(sources), list[float]()
    others = [_standing_body(one, rows, values) for one in place.standing]
    trailers = Trailers(others, rows)
    row = trailers.added(np.array([[*np.zeros(moving), *values]]))[0]
    bodies = (body, *towed.bodies, *(one for one, _ in others), *trailers.bodies)
    still: dict[str, Any] = dict(place.still)
    stage = Stage(place.title, tuple(rows.channels), bodies, **still)
    return DriveStage(stage, tuple(sources), row)


def _standing_body(one: Standing, rows: Rows, values: list[float]) -> tuple[Body, BodyShape]:
    """A body that stands, with its pose and the angles of what it tows as channels."""
    hitches, shape = list[str](), one.shape
    while shape is not None and shape.hitch in one.angles:
        hitches.append(shape.hitch)
        shape = shape.trailer
    places = rows.add(one.name, [*POSE, *(Named(hitch, "rad", "state") for hitch in hitches)])
    values += [*one.pose, *(one.angles[hitch] for hitch in hitches)]
    about = {"kind": one.kind, "colour": one.colour, "model": one.model}
    return vehicle_body(one.name, one.shape, POSE_NAMES, places, **about), one.shape


VERSION = 1
"""Version of the block; a page refuses newer ones."""


def write_drive_page(
    vehicle: Vehicle | Place,
    path: str | os.PathLike[str],
    *,
    track: Track | str | None = None,
    **options: Any,
) -> None:
    """Write a page that drives a vehicle in the browser, without a server.

    The file is complete or not there.

    Args:
        vehicle: what is driven: on an empty plane, or where a `Place` puts it.
        path: of the page.
        track: that a vehicle drives on: a track, its file, or the seed of a random one.
        options: `dt` in s, `integrator` and `substeps`, as of `Simulator`.
    """
    if track is not None and isinstance(vehicle, Vehicle):
        track = track_of(track, vehicle) if isinstance(track, str) else track
        vehicle = track_place(vehicle, track)
    page_files.write_page(drive_page(vehicle, **options), path)


def drive_page(
    vehicle: Vehicle | Place,
    *,
    dt: s | None = None,
    integrator: str | Integrator | None = None,
    substeps: int | None = None,
) -> str:
    """The page as text: a vehicle on an empty plane, or where a place puts it.

    The vehicle is stepped as `Simulator` with the same arguments steps it, to the same bits. What
    is not given is as the place has it, else `dt` is 0.01 s and the integrator "auto".
    """
    require_extras("recording", purpose="a page that drives")
    place = vehicle if isinstance(vehicle, Place) else plane_place(vehicle)
    # Who asks for another step or method is not given the sub-steps that went with the old ones.
    own = dt is None and integrator is None and substeps is None
    made = Export(
        place.vehicle,
        place.dt or 0.01 if dt is None else dt,
        (place.integrator if own else None) or "auto" if integrator is None else integrator,
        substeps=place.substeps if own else substeps,
    )
    if made.precision != "float64":
        raise InvalidValue(f"precision = {made.precision!r}: a page has float64 only")
    return page_files.drive_page(place.title, drive_block(made, place), _own_files())


def drive_block(made: Export, place: Place) -> bytes:
    """The deflated block of a page: a head as JSON, and the modules behind it."""
    arrays, numbers = _arrays(made.vehicle)
    modules = modules_of(programs_of(made), arrays)
    shown = drive_stage(place)
    about = vehicle_description(made, place)
    for column, number in numbers.items():
        about["params"][column] = number
    about["settles"] = made.settle is not None
    how = {key: about[key] for key in ("dt", "substeps", "integrator")}
    head = {
        "version": VERSION,
        "vehicle": about,
        "layout": modules.layout,
        "stage": shown.stage.to_json(),
        "sources": [list(source) for source in shown.sources],
        "row": shown.row.tolist(),
        "solids": [
            {"name": one.name, "points": [list(p) for p in one.points], "closed": one.closed}
            for one in place.solids
        ],
        "notes": list(place.notes),
        "recording": recording_templates(shown.stage, {"vehicle": place.vehicle.name, **how}),
    }
    return zlib.compress(_pack(head, {"fused": modules.fused, "exact": modules.exact}), 9)


def _pack(head: dict[str, Any], blobs: Mapping[str, bytes]) -> bytes:
    """Length of the head in four bytes, the head with the sizes of the blobs, the blobs."""
    head = {**head, "blobs": [[name, len(data)] for name, data in blobs.items()]}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([struct.pack("<I", len(text)), text, *blobs.values()])


def _arrays(vehicle: Vehicle) -> tuple[list[Array], dict[int, int]]:
    """The shared arrays among the parameters, and the number in the module of each by its place."""
    arrays, numbers = list[Array](), dict[int, int]()
    known: dict[float, int] = {}
    for column, value in enumerate(record.flatten(vehicle.params)):
        if isinstance(value, ArrayNumber):
            if float(value) not in known:
                arrays.append(np.array(value.values))
                known[float(value)] = len(arrays)
            numbers[column] = known[float(value)]
    return arrays, numbers


@cache
def _own_files() -> dict[str, str]:
    """Modules and styles that the page has besides those of all pages, by name."""
    entries = files("skidpad.view.pages").joinpath("driving").iterdir()
    own = {e.name: e.read_text("utf-8") for e in entries if e.name.endswith((".js", ".css"))}
    return own | {LOADER.name: LOADER.read_text("utf-8")}
