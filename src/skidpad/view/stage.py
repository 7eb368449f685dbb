"""Stage: the description of everything that can be drawn of a simulation.

A `Stage` is plain data, everything about a simulation that does not change while it runs: bodies
with their shapes, channels, lidars, fixed objects; the page, recordings and live views all read it.
Values that change come as rows: one float per channel and time. Everything is in SI units and
radians; outlines and wheels are in the frame of their body, x forward, y left. `None` in place of a
channel means that the body lacks it.

Below the `Stage` are the parts that stages are built from: channels in order (`Rows`), those of a
vehicle (`VehicleChannels`), attitude of vehicles on a road, uneven ground,
fixed objects of a world, shapes of vehicles, trailers. At the end, vehicles and bodies at one
moment: `place_vehicle`, `place_bodies`. `stages` builds stages of runs and of worlds.
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
from ..geometry.maps.occupancy import Grid as OccupiedGrid
from ..geometry.polygon import FARTHEST, rectangle
from ..geometry.pose import placed as pose_on
from ..geometry.pose import points_to_world, to_world, towed
from ..road.records import FlatRoad, FullGrip, GripGrid, fitted_plane, wheel_contact
from ..road.road import Road
from ..units import m
from ..world.contact.solids import standing_parts
from ..world.scene import ElevationMap, OccupancyGrid, PropertyRegion, Scene
from .colours import rgb

VERSION = 1
"""Version of the description; readers refuse newer ones."""

Point = tuple[float, float]
Outline = tuple[Point, ...]


@dataclass(frozen=True)
class Channel:
    """A value that changes with time."""

    name: str
    """Name, such as `v_x`; inputs begin with `u_`."""
    unit: str
    """Symbol of the SI unit."""
    body: str
    """Name of the body that it belongs to."""
    role: str
    """"state", "input", "output", or "measured": an acceleration from the change of velocity
    since the previous row, which includes pushes and impacts."""


@dataclass(frozen=True)
class Wheel:
    """A wheel of a body; the integers at the end are channel indices."""

    name: str
    x: float
    y: float
    length: float
    """Diameter in m."""
    width: float
    yaw: float = 0.0
    """Fixed angle on the body, in rad."""
    steer: int | None = None
    """Channel of its steering angle."""
    F_x: int | None = None
    """Channel of its longitudinal force in N."""
    F_y: int | None = None
    """Channel of its lateral force in N, positive to the left."""
    F_z: int | None = None
    """Channel of its load in N."""
    use: int | None = None
    """Channel of its grip utilisation, 0 to 1."""


@dataclass(frozen=True)
class Body:
    """A moving body with a shape."""

    name: str
    kind: str
    """"vehicle", "trailer", "block" or "actor"."""
    outlines: tuple[Outline, ...]
    """One or more outlines, convex or not."""
    x: int
    """Channel of its x coordinate in the world, in m."""
    y: int
    yaw: int
    wheels: tuple[Wheel, ...] = ()
    channels: Mapping[str, int] = field(default_factory=dict[str, int])
    """Channel indices by name."""
    colour: str = ""
    """Colour as `#rrggbb`; empty for the viewer's choice."""
    model: str = ""
    """Name of its vehicle model."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Scan:
    """A lidar on a body; its ranges are not part of the rows but come whenever there is a new
    scan."""

    name: str
    body: str
    x: float
    y: float
    yaw: float
    first_angle: float
    """Angle of the first ray, from the x axis of the lidar, in rad."""
    step: float
    """Angle between rays, positive to the left, in rad."""
    count: int
    max_range: float


class Ranges(NamedTuple):
    scan: int
    """Index of the lidar in `Stage.scans`."""
    ranges: NDArray[Any]
    """Ranges in m."""


@dataclass(frozen=True)
class Polygon:
    """A fixed polygon, in world coordinates."""

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
    """One byte per cell: 255 occupied, 0 free, unknown in between."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Relief:
    """Uneven ground: points row by row from the one of least x and y."""

    x: float
    """x coordinate of the first point, in m."""
    y: float
    step: float
    """Spacing of the points in m."""
    width: int
    """Number of points along x."""
    height: int
    """Number of points along y."""
    low: float
    """Least height in m."""
    high: float
    """Largest height in m."""
    heights: bytes
    """Two bytes per point, low byte first: 0 is the least height, 65535 the largest."""
    grip: bytes = b""
    """One byte per point: 255 is the full grip of tyres, 0 no grip; empty: full everywhere."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Stage:
    """Everything about a simulation that can be drawn and does not change while it runs."""

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
        """Body of this name."""
        body = next((body for body in self.bodies if body.name == name), None)
        if body is None:
            known = ", ".join(body.name for body in self.bodies)
            raise InvalidValue(f"there is no body {name!r}; there are {known or 'none'}")
        return body

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; bytes as base64."""
        plain = asdict(self)
        for grid in plain["grids"]:
            grid["cells"] = base64.b64encode(grid["cells"]).decode()
        for relief in plain["reliefs"]:
            for name in ("heights", "grip"):
                relief[name] = base64.b64encode(relief[name]).decode()
        return {"version": VERSION, **plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Stage:
        """Stage from the values of `to_json`; raises for a newer version."""
        version = plain.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise InvalidValue(
                f"the stage has version {version!r}; this skidpad reads up to {VERSION}: "
                "install a newer one"
            )
        try:
            parts = {
                name: tuple(kind(**_decoded(part)) for part in plain[name])
                for name, kind in _PARTS.items()
                # Stages of earlier versions have no reliefs.
                if name in plain or name != "reliefs"
            }
            return cls(plain["title"], **parts)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(f"the stage is damaged: {error}") from error


_PARTS: Mapping[str, Callable[..., Any]] = {
    **{"channels": Channel, "bodies": Body, "scans": Scan, "polygons": Polygon},
    **{"lines": Line, "discs": Disc, "grids": Grid, "reliefs": Relief},
}
_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    "outlines": lambda outlines: tuple(map(as_points, outlines)),
    "points": lambda points: as_points(points),
    "wheels": lambda wheels: tuple(Wheel(**wheel) for wheel in wheels),
    "cells": base64.b64decode,
    "heights": base64.b64decode,
    "grip": base64.b64decode,
}
"""Decoders of the fields whose JSON form differs."""


