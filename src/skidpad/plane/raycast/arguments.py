"""What is handed to a scene, checked; errors name the place, the value and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...brief import shown
from ...errors import InvalidValue
from .blocks import BLOCK, moving_blocks
from .fan import LARGEST_ANGLE

FARTHEST = 1e9
"""Largest coordinate in m, either sign, of walls and sensors."""
_FARTHEST_POSE = np.array([FARTHEST, FARTHEST, LARGEST_ANGLE])
_NO_MOVERS = np.empty((1, 0, BLOCK))


def plain(array: Array) -> Array:
    """The array, or a copy, so that its rows lie one after the other and nothing is read-only.

    Kernels are compiled for such arrays only.
    """
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")


def segments_of(values: Any) -> Array:
    """Segments (n, 4)."""
    array = np.array(values, dtype=np.float64)
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidValue(f"segments has shape {array.shape}: it must be (n, 4): x0, y0, x1, y1")
    _check_places("segments", array)
    return array


def movers_of(values: Any, poses: int) -> Array:
    """Blocks of segments that are there for all poses, or for each; see `moving_blocks`."""
    if values is None:
        return _NO_MOVERS
    array = np.asarray(values, dtype=np.float64)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] != 4 or array.shape[0] not in (1, poses):
        raise InvalidValue(
            f"movers has shape {np.shape(values)}: it must be (m, 4), or ({poses}, m, 4) with the "
            "segments for each pose"
        )
    _check_places("movers", array)
    return moving_blocks(array)


def _check_places(name: str, array: Array) -> None:
    if np.all(np.abs(array) <= FARTHEST):
        return
    place = tuple(np.argwhere(~(np.abs(array) <= FARTHEST))[0].tolist())
    raise InvalidValue(
        f"{name}{list(place)} = {array[place]} m must be finite, at most {FARTHEST:g} m"
    )


def poses_of(values: Any) -> Array:
    """Poses (B, 3) of sensors: x, y, yaw."""
    array = plain(np.asarray(values, dtype=np.float64))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidValue(f"poses has shape {array.shape}: it must be (B, 3) with x, y, yaw")
    # One look at all of them is enough where none is wrong.
    if not (np.abs(array) <= _FARTHEST_POSE).all():
        check_rays(*array.T)
    return array


def rays_of(x: Any, y: Any, angle: Any) -> list[Array]:
    """Origins and angles of rays, each (N,)."""
    values = [np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in (x, y, angle)]
    try:
        shape = np.broadcast_shapes(*(v.shape for v in values))
    except ValueError:
        shapes = ", ".join(str(v.shape) for v in values)
        raise InvalidValue(f"x, y, angle have shapes {shapes}: they must be (N,) each") from None
    if len(shape) != 1:
        raise InvalidValue(f"x, y, angle have shape {shape}: they must be (N,) each")
    rays = [plain(np.broadcast_to(v, shape) if v.shape != shape else v) for v in values]
    check_rays(*rays)
    return rays


def check_rays(x: Array, y: Array, angle: Array) -> None:
    """Raise unless coordinates and angles are finite and not too large."""
    limits = (
        ("x", x, FARTHEST, "m"),
        ("y", y, FARTHEST, "m"),
        ("yaw", angle, LARGEST_ANGLE, "rad"),
    )
    for name, values, limit, unit in limits:
        if np.all(np.abs(values) <= limit):
            continue
        at = int(np.flatnonzero(~(np.abs(values) <= limit))[0])
        raise InvalidValue(
            f"{name}[{at}] = {values[at]} {unit} must be finite, at most {limit:g} {unit}"
        )


def jitter_of(values: Any, shape: tuple[int, ...]) -> Array:
    """What is added to the angles of the rays, for each pose its own."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InvalidValue(f"jitter has shape {array.shape}: it must be {shape}, as the ranges")
    if not np.all(np.abs(array) <= LARGEST_ANGLE):
        place = tuple(np.argwhere(~(np.abs(array) <= LARGEST_ANGLE))[0].tolist())
        raise InvalidValue(
            f"jitter{list(place)} = {array[place]} rad must be finite, at most "
            f"{LARGEST_ANGLE:g} rad"
        )
    return array


def limit_of(max_range: Any) -> float:
    """The largest range in m: above 0, may be infinite."""
    try:
        limit = float(max_range)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"max_range = {shown(max_range)} must be a number of metres") from error
    if not limit > 0.0:
        raise InvalidValue(f"max_range = {limit} m must be greater than 0")
    return limit


def result_of(out: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array to write to: `out` if it fits, a new one if there is none."""
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.shape != shape:
        raise InvalidValue(f"out has shape {np.shape(out)}: it must be an array of shape {shape}")
    if out.dtype not in (np.float64, np.float32):
        raise InvalidValue(f"out has type {out.dtype}: it must be float64 or float32")
    if not out.flags.writeable:
        raise InvalidValue("out is read-only: it must be an array that can be written to")
    return out
