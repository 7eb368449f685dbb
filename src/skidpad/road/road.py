"""`Road`: the ground that vehicles drive on, with its height and its grip.

The constructors of `Road` check what users give and pick the record that computes heights and grip:
those of `records`, those along a reference line of `curved`, or that of an OpenCRG file (`crg`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.checks import finite, floats, must_be, one_of, positive
from ..errors import InvalidValue
from ..ops import sqrt
from ..random.patches import Patch
from ..units import non_negative
from . import iso8608
from .contact import Direction
from .crg import road_of_crg
from .curved import StraightLine, curved_line, line_road
from .records import (
    FLAT,
    Area,
    GridRoad,
    HeightGrid,
    HeightProfile,
    PlaneRoad,
    PolygonPatch,
    ProfileRoad,
    SmoothGrid,
    SmoothGridRoad,
    SmoothProfile,
    SmoothProfileRoad,
    SurfacePoint,
    UniformGrip,
    WaveRoad,
    grid_of,
    grip_grid,
    grip_of_patches,
    road_record,
)

_METHODS = ("linear", "cubic")


@dataclass(frozen=True, repr=False)
class Road:
    """Ground with a height and a grip at every place of the world; immutable.

    `Road()` is level. The others are made by `plane`, `waves`, `profile`, `grid`, `curved`,
    `iso8608` and `load`, and get another grip by `with_grip`. A vehicle takes one by `road=`.

    Heights are in m. Slopes are rises over the horizontal way: 0.05 is 5 %. Grip is a factor on the
    friction of the tyres: 1 is the road on which they were measured.
    """

    surface: Any = FLAT.surface
    """The record of the height."""
    friction: Any = FLAT.grip
    """The record of the grip."""

    @property
    def record(self) -> Any:
        """Surface and grip as the record that a vehicle has among its parameters."""
        return road_record(self.surface, self.friction)

    def height(self, x: Any, y: Any) -> Any:
        """Height in m at places of the world: floats, NumPy arrays, CasADi or JAX values."""
        return self._point(x, y).z

    def gradient(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Rises along x and along y at places of the world."""
        point = self._point(x, y)
        return point.z_x, point.z_y

    def _point(self, x: Any, y: Any) -> SurfacePoint:
        places = _places(x, y)
        return SurfacePoint(*(_at_all(value, *places) for value in self.surface.at(*places)))

    def normal(self, x: Any, y: Any) -> Direction:
        """The direction off the road, of length one, in axes of the world."""
        z_x, z_y = self.gradient(x, y)
        by_length = 1.0 / sqrt(1.0 + z_x * z_x + z_y * z_y)
        return Direction(-z_x * by_length, -z_y * by_length, by_length)

    def grip(self, x: Any, y: Any) -> Any:
        """Grip at places of the world, over that on which the tyres were measured."""
        places = _places(x, y)
        return _at_all(self.friction.at(*places), *places)

    def with_grip(
        self,
        grip: float | Sequence[Patch | PolygonPatch] | Any,
        *,
        base: float = 1.0,
        start: Any = None,
        step: Any = None,
        area: Area | None = None,
    ) -> Road:
        """The same road with another grip.

        Args:
            grip: one number for the whole road; or a list of patches (`Patch`, `strip`,
                `PolygonPatch`), later ones on top; or values (nx, ny) at the points of a lattice.
            base: grip outside of the patches.
            start: x and y in m of the first value of a lattice.
            step: distance in m of the points of the lattice, 0.1 for patches if not given.
            area: (x, y, x, y) of the corners between which patches count; needed if one has no end.
        """
        if isinstance(grip, (int, float)):
            return replace(self, friction=UniformGrip(must_be("grip", grip, non_negative)))
        if isinstance(grip, (Patch, PolygonPatch)):
            grip = [grip]
        if isinstance(grip, Sequence) and any(isinstance(p, (Patch, PolygonPatch)) for p in grip):
            if start is not None:
                raise InvalidValue("start says where a lattice of values begins; patches have none")
            layers = grip_of_patches(grip, base, 0.1 if step is None else step, area)
            return replace(self, friction=layers)
        if start is None or step is None:
            raise InvalidValue("a lattice of grip needs start= and step=")
        return replace(self, friction=grip_grid(grip, start, step))

    @classmethod
    def plane(cls, slope: float = 0.0, bank: float = 0.0, yaw: float = 0.0, z: float = 0.0) -> Road:
        """A plane that rises by `slope` along `yaw` and by `bank` to the left of it.

        Both are rises over the horizontal way: math.tan(angle). `z` is the height at the origin.
        """
        numbers = {"slope": slope, "bank": bank, "yaw": yaw, "z": z}
        return cls(PlaneRoad(**{name: finite(name, value) for name, value in numbers.items()}))

    @classmethod
    def waves(
        cls, amplitude: float, wavelength: float, phase: float = 0.0, yaw: float = 0.0
    ) -> Road:
        """Sine waves along `yaw` with an amplitude and a length in m; `phase` at the origin."""
        return cls(
            WaveRoad(
                finite("amplitude", amplitude, "m"),
                positive("wavelength", wavelength, "m"),
                finite("phase", phase, "rad"),
                finite("yaw", yaw, "rad"),
            )
        )

    @classmethod
    def profile(
        cls,
        heights: Any,
        step: float,
        *,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        method: str = "linear",
    ) -> Road:
        """Heights in m at points `step` m apart on the line from (x, y) along `yaw`.

        The same everywhere across the line; level before and behind it. `method` is "linear" or
        "cubic".
        """
        values = _heights(heights, 1)
        one_of("method", method, _METHODS)
        step = positive("step", step, "m")
        place = (finite("x", x), finite("y", y), finite("yaw", yaw))
        if method == "linear":
            return cls(ProfileRoad(grid_of(HeightProfile, values, 0.0, step), *place))
        return cls(SmoothProfileRoad(grid_of(SmoothProfile, values, 0.0, step), *place))

    @classmethod
    def grid(cls, heights: Any, start: Any, step: Any, *, method: str = "linear") -> Road:
        """Heights (nx, ny) in m at the points of a lattice of the world.

        `start` are x and y of the first one, `step` the distance of neighbours, one for both
        directions or one for each. `method` is "linear" (bilinear) or "cubic" (smooth). Outside it
        is as high as at the nearest point of the border.
        """
        values = _heights(heights, 2)
        one_of("method", method, _METHODS)
        if method == "linear":
            return cls(GridRoad(grid_of(HeightGrid, values, start, step)))
        return cls(SmoothGridRoad(grid_of(SmoothGrid, values, start, step)))

    @classmethod
    def curved(
        cls,
        curvature: Any,
        step: float,
        *,
        width: float = 8.0,
        z: Any = 0.0,
        bank: Any = 0.0,
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
    ) -> Road:
        """A road along a curved line that begins at (x, y) along `yaw`.

        Args:
            curvature: of the line between its points, 1/m, positive to the left; (n - 1,).
            step: distance of its points in m.
            width: of the road in m, half to each side. Outside, the height is that of its border.
            z: height of the line at its n points, in m.
            bank: rise to the left at its n points, over the horizontal way.
        """
        step = positive("step", step, "m")
        half = 0.5 * positive("width", width, "m")
        bends = _heights(curvature, 1, "curvature")
        heading = yaw + step * (np.cumsum(bends) - 0.5 * bends)
        xs = finite("x", x) + np.concatenate([[0.0], np.cumsum(step * np.cos(heading))])
        ys = finite("y", y) + np.concatenate([[0.0], np.cumsum(step * np.sin(heading))])
        line_z, cross = (_along_line(name, v, len(xs)) for name, v in (("z", z), ("bank", bank)))
        columns = np.array([-half, half])
        heights = line_z[:, None] + cross[:, None] * columns
        line = curved_line(xs, ys, 0.0, step, half)
        return cls(line_road(line, 0.0, step, columns, heights))

    @classmethod
    def iso8608(
        cls,
        roughness: Any,
        seed: int = 0,
        *,
        length: float = 1000.0,
        step: float = 0.05,
        tracks: Sequence[float] = (-0.75, 0.75),
        x: float = 0.0,
        y: float = 0.0,
        yaw: float = 0.0,
        wavelengths: tuple[float, float] = iso8608.WAVELENGTHS,
    ) -> Road:
        """A random road of a class of ISO 8608, the same for the same arguments everywhere.

        Args:
            roughness: a class from "A" to "H", or G_d at 0.1 1/m, in m³.
            seed: any whole number; another one is another road.
            length: from (x, y) along `yaw`, in m. Beyond it is as high as at its end.
            step: distance of its points in m; heights are linear between them.
            tracks: increasing distances to the left of the line at which there are heights, in m,
                coherent as on a surface that is as rough in every direction.
            wavelengths: shortest and longest wave, in m.
        """
        step = positive("step", step, "m")
        count = math.ceil(positive("length", length, "m") / step) + 1
        columns = _increasing("tracks", tracks)
        shortest, longest = (positive("wavelengths", w, "m") for w in wavelengths)
        if not 2.0 * step <= shortest < longest:
            raise InvalidValue(
                f"wavelengths = {wavelengths!r} m must increase from at least 2 step = {2 * step:g}"
            )
        heights = iso8608.track_heights(roughness, seed, count, step, columns, (shortest, longest))
        if len(columns) == 1:
            return cls.profile(heights[:, 0], step, x=x, y=y, yaw=yaw)
        line = StraightLine(0.0, finite("x", x), finite("y", y), finite("yaw", yaw))
        return cls(line_road(line, 0.0, step, columns, heights))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, modifiers: bool = True) -> Road:
        """The road of an OpenCRG file (`.crg`), in text or binary.

        With `modifiers` those of the file are applied: scaling, NaN handling and re-positioning.
        """
        return cls(road_of_crg(path, modifiers=modifiers))

    def __repr__(self) -> str:
        """The classes of its surface and its grip."""
        return f"Road({type(self.surface).__name__}, {type(self.friction).__name__})"


