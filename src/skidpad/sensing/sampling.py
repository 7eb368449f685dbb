"""Samples as arrays: rows of the truth, one column per vehicle, and what carries over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import InvalidValue

Flags = NDArray[np.bool_]


class Batch(NamedTuple):
    """Samples taken together."""

    steps: NDArray[np.int64]
    """Numbers of the samples."""
    t: Array
    """Their times in s."""
    truth: Any
    """A record whose leaves are arrays (samples, vehicles), or floats if there is one of each."""


def row_of(batch: Batch, k: int) -> Any:
    """The truth at one of the samples: a record of leaves (vehicles,), or of floats."""
    if not isinstance(batch.truth[0], np.ndarray):
        return batch.truth
    return type(batch.truth)(*(leaf[k] for leaf in batch.truth))


class Memory(NamedTuple):
    """What a sensor carries from one sample to the next."""

    t: float
    """Time of the last sample in s."""
    truth: Any
    """What it looked at, a record of the leaves' last rows."""
    errors: Any
    """What its errors keep."""
    own: Any
    """What the sensor itself keeps; see `Instrument.completed`."""


def stacked(values: Sequence[Any], shape: tuple[int, int]) -> Array:
    """Values that broadcast to (samples, vehicles) as (samples, vehicles, values)."""
    out = np.empty((*shape, len(values)))
    for k, value in enumerate(values):
        out[:, :, k] = value
    return out


def time_since(t: Array, before: Memory | None) -> Array:
    """Time since the sample before each in s; 0 at the very first."""
    since = np.empty(t.size)
    since[0] = 0.0 if before is None else t[0] - before.t
    np.subtract(t[1:], t[:-1], out=since[1:])
    return since


def one_earlier(truth: Any, before: Memory | None) -> Any:
    """The truth at the sample before each; at the very first, that at itself."""
    if not isinstance(truth[0], np.ndarray):
        return truth if before is None else before.truth
    first = (leaf[:1] for leaf in truth) if before is None else before.truth
    rows = (np.concatenate([a, leaf[:-1]]) for a, leaf in zip(first, truth, strict=True))
    return type(truth)(*rows)


def last_of(truth: Any) -> Any:
    """The last row of each leaf."""
    if not isinstance(truth[0], np.ndarray):
        return truth
    return type(truth)(*(leaf[-1:] for leaf in truth))


def laid_out(truth: Any, steps: int, vehicles: int | None) -> Any:
    """The record with leaves (steps, vehicles), from numbers and arrays that fit."""
    leaves = [np.asarray(leaf, dtype=float) for leaf in truth]
    wide = {leaf.shape[1] for leaf in leaves if leaf.ndim == 2}
    count = max(wide, default=1) if vehicles is None else vehicles
    rows: list[Array] = []
    for name, leaf in zip(truth._fields, leaves, strict=True):
        column = leaf[:, None] if leaf.ndim == 1 else leaf
        try:
            rows.append(np.broadcast_to(column, (steps, count)))
        except ValueError:
            raise InvalidValue(
                f"truth {name} has shape {leaf.shape}; expected ({steps},) or ({steps}, {count})"
            ) from None
    return type(truth)(*rows)


def check_finite(kind: str, truth: Any, may_be_unknown: Callable[[str], bool]) -> None:
    """Raise if a leaf of (steps, vehicles) has a number that is not finite, and is looked at."""
    for name, leaf in zip(truth._fields, truth, strict=True):
        bad = ~np.isfinite(leaf)
        if bad.any() and not may_be_unknown(name):
            step, vehicle = np.argwhere(bad)[0]
            raise InvalidValue(
                f"{kind}: truth {name} = {leaf[step, vehicle]} at step {step} of vehicle {vehicle} "
                "must be finite"
            )


def newest(received: Flags, arrived: NDArray[np.int64]) -> Flags:
    """Of samples that arrive at the same row, only the newest one received comes out."""
    out = received.copy()
    for k in np.flatnonzero(np.diff(arrived) == 0):
        together = arrived[k + 1 :] == arrived[k]
        out[k] &= ~received[k + 1 :][together].any(axis=0)
    return out
