"""Random roads: their spectrum against the norm, their coherence, and that a seed is a road."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import k1

import skidpad as sp
from skidpad.road import class_limits, class_of, psd
from skidpad.road import road as exact
from skidpad.road import road as iso8608
from skidpad.road.road import bessel_x_k1, cosine, exponential, fourier_sum, sine

STEP = 0.05
COUNT = 1 << 16
TRACKS = np.array([-0.75, 0.75])
BANDS = np.geomspace(0.011, 2.83, 9)
"""Of spatial frequency, in 1/m: one octave each."""


def spectra(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spatial frequencies of a whole period, and the amplitudes whose squares are the densities."""
    n = np.fft.rfftfreq(COUNT, STEP)
    waves = np.fft.rfft(heights, axis=0) * math.sqrt(2.0 * STEP / COUNT)
    used = (n >= 0.011) & (n <= 2.83)
    return n[used], waves[used]


@pytest.mark.parametrize("letter", "ABCDEFGH")
def test_the_spectrum_is_that_of_the_class_within_its_statistical_error(letter: str) -> None:
    """A mean of m densities, each with the spread of its mean, spreads by 1 / sqrt(m)."""
    heights = iso8608.track_heights(letter, 11, COUNT, STEP, TRACKS)
    n, waves = spectra(heights)
    ratio = np.abs(waves) ** 2 / psd(n, letter)[:, None]
    for low, high in pairwise(BANDS):
        band = (n >= low) & (n < high)
        for track in range(2):
            assert ratio[band, track].mean() == pytest.approx(
                1.0, abs=4.5 / math.sqrt(np.count_nonzero(band))
            )


def test_heights_are_normally_distributed() -> None:
    """Densities are distributed exponentially: their median is log 2 of their mean."""
    n, waves = spectra(iso8608.track_heights("C", 2, COUNT, STEP, TRACKS))
    ratio = np.abs(waves) ** 2 / psd(n, "C")[:, None]
    assert np.median(ratio) == pytest.approx(math.log(2.0), abs=4.0 / math.sqrt(2.0 * len(n)))
    heights = iso8608.track_heights("C", 2, COUNT, STEP, TRACKS)
    variance = float(np.sum(psd(n, "C")) / (COUNT * STEP))
    assert heights.var() == pytest.approx(variance, rel=0.5)


def test_nothing_is_outside_of_the_wavelengths() -> None:
    heights = iso8608.track_heights("C", 3, COUNT, STEP, TRACKS, (2.0, 20.0))
    n = np.fft.rfftfreq(COUNT, STEP)
    waves = np.abs(np.fft.rfft(heights, axis=0))
    assert waves[(n < 1 / 20.01) | (n > 1 / 1.99)].max() < 1e-9 * waves.max()


@pytest.mark.parametrize("distance", [0.3, 1.5, 4.0])
def test_tracks_are_coherent_as_on_a_surface_alike_in_all_directions(distance: float) -> None:
    """The real part of the cross spectrum over the density is x K_1(x), its other part is 0."""
    tracks = np.array([0.0, 0.4 * distance, distance])
    n, waves = spectra(iso8608.track_heights("D", 5, COUNT, STEP, tracks))
    cross = waves[:, 0] * np.conj(waves[:, 2]) / psd(n, "D")
    x = 2.0 * np.pi * n * distance
    for low, high in pairwise(BANDS):
        band = (n >= low) & (n < high)
        error = 4.5 / math.sqrt(np.count_nonzero(band))
        assert cross[band].real.mean() == pytest.approx((x * k1(x))[band].mean(), abs=error)
        assert cross[band].imag.mean() == pytest.approx(0.0, abs=error)


def test_coherence_is_the_integral_of_the_spectrum_over_the_other_direction() -> None:
    """With the density C (n² + m²)^(-3/2) over both, which is that of the norm over n."""
    from scipy.integrate import quad

    n, b = 0.2, 1.3
    density = quad(lambda m: (n * n + m * m) ** -1.5, 0.0, np.inf)[0]
    cross = quad(lambda m: (n * n + m * m) ** -1.5, 0.0, np.inf, weight="cos", wvar=2 * np.pi * b)
    assert density == pytest.approx(1.0 / n**2)
    assert iso8608.coherence(np.array([n]), b)[0] == pytest.approx(cross[0] / density, rel=1e-8)


