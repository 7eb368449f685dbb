"""A stage: everything about a simulation that does not change while it runs.

Numbers that change come as rows: one float per channel and time. Everything is in SI units and
radians; outlines and wheels are in the frame of their body, x forward, y left. `None` in place of a
channel means that there is none.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..brief import brief_repr
from ..errors import InvalidValue

VERSION = 1
"""Of the description: readers refuse newer ones."""

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
    """Of the first ray, from the x axis of the lidar."""
    step: float
    """Angle between rays, positive to the left."""
    count: int
    max_range: float


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
    """Of the first point."""
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
    """What a simulation shows."""

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
        """What `to_json` gave; raises for a newer version."""
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
                bodies=tuple(_body(b) for b in plain["bodies"]),
                scans=tuple(Scan(**s) for s in plain["scans"]),
                polygons=tuple(Polygon(**_pointed(p)) for p in plain["polygons"]),
                lines=tuple(Line(**_pointed(p)) for p in plain["lines"]),
                discs=tuple(Disc(**d) for d in plain["discs"]),
                grids=tuple(_grid(g) for g in plain["grids"]),
                # Stages of before there were any have none.
                reliefs=tuple(_relief(r) for r in plain.get("reliefs", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidValue(f"the stage is damaged: {error}") from error


def _body(plain: Mapping[str, Any]) -> Body:
    outlines = tuple(tuple((float(x), float(y)) for x, y in one) for one in plain["outlines"])
    wheels = tuple(Wheel(**w) for w in plain["wheels"])
    fields: dict[str, Any] = {**plain, "outlines": outlines, "wheels": wheels}
    return Body(**fields)


def _pointed(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain, "points": tuple((float(x), float(y)) for x, y in plain["points"])}


def _grid(plain: Mapping[str, Any]) -> Grid:
    fields: dict[str, Any] = {**plain, "cells": base64.b64decode(plain["cells"])}
    return Grid(**fields)


def _relief(plain: Mapping[str, Any]) -> Relief:
    points = {name: base64.b64decode(plain[name]) for name in ("heights", "grip")}
    fields: dict[str, Any] = {**plain, **points}
    return Relief(**fields)