def _places(x: Any, y: Any) -> tuple[Any, Any]:
    """Lists become arrays; whatever computes stays as it is."""
    return tuple(np.asarray(v, float) if isinstance(v, (list, tuple)) else v for v in (x, y))  # type: ignore[return-value]


def _at_all(value: Any, x: Any, y: Any) -> Any:
    """A value at all places, from one for each or one for all."""
    if not any(isinstance(v, np.ndarray) for v in (x, y)):
        return value
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    return value if np.shape(value) == shape else np.full(shape, value)


def _heights(values: Any, axes: int, name: str = "heights") -> Array:
    array = np.array(floats(name, values))
    if array.ndim != axes or min(array.shape) < 2 - (name == "curvature"):
        raise InvalidValue(f"{name} has shape {array.shape}; expected {axes} axes of at least 2")
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InvalidValue(f"{name}[{', '.join(map(str, where))}] = {array[where]} must be finite")
    return array


def _along_line(name: str, values: Any, count: int) -> Array:
    array = np.asarray(values, float)
    if array.shape not in ((), (count,)) or not np.isfinite(array).all():
        raise InvalidValue(
            f"{name} has shape {array.shape}; allowed are one finite number or ({count},), one for "
            "each point of the line"
        )
    return np.broadcast_to(array, (count,))


def _increasing(name: str, values: Any) -> Array:
    array = np.atleast_1d(np.asarray(values, float))
    if array.ndim != 1 or not np.isfinite(array).all() or not (np.diff(array) > 0.0).all():
        raise InvalidValue(f"{name} = {values!r} must be finite and increase")
    return array
