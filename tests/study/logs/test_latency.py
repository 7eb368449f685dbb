"""Delays between channels: intervals that hold, and what is related to what."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from skidpad.core.arrays import Array
from skidpad.study.logs.latency import delay_between, find_latencies
from skidpad.study.logs.log import Channel
from study.logs.faulty_logs import NOISE, truth

DT = 0.02
T = DT * np.arange(2000)


def pair(seed: int, delay: float, colour: float, share: float) -> tuple[Array, Array]:
    """A random slow signal, and the same later, with another gain, an offset and noise.

    `colour` is the correlation of the noise from sample to sample, `share` its size in both.
    """
    rng = np.random.default_rng(seed)
    frequencies, phases = rng.uniform(0.05, 1.5, 40), rng.uniform(0.0, 2.0 * np.pi, 40)

    def signal(t: Array) -> Array:
        return np.sin(2.0 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1) / np.sqrt(20.0)

    noise = lfilter([np.sqrt(1.0 - colour**2)], [1.0, -colour], rng.normal(size=(2, len(T) + 500)))
    late = 1.3 * signal(T - delay) + 0.7 + 1.3 * share * noise[0, 500:]
    return late, signal(T) + share * noise[1, 500:]


@pytest.mark.slow_cases("0.0234-0.0-0.1", "-0.31-0.8-0.3")
@pytest.mark.parametrize(
    ("delay", "colour", "share"),
    [(0.0234, 0.0, 0.1), (0.0234, 0.97, 0.15), (-0.31, 0.8, 0.3)],
)
def test_intervals_cover_the_delay_in_95_percent_of_logs(
    delay: float, colour: float, share: float
) -> None:
    """With white noise, and with noise that remembers 0.1 s and 0.7 s."""
    found = [delay_between(*pair(seed, delay, colour, share), DT) for seed in range(200)]
    known = [one for one in found if one is not None]
    assert len(known) > 190
    covered = np.mean([one.low <= delay <= one.high for one in known])
    assert 0.9 <= covered <= 0.99
    # Not by being wide: the intervals are as narrow as the estimates scatter.
    scatter = np.std([one.value for one in known])
    assert np.mean([one.high - one.low for one in known]) < 5.0 * scatter
    assert scatter < 0.5 * DT


def test_unrelated_signals_have_no_delay() -> None:
    rng = np.random.default_rng(3)
    slow = lfilter([0.1], [1.0, -0.9], rng.normal(size=(40, 2, len(T))))
    found = [delay_between(*both, DT) for both in slow]
    assert sum(one is None for one in found) >= 38


def test_a_signal_without_motion_has_no_delay() -> None:
    assert delay_between(0.0 * T, np.sin(T), DT) is None
    assert delay_between(np.full(T.shape, np.nan), np.sin(T), DT) is None


def test_gaps_of_one_signal_are_left_out() -> None:
    late, early = pair(5, 0.05, 0.5, 0.05)
    late[600:800] = np.nan
    early[1500:1520] = np.nan
    found = delay_between(late, early, DT)
    assert found is not None
    assert found.low <= 0.05 <= found.high < 0.06


def delayed(delays: dict[str, float], names: tuple[str, ...], every: int = 1) -> dict[str, Channel]:
    """Noisy channels of the drive, each with its own latency; positions with rarer samples."""
    rng = np.random.default_rng(2)
    t = truth()["t"][50:]
    channels: dict[str, Channel] = {}
    for name in names:
        values = np.interp(t - delays.get(name, 0.0), truth()["t"], truth()[name])
        values = values + NOISE[name] * rng.normal(size=len(t))
        step = every if name in ("x", "y", "yaw") else 1
        channels[name] = Channel(t[::step], values[::step])
    return channels


def test_each_channel_has_its_own_latency() -> None:
    delays = {"yaw": 0.05, "v_x": 0.12, "x": 0.2, "y": 0.2}
    names = ("omega", "yaw", "v_x", "v_y", "a_x", "x", "y")
    found = find_latencies(delayed(delays, names))
    assert found.keys() == delays.keys()
    for name, delay in delays.items():
        latency = found[name].latency
        assert found[name].matters
        assert latency.value == pytest.approx(delay, abs=0.004)
        assert latency.high - latency.low < 0.02


def test_position_and_heading_of_one_instrument_have_one_latency() -> None:
    """With stamps of their own, ten times rarer; another reference moves the others instead."""
    delays = dict.fromkeys(("x", "y", "yaw"), 0.08)
    channels = delayed(delays, ("omega", "x", "y", "yaw", "v_x", "a_x"), every=10)
    found = find_latencies(channels)
    assert {found[name].latency for name in delays} == {found["yaw"].latency}
    assert found["yaw"].latency.value == pytest.approx(0.08, abs=0.005)
    assert not found["v_x"].matters
    other = find_latencies(channels, reference="yaw")
    assert other["omega"].latency.value == pytest.approx(-0.08, abs=0.005)
    assert other["v_x"].latency.value == pytest.approx(-0.08, abs=0.02)


def test_steering_and_its_answer_are_no_latency() -> None:
    """The yaw rate follows the wheels late, which is the car; without v_y so does a_y."""
    found = find_latencies(delayed({}, ("omega", "v_x", "a_x", "a_y", "steer")))
    assert "steer" not in found
    assert found["a_y"].doubt


@pytest.mark.slow_cases("v_x-0.0", "v_x-0.1")
@pytest.mark.parametrize("delay", [0.0, 0.1])
@pytest.mark.parametrize("speed", ["speed", "v_x"])
def test_turning_feigns_no_latency_of_the_speed(speed: str, delay: float) -> None:
    """An inertial unit behind the centre of mass shows a part of turning as a_x, and so do v_y and
    the yaw rate. With the sideslip, itself late, the interval holds; without, times stay."""
    drive, t = truth(), truth()["t"][50:]
    true = {
        "speed": np.hypot(drive["v_x"], drive["v_y"]),
        "v_x": drive["v_x"],
        "omega": drive["omega"],
        "a_x": drive["a_x"] + 0.35 * drive["omega"] ** 2,
        "sideslip": np.arctan2(drive["v_y"], drive["v_x"]),
    }
    noise = {**NOISE, "speed": 0.03, "sideslip": 0.003}
    delays = {speed: delay, "sideslip": 0.06}
    held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        channels = {
            name: Channel(
                t,
                np.interp(t - delays.get(name, 0.0), drive["t"], true[name])
                + noise[name] * rng.normal(size=len(t)),
            )
            for name in (speed, "omega", "a_x", "sideslip")
        }
        known = find_latencies(channels)[speed]
        held += known.latency.low <= delay <= known.latency.high
        assert known.matters == (delay > 0.0)
        del channels["sideslip"]
        guessed = find_latencies(channels)
        assert speed not in guessed or guessed[speed].doubt
    assert held >= 18
