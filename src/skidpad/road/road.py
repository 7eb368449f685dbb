"""`Road`: the ground that vehicles drive on, with its height and its grip.

The constructors of `Road` check the user's arguments and choose the record that computes heights
and grip: one of `records`, one along a reference line of `curved`, or that of an OpenCRG file
(`crg`).
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
from . import iso8608, records
from .contact import Direction
from .crg import road_of_crg
from .curved import StraightLine, curved_line, line_road
from .records import FLAT, Area, PolygonPatch

_PROFILES = {
    "linear": (records.ProfileRoad, records.HeightProfile),
    "cubic": (records.SmoothProfileRoad, records.SmoothProfile),
}
"""Road and grid classes of profiles by method."""
_GRIDS = {
    "linear": (records.GridRoad, records.HeightGrid),
    "cubic": (records.SmoothGridRoad, records.SmoothGrid),
}


@dataclass(frozen=True, repr=False)
class Road:
    """Ground with a height and a grip at every position in the world; immutable.

    `Road()` is level. Other roads are made by `plane`, `waves`, `profile`, `grid`, `curved`,
    `iso8608` and `load`; `with_grip` sets another grip. Vehicles accept a road as `road=`.

    Heights are in m. Slopes are rises per horizontal distance: 0.05 is 5 %. Grip is a factor on the
    friction of the tyres: 1 is the road on which they were measured.
    """

    surface: Any = FLAT.surface
    """Record of the height."""
    friction: Any = FLAT.grip
    """Record of the grip."""

    @property
    def record(self) -> Any:
        """Record of surface and grip, as it appears among a vehicle's parameters."""
        return records.road_record(self.surface, self.friction)

    def height(self, x: Any, y: Any) -> Any:
        """Height in m at positions in the world: floats, NumPy arrays, CasADi or JAX values."""
        return self._point(x, y).z

    def gradient(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Slopes along x and along y at positions in the world."""
        point = self._point(x, y)
        return point.z_x, point.z_y

    def _point(self, x: Any, y: Any) -> records.SurfacePoint:
        places = _places(x, y)
        point = self.surface.at(*places)
        return records.SurfacePoint(*(_at_all(value, *places) for value in point))

    def normal(self, x: Any, y: Any) -> Direction:
        """Unit normal of the road at positions, in axes of the world."""
        z_x, z_y = self.gradient(x, y)
        by_length = 1.0 / sqrt(1.0 + z_x * z_x + z_y * z_y)
        return Direction(-z_x * by_length, -z_y * by_length, by_length)

    def grip(self, x: Any, y: Any) -> Any:
        """Grip at positions in the world, relative to that on which the tyres were measured."""
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
            step: spacing in m of the points of the lattice; for patches, 0.1 by default.
            area: (x, y, x, y) of the corners between which patches count; required for an unbounded
                patch.
        """
        if isinstance(grip, (int, float)):
            return replace(self, friction=records.UniformGrip(must_be("grip", grip, non_negative)))
        if isinstance(grip, (Patch, PolygonPatch)):
            grip = [grip]
        if isinstance(grip, Sequence) and any(isinstance(p, (Patch, PolygonPatch)) for p in grip):
            if start is not None:
                raise InvalidValue(
                    "start is the first point of a lattice of values; patches have no lattice"
                )
            layers = records.grip_of_patches(grip, base, 0.1 if step is None else step, area)
            return replace(self, friction=layers)
        if start is None or step is None:
            raise InvalidValue("a lattice of grip needs start= and step=")
        return replace(self, friction=records.grip_grid(grip, start, step))

    @classmethod
    def plane(cls, slope: float = 0.0, bank: float = 0.0, yaw: float = 0.0, z: float = 0.0) -> Road:
        """A plane that rises by `slope` along `yaw` and by `bank` to the left of it.

        Both are rises per horizontal distance: math.tan(angle). `z` is the height at the origin.
        """
        numbers = {"slope": slope, "bank": bank, "yaw": yaw, "z": z}.items()
        return cls(records.PlaneRoad(**{name: finite(name, value) for name, value in numbers}))

    @classmethod
    def waves(
        cls, amplitude: float, wavelength: float, phase: float = 0.0, yaw: float = 0.0
    ) -> Road:
        """Sine waves along `yaw` with an amplitude and a wavelength in m; `phase` at the origin."""
        sizes = finite("amplitude", amplitude, "m"), positive("wavelength", wavelength, "m")
        angles = finite("phase", phase, "rad"), finite("yaw", yaw, "rad")
        return cls(records.WaveRoad(*sizes, *angles))

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

        They are constant across the line; the road is level before and behind it. `method` is
        "linear" or "cubic".
        """
        values = _heights(heights, 1)
        one_of("method", method, _PROFILES)
        step = positive("step", step, "m")
        place = (finite("x", x), finite("y", y), finite("yaw", yaw))
        road, kind = _PROFILES[method]
        return cls(road(records.grid_of(kind, values, 0.0, step), *place))

    @classmethod
    def grid(cls, heights: Any, start: Any, step: Any, *, method: str = "linear") -> Road:
        """Heights (nx, ny) in m at the points of a lattice of the world.

        `start` is x and y of the first point, `step` the spacing, common to both directions or
        one for each. `method` is "linear" (bilinear) or "cubic" (smooth). Outside, the height is
        that of the nearest point of the border.
        """
        values = _heights(heights, 2)
        one_of("method", method, _GRIDS)
        road, kind = _GRIDS[method]
        return cls(road(records.grid_of(kind, values, start, step)))

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
            step: spacing of its points in m.
            width: of the road in m, half to each side. Outside, the height is that of its border.
            z: height of the line at its n points, in m.
            bank: rise to the left at its n points, per horizontal distance.
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
        """A random road of an ISO 8608 class, reproducible from its arguments on every machine.

        Args:
            roughness: a class from "A" to "H", or G_d at 0.1 1/m, in m³.
            seed: any integer; each gives a different road.
            length: from (x, y) along `yaw`, in m. Beyond it the height is that of its end.
            step: spacing of its points in m; heights are linear between them.
            tracks: increasing offsets in m to the left of the line at which heights are generated,
                coherent as on a surface with isotropic roughness.
            wavelengths: shortest and longest wavelength, in m.
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
        """Load the road of an OpenCRG file (`.crg`), in text or binary.

        With `modifiers` those of the file are applied: scaling, NaN handling and re-positioning.
        """
        return cls(road_of_crg(path, modifiers=modifiers))

    def __repr__(self) -> str:
        """Classes of its surface and its grip."""
        return f"Road({type(self.surface).__name__}, {type(self.friction).__name__})"


def _places(x: Any, y: Any) -> tuple[Any, Any]:
    """Positions with lists converted to arrays; all other types are unchanged."""
    return tuple(np.asarray(v, float) if isinstance(v, (list, tuple)) else v for v in (x, y))  # type: ignore[return-value]


def _at_all(value: Any, x: Any, y: Any) -> Any:
    """A value broadcast to all positions."""
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
