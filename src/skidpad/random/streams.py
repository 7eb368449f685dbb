"""Random numbers that depend on seed, channel, run and step alone.

They do not depend on the number of runs, their split into batches, the order of the sensors, the
workers, the machine or the number of steps drawn at a time. Philox4x32-10 is a bijection of 128-bit
counters for every 64-bit key (J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC 2011). Here seed and channel make the key; step, run and the element of the channel make the
counter, so that no number is drawn twice.

One integer determines all random numbers of a run: the low 32 bits of a seed are the number of the
run, the bits above are the seed of the study. Run k of a study with seed s has the seed
`of_run(s, k)`, and a single simulation with that seed draws what the run drew. A seed below 2³² is
that run of study 0.

The normal and the exponential distribution have the same bits on every machine: they use only
additions, products, quotients and square roots, one array operation at a time, which are exactly
rounded everywhere, while the logarithm of a library is not. Quantiles of the normal distribution:
M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
Statistics 37 (1988), its routine PPND16 with about 16 digits; `share_below` is the inverse.

`Draw` gives the random numbers of one step of some runs. Its channels have names: call n of
`normal` within a step reads the channel `NAME.normal.n`, n from 0, and call n of `uniform` reads
`NAME.uniform.n`; `part("p")` is a draw whose channels begin with `NAME.p`. So drawing more at the
end of a step, or in another part, does not change the other numbers. The compiled loops of `kernel`
give the bits of the functions here, faster.

`shares` and `shaken` give the random numbers of many learning environments. A number depends on the
seed and the counter of its environment, the channel and the name of the number: the channel is the
key of Philox, and counter, seed and name are its four words.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, reduce
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
from ..ops import abs, log, maximum, minimum, sqrt, where

_SPLIT_Q, _SPLIT_R = 0.425, 5.0
_CENTRE = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
        4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
        1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
        2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
        4.2313330701600911252e1, 1.0,
    ),
)  # fmt: skip
_TAIL = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
        4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
        2.05319162663775882187e0, 1.0,
    ),
)  # fmt: skip
_FAR_TAIL = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
        5.46378491116411436990e0, 6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)  # fmt: skip
"""Numerator and denominator coefficients of the quantile's rational approximation, highest power
first.
"""

_LEAST = 1e-30
"""Smallest share, which a float32 can represent."""

_LN2 = 0.69314718055994530942
_ATANH = tuple(1.0 / n for n in range(23, 0, -2))
"""Coefficients of atanh(s)/s in s², highest power first; the error is 1e-18 for |s| < 0.172."""


def normal_of(u: Array) -> Array:
    """Quantile of the standard normal distribution for a probability u, 0 < u < 1."""
    q = u - 0.5
    r = q * q
    np.subtract(_SPLIT_Q * _SPLIT_Q, r, out=r)
    tails = np.flatnonzero(r < 0.0)
    out = _ratio(r, _CENTRE)
    out *= q
    if tails.size:
        # 1 - u loses nothing: u is a multiple of 2⁻⁵³.
        below = u[tails]
        depth = np.sqrt(-log_of(np.minimum(below, 1.0 - below)))
        far = depth > _SPLIT_R
        size = np.where(far, _ratio(depth - _SPLIT_R, _FAR_TAIL), _ratio(depth - 1.6, _TAIL))
        out[tails] = np.copysign(size, q[tails])
    return out


def traced_normal(u: Any) -> Any:
    """`normal_of` in `skidpad.ops`, for Programs, with their logarithm."""
    q = u - 0.5
    tail = maximum(minimum(u, 1.0 - u), _LEAST)
    depth = sqrt(-log(tail))
    size = where(
        depth > _SPLIT_R, _traced_ratio(depth - _SPLIT_R, _FAR_TAIL),
        _traced_ratio(depth - 1.6, _TAIL),
    )  # fmt: skip
    centre = _traced_ratio(_SPLIT_Q * _SPLIT_Q - q * q, _CENTRE) * q
    return where(abs(q) <= _SPLIT_Q, centre, where(q < 0.0, -size, size))


def _traced_ratio(r: Any, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    above, below = (reduce(lambda total, c: total * r + c, row) for row in coefficients)
    return above / below


def _ratio(r: Array, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    above, below = (_polynomial(r, c) for c in coefficients)
    above /= below
    return above


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = x * coefficients[0]
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total


def log_of(x: Array) -> Array:
    """Natural logarithm of positive numbers, to 1 or 2 units in the last place."""
    mantissa, exponent = np.frexp(x)
    low = mantissa < 0.70710678118654752440
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = np.where(low, exponent - 1, exponent)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    return exponent * _LN2 + 2.0 * s * _polynomial(s * s, _ATANH)


LEAST = 2.0**-53
"""Smallest x for which 1 - x differs from 1."""

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the product of the first with a whole number up to 2²⁰ is exact."""
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(14, -1, -1))
"""Coefficients of the exponential, highest power first; the error is 1e-19 at ln 2 / 2."""
_STEP = 0.5
"""Step of the trapezoidal rule; its error is exp(-π²/step²) = 7e-18."""
_NODES = 13
_CORRECTED = math.pi / _STEP
"""Argument below which the correction for the pole of the integrand is needed."""


