"""Values of columns between their samples.

States and outputs are linear between samples; inputs and disturbances are held, as they were while
the run went on. A heading takes the short way from sample to sample, so that one that was wrapped
to ±π does not turn all the way round between them. A column is a heading if its unit is rad and a
word of its name is one of `HEADING_WORDS`. Other angles, such as that of a wheel, may well turn by
more than half a turn between samples and are left as they are; so a heading sampled more coarsely
than half a turn is taken to have turned the other way.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from .columns import Column, Role

HEADING_WORDS = frozenset({"yaw", "heading", "psi", "orientation", "course"})
"""Words that make a column in rad a heading: `yaw`, `pose.yaw`, `trailer_heading`."""
HELD: frozenset[Role] = frozenset({"input", "disturbance"})
"""Roles whose values stay constant from a sample to the next."""

_RELATIVE_SLACK = 1e-12
_LEAST_SLACK = 1e-15
_TURN = 2.0 * np.pi


class Places(NamedTuple):
    """Where some times lie among the samples of a trajectory."""

    before: NDArray[np.int64]
    """The last sample not after the time."""
    after: NDArray[np.int64]
    """The first sample not before the time: the same one, if the time is that of a sample."""
    weight: Array
    """How far the time is on the way from one to the other, from 0 to below 1."""


def is_heading(column: Column) -> bool:
    """Whether a column is an angle that may have been wrapped; see the module text."""
    words = re.split(r"[._]", column.name)
    return column.unit.symbol == "rad" and not HEADING_WORDS.isdisjoint(words)


def slack(t: Array) -> float:
    """Rounding to allow for in times beside those of the samples, in s."""
    return max(_RELATIVE_SLACK * float(np.abs(t[[0, -1]]).max()), _LEAST_SLACK)


def snapped(t: Array, moments: Array) -> Array:
    """The moments, those within rounding of a sample moved to it."""
    after = np.clip(np.searchsorted(t, moments), 1, max(len(t) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(t) - 1)
    nearest = np.where(moments - t[before] <= t[after] - moments, t[before], t[after])
    return np.where(np.abs(moments - nearest) <= slack(t), nearest, moments)


def places(t: Array, moments: Array) -> Places:
    """Where moments within the trajectory lie."""
    before = np.searchsorted(t, moments, side="right") - 1
    after = np.searchsorted(t, moments, side="left")
    width = np.where(after > before, t[after] - t[before], 1.0)
    return Places(before, after, (moments - t[before]) / width)


def interpolated(column: Column, t: Array, moments: Array, *, held: bool | None = None) -> Array:
    """A column at other moments; held or not as its role says, unless `held` says it."""
    if column.role in HELD if held is None else held:
        return column.values[places(t, moments).before]
    if is_heading(column):
        return _short_way(column.values, places(t, moments))
    return np.interp(moments, t, column.values)


def _short_way(values: Array, at: Places) -> Array:
    start = values[at.before]
    with np.errstate(invalid="ignore"):  # a recording may hold infinite values
        turned = values[at.after] - start
        turned = np.where(np.abs(turned) > np.pi, turned - _TURN * np.rint(turned / _TURN), turned)
        return np.where(at.weight > 0.0, start + at.weight * turned, start)