def test_classes_follow_each_other_without_gaps() -> None:
    """ISO 8608: class A has 16e-6 m³ and ends at 32e-6, each next one has four times that."""
    assert class_limits("A") == (0.0, pytest.approx(32e-6))
    assert class_limits("C") == pytest.approx((128e-6, 512e-6))
    assert class_limits("H") == (pytest.approx(131072e-6), math.inf)
    for before, after in zip("ABCDEFG", "BCDEFGH", strict=True):
        limit = class_limits(before)[1]
        assert limit == class_limits(after)[0]
        assert class_of(limit * 0.999) == before
        assert class_of(limit * 1.001) == after
        assert psd(0.1, after) == pytest.approx(4.0 * psd(0.1, before))
    assert class_of(16e-6) == "A"
    assert psd(0.1, "A") == pytest.approx(16e-6)
    assert psd(1.0, "A") == pytest.approx(16e-8)
    with pytest.raises(sp.InvalidValue, match="roughness"):
        class_of(-1.0)


def test_the_road_has_the_heights_of_its_tracks() -> None:
    road = sp.Road.iso8608("B", 9, length=100.0, step=0.1, tracks=(-0.8, 0.7), x=5.0, yaw=1.0)
    heights = iso8608.track_heights("B", 9, 1001, 0.1, np.array([-0.8, 0.7]))
    u = 0.1 * np.arange(1001)
    for track, y in enumerate((-0.8, 0.7)):
        z = road.height(
            5.0 + u * math.cos(1.0) - y * math.sin(1.0), u * math.sin(1.0) + y * math.cos(1.0)
        )
        np.testing.assert_allclose(z, heights[:, track], atol=1e-9)
    single = sp.Road.iso8608("B", 9, length=100.0, step=0.1, tracks=(0.0,))
    np.testing.assert_allclose(single.height(u, 3.0), heights[:, 0], atol=1e-12)


def test_a_seed_is_a_road_and_another_one_another() -> None:
    one, same = (iso8608.track_heights("C", 1, 500, 0.1, TRACKS) for _ in range(2))
    np.testing.assert_array_equal(one, same)
    other = iso8608.track_heights("C", 2, 500, 0.1, TRACKS)
    assert np.abs(one - other).max() > 1e-3
    # The first track does not depend on which others there are.
    alone = iso8608.track_heights("C", 1, 500, 0.1, TRACKS[:1])
    np.testing.assert_array_equal(one[:, 0], alone[:, 0])


def test_functions_agree_with_those_of_libraries() -> None:
    t = np.linspace(-3.0, 3.0, 4001)
    np.testing.assert_allclose(cosine(t), np.cos(2.0 * np.pi * t), atol=5e-15)
    np.testing.assert_allclose(sine(t), np.sin(2.0 * np.pi * t), atol=5e-15)
    x = np.geomspace(1e-6, 600.0, 500)
    np.testing.assert_allclose(exponential(-x), np.exp(-x), rtol=1e-12)
    x = np.geomspace(1e-5, 60.0, 500)
    np.testing.assert_allclose(bessel_x_k1(x), x * k1(x), atol=1e-12)
    a, b = np.random.default_rng(0).normal(size=(2, 3, 512))
    np.testing.assert_allclose(fourier_sum(a, b), np.fft.ifft(a + 1j * b).real * 512, atol=1e-11)


def test_functions_round_alike_in_arrays_and_alone() -> None:
    """Whatever vectors a machine has: every operation is one that IEEE 754 rounds exactly."""
    x = np.random.default_rng(1).uniform(0.01, 3.0, 37)
    for function in (cosine, sine, exponential, bessel_x_k1):
        values = -x if function is exponential else x
        together = function(values)
        alone = [function(values[k : k + 1])[0] for k in range(len(x))]
        np.testing.assert_array_equal(together, alone)
    coefficients = exact._COSINE  # pyright: ignore[reportPrivateUsage]
    for value in x[:5]:
        t = abs(value - math.floor(value + 0.5))
        far = t > 0.25
        square = (0.5 - t if far else t) ** 2
        total = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            total = total * square + coefficient
        assert cosine(np.array([value]))[0] == (-total if far else total)
