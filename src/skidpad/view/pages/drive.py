"""Drive page: one self-contained file that drives a vehicle without a server.

`skidpad html --drive` writes it. The page itself contains no vehicle equations: the step, the
commands from keys, the pose and the way to come to rest are the package's own functions, traced as
Programs of one WebAssembly module. A `Place` holds what is shown, the obstacles and the start of
the vehicle. Recordings made by the page are templates of MCAP records with slots for numbers, so
that the page needs no knowledge of protobuf or of topics.
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
from ...core.body import Outline, Pose, Velocity, body_of
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue, require_extras
from ...export.exported import LOADER, Export, modules_of
from ...geometry.maps.track import Track
from ...geometry.pose import towed
from ...integrate.base import Integrator, as_written
from ...ops import where
from ...run.arguments import check_start, make_consistent
from ...run.delay import DelayLine
from ...units import m, s
from ...world.motion import LONGEST_SUBSTEP
from ...world.scene import PropertyRegion, Scene
from ...world.vehicle import solids
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
    Line,
    Named,
    Rows,
    Stage,
    Trailers,
    VehicleChannels,
    as_points,
    named_channels,
    relief_of,
    road_box,
    road_under,
    shape_of,
    shown_grid,
    still_life,
    thing_shape,
    vehicle_body,
)
from ..stages import lines_of
from . import page as page_files


def recording_templates(stage: Stage, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Templates of a stage's recordings as JSON values; `meta` goes into every recording."""
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
    """Channel, record bytes and slots, as [offset, source, column], of each message."""
    records = [(channel, message_record(channel, template)) for channel, template in messages]
    return [
        {"channel": k, "record": page_files.base64_text(one.data), "slots": [*map(list, one.slots)]}
        for k, one in records
    ]


VELOCITY = Velocity._fields


def programs_of(exported: Export) -> dict[str, Program]:
    """The lowered Programs of a page, by name.

    `step`, `outputs` and, where the model has one, `settle` are those of the simulator.
    `command` maps x, u, p, the key axes, its own memory, the step size, whether keys are held
    and the initial parameters (`p_start`, which make a heavier car respond alike) to the input
    (port `command`) and the new memory. `motion` maps x, u and p to pose, velocity and the poses
    of trailers; `rest` puts the vehicle to rest at the pose in its port.
    """
    vehicle = exported.vehicle
    body, trailers = body_of(vehicle, "a page that drives"), vehicle.geometry.trailers

    def function(x: Any, u: Any, p: Any) -> Any:
        pose = body.pose(x, p)
        angles = dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))
        poses: list[Any] = []
        for trailer in trailers:
            pose = towed(pose, trailer.hitch_x, trailer.drawbar, angles[trailer.angle])
            poses += pose
        return tuple(pose), tuple(body.velocity(x, u, p)), tuple(poses)

    fields = tuple(f"{k}.{name}" for k in range(len(trailers)) for name in POSE_NAMES)
    outputs = (Port("pose", POSE_NAMES), Port("velocity", VELOCITY), Port("towed", fields))
    programs = {
        "step": exported.step,
        "outputs": exported.outputs,
        "command": exported.finish(command_program(vehicle, abilities_of(vehicle))),
        "motion": exported.finish(_trace(vehicle, "motion", function, (), outputs)),
        "rest": exported.finish(rest_program(vehicle)),
    }
    if exported.settle is not None:
        programs["settle"] = exported.settle
    return programs


def command_program(vehicle: Vehicle, can: Abilities) -> Program:
    """Program that computes the input from keys, whether or not they are held."""
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


def rest_program(vehicle: Vehicle) -> Program:
    """Program that computes the state at rest at a pose: the initial state with another pose,
    steering and trailer angles."""
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
    """States that describe the driver's steering; a vehicle put to rest keeps them."""
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


SIZE_OF_TRACKS: m = 1.57
"""Wheelbase for which random tracks are designed; they are scaled to the wheelbase of the
vehicle."""


@dataclass(frozen=True)
class Standing:
    """A body that does not move."""

    name: str
    kind: str
    """As in `stage.Body`."""
    shape: BodyShape
    pose: Pose
    angles: Mapping[str, float] = field(default_factory=dict[str, float])
    """Angles of its trailers, by state field."""
    colour: str = ""
    model: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Solid:
    """Obstacle that stops a vehicle that touches it."""

    name: str
    points: Outline
    """Corners in the world, in m."""
    closed: bool = True
    """Whether the last point is joined to the first."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Place:
    """A vehicle and its surroundings on a drive page."""

    title: str
    name: str
    vehicle: Vehicle
    start: Any
    """State record at the start, as `Simulator.reset` takes it."""
    still: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fixed lines, polygons, grids and so on, by field of `Stage`."""
    standing: Sequence[Standing] = ()
    solids: Sequence[Solid] = ()
    notes: Sequence[str] = ()
    """Features of the surroundings that the page lacks."""
    dt: s | None = None
    """Step size of the world; None for the default. The same holds for `integrator` and
    `substeps`."""
    integrator: str | None = None
    substeps: int | None = None

    __repr__ = brief_repr

    @property
    def settled(self) -> Any:
        """Start state, made consistent as by `Simulator.reset`."""
        vehicle, start = self.vehicle, self.start
        check_start(vehicle, start)
        return make_consistent(vehicle.model, start, vehicle.params, start, ())


