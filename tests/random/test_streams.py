"""Random numbers: the published generator, the right distribution, and keys that do not mix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from skidpad.errors import InvalidValue
from skidpad.random import streams
from skidpad.random.streams import normal_of

RARE = 1e-6
"""Probability with which a right generator would fail one of the tests below."""

# Random123 1.14, tests/kat_vectors, lines "philox4x32 10": counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_words(counter: str, key: str, expected: str) -> None:
    k0, k1 = words(key)
    ((low, high),) = streams.philox([np.array([c], np.uint64) for c in words(counter)], (k0, k1))
    found = [int(w) >> shift & 0xFFFFFFFF for w in (low, high) for shift in (0, 32)]
    assert found == words(expected)


def test_normals_are_the_quantiles_of_the_normal_distribution() -> None:
    tails = np.logspace(-15.6, -0.4, 4001)
    u = np.concatenate([tails, 1.0 - tails[tails > 1e-9], np.linspace(0.001, 0.999, 4001)])
    expected = special.ndtri(u)
    assert np.abs(normal_of(u) - expected).max() < 1e-14


def test_a_normal_number_does_not_depend_on_its_place_in_the_array() -> None:
    u = streams.uniforms(7, "place", np.arange(1000))[:, 0, 0]
    alone = np.array([normal_of(u[k : k + 1])[0] for k in range(u.size)])
    assert alone.tobytes() == normal_of(u).tobytes()


def test_a_number_depends_on_its_key_alone() -> None:
    whole = streams.normals(5, "imu.white", np.arange(40), np.arange(9), 7)
    part = streams.normals(5, "imu.white", [31, 4], [8, 2, 3], 3)
    assert part.tobytes() == whole[[31, 4]][:, [8, 2, 3], :3].tobytes()


def test_one_step_at_a_time_gives_the_same_bits() -> None:
    steps = np.arange(150, 400)
    whole = streams.normals(5, "a", steps, [3, 4], 5)
    stream = streams.Stream(streams.normals, 5, "a", [3, 4], 5)
    single = np.concatenate([stream.rows(steps[k : k + 1]) for k in range(steps.size)])
    assert single.tobytes() == whole.tobytes()
    assert stream.rows(steps[70:71]).tobytes() == whole[70:71].tobytes()


def test_steps_before_zero_have_numbers_of_their_own() -> None:
    drawn = streams.uniforms(1, "a", np.arange(-500, 500))
    assert np.unique(drawn).size == 1000


@pytest.mark.parametrize("change", ["seed", "channel", "vehicle", "step", "element"])
def test_neighbouring_keys_are_independent(change: str) -> None:
    n = 40_000
    steps = np.arange(n)
    first = streams.normals(10, "a", steps, 6, 2)[:, 0, 0]
    other = {
        "seed": lambda: streams.normals(11, "a", steps, 6)[:, 0, 0],
        "channel": lambda: streams.normals(10, "b", steps, 6)[:, 0, 0],
        "vehicle": lambda: streams.normals(10, "a", steps, 7)[:, 0, 0],
        "step": lambda: streams.normals(10, "a", steps + 1, 6)[:, 0, 0],
        "element": lambda: streams.normals(10, "a", steps, 6, 2)[:, 0, 1],
    }[change]()
    # The mean of products of independent standard normals has standard deviation 1/√n.
    bound = stats.norm.isf(RARE / 2.0) / np.sqrt(n)
    assert abs(np.mean(first * other)) < bound
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("steps", "vehicles", "width"), [(200_000, 1, 1), (400, 500, 1), (1, 100, 2000)]
)
def test_the_distribution_is_normal(steps: int, vehicles: int, width: int) -> None:
    drawn = streams.normals(3, "d", np.arange(steps), np.arange(vehicles), width).ravel()
    bins = 100
    counts, _ = np.histogram(special.ndtr(drawn), bins=bins, range=(0.0, 1.0))
    expected = drawn.size / bins
    assert np.sum((counts - expected) ** 2) / expected < stats.chi2.isf(RARE, bins - 1)
    assert abs(drawn.mean()) < stats.norm.isf(RARE / 2) / np.sqrt(drawn.size)
    assert stats.chi2.ppf(RARE, drawn.size) < np.sum(drawn**2) < stats.chi2.isf(RARE, drawn.size)


def test_uniforms_never_reach_the_ends() -> None:
    top = np.array([[0xFFFFFFFFFFFFFFFF, 0]], np.uint64)
    high, low = streams._open_unit(top)[0]
    assert 0.0 < low < high < 1.0
    assert np.isfinite(normal_of(np.array([low, high]))).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.5, "a", 0, 0), "seed = 1.5 must be a whole number"),
        ((1, "a", 0, -1), "vehicle = -1 must be from 0"),
        ((1, "a", 0, 2**32), "vehicle = 4294967296 must be from 0"),
        ((1, "a", 0, 0.5), "vehicle = 0.5 must be a whole number"),
    ],
)
def test_bad_keys_are_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        streams.normals(*arguments)  # type: ignore[arg-type]
