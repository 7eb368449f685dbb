"""Random numbers of one step of some runs (`Draw`), and of many environments (`shares`, `shaken`).

A number of a `Draw` depends on the seed of the study, the channel, the run, the step and its place
in the row, and on nothing else: not on the number of runs, on how they are split into batches or on
what else is drawn. `streams` defines the numbers; the compiled loops of `kernel` give the same bits
faster.

Channels have names. Call n of `normal` within a step reads the channel `NAME.normal.n`, n from 0,
and call n of `uniform` reads `NAME.uniform.n`; `part("p")` is a draw whose channels begin with
`NAME.p`. So drawing more at the end of a step, or in another part, leaves the other numbers alone.

A number of an environment depends on its seed and counter, the channel and the name of the number.
It is Philox as in `streams`, with the channel as the key and counter, seed and name as its four
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import not_negative, whole
from ..core.files import shown
from ..core.threads import alone, spread
from ..errors import InvalidValue
from . import streams
from .streams import checked_vehicles, key_of

_WORTH_A_THREAD = 20_000
"""Numbers below which another thread costs more than it saves."""
_BITS = (1 << 64) - 1


@lru_cache(maxsize=4096)
def _key(seed: int, channel: str) -> tuple[np.uint64, np.uint64]:
    k0, k1 = key_of(seed, channel)
    return np.uint64(k0), np.uint64(k1)


def numbers(
    seed: int,
    channel: str,
    step: int,
    runs: NDArray[np.int64],
    width: int,
    normal: bool,
    threads: int | None = None,
) -> Array:
    """Numbers (runs, width) of a channel at one step: `streams.normals` or `streams.uniforms`.

    `runs` must be checked to be from 0 to 2³² - 1.
    """
    try:
        out = np.empty((runs.size, width))
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"width = {shown(width)} must be a whole number, at least 0") from None
    if out.size == 0:
        return out
    k0, k1 = _key(seed, channel)
    counter = np.uint64(step & _BITS)
    fill = _kernel("fill")

    def part(begin: int, end: int) -> None:
        fill(out[begin:end], runs[begin:end], counter, k0, k1, normal)

    spread(part, len(out), worth=out.size // _WORTH_A_THREAD, threads=threads)
    return out


@cache
def _kernel(name: str) -> Any:
    """A compiled loop; numba is imported with the first random number.

    Imported without interrupts, which would leave half of numba behind.
    """
    return alone(lambda: getattr(import_module("..kernel", __name__), name))


Runs = NDArray[np.int64]


class Draw:
    """Random numbers of one step of some runs, one row per run.

    `seed` is that of the study (see `streams.of_run`), `runs` are the numbers of the runs in it.
    The constructor checks its arguments; make the draws of other steps from the first with `at`.
    """

    __slots__ = (
        "_normals",
        "_uniforms",
        "channel",
        "dt",
        "runs",
        "seed",
        "step",
        "threads",
        "time",
    )

    seed: int
    """Seed of the study."""
    channel: str
    """Beginning of the names of the channels, such as "disturbance"."""
    runs: Runs
    """Numbers of the runs."""
    step: int
    """Number of the step, from the start of the run."""
    dt: float
    """Length of the step in s, for which the numbers are held."""
    time: float
    """Time at which the step begins, from the start of the run, in s."""
    threads: int | None
    """Threads that share the rows; None for an automatic choice. They do not change the numbers."""

    def __init__(
        self,
        seed: int,
        channel: str,
        runs: ArrayLike,
        step: int = 0,
        dt: float = 0.0,
        time: float | None = None,
        threads: int | None = None,
    ) -> None:
        if not channel or not isinstance(channel, str):
            raise InvalidValue(f"channel = {channel!r} must be a text")
        self.seed = streams.checked(seed)
        try:
            self.runs = np.ascontiguousarray(checked_vehicles(runs))
        except InvalidValue as error:
            raise InvalidValue(str(error).replace("vehicle", "runs", 1)) from None
        step, dt = whole("step", step, least=None), not_negative("dt", dt, "s")
        time = None if time is None else not_negative("time", time, "s")
        self.threads = None if threads is None else whole("threads", threads, "at least 1")
        self._begin(channel, step, dt, time)

    @classmethod
    def of_seed(
        cls, seed: int, channel: str, step: int = 0, dt: float = 0.0, time: float | None = None
    ) -> Draw:
        """The draw of the one run that a seed names."""
        study, run = streams.split(seed)
        return cls(study, channel, [run], step, dt, time)

    def at(self, step: int, dt: float | None = None, time: float | None = None) -> Draw:
        """The same channel and runs at another step, not checked again; time is step · dt by
        default."""
        held = self.dt if dt is None else dt
        return self._like(self.channel, step, held, time)

    def part(self, name: str | int) -> Draw:
        """A draw at the same step with channels of its own, for one part of a model."""
        return self._like(f"{self.channel}.{name}", self.step, self.dt, self.time)

    def once(self) -> Draw:
        """The draw of step 0, for numbers that are drawn once per run."""
        return self._like(f"{self.channel}.once", 0, self.dt, 0.0)

    @property
    def count(self) -> int:
        """Number of runs, and of rows."""
        return self.runs.size

    def normal(self, width: int = 1) -> Array:
        """Independent standard normal numbers (runs, width), at most 8.2 in magnitude."""
        call, self._normals = self._normals, self._normals + 1
        return self._numbers(f"{self.channel}.normal.{call}", width, True)

    def uniform(self, width: int = 1) -> Array:
        """Independent numbers (runs, width) strictly between 0 and 1."""
        call, self._uniforms = self._uniforms, self._uniforms + 1
        return self._numbers(f"{self.channel}.uniform.{call}", width, False)

    def _numbers(self, channel: str, width: int, normal: bool) -> Array:
        return numbers(self.seed, channel, self.step, self.runs, width, normal, self.threads)

    def _begin(self, channel: str, step: int, dt: float, time: float | None) -> None:
        self.channel, self.step, self.dt = channel, step, dt
        self.time = step * dt if time is None else time
        self._normals = self._uniforms = 0

    def _like(self, channel: str, step: int, dt: float, time: float | None) -> Draw:
        draw = object.__new__(Draw)
        draw.seed, draw.runs, draw.threads = self.seed, self.runs, self.threads
        draw._begin(channel, step, dt, time)
        return draw

    def __repr__(self) -> str:
        return (
            f"Draw(seed={self.seed}, channel={self.channel!r}, runs={self.count}, "
            f"step={self.step}, dt={self.dt:g}, time={self.time:g})"
        )


Words = NDArray[np.uint64]
ROOT_OF_THREE = 3.0**0.5
"""The sum of four numbers between 0 and 1 has this over 3 as its deviation."""


def names_as_words(names: Sequence[str]) -> Words:
    """A word of 32 bits for each name, (n,), independent of the other names."""
    digests = [blake2b(name.encode(), digest_size=4).digest() for name in names]
    return np.array([int.from_bytes(one, "little") for one in digests], dtype=np.uint64)


def shares(channel: str, seeds: Words, counters: Words, words: Words) -> Array:
    """Numbers (n, k) strictly between 0 and 1.

    Args:
        channel: name of their purpose; another channel has other numbers.
        seeds: seeds of the environments, (n,), any 64 bits.
        counters: episodes or steps of the environments, (n,), below 2³².
        words: one for each number of a draw, (k,), below 2³²; see `names_as_words`.
    """
    out = np.empty((len(seeds), len(words)))
    k0, k1 = channel_key(channel)
    _kernel("fill_shares")(out, seeds, counters, words, np.uint64(k0), np.uint64(k1))
    return out


def shaken(channel: str, ranges: AnyArray, seeds: Words, counters: Words, std: float,
           longest: float) -> None:  # fmt: skip
    """Add errors of a standard deviation to ranges (n, rays) that are below the longest.

    The errors are sums of four uniform numbers, nearly normal and within 3.5 deviations, and depend
    on channel, seed, counter and ray alone.
    """
    k0, k1 = channel_key(channel)
    _kernel("shake_ranges")(
        ranges, seeds, counters, np.uint64(k0), np.uint64(k1), std * ROOT_OF_THREE, longest
    )  # fmt: skip


@cache
def channel_key(channel: str) -> tuple[int, int]:
    """The two words of the key of a channel."""
    return key_of(0, channel)
