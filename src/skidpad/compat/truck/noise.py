"""Measurement noise of the engine's sensors; every reading of the state draws anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...checks import must_be
from ...errors import InvalidValue
from ...random.streams import key_of, normals
from ...record import unknown_name
from ...units import Allowed, non_negative


class Noise(NamedTuple):
    """Normal noise of one sensor, independent in each axis or ray, in the unit of the sensor."""

    mean: float = 0.0
    std: float = 0.0
    """Standard deviation. Upstream calls it variance and uses it as this."""


class SensorNoise(NamedTuple):
    """Noise of all sensors."""

    accel: Noise = Noise()
    """Of the accelerometer, in m/s²."""
    gyro: Noise = Noise()
    """Of the gyroscope, in rad/s."""
    lidar: Noise = Noise()
    """Of the ranges, in m."""


def sensor_noise(noises: Any) -> SensorNoise:
    """Noise from a mapping of sensors to standard deviations or `Noise`; none if None."""
    if noises is None:
        return SensorNoise()
    if isinstance(noises, SensorNoise):
        noises = noises._asdict()
    if not isinstance(noises, Mapping):
        raise InvalidValue(
            f"noise = {noises!r} must be a mapping such as {{'lidar': 0.01, 'gyro': Noise(0, 0.1)}}"
        )
    for name in noises:
        if name not in SensorNoise._fields:
            raise InvalidValue(unknown_name("noise", name, SensorNoise._fields, "sensor"))
    return SensorNoise(**{name: _noise(name, value) for name, value in noises.items()})


def _noise(name: str, noise: Any) -> Noise:
    if isinstance(noise, Mapping):
        for key in noise:
            if key not in Noise._fields:
                raise InvalidValue(unknown_name(f"noise[{name!r}]", key, Noise._fields, "key"))
        noise = Noise(**noise)
    mean, std = noise if isinstance(noise, tuple) and len(noise) == 2 else (0.0, noise)
    return Noise(
        must_be(f"noise {name} mean", mean, Allowed()),
        must_be(f"noise {name} std", std, non_negative),
    )


class NoiseSource:
    """Draws the noise of one reading after another, the same for the same seed.

    What one sensor draws does not depend on the others.
    """

    def __init__(self, noise: SensorNoise, seed: int) -> None:
        key_of(seed, "")
        self._noise, self._seed = noise, seed
        self.reading = 0
        """Number of the coming reading."""

    def added(self, sensor: str, values: NDArray[Any]) -> NDArray[Any]:
        """Values of a sensor (n,) with the noise of this reading, in their own precision."""
        noise: Noise = getattr(self._noise, sensor)
        if noise.std == 0.0:
            return values if noise.mean == 0.0 else values + values.dtype.type(noise.mean)
        drawn = normals(self._seed, f"engine.{sensor}", self.reading, width=values.size)
        return (values + (noise.mean + noise.std * drawn.ravel())).astype(values.dtype)
