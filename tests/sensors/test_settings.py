"""Rates, delays and channels, against the rules written out with exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.sensors import Channel, FullState, Gnss, Imu, Motion
from skidpad.sensors.sensor import arrival_rows, old_enough, sampled_rows


@given(
    step=st.sampled_from([Fraction(1, 1000), Fraction(1, 100), Fraction(1, 30), Fraction(1, 10)]),
    rate=st.sampled_from([Fraction(1), Fraction(10), Fraction(30), Fraction(100), Fraction(15, 2)]),
    start=st.integers(0, 100_000),
)
def test_samples_are_the_first_steps_at_or_after_each_multiple(
    step: Fraction, rate: Fraction, start: int
) -> None:
    exact = [(start + k) * step for k in range(200)]
    seen: list[int] = []
    for k, t in enumerate(exact):
        newest = t * rate // 1
        if not seen or newest > exact[seen[-1]] * rate // 1:
            seen.append(k)
    rows, numbers = sampled_rows(np.array([float(t) for t in exact]), float(rate))
    assert rows.tolist() == seen
    assert numbers.tolist() == [int(exact[k] * rate // 1) for k in seen]


@given(
    step=st.sampled_from([Fraction(1, 1000), Fraction(1, 100), Fraction(1, 30)]),
    delay=st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(1, 30), Fraction(23, 1000)]),
    start=st.integers(0, 100_000),
)
def test_samples_arrive_at_the_first_step_at_which_they_are_old_enough(
    step: Fraction, delay: Fraction, start: int
) -> None:
    exact = [(start + k) * step for k in range(200)]
    t = np.array([float(x) for x in exact])
    rows = np.arange(0, 200, 7)
    due = [next((j for j in range(200) if exact[j] - exact[k] >= delay), 200) for k in rows]
    found = arrival_rows(t, rows, float(delay))
    assert found.tolist() == due
    inside = found < 200
    assert old_enough(t[found[inside]], t[rows[inside]], float(delay)).all()


def test_without_a_rate_every_step_is_a_sample() -> None:
    rows, numbers = sampled_rows(np.array([0.0, 0.3, 0.31]), None)
    assert rows.tolist() == numbers.tolist() == [0, 1, 2]


def test_density_becomes_a_deviation_with_the_root_of_the_rate() -> None:
    assert Channel(density=0.02).white(100.0) == pytest.approx(0.2)
    assert Channel(density=0.02, std=0.2).white(100.0) == pytest.approx(0.2 * math.sqrt(2.0))


def read(channel: Channel, values: list[float]) -> list[float]:
    sensor = FullState(fields={"q": channel})
    t = np.arange(len(values)) * 0.1
    return sensor.along_fleet(t, {"q": np.array(values)})["q"][:, 0].tolist()


def test_scale_then_bias_then_range_then_rounding() -> None:
    channel = Channel(scale=0.1, bias=0.5, low=-2.0, high=2.33, resolution=0.25)
    # 1.1 q + 0.5, held to -2 ... 2.33, rounded to quarters.
    assert read(channel, [1.0, -1.0, 0.0, 9.0, -9.0]) == [1.5, -0.5, 0.5, 2.25, -2.0]


@pytest.mark.parametrize("name", ["std", "density", "turn_on", "walk", "drift", "resolution"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "1", None])
def test_levels_must_be_finite_and_not_negative(name: str, value: object) -> None:
    with pytest.raises(InvalidValue, match=f"Channel.{name} = "):
        Channel(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bias": math.nan}, "Channel.bias = nan must be finite"),
        ({"scale": math.inf}, "Channel.scale = inf must be finite"),
        ({"drift_time": 0.0}, "Channel.drift_time = 0.0 must be greater than 0"),
        ({"low": 1.0, "high": 1.0}, "low must be below high"),
        ({"low": math.nan}, "low must be below high"),
    ],
)
def test_other_settings_of_a_channel(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Channel(**settings)


@pytest.mark.parametrize("Kind", [Imu, Gnss])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 0.0}, "rate = 0.0 Hz must be greater than 0"),
        ({"rate": -5.0}, "rate = -5.0 Hz must be greater than 0"),
        ({"rate": math.nan}, "rate = nan Hz must be finite"),
        ({"delay": -0.1}, "delay = -0.1 s must be at least 0"),
        ({"delay": math.inf}, "delay = inf s must be finite"),
        ({"dropout": 1.5}, "dropout = 1.5 must be from 0 to 1"),
        ({"name": ""}, "name = '' must be a text"),
        ({"mounting": (1.0, 0.0)}, "mounting must be a Mounting"),
    ],
)
def test_settings_of_a_sensor(Kind: type, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=f"{Kind.__name__}.{message}"):
        Kind(**settings)


def test_a_density_needs_a_rate() -> None:
    with pytest.raises(InvalidValue, match=r"density = 0\.1 needs the sensor's rate"):
        Imu(accelerometer=Channel(density=0.1))


def test_dropout_loses_its_part_of_the_samples() -> None:
    n, p = 20_000, 0.3
    sensor = FullState(fields={"q": Channel()}, dropout=p)
    found = sensor.along_fleet(np.arange(n) * 0.01, {"q": np.zeros(n)}, seed=4)
    # Six standard deviations of a binomial count.
    assert abs(found.valid.sum() - (1.0 - p) * n) < 6.0 * math.sqrt(n * p * (1.0 - p))


def test_all_samples_lost_is_said() -> None:
    sensor = Imu(dropout=1.0)
    assert len(sensor.along_fleet([0.0, 0.1], Motion())) == 0