def as_points(points: Any) -> Outline:
    """Points of a stage from pairs or an array (n, 2)."""
    return tuple((float(x), float(y)) for x, y in points)


def _decoded(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Decoded fields of a part of a stage."""
    return {name: _DECODERS.get(name, lambda value: value)(value) for name, value in plain.items()}


class Named(NamedTuple):
    """A channel without an index."""

    name: str
    unit: str
    role: str


POSE = (Named("x", "m", "output"), Named("y", "m", "output"), Named("yaw", "rad", "output"))
"""Pose channels of a body without a pose in its state."""
POSE_NAMES = tuple(one.name for one in POSE)
ATTITUDE = tuple(Named(*one, "output") for one in (("z", "m"), ("pitch", "rad"), ("roll", "rad")))
"""Attitude channels of a body on uneven ground."""


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
    """Builder of a stage's channels."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []

    def add(self, body: str, named: Sequence[Named]) -> dict[str, int]:
        """Append the channels of one body; returns their indices by name."""
        begin = len(self.channels)
        self.channels += [Channel(n.name, n.unit, body, n.role) for n in named]
        return {n.name: begin + k for k, n in enumerate(named)}

    def add_many(self, bodies: Sequence[str], named: Sequence[Named]) -> list[dict[str, int]]:
        """Append channels of several bodies of one kind, field by field as in the arrays of a
        fleet.

        Returns the indices by name, body by body.
        """
        begin, count = len(self.channels), len(bodies)
        for n in named:
            self.channels += [Channel(n.name, n.unit, body, n.role) for body in bodies]
        return [{n.name: begin + k * count + b for k, n in enumerate(named)} for b in range(count)]


_VELOCITY = tuple(
    Named(*one, "output") for one in (("v_x", "m/s"), ("v_y", "m/s"), ("omega", "rad/s"))
)


class VehicleChannels:
    """Channels and shape that all vehicles of a model have on a stage.

    The channels are those of states, inputs and outputs, and those that the model's body computes.
    Most models need none of the latter; a model whose state is a path coordinate gets the pose that
    its body computes, and a velocity.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._body, self._model = body_of(vehicle, "a picture"), vehicle.name
        self.shape = shape_of(vehicle)
        self.states, self.inputs, self.outputs = named_channels(vehicle.model)
        fields = own_fields(vehicle.State, lambda x: self._body.pose(x, vehicle.params))
        self.pose = tuple(f or n.name for f, n in zip(fields, POSE, strict=True))
        """Names of the channels of x, y and yaw."""
        self._missing = [k for k, field in enumerate(fields) if field is None]
        self.computed = [*(POSE[k] for k in self._missing), *(_VELOCITY if self._missing else ())]

    @property
    def named(self) -> list[Named]:
        """All channels of a vehicle, in order."""
        return [*self.states, *self.inputs, *self.outputs, *self.computed]

    def add(self, rows: Rows, name: str) -> Body:
        """Append the channels of a vehicle and return its body."""
        places = rows.add(name, self.named)
        return vehicle_body(name, self.shape, self.pose, places, model=self._model)

    def computed_values(self, x: Any, u: Any, p: Any) -> list[Array]:
        """Values of the channels in `computed`, from records whose arrays have the same shape."""
        if not self.computed:
            return []
        pose, velocity = self._body.pose(x, p), self._body.velocity(x, u, p)
        return list(np.broadcast_arrays(*(pose[k] for k in self._missing), *velocity))


def road_under(vehicle: Any) -> Road | None:
    """Road of a vehicle; None if its parameters have none."""
    own: Any = getattr(vehicle.params, "road", None) if isinstance(vehicle, Vehicle) else None
    known = getattr(own, "_fields", ()) == ("surface", "grip")
    return Road(own.surface, own.grip) if known else None


def attitude_on_road(vehicle: Vehicle, road: Road, poses: Array) -> tuple[Array, Array, Array]:
    """Height, pitch and roll, each (n,), of a vehicle at poses (n, 3) on a road.

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
LEAST_STEP: m = 0.1
AROUND: m = 40.0
"""Margin around the bodies up to which an unbounded road is drawn."""
BESIDE: m = 10.0
"""Distance up to which a road is drawn to either side of its line."""


def reliefs_of(scene: Scene) -> tuple[Relief, ...]:
    """Uneven ground of a scene."""
    maps = [e for e in scene.elements if isinstance(e, ElevationMap)]
    pieces = [(e.road, _lattice_box(e.road.surface.heights)) for e in maps]
    if scene.road is not None:
        pieces.append((scene.road, road_box(scene.road, _places(scene))))
    drawn = (relief_of(road, box) for road, box in pieces)
    return tuple(one for one in drawn if one is not None)


def relief_of(road: Road, box: Box) -> Relief | None:
    """Relief of a road within a box; None if it is level and has normal grip."""
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
    drawn_grip = b"" if isinstance(road.friction, FullGrip) else shares.tobytes()
    heights = levels.astype("<u2").tobytes()
    return Relief(left, bottom, step, width, height, low, most, heights, drawn_grip)


def road_box(road: Road, places: Array) -> Box:
    """Drawn area of a road: where it is defined, and around places (n, 2)."""
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
    last_0 = grid.start_0 + grid.step_0 * (grid.count_0 - 1.0)
    last_1 = grid.start_1 + grid.step_1 * (grid.count_1 - 1.0)
    return grid.start_0, grid.start_1, last_0, last_1


def _surface_box(surface: Any) -> Box | None:
    """Area in which a surface is uneven; None if it is unbounded."""
    line = getattr(surface, "line", None)
    if line is None:
        heights = getattr(surface, "heights", None)
        return None if heights is None else _lattice_box(heights)
    if hasattr(line, "xs"):
        x, y = values_of(line.xs), values_of(line.ys)
        assert x is not None
        assert y is not None
        return _around(zip(x, y, strict=True))
    first, _, last, _ = _lattice_box(surface.heights)
    at = (line.x, line.y, line.yaw)
    return _around(to_world(at, way - line.u, 0.0) for way in (first, last))


def _around(points: Iterable[Any]) -> Box:
    table = np.array([(float(x), float(y)) for x, y in points])
    low, high = table.min(axis=0) - BESIDE, table.max(axis=0) + BESIDE
    return (*low.tolist(), *high.tolist())


_PROPERTIES = {"friction_mu": "friction", "friction_C_rr": "rolling resistance"}


def still_life(scene: Scene) -> dict[str, Any]:
    """Polygons, grids and reliefs of a stage that do not move, by field name."""
    blocks = {block.name: block for block in scene.blocks}
    polygons: list[Polygon] = []
    for name, parts, pose in standing_parts(scene):
        block = blocks.get(name)
        if block is not None and block.animation:
            continue
        kind, colour = ("wall", "") if block is None else ("block", block.color)
        rings = (points_to_world(pose[:3], np.array(part.outline, float)) for part in parts)
        polygons += [Polygon(as_points(ring), kind, name, colour) for ring in rings]
    for element in scene.elements:
        # An unbounded region would cover everything.
        if isinstance(element, PropertyRegion) and np.isfinite(_box(element)).all():
            polygons.append(Polygon(_box(element), "region", _words(element)))
    grids = [shown_grid(e.grid) for e in scene.elements if isinstance(e, OccupancyGrid)]
    return {"polygons": tuple(polygons), "grids": tuple(grids), "reliefs": reliefs_of(scene)}


def _words(region: PropertyRegion) -> str:
    """Label of a region for viewers, such as "friction 0.25"."""
    value = region.value
    if region.name == "gps_no_coverage" and isinstance(value, bool):
        return "no GNSS" if value else "GNSS"
    shown = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{_PROPERTIES.get(region.name, region.name)} {shown}"


def _box(region: PropertyRegion) -> Outline:
    return rectangle(region.x_min, region.x_max, region.y_min, region.y_max)


def shown_grid(grid: OccupiedGrid) -> Grid:
    """Stage grid of an occupancy grid."""
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
    """Wheels of a body name the fields of their steering angle and load; others are fixed."""
    trailer: BodyShape | None = None
    """Shape of the trailer in the frame of its axle, with further trailers in turn; None
    without one."""
    hitch_x: float = 0.0
    """Position of the hitch ahead of the reference point, in m."""
    drawbar: float = 0.0
    """Distance from the hitch back to the trailer's axle, in m."""
    hitch: str = ""
    """State field of the trailer's heading relative to the heading of this unit."""

    __repr__ = brief_repr


def shape_of(vehicle: Vehicle) -> BodyShape:
    body_of(vehicle, "a picture")
    return _with_trailer(vehicle.geometry)


def _with_trailer(unit: Geometry | Trailer) -> BodyShape:
    trailer, shape = unit.trailer, BodyShape(unit.outlines, unit.wheels)
    if trailer is None:
        return shape
    hung = (trailer.hitch_x, trailer.drawbar, trailer.angle)
    return BodyShape(shape.outlines, shape.wheels, _with_trailer(trailer), *hung)


_OF_WHEELS = ("steer", "F_x", "F_y", "F_z", "use")
"""Fields of wheels that name channels."""


def vehicle_body(
    name: str, shape: BodyShape, pose: Iterable[str], places: Mapping[str, int], **about: str
) -> Body:
    """Body of this shape with channels at `places`; `pose` names those of its pose.

    `about` is its kind, unless it is a vehicle, its colour and its model.
    """
    x, y, yaw = (places[field] for field in pose)
    wheels = tuple(
        Wheel(
            *(w.name, w.x, w.y, w.length, w.width, w.yaw),
            **{field: places.get(getattr(w, field)) for field in _OF_WHEELS},
        )
        for w in shape.wheels
    )
    kind = about.pop("kind", "vehicle")
    return Body(name, kind, shape.outlines, x, y, yaw, wheels, places, **about)


def thing_shape(scene: Scene, name: str) -> tuple[BodyShape, str, str]:
    """Shape, kind and colour of a block or a pedestrian."""
    block = next((block for block in scene.blocks if block.name == name), None)
    if block is not None:
        return BodyShape((as_points(block.shape.outline),)), "block", block.color
    r = next(actor.collision_radius for actor in scene.actors if actor.name == name)
    return BodyShape((tuple((r * x, r * y) for x, y in _CIRCLE),)), "actor", ""


_CIRCLE = tuple((math.cos(a), math.sin(a)) for a in (np.arange(16) * np.pi / 8.0).tolist())


record.document_all()


class _Row(NamedTuple):
    """All trailers at the same position in the chain: the first behind their vehicles, or the
    second etc."""

    units: list[int]
    """For each trailer, the index of its towing unit among the units one position ahead."""
    angles: list[int]
    """Channels of the hitch angles."""
    hitch_x: Array
    drawbar: Array


class Trailers:
    """Trailers of the vehicles that have a hitch; their pose channels follow all other channels."""

    def __init__(self, vehicles: Sequence[tuple[Body, BodyShape]], rows: Rows) -> None:
        self.bodies: list[Body] = []
        self._rows: list[_Row] = []
        self._poses = [(body.x, body.y, body.yaw) for body, _ in vehicles]
        units = [*vehicles]
        while towed := [(k, *u) for k, u in enumerate(units) if u[1].hitch in u[0].channels]:
            angles = [body.channels[shape.hitch] for _, body, shape in towed]
            hitches = np.array([(shape.hitch_x, shape.drawbar) for *_, shape in towed]).T
            self._rows.append(_Row([k for k, *_ in towed], angles, *hitches))
            number = f" {len(self._rows)}" if len(self._rows) > 1 else ""
            units = [(body, shape.trailer or BodyShape(())) for _, body, shape in towed]
            for body, shape in units:
                name = f"{body.name} trailer{number}"
                places = rows.add(name, POSE)
                self.bodies.append(vehicle_body(name, shape, POSE_NAMES, places, kind="trailer"))

    def added(self, rows: Array) -> Array:
        """Rows (T, channels) with trailer poses appended, from rows without them."""
        if not self.bodies:
            return rows
        poses, added = rows[:, np.array(self._poses, int)], [rows]
        for row in self._rows:
            ahead = np.moveaxis(poses[:, row.units], -1, 0)
            behind = towed(ahead, row.hitch_x, row.drawbar, rows[:, row.angles])
            poses = np.stack(behind, axis=-1)
            added.append(poses.reshape(len(rows), -1))
        return np.hstack(added)


def wheel_corners(wheel: Wheel | BodyWheel) -> tuple[Point, ...]:
    """Corners of a wheel seen from above, relative to its middle and along its axes, in m."""
    a, b = 0.5 * wheel.length, 0.5 * wheel.width
    return (a, b), (a, -b), (-a, -b), (-a, b)


@dataclass(frozen=True)
class PlacedUnit:
    """One rigid unit at its pose: a vehicle, or a trailer behind it."""

    pose: Pose
    """Pose in the world of the origin of outlines and wheels."""
    outlines: tuple[BodyOutline, ...]
    wheels: tuple[Wheel | BodyWheel, ...] = ()
    """Wheels with their current angle on the unit as `yaw`."""

    __repr__ = brief_repr

    @property
    def world_outlines(self) -> list[Array]:
        """Outlines (n, 2) in the world."""
        return [points_to_world(self.pose, np.asarray(outline)) for outline in self.outlines]

    @property
    def world_wheels(self) -> list[Array]:
        """Corners (4, 2) of the wheels in the world."""
        boxes = (
            points_to_world((w.x, w.y, w.yaw), np.array(wheel_corners(w))) for w in self.wheels
        )
        return [points_to_world(self.pose, box) for box in boxes]

    def check(self) -> None:
        """Raise `InvalidValue` if the pose or a wheel angle is not finite, or the position is too
        far away to draw."""
        angles = {f"angle of wheel {wheel.name!r}": wheel.yaw for wheel in self.wheels}
        for name, value in (self.pose._asdict() | angles).items():
            if not math.isfinite(value):
                raise InvalidValue(f"{name} = {value} of a vehicle must be finite to be drawn")
        if not max(abs(self.pose.x), abs(self.pose.y)) <= FARTHEST:
            place = f"({self.pose.x:g}, {self.pose.y:g})"
            raise InvalidValue(f"place {place} of a vehicle must be within {FARTHEST:g} m")


@dataclass(frozen=True)
class PlacedVehicle:
    """A vehicle at one moment, with its trailers."""

    vehicle: PlacedUnit
    trailers: tuple[PlacedUnit, ...] = ()
    """Trailers from the vehicle backwards."""
    colour: str = ""
    """Colour as `#rrggbb`; if empty, a colour chosen by the vehicle's index in the picture."""

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
    """Place a vehicle at the state `x`, a record or its values in order, for drawing.

    `p` replaces its parameters. `u` is the input, which sets the steering angle of vehicles without
    steering dynamics; the default is the input at rest.
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
    """Values by name of the fields that set wheel and trailer angles."""
    values = dict(zip(record.names(vehicle.State), record.flatten(state), strict=True))
    units: Sequence[Geometry | Trailer] = (vehicle.geometry, *vehicle.geometry.trailers)
    if {wheel.steer for unit in units for wheel in unit.wheels if wheel.steer} <= values.keys():
        return values
    u = record.at_rest(vehicle.Input) if u is None else record.build(vehicle.Input, u)
    outputs = vehicle.outputs(state, u)
    named = zip(record.names(vehicle.model.Outputs), record.flatten(outputs), strict=True)
    return {name: float(value) for name, value in named} | values


def _unit(pose: Pose, unit: Geometry | Trailer, values: Mapping[str, float]) -> PlacedUnit:
    wheels = tuple(
        Wheel(w.name, w.x, w.y, w.length, w.width, w.yaw + values.get(w.steer, 0.0))
        for w in unit.wheels
    )
    return PlacedUnit(pose, unit.outlines, wheels)


def place_bodies(stage: Stage, row: Array) -> list[tuple[Body, PlacedUnit]]:
    """Bodies of a stage at the values of a row; bodies with unknown pose are left out."""
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