def plane_place(vehicle: Vehicle) -> Place:
    """Place on an empty plane, or on the road among the parameters of the vehicle."""
    road = road_under(vehicle)
    relief = None if road is None else relief_of(road, road_box(road, np.zeros((1, 2))))
    still = {} if relief is None else {"reliefs": (relief,)}
    return Place(vehicle.name, vehicle.name, vehicle, record.build(vehicle.State), still)


def track_place(vehicle: Vehicle, track: Track) -> Place:
    """Place at the start of a track whose walls stop the vehicle."""
    body = body_of(vehicle, "a page that drives")
    (x, y), (ahead_x, ahead_y) = track.centre[0].tolist(), track.centre[1].tolist()
    pose = Pose(x, y, math.atan2(ahead_y - y, ahead_x - x))
    still_there = Velocity(0.0, 0.0, 0.0)
    start = body.placed(record.build(vehicle.State), pose, still_there, vehicle.params)
    points = [*track.centre.tolist(), *(track.centre[:1].tolist() if track.closed else ())]
    centre = Line(as_points(points), "centre")
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
    """Track from a file, or a random track from a seed, scaled to the vehicle."""
    from ...geometry.maps.files import read_track
    from ...geometry.maps.track import random_track

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
    """Place of one vehicle of a world at its start; by default the first vehicle."""
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
        standing=[*_standing(world, chosen)],
        solids=[Solid(one.name, as_points(piece)) for one in obstacles for piece in one.pieces],
        notes=_not_there(world, chosen),
        dt=world.dt,
        integrator="rk4" if continuous else None,
        substeps=math.ceil(world.dt / LONGEST_SUBSTEP - 1e-9) if continuous else None,
    )


def _standing(world: World, chosen: str) -> Iterator[Standing]:
    """The other vehicles of a world, and its blocks and actors."""
    for name, handle in world.vehicles.items():
        if name != chosen:
            vehicle = handle.vehicle
            leaves = zip(record.names(vehicle.State), record.flatten(handle.state), strict=True)
            angles = {leaf: float(value) for leaf, value in leaves}
            pose = Pose(*(float(v) for v in vehicle.body.pose(handle.state, vehicle.params)))
            yield Standing(name, "vehicle", shape_of(vehicle), pose, angles, model=vehicle.name)
    for name in world.movable:
        shape, kind, colour = thing_shape(world.scene, name)
        pose = Pose(*(float(value) for value in world.block(name)[:3]))
        yield Standing(name, kind, shape, pose, colour=colour)


def _not_there(world: World, chosen: str) -> list[str]:
    """Notes on features of a world that a page lacks."""
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
"""Most rows drawn per second, as screens show no more. Recordings have every step."""


def vehicle_description(exported: Export, place: Place) -> dict[str, Any]:
    """Step settings of the vehicle and the meaning of its channels, as JSON values."""
    vehicle, model = exported.vehicle, exported.model
    line = DelayLine.of(model, vehicle.params, exported.dt)
    named = [one for part in named_channels(model) for one in part]
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
    geometry = exported.vehicle.geometry
    parts: list[list[Any]] = []
    for unit, one in enumerate((geometry, *geometry.trailers)):
        parts += [[unit, [list(p) for p in outline]] for outline in one.outlines]
        for w in one.wheels:
            halves = [(p * w.radius, q * 0.5 * w.width) for p, q in _CORNERS]
            parts.append([unit, [[w.x + a, w.y + b] for a, b in halves]])
    values = record.flatten(exported.vehicle.params)
    tunables = [
        {**one.describe(float(values[one.column])), "column": one.column}
        for one in known_tunables(exported.model.Params, values).values()
    ]
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
        "tunables": tunables,
        "fields": fields,
        "parts": parts,
    }


_CORNERS = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def _head(one: Named) -> str:
    """Column heading, as `Trajectory.to_csv` writes it."""
    return f"{one.name} [{one.unit}]"


Source = tuple[str, int]
"""Port of the module and index of a value in it."""


@dataclass(frozen=True)
class DriveStage:
    """Stage of a drive page, and the sources of its channels."""

    stage: Stage
    """Stage whose first channels are those of the driven vehicle, followed by those of its
    trailers."""
    sources: tuple[Source, ...]
    row: Array
    """Values of all channels; the values of fixed bodies never change."""

    __repr__ = brief_repr


