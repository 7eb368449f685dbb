"""Fixed frames of a vehicle: who hangs where on whom, and where a frame is from another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...record import unknown_name


@dataclass(frozen=True)
class Transform:
    """Where a frame is, seen from its parent."""

    rotation: Array
    """Matrix (3, 3) that takes a vector from the axes of the frame to those of the parent."""
    translation: Array
    """Origin of the frame in the parent, (3,) in m."""

    @staticmethod
    def of(translation: Iterable[float], quaternion: Iterable[float] = (0, 0, 0, 1)) -> Transform:
        """From an origin and a quaternion (x, y, z, w) of any length but 0."""
        q = np.array(list(quaternion), dtype=float)
        x, y, z, w = q / np.linalg.norm(q)
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        return Transform(rotation, np.array(list(translation), dtype=float))

    def then(self, inner: Transform) -> Transform:
        """A frame that hangs on this one, seen from this one's parent."""
        return Transform(
            self.rotation @ inner.rotation, self.rotation @ inner.translation + self.translation
        )

    @property
    def inverse(self) -> Transform:
        """The parent, seen from the frame."""
        return Transform(self.rotation.T, -self.rotation.T @ self.translation)


class Link(NamedTuple):
    """One fixed transform."""

    parent: str
    child: str
    pose: Transform
    """Of the child in the parent."""


@dataclass(frozen=True)
class Frames:
    """A tree of fixed frames; every frame has one parent but the root."""

    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for link in self.links:
            if link.child in seen:
                raise InvalidValue(f"frame {link.child!r} has two parents; allowed is one")
            seen.add(link.child)
        for link in self.links:
            self._to_root(link.child)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all frames."""
        return tuple(dict.fromkeys(name for link in self.links for name in link[:2]))

    def moved(self, child: str, pose: Transform) -> Frames:
        """The same frames with one of them put elsewhere on its parent; absent ones stay so."""
        return Frames(
            tuple(link._replace(pose=pose) if link.child == child else link for link in self.links)
        )

    def pose(self, of: str, seen_from: str) -> Transform:
        """Where one frame is, seen from another; raises if they do not hang together."""
        for name in (of, seen_from):
            if name not in self.names:
                raise InvalidValue(unknown_name("tf_static", name, self.names, "frame"))
        (top, here), (other_top, there) = self._to_root(of), self._to_root(seen_from)
        if top != other_top:
            raise InvalidValue(
                f"tf_static does not connect the frames {of!r} (under {top!r}) and "
                f"{seen_from!r} (under {other_top!r})"
            )
        return there.inverse.then(here)

    def _to_root(self, name: str) -> tuple[str, Transform]:
        """The root above a frame, and where the frame is seen from there."""
        parents: dict[str, Any] = {link.child: link for link in self.links}
        pose = Transform.of((0.0, 0.0, 0.0))
        passed = {name}
        while name in parents:
            link = parents[name]
            pose, name = link.pose.then(pose), link.parent
            if name in passed:
                raise InvalidValue(f"frame {name!r} hangs on itself; allowed is a tree")
            passed.add(name)
        return name, pose
