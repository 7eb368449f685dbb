"""What one step of some runs may draw.

A number depends on the seed of the study, the channel, the run, the step and its place in the row,
and on nothing else: the number of runs, how they are split into batches and what else is drawn do
not show in it. `skidpad.sensors.streams` says what the numbers are; here a compiled loop gives the
same bits faster.

Channels have names. The n-th call of `normal` within a step reads the channel `NAME.normal.n`, n
from 0, and the n-th call of `uniform` reads `NAME.uniform.n`; `part("p")` gives a draw of its own
whose channels begin with `NAME.p`. So drawing more at the end of a step, or in another part, leaves
the other numbers alone.

Numbers between 0 and 1 for many environments, each with a seed and a counter of its own.

A number depends on the seed, the counter, the channel and its name, and on nothing else: how many
environments there are, which of them draw and what else they draw do not show in it. It is Philox
as in `streams`, with the channel as the key and counter, seed and name as its four words.

The random numbers of `sensors.streams` in compiled loops: the same bits, many at a time.

`sensors.streams` and `sensors.inverse_normal` are the definition and give the constants; the loops
repeat their operations one for one, none fused or reordered. They go over a block in stages that
the compiler turns into vector instructions; only the tails of the normal distribution, one number
in seven, are done one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import AnyArray, Array
from ..core.checks import not_negative, whole
from ..core.files import shown
from ..core.threads import alone, checked_threads, spread
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
    fill = _fill()

    def part(begin: int, end: int) -> None:
        fill(out[begin:end], runs[begin:end], counter, k0, k1, normal)

    spread(part, len(out), worth=out.size // _WORTH_A_THREAD, threads=threads)
    return out


@cache
def _fill() -> Any:
    # An interrupt within the import would leave half of numba behind.
    return alone(_kernel)


def _kernel() -> Any:
    # numba comes in with the first number that is drawn.
    from .kernel import fill

    return fill


Runs = NDArray[np.int64]


class Draw:
    """Random numbers of one step of some runs, one row per run.

    `seed` is that of the study (see `seeds`), `runs` are the numbers of the runs in it. Make the
    first draw of a run with checks and the others from it with `at`.
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
    """Begins the names of the channels, such as "disturbance"."""
    runs: Runs
    """Numbers of the runs."""
    step: int
    """Number of the step, from the start of the run."""
    dt: float
    """Length of the step in s: how long what is drawn is held."""
    time: float
    """Time at which the step begins, from the start of the run, in s."""
    threads: int | None
    """Threads to share the rows; None for as many as pay. They do not show in the numbers."""

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
        self._fill(
            streams.checked(seed),
            channel,
            _checked_runs(runs),
            whole("step", step, least=None),
            not_negative("dt", dt, "s"),
            None if time is None else not_negative("time", time, "s"),
            None if threads is None else checked_threads(threads),
        )

    @classmethod
    def of_seed(
        cls, seed: int, channel: str, step: int = 0, dt: float = 0.0, time: float | None = None
    ) -> Draw:
        """The draw of the one run that a seed names."""
        study, run = streams.split(seed)
        return cls(study, channel, [run], step, dt, time)

    def at(self, step: int, dt: float | None = None, time: float | None = None) -> Draw:
        """The same channel and runs at another step, not checked again; time is step · dt if not
        given."""
        held = self.dt if dt is None else dt
        return self._like(self.channel, step, held, time)

    def part(self, name: str | int) -> Draw:
        """A draw of its own at the same step, for one part of what is drawn."""
        return self._like(f"{self.channel}.{name}", self.step, self.dt, self.time)

    def once(self) -> Draw:
        """What is drawn once per run, whatever the step: the draw of step 0."""
        return self._like(f"{self.channel}.once", 0, self.dt, 0.0)

    @property
    def count(self) -> int:
        """Number of runs: the rows of what is drawn."""
        return self.runs.size

    def normal(self, width: int = 1) -> Array:
        """Independent standard normal numbers (runs, width); at most 8.2 in size."""
        call, self._normals = self._normals, self._normals + 1
        return self._numbers(f"{self.channel}.normal.{call}", width, True)

    def uniform(self, width: int = 1) -> Array:
        """Independent numbers (runs, width) between 0 and 1, neither of them ever drawn."""
        call, self._uniforms = self._uniforms, self._uniforms + 1
        return self._numbers(f"{self.channel}.uniform.{call}", width, False)

    def _numbers(self, channel: str, width: int, normal: bool) -> Array:
        return numbers(self.seed, channel, self.step, self.runs, width, normal, self.threads)

    def _fill(
        self,
        seed: int,
        channel: str,
        runs: Runs,
        step: int,
        dt: float,
        time: float | None,
        threads: int | None,
    ) -> None:
        self.seed, self.channel, self.runs, self.threads = seed, channel, runs, threads
        self.step, self.dt = step, dt
        self.time = step * dt if time is None else time
        self._normals = self._uniforms = 0

    def _like(self, channel: str, step: int, dt: float, time: float | None) -> Draw:
        draw = object.__new__(Draw)
        draw._fill(self.seed, channel, self.runs, step, dt, time, self.threads)
        return draw

    def __repr__(self) -> str:
        return (
            f"Draw(seed={self.seed}, channel={self.channel!r}, runs={self.count}, "
            f"step={self.step}, dt={self.dt:g}, time={self.time:g})"
        )


def _checked_runs(runs: Any) -> Runs:
    try:
        return np.ascontiguousarray(checked_vehicles(runs))
    except InvalidValue as error:
        raise InvalidValue(str(error).replace("vehicle", "runs", 1)) from None


Words = NDArray[np.uint64]
ROOT_OF_THREE = 3.0**0.5
"""The sum of four numbers between 0 and 1 has this over 3 as its deviation."""


def names_as_words(names: Sequence[str]) -> Words:
    """A word of 32 bits for each name, (n,): what is drawn besides does not change it."""
    return np.array([_word(name) for name in names], dtype=np.uint64)


def shares(channel: str, seeds: Words, counters: Words, words: Words) -> Array:
    """Numbers (n, k) between 0 and 1, neither of them ever drawn.

    Args:
        channel: what they are for; another channel has other numbers.
        seeds: of the environments, (n,), any 64 bits.
        counters: of the environments, (n,), below 2³²: episodes or steps.
        words: what tells the numbers of one draw apart, (k,), below 2³²; see `names_as_words`.
    """
    out = np.empty((len(seeds), len(words)))
    k0, k1 = channel_key(channel)
    _shares_fill()(out, seeds, counters, words, np.uint64(k0), np.uint64(k1))
    return out


def shaken(channel: str, ranges: AnyArray, seeds: Words, counters: Words, std: float,
           longest: float) -> None:  # fmt: skip
    """Add errors of a standard deviation to ranges (n, rays) that are below the longest.

    They are sums of four uniform numbers, nearly normal and never beyond 3.5 deviations, and depend
    on channel, seed, counter and ray alone.
    """
    k0, k1 = channel_key(channel)
    _shake()(
        ranges, seeds, counters, np.uint64(k0), np.uint64(k1), std * ROOT_OF_THREE, longest
    )  # fmt: skip


@cache
def channel_key(channel: str) -> tuple[int, int]:
    """The two words of the key of a channel."""
    return key_of(0, channel)


def _word(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little")


@cache
def _shares_fill() -> Any:
    # numba comes in with the first number that is drawn.
    def kernel() -> Any:
        from .kernel import fill_shares

        return fill_shares

    return alone(kernel)


@cache
def _shake() -> Any:
    def kernel() -> Any:
        from .kernel import shake_ranges

        return shake_ranges

    return alone(kernel)