def exponential(x: Array) -> Array:
    """Exponential function e to the power of x, to 1 or 2 units in the last place."""
    power = np.clip(np.rint(x / (_LN2_HIGH + _LN2_LOW)), -1100.0, 1100.0)
    rest = (x - power * _LN2_HIGH) - power * _LN2_LOW
    total = np.full_like(rest, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        total *= rest
        total += coefficient
    return np.ldexp(total, power.astype(np.int64))


def share_below(z: Any) -> Array:
    """Probability that a standard normal variable lies below z.

    Computed by the trapezoidal rule with correction for the pole: D. B. Hunter and T. Regan, "A
    note on the evaluation of the complementary error function", Mathematics of Computation 26
    (1972).
    """
    numbers = np.asarray(z, dtype=np.float64)
    x = np.abs(numbers) * math.sqrt(0.5)
    square = x * x
    total = np.zeros_like(x)
    for weight, node in zip(_WEIGHTS, _SQUARES, strict=True):
        total += weight / (node + square)
    tail = exponential(-square) * x * total * (_STEP / math.pi)
    pole = 1.0 / (exponential(np.minimum(x, _CORRECTED) * (2.0 * math.pi / _STEP)) + 1.0)
    tail += np.where(x < _CORRECTED, pole, 0.0)
    return np.where(numbers < 0.0, tail, 1.0 - tail)


_SQUARES = tuple(((n + 0.5) * _STEP) ** 2 for n in range(_NODES))
_WEIGHTS = tuple(exponential(-np.array(_SQUARES)).tolist())

Words = NDArray[np.uint64]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 8192
"""Number of values computed at a time, so that intermediate arrays fit into the nearest cache."""


def key_of(seed: int, channel: str) -> tuple[int, int]:
    """The two 32-bit key words of a channel; any integer is a seed."""
    number = whole("seed", seed, least=None)
    digest = blake2b(f"{number}:{channel}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def uniforms(
    seed: int, channel: str, steps: ArrayLike, vehicles: ArrayLike = 0, width: int = 1
) -> Array:
    """Uniform numbers (steps, vehicles, width) strictly between 0 and 1.

    A channel has `width` elements per step: the beams of a scan, the axes of an instrument.
    """
    return _drawn(lambda u: u, seed, channel, steps, vehicles, width)


def normals(
    seed: int, channel: str, steps: ArrayLike, vehicles: ArrayLike = 0, width: int = 1
) -> Array:
    """Standard normal numbers (steps, vehicles, width), at most 8.2 in magnitude."""
    return _drawn(normal_of, seed, channel, steps, vehicles, width)


class Stream:
    """Source of normal or uniform numbers of one channel, for a few steps at a time.

    A window of steps is drawn ahead and cached; the numbers do not depend on it.
    """

    def __init__(
        self,
        draw: Callable[..., Array],
        seed: int,
        channel: str,
        vehicles: ArrayLike = 0,
        width: int = 1,
        window: int = 64,
    ) -> None:
        self._draw = draw
        self._of = (seed, channel)
        self._vehicles = checked_vehicles(vehicles)
        self._width = width
        # A call's overhead equals the cost of some thousand numbers, so a window draws about as
        # many.
        self._window = max(1, min(window, 4096 // (max(width, 1) * self._vehicles.size)))
        self._kept: tuple[int, Array] | None = None
        key_of(*self._of)

    def rows(self, steps: NDArray[np.int64]) -> Array:
        """Numbers (steps, vehicles, width)."""
        if steps.size != 1:
            return self._draw(*self._of, steps, self._vehicles, self._width)
        step = int(steps[0])
        first = step - step % self._window
        if self._kept is None or self._kept[0] != first:
            ahead = np.arange(first, first + self._window)
            self._kept = first, self._draw(*self._of, ahead, self._vehicles, self._width)
        row = step - first
        return self._kept[1][row : row + 1]


def checked_vehicles(vehicles: Any) -> NDArray[np.int64]:
    """Vehicle numbers as a one-dimensional array; raises InvalidValue unless they are integers in
    range."""
    numbers = np.atleast_1d(np.asarray(vehicles))
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidValue(f"vehicle = {vehicles!r} must be a whole number or a list of them")
    bad = (numbers < 0) | (numbers >= 2**32)
    if bad.any():
        raise InvalidValue(f"vehicle = {numbers[bad][0]} must be from 0 to {2**32 - 1}")
    return numbers.astype(np.int64)


def _drawn(
    shape_of: Callable[[Array], Array],
    seed: int,
    channel: str,
    steps: ArrayLike,
    vehicles: ArrayLike,
    width: int,
) -> Array:
    key = key_of(seed, channel)
    # Time may begin before 0: a negative step is used as the unsigned counter with the same bits.
    step = np.atleast_1d(np.asarray(steps, dtype=np.int64)).view(np.uint64)
    vehicle = checked_vehicles(vehicles).view(np.uint64)
    pairs = np.arange((width + 1) // 2, dtype=np.uint64)
    shape = (step.size, vehicle.size, pairs.size)
    counters = [
        np.broadcast_to(part, shape).ravel()
        for part in (
            (step & _LOW)[:, None, None],
            (step >> _HALF)[:, None, None],
            vehicle[None, :, None],
            pairs[None, None, :],
        )
    ]
    used = min(width, 2)
    out = np.empty((counters[0].size, used))
    for begin in range(0, len(out), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        words = philox([c[part] for c in counters], key)[:, :used]
        out[part] = shape_of(_open_unit(words).ravel()).reshape(-1, used)
    return out.reshape(step.size, vehicle.size, -1)[:, :, :width]


def philox(counter: Sequence[Words], key: tuple[int, int]) -> Words:
    """Philox4x32-10 function of counters of four 32-bit words; returns two 64-bit words, (n, 2)."""
    c0, c1, c2, c3 = (np.array(word, dtype=np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(_ROUNDS):
        c0 *= _M0
        c2 *= _M1
        high0, high1 = c0 >> _HALF, c2 >> _HALF
        high1 ^= c1
        high1 ^= np.uint64(k0)
        high0 ^= c3
        high0 ^= np.uint64(k1)
        c0 &= _LOW
        c2 &= _LOW
        c0, c1, c2, c3 = high1, c2, high0, c0
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack([c0 | (c1 << _HALF), c2 | (c3 << _HALF)], axis=-1)


def _open_unit(words: Words) -> Array:
    """Convert words to numbers between 0 and 1: the centres of 2⁵² equal parts of the interval."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


RUN_BITS = 32
RUNS = 1 << RUN_BITS
"""Largest number of runs of a study."""


def checked(seed: Any, name: str = "seed") -> int:
    """Return the seed as an int; raises InvalidValue unless it is an integer."""
    return whole(name, seed, least=None)


def of_run(seed: int, run: int) -> int:
    """Seed of one run of a study; runs count from 0 to 2³² - 1."""
    number = checked(run, "run")
    if not 0 <= number < RUNS:
        raise InvalidValue(f"run = {number} must be from 0 to {RUNS - 1}")
    return (checked(seed) << RUN_BITS) + number


def split(seed: int) -> tuple[int, int]:
    """Seed of the study and number of the run: the inverse of `of_run`."""
    whole = checked(seed)
    return whole >> RUN_BITS, whole & (RUNS - 1)


def fresh() -> int:
    """Seed from the entropy of the operating system."""
    return secrets.randbits(2 * RUN_BITS)


_WORTH_A_THREAD = 20_000
"""Numbers per thread below which another thread costs more than it saves."""
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
    """A compiled loop; numba is imported when the first random number is drawn.

    Interrupts are blocked during the import, as they would leave numba half imported.
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
    """Prefix of the names of the channels, such as "disturbance"."""
    runs: Runs
    """Numbers of the runs."""
    step: int
    """Number of the step, from the start of the run."""
    dt: float
    """Length in s of the step over which the numbers are constant."""
    time: float
    """Time at which the step begins, from the start of the run, in s."""
    threads: int | None
    """Threads that share the rows; None for an automatic choice. The numbers do not depend on
    it."""

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
        self.seed = checked(seed)
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
        """Draw of the single run that a seed denotes."""
        study, run = split(seed)
        return cls(study, channel, [run], step, dt, time)

    def at(self, step: int, dt: float | None = None, time: float | None = None) -> Draw:
        """Draw of the same channel and runs at another step, without checks; `time` is step · dt by
        default."""
        held = self.dt if dt is None else dt
        return self._like(self.channel, step, held, time)

    def part(self, name: str | int) -> Draw:
        """Draw at the same step with channels of its own, for one part of a model."""
        return self._like(f"{self.channel}.{name}", self.step, self.dt, self.time)

    def once(self) -> Draw:
        """Draw of step 0, for numbers that are drawn once per run."""
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


ROOT_OF_THREE = 3.0**0.5
"""Constant √3: √3/3 is the standard deviation of a sum of four uniform numbers between 0 and 1."""


def names_as_words(names: Sequence[str]) -> Words:
    """Hash each name to a word of 32 bits, (n,), independent of the other names."""
    digests = [blake2b(name.encode(), digest_size=4).digest() for name in names]
    return np.array([int.from_bytes(one, "little") for one in digests], dtype=np.uint64)


def shares(channel: str, seeds: Words, counters: Words, words: Words) -> Array:
    """Uniform numbers (n, k) strictly between 0 and 1.

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
    """Add random errors with standard deviation `std` to ranges (n, rays) below `longest`, in
    place.

    The errors are sums of four uniform numbers, nearly normal and within 3.5 standard deviations,
    and depend on channel, seed, counter and ray alone.
    """
    k0, k1 = channel_key(channel)
    _kernel("shake_ranges")(
        ranges, seeds, counters, np.uint64(k0), np.uint64(k1), std * ROOT_OF_THREE, longest
    )  # fmt: skip


@cache
def channel_key(channel: str) -> tuple[int, int]:
    """Key words of a channel with seed 0."""
    return key_of(0, channel)
