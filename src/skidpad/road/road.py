"""`Road`: the ground that vehicles drive on, with its height and its grip.

The constructors of `Road` check the user's arguments and choose the record that computes heights
and grip: one of `records`, one along a reference line of `curved`, or that of an OpenCRG file
(`crg`).

Random roads have a roughness class of ISO 8608, A to H, and a seed. The displacement power spectral
density of a class falls with the square of the spatial frequency n, in cycles per metre: G_d(n) =
G_d(n_0) (n / n_0)^-2, with n_0 = 0.1 1/m. Heights are a Gaussian process with it: waves of equally
spaced n with normally distributed amplitudes.

Parallel tracks are those of a surface with isotropic roughness. Its coherence over a distance b is
x K_1(x) with x = 2π n b: slow waves lift both wheels alike, fast ones do not (C. J. Dodds, J. D.
Robson, "The description of road surface roughness", J. Sound Vib. 31 (1973), for the idea; the
closed form is the Fourier integral of the spectrum above over the second direction). Random roads
are bit-identical on every machine: their functions use only additions, products, quotients and
square roots, which are exactly rounded everywhere, unlike library functions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import factorial
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.checks import finite, floats, must_be, one_of, positive
from ..errors import InvalidValue
from ..ops import sqrt
from ..random.patches import Patch
from ..random.streams import normals
from ..units import non_negative
from . import records
from .crg import road_of_crg
from .curved import StraightLine, curved_line, line_road
from .records import FLAT, Area, Direction, PolygonPatch

_TURN = 6.283185307179586
_COSINE = list(
    accumulate(range(1, 13), lambda c, k: -c * _TURN * _TURN / (2 * k * (2 * k - 1)), initial=1.0)
)
"""Taylor coefficients in t² of the cosine of t turns."""
_EXPONENTIAL = [1.0 / factorial(k) for k in range(16)]
_SQUARINGS = 10
_COSH_STEP = 1.0050041680558035
"""Hyperbolic cosine of 0.1."""
_STEP = 0.1


def cosine(turns: Array) -> Array:
    t = np.abs(turns - np.floor(turns + 0.5))
    far = t > 0.25
    t = np.where(far, 0.5 - t, t)
    value = _polynomial(_COSINE, t * t)
    return np.where(far, -value, value)


def sine(turns: Array) -> Array:
    return cosine(turns - 0.25)


def exponential(x: Array) -> Array:
    """Exponential of x from -700 to 0, to about 13 digits."""
    value = _polynomial(_EXPONENTIAL, x * 0.5**_SQUARINGS)
    for _ in range(_SQUARINGS):
        value = value * value
    return value


def bessel_x_k1(x: Array) -> Array:
    """x K_1(x) with the modified Bessel function of the second kind, for x above 1e-6.

    K_1(x) is the integral of exp(-x cosh t) cosh t over t from 0 on, for which equal steps converge
    faster than any power.
    """
    cosh, before = 1.0, _COSH_STEP
    total = 0.5 * exponential(-x)
    while True:
        cosh, before = 2.0 * _COSH_STEP * cosh - before, cosh
        inside = x * cosh < 40.0
        if not inside.any():
            return (x * _STEP) * total
        terms = exponential(-np.where(inside, x * cosh, 0.0)) * cosh
        total = total + np.where(inside, terms, 0.0)


def fourier_sum(real: Array, imaginary: Array) -> Array:
    """Real part of the sum of c_k exp(2πi j k / n) for j from 0 to n-1; n is a power of 2.

    A fast Fourier transform along the last axis (Cooley and Tukey 1965).
    """
    a, b = real[..., None].copy(), imaginary[..., None].copy()
    while a.shape[-2] > 1:
        # Axis -2 counts the transforms still to be joined; axis -1 has the joined values.
        half, size = a.shape[-2] // 2, a.shape[-1]
        turns: Array = np.arange(size) / (2.0 * size)
        c, s = cosine(turns), sine(turns)
        even, odd = (a[..., :half, :], b[..., :half, :]), (a[..., half:, :], b[..., half:, :])
        x, y = c * odd[0] - s * odd[1], s * odd[0] + c * odd[1]
        a = np.concatenate([even[0] + x, even[0] - x], axis=-1)
        b = np.concatenate([even[1] + y, even[1] - y], axis=-1)
    return a.reshape(real.shape)


def _polynomial(coefficients: list[float], x: Array) -> Array:
    value = np.full(np.shape(x), coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value


CLASSES = "ABCDEFGH"
"""Roughness classes, smooth to rough."""
N_0 = 0.1
"""Spatial frequency at which classes are defined, in 1/m."""
WAVELENGTHS = (1.0 / 2.83, 1.0 / 0.011)
"""Shortest and longest wavelength of the standard, in m."""
_SMOOTHEST = 16e-6
"""Geometric mean of G_d(n_0) for class A, in m³; each further class has four times the value of the
one before.
"""
_MOST_NUMBERS = 1 << 26
"""Largest number of generated heights of a road, all tracks together, before it is cut to its
length.
"""


def roughness_of(kind: Any) -> float:
    """G_d(n_0) in m³ of a class by its letter (the geometric mean), or the number itself."""
    if isinstance(kind, str):
        if len(kind) != 1 or kind not in CLASSES:
            raise InvalidValue(
                f"roughness = {kind!r} is not a class of ISO 8608; allowed are "
                f"{', '.join(CLASSES)}, or G_d(0.1 1/m) in m³"
            )
        return _SMOOTHEST * 4.0 ** CLASSES.index(kind)
    return positive("roughness", kind, "m³")


def class_limits(letter: str) -> tuple[float, float]:
    """Least and largest G_d(n_0) of a class in m³; A begins at 0 and H is unbounded."""
    mean = roughness_of(letter)
    low = 0.0 if letter == CLASSES[0] else 0.5 * mean
    return low, np.inf if letter == CLASSES[-1] else 2.0 * mean


def class_of(roughness: float) -> str:
    """Class of a road with this G_d(n_0) in m³."""
    number = positive("roughness", roughness, "m³")
    return next(letter for letter in CLASSES if number < class_limits(letter)[1])


def psd(n: Any, roughness: Any) -> Any:
    """Power spectral density G_d in m³ at a spatial frequency n in 1/m, of a class or for a
    G_d(n_0) in m³."""
    n = floats("n", n)[()]
    return roughness_of(roughness) * (N_0 * N_0) / (n * n)


def track_heights(
    roughness: Any,
    seed: int,
    count: int,
    step: float,
    tracks: Array,
    wavelengths: tuple[float, float] = WAVELENGTHS,
) -> Array:
    """Heights (count, tracks) in m of a road at points `step` m apart, on tracks at these y in m.

    They depend on the arguments alone, bit-identical on every machine.
    """
    size = 1 << max(1, int(count - 1).bit_length())
    if size * tracks.size > _MOST_NUMBERS:
        raise InvalidValue(
            f"a road of {count} points on {tracks.size} tracks is too long; allowed are "
            f"{_MOST_NUMBERS} heights, with its length filled up to a power of 2"
        )
    shortest, longest = wavelengths
    modes = np.arange(1, size // 2)
    n = modes / (size * step)
    modes = modes[(n * shortest <= 1.0) & (n * longest >= 1.0)]
    n = modes / (size * step)
    spread = np.sqrt(psd(n, roughness) / (size * step))
    # Independent normal numbers (modes, tracks, 2); a track's numbers do not depend on the other
    # tracks.
    drawn = normals(seed, "road", modes, np.arange(tracks.size), 2)
    parts = np.zeros((2, tracks.size, size))
    for i, row in enumerate(_factor(n, tracks)):
        for j, share in enumerate(row):
            parts[0, i, modes] += spread * share * drawn[:, j, 0]
            parts[1, i, modes] -= spread * share * drawn[:, j, 1]
    return np.ascontiguousarray(fourier_sum(parts[0], parts[1])[:, :count].T)


def coherence(n: Array, distance: float) -> Array:
    """Coherence of two tracks: their cross spectral density relative to the density of a single
    track.
    """
    if distance == 0.0:
        return np.ones(np.shape(n))
    return bessel_x_k1((_TURN * abs(distance)) * n)


def _factor(n: Array, tracks: Array) -> list[list[Array]]:
    """Cholesky factor of the tracks' coherence matrix, by rows, each entry an array over n."""
    rows: list[list[Array]] = []
    for i, y in enumerate(tracks):
        row: list[Array] = []
        for j in range(i):
            rest = coherence(n, float(y - tracks[j]))
            for k in range(j):
                rest = rest - row[k] * rows[j][k]
            # Adjacent tracks are perfectly correlated; then no variance remains to be distributed.
            row.append(np.where(rows[j][j] > 1e-6, rest / np.maximum(rows[j][j], 1e-6), 0.0))
        left = np.ones(n.size)
        for share in row:
            left = left - share * share
        rows.append([*row, np.sqrt(np.maximum(left, 0.0))])
    return rows


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
    """Record that computes the height; its class is the kind of the surface."""
    friction: Any = FLAT.grip
    """Record that computes the grip."""

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
        """Return the same road with another grip.

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
            width: of the road in m, half to each side. Outside, the height equals the height of the
                border.
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
        wavelengths: tuple[float, float] = WAVELENGTHS,
    ) -> Road:
        """A random road of an ISO 8608 class, reproducible from its arguments on every machine.

        Args:
            roughness: a class from "A" to "H", or G_d at 0.1 1/m, in m³.
            seed: any integer; each gives a different road.
            length: from (x, y) along `yaw`, in m. Beyond it the height equals the height of the
                end.
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
        heights = track_heights(roughness, seed, count, step, columns, (shortest, longest))
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
        """Text with the record classes of the surface and the grip."""
        return f"Road({type(self.surface).__name__}, {type(self.friction).__name__})"


def _places(x: Any, y: Any) -> tuple[Any, Any]:
    """Convert lists of positions to arrays; all other types are unchanged."""
    return tuple(np.asarray(v, float) if isinstance(v, (list, tuple)) else v for v in (x, y))  # type: ignore[return-value]


def _at_all(value: Any, x: Any, y: Any) -> Any:
    """Broadcast a value to the shape of the positions."""
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
