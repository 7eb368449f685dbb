"""The random parts of a channel have the levels users know from data sheets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from skidpad.sensors import Channel, FullState, Imu, Motion

Array = NDArray[np.float64]
RATE = 50.0
SIGMAS = 6.0
"""Standard deviations of an estimate that a right program stays within, for 1e-9 of the seeds."""


def errors(channel: Channel, samples: int, vehicles: int, seed: int = 1) -> Array:
    """Readings of a zero, (samples, vehicles)."""
    sensor = FullState(fields={"q": channel}, rate=RATE)
    t = np.arange(samples) / RATE
    return sensor.along_fleet(t, {"q": np.zeros((samples, vehicles))}, seed=seed)["q"]


def allan_variance(rate: Array, cluster: int) -> tuple[float, int]:
    """Allan variance of rates (samples, runs) over clusters, and the number of differences."""
    count = len(rate) // cluster
    means = rate[: count * cluster].reshape(count, cluster, -1).mean(axis=1)
    steps = np.diff(means, axis=0)
    return 0.5 * float(np.mean(steps**2)), steps.size


@pytest.mark.parametrize("cluster", [1, 8, 64])
def test_white_noise_has_an_allan_deviation_of_slope_minus_one_half(cluster: int) -> None:
    density = 0.03
    variance, count = allan_variance(errors(Channel(density=density), 4096, 64), cluster)
    tau = cluster / RATE
    # Neighbouring differences share a mean: the relative variance of the estimate is 3/count.
    assert variance == pytest.approx(density**2 / tau, rel=SIGMAS * np.sqrt(3.0 / count))


@pytest.mark.parametrize("cluster", [16, 64, 256])
def test_a_random_walk_has_an_allan_deviation_of_slope_plus_one_half(cluster: int) -> None:
    walk = 0.02
    variance, count = allan_variance(errors(Channel(walk=walk), 4096, 64), cluster)
    tau = cluster / RATE
    # A walk in discrete steps: K²τ/3 and a half of 1/m² of that.
    expected = walk**2 * tau / 3.0 * (1.0 + 0.5 / cluster**2)
    assert variance == pytest.approx(expected, rel=SIGMAS * np.sqrt(3.0 / count))


def test_an_imu_uses_the_levels_of_its_data_sheet() -> None:
    sensor = Imu(
        rate=200.0,
        accelerometer=Channel(density=2e-3),
        gyroscope=(Channel(density=1e-4), Channel(density=2e-4), Channel()),
    )
    t = np.arange(20_000) / 200.0
    found = sensor.along_fleet(t, Motion(), seed=2)
    n = t.size
    for name, level, mean in [
        ("f_x", 2e-3, 0.0),
        ("f_z", 2e-3, 9.81),
        ("omega_x", 1e-4, 0.0),
        ("omega_y", 2e-4, 0.0),
    ]:
        squares = np.sum((found[name] - mean) ** 2) / (level**2 * 200.0)
        assert stats.chi2.ppf(1e-6, n) < squares < stats.chi2.isf(1e-6, n)
    assert not found["omega_z"].any()


def test_a_walk_spreads_with_the_root_of_time() -> None:
    walk, vehicles = 0.5, 4000
    found = errors(Channel(walk=walk), 401, vehicles)
    assert not found[0].any()
    for k in (1, 20, 400):
        squares = np.sum(found[k] ** 2) / (walk**2 * k / RATE)
        assert stats.chi2.ppf(1e-6, vehicles) < squares < stats.chi2.isf(1e-6, vehicles)


def test_a_drift_keeps_its_spread_and_forgets() -> None:
    drift, time, vehicles = 0.5, 2.0, 4000
    found = errors(Channel(drift=drift, drift_time=time), 301, vehicles)
    for k in (0, 7, 300):
        squares = np.sum(found[k] ** 2) / drift**2
        assert stats.chi2.ppf(1e-6, vehicles) < squares < stats.chi2.isf(1e-6, vehicles)
    for lag in (10, 100, 300):
        kept = np.exp(-lag / RATE / time)
        # A product of two such normals has variance (1 + kept²) drift⁴.
        bound = SIGMAS * drift**2 * np.sqrt((1.0 + kept**2) / vehicles)
        assert abs(np.mean(found[0] * found[lag]) - kept * drift**2) < bound


def test_a_turn_on_bias_is_drawn_once() -> None:
    found = errors(Channel(turn_on=2.0, bias=1.0), 5, 3000)
    assert (found == found[0]).all()
    squares = np.sum(((found[0] - 1.0) / 2.0) ** 2)
    assert stats.chi2.ppf(1e-6, 3000) < squares < stats.chi2.isf(1e-6, 3000)


def test_the_parts_are_drawn_apart() -> None:
    parts = [Channel(std=0.1), Channel(walk=0.2), Channel(drift=0.3), Channel(turn_on=0.4)]
    alone = sum(errors(part, 50, 3) for part in parts)
    together = errors(Channel(std=0.1, walk=0.2, drift=0.3, turn_on=0.4), 50, 3)
    assert np.abs(together - alone).max() < 1e-14


def test_steps_of_differing_length_give_the_same_walk_in_the_end() -> None:
    sensor = FullState(fields={"q": Channel(walk=1.0)})
    t = np.cumsum(np.tile([0.01, 0.05, 0.3], 40))
    vehicles = 4000
    found = sensor.along_fleet(t, {"q": np.zeros((t.size, vehicles))})["q"][-1]
    squares = np.sum(found**2) / (t[-1] - t[0])
    assert stats.chi2.ppf(1e-6, vehicles) < squares < stats.chi2.isf(1e-6, vehicles)


def test_nothing_depends_on_other_vehicles_or_other_sensors() -> None:
    channel = Channel(std=1.0, walk=1.0, drift=1.0, turn_on=1.0)
    t = np.arange(20) / RATE
    many = FullState(fields={"q": channel}, rate=RATE)
    whole = many.along_fleet(t, {"q": np.zeros((20, 6))}, seed=9)
    part = many.along_fleet(t, {"q": np.zeros((20, 2))}, seed=9, vehicles=[4, 1])
    assert part.values.tobytes() == whole.values[:, [4, 1]].tobytes()
    renamed = FullState(fields={"q": channel}, rate=RATE, name="second")
    other = renamed.along_fleet(t, {"q": np.zeros((20, 6))}, seed=9)
    assert not np.isclose(other.values, whole.values).any()
