"""Poses, outlines and motions that a scene gives its objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ...body import Outline
from ...brief import brief_repr
from ...units import m, m_s, rad, rad_s, s
from .fields import NOWHERE, Source


class Pose(NamedTuple):
    """Position and attitude: rotate by roll about x, pitch about y, yaw about z, then move."""

    x: m = 0.0
    y: m = 0.0
    z: m = 0.0
    yaw: rad = 0.0
    pitch: rad = 0.0
    """Positive with the nose down, as upstream has it (rotation about the axis to the left)."""
    roll: rad = 0.0


ORIGIN = Pose()
"""At the origin, along the axes."""


class Velocity(NamedTuple):
    """Velocity of an object's reference point at the start."""

    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0
    frame: Literal["body", "world"] = "body"
    """Axes of `v_x` and `v_y`; upstream takes them for the world's."""


AT_REST = Velocity()
"""No velocity."""


@dataclass(frozen=True)
class Geometry:
    """A simple solid: what `<geometry>` says."""

    kind: Literal["box", "cylinder", "sphere", "semi_cylinder_bump", "ramp"]
    l_x: m = 0.0
    """Length along x: of box, bump and ramp."""
    l_y: m = 0.0
    l_z: m = 0.0
    radius: m = 0.0
    length: m = 0.0
    """Height of a cylinder."""
    vertices: int = 10
    """Corners of the outline of a cylinder or sphere."""


@dataclass(frozen=True)
class Shape:
    """The outline of an object seen from above, and how high it reaches."""

    outline: Outline
    """Corners, counter-clockwise, no three on a line."""
    parts: tuple[Outline, ...]
    """Convex pieces that make up the outline, counter-clockwise."""
    z_min: m
    z_max: m
    made_from: Literal["shape", "geometry", "mesh", "stand-in", "default"] = "default"
    """Where the outline comes from; a stand-in replaces a mesh that could not be read."""

    __repr__ = brief_repr

    @property
    def radius(self) -> m:
        """Largest distance of a corner from the reference point."""
        return max((x * x + y * y) ** 0.5 for x, y in self.outline)


@dataclass(frozen=True)
class Visual:
    """A 3-D model that a renderer would show."""

    uri: str
    scale: float = 1.0
    pose: Pose = ORIGIN
    """Of the model in the object's frame."""
    name: str = "group"
    enabled: bool = True
    source: Source = field(default=NOWHERE, compare=False)


class Keyframe(NamedTuple):
    """Where an animated object is at a time, relative to its initial pose."""

    time: s
    pose: Pose


@dataclass(frozen=True)
class Publish:
    """Topics on which upstream would publish poses; kept for bridges."""

    enabled: bool = True
    pose_topic: str = ""
    pose_period: s = 0.1
    relative_topic: str = ""
    relative_objects: tuple[str, ...] = ()