def drive_stage(place: Place) -> DriveStage:
    rows, kind = Rows(), VehicleChannels(place.vehicle)
    body = kind.add(rows, place.name)
    towed = Trailers([(body, kind.shape)], rows)
    computed = {
        **{name: ("pose", k) for k, name in enumerate(POSE_NAMES)},
        **{name: ("velocity", k) for k, name in enumerate(VELOCITY)},
    }
    ports = {"x": kind.states, "u": kind.inputs, "y": kind.outputs}
    sources = [(port, k) for port, fields in ports.items() for k in range(len(fields))]
    sources += [computed[n.name] for n in kind.computed]
    sources += [("towed", k) for k in range(3 * len(towed.bodies))]
    moving, values = len(sources), list[float]()
    others: list[tuple[Body, BodyShape]] = []
    for one in place.standing:  # with its pose and the angles of its trailers as channels
        hitches, shape = list[str](), one.shape
        while shape is not None and shape.hitch in one.angles:
            hitches.append(shape.hitch)
            shape = shape.trailer
        places = rows.add(one.name, [*POSE, *(Named(hitch, "rad", "state") for hitch in hitches)])
        values += [*one.pose, *(one.angles[hitch] for hitch in hitches)]
        about = {"kind": one.kind, "colour": one.colour, "model": one.model}
        others.append((vehicle_body(one.name, one.shape, POSE_NAMES, places, **about), one.shape))
    trailers = Trailers(others, rows)
    row = trailers.added(np.array([[*np.zeros(moving), *values]]))[0]
    bodies = (body, *towed.bodies, *(one for one, _ in others), *trailers.bodies)
    still: dict[str, Any] = dict(place.still)
    stage = Stage(place.title, tuple(rows.channels), bodies, **still)
    return DriveStage(stage, tuple(sources), row)


VERSION = 1
"""Version of the block format; a page refuses newer ones."""


def write_drive_page(
    vehicle: Vehicle | Place,
    path: str | os.PathLike[str],
    *,
    track: Track | str | None = None,
    **options: Any,
) -> None:
    """Write a page that drives a vehicle in the browser, without a server.

    The file is written atomically.

    Args:
        vehicle: the vehicle, on an empty plane, or a `Place` with its surroundings.
        path: file of the page.
        track: track to drive on: a `Track`, its file, or the seed of a random one.
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
    """Drive page as text: a vehicle on an empty plane, or a place.

    The steps are bit-identical to those of `Simulator` with the same arguments. Arguments that are
    left out are taken from the place, else `dt` is 0.01 s and the integrator "auto".
    """
    require_extras("recording", purpose="a page that drives")
    place = vehicle if isinstance(vehicle, Place) else plane_place(vehicle)
    # The sub-steps of the place apply only to its own step size and integrator.
    own = dt is None and integrator is None and substeps is None
    made = Export(
        place.vehicle,
        place.dt or 0.01 if dt is None else dt,
        (place.integrator if own else None) or "auto" if integrator is None else integrator,
        substeps=place.substeps if own else substeps,
    )
    if made.precision != "float64":
        raise InvalidValue(f"precision = {made.precision!r}: a page has float64 only")
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
    block = _pack(head, {"fused": modules.fused, "exact": modules.exact})
    return page_files.drive_page(place.title, zlib.compress(block, 9), _own_files())


def _pack(head: dict[str, Any], blobs: Mapping[str, bytes]) -> bytes:
    """Pack a block: length of the header in four bytes, the header with the sizes of the blobs, the
    blobs."""
    head = {**head, "blobs": [[name, len(data)] for name, data in blobs.items()]}
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return b"".join([struct.pack("<I", len(text)), text, *blobs.values()])


def _arrays(vehicle: Vehicle) -> tuple[list[Array], dict[int, int]]:
    """Shared arrays among the parameters, and their numbers in the module by parameter index."""
    own = [
        (k, v) for k, v in enumerate(record.flatten(vehicle.params)) if isinstance(v, ArrayNumber)
    ]
    arrays = {float(value): np.array(value.values) for _, value in reversed(own)}
    known = list(dict.fromkeys(float(value) for _, value in own))
    numbers = {column: 1 + known.index(float(value)) for column, value in own}
    return [arrays[number] for number in known], numbers


@cache
def _own_files() -> dict[str, str]:
    """Modules and style sheets that only the drive page has, by name."""
    entries = files("skidpad.view.pages").joinpath("driving").iterdir()
    own = {e.name: e.read_text("utf-8") for e in entries if e.name.endswith((".js", ".css"))}
    return own | {LOADER.name: LOADER.read_text("utf-8")}
