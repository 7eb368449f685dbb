"""Measurement noise: one stream of normal numbers per channel, the same for the same seed.

A stream depends on the seed and the name of its channel alone, so that what one channel draws does
not shift another. The numbers are drawn in blocks for speed; the length of a block does not show.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from ...random import streams
from ...units import m, m_s, rad

BLOCK = 1024
"""Numbers drawn at a time per channel: a few µs, paid once in so many ticks."""


class Deviations(NamedTuple):
    """Standard deviations of the measurement noise, by upstream's parameters."""

    position: m = 0.01
    """pos_noise_stddev: of x and of y, independent of each other."""
    velocity: m_s = 0.01
    """vel_noise_stddev: one draw, shared by odometry and velocity report."""
    angle: rad = 0.0001
    """rpy_noise_stddev: of yaw only; roll and pitch get none."""
    steer: rad = 0.0001
    """steer_noise_stddev."""


class Sample(NamedTuple):
    """The noise of one tick."""

    x: m
    y: m
    velocity: m_s
    yaw: rad
    steer: rad


def fresh_seed() -> int:
    """A seed from the operating system."""
    return secrets.randbits(64)


def normals(seed: int, channel: str, block: int = BLOCK) -> Iterator[np.ndarray]:
    """Blocks of standard normal numbers of one channel, without end."""
    for first in count(step=block):
        yield streams.normals(seed, channel, np.arange(first, first + block))[:, 0, 0]


def samples(
    seed: int, deviations: Deviations, block: int = BLOCK
) -> Iterator[tuple[float, float, float, float, float]]:
    """The noise of one tick after another, each a tuple in the order of `Sample`."""
    d = deviations
    return zip(
        _scaled(seed, "planning.x", d.position, block),
        _scaled(seed, "planning.y", d.position, block),
        _scaled(seed, "planning.velocity", d.velocity, block),
        # The program draws the angle as a 32-bit float, the others as 64-bit ones.
        _scaled(seed, "planning.yaw", d.angle, block, np.float32),
        _scaled(seed, "planning.steer", d.steer, block),
        strict=True,
    )


def _scaled(
    seed: int, channel: str, deviation: float, block: int, kind: type = np.float64
) -> Iterator[float]:
    blocks = normals(seed, channel, block)
    return chain.from_iterable((deviation * drawn).astype(kind).tolist() for drawn in blocks)
