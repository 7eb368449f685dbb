"""Frequency responses of recorded drives against the linear theory of the same car."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Result, Subject, perform
from skidpad.study.manoeuvres.case_run import from_columns
from skidpad.study.manoeuvres.linear_handling import (
    BAND,
    QUIET,
    RandomSteer,
    Response,
    SineSweep,
    bandwidth_of,
    random_steer,
)
from study.manoeuvres.fakes import COARSE

CAR = Subject(sp.vehicles.single_track())


@cache
def results() -> dict[str, Result]:
    """With angles that keep the tyres in their linear range."""
    manoeuvres = RandomSteer(a_y=0.3), SineSweep(a_y=0.3)
    return {r.manoeuvre.name: r for r in perform(manoeuvres, [CAR], COARSE)}


@pytest.mark.parametrize("name", ["random_steer", "sine_sweep"])
@pytest.mark.parametrize("answer", ["yaw_rate", "lateral_acceleration"])
def test_gain_phase_and_bandwidth_are_those_of_linear_theory(name: str, answer: str) -> None:
    """One per cent of gain, half a per cent of bandwidth, one degree."""
    findings = results()[name].findings
    assert findings is not None
    for kind, tolerance in (("steady_gain", 0.01), ("bandwidth", 0.005)):
        metric = findings[f"{answer}_{kind}"]
        np.testing.assert_allclose(metric.value, metric.theory, rtol=tolerance)
    phase = findings[f"{answer}_phase_at_1_hz"]
    np.testing.assert_allclose(phase.value, phase.theory, atol=np.deg2rad(1.0))
    assert findings[f"{answer}_coherence"].value[0] > 0.95


@pytest.mark.parametrize("samples", [4000, 4001])
def test_a_band_begins_where_it_says(samples: int) -> None:
    """With or without the sample at the end of a drive: bandwidths are told from the gain there."""
    t = 0.01 * np.arange(samples)
    u = np.random.default_rng(2).normal(size=samples)
    seen = Response.estimate([from_columns("same", t, {"u": u, "y": u})], "u", "y", (0.2, 4.0))
    assert seen.frequency[[0, -1]] == pytest.approx([0.2, 4.0], rel=1e-3)


def test_a_known_filter_is_found_and_noise_lowers_the_coherence() -> None:
    """y' = (u - y) / T has the gain 1 / (1 + i w T) and ends its band at 1 / (2 pi T)."""
    draw, T, dt = np.random.default_rng(1), 0.1, 0.01
    clean, noisy = [], []
    for _ in range(16):
        u = draw.normal(size=4000)
        y, state = np.zeros(4000), 0.0
        for k in range(4000):
            y[k] = state
            state += (u[k] - state) * (1.0 - np.exp(-dt / T))
        t = dt * np.arange(4000)
        clean.append(from_columns("clean", t, {"u": u, "y": y}))
        noisy.append(from_columns("noisy", t, {"u": u, "y": y + draw.normal(size=4000)}))
    seen = Response.estimate(clean, "u", "y", (0.2, 4.0))
    # Held from sample to sample, the angle comes half a step late, and the sample one more half.
    z = np.exp(2j * np.pi * seen.frequency * dt)
    expected = (1.0 - np.exp(-dt / T)) / (z - np.exp(-dt / T))
    assert np.abs(seen.gain[:, 0] / expected - 1.0).max() < 0.02
    assert seen.coherence.min() > 0.99
    # Noise of the power of the angle leaves |G|² / (|G|² + 1) of the answer to the angle.
    shared = np.abs(expected) ** 2 / (np.abs(expected) ** 2 + 1.0)
    coherence = Response.estimate(noisy, "u", "y", (0.2, 4.0)).coherence[:, 0]
    assert np.abs(coherence - shared).mean() < 0.05
    frequency = np.linspace(0.01, 4.0, 4000)
    ideal = np.abs(1.0 / (1.0 + 2j * np.pi * frequency * T))
    assert bandwidth_of(frequency, ideal) == pytest.approx(1.0 / (2.0 * np.pi * T), rel=1e-3)


def test_random_steer_is_a_sum_of_sines_of_random_phases() -> None:
    """Drawn as they are: half of the band's lower end up to 1.3 times its upper end."""
    t, duration, seed = np.linspace(-1.0, 25.0, 700), 20.0, 5
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 1000)
    angle = random_steer(seed, duration)(t)
    frequencies = np.arange(0.5 * BAND[0], 1.3 * BAND[1], 1.0 / duration)
    waves = np.sin(2.0 * np.pi * np.outer(t, frequencies) + phases[: len(frequencies)]).sum(axis=1)
    within = (t > 1.0) & (t < duration - QUIET - 1.0)
    wanted = np.sqrt(2.0 / len(frequencies)) * waves
    np.testing.assert_allclose(angle[within], wanted[within], atol=1e-10)
    np.testing.assert_array_equal(angle[(t <= 0.0) | (t >= duration - QUIET)], 0.0)
