"""What there is to see of a simulation: bodies with their shapes, columns of numbers, scans.

A `Stage` is plain data, everything about a simulation that does not change while it runs; the page,
recordings and live views all read it. Numbers that change come as rows: one float per channel and
time. Everything is in SI units and radians; outlines and wheels are in the frame of their body, x
forward, y left. `None` in place of a channel means that the body lacks it.

Below the `Stage` are the parts that stages are put together from: channels in order (`Rows`), pose
and velocity that a body computes (`ComputedMotion`), how vehicles lie on a road, ground with
heights, what stands still in a world, shapes of vehicles, trailers. At the end, vehicles and bodies
at one moment: `place_vehicle`, `place_bodies`. `stages` makes stages of runs and of worlds.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import Array, values_of
from ..core.body import Geometry, Pose, Trailer, body_of, own_fields, standing_points
from ..core.body import Outline as BodyOutline
from ..core.body import Wheel as BodyWheel
from ..core.files import brief_repr
from ..core.model import Model, Vehicle, vehicle_of
from ..errors import InvalidValue
from ..geometry.maps.grid import Grid as OccupiedGrid
from ..geometry.polygon import FARTHEST
from ..geometry.pose import placed as pose_on
from ..geometry.pose import points_to_world, to_world, towed
from ..road.contact import fitted_plane, wheel_contact
from ..road.records import FlatRoad, FullGrip, GripGrid
from ..road.road import Road
from ..units import m
from ..world.contact.solids import Moving, standing_parts
from ..world.scene import ElevationMap, OccupancyGrid, PropertyRegion, Scene
from .colours import rgb

VERSION = 1
"""Version of the description: readers refuse newer ones."""

Point = tuple[float, float]
Outline = tuple[Point, ...]


@dataclass(frozen=True)
class Channel:
    """One number that changes."""

    name: str
    """Such as `v_x`; inputs begin with `u_`."""
    unit: str
    """Symbol of the SI unit."""
    body: str
    """Name of the body it belongs to."""
    role: str
    """"state", "input", "output", or "measured" of an acceleration that is the change of velocity
    since the row before: one that a push or a wall gives, too."""


@dataclass(frozen=True)
class Wheel:
    """A wheel of a body; the numbers at the end are places in the row."""

    name: str
    x: float
    y: float
    length: float
    """Diameter in m."""
    width: float
    yaw: float = 0.0
    """Fixed angle on the body."""
    steer: int | None = None
    """Channel of its steering angle."""
    F_x: int | None = None
    """Channel of its force along the wheel in N."""
    F_y: int | None = None
    """Channel of its force across the wheel, positive to the left, in N."""
    F_z: int | None = None
    """Channel of its load in N."""
    use: int | None = None
    """Channel of the share of its grip that is used, 0 to 1."""


@dataclass(frozen=True)
class Body:
    """Something that moves and has a shape."""

    name: str
    kind: str
    """"vehicle", "trailer", "block" or "actor"."""
    outlines: tuple[Outline, ...]
    """Convex or not, one or more."""
    x: int
    """Channel of its position in the world, in m."""
    y: int
    yaw: int
    wheels: tuple[Wheel, ...] = ()
    channels: Mapping[str, int] = field(default_factory=dict[str, int])
    """Channels by name."""
    colour: str = ""
    """As `#rrggbb`; empty for a colour of the viewer's choice."""
    model: str = ""
    """Name of its vehicle model."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Scan:
    """A lidar on a body; its ranges come apart from the rows, whenever there is a new one."""

    name: str
    body: str
    x: float
    y: float
    yaw: float
    first_angle: float
    """Angle of the first ray, from the x axis of the lidar."""
    step: float
    """Angle between rays, positive to the left."""
    count: int
    max_range: float


class Ranges(NamedTuple):
    """Ranges that a lidar measured."""

    scan: int
    """Which scan of the stage."""
    ranges: NDArray[Any]
    """In m."""


@dataclass(frozen=True)
class Polygon:
    """A shape that stands still, in world coordinates."""

    points: Outline
    kind: str = "wall"
    """"wall", "block", "region", "lane", "field"."""
    name: str = ""
    colour: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Line:
    """A line on the ground, in world coordinates."""

    points: Outline
    kind: str = "line"
    """"line", "boundary", "centre", "reference", "band"."""
    colour: str = ""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Disc:
    """A cone or post, in world coordinates."""

    x: float
    y: float
    radius: float
    kind: str = "cone"
    colour: str = ""


@dataclass(frozen=True)
class Grid:
    """An occupancy grid: cells row by row from the corner of least x and y."""

    x: float
    y: float
    resolution: float
    width: int
    height: int
    cells: bytes
    """One byte per cell: 255 occupied, 0 free, between unknown."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Relief:
    """Ground with heights: points row by row from the one of least x and y."""

    x: float
    """Position of the first point."""
    y: float
    step: float
    """Distance of neighbours in m."""
    width: int
    """Points along x."""
    height: int
    """Points along y."""
    low: float
    """Least height in m."""
    high: float
    """Largest height in m."""
    heights: bytes
    """Two bytes per point, the lower first: 0 is the least height, 65535 the largest."""
    grip: bytes = b""
    """One byte per point: 255 is the full grip of tyres, 0 none; empty: full everywhere."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Stage:
    """Everything about a simulation that does not change while it runs."""

    title: str
    channels: tuple[Channel, ...]
    bodies: tuple[Body, ...]
    scans: tuple[Scan, ...] = ()
    polygons: tuple[Polygon, ...] = ()
    lines: tuple[Line, ...] = ()
    discs: tuple[Disc, ...] = ()
    grids: tuple[Grid, ...] = ()
    reliefs: tuple[Relief, ...] = ()

    __repr__ = brief_repr

    def body(self, name: str) -> Body:
        """A body by its name."""
        body = next((body for body in self.bodies if body.name == name), None)
        if body is None:
            known = ", ".join(body.name for body in self.bodies)
            raise InvalidValue(f"there is no body {name!r}; there are {known or 'none'}")
        return body

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON; bytes as base64."""
        plain = asdict(self)
        for grid in plain["grids"]:
            grid["cells"] = base64.b64encode(grid["cells"]).decode()
        for relief in plain["reliefs"]:
            for name in ("heights", "grip"):
                relief[name] = base64.b64encode(relief[name]).decode()
        return {"version": VERSION, **plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Stage:
        """The stage that `to_json` described; raises for a newer version."""
        version = plain.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise InvalidValue(
                f"the stage has version {version!r}; this skidpad reads up to {VERSION}: "
                "install a newer one"
            )
        try:
            return cls(
                title=plain["title"],
                channels=tuple(Channel(**c) for c in plain["channels"]),
                bodies=tuple(Body(**_decoded(b)) for b in plain["bodies"]),
                scans=tuple(Scan(**s) for s in plain["scans"]),
                polygons=tuple(Polygon(**_decoded(p)) for p in plain["polygons"]),
                lines=tuple(Line(**_decoded(p)) for p in plain["lines"]),
                discs=tuple(Disc(**d) for d in plain["discs"]),
                grids=tuple(Grid(**_decoded(g)) for g in plain["grids"]),
                # Stages of before there were any have none.
                reliefs=tuple(Relief(**_decoded(r)) for r in plain.get("reliefs", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(f"the stage is damaged: {error}") from error


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "outlines": lambda outlines: tuple(map(_points, outlines)),
    "points": lambda points: _points(points),
    "wheels": lambda wheels: tuple(Wheel(**wheel) for wheel in wheels),
    "cells": base64.b64decode,
    "heights": base64.b64decode,
    "grip": base64.b64decode,
}
"""Fields of a stage that JSON has in another form."""


def _points(plain: Any) -> Outline:
    return tuple((float(x), float(y)) for x, y in plain)


def _decoded(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part of a stage, from JSON values."""
    return {name: _DECODERS.get(name, lambda value: value)(value) for name, value in plain.items()}


class Named(NamedTuple):
    """A channel before it has a place."""

    name: str
    unit: str
    role: str


POSE = (Named("x", "m", "output"), Named("y", "m", "output"), Named("yaw", "rad", "output"))
"""Pose of what has no state with a pose."""
POSE_NAMES = tuple(one.name for one in POSE)
ATTITUDE = (
    Named("z", "m", "output"),
    Named("pitch", "rad", "output"),
    Named("roll", "rad", "output"),
)
"""Attitude of what lies on ground with heights."""


def named_channels(model: Model) -> tuple[list[Named], list[Named], list[Named]]:
    """Channels of the states, inputs and outputs of a model, named as in a trajectory."""
    states = [Named(f.name, f.unit.symbol, "state") for f in record.fields(model.State)]
    inputs = [Named(f"u_{f.name}", f.unit.symbol, "input") for f in record.fields(model.Input)]
    taken = {one.name for one in (*states, *inputs)}
    outputs = [
        Named(f"out_{f.name}" if f.name in taken else f.name, f.unit.symbol, "output")
        for f in record.fields(model.Outputs)
    ]
    return states, inputs, outputs


class Rows:
    """The channels of a stage while it is put together."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []

    def add(self, body: str, named: Sequence[Named]) -> dict[str, int]:
        """Channels of one body behind those there are; their places by name."""
        begin = len(self.channels)
        self.channels += [Channel(n.name, n.unit, body, n.role) for n in named]
        return {n.name: begin + k for k, n in enumerate(named)}

    def add_many(self, bodies: Sequence[str], named: Sequence[Named]) -> list[dict[str, int]]:
        """Channels of several bodies of one kind, field by field as arrays of a fleet lie.

        Returns the places by name, body by body.
        """
        begin, count = len(self.channels), len(bodies)
        for n in named:
            self.channels += [Channel(n.name, n.unit, body, n.role) for body in bodies]
        return [{n.name: begin + k * count + b for k, n in enumerate(named)} for b in range(count)]


_VELOCITY = (
    Named("v_x", "m/s", "output"),
    Named("v_y", "m/s", "output"),
    Named("omega", "rad/s", "output"),
)


class ComputedMotion:
    """Channels that the body of vehicles of one model adds to those of their records.

    Nothing for most; a mass that moves along a path gets the pose that its body says, and a
    velocity to go with it.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._body = body_of(vehicle, "a picture")
        fields = own_fields(vehicle.State, lambda x: self._body.pose(x, vehicle.params))
        self.pose = tuple(f or n.name for f, n in zip(fields, POSE, strict=True))
        """Names of the channels with x, y and yaw."""
        self._missing = [k for k, field in enumerate(fields) if field is None]
        self.named = [*(POSE[k] for k in self._missing), *(_VELOCITY if self._missing else ())]
        """The channels that are added."""

    def values(self, x: Any, u: Any, p: Any) -> list[Array]:
        """The values of `named`, from records of arrays of one shape."""
        if not self.named:
            return []
        pose, velocity = self._body.pose(x, p), self._body.velocity(x, u, p)
        return list(np.broadcast_arrays(*(pose[k] for k in self._missing), *velocity))


def road_under(vehicle: Any) -> Road | None:
    """The road that a vehicle is on; None if its parameters have none."""
    own: Any = getattr(vehicle.params, "road", None) if isinstance(vehicle, Vehicle) else None
    known = getattr(own, "_fields", ()) == ("surface", "grip")
    return Road(own.surface, own.grip) if known else None


def attitude_on_road(vehicle: Vehicle, road: Road, poses: Array) -> tuple[Array, Array, Array]:
    """Height, pitch and roll (n,) each of a vehicle at poses (n, 3) on a road.

    Pitch is positive with the nose down, roll with the right side down.
    """
    points = standing_points(vehicle.body.wheel_places(vehicle.params))
    yaw: Any = poses[:, 2]
    contacts = [wheel_contact(road.record, *to_world(poses.T, *at), yaw) for at in points]
    plane = fitted_plane(contacts, points)
    middle = np.mean(points, axis=0)
    z = plane.z - plane.slope * middle[0] - plane.bank * middle[1]
    pitch, roll = np.arctan(-plane.slope), np.arctan(plane.bank / np.hypot(1.0, plane.slope))
    z, pitch, roll = (np.broadcast_to(value, yaw.shape) for value in (z, pitch, roll))
    return z, pitch, roll


Box = tuple[m, m, m, m]
"""Least x and y, largest x and y."""

MOST_POINTS = 60_000
"""Most points of a relief."""
LEAST_STEP: m = 0.1
AROUND: m = 40.0
"""How far a road without ends is drawn around what stands on it."""
BESIDE: m = 10.0
"""How far a road is drawn to either side of its line."""


def reliefs_of(scene: Scene) -> tuple[Relief, ...]:
    """Ground with heights of a scene."""
    maps = [e for e in scene.elements if isinstance(e, ElevationMap)]
    pieces = [(e.road, _lattice_box(e.road.surface.heights)) for e in maps]
    if scene.road is not None:
        pieces.append((scene.road, road_box(scene.road, _places(scene))))
    drawn = (relief_of(road, box) for road, box in pieces)
    return tuple(one for one in drawn if one is not None)


def relief_of(road: Road, box: Box) -> Relief | None:
    """A road within a box; None of one that is level and as grippy as usual."""
    if isinstance(road.surface, FlatRoad) and isinstance(road.friction, FullGrip):
        return None
    left, bottom, right, top = box
    wide, high = right - left, top - bottom
    step = max(LEAST_STEP, float(np.sqrt(wide * high / MOST_POINTS)))
    width, height = (max(2, int(extent / step) + 1) for extent in (wide, high))
    x, y = np.meshgrid(left + step * np.arange(width), bottom + step * np.arange(height))
    z, grip = np.asarray(road.height(x, y)), np.asarray(road.grip(x, y))
    low, most = float(z.min()), float(z.max())
    levels = np.rint((z - low) * (65535.0 / max(most - low, 1e-9)))
    shares = np.rint(255.0 * np.clip(grip, 0.0, 1.0)).astype(np.uint8)
    return Relief(
        left,
        bottom,
        step,
        width,
        height,
        low,
        most,
        levels.astype("<u2").tobytes(),
        b"" if isinstance(road.friction, FullGrip) else shares.tobytes(),
    )


def road_box(road: Road, places: Array) -> Box:
    """Where a road is drawn: where it has something, and around some places (n, 2)."""
    grip = _lattice_box(road.friction.mu) if isinstance(road.friction, GripGrid) else None
    boxes = [box for box in (_surface_box(road.surface), grip) if box]
    if len(places) and not boxes:
        low, high = places.min(axis=0) - AROUND, places.max(axis=0) + AROUND
        boxes.append((*low.tolist(), *high.tolist()))
    if not boxes:
        return -AROUND, -AROUND, AROUND, AROUND
    table = np.array(boxes)
    low, high = table[:, :2].min(axis=0), table[:, 2:].max(axis=0)
    return (*low.tolist(), *high.tolist())


def _places(scene: Scene) -> Array:
    poses = [spec.pose for spec in (*scene.vehicles, *scene.blocks, *scene.actors)]
    walls = [point for wall in scene.walls for point in (wall.start, wall.end)]
    return np.array([*((pose.x, pose.y) for pose in poses), *walls]).reshape(-1, 2)


def _lattice_box(grid: Any) -> Box:
    ends = (
        start + step * (count - 1.0)
        for start, step, count in (
            (grid.start_0, grid.step_0, grid.count_0),
            (grid.start_1, grid.step_1, grid.count_1),
        )
    )
    return (grid.start_0, grid.start_1, *ends)


def _surface_box(surface: Any) -> Box | None:
    """Where a surface has heights of its own; None of one without ends."""
    line = getattr(surface, "line", None)
    if line is None:
        heights = getattr(surface, "heights", None)
        return None if heights is None else _lattice_box(heights)
    if hasattr(line, "xs"):
        x, y = values_of(line.xs), values_of(line.ys)
        assert x is not None
        assert y is not None
        return _around(zip(x, y, strict=True))
    grid = surface.heights
    ways = (grid.start_0 - line.u, grid.start_0 + grid.step_0 * (grid.count_0 - 1.0) - line.u)
    return _around(to_world((line.x, line.y, line.yaw), way, 0.0) for way in ways)


def _around(points: Iterable[Any]) -> Box:
    table = np.array([(float(x), float(y)) for x, y in points])
    low, high = table.min(axis=0) - BESIDE, table.max(axis=0) + BESIDE
    return (*low.tolist(), *high.tolist())


_PROPERTIES = {"friction_mu": "friction", "friction_C_rr": "rolling resistance"}


def still_life(scene: Scene) -> dict[str, Any]:
    """Polygons, grids and reliefs of a stage, by the names of its fields."""
    blocks = {block.name: block for block in scene.blocks}
    polygons: list[Polygon] = []
    for name, parts, pose in standing_parts(scene):
        block = blocks.get(name)
        if block is not None and block.animation:
            continue
        kind, colour = ("wall", "") if block is None else ("block", block.color)
        polygons += [Polygon(_corners_at(p.outline, pose), kind, name, colour) for p in parts]
    for element in scene.elements:
        # One without ends would be drawn over everything.
        if isinstance(element, PropertyRegion) and np.isfinite(_box(element)).all():
            polygons.append(Polygon(_box(element), "region", _words(element)))
    grids = [shown_grid(e.grid) for e in scene.elements if isinstance(e, OccupancyGrid)]
    return {"polygons": tuple(polygons), "grids": tuple(grids), "reliefs": reliefs_of(scene)}


def _words(region: PropertyRegion) -> str:
    """Text on a region for viewers, such as "friction 0.25"."""
    value = region.value
    if region.name == "gps_no_coverage" and isinstance(value, bool):
        return "no GNSS" if value else "GNSS"
    shown = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{_PROPERTIES.get(region.name, region.name)} {shown}"


def _corners_at(outline: Any, pose: Moving) -> Outline:
    corners = points_to_world(pose[:3], np.array(outline, dtype=float))
    return tuple((x, y) for x, y in corners.tolist())


def _box(region: PropertyRegion) -> Outline:
    low, high = (region.x_min, region.y_min), (region.x_max, region.y_max)
    return (low, (high[0], low[1]), high, (low[0], high[1]))


def shown_grid(grid: OccupiedGrid) -> Grid:
    """An occupancy grid as it is drawn."""
    cells = np.where(grid.occupied, np.uint8(255), np.uint8(0))
    if grid.unknown is not None:
        cells = np.where(grid.unknown & ~grid.occupied, np.uint8(128), cells)
    rows, columns = grid.shape
    x, y, _ = grid.origin
    return Grid(x, y, grid.resolution, columns, rows, cells.astype(np.uint8).tobytes())


class BodyShape(NamedTuple):
    """Outlines and wheels in the frame of the vehicle's reference point, in m."""

    outlines: tuple[BodyOutline, ...]
    wheels: tuple[BodyWheel | Wheel, ...] = ()
    """Wheels of a body name the fields that turn and load them; others stand as they are."""
    trailer: BodyShape | None = None
    """In the frame of the trailer's axle, with what hangs behind it in turn."""
    hitch_x: float = 0.0
    """Where the trailer hangs, ahead of the reference point."""
    drawbar: float = 0.0
    """From the hitch back to the trailer's axle."""
    hitch: str = ""
    """The field of the state with the trailer's heading from that of this shape."""

    __repr__ = brief_repr


def shape_of(vehicle: Vehicle) -> BodyShape:
    """The shape of a vehicle with its parameters."""
    body_of(vehicle, "a picture")
    return _with_trailer(vehicle.geometry)


def _with_trailer(unit: Geometry | Trailer) -> BodyShape:
    trailer, shape = unit.trailer, BodyShape(unit.outlines, unit.wheels)
    if trailer is None:
        return shape
    hung = (trailer.hitch_x, trailer.drawbar, trailer.angle)
    return BodyShape(shape.outlines, shape.wheels, _with_trailer(trailer), *hung)


def drawn_wheels(
    wheels: Sequence[BodyWheel | Wheel], places: Mapping[Any, int]
) -> tuple[Wheel, ...]:
    """The wheels of a shape with the places of their channels, which are given by name."""
    return tuple(
        Wheel(
            wheel.name,
            wheel.x,
            wheel.y,
            wheel.length,
            wheel.width,
            wheel.yaw,
            steer=places.get(wheel.steer),
            F_x=places.get(wheel.F_x),
            F_y=places.get(wheel.F_y),
            F_z=places.get(wheel.F_z),
            use=places.get(wheel.use),
        )
        for wheel in wheels
    )


def vehicle_body(
    name: str, shape: BodyShape, pose: Iterable[str], places: Mapping[str, int], **about: str
) -> Body:
    """A body of this shape whose channels are at `places`; `pose` names those of its pose.

    `about` are its kind, if it is no vehicle, its colour and its model.
    """
    at = (places[field] for field in pose)
    fields: dict[str, Any] = {"kind": "vehicle", **about, "channels": places}
    wheels = drawn_wheels(shape.wheels, places)
    return Body(name, fields.pop("kind"), shape.outlines, *at, wheels=wheels, **fields)


record.document_all()


class _Towed(NamedTuple):
    """A unit that tows: a vehicle, or a trailer behind it."""

    by: Body
    """The vehicle at the head."""
    shape: BodyShape
    """Shape of the unit that tows."""
    unit: int
    """Its number among those of its row of the chain."""


class _Row:
    """The trailers that are the first behind their vehicles, or the second and so on."""

    def __init__(self, towed: Sequence[_Towed]) -> None:
        self.units = [one.unit for one in towed]
        self.angles = [one.by.channels[one.shape.hitch] for one in towed]
        self._hitch_x = np.array([one.shape.hitch_x for one in towed])
        self._drawbar = np.array([one.shape.drawbar for one in towed])

    def behind(self, poses: Array, angles: Array) -> Array:
        """Poses (T, n, 3) of the trailers behind units at poses (T, n, 3), at angles (T, n)."""
        behind = towed(np.moveaxis(poses, -1, 0), self._hitch_x, self._drawbar, angles)
        return np.stack(behind, axis=-1)


class Trailers:
    """Trailers of the vehicles that have a hitch; their pose channels follow all other channels."""

    def __init__(self, vehicles: Sequence[tuple[Body, BodyShape]], rows: Rows) -> None:
        self.bodies: list[Body] = []
        self._rows: list[_Row] = []
        self._poses = [(body.x, body.y, body.yaw) for body, _ in vehicles]
        units = [_Towed(body, shape, k) for k, (body, shape) in enumerate(vehicles)]
        while towed := [one for one in units if one.shape.hitch in one.by.channels]:
            self._rows.append(_Row(towed))
            number = f" {len(self._rows)}" if len(self._rows) > 1 else ""
            for one in towed:
                name, shape = f"{one.by.name} trailer{number}", one.shape.trailer or BodyShape(())
                places = rows.add(name, POSE)
                self.bodies.append(vehicle_body(name, shape, POSE_NAMES, places, kind="trailer"))
            units = [
                _Towed(one.by, one.shape.trailer or BodyShape(()), k) for k, one in enumerate(towed)
            ]

    def added(self, rows: Array) -> Array:
        """Rows (T, channels) of everything, from those without the trailers."""
        if not self.bodies:
            return rows
        poses, added = rows[:, np.array(self._poses, int)], [rows]
        for row in self._rows:
            poses = row.behind(poses[:, row.units], rows[:, row.angles])
            added.append(poses.reshape(len(rows), -1))
        return np.hstack(added)


@dataclass(frozen=True)
class PlacedUnit:
    """One rigid piece where it is: a vehicle, or a trailer behind it."""

    pose: Pose
    """Pose in the world of the point from which outlines and wheels are given."""
    outlines: tuple[BodyOutline, ...]
    wheels: tuple[Wheel, ...] = ()
    """Each with its angle on the unit at this moment as `yaw`."""

    __repr__ = brief_repr

    @property
    def world_outlines(self) -> list[Array]:
        """Outlines (n, 2) in the world."""
        return [points_to_world(self.pose, np.asarray(outline)) for outline in self.outlines]

    @property
    def world_wheels(self) -> list[Array]:
        """Corners (4, 2) of the wheels in the world."""
        boxes = (
            points_to_world((w.x, w.y, w.yaw), box_corners(w.length, w.width)) for w in self.wheels
        )
        return [points_to_world(self.pose, box) for box in boxes]

    def check(self) -> None:
        """Raise `InvalidValue` if the pose or a wheel angle is not finite, or the place is too far
        away to draw."""
        angles = {f"angle of wheel {wheel.name!r}": wheel.yaw for wheel in self.wheels}
        for name, value in (self.pose._asdict() | angles).items():
            if not math.isfinite(value):
                raise InvalidValue(f"{name} = {value} of a vehicle must be finite to be drawn")
        if not max(abs(self.pose.x), abs(self.pose.y)) <= FARTHEST:
            place = f"({self.pose.x:g}, {self.pose.y:g})"
            raise InvalidValue(f"place {place} of a vehicle must be within {FARTHEST:g} m")


@dataclass(frozen=True)
class PlacedVehicle:
    """A vehicle at one moment, with what it tows."""

    vehicle: PlacedUnit
    trailers: tuple[PlacedUnit, ...] = ()
    """From the vehicle back."""
    colour: str = ""
    """As `#rrggbb`; empty for one by its place among the vehicles of a picture."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.colour:
            rgb(self.colour)
        for unit in self.units:
            unit.check()

    @property
    def units(self) -> tuple[PlacedUnit, ...]:
        """The vehicle and its trailers."""
        return (self.vehicle, *self.trailers)


def place_vehicle(
    vehicle: Vehicle, x: Any, p: Any = None, u: Any = None, *, colour: str = ""
) -> PlacedVehicle:
    """A vehicle in the state `x`, a record or its values in order.

    `p` are parameters in place of its own. `u` is the input, which turns the wheels of vehicles
    that steer at once; left out, it is that at rest.
    """
    vehicle = vehicle_of(vehicle)
    body = body_of(vehicle, "a picture")
    if p is not None:
        vehicle = vehicle.with_params(p)
    state = record.build(vehicle.State, x)
    geometry, values = vehicle.geometry, _values(vehicle, state, u)
    pose = Pose(*map(float, body.pose(state, vehicle.params)))
    units = [_unit(pose, geometry, values)]
    for trailer in geometry.trailers:
        hitch = pose_on(pose, (trailer.hitch_x, 0.0, values[trailer.angle]))
        pose = pose_on(hitch, (-trailer.drawbar, 0.0, 0.0))
        units.append(_unit(pose, trailer, values))
    return PlacedVehicle(units[0], tuple(units[1:]), colour)


def _values(vehicle: Vehicle, state: Any, u: Any) -> Mapping[str, float]:
    """The fields that turn wheels and trailers, by name."""
    values = dict(zip(record.names(vehicle.State), record.flatten(state), strict=True))
    if _steering(vehicle.geometry) <= values.keys():
        return values
    u = record.at_rest(vehicle.Input) if u is None else record.build(vehicle.Input, u)
    outputs = vehicle.outputs(state, u)
    named = zip(record.names(vehicle.model.Outputs), record.flatten(outputs), strict=True)
    return {name: float(value) for name, value in named} | values


def _steering(geometry: Geometry) -> set[str]:
    units: Iterable[Geometry | Trailer] = (geometry, *geometry.trailers)
    return {wheel.steer for unit in units for wheel in unit.wheels if wheel.steer}


def _unit(pose: Pose, unit: Geometry | Trailer, values: Mapping[str, float]) -> PlacedUnit:
    wheels = tuple(
        Wheel(w.name, w.x, w.y, w.length, w.width, w.yaw + values.get(w.steer, 0.0))
        for w in unit.wheels
    )
    return PlacedUnit(pose, unit.outlines, wheels)


def place_bodies(stage: Stage, row: Array) -> list[tuple[Body, PlacedUnit]]:
    """The bodies of a stage at the numbers of a row; those whose place is unknown are left out."""
    placed: list[tuple[Body, PlacedUnit]] = []
    for body in stage.bodies:
        pose = Pose(*(float(row[k]) for k in (body.x, body.y, body.yaw)))
        wheels = tuple(
            w if w.steer is None else replace(w, yaw=w.yaw + float(np.nan_to_num(row[w.steer])))
            for w in body.wheels
        )
        if np.isfinite(pose).all():
            placed.append((body, PlacedUnit(pose, body.outlines, wheels)))
    return placed


def box_corners(length: float, width: float) -> Array:
    """Corners (4, 2) of a rectangle about the origin."""
    return 0.5 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]) * [length, width]
